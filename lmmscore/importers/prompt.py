"""A single published prompt as a dialog of one turn that says exactly its words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lmmscore.conversation import escape
from lmmscore.importers.factors import (
    FactorData,
    answered_factors,
    factors_of_prompt,
)
from lmmscore.scales import OPEN

# --------------------------------------------------------------------------------------------------
# Placeholders and images: what published words leave to be filled in, and what they show.
# --------------------------------------------------------------------------------------------------

_INSTRUCTION = re.compile(
    r"(?:the_)?(?:(?:text|edit|editing|edited|user|image|input|current|modification|ori|raw|"
    r"instruct|instruction)_)*"
    r"(?:instruct|instructions?|prompts?|edit_text|edit_action|command|request|action|query)"
    r"(?:_(?:text|here|str|en|cn))*"
)
_TASK = re.compile(
    r"(?:edit|editing|task)_?(?:type|category|task|name|method)|task|category|task_type"
)
_IMAGES = {
    "reference": r"(?:ground_?truth|reference|ref|target|gt|answer|golden)_(?:image|img|picture)"
    r"|ground_?truth",
    "marked": r"(?:marked|annotated|sketch(?:ed)?|visual_instruction)_(?:image|img)",
    "edit": r"(?:edited|edit|output|generated|result(?:ing)?|pred|predicted|modified|after)"
    r"_(?:image|img|picture)",
    "source": r"(?:source|src|original|orig|input|before|raw)_(?:image|img|picture)",
    "mask": r"mask(?:_(?:image|img))?",
}
_BARE_IMAGES = {
    "source": frozenset("src source orig original before".split()),
    "edit": frozenset("edited edit output result generated after".split()),
}
"""Names that stand for images where a prompt has a placeholder for each of the two."""

_ANY_IMAGE = re.compile(
    r"(?:(?:the|insert|uploaded)_)?(?:image|img|picture|photo)s?(?:_?(?:\d|token|placeholder|here))*"
)
"""A place for an image that does not say which: <image>, {image_2}, <image_token>."""

_FIRST = frozenset(["a", "1", "one", "first", "left"])
_SECOND = frozenset(["b", "2", "two", "second", "right"])
_OF_A_PAIR = frozenset(
    "image img picture output edit edited generated result response model candidate answer "
    "assistant option of the".split()
)
"""What stands beside the side in a placeholder for one of two edits: <left_output_image>."""

_MARKUP = frozenset(
    "think thinking thought thoughts reflection scratchpad br hr p b i u em strong li ul ol div "
    "span table tr td th code pre sub sup html xml bos eos eot sep pad mask cls unk s".split()
)

_OUTPUT_WORDS = re.compile(
    r"(?:your_|the_|final_|overall_|a_|an_|insert_|int|integer|float|number|x+|n|score|scores|"
    r"rating|value|label|reason|reasoning|rationale|explanation_here|analysis|answer|your|here|"
    r"yes|no|true|false|text|string|str|json|brief|short|one|detailed|precise|digit|decimal|"
    r"think|list|of|to|from|or|and|between|on|for|each|_|-|\d|\.)+"
)
"""What stands for the judge's own answer: <score>, [your analysis], <int 1-5>."""

_FORMS = re.compile(
    r"(?P<jinja>\{\{\s*(?P<jinja_name>[A-Za-z_][\w.]*)\s*\}\})"
    r"|(?P<shell>\$\{(?P<shell_name>\w+)\})"
    r"|(?P<dollar>\$(?P<dollar_name>[A-Za-z_]\w+))"
    r"|(?P<brace>\{(?P<brace_name>[A-Za-z_][\w.\[\]'\" -]{0,60}|\d{0,2})"
    r"(?:![rsa])?(?::[^{}]{0,12})?\})"
    r"|(?P<angles><{1,3}\|?\s*(?P<angles_name>[A-Za-z_][\w -]{0,60}?)\s*\|?>{1,3})"
    r"|(?P<square>\[{1,2}\s*(?P<square_name>[A-Za-z_][\w -]{0,60}?)\s*\]{1,2})(?!\()"
    r"|(?P<dunder>__(?P<dunder_name>[A-Z][A-Z_]*[A-Z])__)"
    r"|(?P<percent>%(?:\((?P<percent_name>\w+)\))?s\b)"
)
_LABEL = re.compile(r"(?:instruct|prompt|edit(?:ing)?\s+text|request|command)", re.IGNORECASE)


