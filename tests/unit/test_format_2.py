"""Dialogs of format 2, played by a scripted judge."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from lmmscore.conversation import Conversation, When
from lmmscore.dialog import Dialog, load_dialog
from lmmscore.errors import DialogError, FileProblem
from lmmscore.execution.executor import play
from lmmscore.images import Picture, Pictures, Recipe
from lmmscore.judges.judge import Recorded
from lmmscore.ledger import Ledger
from lmmscore.parsing import Reading
from lmmscore.parsing.winner import WinnerReading
from lmmscore.plan import load_protocol
from lmmscore.records import OVERALL, Item, Reply, Score
from lmmscore.scales import Factor
from lmmscore.scores import scores_of
from lmmscore.session import Played, Session, read_answer
from lmmscore.yaml_files import validate
from tests.conftest import ScriptedJudge, picture

VIESCORE = """
dialog: viescore-like
version: 1
title: Two calls, two scores each
format: 2
covers: edit
factors:
  - {key: success, scale: {min: 0, max: 10}}
  - {key: overedit, scale: {min: 0, max: 10}}
  - {key: natural, scale: {min: 0, max: 10}}
  - {key: artifacts, scale: {min: 0, max: 10}}
overall: {geometric: [{min: [success, overedit]}, {min: [natural, artifacts]}]}
turns:
  - name: sc
    read: scores
    factors: [success, overedit]
    form: {list: score}
    say: "Rate.\\nSource: {{show.source}}\\nEdited: {{show.edit}}\\nInstruction: {{instruction}}"
  - name: pq
    read: scores
    factors: [natural, artifacts]
    form: {list: score}
    fresh: true
    say: "Quality of this one: {{show.edit}}"
