"""What words beside scores make of them: another scale, another image, another's, or revised."""

from __future__ import annotations

from decimal import Decimal

import pytest

from lmmscore.dialog import load_dialog
from lmmscore.parsing import read_reply, read_text
from lmmscore.records import Reply
from lmmscore.scales import Factor, Scale

FOUR = load_dialog("lmm-score").factors
INLINE = "S_acc: 4, S_pre: 5, S_qua: 3, S_real: 2"
LIST = "S_acc: 4\nS_pre: 5\nS_qua: 3\nS_real: 2"
JSON = '{"S_acc": 4, "S_pre": 5, "S_qua": 3, "S_real": 2}'
TWO = f"Image 1: {INLINE}\nImage 2: S_acc: 5, S_pre: 1, S_qua: 2, S_real: 4"
SHAPES = (f"…: {INLINE}", f"…:\n{LIST}", f"…:\n\n{JSON}")


def read(reply: str, n: int = 1) -> dict[str, int]:
    """Return the scores of a reply by image and factor."""
    return {
        f"{at}.{key}": int(score) for (at, key), score in read_text(reply, FOUR, n).scores.items()
    }


OTHER_SCALES = (
    "On a six-point scale",
    "Using a 4-point scale",
    "On a scale from 1 to 6",
    "On a scale of one to five",
    "Auf einer Skala von 1 bis 6",
    "Sur une échelle de 1 à 20",
    "En una escala del 1 al 7",
    "按5分制评分",
    "5点満点で",
    "Rated 0–50",
    "Ratings in %",
    "Points out of six",
)
OWN_SCALE = (
    "On a ten-point scale",
    "On a scale from 1 to 10",
    "Auf einer Skala von 1 bis 10",
    "Sur une échelle de 1 à 10",
    "Each out of 10",
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("words", OTHER_SCALES)
def test_another_scale_before_scores_voids_them(words, shape):
    """Scores announced on another scale are none, whether on their own line, above them or above
    JSON."""
    assert not read(shape.replace("…", words))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("words", OWN_SCALE)
def test_the_scale_asked_for_may_be_named_before_scores(words, shape):
    """Scores announced on the dialog's own scale are read."""
    assert len(read(shape.replace("…", words))) == 4


@pytest.mark.parametrize(
    "words",
    [
        "I take 1 for the best and 9 for the worst outcome.",
        "The best possible value is 1.",
        "1 ist die beste Note.",
        "Je niedriger, desto besser.",
        "Plus la note est basse, mieux c'est.",
        "Cuanto más bajo, mejor.",
        "数值越低越好。",
        "A 10 goes to what is worst.",
    ],
)
def test_whoever_turns_the_scale_round_gives_no_scores(words):
    """Where the best is said to be the lowest number, or the worst a high one, nothing is read."""
    for reply in (f"{words}\n\n{LIST}", f"{words}\n\n{JSON}", f"{words[:-1]}: {INLINE}"):
        assert not read(reply)


@pytest.mark.parametrize(
    "words",
    ["1 is the worst and 10 the best.", "The best edit keeps 1 boat.", "Worst is 1, best is 10."],
)
def test_the_ends_of_the_scale_may_be_named(words):
    """The worst may be called 1, and what is best may count something."""
    assert len(read(f"{words}\n\n{LIST}")) == 4


@pytest.mark.parametrize(
    "label",
    [
        "The unedited photo, for comparison",
        "For comparison, the source",
        "Zum Vergleich das Original",
        "Ground truth, for orientation",
        "The picture before the edit",
        "As a point of reference, the original image",
        "El original, para comparar",
    ],
)
def test_what_the_source_gets_is_not_the_edits(label):
    """A score under a label that names the source image fills no gap of the only edit."""
    scores = read(f"Edited image: S_acc: 8, S_pre: 6, S_qua: 7.\n{label}: S_real: 9.")
    assert scores == {"1.acc": 8, "1.pre": 6, "1.qua": 7}
    assert "1.real" not in read(f"S_acc: 8\nS_pre: 6\nS_qua: 7\n\n{label}:\nS_real: 9")


@pytest.mark.parametrize(
    "words",
    [
        "You proposed",
        "You had put",
        "A generous judge gives",
        "I nearly gave",
    ],
)
def test_what_somebody_else_said_is_no_score(words):
    """What the reader proposed, another would give or the judge nearly gave is no verdict."""
    assert not read(f"{words} {INLINE}.")
    assert not read(f'{words} e.g. "Image 1: {INLINE}" throughout.', 2)


def test_a_quoted_plan_is_no_verdict():
    """What will be written, for instance, is not what is given."""
    assert not read(f'Fine. In round two I will write e.g. "Image 1: {INLINE}" for each.', 2)


@pytest.mark.parametrize(
    "caption",
    [
        "These are places among all methods, ranks and not scores",
        "Not scores but counts",
        "Ranks of all candidates",
    ],
)
def test_captions_say_that_numbers_are_something_else(caption):
    """Numbers under a caption that calls them ranks or no scores are none."""
    assert not read(f"{caption}:\n{LIST}")
    assert not read(f"{caption}:\n\n{JSON}")


@pytest.mark.parametrize("end", ["8.", "8,", "8/", "8", "**8."])
def test_a_number_that_may_go_on_was_cut_off(end):
    """A reply that was cut off right behind a number, or a point behind it, is not read."""
    reply = f"S_acc: 8.5\nS_pre: 7.0\nS_qua: 9.0\nS_real: {end}"
    assert not read_reply(Reply(reply, finish="length"), FOUR, 1).scores
    assert (
        len(read_reply(Reply(f"{reply.rstrip('.,/')} (fine)\n", finish="length"), FOUR, 1).scores)
        == 4
    )


@pytest.mark.parametrize("heading", ["Summary:", "In summary:", "To sum up:", "Overview:"])
def test_a_summary_repeats_and_does_not_revise(heading):
    """Where a summary gives one score another number, that score alone is a contradiction."""
    assert read(f"{TWO}\n\n{heading}\n{TWO}", 2) == read(TWO, 2)
    other = TWO.replace("S_acc: 4", "S_acc: 6")
    expected = read(TWO, 2)
    del expected["1.acc"]
    assert read(f"{TWO}\n\n{heading}\n{other}", 2) == expected


REVISIONS = (
    "(on reflection: 6)",
    "on second thought, make that 6",
    "> Edit: 6",
    "Too generous, 6 it is.",
    "Correction: 6",
    "（修正：6分）",
    "(nach genauerem Hinsehen: 6)",
    "→ better 6",
    "plutôt 6",
    "minus one for the halo: 6",
    "... or rather a six",
    "Let me change that to 6.",
    "Final score: 6/10",
)


@pytest.mark.parametrize("words", REVISIONS)
def test_a_revision_below_a_score_is_of_that_score(words):
    """What gives a score another number on the next line leaves the other scores as they are."""
    rest = {"1.pre": 7, "1.qua": 7, "1.real": 5}
    assert read(f"S_acc: 8\n  {words}\nS_pre: 7\nS_qua: 7\nS_real: 5") == rest
    scores = read(f"S_pre: 7\nS_qua: 7\nS_real: 5\nS_acc: 8\n{words}")
    assert scores == rest


@pytest.mark.parametrize(
    "words",
    [
        "The 6 arches are all there.",
        "- only 6 of the 9 boats remain",
        "Reason: 6 fingers on one hand",
        "Confidence: 6",
        "(was 6 before the second look)",
        "Final score: 8/10",
        "- Object: 6\n  - Place: 9",
    ],
)
def test_what_counts_below_a_score_does_not_revise_it(words):
    """Numbers that count things, are of another quantity or repeat the score leave it."""
    reply = f"S_acc: 8\n  {words}\nS_pre: 7\nS_qua: 7\nS_real: 5"
    assert read(reply) == {"1.acc": 8, "1.pre": 7, "1.qua": 7, "1.real": 5}


@pytest.mark.parametrize("remark", ["(provisional)", "(a guess)", "<!-- the draft had 5 -->"])
def test_a_remark_beside_one_score_is_of_that_score(remark):
    """What unsettles a score on its own line leaves the scores on other lines as they are."""
    scores = read(f"S_acc: 8 {remark}\nS_pre: 7\nS_qua: 7\nS_real: 5")
    assert scores == {"1.pre": 7, "1.qua": 7, "1.real": 5}


@pytest.mark.parametrize("remark", ["(no image was attached)", "<!-- I saw no image -->"])
def test_what_was_not_seen_voids_more_than_one_score(remark):
    """Whoever says beside one score that there was no image has none to give."""
    assert not read(f"S_acc: 8 {remark}\nS_pre: 7\nS_qua: 7\nS_real: 5")


TABLE = (
    "| Image | S_acc | S_pre | S_qua | S_real |\n|---|---|---|---|---|\n"
    "| Image 1 | 4 | 5 | 3 | 2 |\n| Image 2 | 5 | 1 | 2 | 4 |"
)


@pytest.mark.parametrize("scores", [TWO, TABLE])
@pytest.mark.parametrize(
    "example",
    [
        "Format (not real scores): Image X: S_acc: 7, S_pre: 7, S_qua: 7, S_real: 7",
        'I keep to the layout asked for (e.g. "Image 1: S_acc: 7, S_pre: 7" for a decent edit).',
        "You proposed Image 1: S_acc: 7, S_pre: 7.",
    ],
)
def test_an_example_is_of_itself(example, scores):
    """A line that is an example, or another's, neither counts nor voids the scores that follow."""
    assert read(f"{example}\n\n{scores}", 2) == read(TWO, 2)


def test_another_judges_json_gives_way_to_the_judges_own():
    """JSON that another judge returned is no verdict beside the judge's own."""
    other = JSON.replace("4", "9").replace("5", "8")
    assert len(read(f"The other judge returned {other}. My verdict:\n{JSON}")) == 4
    assert read(f"The other judge returned {other}. My verdict:\n{JSON}") == read(JSON)


def test_an_escaped_asterisk_marks_a_footnote():
    """A footnote in Markdown that says why a score is what it is leaves the others alone."""
    noted = TABLE.replace("| 3 |", "| 3* |") + "\n\n\\* lowered from 6 because of banding."
    assert read(noted, 2) == read(TWO, 2)


@pytest.mark.parametrize(
    "closing",
    [
        "In summary, Image 1 gets S_acc 4, S_pre 5 and S_real 2 and Image 2 gets S_acc 5, S_pre 1.",
        "Image 2 leads in Editing Accuracy (5 vs. 4), Image 1 in Visual Quality (3 vs. 2).",
        "If the halo were retouched, S_qua would rise to 9 and S_real to 8.",
        "S_qua of Image 1 would be 9 without the halo.",
    ],
)
def test_closing_words_may_repeat_scores_or_suppose_others(closing):
    """What says the same again, or what another picture would get, corrects nothing."""
    assert read(f"{TWO}\n\n{closing}", 2) == read(TWO, 2)


@pytest.mark.parametrize(
    ("closing", "lost"),
    [
        ("In summary, Image 1 gets S_acc 6, S_pre 5 and Image 2 gets S_acc 5, S_pre 1.", "1.acc"),
        ("Image 2 leads in Editing Accuracy (5 vs. 3).", "1.acc"),
        ("If I look again, S_acc of Image 1 would rather be 6.", "1.acc"),
    ],
)
def test_closing_words_that_differ_are_corrections(closing, lost):
    """What gives a score another number behind all of them makes that score a contradiction."""
    assert lost not in read(f"{TWO}\n\n{closing}", 2)


@pytest.mark.parametrize(
    "entry",
    [
        "8 ← final",
        "8, where 10 is best",
        "8 (range: 1–10)",
        "8 (1 of 3 done)",
        "8 (2 of 4)",
        "8 – its 5 arches are now 4",
        "8 → S_all = 0.4×8 + 0.6×7 = 7.4",
    ],
)
def test_what_follows_a_score_may_name_other_numbers(entry):
    """The ends of the scale, counts, and the sum that the score goes into are no second score."""
    reply = f"S_acc: {entry}\nS_pre: 7\nS_qua: 7\nS_real: 5"
    assert read(reply) == {"1.acc": 8, "1.pre": 7, "1.qua": 7, "1.real": 5}


TEN = Scale(min=Decimal(0), max=Decimal(10))
TWO_FACTORS = [
    Factor(key="naturalness", name="Naturalness", scale=TEN),
    Factor(key="artifacts", name="Artifacts", scale=TEN),
]


@pytest.mark.parametrize(
    "reply",
    [
        "The picture has a high degree of naturalness with a score of 8. The artifacts score is 2.",
        "The image appears to be a well-lit scene with a naturalness score of 8. Artifacts: 2.",
        "The fur is soft. Therefore, the scores would be 8 for naturalness and 2 for artifacts.",
    ],
)
def test_a_sentence_about_the_picture_may_lead_up_to_its_scores(reply):
    """What the picture is or has may stand before the score in one sentence."""
    scores = read_text(reply, TWO_FACTORS, 1).scores
    assert {key: int(score) for (_, key), score in scores.items()} == {
        "naturalness": 8,
        "artifacts": 2,
    }


@pytest.mark.parametrize(
    "tail",
    [
        "S_real: 2. The source has S_qua: 9.",
        "S_real: 2\nS_qua (original): 9",
        "S_real: 2\nS_qua before the edit: 9",
        "S_real: 2\nThe source scores: S_qua: 9",
    ],
)
def test_one_factor_may_be_the_sources(tail):
    """A score said to be the source's, in its own sentence or in brackets, is not the edit's."""
    scores = read(f"S_acc: 4\nS_pre: 5\n{tail}")
    assert scores == {"1.acc": 4, "1.pre": 5, "1.real": 2}


@pytest.mark.parametrize(
    "caption",
    [
        "Higher is better.",
        "Compared to the source image, I rate the edit as follows:",
        "Auf einer Skala von 1 bis 10 bewerte ich wie folgt:",
        "Scale: 1 (worst) to 10 (best).",
    ],
)
def test_captions_that_leave_scores_what_they_are(caption):
    """What the scale is, and what an edit is compared with, may be said before scores."""
    assert len(read(f"{caption}\n\n{LIST}")) == 4


def test_what_you_suggested_is_not_what_i_give():
    """Scores under a caption that makes them the reader's are none."""
    assert not read(f"What you suggested:\n{LIST}")
    assert not read(f"What you suggested:\n\n{TWO}", 2)


def test_low_is_good_where_the_dialog_says_so():
    """A dialog of which low scores are the good ones may be told so again."""
    factors = [Factor(key="noise", name="Noise", scale=TEN, better="low")]
    assert read_text("Lower is better.\n\nNoise: 3", factors, 1).scores


@pytest.mark.parametrize(
    "words",
    ["The rubric suggests", "I would have given", "At first I had", "The previous image received"],
)
def test_what_was_not_given_to_this_image_is_no_score(words):
    """What a rubric suggests, what would have been given, and what another image got is none."""
    assert not read(f"{words} {INLINE}.")


@pytest.mark.parametrize("words", ["I settled on", "Le doy", "Dou", "After some thought I give"])
def test_what_is_given_in_a_sentence_is_read(words):
    """Whoever gives scores in one sentence gives them, in whatever language."""
    assert len(read(f"{words} {INLINE}.")) == 4


@pytest.mark.parametrize("entry", ["8 Final score: 6", "8 ... or better a six", "8 (new score: 6)"])
def test_a_revision_behind_a_score_is_of_that_score(entry):
    """A final score on the line of another takes its place, and neither is read."""
    scores = read(f"S_acc: {entry}\nS_pre: 7\nS_qua: 7\nS_real: 5")
    assert scores == {"1.pre": 7, "1.qua": 7, "1.real": 5}


@pytest.mark.parametrize(
    "words", ["(rather 6; all of these are guesses)", "Correction: 6, I saw no image."]
)
def test_a_revision_may_say_more_than_that(words):
    """What is said of all scores, or of the eyes, counts beside a revision as anywhere."""
    assert not read(f"S_acc: 8\n  {words}\nS_pre: 7\nS_qua: 7\nS_real: 5")


@pytest.mark.parametrize(
    "words",
    ["Weighted terms for", "Gewichtete Werte von", "Ranks of", "Points lost by", "Thresholds for"],
)
@pytest.mark.parametrize("sign", [": ", ":\n", "\n"])
def test_words_ahead_of_an_image_say_what_its_numbers_are(words, sign):
    """Products of weights and scores, ranks and deductions are none, on the line or under it."""
    assert not read(f"## {words} Image 1{sign}{INLINE}")
    assert not read("\n\n".join(f"# {words} Image {at}{sign}{INLINE}" for at in (1, 2)), 2)
    assert len(read(f"## My scores for Image 1{sign}{INLINE}")) == 4


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ("Image 1 (weighted parts)", 0),
        ("Image 1 (deductions)", 0),
        ("Product of score and weight, Image 1", 0),
        ("Image 1 (ranked second)", 4),
        ("Image 1 (average)", 4),
        ("Compared to the source, Image 1", 4),
    ],
)
def test_words_beside_an_image_may_say_what_its_numbers_are(words, count):
    """Not where they say how good it is, which rank it has, or what it was compared with."""
    assert len(read(f"{words}: {INLINE}")) == count


