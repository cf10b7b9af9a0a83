from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import lmmscore
from lmmscore.cli import lmmscore as command_line
from lmmscore.errors import FileProblem, JudgeError
from lmmscore.run_folder import open_run
from lmmscore.speakers import spoken_in
from lmmscore.transcript_reader import read_transcript
from tests.conftest import bulleted, picture

SCORE = "Score them: S_acc, S_pre, S_qua, S_real from 1 to 10."
SUM = "S_all = 0.4 S_acc + 0.3 S_pre + 0.2 S_qua + 0.1 S_real"


def transcript(
    path: Path, edits: list[str], scores: str, sums: str = "", image: str = '<img src="m/{}">'
) -> Path:
    """Write a chat in the published form."""
    turns = [
        ("Ready?", "Yes."),
        (image.format("6_src.jpg") + "\nThis is the source image.", "A fox."),
    ]
    words = ["first", "second", "third", "fourth", "fifth"]
    for number, name in enumerate(edits):
        shown = image.format(name) + "\n\n" if name else ""
        turns.append((f"{shown}The {words[number]} one.", "Fine."))
    turns.append((SCORE, scores))
    if sums:
        turns.append((SUM, sums))
    path.write_text("\n\n".join(f"## Prompt:\n\n{q}\n\n## ChatGPT:\n\n{a}" for q, a in turns))
    return path


def test_the_published_dialogue_gives_its_published_scores(published_transcript: Path) -> None:
    """Every sub-score, overall and stated overall of the recorded example."""
    replayed = read_transcript(published_transcript)
    assert [edit.method for edit in replayed.edits] == [
        *(
            "SINE",
            "proxedit",
            "null_text",
            "LEDITS_PLUSPLUS",
            "InstructionPix2Pix",
            "edict",
            "DDS",
            "AIDI",
        ),
    ]
    made = replayed.as_dict()
    assert [edit["overall"] for edit in made["edits"]] == [6.1, 6.8, 8.5, 7, 7.4, 1.3, 7.2, 8.2]
    assert [edit["stated_overall"] for edit in made["edits"]] == [
        6.1,
        6.8,
        8.5,
        7,
        7.4,
        1.3,
        7.2,
        8.2,
    ]
    assert made["edits"][0]["scores"] == {"acc": 6, "pre": 7, "qua": 5, "real": 6}
    assert made["slips"] == []
    assert made["ranking"][:2] == ["null_text", "AIDI"]


@pytest.mark.parametrize(
    "image", ['<img src="m/{}">', "![]({})", '<button><img alt="x" src="../a b/{}" /></button>']
)
def test_other_chats_are_read_too(tmp_path: Path, image: str) -> None:
    """Another number of edits, other image tags."""
    path = transcript(
        tmp_path / "t.md",
        ["6_a.png", "6_b_c.png"],
        bulleted([(1, 2, 3, 4), (9, 8, 7, 6)]),
        image=image,
    )
    replayed = read_transcript(path)
    assert [(edit.method, float(edit.overall or 0)) for edit in replayed.edits] == [
        ("a", 2.0),
        ("b_c", 8.0),
    ]


def test_wrong_sums_are_slips(tmp_path: Path) -> None:
    """The computed overall stands; the judge's wrong one is listed."""
    scores = bulleted([(1, 2, 3, 4), (9, 8, 7, 6)])
    path = transcript(
        tmp_path / "t.md", ["6_a.png", "6_b.png"], scores, "- Image 1: 2.0\n- Image 2: 8.5"
    )
    made = read_transcript(path).as_dict()
    assert made["slips"] == [{"position": 2, "method": "b", "overall": 8, "stated_overall": 8.5}]
    assert [edit["overall"] for edit in made["edits"]] == [2, 8]


def test_a_score_that_is_changed_later_does_not_stand(tmp_path: Path) -> None:
    """A judge that takes back one image's score leaves that image without one, and says why."""
    scores = bulleted([(1, 2, 3, 4), (9, 8, 7, 6)])
    path = transcript(
        tmp_path / "t.md",
        ["6_a.png", "6_b.png"],
        scores,
        "You are right. Image 2: S_acc: 3, S_pre: 8, S_qua: 7, S_real: 6.",
    )
    first, second = read_transcript(path).edits
    assert first.overall == 2
    assert second.overall is None and second.reason.endswith("scored 9, but 3 in a later reply")


