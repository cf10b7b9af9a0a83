"""A saved chat is read whatever it was saved from."""

from __future__ import annotations

import json

import pytest

from lmmscore.parsing import read_overall
from lmmscore.transcripts import spoken_in

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
    "model's name": f"## Prompt:\n{ASKED}\n## GPT-4o:\n{ANSWERED}",
    "model's name beside": f"Me: {ASKED}\n\nZebra-7B: {ANSWERED}",
    "time after": f"User [10:00 AM]\n{ASKED}\nAssistant [10:01 AM]\n{ANSWERED}",
    "time after bold": f"**User** · 2024-05-01 10:00\n{ASKED}\n\n**GPT-4** · 2024-05-01 10:01\n{ANSWERED}",
    "emoji without colon": f"👤 User\n\n{ASKED}\n\n🤖 Assistant\n\n{ANSWERED}",
    "emoji alone": f"🧑🏽: {ASKED}\n\n🤖: {ANSWERED}",
    "emoji as heading": f"### 👤\n\n{ASKED}\n\n### 🤖\n\n{ANSWERED}",
    "underlined": f"__User__\n{ASKED}\n\n__Assistant__\n{ANSWERED}",
    "brackets": f"[User]\n{ASKED}\n\n[Assistant]\n{ANSWERED}",
    "turns": f"### Turn 1 – User\n\n{ASKED}\n\n### Turn 1 – Assistant\n\n{ANSWERED}",
    "numbered": f"1. User: {ASKED}\n\n2. Assistant: {ANSWERED}",
    "bullets": f"- **User**: {ASKED}\n- **Assistant**: {ANSWERED}",
    "quoted": f"> **User:** {ASKED}\n>\n> **Assistant:** {ANSWERED}",
    "German": f"Nutzer: {ASKED}\nAssistent: {ANSWERED}",
    "French": f"Vous avez dit :\n{ASKED}\nChatGPT a dit :\n{ANSWERED}",
    "Chinese": f"用户：{ASKED}\n\n助手：{ANSWERED}",
    "tags": f"<user>\n{ASKED}\n</user>\n<assistant>\n{ANSWERED}\n</assistant>\n",
    "Llama 2": f"<s>[INST] <<SYS>>Be fair.<</SYS>> {ASKED} [/INST] {ANSWERED} </s>",
    "Llama 3": (
        f"<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n{ASKED}<|eot_id|>"
        f"<|start_header_id|>assistant<|end_header_id|>\n\n{ANSWERED}<|eot_id|>"
    ),
    "Gemma": (
        f"<bos><start_of_turn>user\n{ASKED}<end_of_turn>\n"
        f"<start_of_turn>model\n{ANSWERED}<end_of_turn>"
    ),
    "Vicuna": f"A chat. USER: {ASKED} ASSISTANT: {ANSWERED}</s>",
    "YAML": f"- role: user\n  content: {ASKED}\n- role: assistant\n  content: '{ANSWERED}'\n",
    "CSV": f'role,content\nuser,{ASKED}\nassistant,"{ANSWERED}"\n',
    "Gemini": json.dumps(
        {
            "contents": [
                {"role": "user", "parts": [{"text": ASKED}]},
                {"role": "model", "parts": [{"text": ANSWERED}]},
            ]
        }
    ),
    "page with classes": (
        f"<!doctype html><html><body><div class='user-message'>{ASKED}</div>"
        f"<div class='chat msg--assistant'>{ANSWERED}</div></body></html>"
    ),
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


@pytest.mark.parametrize(
    "names",
    [
        ("[01.05.24, 10:00:12] Anna:", "[01.05.24, 10:00:30] GPT-4V:"),
        ("Anna — 01/05/2024 10:00", "ChatGPT — 01/05/2024 10:01"),
        ("## Anna", "## Claude 3.5 Sonnet"),
        ("You", "ChatGPT"),
    ],
)
def test_a_longer_chat_tells_its_speakers_by_their_taking_turns(names):
    """A messenger's export with the user's own name, and names with nothing to mark them."""
    user, judge = names
    exchange = f"{user}\n{ASKED}\n\n{judge}\n{ANSWERED}\n\n"
    assert spoken_in(exchange * 2) == [("user", ASKED), ("judge", ANSWERED)] * 2
    assert spoken_in(f"{judge}\n{ANSWERED}\n\n" * 2) == []


QUOTED = (
    "Model A: 7\nModel B: 3\nAI: it looks generated\n1. User: x\n2. Assistant: y\n(12:30) clock"
)


@pytest.mark.parametrize(
    "names",
    [
        ("User:", "Assistant:"),
        ("Me:", "Zebra-7B:"),
        ("Human:", "AI:"),
        ("👤 User", "🤖 Assistant"),
        ("[10:32] User:", "[10:33] Zebra:"),
        ("[01.05.24, 10:00] Anna:", "[01.05.24, 10:01] GPT-4V:"),
    ],
)
def test_speakers_that_a_reply_quotes_do_not_cut_it(names):
    """Names that look like a judge's or a user's inside a reply are its words."""
    user, judge = names
    exchange = f"{user}\n{ASKED}\n\n{judge}\n{ANSWERED}\n\n"
    said = spoken_in(exchange * 2 + f"{user}\nMore?\n\n{judge}\n{QUOTED}")
    assert said[-2:] == [("user", "More?"), ("judge", QUOTED)]
    assert len(said) == 6


@pytest.mark.parametrize("opening", ["**Overall** it is fine.", "### Answer", "__Scores__"])
def test_marks_that_begin_a_reply_stay_in_it(opening):
    """Bold type or a heading right after the judge's name is the reply's own."""
    assert spoken_in(f"User: {ASKED}\nAssistant: {opening}\n8")[1] == ("judge", f"{opening}\n8")


def test_a_chat_quoted_by_an_unrecognised_speaker_is_not_taken_for_the_chat():
    """Anna and ChatGPT speak, in a style that is not told from text; `User:` is in a reply."""
    exchange = f"Anna: {ASKED}\nChatGPT: An example:\nUser: hello\nAssistant: hi\n\n"
    assert spoken_in(exchange) == []
    assert spoken_in(exchange * 2) == []


def test_two_names_that_could_both_be_the_judge_are_not_guessed_between():
    """`Task:` in each question takes turns with the user just as the judge does."""
    exchange = f"Me: Hello.\nTask: {ASKED}\nZebra: {ANSWERED}\n\n"
    assert spoken_in(exchange * 2) == []


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


@pytest.mark.parametrize("said", ['"not closed', "x" * 200_000])
def test_a_table_whose_cells_cannot_be_told_apart_is_not_recognised(said: str) -> None:
    """A stray quotation mark would run one speaker's words into another's."""
    assert spoken_in(f"role,content\nuser,hello\nassistant,{said}\n") == []
