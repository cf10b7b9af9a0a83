from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmmscore.conversation import cardinal, escape, fill, ordinal, slots_of
from lmmscore.errors import DialogError


def test_slots_are_filled_and_single_braces_stay() -> None:
    """Prompts are full of JSON and LaTeX: only double braces around a name are a slot."""
    text = '{"score": <n>} $S_{acc}$ {{n}} edits'
    assert fill(text, {"n": "8"}, "here") == '{"score": <n>} $S_{acc}$ 8 edits'


def test_unknown_slot_names_place_and_nearest() -> None:
    """A mistyped slot says where it stands and what was meant."""
    with pytest.raises(
        DialogError, match=r"turn 3: unknown name \{\{instuction\}\} \(did you mean instruction"
    ):
        fill("{{instuction}}", {"instruction": "x"}, "turn 3")


def test_full_stop_is_not_doubled() -> None:
    """An instruction that ends in a full stop does not get a second one."""
    assert fill("Do: {{i}}. Then", {"i": "Add a cat."}, "") == "Do: Add a cat. Then"
    assert fill("Do: {{i}}. Then", {"i": "Add a cat"}, "") == "Do: Add a cat. Then"


@given(st.text(alphabet=st.sampled_from("ab{}\\ n.\n"), max_size=60))
def test_escaped_text_fills_to_itself(text: str) -> None:
    """Whatever braces a published text holds, importing and playing it gives the text back."""
    assert fill(escape(text), {}, "") == text
    assert slots_of(escape(text)) == ()


@pytest.mark.parametrize(
    ("number", "word"),
    [(1, "first"), (8, "eighth"), (20, "twentieth"), (21, "21st"), (112, "112th")],
)
def test_ordinals(number: int, word: str) -> None:
    """Places are said in words up to twenty, in figures beyond."""
    assert ordinal(number) == word


def test_cardinals() -> None:
    """Counts are said in words up to twenty, in figures beyond."""
    assert [cardinal(1), cardinal(20), cardinal(21)] == ["one", "twenty", "21"]
