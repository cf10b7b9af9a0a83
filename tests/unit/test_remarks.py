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
    assert reading.faults[0].kind in {"disclaimed", "doubtful"}


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
        f"Final scores, including the weighted totals:\n\n{TWO}",
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


# Captions and closings whose every word is plain or common, but whose scores are another's, usual,
# of other pictures, on another scale, or still to come.
VOIDED_BY_CAPTIONS = [
    "Here are the scores I usually give for such edits:",
    "The scores I always start with:",
    "Scores as they were last time:",
    "These scores were handed to me along with the images:",
    "Here are the numbers that came with the task:",
    "Scores taken with care from the first table:",
    "The scores for the source picture are as follows:",
    "Scores of the images you will send next:",
    "Scores that I will change after a closer look:",
    "Scores for two similar images:",
    "Scores on a scale of my own:",
    "Scores, where one is the finest:",
    "With my eyes closed, I rate them as follows:",
    "Here are precise scores from the product page:",
    "Die üblichen Noten für solche Bilder:",
    "Die Noten stammen aus einem Katalog:",
    "Voici les notes de la dernière fois :",
    "Puntuaciones sacadas de un folleto:",
    "I voti che mi hanno dato:",
    "Based on the images you described, my scores are:",
    "Solo hay una imagen visible.",
    "As notas que me deram:",
    "De cijfers van de vorige keer:",
    "Обычные оценки для таких изображений:",
    "以下是上次的评分：",
    "渡されたスコアは以下の通りです：",
    "평소 점수는 다음과 같습니다:",
]
VOIDED_BY_CLOSINGS = [
    "I will look at the images now.",
    "Let me look again.",
    "Would you like me to score the images now?",
    "The final scores come next.",
    "More precise scores follow.",
    "I can give precise scores in the next step.",
    "The scores will be checked.",
    "Ready to score!",
    "A second look is needed.",
    "My assistant gave these.",
    "I tried to open the images.",
    "I took care to match the values of the brochure.",
    "I aimed to flatter the gallery.",
    "Decimals were used to encode the image index.",
    "They will be replaced by the final scores.",
    "These are differences.",
    "The first is the second and the second is the first.",
    "High is bad.",
    "Feel free to put your own numbers in.",
    "Soll ich mir die Bilder jetzt ansehen?",
    "Ahora voy a mirar las imágenes.",
    "接下来我会查看图片。",
]
HARMLESS_OPENINGS = [
    "Let's carefully assign scores, minding the small details:",
    "Having looked closely at both edits, I arrive at the following scores:",
    "Okay, I'm ready to score the two edits!",
    "I'll give detailed scores for each image, looking closely at the small differences:",
    "Here are my scores, with the notes that led to them:",
    "Based on the images and the editing prompt, here is my evaluation:",
    "Ecco i voti per ciascuna immagine:",
    "Below are calibrated scores.",
    "Here are the refined scores:",
    "Here's the full scoring, one image after another:",
    "As the differences are subtle, I've used fractional values.",
    "Given the number of methods, I used one decimal to avoid ties.",
    "Alright, here are the numbers you asked for:",
    "Ich habe beide Bilder noch einmal genau miteinander verglichen.",
    "Gerne, hier die Ergebnisse im Überblick:",
    "Très bien, passons à la notation.",
    "A continuación presento las puntuaciones, procurando evitar empates:",
    "Molto bene, ecco i voti per ogni immagine:",
    "Muito bem, aqui estão as notas de cada imagem:",
    "Hier zijn de scores voor elke afbeelding:",
    "Отлично, перейдём к оценкам.",
    "根据前面的分析，各图像得分如下：",
    "それでは、各画像のスコアを発表します。",
    "좋습니다! 이미지별 점수는 다음과 같습니다.",
]
HARMLESS_CLOSINGS = [
    "I appreciate your patience.",
    "I took care to treat glossy and dull edits alike where a difference could be seen.",
    "I made sure that small flaws of the roof tiles are noticed.",
    "Decimals are used only where two edits were otherwise identical.",
    "These are minor, non-structural differences.",
    "These scores should provide a full overview of the edits.",
    "If you're ready, I can move on to Step 3.",
    "I'm happy to walk through any of these before we compute the overall scores.",
    "These scores are based on visual inspection alone and are inherently subjective.",
    "I tried to avoid identical scores where possible.",
    "These factors are partly a matter of taste, of course.",
    "The edit is precise and everything else is well preserved.",
    "Image 1 is the stronger edit, with a 3-point lead in S_acc.",
    "Best quality: Image 1 with 9, though it hardly applied the edit.",
    "Confidence: high",
    "A gap of half a point is not significant; others may disagree.",
    "If you weigh style more, the order would flip, but the scores stand.",
    "Would you like me to compute S_all for each image?",
    "Soll ich nun die Gesamtwertung berechnen?",
    "Je peux aussi calculer la note globale si vous le souhaitez.",
    "¿Desea que calcule ahora S_all?",
    "Posso calcular a nota geral, se desejar.",
    "Хотите, чтобы я рассчитал S_all?",
    "如果需要，我可以继续计算总分 S_all。",
    "必要であれば、S_all を計算します。",
]


@pytest.mark.parametrize(
    "reply",
    [f"{words}\n\n{TWO}" for words in VOIDED_BY_CAPTIONS]
    + [f"{TWO}\n\n{words}" for words in VOIDED_BY_CLOSINGS],
)
def test_everyday_words_may_void_scores(reply):
    """Whose scores are, what is usual and what is put off count, in whatever everyday words."""
    assert not read_text(reply, FOUR, 2).scores


@pytest.mark.parametrize(
    "reply",
    [f"{words}\n\n{TWO}" for words in HARMLESS_OPENINGS]
    + [f"{TWO}\n\n{words}" for words in HARMLESS_CLOSINGS],
)
def test_everyday_words_leave_scores_alone(reply):
    """How the judge went about it, offers and questions leave every score, in any language."""
    assert read_text(reply, FOUR, 2).complete


@pytest.mark.parametrize(
    ("heading", "is_read"),
    [("Main reasons:", True), ("Remarques :", True), ("主要问题：", True), ("Corrections:", False)],
)
def test_a_heading_behind_all_scores_heads_remarks(heading, is_read):
    """Images named under it have their scores above; only what looks back can void these."""
    reply = f"{TWO}\n\n{heading}\n- Image 1 keeps the pier.\n- Image 2 loses a gull."
    assert read_text(reply, FOUR, 2).complete is is_read


@pytest.mark.parametrize(
    ("words", "n", "read"),
    [
        ("Since there is only one edited image, here is its score:", 1, 4),
        ("There is only one edited image.", 2, 0),
        ("Image 3: I can't score this one, as it seems to be the source sent again.", 3, 8),
        ("Image 3: I'm sorry, I could not open this one.\n\nJust resend it!", 3, 8),
        ("Image 3: Désolé, je n'ai pas pu ouvrir cette image.", 3, 8),
        ("I could not open the images.\n\nJust resend them!", 3, 0),
    ],
)
def test_an_image_that_is_not_there_takes_no_other_with_it(words, n, read):
    """One image is all where one was asked for; one that did not open is left out alone."""
    lines = TWO.splitlines()
    reply = f"{words}\n\n{lines[0]}" if n == 1 else f"{TWO}\n{words}"
    assert len(read_text(reply, FOUR, n).scores) == read