def test_an_image_without_scores_is_unscored(tmp_path: Path) -> None:
    """A missing image has a reason and no number, and the exit code says so."""
    path = transcript(tmp_path / "t.md", ["6_a.png", "6_b.png"], bulleted([(1, 2, 3, 4)]))
    result = CliRunner().invoke(command_line, ["replay", str(path), "--json"])
    assert result.exit_code == 3
    made = json.loads(result.stdout)
    assert made["edits"][1]["overall"] is None
    assert made["edits"][1]["reason"]
    assert made["ranking"] == ["a"]


def test_a_turn_whose_image_is_gone_still_counts(tmp_path: Path) -> None:
    """The second edit was shown though its image is lost: the third image's scores stay the third's."""
    path = transcript(
        tmp_path / "t.md",
        ["6_a.png", "", "6_c.png"],
        bulleted([(1, 1, 1, 1), (5, 5, 5, 5), (9, 9, 9, 9)]),
    )
    replayed = read_transcript(path)
    assert [(edit.method, edit.overall) for edit in replayed.edits] == [
        ("a", 1),
        (None, 5),
        ("c", 9),
    ]


def test_a_folder_a_method_names_the_method(tmp_path: Path) -> None:
    """`SINE/6.png` and `DDS/6.png` are SINE's and DDS's."""
    path = transcript(
        tmp_path / "t.md", ["SINE/6.png", "DDS/6.png"], bulleted([(1, 1, 1, 1), (2, 2, 2, 2)])
    )
    assert [edit.method for edit in read_transcript(path).edits] == ["SINE", "DDS"]


def test_a_file_that_is_no_chat_says_so(tmp_path: Path) -> None:
    """The headings that are expected are named."""
    (tmp_path / "x.md").write_text("# Notes\nNothing here.")
    with pytest.raises(FileProblem, match="## Prompt:"):
        read_transcript(tmp_path / "x.md")
    (tmp_path / "x.json").write_text('{"log": [{"who": "me"}]}')
    with pytest.raises(FileProblem, match="JSON with the keys log, who"):
        read_transcript(tmp_path / "x.json")
    (tmp_path / "x.docx").write_bytes(b"PK\x03\x04\xff")
    with pytest.raises(FileProblem, match="save it as plain text"):
        read_transcript(tmp_path / "x.docx")


def test_a_transcript_answers_the_dialog_imported_from_it(tmp_path: Path) -> None:
    """A published chat plays the judge; an edit it did not see in that place is refused, with what to type."""
    path = transcript(
        tmp_path / "t.md",
        ["6_a.png", "6_b.png"],
        bulleted([(1, 2, 3, 4), (9, 8, 7, 6)]),
        "- Image 1: 2\n- Image 2: 8",
    )
    text = path.read_text().replace(
        "This is the source image.", "This is the source image.\n\nInstruction: Paint it"
    )
    path.write_text(text)
    root = tmp_path / "bench"
    for shade, name in enumerate(["6_src.jpg", "6_a.png", "6_b.png"]):
        picture(root / name, (shade * 9, 0, 0))
    (root / "benchmark.yaml").write_text(
        "name: fox\nitems: [{id: 6, instruction: Paint it, source: 6_src.jpg, edits: {a: 6_a.png, b: 6_b.png}}]\n"
    )
    dialog = str(tmp_path / "d.yaml")
    CliRunner().invoke(command_line, ["dialogs", "import", str(path), "--out", dialog])
    run = lmmscore.run(root, dialog, f"replay:{path}", out=tmp_path / "r", order="given")
    scores = run.scores()
    assert scores[scores["factor"] == "overall"]["score"].tolist() == [2.0, 8.0]
    with pytest.raises(JudgeError, match="--order given --method a --method b"):
        lmmscore.run(
            root, dialog, f"replay:{path}", out=tmp_path / "r2", order="given", methods=["b", "a"]
        )
    with pytest.raises(JudgeError, match="no answer to turn 1"):
        lmmscore.run(root, "lmm-score", f"replay:{path}", out=tmp_path / "r3")


