from __future__ import annotations

import contextlib
import csv
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from lmmscore.cli import COMMANDS
from lmmscore.cli import lmmscore as command_line
from lmmscore.cli.read import _in_a_line
from lmmscore.dialog import dialog_names
from lmmscore.resources import bundled
from lmmscore.stats import powered_mean
from tests.command_line import lmm, started
from tests.conftest import picture

Maker = Callable[..., Path]


def test_every_command_has_help_and_stands_in_the_list() -> None:
    """Each command's own help begins with what the list says it does, or says more."""
    runner = CliRunner()
    listed = runner.invoke(command_line, ["--help"]).output
    for name in COMMANDS:
        result = runner.invoke(command_line, [name, "--help"])
        assert result.exit_code == 0, name
        assert name in listed


def test_dialogs_list_lists_the_dialogs() -> None:
    """`dialogs list` prints what `dialogs` alone does, with the same options."""
    runner = CliRunner()
    for options in ([], ["-n", "3"], ["--json"]):
        alone = runner.invoke(command_line, ["dialogs", *options])
        assert alone.exit_code == 0 and "lmm-score" in alone.output
        for words in (["list", *options], [*options, "list"]):
            assert runner.invoke(command_line, ["dialogs", *words]).output == alone.output


def test_a_judge_that_needs_no_check_is_no_failure() -> None:
    """`judge check pixels` says that there is nothing to check, and exits with 0."""
    done = CliRunner().invoke(command_line, ["judge", "check", "pixels", "--json"])
    assert done.exit_code == 0
    assert "nothing to check" in done.stderr
    assert json.loads(done.stdout) == {"judge": "pixels", "findings": []}
    gone = CliRunner().invoke(command_line, ["judge", "check", "replay:not/here"])
    assert gone.exit_code == 1 and "no such file" in str(gone.exception)


def test_a_plan_names_the_judge_that_it_priced(make_benchmark: Maker) -> None:
    """Without --judge it is pixels, which costs nothing: others may not."""
    done = CliRunner().invoke(command_line, ["plan", str(make_benchmark())])
    assert "nothing: the judge, pixels, runs here" in done.stdout


def test_one_is_singular() -> None:
    """Neither "1 scores" nor "1 rated edits"."""
    found = {"name": "1", "scores": {"1.q": 7}, "faults": []}
    assert _in_a_line(found) == "1: 1 score; no faults"
    one = np.array([3.0])
    assert str(powered_mean(one, one, one)).startswith("1 rated edit, and")


def test_a_mistyped_command_suggests_the_right_one() -> None:
    """`lmmscore leaderbord` is answered with leaderboard, and exits with 2."""
    done = started("leaderbord")
    assert done.returncode == 2
    assert "Did you mean leaderboard?" in done.stderr


def test_a_mistyped_option_suggests_the_right_one() -> None:
    """`--repeat` is answered with --repeats."""
    done = lmm("run", "x", "--repaets", "2")
    assert done.returncode == 2
    assert "--repeats" in done.stderr


def test_check_lists_every_problem_and_exits_with_1(make_benchmark: Maker) -> None:
    """Several faults, one reading; a clean benchmark exits with 0."""
    root = make_benchmark(items=2)
    assert lmm("check", root).returncode == 0
    (root / "edits" / "i0_alpha.png").write_bytes(b"")
    picture(root / "edits" / "i1_beta.png", size=(90, 10))
    (root / "source" / "i1.png").unlink()
    done = lmm("check", root, "--json")
    assert done.returncode == 1
    kinds = [problem["kind"] for problem in json.loads(done.stdout)["problems"]]
    assert sorted(kinds) == ["missing-image", "unreadable-image"] or "missing-image" in kinds
    assert "unreadable-image" in kinds


def test_check_names_each_edit_that_is_missing(make_benchmark: Maker) -> None:
    """The item and the method of a missing edit are said, in JSON too; that is no problem."""
    root = make_benchmark(items=2, absent=((0, "beta"),))
    done = lmm("check", root)
    assert done.returncode == 0
    assert done.stdout == "missing: i0: beta\n"
    assert "1 edit missing; no problems" in done.stderr
    found = json.loads(lmm("check", root, "--json").stdout)
    assert found["missing"] == [{"item": "i0", "method": "beta"}]


