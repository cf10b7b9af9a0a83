"""Published prompts become dialogs: factors, scales, slots and images are found, the rest is asked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from lmmscore.cli import lmmscore as command_line
from lmmscore.dialog import Dialog
from lmmscore.errors import DialogError, FileProblem
from lmmscore.importers.document import Draft, import_document, read_words
from lmmscore.yaml_files import parse_yaml, validate, yaml_blocks
from tests.published_clones import prompts_of


def draft_of(tmp_path: Path, text: str, **answers: str) -> Draft:
    path = tmp_path / "prompt.txt"
    path.write_text(text, encoding="utf-8")
    return import_document(path, "p", answers)


def dialog_of(draft: Draft) -> Dialog:
    return validate(Dialog, parse_yaml(draft.as_yaml(), "p.yaml"), "p.yaml")


def factors(draft: Draft) -> dict[str, Any]:
    return {factor["key"]: factor["scale"] for factor in draft.data["factors"]}


FIVE = {"min": 1, "max": 5}
TEN = {"min": 0, "max": 10}
BINARY = {"values": [0, 1]}
HALVES = {"values": [0, 0.5, 1]}
LIMB = {"words": {"MATCH": 1, "MISMATCH": 0, "N/A": None}}

PUBLISHED: dict[str, list[Any]] = {
    "imgedit": [FIVE] * 3,
    "imgedit-uge": [FIVE],
    "kris": [FIVE],
    "kris-dual_evaluation": [FIVE] * 2,
    "rise": [FIVE],
    "rise-generation": [{**FIVE, "integers": True}],
    "rise-logical_cons": [BINARY],
    "rise-logical_cons_ans": [BINARY],
    "rise-logical_img": [BINARY],
    "rise-logical_img_wo_q": [BINARY],
    "rise-logical_txt": [BINARY],
    "viescore": [TEN] * 2,
    "vibe-billiards-billiards": [BINARY] * 3,
    "vibe-contextual_preservation": [BINARY],
    "vibe-draft_instantiation-contextual_preservation": [BINARY],
    "vibe-draft_instantiation-instruction_adherence": [BINARY, HALVES, BINARY],
    "vibe-draft_instantiation-visual_coherence": [BINARY] * 3,
    "vibe-flow_simulation-wind_contextual_preservation": [BINARY] * 2,
    "vibe-flow_simulation-wind_direction_consistency": [HALVES],
    "vibe-instruction_adherence": [BINARY] * 3,
    "vibe-light_control-contextual_preservation": [BINARY],
    "vibe-light_control-light_direction_consistency": [HALVES, BINARY],
    "vibe-pose_control-bii_cic_cp": [BINARY] * 3,
    "vibe-pose_control-pose_consistency": [LIMB] * 4,
    "vibe-reorientation-orientation_alignment": [BINARY] * 3,
    "vibe-reorientation-reorientation_contextual_preservation": [BINARY] * 2,
    "vibe-visual_coherence": [BINARY] * 3,
}
"""By prompt, or by family for all others of it: the scales of its factors, in order, by hand."""

PLACEHOLDERS = re.compile(r"(?<![{\\_^])\{(?:instruct|reference|explanation|prompt)\}(?!\})|<\w+>")


def test_all_published_prompts_are_understood(shared: Path, tmp_path: Path) -> None:
    """All 51 find their factors and scales, and none leaves a placeholder in the words."""
    seen = 0
    for family in ("imgedit", "kris", "rise", "viescore", "vibe"):
        for name, text in prompts_of(shared, family).items():
            draft = draft_of(tmp_path, text)
            expected = PUBLISHED.get(f"{family}-{name}", PUBLISHED.get(family))
            assert list(factors(draft).values()) == expected, f"{family}-{name}"
            said = draft.data["turns"][0]["say"]
            assert not PLACEHOLDERS.search(said), f"{family}-{name}"
            # Only the order of several inputs and how factors combine is nowhere in the words.
            assert set(draft.questions) <= {"overall", "show", "instruction"}, f"{family}-{name}"
            seen += 1
    assert seen == 51


def test_a_published_prompt_plays_once_its_questions_are_answered(
    shared: Path, tmp_path: Path
) -> None:
    """Every question the 51 prompts leave can be answered by --set, and gives a valid dialog."""
    answers = {"overall": "mean", "show": "source,edit", "instruction": "none"}
    for family in ("imgedit", "kris", "rise", "viescore", "vibe"):
        for text in prompts_of(shared, family).values():
            asked = draft_of(tmp_path, text).questions
            given_ = {name: answer for name, answer in answers.items() if name in asked}
            answered = draft_of(tmp_path, text, **given_)
            assert not answered.questions
            dialog_of(answered)


# Factors and scales


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ('{"fidelity_score": X, "reasoning": "why"}', {"fidelity_score": FIVE}),
        ('{"Score": <your score>, "Explanation": "…"}', {"Score": FIVE}),
        ('{"IF": X, "rationale": "short"}', {"IF": FIVE}),
        ('{"scores": {"shape": 3, "hue": 4}, "why": "…"}', {"shape": FIVE, "hue": FIVE}),
        ('{"shape": {"why": "…", "score": 2}}', {"shape": FIVE}),
        ("Shape Fidelity: A number from 1 to 5\nHue: A number from 1 to 5",
         {"shape_fidelity": FIVE, "hue": FIVE}),
        ("**Final Score:** **X**", {"final_score": FIVE}),
        ("Final Score: [1-5]", {"final_score": FIVE}),
        ("Analysis: [Your analysis]\nScore: [Your Score]", {"score": FIVE}),
        ("Put them in a list: output score = [shape, hue]", {"shape": FIVE, "hue": FIVE}),
        ("score = [score1, score2], where 'score1' evaluates the shape and 'score2' evaluates the "
         "degree of blur.", {"shape": FIVE, "blur": FIVE}),
        ("Give two scores:\n1. Shape: is it right?\n2. Hue: is it right?",
         {"shape": FIVE, "hue": FIVE}),
        ("Give two numbers:\n- Shape (0-100): is it right?\n- Hue (0-10, lower is better)",
         {"shape": {"min": 0, "max": 100}, "hue": TEN}),
        ("Then give the final score.", {"score": FIVE}),
        ("Reply with Score: X", {"score": FIVE}),
        ('{"checks": [{"question": "…", "score": 1}], "score_reason": "", "final_score": 3.5}',
         {"final_score": FIVE}),
        ('{"shape": X, "overall": X}', {"shape": FIVE, "overall_score": FIVE}),
        ('**Shape fit (Score 1)**: x\n**Hue (Score 2)**: y\n{"scores": [score1, score2]}',
         {"shape_fit": FIVE, "hue": FIVE}),
        ("**Shape:** 0, 1, or 2\n**Hue:** 0, 1 or 2",
         {"shape": {"values": [0, 1, 2]}, "hue": {"values": [0, 1, 2]}}),
    ],
)  # fmt: skip
def test_factors_are_found_in_every_form(tmp_path: Path, form: str, expected: Any) -> None:
    """Flat keys, nested keys, lines, lists, criteria, or one final score."""
    text = f"Compare the original image with the edited image.\nScale: score from 1 to 5.\n{form}\n"
    assert factors(draft_of(tmp_path, text)) == expected


@pytest.mark.parametrize(
    ("said", "scale"),
    [
        ("Rate it on a 5-point scale.", FIVE),
        ("Evaluation Scale (1 to 5):", FIVE),
        ("Use a 0–5 scale.", {"min": 0, "max": 5}),
        ("Score it from 0 to 100. 90-100: superb. 50-89: fair.", {"min": 0, "max": 100}),
        ("Give integer scores in [0, 10].", {**TEN, "integers": True}),
        ("An integer between 1 and 7, in 20-40 words.", {"min": 1, "max": 7, "integers": True}),
        ("Give 1 when it fits and 0 otherwise.", BINARY),
        ("The score is binary.", BINARY),
        ("Score 0, 0.5, or 1.", HALVES),
        ("Score = 1.0: yes\nScore = 0.5: half\nScore = 0.0: no", HALVES),
        ("- **4**: superb\n- **3**: good\n- **2**: fair\n- **1**: poor\n- **0**: bad",
         {"min": 0, "max": 4}),
        ("Excellent (3): …\nGood (2): …\nFair (1): …\nPoor (0): …", {"min": 0, "max": 3}),
        ("Rate it well.", "?"),
        ("Score from 1 to 5, or from 0 to 10 if you like.", "?"),
    ],
)  # fmt: skip
def test_a_scale_is_read_as_stated_or_asked_for(tmp_path: Path, said: str, scale: Any) -> None:
    """What the words state is taken; what they leave open, or state twice differently, is asked."""
    text = f'Look at the edited image.\n{said}\nAnswer: {{"fit_score": X}}\n'
    draft = draft_of(tmp_path, text)
    assert factors(draft) == {"fit_score": scale}
    assert ("scale.fit_score" in draft.questions) == (scale == "?")


@pytest.mark.parametrize(
    ("form", "asked"),
    [
        ('{"fit": <1-10, higher is better>, "excess": <0-100, lower is better>}', {"excess"}),
        ('{"fit": <1-10>, "excess": <0-100>}\nLower scores are better for excess.', {"excess"}),
        ('{"fit": <1-10>, "excess": <0-100>}\nfit: 10 is perfect. excess: 0 = perfect', {"excess"}),
        ('{"fit": <1-10>, "excess": <1-5>}\nfit: 1 (worst) to 10 (best)', set()),
        ("Excess: [0-10]\nThe higher it is, the worse.", {"excess"}),
    ],
)
def test_a_factor_of_which_lower_is_better_is_never_taken_for_another(
    tmp_path: Path, form: str, asked: set[str]
) -> None:
    """Its dialog says so where the words name it, and is asked about where they may not mean it."""
    text = f"Compare the original image with the edited image: {{instruct}}\n{form}\n"
    draft = draft_of(tmp_path, text, overall="mean")
    assert not draft.questions
    low = {factor["key"] for factor in draft.data["factors"] if factor.get("better") == "low"}
    assert low == asked and draft.data["format"] == 2
    after_all = {f"better.{key}": "high" for key in asked}
    turned_back = draft_of(tmp_path, text, overall="mean", **after_all)
    assert all("better" not in factor for factor in turned_back.data["factors"])
    assert not draft_of(tmp_path, text, overall="mean", factors="fit", scale="1-10").questions


@pytest.mark.parametrize(
    "form",
    [
        'Lower scores are better.\n\n{"fit": <1-10>, "excess": <0-100>}',
        '{"excess": <0-100, higher is better>}\nFor excess, lower is better.',
    ],
)
def test_which_end_is_good_is_asked_where_the_words_leave_it_open(
    tmp_path: Path, form: str
) -> None:
    """Words that name no factor, or say both of one, are no ground to turn its scores round."""
    text = f"Compare the original image with the edited image: {{instruct}}\n{form}\n"
    questions = draft_of(tmp_path, text, overall="mean").questions
    assert "better.excess" in questions
    answers = dict.fromkeys(questions, "low")
    answered = draft_of(tmp_path, text, overall="mean", **answers)
    assert not answered.questions
    assert answered.data["factors"][-1]["better"] == "low"


# Slots


@pytest.mark.parametrize(
    "placeholder",
    ["{instruct}", "{instruction}", "{prompt}", "{edit_prompt}", "<edit_prompt>", "<instruction>",
     "[text instruction]", "[INSTRUCTION]", "{{instruction}}", "{{ prompt }}", "${instruction}",
     "%(instruction)s", "__INSTRUCTION__", "{0}", "{}", "%s", "<<prompt>>", "{item.instruction}"],
)  # fmt: skip
def test_every_form_of_placeholder_becomes_the_instruction(
    tmp_path: Path, placeholder: str
) -> None:
    """However the publisher's code filled it in, the slot stands in its place."""
    text = (
        "Two images: the original image and the edited image.\n"
        f"Editing instruction: {placeholder}\nScore from 1 to 5.\nFinal Score: X"
    )
    draft = draft_of(tmp_path, text)
    said = draft.data["turns"][0]["say"]
    assert "Editing instruction: {{instruction}}\n" in said
    assert not draft.questions
    dialog_of(draft)


