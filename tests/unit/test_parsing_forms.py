"""Forms in which judges give scores, and words beside them: what is read, and what is not."""

from __future__ import annotations

import pytest

from lmmscore.dialog import load_dialog
from lmmscore.parsing import read_text
from lmmscore.scales import Factor, Scale
from tests.reply_layouts import TWELVE

FOUR = load_dialog("lmm-score").factors
ONE = (Factor(key="score", name="Score", symbol="Score", scale=Scale(min=1, max=10)),)
TWO_IMAGES = (
    "Image 1: S_acc 7, S_pre 5, S_qua 9, S_real 6\nImage 2: S_acc 4, S_pre 8, S_qua 3, S_real 2"
)
BOTH = {1: (7, 5, 9, 6), 2: (4, 8, 3, 2)}
LIST = "S_acc: 7\nS_pre: 5\nS_qua: 9\nS_real: 6"


def scores(reply, n, factors=FOUR):
    """Return what is read, for each image in the order of the factors."""
    read = read_text(reply, factors, n).scores
    found = {}
    for image in range(1, n + 1):
        row = tuple(read.get((image, factor.key)) for factor in factors)
        if any(score is not None for score in row):
            found[image] = row
    return found


@pytest.mark.parametrize(
    "reply",
    [
        "Image 1 - acc 7 · pre 5 · qua 9 · real 6\nImage 2 - acc 4 · pre 8 · qua 3 · real 2",
        "[1] S_acc 7 S_pre 5 S_qua 9 S_real 6\n[2] S_acc 4 S_pre 8 S_qua 3 S_real 2",
        "1: acc=7; pre=5; qua=9; real=6\n2: acc=4; pre=8; qua=3; real=2",
        "① S_acc: 7, S_pre: 5, S_qua: 9, S_real: 6\n② S_acc: 4, S_pre: 8, S_qua: 3, S_real: 2",
        "01.png: S_acc 7, S_pre 5, S_qua 9, S_real 6\n02.png: S_acc 4, S_pre 8, S_qua 3, S_real 2",
        "Image 1: 7 → S_acc, 5 → S_pre, 9 → S_qua, 6 → S_real\n"
        "Image 2: 4 → S_acc, 8 → S_pre, 3 → S_qua, 2 → S_real",
        "S_acc/S_pre/S_qua/S_real\nImage 1: 7/5/9/6\nImage 2: 4/8/3/2",
        "Image: (acc, pre, qua, real)\n1: (7, 5, 9, 6)\n2: (4, 8, 3, 2)",
        "For Image 1, I give 7 for accuracy, 5 for preservation, 9 for quality and 6 for realism. "
        "For Image 2, I give 4 for accuracy, 8 for preservation, 3 for quality and 2 for realism.",
        "Image 1 comes out with 7 in accuracy, 5 in preservation, 9 in quality and 6 in realism.\n"
        "Image 2 comes out with 4 in accuracy, 8 in preservation, 3 in quality and 2 in realism.",
        "For Image 1, S_acc, S_pre, S_qua and S_real are 7, 5, 9 and 6, respectively.\n"
        "For Image 2, S_acc, S_pre, S_qua and S_real are 4, 8, 3 and 2, respectively.",
        "$S_{acc,1} = 7$, $S_{pre,1} = 5$, $S_{qua,1} = 9$, $S_{real,1} = 6$\n"
        "$S_{acc,2} = 4$, $S_{pre,2} = 8$, $S_{qua,2} = 3$, $S_{real,2} = 2$",
        "- image: 1\n  S_acc: 7\n  S_pre: 5\n  S_qua: 9\n  S_real: 6\n"
        "- image: 2\n  S_acc: 4\n  S_pre: 8\n  S_qua: 3\n  S_real: 2",
        "In **image 1**, $S_{acc} = 7$, $S_{pre} = 5$, $S_{qua} = 9$ and $S_{real} = 6$.\n"
        "In **image 2**, $S_{acc} = 4$, $S_{pre} = 8$, $S_{qua} = 3$ and $S_{real} = 2$.",
        "USER: Score both, S_acc first. ASSISTANT: " + TWO_IMAGES.replace("\n", ". "),
        "Photo (a):\nS_acc: 7\nS_pre: 5\nS_qua: 9\nS_real: 6\n\n"
        "Photo (b):\nS_acc: 4\nS_pre: 8\nS_qua: 3\nS_real: 2",
        "1: acc=7, pre=5, qua=9, real=6; 2: acc=4, pre=8, qua=3, real=2",
        "S_acc 7, S_pre 5, S_qua 9, S_real 6\nS_acc 4, S_pre 8, S_qua 3, S_real 2",
        "Image 1:\nS_acc: 7 (Image 2: 4)\nS_pre: 5\nS_qua: 9\nS_real: 6\n\n"
        "Image 2:\nS_acc: 4 (Image 1 got 7)\nS_pre: 8\nS_qua: 3\nS_real: 2",
        "Image 1:\nS_acc: Half a sail. Score: 7/10\nS_pre: The upper third of the picture "
        "is new. Score: 5/10\nS_qua: Sharp. Rating: 9/10\nS_real: Fine. My score: 6/10\n\n"
        "Image 2:\nS_acc: No sail. Score: 4/10\nS_pre: As it was. Score: 8/10\n"
        "S_qua: Blurred. Score: 3/10\nS_real: No shadow. Score: 2/10",
        "The first edit earns 7 for accuracy, 5 for preservation, 9 for quality and 6 for realism. "
        "The second edit, by contrast, earns only 4 for accuracy, but 8 for preservation; its "
        "quality is worth 3 and its realism 2.",
        "Bild 1 bekommt für S_acc 7 Punkte, für S_pre 5 Punkte, für S_qua 9 und für S_real 6.\n"
        "Bild 2 bekommt 4 Punkte für S_acc, 8 für S_pre, 3 für S_qua und 2 Punkte für S_real.",
        "L'image 1 obtient pour S_acc 7 points, pour S_pre 5, pour S_qua 9 et pour S_real 6.\n"
        "L'image 2 obtient 4 points pour S_acc, 8 pour S_pre, 3 pour S_qua et 2 pour S_real.",
        "图1的S_acc为7，S_pre为5，S_qua为9，S_real为6。\n图2的S_acc为4，S_pre为8，S_qua为3，S_real为2。",
        "图像1：\n编辑准确性：7分\n上下文保持：5分\n视觉质量：9分\n逻辑真实性：6分\n\n"
        "图像2：\n编辑准确性：4分\n上下文保持：8分\n视觉质量：3分\n逻辑真实性：2分",
        "image;factor;score\n1;S_acc;7\n1;S_pre;5\n1;S_qua;9\n1;S_real;6\n"
        "2;S_acc;4\n2;S_pre;8\n2;S_qua;3\n2;S_real;2",
        'Image,S_acc,S_pre,S_qua,S_real,Comment\n1,7,5,9,6,"2 boats, no oars"\n2,4,8,3,2,"dull"',
        "**S_acc**\n\n| Image | Score |\n|---|---|\n| 1 | 7 |\n| 2 | 4 |\n\n"
        "**S_pre**\n\n| Image | Score |\n|---|---|\n| 1 | 5 |\n| 2 | 8 |\n\n"
        "**S_qua**\n\n| Image | Score |\n|---|---|\n| 1 | 9 |\n| 2 | 3 |\n\n"
        "**S_real**\n\n| Image | Score |\n|---|---|\n| 1 | 6 |\n| 2 | 2 |",
        "| Image | S_acc | S_pre | S_qua | S_real | Notes |\n|---|---|---|---|---|---|\n"
        "| 1 | 7 | 5 | 9 | 6 | S_acc would be 9 with a sail |\n| 2 | 4 | 8 | 3 | 2 | dull |",
        "<h3>Image 1</h3>\n<ul><li>S_acc: 7</li><li>S_pre: 5</li><li>S_qua: 9</li>"
        "<li>S_real: 6</li></ul>\n<h3>Image 2</h3>\n<ul><li>S_acc: 4</li><li>S_pre: 8</li>"
        "<li>S_qua: 3</li><li>S_real: 2</li></ul>",
        "Image 1: 7, 5, 9, 6 (S_acc, S_pre, S_qua, S_real)\n"
        "Image 2: 4 / 8 / 3 / 2 [accuracy / preservation / quality / realism]",
        "Format: image) S_acc-S_pre-S_qua-S_real\n\n1) 7-5-9-6\n2) 4-8-3-2",
        "(S_acc / S_pre / S_qua / S_real)\n1. 7.0 / 5.0 / 9.0 / 6.0\n2. 4.0 / 8.0 / 3.0 / 2.0",
        "For the two images, S_acc is 7 and 4, respectively; S_pre is 5 and 8; S_qua is 9 and 3; "
        "and S_real is 6 and 2.",
        "Image 1: 7 for S_acc, 5 for S_pre, S_qua 9, S_real 6\n"
        "Image 2: S_acc 4, S_pre 8, 3 for S_qua, 2 for S_real",
        "Image 1 gets 7 for accuracy, 5 for preservation, 9 for quality and 6 for realism. The "
        "second earns 4 for accuracy, 8 for preservation, 3 for quality and 2 for realism.",
        "Image 1\n$$\n\\begin{aligned}\nS_{acc} &= 7 \\\\\nS_{pre} &= 5 \\\\\nS_{qua} &= 9 "
        "\\\\\nS_{real} &= 6\n\\end{aligned}\n$$\n\nImage 2\n$$\n\\begin{aligned}\nS_{acc} &= 4 "
        "\\\\\nS_{pre} &= 8 \\\\\nS_{qua} &= 3 \\\\\nS_{real} &= 2\n\\end{aligned}\n$$",
        "Image 1\n: Accuracy\n:: 7 — 2 sails are new\n: Preservation\n:: 5\n: Quality\n:: 9\n"
        ": Realism\n:: 6\n\nImage 2\n: Accuracy\n:: 4\n: Preservation\n:: 8 — 1 gull gone\n"
        ": Quality\n:: 3\n: Realism\n:: 2",
        "| | #1 | #2 |\n|---|---|---|\n| Acc. | 7 | 4 |\n| Pres. | 5 | 8 |\n| Visual Qual. | 9 | 3 |\n"
        "| Real. | 6 | 2 |",
        "Please answer in this form:\n\nImage 1:\nS_acc: <number>\nS_pre: <number>\n\n"
        f"{TWO_IMAGES}",
        "The reviewer before me gave these scores:\nImage 1: S_acc 9, S_pre 9\nImage 2: S_acc 8\n\n"
        f"My own scores:\n{TWO_IMAGES}",
        f"**Thinking**\nImage 1 may be S_acc: 5, S_pre: 5.\n\n**Answer**\n{TWO_IMAGES}",
        "**Image 1**\nThe sail is new. **S_acc: 7**. A gull is gone (**S_pre: 5**). It is sharp "
        "(**S_qua: 9**), and the mast leans (**S_real: 6**).\n\n**Image 2**\nNo sail. **S_acc: 4**. "
        "All is there (**S_pre: 8**). It is blurred (**S_qua: 3**) and odd (**S_real: 2**).",
        "First, Image 1. The sail is new, and the gull that sat on the mast has flown away.\n"
        "S_acc=7, S_pre=5, S_qua=9, S_real=6\n\nNext, Image 2. The mast went from 2 sails to 1.\n"
        "S_acc=4, S_pre=8, S_qua=3, S_real=2",
        "Image 1:\nS_acc: 7\nS_pre: 1 of the 3 boats was lost.\n  Score: 5\nS_qua: 9\nS_real: 6\n\n"
        "Image 2:\nS_acc: 4. Lower than Image 1's 7.\nS_pre: 8\nS_qua: 3\nS_real: 2",
        TWO_IMAGES.lower().replace(":", "").replace(",", "").replace("\n", " "),
        TWO_IMAGES.replace("Image 1", "Edit α").replace("Image 2", "Edit β"),
        "Image 0 (source): S_acc 10, S_pre 10, S_qua 9, S_real 9\n"
        + TWO_IMAGES.replace("1:", "1 (first edit):").replace("2:", "2 (second edit):"),
        "Format: image → S_acc / S_pre / S_qua / S_real\n1 → 7 / 5 / 9 / 6\n2 → 4 / 8 / 3 / 2",
        "S_acc is 7 and 4 for Images 1 and 2, respectively; S_pre is 5 and 8; S_qua is 9 and 3; "
        "S_real is 6 and 2.",
        "image;S_acc;S_pre;S_qua;S_real;comment\n1;7;5;9;6;a mast\n2;4;8;3;2;unedited",
        "**1️⃣ Image 1**\nAcc: 7/10 – red\nPres: 5/10\nQual: 9/10\nReal: 6/10\n\n"
        "**2️⃣ Image 2**\nAcc: 4/10\nPres: 8/10\nQual: 3/10 – blue\nReal: 2/10",
        "Image 1\n  Editing Accuracy ...... 7\n  Context Preservation . 5\n  Quality ...... 9\n"
        "  Realism ...... 6\n\nImage 2\n  Editing Accuracy ...... 4\n  Context Preservation . 8/10\n"
        "  Quality ...... 3\n  Realism ...... 2",
        "Thank you!\n\n**Image 1 – red boat**\n\nThe mast is gone.\n\nS_acc: 7\nS_pre: 5\nS_qua: 9\nS_real: 6\n\n**Image 2 – blue boat**"
        "\n\nS_acc: 4\nS_pre: 8\nS_qua: 3\nS_real: 2\n\n**Ranking**\n\n1. Image 1\n2. Image 2",
    ],
)
def test_a_layout_that_a_person_reads_without_doubt_is_read(reply):
    """Signs, labels, orders and languages differ; which score is whose does not."""
    assert scores(reply, 2) == BOTH


