from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import lmmscore
from lmmscore.cli import lmmscore as command_line
from lmmscore.conversation import Conversation
from lmmscore.errors import BenchmarkError, FileProblem
from lmmscore.judges.trials import drift
from lmmscore.resources import bundled
from tests.conftest import ScriptedJudge, bulleted, picture
from tests.loopback import Server, playing, serving

Maker = Callable[..., Path]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A judge on loopback whose snapshot and fingerprint can be changed between runs."""
    monkeypatch.setenv("OPENAI_API_KEY", "none-needed")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with serving(Server(reply=playing)) as served:
        yield served


def run(server: Server, root: Path, out: Path, *words: str | Path) -> Result:
    """Call `lmmscore run` against the server."""
    given = ["run", root, "--judge", f"openai/tiny@{server.url}", "--out", out, *words]
    return CliRunner().invoke(command_line, [str(word) for word in given])


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def refusing(messages: list[dict[str, Any]]) -> str:
    return (
        "I'm sorry, but I can't help with scoring these images." if len(messages) > 12 else "I see."
    )


def scores(value: float) -> ScriptedJudge:
    def answer(conversation: Conversation) -> str:
        assert conversation.message is not None
        return bulleted([(value,) * 4] * 3) if "Now give" in conversation.message.text else "I see."

    return ScriptedJudge(answer)


def test_anchors_are_asked_anew_at_each_run_and_show_drift(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """A judge that has become kinder by two points is found out, though the run itself asks nothing again."""
    root = make_benchmark(items=2)
    first, second = scores(5), scores(7)
    lmmscore.run(root, judge=first, out=tmp_path / "r", anchors=["i1"])
    before = (tmp_path / "r" / "scores.csv").read_bytes()
    lmmscore.run(root, judge=second, out=tmp_path / "r", anchors=["i1"])
    assert len(second.asked) == 9
    found = drift(tmp_path / "r" / "anchors.csv")
    assert (found.rounds, found.edits, found.mean) == (2, 3, 2.0)
    assert "+2.00" in str(found)
    assert (tmp_path / "r" / "scores.csv").read_bytes() == before


def test_edits_of_one_conversation_are_no_independent_measures(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """The interval is over items; the many edits of a single one have none."""
    root = make_benchmark(items=2)
    later = {"number 0": 6, "number 1": 9}

    def answer(conversation: Conversation) -> str:
        assert conversation.message is not None
        words = " ".join(message.text for message in conversation.messages)
        values = [value for name, value in later.items() if name in words]
        asks = "Now give" in conversation.message.text
        return bulleted([(values[0],) * 4] * 3) if asks else "I see."

    for anchors, half_width in ((["i0"], None), (["i0", "i1"], 19.06)):
        out = tmp_path / f"r{len(anchors)}"
        asked: dict[str, Any] = {"out": out, "anchors": anchors, "items": ["i0"]}
        lmmscore.run(root, judge=scores(5), **asked)
        lmmscore.run(root, judge=ScriptedJudge(answer), **asked)
        found = drift(out / "anchors.csv")
        assert (found.edits, found.items) == (3 * len(anchors), len(anchors))
        assert found.half_width == (half_width and pytest.approx(half_width, abs=0.01))


def test_one_round_shows_no_drift_yet(tmp_path: Path, make_benchmark: Maker) -> None:
    """With nothing to compare, no number is printed."""
    lmmscore.run(make_benchmark(items=1), judge=scores(5), out=tmp_path / "r", anchors=["i0"])
    assert "next run" in str(drift(tmp_path / "r" / "anchors.csv"))


def test_an_unknown_anchor_is_refused_before_anything_is_asked(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """A mistyped item costs nothing."""
    judge = scores(5)
    with pytest.raises(BenchmarkError, match="no item 'x0'"):
        lmmscore.run(make_benchmark(), judge=judge, out=tmp_path / "r", anchors=["x0"])
    assert judge.asked == []


def test_an_anchor_is_asked_though_it_is_not_selected(
    tmp_path: Path, make_benchmark: Maker, server: Server
) -> None:
    """What is scored is one choice, what drift is measured on another."""
    root = make_benchmark(items=3, tasks=("colour", "shape"))
    done = run(server, root, tmp_path / "r", "--item", "i0", "--anchors", "i1", "--anchors", "i2")
    assert done.exit_code == 0, done.output
    assert "3/3 sessions" in done.stderr
    assert len(server.served) == 9 + 2 + 2 * 7
    finished = lmmscore.open_run(tmp_path / "r").manifest
    assert (finished.judged, finished.planned) == (1, 1), "anchors are no part of what is judged"
    assert {row["item"] for row in rows(tmp_path / "r" / "anchors.csv")} == {"i1", "i2"}
    assert {row["item"] for row in rows(tmp_path / "r" / "scores.csv")} == {"i0"}
    assert "round 1 is recorded" in done.stderr


def test_an_anchor_is_shown_alike_whatever_else_is_selected(
    tmp_path: Path, make_benchmark: Maker, server: Server
) -> None:
    """Rounds of runs over different parts of a benchmark can be compared."""
    root = make_benchmark(items=3)
    run(server, root, tmp_path / "r", "--anchors", "i1", "--order", "balanced")
    done = run(
        server,
        root,
        tmp_path / "r",
        "--item",
        "i2",
        "--anchors",
        "i1",
        "--order",
        "balanced",
        "--repeats",
        "2",
    )
    assert "round 2 against round 1: +0.00" in done.stderr


def test_an_anchor_that_lacks_what_the_dialog_shows_is_refused(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """An anchor outside the selection is looked at before anything is asked, as the selection is."""
    root = make_benchmark(items=3, absent=((1, "alpha"), (1, "beta"), (1, "gamma")))
    judge = scores(5)
    with pytest.raises(BenchmarkError, match="anchor i1: no method made an edit"):
        lmmscore.run(root, judge=judge, out=tmp_path / "r", items=["i0"], anchors=["i1"])
    (root / "source" / "i2.png").unlink()
    with pytest.raises(BenchmarkError, match="source image, which 1 of 1 item lacks: i2"):
        lmmscore.run(root, judge=judge, out=tmp_path / "r", items=["i0"], anchors=["i2"])
    assert judge.asked == []


def test_anchors_are_asked_anew_with_a_shared_ledger(
    tmp_path: Path, make_benchmark: Maker, server: Server
) -> None:
    """What another run's anchors were answered is no measure of the judge of today."""
    root, shared = make_benchmark(items=2), tmp_path / "shared.sqlite"
    for number in range(3):
        before = len(server.served)
        done = run(server, root, tmp_path / f"r{number}", "--ledger", shared, "--anchors", "i0")
        assert len(server.served) - before == 9 + (0 if number else 16)
        assert "round 1 is recorded" in done.stderr
    before = len(server.served)
    done = run(server, root, tmp_path / "r0", "--ledger", shared, "--anchors", "i0")
    assert len(server.served) - before == 9
    assert "round 2 against round 1" in done.stderr