def test_other_placeholders_become_columns_and_images(tmp_path: Path) -> None:
    """What is neither instruction nor image is a column of the items file, and the head says so."""
    text = (
        "Reference: {reference_answer}. Hint: <KNOWLEDGE_HINT>\nBefore: [source image] after: "
        '{edited_image}. Do: {instruct}\n{{"fit_score": X, "reason": "{{why}}"}} from 1 to 5'
    )
    draft = draft_of(tmp_path, text)
    said = draft.data["turns"][0]["say"]
    assert "Reference: {{field.reference_answer}}. Hint: {{field.knowledge_hint}}" in said
    assert "Before: {{show.source}} after: {{show.edit}}. Do: {{instruction}}" in said
    assert '{"fit_score": X, "reason": "{why}"}' in said, "doubled braces are Python's"
    assert "reference_answer, knowledge_hint" in draft.as_yaml().split("\n")[1]
    dialog_of(draft)

    both = draft_of(tmp_path, "From {src} to {edited}: {instruct}. Score from 1 to 5.")
    assert "From {{show.source}} to {{show.edit}}:" in both.data["turns"][0]["say"]
    text = draft_of(tmp_path, "Its caption: {original}. Edited image: {edited}. Score from 1 to 5.")
    assert "{{field.original}}" in text.data["turns"][0]["say"]