def test_a_reason_may_come_before_its_score():
    """The score then ends the line, in whatever words."""
    reply = (
        "S_acc: Only one boat has a sail. Score: 7.\n"
        "S_pre: Good overall quality, but the pier is gone. Therefore I give 5.\n"
        "S_qua: Sharp throughout. So: 9/10.\n"
        "S_real: The mast bends. 6/10"
    )
    assert scores(reply, 1) == {1: (7, 5, 9, 6)}


@pytest.mark.parametrize(
    "end",
    [". Score {}.", ". Rating of {}", ". **{}**", ". ({})", ". → {}", " → {}", " => {}."],
)
def test_a_bare_number_may_end_each_entry(end):
    """Where entries go that way, it is a sentence of its own, or an arrow leads to it."""
    reasons = [
        "Only one boat has a sail",
        "The pier is gone",
        "Sharp throughout",
        "The mast is bent",
    ]
    names = ["Accuracy", "Preservation", "Quality", "Realism"]
    lists = [
        "\n".join(
            f"- {name} — {reason}{end.format(score)}"
            for name, reason, score in zip(names, reasons, of_one, strict=True)
        )
        for of_one in BOTH.values()
    ]
    assert scores(lists[0], 1) == {1: BOTH[1]}
    assert scores(f"**Image 1**\n\n{lists[0]}\n\n**Image 2**\n\n{lists[1]}", 2) == BOTH


