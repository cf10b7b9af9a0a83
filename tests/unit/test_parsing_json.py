"""Scores in JSON as judges write it: what is mended is recorded, what is uncertain is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest

from lmmscore.parsing import read_reply, read_text
from lmmscore.records import Outcome, Reply
from tests.reply_layouts import ADHERENCE, BINARY, FOUR, TWELVE

FIRST = '"acc": 6, "pre": 7, "qua": 5, "real": 6'
SECOND = '"acc": 8, "pre": 9, "qua": 9, "real": 8'
PLAIN = '{"acc": 6, "pre": 7, "qua": 5, "real": 6}'
EXPECTED = {(1, "acc"): 6, (1, "pre"): 7, (1, "qua"): 5, (1, "real"): 6}


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        (PLAIN, ""),
        (f"Let me think about the 2 dogs.\n\n{PLAIN}\n\nI hope [this] helps {{you}}.", ""),
        (f"```json\n{PLAIN}\n```", ""),
        (f"```\n{PLAIN}\n```", ""),
        ('{"acc": 6, "pre": 7, "qua": 5, "real": 6,}', "a trailing comma"),
        ("{'acc': 6, 'pre': 7, 'qua': 5, 'real': 6}", "single quotes"),
        ("{'acc': 6, 'pre': 7, 'qua': 5, 'real': 6, 'why': 'the fox's tail'}", "single quotes"),
        ("{“acc”: 6, “pre”: 7, “qua”: 5, “real”: 6}", "smart quotes"),
        ('{"acc": 6, // sand\n"pre": 7, /* fox */ "qua": 5, # sharp\n"real": 6}', "comments"),
        ("{acc: 6, pre: 7, qua: 5, real: 6}", "a key without quotation marks"),
        ('{"acc": 6\n"pre": 7\n"qua": 5\n"real": 6}', "a missing comma"),
        (
            '{"acc": 6, "pre": 7, "qua": 5, "real": 6, "why": "the "fox" is gone"}',
            "a quotation mark inside a string",
        ),
        (
            '{"acc": 6/10, "pre": 7, "qua": 5, "real": 6}',
            "a value that is neither a number nor in quotation marks",
        ),
        ('{"ACC": 6, "Pre": "7", "Visual Quality": 5.0, "s_real": "6/10"}', ""),
        (
            '{"editing_accuracy": 6, "Contextual Preservation": 7, "visual-quality": 5, "$S_{real}$": 6}',
            "",
        ),
        ('{"Editing Accuracy (S_acc)": 6, "pre_score": 7, "Quality Rating": 5, "realism": 6}', ""),
        ('{"result": {"scores": {"acc": 6, "pre": 7, "qua": 5, "real": 6}}}', ""),
        (f"[{PLAIN}]", ""),
        ('[{"acc": 6}, {"pre": 7}, {"qua": 5}, {"real": 6}]', ""),
        (
            '[{"factor": "S_acc", "score": 6}, {"factor": "pre", "score": "7"}, '
            '{"name": "quality", "score": 5}, {"name": "Logical Realism", "score": 6}]',
            "",
        ),
        (
            '{"acc": {"score": 6, "reason": "2 dogs"}, "pre": {"Rating": 7}, '
            '"qua": {"value": 5}, "real": {"reason": "x", "score": "6"}}',
            "",
        ),
        ('{"acc": 6}\n{"pre": 7}\n{"qua": 5}\n{"real": 6}', ""),
        ('{"image_id": "0012", "acc": 6, "pre": 7, "qua": 5, "real": 6}', ""),
        (f'{{"draft": {{"acc": 1, "pre": 1, "qua": 1, "real": 1}}, "final": {PLAIN}}}', ""),
    ],
)
def test_json_is_read_however_it_is_written(text, mended):
    """Slips that can be mended in one way only are, and the reading says which; places are kept."""
    reading = read_text(text, FOUR, 1)
    assert reading.scores == EXPECTED
    assert reading.complete
    assert reading.layout == "json"
    assert reading.notes == ((f"JSON mended: {mended}",) if mended else ())
    assert all(Fraction(text[slice(*reading.spans[at])]) == score for at, score in EXPECTED.items())


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("true", "true is not a number"),
        ("True", "True is not a number"),
        ("NaN", "NaN is not a number"),
        ("Infinity", "Infinity is not a number"),
        ("null", "null is not a number"),
        ('""', "the score is empty"),
        ('"6-7"', "6-7 is not a number"),
        ('"about 6"', "about 6 is not a number"),
        ("[6, 7]", "it holds no score"),
        ('{"reason": "2 dogs"}', "it holds no score"),
        ('{"score": 6, "score": 7}', "6 and 7 is not a number"),
        ("11", "11 is outside 1–10"),
        ('"4/5"', "4/5 is not on the scale 1–10"),
        ("<integer 1-10>", "<integer 1-10> is not a number"),
        ("99999999999999999999", "99999999999999999999 is not a number"),
    ],
)
def test_what_is_no_score_is_a_fault(value, says):
    """`true`, NaN, words, lists and numbers off the scale are refused, each with its reason."""
    reading = read_text(f'{{"acc": {value}, "pre": 7, "qua": 5, "real": 6}}', FOUR, 1)
    assert [fault.factor for fault in reading.faults] == ["acc"]
    assert reading.faults[0].says.startswith(says)
    assert (1, "acc") not in reading.scores


def test_a_key_given_twice_differently_is_a_contradiction():
    """The last of two equal keys does not win in silence."""
    reading = read_text('{"acc": 6, "pre": 7, "qua": 5, "real": 6, "acc": 9}', FOUR, 1)
    assert [(fault.kind, fault.factor) for fault in reading.faults] == [("contradiction", "acc")]


@pytest.mark.parametrize(
    "after", ["", '\n\n{"note": "done"}', '\n\nFor example {"acc": 3} would be low.']
)
def test_the_last_complete_object_counts(after):
    """Of several objects the last that scores everything is the verdict."""
    first = '{"acc": 1, "pre": 1, "qua": 1, "real": 1}'
    assert read_text(f"{first}\nNo, rather:\n{PLAIN}{after}", FOUR, 1).scores == EXPECTED


@pytest.mark.parametrize("length", range(1, len(PLAIN)))
def test_an_object_that_is_cut_off_is_truncated(length):
    """Wherever an object is cut, there is no half a score."""
    for finish in ("length", "stop"):
        reading = read_reply(
            Reply("Here you are:\n```json\n" + PLAIN[:length], finish=finish), FOUR, 1
        )
        assert reading.scores == {}
        assert reading.faults[0].kind == "truncated" or (
            finish == "stop" and '"acc":' not in PLAIN[:length]
        )


def test_an_object_cut_off_after_a_complete_one_is_truncated():
    """A judge that was about to revise its verdict has not given its last word."""
    reading = read_text(PLAIN + '\nOn reflection:\n{"acc": 9, "pre": ', FOUR, 1)
    assert [(fault.kind, fault.outcome) for fault in reading.faults] == [
        ("truncated", Outcome.TRUNCATED)
    ]


@pytest.mark.parametrize(
    "text",
    [
        f'{{"Image 1": {{{FIRST}}}, "Image 2": {{{SECOND}}}}}',
        f'[{{"image": 2, {SECOND}}}, {{"image": 1, {FIRST}}}]',
        f'{{"images": [{{{FIRST}}}, {{{SECOND}}}]}}',
        '{"acc": [6, 8], "pre": [7, 9], "qua": [5, 9], "real": [6, 8]}',
        '{"acc": {"image_1": 6, "image_2": 8}, "pre": {"1": 7, "2": 9}, "qua": {"first": 5, "second": 9}, '
        '"real": [6, 8]}',
        f"Image 1:\n{{{FIRST}}}\n\n**Image 2**\n```json\n{{{SECOND}}}\n```",
        f'{{"image": 1, {FIRST}}}\n{{"image": 2, {SECOND}}}',
        f'[{{"name": "Image 1", "scores": {{{FIRST}}}}}, {{"name": "Image 2", "scores": {{{SECOND}}}}}]',
        f'{{"image_0": {{{FIRST}}}, "image_1": {{{SECOND}}}}}',
    ],
)
def test_several_images_in_json_are_told_apart(text):
    """By key, by number, by order or by the heading above, each number with its place."""
    reading = read_text(text, FOUR, 2)
    assert reading.complete
    assert [[reading.scores[i, f.key] for f in FOUR] for i in (1, 2)] == [
        [6, 7, 5, 6],
        [8, 9, 9, 8],
    ]
    assert all(
        Fraction(text[slice(*reading.spans[at])]) == score for at, score in reading.scores.items()
    )


def test_what_is_of_all_images_stands_beside_their_scores():
    """A mean, a weight or the best image under a factor is no image's score."""
    text = (
        'Sure, as JSON:\n\n{"S_acc": {"edit_1": 8, "edit_2": null, "mean": 8, "best_image": 1}, '
        '"S_pre": {"edit_1": 4, "edit_2": 6, "weight": 3}, "max_score": 10}'
    )
    scores = read_text(text, FOUR, 2).scores
    assert scores == {(1, "acc"): 8, (1, "pre"): 4, (2, "pre"): 6}
    assert not read_text(text.replace(": 10}", ": 20}"), FOUR, 2).scores