# Which pictures are edits, and who is scored where


THREE = [(8, 7, 6, 9), (3, 4, 5, 2), (9, 9, 8, 7)]
OVERALLS = {"a": 7.4, "b": 3.6, "c": 8.6}


def chat(path: Path, *turns: tuple[str, str]) -> Path:
    """Write a chat with these questions and answers."""
    path.write_text("\n\n".join(f"User:\n{asked}\n\nAssistant:\n{said}" for asked, said in turns))
    return path


def overalls(path: Path) -> dict[str, float | None]:
    edits = read_transcript(path).edits
    return {edit.label: None if edit.overall is None else float(edit.overall) for edit in edits}


def shown(*names: str) -> str:
    return "".join(f"![](m/{name})\n" for name in names)


SOURCE = (shown("6_src.jpg") + "This is the source image.", "A fox.")
EDITS = [
    (shown(f"6_{method}.png") + f"This is the {place} edited image.", "Fine.")
    for method, place in (("a", "first"), ("b", "second"), ("c", "third"))
]
SCORED = (SCORE, bulleted(THREE))


def test_several_edits_in_one_turn_are_several_edits(tmp_path: Path) -> None:
    """All pictures at once, the edits together, or two and one: each gets its own scores."""
    pictures = ("6_a.png", "6_b.png", "6_c.png")
    all_at_once = (shown("6_src.jpg", *pictures) + f"The first is the source. {SCORE}", SCORED[1])
    assert overalls(chat(tmp_path / "t.md", all_at_once)) == OVERALLS
    together = (shown(*pictures) + SCORE, SCORED[1])
    assert overalls(chat(tmp_path / "t.md", SOURCE, together)) == OVERALLS
    two = (shown(*pictures[:2]) + "The first two.", "Fine.")
    assert overalls(chat(tmp_path / "t.md", SOURCE, two, EDITS[2], SCORED)) == OVERALLS


def test_a_judge_may_count_the_source_as_the_first_image(tmp_path: Path) -> None:
    """Images 2 to 4 of one message are edits 1 to 3 where the source is image 1."""
    names = ("6_src.jpg", "6_a.png", "6_b.png", "6_c.png")
    counted = bulleted([(1, 1, 1, 1), *THREE])
    said = counted[counted.index("Image 2") :]
    path = chat(tmp_path / "t.md", (shown(*names) + SCORE, said))
    assert overalls(path) == OVERALLS


def test_the_place_of_the_source_among_other_pictures_is_as_said(tmp_path: Path) -> None:
    """`The last image is the original` makes the others the edits."""
    names = ("6_a.png", "6_b.png", "6_c.png", "6_photo.jpg")
    asked = shown(*names) + f"The last image is the original photo. {SCORE}"
    assert overalls(chat(tmp_path / "t.md", (asked, SCORED[1]))) == OVERALLS


@pytest.mark.parametrize(
    "extra",
    [
        (shown("6_src.jpg") + "Here is the original again, to compare.", "Thanks."),
        (shown("6_src.jpg") + "Have a look.", "Thanks."),
        (shown("6_b.png") + "Look at the second image again.", "Yes."),
        (shown("6_ref.png") + "This is a reference of what we want, not an edit.", "Yes."),
        (shown("6_wanted.png") + "This is the ground truth.", "Yes."),
    ],
)
def test_a_picture_that_is_no_edit_moves_no_scores(tmp_path: Path, extra: tuple[str, str]) -> None:
    """The source again, an edit again, a reference: the edits keep their own scores."""
    for place in range(1, 5):
        turns = [SOURCE, *EDITS, SCORED]
        turns.insert(place, extra)
        if place > 2 or "6_b" not in extra[0]:
            assert overalls(chat(tmp_path / "t.md", *turns)) == OVERALLS


