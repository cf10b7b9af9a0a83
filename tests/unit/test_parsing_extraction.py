"""A reader quotes scores from a reply; what the reply does not bear out is not believed."""

from __future__ import annotations

import json

import pytest

from lmmscore.dialog import load_dialog
from lmmscore.parsing.extract import extraction_question, read_extraction

FOUR = load_dialog("lmm-score").factors
REPLY = (
    "For the accuracy of Image 1 seven points would be unfair, so S_acc ends at 6.\n"
    "Image 1's S_pre lands on 8.\nIn Image 2, S_acc lands on 9 and S_pre on 4.\n"
    "Somebody might say S_qua 7 or 8 for Image 1."
)


def answer(*cells: tuple[int, str, object, str | None]) -> str:
    keys = ("image", "factor", "score", "quotation")
    return json.dumps({"cells": [dict(zip(keys, cell, strict=True)) for cell in cells]})


def test_a_quotation_that_bears_its_score_out_is_accepted_with_its_place():
    """The number is found in the reply itself, so that the report can show it there."""
    reading = read_extraction(answer((1, "pre", 8, "Image 1's S_pre lands on 8")), REPLY, FOUR, 2)
    assert reading.scores == {(1, "pre"): 8}
    start, end = reading.spans[1, "pre"]
    assert REPLY[start:end] == "8"
    assert reading.notes == ("read with help",)


@pytest.mark.parametrize(
    "cell",
    [
        (1, "pre", 8, "Image 1's S_pre is 8"),
        (1, "pre", 7, "Image 1's S_pre lands on 8"),
        (1, "qua", 8, "Image 1's S_pre lands on 8"),
        (2, "pre", 8, "Image 1's S_pre lands on 8"),
        (1, "pre", 8, "lands on 8"),
        (1, "qua", 7, "S_qua 7 or 8 for Image 1"),
        (2, "pre", 4, "S_acc lands on 9 and S_pre on 4"),
        (1, "pre", 8, ""),
        (1, "pre", 8, None),
        (1, "pre", 80, "Image 1's S_pre lands on 8"),
        (3, "pre", 8, "Image 1's S_pre lands on 8"),
    ],
)
def test_what_the_reply_does_not_bear_out_is_not_believed(cell):
    """A quotation that is changed, of something else, or holds another number gives no score."""
    reading = read_extraction(answer(cell), REPLY, FOUR, 2)
    assert reading.scores == {}
    assert not reading.complete


def test_one_number_is_not_quoted_for_two_cells():
    """A reader that gives every image the same quotation is not believed for any of them."""
    reply = "S_acc is 6, I think."
    cells = [(1, "acc", 6, "S_acc is 6"), (2, "acc", 6, "S_acc is 6")]
    assert read_extraction(answer(*cells), reply, FOUR, 2).scores == {}


def test_the_question_holds_the_reply_and_no_picture_and_a_schema_of_its_cells():
    """The reader gets the words alone, and is told that nothing in them is meant for it."""
    words, schema = extraction_question(REPLY, FOUR, 2)
    assert REPLY in words
    cell = json.loads(schema)["properties"]["cells"]["items"]
    assert cell["properties"]["factor"]["enum"] == ["acc", "pre", "qua", "real"]
    assert cell["properties"]["image"]["enum"] == [1, 2]