def test_images_counted_from_zero_are_noted():
    """n images numbered from 0 can only be meant one way; the reading says so."""
    reading = read_text(
        '{"0": {"Contextual_Preservation": 1}, "1": {"Contextual_Preservation": 0}}', BINARY, 2
    )
    assert reading.scores == {(1, "Contextual_Preservation"): 1, (2, "Contextual_Preservation"): 0}
    assert reading.notes == ("images counted from 0",)


def test_unnamed_numbers_are_not_read():
    """A list of numbers that names no factor is not a verdict: their order would be a guess."""
    assert not read_text("[6, 7, 5, 6]", FOUR, 1).scores
    assert not read_text('{"Image 1": [6, 7, 5, 6], "Image 2": [8, 9, 9, 8]}', FOUR, 2).scores


def test_a_missing_image_in_json_is_named():
    """Fewer objects than images, numbered: the missing one is known. Unnumbered: nothing is."""
    one = '{"acc": 6, "pre": 7, "qua": 5, "real": 6}'
    reading = read_text(f'{{"Image 1": {one}, "Image 3": {one}}}', FOUR, 3)
    assert [(fault.kind, fault.position) for fault in reading.faults] == [("missing-image", 2)]
    assert not read_text(f"[{one}, {one}]", FOUR, 3).scores