def test_what_the_judge_is_to_write_is_no_placeholder(tmp_path: Path) -> None:
    """<think> tags, forms of the answer, lists, LaTeX and links stay as they are."""
    kept = (
        "<think>reason here</think> [list of differences] [1] [text](link) $S_{acc}$ \\text{all} "
        '{"fit_score": <integer_1_to_5>, "reason": "<brief_justification>"} array[index]'
    )
    text = f"Rate the edited image: {{instruct}}. Scores from 1 to 5.\n{kept}"
    assert kept in draft_of(tmp_path, text).data["turns"][0]["say"]


@pytest.mark.parametrize("placeholder", ["<garment>", "$garment", "{garment}", "<|garment|>"])
def test_no_placeholder_is_left_without_a_question(tmp_path: Path, placeholder: str) -> None:
    """A name that says nothing becomes a column or is asked for; an answer settles it."""
    text = f"Garment: {placeholder}\nRate the edited image of {{instruct}} from 1 to 5.\nScore: X"
    draft = draft_of(tmp_path, text)
    said = draft.data["turns"][0]["say"]
    assert "{{field.garment}}" in said or "slot.garment" in draft.questions
    answered = draft_of(tmp_path, text, **{"slot.garment": "garment"})
    assert "Garment: {{field.garment}}\n" in answered.data["turns"][0]["say"]
    assert not answered.questions


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("Before: <image>\nAfter the edit: <image>\nOriginal image first.", ["source", "edit"]),
        ("Source Image: {image}\nGenerated Image: {image}", ["source", "edit"]),
        ("Here it is: <image>\nRate this edited image.", ["edit"]),
        ("{image_1} {image_2}\nImage 1: the original\nImage 2: the output", ["source", "edit"]),
    ],
)
def test_a_nameless_image_stands_where_its_label_or_order_says(
    tmp_path: Path, words: str, shown: list[str]
) -> None:
    """<image> is filled by what is announced before it, else by the images in their order."""
    draft = draft_of(tmp_path, f"{words}\nDo: {{instruct}}. Score from 1 to 5.\nScore: X")
    said = draft.data["turns"][0]["say"]
    assert re.findall(r"\{\{show\.(\w+)\}\}", said) == shown and not draft.questions


