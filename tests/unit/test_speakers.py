"""A saved chat is read whatever it was saved from."""

from __future__ import annotations

import json

import pytest

from lmmscore.errors import FileProblem
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
    "rules": f"=== USER ===\n{ASKED}\n\n=== ASSISTANT ===\n{ANSWERED}",
    "dashes": f"--- user ---\n{ASKED}\n\n--- assistant ---\n{ANSWERED}",
    "chevrons": f"user> {ASKED}\nassistant> {ANSWERED}",
    "round brackets": f"(user)\n{ASKED}\n\n(assistant)\n{ANSWERED}",
    "italics": f"#### _You_:\n{ASKED}\n\n#### _ChatGPT_:\n{ANSWERED}",
    "bars": f"2024-05-01T10:00:00Z | user | {ASKED}\n2024-05-01T10:00:09Z | assistant | {ANSWERED}",
    "date in words": (
        f"User - May 1, 2024 at 10:00 PM\n{ASKED}\nZebra - 1 May 2024, 22:01\n{ANSWERED}"
    ),
    "date after bold": (
        f"**User** (May 1, 2024, 10:00):\n{ASKED}\n**Zebra** (May 1, 2024, 10:01):\n{ANSWERED}"
    ),
    "emoji before the words": f"🧑 {ASKED}\n\n🤖 {ANSWERED}",
    "emoji before an unknown name": f"👤 User\n{ASKED}\n🤖\n{ANSWERED}",
    "model's path": f"User:\n{ASKED}\n\nlab/Zebra_2-7B:\n{ANSWERED}",
    "model's tag": f"User: {ASKED}\nzebra:7b: {ANSWERED}",
    "turns in brackets": f"[Turn 1] User: {ASKED}\n[Turn 1] Assistant: {ANSWERED}",
    "angles": f"<User>: {ASKED}\n<Assistant>: {ANSWERED}",
    "lenticular brackets": f"【用户】\n{ASKED}\n【助手】\n{ANSWERED}",
    "stars": f"*** User ***\n{ASKED}\n*** Assistant ***\n{ANSWERED}",
    "dashes for colons": f"**User** – {ASKED}\n**Assistant** – {ANSWERED}",
    "Alpaca": f"### Instruction:\n{ASKED}\n\n### Response:\n{ANSWERED}",
    "exporter": (
        "# Judging\n\n**User:** Anna (a@b.c)  \n**Created:** 5/1/2024 10:00  \n\n"
        f"## Prompt:\n5/1/2024, 10:00:00 AM\n\n{ASKED}\n\n## Response:\n5/1/2024, 10:00:30 AM\n\n"
        f"{ANSWERED}\n\n---\nPowered by [ChatGPT Exporter](https://www.chatgptexporter.com)\n"
    ),
    "YAML below a title": (
        f"title: x\nmessages:\n  - role: user\n    content: {ASKED}\n"
        f"  - role: assistant\n    content: '{ANSWERED}'\n"
    ),
    "XML": (
        f'<conversation>\n<turn role="user">{ASKED}</turn>\n'
        f'<turn role="assistant">{ANSWERED}</turn>\n</conversation>\n'
    ),
    "fenced JSON": f"```json\n{json.dumps(MESSAGES)}\n```\n",
    "request and response": json.dumps(
        {
            "request": {"messages": MESSAGES[:1]},
            "response": {"choices": [{"index": 0, "message": MESSAGES[1]}]},
        }
    ),
    "messages and response": json.dumps({"messages": MESSAGES[:1], "response": ANSWERED}),
    "Responses API": json.dumps(
        {
            "input": [{"role": "user", "content": [{"type": "input_text", "text": ASKED}]}],
            "output": [
                {"type": "reasoning", "summary": []},
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": ANSWERED}],
                },
            ],
        }
    ),
    "log of requests": "\n".join(
        json.dumps({"request": {"messages": asked}, "response": {"choices": [{"message": answer}]}})
        for asked, answer in [(MESSAGES[:1], MESSAGES[1])] * 2
    ),
    "pairs": json.dumps({"history": [[ASKED, ANSWERED]]}),
    "prompt and response": json.dumps({"prompt": ASKED, "response": ANSWERED}) + "\n",
    "human and ai": json.dumps({"turns": [{"human": ASKED, "ai": ANSWERED}]}),
    "LangChain": json.dumps(
        [
            {"type": "human", "data": {"content": ASKED}},
            {"type": "ai", "data": {"content": ANSWERED}},
        ]
    ),
    "unknown judge in JSON": json.dumps(
        [
            {"role": "system", "content": "Be fair."},
            {"role": "user", "content": ASKED},
            {"role": "zebra", "content": ANSWERED},
        ]
    ),
    "unknown user in CSV": f"turn,speaker,message\n1,Anna,{ASKED}\n2,GPT-4o,{ANSWERED}\n",
    "YAML of exchanges": f"turns:\n- user: {ASKED}\n  assistant: '{ANSWERED}'\n",
    "LibreChat": json.dumps(
        {
            "messages": [
                {"sender": "User", "isCreatedByUser": True, "text": ASKED},
                {"sender": "My preset", "isCreatedByUser": False, "text": ANSWERED},
            ]
        }
    ),
    "LM Studio": json.dumps(
        {
            "messages": [
                {"versions": [MESSAGES[0]], "currentlySelected": 0},
                {
                    "versions": [
                        {"role": "assistant", "steps": [{"content": [{"text": ANSWERED}]}]},
                        {"role": "assistant", "content": "discarded"},
                    ],
                    "currentlySelected": 0,
                },
            ]
        }
    ),
    "Open WebUI": json.dumps(
        [
            {
                "chat": {
                    "history": {
                        "messages": {
                            "a": {**MESSAGES[0], "parentId": None, "childrenIds": ["b", "c"]},
                            "b": {**MESSAGES[1], "parentId": "a", "childrenIds": []},
                            "c": {"role": "assistant", "content": "discarded", "parentId": "a"},
                        },
                        "currentId": "b",
                    }
                }
            }
        ]
    ),
    "SillyTavern": "\n".join(
        map(
            json.dumps,
            [
                {"user_name": "You", "character_name": "LLaVA"},
                {"name": "Anna", "is_user": True, "mes": ASKED},
                {"name": "LLaVA", "is_user": False, "mes": ANSWERED},
            ],
        )
    ),
    "thoughts": json.dumps(
        [
            MESSAGES[0],
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Perhaps S_acc: 1"},
                    {"type": "text", "text": ANSWERED},
                ],
            },
        ]
    ),
    "page of Claude": (
        f"<html><body><div data-testid='user-message' class='font-user-message'>{ASKED}</div>"
        f"<div><div class='font-claude-message'>{ANSWERED}</div><button>Copy</button></div></body></html>"
    ),
    "page of Gemini": (
        f"<html><body><user-query><p>{ASKED}</p></user-query>"
        f"<model-response><div>{ANSWERED}</div></model-response><p>Gemini errs.</p></body></html>"
    ),
    "page with names for classes": (
        f"<html><body><div class='user'>{ASKED}</div><div class='assistant'>{ANSWERED}</div>"
        "</body></html>"
    ),
    "page with two classes": (
        f"<div class='chat-message user'>{ASKED}</div>"
        f"<div class='chat-message bot'>{ANSWERED}</div><footer>4.5 of 5 stars</footer>"
    ),
    "web archive": (
        "From: <Saved by Blink>\nMIME-Version: 1.0\n"
        'Content-Type: multipart/related; boundary="b"\n\n--b\nContent-Type: text/html\n'
        "Content-Transfer-Encoding: quoted-printable\n\n"
        f'<html><body><div data-role=3D"user">{ASKED}</div>'
        f'<div data-role=3D"assistant">{ANSWERED}</div></body></html>\n--b--\n'
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
        ("Anna — Today at 10:00 AM", "ChatGPT — Today at 10:01 AM"),
        ("User message:", "Model response:"),
        ("Researcher:", "GPT-4V:"),
        ("#1 User", "#2 Assistant"),
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


def test_a_model_that_is_changed_in_the_middle_is_still_the_judge():
    """Nothing that the second model says is taken for the user's words."""
    text = "".join(
        f"User: {ASKED}\n{model}: {ANSWERED}\n" for model in ("GPT-4", "GPT-4o", "GPT-4o")
    )
    assert spoken_in(text) == [("user", ASKED), ("judge", ANSWERED)] * 3


def test_two_models_that_answer_each_time_are_not_one_judge():
    """Whose scores would count is unknown."""
    exchange = f"User: {ASKED}\nGPT-4o: {ANSWERED}\nClaude: I disagree. Image 1: S_acc: 2\n\n"
    assert spoken_in(exchange * 2) == []


def test_headings_of_turns_are_nobodys_words():
    """`## Turn 2` between two exchanges belongs to neither."""
    exchange = "## Turn {}\n\n**User:**\n\n" + ASKED + "\n\n**Assistant:**\n\n" + ANSWERED + "\n\n"
    text = exchange.format(1) + exchange.format(2)
    assert spoken_in(text) == [("user", ASKED), ("judge", ANSWERED)] * 2


@pytest.mark.parametrize("judge", ["ChatGPT said:", "**Zebra:**"])
def test_a_reply_in_two_messages_keeps_no_name_in_its_middle(judge):
    """A second message of the judge is a message, not a heading in the first."""
    user = "You said:" if "said" in judge else "**You:**"
    text = f"{user}\n{ASKED}\n{judge}\nYes.\n" * 2 + f"{judge}\n{ANSWERED}"
    assert spoken_in(text)[-2:] == [("judge", "Yes."), ("judge", ANSWERED)]


def test_a_heading_in_every_reply_is_not_the_judge():
    """The name of a model tells who answers among others that come each time."""
    exchange = f"User: {ASKED}\nZebra-7B: Well.\nNote: none\nSummary: {ANSWERED}\n"
    assert [words for _, words in spoken_in(exchange * 2)][1::2] == [
        f"Well.\nNote: none\nSummary: {ANSWERED}"
    ] * 2


@pytest.mark.parametrize(
    "odd",
    [
        {"type": ["x"], "content_type": {}},
        {"role": "user", "content": [{"type": {}}], "files": 5, "images": {"a": 1}},
        {"versions": [3], "currentlySelected": -9},
        {"mapping": {"a": 5, "b": {"message": 3, "parent": ["x"]}}, "current_node": ["b"]},
    ],
)
def test_json_of_odd_values_is_no_chat(odd):
    """What stands where a text, a list or a number belongs does not end the program."""
    for value in (odd, [odd], {"messages": [odd]}):
        assert {role for role, _ in spoken_in(json.dumps(value))} <= {"user"}


def test_a_tree_of_messages_that_is_a_ring_has_an_end():
    """An export whose messages name each other as parents is read once."""
    ring = {key: {"message": None, "parent": other} for key, other in ("ab", "ba")}
    assert spoken_in(json.dumps({"mapping": ring, "current_node": "a"})) == []


def test_of_an_accounts_export_the_conversation_with_pictures_is_read():
    """A chat about something else is passed over; between two of the kind nothing is chosen."""
    pasta = {"chat_messages": [{"sender": "human", "text": "Pasta?"}]}
    judged = {
        "chat_messages": [
            {"sender": "human", "text": ASKED, "files": [{"file_name": "6_src.jpg"}]},
            {"sender": "assistant", "text": ANSWERED},
        ]
    }
    said = spoken_in(json.dumps([pasta, judged]))
    assert said == [("user", f"![](<6_src.jpg>)\n{ASKED}"), ("judge", ANSWERED)]
    other = json.loads(json.dumps(judged).replace("S_acc: 8", "S_acc: 2"))
    with pytest.raises(FileProblem, match="2 conversations"):
        spoken_in(json.dumps([pasta, judged, other]))


def test_a_document_that_was_uploaded_is_no_picture():
    """Only pictures are shown; a text file beside the words would count as an edit."""
    message = {"sender": "human", "text": ASKED, "attachments": [{"file_name": "rules.txt"}]}
    answer = {"sender": "assistant", "text": ANSWERED}
    assert spoken_in(json.dumps({"chat_messages": [message, answer]}))[0] == ("user", ASKED)


def test_markdown_may_begin_with_a_tag():
    """A logo above the chat does not make it a page."""
    logo = "<div align='center'><img src='logo.png'></div>\n\n"
    exchange = f"## Prompt:\n{ASKED}\n## ChatGPT:\n{ANSWERED}\n"
    assert spoken_in(logo + exchange * 2) == [("user", ASKED), ("judge", ANSWERED)] * 2


def test_a_page_shows_no_avatars():
    """A small picture, or one called an avatar, is the page's own."""
    text = (
        "<html><body><div data-role='user'><img class='avatar' src='me.png'>"
        f"<img src='dot.png' width='16'><img src='6_a.png'>{ASKED}</div>"
        f"<div data-role='assistant'>{ANSWERED}</div></body></html>"
    )
    assert spoken_in(text)[0] == ("user", f"![](<6_a.png>)\n{ASKED}")


def test_json_that_is_nested_too_deep_is_not_recognised():
    """It ends in a message, not in a traceback."""
    assert spoken_in('{"a":' * 100_000) == []
    assert spoken_in("[" * 900 + "]" * 900) == []


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


@pytest.mark.parametrize("names", [("User:", "Assistant:"), ("## User", "## Assistant")])
def test_headings_of_an_instruction_and_a_response_do_not_cut_a_chat(names):
    """`### Instruction:` in a prompt and `### Response:` in a reply are their words."""
    user, judge = names
    asked, said = f"{ASKED}\n### Instruction:\nPaint it", f"Well.\n### Response:\n{ANSWERED}"
    assert spoken_in(f"{user}\n{asked}\n\n{judge}\n{said}") == [("user", asked), ("judge", said)]


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