@pytest.mark.parametrize(
    "ends",
    [
        ("The boat is gone. 1", "Nothing else is. 2", "Sharp. 3", "Bent mast. 4"),
        ("See fig. 7", "See fig. 5", "See fig. 9", "See fig. 6"),
        ("Its rank → 7", "Its rank → 5", "Its rank → 9", "Its rank → 6"),
        ("It could be a → 7", "It might be a → 5", "If it were sharp → 9", "at the most → 6"),
        ("The boat is gone. 7", "Nothing else.", "Sharp.", "A bent mast, I fear."),
        ("how well it is done (10)", "what is kept (10)", "how sharp (10)", "how real (10)"),
    ],
)
def test_a_number_at_the_end_may_be_none(ends):
    """What counts the entries, refers to something, is supposed, or ends one entry only."""
    names = ["S_acc", "S_pre", "S_qua", "S_real"]
    reply = "\n".join(f"- {name}: {end}" for name, end in zip(names, ends, strict=True))
    assert scores(reply, 1) == {}


SYMBOLS = ("S_acc", "S_pre", "S_qua", "S_real")
FIRST, SECOND = (
    "\n".join(f"- {name}: {score}" for name, score in zip(SYMBOLS, row, strict=True))
    for row in BOTH.values()
)


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("**Image 1** paints 2 boats and 3 oars red.", "**Image 2** leaves 5 boats and 3 oars."),
        (
            "Looking at them closely:\n\nImage 1 turns the boat red.",
            "Image 2 does not. See Image 1.",
        ),
        ("In Image 1, the boat is red.\n\nIts mast is gone.", "In Image 2, it is blue.\n\nAlas!"),
        ("Bild 1 zeigt das Boot in Rot.", "Bild 2 lässt es, wie es war."),
    ],
)
def test_a_paragraph_that_opens_with_an_image_heads_the_list_below_it(above, below):
    """Each image has one such paragraph, and no other heading."""
    assert scores(f"{above}\n\n{FIRST}\n\n{below}\n\n{SECOND}", 2) == BOTH
    shorter = SECOND.replace("- S_qua: 3\n", "")
    read = scores(f"{above}\n\n{FIRST}\n\n{below}\n\n{shorter}", 2)
    assert read == BOTH | {2: (4, 8, None, 2)}


