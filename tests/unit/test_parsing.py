"""Scores in prose and tables: what is read, what is not, and what the faults say."""

from __future__ import annotations

import time
from fractions import Fraction
from pathlib import Path

import pytest

from lmmscore.parsing import Fault, Reading, read_overall, read_reply, read_text
from lmmscore.records import Outcome, Reply
from lmmscore.scales import Factor
from tests.reply_layouts import ADHERENCE, BINARY, FOUR, TWELVE

SEEDS = Path(__file__).parents[2].parent / "shared" / "seeds"
KEYS = ("acc", "pre", "qua", "real")
FOUR_LINES = "- S_acc: {}\n- S_pre: {}\n- S_qua: {}\n- S_real: {}\n"


def image(number: int, *scores: object) -> str:
    return f"**Image {number}:**\n" + FOUR_LINES.format(*scores) + "\n"


def rows(reading: Reading, n: int) -> list[list[float | None]]:
    found = {at: float(score) for at, score in reading.scores.items()}
    return [[found.get((position, key)) for key in KEYS] for position in range(1, n + 1)]


def kinds(reading: Reading) -> set[tuple[str, int | None, str | None]]:
    return {(fault.kind, fault.position, fault.factor) for fault in reading.faults}


def test_the_published_transcript_is_read():
    """The scoring reply of the published dialogue gives its 32 scores, and its analyses give none."""
    files = sorted(SEEDS.glob("004_*.txt"))
    if not files:
        pytest.skip("the published transcript is not at hand")
    replies = [
        part.split("## Prompt:")[0] for part in files[0].read_text().split("## ChatGPT:")[1:]
    ]
    readings = [read_text(reply, FOUR, 8) for reply in replies]
    assert [len(reading.scores) for reading in readings] == [0] * 12 + [32, 0]
    assert rows(readings[12], 8)[4:6] == [[6, 10, 7, 6], [1, 2, 1, 1]]
    assert list(map(float, read_overall(replies[13], 8).values())) == [
        6.1,
        6.8,
        8.5,
        7.0,
        7.4,
        1.3,
        7.2,
        8.2,
    ]


@pytest.mark.parametrize(
    "line",
    [
        "* $S_{acc}$: 6 The lawn has become a lake.",
        "* $S\\_{acc}$: 6 the lawn has become a lake",
        "* \\( S_{acc} \\): 6",
        "* \\(S_{acc} = 6\\)",
        "$$S_{\\text{acc}} = 6$$",
        "S_acc: 6/10",
        "**S_acc: 6**",
        "S<sub>acc</sub> = 6.0",
        "1. **Editing Accuracy ($S_{acc}$)**: 6 out of 10",
        "- Editing Accuracy: **6**/10 – mostly sand",
        "- EDITING ACCURACY — 6",
        "Editing Accuracy (1-10): 6. In 2024 this would do.",
        "Editing Accuracy score: 6, as 2 dogs remain",
        "Editing Accuracy (6/10): the snow is gone, 2 dogs remain",
        "**Editing Accuracy**: The snow is gone, but 2 dogs remain. 6/10",
        "**Editing Accuracy**: The snow is gone, but 2 dogs remain.\n  Score: 6",
        "**Editing Accuracy**\n6/10",
        "Accuracy: 6 - 2 dogs are missing",
        "Accuracy: 6 (12:30 light, 50% sand)",
        "acc: 6",
        "Editing-Accuracy = 6",
        "S_acc: ~~4~~ 6",
        "S_acc：6／10",
    ],
)
def test_a_score_is_read_however_it_is_written(line):
    """Symbols, LaTeX, names in words, fractions, bold type and explanations do not hide a score."""
    reading = read_text(f"Image 1:\n{line}", FOUR, 1)
    assert reading.scores == {(1, "acc"): 6}, line
    start, end = reading.spans[1, "acc"]
    assert Fraction(f"Image 1:\n{line}"[start:end]) == 6