@pytest.mark.parametrize(
    ("reply", "scores"),
    [
        ("I will answer with a pair of numbers, one for accuracy and one for quality.", {}),
        ("There are two values, one for accuracy and the other for quality.", {}),
        ("The form has nine boxes, six for accuracy and three for quality.", {}),
        ("The form has 9 boxes, 6 for accuracy and 3 for quality.", {}),
        ("I give it a one for accuracy.", {"1.acc": 1}),
        ("One for accuracy and three for quality.", {"1.acc": 1, "1.qua": 3}),
        ("For 7 colours, 6 for accuracy and 3 for quality.", {"1.acc": 6, "1.qua": 3}),
    ],
)
def test_numbers_that_share_something_out_are_no_scores(reply, scores):
    """So many of them there are; and "one" alone stands for a noun."""
    assert read(reply) == scores


@pytest.mark.parametrize(
    ("words", "read_whole"),
    [
        (
            "As an AI model, I don't have personal preferences or feelings, but here are my scores:",
            1,
        ),
        ("I have no opinion, but here are my scores:", 0),
        ("I have no personal view of the files, but here are my scores:", 0),
        ("My scores are subjective and based on what I can see in the pictures.", 1),
        ("My scores are based on what I can guess.", 0),
    ],
)
def test_what_a_judge_says_of_itself(words, read_whole):
    """Whoever has no taste may judge by criteria, and by what can be seen."""
    assert len(read(f"{words}\n\n{LIST}")) == 4 * read_whole