@dataclass(slots=True)
class SlottedWords:
    """Words with our slots in the place of the publisher's placeholders."""

    text: str

    images: list[str] = field(default_factory=list)
    """The kinds of image that placeholders stand for, in order."""

    fields: list[str] = field(default_factory=list)
    """The columns of the items file that the words need."""

    unknown: dict[str, str] = field(default_factory=dict)
    """By name: placeholders whose meaning must be asked for, as they stand in the words."""

    has_instruction: bool = False

    pair: bool = False
    """Whether the words are about two edits."""

    placed: dict[str, str] = field(default_factory=dict)
    """What a placeholder for an image was found to stand for, by its name."""

    expected: list[str] = field(default_factory=list)
    """The images that the words speak of, in the order in which nameless placeholders hold them."""

    bare: dict[str, str] = field(default_factory=dict)
    """The kinds of image that placeholders such as {src} and {edited} stand for, by their names."""


def with_slots(text: str, answers: Mapping[str, str], pair: bool) -> SlottedWords:
    """Return the words with slots. `answers` says what unknown placeholders are, by their name."""
    python = _is_format_string(text)
    expected = typed_images(answers) or images_of(text)
    found = SlottedWords("", pair=pair, expected=_with_both_edits(expected) if pair else expected)
    places = [_Placeholder(match, text) for match in _FORMS.finditer(text)]
    found.bare = _bare_images(places)
    pieces: list[str] = []
    end = 0
    for place in places:
        slot = _slot(place, python, answers, found)
        if slot is None:
            continue

        kind = slot.removeprefix("show.")
        if kind != slot:
            found.images.append(kind)

        pieces.append(_plain_words(text[end : place.start], python))
        pieces.append("{{" + slot + "}}")
        end = place.end

    pieces.append(_plain_words(text[end:], python))
    found.text = "".join(pieces)
    return found


def _bare_images(places: list[_Placeholder]) -> dict[str, str]:
    """Return the kind of image by name, where a prompt has both the source and the edit so."""
    kinds = {}
    for place in places:
        for kind, names in _BARE_IMAGES.items():
            is_text = re.search(r"caption|prompt|text|descri|instruct", place.start_of_line, re.I)
            if place.form not in {"angles", "square"} and place.name in names and not is_text:
                kinds[place.name] = kind

    return kinds if {"source", "edit"} <= set(kinds.values()) else {}


def _plain_words(text: str, python: bool) -> str:
    if python:
        text = text.replace("{{", "{").replace("}}", "}")

    return escape(text)


def _is_format_string(text: str) -> bool:
    """Whether the words went through Python's str.format, where {{ and }} mean single braces."""
    if "{{" not in text or "}}" not in text:
        return False

    without_slots = re.sub(r"\{\{\s*[A-Za-z_][\w.]*\s*\}\}", "", text)
    if "{{" in without_slots:
        return True

    return re.search(r"(?<!\{)\{\w*\}(?!\})", without_slots) is not None


class _Placeholder:
    """Brackets that may stand for a part of the item, with the words around them."""

    def __init__(self, match: re.Match[str], text: str) -> None:
        self.text = text
        self.written = match[0]
        self.start, self.end = match.span()
        self.form = match.lastgroup or ""
        """The kind of brackets, a group of _FORMS."""

        self.raw = (match[f"{self.form}_name"] or "").strip()
        # {item.prompt} and {item['prompt']} are named by what is taken out of the item.
        last = re.split(r"[.\[]", self.raw.strip("]'\" "))[-1]
        self.name = re.sub(r"[^a-z0-9]+", "_", last.lower()).strip("_")
        """What is in the brackets, as an identifier; empty for `{}` and `%s`."""

    @property
    def start_of_line(self) -> str:
        return self.text[: self.start].rpartition("\n")[2]

    @property
    def rest_of_line(self) -> str:
        return self.text[self.end :].partition("\n")[0]

    def label(self, decoration: str = "") -> str:
        """Return what announces it: the start of its line, else the line above."""
        before = self.text[: self.start].rstrip(decoration)
        return before.rpartition("\n")[2] or before.rstrip().rpartition("\n")[2]

    @property
    def is_tag(self) -> bool:
        """Whether a name in angles opens a pair of tags around something."""
        return f"</{self.raw}" in self.text

    @property
    def is_json(self) -> bool:
        """Whether it stands in a line of JSON, where it means the judge's answer."""
        return '"' in self.start_of_line

    @property
    def is_latex(self) -> bool:
        """Whether braces belong to a formula: S_{acc}, x^{2}, \\text{all}."""
        before = self.text[max(0, self.start - 20) : self.start]
        return re.search(r"(?:[_^]|\\[A-Za-z]+)$", before) is not None

    @property
    def is_doubled(self) -> bool:
        """Whether braces stand inside another pair, {{…}}."""
        before = self.text[: self.start]
        opened = before.endswith("{") and not before.endswith("{{")
        return opened and self.text[self.end :].startswith("}")