def test_nameless_images_that_nothing_describes_are_asked_for_in_order(tmp_path: Path) -> None:
    """Two <image> and no word on what they are: --set show=… says it; a pair of tags is none."""
    text = "<image><image>\nRate the change, {instruct}, from 1 to 5.\nScore: X"
    assert "show" in draft_of(tmp_path, text).questions
    answered = draft_of(tmp_path, text, show="reference,edit")
    said = answered.data["turns"][0]["say"]
    assert said.startswith("{{show.reference}}{{show.edit}}\n") and not answered.questions
    tagged = (
        "<image>{source_image}</image> <image>{edited_image}</image>\nDo {instruct}. Score: 1-5"
    )
    kept = draft_of(tmp_path, tagged).data["turns"][0]["say"]
    assert kept.startswith("<image>{{show.source}}</image> <image>{{show.edit}}</image>\n")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("- input_image: the original unedited image\n- pred_image: what the model made\n"
         "- output_image: a perfect reference", ["source", "edit", "reference"]),
        ("A pair of images before and after editing. The second image must change little.",
         ["source", "edit"]),
        ("- Image A: stages between a reference start and a reference end.", ["edit"]),
        ("Image A: a reference. Image B follows.\nImage B: generated from the reference image",
         ["reference", "edit"]),
        ("You see a source image, a mask image and an edited image.", ["source", "mask", "edit"]),
        ("All the input images are AI-generated. Two images are given: the original AI-generated "
         "image, and an edited version of it.", ["source", "edit"]),
        ("Rate the change from the first given image to the second given image.", None),
    ],
)  # fmt: skip
def test_the_images_shown_are_those_the_words_list(
    tmp_path: Path, words: str, shown: list[str] | None
) -> None:
    """Lists and numbered images are read in order; two images that nothing describes are asked."""
    draft = draft_of(tmp_path, f"{words}\nDo: {{instruct}}. Score from 1 to 5.\nScore: X")
    assert ("show" in draft.questions) == (shown is None)
    if shown is not None:
        assert draft.data["turns"][0]["show"] == shown