@pytest.mark.parametrize("earlier", [0, 1])
def test_anchors_without_a_score_are_named(
    tmp_path: Path, make_benchmark: Maker, server: Server, earlier: int
) -> None:
    """A judge that refuses the anchors shows no drift: which have no score, and why, is what is said."""
    root = make_benchmark(items=2)
    run(server, root, tmp_path / "r", *(["--anchors", "i1"] * earlier))
    server.reply = refusing
    done = run(server, root, tmp_path / "r", "--anchors", "i1")
    assert done.exit_code == 3
    line = next(line for line in done.stderr.splitlines() if line.startswith("anchors: round"))
    assert line.startswith(f"anchors: round {1 + earlier} has no score")
    assert "i1 (alpha, beta, gamma): refused" in done.stderr
    assert "next run" not in done.stderr and "against" not in done.stderr


def test_anchors_scored_in_part_are_compared_in_part(tmp_path: Path, make_benchmark: Maker) -> None:
    """The edits that have a score are compared; those without are named beside them."""
    root = make_benchmark(items=1)

    def partly(conversation: Conversation) -> str:
        assert conversation.message is not None
        asked = any(word in conversation.message.text for word in ("Now give", "could not read"))
        return bulleted([(6,) * 4] * 2) if asked else "I see."

    lmmscore.run(root, judge=scores(5), out=tmp_path / "r", anchors=["i0"])
    lmmscore.run(root, judge=ScriptedJudge(partly), out=tmp_path / "r", anchors=["i0"])
    found = drift(tmp_path / "r" / "anchors.csv")
    assert (found.rounds, found.edits, found.mean) == (2, 2, 1.0)
    assert len(found.unscored) == 1
    assert "+1.00" in str(found) and "no score: i0" in str(found)