def _slot(
    place: _Placeholder, python: bool, answers: Mapping[str, str], found: SlottedWords
) -> str | None:
    """Return the name of our slot for a placeholder; None for what is not one."""
    if place.form == "jinja" and python:
        return None  # in a format string {{x}} is the text {x}

    if place.form == "brace" and (place.is_doubled or place.is_latex):
        return None

    answered = answers.get(f"slot.{place.name or '0'}")
    if answered is not None:
        return _answered(answered, found)

    meant = _meant(place, found)
    if meant is not None:
        return meant

    if _ANY_IMAGE.fullmatch(place.name) and place.form != "square" and not place.is_tag:
        found.unknown["show"] = place.written
        return None

    nameless = not place.name or place.name.isdigit() or place.form == "percent"
    return _positional(place, found) if nameless else _column(place, found)


def _meant(place: _Placeholder, found: SlottedWords) -> str | None:
    """Return the slot that a telling name stands for: an image, the instruction, the task."""
    if not _may_mean(place):
        return None

    alone = not place.start_of_line.strip() and not place.rest_of_line.strip()
    # [Image 1] in a sentence speaks of the image; on a line of its own it stands for it.
    if place.form != "square" or alone:
        placed = _image_placed(place, found)
        if placed is not None:
            return placed

    if place.name in found.bare:
        return f"show.{found.bare[place.name]}"

    meaning = _meaning(place.name)
    if meaning == "instruction":
        found.has_instruction = True

    return meaning


def _column(place: _Placeholder, found: SlottedWords) -> str | None:
    """Return the column that any other name stands for; a doubtful one is asked for."""
    if place.form in {"angles", "square"} and not _looks_like_input(place):
        if place.form == "angles" and _may_be_input(place):
            found.unknown[f"slot.{place.name}"] = place.written

        return None

    # A second dollar sign on the line ends a formula that the first one begins.
    around = place.start_of_line + place.rest_of_line
    is_formula = place.form == "dollar" and "$" in around
    if is_formula or _OUTPUT_WORDS.fullmatch(place.name):
        return None

    found.fields.append(place.name)
    return f"field.{place.name}"


def _image_placed(place: _Placeholder, found: SlottedWords) -> str | None:
    """Return the slot of an image whose placeholder says little: by its side, label or order."""
    if place.raw in found.placed:
        return found.placed[place.raw]

    line = place.label(" \t*_`(\"'")
    slot = _side_placed(place.name, line) if found.pair else None
    if slot is None and _ANY_IMAGE.fullmatch(place.name):
        slot = _next_image(line, found)

    # {image} may stand for one image after the other; {image_1} always for the same.
    if slot is not None and place.name not in {"image", "img", "picture"}:
        found.placed[place.raw] = slot

    return slot


def _side_placed(name: str, line: str) -> str | None:
    """Return which edit of a pair a placeholder stands for; None where it names no side."""
    parts = set(name.split("_"))
    sides = parts - _OF_A_PAIR
    if len(sides) != 1 or not (len(parts) > 1 or _sides_in(line)):
        return None

    side = sides.pop()
    if side in _FIRST:
        return "show.first"

    return "show.second" if side in _SECOND else None


def _next_image(line: str, found: SlottedWords) -> str | None:
    """Return the image that a label announces, else the next of those the words speak of."""
    if found.pair and _sides_in(line):
        return f"show.{_sides_in(line)}"

    kind = _kind_of(line)
    if found.pair and kind == "edit":
        kind = None

    if kind is not None and kind not in found.images:
        return f"show.{kind}"

    left = [each for each in found.expected if each not in found.images]
    return f"show.{left[0]}" if left else None


def _sides_in(label: str) -> str:
    """Return which edit of a pair a label announces: `Model A Edited Image:` is the first."""
    named = re.findall(
        r"\b(?:image|model|response|output|option|candidate|edit)\s+(a|b|1|2)\b"
        r"|\b(first|second|left|right)\b",
        label.lower(),
    )
    sides = {"first" if (one or other) in _FIRST else "second" for one, other in named}
    return sides.pop() if len(sides) == 1 else ""


