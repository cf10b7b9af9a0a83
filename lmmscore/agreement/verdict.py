"""The answer in words: is the judge about as good as one more rater?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lmmscore.agreement.arrays import Floats
from lmmscore.agreement.bootstrap import Interval
from lmmscore.agreement.rows import known

MARGIN = 0.1
"""A difference in Spearman's ρ that would not matter: a judge surely less than this behind is about as good."""

BETTER = "better than one more rater"
EQUAL = "about as good as one more rater"
UNSURE = "not told apart from one more rater"
BELOW = "below the average rater"
BELOW_ANY = "below any rater"
NONE = "no agreement shown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the judge does beside the raters, each against the mean of the other raters, within rater."""

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
        limits = self.difference.percentile if self.difference else (float("nan"), float("nan"))
        return {
            "judge": self.judge,
            "factor": self.factor,
            "verdict": self.words,
            "judge_rater_spearman": known(self.judge_value),
            "people_rater_spearman": known(self.people_value),
            "difference": known(self.difference.value) if self.difference else None,
            "low": known(limits[0]),
            "high": known(limits[1]),
            "raters": self.raters,
            **({"why": self.why} if self.why else {}),
        }


def in_words(judge: float, each_rater: Floats, difference: Interval, agrees: bool) -> str:
    """Return the verdict.

    `difference` is judge minus rater, averaged over raters. `agrees` says whether the judge's own correlation with
    people is surely above zero: being near a crowd that hardly agrees with itself is no merit.
    """
    low, high = difference.percentile
    raters = each_rater[~np.isnan(each_rater)]
    if high < 0:
        return BELOW_ANY if len(raters) and judge < raters.min() else BELOW
    if not agrees:
        return NONE
    if low > 0:
        return BETTER
    return EQUAL if low > -MARGIN else UNSURE