def test_what_stands_beside_the_source_is_no_edit_where_edits_follow(tmp_path: Path) -> None:
    """A picture of the goal in the turn of the source would shift every score by one."""
    beside = (
        shown("6_src.jpg", "6_like.png") + "The source image, and how it should look.",
        "Yes.",
    )
    assert overalls(chat(tmp_path / "t.md", beside, *EDITS, SCORED)) == OVERALLS


def test_pictures_of_one_name_are_told_apart_by_the_scores(tmp_path: Path) -> None:
    """Pasted pictures are all image.png; three are scored, so three are edits."""
    turns = [(words.replace(words.split(")")[0], "![](image.png"), said) for words, said in EDITS]
    source = (SOURCE[0].replace("m/6_src.jpg", "image.png"), "A fox.")
    found = overalls(chat(tmp_path / "t.md", source, *turns, SCORED))
    assert found == {"image 1": 7.4, "image 2": 3.6, "image 3": 8.6}


def test_pictures_that_may_be_edits_or_not_are_named(tmp_path: Path) -> None:
    """Where the scores fit neither way to count, nothing is given to anybody."""
    extra = (shown("6_ref.png") + "A reference.", "Yes.")
    path = chat(tmp_path / "t.md", SOURCE, extra, *EDITS, (SCORE, bulleted(THREE[:2])))
    with pytest.raises(FileProblem, match=r"3 or 4 edits.*6_ref\.png may be an edit or not"):
        read_transcript(path)


def test_a_second_item_in_a_chat_is_refused(tmp_path: Path) -> None:
    """Its scores would go to the edits of the first."""
    second = [(words.replace("6_", "7_"), said) for words, said in (SOURCE, *EDITS, SCORED)]
    path = chat(tmp_path / "t.md", SOURCE, *EDITS, SCORED, *second)
    with pytest.raises(FileProblem, match="turn 6 shows the source image of another item"):
        read_transcript(path)


def test_a_second_set_of_edits_is_refused(tmp_path: Path) -> None:
    """Nothing is said of a source, but the numbers begin again."""
    second = [(shown(f"7_{method}.png") + "The next set.", "Fine.") for method in "abc"]
    again = ("Score these in the same way.", bulleted([(2, 2, 2, 2)] * 3))
    path = chat(tmp_path / "t.md", SOURCE, *EDITS, SCORED, *second, again)
    with pytest.raises(FileProblem, match="turn 5 scores 3 edits; others come later"):
        read_transcript(path)


def test_edits_may_be_scored_in_stages(tmp_path: Path) -> None:
    """Two edits first, then the third: all keep their scores; a new verdict on all replaces them."""
    two = (f"Score these two. {SCORE}", bulleted(THREE[:2]))
    said = bulleted(THREE)
    third = ("Now the third.", said[said.index("Image 3") :])
    stages = [SOURCE, *EDITS[:2], two, EDITS[2]]
    assert overalls(chat(tmp_path / "t.md", *stages, third)) == OVERALLS
    all_again = ("Now all three.", bulleted([(5, 5, 5, 5)] * 3))
    assert set(overalls(chat(tmp_path / "t.md", *stages, all_again)).values()) == {5.0}


def test_edits_go_by_the_numbers_they_were_announced_with(tmp_path: Path) -> None:
    """`This is image 3` may come first; its scores are those of image 3."""
    turns = [
        (shown(f"6_{method}.png") + f"This is image {number}.", "Fine.")
        for method, number in (("c", 3), ("a", 1), ("b", 2))
    ]
    assert overalls(chat(tmp_path / "t.md", SOURCE, *turns, SCORED)) == OVERALLS