def _meaning(name: str) -> str | None:
    """Return what a telling name stands for, in words of ours; None for any other."""
    if _INSTRUCTION.fullmatch(name):
        return "instruction"

    if _TASK.fullmatch(name):
        return "task_id"

    for kind, pattern in _IMAGES.items():
        if re.fullmatch(pattern, name):
            return f"show.{kind}"

    return None


def _may_mean(place: _Placeholder) -> bool:
    """Whether brackets around a telling name are a placeholder and not, say, a list or a tag."""
    if place.form not in {"angles", "square"}:
        return True

    in_list = place.form == "square" and place.text.startswith("[", place.end)
    return not place.is_tag and not in_list


def _positional(place: _Placeholder, found: SlottedWords) -> str | None:
    """A placeholder without a name: the instruction if its line says so, else a question."""
    if _LABEL.search(place.label()) and not found.has_instruction:
        found.has_instruction = True
        return "instruction"

    if place.written == "{}" and '"' in place.text[max(0, place.start - 3) : place.end + 3]:
        return None  # an empty JSON object

    found.unknown[f"slot.{place.name or '0'}"] = place.written
    return None


def _looks_like_input(place: _Placeholder) -> bool:
    """Whether <name> or [name] asks the caller for something rather than the judge."""
    if place.is_tag or place.is_json or " " in place.raw:
        return False

    identifier = "_" in place.raw or place.raw.isupper()
    return identifier and not _OUTPUT_WORDS.fullmatch(place.raw.lower())


def _may_be_input(place: _Placeholder) -> bool:
    """Whether <word> may stand for something of the item's, so that it has to be asked."""
    if place.is_tag or place.is_json or " " in place.raw:
        return False

    if place.name in _MARKUP or _OUTPUT_WORDS.fullmatch(place.name):
        return False

    # Next to <score> and <reasoning>, on its line or the ones around it, it belongs to the form of
    # the answer.
    text = place.text
    start = text.rfind("\n", 0, max(0, text.rfind("\n", 0, place.start))) + 1
    end = text.find("\n", text.find("\n", place.end) + 1)
    around = text[start : end if end > 0 else len(text)]
    others = [each for each in re.findall(r"<([\w -]{1,60})>", around) if each != place.raw]
    return not any(_OUTPUT_WORDS.fullmatch(re.sub(r"\W+", "_", each.lower())) for each in others)


def _answered(answer: str, found: SlottedWords) -> str | None:
    """Return the slot a user named: instruction, task, an image, a column; none leaves it be."""
    name = answer.strip().lower()
    if name == "none":
        return None

    if name == "instruction":
        found.has_instruction = True
        return "instruction"

    if name == "task":
        return "task_id"

    if name in {"source", "reference", "marked", "edit", "first", "second", "mask"}:
        return f"show.{name}"

    column = re.sub(r"\W+", "_", answer.strip()).strip("_")
    found.fields.append(column)
    return f"field.{column}"


# Images


def typed_images(answers: Mapping[str, str]) -> list[str]:
    """Return the images that a user says are shown, in order."""
    return [kind.strip() for kind in answers.get("show", "").split(",") if kind.strip()]


def _with_both_edits(kinds: list[str]) -> list[str]:
    """Return the images of a pair: whatever else is shown, then its two edits."""
    return [kind for kind in kinds if kind not in {"edit", *_SIDES_SHOWN}] + _SIDES_SHOWN


_SIDES_SHOWN = ["first", "second"]


def images_of(text: str) -> list[str]:
    """Return the images that the words say are shown, in order; nothing where that is unclear."""
    return described_images(text) or listed_images(text) or mentioned_images(text)


_DESCRIBED = re.compile(
    r"^[\W_]*(?:\d+[.)]\s*)?[*_]*(?:(?:the\s+)?(?P<ordinal>first|second|third|fourth)\s+image"
    r"|image\s*\#?(?P<number>[1-9A-D])\b)",
    re.IGNORECASE | re.MULTILINE,
)
_ORDINALS = ["first", "second", "third", "fourth"]
# The first that fits: an original with drawings on it is the marked image, whatever else is said.
_KINDS = (
    ("marked", r"\bdrawn\b|sketch|visual\s+instruction|annotat|\bmark(?:s|ed|ings?)\b"),
    (
        "reference",
        r"ground[\s-]*truth|\breference\b|\bideal\b|correctly\s+edited|golden|correct\s+answer",
    ),
    ("edit", r"\boutput\b|\bedited\b|generat|\bresult\b|after\s+edit|predict|\bmodified\b"),
    ("source", r"\boriginal\b|\bsource\b|\binput\b|before\s+edit"),
)