repair: {say: "{{problems}}"}
"""


def dialog_from(text: str, **changes: Any) -> Dialog:
    return Dialog.model_validate({**yaml.safe_load(text), **changes})


class Table:
    """One item with one edit, a judge that answers by the words it is asked with, and a ledger."""

    def __init__(self, tmp_path: Path) -> None:
        self.path = tmp_path
        self.judge: ScriptedJudge | None = None
        self._plays = 0

    def item(self, task: str = "colour", **fields: str) -> Item:
        images = {
            kind: picture(self.path / f"{kind}.png", (9, 9, shade))
            for shade, kind in enumerate(("source", "mask", "reference"))
        }
        edits = {
            method: picture(self.path / f"{method}.png", (200, shade, 0))
            for shade, method in enumerate(("alpha", "beta"))
        }
        return Item("i0", task, "Make it blue", images, edits, fields)

    def play(
        self,
        dialog: Dialog,
        answers: Mapping[str, str | list[str]],
        item: Item | None = None,
        methods: tuple[str, ...] = ("alpha",),
    ) -> Played:
        """Play about an item; an answer belongs to the questions that hold its key."""
        waiting = {
            key: [each] if isinstance(each, str) else [*each] for key, each in answers.items()
        }

        def answer(conversation: Conversation) -> str:
            assert conversation.message is not None
            for key, replies in waiting.items():
                if key in conversation.message.text:
                    return replies.pop(0) if len(replies) > 1 else replies[0]
            raise AssertionError(conversation.message.text)

        self.judge = ScriptedJudge(answer)
        session = Session(dialog, item or self.item(), 1, methods)
        self._plays += 1
        with Ledger(self.path / f"ledger-{self._plays}.sqlite") as ledger:
            return asyncio.run(play(session, Recorded(self.judge, ledger), Pictures(Recipe())))

    @property
    def asked(self) -> list[Conversation]:
        assert self.judge is not None
        return self.judge.asked


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)


def by_factor(played: Played) -> dict[str, Score]:
    return {row.factor: row for row in scores_of(played)}


def shape(conversation: Conversation) -> list[str]:
    """Return the last message as the judge meets it, pictures by the names of their files."""
    assert conversation.message is not None
    return [
        each.path.stem if isinstance(each, Picture) else each
        for each in conversation.message.content()
    ]


def test_the_overall_of_viescore_is_the_root_of_the_two_minima(table: Table) -> None:
    """O = √(min(SC) · min(PQ)), exactly where the root is a fraction."""
    dialog = dialog_from(VIESCORE)
    replies = {"Rate": '{"score": [4, 9], "reasoning": "x"}', "Quality": '{"score": [9, 10]}'}
    rows = by_factor(table.play(dialog, replies))
    assert rows[OVERALL].score == 6
    assert [rows[key].score for key in ("success", "overedit", "natural", "artifacts")] == [
        4,
        9,
        9,
        10,
    ]
    rows = by_factor(table.play(dialog, {"Rate": "score = [7, 3]", "Quality": '{"score": [5, 6]}'}))
    assert float(rows[OVERALL].score or 0) == math.sqrt(15)


def test_a_picture_stands_where_its_slot_stands(table: Table) -> None:
    """Words, source, words, edit, words; a fresh turn sends nothing of what was said before."""
    table.play(dialog_from(VIESCORE), {"Rate": '{"score": [1, 2]}', "Quality": '{"score": [3, 4]}'})
    first, second = table.asked
    assert shape(first) == [
        "Rate.\nSource: ",
        "source",
        "\nEdited: ",
        "alpha",
        "\nInstruction: Make it blue",
    ]
    assert shape(second) == ["Quality of this one: ", "alpha"]
    assert len(second.messages) == 1


def test_where_a_picture_stands_is_part_of_the_key(tmp_path: Path) -> None:
    """The same words and pictures in another order are another question; before the words is as ever."""
    shown = Pictures(Recipe()).get(picture(tmp_path / "a.png"))
    empty = Conversation()
    before = empty.say("Look: here", (shown,))
    assert empty.say("Look: here", (shown,), places=(0,)).digest == before.digest
    inside = empty.say("Look: here", (shown,), places=(6,))
    assert inside.digest != before.digest
    assert inside.digest != empty.say("Look: here", (shown,), places=(5,)).digest


def test_pictures_before_the_words_and_between_them(table: Table) -> None:
    """`show` still means before the words; any kind that the benchmark names can be shown."""
    turn = {
        "name": "t",
        "show": ["mask"],
        "say": "One {{show.source}} two {{show.edit}}",
        "read": "scores",
    }
    table.play(
        dialog_from(VIESCORE, turns=[turn], factors=[FACTOR], overall="mean"), {"One": "look: 3"}
    )
    assert shape(table.asked[0]) == ["mask", "One ", "source", " two ", "alpha"]


FACTOR = {"key": "look", "scale": {"min": 1, "max": 5}}

RISE = """
dialog: rise-like
version: 1
title: Reasoning counts most
format: 2
covers: edit
factors:
  - {key: consistency, aliases: [Final Score], scale: {min: 1, max: 5}}
  - {key: reasoning, aliases: [Final Score], scale: {min: 1, max: 5}}
  - {key: quality, aliases: [Final Score], scale: {min: 1, max: 5}}
overall:
  rule: {weighted: {consistency: .3, reasoning: .5, quality: .2}, absent: {quality: reasoning}}
  then: [{where: {reasoning: {at_most: 1}}, times: 0.5}]
turns:
  - {name: cons, read: scores, factors: [consistency], say: "Kept? {{show.source}}{{show.edit}}"}
  - {name: reas, read: scores, factors: [reasoning], fresh: true, say: "Right? {{show.edit}}"}
  - name: qual
    read: scores
    factors: [quality]
    fresh: true
    when: {task: [temporal, causal]}
    say: "Sharp? {{show.edit}}"
