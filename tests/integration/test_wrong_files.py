"""Files as people really have them: damaged, misnamed, half filled in. Each is said, none is a traceback."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from lmmscore.benchmark import check_benchmark, load_benchmark
from lmmscore.dialog import load_dialog
from lmmscore.errors import DialogError, FileProblem, ImageProblem, LmmscoreError
from lmmscore.images import load_rgb, read_header
from lmmscore.importers.benchmark_writer import read
from lmmscore.importers.document import _scale_typed, import_document
from lmmscore.importers.layouts import Choices, choose, scan
from lmmscore.leaderboard.diagnostics import position_effect
from lmmscore.ledger import Ledger
from lmmscore.run_folder import open_run
from lmmscore.score_files import read_score_folder
from lmmscore.scores import read_scores
from lmmscore.transcripts import load_transcript

Maker = Callable[..., Path]


def picture_bytes(kind: str) -> bytes:
    image = Image.effect_noise((48, 32), 60).convert("RGB")
    exif = Image.Exif()
    exif[0x0112] = 6
    out = io.BytesIO()
    image.save(out, kind, **({} if kind in {"GIF", "BMP"} else {"exif": exif}))
    return out.getvalue()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "TIFF", "AVIF"])
def test_a_damaged_picture_is_a_problem_never_a_crash(kind: str, tmp_path: Path) -> None:
    """Cut short or changed anywhere, a file is read or named; nothing else happens."""
    if kind not in Image.SAVE and not Image.init() and kind not in Image.SAVE:
        pytest.skip(f"this Pillow writes no {kind}")
    whole, rng, path = picture_bytes(kind), random.Random(kind), tmp_path / "p"
    for number in range(150):
        data = bytearray(whole)
        if number % 3 == 0:
            data = data[: rng.randrange(1, len(data))]
        for _ in range(rng.randrange(0, 12)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data)
        for look in (read_header, load_rgb):
            try:
                look(path)
            except ImageProblem as problem:
                assert str(path) in str(problem)


def test_check_lists_a_truncated_picture_among_the_others(make_benchmark: Maker) -> None:
    """One broken file does not keep the rest from being looked at."""
    root = make_benchmark(items=2)
    good = root / "edits" / "i0_alpha.png"
    good.write_bytes(good.read_bytes()[:60])
    (root / "edits" / "i1_beta.png").write_bytes(b"")
    problems = [f"{problem}" for problem in check_benchmark(load_benchmark(root))]
    assert any("i0_alpha" in text for text in problems) and any(
        "i1_beta" in text for text in problems
    )


def test_a_file_in_another_language_starts_no_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostScript under the name of a picture is not handed to an interpreter."""
    import subprocess

    def never(*words: object, **_: object) -> None:
        raise AssertionError(f"started {words}")

    monkeypatch.setattr(subprocess, "Popen", never)
    path = tmp_path / "edit.png"
    path.write_bytes(
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n"
    )
    for look in (read_header, load_rgb):
        with pytest.raises(ImageProblem, match="not a picture"):
            look(path)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_a_header_gives_the_size_as_displayed(kind: str, tmp_path: Path) -> None:
    """Whichever format carries the orientation, header and picture agree."""
    path = tmp_path / "p"
    path.write_bytes(picture_bytes(kind))
    header = read_header(path)
    assert (header.width, header.height) == load_rgb(path).size == (32, 48)


@pytest.mark.parametrize("blank", ["", "   ", "\t"])
def test_a_blank_instruction_is_no_instruction(blank: str, make_benchmark: Maker) -> None:
    """Spaces are not something to judge by."""
    root = make_benchmark(items=1)
    (root / "items.csv").write_text(f'id,task,instruction\ni0,colour,"{blank}"\n', encoding="utf-8")
    with pytest.raises(LmmscoreError, match="no instruction"):
        load_benchmark(root)


