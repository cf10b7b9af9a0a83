"""The frozen records that pass between modules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal, localcontext
from enum import StrEnum
from fractions import Fraction
from pathlib import Path

OVERALL = "overall"
"""The factor name under which the overall score of an edit stands in every table."""

AS_TOLD = "as told"
"""The order of edits in a run made of transcripts: nobody chose it, and it cannot be run again."""

SAME = 1e-9
"""Two scores nearer than this are the same score: scores are short decimals, the rest is noise."""


class Outcome(StrEnum):
    """How a score came about, or why there is none. Only `scored` carries a number."""

    SCORED = "scored"
    REFUSED = "refused"
    FILTERED = "filtered"
    TRUNCATED = "truncated"
    UNREADABLE = "unreadable"
    MISSING = "missing"
    FAILED = "failed"
    ABSENT = "absent"
    """Not asked of this edit, or the judge says that it does not apply. It does not count."""
    UNJUDGED = "unjudged"
    """Planned, and not reached: the run was stopped."""


@dataclass(frozen=True, slots=True)
class Item:
    """A picture to be edited: what was wanted, in which task category,
    and what each method made of it."""

    id: str
    task: str
    instruction: str
    images: Mapping[str, Path]
    """By kind: `source`, and where the benchmark has them `reference` and `marked`."""
    edits: Mapping[str, Path]
    """By method. A method that made no edit of this item is absent."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Every further column of the items file."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What an exchange cost in tokens, as the provider counted; None where it did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A judge's answer, verbatim."""

    text: str
    finish: str = "stop"
    """`stop`, `length`, `content_filter`, or the provider's own word."""
    refusal: str = ""
    """The provider's separate refusal text, where it has one."""
    reasoning: str = ""
    """Reasoning text, kept apart: it is never read for scores."""
    model: str = ""
    """The exact model that answered, as the provider names it."""
    fingerprint: str = ""
    request_id: str = ""
    usage: Usage = Usage()
    cost_usd: float | None = None
    """What it cost by the price list in force when it was asked; None where no price is known."""
    also: str = ""
    """Whatever else came, as JSON: tool calls, further choices.

    Kept as evidence, never read for scores.
    """


@dataclass(frozen=True, slots=True)
class Score:
    """One line of scores.csv: a judge's number on a factor, or the reason why there is none."""

    item: str
    task: str
    method: str
    repeat: int
    position: int | None
    """1-based place in which the edit was shown; None when it never was."""
    factor: str
    score: Fraction | None
    outcome: Outcome
    reason: str = ""
    expected: Fraction | None = None
    """What the judge would score on average, where its server reports probabilities."""


def fixed(value: float, decimals: int) -> str:
    """Return a number with so many decimals, halves away from zero, and never a negative zero.

    As a reader rounds by hand: 9.665 is 9.67, though the float nearest to it is a little less.
    """
    # Scores are decimals with few places: what lies beyond the twelfth is noise of binary floats.
    exact = Decimal(repr(round(float(value), 12)))
    with localcontext(rounding=ROUND_HALF_UP):
        text = f"{exact:.{decimals}f}"
    return text if float(text) else text.removeprefix("-")


def half_up(value: float, decimals: int) -> float:
    """Return a number rounded as `fixed` does, for files and pages that show it themselves."""
    return float(fixed(value, decimals))


def signed(value: float, decimals: int) -> str:
    """Return a number as `fixed` does, with a plus where it is not negative."""
    text = fixed(value, decimals)
    return text if text.startswith("-") else f"+{text}"


def percent(share: float) -> str:
    """Return a share in percent, rounded; only all of it is 100%, and only none of it is 0%."""
    tenths = int(fixed(share * 1000, 0))
    nearly_all = tenths == 1000 and share < 1 - SAME
    if nearly_all:
        return ">99.9%"

    nearly_none = tenths == 0 and share > SAME
    if nearly_none:
        return "<0.1%"

    whole, rest = divmod(tenths, 10)
    return f"{whole}.{rest}%" if rest else f"{whole}%"
