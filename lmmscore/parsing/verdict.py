"""From blocks to a reading: the last complete verdict counts, then is checked against the scale."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from lmmscore.parsing.blocks import Block, Mark
from lmmscore.parsing.jsonish import cut_off, json_blocks
from lmmscore.parsing.markup import strip_marks
from lmmscore.parsing.prose import factor_blocks, image_blocks
from lmmscore.parsing.tables import table_blocks
from lmmscore.records import Outcome, Reply
from lmmscore.scales import Factor

FaultKind = Literal[
    "empty",
    "refused",
    "truncated",
    "filtered",
    "missing-image",
    "missing-factor",
    "off-scale",
    "contradiction",
    "no-verdict",
]

_OUTCOMES: dict[str, Outcome] = {
    "refused": Outcome.REFUSED,
    "truncated": Outcome.TRUNCATED,
    "filtered": Outcome.FILTERED,
}

_REFUSAL = re.compile(
    r"""
    \b(?:i\s*(?:am|['’]m)\s+(?:very\s+|really\s+|so\s+)?(?:sorry|afraid)|i\s+apologi[sz]e|sorry,)
      [^.!\n]{0,80}\b(?:can(?:['’]?t|not)|unable|not\s+able|won['’]?t|cannot)\b
    | \bi\s+(?:can(?:['’]t|not|\s+not)|won['’]t|will\s+not|am\s+(?:unable|not\s+able)|must\s+decline|decline|['’]m\s+(?:unable|not\s+able))\b
      [^.!\n]{0,60}\b(?:assist|help|provide|evaluate|score|rate|judge|assess|comply|do\s+that|fulfil|analy[sz]e|view|see|continue|compare)
    | \bi['’]m\s+(?:unable|not\s+able)\s+to\b
    | \bas\s+an\s+ai\b[^.!\n]{0,80}\b(?:can(?:['’]t|not)|unable|not\s+able)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a score could not be read: of which image and factor (None: of all), and what is wrong."""

    kind: FaultKind
    says: str
    position: int | None = None
    factor: str | None = None

    @property
    def outcome(self) -> Outcome:
        """The outcome of an edit with this fault."""
        return _OUTCOMES.get(self.kind, Outcome.UNREADABLE)

    def __str__(self) -> str:
        image = f"image {self.position}" if self.position else ""
        place = ", ".join(part for part in (image, self.factor or "") if part)
        return f"{place}: {self.says}" if place else self.says


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply says: the scores that could be read, and a fault for everything that could not."""

    scores: dict[tuple[int, str], Fraction] = field(default_factory=dict)
    spans: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)
    """Where in the reply each score stands."""
    faults: tuple[Fault, ...] = ()
    layout: str = ""
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every score that was asked for has been read."""
        return not self.faults

    def faults_of(self, position: int) -> list[Fault]:
        """Return the faults that concern an image, those that concern all of them included."""
        return [fault for fault in self.faults if fault.position in (None, position)]


def read_reply(reply: Reply, factors: Sequence[Factor], n: int) -> Reading:
    """Return the scores of n images on these factors, or why they cannot be read. Never guesses."""
    if reply.finish == "content_filter":
        return Reading(faults=(Fault("filtered", "the provider's content filter withheld the answer"),))
    if not reply.text.strip():
        if reply.refusal:
            return Reading(faults=(Fault("refused", f"the judge refused: {_short(reply.refusal)}"),))
        kind: FaultKind = "truncated" if reply.finish == "length" else "empty"
        says = (
            "the token limit was reached before any answer" if kind == "truncated" else "the answer is empty"
        )
        return Reading(faults=(Fault(kind, says),))
    reading = read_text(reply.text, factors, n)
    if reply.finish == "length":
        return _cut_by_limit(reading, reply.text)
    if reply.refusal and not reading.scores:
        return Reading(faults=(Fault("refused", f"the judge refused: {_short(reply.refusal)}"),))
    return reading


def _cut_by_limit(reading: Reading, text: str) -> Reading:
    # "1" at the very end may be the beginning of "10".
    cut_number = any(end >= len(text.rstrip("*_` ")) for _, end in reading.spans.values())
    if reading.complete and not cut_number:
        return reading
    fault = Fault("truncated", "the answer was cut off by the token limit; raise it with --max-tokens")
    return Reading(faults=(fault,))


def read_text(text: str, factors: Sequence[Factor], n: int) -> Reading:
    """Return what a text says of n images."""
    plain = strip_marks(text)
    blocks = [
        *json_blocks(text, plain, factors, n),
        *table_blocks(plain, factors, n),
        *image_blocks(plain, factors, n),
        *factor_blocks(plain, factors, n),
    ]
    if cut_off(text, factors):
        return Reading(faults=(Fault("truncated", "the answer ends in the middle of its JSON"),))
    blocks = _without_doubles([block for block in blocks if block.marks])
    if not blocks:
        return Reading(faults=(_nothing_found(text),))
    return _decide(blocks, factors, n)


def _nothing_found(text: str) -> Fault:
    if _REFUSAL.search(text):
        return Fault("refused", f"the judge refused: {_short(text)}")
    return Fault("no-verdict", "no scores were found in the answer")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 120 else text[:117] + "…"


def _without_doubles(blocks: list[Block]) -> list[Block]:
    """Order the blocks by place; what one layout read inside another's stretch is the same verdict seen twice."""
    kept: list[Block] = []
    exact = [block for block in blocks if block.layout in {"json", "table"}]
    for block in blocks:
        inside = [
            other
            for other in exact
            if block.layout.startswith("prose")
            and any(other.start <= mark.span[0] < other.end for mark in block.marks.values())
        ]
        if inside:
            marks = {
                key: mark
                for key, mark in block.marks.items()
                if not any(other.start <= mark.span[0] < other.end for other in inside)
            }
            block = Block(block.position, marks, block.start, block.end, block.layout, block.notes)
        if block.marks:
            kept.append(block)
    return sorted(kept, key=_first_mark)


def _first_mark(block: Block) -> tuple[int, int]:
    return min(mark.span[0] for mark in block.marks.values()), block.position or 0


def _decide(blocks: list[Block], factors: Sequence[Factor], n: int) -> Reading:
    """Return the reading of the last run of blocks that scores every image once, or else what is missing."""
    keys = [factor.key for factor in factors]
    by_layout = [block for block in blocks if block.layout == "prose by factor"]
    runs = [by_layout, [block for block in blocks if block not in by_layout]] if by_layout else [blocks]
    candidates = [(run, start) for run in runs for start in _complete_windows(run, keys, n)]
    if not candidates:
        return _incomplete(max(runs, key=lambda run: sum(len(block.marks) for block in run)), factors, n)
    run, start = max(candidates, key=lambda found: _first_mark(found[0][found[1] + n - 1]))
    window, later = run[start : start + n], run[start + n :]
    reading = _reading(window, factors, n)
    if n == 1:
        return reading
    # What comes after a complete verdict and says something else contradicts it.
    faults = [
        Fault("contradiction", "is scored again later with another number", block.position, key)
        for block in later
        for key, mark in block.marks.items()
        if block.position is not None and mark.value not in (None, reading.scores.get((block.position, key)))
    ]
    faults += _neighbours_that_differ(run[: start + 1])
    return _with_faults(reading, faults)


def _neighbours_that_differ(blocks: list[Block]) -> list[Fault]:
    """Return a fault where the image that opens the verdict was scored just before it, differently."""
    if (
        len(blocks) < 2
        or blocks[-1].position != blocks[-2].position
        or blocks[-1].layout != blocks[-2].layout
    ):
        return []
    same = all(mark.value == blocks[-1].marks[key].value for key, mark in blocks[-2].marks.items())
    return (
        []
        if same
        else [Fault("contradiction", "is scored twice with different numbers", blocks[-1].position)]
    )


def _complete_windows(blocks: list[Block], keys: list[str], n: int) -> list[int]:
    """Return where n neighbouring blocks score each of n images once, on every factor, on the scale."""
    found = []
    for start in range(len(blocks) - n + 1):
        window = blocks[start : start + n]
        positions = sorted(block.position or 1 for block in window)
        if positions == list(range(1, n + 1)) and all(_full(block, keys) for block in window):
            found.append(start)
    return found


def _full(block: Block, keys: list[str]) -> bool:
    return all(key in block.marks and block.marks[key].value is not None for key in keys)


def _incomplete(blocks: list[Block], factors: Sequence[Factor], n: int) -> Reading:
    """Return what can be read where no verdict is complete, and a fault for each hole."""
    marks: dict[tuple[int, str], Mark] = {}
    faults: list[Fault] = []
    for block in blocks:
        position = block.position or 1
        if position > n or position < 1:
            faults.append(Fault("contradiction", f"there is no image {position}; {n} were shown"))
            continue
        for key, mark in block.marks.items():
            earlier = marks.get((position, key))
            if earlier and n > 1 and earlier.value is not None and earlier.value != mark.value:
                faults.append(Fault("contradiction", "is scored twice with different numbers", position, key))
            marks[position, key] = mark
    faults += _holes(marks, factors, n)
    first = blocks[-1]
    bad = {(fault.position, fault.factor) for fault in faults}
    scores = {at: mark.value for at, mark in marks.items() if mark.value is not None and at not in bad}
    spans = {at: marks[at].span for at in scores}
    return Reading(scores, spans, tuple(dict.fromkeys(faults)), first.layout, first.notes)


def _holes(marks: dict[tuple[int, str], Mark], factors: Sequence[Factor], n: int) -> list[Fault]:
    faults = []
    for position in range(1, n + 1):
        if not any((position, factor.key) in marks for factor in factors):
            faults.append(Fault("missing-image", "no scores for it were found", position))
            continue
        for factor in factors:
            mark = marks.get((position, factor.key))
            if mark is None:
                faults.append(Fault("missing-factor", "no score was found", position, factor.key))
            elif mark.value is None:
                kind: FaultKind = "contradiction" if "two different" in mark.fault else "off-scale"
                faults.append(Fault(kind, mark.fault, position, factor.key))
    return faults


def _reading(window: list[Block], factors: Sequence[Factor], n: int) -> Reading:
    scores: dict[tuple[int, str], Fraction] = {}
    spans: dict[tuple[int, str], tuple[int, int]] = {}
    for block in window:
        for factor in factors:
            mark = block.marks[factor.key]
            if mark.value is not None:
                scores[block.position or 1, factor.key] = mark.value
                spans[block.position or 1, factor.key] = mark.span
    notes = tuple(dict.fromkeys(note for block in window for note in block.notes))
    return Reading(scores, spans, (), window[0].layout, notes)


def _with_faults(reading: Reading, faults: list[Fault]) -> Reading:
    if not faults:
        return reading
    bad = {(fault.position, fault.factor) for fault in faults}
    kept = {at: score for at, score in reading.scores.items() if at not in bad and (at[0], None) not in bad}
    return Reading(kept, {at: reading.spans[at] for at in kept}, tuple(faults), reading.layout, reading.notes)
