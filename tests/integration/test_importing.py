from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from lmmscore.cli import lmmscore as command_line
from lmmscore.dialog import Dialog, load_dialog
from lmmscore.errors import DialogError
from lmmscore.importers.document import import_document
from lmmscore.session import script
from lmmscore.transcripts import load_transcript
from lmmscore.yaml_files import parse_yaml, validate


def imported(path: Path, **answers: str) -> Dialog:
    text = import_document(path, "x", answers).as_yaml()
    return validate(Dialog, parse_yaml(text, "x.yaml"), "x.yaml")


def test_playing_the_imported_transcript_says_its_words_to_the_letter(
    published_transcript: Path,
) -> None:
    """The same item and the same N give every user turn back exactly."""
    dialog = imported(published_transcript)
    lines = script(dialog, 8, "background_change", "Change the snowland to a beach", {})
    assert [line["say"] for line in lines] == [
        turn.prompt for turn in load_transcript(published_transcript).turns
    ]


def test_the_imported_transcript_fits_other_items(published_transcript: Path) -> None:
    """Task, instruction and N have become slots."""
    dialog = imported(published_transcript)
    lines = script(dialog, 3, "style_change", "Make it a sketch", {})
    said = "\n".join(str(line["say"]) for line in lines)
    assert "Style Change" in said
    assert "Make it a sketch." in said
    assert "3 edited images" in said
    assert "by 3 different methods" in said
    assert "8" not in said
    assert "4 sub-scores" in said
    assert [f.key for f in dialog.factors] == ["acc", "pre", "qua", "real"]
    assert [str(f.weight) for f in dialog.factors] == ["0.4", "0.3", "0.2", "0.1"]
    assert dialog.avoid_ties


@pytest.mark.parametrize(
    ("number", "shows", "scales"),
    [
        ("000", ("reference", "edit"), ["1–7 (whole numbers)"] * 3),
        ("001", ("reference", "edit"), ["1–7 (whole numbers)"] * 12),
        ("002", ("marked", "edit"), ["0 / 1"]),
        ("003", ("source", "marked", "edit"), ["0 / 1", "0 / 0.5 / 1", "0 / 1"]),
    ],
)
def test_single_prompts_are_imported_exactly(
    shared: Path, number: str, shows: tuple[str, ...], scales: list[str]
) -> None:
    """Images, factors and scales are inferred; the words are the file's own but for the instruction."""
    path = next((shared / "seeds").glob(f"{number}_*.txt"))
    dialog = imported(path)
    assert dialog.images_shown({}) == shows
    assert [str(factor.scale) for factor in dialog.factors] == scales
    said = str(script(dialog, 1, "t", "@@", {})[0]["say"])
    original = path.read_text().strip("\n")
    placeholders = {
        "[text instruction]": "@@",
        "{prompt}": "@@",
        "[ground truth image]": "[reference image]",
        "[edited image]": "[edit image]",
    }
    for placeholder, filled in placeholders.items():
        original = original.replace(placeholder, filled)
    assert said == original


def test_the_bundled_dialogs_read_what_the_published_ones_read(shared: Path) -> None:
    """Our words, their keys and scales."""
    pairs = {
        "000": "preservation-3",
        "001": "factors-12",
        "002": "visual-context",
        "003": "visual-adherence",
    }
    for number, name in pairs.items():
        theirs = imported(next((shared / "seeds").glob(f"{number}_*.txt")))
        ours = load_dialog(name)
        assert [(f.key, str(f.scale)) for f in ours.factors] == [
            (f.key, str(f.scale)) for f in theirs.factors
        ]
        assert ours.images_shown({}) == theirs.images_shown({})
        assert ours.turns[0].form is not None
        assert theirs.turns[0].form is not None
        assert ours.turns[0].form.words == theirs.turns[0].form.words


def test_what_is_not_said_is_asked_not_guessed(tmp_path: Path) -> None:
    """A prompt without scale, images or instruction leaves three questions, each answered by name."""
    path = tmp_path / "p.txt"
    path.write_text(
        'Rate the picture.\n{"beauty": {"score": 0, "why": ""}, "fit": {"score": 0, "why": ""}}\n'
    )
    draft = import_document(path, "p")
    assert {"scale.beauty", "scale.fit", "show", "instruction", "overall"} == set(draft.questions)
    assert "OPEN QUESTION scale.beauty" in draft.as_yaml()
    with pytest.raises(Exception, match="open question"):
        imported(path)
    answered = imported(
        path, **{"scale": "1-5", "scale.fit": "0,1", "show": "edit", "overall": "mean"}
    )
    assert [str(factor.scale) for factor in answered.factors] == ["1–5", "0 / 1"]
    assert answered.overall == "mean"


def test_an_unknown_answer_is_refused(tmp_path: Path) -> None:
    """A mistyped answer is not silently dropped."""
    path = tmp_path / "p.txt"
    path.write_text('Score it: {"a": {"score": 1}}')
    with pytest.raises(DialogError, match="did you mean overall"):
        import_document(path, "p", {"overal": "mean"})


def test_irregular_words_for_an_edit_are_kept(tmp_path: Path) -> None:
    """Where the words for one edit follow no rule, they are kept for its place."""
    edits = [
        "The first edited image.",
        "The second one.",
        "And now, something else!",
        "The fourth one.",
        "Last.",
    ]
    turns = ["![](1_src.png)\nThe source image.\nTask: Style. \nInstruction: Paint it"]
    turns += [f"![](1_m{i}.png)\n{words}" for i, words in enumerate(edits)]
    turns += ["Score S_acc and S_pre of each of the 5 images from 1 to 10."]
    path = tmp_path / "t.md"
    path.write_text("".join(f"## Prompt:\n{turn}\n\n## ChatGPT:\nFine.\n\n" for turn in turns))
    lines = script(imported(path), 5, "style", "Paint it", {})
    assert [line["say"] for line in lines] == [turn.prompt for turn in load_transcript(path).turns]


def test_import_and_check_from_the_command_line(published_transcript: Path, tmp_path: Path) -> None:
    """`dialogs import` writes a file that `dialogs check` passes; it is not written over unasked."""
    runner = CliRunner()
    out = str(tmp_path / "d.yaml")
    made = runner.invoke(
        command_line, ["dialogs", "import", str(published_transcript), "--out", out]
    )
    assert made.exit_code == 0
    assert made.stdout.strip() == out
    assert runner.invoke(command_line, ["dialogs", "check", out]).exit_code == 0
    again = runner.invoke(
        command_line, ["dialogs", "import", str(published_transcript), "--out", out]
    )
    assert isinstance(again.exception, Exception)
    assert "--force" in str(again.exception)


def test_a_chat_that_shows_edits_together_is_no_dialog_of_ours(tmp_path: Path) -> None:
    """A dialog shows each edit in a turn of its own; another protocol must not pass as this one."""
    turns = [
        ("![](6_src.jpg)\nThis is the source image.", "A fox."),
        ("![](6_a.png)\n![](6_b.png)\nScore both: S_acc, from 1 to 10.", "Image 1: 8"),
    ]
    path = tmp_path / "t.md"
    path.write_text(
        "\n\n".join(f"## Prompt:\n{asked}\n\n## GPT-4:\n{said}" for asked, said in turns)
    )
    with pytest.raises(DialogError, match="turn 2 shows an edit together with other pictures"):
        import_document(path, "x", {})