repair: {say: "{{problems}}", at_most: 0}
"""


@pytest.mark.parametrize(
    ("task", "scores", "expected"),
    [
        ("temporal", (4, 3, 5), "3.7"),
        ("causal", (5, 1, 5), "1.5"),
        ("logical", (4, 5, 0), "4.7"),
        ("logical", (5, 1, 0), "1.1"),
    ],
)
def test_rise_is_weighted_and_halved_where_reasoning_fails(
    table: Table, task: str, scores: tuple[int, int, int], expected: str
) -> None:
    """.3/.5/.2, without quality .3/.7; times one half where reasoning is 1."""
    said = [f"Because.\n\n**Final Score:** **{score}**" for score in scores]
    answers = dict(zip(("Kept", "Right", "Sharp"), said, strict=True))
    rows = by_factor(table.play(dialog_from(RISE), answers, table.item(task)))
    assert rows[OVERALL].score == Fraction(expected)
    assert len(table.asked) == (2 if task == "logical" else 3)
    if task == "logical":
        assert rows["quality"].outcome == "absent"
        assert rows["quality"].reason == "asked only where task is temporal or causal"


def test_without_a_word_on_absent_factors_the_other_weights_grow(table: Table) -> None:
    """.3 and .5 without the .2 are 3/8 and 5/8."""
    dialog = dialog_from(
        RISE, overall={"weighted": {"consistency": 0.3, "reasoning": 0.5, "quality": 0.2}}
    )
    answers = {"Kept": "Final Score: 5", "Right": "Final Score: 1"}
    rows = by_factor(table.play(dialog, answers, table.item("logical")))
    assert rows[OVERALL].score == Fraction(5 * 3 + 5, 8)


IMGEDIT = """
dialog: imgedit-like
version: 1
title: Three lines, words by task
format: 2
covers: edit
factors:
  - {key: compliance, name: Prompt Compliance, scale: {min: 1, max: 5}}
  - {key: natural, name: Visual Naturalness, scale: {min: 1, max: 5}}
  - {key: detail, name: Detail Integrity, scale: {min: 1, max: 5}}
overall: mean
turns:
  - name: judge
    read: scores
    say: "Any edit: {{instruction}}. {{show.source}}{{show.edit}}"
    say_for: {remove: "A removal: {{instruction}}. {{show.source}}{{show.edit}}"}
