"""Factors, their scales, and the rules by which overall scores come from them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from lmmscore.errors import LmmscoreError, alternatives, nearest
from lmmscore.yaml_files import StrictModel

# --------------------------------------------------------------------------------------------------
# Factors and their scales: exact arithmetic, no floats.
# --------------------------------------------------------------------------------------------------

OPEN = "?"
"""What an import writes where the document does not say;
a dialog with an open question cannot be run."""


def _exact(value: Any) -> Any:
    # YAML gives 0.1 as a float; its shortest decimal is what the author wrote.
    return Decimal(str(value)) if isinstance(value, float) else value


Exact = Annotated[Decimal, BeforeValidator(_exact)]
"""A number of a YAML file, as it is written there."""


class Scale(StrictModel):
    """The scores a factor may take: a range, its integers, a list of values, or words."""

    min: Exact | None = Field(None, description="The lowest score.")
    max: Exact | None = Field(None, description="The highest score.")
    integers: bool = Field(False, description="Only whole numbers.")
    values: tuple[Exact, ...] | None = Field(
        None, description="Instead of a range: the only scores allowed."
    )
    words: dict[str, Exact | None] | None = Field(
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

    @field_validator("words", mode="before")
    @classmethod
    def _as_words(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value

        return {_as_word(key): worth for key, worth in value.items()}

    @model_validator(mode="after")
    def _one_way(self) -> Scale:
        """Refuse a scale that is empty, or two at once."""
        if self.words is not None:
            self._check_words()
            return self

        # A range has both ends and no values; values have no ends.
        ends = [end for end in (self.min, self.max) if end is not None]
        if len(ends) != (0 if self.values else 2):
            raise ValueError("give either min and max, or values")

        if self.values:
            if len(set(self.values)) < len(self.values):
                raise ValueError("a value is listed twice")

            return self

        if self.low >= self.high:
            raise ValueError("min must be below max")

        if self.integers and math.floor(self.high) < math.ceil(self.low):
            raise ValueError("no whole number lies between min and max")

        return self

    def _check_words(self) -> None:
        if (self.min, self.max, self.values) != (None, None, None) or self.integers:
            raise ValueError("give either words, or min and max, or values")

        if not self.listed:
            raise ValueError("words: at least one word must count")

        words = self.words or {}
        different = {word_key(word) for word in words}
        if len(different) < len(words):
            raise ValueError("words: two words read the same, for capitals do not matter")

    def __hash__(self) -> int:
        """Return a hash that pydantic cannot make of the words: readings are cached by factor."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
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

    @cached_property
    def _ends(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Both ends as integers over integers: they are compared quickly, fractions are not."""
        return self.low.as_integer_ratio(), self.high.as_integer_ratio()

    def fault(self, score: Fraction) -> str:
        """Return why a number is not on the scale, or nothing when it is."""
        if self.listed:
            return "" if score in self.listed else f"{show(score)} is not one of {self}"

        (low, low_of), (high, high_of) = self._ends
        value, of = score.numerator, score.denominator
        if value * low_of < low * of or value * high_of > high * of:
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
    """Return a word with neither capitals nor extra spaces, to compare two spellings."""
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
    weight: Exact | None = Field(
        None, description="Its share of the overall score, where that is weighted."
    )
    better: Literal["high", "low"] = Field(
        "high",
        description="Format 2: `low` where the lowest score is the best. The scores stay as they "
        "are given, and in the overall the factor counts as lowest + highest − score.",
    )

    @property
    def names(self) -> tuple[str, ...]:
        """Every name it goes by, the key first."""
        return tuple(
            dict.fromkeys(n for n in (self.key, self.symbol, self.name, *self.aliases) if n)
        )


def show(number: Fraction) -> str:
    """Return the number as people write it: `7`, `6.5`; at full float precision where it has no
    short form."""
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


# --------------------------------------------------------------------------------------------------
# How an overall score comes from factors, and a suite's from its members: exact arithmetic.
#
# A rule is data: `mean`, or `{geometric: [{min: [a, b]}, c]}`, or `{rule: {weighted: {a: .3, b:
# .7}}, then: [{where: {b: {at_most: 1}}, times: 0.5}]}`. An overall is computed here and nowhere
# else.
# --------------------------------------------------------------------------------------------------

RuleName = Literal[
    "weighted", "mean", "min", "max", "geometric", "product", "bradley-terry", "none"
]
"""A rule over everything there is, in a word. Only dialogs of pairs have `bradley-terry`."""

Ends = tuple[Fraction, Fraction]
"""The lowest and the highest value possible."""

_LISTED = ("mean", "min", "max", "geometric", "product")


class Bounds(StrictModel):
    """A condition on a number. A bare number means `is`."""

    model_config = ConfigDict(populate_by_name=True)

    at_most: Exact | None = Field(None, description="This or less.")
    at_least: Exact | None = Field(None, description="This or more.")
    below: Exact | None = Field(None, description="Less than this.")
    above: Exact | None = Field(None, description="More than this.")
    equals: Exact | None = Field(None, alias="is", description="Exactly this.")

    @model_validator(mode="before")
    @classmethod
    def _bare_number(cls, data: Any) -> Any:
        return data if isinstance(data, dict) else {"is": data}

    @model_validator(mode="after")
    def _some(self) -> Bounds:
        if all(getattr(self, name) is None for name in type(self).model_fields):
            raise ValueError("give at_most, at_least, below, above or is")
        return self

    def holds(self, number: Fraction) -> bool:
        """Tell whether the number meets every bound."""
        failed = (
            (self.at_most is not None and number > self.at_most),
            (self.at_least is not None and number < self.at_least),
            (self.below is not None and number >= self.below),
            (self.above is not None and number <= self.above),
            (self.equals is not None and number != self.equals),
        )
        return not any(failed)


class Adjustment(StrictModel):
    """What is done to a rule's value where some factors have certain scores."""

    where: dict[str, Bounds] = Field(
        min_length=1,
        description="Conditions by factor; all must hold. A factor left out never does.",
    )
    times: Exact | None = Field(None, description="The value is multiplied by this.")
    becomes: Exact | None = Field(None, description="The value is replaced by this: a gate.")

    @model_validator(mode="after")
    def _one_effect(self) -> Adjustment:
        if (self.times is None) == (self.becomes is None):
            raise ValueError("give either times or becomes")
        return self

    def effect(self, value: Fraction) -> Fraction:
        """Return the value after this adjustment."""
        if self.becomes is not None:
            return Fraction(self.becomes)
        return value * Fraction(self.times or 0)

    def applies(self, scores: Mapping[str, Fraction]) -> bool:
        """Tell whether every condition holds."""
        return all(
            name in scores and bounds.holds(scores[name]) for name, bounds in self.where.items()
        )


class Rule(StrictModel):
    """One operation over factors and other rules; what is left out does not count."""

    mean: tuple[Operand, ...] | None = Field(None, min_length=1, description="The arithmetic mean.")
    min: tuple[Operand, ...] | None = Field(None, min_length=1, description="The lowest.")
    max: tuple[Operand, ...] | None = Field(None, min_length=1, description="The highest.")
    geometric: tuple[Operand, ...] | None = Field(
        None, min_length=1, description="The geometric mean; any 0 gives 0."
    )
    product: tuple[Operand, ...] | None = Field(None, min_length=1, description="The product.")
    weighted: dict[str, Exact] | None = Field(
        None, min_length=1, description="Shares by factor; they add up to 1."
    )
    rule: Overall | None = Field(None, description="Another rule, to be scaled or adjusted.")
    absent: dict[str, str] = Field(
        default_factory=dict,
        description="With weighted: who takes over the share of a factor that was left out. "
        "Without a word here, the shares of the others grow in proportion.",
    )
    scaled_to: tuple[Exact, Exact] | None = Field(
        None, description="The value's own range is mapped to this one."
    )
    then: tuple[Adjustment, ...] = Field((), description="Done to the value after that, in order.")

    @model_validator(mode="after")
    def _one_operation(self) -> Rule:
        """Refuse a rule with no operation, or with two."""
        given = [name for name in (*_LISTED, "weighted", "rule") if getattr(self, name) is not None]
        if len(given) != 1:
            known = ", ".join((*_LISTED, "weighted", "rule"))
            raise ValueError(f"give exactly one of {known}; given: {', '.join(given) or 'none'}")

        if self.rule in ("none", "bradley-terry"):
            raise ValueError(f"`rule: {self.rule}` gives no number; name another rule")
        if self.scaled_to is not None and self.scaled_to[0] >= self.scaled_to[1]:
            raise ValueError("scaled_to: the lower end comes first")

        self._check_weights()
        return self

    def _check_weights(self) -> None:
        """Refuse weights that do not add up to 1, and names under `absent` that have none."""
        if self.weighted is not None:
            weights = list(self.weighted.values())
            if any(not weight.is_finite() or weight < 0 for weight in weights):
                raise ValueError("weighted: a weight must be 0 or more")
            if sum(weights) != 1:
                raise ValueError(f"weighted: the weights add up to {sum(weights)}, not to 1")

        known = self.weighted or {}

        for name in (*self.absent, *self.absent.values()):
            if name not in known:
                raise ValueError(f"absent: {name} has no weight here{nearest(name, known)}")

    @property
    def operation(self) -> str:
        """The operation's name."""
        named = (name for name in _LISTED if getattr(self, name) is not None)
        return next(named, "weighted" if self.weighted is not None else "rule")

    @property
    def operands(self) -> tuple[Operand, ...]:
        """What the operation is applied to."""
        if self.weighted is not None:
            return tuple(self.weighted)
        if self.rule is not None:
            return (self.rule,)
        found: tuple[Operand, ...] = getattr(self, self.operation)
        return found

    def names(self) -> Iterator[str]:
        """Yield every factor this rule needs, some perhaps more than once."""
        for operand in self.operands:
            if isinstance(operand, Rule):
                yield from operand.names()
            elif self.rule is None:
                yield operand

        for adjustment in self.then:
            yield from adjustment.where


def _kind(data: Any) -> str:
    return "name" if isinstance(data, str) else "function-of-factors"


Overall = Annotated[
    Annotated[RuleName, Tag("name")] | Annotated[Rule, Tag("function-of-factors")],
    Discriminator(_kind),
]
"""What `overall` may be: a rule over everything in a word, or one spelt out."""

Operand = Annotated[
    Annotated[str, Tag("name")] | Annotated[Rule, Tag("function-of-factors")],
    Discriminator(_kind),
]
Rule.model_rebuild()


@dataclass(frozen=True, slots=True)
class RulePart:
    """Something a rule can name: a factor of a dialog, or a member of a suite."""

    name: str
    ends: Ends
    weight: Fraction | None = None
    turned: bool = False
    """Whether low is good: then it counts as lowest + highest − score, within the same ends."""

    def counted(self, score: Fraction) -> Fraction:
        """Return what a score counts in a rule."""
        return sum(self.ends) - score if self.turned else score


@dataclass(frozen=True, slots=True)
class Formula:
    """A rule with what it is applied to: a function from scores to the overall."""

    rule: Rule
    parts: Mapping[str, RulePart]

    @property
    def needs(self) -> tuple[str, ...]:
        """The names of everything the rule uses, each once."""
        return tuple(dict.fromkeys(self.rule.names()))

    @property
    def ends(self) -> Ends:
        """The lowest and the highest overall."""
        return _ends(self.rule, self.parts)

    @property
    def is_linear(self) -> bool:
        """Whether the overall is a weighted sum of the scores, whatever they are."""
        return _is_linear(self.rule)

    def value(
        self, scores: Mapping[str, Fraction], absent: Collection[str] = ()
    ) -> Fraction | None:
        """Return the overall, exactly; None where something is unscored, or nothing counts.

        `absent` names what was left out for this edit: it does not count, and its share goes where
        the rule says.
        """
        if any(name not in scores and name not in absent for name in self.needs):
            return None
        counted = {name: score for name, score in scores.items() if name not in absent}
        return _value(self.rule, counted, self.parts)


def formula(overall: Overall, parts: Sequence[RulePart]) -> Formula | None:
    """Return the rule as a function of these parts; None where there is to be no overall."""
    if overall in ("none", "bradley-terry"):
        return None
    return Formula(_spelt_out(overall, parts), {part.name: part for part in parts})


def parts_of(factors: Sequence[Factor]) -> list[RulePart]:
    """Return the factors of a dialog as parts of a rule."""
    return [
        RulePart(
            factor.key,
            (factor.scale.low, factor.scale.high),
            None if factor.weight is None else Fraction(factor.weight),
            factor.better == "low",
        )
        for factor in factors
    ]


def faults_of(overall: Overall, parts: Sequence[RulePart]) -> Iterator[str]:
    """Yield what is wrong with a rule over these parts: names, weights, roots of negatives."""
    if overall == "weighted":
        yield from _weight_faults([part.weight for part in parts])

    found = formula(overall, parts)
    if found is None:
        return

    unknown = [name for name in found.needs if name not in found.parts]
    for name in unknown:
        yield f"overall: unknown name {name}{alternatives(name, found.parts)}"

    if not unknown:
        yield from _root_faults(found.rule, found.parts)


def _weight_faults(weights: Sequence[Fraction | None]) -> Iterator[str]:
    """Yield why the weights of a dialog cannot be used."""
    given = [weight for weight in weights if weight is not None]
    total = sum(given, Fraction(0))
    if len(given) < len(weights):
        yield "overall: weighted, but a factor has no weight"
    elif min(given, default=0) < 0:
        yield "factors: a weight must be 0 or more"
    elif total != 1:
        yield f"factors: the weights add up to {show(total)}, not to 1"


def _root_faults(rule: Rule, parts: Mapping[str, RulePart]) -> Iterator[str]:
    """Yield where a geometric mean would be taken of a negative score, at any depth."""
    for operand in rule.operands:
        if isinstance(operand, Rule):
            yield from _root_faults(operand, parts)
            low = _ends(operand, parts)[0]
        else:
            low = parts[str(operand)].ends[0]

        if rule.operation == "geometric" and low < 0:
            yield "overall: a geometric mean cannot be taken where a score may be negative"


def _spelt_out(overall: Overall, parts: Sequence[RulePart]) -> Rule:
    """Return a rule in which no operation stands for everything there is."""
    if isinstance(overall, Rule):
        if overall.rule is None:
            return overall
        return overall.model_copy(update={"rule": _spelt_out(overall.rule, parts)})

    if overall == "weighted":
        # Not validated again: weights read from a transcript may add up to anything.
        given: dict[str, Any] = {"weighted": {part.name: part.weight or 0 for part in parts}}
    else:
        given = {overall: tuple(part.name for part in parts)}

    return Rule.model_construct(None, **given)


def _is_linear(rule: Rule) -> bool:
    if rule.then or rule.operation not in ("mean", "weighted", "rule"):
        return False
    return all(_is_linear(operand) for operand in rule.operands if isinstance(operand, Rule))


def _value(
    rule: Rule, scores: Mapping[str, Fraction], parts: Mapping[str, RulePart]
) -> Fraction | None:
    """Return the value of a rule over the scores that count; None where there are none."""
    if rule.weighted is not None:
        found = _weighted(rule, scores, parts)
    else:
        found = _combined(rule, scores, parts)

    if found is None:
        return None

    # Scaled before it is adjusted: the numbers of an adjustment are on the scale that is shown.
    if rule.scaled_to is not None:
        found = _scaled(found, _plain_ends(rule, parts), rule.scaled_to)

    # Conditions are about scores as they were given, whichever way a factor counts.
    for adjustment in rule.then:
        if adjustment.applies(scores):
            found = adjustment.effect(found)

    return found


def _combined(
    rule: Rule, scores: Mapping[str, Fraction], parts: Mapping[str, RulePart]
) -> Fraction | None:
    """Return the result of an operation over its operands; those left out do not count."""
    values = []
    for operand in rule.operands:
        if isinstance(operand, Rule):
            value = _value(operand, scores, parts)
        else:
            given = scores.get(operand)
            value = None if given is None else parts[operand].counted(given)

        if value is not None:
            values.append(value)

    return _applied(rule.operation, values) if values else None


def _weighted(
    rule: Rule, scores: Mapping[str, Fraction], parts: Mapping[str, RulePart]
) -> Fraction | None:
    """Return the weighted sum, with the shares of what was left out given to others."""
    shares = {name: Fraction(weight) for name, weight in (rule.weighted or {}).items()}
    # Not always 1: weights read from a transcript may add up to anything.
    whole = sum(shares.values(), Fraction(0))

    for name, heir in rule.absent.items():
        if name not in scores and heir in scores:
            shares[heir] += shares.pop(name)

    counted = {name: share for name, share in shares.items() if name in scores}
    total = sum(counted.values(), Fraction(0))
    if not counted or (whole and not total):
        return None

    products = [share * parts[name].counted(scores[name]) for name, share in counted.items()]
    value = sum(products, Fraction(0))
    # The share of what was left out goes to the others, in proportion.
    return value if total == whole else value * whole / total


def _applied(operation: str, values: Sequence[Fraction]) -> Fraction:
    """Return the result of an operation over at least one number."""
    # A rule inside a rule is its only value.
    if operation in ("min", "rule"):
        return min(values)
    if operation == "max":
        return max(values)
    if operation == "geometric":
        return geometric_mean(values)
    if operation == "product":
        return math.prod(values, start=Fraction(1))
    return sum(values, Fraction(0)) / len(values)


def _scaled(value: Fraction, ends: Ends, target: tuple[Decimal, Decimal]) -> Fraction:
    low, high = ends
    to_low, to_high = (Fraction(end) for end in target)
    return to_low + (value - low) * (to_high - to_low) / (high - low)


def _ends(rule: Rule, parts: Mapping[str, RulePart]) -> Ends:
    """Return the lowest and the highest value a rule can give, adjustments included."""
    low, high = _plain_ends(rule, parts)
    if rule.scaled_to is not None:
        low, high = (Fraction(end) for end in rule.scaled_to)

    for adjustment in rule.then:
        possible = (low, high, adjustment.effect(low), adjustment.effect(high))
        low, high = min(possible), max(possible)

    return low, high


def _plain_ends(rule: Rule, parts: Mapping[str, RulePart]) -> Ends:
    """Return the ends of a rule's value before it is scaled and adjusted."""
    ends = [
        _ends(operand, parts) if isinstance(operand, Rule) else parts[operand].ends
        for operand in rule.operands
    ]
    if rule.weighted is not None:
        shares = [Fraction(weight) for weight in rule.weighted.values()]
        low = sum((share * end[0] for share, end in zip(shares, ends, strict=True)), Fraction(0))
        high = sum((share * end[1] for share, end in zip(shares, ends, strict=True)), Fraction(0))
        return low, high

    # With negative scores the extremes of a product may be at any corner.
    if rule.operation == "product":
        corners = [math.prod(corner, start=Fraction(1)) for corner in itertools.product(*ends)]
        return min(corners), max(corners)

    return (
        _applied(rule.operation, [end[0] for end in ends]),
        _applied(rule.operation, [end[1] for end in ends]),
    )


def geometric_mean(scores: Sequence[Fraction]) -> Fraction:
    """Return the geometric mean, exact where the root is, else the nearest float. Any 0 gives 0."""
    product = math.prod(scores, start=Fraction(1))
    root = float(product) ** (1 / len(scores))
    rounded = Fraction(root).limit_denominator(1000)
    return rounded if rounded ** len(scores) == product else Fraction(root)
