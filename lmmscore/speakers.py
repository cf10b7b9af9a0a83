"""Who says what in a saved chat: prompt tokens, JSON, YAML and CSV, a page, headings of any style.

A wrong cut would give one speaker another's words, so what is unsure is not recognised at all.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from email import message_from_string
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any, Literal

from lmmscore.errors import FileProblem
from lmmscore.yaml_files import parse_yaml

Role = Literal["user", "judge"]
Speech = list[tuple[Role, str]]

_STRONG_USERS = frozenset(
    (
        *("user", "human", "prompt", "you", "me"),
        *("du", "sie", "nutzer", "nutzerin", "benutzer", "gebruiker"),
        *("utilisateur", "utilisatrice", "vous", "usuario", "usuaria", "usuário", "utente"),
        *("用户", "使用者", "你说", "ユーザー", "あなた", "사용자", "пользователь"),
        *"👤👥🧑👩👨🙋🗣🙂",
    )
)
_WEAK_USERS = frozenset(
    (
        *("question", "q", "i", "ich", "moi", "yo", "你", "我", "вы"),
        *("user message", "user prompt", "user input", "user query", "human message", "my prompt"),
    )
)
"""Words that also head a paragraph of something else."""
_JUDGES = frozenset(
    (
        *("assistant", "gpt", "model", "ai", "bot", "chatgpt", "judge", "claude"),
        *("assistent", "assistentin", "ki", "assistante", "ia", "asistente", "assistente"),
        *("助手", "助理", "アシスタント", "어시스턴트", "ассистент"),
        *"🤖👾🦙",
    )
)
_FAMILY = re.compile(
    r"(?:chatgpt|gpt|claude|gemini|bard|copilot|grok|llava|llama|qwen|mistral|pixtral|deepseek"
    r"|cogvlm|internvl|o[134])(?:[-. ]?v?\d[\w. -]*|-[\w.-]+|[ ](?:pro|plus))?"
)

UNNAMED_IMAGE = "unnamed-image"
"""In place of an image that a transcript holds itself, under no name."""


def spoken_in(text: str) -> Speech:
    """Return who says what, in order; nothing where no speaker is recognised."""
    start = unquoted(text.lstrip("\ufeff \t\r\n"))
    fenced = re.fullmatch(r"```\w*\n(?P<inside>(?:(?!```)[\s\S])*)```\s*", start)
    start = _page_in_archive(start) or (fenced["inside"] if fenced else start)
    if re.match(r"<!doctype html|<(?:html|head|body)\b", start, re.IGNORECASE):
        return (
            _from_page(start)
            or _from_headings(_text_of(start))
            or _whose(start, lambda _, given: _role(given.get("class") or ""))
        )

    # The surest first: what looks like a heading may stand in any of the others.
    forms = (
        *(_from_json, _from_yaml, _from_table, _from_part_of_page),
        *(_from_tokens, _from_inst, _from_vicuna, _from_alpaca, _from_tags, _from_headings),
    )
    return next(filter(None, (form(start) for form in forms)), [])


def unquoted(text: str) -> str:
    """Return a text without the `>` that stands before each of its lines."""
    lines = text.splitlines()
    if not all(line.startswith(">") for line in lines if line.strip()):
        return text

    return "\n".join(re.sub(r"^> ?", "", line) for line in lines)


def _role(name: str) -> Role | None:
    name = name.strip().lower()
    if name in _STRONG_USERS or name in {"question", "prompter"}:
        return "user"
    return "judge" if _is_judge(name) else None


def _both_speak(said: Speech) -> bool:
    return {role for role, _ in said} == {"user", "judge"}


def what_is_found(text: str) -> str:
    """Return what a file has instead of speakers, and what to do about it."""
    start = text.lstrip("\ufeff \t\r\n")
    if re.match(r"[{\[]\s*[\[{\"]", start):
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
    r"""^[ \t]*<(?P<tag>\w+)(?:\s+(?:role|from|speaker)=["'](?P<role>\w+)["'])?>(?P<text>.*?)"""
    r"</(?P=tag)>[ \t]*$\s*",
    re.DOTALL | re.MULTILINE,
)
_OUTER_TAG = re.compile(
    r"(?:<\?xml[^>]*>\s*)?<(?P<tag>conversation|chat|dialog|dialogue|transcript|messages)>\s*"
    r"(?P<inside>.*)</(?P=tag)>\s*",
    re.DOTALL,
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


def _from_alpaca(text: str) -> Speech:
    """Return what stands under `### Instruction:` and `### Response:`, strictly in turns."""
    first, *parts = re.split(r"^### (Instruction|Response):[ \t]*", text, flags=re.MULTILINE)
    names = parts[::2]
    if not parts or names != ["Instruction", "Response"] * (len(names) // 2):
        return []

    # Where somebody speaks before it, these are headings in a prompt and in a reply.
    if _users_among(_headings(first)):
        return []

    roles: dict[str, Role] = {"Instruction": "user", "Response": "judge"}
    words = [part.strip() for part in parts[1::2]]
    return [(roles[name], said) for name, said in zip(names, words, strict=True)]


def _from_tags(text: str) -> Speech:
    """Return what stands between `<user>` and `</user>`, where there is nothing else.

    `<turn role="user">` is such a tag too.
    """
    outer = _OUTER_TAG.fullmatch(text)
    text = outer["inside"] if outer else text
    said: Speech = []
    at = 0
    while at < len(text):
        match = _TAGGED.match(text, at)
        if match is None:
            return []

        role = _role(match["role"] or match["tag"])
        if role is not None:
            said.append((role, (unescape(match["text"]) if outer else match["text"]).strip()))

        at = match.end()

    return said if _both_speak(said) else []


# --- JSON, YAML and CSV ---


def _from_json(text: str) -> Speech:
    """Return the messages of an export in JSON, or in JSON lines."""
    if not text.startswith(("{", "[")):
        return []

    with suppress(ValueError, RecursionError):
        return _the_conversation(json.loads(text))

    # One message a line, or one conversation a line. A line that was cut off does not spoil the
    # others.
    values: list[Any] = []
    for line in text.splitlines():
        with suppress(ValueError, RecursionError):
            values.append(json.loads(line))

    return _the_conversation(values[0] if len(values) == 1 else values)


def _from_yaml(text: str) -> Speech:
    """Return the messages of a YAML list of roles, perhaps below a title and the like."""
    roles = "role|from|sender|speaker|user|human|prompt"
    if not re.match(rf"(?:---\s+)?(?:[\w -]+:[^\n]*\n\s*)*-[ \t]+(?:{roles})[ \t]*:", text):
        return []

    try:
        value = parse_yaml(text, "transcript")
    except FileProblem:
        return []

    return _the_conversation(value)


def _from_table(text: str) -> Speech:
    """Return the rows of a CSV or TSV file that names a role and a text."""
    heads = text.split("\n", 1)[0]
    delimiter = next((mark for mark in "\t;," if mark in heads), ",")
    names = {name.strip().strip('"').lower() for name in heads.split(delimiter)}
    if not names & set(_SPEAKER_KEYS) or not names & set(_WORDS_KEYS):
        return []

    table = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows = [{str(key).strip().lower(): row[key] for key in row} for row in table]
    except csv.Error:
        # A quotation mark that is not closed would run one speaker's words into another's.
        return []

    said = _messages(rows)
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
    "history",
    "input",
    "turns",
    "dialogue",
    "dialog",
    "transcript",
)
_SPEAKER_KEYS = ("role", "from", "sender", "author", "speaker", "type")
_WORDS_KEYS = ("content", "value", "text", "parts", "message", "mes", "data", "steps")
_UNHEARD = frozenset(("", "system", "developer", "tool", "function", "observation", "none"))
"""Who says neither what the judge is asked nor what it answers."""
_ASKED_KEYS = ("request", "input", "prompt", "question", "query", "user", "human")
_ANSWER_KEYS = (
    *("response", "output", "completion", "answer", "reply", "assistant", "ai"),
    *("choices", "candidates"),
)


def _the_conversation(value: Any) -> Speech:
    """Return the conversation that a file holds. Raises FileProblem where there are several.

    Of an account's export, the one in which pictures are shown is meant.
    """
    try:
        found = _conversations(value)
    except RecursionError:
        # Nobody's messages are nested hundreds of levels deep.
        return []

    # A log of requests repeats, with each, all that was said before.
    whole = [
        said
        for number, said in enumerate(found)
        if not any(later[: len(said)] == said for later in found[number + 1 :])
    ]
    shown = [
        said for said in whole if any(role == "user" and "![" in words for role, words in said)
    ]
    meant = shown or whole
    if len(meant) > 1:
        raise FileProblem(
            f"it holds {len(meant)} conversations; save each in a file of its own, as JSON: "
            '[{"role": "user", "content": "…"}, …]'
        )

    return meant[0] if meant else []


def _conversations(value: Any) -> list[Speech]:
    """Return the conversations of an export: OpenAI's, ShareGPT's, Claude's, Gemini's, ChatGPT's;
    or the exchanges of a log."""
    if isinstance(value, dict):
        said = _enveloped(value)
        return [said] if said else []
    if not isinstance(value, list):
        return []

    said = _messages(value)
    if said:
        return [said]

    return [said for each in value for said in _conversations(each)]


def _messages(values: Sequence[Any]) -> Speech:
    """Return what a list of messages, or of questions with their answers, says; else nothing."""
    said: Speech = []
    chosen = [_chosen(each) for each in values]
    roles = _roles(_speaker(each) for each in chosen if isinstance(each, dict))
    for each in chosen:
        if isinstance(each, dict):
            said += _message(each, roles) or _exchange(each, texts_only=True)
        elif isinstance(each, list) and [type(part) for part in each] == [str, str]:
            asked, answer = each
            said += [("user", asked), ("judge", answer)]

    return said


def _chosen(message: Any) -> Any:
    """Return the version of a message that its writer chose, in LM Studio's files."""
    versions = message.get("versions") if isinstance(message, dict) else None
    if not isinstance(versions, list) or not versions:
        return message

    number = message.get("currentlySelected")
    return versions[number] if number in range(len(versions)) else versions[-1]


def _roles(speakers: Iterable[str]) -> dict[str, Role]:
    """Return the role of each speaker; one name that is not known is the one who is lacking."""
    names = set(speakers)
    roles = {name: role for name in names if (role := _role(name)) is not None}
    others = [name for name in names - set(roles) if name.strip().lower() not in _UNHEARD]
    known = set(roles.values())
    if len(others) == 1 and len(known) == 1:
        roles[others[0]] = "user" if known == {"judge"} else "judge"

    return roles


def _enveloped(value: dict[str, Any]) -> Speech:
    """Return the messages in an export's envelope, whatever it calls them."""
    nodes = value.get("mapping") or value.get("messages")
    if isinstance(nodes, dict):
        return _from_tree(nodes, value.get("current_node") or value.get("currentId"))

    for key in _LIST_KEYS:
        inner = value.get(key)
        if isinstance(inner, dict):
            return _enveloped(inner)
        if isinstance(inner, list):
            said = _with_images(_messages(inner), value.get("images") or value.get("image"))
            asked = bool(said) and said[-1][0] == "user"
            return said + _answer(value) if asked else said

    return _exchange(value) or _enveloped_otherwise(value)


def _enveloped_otherwise(value: dict[str, Any]) -> Speech:
    """Return the one conversation under a key that no export is known to have."""
    inner = [each for each in value.values() if isinstance(each, (dict, list))]
    found = [said for each in inner for said in _conversations(each) if _both_speak(said)]
    return found[0] if len(found) == 1 else []


def _with_images(said: Speech, images: Any) -> Speech:
    """Return messages with the images that an envelope lists for each `<image>` in them."""
    addresses = images if isinstance(images, list) else [images]
    if sum(words.count("<image>") for _, words in said) != len(addresses):
        return said

    left = iter(addresses)
    return [
        (role, re.sub("<image>", lambda _: _as_image(_image_address(next(left))), words))
        for role, words in said
    ]


def _exchange(value: dict[str, Any], *, texts_only: bool = False) -> Speech:
    """Return a question with its answer: texts, or a request with the response to it."""
    for key in _ASKED_KEYS:
        asked = value.get(key)
        if isinstance(asked, str):
            said: Speech = [("user", asked)]
        elif texts_only or asked is None:
            continue
        else:
            said = next(iter(_conversations(asked)), [])

        answer = _answer(value)
        if said and answer:
            return said + answer

    return []


def _answer(value: dict[str, Any]) -> Speech:
    """Return the answer beside a question; nothing where there are several to choose from."""
    for key in _ANSWER_KEYS:
        answer = value.get(key)
        if isinstance(answer, str):
            return [("judge", answer)]
        if isinstance(answer, dict):
            return _message(answer) or _answer(answer)
        if isinstance(answer, list):
            return _only_choice(answer)

    return []


def _only_choice(parts: Sequence[Any]) -> Speech:
    """Return the judge's message among the parts of a response: by itself, or as the one choice."""
    said: Speech = []
    for part in filter(lambda each: isinstance(each, dict), parts):
        inner = part.get("message") or part.get("content")
        said += _message(inner if isinstance(inner, dict) else part)

    return said if len(said) == 1 else []


def _message(message: dict[str, Any], roles: Mapping[str, Role] | None = None) -> Speech:
    """Return what one message says, or nothing where it is neither the user's nor the judge's."""
    # A model that calls a tool is not answering.
    if message.get("recipient", "all") != "all":
        return []

    speaker = _speaker(message)
    role = _role(speaker) if roles is None else roles.get(speaker)
    return [] if role is None else [(role, _content(message))]


def _speaker(message: dict[str, Any]) -> str:
    """Return whom a message is from: a name that is known, else the first; perhaps nobody."""
    for key in ("is_user", "isCreatedByUser"):
        if isinstance(message.get(key), bool):
            return "user" if message[key] else "assistant"

    authors = [message.get(key) for key in _SPEAKER_KEYS]
    names = [str(each.get("role") if isinstance(each, dict) else each or "") for each in authors]
    # Any kind of thing has a type: it is a speaker only by a name that is known.
    return next(filter(_role, names), next(filter(None, names[:-1]), ""))


def _content(message: dict[str, Any]) -> str:
    """Return what a message says, the files that came with it as images before the words."""
    said = (_words(message.get(key)) for key in _WORDS_KEYS)
    words = next(filter(str.strip, said), "")

    # Claude's exports name what was uploaded apart from the text. ChatGPT's have a pointer in the
    # text, and beside it the name of the file.
    images = []
    for file in _uploads(message):
        name = _image_address(file)
        if not IMAGE_FILE.search(name) and not _is_image(file):
            continue

        pointer = re.escape(str(file.get("id") or "no pointer"))
        template = _as_image(name).replace("\\", r"\\")
        words, found = re.subn(rf"!\[\]\(<?[^)\n]*{pointer}[^)\n]*\)", template, words)
        if not found:
            images.append(_as_image(name))

    return "\n".join([*images, words]).strip()


def _uploads(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a message says of each file that came with it."""
    about = message.get("metadata")
    beside = about.get("attachments") if isinstance(about, dict) else None
    files = message.get("files") or message.get("attachments") or beside
    files = files if isinstance(files, list) else []
    keys = ("images", "image", "photo", "driveImage")
    images = [message[key] for key in keys if message.get(key)]
    listed = images[0] if images and isinstance(images[0], list) else images
    return [
        *(file for file in files if isinstance(file, dict)),
        *({"type": "image", "url": _image_address(image)} for image in listed),
    ]


def _is_image(part: dict[str, Any]) -> bool:
    """Tell whether a file, or a part of a message, is an image by its kind."""
    kinds = (part.get(key) for key in ("type", "mediaType", "mimeType", "fileType"))
    return any("image" in str(kind) for kind in kinds)


IMAGE_FILE = re.compile(r"\.(?:png|jpe?g|jfif|webp|gif|bmp|tiff?|avif|hei[cf])$", re.IGNORECASE)


def _as_image(address: str) -> str:
    return f"![](<{address}>)"


_IMAGE_KEYS = (
    "image_url",
    "asset_pointer",
    "image",
    "source",
    "inlineData",
    "inline_data",
    "fileData",
    "file_data",
    "driveImage",
)
_FILE_KEYS = (
    *("file_name", "filename", "name", "fileIdentifier"),
    *("url", "path", "fileUri", "file_uri"),
)
LONGEST_ADDRESS = 300
"""An image's address that is longer is the image itself."""

_UNSAID = frozenset(
    (
        *("thinking", "redacted_thinking", "reasoning", "tool_use", "tool_result"),
        *("thoughts", "reasoning_recap", "code", "execution_output"),
    )
)
"""Parts of a message that are not said to the user."""


def _words(content: Any) -> str:
    """Return a message's text, its images as Markdown."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(_words, content)))
    if not isinstance(content, dict):
        return ""
    if {str(content.get("type")), str(content.get("content_type"))} & _UNSAID:
        return ""

    for key in ("parts", "content"):
        if isinstance(content.get(key), (list, str)):
            return _words(content[key])

    if content.get("type") != "text":
        for key in _IMAGE_KEYS:
            if content.get(key):
                return _as_image(_image_address(content[key]))

        if _is_image(content):
            return _as_image(_image_address(content))

    return _words(content.get("text"))


def _image_address(image: Any) -> str:
    """Return where an image is from, as far as an export says it."""
    if isinstance(image, dict):
        image = next(filter(None, map(image.get, _FILE_KEYS)), UNNAMED_IMAGE)

    address = str(image)
    is_picture_itself = len(address) > LONGEST_ADDRESS
    return UNNAMED_IMAGE if is_picture_itself else address


def _from_tree(tree: dict[str, Any], last: Any) -> Speech:
    """Return the current branch of an export of ChatGPT or Open WebUI."""
    nodes = {key: node for key, node in tree.items() if isinstance(node, dict)}
    if str(last) not in nodes:
        ends = [
            key for key in nodes if not nodes[key].get("children", nodes[key].get("childrenIds"))
        ]
        last = ends[-1] if ends else None

    # From its end to its root: every answer that was asked for again began a branch of its own.
    branch = []
    while str(last) in nodes:
        node = nodes.pop(str(last))
        branch.append(node.get("message", node))
        last = node.get("parent", node.get("parentId"))

    return [(role, words) for role, words in _messages(branch[::-1]) if words]


# --- A saved page ---


_ROLE_CLASS = re.compile(
    r"(?:[a-z]+[-_]+)?(?P<role>[a-z]+)[-_]+(?:message|msg|turn|bubble|response|query)"
    r"|(?:message|msg|turn|bubble|chat)[-_]+(?P<last>[a-z]+)"
)
_ROLE_ATTRIBUTES = (
    *("data-message-author-role", "data-role", "data-author", "data-sender"),
    *("data-speaker", "data-from"),
)
_ROLE_TAGS: dict[str, Role] = {"user-query": "user", "model-response": "judge"}
_MESSAGE_CLASSES = frozenset(("message", "msg", "turn", "bubble", "chat-message"))
_SILENT_TAGS = frozenset(
    ("script", "style", "head", "button", "nav", "footer", "svg", "textarea", "template")
)
_LINE_TAGS = frozenset(
    ("p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "table", "pre")
)
_DECORATION = re.compile(r"avatar|icon|logo|profile|emoji", re.IGNORECASE)
"""In the name, class or description of a picture that belongs to the page, not to the chat."""


def _role_of_classes(classes: str) -> Role | None:
    """Return whose message an element of such classes holds: `user-message`, `msg--assistant`,
    `message user`."""
    names = classes.lower().split()
    for name in names:
        match = _ROLE_CLASS.fullmatch(name)
        role = _role(match["role"] or match["last"]) if match else None
        if role is not None:
            return role

    if _MESSAGE_CLASSES.isdisjoint(names):
        return None

    roles = {role for role in map(_role, names) if role is not None}
    return roles.pop() if len(roles) == 1 else None


Attributes = dict[str, str | None]
RoleOfElement = Callable[[str, Attributes], Role | None]


def _role_by_attribute(_: str, given: Attributes) -> Role | None:
    named = next(filter(None, map(given.get, _ROLE_ATTRIBUTES)), None)
    return _role(named or "")


def _role_by_class(tag: str, given: Attributes) -> Role | None:
    # Claude's page says it by an attribute for tests, and only of the user.
    classes = f"{given.get('class')} {given.get('data-testid')}"
    return _ROLE_TAGS.get(tag) or _role_of_classes(classes)


class _SavedPage(HTMLParser):
    """Takes a page's text, and whose each part is where the page says so."""

    def __init__(self, role_of: RoleOfElement) -> None:
        super().__init__()
        self.said: list[tuple[Role | None, list[str]]] = [(None, [])]
        self._silent = 0
        self._role_of = role_of
        self._open: list[tuple[str, int]] = []
        """The messages that are open, each by its tag and how many of these are open in it."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin another part, a line, or an image."""
        given = dict(attrs)
        role = self._role_of(tag, given)
        if self._open and self._open[-1][0] == tag:
            self._open[-1] = (tag, self._open[-1][1] + 1)

        if role is not None:
            self.said.append((role, []))
            self._open.append((tag, 1))

        if tag in _SILENT_TAGS:
            self._silent += 1
        elif tag == "img" and given.get("src") and not _is_decoration(given):
            self.said[-1][1].append(f"\n{_as_image(str(given['src']))}\n")
        elif tag in _LINE_TAGS:
            self.said[-1][1].append("\n" + ("- " if tag == "li" else ""))
        elif tag in {"td", "th"}:
            self.said[-1][1].append(" | ")

    def handle_endtag(self, tag: str) -> None:
        """End a line, a message, or what is not shown."""
        if tag in _SILENT_TAGS:
            self._silent = max(0, self._silent - 1)
        elif tag in _LINE_TAGS:
            self.said[-1][1].append("\n")

        if self._open and self._open[-1][0] == tag:
            depth = self._open[-1][1] - 1
            self._open[-1] = (tag, depth)
            if not depth:
                # What follows a message is the page's own: buttons, footers, the next name.
                self._open.pop()
                self.said.append((None, []))

    def handle_data(self, data: str) -> None:
        """Take what is shown."""
        if not self._silent:
            self.said[-1][1].append(data)


def _is_decoration(given: Attributes) -> bool:
    """Tell whether an image is part of the page: an avatar, an icon, an emoji."""
    about = " ".join(str(given.get(key) or "") for key in ("class", "alt", "src"))
    sides = [str(given.get(side) or "") for side in ("width", "height")]
    small = any(side.isdecimal() and int(side) <= LARGEST_ICON_PX for side in sides)
    return small or _DECORATION.search(about[:LONGEST_ADDRESS]) is not None


LARGEST_ICON_PX = 48


def _from_page(text: str) -> Speech:
    """Return what a page says is whose, by its attributes or its classes."""
    return _whose(text, _role_by_attribute) or _whose(text, _role_by_class)


def _whose(text: str, role_of: RoleOfElement) -> Speech:
    """Return what is whose on a page by one kind of sign."""
    page = _SavedPage(role_of)
    page.feed(text)
    parts = [(role, "".join(pieces).strip()) for role, pieces in page.said]
    marked: Speech = [(role, said) for role, said in parts if role is not None and said]
    return marked if _both_speak(marked) else []


def _from_part_of_page(text: str) -> Speech:
    """Return what a part of a page says is whose. Markdown may begin with a tag too."""
    return _from_page(text) if re.match(r"<(?:div|section|article|main)\b", text) else []


def _text_of(page: str) -> str:
    """Return the text of a page on which nothing says whose each part is."""
    plain = _SavedPage(_role_by_class)
    plain.feed(page)
    return "\n".join("".join(pieces).strip() for _, pieces in plain.said)


def _page_in_archive(text: str) -> str:
    """Return the page in what a browser saves as a single file (.mhtml), or nothing."""
    if not re.match(r"(?:[\w-]+:[^\n]*\n(?:[ \t][^\n]*\n)*)*MIME-Version:", text):
        return ""

    for part in message_from_string(text).walk():
        if part.get_content_type() == "text/html":
            page = part.get_payload(decode=True)
            return page.decode(errors="replace") if isinstance(page, bytes) else ""

    return ""


# --- Headings ---

_SAYS = re.compile(
    r"[ ](?:said|says|asked|wrote|answered|replied|ha(?:st|t)[ ]gesagt|sagten?|a(?:vez)?[ ]dit)$"
)
_SIGN = r"[^\w\s#*<>\[\](){}【】|`\"'$\\.,:;!?+=~/>&%@^-]*[ \t]*"
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:[ \u202f]?[APap]\.?[Mm]\.?)?"
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?"
_DATE = (
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}"
    rf"|(?:{_MONTH}[ ]\d{{1,2}}|\d{{1,2}}\.?[ ]{_MONTH})(?:,?[ ]\d{{4}})?)"
)
_DAY = r"(?:today|yesterday)[ ]at[ ]"
_STAMP = (
    rf"[\[(]?(?:(?:{_DAY})?{_TIME}|{_DATE}(?:(?:T|,?[ ])(?:at[ ])?{_TIME})?(?:Z|[ ]?UTC)?)[\])]?"
)
_TURN = r"(?:turn|message|round|exchange)[ ]?\#?\d+"
_LETTER = r"(?:[^\W_]|[.'/-]|_(?=[^\W_])|:(?=\d+b\b))"
"""Within a name, which may be a model's: `my_judge`, `lab/Vision-2`, `vision:7b`."""
_HEADING = re.compile(
    rf"""
    ^[ \t]*(?P<item>\d{{1,3}}[.)][ \t]+|[-*+][ \t]+)?(?P<rule>={{2,}}[ \t]*|-{{2,}}[ \t]*)?
    (?P<sign>{_SIGN})(?P<mark>(?:\#{{1,6}}(?!\d)[ \t]*)?(?P<bold>\*{{1,3}}|__?)?)
    (?P<inner_sign>{_SIGN})(?P<stamp>{_STAMP}[ \t,|–-]*)?
    (?:[\[(]{_TURN}[\])][ \t]*|\#\d+:?[ \t]+)?
    (?P<bracket>[\[(<【])?
    (?:{_TURN}[ \t]*[-–—:.|·][ \t]*)?
    (?P<name>[^\W\d_]{_LETTER}*(?:[ ]\#?[^\W_]{_LETTER}*){{0,4}})?
    (?P<late_stamp>[ \t]*[·•|,—–-]?[ \t]*{_STAMP})?
    (?:[ \t]*[\[(][^\])\n]{{0,40}}[\])])?
    (?(bracket)[\])>】])(?:[ \t]*[=-]{{2,}}(?=[ \t]*$))?
    [ \t\u00a0\u202f]*(?P<colon>[:：>|→–—]?)[ \t]*(?:(?P=bold))?
    (?:[ \t]*\([^)\n]{{0,40}}\))?[ \t]*(?P<after>[:：→–—]?)
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
        alike = _in_style(headings, style, user)
        turns = _turns_of(alike, user, judge)
        opening = text[: turns[0].start]
        if len(turns) > len(best) and _begins(headings, turns, judge, opening):
            best = _words_under(turns, user, text)

    return best


def _in_style(headings: Sequence[_Heading], style: Style, user: str) -> list[_Heading]:
    """Return the headings of a style; models that answer by turns under the name of the first.

    People change the model in the middle of a chat.
    """
    alike = [each for each in headings if each.style == style]
    models = list(dict.fromkeys(each.name for each in alike if _FAMILY.fullmatch(each.name)))
    if len(models) < 2:
        return alike

    under_one = [replace(each, name=models[0]) if each.name in models else each for each in alike]
    return under_one if _take_turns(under_one, user, models[0]) else alike


def _turns_of(headings: Sequence[_Heading], user: str, judge: str) -> list[_Heading]:
    """Return the headings under which two speakers speak."""
    spoken = [each for each in headings if each.name in {user, judge}]
    first = next(each for each in spoken if each.name == judge)

    # A reply may come in several messages, but a name that is laid out otherwise is part of one.
    return [
        each
        for before, each in zip([first, *spoken], spoken, strict=False)
        if (before.name, each.name) != (judge, judge) or each.alone == first.alone
    ]


def _words_under(turns: Sequence[_Heading], user: str, text: str) -> Speech:
    """Return what stands under each heading, up to the next."""
    said: Speech = []
    ends = [turn.start for turn in turns[1:]]
    for turn, end in zip(turns, [*ends, len(text)], strict=True):
        role: Role = "user" if turn.name == user else "judge"
        said.append((role, _FRAME.sub("", text[turn.begin : end]).strip()))
    return said


_FRAME = re.compile(
    rf"""\A\s*{_STAMP}[ \t]*\n
    |(?:\s*^[#*_ \t]*(?:turn|round|exchange|message)[ ]?\#?\d+[*_: \t]*$)+\s*\Z
    |(?:\s*^-{{3,}}[ \t]*$)?\s*^(?:powered[ ]by|exported[ ](?:by|from|with|on))\b[^\n]*\s*\Z""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
"""What a program that saves chats puts around the words: a time, `## Turn 3`, its own name."""


def _begins(
    headings: Sequence[_Heading], turns: Sequence[_Heading], judge: str, opening: str
) -> bool:
    """Tell whether a conversation begins after an opening, and is not one that somebody quotes.

    A long prompt has headings of its own ("Question:", "Score anchors:"), and a reply may hold an
    example with a user and an assistant.
    """
    names = [turn.name for turn in turns]
    titled = _TITLE.fullmatch(opening) is not None
    if names.count(judge) < 2:
        # One exchange alone is weak evidence: only a title may stand before it.
        return turns[0].style != BARE and titled
    if titled:
        return True

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


_TITLE = re.compile(
    r"(?:\s|^#+[ ][^\n]*$|^-{3,}$|^\*\*[A-Z][\w ]{1,20}:\*\*[^\n]*$)*", re.MULTILINE
)
"""A title, and what programs that save chats write under it: **Created:** 5/1/2024."""


def _headings(text: str) -> list[_Heading]:
    """Return every line that could be a speaker's heading, in order."""
    found = (_heading(match) for match in _HEADING.finditer(text))
    return [heading for heading in found if heading is not None]


def _heading(match: re.Match[str]) -> _Heading | None:
    """Return a line as a heading; None where it only resembles one."""
    name = _name_in(match)
    if not name or len(name) > LONGEST_NAME:
        return None

    if name in match["sign"]:
        return _under_sign(match, name)

    # A bar also stands between the cells of a table.
    if match["colon"] == "|" and not match["stamp"]:
        return None

    alone = not match["rest"].strip()
    stamped = any(match.group("stamp", "late_stamp", "last_stamp"))
    mark = _mark_of(match)
    if not match["colon"] and not match["after"]:
        # Something else must make it a heading then, and nothing may follow it.
        mark = mark or _mark_without_colon(match, name, stamped=stamped)
        if not mark or not alone:
            return None

    item = (match["item"] or "").strip()
    style = ("1." if item[:1].isdigit() else item, f"{mark} stamped" if stamped else mark)
    return _Heading(name, style, stamped, alone, match.start(), match.start("rest"))


def _under_sign(match: re.Match[str], sign: str) -> _Heading:
    """Return a line that an emoji alone begins: all that follows it but a colon is said."""
    words = match.string[match.end("sign") : match.end()]
    begin = match.end() - len(words.lstrip(" :："))
    return _Heading(sign, ("", "emoji"), False, not words.strip(" :："), match.start(), begin)


def _mark_of(match: re.Match[str]) -> str:
    """Return how a heading is marked: `##`, `**`, `[`, `==`; and by `>` or `|` for a colon."""
    rule = (match["rule"] or "").strip()[:2]
    instead_of_colon = (match["colon"] or match["after"]).strip(":：")
    return (match["mark"].strip() or match["bracket"] or rule) + instead_of_colon


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
    name = _bare_name(match["name"] or "")
    if name in _STRONG_USERS or _is_judge(name):
        return name

    people = _STRONG_USERS | _JUDGES
    # Skin tones and professions are separate characters after the first.
    return next((sign for sign in _signs_in(match) if sign in people), name)


def _bare_name(name: str) -> str:
    """Return who speaks in `User 3`, `Q3` and `ChatGPT said`; the number of `GPT-4` is its own."""
    bare = re.sub(r"(?<=[^\W\d_])[ ]*[#(]*\d{1,3}\)?$", "", name.strip().rstrip(" -"))
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
    alike = _in_style(headings, style, user)
    times = Counter(each.name for each in alike)
    others = [name for name in times if name != user and name not in _STRONG_USERS]
    answering = [name for name in others if _take_turns(alike, user, name)]
    answering = answering or _next_after(alike, user)

    # A bare name on a line of its own may be part of the text, however well known it is.
    if user in _STRONG_USERS and style != BARE:
        judge = _known_judge(others, times, least=times[user] / 2)
        if judge:
            # Who answers more often is the judge, and this name a word in somebody's reply.
            fuller = [name for name in answering if times[name] > times[judge]]
            return "" if fuller or _answers_too(alike, others, judge) else judge

    if times[user] > 1 and len(answering) > 1:
        models = [name for name in answering if re.search(r"\d", name)]
        answering = _laid_out_alike(alike, user, models or answering)

        # Still two names that take turns with the user: a wrong cut would be worse than none.
        if len(answering) > 1:
            return ""

    return answering[0] if answering else ""


def _answers_too(headings: Sequence[_Heading], names: Sequence[str], judge: str) -> bool:
    """Tell whether a second model answers each time: whose scores would count is unknown."""
    times = Counter(each.name for each in headings)
    models = [name for name in names if name != judge and _FAMILY.fullmatch(name)]
    return times[judge] > 1 and times[judge] in {times[name] for name in models}


def _known_judge(names: Sequence[str], times: Counter[str], least: float) -> str:
    """Return the name of a model or a judge that speaks most often, and often enough, if any."""
    known = [name for name in names if _is_judge(name) and times[name] >= least]
    return max(known, key=lambda name: times[name], default="")


def _take_turns(headings: Sequence[_Heading], user: str, judge: str) -> bool:
    """Tell whether one name answers the other, each time, from the first on."""
    turns = [each.name for each in headings if each.name in {user, judge}]
    expected = [user, judge] * len(turns)
    return turns == expected[: len(turns)]


def _next_after(headings: Sequence[_Heading], user: str) -> list[str]:
    """Return the name that follows a user each time, if there is one: it may be repeated within
    the reply."""
    after = {
        then.name for each, then in pairwise(headings) if each.name == user and then.name != user
    }
    return list(after) if len(after) == 1 else []


def _laid_out_alike(headings: Sequence[_Heading], user: str, names: Sequence[str]) -> list[str]:
    """Return those names which stand alone on a line where the user's does, and beside the words
    where it does not."""
    layouts: dict[str, set[bool]] = {}
    for each in headings:
        layouts.setdefault(each.name, set()).add(each.alone)
    return [name for name in names if layouts[name] == layouts[user]]


def _unknown_user(headings: Sequence[_Heading]) -> Pair | None:
    """Return who speaks with a judge that is known, in a messenger's export for instance.

    The one name that the judge answers each time; as the very first heading, or where times or
    Markdown headings tell speakers from the words they say.
    """
    judges = [each for each in headings if _is_judge(each.name)]
    if len(judges) < 2:
        return None

    judge = judges[0]
    alike = [each for each in headings if each.style == judge.style]
    names = {each.name for each in alike} - {judge.name}
    users = [name for name in names if _take_turns(alike, name, judge.name)]
    sure = len(names) == 1 and (judge.stamped or judge.style[1].startswith("#"))
    if len(users) != 1 or any(map(_is_judge, names)):
        return None
    if not sure and headings[0].name != users[0]:
        return None

    return users[0], judge.name, judge.style