def test_items_whose_places_are_spelt_alike_share_their_edits(make_benchmark: Maker) -> None:
    """Two instructions about one picture may be answered by one file."""
    root = make_benchmark(items=2)
    (root / "benchmark.yaml").write_text(
        'name: x\nitems: items.csv\nimages:\n  source: "source/i0.png"\n  edit: "edits/i0_{method}.png"\n'
    )
    first, second = load_benchmark(root).items
    assert first.edits == second.edits and len(first.edits) == 3


def test_a_mistyped_source_folder_is_not_overlooked(tmp_path: Path) -> None:
    """The folder that was meant would become a method."""
    for folder in ("photos", "source", "A"):
        (tmp_path / folder).mkdir()
        Image.new("RGB", (8, 8)).save(tmp_path / folder / "one.png")
    with pytest.raises(LmmscoreError, match="did you mean photos"):
        choices = Choices(source="photoss", instruction="Make it blue")
        tree = scan(tmp_path)
        read(tree, choices, choose(tree, choices)[1])


def test_two_items_cannot_show_an_effect_of_position() -> None:
    """Their residuals cancel, which is no evidence: no p of 0."""
    rows = [
        {
            "task": "t",
            "item": item,
            "method": method,
            "repeat": 1,
            "position": place,
            "factor": "overall",
            "score": score,
        }
        for item, order in (("a", "xyz"), ("b", "zxy"))
        for place, (method, score) in enumerate(
            zip(order, np.linspace(3, 8, 3) + ord(item) % 3, strict=True), 1
        )
    ]
    effect = position_effect(pd.DataFrame(rows), factor="overall", level=0.95)
    assert effect.slope is None and "Too few" in effect.statement and not effect.doubts


DIALOG = """
dialog: d
version: 1
title: t
covers: edit
overall: weighted
factors:
- {key: a, weight: WEIGHT, scale: SCALE}
- {key: KEY, weight: 0.6, scale: {min: 1, max: 10}}
turns:
- {name: one, show: [SHOW], say: "SAY", read: scores}
repair: {say: "{{problems}}"}
"""
SOUND = {
    "WEIGHT": "0.4",
    "SCALE": "{min: 1, max: 10}",
    "KEY": "b",
    "SHOW": "edit",
    "SAY": "Judge it.",
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ""),
        ({"WEIGHT": "0.5"}, "add up to 1.1"),
        ({"WEIGHT": "-0.4"}, "0 or more"),
        ({"KEY": "overall"}, "overall is taken"),
        ({"SHOW": "source"}, "no turn shows an edit"),
        ({"SAY": "{{problems}}"}, "unknown name {{problems}}"),
        ({"SCALE": "{min: 0.5, max: 0.9, integers: true}"}, "no whole number"),
        ({"SCALE": "{values: [1, 1]}"}, "listed twice"),
    ],
)
def test_a_dialog_that_makes_no_sense_is_refused_when_it_is_read(
    change: dict[str, str], words: str, tmp_path: Path
) -> None:
    """`dialogs check` finds what `run` would."""
    text = DIALOG
    for name, value in {**SOUND, **change}.items():
        text = text.replace(name, value)
    (tmp_path / "d.yaml").write_text(text)
    if not change:
        assert load_dialog(str(tmp_path / "d.yaml")).name == "d"
        return
    with pytest.raises(DialogError) as caught:
        load_dialog(str(tmp_path / "d.yaml"))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"overall": "foo"}, "none of"),
        ({"overall": "weighted"}, "no weights"),
        ({"show": "bogus"}, "no image 'bogus'"),
        ({"scale.nosuch": "0,1"}, "no factor nosuch"),
    ],
)
def test_an_answer_that_fits_nothing_is_refused_at_import(
    answers: dict[str, str], words: str, tmp_path: Path
) -> None:
    """No file is written that `dialogs check` would refuse for it."""
    path = tmp_path / "prompt.txt"
    path.write_text(
        'Rate the edit. Answer with JSON: {"consistency": 1-5, "quality": 1-5}, where 1 is poor and 5 is good.\n'
    )
    with pytest.raises(DialogError, match=words):
        import_document(path, "p", answers)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"messages": [{"role": "user", "content": "Rate the accuracy from 1 to 10', "cut off"),
        ('["Rate the accuracy from 1 to 10.", "Rate the quality."]', "prompts.json:0"),
        ("[1, 2]", "no text in it"),
    ],
)
def test_json_that_is_no_chat_is_no_prompt(text: str, words: str, tmp_path: Path) -> None:
    """A judge would be asked in brackets and keys."""
    path = tmp_path / "prompts.json"
    path.write_text(text)
    with pytest.raises(FileProblem, match=words):
        import_document(path)


