"""Ratings leave a study as tables that `agree` takes, with checks told and nobody dropped."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import lmmscore
from lmmscore.cli import lmmscore as command
from lmmscore.errors import FileProblem
from lmmscore.scales import Factor, formula, parts_of
from lmmscore.score_files import Columns
from lmmscore.web.rating_results import (
    COLUMNS,
    EXPORT_FORMAT,
    RatingRow,
    database_rows,
    download_ratings,
    own_ratings,
    quality_notes,
    read_human_ratings,
    scores_of_raters,
    steadiness,
    to_csv,
    to_json,
)
from lmmscore.web.study import FILE_NAME, RatingDatabase
from tests.conftest import PAIR_DIALOG, ScriptedJudge
from tests.rating_studies import (
    DEMO,
    assignment_of,
    new_rater,
    rate_everything,
    rating_study,
)

GOOD = {
    "CleanEdit": 9,
    "SoftBrush": 6,
    "SeamPatch": 7,
    "GrainFill": 5,
    "TintLeak": 4,
    "FaintTouch": 3,
}


def careful(given: Any, letter: str, factor: str) -> str:
    """What a rater who looks would say: good edits high, failures low, the source not accurate."""
    shown = given.shown[ord(letter) - ord("A")]
    if shown.kind == "failure":
        return "1"
    if shown.kind == "source":
        return "1" if factor == "acc" else "10"
    return str(GOOD[shown.method] + (given.subject.item == "boat"))


def careless(*_: object) -> str:
    return "8"


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with two careful raters and a careless one; returns its folder."""
    folder = tmp_path_factory.mktemp("rated") / "study"
    rating = rating_study(folder, checks=("source", "failure", "repeat"))
    for answering in (careful, careful, careless):
        rate_everything(rating, new_rater(rating), answering)
    rating.database.close()
    return folder


def rows_in(folder: Path) -> list[Any]:
    database = RatingDatabase(folder / FILE_NAME, read_only=True)
    try:
        return database_rows(database)
    finally:
        database.close()


def test_an_export_has_a_row_for_each_rating_and_check(rated: Path) -> None:
    """Long form: rater, item, method, factor, score, position, seconds, check."""
    text = to_csv(rows_in(rated))
    rows = list(csv.DictReader(text.splitlines()))
    assert tuple(rows[0]) == COLUMNS
    proper = [row for row in rows if not row["check"]]
    assert len(proper) == 3 * 12 * 6 * 4
    assert {row["method"] for row in proper} == set(GOOD)
    assert {row["check"] for row in rows} == {"", "source", "failure", "repeat"}
    assert {row["task"] for row in proper} == {
        "background_change",
        "object_removal",
        "color_change",
    }
    assert all(row["seconds"] == "30" and row["rater"].startswith("r-") for row in rows)


def test_a_score_leaves_with_all_its_decimals(tmp_path: Path) -> None:
    """A score of six decimals is the same number in CSV, and when read again."""
    row = RatingRow("r", "boat", "", "CleanEdit", "acc", 7.123456, 1, 30.0)
    (tmp_path / "ratings.csv").write_text(to_csv([row]))
    assert own_ratings(tmp_path / "ratings.csv").rows == [row]


@pytest.mark.parametrize("score", ["nan", "inf", "seven"])
def test_an_export_with_a_score_that_is_none_is_refused(tmp_path: Path, score: str) -> None:
    """An export that was changed is told from ratings: NaN is not one."""
    row = RatingRow("r", "boat", "", "CleanEdit", "acc", 7.5, 1, 30.0)
    (tmp_path / "ratings.csv").write_text(to_csv([row]).replace("7.5", score))
    with pytest.raises(FileProblem, match=rf"ratings\.csv:2: score: '{score}' is not a number"):
        own_ratings(tmp_path / "ratings.csv")

    changed = {"format": EXPORT_FORMAT, "factors": [], "ratings": [asdict(row) | {"score": score}]}
    (tmp_path / "ratings.json").write_text(json.dumps(changed))
    with pytest.raises(FileProblem, match="export the ratings again"):
        own_ratings(tmp_path / "ratings.json")