repair: {say: "{{problems}}"}
"""


def test_the_words_follow_the_task(table: Table) -> None:
    """`say_for` in place of `say` for its task; the mean of three is exact."""
    lines = (
        "Brief reasoning: fine.\nPrompt Compliance: 5\nVisual Naturalness: 4\nDetail Integrity: 4"
    )
    dialog = dialog_from(IMGEDIT)
    rows = by_factor(table.play(dialog, {"A removal": lines}, table.item("remove")))
    assert rows[OVERALL].score == Fraction(13, 3)
    table.play(dialog, {"Any edit": lines}, table.item("add"))
    assert len(table.asked) == 1


LIMBS = ("Left_Arm", "Right_Arm", "Left_Leg", "Right_Leg")
POSE: dict[str, Any] = {
    "dialog": "pose",
    "version": 1,
    "title": "Words as scores",
    "format": 2,
    "covers": "edit",
    "factors": [
        {"key": limb, "scale": {"words": {"MATCH": 1, "MISMATCH": 0, "N/A": None}}}
        for limb in LIMBS
    ],
    "overall": "mean",
    "turns": [{"name": "judge", "read": "scores", "say": "Pose? {{show.reference}}{{show.edit}}"}],
    "repair": {"say": "Missing: {{problems}}"},
}


def pose_reply(*words: str) -> str:
    said = dict(zip(LIMBS, words, strict=True))
    return "Left Arm: bent.\n```json\n" + json.dumps({"Pose_Consistency": said}, indent=1) + "\n```"


def test_words_count_what_the_scale_says_and_null_does_not_count(table: Table) -> None:
    """MATCH 1, MISMATCH 0, and N/A is left out of the mean: it is neither 0 nor a failure."""
    rows = by_factor(
        table.play(
            Dialog.model_validate(POSE), {"Pose": pose_reply("MATCH", "MISMATCH", "N/A", "MATCH")}
        )
    )
    assert [rows[limb].score for limb in LIMBS] == [1, 0, None, 1]
    assert rows["Left_Leg"].outcome == "absent"
    assert rows[OVERALL].score == Fraction(2, 3)


def test_where_nothing_applies_there_is_no_overall(table: Table) -> None:
    """Four times N/A is no score, and no failure either."""
    rows = by_factor(table.play(Dialog.model_validate(POSE), {"Pose": pose_reply(*["N/A"] * 4)}))
    assert rows[OVERALL].score is None
    assert rows[OVERALL].outcome == "absent"


def test_a_word_that_is_not_on_the_scale_is_asked_for_again(table: Table) -> None:
    """The repair turn names what is missing; the form quoted with its choices is no answer."""
    offered = pose_reply("MATCH", "MATCH | MISMATCH | N/A", "MATCH", "MATCH")
    played = table.play(
        Dialog.model_validate(POSE), {"Pose": offered, "Missing": "Right_Arm: MISMATCH"}
    )
    assert "Right_Arm" in (table.asked[1].message.text if table.asked[1].message else "")
    rows = by_factor(played)
    assert rows["Right_Arm"].score == 0
    assert rows[OVERALL].score == Fraction(3, 4)


def test_numbers_can_be_words_too(table: Table) -> None:
    """A published answer of 0 or 1 that counts 1 or 5."""
    factor = {"key": "logic", "aliases": ["Final Score"], "scale": {"words": {0: 1, 1: 5}}}
    dialog = Dialog.model_validate({**POSE, "factors": [factor]})
    assert (
        by_factor(table.play(dialog, {"Pose": "So.\n\n**Final Score**: **1**"}))["logic"].score == 5
    )
    assert by_factor(table.play(dialog, {"Pose": "Final Score: 0"}))["logic"].score == 1
    refused = by_factor(table.play(dialog, {"Pose": "Final Score: 5", "Missing": "Final Score: 5"}))
    assert refused["logic"].score is None


@pytest.mark.parametrize(
    ("overall", "scores", "expected"),
    [
        ({"product": ["a", {"mean": ["b", "c"]}]}, (1, 0, 1), Fraction(1, 2)),
        ({"max": ["a", "b"]}, (0, 1, 0), 1),
        ("product", (1, 1, 0), 0),
        ("min", (1, 1, 0), 0),
        ({"rule": "mean", "scaled_to": [0, 10]}, (1, 1, 0), Fraction(20, 3)),
        ({"mean": ["a", "b"], "scaled_to": [1, 5]}, (1, 0, 0), 3),
        ({"rule": "mean", "then": [{"where": {"a": 0}, "becomes": 0}]}, (0, 1, 1), 0),
        (
            {"rule": "mean", "then": [{"where": {"a": 0, "b": {"above": 0}}, "times": 2}]},
            (0, 1, 1),
            Fraction(4, 3),
        ),
        ({"mean": [{"weighted": {"a": 0.25, "b": 0.75}}, "c"]}, (0, 1, 1), Fraction(7, 8)),
    ],
)
def test_rules_may_hold_rules(
    table: Table, overall: Any, scores: tuple[int, ...], expected: Any
) -> None:
    """Billiards: preservation × (path + collision) / 2; gates, ranges and weights, all exact."""
    factors = [{"key": key, "scale": {"values": [0, 1]}} for key in "abc"]
    dialog = Dialog.model_validate({**POSE, "factors": factors, "overall": overall})
    said = json.dumps(dict(zip("abc", scores, strict=True)))
    assert by_factor(table.play(dialog, {"Pose": said}))[OVERALL].score == expected


def test_a_list_scaled_from_25_to_10(table: Table) -> None:
    """EditScore: lists on 0–25, rescaled to 10."""
    factors = [{"key": key, "scale": {"min": 0, "max": 25}} for key in ("a", "b")]
    turn = {**POSE["turns"][0], "form": {"list": "score"}}
    overall = {"rule": "min", "scaled_to": [0, 10]}
    dialog = Dialog.model_validate(
        {**POSE, "factors": factors, "overall": overall, "turns": [turn]}
    )
    assert by_factor(table.play(dialog, {"Pose": '{"score": [20, 25]}'}))[OVERALL].score == 8


@pytest.mark.parametrize(
    ("reply", "scores"),
    [
        ('{"reasoning": "It is 3 of 4", "score": [8, 9]}', (8, 9)),
        ('```json\n{\n"score" : ["8", "9.5"],\n"reasoning": "x"\n}\n```', (8, Fraction("9.5"))),
        ("**Score**: [8, 9]", (8, 9)),
        ("output score = [8/10, 9/10]", (8, 9)),
        (
            '"score": [score1, score2]\nFirst I thought {"score": [2, 3]}, but: {"score": [8, 9]}',
            (8, 9),
        ),
        ("[8, 9]", (8, 9)),
        ('{"score": [8]}', (8, None)),
        ('{"score": [8, 9, 7]}', (None, None)),
        ('{"score": [8, 11]}', (8, None)),
        ('{"score": [..., ...]}', (None, None)),
        ("success: 8, overedit: 9", (8, 9)),
    ],
)
def test_lists_as_judges_write_them(table: Table, reply: str, scores: tuple[Any, Any]) -> None:
    """One score for each factor, in order; a list of another length, or a number off the scale, is a fault."""
    dialog = dialog_from(VIESCORE, repair={"say": "x", "at_most": 0})
    rows = by_factor(table.play(dialog, {"Rate": reply, "Quality": '{"score": [5, 5]}'}))
    assert (rows["success"].score, rows["overedit"].score) == scores
    assert (rows[OVERALL].score is None) == (None in scores)


def test_an_example_is_put_into_the_conversation_and_not_asked(table: Table) -> None:
    """Question and answer as if they had been; the picture lies beside the dialog."""
    picture(table.path / "shots" / "1.png")
    data = yaml.safe_load(VIESCORE)
    shot = {"name": "shot", "show": ["shots/1.png"], "say": "How is this?", "heard": "Score: 3"}
    path = table.path / "with-shots.yaml"
    path.write_text(yaml.safe_dump({**data, "system": "Be fair.", "turns": [shot, *data["turns"]]}))
    table.play(
        load_dialog(str(path)), {"Rate": '{"score": [1, 2]}', "Quality": '{"score": [3, 4]}'}
    )
    first, second = table.asked
    said = [(message.role, message.text[:12]) for message in first.messages]
    assert said == [
        ("system", "Be fair."),
        ("user", "How is this?"),
        ("assistant", "Score: 3"),
        ("user", "Rate.\nSource"),
    ]
    assert [len(message.images) for message in first.messages] == [0, 1, 0, 2]
    assert [message.role for message in second.messages] == ["system", "user"]


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd.png", "shots/none.png", "link.png"])
def test_an_example_never_shows_a_file_from_elsewhere(tmp_path: Path, name: str) -> None:
    """Neither by .., nor by an absolute path, nor through a link; a missing one is named."""
    folder = tmp_path / "dialogs"
    folder.mkdir()
    picture(tmp_path / "secret.png")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    data = yaml.safe_load(VIESCORE)
    data["turns"].insert(0, {"name": "shot", "show": [name], "say": "x", "heard": "y"})
    (folder / "d.yaml").write_text(yaml.safe_dump(data))
    with pytest.raises(DialogError, match=r"outside the dialog's folder|no file"):
        load_dialog(str(folder / "d.yaml"))


def turn(**changes: Any) -> list[dict[str, Any]]:
    """Return the turns of POSE with changes to the only one."""
    return [{**POSE["turns"][0], **changes}]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"format": 1}, "needs `format: 2`"),
        ({"format": 3}, "format"),
        ({"overall": {"mean": ["Left_Arm"], "min": ["Left_Arm"]}}, "exactly one of"),
        ({"overall": {"mean": ["left_arm"]}}, "unknown name left_arm; did you mean Left_Arm"),
        ({"overall": {"weighted": {"Left_Arm": 0.3, "Right_Arm": 0.3}}}, "add up to 0.6"),
        (
            {"overall": {"mean": ["Left_Arm"], "then": [{"where": {"Left_Arm": 1}}]}},
            "either times or becomes",
        ),
        ({"overall": {"meen": ["Left_Arm"]}}, "meen: unknown key; did you mean mean"),
        ({"overall": "bradley-terry"}, "covers: pair"),
        ({"turns": turn(read="winner")}, "read by no turn|covers: pair"),
        ({"turns": turn(say="{{show.edits}}")}, "did you mean edit"),
        ({"turns": turn(say="{{show.source}}")}, "no turn shows an edit"),
        ({"turns": turn(say="{{show.first}}{{show.edit}}")}, "covers: pair"),
        ({"turns": turn(when={})}, "give task, field"),
        ({"turns": turn(form={"key": "winner"})}, "read: winner"),
        ({"turns": [*turn(), {**turn()[0], "name": "again"}]}, "read by more than one turn"),
        ({"factors": [{"key": "a", "scale": {"words": {"N/A": None}}}]}, "at least one word"),
        ({"factors": []}, "factors: missing"),
        ({"turns": [{"name": "s", "say": "x", "heard": "y"}]}, "nothing is asked|read by no turn"),
        ({"system": "{{show.edit}}"}, "system: unknown name"),
    ],
)
def test_what_does_not_fit_together_is_refused_with_its_place(
    changes: Mapping[str, Any], says: str
) -> None:
    """Strict as ever: unknown names, rules and pictures, and what needs format 2."""
    with pytest.raises(FileProblem, match=says):
        validate(Dialog, {**POSE, **changes}, "pose.yaml")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("covers: edit", "covers: edits", "line 4: covers: must be 'item', 'edit' or 'pair'"),
        ("version: 1", "version: one", "line 2: version: expected a whole number"),
        ("    say: Fit?", "    sey: Fit?", "line 9: turns.1.say: missing"),
        ("    say: Fit?", "    say: Fit? {{nope}}", "line 9: turn 1 (judge): unknown name"),
        ("    show: [edit]", "    show: edit", "line 10: turns.1.show: expected a list"),
        ("{key: fit,", "{key: fit, hue: 2,", "line 6: factors.1.hue: unknown key"),
        ("format: 2", "format: 2\noverall: {mean: [fat]}", "line 8: overall: unknown name fat"),
        ("    show: [edit]", "    form: {words: {A: first, B: nope}}\n    show: [edit]",
         "line 10: turns.1.form.words.B: must be 'first', 'second'"),
        ("repair:", "repare:", "line 13: repare: unknown key; did you mean repair"),
    ],
)  # fmt: skip
def test_every_complaint_names_its_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    """What is wrong with a dialog's file is said in plain words, with file and line."""
    text = (
        "dialog: lines\nversion: 1\ntitle: Lines\ncovers: edit\nfactors:\n"
        "  - {key: fit, scale: {min: 1, max: 5}}\nformat: 2\nturns:\n  - name: judge\n"
        "    show: [edit]\n    read: scores\n    say: Fit?\nrepair: {say: again}\n"
    )
    path = tmp_path / "lines.yaml"
    path.write_text(text)
    load_dialog(str(path))
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(DialogError) as caught:
        load_dialog(str(path))
    message = str(caught.value)
    assert message.startswith(f"{path}, line ") and says in message
    assert "Input" not in message and "tuple" not in message