def described_images(text: str) -> list[str]:
    """Return the images described one by one, `IMAGE 1 (Input Image): …`, in their order."""
    found: dict[int, str] = {}
    matches = list(_DESCRIBED.finditer(text))
    for place, match in enumerate(matches):
        number = _number_of(match)
        end = matches[place + 1].start() if place + 1 < len(matches) else len(text)
        rest = re.split(r"\n\s*\n", text[match.end() : end])[0]
        # Its own line says what it is; the lines below it may speak of the other image.
        kind = _kind_of(rest.partition("\n")[0]) or _kind_of(rest)
        if kind in {None, "source"} and re.search(_KINDS[0][1], rest, re.IGNORECASE):
            kind = "marked"

        if kind and number not in found:
            found[number] = kind

    if found and 1 not in found:
        # "The second image should …" alone: the first is what was edited, if nothing else is shown.
        if found != {2: "edit"} or re.search(_KINDS[1][1], text, re.IGNORECASE):
            return []

        found[1] = "source"

    if len(found) == 1 and not _SEVERAL.search(text):
        return ["edit"]  # a single image is the one that is judged, whatever it shows

    return list(dict.fromkeys(found[number] for number in sorted(found)))


_SEVERAL = re.compile(
    r"\b(?:second|other|both|two|three|multiple|several|pair\s+of)\b[^.\n]{0,20}\bimages?\b"
    r"|\bimage\s*[2B]\b",
    re.IGNORECASE,
)


def _number_of(match: re.Match[str]) -> int:
    if match["ordinal"]:
        return _ORDINALS.index(match["ordinal"].lower()) + 1

    letter = match["number"].upper()
    return int(letter) if letter.isdigit() else ord(letter) - ord("A") + 1


_LISTED = re.compile(
    r"^[ \t]*(?:[-*•]|\d+[.)])[ \t]*(?:(?:an?|the|one)\s+)?[*_`\"“]*"
    r"(?P<name>(?:[A-Za-z-]+[ _]){1,3}(?:image|img|picture|photo))[*_`\"”]*\s*(?:\([^()\n]*\))?"
    r"\s*(?::|–|—|-\s|\.\s)(?P<rest>[^\n]*)",
    re.IGNORECASE | re.MULTILINE,
)


def listed_images(text: str) -> list[str]:
    """Return the images of a list of what is given, `- pred_image: the candidate`, in order."""
    kinds: list[str] = []
    for match in _LISTED.finditer(text):
        name = re.sub(r"\W+", "_", match["name"].lower())
        by_name = (_meaning(name) or "").removeprefix("show.")
        said = _kind_of(match["rest"]) or _kind_of(match["name"])
        # What is said of it counts more: an output_image may be "the expected reference".
        kind = said if said in {"reference", "marked"} else by_name or said
        if kind is None or kind == "instruction":
            return []

        if kind in kinds:
            break  # a later list speaks of the same images again

        kinds.append(kind)

    return kinds if len(kinds) > 1 else []


_RELATION = re.compile(
    r"\b(?:based\s+on|from|between|against|with|of|to|than|matching|following)\s+(?:the|an?)\s+"
    r"(?:[\w-]+\s+)?(?:reference|ground[\s-]*truth|original|source|input)\b",
    re.IGNORECASE,
)
"""What an image is compared with or made of says nothing of what it is."""


def _kind_of(text: str) -> str | None:
    """Return which image a passage describes; None where it describes none."""
    text = _RELATION.sub("", text)
    first: tuple[int, str] | None = None
    for kind, words in _KINDS:
        found = re.search(words, text, re.IGNORECASE)
        if found is None:
            continue

        if kind in {"marked", "reference"}:
            return kind

        # "An edited version of the original" is an edit, "the original that was edited" is not.
        if first is None or found.start() < first[0]:
            first = (found.start(), kind)

    return first[1] if first else None