def test_what_a_rater_did_to_a_download_is_no_trouble(tmp_path: Path) -> None:
    """Unknown screens are counted, times that are none are 0, and the other screens still count."""
    rating = rating_study(tmp_path / "study", items=("boat", "car"))
    rater = new_rater(rating)
    known = rating.hand_out(rater, ahead=2)
    answers = [{"kind": "score", "slot": "A", "factor": "acc", "value": "7"}]
    screens = [
        {"id": "nobody's", "answers": answers, "seconds": 3},
        *({"id": each.id, "answers": answers, "seconds": "long"} for each in known),
    ]
    found = download_ratings(rating.database, {Path("mine.json"): {"screens": screens}})
    assert [(row.score, row.seconds) for row in found.rows] == [(7.0, 0.0)] * 2
    assert found.notes == ["mine.json: 1 screen of a withdrawn or unknown rater ignored"]
    with pytest.raises(FileProblem, match="download it again"):
        download_ratings(rating.database, {Path("a.json"): {"screens": [{"answers": 3}]}})

    # Beside the key, as the message about a missing key advises.
    handed_in = {"format": "lmmscore ratings", "study": rating.study.id, "screens": screens}
    (tmp_path / "study" / "mine.json").write_text(json.dumps(handed_in))
    assert len(read_human_ratings([tmp_path / "study"], Columns()).table) == 2


def test_failed_checks_are_flagged_and_nobody_is_dropped(rated: Path) -> None:
    """The careless rater failed both checks; all their ratings are still there."""
    rows = rows_in(rated)
    failed = {row.rater: row.checks_failed for row in rows}
    assert sorted(failed.values()) == [0, 0, 2]
    [note] = [note for note in quality_notes(rows) if note.startswith("checks:")]
    assert "1 of 3 raters failed some" in note and "2 of 2 (failure, source)" in note
    table = read_human_ratings([str(rated)], Columns()).table
    assert table["rater"].nunique() == 3


def test_intra_rater_reliability_comes_from_repeated_screens(rated: Path) -> None:
    """Who answers the same twice is perfectly steady; it is told factor by factor."""
    found = {each.factor: each for each in steadiness(rows_in(rated))}
    assert set(found) == {"acc", "pre", "qua", "real"}
    assert found["acc"].pairs == 18 and found["acc"].raters == 3
    assert found["acc"].same == 1 and found["acc"].difference == 0
    assert found["acc"].alpha == pytest.approx(1)


def test_alpha_of_two_occasions_is_that_of_its_definition(tmp_path: Path) -> None:
    """Interval alpha by hand: 1 minus observed over expected disagreement."""
    rating = rating_study(tmp_path, checks=("repeat",), items=("boat", "lake", "car"))

    def wavering(given: Any, letter: str, factor: str) -> str:
        again = given.purpose == "repeat"
        return str(int(careful(given, letter, factor)) + (1 if again and letter < "D" else 0))

    rate_everything(rating, new_rater(rating), wavering)
    rows = database_rows(rating.database)
    found = next(each for each in steadiness(rows) if each.factor == "acc")
    first = {(r.item, r.method): r.score for r in rows if r.factor == "acc" and not r.check}
    pairs = [
        (first[r.item, r.method], r.score)
        for r in rows
        if r.factor == "acc" and r.check == "repeat"
    ]
    values = [value for pair in pairs for value in pair]
    observed = sum((a - b) ** 2 for a, b in pairs) / len(pairs)
    n = len(values)
    expected = sum((a - b) ** 2 for a in values for b in values) / (n * (n - 1))
    assert found.alpha == pytest.approx(1 - observed / expected)
    assert found.same == 0.5 and found.difference == 0.5


@pytest.mark.parametrize("form", ["folder", "database", "csv", "json", "semicolons"])
def test_agree_takes_ratings_in_every_form(rated: Path, tmp_path: Path, form: str) -> None:
    """The database, its folder and both exports give the same table and the same notes.

    All but the CSV know the scale, too. A spreadsheet may have saved that one again, with
    semicolons, decimal commas and a column more; from Python, all are read in the same way.
    """
    rows = rows_in(rated)
    database = RatingDatabase(rated / FILE_NAME, read_only=True)
    text = to_csv(rows)
    again = text.replace(",30,", ",30.0,").replace(",", ";").replace(".", ",")
    exported = {"csv": text, "json": to_json(database.study, rows)}
    exported["semicolons"] = "\n".join(line + ";x" for line in again.splitlines())
    database.close()
    name = f"ratings.{'csv' if form == 'semicolons' else form}"
    path = {"folder": rated, "database": rated / FILE_NAME}.get(form, tmp_path / name)
    if form in exported:
        path.write_text(exported[form], encoding="utf-8")
    found = read_human_ratings([str(path)], Columns())
    expected = read_human_ratings([str(rated)], Columns())
    assert found.table.equals(expected.table)
    assert found.notes == expected.notes and len(found.notes) == 5
    assert found.scale == ((1, 10) if form in ("folder", "database", "json") else None)
    assert not found.table["method"].str.startswith("(").any()
    assert lmmscore.read_ratings(path).equals(found.table)