@pytest.mark.parametrize(
    "reply",
    [
        f"### Image 1\n\nImage 2 is sharper.\n\n{FIRST}\n\n### Image 2\n\nImage 1 is not.\n\n{SECOND}",
        f"Image 1:\n\nImage 2 is sharper.\n\n{FIRST}\n\nImage 2:\n\nImage 1 is not.\n\n{SECOND}",
        f"{FIRST}\n\nImage 1 turns the boat red.\n\n{SECOND}\n\nImage 2 leaves it blue.",
        f"Image 1 turns the boat red.\n\nImage 2 leaves it blue.\n\n{FIRST}\n\n{SECOND}",
        f"Image 1 turns the boat red.\n\n{FIRST}\n\nThe other leaves it blue.\n\n{SECOND}",
    ],
)
def test_a_paragraph_about_an_image_may_head_nothing(reply):
    """Where headings, order or number of the lists speak against it, nobody knows whose they are."""
    assert scores(reply, 2) == {}


@pytest.mark.parametrize(
    ("opening", "score"),
    [
        ("The edit deserves a 7 in accuracy: the boat is red.", 7),
        ("There are 7 in accuracy: the boats are red.", None),
    ],
)
def test_a_score_before_its_factor_may_be_explained_behind_a_colon(opening, score):
    """Also where the other factors have their scores behind them."""
    reply = f"{opening} Preservation gets a 5, quality gets a 9, and realism gets a 6."
    assert scores(reply, 1) == {1: (score, 5, 9, 6)}


@pytest.mark.parametrize(
    ("lead", "score"),
    [
        ("So not fully natural", 7),
        ("Thus a good edit", 7),
        ("So the paper has it", None),
        ("Therefore they gave", None),
        ("So my guess", None),
        ("Hence the minimum", None),
    ],
)
def test_what_is_concluded_may_lead_up_to_a_score(lead, score):
    """It tells of the edit, and not of others, bounds or guesses."""
    reply = f"The sky is dark. {lead}: **S_acc = 7**.\n\nS_pre: 5\nS_qua: 9\nS_real: 6"
    assert scores(reply, 1) == {1: (score, 5, 9, 6)}


@pytest.mark.parametrize(
    ("remark", "score"),
    [
        ("Compared with Image 1, realism is four points lower for that.", 2),
        ("I make the realism two points lower after all.", None),
        ("Compared with Image 1, realism is 3 or 4.", None),
    ],
)
def test_by_how_much_a_score_differs_is_no_second_one(remark, score):
    """Paragraphs of images, with their scores amid sentences."""
    first, second = TWO_IMAGES.replace("Image 1:", "").replace("Image 2:", "").split("\n")
    reply = (
        f"Image 1 turns the boat red. **Scores:**{first}. The mast is gone.\n\n"
        f"Image 2 leaves it blue. **Scores:**{second}. {remark}"
    )
    assert scores(reply, 2).get(2, (None,))[-1] == score


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("The boats look real. Overall, I'd rate this edit 8 out of 10.", 8),
        ("Clean removal, no ghosting. I give it a 9.", 9),
        ("7/10. The sail is green now, but so is the mast.", 7),
        ("Verdict: 6/10", 6),
        ("If it were sharp, I would give it a 9.", None),
        ("I give it an 8 or a 9.", None),
        ("Taken on 5/10 at noon.", None),
    ],
)
def test_one_score_may_be_given_in_a_sentence(reply, score):
    """Where one thing is scored, "I rate it" names it."""
    expected = {} if score is None else {1: (score,)}
    assert scores(reply, 1, ONE) == expected


@pytest.mark.parametrize(
    "explanation",
    [
        "Better than Images 1 and 2 in this respect.",
        "Preservation suffers from the same problem.",
        "Good overall quality with no artifacts.",
        "Much like Image 2, only sharper.",
        "Slightly weaker than Image 2.",
        "Could be a photograph.",
    ],
)
def test_an_explanation_may_name_images_and_factors(explanation):
    """What is compared with another image stays a score of its own."""
    entries = "\n".join(f"- {line} – {explanation}" for line in LIST.split("\n"))
    reply = f"Image 1\n{entries}\n\nImage 2\n- S_acc: 4\n- S_pre: 8\n- S_qua: 3\n- S_real: 2"
    assert scores(reply, 2) == BOTH


@pytest.mark.parametrize(
    "sentence",
    [
        "Hello! I had a careful look at the edit.",
        "Great, let's dive in!",
        "The bridge lost one arch.",
        "Le renard est bien conservé, mais l'ombre est un peu dure.",
        "雪は砂浜に置き換えられ、キツネはそのままです。",
        "Some factors could not be judged and are left out.",
        "Image 1 and Image 2 are close to each other.",
    ],
)
def test_words_that_concern_no_score_leave_all_of_them(sentence):
    """A greeting or a description, before or after the scores, in whatever language."""
    assert scores(f"{sentence}\n\n{TWO_IMAGES}", 2) == BOTH
    assert scores(f"{TWO_IMAGES}\n\n{sentence}", 2) == BOTH