def test_a_suite_that_does_not_fit_names_its_file(tmp_path: Path) -> None:
    """A member that is not there, or a rule that does not know it."""
    path = tmp_path / "s.yaml"
    head = "suite: s\nversion: 1\ntitle: S\nformat: 2\nmembers:\n- lmm-score\n"
    path.write_text(head + "- nowhere\noverall: mean\n")
    with pytest.raises(DialogError, match=r"s\.yaml, line 7: members: no dialog 'nowhere'"):
        load_protocol(str(path), {})
    path.write_text(head + "overall: {mean: [nobody]}\n")
    with pytest.raises(DialogError, match=r"s\.yaml: suite s: overall: unknown name nobody"):
        load_protocol(str(path), {})


def test_a_scale_of_words_can_be_looked_up_by() -> None:
    """What is known of factors is kept by factor, so a scale of words must have a hash too."""
    factors = [Factor.model_validate(factor) for factor in POSE["factors"]]
    assert len(set(factors)) == len(factors)
    assert hash(factors[0]) == hash(Factor.model_validate(POSE["factors"][0]))


@pytest.mark.parametrize(
    ("turns", "says"),
    [
        ([*turn(), {"name": "s", "say": "x", "heard": "y"}], "turn s: an example that no question"),
        (
            [{"name": "s", "say": "x", "heard": "y"}, *turn(fresh=True)],
            "turn s: an example that no question",
        ),
        (
            turn(fresh=True, say_for={"add": "Blind?"}),
            "scores an edit that a new conversation never shows for the task add",
        ),
        ([{"name": "s", "say": "x", "heard": "y"}, *turn()], ""),
    ],
)
def test_what_plays_but_cannot_be_meant_is_remarked(turns: list[Any], says: str) -> None:
    """An example nobody sees, or scores for an edit that is not shown: said, not refused."""
    dialog = Dialog.model_validate({**POSE, "turns": turns})
    assert says in "\n".join(dialog.remarks())
    assert bool(says) == bool([*dialog.remarks()])


