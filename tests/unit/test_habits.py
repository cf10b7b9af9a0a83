"""A judge's habits, counted."""

from __future__ import annotations

import pytest

from lmmscore.cli.command_line import names_in
from lmmscore.leaderboard.diagnostics import habit_statements as statements
from lmmscore.leaderboard.diagnostics import habits, scale_use
from tests.tidy_frames import judged, overall, tidy


def test_ties_are_counted_in_pairs_and_sessions() -> None:
    """Of three edits two tie in the first session, all three in the second, none in the third."""
    scores = overall({"A": [5.0, 7.0, 1.0], "B": [5.0, 7.0, 2.0], "C": [6.0, 7.0, 3.0]})
    use = scale_use(scores, "overall")
    assert (use.pairs, use.tied_pairs, use.sessions, use.tied_sessions) == (9, 4, 3, 2)


def test_ties_match_counting_every_pair() -> None:
    """The fast count equals looking at every pair of edits of every session."""
    scores = judged(8, 5, repeats=2, holes=0.2)
    scores = scores[scores["factor"] == "acc"].assign(score=lambda f: f["score"].round(0))
    slow = 0
    for _, group in scores.dropna(subset="score").groupby(["task", "item", "repeat"]):
        numbers = group["score"].tolist()
        slow += sum(a == b for k, a in enumerate(numbers) for b in numbers[k + 1 :])
    assert scale_use(scores, "acc").tied_pairs == slow


def test_the_use_of_the_scale_is_described() -> None:
    """Range, different numbers, and the commonest with its share."""
    use = scale_use(overall({"A": [7.0, 7.0, 8.0, 3.0]}), "overall")
    assert (use.lowest, use.highest, use.distinct, use.commonest, use.commonest_share) == (
        3.0,
        8.0,
        3,
        7.0,
        0.5,
    )
    assert dict(use.counts) == {"3": 1, "7": 2, "8": 1}


def test_outcomes_count_edits_not_factors() -> None:
    """An edit refused with all its factors is one refusal; one unread factor spoils its edit once.

    A factor that was left out says nothing about its edit, unless nothing else was asked.
    """
    rows = [
        {"item": "1", "factor": f, "score": None, "outcome": "refused"}
        for f in ("acc", "pre", "overall")
    ]
    rows += [
        {"item": "2", "factor": "acc", "score": 5.0},
        {"item": "2", "factor": "pre", "outcome": "unreadable"},
    ]
    rows += [{"item": "3", "factor": f, "score": 5.0} for f in ("acc", "pre", "overall")]
    rows += [{"item": item, "factor": "text", "outcome": "absent"} for item in "1234"]
    outcomes = {"refused": 1, "unreadable": 1, "scored": 1, "absent": 1}
    assert dict(habits(tidy(rows), None).outcomes) == outcomes


def test_sessions_add_repairs_slips_and_names() -> None:
    """What only the sessions know is summed up over them; without sessions it is unknown, not 0."""
    sessions = [
        {"repairs": 2, "slips": [[1, "6.1", "6.0"]], "names": ["A"]},
        {"repairs": 0, "slips": [], "names": []},
    ]
    found = habits(overall({"A": [5.0]}), sessions)
    assert (found.sessions, found.repairs, found.slips, dict(found.names or {})) == (
        2,
        2,
        1,
        {"A": 1},
    )
    assert any("Method names found" in text for text in statements(found, asks_to_avoid_ties=True))
    assert habits(overall({"A": [5.0]}), None).repairs is None


def test_equal_scores_are_held_against_a_dialog_that_asks_to_avoid_them() -> None:
    """The sentence about ties mentions the request only where there was one."""
    found = habits(overall({"A": [5.0], "B": [5.0]}), None)
    assert "asks to avoid" in statements(found, asks_to_avoid_ties=True)[0]
    assert "asks to avoid" not in statements(found, asks_to_avoid_ties=False)[0]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("This looks like InstructPix2Pix to me.", ["InstructPix2Pix"]),
        ("instructpix2pix!", ["InstructPix2Pix"]),
        ("LEDITS++, surely", ["LEDITS++"]),
        ("the edges are soft", []),
        ("he adds DDS", ["DDS"]),
        ("odds and dds", []),
    ],
)
def test_method_names_are_found_as_whole_words(text: str, names: list[str]) -> None:
    """A judge that names a method has recognised it; a word that only contains one has not."""
    assert names_in(text, ["InstructPix2Pix", "LEDITS++", "DDS"]) == names


def test_nothing_scored_is_described_without_numbers() -> None:
    """A judge that refused everything has no scale to describe."""
    use = scale_use(overall({"A": [None]}), "overall")
    assert (use.n, use.lowest, use.commonest, use.tied_pairs) == (0, None, None, 0)