@pytest.mark.parametrize(
    "line",
    [
        "Visual Quality: 2 dogs are blurred",
        "Visual Quality: 2 large dogs are blurred",
        "S_qua: 2 dogs are blurred",
        "Visual Quality: 1 dog is blurred",
        "Visual Quality: 3 of 4 legs are blurred",
        "Visual Quality: Image 3 is blurred",
        "Visual Quality: in 2024 this was good",
        "Visual Quality: 12:30 by the clock",
        "Visual Quality: 50% is blurred",
        "Visual Quality: 1-10 scale",
        "Visual Quality: 1 - 10 scale",
        "Visual Quality: 6-7",
        "Visual Quality: 6 or 7",
        "Visual Quality: 6 7",
        "Visual Quality: 6→7",
        "Visual Quality: 6+",
        "Visual Quality: 6½",
        "Visual Quality: ~6",
        "Visual Quality: 6.5.1",
        "Visual Quality: 3D look",
        "Visual Quality: 9/10 of the sand is sharp",
        "Visual Quality: the picture was taken on 5/10",
        "Visual Quality: 1 = poor, 10 = perfect",
        "Visual Quality: 1 (poor) to 10 (perfect)",
        "Visual Quality: a score of 10 is for perfect pictures only",
        "Visual Quality is 20% of the overall score",
        "Visual Quality is better than in 2 other images",
        "Visual Quality: N/A",
        "Overall quality: 7",
        "0.2 × S_qua = 1.4",
        "0.2*S_qua = 1.4",
        "S_qua in Image 3: 7 dogs",
    ],
)
def test_other_digits_are_not_a_score(line):
    """Counts, times, dates, ranges, shares and sums are never read as one."""
    assert read_text(f"Image 1:\n{line}", FOUR, 1).scores == {}


def test_images_may_be_rows_or_columns_of_a_table():
    """A table is read along its rows or along its columns, bold and fractions included, its last column aside."""
    by_row = "| # | S_acc | S_pre | S_qua | S_real | S_all |\n|---|:-:|---|---|---|--:|\n"
    by_row += "| 1 | **6** | 7/10 | 5 | 6 | 6.1 |\n| 2 | 8 | 9 | 9 | 8.5 | 8.5 |"
    by_column = "Factor | Image 1 | Image 2\n---|---|---\nEditing Accuracy | 6 | 8\nContextual Preservation | 7 | 9\n"
    by_column += "Visual Quality | 5 | 9\nLogical Realism | 6 | 8.5\nOverall | 6.1 | 8.5"
    for text in (by_row, by_column):
        assert rows(read_text(text, FOUR, 2), 2) == [[6, 7, 5, 6], [8, 9, 9, 8.5]]


def test_a_table_without_a_column_of_images_belongs_to_the_image_above():
    """A one-row table under an image's heading is that image's."""
    table = "| S_acc | S_pre | S_qua | S_real |\n|---|---|---|---|\n| {} | 7 | 5 | 6 |\n\n"
    text = "### Image 1\n\n" + table.format(6) + "### Image 2\n\n" + table.format(8)
    assert rows(read_text(text, FOUR, 2), 2) == [[6, 7, 5, 6], [8, 7, 5, 6]]


@pytest.mark.parametrize("first", ["Rank", "Method", "Place"])
def test_a_rank_is_not_an_images_number(first):
    """In a table sorted by rank, the column that names images is found by its heading or its words."""
    for heading in ("Image", "Which"):
        text = (
            f"| {first} | {heading} | S_acc | S_pre | S_qua | S_real |\n|---|---|---|---|---|---|\n"
        )
        text += "| 1 | Image 2 | 8 | 9 | 9 | 8 |\n| 2 | Image 1 | 6 | 7 | 5 | 6 |"
        assert rows(read_text(text, FOUR, 2), 2) == [[6, 7, 5, 6], [8, 9, 9, 8]]
    text = "| Rank | S_acc | S_pre | S_qua | S_real |\n|---|---|---|---|---|\n"
    text += "| 1 | 8 | 9 | 9 | 8 |\n| 2 | 6 | 7 | 5 | 6 |"
    assert not read_text(text, FOUR, 2).scores


def test_a_score_below_four_factors_is_not_the_last_ones():
    """A single number at the end of an analysis may be the overall score, so it is nobody's."""
    text = "Image 1:\nEditing Accuracy: good.\nContextual Preservation: fine.\nLogical Realism: fair.\nScore: 7/10"
    assert not read_text(text, FOUR, 1).scores


def test_scores_may_stand_below_their_factors():
    """A heading, an explanation and a line with the score, with blank lines between, for every factor."""
    names = [factor.name for factor in FOUR]
    for line in ("**Score: {}/10**", "Score: {}", "{}/10", "- Rating: {}"):
        scored = zip(names, (6, 7, 5, 6), strict=True)
        text = "\n\n".join(
            f"**{name}**\n\nThere are 2 dogs.\n\n{line.format(number)}" for name, number in scored
        )
        assert rows(read_text(text + "\n\nOverall: 6.1/10", FOUR, 1), 1) == [[6, 7, 5, 6]]