def test_a_factor_may_be_read_by_different_turns_for_different_tasks(table: Table) -> None:
    """By task or by what the item has; of one item by one turn."""
    first = {**turn(when={"task": "colour"})[0]}
    second = {**turn(when={"task": ["add", "remove"]}, name="other", say="Other? {{show.edit}}")[0]}
    dialog = Dialog.model_validate({**POSE, "turns": [first, second]})
    reply = pose_reply(*["MATCH"] * 4)
    assert by_factor(table.play(dialog, {"Other": reply}, table.item("add")))[OVERALL].score == 1
    assert by_factor(table.play(dialog, {"Pose": reply}, table.item("colour")))[OVERALL].score == 1


def test_a_turn_for_items_that_have_something(table: Table) -> None:
    """`when: {field: …}`: asked of items with something in that column, and of no others."""
    turns = yaml.safe_load(RISE)["turns"]
    turns[2] |= {"when": {"field": "knowledge"}, "say": "Sharp? {{field.knowledge}} {{show.edit}}"}
    dialog = dialog_from(RISE, turns=turns)
    answers = {
        "Kept": "Final Score: 5",
        "Right": "Final Score: 5",
        "Sharp? Ice melts": "Final Score: 2",
    }
    assert (
        by_factor(table.play(dialog, answers, table.item(knowledge="Ice melts")))["quality"].score
        == 2
    )
    assert (
        by_factor(table.play(dialog, answers, table.item(knowledge=" ")))["quality"].outcome
        == "absent"
    )


