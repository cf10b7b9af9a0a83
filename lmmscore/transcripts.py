"""Chat transcripts: turns, the images they show, and which of these are edits."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from lmmscore.conversation import ordinal
from lmmscore.errors import FileProblem
from lmmscore.speakers import IMAGE_FILE, UNNAMED_IMAGE, spoken_in, unquoted, what_is_found
from lmmscore.yaml_files import read_text

_IMAGE = re.compile(
    r"""(?:<(?:button|p|div|center|a)\b[^<>]*>\s*)*
    (?:<img\b[^<>]*?\bsrc\s*=\s*(?P<quote>["'])(?P<src>.*?)(?P=quote)[^<>]*>
      |!\[[^\]]*\]\(\s*(?:<(?P<angled>[^<>\n]+)>|(?P<link>[^)\s>]+))[^)\n]*\)
      |<img>(?P<within>[^<>\n]+)
      |!\[\[(?P<wiki>[^\]|\n]+)(?:\|[^\]\n]*)?\]\])
    (?:\s*</(?:img|button|p|div|center|a)>)*""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_SIGNS = r"(?:[^\w\s.+-]{1,4}[ \t]*)?"
_PLAIN_IMAGE = re.compile(
    rf"""^[ \t]*(?![*][ \t]){_SIGNS}(?:[^\W\d_][\w \t#-]{{0,30}}:[ \t]*|image>)?{_SIGNS}
    (?:[^\]\n]*\]\()?(?P<plain>[^\s<>|:"*?`\[\]()]+{IMAGE_FILE.pattern.removesuffix("$")})
    (?:</image>|{_SIGNS})(?:[ \t]*\(file[ ]attached\))?[ \t]*$
    |^[ \t]*[\[(<](?:image|picture|photo|media)(?:[ ]\#?\d+)?(?:[ ](?:omitted|attached))?[\])>]
    |<image>|<\|vision_start\|>.*?<\|vision_end\|>""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
"""A picture by its file name, alone on its line: `[Image: 6_SINE.png]`, `6.png (file attached)`;
or by a mark that stands where it was: `[image]`."""

_SOURCE = r"(?:source|original|input|unedited)"
_SOURCE_WORDS = re.compile(rf"\b{_SOURCE}\b", re.IGNORECASE)
_ORDINALS = [ordinal(number) for number in range(1, 21)]
_SHOWS_AN_EDIT = re.compile(
    rf"^\W*(?:this\s+is\s+|here\s+is\s+|now\s+)?(?:the\s+)?"
    rf"(?:{'|'.join(_ORDINALS)}|last|next|only|\d+(?:st|nd|rd|th))\b"
    r"[\w\s]{0,24}\b(?:one|image|edit|picture|result)\b\W*$",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(r"\b(?:image|edit|picture|result)\s*#?(\d{1,2})\b", re.IGNORECASE)
_PLACE_OF_SOURCE = re.compile(
    rf"\b(?P<place>{'|'.join(_ORDINALS)}|last)\s+(?:one\s+|image\s+|picture\s+|photo\s+)?"
    rf"(?:is|shows)\s+(?:\w+\s+){{0,2}}{_SOURCE}\b",
    re.IGNORECASE,
)
_ANOTHER_SOURCE = re.compile(
    rf"\b(?:another|new|next|second|different)\s+(?:\w+\s+){{0,2}}{_SOURCE}\b"
    rf"|^\W*(?:now\s+)?(?:this|here)\s+is\s+(?:the|a|my)\s+(?:\w+\s+)?{_SOURCE}\s+"
    r"(?:image|picture|photo)\b(?![^.\n]{0,20}\bedit)",
    re.IGNORECASE,
)
_AGAIN = re.compile(
    r"\b(?:again|once\s+more|remind\w*|recall|re-?(?:send|sent|upload\w*)|compar\w+|back\s+to)\b",
    re.IGNORECASE,
)
_NO_EDIT = re.compile(r"\b(?:reference|ground[\s-]truth|target|mask|example)\b", re.IGNORECASE)
_EDIT_WORDS = re.compile(
    r"\b(?:edit(?:s|ed)?|result|output|method|candidate|version)\b", re.IGNORECASE
)
_SOURCE_NAME = re.compile(r"(?:^|[_-])(?:src|source|original|input|orig)$", re.IGNORECASE)
_NO_EDIT_NAME = re.compile(r"(?:^|[_-])(?:ref|reference|gt|target|mask|marked)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    """A prompt with the images it shows, and the reply to it."""

    prompt: str
    """The words without the image tags, outer white space taken away."""
    images: tuple[PurePosixPath, ...]
    reply: str

    def followed_by(self, other: TranscriptTurn) -> TranscriptTurn:
        """Return one turn of two messages that nobody answered in between."""
        words = f"{self.prompt}\n\n{other.prompt}".strip()
        return TranscriptTurn(words, self.images + other.images, other.reply)

    @property
    def says_it_shows_an_edit(self) -> bool:
        """Whether its words alone announce an edit; the image itself may be lost."""
        return _SHOWS_AN_EDIT.match(self.prompt) is not None

    def says_again(self, *, of_source: bool) -> bool:
        """Whether a picture in it was shown before: it says so, or shows another beside it."""
        if of_source and _SOURCE_WORDS.search(self.prompt):
            return True

        return len(self.images) > 1 or _AGAIN.search(self.prompt) is not None

    def may_show_a_reference(self, image: PurePosixPath) -> bool:
        """Whether an image in it may be no edit, by its name or by all that is said of it."""
        if _NO_EDIT_NAME.search(image.stem):
            return True
        if len(self.images) > 1 or _EDIT_WORDS.search(self.prompt):
            return False

        return _NO_EDIT.search(self.prompt) is not None

    @property
    def source_image(self) -> PurePosixPath:
        """The image that is the source, in a turn that shows it: by its name, by what the words
        say of its place, else the first."""
        named = [image for image in self.images if _SOURCE_NAME.search(image.stem)]
        if len(named) == 1:
            return named[0]

        said = _PLACE_OF_SOURCE.search(self.prompt)
        place = said["place"].lower() if said else "first"
        number = -1 if place == "last" else _ORDINALS.index(place)
        return self.images[number if number < len(self.images) else 0]


@dataclass(frozen=True, slots=True)
class TranscriptEdit:
    """An edit as a conversation shows it."""

    turn: int
    image: PurePosixPath | None
    """None where the words announce an edit, but its image is lost."""


@dataclass(frozen=True)
class Transcript:
    """A conversation as it was saved."""

    path: Path
    turns: tuple[TranscriptTurn, ...]
    every_picture: bool = False
    """Whether also those pictures count as edits that may be none: a reference by its words or its
    name, or one that has the name of an earlier picture."""

    @cached_property
    def source_turn(self) -> int | None:
        """Which turn shows the source image: the first with an image that speaks of one,
        else the first with one."""
        shows = [number for number, turn in enumerate(self.turns) if turn.images]
        named = [number for number in shows if _SOURCE_WORDS.search(self.turns[number].prompt)]
        candidates = named or shows
        return candidates[0] if candidates else None

    @cached_property
    def source(self) -> PurePosixPath | None:
        """The source image."""
        return None if self.source_turn is None else self.turns[self.source_turn].source_image

    @cached_property
    def edits(self) -> tuple[TranscriptEdit, ...]:
        """The edits by their numbers: as the turns announce them, else in the order shown."""
        numbers = self.announced
        if not numbers or sorted(numbers) != list(range(1, len(numbers) + 1)):
            return self._shown

        in_order = sorted(zip(numbers, self._shown, strict=True), key=lambda pair: pair[0])
        return tuple(edit for _, edit in in_order)

    @cached_property
    def announced(self) -> tuple[int, ...]:
        """The numbers under which edits are announced, `This is image 3`, as they are shown; empty
        where one of them has none, or several."""
        numbers: list[int] = []
        for edit in self._shown:
            said = {int(number) for number in _ANNOUNCED.findall(self.turns[edit.turn].prompt)}
            numbers += said if len(said) == 1 else []

        return tuple(numbers) if len(numbers) == len(self._shown) else ()

    @cached_property
    def _shown(self) -> tuple[TranscriptEdit, ...]:
        """The edits in the order they are shown, several of them in one turn perhaps."""
        found: list[TranscriptEdit] = []
        for number in range(self.source_turn or 0, len(self.turns)):
            turn = self.turns[number]
            images = list(turn.images)
            if number == self.source_turn:
                images.remove(turn.source_image)
            elif not images and turn.says_it_shows_an_edit:
                found.append(TranscriptEdit(number, None))

            earlier = {edit.image for edit in found}
            edits = [image for image in images if not self._is_no_edit(turn, image, earlier)]
            found += [TranscriptEdit(number, image) for image in edits]

        # What stands beside the source is an edit only where nothing later is: it may be a
        # reference, and to count it would give every edit the scores of the one before.
        later = [edit for edit in found if edit.turn != self.source_turn]
        return tuple(later if later and not self.every_picture else found)

    def _is_no_edit(
        self, turn: TranscriptTurn, image: PurePosixPath, earlier: set[PurePosixPath | None]
    ) -> bool:
        """Tell whether a picture after the source is the source again, an earlier edit again, or
        a reference."""
        named = image.name != UNNAMED_IMAGE
        if named and (image == self.source or image in earlier):
            # Pictures that were pasted are all called image.png, so a name alone is no proof.
            return not self.every_picture or turn.says_again(of_source=image == self.source)

        return not self.every_picture and turn.may_show_a_reference(image)

    @cached_property
    def edit_turns(self) -> tuple[int, ...]:
        """Which turns show an edit, in order."""
        return tuple(sorted({edit.turn for edit in self.edits}))

    @cached_property
    def methods(self) -> tuple[str | None, ...]:
        """The method behind each edit, from the image's file name; None where there is no image."""
        images = [edit.image for edit in self.edits]
        named = [image if image and image.name != UNNAMED_IMAGE else None for image in images]
        return method_names(named, self.source)

    @cached_property
    def next_item(self) -> int | None:
        """The turn that shows the source image of another item, if any."""
        for edit in self.edits[1:]:
            prompt = self.turns[edit.turn].prompt
            if edit.image is None or self.source is None or _AGAIN.search(prompt):
                continue

            # By its name only where the first source is named so, and is another file.
            stems = {self.source.stem, edit.image.stem}
            named = self.source != edit.image and all(map(_SOURCE_NAME.search, stems))
            if named or _ANOTHER_SOURCE.search(prompt):
                return edit.turn

        return None


_DOCUMENTS = frozenset((".docx", ".doc", ".odt", ".rtf", ".pages", ".pdf"))


def load_transcript(path: Path) -> Transcript:
    """Return the transcript in a file. Raises FileProblem where nobody speaks in it."""
    if path.suffix.lower() in _DOCUMENTS and path.is_file():
        raise FileProblem(
            f"{path}: a document for a word processor; save it as plain text or as a page (.html)"
        )

    text = read_text(path)
    try:
        said = spoken_in(text)
    except FileProblem as error:
        raise FileProblem(f"{path}: {error}") from error

    # File names in the text are pictures only where nothing else is.
    said = [(role, unquoted(words)) for role, words in said]
    prompts = [words for role, words in said if role == "user"]
    image = _IMAGE if any(map(_IMAGE.search, prompts)) else _PLAIN_IMAGE
    turns: list[TranscriptTurn] = []
    for role, words in said:
        if role == "user":
            turn = _turn(words, image)
            before = turns.pop() if turns and _belong_together(turns[-1], turn) else None
            turns.append(turn if before is None else before.followed_by(turn))
        elif turns:
            # A reply in several messages is one reply; a greeting before any prompt is none.
            whole = f"{turns[-1].reply}\n\n{words}".strip()
            turns[-1] = replace(turns[-1], reply=whole)

    if not text.lstrip("\ufeff").strip():
        raise FileProblem(f"{path}: the file is empty; save the conversation again")

    if not turns:
        raise FileProblem(f"{path}: not a chat transcript that can be read. {what_is_found(text)}")
    return Transcript(path, tuple(turns))


def _belong_together(before: TranscriptTurn, turn: TranscriptTurn) -> bool:
    """Tell whether a picture was sent as a message of its own, before or after its words."""
    if before.reply:
        return False

    return bool(before.images and not before.prompt) or bool(turn.images and not turn.prompt)


def _turn(prompt: str, image: re.Pattern[str]) -> TranscriptTurn:
    """Return a turn that nobody has answered yet, with the images of either pattern."""
    images = []
    for match in image.finditer(prompt):
        # Each pattern has several groups, of which one is the address.
        found = match.groupdict()
        names = (found.get(key) for key in ("src", "link", "angled", "wiki", "within", "plain"))
        images.append(_image_name(next(filter(None, names), UNNAMED_IMAGE)))

    return TranscriptTurn(image.sub("", prompt).strip(), tuple(images), "")


def _image_name(address: str) -> PurePosixPath:
    if re.match(r"data:|blob:|file-service:|sediment:|attachment:", address):
        return PurePosixPath(UNNAMED_IMAGE)

    path = PurePosixPath(unquote(address.split("?")[0]))
    # A server's own number for a picture says nothing about the method.
    numbered = re.match(r"https?:", address) and not IMAGE_FILE.search(path.name)
    return PurePosixPath(UNNAMED_IMAGE) if numbered else path


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

    # A name that several edits share is nobody's: pictures that were pasted are all image.png.
    return tuple(name if names.count(name) == 1 else None for name in names)


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
