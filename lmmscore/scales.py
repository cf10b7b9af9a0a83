"""Factors and their scales: exact arithmetic, no floats."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

from pydantic import Field, field_validator, model_validator

from lmmscore.errors import DialogError, LmmscoreError, nearest
from lmmscore.yaml_files import StrictModel

OPEN = "?"
"""What an import writes where the document does not say;
a dialog with an open question cannot be played."""


class Scale(StrictModel):
    """The scores a factor may take: a range, its integers, a list of values, or words."""

    min: Decimal | None = Field(None, description="The lowest score.")
    max: Decimal | None = Field(None, description="The highest score.")
    integers: bool = Field(False, description="Only whole numbers.")
    values: tuple[Decimal, ...] | None = Field(
        None, description="Instead of a range: the only scores allowed."
    )
    words: dict[str, Decimal | None] | None = Field(
        None,
        description="Instead of numbers: the words a judge answers with, and what each counts; "
        "null: it does not count.",
    )

    @model_validator(mode="before")
    @classmethod
    def _answered(cls, data: Any) -> Any:
        if data == OPEN:
            raise ValueError(
                "an open question: which scores are allowed? Write {min: 1, max: 10}, {min: 1, "
                "max: 7, integers: true} "
                "or {values: [0, 1]}"
            )

        return data

    @field_validator("min", "max", "values", "words", mode="before")
    @classmethod
    def _exact(cls, value: Any) -> Any:
        # YAML gives 0.1 as a float; its shortest decimal is what the author wrote.
        if isinstance(value, list | tuple):
            return [cls._exact(entry) for entry in value]

        if isinstance(value, dict):
            return {_as_word(key): cls._exact(entry) for key, entry in value.items()}

        return Decimal(str(value)) if isinstance(value, float) else value

    @model_validator(mode="after")
    def _one_way(self) -> Scale:
        if self.words is not None:
            self._check_words()
            return self

        ranged = self.min is not None and self.max is not None
        if ranged == bool(self.values) or (self.values and (self.min, self.max) != (None, None)):
            raise ValueError("give either min and max, or values")

        if ranged and self.low >= self.high:
            raise ValueError("min must be below max")

        if ranged and self.integers and math.floor(self.high) < math.ceil(self.low):
            raise ValueError("no whole number lies between min and max")

        if self.values and len(set(self.values)) < len(self.values):
            raise ValueError("a value is listed twice")

        return self

    def _check_words(self) -> None:
        if (self.min, self.max, self.values) != (None, None, None) or self.integers:
            raise ValueError("give either words, or min and max, or values")

        words = self.words or {}
        if all(value is None for value in words.values()):
            raise ValueError("words: at least one word must count")

        seen = [word_key(word) for word in words]
        if len(set(seen)) < len(seen):
            raise ValueError("words: two words read the same, for capitals do not matter")

    def __hash__(self) -> int:
        """Return a hash: what is read for a factor is kept by the factor, words and all."""
        words = tuple((self.words or {}).items())
        return hash((self.min, self.max, self.integers, self.values, words))

    @property
    def listed(self) -> tuple[Decimal, ...]:
        """Every score there is, where the scale is not a range."""
        if self.words is not None:
            return tuple(value for value in self.words.values() if value is not None)

        return self.values or ()

    @cached_property
    def low(self) -> Fraction:
        """The lowest score."""
        return Fraction(min(self.listed) if self.listed else self.min or 0)

    @cached_property
    def high(self) -> Fraction:
        """The highest score."""
        return Fraction(max(self.listed) if self.listed else self.max or 0)

    def fault(self, score: Fraction) -> str:
        """Return why a number is not on the scale, or nothing when it is."""
        if self.listed:
            return "" if score in self.listed else f"{show(score)} is not one of {self}"

        if not self.low <= score <= self.high:
            return f"{show(score)} is outside {self}"

        if self.integers and score.denominator != 1:
            return f"{show(score)} is not a whole number"

        return ""

    def __str__(self) -> str:
        if self.words:
            return " / ".join(self.words)

        if self.values:
            return " / ".join(show(Fraction(value)) for value in sorted(self.values))

        return f"{show(self.low)}–{show(self.high)}" + (" (whole numbers)" if self.integers else "")


def word_key(word: str) -> str:
    """Return what two spellings of a word have in common: neither capitals nor spacing matter."""
    return " ".join(word.split()).casefold()


def _as_word(key: object) -> str:
    # YAML takes yes, no, on and off for truth values, and 1 for a number.
    if isinstance(key, bool):
        return "yes" if key else "no"

    return str(key)


class Factor(StrictModel):
    """One thing a judge scores."""

    key: str = Field(
        pattern=r"^[A-Za-z]\w*$", description="The name in tables, files and JSON replies."
    )
    name: str = Field("", description="The name in words.")
    symbol: str = Field("", description="The name in a formula, for example S_acc.")
    aliases: tuple[str, ...] = Field((), description="Other names a judge may use for it.")
    definition: str = Field(
        "", description="What it means, for human raters; the judge is told in the turns' words."
    )
    scale: Scale = Field(description="The numbers it may take.")
    weight: Decimal | None = Field(
        None, description="Its share of the overall score, where that is weighted."
    )

    @field_validator("weight", mode="before")
    @classmethod
    def _exact(cls, value: Any) -> Any:
        return Decimal(str(value)) if isinstance(value, float) else value

    @property
    def names(self) -> tuple[str, ...]:
        """Every name it goes by, the key first."""
        return tuple(
            dict.fromkeys(n for n in (self.key, self.symbol, self.name, *self.aliases) if n)
        )


def weights_of(
    factors: Sequence[Factor], given: Mapping[str, Fraction] | None = None
) -> dict[str, Fraction]:
    """Return the weight of every factor: those given instead of the dialog's own, the rest 0."""
    if given is None:
        return {factor.key: Fraction(factor.weight or 0) for factor in factors}

    known = [factor.key for factor in factors]

    for key in given:
        if key not in known:
            raise DialogError(
                f"no factor {key!r} to weigh{nearest(key, known)} (there are: {', '.join(known)})"
            )

    return {key: given.get(key, Fraction(0)) for key in known}


def show(number: Fraction) -> str:
    """Return the number as it is usually written: `7`, `6.5`;
    at full float precision where it has no short form."""
    if number.denominator == 1:
        return str(number.numerator)

    return repr(float(number))


def refuse_unless_scale(name: str, ends: Any) -> None:
    """Raise unless `ends` are two finite numbers, the lower first."""
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan

    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise LmmscoreError(
            f"{name}={ends!r}: it must be the lowest and the highest score, as (1, 10)"
        )