_IMAGE = r"(?:\s+(?:[\w-]+\s+){0,2}|\W{0,4})(?:images?|pictures?|photos?|frames?|version)\b"
_MENTIONED = {
    "mask": re.compile(rf"\bmask{_IMAGE}", re.IGNORECASE),
    "reference": re.compile(rf"\b(?:reference|ground[\s-]*truth|golden|target){_IMAGE}", re.I),
    "source": re.compile(
        rf"\b(?:original|source|input|unedited){_IMAGE}"
        r"|\b(?:from|than|to|of|with)\s+the\s+original\b(?!\s+\w)"
        r"|\bbefore\s+(?:and\s+after\s+)?(?:the\s+)?edit"
        r"|\bbefore\s+and\s+after\b",
        re.IGNORECASE,
    ),
    "edit": re.compile(
        rf"\b(?:edited|output|generated|modified|resulting|predicted|composite|synthesi[sz]ed)"
        rf"{_IMAGE}|\bafter\s+(?:the\s+)?edit|\bbefore\s+and\s+after\b|\bedited\s+version\b",
        re.IGNORECASE,
    ),
}
_NOT_GIVEN = re.compile(r"\W*(?:is|are)\s+not\s+(?:given|provided|shown)", re.IGNORECASE)
_OF_ALL = re.compile(r"\W*(?:is|are)\s+AI-generated", re.IGNORECASE)
"""What follows `all the input images` where whatever is shown is meant."""


def mentioned_images(text: str) -> list[str]:
    """Return the images a prompt mentions in prose, the edit last; nothing where unclear."""
    if re.search(r"\b(?:multiple|several)\s+(?:\w+\s+)?(?:images|frames)\b", text, re.IGNORECASE):
        return []

    found: list[tuple[int, str]] = []
    for kind, expression in _MENTIONED.items():
        ends = {match.end(): match.start() for match in expression.finditer(text)}
        told = [ends[end] for end in ends if not _OF_ALL.match(text, end)]
        if told and not any(_NOT_GIVEN.match(text, end) for end in ends):
            found.append((told[0], kind))

    kinds = [kind for _, kind in sorted(found)]
    # Protocols show what is judged last.
    if "edit" in kinds:
        return [kind for kind in kinds if kind != "edit"] + ["edit"]

    if _SEVERAL.search(text):
        return []

    one = re.search(
        r"\b(?:an|the|this|provided|given)\s+(?:[\w-]+\s+)?image\b", text, re.IGNORECASE
    )
    return ["edit"] if one and not kinds else []


# --------------------------------------------------------------------------------------------------
# From the words of a prompt to a dialog of one turn.
# --------------------------------------------------------------------------------------------------

_SHOW_QUESTION = (
    "which images does it show, in order? For example reference,edit or source,marked,edit"
)
_FACTORS_QUESTION = (
    "which factors does it score? Its output format names none; for example accuracy,quality"
)
_INSTRUCTION_QUESTION = (
    "where does the editing instruction go? Answer `end` to append it, `none` if it is not said, "
    "or the words that stand in its place"
)


@dataclass(slots=True)
class PromptDraft:
    """What a prompt says, as parts of a dialog, and what it leaves open."""

    turn: dict[str, Any]
    factors: list[FactorData] = field(default_factory=list)
    covers: str = "edit"
    overall: str = ""
    questions: dict[str, str] = field(default_factory=dict)
    fields: list[str] = field(default_factory=list)
    images: list[str] = field(default_factory=list)


def draft_prompt(text: str, answers: Mapping[str, str]) -> PromptDraft:
    """Return the one turn, the factors, and a question for everything the prompt leaves open."""
    winners = winner_form(text)
    draft = PromptDraft({"name": "judge"})
    if winners is not None:
        draft.covers = "pair"
        draft.overall = "bradley-terry"

    text = _with_given_instruction(text, answers)
    slotted = with_slots(text, answers, pair=draft.covers == "pair")
    words = _with_images(slotted, text, answers, draft)
    _ask_for_instruction(slotted, text, answers, draft)
    for name, placeholder in slotted.unknown.items():
        if name == "show":
            draft.questions[name] = _SHOW_QUESTION
            continue

        draft.questions[name] = (
            f"what stands at {placeholder}? Answer instruction, task, an image such as source, "
            "the name of a column, or none"
        )

    draft.fields = slotted.fields

    if winners is not None:
        form = {"form": winners} if winners else {}
        draft.turn |= {"read": "winner", **form, "say": words}
        return draft

    _find_factors(text, answers, draft)
    draft.turn["say"] = words
    return draft


# Instruction


def _with_given_instruction(text: str, answers: Mapping[str, str]) -> str:
    """Return the words with the instruction where the user says it stands."""
    answer = answers.get("instruction", "").strip()
    if answer == "end":
        return text.rstrip("\n") + "\n\n{{instruction}}"

    if answer and answer != "none" and answer in text:
        return text.replace(answer, "{{instruction}}")

    return text


