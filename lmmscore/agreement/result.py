"""The whole answer: every row, verdict and note of judges set against people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lmmscore.agreement.building import frame
from lmmscore.agreement.pairing import Paired
from lmmscore.agreement.rows import Row
from lmmscore.agreement.verdict import Verdict
from lmmscore.records import OVERALL
from lmmscore.whiskers import Whisker, draw

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Agreement:
    """Judge–human agreement: shows as a table in a notebook, and converts to a frame or JSON."""

    rows: Sequence[Row]
    tasks: Sequence[Row]
    """The method level inside each task category."""
    people: Sequence[Row]
    factor_means: Sequence[Mapping[str, Any]]
    verdicts: Sequence[Verdict]
    comparisons: Sequence[Mapping[str, Any]]
    alternative: Sequence[Mapping[str, Any]]
    powered: Sequence[Mapping[str, Any]]
    notes: Sequence[str]
    settings: Mapping[str, Any]
    paired: Mapping[tuple[str, str], Paired] = field(default_factory=dict, repr=False)
    """By judge and factor: the pairs behind the rows, for plots."""

    @property
    def judges(self) -> list[str]:
        """The judges, in the order given."""
        return list(dict.fromkeys(row.judge for row in self.rows))

    @property
    def factors(self) -> list[str]:
        """The factors, overall last."""
        found = dict.fromkeys(row.factor for row in self.rows)
        return sorted(found, key=lambda factor: factor == OVERALL)

    def row(self, judge: str, factor: str, level: str, statistic: str) -> Row | None:
        """Return one row, or None where there is no such."""
        wanted = (judge, factor, level, statistic)
        rows = (
            r
            for r in self.rows
            if (r.judge, r.factor, r.measure.level, r.measure.statistic) == wanted
        )
        return next(rows, None)

    def people_row(self, factor: str, statistic: str) -> Row | None:
        """Return one row about the people, or None."""
        rows = (
            row for row in self.people if (row.factor, row.measure.statistic) == (factor, statistic)
        )
        return next(rows, None)

    def verdict(self, judge: str, factor: str) -> Verdict | None:
        """Return the verdict on a judge for a factor, or None."""
        found = (one for one in self.verdicts if (one.judge, one.factor) == (judge, factor))
        return next(found, None)

    def with_notes(self, notes: Sequence[str]) -> Agreement:
        """Return the same with more notes before its own."""
        return replace(self, notes=[*notes, *self.notes])

    def to_frame(self) -> pd.DataFrame:
        """Return the judges' rows as a table, one statistic a line."""
        return frame(self.rows)

    def people_frame(self) -> pd.DataFrame:
        """Return the rows about people as a table."""
        return frame(self.people)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, at full precision."""
        return {
            "rows": [row.to_json() for row in self.rows],
            "people": [row.to_json() for row in self.people],
            "factor_means": list(self.factor_means),
            "verdicts": [one.to_json() for one in self.verdicts],
            "tasks": [row.to_json() for row in self.tasks],
            "comparisons": list(self.comparisons),
            "alternative_annotator": list(self.alternative),
            "prediction_powered": list(self.powered),
            "notes": list(self.notes),
            "settings": dict(self.settings),
        }

    def to_json(self) -> str:
        """Return everything as JSON. NaN cannot occur: what is undefined is null with a reason."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)

    def _repr_html_(self) -> str:
        from lmmscore.agreement.summary import summary

        heads = [
            row
            for row in self.rows
            if (row.measure.level, row.measure.statistic) == ("item", "spearman")
        ]
        marks = [Whisker(f"{row.judge}: {row.factor}", row.value, *row.limits) for row in heads]
        table = str(summary(self).to_html(index=False, na_rep="undefined", border=0))
        return table + draw(
            marks, "Spearman correlation with people over edits, with 95% intervals"
        )