@pytest.mark.parametrize(
    "form", ["6_{0}: {1}", "**{0}**\n{1}\n", '"{0}": {{{1}}},', "- 6_{0}.png: {1}"]
)
def test_scores_may_stand_under_the_names_of_methods_or_files(tmp_path: Path, form: str) -> None:
    """In any order; they are not counted off as images 1, 2 and 3."""
    lines = []
    for method, scores in (("gamma", THREE[2]), ("alpha", THREE[0]), ("beta", THREE[1])):
        symbols = ("S_acc", "S_pre", "S_qua", "S_real")
        pairs = zip(symbols, scores, strict=True)
        parts = [f'"{key}": {at}' if "{{" in form else f"{key}: {at}" for key, at in pairs]
        lines.append(form.format(method, ", ".join(parts)))

    reply = "\n".join(lines)
    if "{{" in form:
        reply = "{" + reply.rstrip(",") + "}"

    edits = [
        (shown(f"6_{method}.png") + "Look at this.", "Fine.")
        for method in ("alpha", "beta", "gamma")
    ]
    found = overalls(chat(tmp_path / "t.md", SOURCE, *edits, (SCORE, reply)))
    assert found == {"alpha": 7.4, "beta": 3.6, "gamma": 8.6}


def test_a_picture_sent_by_itself_belongs_to_its_words(tmp_path: Path) -> None:
    """Messengers send a picture and its words as two messages, in either order."""
    for order in (1, -1):
        messages: list[dict[str, str]] = []
        for asked, said in (SOURCE, *EDITS, SCORED):
            picture, _, words = asked.rpartition("\n")
            parts = [part for part in (picture, words) if part][::order]
            messages += [{"role": "user", "content": part} for part in parts]
            messages.append({"role": "assistant", "content": said})

        (tmp_path / "t.json").write_text(json.dumps(messages))
        assert overalls(tmp_path / "t.json") == OVERALLS


def test_edits_may_be_scored_one_by_one(tmp_path: Path) -> None:
    """Each reply scores the edit it answers to; one that does not leaves that edit without."""
    alone = [bulleted([scores]).partition("\n")[2].replace("Image 1:", "") for scores in THREE]
    turns = [(f"{asked} {SCORE}", said) for (asked, _), said in zip(EDITS, alone, strict=True)]
    assert overalls(chat(tmp_path / "t.md", SOURCE, *turns)) == OVERALLS
    turns[1] = (turns[1][0], "I cannot say.")
    found = read_transcript(chat(tmp_path / "t.md", SOURCE, *turns))
    assert found.edits[1].overall is None and found.edits[1].reason
    assert [float(found.edits[place].overall or 0) for place in (0, 2)] == [7.4, 8.6]
    # A later verdict on all of them counts instead.
    last = (SCORE, bulleted([(5, 5, 5, 5)] * 3))
    path = chat(tmp_path / "t.md", SOURCE, *turns, last)
    assert set(overalls(path).values()) == {5.0}


@pytest.mark.parametrize(
    "form",
    [
        *("![[{}]]", "[Image: {}]", "<attached: {}>", "{} (file attached)", "{}"),
        *("Uploaded image: {}", "[12.png]({})", "![](<{}>)", "![x](https://x.org/a%20b/{}?se=1)"),
        *('<image: "{}">', "📎 {}", "`{}`", "*[{}]*", "<img>{}</img>"),
    ],
)
def test_pictures_are_found_however_a_chat_names_them(tmp_path: Path, form: str) -> None:
    """Links, attachments and file names alone on their lines."""
    turns = []
    for asked, said in (SOURCE, *EDITS, SCORED):
        name = asked.partition("(m/")[2].partition(")")[0]
        turns.append((f"{form.format(name)}\n{asked.partition(')')[2]}" if name else asked, said))

    assert overalls(chat(tmp_path / "t.md", *turns)) == OVERALLS


def test_file_names_in_a_chat_that_shows_pictures_are_words(tmp_path: Path) -> None:
    """A list of what will be shown is not shown yet."""
    listed = ("I will show you:\n6_src.jpg\n6_a.png\n6_b.png\n6_c.png", "Go on.")
    assert overalls(chat(tmp_path / "t.md", listed, SOURCE, *EDITS, SCORED)) == OVERALLS


