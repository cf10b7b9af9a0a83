"""`lmmscore show`: one conversation in the terminal."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

import lmmscore
from lmmscore.cli import lmmscore as program
from lmmscore.cli.list import find
from lmmscore.errors import LmmscoreError
from lmmscore.report.formats.terminal import print_talks
from lmmscore.report.run_data import RunData
from lmmscore.run_folder import Run
from tests import hostile

DEMO = Path(__file__).parents[2] / "media" / "demo"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A real run of one item, judged twice."""
    return lmmscore.run(
        DEMO, out=tmp_path_factory.mktemp("show") / "run", items=["boat"], repeats=2
    )


@pytest.fixture(scope="module")
def per_edit(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A real run in which each edit has a conversation of its own."""
    out = tmp_path_factory.mktemp("show") / "edits"
    return lmmscore.run(
        DEMO, "factors-12", out=out, items=["boat"], methods=["CleanEdit", "TintLeak"]
    )


def show(*words: str) -> Result:
    """Call the command."""
    return CliRunner().invoke(program, ["show", *words])


def test_it_prints_every_turn_and_what_was_read(run: Run) -> None:
    """Questions, replies and the table of scores stand in order; a pipe gets no colours and no padding."""
    done = show(str(run.path), "boat")
    assert done.exit_code == 0
    text = done.stdout
    assert "Change the midday sky and sea to a sunset" in text
    assert (
        text.index("1 greeting")
        < text.index("5 edit · Image 1 (method: ")
        < text.index("Read from it")
    )
    assert "\x1b" not in text
    assert not any(line != line.rstrip() for line in text.splitlines())
    shown = run.scores()
    first = shown[(shown["repeat"] == 1) & (shown["factor"] == "overall")]
    for method, score in zip(first["method"], first["score"], strict=True):
        line = next(
            line
            for line in text.splitlines()
            if line.split()[1:2] == [method] and len(line.split()) == 8
        )
        assert float(line.split()[-2]) == pytest.approx(score)


def test_numbers_read_as_scores_stand_out(run: Run) -> None:
    """On a terminal the numbers that became scores are highlighted in the judge's own words, and only those."""
    console = Console(
        file=io.StringIO(),
        force_terminal=True,
        width=100,
        color_system="standard",
        legacy_windows=False,
    )
    data = RunData("run", run, only=find(run, "boat", 1, ""))
    print_talks(data.talks, run.scores(), console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert text.count("\x1b[1;7;32m") == 24


def test_a_repeat_is_chosen(run: Run) -> None:
    """--repeat 2 shows the second conversation, with its own order."""
    first, second = (
        json.loads(show(str(run.path), "boat", "--repeat", n, "--json").stdout) for n in "12"
    )
    assert [talk["repeat"] for talk in second["conversations"]] == [2]
    assert first["conversations"][0]["order"] != second["conversations"][0]["order"]


def test_json_holds_the_words_as_they_were_said(run: Run) -> None:
    """Programs get questions and replies verbatim, with what was read from each."""
    (talk,) = json.loads(show(str(run.path), "boat", "--json").stdout)["conversations"]
    scores = next(turn for turn in talk["turns"] if turn["turn"] == "scores")
    assert len(scores["read"]) == 24
    for piece in scores["read"]:
        assert float(piece["text"]) == float(piece["as"].split("= ")[1])
    assert [line["position"] for line in talk["read"]] == [1, 2, 3, 4, 5, 6]


def test_where_each_edit_has_its_own_conversation_a_method_is_chosen(per_edit: Run) -> None:
    """Without --method all conversations about the item are shown, with it only that method's."""
    everything = json.loads(show(str(per_edit.path), "boat", "--json").stdout)["conversations"]
    one = json.loads(show(str(per_edit.path), "boat", "--method", "TintLeak", "--json").stdout)[
        "conversations"
    ]
    assert {talk["order"][0] for talk in everything} == {"CleanEdit", "TintLeak"}
    assert {talk["order"][0] for talk in one} == {"TintLeak"}


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["baot"], "did you mean boat?"),
        (["boat", "--repeat", "3"], "there are: 1, 2"),
        (["boat", "--method", "CleanEdti"], "did you mean CleanEdit?"),
        (["boat", "--dialog", "other"], "there are: lmm-score"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(run: Run, words: list[str], hint: str) -> None:
    """A wrong item, repeat, method or dialog is one line that says what there is."""
    done = show(str(run.path), *words)
    assert isinstance(done.exception, LmmscoreError) and hint in str(done.exception)


def test_a_judge_cannot_move_the_cursor(tmp_path: Path) -> None:
    """Escape sequences and direction marks in replies are shown, not obeyed; refusals and repairs are marked."""
    bench = hostile.benchmark(tmp_path / "bench")
    run = lmmscore.run(bench, judge=hostile.HostileJudge(), out=tmp_path / "run")
    text = show(str(run.path), "refused").stdout
    assert "\x1b" not in text and "\u202e" not in text and "␛[31m" in text
    assert "[refused]" in text and "[repair 1]" in text
    assert "I'm sorry, I can't help." in text


def test_who_speaks_is_said_in_words(run: Run) -> None:
    """Without colour, as in a file, each turn still says what was asked and what the judge said."""
    done = CliRunner().invoke(program, ["show", str(run.path), "boat"], catch_exceptions=False)
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines.count("asked:") == lines.count("judge:") > 5


def test_a_conversation_can_be_written_to_a_file(tmp_path: Path) -> None:
    """`-o` puts the same words into a file, without colours, and says so on standard error."""
    run = lmmscore.run(Path(__file__).parents[2] / "media" / "demo", out=tmp_path / "r", limit=1)
    out = tmp_path / "talk.txt"
    done = CliRunner().invoke(program, ["show", str(run.path), "boat", "-o", str(out)])
    assert (done.exit_code, done.stdout) == (0, "")
    assert "judge:" in out.read_text(encoding="utf-8")
    assert "\x1b" not in out.read_text(encoding="utf-8")


def test_the_system_message_is_shown_with_the_columns_of_its_item(tmp_path: Path) -> None:
    """What the judge was told is shown, not the slot it was told in."""
    bench = tmp_path / "bench"
    shutil.copytree(DEMO, bench)
    (bench / "items.csv").write_text("id,task,instruction,style\nboat,sky,Paint a sunset,pastel\n")
    dialog = (DEMO.parents[1] / "dialogs" / "factors-12.yaml").read_text()
    own = tmp_path / "own.yaml"
    own.write_text(dialog + "\nsystem: Mind the {{field.style}} style.\n")
    run = lmmscore.run(bench, str(own), out=tmp_path / "run", methods=["CleanEdit"])

    assert "Mind the pastel style." in show(str(run.path), "boat").stdout