def test_scores_may_stand_in_a_sentence():
    """Names and numbers strung together with `is` and `and` are read."""
    text = "Image 1: Editing Accuracy is 6, Contextual Preservation is 7, Visual Quality is 5 and Logical Realism is 6."
    assert rows(read_text(text, FOUR, 1), 1) == [[6, 7, 5, 6]]


def test_the_last_complete_verdict_counts():
    """A judge that thinks again and scores everything once more is taken at its last word."""
    draft = image(1, 1, 1, 1, 1) + image(2, 2, 2, 2, 2)
    final = image(1, 6, 7, 5, 6) + image(2, 8, 9, 9, 8)
    assert rows(read_text(draft + "On reflection:\n\n" + final, FOUR, 2), 2) == [
        [6, 7, 5, 6],
        [8, 9, 9, 8],
    ]
    unannounced = read_text(final + draft, FOUR, 2)
    assert not unannounced.scores
    assert {fault.kind for fault in unannounced.faults} == {"contradiction"}


def test_repeating_a_score_is_no_fault():
    """A summary that says the same again agrees with the verdict."""
    reading = read_text(image(1, 6, 7, 5, 6) + image(2, 8, 9, 9, 8) + "Image 2: S_acc: 8", FOUR, 2)
    assert reading.complete


@pytest.mark.parametrize("corrected", [1, 2, 3])
def test_a_later_partial_verdict_that_differs_is_a_fault(corrected):
    """Which of two different numbers is meant is not guessed, whichever image is scored again."""
    text = "".join(image(i, 6, 7, 5, 6) for i in (1, 2, 3)) + f"Image {corrected}: S_acc: 3"
    reading = read_text(text, FOUR, 3)
    assert kinds(reading) == {("contradiction", corrected, "acc")}
    assert (corrected, "acc") not in reading.scores
    assert len(reading.scores) == 11


@pytest.mark.parametrize("order", [(1, 1, 2), (1, 2, 2), (1, 2, 1), (2, 1, 2)])
def test_an_image_that_is_scored_twice_differently_is_a_fault(order):
    """Two sections for one image with different numbers leave it unscored."""
    text = "".join(image(number, 6, 7, 5, place) for place, number in enumerate(order, 1))
    twice = max(order, key=order.count)
    assert kinds(read_text(text, FOUR, 2)) == {("contradiction", twice, "real")}


def test_two_different_numbers_for_the_only_image_are_a_fault():
    """With one image, a later number that differs from the verdict is a fault as well."""
    reading = read_text(FOUR_LINES.format(6, 7, 5, 6) + "Then again, S_acc: 7.", FOUR, 1)
    assert kinds(reading) == {("contradiction", 1, "acc")}


def test_what_is_missing_is_named():
    """A missing image and a missing factor are told apart; everything else is kept."""
    text = image(1, 6, 7, 5, 6) + "**Image 3:**\n- S_acc: 6\n- S_pre: 7\n- S_real: 4"
    reading = read_text(text, FOUR, 3)
    assert kinds(reading) == {("missing-image", 2, None), ("missing-factor", 3, "qua")}
    assert len(reading.scores) == 7
    assert [str(fault) for fault in reading.faults] == [
        "image 2: no scores for it were found",
        "image 3, qua: no score was found",
    ]


@pytest.mark.parametrize(
    ("number", "says"),
    [
        ("11", "11 is outside 1–10"),
        ("0", "0 is outside 1–10"),
        ("4/5", "4/5 is not on the scale 1–10"),
        ("-3", "-3 is outside 1–10"),
        ("85/100", "85/100 is not on the scale 1–10"),
    ],
)
def test_a_number_off_the_scale_is_a_fault_with_its_reason(number, says):
    """Nothing is clipped or rescaled."""
    reading = read_text(FOUR_LINES.format(number, 7, 5, 6), FOUR, 1)
    assert reading.faults == (Fault("off-scale", says, 1, "acc"),)
    assert reading.faults[0].outcome is Outcome.UNREADABLE


@pytest.mark.parametrize(
    ("factors", "number", "says"),
    [
        (TWELVE[:1], "8", "8 is outside 1–7 (whole numbers)"),
        (TWELVE[:1], "6.5", "6.5 is not a whole number"),
        (TWELVE[:1], "6/10", "6/10 is not on the scale 1–7 (whole numbers)"),
        (BINARY, "0.5", "0.5 is not one of 0 / 1"),
        (ADHERENCE[1:2], "0.7", "0.7 is not one of 0 / 0.5 / 1"),
    ],
)
def test_a_scale_is_exact(factors: tuple[Factor, ...], number, says):
    """What lies between or beyond the allowed scores is refused, in prose and in JSON."""
    for text in (f"{factors[0].key}: {number}", f'{{"{factors[0].key}": "{number}"}}'):
        assert [fault.says for fault in read_text(text, factors, 1).faults] == [says]