def test_the_published_forms_are_read():
    """Twelve factors with justifications, one factor after an analysis, and three with their own scales."""
    twelve = ",\n".join(
        f'    "{f.key}": {{"score": {i % 7 + 1}, "justification": "Alignment: 3 of 12"}}'
        for i, f in enumerate(TWELVE)
    )
    text = f'```json\n{{\n  "image_id": "3_add_12",\n  "offline_factor_results": {{\n{twelve}\n  }}\n}}\n```'
    assert [int(score) for score in read_text(text, TWELVE, 1).scores.values()] == [
        i % 7 + 1 for i in range(12)
    ]
    analysis = "## Differences\n- IMAGE 2: 1 lamp is gone.\n## Decision\n"
    analysis += "No OUT_OF_TARGET difference: score = 1 if unsure\n\n"
    text = (
        analysis + '{\n  "Contextual_Preservation": {\n    "reason": "x",\n    "score": 1\n  }\n}'
    )
    assert read_text(text, BINARY, 1).scores == {(1, "Contextual_Preservation"): 1}
    text = (
        "{"
        + ", ".join(
            f'"{f.key.replace("_", " ")}": {{"reason": "x", "score": 0.5}}' for f in ADHERENCE
        )
        + "}"
    )
    reading = read_text(text, ADHERENCE, 1)
    assert reading.scores == {(1, "Visual_Operator_Type_Compliance"): Fraction(1, 2)}
    assert [fault.says for fault in reading.faults] == ["0.5 is not one of 0 / 1"] * 2


def test_a_bare_score_will_do_where_there_is_one_factor():
    """`{"score": 1}` is clear when there is one thing to score, and unclear when there are three."""
    assert read_text('{"reason": "2 lamps", "score": 1}', BINARY, 1).complete
    assert not read_text('{"reason": "2 lamps", "score": 1}', ADHERENCE, 1).scores


def test_strings_in_json_are_not_read_as_prose():
    """A justification that quotes another score does not contradict the verdict."""
    text = '{"acc": {"score": 6, "reason": "S_pre: 2 at first.\\nImage 1: S_acc: 3"}, "pre": 7, "qua": 5, "real": 6}'
    assert read_text(text, FOUR, 1).scores == EXPECTED