@pytest.mark.parametrize("form", ["<image>", "[image]", "LLaVA", "ms-swift", "Ollama"])
def test_a_mark_stands_for_a_picture(tmp_path: Path, form: str) -> None:
    """The picture has the name that the file lists for it, or none."""
    told = [("m/6_src.jpg", "This is the source image."), ("", SCORE)]
    told[1:1] = [(f"m/6_{name}.png", "Another.") for name in ("a", "b")]
    replies = ["A fox.", "Fine.", "Fine.", bulleted([(1, 2, 3, 4), (9, 8, 7, 6)])]
    names = [name for name, _ in told if name]
    mark = "" if form == "Ollama" else form if form[0] in "<[" else "<image>"
    messages: list[dict[str, object]] = []
    for (name, words), reply in zip(told, replies, strict=True):
        shown = {"images": [name]} if name and form == "Ollama" else {}
        asked = f"{mark}\n{words}" if name else words
        messages += [{"role": "user", "content": asked, **shown}]
        messages += [{"role": "assistant", "content": reply}]

    lists = {"LLaVA": {"image": names}, "ms-swift": {"images": names}}.get(form, {})
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"messages": messages, **lists}))
    edits = read_transcript(path).edits
    assert [float(edit.overall or 0) for edit in edits] == [2.0, 8.0]
    assert [edit.method for edit in edits] == ([None, None] if form[0] in "<[" else ["a", "b"])


def test_an_export_of_chatgpt_has_the_names_of_its_pictures(tmp_path: Path) -> None:
    """The text has a pointer; the name stands beside it."""
    mapping: dict[str, Any] = {}
    parent = None
    for number, (asked, said) in enumerate((SOURCE, *EDITS, SCORED)):
        name = asked.partition("(m/")[2].partition(")")[0]
        pointer = {"asset_pointer": f"file-service://file-{number}"}
        words = asked.partition(")")[2] or asked
        user = {
            "author": {"role": "user"},
            "content": {"parts": [pointer, words] if name else [words]},
            "metadata": {"attachments": [{"id": f"file-{number}", "name": name}] if name else []},
        }
        recap = {"content_type": "reasoning_recap", "content": "Thought for 5 seconds"}
        for part, message in (
            ("u", user),
            ("t", {"author": {"role": "assistant"}, "content": recap}),
            ("a", {"author": {"role": "assistant"}, "content": {"parts": [said]}}),
        ):
            mapping[f"{part}{number}"] = {"message": message, "parent": parent, "children": ["x"]}
            parent = f"{part}{number}"

    (tmp_path / "t.json").write_text(json.dumps([{"mapping": mapping, "current_node": parent}]))
    assert overalls(tmp_path / "t.json") == OVERALLS
    turns = read_transcript(tmp_path / "t.json").transcript.turns
    assert turns[0].reply == "A fox."


# Many transcripts make a run

MADE = ["6_alpha.png", "6_beta.png"]


def told(path: Path, words: str, scores: list[tuple[float, ...]], sums: str = "") -> Path:
    """Write a transcript whose source turn says more."""
    made = transcript(path, MADE, bulleted(scores), sums)
    text = made.read_text().replace(
        "This is the source image.", f"This is the source image. {words}"
    )
    made.write_text(text)
    return made


def replay(*words: object) -> Any:
    return CliRunner().invoke(command_line, ["replay", *map(str, words)])


def test_many_transcripts_make_a_run(tmp_path: Path) -> None:
    """Scores, leaderboards and a report, with item, task and instruction as each transcript says them."""
    words = "\nItem: fox-7\nTask: Background Change\nInstruction: Make it snow\n"
    one = told(tmp_path / "one.md", words, [(8, 8, 8, 8), (5, 5, 5, 5)])
    two = told(tmp_path / "two.md", "", [(6, 6, 6, 6), (7, 7, 7, 7)])
    out = tmp_path / "run"
    done = replay(one, two, "--out", out)
    assert done.exit_code == 0, done.output
    assert "alpha" in done.stdout
    run = open_run(out)
    scores = run.scores()
    overall = scores[scores["factor"] == "overall"]
    found = {(row.item, row.task, row.method): row.score for row in overall.itertuples()}
    assert found == {
        ("fox-7", "Background Change", "alpha"): 8,
        ("fox-7", "Background Change", "beta"): 5,
        ("two", "all", "alpha"): 6,
        ("two", "all", "beta"): 7,
    }
    assert [record.instruction for record in run.records()] == ["Make it snow", ""]
    assert (out / "leaderboard.csv").is_file()
    assert "fox-7" in (out / "report.html").read_text(encoding="utf-8")
    assert "transcripts" in run.manifest.caution


