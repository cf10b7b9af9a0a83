"""Chat transcripts: who said what and which images were shown, whatever they were saved from."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from lmmscore.conversation import ordinal
from lmmscore.errors import FileProblem
from lmmscore.yaml_files import parse_yaml, read_text

# --------------------------------------------------------------------------------------------------
# Who says what in a saved chat: prompt tokens, JSON, YAML and CSV, a page, headings of any style.
#
# A wrong cut would give one speaker another's words, so what is unsure is not recognised at all.
# --------------------------------------------------------------------------------------------------

Role = Literal["user", "judge"]
Speech = list[tuple[Role, str]]

_USER_ROLES = frozenset(("user", "human", "prompt", "you", "me", "question", "prompter"))
_JUDGE_ROLES = frozenset(("assistant", "gpt", "model", "ai", "bot", "chatgpt", "judge", "claude"))

UNNAMED_IMAGE = "unnamed-image"
"""In place of an image that a transcript holds itself, under no name."""


def spoken_in(text: str) -> Speech:
    """Return who says what, in order; nothing where no speaker is recognised."""
    start = _unquoted(text.lstrip("\ufeff \t\r\n"))
    if re.match(r"<!doctype html|<html|<head|<body", start, re.IGNORECASE):
        return _from_page(start)

    for form in (_from_json, _from_yaml, _from_table, _from_tokens, _from_inst, _from_vicuna):
        said = form(start)
        if said:
            return said

    return _from_tags(start) or _from_headings(start)


def _unquoted(text: str) -> str:
    """Return a text without the `>` that stands before each of its lines."""
    lines = text.splitlines()
    if not all(line.startswith(">") for line in lines if line.strip()):
        return text

    return "\n".join(re.sub(r"^> ?", "", line) for line in lines)


def _role(name: str) -> Role | None:
    name = name.strip().lower()
    if name in _USER_ROLES:
        return "user"
    return "judge" if name in _JUDGE_ROLES else None


def _both_speak(said: Speech) -> bool:
    return {role for role, _ in said} == {"user", "judge"}


def what_is_found(text: str) -> str:
    """Return what a file has instead of speakers, and what to do about it."""
    start = text.lstrip("\ufeff \t\r\n")
    if start.startswith(("{", "[")):
        keys = re.findall(r'"(\w{1,30})"\s*:', start[:LONGEST_LOOK])
        seen = "JSON with the keys " + _first_few(keys)
    elif re.match(r"<!doctype|<html", start, re.IGNORECASE):
        classes = re.findall(r'\bclass="([^"]{1,40})"', start[:LONGEST_LOOK])
        seen = "a page with the classes " + _first_few(classes)
    else:
        names = [heading.name for heading in _headings(start[:LONGEST_LOOK])]
        opening = " ".join(start[:60].split())
        seen = f"the headings {_first_few(names)}" if names else opening or "nothing"

    return (
        f"Found: {seen}; nothing there tells what the user says from what the judge says. "
        "Put `## Prompt:` before what you said and `## ChatGPT:` before each "
        'reply, or save it as JSON: [{"role": "user", "content": "…"}, …]'
    )


LONGEST_LOOK = 20_000
"""How many characters are searched to describe what a file holds."""


def _first_few(names: Sequence[str]) -> str:
    return ", ".join(list(dict.fromkeys(names))[:8]) or "(none)"


# --- The tokens that models are prompted with ---

_OPENING_TOKEN = re.compile(
    r"""<\|im_start\|>[ ]*(?P<chatml>\w+)[^\n]*\n
    |<\|(?:start_header_id|header_start)\|>(?P<llama>\w+)<\|(?:end_header_id|header_end)\|>
    |<start_of_turn>[ ]*(?P<gemma>\w+)
    |<[|｜](?P<plain>user|assistant|system)[|｜]>""",
    re.VERBOSE | re.IGNORECASE,
)
_CLOSING_TOKEN = re.compile(
    r"<\|(?:im_end|eot_id|eot|end|end_of_text|endoftext)\|>|<end_of_turn>|</s>"
    r"|<｜end▁of▁sentence｜>"
)
_SYSTEM = re.compile(r"<<SYS>>.*?<</SYS>>", re.DOTALL)
_VICUNA = re.compile(r"USER:\s(?P<asked>.*?)\sASSISTANT:(?P<answer>.*)", re.DOTALL)
_TAGGED = re.compile(
    r"^<(?P<role>\w+)>(?P<text>.*?)</(?P=role)>[ \t]*$\s*", re.DOTALL | re.MULTILINE
)


def _from_tokens(text: str) -> Speech:
    """Return what stands between the tokens of ChatML, Llama 3 and 4, Gemma, Phi or DeepSeek."""
    tokens = list(_OPENING_TOKEN.finditer(text))
    if not tokens or _users_among(_headings(text[: tokens[0].start()])):
        # A model may leak a token into its reply: the chat was not saved in that form.
        return []

    said: Speech = []
    ends = [token.start() for token in tokens[1:]]
    for token, end in zip(tokens, [*ends, len(text)], strict=True):
        role = _role(str(token[token.lastgroup or 0]))
        words = _CLOSING_TOKEN.split(text[token.end() : end], maxsplit=1)[0]
        if role is not None:
            said.append((role, words.strip()))

    return said if _both_speak(said) else []


def _from_inst(text: str) -> Speech:
    """Return what stands between the marks of Llama 2 and Mistral."""
    if not re.match(r"(?:<s>\s*)?\[INST\]", text):
        return []

    said: Speech = []
    for exchange in text.split("[INST]")[1:]:
        asked, mark, answer = exchange.partition("[/INST]")
        if not mark:
            return []

        said.append(("user", _SYSTEM.sub("", asked).strip()))
        said.append(("judge", re.split(r"</?s>", answer, maxsplit=1)[0].strip()))

    return said


def _from_vicuna(text: str) -> Speech:
    """Return what Vicuna's one long line holds: `USER: … ASSISTANT: …</s>`, over and over."""
    if "</s>" not in text:
        return []

    said: Speech = []
    for exchange in filter(str.strip, text.split("</s>")):
        match = _VICUNA.search(exchange)
        if not match or exchange.count("USER:") > 1 or exchange.count("ASSISTANT:") > 1:
            return []

        said.append(("user", match["asked"].strip()))
        said.append(("judge", match["answer"].strip()))

    return said