@pytest.mark.parametrize(
    "changed",
    [["--temperature", "0.9"], ["--max-side", "16"], ["--method", "alpha", "--method", "beta"]],
)
def test_rounds_asked_otherwise_are_not_compared(
    tmp_path: Path, make_benchmark: Maker, server: Server, changed: list[str]
) -> None:
    """Another temperature, picture or company of edits moves scores without any drift of the judge."""
    root = make_benchmark(items=1)
    usual = ["--temperature", "0.1"]
    run(server, root, tmp_path / "r", "--anchors", "i0", *usual)
    # A folder holds one question, so the rounds are carried over by hand.
    for name in ("other", "usual"):
        (tmp_path / name).mkdir()
    shutil.copy(tmp_path / "r" / "anchors.csv", tmp_path / "other")
    done = run(server, root, tmp_path / "other", "--anchors", "i0", *usual, *changed)
    assert "against round" not in done.stderr
    assert "round 2 was asked with other settings than the rounds before" in done.stderr
    shutil.copy(tmp_path / "other" / "anchors.csv", tmp_path / "usual")
    done = run(server, root, tmp_path / "usual", "--anchors", "i0", *usual)
    assert "round 3 against round 1" in done.stderr


def test_rounds_of_an_edited_picture_are_not_compared(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """A picture that was exchanged is another question, though its name is the same."""
    root = make_benchmark(items=1)
    lmmscore.run(root, judge=scores(5), out=tmp_path / "r", anchors=["i0"])
    (root / "edits" / "i0_alpha.png").write_bytes((root / "edits" / "i0_beta.png").read_bytes())
    lmmscore.run(root, judge=scores(7), out=tmp_path / "r", anchors=["i0"])
    assert "other settings" in str(drift(tmp_path / "r" / "anchors.csv"))


def test_rounds_with_another_example_are_not_compared(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """A picture that the dialog shows as an example is part of what the judge is asked with."""
    turns = [
        {"name": "shot", "show": ["shot.png"], "say": "And this?", "heard": "look: 3"},
        {"name": "scores", "read": "scores", "say": "Rate it: {{show.edit}}"},
    ]
    dialog = {
        "dialog": "shots",
        "version": 1,
        "title": "With an example",
        "format": 2,
        "covers": "edit",
        "factors": [{"key": "look", "scale": {"min": 1, "max": 10}}],
        "overall": "mean",
        "turns": turns,
        "repair": {"say": "{{problems}}"},
    }
    (tmp_path / "shots.yaml").write_text(json.dumps(dialog))
    root = make_benchmark(items=1)
    for shade in (10, 200):
        picture(tmp_path / "shot.png", (shade, shade, shade))
        judge = ScriptedJudge(lambda _: "look: 7")
        asked = {"judge": judge, "out": tmp_path / "r", "anchors": ["i0"]}
        lmmscore.run(root, str(tmp_path / "shots.yaml"), **asked)

    assert "other settings" in str(drift(tmp_path / "r" / "anchors.csv"))


def test_drift_is_measured_where_a_dialog_has_no_overall(
    tmp_path: Path, make_benchmark: Maker
) -> None:
    """The last factor stands for an edit then, and is named."""
    text = (bundled("dialogs") / "lmm-score.yaml").read_text(encoding="utf-8")
    assert "overall: weighted" in text
    dialog = tmp_path / "apart.yaml"
    dialog.write_text(text.replace("overall: weighted", "overall: none"), encoding="utf-8")
    root = make_benchmark(items=2)
    for value in (5, 7):
        lmmscore.run(
            root, dialog=str(dialog), judge=scores(value), out=tmp_path / "r", anchors=["i0", "i1"]
        )
    assert "+2.00 ± 0.00 on real" in str(drift(tmp_path / "r" / "anchors.csv"))


def test_another_snapshot_in_the_ledger_is_no_change_in_this_run(
    tmp_path: Path, make_benchmark: Maker, server: Server
) -> None:
    """Only the models whose answers this run used are its models."""
    root, shared = (
        make_benchmark(items=1, kinds=("source", "reference")),
        tmp_path / "shared.sqlite",
    )
    server.extra = {"model": "snap-A"}
    run(server, root, tmp_path / "a", "--ledger", shared, "--dialog", "preservation-3")
    server.extra = {"model": "snap-B"}
    done = run(server, root, tmp_path / "b", "--ledger", shared)
    assert "snap-A" not in done.output
    assert lmmscore.open_run(tmp_path / "b").manifest.models == ["snap-B"]
    assert lmmscore.open_run(tmp_path / "b").manifest.caution == ""


def test_a_change_of_snapshot_among_the_anchors_is_theirs_alone(
    tmp_path: Path, make_benchmark: Maker, server: Server
) -> None:
    """A table without a score from the new snapshot does not open with a notice about it."""
    root = make_benchmark(items=1)
    server.extra = {"model": "snap-A"}
    run(server, root, tmp_path / "r", "--anchors", "i0")
    server.extra = {"model": "snap-B"}
    done = run(server, root, tmp_path / "r", "--anchors", "i0")
    assert "changed during this run" not in done.output
    assert "round 2 (snap-B) against round 1 (snap-A)" in done.stderr


def test_a_change_of_snapshot_among_the_scores_is_said_first(
    tmp_path: Path, make_benchmark: Maker, server: Server
) -> None:
    """Scores of two snapshots in one table are not of one judge; programs are told too."""
    root = make_benchmark(items=2)
    server.extra = {"model": "snap-A"}
    run(server, root, tmp_path / "r", "--item", "i0")
    server.extra = {"model": "snap-B"}
    done = run(server, root, tmp_path / "r", "--json")
    found = json.loads(done.stdout)
    assert found["models"] == ["snap-A", "snap-B"]
    assert found["caution"] == "The judge's model changed during this run: snap-A, snap-B."
    assert "Caution: The judge's model changed" in run(server, root, tmp_path / "r").stdout


def test_several_fingerprints_of_one_model_are_mentioned(
    tmp_path: Path, make_benchmark: Maker, server: Server
) -> None:
    """The provider changed something behind the same name: worth a word, not a change of snapshot."""
    root = make_benchmark(items=2)
    run(server, root, tmp_path / "r", "--item", "i0")
    server.extra = {"system_fingerprint": "fp_2"}
    found = json.loads(run(server, root, tmp_path / "r", "--json").stdout)
    assert found["models"] == ["tiny-2025-01-01"]
    assert "changed during" not in found["caution"]
    assert "ame model name, several system fingerprints" in found["caution"]
    assert "fp_1 and fp_2" in found["caution"]


def test_programs_are_told_of_drift(tmp_path: Path, make_benchmark: Maker, server: Server) -> None:
    """What the line about anchors says is in the JSON as well."""
    root = make_benchmark(items=1)
    run(server, root, tmp_path / "r", "--anchors", "i0")
    found = json.loads(run(server, root, tmp_path / "r", "--anchors", "i0", "--json").stdout)[
        "anchors"
    ]
    assert (found["rounds"], found["against"], found["edits"], found["mean"]) == (2, 1, 3, 0.0)


def test_a_run_stopped_at_once_keeps_what_it_knew(
    tmp_path: Path, make_benchmark: Maker, server: Server
) -> None:
    """The tables of yesterday stay, and so do the models and the caution that belong to them."""
    root = make_benchmark(items=2)
    server.extra = {"model": "snap-A"}
    run(server, root, tmp_path / "r", "--item", "i0")
    server.extra = {"model": "snap-B"}
    run(server, root, tmp_path / "r")
    server.script = [(401, {}, {"error": {"message": "expired"}})] * 20
    done = run(server, root, tmp_path / "r", "--seed", "5")
    assert done.exit_code == 1
    manifest = lmmscore.open_run(tmp_path / "r").manifest
    assert manifest.models == ["snap-A", "snap-B"]
    assert "snap-A, snap-B" in manifest.caution


def write_rounds(path: Path, *given: tuple[int, str, str, str]) -> Path:
    """Write rounds as a run does: number, item, factor and score."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        columns = "round asked model question item task method repeat position factor score"
        out.writerow([*columns.split(), "outcome", "reason"])
        for number, item, factor, score in given:
            about = [number, "2026-11-01T00:00:00+00:00", "m-1", f"q-{factor}"]
            name, _, method = item.partition("/")
            out.writerow([*about, name, "t", method or "A", 1, 1, factor, score, "scored", ""])
    return path


def test_the_mean_says_what_it_is_over(tmp_path: Path) -> None:
    """An item with three edits counts as one with a single edit does, and the line says so."""
    moved = {"i1/A": 2, "i1/B": 2, "i1/C": 2, "i2/A": 0}
    first = [(1, edit, "overall", "5") for edit in moved]
    second = [(2, edit, "overall", str(5 + gap)) for edit, gap in moved.items()]
    found = drift(write_rounds(tmp_path / "anchors.csv", *first, *second))
    assert (found.mean, found.items, found.edits) == (1.0, 2, 4)
    assert "on the overall (mean and 95% interval over 2 items, 4 edits)" in str(found)


def test_the_latest_round_is_the_latest_whatever_it_was_scored_for(tmp_path: Path) -> None:
    """A round under a dialog without an overall is not passed over for the two before it."""
    path = write_rounds(
        tmp_path / "anchors.csv",
        (1, "i1", "overall", "5"),
        (2, "i1", "overall", "7"),
        (3, "i1", "done", "1"),
    )
    found = drift(path)
    assert (found.rounds, found.mean) == (3, None)
    assert "+2.00" not in str(found)

    path = write_rounds(
        path, (1, "i1", "done", "0"), (2, "i1", "overall", "7"), (3, "i1", "done", "1")
    )
    found = drift(path)
    assert (found.rounds, found.against, found.factor, found.mean) == (3, 1, "done", 1.0)


@pytest.mark.parametrize("change", [("1,2026", "one,2026"), (",5,", ",nan,"), (",scored,", ",")])
def test_a_damaged_file_of_rounds_is_named(tmp_path: Path, change: tuple[str, str]) -> None:
    """Rounds that cannot be read are no drift, and no traceback: the message says which line."""
    path = write_rounds(
        tmp_path / "anchors.csv", (1, "i1", "overall", "5"), (2, "i1", "overall", "7")
    )
    path.write_text(path.read_text(encoding="utf-8").replace(*change, 1), encoding="utf-8")
    with pytest.raises(FileProblem, match=r"anchors\.csv, line 2"):
        drift(path)