def test_an_image_that_was_not_shown_spoils_the_numbering():
    """Nine scores for eight images: nobody knows which is which."""
    reading = read_text("".join(image(i, 6, 7, 5, 6) for i in (1, 2, 3)), FOUR, 2)
    assert reading.scores == {}
    assert [str(fault) for fault in reading.faults] == ["there is no image 3; 2 were shown"]


def test_the_only_image_may_have_any_number():
    """With one edit, a judge may call it Image 2, for it saw the source first."""
    assert rows(read_text("Image 2:\n" + FOUR_LINES.format(6, 7, 5, 6), FOUR, 1), 1) == [
        [6, 7, 5, 6]
    ]


def test_scores_of_the_source_are_nobodys():
    """What is said of the source image, or of nobody knows which, is not put down to the edit above."""
    source = "Source image:\n" + FOUR_LINES.format(10, 10, 10, 10)
    for extra in (source, "The other one:\n" + FOUR_LINES.format(10, 10, 10, 10)):
        assert rows(read_text(image(1, 6, 7, 5, 6) + image(2, 8, 9, 9, 8) + extra, FOUR, 2), 2)[
            1
        ] == [
            8,
            9,
            9,
            8,
        ]


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m sorry, I can’t assist with this request.",
        "I cannot provide scores for these images.",
        "Unfortunately, I am unable to evaluate pictures of people.",
        "As an AI, I am not able to see images.",
        "I won't be able to continue with this evaluation.",
        "I must decline. There are 2 dogs in Image 3.",
        "This goes against our content policy.",
    ],
)
def test_a_refusal_is_a_refusal(text):
    """A reply that declines gives no number, and says that the judge refused."""
    reading = read_text(text, FOUR, 8)
    assert kinds(reading) == {("refused", None, None)}
    assert reading.faults[0].outcome is Outcome.REFUSED
    assert text[:40] in reading.faults[0].says


@pytest.mark.parametrize(
    "text",
    [
        "I cannot see any seams in Image 3.",
        "The scores can wait until the last of the 8.",
        "Ready!",
    ],
)
def test_no_verdict_is_not_a_refusal(text):
    """A reply that merely lacks scores is unreadable, not refused."""
    assert kinds(read_text(text, FOUR, 8)) == {("no-verdict", None, None)}


@pytest.mark.parametrize(
    ("reply", "kind", "outcome"),
    [
        (Reply(""), "empty", Outcome.UNREADABLE),
        (Reply(" \n"), "empty", Outcome.UNREADABLE),
        (Reply("", finish="length"), "truncated", Outcome.TRUNCATED),
        (Reply("", finish="content_filter"), "filtered", Outcome.FILTERED),
        (Reply("", refusal="I can't help with that."), "refused", Outcome.REFUSED),
        (Reply("No.", refusal="I can't help with that."), "refused", Outcome.REFUSED),
        (
            Reply(image(1, 6, 7, 5, 6) + "**Image 2:**\n- S_acc: 8", finish="length"),
            "truncated",
            Outcome.TRUNCATED,
        ),
        (
            Reply(image(1, 6, 7, 5, 6) + image(2, 8, 9, 9, 1).rstrip(), finish="length"),
            "truncated",
            Outcome.TRUNCATED,
        ),
    ],
)
def test_a_reply_without_an_answer_says_why(reply, kind, outcome):
    """Empty, filtered, refused and cut-off replies each have their own fault; "1" at the cut may have been 10."""
    reading = read_reply(reply, FOUR, 2)
    assert [(fault.kind, fault.outcome) for fault in reading.faults] == [(kind, outcome)]
    assert reading.scores == {}
    assert len(reading.faults_of(2)) == 1