def _from_tags(text: str) -> Speech:
    """Return what stands between `<user>` and `</user>`, where there is nothing else."""
    said: Speech = []
    at = 0
    while at < len(text):
        match = _TAGGED.match(text, at)
        if match is None:
            return []

        role = _role(match["role"])
        if role is not None:
            said.append((role, match["text"].strip()))

        at = match.end()

    return said if _both_speak(said) else []


# --- JSON, YAML and CSV ---


def _from_json(text: str) -> Speech:
    """Return the messages of an export in JSON, or in JSON lines."""
    if not text.startswith(("{", "[")):
        return []

    try:
        return _messages(json.loads(text))
    except ValueError:
        pass

    # One message a line, or one conversation a line, of which the first is taken. A line that was
    # cut off does not spoil the others.
    values: list[Any] = []
    for line in text.splitlines():
        with suppress(ValueError):
            values.append(json.loads(line))

    return _messages(values[0] if len(values) == 1 else values)


def _from_yaml(text: str) -> Speech:
    """Return the messages of a YAML list that begins with a role."""
    if not re.match(r"(?:---\s+)?(?:\w+:[ \t]*\n\s*)?-[ \t]+(?:role|from|sender)[ \t]*:", text):
        return []

    try:
        return _messages(parse_yaml(text, "transcript"))
    except FileProblem:
        return []


def _from_table(text: str) -> Speech:
    """Return the rows of a CSV or TSV file that names a role and a text."""
    heads = text.split("\n", 1)[0]
    delimiter = next((mark for mark in "\t;," if mark in heads), ",")
    names = {name.strip().strip('"').lower() for name in heads.split(delimiter)}
    if not names & set(_SPEAKER_KEYS) or not names & set(_WORDS_KEYS):
        return []

    said: Speech = []
    table = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in table:
            told = {str(key).strip().lower(): value for key, value in row.items()}
            said += _message(told)
    except csv.Error:
        # A quotation mark that is not closed would run one speaker's words into another's.
        return []

    return said if _both_speak(said) else []