@pytest.mark.parametrize(
    ("second", "first"),
    [
        ('"label": "the fox"', '"label": "the dog"'),
        ('"image": 1, "label": "Image 2"', '"image": 2, "label": "Image 1"'),
    ],
)
def test_a_name_that_is_not_understood_is_not_replaced_by_the_order(second, first):
    """Entries that name their image somehow are not taken in the order in which they stand."""
    reading = read_text(f"[{{{second}, {SECOND}}}, {{{first}, {FIRST}}}]", FOUR, 2)
    assert not reading.scores
    assert [fault.kind for fault in reading.faults] == ["contradiction"]
    by_factor = f'{{"acc": [{{{second}, "score": 6}}, {{{first}, "score": 7}}]}}'
    assert not read_text(by_factor, FOUR, 2).scores


@pytest.mark.parametrize(
    ("second", "first"),
    [
        ('"label": "Image 2"', '"label": "Image 1"'),
        ('"position": 1, "name": "Image 2"', '"position": 2, "name": "Image 1"'),
        ('"id": 1, "label": "Image 2"', '"id": 2, "label": "Image 1"'),
        ('"rank": 1, "image": "Image 2"', '"rank": 2, "image": "Image 1"'),
        ('"id": "image_2"', '"id": "image_1"'),
        ('"image": "image2.png"', '"image": "image1.png"'),
        ('"image": "B"', '"image": "A"'),
        ('"file": "edit_2.jpg"', '"file": "edit_1.jpg"'),
    ],
)
def test_an_images_name_counts_before_a_running_number(second, first):
    """Entries sorted by rank and numbered anew belong to the images that they name."""
    for text in ("[{}, {}]", '{{"ranking": [{}, {}]}}'):
        reading = read_text(
            text.format(f"{{{second}, {SECOND}}}", f"{{{first}, {FIRST}}}"), FOUR, 2
        )
        assert reading.complete
        assert (reading.scores[1, "acc"], reading.scores[2, "acc"]) == (6, 8)


@pytest.mark.parametrize(
    "text",
    [
        '{"scores": SCORES, "weights": OTHERS}',
        '{"scores": SCORES, "max": OTHERS}',
        '{"scores": SCORES, "certainty": OTHERS}',
        '{"scores": SCORES, "max_scores": OTHERS}',
        '{"edited": SCORES, "source": OTHERS}',
        '{"edited_image": SCORES, "originalImage": OTHERS}',
        '[{"type": "edited", "scores": SCORES}, {"type": "original", "scores": OTHERS}]',
        "SCORES\n\nWeights:\n```json\nOTHERS\n```",
        "SCORES\n\nOriginal image:\nOTHERS",
    ],
)
def test_an_object_of_something_else_does_not_replace_the_verdict(text):
    """Weights, maxima and the source's numbers are no verdict on the edit, though they come last."""
    others = '{"acc": 4, "pre": 3, "qua": 2, "real": 1}'
    reading = read_text(text.replace("SCORES", PLAIN).replace("OTHERS", others), FOUR, 1)
    assert reading.complete
    assert reading.scores == EXPECTED


@pytest.mark.parametrize("again", ['"acc": 9', '"S_acc": 9', '"Editing Accuracy": {"score": 9}'])
def test_a_factor_given_twice_in_one_object_is_a_contradiction(again):
    """Neither the first nor the last of two different numbers wins."""
    for text in (f"{{{FIRST}, {again}}}", f"{{{again}, {FIRST}}}"):
        reading = read_text(text, FOUR, 1)
        assert [(fault.kind, fault.factor) for fault in reading.faults] == [
            ("contradiction", "acc")
        ]
    assert read_text(f'{{{FIRST}, "acc": 6}}', FOUR, 1).scores == EXPECTED


@pytest.mark.parametrize(
    "caption", ["Format: ", "The expected format is:\n", "Example:\n```json\n", "For example, "]
)
def test_an_example_of_the_format_is_not_a_verdict(caption):
    """A reply that shows the form of an answer and gives none has no scores."""
    assert not read_text(f"{caption}{PLAIN}\nAnswer: I cannot.", FOUR, 1).scores
    assert (
        read_text(f"Here are the scores in the required format: {PLAIN}", FOUR, 1).scores
        == EXPECTED
    )