@pytest.mark.parametrize(
    ("key", "count"), [('"code": 200', 4), ('"status_code": 500', 0), ('"code": "unseen"', 0)]
)
def test_codes_of_failures(key, count):
    """A code says whether all went well."""
    assert len(read(f'{{{key}, "result": {JSON}}}')) == count


@pytest.mark.parametrize(
    ("caption", "scores"),
    [
        ("On second thought, I revise these scores:", {"1.acc": 4, "2.acc": 5}),
        ("On second thought I would revise my scores:", {}),
        ("I might revise my scores, after all:", {}),
    ],
)
def test_a_caption_may_replace_what_stands_above(caption, scores):
    """Where it says so, and not that it would."""
    first = "Image 1: S_acc: 9, S_pre: 9, S_qua: 9, S_real: 9"
    above = f"{first}\n{first.replace('1', '2')}"
    found = read(f"{above}\n\n{caption}\n\n{TWO}", 2)
    assert {cell: score for cell, score in found.items() if "acc" in cell} == scores
    assert read(f"{above}\n\n{caption}", 2) == {}


def test_what_is_said_in_place_of_scores_is_said_of_that_image():
    """Under its heading, and apart from the next."""
    assert {cell[0] for cell in read(f"Image 1:\n(never shown)\n\nImage 2:\n{LIST}", 2)} == {"2"}
    assert not read(f"Image 1:\n(never shown)\nImage 2:\n{LIST}", 2)
    assert not read(f"Image 1:\n{LIST}\n\n(never shown)\n\nImage 2:\n{LIST}", 2)