def test_another_run_in_the_folder_is_refused_without_an_option_that_replay_lacks(
    tmp_path: Path,
) -> None:
    """`replay` takes --out and no --ledger."""
    one = told(tmp_path / "one.md", "", [(8, 8, 8, 8), (5, 5, 5, 5)])
    two = told(tmp_path / "two.md", "", [(6, 6, 6, 6), (7, 7, 7, 7)])
    assert replay(one, two, "--out", tmp_path / "run").exit_code == 0
    refused = str(replay(one, "--out", tmp_path / "run").exception)
    assert "another --out" in refused and "--ledger" not in refused


def test_the_exchanges_of_transcripts_are_on_record(tmp_path: Path) -> None:
    """`show` prints each conversation in its own words, though all begin alike, with the scores marked."""
    one = told(tmp_path / "one.md", "", [(8, 8, 8, 8), (5, 5, 5, 5)])
    two = told(tmp_path / "two.md", "", [(6, 6, 6, 6), (7, 7, 7, 7)])
    out = tmp_path / "run"
    assert replay(one, two, "--out", out).exit_code == 0
    shown = CliRunner().invoke(command_line, ["show", str(out), "two", "--json"])
    assert shown.exit_code == 0, shown.output
    assert "Image 1, acc = 6" in shown.stdout
    assert "acc = 8" not in shown.stdout
    again = replay(one, two, "--out", out)
    assert again.exit_code == 0, again.output


def test_several_transcripts_of_an_item_are_repeats(tmp_path: Path) -> None:
    """Two conversations about one item are not two items."""
    words = "\nItem: fox\n"
    one = told(tmp_path / "one.md", words, [(8, 8, 8, 8), (5, 5, 5, 5)])
    two = told(tmp_path / "two.md", words, [(6, 6, 6, 6), (7, 7, 7, 7)])
    assert replay(one, two, "--out", tmp_path / "run").exit_code == 0
    assert [record.repeat for record in open_run(tmp_path / "run").records()] == [1, 2]


def test_a_copied_transcript_is_pointed_out(tmp_path: Path) -> None:
    """One conversation under two names counts as two items, and every table says so."""
    one = told(tmp_path / "one.md", "", [(8, 8, 8, 8), (5, 5, 5, 5)])
    copy = tmp_path / "copy.md"
    copy.write_bytes(one.read_bytes())
    done = replay(one, copy, "--out", tmp_path / "run")
    assert "one.md and copy.md are byte-identical; each counts" in " ".join(done.output.split())
    assert "byte-identical" in open_run(tmp_path / "run").manifest.caution
    assert "--order" not in done.output


