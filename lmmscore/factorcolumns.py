"""Which columns of a wide table are factors? One wrongly left out, or taken in, changes every overall."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lmmscore.tables import NOTHING, Table, is_number, text

NOT_SCORES = frozenset(
    "seed time time_s seconds duration latency runtime cost price tokens id index size width height steps position "
    "order repeat rater annotator worker participant".split()
)
"""Columns of numbers that nobody means as a score."""
PROSE = frozenset(
    "comment comments note notes remark remarks reason justification explanation instruction prompt caption".split()
)
"""Columns of text, in which a lone number is still text."""


def factor_columns(
    table: Table, taken: Collection[str | None], places: Sequence[int], notes: list[str]
) -> list[str]:
    """Return the columns that hold scores: those with a number in them. What else might be one is noted.

    A column with some cells that are no numbers is a factor too: its holes must show, not make it vanish.
    """
    found = []
    for name in table.columns:
        if name in taken:
            continue
        cells = [table.plain(table.rows[place][name]) for place in places]
        numbers = sum(map(is_number, cells))
        said = [cell for cell in cells if text(cell).lower() not in NOTHING]
        plain = name.strip().lower()
        if not said:
            notes.append(f"{table.where}: column {name} is empty and is left out")
        elif numbers and (
            plain in NOT_SCORES or plain.endswith("_id") or plain.startswith("unnamed:")
        ):
            notes.append(f"{table.where}: column {name} is left out; by its name it is no score")
        elif numbers == len(said) or (numbers and plain not in PROSE):
            found.append(name)
    return found