_SPEAKS_OF_INSTRUCTION = re.compile(
    r"(?<!visual )\b(?:edit(?:ing|ed)?|text(?:ual)?|modification|user)\s+"
    r"(?:instructions?|prompts?|text)\b"
    r"|\b(?:given|provided|receive)\b[^.\n]{0,80}(?<!visual )\b(?:instructions?|text\s+prompt)\b",
    re.IGNORECASE,
)


def _ask_for_instruction(
    slotted: SlottedWords, text: str, answers: Mapping[str, str], draft: PromptDraft
) -> None:
    """Ask where the instruction goes, unless the words say it or need none."""
    if slotted.has_instruction or "{{instruction}}" in text:
        return

    if answers.get("instruction", "").strip() == "none":
        return

    # Quality is judged from the edit alone; such a prompt never speaks of an instruction.
    if draft.images == ["edit"] and not _SPEAKS_OF_INSTRUCTION.search(text):
        return

    draft.questions["instruction"] = _INSTRUCTION_QUESTION


# Images


def _with_images(
    slotted: SlottedWords, text: str, answers: Mapping[str, str], draft: PromptDraft
) -> str:
    """Return the words with a slot for every image: where the words name it, else after them."""
    asked = typed_images(answers)
    # What the user says, else what placeholders show, else what the words speak of.
    kinds = asked or slotted.images or images_of(text)
    if draft.covers == "pair":
        kinds = _with_both_edits(kinds)

    if "edit" not in kinds and draft.covers == "edit":
        draft.questions["show"] = _SHOW_QUESTION
        kinds = kinds or [OPEN]

    draft.images = list(dict.fromkeys(kinds))
    missing = [kind for kind in draft.images if "{{show." + kind + "}}" not in slotted.text]
    if missing and _ANNOUNCED_BELOW.search(slotted.text):
        return slotted.text + "".join("{{show." + kind + "}}" for kind in missing)

    if missing:
        draft.turn["show"] = missing

    return slotted.text


_ANNOUNCED_BELOW = re.compile(
    r"\b(?:below|here)\s+(?:is|are|come)\b[^\n]*\b(?:images?|pictures?|photos?)\b[^\n]*:?\s*$"
    r"|\bfollowing\s+(?:[\w-]+\s+){0,3}(?:images?|pictures?|photos?)\b[^\n.]*[:.]?\s*$"
    r"|\b(?:images?|pictures?)\b[^\n]*:\s*$",
    re.IGNORECASE,
)
"""A last line that says the images come next."""


# Factors


def _find_factors(text: str, answers: Mapping[str, str], draft: PromptDraft) -> None:
    """Take the factors that the user names, else those that the prompt asks for."""
    named = answered_factors(answers, text)
    found = factors_of_prompt(text)
    if named:
        draft.factors = named
    else:
        draft.factors = found.factors

    if not draft.factors:
        draft.questions["factors"] = _FACTORS_QUESTION

    draft.turn["read"] = "scores"
    # The form of the answer belongs to the factors it was found with, not to those a user names.
    keys = [factor["key"] for factor in draft.factors]
    if found.form and keys == [factor["key"] for factor in found.factors]:
        draft.turn["form"] = found.form


# Pairs

_TOKEN = re.compile(r"\[\[\s*[^\[\]\n]{1,30}\s*\]\]")
_WINNER_KEY = re.compile(
    r"[\"“'](?P<key>(?:final_|overall_)?(?:winner|winning|better|best|preferred|preference|choice|"
    r"chosen|selected|selection|verdict|decision|answer|result|judge?ment|vote)(?:_\w+)?)[\"”']"
    r"\s*:\s*(?P<value>[^\n}]{1,160})",
    re.IGNORECASE,
)
_LEAD_IN = re.compile(
    r"^[\W_]*(?:please\s+)?(?:choose|select|pick|one|either|must|exactly|answer|write)\b[^:'\"]*[:'\"]?",
    re.IGNORECASE,
)
_QUOTED = r"[\"'“‘`*]{1,2}(?:image\s+|model\s+|response\s+|option\s+)?[\w=>]{1,12}[\"'”’`*]{1,2}"
_CHOICES = re.compile(
    rf"{_QUOTED}(?:\s*(?:,\s*(?:or\s+)?|/|\||\bor\b)\s*{_QUOTED}){{1,4}}", re.IGNORECASE
)
"""What may be answered, in a sentence: output "A", "B" or "tie"."""