def test_an_unnamed_placeholder_is_asked_for_once_and_answered_by_name(tmp_path: Path) -> None:
    """{0} whose meaning no words give is a question; --set slot.0 answers it."""
    text = (
        "Known facts: {0}\nAgain: {0}\nRate the edited image of {instruct} from 1 to 5.\nScore: X"
    )
    draft = draft_of(tmp_path, text)
    assert set(draft.questions) == {"slot.0"}
    answered = draft_of(tmp_path, text, **{"slot.0": "facts"})
    said = answered.data["turns"][0]["say"]
    assert not answered.questions and said.count("{{field.facts}}") == 2


@pytest.mark.parametrize(
    ("answer", "found"),
    [("none", ""), ("end", "\n\n{{instruction}}"), ("THE EDIT TEXT", "about {{instruction}}.")],
)
def test_where_the_instruction_goes_can_be_answered(
    tmp_path: Path, answer: str, found: str
) -> None:
    """`none`, `end`, or the words that stand in its place."""
    text = "Compare the original image and the edited image; it is about THE EDIT TEXT.\nScore: 1-5"
    assert "instruction" in draft_of(tmp_path, text).questions
    draft = draft_of(tmp_path, text, instruction=answer)
    assert "instruction" not in draft.questions
    said = draft.data["turns"][0]["say"]
    assert found in said and ("{{instruction}}" in said) == bool(found)


def test_factors_can_be_answered(tmp_path: Path) -> None:
    """A prompt that names no factor asks for them by name; scales follow the same way."""
    text = "Rate the edited image of {instruct} as you like, with remarks."
    assert "factors" in draft_of(tmp_path, text).questions
    draft = draft_of(tmp_path, text, factors="Colour fit, shape", overall="mean", scale="1-10")
    assert factors(draft) == {"colour_fit": {"min": 1, "max": 10}, "shape": {"min": 1, "max": 10}}
    assert not draft.questions
    words = draft_of(tmp_path, text, factors="shape", scale="good=1,bad=0,unclear=none")
    assert factors(words) == {"shape": {"words": {"good": 1, "bad": 0, "unclear": None}}}
    dialog_of(words)
    assert (
        "0 / 100 and nothing between"
        in draft_of(tmp_path, text, factors="a", scale="0,100").notes[0]
    )
    with pytest.raises(FileProblem, match="--set show="):
        dialog_of(draft_of(tmp_path, "Judge {instruct}. Score from 1 to 5."))
    with pytest.raises(DialogError, match="--set factors="):
        draft_of(tmp_path, "Describe the edited image of {instruct}.")