def scores(text: str, n: int) -> list[list[int]]:
    """What is read of n images, one list for each; -1 for what is not."""
    found = read_text(text, FOUR, n).scores
    keys = ("acc", "pre", "qua", "real")
    return [[int(found.get((i, key), -1)) for key in keys] for i in range(1, n + 1)]


NOTHING = [-1, -1, -1, -1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[["S_acc", 6], ["S_pre", 7], ["S_qua", 5], ["S_real", 6]]', [[6, 7, 5, 6]]),
        ("[('acc', 6), ('pre', 7), ('qua', 5), ('real', 6)]", [[6, 7, 5, 6]]),
        (
            '[["factor", "score", "why"], ["acc", 6, "2 dogs"], ["pre", 7, ""], ["qua", 5, ""], '
            '["real", 6, "4 legs"]]',
            [[6, 7, 5, 6]],
        ),
        (
            '{"Image 2": [["acc", 6], ["pre", 7], ["qua", 5], ["real", 6]], '
            '"Image 1": [["acc", 8], ["pre", 9], ["qua", 9], ["real", 8]]}',
            [[8, 9, 9, 8], [6, 7, 5, 6]],
        ),
        (
            '[["image", "acc", "pre", "qua", "real"], [2, 6, 7, 5, 6], [1, 8, 9, 9, 8]]',
            [[8, 9, 9, 8], [6, 7, 5, 6]],
        ),
        (
            '[["Image 1", "acc", 8], ["Image 2", "acc", 6], ["Image 1", "pre", 9]]',
            [[8, 9, -1, -1], [6, -1, -1, -1]],
        ),
        (
            '{"columns": ["edit", "acc", "pre", "qua", "real"], '
            '"data": [[2, 6, 7, 5, 6], [1, 8, 9, 9, 8]]}',
            [[8, 9, 9, 8], [6, 7, 5, 6]],
        ),
        (
            '{"order": ["acc", "pre", "qua", "real"], "Image 1": [8, 9, 9, 8], "weights": '
            '[4, 3, 2, 1], "Image 2": [6, 7, 5, 6]}',
            [[8, 9, 9, 8], [6, 7, 5, 6]],
        ),
        ('{"factors": ["acc", "pre", "qua", "real"], "scores": [6, 7, 5, 6]}', [[6, 7, 5, 6]]),
        ('{"factors": ["acc", "pre", "qua", "real"], "confidence": [6, 7, 5, 6]}', [NOTHING]),
        (f'[["Image 2", {{{FIRST}}}], ["Image 1", {{{SECOND}}}]]', [[8, 9, 9, 8], [6, 7, 5, 6]]),
        (f'[["the dim one", {{{FIRST}}}], ["the other", {{{SECOND}}}]]', [NOTHING, NOTHING]),
    ],
)
def test_lists_of_lists_are_tables(text, expected):
    """Rows of names and numbers say as much as objects do, and only where each is named."""
    assert scores(text, len(expected)) == expected


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (("image_1_{}", "image_2_{}"), [[6, 7, 5, 6], [8, 9, 9, 8]]),
        (("{}_2", "{}_1"), [[8, 9, 9, 8], [6, 7, 5, 6]]),
        (("Image 2.{}", "Image 1.{}"), [[8, 9, 9, 8], [6, 7, 5, 6]]),
        (("{} (Image 2)", "{} (Image 1)"), [[8, 9, 9, 8], [6, 7, 5, 6]]),
    ],
)
def test_a_key_may_name_image_and_factor(keys, expected):
    """One flat object says of each number what it is of."""
    pairs = []
    for key, values in zip(keys, ((6, 7, 5, 6), (8, 9, 9, 8)), strict=True):
        for factor, value in zip(("S_acc", "S_pre", "S_qua", "S_real"), values, strict=True):
            pairs.append(f'"{key.format(factor)}": {value}')

    assert scores("{" + ", ".join(pairs) + "}", 2) == expected