def test_repeats_that_nobody_held_are_not_missing(tmp_path: Path) -> None:
    """An item with two transcripts beside one with a single transcript leaves no score open."""
    fox = "\nItem: fox\n"
    one = told(tmp_path / "one.md", fox, [(8, 8, 8, 8), (5, 5, 5, 5)])
    two = told(tmp_path / "two.md", fox, [(6, 6, 6, 6), (7, 7, 7, 7)])
    other = told(tmp_path / "other.md", "\nItem: cat\n", [(6, 6, 6, 6), (7, 7, 7, 7)])
    done = replay(one, two, other, "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    run = open_run(tmp_path / "run")
    assert set(run.scores()["outcome"]) == {"scored"}
    assert (run.manifest.planned, run.manifest.judged) == (3, 3)


def test_pictures_are_found_beside_transcripts_of_several_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each transcript's pictures lie in its own folder, also where it is named from here."""
    monkeypatch.chdir(tmp_path)
    for folder in ("a", "b"):
        picture(Path(folder, "m", MADE[0]), (9, 9, 9))
        told(Path(folder, "t.md"), "", [(8, 8, 8, 8), (5, 5, 5, 5)])
    assert replay("a/t.md", "b/t.md", "--out", "run").exit_code == 0
    shown = CliRunner().invoke(command_line, ["show", "run", "b-t"])
    assert f"b/m/{MADE[0]}" in shown.stdout
    assert f"not shown/b/m/{MADE[0]}" not in shown.stdout


def test_a_reply_in_several_messages_is_one(tmp_path: Path) -> None:
    """What the judge says on, nobody having asked again, still counts."""
    path = transcript(tmp_path / "t.md", MADE, "SCORES")
    said = spoken_in(path.read_text())
    messages: list[dict[str, str]] = []
    for role, words in said:
        name = "user" if role == "user" else "assistant"
        messages.append({"role": name, "content": words.replace("SCORES", "Let me see.")})
    messages.append({"role": "assistant", "content": bulleted([(1, 2, 3, 4), (9, 8, 7, 6)])})
    (tmp_path / "t.json").write_text(json.dumps(messages))
    edits = read_transcript(tmp_path / "t.json").edits
    assert [edit.overall for edit in edits] == [2, 8]


def test_pictures_inside_a_file_have_no_method(tmp_path: Path) -> None:
    """An edit saved as data counts, and goes by its number."""
    path = transcript(
        tmp_path / "t.md",
        ["x", "y"],
        bulleted([(1, 2, 3, 4), (9, 8, 7, 6)]),
        image="![](data:image/png;base64,AAAA{})",
    )
    assert [edit.label for edit in read_transcript(path).edits] == ["image 1", "image 2"]


def test_an_unreadable_edit_of_a_transcript_stays_without_a_score(tmp_path: Path) -> None:
    """The run is written all the same, and the exit code says so."""
    one = told(tmp_path / "one.md", "", [(8, 8, 8, 8), (5, 5, 5, 5)])
    two = told(tmp_path / "two.md", "", [(6, 6, 6, 6)])
    done = replay(one, two, "--out", tmp_path / "run")
    assert done.exit_code == 3, done.output
    scores = open_run(tmp_path / "run").scores()
    lacking = scores[(scores["item"] == "two") & (scores["method"] == "beta")]
    assert lacking["score"].isna().all()
    assert (lacking["reason"] != "").all()


def test_slips_of_arithmetic_are_counted_over_all_transcripts(tmp_path: Path) -> None:
    """A stated overall that is not the sum is one slip; sub-scores repeated without sums are none."""
    sums = "Image 1: S_all = 8\nImage 2: S_all = 9"
    one = told(tmp_path / "one.md", "", [(8, 8, 8, 8), (5, 5, 5, 5)], sums)
    two = told(tmp_path / "two.md", "", [(6,) * 4, (7,) * 4], bulleted([(6,) * 4, (7,) * 4]))
    thanks = "\n\n## Prompt:\n\nThanks!\n\n## ChatGPT:\n\nI gave image 1 a 5 for accuracy."
    two.write_text(two.read_text() + thanks)
    assert replay(one, two, "--out", tmp_path / "run").exit_code == 0
    assert open_run(tmp_path / "run").manifest.slips == 1


def test_transcripts_of_different_kinds_make_no_run(tmp_path: Path) -> None:
    """What is scored must be the same; several files need a folder; none is given twice."""
    one = told(tmp_path / "one.md", "", [(8, 8, 8, 8), (5, 5, 5, 5)])
    other = told(tmp_path / "other.md", "", [(3, 3, 3, 3), (5, 5, 5, 5)])
    asks = "Score each image on a scale from 1 to 5:\n1. Beauty (S_beau)\n2. Harmony (S_har)"
    other.write_text(other.read_text().replace(SCORE, asks))
    refused = replay(one, other, "--out", tmp_path / "run")
    assert "--dialog" in str(refused.exception)
    assert replay(one, other).exit_code == 2
    assert "twice" in str(replay(one, one, "--out", tmp_path / "run").exception)
