from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from lmmscore.dialog import Dialog, load_dialog
from lmmscore.errors import LmmscoreError
from lmmscore.leaderboard.cube import reweigh
from lmmscore.records import Outcome, Score
from lmmscore.scales import Scale, formula, geometric_mean, parts_of, show
from lmmscore.scores import frame_of


@pytest.mark.parametrize(
    ("scale", "good", "bad"),
    [
        (Scale(min=1, max=10), ["1", "6.5", "10"], ["0.9", "10.1", "-1"]),
        (Scale(min=1, max=7, integers=True), ["1", "7"], ["6.5", "8", "0"]),
        (Scale(values=(0, 1)), ["0", "1"], ["0.5", "2"]),  # type: ignore[arg-type]
        (Scale(values=(0, 0.5, 1)), ["0", "0.5", "1"], ["0.25", "1.5"]),  # type: ignore[arg-type]
    ],
)
def test_a_scale_is_exact(scale: Scale, good: list[str], bad: list[str]) -> None:
    """A score off the scale is a fault that names the scale."""
    assert not any(scale.fault(Fraction(number)) for number in good)
    assert all(scale.fault(Fraction(number)) for number in bad)


@pytest.mark.parametrize(
    "data", [{}, {"min": 1}, {"min": 5, "max": 5}, {"min": 1, "max": 2, "values": [1]}, "?"]
)
def test_a_scale_must_be_given_in_one_way(data: object) -> None:
    """Half a scale, or an open question, is refused."""
    with pytest.raises(ValueError, match=r"min|max|values|question|dictionary"):
        Scale.model_validate(data)


def test_equal_sums_tie() -> None:
    """Over all integer scores the overall takes its 91 values, not the 256 that floats make of them."""
    weighted = load_dialog("lmm-score").formula
    assert weighted is not None
    totals = {
        weighted.value(dict(zip(weighted.needs, map(Fraction, scores), strict=True)))
        for scores in product(range(1, 11), repeat=4)
    }
    assert len(totals) == 91
    assert (
        len(
            {
                0.4 * a + 0.3 * p + 0.2 * q + 0.1 * r
                for a, p, q, r in product(range(1, 11), repeat=4)
            }
        )
        == 256
    )


def test_the_published_overalls() -> None:
    """0.4·acc + 0.3·pre + 0.2·qua + 0.1·real, as printed."""
    weighted = load_dialog("lmm-score").formula
    scores = dict(zip(("acc", "pre", "qua", "real"), map(Fraction, (6, 10, 7, 6)), strict=True))
    assert weighted is not None
    total = weighted.value(scores)
    assert total == Fraction("7.4")
    assert show(total) == "7.4"


def test_no_overall_without_every_factor() -> None:
    """The overall is never a mean over the factors that happened to be read."""
    parts = parts_of(load_dialog("lmm-score").factors)
    for rule in (formula("weighted", parts), formula("mean", parts)):
        assert rule is not None and rule.value({"acc": Fraction(6)}) is None


def test_geometric_mean_is_exact_where_the_root_is() -> None:
    """Any 0 gives 0; √(1·1) is 1, √(0.5·0.5) is 0.5."""
    half = Fraction(1, 2)
    assert geometric_mean([Fraction(0), Fraction(1)]) == 0
    assert geometric_mean([half, half]) == half
    assert float(geometric_mean([half, Fraction(1)])) == pytest.approx(0.5**0.5)


def test_unknown_weight_names_the_nearest_factor() -> None:
    """A mistyped factor in --weights is answered with the one that was meant."""
    place = ("1", "t", "A", 1, 1)
    scores = frame_of(Score(*place, key, Fraction(5), Outcome.SCORED) for key in ("acc", "real"))
    with pytest.raises(LmmscoreError, match="did you mean real"):
        reweigh(scores, {"reel": 1.0})


@pytest.mark.parametrize("rule", ["geometric", {"geometric": ["a", "b"]}])
def test_no_geometric_mean_of_negative_scores(rule: object) -> None:
    """-1 and -4 would give 2, and -1 and 4 nothing at all: such a dialog is refused."""
    described = load_dialog("lmm-score").model_dump() | {"overall": rule, "format": 2}
    scale = {"min": -5, "max": 5}
    described["factors"] = [{"key": "a", "scale": scale}, {"key": "b", "scale": scale}]
    with pytest.raises(ValueError, match="geometric mean cannot be taken where a score may be neg"):
        Dialog.model_validate(described)