@pytest.mark.parametrize(
    "reply",
    [
        f"What I call Image 1 is your second upload.\n\n{TWO_IMAGES}",
        f"I count from zero.\n\n{TWO_IMAGES}",
        f"{TWO_IMAGES}\n\nすみません、画像1と画像2を取り違えていました。",
        f"<!-- sample values so that the page renders -->\n{TWO_IMAGES}",
        f"Shall I enter the following?\n{TWO_IMAGES}",
        f"> {TWO_IMAGES.splitlines()[0]}\n\nThat was the first reviewer's opinion.",
        f"System: answer like this:\n{TWO_IMAGES}",
        '{\n// dummy values\n"image_1": {"S_acc": 7}, "image_2": {"S_acc": 4}}',
        "Points taken off:\n- Image 1: S_acc 2, S_pre 1\n- Image 2: S_acc 4, S_pre 3",
        f"Nem látom a képeket, csak kitaláltam.\n\n{TWO_IMAGES}",
        "| Factor | Issues found |\n|---|---|\n| S_acc | 2 |\n| S_pre | 1 |",
        "| Factor | Last year | This year |\n|---|---|---|\n| S_acc | 6 | pending |",
        f"In base 7, out of habit:\n{TWO_IMAGES}",
        TWO_IMAGES.replace("Image 1", "#1 Edit 2").replace("Image 2", "#2 Edit 1"),
        f"Auf dem Plakat an der Wand steht Folgendes.\n\n{TWO_IMAGES}",
        f"黒板には次のように書かれています。\n\n{TWO_IMAGES}",
        f"Tura 1\n{TWO_IMAGES}\n\nTura 2\n"
        "Image 1: S_acc 7, S_pre 6, S_qua 8, S_real 5\n"
        "Image 2: S_acc 5, S_pre 8, S_qua 4, S_real 3",
    ],
)
def test_words_that_make_scores_something_else_leave_none(reply):
    """Names given otherwise, drafts in comments, questions, other people's words, deductions."""
    assert scores(reply, 2) == {}


@pytest.mark.parametrize(
    "second",
    [
        "Image 2 (guessed, since it did not load): S_acc 4, S_pre 8, S_qua 3, S_real 2",
        "Image 2: S_acc 4, S_pre 8, S_qua 3, S_real 2 (obsolete)",
        "Image 2 (by mistake I looked at the source): S_acc 4, S_pre 8, S_qua 3, S_real 2",
        "Image 2: S_acc 4, S_pre 8, S_qua 3, S_real 2 (wartości domyślne)",
        "Image 2: S_acc 4, S_pre 8, S_qua 3, S_real 2 (bestand kon niet worden geopend)",
        "Image 2: S_acc 5, S_pre 5, S_qua 5, S_real 5 (failas neatsidarė)",
    ],
)
def test_what_stands_beside_scores_may_void_them(second):
    """Words in brackets on the line of an image void its scores, and no others."""
    assert scores(f"{TWO_IMAGES.splitlines()[0]}\n{second}", 2) == {1: BOTH[1]}


@pytest.mark.parametrize(
    "entry",
    [
        *("7 (+1 for the sail)", "7(.5)", "$7", "7, falls das Segel zählt", "7 without the mast"),
        *("6 - 8 depending on the light", "7 on a five-point scale", "7 (shot in the dark)"),
        *("7 (max. 8)", "7, almost 8", "7 (nearly 6, then 8)", "7 (Image 2: 3)", "7 (rank)"),
        *("I would rate this a 7 if it had a mast", "If it had a mast, I'd give it 7."),
        *("Fine. Overall score: 7/10", "Fine. Human rating: 7"),
        *("7を超えることはない", "7, leaving the mast out of account"),
        *("7 (the mean of 4 and 8)", "7 (6 = with a mast)", "7 (1 = perfect, 10 = useless)"),
        *("7 instead of 8 would be harsh", "7 → raised to 8", "7, from 6 points to 8"),
        *(
            "7\n  Score: 8",
            "\n  low: 5\n  high: 8",
            "good, 7 of 8 sails",
            "7, though 10 would be fair",
        ),
        *("2³", "2<sup>3</sup>", "7 (nine)", "7 – sechs", "2 (a mast and a flag)", "7 # dummy"),
    ],
)
def test_an_unsettled_number_is_no_score(entry):
    """A bonus, a price, a condition, a range, another scale or a guess."""
    reply = LIST.replace("S_acc: 7", f"S_acc: {entry}")
    assert scores(reply, 1) == {1: (None, 5, 9, 6)}


@pytest.mark.parametrize(
    "reply",
    [
        f"```diff\n-{LIST.replace('S_qua', '+S_qua')}\n```",
        LIST.replace("S_acc", "// S_acc"),
        f"image_1:\n  # {LIST}".replace("\nS_", "\n  S_"),
        f"{LIST[9:]}\nS_acc: [2]\n\n[1] The oars, [2] not judged.".replace("9", "9[1]"),
        f"{LIST}\n\nVietoj 7 skaitykite S_acc 3.",
        f"{LIST}\n\nS_acc powinno wynosić 3.",
    ],
)
def test_what_is_taken_out_of_a_list_is_no_score(reply):
    """By a diff, a sign for comments, a footnote in its place, or words in whatever language."""
    assert scores(reply, 1) == {1: (None, 5, 9, 6)}


@pytest.mark.parametrize(
    "reply",
    [
        "8; S_acc, 6; S_pre, 5; S_qua, 4; S_real",
        "Both S_acc and S_pre get 7 and 8.",
        "Both S_acc and S_pre would be 7 if the mast were there.",
        "All four factors get an 8, except the last.",
        "I have no way to tell, so all four factors get a 5.",
        "All three factors get a 5.",
        "S_acc 0 ──────●─── 100 (7)",
        "S_acc 1 ──────●─── 10",
        "S_acc: 10 - 3 = 7",
    ],
)
def test_what_only_resembles_scores_is_none(reply):
    """Numbers that may be shifted, two for both, exceptions, guesses, and other scales."""
    assert scores(reply, 1) == {}


