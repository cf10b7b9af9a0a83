"""What is said about scores: by classes of words, and what is known to be harmless."""

import pytest

from lmmscore.dialog import load_dialog
from lmmscore.parsing import read_text
from lmmscore.parsing.lexicon import WORDS, named, row_of
from lmmscore.parsing.remarks import is_harmless, sees_nothing, takes_back

FOUR = load_dialog("lmm-score").factors
TWO = (
    "Image 1: S_acc: 8, S_pre: 7, S_qua: 9, S_real: 6\n"
    "Image 2: S_acc: 5, S_pre: 10, S_qua: 4, S_real: 3"
)
BESIDE = (
    '"image_1": {"S_acc": 8, "S_pre": 7, "S_qua": 9, "S_real": 6}, '
    '"image_2": {"S_acc": 5, "S_pre": 10, "S_qua": 4, "S_real": 3}'
)


def test_a_word_is_of_one_class():
    """Rules speak of classes: a word in two of them would mean whatever comes first."""
    listed = [word for words in WORDS.values() for word in words.split()]
    assert sorted(listed) == sorted(set(listed))


def test_words_are_known_by_stem_by_phrase_and_without_spaces():
    """A list holds endings, phrases and words of languages that put no space between them."""
    assert named(row_of("Guessing, made up")) == ["UNREAL", "COMMA", "UNREAL"]
    assert named(row_of("以上分数")) == ["THIS", "SCORE"]
    assert named(row_of("The picture’s flurbs")) == ["THE", "PICTURE", "UNKNOWN"]


@pytest.mark.parametrize(
    "reply",
    [
        f"{TWO}. This was a drill.",
        f"{TWO}\n\nThe real ones follow tomorrow.",
        f"{TWO}\n\nOnly the first one was visible to me.",
        f"{TWO}\n\nWir haben gewürfelt.",
        f"{TWO}\n\nThe smallest figure wins.",
        f"{TWO}\n\nAll marks on a six-point scale.",
        f"{TWO}\n\nHanded down from an earlier reviewer:",
        f"{TWO}\n\nOops, S_acc and S_pre got mixed.",
        f"The links you posted are broken, so I improvised.\n\n{TWO}",
        f"Number of votes for each image:\n\n{TWO}",
        f"Below are the minimum scores needed to pass:\n\n{TWO}",
        f"Sur 20 :\n\n{TWO}",
        f"Voici un exemple de notes :\n\n{TWO}",
        f"以下评分为估计值:\n\n{TWO}",
        f"以下是您给出的评分:\n\n{TWO}",
        f"元画像の採点結果は以下の通りです。\n\n{TWO}",
        f"Aquí tienes una plantilla de puntuaciones:\n\n{TWO}",
        f"{TWO}\n\nThe user drew lots.",
        f"{TWO}\n\nThese scores are as another evaluator would give them.",
    ],
)
def test_what_stands_apart_and_is_not_known_leaves_no_score(reply):
    """Closings, openings and captions may void scores in words that nobody has listed."""
    reading = read_text(reply, FOUR, 2)
    assert not reading.scores
    assert reading.faults[0].kind == "disclaimed"


@pytest.mark.parametrize(
    "reply",
    [
        f"Certainly! Based on the criteria you gave, I'd score the images as follows:\n\n{TWO}",
        f"{TWO}\n\nNone of the edits is perfect.",
        f"{TWO}\n\nThese scores reflect how well each image follows the instruction.",
        f"{TWO}\n\nPlease note that these scores are subjective and based on the images.",
        f"{TWO}\n\nIn case of doubt I preferred the lower score.",
        f"{TWO}\n\nThe sand is convincing, but no shadow falls on it.",
        f"{TWO}\n\nSag mir Bescheid, wenn du mehr brauchst.",
        f"{TWO}\n\nTodas las notas son sobre 10.",
        f"Voici mes notes détaillées pour chaque image :\n\n{TWO}",
        f"根据对比,两张编辑图像的评估结果如下(满分10分):\n\n{TWO}",
        f"各画像の評価結果は以下の通りです。\n\n{TWO}",
        f"Bewertung der bearbeiteten Bilder im Überblick:\n\n{TWO}",
        f"The prompt asks to bend the spoon.\n\n{TWO}",
        f"{TWO}\n\nSuch ratings are subjective, and another observer might differ by a point.",
        f"{TWO}\n\nReady for the next step whenever you are!",
    ],
)
def test_what_is_known_to_be_harmless_leaves_all_scores(reply):
    """Announcements, thanks, descriptions and how the judge went about it take nothing back."""
    assert read_text(reply, FOUR, 2).complete