# Pairs


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("Answer [[A>B]], [[B>A]], [[A=B=Good]] or [[A=B=Bad]].",
         {"words": {"[[A>B]]": "first", "[[B>A]]": "second", "[[A=B=Good]]": "both-good",
                    "[[A=B=Bad]]": "both-bad"}}),
        ('{"reasoning": "…", "winner": "Image A" | "Image B" | "Tie"}',
         {"key": "winner", "words": {"Image A": "first", "Image B": "second", "Tie": "tie"}}),
        ("""{"winner": "Choose one of: 'Image A', 'Image B', or 'Tie'"}""",
         {"key": "winner", "words": {"Image A": "first", "Image B": "second", "Tie": "tie"}}),
        ('{"better_response": "A" or "B", "strength": <int 1-7>}',
         {"key": "better_response", "words": {"A": "first", "B": "second"}}),
        ('Output only "left", "right" or "tie".',
         {"words": {"left": "first", "right": "second", "tie": "tie"}}),
        ("Contain only one of:\n- Image 1 is better\n- Image 2 is better",
         {"words": {"Image 1 is better": "first", "Image 2 is better": "second"}}),
        ('**Prompt:** as above\n**Output:**\n{"reason": "…", "winner": "Image 1/2"}',
         {"key": "winner", "words": {"Image 1": "first", "Image 2": "second"}}),
        ("Determine which edited image is better.", None),
    ],
)  # fmt: skip
def test_a_prompt_about_two_edits_reads_a_winner(tmp_path: Path, form: str, expected: Any) -> None:
    """Comparisons become dialogs of pairs."""
    text = f"Which edit of the source image follows {{instruct}} better, A or B?\n{form}"
    draft = draft_of(tmp_path, text)
    assert draft.data["covers"] == "pair" and draft.data["turns"][0].get("form") == expected
    assert not draft.questions
    assert {"first", "second"} <= set(dialog_of(draft).images_shown({}))


# Chats


def test_the_two_edits_of_a_pair_stand_where_their_placeholders_stand(tmp_path: Path) -> None:
    """Left and right, A and B, first and second; the instruction by any of its names."""
    text = (
        "Which edit is better?\nDo: <instruct_prompt>\nSource: <source_image>\n"
        "A: <left_output_image>\nB: <right_output_image>\n[[A>B]] or [[B>A]]"
    )
    draft = draft_of(tmp_path, text)
    said = draft.data["turns"][0]["say"]
    assert said.startswith(
        "Which edit is better?\nDo: {{instruction}}\nSource: {{show.source}}\n"
        "A: {{show.first}}\nB: {{show.second}}\n"
    )
    assert not draft.questions and "show" not in draft.data["turns"][0]


def test_questions_about_a_chat_are_answered_by_name_too(tmp_path: Path) -> None:
    """Which turn holds the scores, which factors there are, and that no instruction is said."""
    turns = ["![](1_src.png)\nThis is the source.", "![](1_a.png)\nThe first edit.", "And now?"]
    text = "".join(f"## Prompt:\n{turn}\n\n## ChatGPT:\nFine.\n\n" for turn in turns)
    path = tmp_path / "chat.md"
    path.write_text(text, encoding="utf-8")
    asked = import_document(path, "c").questions
    assert {"read", "factors", "instruction", "overall"} <= set(asked)
    answers = {"read": "3", "factors": "shape, hue", "instruction": "none", "scale": "1-5"}
    draft = import_document(path, "c", {**answers, "overall": "mean"})
    assert not draft.questions
    assert dialog_of(draft).turns[-1].read == "scores"
    with pytest.raises(DialogError, match="1 to 3"):
        import_document(path, "c", {"read": "9"})


# Where words lie

