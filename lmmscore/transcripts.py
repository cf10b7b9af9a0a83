"""Chat transcripts: who said what and which images were shown, whatever they were saved from."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath

from lmmscore.errors import FileProblem
from lmmscore.speakers import UNNAMED_IMAGE, spoken_in, what_is_found
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

    @property
    def shows_an_edit(self) -> bool:
        """Whether it shows an image, or says that it did."""
        return bool(self.images) or _SHOWS_AN_EDIT.match(self.prompt) is not None


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
        elif turns:
            # A reply in several messages is one reply.
            whole = f"{turns[-1].reply}\n\n{words}".strip()
            turns[-1] = replace(turns[-1], reply=whole)
    if prompt is not None:
        turns.append(_turn(prompt, ""))
    if not turns:
        raise FileProblem(
            f"{path}: not a chat transcript that is known here. {what_is_found(text)}"
        )
    return Transcript(path, tuple(turns))


def _turn(prompt: str, reply: str) -> TranscriptTurn:
    images = tuple(_image_name(match["src"] or match["link"]) for match in _IMAGE.finditer(prompt))
    return TranscriptTurn(_IMAGE.sub("", prompt).strip(), images, reply)


def _image_name(address: str) -> PurePosixPath:
    if address.startswith("data:"):
        return PurePosixPath(UNNAMED_IMAGE)
    return PurePosixPath(address.split("?")[0])


def method_names(
    images: list[PurePosixPath | None], source: PurePosixPath | None
) -> tuple[str | None, ...]:
    """Return the method behind each file: `6_SINE.png` beside `6_src.jpg` is SINE,
    `SINE/6.png` too."""
    stems = [image.stem for image in images if image is not None]
    by_folder = len(set(stems)) < len(stems)
    prefix = _common_prefix(stems, source.stem if source else "")
    names: list[str | None] = []
    for image in images:
        if image is None:
            names.append(None)
        elif by_folder:
            # The same name in several folders: a folder a method.
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