def test_what_an_answer_reckons_is_not_its_score():
    """`12 - 4 = 8` is shown in it."""
    reply = (
        "Image 1: 12 - 4 = 8. Wrong.\nImage 2: 12 / 4 = 3.\n\nImage 1 gets 2/10, Image 2 gets 9/10."
    )
    assert scores(reply, 2, ONE) == {1: (2,), 2: (9,)}


@pytest.mark.parametrize(
    "remark", ["The previous picture earned S_acc 7.", "Das vorige Bild bekam S_acc 7."]
)
def test_what_another_picture_got_is_not_this_ones(remark):
    """It may be named by its place, and not by its number."""
    reply = f"Image 1:\n{LIST}\n\nImage 2: {remark}\nS_pre: 8\nS_qua: 3\nS_real: 2"
    assert scores(reply, 2) == {1: BOTH[1], 2: (None, 8, 3, 2)}


def test_a_remark_on_another_image_amid_scores_does_not_give_it_the_rest():
    """Whose the scores behind "Image 2 has the better horizon." are is not certain."""
    reply = (
        "Image 1:\n- S_acc: 7\n- Image 2 has the better horizon.\n- S_pre: 5\n\n"
        "Image 2:\n- S_acc: 4\n- S_qua: 3"
    )
    assert scores(reply, 2) == {1: (7, None, None, None), 2: (4, None, 3, None)}


def test_a_summary_that_differs_is_a_contradiction():
    """Nothing says which of two complete verdicts holds; where they agree, both do."""
    table = (
        "| Image | S_acc | S_pre | S_qua | S_real |\n|---|---|---|---|---|\n"
        "| 1 | 7 | 5 | 9 | 6 |\n| 2 | 4 | 8 | 5 | 2 |"
    )
    assert scores(f"{TWO_IMAGES}\n\n{table}", 2) == {1: BOTH[1], 2: (4, 8, None, 2)}


def test_a_row_that_lacks_a_cell_is_not_filled_from_the_left():
    """Only the last row may have been cut off."""
    head = "| Image | S_acc | S_pre | S_qua | S_real |\n|---|---|---|---|---|\n"
    short, whole = "| 1 | 7 | 5 | 9 |\n", "| 2 | 4 | 8 | 3 | 2 |\n"
    assert scores(head + short + whole, 2) == {2: BOTH[2]}
    assert scores(head + whole + short, 2) == {1: (7, 5, 9, None), 2: BOTH[2]}


def test_one_of_two_images_has_no_score_by_what_the_other_has():
    """A dash before "vs." is the first one's missing score."""
    assert scores("Image 1 and Image 2:\nS_acc: – vs. 7/10\nS_pre: 5/10 vs. ?", 2) == {}


def test_a_numbered_heading_is_not_the_score_above_it():
    """`# 2` heads the second image; it is no score of the factor that has none."""
    reply = "# 1\n- S_acc: 7\n- S_pre:\n  cut off\n\n# 2\n- S_acc: 4\n- S_pre: 8"
    assert scores(reply, 2).get(1, (None,) * 4)[1] is None


@pytest.mark.parametrize(
    "label",
    ["No. {i} – ", "Fig. {i}. ", "({a}) ", "Panel {i}: ", "[[picture]] id = {i}\n", "({r}) "],
)
def test_a_reply_of_which_nothing_is_missing_may_label_its_images_anyhow(label):
    """n lists of the same factors in the same order: labels that count them are enough."""
    signs = (("1", "a", "i"), ("2", "b", "ii"), ("3", "c", "iii"))
    rows = ("S_acc 7, S_pre 5, S_qua 9, S_real 6", "S_acc 4, S_pre 8, S_qua 3, S_real 2")
    rows += ("S_acc 1, S_pre 9, S_qua 10, S_real 4",)
    reply = "\n".join(
        label.format(i=i, a=a, r=r) + row for (i, a, r), row in zip(signs, rows, strict=True)
    )
    assert scores(reply, 3) == {**BOTH, 3: (1, 9, 10, 4)}


