"""Chat transcripts: who said what and which images were shown, whatever they were saved from."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from lmmscore.errors import FileProblem
from lmmscore.templates import ordinal
from lmmscore.yaml_files import read_text

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


@dataclass(frozen=True)
class Transcript:
    """A conversation as published."""

    path: Path
    turns: tuple[TranscriptTurn, ...]

    @cached_property
    def source_turn(self) -> int | None:
        """Which turn shows the source image: the first with an image that speaks of one,
        else the first with one."""
        shows = [number for number, turn in enumerate(self.turns) if turn.images]
        named = [number for number in shows if _SOURCE_WORDS.search(self.turns[number].prompt)]
        return named[0] if named else shows[0] if shows else None

    @cached_property
    def edit_turns(self) -> tuple[int, ...]:
        """Which turns show an edit, in order;
        a turn that says so counts even if its image is gone."""
        after = -1 if self.source_turn is None else self.source_turn
        return tuple(
            number
            for number, turn in enumerate(self.turns)
            if number > after and (turn.images or _SHOWS_AN_EDIT.match(turn.prompt))
        )

    @cached_property
    def methods(self) -> tuple[str | None, ...]:
        """The method behind each edit, from the image's file name; None where there is no image."""
        images = [self.turns[number].images for number in self.edit_turns]
        names = [each[0] if each else None for each in images]
        source = self.turns[self.source_turn].images[0] if self.source_turn is not None else None
        return method_names(names, source)


def load_transcript(path: Path) -> Transcript:
    """Return the transcript in a file. Raises FileProblem where nobody speaks in it."""
    text = read_text(path)
    said = spoken_in(text)
    turns: list[TranscriptTurn] = []
    prompt: str | None = None
    for role, words in said:
        if role == "user":
            if prompt is not None:
                turns.append(_turn(prompt, ""))
            prompt = words
        elif prompt is not None:
            turns.append(_turn(prompt, words))
            prompt = None
    if prompt is not None:
        turns.append(_turn(prompt, ""))
    if not turns:
        raise FileProblem(f"{path}: not a chat transcript that is known here. {_found(text)}")
    return Transcript(path, tuple(turns))


def _found(text: str) -> str:
    """Return what a file has instead of speakers, and what to do about it."""
    labels = re.findall(r"^[ \t]*(?:#{1,6}[ \t]*|\*\*)?([A-Z][\w .-]{0,30}):", text, re.MULTILINE)
    seen = ", ".join(dict.fromkeys(labels[:5])) or " ".join(text[:60].split()) or "nothing"
    return (
        f"Found: {seen}. Put `## Prompt:` before what you said and `## ChatGPT:` before each "
        'reply, or save it as JSON: [{"role": "user", "content": "…"}, …]'
    )


def _turn(prompt: str, reply: str) -> TranscriptTurn:
    images = tuple(
        PurePosixPath((m["src"] or m["link"]).split("?")[0]) for m in _IMAGE.finditer(prompt)
    )
    return TranscriptTurn(_IMAGE.sub("", prompt).strip(), images, reply)


def method_names(
    images: list[PurePosixPath | None], source: PurePosixPath | None
) -> tuple[str | None, ...]:
    """Return the method behind each file: `6_SINE.png` beside `6_src.jpg` is SINE,
    `SINE/6.png` too."""
    stems = [image.stem for image in images if image is not None]
    if len(set(stems)) < len(stems):
        # The same name in several folders: a folder a method.
        return tuple(None if image is None else image.parent.name or image.stem for image in images)

    prefix = _common_prefix(stems, source.stem if source else "")
    return tuple(
        None if image is None else image.stem.removeprefix(prefix) or image.stem for image in images
    )


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


# --- Who says what: headings of any style, ChatML, JSON exports, a saved page ---

Role = Literal["user", "judge"]
Speech = list[tuple[Role, str]]

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


def spoken_in(text: str) -> Speech:
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


def _from_json(text: str) -> Speech:
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


def _messages(value: Any) -> Speech:
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
    said: Speech = []
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
    shown = [_file_name(file) for file in files if isinstance(file, dict)]
    images = [f"![]({name})" for name in shown if name]
    return "\n".join([*images, words]).strip()


def _file_name(file: dict[str, Any]) -> str:
    return str(file.get("file_name") or file.get("name") or "")


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


def _from_tree(value: dict[str, Any]) -> Speech:
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


class _SavedPage(HTMLParser):
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


def _from_page(text: str) -> Speech:
    page = _SavedPage()
    page.feed(text)
    marked = [(role, "".join(words).strip()) for role, words in page.said if role is not None]
    if marked:
        return [(role, words) for role, words in marked if role is not None]

    return _from_headings("".join(piece for _, words in page.said for piece in words))


# --- Headings ---


def _from_headings(text: str) -> Speech:
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
    said: Speech = []
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