_SIDE_NAMES = r"(?:(?:image|model|assistant|option|output|response|candidate|edit|result)[\s_]*)?"
_SIDES = {
    "first": rf"(?:the\s+)?{_SIDE_NAMES}(?:a|1|first|left)(?:\s*(?:image|one))?",
    "second": rf"(?:the\s+)?{_SIDE_NAMES}(?:b|2|second|right)(?:\s*(?:image|one))?",
    "tie": r"tie|tied|equal|equally\s*\w*|draw|both|neither|same|none|c|tie\s*\w*",
}


def winner_form(text: str) -> dict[str, Any] | None:
    """Return how a prompt about two edits asks for the winner; None where it asks for scores."""
    for key, options in _options(text):
        words = _winners(options)
        if words:
            return {**key, "words": words}

    # Without a form of its own, the answer says in a sentence which is better.
    asks = _COMPARES.search(text) and _ASKS_WHICH.search(text)
    return {} if asks and not factors_of_prompt(text).factors else None


def _options(text: str) -> Iterator[tuple[dict[str, str], list[str]]]:
    """Yield what may be lists of possible answers, the surest first, with the key they stand at."""
    yield {}, _TOKEN.findall(text)

    for found in _WINNER_KEY.finditer(text):
        value = _LEAD_IN.sub("", found["value"])
        # "Image 1/2" is short for "Image 1" or "Image 2".
        value = re.sub(r"\b(\w+)\s+(1|A)\s*/\s*(2|B)\b", r"\1 \2 | \1 \3", value)
        options = re.split(r"\s*(?:\||/|\bor\b|,)\s*", value.strip(" \"'“”<>[]`,"))
        yield {"key": found["key"]}, [option.strip(" \"'“”‘’<>[]`,.") for option in options]

    yield {}, _IS_BETTER.findall(text)

    if _COMPARES.search(text):
        for choices in _CHOICES.finditer(text):
            yield {}, re.findall(r"[\"'“‘`*]([\w=> ]{1,20}?)[\"'”’`*]", choices[0])


_IS_BETTER = re.compile(
    r"\b(?:image|model|response|edit|option|output|candidate|result)\s+(?:1|2|A|B)\s+is\s+better\b",
    re.IGNORECASE,
)
_ASKS_WHICH = re.compile(
    r"\bwhich\s+(?:(?:one|of\s+the\s+two|edited|edit|image|result|output|response|candidate)\s+)+"
    r"(?:is|are|looks|follows)\b",
    re.IGNORECASE,
)


_COMPARES = re.compile(
    r"\bwhich\b[^.\n]{0,80}\b(?:better|best|preferred|wins?)\b|\btwo\s+(?:[\w-]+\s+){0,3}(?:edits|"
    r"edited\s+images|results|candidates|outputs|responses|models)\b|\bpairwise\b",
    re.IGNORECASE,
)


def _winners(options: Iterable[str]) -> dict[str, str]:
    """Return what each option means; nothing where they do not name both sides."""
    words = {}
    for option in dict.fromkeys(options):
        meaning = _winner_meant(option.strip("[] "))
        if option and meaning is not None:
            words[option] = meaning

    return words if {"first", "second"} <= set(words.values()) else {}


def _winner_meant(word: str) -> str | None:
    """Return what a word of the answer says of a pair: `A>B`, `Image 2`, `tie`; None if nothing."""
    plain = re.sub(r"\s+is\s+better$", "", word.strip().lower())
    comparison = re.fullmatch(
        r"(?P<one>a|b|1|2)\s*(?P<sign>>+|=+|<+)\s*(?P<other>a|b|1|2)(?P<rest>.*)", plain
    )
    # `A>B`, `B>>A`, `A=B`; after a tie perhaps whether both are good or bad.
    if comparison is not None:
        if "=" in comparison["sign"]:
            rest = comparison["rest"].strip("= ")
            return {"good": "both-good", "bad": "both-bad"}.get(rest, "tie")

        first_named = comparison["one"] in "a1"
        return "first" if first_named == (">" in comparison["sign"]) else "second"

    if re.fullmatch(r"both\s*(?:are\s*)?good", plain):
        return "both-good"

    if re.fullmatch(r"both\s*(?:are\s*)?bad", plain):
        return "both-bad"

    for meaning, pattern in _SIDES.items():
        if re.fullmatch(pattern, plain):
            return meaning

    return None