SOURCE = '''
import os
raise SystemExit("this file must not be run")

CONTEXT = "You rate the edited image."
PROMPT = CONTEXT + """
Do: {instruct}. From 1 to 5.
""" + "Score: X"
JOINED = "\\n".join([CONTEXT, "Score from 1 to 5: {instruct}"]).strip()
PROMPTS = {"add": "Rate the edited image of {instruct}, score from 1 to 5.", "n": 3}
RUN = make(CONTEXT)

class Judge:
    TEXT: str = "Rate the edited image of {instruct} with a score from 0 to 10."

def ask(item):
    words = f"Rate the edited image of {item['prompt']} with a score from {1} to 10: {{}}"
    filled = PROMPTS_OF["add"].format(instruct=item)
    return [{"text": f"{CONTEXT} Do: {item.prompt}"}]

LATER = """\\
    Do {instruct}
      and score it from 1 to 5.

""".format(instruct=ask)
PLAIN = textwrap.dedent("""\\
    Do {instruct}
      and score it.
""")
'''


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("PROMPT", "You rate the edited image.\nDo: {instruct}. From 1 to 5.\nScore: X"),
        ("JOINED", "You rate the edited image.\nScore from 1 to 5: {instruct}"),
        ("PROMPTS.add", "Rate the edited image of {instruct}, score from 1 to 5."),
        ("Judge.TEXT", "Rate the edited image of {instruct} with a score from 0 to 10."),
        ("ask.return.0.text", "You rate the edited image. Do: {prompt}"),
        ("LATER", "    Do {instruct}\n      and score it from 1 to 5.\n\n"),
        ("PLAIN", "Do {instruct}\n  and score it.\n"),
        ("ask.words", "Rate the edited image of {prompt} with a score from 1 to 10: {{}}"),
    ],
)
def test_a_constant_is_taken_out_of_python_without_running_it(
    tmp_path: Path, name: str, text: str
) -> None:
    """Strings, sums, joins, dictionaries, classes and f-strings are worked out from the syntax."""
    path = tmp_path / "prompts.py"
    path.write_text(SOURCE)
    assert read_words(f"{path}:{name}").text == text
    draft = import_document(f"{path}:{name}")
    assert draft.data["origin"] == f"prompts.py:{name}"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("prompts.py", "name the text in it, as prompts.py:"),
        ("prompts.py:PROMT", "no text 'PROMT' (did you mean PROMPT"),
        ("prompts.py:RUN", "while the program runs"),
        ("broken.py:X", "not Python"),
        ("p.json:add.word", "no text 'add.word' (did you mean add.words"),
        ("p.json", "name the text in it"),
        ("nowhere.py:X", "no such file"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(tmp_path: Path, spec: str, message: str) -> None:
    """A wrong name is answered with the names there are."""
    (tmp_path / "prompts.py").write_text(SOURCE)
    (tmp_path / "broken.py").write_text("def (:")
    (tmp_path / "p.json").write_text('{"add": {"words": "Score the edited image from 1 to 5."}}')
    with pytest.raises(FileProblem, match=re.escape(message)):
        read_words(str(tmp_path / spec))


def test_a_text_is_taken_out_of_json_by_its_path(tmp_path: Path) -> None:
    """FILE.json:key.path leads through objects and lists."""
    path = tmp_path / "p.json"
    path.write_text('{"a": {"b": ["x", "Score the edited image of {instruct} from 1 to 5."]}}')
    made = CliRunner().invoke(
        command_line, ["dialogs", "import", f"{path}:a.b.1", "-o", str(tmp_path / "d.yaml")]
    )
    assert made.exit_code == 0, made.exception
    assert "{{instruction}}" in (tmp_path / "d.yaml").read_text()
    checked = CliRunner().invoke(command_line, ["dialogs", "check", str(tmp_path / "d.yaml")])
    assert checked.exit_code == 0, checked.output


def test_a_text_is_taken_out_of_yaml_by_its_path(tmp_path: Path) -> None:
    """FILE.yaml:key.path is read as JSON is; without a path the names are listed."""
    path = tmp_path / "v1.yaml"
    path.write_text("user:\n- text: |\n    Score the edited image of {{ instruction }}, 1 to 5.\n")
    assert read_words(f"{path}:user.0.text").text.startswith("Score the edited")
    assert "{{instruction}}" in import_document(f"{path}:user.0.text").data["turns"][0]["say"]
    with pytest.raises(FileProblem, match=r"it has: user\.0\.text"):
        read_words(path)


# YAML


def test_words_are_written_as_blocks(tmp_path: Path) -> None:
    """Blanks at line ends, indented first lines and tabs do not turn a prompt into one long line."""
    text = "   Rate it: \n\n\tthe edited image of {instruct}  \nScore: X from 1 to 5 \n- end"
    yaml = draft_of(tmp_path, text).as_yaml()
    assert re.search(r"say: \|", yaml) and "\\n" not in yaml


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab \t\n-#:'\"{}[]|>%é中😀\u2028\x85\r\x07"), max_size=40))
def test_whatever_the_words_they_come_back(text: str) -> None:
    """Writing and reading a dialog changes not a character of its words."""
    assert parse_yaml(yaml_blocks({"say": text}), "x") == {"say": text}


def test_answers_that_fit_nothing_are_refused(tmp_path: Path) -> None:
    """A mistyped name or value is not silently dropped."""
    text = "Rate the edited image of {instruct}, score from 1 to 5."
    for answers in (
        {"instuction": "none"},
        {"show": "edits"},
        {"scale.nope": "1-5"},
        {"better.nope": "high"},
    ):
        with pytest.raises(DialogError):
            draft_of(tmp_path, text, **answers)