@pytest.mark.parametrize(
    "note",
    [
        '"units": "percent"',
        '"direction": "lower is better"',
        '"basis": "file names only"',
        '"rater": "human_03"',
        '"image_access": "none"',
        '"images_seen": "0 of 2"',
        '"note": "values are dummies"',
        '"flurb": true',
    ],
)
def test_a_key_beside_the_images_must_be_known(note):
    """An object in which an unknown key stands beside the images is no verdict."""
    assert not read_text(f"{{{note}, {BESIDE}}}", FOUR, 2).scores


@pytest.mark.parametrize(
    "note",
    [
        '"model": "gpt-5", "version": 2',
        '"valid": true, "error": null',
        '"summary": "Image 1 is the better edit."',
        '"scale": {"min": 1, "max": 10}',
        '"direction": "higher is better"',
    ],
)
def test_known_keys_beside_the_images_change_nothing(note):
    """Names, states and the scale that was asked for leave scores as they are."""
    assert read_text(f"{{{note}, {BESIDE}}}", FOUR, 2).complete


@pytest.mark.parametrize(
    "reply",
    [
        '[{"image": 1, "S_acc": 8, "S_pre": 7, "S_qua": 9, "S_real": 6, "comment": "fine"}, {'
        '"image": 2, "S_acc": 5, "S_pre": 5, "S_qua": 5, "S_real": 5, "comment": "did not load"}]',
        f"{TWO}\n\nImage 2 was a corrupt file.",
        f"{TWO}\n\nThe numbers for Image 2 are provisional.",
    ],
)
def test_a_note_on_one_image_faults_that_image_only(reply):
    """What is said of one image says nothing of the others."""
    assert {position for position, _ in read_text(reply, FOUR, 2).scores} == {1}


@pytest.mark.parametrize(
    ("closing", "taken"),
    [
        ("I withdraw S_pre of Image 2, since the hill is new.", {(2, "pre")}),
        ("The Contextual Preservation of Image 2 is void: the hill is new.", {(2, "pre")}),
        ("* A guess.", {(1, "acc")}),
        ("* The best of both.", set()),
        ("S_pre of Image 2 sinks to 1.", {(2, "pre")}),
        ("Image 1 loses 2 points in S_acc.", set()),
    ],
)
def test_single_scores_are_taken_back_by_name_or_by_a_footnote(closing, taken):
    """Whatever the reason speaks of, the other scores stay."""
    noted = TWO.replace("S_acc: 8", "S_acc: 8*", 1)
    assert noted != TWO
    reading = read_text(f"{noted}\n\n{closing}", FOUR, 2)
    cells = {(image, factor.key) for image in (1, 2) for factor in FOUR}
    assert cells - reading.scores.keys() == taken


def test_an_order_stated_in_ordinals_is_heeded():
    """Lists without labels are of the images in their order, unless another is stated."""
    lists = "\n".join(f"{factor.symbol}: 8, 5, 2" for factor in FOUR)
    assert read_text(f"In the order first, second, third:\n{lists}", FOUR, 3).complete
    assert not read_text(f"In the order third, first, second:\n{lists}", FOUR, 3).scores


def test_rules_tell_what_was_not_seen_from_what_is_not_there():
    """A missing bird is seen to be missing; a missing picture is not seen."""
    assert sees_nothing("None of the attached pictures could be opened.")
    assert not sees_nothing("In Image 2 I can't see the second bird any more.")
    assert takes_back("Please disregard the table above.")
    assert not takes_back("The edit ignored the hat.")
    assert not is_harmless("This was all in jest.")


@pytest.mark.parametrize(
    ("opening", "is_read"),
    [
        ("These are my scores, from measured facts only:", True),
        ("These are my scores, from the file names only:", False),
        ("It fits.", True),
        ("Step 1: two parts match.", True),
        ("It was made up.", False),
    ],
)
def test_what_scores_rest_on_may_be_said_before_them(opening: str, is_read: bool):
    """What was seen is harmless ahead of scores; what stands in for seeing voids them."""
    assert bool(read_text(f"{opening}\n\n{TWO}", FOUR, 2).scores) is is_read
