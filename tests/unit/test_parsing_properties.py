"""Whatever scores are rendered in any supported layout are read back exactly; text without a verdict yields none."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lmmscore.parsing import read_overall, read_reply, read_text
from lmmscore.records import Reply
from lmmscore.scales import Factor
from tests.reply_layouts import (
    ADHERENCE,
    BINARY,
    DIGITS_IN_PROSE,
    FOUR,
    TWELVE,
    bulleted,
    by_factor,
    inline,
    json_reply,
    scores_of,
    table,
)

FACTOR_SETS = {"lmm-score": FOUR, "factors-12": TWELVE, "binary": BINARY, "adherence": ADHERENCE}
EXAMPLES = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def assert_read_back(
    text: str, scores: dict[tuple[int, str], Fraction], factors: Sequence[Factor], n: int
) -> None:
    reading = read_text(text, factors, n)
    assert not reading.faults, text
    assert reading.scores == scores, text
    for at, (start, end) in reading.spans.items():
        assert Fraction(text[start:end]) == scores[at], (at, text)
    assert reading.spans.keys() == scores.keys()


@pytest.mark.parametrize(
    "layout", [bulleted, inline, by_factor, table], ids=lambda layout: layout.__name__
)
@given(data=st.data(), n=st.integers(1, 20))
@EXAMPLES
def test_scores_written_for_people_are_read_back_exactly(layout, data, n):
    """Any scores of 1 to 20 images, in any of the layouts, come out as they went in, each with its place."""
    scores = data.draw(scores_of(FOUR, n))
    assert_read_back(data.draw(layout(scores, FOUR, n)), scores, FOUR, n)


@pytest.mark.parametrize("factors", FACTOR_SETS.values(), ids=FACTOR_SETS)
@given(data=st.data(), n=st.integers(1, 20))
@EXAMPLES
def test_scores_written_as_json_are_read_back_exactly(factors, data, n):
    """Any scores on any of the protocols' scales come out of JSON of any shape, each with its place."""
    n = n if factors is FOUR else 1
    scores = data.draw(scores_of(factors, n))
    assert_read_back(data.draw(json_reply(scores, factors, n)), scores, factors, n)


@given(data=st.data(), n=st.integers(1, 8))
@EXAMPLES
def test_the_last_of_two_complete_verdicts_counts(data, n):
    """A judge that scores everything again, in whatever layout, is taken at its last word."""
    layouts = st.sampled_from([bulleted, inline, by_factor, table, json_reply])
    first, last = data.draw(scores_of(FOUR, n)), data.draw(scores_of(FOUR, n))
    text = data.draw(data.draw(layouts)(first, FOUR, n)) + "\n\nOn reflection:\n\n"
    text += data.draw(data.draw(layouts)(last, FOUR, n))
    reading = read_text(text, FOUR, n)
    assert not reading.faults, text
    assert reading.scores == last, text


_PROSE = st.sampled_from(
    [
        *DIGITS_IN_PROSE,
        *(text[0].upper() + text[1:] for text in DIGITS_IN_PROSE),
        "Editing Accuracy: 2 dogs were added",
        "- **Visual Quality**: 3 large seams run across it",
        "Visual Quality: 1 dog is blurred",
        "Logical Realism ($S_{real}$): at 12:30 the shadows point the other way",
        "S_acc is scored on a 1-10 scale",
        "S_acc: 1-10",
        "S_pre: from 1 to 10",
        "S_qua: 1 = poor, 10 = perfect",
        "S_real: 1 (worst) to 10 (best)",
        "Contextual Preservation: 50% of the snow is left",
        "Contextual Preservation: 9/10 of the snow is left, taken on 5/10",
        "Image 3: the fox has 4 legs",
        "**Image 2:**",
        "### Image 1",
        "In Image 3, accuracy is what matters.",
        "Image 4 has better visual quality than Image 2",
        "The editing accuracy, 2 of 3, is measured in 2024.",
        "$S_{all} = 0.4 \\cdot S_{acc} + 0.3 \\cdot S_{pre} + 0.2 \\cdot S_{qua} + 0.1 \\cdot S_{real}$",
        "S_all = 0.4*S_acc + 0.3*S_pre + 0.2*S_qua + 0.1*S_real",
        "S_all = 0.4 × S_acc + 0.3 × S_pre + 0.2 × S_qua + 0.1 × S_real",
        "1. Editing Accuracy 2. Contextual Preservation 3. Visual Quality 4. Logical Realism",
        "(1) Editing Accuracy (2) Contextual Preservation (3) Visual Quality (4) Logical Realism",
        "A score of 10 is a perfect edit, a score of 1 a failed one.",
        "Visual Quality: a score of 10 is for perfect pictures only.",
        "| Image | Factor |",
        "The scores can wait until the last of the 8 images.",
    ]
)


@given(
    pieces=st.lists(_PROSE, min_size=1, max_size=12),
    joint=st.sampled_from([" ", "\n", "\n\n", ". ", "\n- "]),
    n=st.integers(1, 8),
)
@settings(max_examples=200, deadline=None)
def test_text_without_a_verdict_yields_no_score(pieces, joint, n):
    """Digits, factors and images in prose are never put together into a score."""
    reading = read_text(joint.join(pieces), FOUR, n)
    assert not reading.scores
    assert not reading.complete


@given(text=st.text(), n=st.integers(1, 20))
@settings(max_examples=100, deadline=None)
def test_no_text_whatever_is_an_error(text, n):
    """Any string at all gives a reading with faults or scores, never an exception."""
    for factors in (FOUR, BINARY):
        reading = read_reply(Reply(text), factors, n)
        assert reading.faults or len(reading.scores) == n * len(factors)
    read_overall(text, n)


_FRAGMENTS = st.sampled_from(
    [
        *"{}[]:,|\"'“”*_$\\()/-–.=#>~`\n\t ",
        "Image 1",
        "S_acc",
        '"acc": 6',
        "6/10",
        "Visual Quality",
        "NaN",
        "true",
        "//",
        "/*",
        "```",
        "|---|",
    ]
)


@given(parts=st.lists(_FRAGMENTS, max_size=80), n=st.integers(1, 3))
@settings(max_examples=200, deadline=None)
def test_no_heap_of_marks_is_an_error(parts, n):
    """Brackets, bars, quotation marks and labels in any order give a reading, never an exception."""
    text = "".join(parts)
    reading = read_reply(Reply(text), FOUR, n)
    for at, (start, end) in reading.spans.items():
        assert Fraction(text[start:end]) == reading.scores[at]
    read_overall(text, n)