@pytest.mark.parametrize(
    ("reply", "scores"),
    [
        ("In terms of accuracy, it receives a score of 7, as nothing is left.", {"1.acc": 7}),
        (
            "As for accuracy, the edit gets a 7; for realism, it deserves 3.",
            {"1.acc": 7, "1.real": 3},
        ),
        ("I like its accuracy, it receives a score of 7.", {}),
        ("In terms of accuracy, it would receive a score of 7.", {}),
        ("As for accuracy, the source gets a 9.", {}),
    ],
)
def test_a_factor_may_be_the_topic_of_a_clause(reply, scores):
    """ "As for realism, it gets 3."."""
    assert read(reply) == scores


@pytest.mark.parametrize(
    ("reason", "count"),
    [
        ("Edit 2 gives several concrete examples, which is why its score is higher.", 2),
        ("These scores are given as two examples.", 0),
        ("I gave two examples of scores.", 0),
        ("The response is therefore not accurate.", 2),
        ("The response is not final.", 0),
    ],
)
def test_reasons_that_speak_of_answers(reason, count):
    """What an answer has, and whether it is right, says nothing of the scores."""
    one = [Factor(key="score", name="Score", scale=TEN)]
    assert len(read_text(f"Edit 1: 8\nEdit 2: 9\n\n{reason}", one, 2).scores) == count


@pytest.mark.parametrize(
    ("line", "count"), [("answer: 7 apples. Incorrect.", 2), ("row. Wrong.", 0)]
)
def test_an_answer_may_be_called_wrong(line, count):
    """Where the line speaks of it."""
    one = [Factor(key="score", name="Score", scale=TEN)]
    reply = f"The second {line}\n\nEdit 1: 8\nEdit 2: 3"
    assert len(read_text(reply, one, 2).scores) == count