def test_a_reply_cut_off_after_its_verdict_is_read():
    """The token limit hurts nobody once every score has been given."""
    text = image(1, 6, 7, 5, 6) + image(2, 8, 9, 9, 8) + "These scores are bas"
    assert read_reply(Reply(text, finish="length"), FOUR, 2).complete


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("- Image 1: 6.1\n- Image 2: 6.8", [6.1, 6.8]),
        ("Image 1: **6.1**/10\nImage 2: 6.8 out of 10", [6.1, 6.8]),
        (
            "**Image 1:** 0.4×6 + 0.3×7 + 0.2×5 + 0.1×6 = 6.1\n**Image 2:** 0.4*6 + 0.3*8 + 0.2*7 + 0.1*6 = **6.8**",
            [6.1, 6.8],
        ),
        (
            "**Image 1:**\n\\( S_{all} = 0.4(6) + 0.3(7) + 0.2(5) + 0.1(6) = 2.4 + 2.1 + 1.0 + 0.6 = 6.1 \\)\n\n"
            "Image 2:\n$S_{all} = 6.8$",
            [6.1, 6.8],
        ),
        ("Image 1:\n= 2.4 + 2.1 + 1.0 + 0.6\n= 6.1\nImage 2:\n= 6.8", [6.1, 6.8]),
        (
            "| Image | S_acc | $S_{all}$ | Rank |\n|---|---|---|---|\n| 1 | 6 | 6.1 | 2 |\n| 2 | 6 | **6.8** | 1 |",
            [6.1, 6.8],
        ),
        ("| Image | Overall |\n|---|---|\n| Image 1 | 6.1 |\n| Image 2 | 6.8/10 |", [6.1, 6.8]),
        ("| Image | Score |\n|---|---|\n| Image 1 | 6.1 |\n| Image 2 | 6.8 |", [6.1, 6.8]),
        ("| | Image 1 | Image 2 |\n|---|---|---|\n| Overall score | 6.1 | 6.8 |", [6.1, 6.8]),
        (
            '{"Image 1": {"acc": 6, "S_all": 6.1}, "Image 2": {"acc": 6, "overall": "6.8"}}',
            [6.1, 6.8],
        ),
        ('{"Image 1": 6.1, "Image 2": 6.8}', [6.1, 6.8]),
        (
            "Image 1: S_acc: 6, S_pre: 7, S_all: 6.1\nImage 2: S_acc: 6, S_pre: 7, Overall: 6.8",
            [6.1, 6.8],
        ),
        ("Image 1: S_acc: 6, S_pre: 7\nImage 2: 6, 8, 7, 6", [None, None]),
        ("Image 3 is best, with 2 dogs. Thank you!", [None, None]),
    ],
)
def test_the_judges_own_overall_is_read(text, stated):
    """S_all as the judge states it, in lists, sums, tables and JSON; sub-scores are not mistaken for it."""
    found = read_overall(text, 2)
    assert [float(found[i]) if i in found else None for i in (1, 2)] == stated


def test_the_judges_own_overall_of_a_single_image_is_read():
    """Where there is one image, it need not be named."""
    assert read_overall("S_all = 0.4*6 + 0.3*7 + 0.2*5 + 0.1*6 = 6.1", 1) == {1: Fraction("6.1")}


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "[",
            '{"',
            '{"acc":',
            "[[1],",
            "|",
            "|\n",
            "Image 1:\n",
            "S_acc: 6 ",
            " ",
            "*",
            "1",
            "/*",
            "I'm sorry ",
        ),
        'Image 1: {"acc": 6}\n',
    ],
)
def test_a_hostile_reply_does_not_keep_us(piece):
    """50 KB of nothing but brackets, bars or labels are dealt with in well under a second of processor time."""
    text = piece * (50_000 // len(piece))
    began = time.process_time()
    read_reply(Reply(text), FOUR, 8)
    assert (
        time.process_time() - began < 3
    )  # a slow machine is given room; what is quadratic takes minutes


@pytest.mark.parametrize(
    "text",
    [
        "S_acc (1-10): **1**: -\nS_pre (1-10): **1**: -",
        "Editing Accuracy: 1 —\nContextual Preservation: 1: n/a",
        "Factor  Image  Score\nS_acc   1      -\nS_qua   1      -",
        "S_acc: **1**:\nS_real: **1**: none",
    ],
)
def test_the_number_of_an_image_is_no_score_where_the_score_is_missing(text: str) -> None:
    """A dash after the only number on a line stands for the score; the number is the image's."""
    assert read_text(text, FOUR, 1).scores == {}


def test_a_number_between_two_names_is_not_given_to_the_wrong_one() -> None:
    """Where the last factor has no number, the others do not slip by one."""
    text = "1: accuracy 6 preservation 4 quality 6 realism 9; Image 2: accuracy 4 preservation 7"
    read = read_text(f"{text} quality 4 realism n/a", FOUR, 2).scores
    right = {(1, "acc"): 6, (1, "pre"): 4, (1, "qua"): 6, (1, "real"): 9}
    right |= {(2, "acc"): 4, (2, "pre"): 7, (2, "qua"): 4}
    assert all(right.get(cell) == score for cell, score in read.items())
