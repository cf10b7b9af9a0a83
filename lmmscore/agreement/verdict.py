"""The answer in words: is the judge about as good as one more rater?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lmmscore.agreement.levels import known
from lmmscore.stats.arrays import Floats
from lmmscore.stats.jackknife import Interval

MARGIN = 0.1
"""A difference in Spearman's ρ that would not matter: a judge surely less behind is about as
good."""

FEWEST_ITEMS = 10
"""Items below which nothing is concluded about a judge."""

BETTER = "better than one more rater"
EQUAL = "about as good as one more rater"
UNSURE = "no significant difference from one more rater"
BELOW = "below the average rater"
BELOW_ANY = "below any rater"
NONE = "no agreement shown"
TOO_FEW = "too few items for a verdict"
NO_CEILING = "no ceiling"

MEANING = (
    f"“{EQUAL.capitalize()}”: surely less than {MARGIN:g} in ρ behind. “{UNSURE.capitalize()}”: "
    "the interval of the difference holds 0 and reaches further down than that."
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


def in_words(judge: float, each_rater: Floats, difference: Interval, *, agrees: bool) -> str:
    """Return the verdict.

    `difference` is judge minus rater, averaged over raters. `agrees` says whether the judge's own
    correlation with people is surely above zero: being near a crowd that hardly agrees with itself
    is no merit.
    """
    if difference.low is None or difference.high is None:
        return UNSURE if agrees else NONE
    raters = each_rater[~np.isnan(each_rater)]
    if difference.high < 0:
        return BELOW_ANY if len(raters) and judge < raters.min() else BELOW
    if not agrees:
        return NONE
    if difference.low > 0:
        return BETTER
    return EQUAL if difference.low > -MARGIN else UNSURE