def test_agree_reports_reliability_and_failed_checks(rated: Path, tmp_path: Path) -> None:
    """`lmmscore agree RUN --human FOLDER` works as it is, and says how good the raters were."""
    run = lmmscore.run(DEMO, out=tmp_path / "run")
    words = ["agree", str(run.path), "--human", str(rated), "--resamples", "100"]
    done = CliRunner().invoke(command, words, catch_exceptions=False)
    assert done.exit_code == 0
    assert "intra-rater reliability, acc: 100% the same" in done.stderr
    assert "checks: 1 of 3 raters failed some" in done.stderr


def test_one_rater_is_enough_to_compare(tmp_path: Path) -> None:
    """As in the tutorial: two items, one person, and a table that does not pretend to more."""
    study = tmp_path / "study"
    rating = rating_study(study, items=("boat", "lake"), raters_per_edit=1)
    rate_everything(rating, new_rater(rating), careful)
    rating.database.close()
    run = lmmscore.run(DEMO, out=tmp_path / "run", items=["boat", "lake", "car"])
    words = ["agree", str(run.path), "--human", str(study), "--resamples", "100", "--json"]
    done = CliRunner().invoke(command, words, catch_exceptions=False)
    assert done.exit_code == 0
    assert any(row["factor"] == "acc" for row in json.loads(done.stdout)["rows"])


def test_export_withdraw_and_export_again(tmp_path: Path) -> None:
    """A withdrawn rater is gone from the database, byte for byte, and from later exports."""
    study = tmp_path / "study"
    rating = rating_study(study, items=("boat", "lake"))
    raters = [new_rater(rating) for _ in range(2)]
    for rater in raters:
        rate_everything(rating, rater, careful)
    screen = rating.state(raters[0])["screens"][0]["id"]
    secret = "a remark nobody else would make"
    sent = {"screen": screen, "kind": "comment", "value": secret, "nonce": "comment-nonce"}
    rating.answer(raters[0], sent)
    rating.database.close()
    out = tmp_path / "ratings.csv"
    words = ["rate", str(DEMO), "--out", str(study)]

    def export() -> str:
        done = CliRunner().invoke(command, [*words, "--export", str(out)], catch_exceptions=False)
        assert done.exit_code == 0 and done.stdout.strip() == str(out)
        return out.read_text(encoding="utf-8")

    before = export()
    assert secret in before and raters[0].id in before
    link = f"http://localhost/r/{raters[0].token}/"
    done = CliRunner().invoke(command, [*words, "--withdraw", link], catch_exceptions=False)
    assert done.exit_code == 0 and "deleted, with 49 answers" in done.stderr
    after = export()
    assert secret not in after and raters[0].id not in after and raters[1].id in after
    on_disk = b"".join(path.read_bytes() for path in study.rglob("*") if path.is_file())
    assert secret.encode() not in on_disk and raters[0].id.encode() not in on_disk
    done = CliRunner().invoke(command, [*words, "--withdraw", raters[0].id])
    assert done.exit_code != 0 and "no rater" in str(done.exception)


def test_comments_cannot_become_formulas(tmp_path: Path) -> None:
    """A spreadsheet that opens the export runs nothing; read back, the words are as they were."""
    rating = rating_study(tmp_path / "study", items=("boat",))
    rater = new_rater(rating)
    rate_everything(rating, rater, careful)
    screen = rating.state(rater)["screens"][0]["id"]
    words = '=HYPERLINK("http://evil")'
    sent = {"screen": screen, "kind": "comment", "value": words, "nonce": "comment-nonce"}
    rating.answer(rater, sent)
    text = to_csv(database_rows(rating.database))
    assert "'=HYPERLINK" in text
    path = tmp_path / "ratings.csv"
    path.write_text(text, encoding="utf-8")
    found = own_ratings(path)
    assert found is not None and found.rows[0].comment == words


def test_a_study_without_ratings_is_named(tmp_path: Path) -> None:
    """Who compares too early is told which study is still empty."""
    rating_study(tmp_path).database.close()
    with pytest.raises(FileProblem, match=f"^{tmp_path}: no ratings in it yet"):
        read_human_ratings([str(tmp_path)], Columns())


def test_downloads_without_their_key_are_refused_with_a_remedy(tmp_path: Path) -> None:
    """Letters mean nothing without the study's database; the message says what to copy where."""
    download = {"format": "lmmscore ratings", "version": 1, "study": "no-such", "screens": []}
    (tmp_path / "one.json").write_text(json.dumps(download))
    with pytest.raises(FileProblem, match=r"copy ratings\.sqlite of the study"):
        read_human_ratings([str(tmp_path)], Columns())


