"""Who says what in a saved chat: headings of any style, ChatML, JSON exports, a saved page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any, Literal

Role = Literal["user", "judge"]
Said = list[tuple[Role, str]]

_USER_ROLES = frozenset(("user", "human", "prompt", "you", "me", "question", "prompter"))
_JUDGE_ROLES = frozenset(("assistant", "gpt", "model", "ai", "bot", "chatgpt", "judge", "claude"))
_USER = r"prompt|user|human|question|me|you(?:[ ]said)?|q|i"
_EMOJI = r"[^\w\s#*<>\[\](){}|`\"'$\\.,:;!?+=~/-]*[ \t]*"
_LABEL = re.compile(
    rf"""
    ^[ \t]*{_EMOJI}(?P<mark>\#{{1,6}}[ \t]*(?:\*\*|__)?|\*\*|__|){_EMOJI}
    (?:[\[(]?\d{{1,4}}[-/.:]\d{{1,2}}(?:[-/.:]\d{{1,4}})?[^\w\n]{{0,3}}
      (?:\d{{1,2}}:\d{{2}}(?::\d{{2}})?)?(?:[ ]?[AP]M)?[\])]?[ \t,–-]*)?
    (?P<name>[^\W\d_][\w. -]{{0,30}}?)(?=[ \t]*(?:[(\[\#\d:]|\*\*|__|$))
    (?:[ \t]*\(?\#?\d{{1,3}}\)?)?[ \t]*(?:[\[(][^\])\n]{{0,40}}[\])])?[ \t]*
    (?P<colon>:?)[ \t]*(?P<close>\*\*|__)?[ \t]*(?P<after>:?)[ \t]*(?:\#+[ \t]*)?(?P<rest>[^\n]*)$
    """,
    re.MULTILINE | re.VERBOSE,
)
_CHATML = re.compile(
    r"<\|im_start\|>[ ]*(?P<role>\w+)[^\n]*\n(?P<text>.*?)(?:<\|im_end\|>|\Z)", re.DOTALL
)


LONGEST_OPENING = 400
"""So many characters may stand before the first speaker, where nobody is known to be a judge."""


def spoken_in(text: str) -> Said:
    """Return who says what, in order; nothing where no speaker is recognised."""
    start = text.lstrip("\ufeff \t\r\n")
    if start.startswith(("{", "[")):
        said = _from_json(start)
        if said:
            return said
    if re.match(r"<!doctype html|<html|<head|<body", start, re.IGNORECASE):
        return _from_page(start)
    if "<|im_start|>" in text:
        found = [(_role(m["role"]), m["text"].strip()) for m in _CHATML.finditer(text)]
        return [(role, words) for role, words in found if role is not None]
    return _from_headings(text)


def _role(name: str) -> Role | None:
    name = name.strip().lower()
    if name in _USER_ROLES:
        return "user"
    return "judge" if name in _JUDGE_ROLES else None


# --- JSON ---


def _from_json(text: str) -> Said:
    values: list[Any] = []
    try:
        values = [json.loads(text)]
    except ValueError:
        for line in text.splitlines():
            try:
                values.append(json.loads(line))
            except ValueError:
                continue
    if len(values) == 1:
        return _messages(values[0])
    return _messages(values) or next((said for v in values if (said := _messages(v))), [])


def _messages(value: Any) -> Said:
    """Return the messages of an export: OpenAI's, ShareGPT's, Claude's or ChatGPT's."""
    if isinstance(value, dict):
        for key in ("messages", "conversations", "conversation", "chat_messages", "items"):
            if isinstance(value.get(key), list):
                return _messages(value[key])
        if isinstance(value.get("mapping"), dict):
            return _from_tree(value)
        return []
    if not isinstance(value, list):
        return []
    said: Said = []
    for message in value:
        if not isinstance(message, dict):
            continue
        author = message.get("author")
        name = author.get("role") if isinstance(author, dict) else None
        name = name or message.get("role") or message.get("from") or message.get("sender")
        role = _role(str(name or ""))
        if role is not None:
            words = _content(message)
            said.append((role, words))
    if not said:
        return next((found for each in value if (found := _messages(each))), [])
    return said


def _content(message: dict[str, Any]) -> str:
    for key in ("content", "value", "text"):
        words = _words(message.get(key))
        if words.strip():
            break
    files = message.get("files") or message.get("attachments") or []
    shown = [str(f.get("file_name") or f.get("name") or "") for f in files if isinstance(f, dict)]
    return "\n".join([*(f"![]({name})" for name in shown if name), words]).strip()


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
    image = content.get("image_url") or content.get("asset_pointer") or content.get("image")
    if isinstance(image, dict):
        image = image.get("url")
    if isinstance(image, str):
        return f"![]({image if len(image) < 300 else 'image'})"
    return _words(content.get("text"))


def _from_tree(value: dict[str, Any]) -> Said:
    """Return the branch of a ChatGPT export that was current when it was saved."""
    nodes = value["mapping"]
    at = value.get("current_node")
    if at not in nodes:
        ends = [key for key, node in nodes.items() if not node.get("children")]
        at = ends[-1] if ends else None
    branch = []
    while at in nodes:
        message = nodes[at].get("message")
        if isinstance(message, dict):
            branch.append(message)
        at = nodes[at].get("parent")
    said = _messages(branch[::-1])
    return [(role, words) for role, words in said if words]


# --- A saved page ---


class _Page(HTMLParser):
    """Takes a page's text, and whose each part is where the page says so."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[tuple[Role | None, list[str]]] = [(None, [])]
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin another part, a line, or an image."""
        given = dict(attrs)
        role = _role(given.get("data-message-author-role") or given.get("data-role") or "")
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


def _from_page(text: str) -> Said:
    page = _Page()
    page.feed(text)
    marked = [(role, "".join(words).strip()) for role, words in page.said if role is not None]
    if marked:
        return [(role, words) for role, words in marked if role is not None]
    return _from_headings("".join(piece for _, words in page.said for piece in words))


# --- Headings ---


def _from_headings(text: str) -> Said:
    """Return what stands under headings: the user's, and those of one other name in the same style.

    A heading inside a reply has another style or another name, so it does not cut the reply.
    """
    labels = list(_labels(text))
    users = [label for label in labels if re.fullmatch(_USER, label["name"], re.IGNORECASE)]
    if not users:
        return []
    first = users[0]
    style = _style(first)
    user = first["name"].lower()
    judge = _judge_of(labels, first, style, user)
    if judge and not _is_known(judge) and first.start() > LONGEST_OPENING:
        # A long prompt with headings of its own ("Question:", "Score anchors:") is no conversation.
        return []
    said: Said = []
    begin = -1
    for label in labels:
        name = label["name"].strip().lower()
        if _style(label) != style or name not in {user, judge}:
            continue
        if begin >= 0:
            said[-1] = (said[-1][0], text[begin : label.start()].strip())
        said.append(("user" if name == user else "judge", ""))
        begin = label.start("rest")
    if begin >= 0:
        said[-1] = (said[-1][0], text[begin:].strip())
    return said if judge else []


def _labels(text: str) -> Iterator[re.Match[str]]:
    for match in _LABEL.finditer(text):
        signed = match["colon"] or match["after"]
        alone = not match["rest"].strip()
        # Without a mark, only a colon makes a name a heading; with one, nothing may follow it.
        if signed or (match["mark"] and alone):
            yield match


def _style(label: re.Match[str]) -> str:
    return str(label["mark"]).strip()


def _is_known(name: str) -> bool:
    """Tell whether a name is one that judges go by."""
    return _role(name.split()[0].split("-")[0]) == "judge"


def _judge_of(labels: list[re.Match[str]], first: re.Match[str], style: str, user: str) -> str:
    """Return the name under which the replies stand: the first of the user's style after it."""
    counts: dict[str, int] = {}
    users = 0
    for label in labels:
        if label.start() < first.start() or _style(label) != style:
            continue
        name = label["name"].strip().lower()
        if name == user:
            users += 1
        else:
            counts[name] = counts.get(name, 0) + 1
    known = [name for name in counts if _is_known(name)]
    for name in [*known, *counts]:
        # Someone who answers about as often as the user asks.
        if name in known or users - 1 <= counts[name] <= users + 1:
            return name
    return ""