@pytest.mark.parametrize("key", ["idx", "img_idx", "picture_no", "photo", "Bild", "图像", "nr"])
def test_many_keys_number_images(key):
    """However the number of an image is called, it is no remark on the scores."""
    text = f'{{"{key}": 2, "scores": {{{FIRST}}}}}\n{{"{key}": 1, "scores": {{{SECOND}}}}}'
    assert scores(text, 2) == [[8, 9, 9, 8], [6, 7, 5, 6]]


@pytest.mark.parametrize(
    ("other", "read"),
    [
        ("what_a_human_would_give", True),
        ("likely_scores_of_people", True),
        ("typical_annotator", True),
        ("scores_by_another_model", True),
        ("second_look", False),
        ("strict_scores", False),
    ],
)
def test_scores_of_somebody_else_stand_beside_the_judges_own(other, read):
    """A key that speaks of people who score is theirs; any other leaves open which ones hold."""
    text = f'{{"own_scores": {{{FIRST}}}, "{other}": {{{SECOND}}}}}'
    assert scores(text, 1) == [[6, 7, 5, 6] if read else NOTHING]


@pytest.mark.parametrize(
    ("beside", "read"),
    [
        ('"verdict": "pass"', True),
        ('"status": "fail"', True),
        ('"level": "good", "weight": 0.4', True),
        ('"why": "the mountain pass is gone"', True),
        ('"note": "placeholder"', False),
        ('"why": "just a guess"', False),
        ('"is_dummy": true', False),
        ('"status": "error"', False),
        ('"rater": "human"', False),
        ('"justification": "..."', False),
        ('"justification": "<10 to 25 words>"', False),
    ],
)
@pytest.mark.parametrize(
    "about", ['"acc": {"score": 6, %s}', '"x": {"metric": "acc", "score": 6, %s}']
)
def test_what_stands_beside_one_score_may_void_it_alone(about, beside, read):
    """In an object about one factor, a grade in words is fine, and a template is no verdict."""
    text = f'{{{about % beside}, "pre": 7, "qua": 5, "real": 6}}'
    assert scores(text, 1) == [[6 if read else -1, 7, 5, 6]]


def test_final_scores_replace_others_beside_them():
    """`{"initial": 3, "final": 7}` gives 7."""
    text = '{"acc": {"initial": 3, "final": 6}, "pre": {"my_score": 7, "others": 2}, "qua": 5}'
    assert scores(text, 1) == [[6, 7, 5, -1]]


BY_FACTOR = 'S_acc{0}{{score: {1}, why: "2 of 3"}}\nS_pre{0}{{score: 7}}\nS_qua{0}{{"score": 5}}'


@pytest.mark.parametrize("joint", [": ", " = "])
def test_objects_behind_the_names_of_factors_belong_to_the_image_above(joint):
    """Each factor once; a second object of one factor may be the next image's."""
    text = f"Image 2:\n{BY_FACTOR.format(joint, 6)}\n\nImage 1:\n{BY_FACTOR.format(joint, 8)}"
    assert scores(text, 2) == [[8, 7, 5, -1], [6, 7, 5, -1]]
    again = f"Image 2:\n{BY_FACTOR.format(joint, 6)}\n{BY_FACTOR.format(joint, 8)}"
    assert scores(again, 2)[1][0] != 8


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        ("", [[6, 7, 5, 6], [8, 9, 9, 8]]),
        ("# order: image 1, image 2\n", [[6, 7, 5, 6], [8, 9, 9, 8]]),
        ("# order: image 2, image 1\n", [NOTHING, NOTHING]),
        ("# sorted from best to worst\n", [NOTHING, NOTHING]),
    ],
)
def test_lists_behind_the_names_of_factors_are_in_the_order_of_the_images(above, expected):
    """As many numbers as images are theirs, unless the reply states another order."""
    text = f"{above}S_acc = [6, 8]\nS_pre = [7, 9]\nS_qua = [5, 9]\nS_real = [6, 8]"
    assert scores(text, 2) == expected
    text = f'{above}{{"acc": [6, 8], "pre": [7, 9], "qua": [5, 9], "real": [6, 8]}}'
    assert scores(text, 2) == expected