def test_pairs_leave_as_choices(tmp_path: Path) -> None:
    """A pair's row names both methods and the better one; repeats say how steady a rater is."""
    rating = rating_study(
        tmp_path, covers="pair", items=("boat",), items_per_rater=4, checks=("failure", "repeat")
    )
    rater = new_rater(rating)
    while True:
        waiting = [s for s in rating.state(rater)["screens"] if not s["done"]]
        if not waiting:
            break
        screen = waiting[0]["id"]
        sent = {"screen": screen, "kind": "choice", "value": "A", "nonce": "pair-nonce"}
        rating.answer(rater, sent)
        rating.advance(rater, {"screen": screen, "seconds": 3})
    rows = database_rows(rating.database)
    proper = [row for row in rows if not row.check]
    assert len(proper) == 4
    assert all(row.choice == row.method != row.other and row.score is None for row in proper)
    failure = next(row for row in rows if row.check == "failure")
    assert failure.failed == (failure.choice == "(failure)")
    [found] = steadiness(rows)
    assert found.same == 0 and found.alpha is None


def test_the_plan_counts_raters_minutes_and_items_needed(tmp_path: Path) -> None:
    """Without answers times are assumed; a run's scores say which methods could be told apart."""
    run = lmmscore.run(DEMO, out=tmp_path / "run")
    words = ["rate", str(DEMO), "--out", str(tmp_path / "s"), "--plan", "--items-per-rater", "6"]
    done = CliRunner().invoke(
        command, [*words, "--pilot", str(run.path), "--json"], catch_exceptions=False
    )
    plan = json.loads(done.stdout)
    assert plan["raters"] == 6 and plan["screens_per_rater"] == 6 and not plan["measured"]
    assert len(plan["powers"]) == 5
    assert all(power["items_needed"] for power in plan["powers"])
    assert not (tmp_path / "s").exists()


def test_the_plan_uses_ratings_that_are_there(rated: Path) -> None:
    """Measured times replace assumed ones, and raters count as repeats in the power."""
    words = ["rate", str(DEMO), "--out", str(rated), "--plan", "--json"]
    done = CliRunner().invoke(command, words, catch_exceptions=False)
    plan = json.loads(done.stdout)
    assert plan["measured"] and plan["power_basis"] == "the ratings so far"
    assert plan["minutes_per_rater"] == pytest.approx((120 + 12 * 30) / 60)
    assert plan["powers"][0]["repeats"] == 3


def test_the_overall_of_raters_follows_the_rule_of_the_dialog() -> None:
    """What is planned by is what will be ranked by: here a geometric mean, and none where a part
    of it was not rated."""
    factors = [Factor(key=key, scale={"min": 0, "max": 10}) for key in ("quality", "consistency")]
    rule = formula("geometric", parts_of(factors))
    given = [("A", "quality", 4.0), ("A", "consistency", 9.0), ("B", "quality", 4.0)]
    rows = [
        RatingRow("r", "boat", "", method, factor, score, 1, 30.0)
        for method, factor, score in given
    ]
    scores = scores_of_raters(rows, rule)
    overall = scores[scores["factor"] == "overall"]
    assert dict(zip(overall["method"], overall["score"], strict=True)) == {"A": 6.0}


def test_reading_ratings_loads_no_web_server() -> None:
    """`agree` and `rate --export` need no aiohttp."""
    code = (
        "import sys, lmmscore.web.rating_results, lmmscore.cli.rate, lmmscore.cli.watch\n"
        "assert 'aiohttp' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_choices_of_raters_are_compared_with_a_judge_of_pairs(tmp_path: Path) -> None:
    """A dialog about pairs is rated as pairs, and `agree` takes the choices as they are."""
    dialog = tmp_path / "pairwise.yaml"
    dialog.write_text(PAIR_DIALOG)
    study = tmp_path / "study"
    rating = rating_study(study, str(dialog), items=("boat",), raters_per_edit=1)
    assert rating.study.covers == "pair" and rating.study.shows == ("source",)
    rater = new_rater(rating)
    for _ in range(15):
        screen = next(s for s in rating.state(rater)["screens"] if not s["done"])["id"]
        given = assignment_of(rating, rater, screen)
        first, second = (GOOD[shown.method] for shown in given.shown)
        choice = "A" if first > second else "B"
        sent = {"screen": screen, "kind": "choice", "value": choice, "nonce": "pair-nonce"}
        rating.answer(rater, sent)
        rating.advance(rater, {"screen": screen, "seconds": 3})
    rating.database.close()

    def prefers(conversation: Any) -> str:
        shown = [image.path.parent.name for image in conversation.message.images[1:]]
        return "[[A>B]]" if GOOD[shown[0]] > GOOD[shown[1]] else "[[B>A]]"

    run = lmmscore.run(
        DEMO, str(dialog), ScriptedJudge(prefers), out=tmp_path / "run", items=["boat"]
    )
    words = ["agree", str(run.path), "--human", str(study), "--json"]
    done = CliRunner().invoke(command, words, catch_exceptions=False)
    assert done.exit_code == 0
    found = json.loads(done.stdout)["votes"]["run"]
    assert found["n"] == 15 and found["accuracy"] == 1
