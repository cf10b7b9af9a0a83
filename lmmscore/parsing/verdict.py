"""From a reply to a reading of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from lmmscore.parsing.corrections import with_corrections
from lmmscore.parsing.deciding import decide
from lmmscore.parsing.jsonish import json_says
from lmmscore.parsing.labels import Page, read_page
from lmmscore.parsing.prose import by_factor_says, prose_says
from lmmscore.parsing.reading import Fault, FaultKind, Reading
from lmmscore.parsing.refusal import refuses
from lmmscore.parsing.said import Said
from lmmscore.parsing.tables import table_says
from lmmscore.records import Reply
from lmmscore.scales import Factor

__all__ = ["Fault", "FaultKind", "Reading", "read_reply", "read_text", "what_is_said"]


def read_reply(reply: Reply, factors: Sequence[Factor], n: int) -> Reading:
    """Return the scores of n images on these factors, or why they cannot be read. Never guesses."""
    if reply.finish == "content_filter":
        return _none("filtered", "the provider's content filter withheld the answer")
    if not reply.text.strip():
        return _wordless(reply)
    if reply.refusal:
        # Whatever numbers stand beside it: what was refused is no score.
        return _none("refused", f"the judge refused: {_short(reply.refusal)}")
    reading = read_text(reply.text, factors, n)
    return _cut_by_limit(reading, reply.text) if reply.finish == "length" else reading


def _none(kind: FaultKind, says: str) -> Reading:
    return Reading(faults=(Fault(kind, says),))


def _wordless(reply: Reply) -> Reading:
    if reply.refusal:
        return _none("refused", f"the judge refused: {_short(reply.refusal)}")
    if reply.finish == "length":
        return _none("truncated", "the token limit was reached before any answer")
    return _none("empty", "the answer is empty")


def _cut_by_limit(reading: Reading, text: str) -> Reading:
    # "1" at the very end may be the beginning of "10".
    cut_number = any(end >= len(text.rstrip("*_`$ ")) for _, end in reading.spans.values())
    if reading.complete and not cut_number:
        return reading
    return _none(
        "truncated", "the answer was cut off by the token limit; raise it with --max-tokens"
    )


def read_text(text: str, factors: Sequence[Factor], n: int) -> Reading:
    """Return what a text says of n images."""
    page = read_page(text, factors, n)
    said, cut = what_is_said(text, page)
    if cut:
        return _none("truncated", "the answer ends in the middle of its JSON")
    if said:
        return with_corrections(decide(said, factors, n), page)
    if refuses(text):
        return _none("refused", f"the judge refused: {_short(text)}")
    return _none("no-verdict", "no scores were found in the answer")


def what_is_said(text: str, page: Page) -> tuple[list[Said], bool]:
    """Return everything a reply says of any image, each thing once, and whether it ends in the middle of JSON."""
    in_json, stretches, cut = json_says(text, page)
    in_tables = _outside(stretches, list(table_says(page)))
    taken = sorted({*stretches, *(each.unit for each in in_tables)})
    in_prose = _outside(taken, [*prose_says(page), *by_factor_says(page)])
    return [*in_json, *in_tables, *in_prose], cut


def _outside(stretches: Sequence[tuple[int, int]], said: Sequence[Said]) -> list[Said]:
    """Return what does not stand inside these stretches, where another layout has read it already."""

    def inside(place: int) -> bool:
        index = bisect_right(stretches, (place, stretches[-1][1] if stretches else 0))
        return index > 0 and place < stretches[index - 1][1]

    return [each for each in said if not inside(each.mark.span[0])]


def _short(text: str) -> str:
    text = " ".join(text[:400].split())
    return text if len(text) <= 120 else text[:117] + "…"