@pytest.mark.parametrize(
    "labels",
    [
        ("Panel 1: ", "Panel 3: "),
        ("Judge 1: ", "Judge 2: "),
        ("Draft 1: ", "Draft 2: "),
        ("The dark one: ", "The bright one: "),
        ("Best first:\n", ""),
        ("Image 1\nIf the mast stood, ", "Image 2\nIf the mast stood, "),
        ("Image 1. Unlike in Image 2: ", "Image 2. Unlike in Image 1: "),
        ("Please use this form:\nImage 1: ", "Image 2: "),
    ],
)
def test_labels_that_do_not_count_images_name_none(labels):
    """Whoever is counted, or if nobody is: it is not said which image is which."""
    first, second = labels
    reply = (
        f"{first}S_acc 7, S_pre 5, S_qua 9, S_real 6\n{second}S_acc 4, S_pre 8, S_qua 3, S_real 2"
    )
    assert scores(reply, 2) == {}


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("7, 5, 9 and 6 for S_acc, S_pre, S_qua and S_real, respectively.", (7, 5, 9, 6)),
        ("S_acc, S_pre, S_qua and S_real get 7, 5, 9 and 6 (in this order).", (7, 5, 9, 6)),
        (
            "[7/10] S_acc: done\n[5/10] S_pre: moved\n[9/10] S_qua: ok\n[6/10] S_real: ok",
            (7, 5, 9, 6),
        ),
        ("7 (S_acc): 3 birds left\n5 (S_pre): moved\n9 (S_qua): ok\n6 (S_real): ok", (7, 5, 9, 6)),
        ("S_acc: 7<sup>1</sup>\nS_pre: 5[^2]\nS_qua: 9³\nS_real: 6.5<sup>4</sup>", (7, 5, 9, 6.5)),
        ("S_acc: 7 su 10\nS_pre: 5 su 10\nS_qua: 9 su 10\nS_real: 6 su 10", (7, 5, 9, 6)),
        ("S_acc: 7 из 10\nS_pre: 5 из 10\nS_qua: 9 из 10\nS_real: 6 из 10", (7, 5, 9, 6)),
        ("S_acc: 7 (corrected from 9)\nS_pre: 5\nS_qua: 9\nS_real: 6", (7, 5, 9, 6)),
        ("S_acc: 7, target 9\nS_pre: 5 · weight 3\nS_qua: 9 = excellent\nS_real: 6", (7, 5, 9, 6)),
        ("F1 (S_acc) = 7; F2 (S_pre) = 5; F3 (S_qua) = 9; F4 (S_real) = 6", (7, 5, 9, 6)),
        ("S = (S_acc, S_pre, S_qua, S_real)\nS = (7, 5, 9, 6)", (7, 5, 9, 6)),
        ("acc(7) pre(5) qua(9) real(6)", (7, 5, 9, 6)),
        ("Acc.: 7\nPres.: 5\nQual.: 9\nReal.: 6", (7, 5, 9, 6)),
        ("7 points go to accuracy, 5 to preservation, 9 to quality, 6 to realism.", (7, 5, 9, 6)),
        (
            "**7**\nAccuracy\n\n**5**\nPreservation\n\n**9**\nQuality\n\n**6**\nRealism",
            (7, 5, 9, 6),
        ),
        (
            "[7] Accuracy: 2 sails\n[5] Preservation: ok\n[9] Quality: ok\n[6] Realism: ok",
            (7, 5, 9, 6),
        ),
        ("7/10 Accuracy – 2 sails\n5/10 Preservation\n9/10 Quality\n6/10 Realism", (7, 5, 9, 6)),
        (
            "Scene – S_pre gets a 5\nPixels – S_qua gets a 9\nSense – S_acc a 7, S_real a 6",
            (7, 5, 9, 6),
        ),
        (
            "S_acc: 7\n  - sail: 9\n  - mast: 4\nS_pre: 5\n  - gulls: 2\nS_qua: 9\nS_real: 6",
            (7, 5, 9, 6),
        ),
        (
            "S_acc\nThe 3 sails are new. I settled on 7.\n\nS_pre\n1 gull is gone. I went with 5.\n\n"
            "S_qua: 9\nS_real: 6",
            (7, 5, 9, 6),
        ),
        (
            "╔══ SCORE CARD ══╗\n  S_acc ... 7\n  S_pre ... 5\n  S_qua .. 9\n  S_real .. 6",
            (7, 5, 9, 6),
        ),
        ("S_acc is low, at 7. S_pre is bad, 5. S_qua is high at 9. S_real: 6†", (7, 5, 9, 6)),
        ("S_acc: 7 (max. 10)\nS_pre: 5 (rank 2)\nS_qua: 9\nS_real: 6 (almost a 7)", (7, 5, 9, 6)),
        ("S_acc 7 S_pre 5 S_qua 9 S_real 6 -", (7, 5, 9, 6)),
        (
            "I rate the edited photo 7 for S_acc, 5 for S_pre, 9 for S_qua, 6 for S_real.",
            (7, 5, 9, 6),
        ),
        (
            "S_acc is fine and gets a 7, S_pre is bad (5), S_qua is the best with a 9, S_real: 6.",
            (7, 5, 9, 6),
        ),
        ("A good edit: its accuracy is 7, preservation 5, quality 9 and realism 6.", (7, 5, 9, 6)),
        (
            "S_acc: I would rate this a 7, as 2 sails are new\n\nS_pre\nIt is the same in both "
            "images.\nScore: 5\n\nS_qua: 9\nS_real: 6",
            (7, 5, 9, 6),
        ),
        (
            "File: mast_4.png\n\nS_acc: 7†\nS_pre: 5[1]\nS_qua: 9 # crisp\nS_real: 6\n\n"
            "† despite the missing oar\n[1] the sail",
            (7, 5, 9, 6),
        ),
        ("S_acc 7,5, S_pre 5, S_qua 9, S_real 6,5", (7.5, 5, 9, 6.5)),
        (
            '<S_acc max="10">7</S_acc><S_pre min="1">5</S_pre><S_qua>9</S_qua><S_real>6</S_real>',
            (7, 5, 9, 6),
        ),
        (
            "S_acc, 7; S_pre, 5; S_qua, 9; and S_real, 6.",
            (7, 5, 9, 6),
        ),
        (
            "S_acc is therefore 7, S_pre is thus a 5. S_qua comes to 9, and S_real to 6.",
            (7, 5, 9, 6),
        ),
        (
            "S_acc 1 ────●── 10 (7)\nS_pre 1 ──●──── 10 (5)\nS_qua 1 ─────●─ 10 (9)\n"
            "S_real 1 ───●─── 10 (6)",
            (7, 5, 9, 6),
        ),
        (
            'S_acc: 6 or 8, to be seen.\nS_pre: 5.\n\n{"S_acc": 7, "S_pre": 5, "S_qua": 9, "S_real": 6}',
            (7, 5, 9, 6),
        ),
        ("S_acc is 7, S_real 6, S_pre 5; S_qua: 9The mast is sharp", (7, 5, 9, 6)),
        ("Both S_acc and S_pre get a 7. I rate both S_qua and its S_real at 5/10.", (7, 7, 5, 5)),
        ("The sail is as asked, so all four factors get an 8.", (8, 8, 8, 8)),
        (
            "S_acc: let's call it 7\nS_pre: 2 of 9 tiles moved. Score: 5\nS_qua: a firm 9\nS_real: 6",
            (7, 5, 9, 6),
        ),
    ],
)
def test_more_ways_to_give_a_score(reply, expected):
    """In lists, in brackets, out of ten in other languages, before an explanation or behind it."""
    assert scores(reply, 1) == {1: expected}


