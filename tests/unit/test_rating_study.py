"""Who rates what, on which scale, and what the page is told."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from lmmscore.benchmark import load_benchmark
from lmmscore.dialog import load_dialog
from lmmscore.errors import FileProblem, LmmscoreError
from lmmscore.scales import Factor, Scale
from lmmscore.web.pages import RatingStudy
from lmmscore.web.rating_results import database_rows
from lmmscore.web.study import (
    AnswerRefused,
    checks_for,
    levels_of,
    load_practice,
    parse_score,
    raters_needed,
    slots_for,
)
from tests.rating_studies import (
    DEMO,
    METHODS,
    assignment_of,
    give,
    new_rater,
    rate_everything,
    rating_study,
)


def seven(*_: object) -> str:
    return "7"


def test_thirty_raters_cover_every_edit_equally_in_every_position(tmp_path: Path) -> None:
    """30 raters of 4 screens: all 12 items get 10 raters, and each method each place alike."""
    rating = rating_study(tmp_path, raters_per_edit=10, items_per_rater=4)
    for _ in range(30):
        assert rate_everything(rating, new_rater(rating), seven) == 4
    given = rating.database.all_assignments()

    per_item = Counter(each.subject.item for each in given)
    assert set(per_item.values()) == {10} and len(per_item) == 12
    places = Counter(
        (shown.method, place) for each in given for place, shown in enumerate(each.shown)
    )
    assert len(places) == 36
    assert max(places.values()) - min(places.values()) <= 12
    assert min(places.values()) >= 14


def test_raters_who_leave_make_room_for_others(tmp_path: Path) -> None:
    """What someone looked at and left unanswered is given to others after an hour."""
    rating = rating_study(tmp_path, raters_per_edit=1, items=("boat", "lake"))
    gone = new_rater(rating)
    assert len(rating.state(gone)["screens"]) == 2
    late = new_rater(rating)
    assert rating.state(late)["screens"] == []

    rating.database._connection.execute("UPDATE assignment SET made_at = '2020-01-01T00:00:00'")
    assert rate_everything(rating, late, seven) == 2


def test_items_come_in_another_order_for_each_rater(tmp_path: Path) -> None:
    """Two raters with everything to rate hardly ever get the same order."""
    rating = rating_study(tmp_path, raters_per_edit=4)
    orders = set()
    for _ in range(4):
        rater = new_rater(rating)
        rate_everything(rating, rater, seven)
        given = rating.database.assignments(rater)
        orders.add(tuple(each.subject.item for each in given))
    assert len(orders) == 4


@pytest.mark.parametrize("dialog", ["lmm-score", "factors-12"])
def test_checks_are_hidden_in_each_share(tmp_path: Path, dialog: str) -> None:
    """Source and failure stand among an item's edits or on their own; one screen comes again."""
    rating = rating_study(tmp_path, dialog, checks=("source", "failure", "repeat"))
    share = slots_for(rating.study, "r-1", 12 if dialog == "lmm-score" else 60)
    purposes = Counter(slot.purpose for slot in share)
    hidden = Counter(kind for slot in share for kind in slot.hidden)
    if dialog == "lmm-score":
        assert purposes == {"rate": 12, "repeat": 1} and hidden == {"source": 1, "failure": 1}
    else:
        assert purposes == {"rate": 60, "repeat": 3, "source": 3, "failure": 3}
    assert share != slots_for(rating.study, "r-2", 12 if dialog == "lmm-score" else 60)


def test_a_repeated_screen_has_been_seen_and_is_ordered_differently(tmp_path: Path) -> None:
    """The repeat is of an earlier item of the same rater, with the edits in another order."""
    rating = rating_study(tmp_path, checks=("repeat",))
    rater = new_rater(rating)
    assert rate_everything(rating, rater, seven) == 13
    given = rating.database.assignments(rater)
    again = next(each for each in given if each.purpose == "repeat")
    first = next(each for each in given if each.subject == again.subject)
    assert first.place < again.place
    assert first.shown != again.shown and set(first.shown) == set(again.shown)


def test_pairs_are_shown_both_ways_round(tmp_path: Path) -> None:
    """Each pair of methods is A-B for one rater and B-A for the next."""
    rating = rating_study(tmp_path, covers="pair", items=("boat",), raters_per_edit=2)
    assert len(rating.subjects) == 15
    seen = Counter()
    for _ in range(2):
        rater = new_rater(rating)
        for _ in range(15):
            screen = next(s for s in rating.state(rater)["screens"] if not s["done"])
            sent = {"screen": screen["id"], "kind": "choice", "value": "tie", "nonce": "n" * 10}
            rating.answer(rater, sent)
            given = assignment_of(rating, rater, screen["id"])
            seen[tuple(shown.method for shown in given.shown)] += 1
            rating.advance(rater, {"screen": screen["id"], "seconds": 1})
    assert len(seen) == 30 and set(seen.values()) == {1}