def test_check_lists_the_first_missing_edits_and_counts_the_rest(make_benchmark: Maker) -> None:
    """Ten lines say where to look; JSON has all of them."""
    root = make_benchmark(items=16, absent=tuple((number, "beta") for number in range(15)))
    lines = lmm("check", root).stdout.splitlines()
    assert len(lines) == 11
    assert lines[-1] == "missing: 5 more edits; --json lists all"
    assert len(json.loads(lmm("check", root, "--json").stdout)["missing"]) == 15


def test_check_counts_the_items_that_cannot_be_used(make_benchmark: Maker) -> None:
    """An item without an instruction is not counted away: the summary says how many are usable."""
    root = make_benchmark(items=2)
    items = root / "items.csv"
    items.write_text(items.read_text().replace('"Make it blue, number 0"', ""))
    done = lmm("check", root)
    assert "line 2: no instruction; fill it in" in done.stdout
    assert "1 of 2 items usable in 1 task category" in done.stderr


def test_run_leaderboard_and_the_files_of_a_run(make_benchmark: Maker, tmp_path: Path) -> None:
    """The whole way from a folder to a table, with data on stdout and the rest on stderr."""
    root = make_benchmark(items=2, absent=((0, "beta"),))
    done = started("run", root, "--judge", "pixels", "--out", tmp_path / "r", "--json")
    assert done.returncode == 3, done.stderr
    assert json.loads(done.stdout)["unscored"] == 1
    assert "1 edit has no score" in done.stderr
    board = lmm("leaderboard", tmp_path / "r", "--format", "json")
    tables = json.loads(board.stdout)["tables"]
    assert [table["task"] for table in tables] == ["colour", None]
    row = tables[0]["rows"][0]
    assert {"rank", "method", "mean", "std", "n", "coverage", "factors"} <= set(row)
    assert set(row["factors"]) == {"acc", "pre", "qua", "real"}


def test_every_output_of_pixels_says_what_it_is(make_benchmark: Maker, tmp_path: Path) -> None:
    """The baseline's caution is in every table."""
    lmm("run", make_benchmark(items=1), "--out", tmp_path / "r")
    for form in ("md", "tex", "json", "term"):
        assert "cannot read" in lmm("leaderboard", tmp_path / "r", "--format", form).stdout
    assert "cannot read" in (tmp_path / "r" / "leaderboard.md").read_text()