@pytest.mark.parametrize(
    "line",
    [
        "Overall rank: Image 2 – 1st, Image 1 – 2nd",
        "Confidence in this verdict: 8/10.",
        "All other scores stand.",
        "Factors I could not judge are left open.",
    ],
)
def test_what_is_known_to_leave_scores_alone_behind_them(line):
    """Ranks, confidence, and what is said of the rest."""
    assert scores(f"{TWO_IMAGES}\n\n{line}", 2) == BOTH


@pytest.mark.parametrize(
    "caption",
    ["評価は以下の通りです（1〜10）：", "评分如下（1–10分）：", "Voici mes notes (de 1 à 10) :"],
)
def test_scores_are_announced_with_their_scale_in_other_languages(caption):
    """A scale in brackets that is the one asked for changes nothing."""
    assert scores(f"{caption}\n\n{TWO_IMAGES}", 2) == BOTH


@pytest.mark.parametrize(
    "order",
    ["Images 1 / 2 / 3\n", "Order: image 1, image 2, image 3\n", "Image 1, Image 2, Image 3\n"],
)
def test_lists_by_factor_under_the_images_in_their_order(order):
    """All images in their order, then one number for each."""
    reply = f"{order}\nS_acc: 7 / 4 / 1\nS_pre: 5 / 8 / 9\nS_qua: 9 / 3 / 10\nS_real: 6 / 2 / 4"
    assert scores(reply, 3) == {**BOTH, 3: (1, 9, 10, 4)}


def test_letters_that_count_images_behind_a_factor():
    """`A: 7, B: 4` for every factor."""
    reply = "accuracy — A: 7, B: 4\npreservation — A: 5, B: 8\nquality — A: 9, B: 3\nrealism — A: 6, B: 2"
    assert scores(reply, 2) == BOTH


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("S_acc: **8**¹\nS_pre: 6\nS_qua: 5\nS_real: 7\n\n¹ the hat is red", 1),
        ("Sub-scores in the order S_acc / S_pre / S_qua / S_real:\n\nImage 1: 8 / 6 / 5 / 7", 1),
    ],
)
def test_a_mark_behind_bold_and_an_order_of_sub_scores_are_read(text, n):
    """Emphasis may stand between a number and its footnote's mark."""
    assert [*read_text(text, FOUR, n).scores.values()] == [8, 6, 5, 7]


def test_a_heading_made_of_names_groups_the_factors_below_it():
    """ "Realism" above "Scale Realism" says nothing of the scores."""
    lines = [f"{factor.name} — 5/7" for factor in TWELVE]
    text = "\n".join(["Preservation", *lines[:3], "Realism", *lines[3:]])
    assert read_text(text, TWELVE, 1).complete
    assert read_text(text.replace("Realism\n", "Dummies\n", 1), TWELVE, 1).scores == {}


def test_a_justification_that_nothing_is_missing_leaves_its_score():
    """ "Nothing missing." is said of the edit."""
    text = (
        '{"acc": {"score": 8, "justification": "Nothing missing."}, "pre": 6, "qua": 5, "real": 7}'
    )
    assert read_text(text, FOUR, 1).complete


ORDER = "S_acc, S_pre, S_qua, S_real"


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (f"Scores ({ORDER}):\n1 - 7, 5, 9, 6\n2 - 4, 8, 3, 2", BOTH),
        (f"Scores ({ORDER}):\n1 – [7, 5, 9, 6]\n2 – [4, 8, 3, 2]", BOTH),
        (f"Columns: Image, {ORDER}\n[1, 7, 5, 9, 6]\n[2, 4, 8, 3, 2]", BOTH),
        (f"Columns: Image, {ORDER}\n(0; 7, 5, 9, 6)\n(1; 4, 8, 3, 2)", BOTH),
        (f"Columns: {ORDER}\n[1, 7, 5, 9, 6]\n[2, 4, 8, 3, 2]", {}),
        (f"Columns: Image, {ORDER}\n[2, 7, 5, 9]\n[4, 4, 8, 3, 2]", {}),
        ("1st: S_acc 7, S_pre 5, S_qua 9, S_real 6\n2nd: S_acc 4, S_pre 8, S_qua 3, S_real 2", BOTH),
        ("2nd: S_acc 7, S_pre 5, S_qua 9, S_real 6\n1st: S_acc 4, S_pre 8, S_qua 3, S_real 2", {}),
        ("1st place: S_acc 7, S_pre 5, S_qua 9, S_real 6\n"
         "2nd place: S_acc 4, S_pre 8, S_qua 3, S_real 2", {}),
    ],
)  # fmt: skip
def test_rows_that_begin_with_the_number_of_their_image(reply, found):
    """Where the order says so, or a dash parts it from the scores; a place is a rank."""
    assert scores(reply, 2) == found


@pytest.mark.parametrize(("words", "count"), [("1 point more", 1), ("a 5 point scale", 0)])
def test_a_point_more_is_no_scale(words, count):
    """One point is no scale; whether it has been added is not known of that image."""
    reply = f"Image 1: 4\nImage 2: 5\n\nImage 2 is sharper, which is why it receives {words}."
    assert len(read_text(reply, ONE, 2).scores) == count