@pytest.mark.parametrize("answer", ["10-1", "nan-inf", "a lot"])
def test_what_is_no_scale_is_not_taken_for_one(answer: str) -> None:
    """A scale that is typed wrongly is said at once."""
    with pytest.raises(DialogError, match="not a scale"):
        _scale_typed(answer)


def test_a_method_listed_twice_is_a_problem(make_benchmark: Maker) -> None:
    """It would be shown twice and ranked against itself."""
    root = make_benchmark(items=1)
    text = (
        (root / "benchmark.yaml")
        .read_text()
        .replace("[alpha, beta, gamma]", "[alpha, alpha, beta]")
    )
    (root / "benchmark.yaml").write_text(text)
    with pytest.raises(LmmscoreError, match="'alpha' is listed twice"):
        load_benchmark(root)


def test_a_folder_taken_for_another_is_told_what_it_is(tmp_path: Path) -> None:
    """A run is no benchmark and no folder of scores, and a folder of runs is no run."""
    run = tmp_path / "results" / "first"
    run.mkdir(parents=True)
    (run / "run.yaml").write_text("")
    with pytest.raises(FileProblem, match=r"no run here .*`lmmscore list .*results` lists them"):
        open_run(run.parent)
    with pytest.raises(LmmscoreError, match=r"a run's folder, not a benchmark's") as caught:
        load_benchmark(run)
    assert "init" not in str(caught.value)
    with pytest.raises(FileProblem, match=r"its scores are in .*scores\.csv already"):
        read_score_folder(run, [])


@pytest.mark.parametrize("held", ["", "\ufeff", " \n\n"])
def test_an_empty_file_is_called_empty(tmp_path: Path, held: str) -> None:
    """Neither pandas' words for a table without columns nor a guess at who speaks in it."""
    (tmp_path / "scores.csv").write_text(held, encoding="utf-8")
    (tmp_path / "talk.md").write_text(held, encoding="utf-8")
    for reader, name in ((read_scores, "scores.csv"), (load_transcript, "talk.md")):
        with pytest.raises(FileProblem, match=f"{name}: the file is empty") as caught:
            reader(tmp_path / name)
        assert "columns" not in str(caught.value) and "Found" not in str(caught.value)


def test_a_foreign_file_is_not_called_a_ledger(tmp_path: Path) -> None:
    """Most likely the wrong file was named."""
    (tmp_path / "notes.txt").write_text("this is no ledger, nor was it ever one; " * 100)
    with pytest.raises(LmmscoreError, match="it is not a ledger: name another file"):
        Ledger(tmp_path / "notes.txt")


def test_a_damaged_ledger_is_called_damaged(tmp_path: Path) -> None:
    """Making room on the disk would not mend it."""
    (tmp_path / "l.sqlite").write_bytes(b"certainly no database" * 400)
    with pytest.raises(LmmscoreError, match="damaged"):
        Ledger(tmp_path / "l.sqlite")


@pytest.mark.parametrize("name", ["deep.json", "deep.jsonl"])
def test_json_nested_beyond_reason_is_said(name: str, tmp_path: Path) -> None:
    """Whoever reads a table of people's making says so."""
    from lmmscore.importers.benchmark_writer import read_table
    from lmmscore.tables import read_tables

    path = tmp_path / name
    path.write_text("[" * 100_000)
    for look in (read_tables, read_table):
        with pytest.raises(LmmscoreError, match=name):
            look(path)