def test_cells_that_a_spreadsheet_would_run_are_defused(
    make_benchmark: Maker, tmp_path: Path
) -> None:
    """A method called =cmd() stays text in scores.csv, and is itself again when read back."""
    import lmmscore
    from tests.conftest import ScriptedJudge, fair_answer

    root = make_benchmark(items=1, methods=("=1+1", "b"))
    text = (root / "benchmark.yaml").read_text().replace("[=1+1, b]", '["=1+1", b]')
    (root / "benchmark.yaml").write_text(text)
    run = lmmscore.run(root, judge=ScriptedJudge(fair_answer), out=tmp_path / "r")
    with (tmp_path / "r" / "scores.csv").open(newline="") as file:
        assert not any(cell.startswith("=") for row in csv.reader(file) for cell in row)
    assert set(run.scores()["method"]) == {"=1+1", "b"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["init", "nowhere"], "no such folder"),
        (["run", "nowhere"], "no such file or folder"),
        (["run", "{bench}", "--judge", "gpt"], "no judge 'gpt'"),
        (["run", "{bench}", "--dialog", "lmscore"], "did you mean lmm-score"),
        (["run", "{bench}", "--task", "color"], "did you mean colour"),
        (["run", "{bench}", "--judge", "replay:nowhere"], "no such file"),
        (["leaderboard", "nowhere"], "nowhere"),
        (["replay", "nowhere"], "nowhere"),
        (["dialogs", "show", "nowhere"], "no dialog"),
    ],
)
def test_user_errors_are_one_line_without_a_traceback(
    make_benchmark: Maker, words: list[str], says: str
) -> None:
    """Where and what next; exit code 1."""
    done = lmm(*[word.format(bench=make_benchmark()) for word in words])
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_the_demo_runs_offline_and_says_how_well_it_matches(tmp_path: Path) -> None:
    """One table, the match with the constructed order, the report, and what to type next."""
    done = lmm("demo", "--out", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Method ") == 1
    assert "Spearman" in done.stdout
    assert "openai/" in done.stderr
    assert (tmp_path / "demo" / "leaderboard.tex").is_file()
    assert (tmp_path / "demo" / "report.html").as_uri() in done.stderr
    # Double-blind review: where this was done on which machine is nobody's business.
    for name in ("run.yaml", "report.html"):
        assert str(tmp_path) not in (tmp_path / "demo" / name).read_text(encoding="utf-8")
    listed = lmm("list", tmp_path, "--json")
    (line,) = json.loads(listed.stdout)["runs"]
    assert (line["judge"], line["items"], line["state"]) == ("pixels", 12, "finished")


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path: Path) -> None:
    """One interrupt: nothing new is asked, what is in flight is kept, exit code 130; the next run finishes."""
    out = tmp_path / "r"
    words = [sys.executable, "-m", "lmmscore", "run", str(bundled("media") / "demo")]
    words += ["--out", str(out), "-c", "1"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ledger = out / "ledger.sqlite"
    while process.poll() is None and not (ledger.exists() and _exchanges(ledger) >= 5):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Run the same command" in err
    assert _exchanges(ledger) >= 5


def _exchanges(ledger: Path) -> int:
    import sqlite3

    try:
        with contextlib.closing(sqlite3.connect(ledger, timeout=5)) as connection:
            return int(connection.execute("SELECT count(*) FROM exchange").fetchone()[0])
    except sqlite3.Error:
        return 0


def test_a_full_disk_is_one_line_and_the_next_run_goes_on(
    make_benchmark: Maker, tmp_path: Path
) -> None:
    """When nothing more can be written the run stops with a remedy; with room again it finishes."""
    resource = pytest.importorskip("resource", reason="limits on file size are POSIX")
    root, out = make_benchmark(items=6), tmp_path / "r"
    words = [sys.executable, "-m", "lmmscore", "run", str(root), "--out", str(out), "-c", "2"]
    small = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000)),
    )
    assert small.returncode == 1
    assert "Traceback" not in small.stderr
    assert small.stderr.strip().splitlines()[-1].endswith("then run the same command")
    assert lmm(*words[3:]).returncode == 0


def test_long_titles_of_dialogs_wrap_beside_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a narrow terminal only names stand at the left."""
    monkeypatch.setenv("COLUMNS", "60")
    lines = CliRunner().invoke(command_line, ["dialogs"]).stdout.splitlines()
    at_left = {line.split()[0] for line in lines if not line.startswith(" ")}
    assert at_left <= set(dialog_names())
    assert len(lines) > 2 * len(at_left)


@pytest.mark.parametrize(
    ("reply", "n", "shown"),
    [
        ("acc: 8\npre: 7\nqua: ~8\nreal: 5", 1, "line 3: qua: ~[8] (its number is hedged)"),
        ("acc: 8\npre: 7\nqua: 70%\nreal: 5", 1, "line 3: qua: [70%] (a percentage"),
        (
            "Image 1:\nacc: 8\npre: 7\nqua: 6\nreal: 5\nImage 2:\nacc: 3\npre: 4\nqua: 5\nreal: 6\n"
            "I guessed the scores of image 2.",
            2,
            "may void scores: line 11: I guessed the scores of image 2.",
        ),
        ("Accuracy / preservation / quality / realism: 8 / 7 / 9 / 6", 1, "8 / [7] / 9"),
    ],
)
def test_read_shows_what_stood_in_the_way(reply: str, n: int, shown: str) -> None:
    """Numbers that were not taken, with the reason as far as it is known, and words that void."""
    done = CliRunner().invoke(command_line, ["read", "-", "-n", str(n)], input=reply)
    assert shown in done.output
