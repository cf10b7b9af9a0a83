"""A saved chat is read whatever it was saved from."""

from __future__ import annotations

import json

import pytest

from lmmscore.parsing import read_overall
from lmmscore.speakers import spoken_in

ASKED, ANSWERED = "Score them.", "Image 1: S_acc: 8"
TREE = {
    "root": {"message": None, "parent": None, "children": ["a"]},
    "a": {
        "message": {"author": {"role": "user"}, "content": {"parts": [ASKED]}},
        "parent": "root",
        "children": ["old", "b"],
    },
    "old": {
        "message": {"author": {"role": "assistant"}, "content": {"parts": ["discarded"]}},
        "parent": "a",
        "children": [],
    },
    "b": {
        "message": {"author": {"role": "assistant"}, "content": {"parts": [ANSWERED]}},
        "parent": "a",
        "children": [],
    },
}
MESSAGES = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": ANSWERED}]
FORMS = {
    "one line": f"User: {ASKED}\nAssistant: {ANSWERED}",
    "above": f"User:\n{ASKED}\n\nAssistant:\n{ANSWERED}",
    "said": f"You said:\n{ASKED}\n\nChatGPT said:\n{ANSWERED}",
    "bold": f"**You:** {ASKED}\n\n**Judge:** {ANSWERED}",
    "times": f"[10:32] User: {ASKED}\n[10:33] Assistant: {ANSWERED}",
    "emoji": f"🧑 User:\n{ASKED}\n🤖 Assistant:\n{ANSWERED}",
    "unknown judge": f"## Prompt:\n{ASKED}\n## Zebra-9:\n{ANSWERED}",
    "ChatML": f"<|im_start|>user\n{ASKED}<|im_end|>\n<|im_start|>assistant\n{ANSWERED}<|im_end|>",
    "JSON": json.dumps(MESSAGES),
    "JSON lines": "\n".join(map(json.dumps, MESSAGES)),
    "request": json.dumps({"model": "m", "messages": MESSAGES}),
    "ShareGPT": json.dumps(
        {"conversations": [{"from": "human", "value": ASKED}, {"from": "gpt", "value": ANSWERED}]}
    ),
    "Claude": json.dumps(
        {
            "chat_messages": [
                {"sender": "human", "text": ASKED},
                {"sender": "assistant", "text": ANSWERED},
            ]
        }
    ),
    "ChatGPT": json.dumps([{"title": "t", "current_node": "b", "mapping": TREE}]),
    "page": (
        f"<!doctype html><html><body><div data-message-author-role='user'><p>{ASKED}</p></div>"
        f"<div data-message-author-role='assistant'><p>{ANSWERED}</p></div></body></html>"
    ),
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_a_chat_is_read_in_the_form_people_have_it(text):
    """Question and answer are told apart, and nothing of either is lost."""
    assert spoken_in(text) == [("user", ASKED), ("judge", ANSWERED)]


@pytest.mark.parametrize("inner", ["### Answer", "**Response:**", "Answer: fine", "### Prompt"])
def test_a_heading_inside_a_reply_does_not_cut_it(inner):
    """What looks like a speaker in another style belongs to the reply."""
    text = f"## Prompt:\n{ASKED}\n## ChatGPT:\nFirst.\n{inner}\nSecond.\n## Prompt:\nMore?\n## ChatGPT:\nNo."
    said = spoken_in(text)
    assert [role for role, _ in said] == ["user", "judge", "user", "judge"]
    assert said[1][1] == f"First.\n{inner}\nSecond."


def test_nobody_speaks_in_a_plain_text():
    """A text without speakers is no chat."""
    assert spoken_in("Just some words.\nAnd a second line.") == []


def test_a_table_that_repeats_the_sub_scores_states_no_overall():
    """The last column of sub-scores is not taken for a sum that is wrong."""
    text = (
        "| Image | S_acc | S_pre | S_qua | S_real |\n|---|---|---|---|---|\n| 1 | 8 | 7 | 7 | 6 |"
    )
    assert read_overall(text, 1) == {}
    assert read_overall(text.replace("S_real", "S_all"), 1) == {1: 6}
