"""Words of others on a terminal: what would move the cursor or colour the screen is shown, not obeyed."""

from __future__ import annotations

import re

# Control characters but tab and newline, and the marks by which text can pretend to be other text.
_ACTIVE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    """Return the text with a visible stand-in for every control and direction character, one for one."""
    return _ACTIVE.sub(_stand_in, text.replace("\r\n", " \n"))


def _stand_in(found: re.Match[str]) -> str:
    code = ord(found[0])
    # The control pictures of Unicode: ␛ for escape. Lengths stay, so that positions in the text stay true.
    if code < 0x20:
        return chr(0x2400 + code)
    return "\N{SYMBOL FOR DELETE}" if code == 0x7F else "\N{REPLACEMENT CHARACTER}"
