"""A reply as plain text: Markdown, LaTeX and HTML marks taken away, every character's place remembered."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

_MARKS = re.compile(
    r"""
    ~~[^~\n]{0,200}~~       # what is struck out is not said
    | \\\|                  # a bar inside a table cell
    | \\(?:text|mathrm|mathit|mathbf|mathsf|textbf|textit|operatorname|boxed|left|right|displaystyle|[,;!])(?![A-Za-z])
    | \\[()\[\]]            # \( \) \[ \]
    | </?(?:sub|sup|b|strong|i|em|u|code|span|font|mark|p|div|li|ul)\b[^<>]{0,200}>
    | &nbsp; | \u200b | \ufeff
    | (?!(?<=[\d)])\*[\d(S] | (?<=[\d)][ ])\*[ ][\d(S])\*     # emphasis and bullets, not 0.4*6
    | [`$\\{}]
    | (?<![A-Za-z0-9])_+    # emphasis, not the underscore inside a name
    | _+(?![A-Za-z0-9{\\])
    """,
    re.VERBOSE,
)

# One for one, so that places stay.
_SAME_LENGTH = str.maketrans(
    {"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\t": " ", "\r": " "}
    | {"：": ":", "＝": "=", "−": "-", "／": "/", "，": ",", "（": "(", "）": ")", "‑": "-"}
)


@dataclass(frozen=True, slots=True)
class Plain:
    """Text without marks, and where each piece of it stood in the original."""

    text: str
    _starts: tuple[int, ...]
    """Places in the plain text where a piece begins …"""
    _shifts: tuple[int, ...]
    """… and how far that piece was moved."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the place in the original text of a non-empty stretch of the plain text."""
        return self._original(start), self._original(end - 1) + 1

    def _original(self, place: int) -> int:
        return place + self._shifts[bisect_right(self._starts, place) - 1]


def strip_marks(text: str) -> Plain:
    """Return the text without marks: `* **$S_{acc}$**: 6` becomes `  S_acc: 6`, near enough."""
    pieces, starts, shifts = [], [0], [0]
    length = done = 0
    for match in _MARKS.finditer(text):
        piece = text[done : match.start()]
        pieces.append(piece)
        length += len(piece)
        done = match.end()
        starts.append(length)
        shifts.append(done - length)
    pieces.append(text[done:])
    return Plain("".join(pieces).translate(_SAME_LENGTH), tuple(starts), tuple(shifts))
