"""The whole answer: every row, verdict and note of judges set against people."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lmmscore.agreement.align import Paired
from lmmscore.agreement.statistics import ITEM, METHOD, WITHIN_ITEM
from lmmscore.leaderboard.board import Whisker, draw
from lmmscore.records import OVERALL
from lmmscore.stats.resampling import Interval

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """A statistic of one judge (or of people) on one factor, with its level, n and interval."""

    judge: str
    factor: str
    level: str
    statistic: str
    value_or_nan: float
    n: int
    of: str
    """What n counts: edits, items, methods, raters."""
    averaging: str = ""
    """`mean` or `fisher` where values are averaged, `pooled` where edits are, else empty."""
    task: str | None = None
    method: str | None = None
    interval: Interval | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    why: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> float | None:
        """The value, None where undefined."""
        return known(self.value_or_nan)

    @property
    def limits(self) -> tuple[float | None, float | None]:
        """The 95% interval; nothing where there is none."""
        if self.interval is None or self.value is None:
            return None, None
        return self.interval.low, self.interval.high

    def to_json(self) -> dict[str, Any]:
        """Return the row as a JSON object: full precision, null with a reason where undefined."""
        low, high = self.limits
        data: dict[str, Any] = {"judge": self.judge} if self.judge else {}
        data |= {
            "factor": self.factor,
            "level": self.level,
            "statistic": self.statistic,
            "task": self.task,
            "method": self.method,
            "value": self.value,
            "low": low,
            "high": high,
            "n": self.n,
            "of": self.of,
            "averaging": self.averaging or None,
            "left_out": dict(self.left_out),
        }
        if self.value is None:
            data["why"] = self.why or "it is not defined on these scores"
        elif self.interval is not None and low is None:
            data["why"] = self.interval.why

        return data | dict(self.extra)


def known(value: float) -> float | None:
    """Return a number, or None for NaN: JSON has no NaN, and a table must not show one."""
    return None if math.isnan(value) else float(value)


@dataclass(frozen=True, slots=True)
class MethodStanding:
    """One method beside itself: the judge's mean and rank, people's mean and rank."""

    judge: str
    factor: str
    task: str | None
    method: str
    judge_mean: float
    judge_rank: int
    human_mean: float
    human_rank: int
    items: int

    def to_json(self) -> dict[str, Any]:
        """Return the standing as a JSON object."""
        return {name: getattr(self, name) for name in MethodStanding.__slots__}


@dataclass(frozen=True, slots=True)
class Agreement:
    """Judge–human agreement: shows as a table in a notebook, and converts to a frame or JSON."""

    rows: Sequence[AgreementRow]
    """Over all task categories; at the level within-method also each method inside each task."""
    task_rows: Sequence[AgreementRow]
    """The other levels inside each task category."""
    methods: Sequence[MethodStanding]
    people: Sequence[AgreementRow]
    factor_means: Sequence[Mapping[str, Any]]
    verdicts: Sequence[Verdict]
    comparisons: Sequence[Mapping[str, Any]]
    judge_table: Sequence[Mapping[str, Any]]
    """Where there are several judges: each with its ρ at every level, and its cluster."""
    alternative: Sequence[Mapping[str, Any]]
    powered: Sequence[Mapping[str, Any]]
    variance: Mapping[str, Mapping[str, Any]]
    """By factor: the variance components of people's ratings."""
    disagreements: Sequence[Mapping[str, Any]]
    notes: Sequence[str]
    settings: Mapping[str, Any]
    headline_factors: Sequence[str]
    """What the first tables are about: the overall, or the factors asked for."""
    paired: Mapping[tuple[str, str], Paired] = field(default_factory=dict, repr=False)
    """By judge and factor: the pairs behind the rows, for plots."""

    @property
    def judges(self) -> list[str]:
        """The judges, in the order given."""
        return list(dict.fromkeys(name for name, _ in self.paired))

    @property
    def factors(self) -> list[str]:
        """The factors, overall last."""
        found = dict.fromkeys(factor for _, factor in self.paired)
        return sorted(found, key=lambda factor: factor == OVERALL)

    @property
    def tasks(self) -> list[str]:
        """The task categories there are rows for."""
        rows = (*self.task_rows, *self.rows)
        return list(dict.fromkeys(row.task for row in rows if row.task is not None))

    def row(
        self,
        judge: str,
        factor: str,
        level: str,
        statistic: str,
        *,
        task: str | None = None,
        averaging: str = "",
    ) -> AgreementRow | None:
        """Return one row that is not about a single method, or None where there is no such."""
        wanted = (judge, factor, level, statistic, task, None)
        for row in (*self.rows, *self.task_rows):
            found = (row.judge, row.factor, row.level, row.statistic, row.task, row.method)
            if found == wanted and averaging in ("", row.averaging):
                return row
        return None

    def people_row(self, factor: str, statistic: str) -> AgreementRow | None:
        """Return one row about the people, or None."""
        for row in self.people:
            if (row.factor, row.statistic) == (factor, statistic):
                return row
        return None

    def verdict(self, judge: str, factor: str) -> Verdict | None:
        """Return the verdict on a judge for a factor, or None."""
        for one in self.verdicts:
            if (one.judge, one.factor) == (judge, factor):
                return one
        return None

    def standings(self, judge: str, factor: str, task: str | None) -> list[MethodStanding]:
        """Return the methods of one table, best by the judge first."""
        wanted = (judge, factor, task)
        return [one for one in self.methods if (one.judge, one.factor, one.task) == wanted]

    def sentence(self, judge: str) -> str:
        """Return the verdict on a judge in one plain sentence."""
        if OVERALL not in self.headline_factors[:1] and len(self.headline_factors) > 1:
            return self._sentence_over_factors(judge)

        factor = self.headline_factors[0] if self.headline_factors else OVERALL
        said = f"{judge} on {self._said(judge, factor)}"
        across = self.row(judge, factor, METHOD, "spearman")
        if across is not None and across.value is not None:
            said += f"; its ranking of {across.n} methods and people's: ρ = {across.value:.2f}"

        verdict = self.verdict(judge, factor)
        if verdict and verdict.why:
            said += f"; {verdict.why}"

        return said + "."

    def beside_raters(self, judge: str) -> list[str]:
        """Return what a judge reaches in a rater's place; and, of an overall nobody gave, its ρ."""
        found = []
        factor = OVERALL if OVERALL in self.factors else self.headline_factors[0]
        if factor == OVERALL and OVERALL not in self.headline_factors[:1]:
            found.append(f"The mean of its factors as {self._said(judge, OVERALL)}.")

        verdict = self.verdict(judge, factor)
        if verdict is not None and verdict.difference is not None:
            gap = verdict.difference
            within = ""
            if gap.low is not None and gap.high is not None:
                within = f"95% {gap.low:.3f} to {gap.high:.3f}, "

            found.append(
                f"On {factor}, it reaches {verdict.judge_value:.3f} in a rater's place, where a "
                f"rater reaches {verdict.people_value:.3f}; the difference is {gap.value:.3f} "
                f"({within}{verdict.raters} raters)."
            )

        return found

    def _said(self, judge: str, factor: str) -> str:
        """Return a factor, the verdict on it, and the correlation behind that."""
        verdict = self.verdict(judge, factor)
        row = self.row(judge, factor, ITEM, "spearman")
        if row is None:
            row = self.row(judge, factor, WITHIN_ITEM, "spearman")

        said = f"{factor}: {verdict.words if verdict else 'no verdict'}"
        if row is None:
            return said
        if row.value is None:
            return f"{said} (ρ is undefined, because {row.why})"

        low, high = row.limits
        within = "" if low is None or high is None else f", 95% {low:.2f} to {high:.2f}"
        return f"{said} (ρ = {row.value:.3f}{within}, {row.n} {row.of}, level {row.level})"

    def _sentence_over_factors(self, judge: str) -> str:
        """Return the verdict where no overall was given: over the factors."""
        factors = [factor for factor in self.headline_factors if factor != OVERALL]
        words: dict[str, list[str]] = {}
        values = []
        for factor in factors:
            verdict = self.verdict(judge, factor)
            row = self.row(judge, factor, ITEM, "spearman")
            if verdict is not None:
                words.setdefault(verdict.words, []).append(factor)

            if row is not None and row.value is not None:
                values.append(row.value)

        said = "; ".join(f"{one} on {_listed(names)}" for one, names in words.items())
        mean = ""
        if values:
            mean = f" (mean ρ = {sum(values) / len(values):.3f} over {len(values)} factors)"

        return f"{judge}, which has no overall of its own: {said or 'no verdict'}{mean}."

    def with_notes(self, notes: Sequence[str]) -> Agreement:
        """Return the same with more notes before its own."""
        return replace(self, notes=[*notes, *self.notes])

    def to_frame(self) -> pd.DataFrame:
        """Return the judges' rows as a table, one statistic per line."""
        return frame(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, at full precision."""
        return {
            "methods": [one.to_json() for one in self.methods],
            "rows": [row.to_json() for row in self.rows],
            "tasks": [row.to_json() for row in self.task_rows],
            "people": [row.to_json() for row in self.people],
            "factor_means": list(self.factor_means),
            "verdicts": [
                one.to_json() | {"sentence": self.sentence(one.judge)}
                if one.factor in self.headline_factors[:1]
                else one.to_json()
                for one in self.verdicts
            ],
            "judges": list(self.judge_table),
            "comparisons": list(self.comparisons),
            "alternative_annotator": list(self.alternative),
            "prediction_powered": list(self.powered),
            "variance": dict(self.variance),
            "disagreements": list(self.disagreements),
            "notes": list(self.notes),
            "settings": dict(self.settings),
        }

    def to_json(self) -> str:
        """Return everything as JSON. NaN cannot occur: what is undefined is null with a reason."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)

    def _repr_html_(self) -> str:
        marks = []
        lines = []
        for judge in self.judges:
            for factor in self.factors:
                row = self.row(judge, factor, ITEM, "spearman")
                if row is None:
                    continue

                marks.append(Whisker(f"{judge}: {factor}", row.value, *row.limits))
                lines.append(_line(self, row))

        import pandas as pd

        table = str(pd.DataFrame(lines).to_html(index=False, na_rep="undefined", border=0))
        title = "Spearman correlation with people over edits, with 95% intervals"
        return table + draw(marks, title)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{len(names)} factors"


def _line(found: Agreement, row: AgreementRow) -> dict[str, Any]:
    low, high = row.limits
    verdict = found.verdict(row.judge, row.factor)
    return {
        "judge": row.judge,
        "factor": row.factor,
        "n": row.n,
        "ρ": "undefined" if row.value is None else f"{row.value:.3f}",
        "95%": "" if low is None or high is None else f"{low:.2f} to {high:.2f}",
        "verdict": verdict.words if verdict else "",
    }


def frame(rows: Sequence[AgreementRow]) -> pd.DataFrame:
    """Return rows as a table, one statistic per line."""
    import pandas as pd

    records = []
    for row in rows:
        told = [f"{reason} ({count})" for reason, count in row.left_out.items()]
        records.append(row.to_json() | {"left_out": "; ".join(told)})

    return pd.DataFrame(records)


MARGIN = 0.1
"""A difference in Spearman's ρ that would not matter:
a judge surely less behind is about as good."""

FEWEST_ITEMS = 10
"""Items below which nothing is concluded about a judge."""

BETTER = "better than one more rater"
EQUAL = "about as good as one more rater"
UNSURE = "no significant difference from one more rater"
BELOW = "below the average rater"
BELOW_ANY = "below any rater"
NONE = "no agreement shown"
TOO_FEW = "too few items for a verdict"
NO_CEILING = "no raters to compare with"

MEANING = (
    f"“{EQUAL.capitalize()}”: surely less than {MARGIN:g} in ρ behind. “{UNSURE.capitalize()}”: "
    "the interval of the difference holds 0 and reaches further down than that. "
    f"“{BELOW.capitalize()}”: the interval lies below 0; “{BELOW_ANY}”: so does that of the "
    "difference from every single rater."
)
"""The margins behind the words."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the judge does beside the raters, each against the mean of the others, within rater."""

    judge: str
    factor: str
    words: str
    judge_value: float
    people_value: float
    difference: Interval | None
    raters: int
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as a JSON object."""
        gap = self.difference
        return {
            "judge": self.judge,
            "factor": self.factor,
            "verdict": self.words,
            "judge_rater_spearman": known(self.judge_value),
            "people_rater_spearman": known(self.people_value),
            "difference": known(gap.value) if gap else None,
            "low": gap.low if gap else None,
            "high": gap.high if gap else None,
            "margin": MARGIN,
            "raters": self.raters,
            **({"why": self.why} if self.why else {}),
        }


def in_words(difference: Interval, *, agrees: bool, below_each: bool) -> str:
    """Return the verdict.

    `difference` is judge minus rater, averaged over raters. `agrees` says whether the judge's own
    correlation with people is surely above zero: being near a crowd that hardly agrees with itself
    is no merit. `below_each` says whether it is surely below every single rater.
    """
    if difference.low is None or difference.high is None:
        return UNSURE if agrees else NONE

    if difference.high < 0:
        return BELOW_ANY if below_each else BELOW

    if not agrees:
        return NONE

    if difference.low > 0:
        return BETTER

    return EQUAL if difference.low > -MARGIN else UNSURE