@pytest.mark.parametrize("order", ['"image_order": [2, 1]', '"columns": ["Image 2", "Image 1"]'])
def test_an_object_may_state_the_order_of_its_lists(order):
    """A list of the images says which number is whose."""
    text = f'{{{order}, "scores": {{"acc": [6, 8], "pre": [7, 9], "qua": [5, 9], "real": [6, 8]}}}}'
    assert scores(text, 2) == [[8, 9, 9, 8], [6, 7, 5, 6]]


def test_scores_that_look_like_an_order_are_scores():
    """The numbers of a factor whose name speaks of edits are not the images."""
    text = '{"editing_accuracy": [2, 1], "pre": [7, 9], "qua": [5, 9], "real": [6, 8]}'
    assert scores(text, 2) == [[2, 7, 5, 6], [1, 9, 9, 8]]


def test_what_is_assigned_to_an_image_is_its():
    """Python that fills a dict names images, too."""
    text = f'r["image_2"] = {{{FIRST}}}\nr["image_1"] = {{{SECOND}}}'
    assert scores(text, 2) == [[8, 9, 9, 8], [6, 7, 5, 6]]


@pytest.mark.parametrize(
    "text",
    [
        '[{"factor": "acc", "score": 4}, {"factor": "pre", "score": 5}]',
        '[{"id": 1, "acc": 4}, {"id": 2, "pre": 5}]',
        '{"acc": 4}\n{"pre": 5}',
    ],
)
def test_an_entry_for_each_factor_is_not_one_for_each_image(text):
    """As many entries as images may still be of one image, which is not said."""
    assert scores(text, 2) == [NOTHING, NOTHING]
    assert scores(text, 1) == [[4, 5, -1, -1]]


YAML = """images:
  - id: 2
    S_acc: {score: 6, why: "2 of 3 boats"}
    S_pre: {score: 7, why: same}
    S_qua: 5
    S_real: 6
  - id: 1
    S_acc:
      why: >
        4 of 5 boats are gone,
        1 is left
      score: 8
    S_pre: {score: 9}
    S_qua: {score: 9}
    S_real: {score: 8}
"""


@pytest.mark.parametrize("reply", [YAML, f"```yaml\n{YAML}```", f"My scores:\n\n```yml\n{YAML}```"])
def test_yaml_with_objects_in_it_is_read_whole(reply):
    """Items, braces and folded text say what their values are of; every score keeps its place."""
    assert scores(reply, 2) == [[8, 9, 9, 8], [6, 7, 5, 6]]
    reading = read_text(reply, FOUR, 2)
    assert all(reply[slice(*reading.spans[at])] == str(n) for at, n in reading.scores.items())


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("images:", "images: # placeholder values"),
        ("S_qua: 5", "note: I was shown no image"),
        ("  - id: 2", "  - id: &a 2"),
        ("S_qua: 5", "S_qua: ]"),
    ],
)
def test_yaml_that_is_doubtful_or_damaged_gives_image_2_no_score(line, instead):
    """Comments and notes may void scores; aliases and slips of syntax are nobody's verdict."""
    assert scores(YAML.replace(line, instead), 2)[1] == NOTHING


def test_a_list_behind_a_factor_under_one_image_is_not_one_number_for_each():
    """Two numbers under "Image 1" are not those of two images."""
    text = "Image 1:\nS_acc: [7, 10]\nS_pre: [6, 10]\nS_qua: [5, 10]\nS_real: [4, 10]"
    assert scores(text, 2) == [NOTHING, NOTHING]


def test_a_models_scores_may_be_the_judges_own():
    """Of two sets neither is somebody else's for sure."""
    assert scores(f'{{"scores": {{{FIRST}}}, "model_scores": {{{SECOND}}}}}', 1) == [NOTHING]


@pytest.mark.parametrize(
    ("key", "read"),
    [("scores_others_gave", False), ("a_persons_view", False), ("as_an_expert", True)],
)
def test_scores_of_other_people_alone_are_no_verdict(key, read):
    """A judge may call itself an expert, but not somebody else."""
    assert scores(f'{{"{key}": {{{FIRST}}}}}', 1) == [[6, 7, 5, 6] if read else NOTHING]


def test_other_images_are_not_other_people():
    """What is said of the other images counts."""
    text = f'{{"Image 1": {{{FIRST}}}, "other_images": {{"Image 2": {{{SECOND}}}}}}}'
    assert scores(text, 2) == [[6, 7, 5, 6], [8, 9, 9, 8]]