_LIST_KEYS = (
    "messages",
    "conversations",
    "conversation",
    "chat_messages",
    "contents",
    "chunkedPrompt",
    "chunks",
    "items",
)
_SPEAKER_KEYS = ("role", "from", "sender", "author", "speaker")
_WORDS_KEYS = ("content", "value", "text", "parts", "message")


def _messages(value: Any) -> Speech:
    """Return the messages of an export: OpenAI's, ShareGPT's, Claude's, Gemini's or ChatGPT's."""
    if isinstance(value, dict):
        return _messages_under(value)
    if not isinstance(value, list):
        return []

    said: Speech = []
    for message in value:
        if isinstance(message, dict):
            said += _message(message)

    if said:
        return said

    # A list of conversations: the first that is one.
    inner = (_messages(each) for each in value)
    return next(filter(None, inner), [])


def _messages_under(value: dict[str, Any]) -> Speech:
    """Return the messages in an export's envelope, whatever it calls them."""
    for key in _LIST_KEYS:
        if isinstance(value.get(key), (list, dict)):
            return _messages(value[key])
    if isinstance(value.get("mapping"), dict):
        return _from_tree(value)
    return []


def _message(message: dict[str, Any]) -> Speech:
    """Return what one message says, or nothing where it is neither the user's nor the judge's."""
    for key in _SPEAKER_KEYS:
        author = message.get(key)
        name = author.get("role") if isinstance(author, dict) else author
        role = _role(str(name or ""))
        if role is not None:
            return [(role, _content(message))]

    return []


def _content(message: dict[str, Any]) -> str:
    """Return what a message says, the files that came with it as images before the words."""
    said = (_words(message.get(key)) for key in _WORDS_KEYS)
    words = next(filter(str.strip, said), "")

    # Claude's exports name what was uploaded apart from the text, ChatGPT's within it.
    files = message.get("files") or message.get("attachments") or []
    shown = [_file_name(file) for file in files if isinstance(file, dict)]
    images = [f"![]({name})" for name in shown if name]
    return "\n".join([*images, words]).strip()


def _file_name(file: dict[str, Any]) -> str:
    return str(file.get("file_name") or file.get("name") or "")


_IMAGE_KEYS = (
    "image_url",
    "asset_pointer",
    "image",
    "source",
    "inlineData",
    "inline_data",
    "fileData",
    "file_data",
)
LONGEST_ADDRESS = 300
"""An image's address that is longer is the image itself."""