def test_a_state_tells_neither_methods_nor_items(tmp_path: Path) -> None:
    """Whatever the page is told, no method, item id or file name is in it."""
    rating = rating_study(tmp_path, checks=("source", "failure", "repeat"))
    rater = new_rater(rating)
    rate_everything(rating, rater, seven)
    told = json.dumps(rating.state(rater))
    items = ["cottage", "umbrella", "balloon"]
    for screen in rating.state(rater)["screens"]:
        told = told.replace(json.dumps(screen["instruction"]), '""')
    for name in (*METHODS, *items, ".jpg", "edits", "media", str(DEMO)):
        assert name not in told


@pytest.mark.parametrize(
    ("scale", "keys"),
    [
        ({"min": 1, "max": 10}, {"1": "1", "9": "9", "10": "0"}),
        ({"min": 1, "max": 7, "integers": True}, {"1": "1", "7": "7"}),
        ({"values": [0, 0.5, 1]}, {"0": "0", "0.5": "5", "1": "1"}),
        ({"min": 0, "max": 10}, {"0": "0", "10": ""}),
        ({"min": 0, "max": 100}, {}),
        ({"min": 0, "max": 1}, {}),
    ],
)
def test_a_scale_gives_buttons_and_keys(scale: dict, keys: dict) -> None:
    """Each score of a short scale has a button, and a key where one is free."""
    found = {level["value"]: level["key"] for level in levels_of(Scale(**scale))}
    assert {value: found.get(value) for value in keys} == keys
    assert bool(found) == bool(keys)
    used = [key for key in found.values() if key]
    assert len(used) == len(set(used))


@pytest.mark.parametrize("value", ["0", "11", "x", "", "1e1", "NaN", "7.0000001", True, [], None])
def test_a_score_off_the_scale_is_refused(value: object) -> None:
    """Only numbers on the factor's scale are scores."""
    factor = Factor(key="acc", scale={"min": 1, "max": 10})
    with pytest.raises(LmmscoreError):
        parse_score(factor, value)


@pytest.mark.parametrize(("value", "score"), [("7", 7), (7, 7), (7.5, 7.5), ("10", 10)])
def test_a_score_on_the_scale_is_exact(value: object, score: float) -> None:
    """Numbers arrive as text or as JSON numbers, and stay exact."""
    factor = Factor(key="acc", scale={"min": 1, "max": 10})
    assert parse_score(factor, value) == Fraction(str(score))


def test_the_source_is_no_check_between_pairs() -> None:
    """An untouched picture may rightly win against a bad edit."""
    assert checks_for("pair", ("source", "failure", "repeat")) == ("failure", "repeat")
    assert checks_for("item", ("repeat", "source")) == ("source", "repeat")
    with pytest.raises(LmmscoreError, match="did you mean repeat"):
        checks_for("item", ("repeats",))


def test_practice_comes_first_and_tells_what_was_expected(tmp_path: Path) -> None:
    """A practice item is outside the study, and an answer far off is remarked upon, by letter."""
    file = tmp_path / "practice.yaml"
    file.write_text(
        "practice:\n- item: boat\n  feedback: Look at the sail.\n"
        "  expect: {SoftBrush: {qua: [1, 4]}, CleanEdit: {acc: [8, 10]}}\n"
    )
    rating = rating_study(tmp_path / "study", practice=file)
    assert all(subject.item != "boat" for subject in rating.subjects)
    rater = new_rater(rating)
    rate_everything(rating, rater, lambda *_: "9")
    first = rating.state(rater)["screens"][0]
    assert first["practice"] and first["feedback"]["text"] == "Look at the sail."
    [remark] = first["feedback"]["remarks"]
    assert "Visual Quality: you gave 9; expected was 1 to 4" in remark
    assert "SoftBrush" not in remark