def test_a_reply_is_read_by_itself_as_its_turn_asks() -> None:
    """The only turn that reads, or the one named: lists, words and winners alike."""
    dialog = dialog_from(VIESCORE)
    with pytest.raises(DialogError, match="name one of sc, pq"):
        read_answer(dialog, Reply("[3, 4]"), 1)
    reading = read_answer(dialog, Reply("[3, 4]"), 1, "pq")
    assert isinstance(reading, Reading)
    assert reading.scores == {(1, "natural"): 3, (1, "artifacts"): 4}
    pair = [{"name": "j", "read": "winner", "say": "{{show.first}}{{show.second}}"}]
    versus = Dialog.model_validate(
        {**POSE, "covers": "pair", "factors": [], "overall": "none", "turns": pair}
    )
    found = read_answer(versus, Reply("I prefer the second. [[A=B=Bad]]"), 2)
    assert isinstance(found, WinnerReading)
    assert found.as_dict() == {"winner": "tie", "both": "bad"}


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ({"field": "a"}, {"without_field": ["b", "a"]}, True),
        ({"image": ["x", "y"]}, {"without_image": "y"}, True),
        ({"task": ["t"]}, {"task": ["u"]}, True),
        ({"field": "a"}, {"without_field": "b"}, False),
    ],
)
def test_turns_exclude_each_other_by_what_items_lack(
    one: dict[str, Any], other: dict[str, Any], apart: bool
) -> None:
    """A turn for items with a column and one for items without it are never both asked."""
    first, second = When.model_validate(one), When.model_validate(other)
    assert first.excludes(second) == second.excludes(first) == apart
    item = Item("i", "t", "Do", {"x": Path("x.png")}, {}, {"a": "1", "b": " "})
    assert When.model_validate({"field": "a", "without_field": "b", "image": "x"}).holds(item)
    assert not When.model_validate({"without_image": "x"}).holds(item)