def _words(content: Any) -> str:
    """Return a message's text, its images as Markdown."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(_words, content)))
    if not isinstance(content, dict):
        return ""

    if isinstance(content.get("parts"), list):
        return _words(content["parts"])

    for key in _IMAGE_KEYS:
        if content.get(key):
            return f"![]({_image_address(content[key])})"

    return _words(content.get("text"))


def _image_address(image: Any) -> str:
    """Return where an image is from, as far as an export says it."""
    if isinstance(image, dict):
        named = [image[key] for key in ("url", "fileUri", "file_uri") if key in image]
        image = named[0] if named else UNNAMED_IMAGE

    address = str(image)
    is_picture_itself = len(address) > LONGEST_ADDRESS
    return UNNAMED_IMAGE if is_picture_itself else address


def _from_tree(value: dict[str, Any]) -> Speech:
    """Return the current branch of a ChatGPT export."""
    nodes = value["mapping"]
    at = value.get("current_node")
    if at not in nodes:
        ends = [key for key, node in nodes.items() if not node.get("children")]
        at = ends[-1] if ends else None

    # From its end to its root: every answer that was asked for again began a branch of its own.
    branch = []
    while at in nodes:
        message = nodes[at].get("message")
        if isinstance(message, dict):
            branch.append(message)

        at = nodes[at].get("parent")

    said = _messages(branch[::-1])
    return [(role, words) for role, words in said if words]


# --- A saved page ---


_ROLE_CLASS = re.compile(
    r"(?P<role>[a-z]+)[-_]+(?:message|msg|turn|bubble)"
    r"|(?:message|msg|turn|bubble)[-_]+(?P<last>[a-z]+)"
)


def _role_of_classes(classes: str) -> Role | None:
    """Return whose message an element of such classes holds: `user-message`, `msg--assistant`."""
    for name in classes.lower().split():
        match = _ROLE_CLASS.fullmatch(name)
        if match is not None:
            return _role(match["role"] or match["last"])

    return None


class _SavedPage(HTMLParser):
    """Takes a page's text, and whose each part is where the page says so."""

    def __init__(self, *, by_class: bool) -> None:
        super().__init__()
        self.said: list[tuple[Role | None, list[str]]] = [(None, [])]
        self._silent = 0
        self._by_class = by_class

    def _role_of(self, given: dict[str, str | None]) -> Role | None:
        if self._by_class:
            return _role_of_classes(given.get("class") or "")

        return _role(given.get("data-message-author-role") or given.get("data-role") or "")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin another part, a line, or an image."""
        given = dict(attrs)
        role = self._role_of(given)
        if role is not None:
            self.said.append((role, []))

        if tag in {"script", "style", "head"}:
            self._silent += 1
        elif tag == "img" and given.get("src"):
            self.said[-1][1].append(f"\n![]({given['src']})\n")
        elif tag in {"p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "table"}:
            self.said[-1][1].append("\n" + ("- " if tag == "li" else ""))
        elif tag in {"td", "th"}:
            self.said[-1][1].append(" | ")

    def handle_endtag(self, tag: str) -> None:
        """End a line, or what is not shown."""
        if tag in {"script", "style", "head"}:
            self._silent = max(0, self._silent - 1)
        elif tag in {"p", "div", "li", "tr"} or re.fullmatch(r"h[1-6]", tag):
            self.said[-1][1].append("\n")

    def handle_data(self, data: str) -> None:
        """Take what is shown."""
        if not self._silent:
            self.said[-1][1].append(data)


def _from_page(text: str) -> Speech:
    """Return what a page says is whose, by its attributes, its classes, or its headings."""
    words = ""
    for by_class in (False, True):
        page = _SavedPage(by_class=by_class)
        page.feed(text)
        parts = [(role, "".join(pieces)) for role, pieces in page.said]
        words = "".join(said for _, said in parts)
        marked: Speech = [(role, said.strip()) for role, said in parts if role is not None]
        if _both_speak(marked):
            return marked

    return _from_headings(words)


# --- Headings ---

_STRONG_USERS = frozenset(
    (
        *("user", "human", "prompt", "you", "me"),
        *("du", "sie", "nutzer", "nutzerin", "benutzer", "gebruiker"),
        *("utilisateur", "utilisatrice", "vous", "usuario", "usuaria", "usuário", "utente"),
        *("用户", "使用者", "你说", "ユーザー", "あなた", "사용자", "пользователь"),
        *"👤👥🧑👩👨🙋🗣🙂",
    )
)
_WEAK_USERS = frozenset(("question", "q", "i", "ich", "moi", "yo", "你", "我", "вы"))
"""Words that also head a paragraph of something else."""
_JUDGES = frozenset(
    (
        *_JUDGE_ROLES,
        *("assistent", "assistentin", "ki", "assistante", "ia", "asistente", "assistente"),
        *("助手", "助理", "アシスタント", "어시스턴트", "ассистент"),
        *"🤖👾🦙",
    )
)
_FAMILY = re.compile(
    r"(?:chatgpt|gpt|claude|gemini|bard|copilot|grok|llava|llama|qwen|mistral|pixtral|deepseek"
    r"|cogvlm|internvl|o[134])(?:[-. ]?v?\d[\w. -]*|-[\w.-]+|[ ](?:pro|plus))?"
)
_SAYS = re.compile(
    r"[ ](?:said|says|asked|wrote|answered|replied|ha(?:st|t)[ ]gesagt|sagten?|a(?:vez)?[ ]dit)$"
)
_SIGN = r"[^\w\s#*<>\[\](){}|`\"'$\\.,:;!?+=~/>&%@^-]*[ \t]*"
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:[ \u202f]?[APap]\.?[Mm]\.?)?"
_DATE = r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})"
_STAMP = rf"[\[(]?(?:{_DATE}(?:(?:T|,?[ ])(?:at[ ])?{_TIME})?(?:Z|[ ]?UTC)?|{_TIME})[\])]?"
_HEADING = re.compile(
    rf"""
    ^[ \t]*(?P<item>\d{{1,3}}[.)][ \t]+|[-*+][ \t]+)?
    (?P<sign>{_SIGN})(?P<mark>(?:\#{{1,6}}[ \t]*)?(?P<bold>\*\*|__|\*)?)(?P<inner_sign>{_SIGN})
    (?P<stamp>{_STAMP}[ \t,–-]*)?
    (?P<bracket>\[)?
    (?:(?:turn|message|round|exchange)[ ]?\#?\d+[ \t]*[-–—:.|·][ \t]*)?
    (?P<name>[^\W\d_](?:[^\W_]|[.'-])*(?:[ ]\#?(?:[^\W_]|[.'-])+){{0,4}})?
    (?P<late_stamp>[ \t]*[·•|,—–-]?[ \t]*{_STAMP})?
    (?:[ \t]*[\[(][^\])\n]{{0,40}}[\])])?
    (?P<bracket_end>\])?
    [ \t\u00a0\u202f]*(?P<colon>[:：]?)[ \t]*(?:(?P=bold))?[ \t]*(?P<after>[:：]?)
    (?P<last_stamp>[ \t]*[·•|,—–-]?[ \t]*{_STAMP}(?=[ \t]*$))?
    [ \t]*(?:\#+[ \t]*$)?(?P<rest>[^\n]*)$
    """,
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)

LONGEST_OPENING = 400
"""How many characters may precede the first speaker where no name is known to be a judge's."""
LONGEST_NAME = 40


Style = tuple[str, str]
"""The kind of list a heading is an item of, and how it is marked; either may be empty."""
BARE: Style = ("", "bare")
"""`You` and `ChatGPT`, alone on a line with nothing to mark them, as copied from a page."""


@dataclass(frozen=True, slots=True)
class _Heading:
    """A line that may say who speaks next."""

    name: str
    """In lower case, without its number; the emoji where that is all there is."""
    style: Style
    stamped: bool
    alone: bool
    """Whether nothing else stands on its line."""
    start: int
    begin: int
    """Where the words under it begin."""


def _from_headings(text: str) -> Speech:
    """Return what stands under the headings of two speakers, both in the same style.

    A heading inside a reply has another style or another name, so it does not cut the reply.
    """
    headings = _headings(text)
    best: Speech = []
    for user, judge, style in _pairs(headings):
        alike = [each for each in headings if each.style == style]
        turns = _turns_of(alike, user, judge)
        opening = text[: turns[0].start]
        if len(turns) > len(best) and _begins(headings, turns, judge, opening):
            best = _words_under(turns, user, text)

    return best


def _turns_of(headings: Sequence[_Heading], user: str, judge: str) -> list[_Heading]:
    """Return the headings under which two speakers speak."""
    turns: list[_Heading] = []
    # A greeting before the first question answers nothing.
    before = judge
    for each in headings:
        if each.name not in {user, judge}:
            continue

        # Nobody answers themselves: a second heading of the judge is part of the reply it is in.
        if (before, each.name) != (judge, judge):
            turns.append(each)

        before = each.name

    return turns


def _words_under(turns: Sequence[_Heading], user: str, text: str) -> Speech:
    """Return what stands under each heading, up to the next."""
    said: Speech = []
    ends = [turn.start for turn in turns[1:]]
    for turn, end in zip(turns, [*ends, len(text)], strict=True):
        role: Role = "user" if turn.name == user else "judge"
        said.append((role, text[turn.begin : end].strip()))
    return said


def _begins(
    headings: Sequence[_Heading], turns: Sequence[_Heading], judge: str, opening: str
) -> bool:
    """Tell whether a conversation begins after an opening, and is not one that somebody quotes.

    A long prompt has headings of its own ("Question:", "Score anchors:"), and a reply may hold an
    example with a user and an assistant.
    """
    names = [turn.name for turn in turns]
    if names.count(judge) < 2:
        # One exchange alone is weak evidence: only a title may stand before it.
        return turns[0].style != BARE and _TITLE.fullmatch(opening) is not None

    if not _is_judge(judge) and len(opening) > LONGEST_OPENING:
        return False

    # Somebody who speaks before it begins and again later is quoting this conversation.
    counts = Counter((each.name, each.style) for each in headings)
    for each in headings:
        if each.start >= turns[0].start:
            break

        is_speaker = each.name in _STRONG_USERS or _FAMILY.fullmatch(each.name)
        if each.name != judge and (is_speaker or counts[each.name, each.style] > 1):
            return False

    return True


_TITLE = re.compile(r"(?:\s|^#+[ ][^\n]*$|^-{3,}$)*", re.MULTILINE)


def _headings(text: str) -> list[_Heading]:
    """Return every line that could be a speaker's heading, in order."""
    found = (_heading(match) for match in _HEADING.finditer(text))
    return [heading for heading in found if heading is not None]


def _heading(match: re.Match[str]) -> _Heading | None:
    """Return a line as a heading; None where it only resembles one."""
    name = _name_in(match)
    if not name or len(name) > LONGEST_NAME:
        return None
    if bool(match["bracket"]) != bool(match["bracket_end"]):
        return None

    colon = bool(match["colon"] or match["after"])
    alone = not match["rest"].strip()
    stamps = [match["stamp"], match["late_stamp"], match["last_stamp"]]
    mark = match["mark"].strip() or match["bracket"] or ""
    if not colon:
        # Something else must make it a heading then, and nothing may follow it.
        mark = mark or _mark_without_colon(match, name, stamped=any(stamps))
        if not mark or not alone:
            return None

    item = (match["item"] or "").strip()
    if any(stamps):
        mark = f"{mark} stamped"

    style = ("1." if item[:1].isdigit() else item, mark)
    return _Heading(name, style, any(stamps), alone, match.start(), match.start("rest"))


def _mark_without_colon(match: re.Match[str], name: str, *, stamped: bool) -> str:
    """Return what makes a name on a line of its own a heading; empty where it is not one."""
    if stamped:
        return "alone"
    if _signs_in(match):
        return "emoji"
    return BARE[1] if name in _STRONG_USERS or _is_judge(name) else ""


def _signs_in(match: re.Match[str]) -> str:
    return (match["sign"] + match["inner_sign"]).strip()


def _name_in(match: re.Match[str]) -> str:
    """Return who a heading names, be it by an emoji alone."""
    if match["name"]:
        return _bare_name(match["name"])

    people = _STRONG_USERS | _JUDGES
    # Skin tones and professions are separate characters after the first.
    return next((sign for sign in _signs_in(match) if sign in people), "")


def _bare_name(name: str) -> str:
    """Return who speaks in `User 3`, `Q3` and `ChatGPT said`; the number of `GPT-4` is its own."""
    bare = re.sub(r"(?<=[^\W\d_])[ ]*[#(]*\d{1,3}\)?$", "", name.strip())
    return _SAYS.sub("", bare.lower())


def _users_among(headings: Sequence[_Heading]) -> list[_Heading]:
    return [each for each in headings if each.name in _STRONG_USERS | _WEAK_USERS]


def _is_judge(name: str) -> bool:
    """Tell whether a name is one that judges go by, or a model's."""
    return name in _JUDGES or _FAMILY.fullmatch(name) is not None


Pair = tuple[str, str, Style]


def _pairs(headings: Sequence[_Heading]) -> Iterator[Pair]:
    """Yield who may be user and judge, and the style of their headings, the likeliest first."""
    users = [(each.name, each.style) for each in _users_among(headings)]
    for user, style in dict.fromkeys(users):
        judge = _judge_of(headings, user, style)
        if judge:
            yield user, judge, style

    unknown = _unknown_user(headings)
    if unknown is not None:
        yield unknown


def _judge_of(headings: Sequence[_Heading], user: str, style: Style) -> str:
    """Return the name under which the replies to a user stand, or nothing where it is unsure."""
    alike = [each for each in headings if each.style == style]
    times = Counter(each.name for each in alike)
    others = [name for name in times if name != user and name not in _STRONG_USERS]
    answering = [name for name in others if _take_turns(alike, user, name)]

    # A bare name on a line of its own may be part of the text, however well known it is.
    if user in _STRONG_USERS and style != BARE:
        judge = _known_judge(others, times, least=times[user] / 2)
        if judge:
            # Who answers more often is the judge, and this name a word in somebody's reply.
            fuller = [name for name in answering if times[name] > times[judge]]
            return "" if fuller else judge

    if times[user] > 1 and len(answering) > 1:
        answering = _laid_out_alike(alike, user, answering)

        # Still two names that take turns with the user: a wrong cut would be worse than none.
        if len(answering) > 1:
            return ""

    return answering[0] if answering else ""


def _known_judge(names: Sequence[str], times: Counter[str], least: float) -> str:
    """Return the name of a model or a judge that speaks most often, and often enough, if any."""
    known = [name for name in names if _is_judge(name) and times[name] >= least]
    return max(known, key=lambda name: times[name], default="")


def _take_turns(headings: Sequence[_Heading], user: str, judge: str) -> bool:
    """Tell whether one name answers the other, each time, from the first on."""
    turns = [each.name for each in headings if each.name in {user, judge}]
    expected = [user, judge] * len(turns)
    return turns == expected[: len(turns)]


def _laid_out_alike(headings: Sequence[_Heading], user: str, names: Sequence[str]) -> list[str]:
    """Return those names which stand alone on a line where the user's does, and beside the words
    where it does not."""
    layouts: dict[str, set[bool]] = {}
    for each in headings:
        layouts.setdefault(each.name, set()).add(each.alone)
    return [name for name in names if layouts[name] == layouts[user]]


def _unknown_user(headings: Sequence[_Heading]) -> Pair | None:
    """Return who speaks with a judge that is known, in a messenger's export for instance.

    Only where times or Markdown headings tell speakers from the words they say.
    """
    judges = [each for each in headings if _is_judge(each.name)]
    if len(judges) < 2:
        return None

    judge = judges[0]
    alike = [each for each in headings if each.style == judge.style]
    if judge.stamped:
        alike = [each for each in alike if each.stamped]
    elif not judge.style[1].startswith("#"):
        return None

    names = {each.name for each in alike} - {judge.name}
    users = [name for name in names if _take_turns(alike, name, judge.name)]
    return (users[0], judge.name, judge.style) if len(names) == len(users) == 1 else None


# --------------------------------------------------------------------------------------------------
# Chat transcripts: who said what and which images were shown, whatever they were saved from.
# --------------------------------------------------------------------------------------------------

_IMAGE = re.compile(
    r"""(?:<(?:button|p|div|center|a)\b[^<>]*>\s*)*
    (?:<img\b[^<>]*?\bsrc\s*=\s*(?P<quote>["'])(?P<src>.*?)(?P=quote)[^<>]*>
      |!\[[^\]]*\]\(\s*<?(?P<link>[^)\s>]+)>?[^)]*\))
    (?:\s*</(?:img|button|p|div|center|a)>)*""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_SOURCE_WORDS = re.compile(r"\b(?:source|original|input)\b", re.IGNORECASE)
_SHOWS_AN_EDIT = re.compile(
    rf"^\W*(?:this\s+is\s+|here\s+is\s+|now\s+)?(?:the\s+)?"
    rf"(?:{'|'.join(ordinal(i) for i in range(1, 21))}|last|next|only|\d+(?:st|nd|rd|th))\b"
    r"[\w\s]{0,24}\b(?:one|image|edit|picture|result)\b\W*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    """A prompt with the images it shows, and the reply to it."""

    prompt: str
    """The words without the image tags, outer white space taken away."""
    images: tuple[PurePosixPath, ...]
    reply: str

    @property
    def shows_an_edit(self) -> bool:
        """Whether it shows an image, or says that it did."""
        return bool(self.images) or _SHOWS_AN_EDIT.match(self.prompt) is not None


@dataclass(frozen=True)
class Transcript:
    """A conversation as it was saved."""

    path: Path
    turns: tuple[TranscriptTurn, ...]

    @cached_property
    def source_turn(self) -> int | None:
        """Which turn shows the source image: the first with an image that speaks of one,
        else the first with one."""
        shows = [number for number, turn in enumerate(self.turns) if turn.images]
        named = [number for number in shows if _SOURCE_WORDS.search(self.turns[number].prompt)]
        candidates = named or shows
        return candidates[0] if candidates else None

    @cached_property
    def edit_turns(self) -> tuple[int, ...]:
        """Which turns show an edit, in order;
        a turn that says so counts even if its image is gone."""
        first = 0 if self.source_turn is None else self.source_turn + 1
        numbers = range(first, len(self.turns))
        return tuple(number for number in numbers if self.turns[number].shows_an_edit)

    @cached_property
    def methods(self) -> tuple[str | None, ...]:
        """The method behind each edit, from the image's file name; None where there is no image."""
        images = [self.turns[number].images for number in self.edit_turns]
        names = [each[0] if each and each[0].name != UNNAMED_IMAGE else None for each in images]
        source = self.turns[self.source_turn].images[0] if self.source_turn is not None else None
        return method_names(names, source)


def load_transcript(path: Path) -> Transcript:
    """Return the transcript in a file. Raises FileProblem where nobody speaks in it."""
    text = read_text(path)
    turns: list[TranscriptTurn] = []
    for role, words in spoken_in(text):
        if role == "user":
            turns.append(_turn(words))
        elif turns:
            # A reply in several messages is one reply; a greeting before any prompt is none.
            whole = f"{turns[-1].reply}\n\n{words}".strip()
            turns[-1] = replace(turns[-1], reply=whole)

    if not turns:
        raise FileProblem(f"{path}: not a chat transcript that can be read. {what_is_found(text)}")
    return Transcript(path, tuple(turns))


def _turn(prompt: str) -> TranscriptTurn:
    """Return a turn that nobody has answered yet."""
    images = tuple(_image_name(match["src"] or match["link"]) for match in _IMAGE.finditer(prompt))
    return TranscriptTurn(_IMAGE.sub("", prompt).strip(), images, "")


def _image_name(address: str) -> PurePosixPath:
    if address.startswith("data:"):
        return PurePosixPath(UNNAMED_IMAGE)
    return PurePosixPath(address.split("?")[0])


def method_names(
    images: list[PurePosixPath | None], source: PurePosixPath | None
) -> tuple[str | None, ...]:
    """Return the method behind each file: SINE for `6_SINE.png` next to `6_src.jpg`, as for
    `SINE/6.png`."""
    stems = [image.stem for image in images if image is not None]
    by_folder = len(set(stems)) < len(stems)
    prefix = _common_prefix(stems, source.stem if source else "")
    names: list[str | None] = []
    for image in images:
        if image is None:
            names.append(None)
        elif by_folder:
            # The same name in several folders: one folder per method.
            names.append(image.parent.name or image.stem)
        else:
            names.append(image.stem.removeprefix(prefix) or image.stem)

    return tuple(names)


def _common_prefix(stems: list[str], source: str) -> str:
    """Return what all names begin with up to a separator: the item's own name."""
    bare = re.sub(r"[_-]?(?:src|source|original|input|orig)$", "", source, flags=re.IGNORECASE)

    for separator in ("_", "-"):
        if bare and bare != source and all(stem.startswith(bare + separator) for stem in stems):
            return bare + separator

    # Character by character is what is wanted here: these are names, not paths.
    shared = os.path.commonprefix([*stems, source] if source else stems)  # noqa: RUF071
    cut = max(shared.rfind("_"), shared.rfind("-")) + 1
    if len(stems) > 1 or cut:
        return shared[:cut]

    return stems[0][: stems[0].find("_") + 1] if stems else ""


def same_words(one: str, other: str) -> bool:
    """Tell whether two texts are the same but for white space at the ends of lines
    and between paragraphs."""
    return one.split() == other.split()