def test_a_practice_file_that_names_what_is_not_there_is_refused(tmp_path: Path) -> None:
    """The message names the item, method or factor, and the nearest there is."""
    rating = rating_study(tmp_path / "study")
    file = tmp_path / "practice.yaml"
    factors = load_dialog("lmm-score").factors
    from lmmscore.benchmark import load_benchmark

    file.write_text("practice: [{item: boar}]\n")
    with pytest.raises(FileProblem, match="did you mean boat"):
        load_practice(file, load_benchmark(DEMO), factors)
    file.write_text("practice: [{item: boat, expect: {CleanEdit: {ac: [1, 2]}}}]\n")
    with pytest.raises(FileProblem, match="no factor 'ac'"):
        load_practice(file, load_benchmark(DEMO), factors)
    rating.database.close()


def test_the_share_decides_how_many_raters_are_needed(tmp_path: Path) -> None:
    """12 screens for 3 raters each, 5 screens a rater: 36 / 5, rounded up."""
    rating = rating_study(tmp_path, items_per_rater=5, raters_per_edit=3)
    assert raters_needed(rating.study, len(rating.subjects)) == 8


def test_another_dialog_does_not_mix_into_a_study(tmp_path: Path) -> None:
    """Answers to other questions need another folder; the same command again goes on."""
    rating = rating_study(tmp_path)
    name = rating.study.id
    rating.database.close()
    again = rating_study(tmp_path, raters_per_edit=5)
    assert again.study.id == name and again.study.raters_per_edit == 5
    with pytest.raises(FileProblem, match="another --out"):
        rating_study(tmp_path, "visual-adherence")


def test_a_later_start_with_a_part_of_the_benchmark_keeps_earlier_screens(tmp_path: Path) -> None:
    """Raters keep the screens they have; what is given out from then on is of that part."""
    rating = rating_study(tmp_path, items=("boat", "lake"))
    rater = new_rater(rating)
    rate_everything(rating, rater, lambda *_: "5")
    rating.database.close()
    again = rating_study(tmp_path, items=("car",))
    assert len(again.state(rater)["screens"]) == 2
    assert all(row.task for row in database_rows(again.database))
    other = new_rater(again)
    [screen] = again.state(other)["screens"]
    assert assignment_of(again, other, screen["id"]).subject.item == "car"


def test_an_edit_that_raters_have_must_stay_in_the_benchmark(tmp_path: Path) -> None:
    """A benchmark that lost what raters were given is refused at the start, not on their screens."""
    rating = rating_study(tmp_path, items=("boat",))
    rating.state(new_rater(rating))
    smaller = load_benchmark(DEMO).select(items=("lake",))
    with pytest.raises(FileProblem, match="edits of 'boat' that are not in it any more"):
        RatingStudy(rating.database, smaller, smaller)


def test_practice_may_be_dropped_in_the_middle_of_a_study(tmp_path: Path) -> None:
    """A rater who practised goes on when the study is started again without practice."""
    file = tmp_path / "practice.yaml"
    file.write_text("practice:\n- {item: boat}\n")
    rating = rating_study(tmp_path, items=("boat", "lake"), practice=file)
    rater = new_rater(rating)
    give(rating, rater, rating.state(rater)["screens"][0], lambda *_: "5")
    rating.database.close()
    again = rating_study(tmp_path, items=("boat", "lake"))
    assert len(again.state(rater)["screens"]) == 2


def test_an_answer_sent_twice_is_kept_once(tmp_path: Path) -> None:
    """A page that did not hear of its success sends the same answer again, also after a restart."""
    rating = rating_study(tmp_path)
    rater = new_rater(rating)
    screen = rating.state(rater)["screens"][0]
    sent = {"screen": screen["id"], "kind": "score", "slot": "A", "factor": "acc", "value": "7"}
    first = rating.answer(rater, {**sent, "nonce": "0123456789"})
    second = rating.answer(rater, {**sent, "nonce": "0123456789"})
    assert first == second == {"saved": True, "screen": screen["id"], "revision": 1}


def test_a_screen_cannot_be_closed_before_it_is_answered(tmp_path: Path) -> None:
    """What is lacking is listed by letter and factor."""
    rating = rating_study(tmp_path)
    rater = new_rater(rating)
    screen = rating.state(rater)["screens"][0]
    with pytest.raises(AnswerRefused, match="A Editing Accuracy") as refused:
        rating.advance(rater, {"screen": screen["id"]})
    assert refused.value.code == "incomplete"
    for letter in "ABCDEF":
        answer = {"kind": "unable", "slot": letter, "value": "broken", "nonce": f"nonce-{letter}-1"}
        rating.answer(rater, {"screen": screen["id"], **answer})
    rating.advance(rater, {"screen": screen["id"]})
