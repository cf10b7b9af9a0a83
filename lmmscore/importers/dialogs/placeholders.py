"""Placeholders in published words: where the code that sent them put instruction and images."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lmmscore.templates import escape

_INSTRUCTION = re.compile(
    r"(?:the_)?(?:(?:text|edit|editing|edited|user|image|input|current|modification|ori|raw)_)*"
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
_ANY_IMAGE = re.compile(r"(?:image|img|picture)s?(?:_?(?:\d+|[a-d]|token|placeholder))?")

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
    r"|(?P<angles><{1,3}\s*(?P<angles_name>[A-Za-z_][\w -]{0,60}?)\s*>{1,3})"
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


def with_slots(text: str, answers: Mapping[str, str], show_images: bool = False) -> SlottedWords:
    """Return the words with slots. `answers` says what unknown placeholders are, by their name.

    With `show_images`, an image's placeholder becomes the slot where the picture stands.
    """
    python = _is_format_string(text)
    found = SlottedWords("")
    pieces: list[str] = []
    end = 0
    for match in _FORMS.finditer(text):
        slot = _slot(match, text, python, answers, found)
        if slot is None:
            continue

        kind = slot.removeprefix("show.")
        if kind != slot:
            found.images.append(kind)
            if not show_images:
                continue

        pieces.append(_plain_words(text[end : match.start()], python))
        pieces.append("{{" + slot + "}}")
        end = match.end()

    pieces.append(_plain_words(text[end:], python))
    found.text = "".join(pieces)
    return found


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


def _slot(
    match: re.Match[str],
    text: str,
    python: bool,
    answers: Mapping[str, str],
    found: SlottedWords,
) -> str | None:
    """Return the name of our slot for a placeholder; None for what is not one."""
    form = match.lastgroup or ""
    form = form.removesuffix("_name")
    if form == "jinja" and python:
        return None  # in a format string {{x}} is the text {x}

    if form == "brace" and (_inside_double(match, text) or _is_latex(match, text)):
        return None

    raw = (match[f"{form}_name"] or "").strip()
    # {item.prompt} and {item['prompt']} are named by what is taken out of the item.
    last = re.split(r"[.\[]", raw.strip("]'\" "))[-1]
    name = re.sub(r"[^a-z0-9]+", "_", last.lower()).strip("_")

    answered = answers.get(f"slot.{name or '0'}")
    if answered is not None:
        return _answered(answered, found)

    meaning = _meaning(name)
    if meaning is not None and _may_mean(form, raw, match, text):
        if meaning == "instruction":
            found.has_instruction = True

        return meaning

    if not name or name.isdigit() or form == "percent":
        return _positional(match, text, name, found)

    if form in {"angles", "square"} and not _looks_like_input(raw, match, text):
        return None

    if form == "dollar" or _OUTPUT_WORDS.fullmatch(name):
        return None

    found.fields.append(name)
    return f"field.{name}"


def _inside_double(match: re.Match[str], text: str) -> bool:
    before = text[: match.start()]
    return before.endswith("{") and not before.endswith("{{") and text[match.end() :][:1] == "}"


def _is_latex(match: re.Match[str], text: str) -> bool:
    """Whether braces belong to a formula: S_{acc}, x^{2}, \\text{all}."""
    before = text[max(0, match.start() - 20) : match.start()]
    return re.search(r"(?:[_^]|\\[A-Za-z]+)$", before) is not None


def _meaning(name: str) -> str | None:
    if _INSTRUCTION.fullmatch(name):
        return "instruction"

    if _TASK.fullmatch(name):
        return "task_id"

    for kind, pattern in _IMAGES.items():
        if re.fullmatch(pattern, name):
            return f"show.{kind}"

    return None


def _may_mean(form: str, raw: str, match: re.Match[str], text: str) -> bool:
    """Whether brackets around a telling name are a placeholder and not, say, a list or a tag."""
    if form in {"brace", "jinja", "shell", "dunder", "percent", "dollar"}:
        return True

    if f"</{raw}" in text:
        return False  # a pair of tags around something

    return not (form == "square" and text[match.end() : match.end() + 1] == "[")


def _positional(match: re.Match[str], text: str, name: str, found: SlottedWords) -> str | None:
    """A placeholder without a name: the instruction if its line says so, else a question."""
    line = text[: match.start()].rpartition("\n")[2]
    before = line or text[: match.start()].rstrip().rpartition("\n")[2]
    if _LABEL.search(before) and not found.has_instruction:
        found.has_instruction = True
        return "instruction"

    if match["brace"] == "{}" and '"' in text[max(0, match.start() - 3) : match.end() + 3]:
        return None  # an empty JSON object

    found.unknown[f"slot.{name or '0'}"] = match[0]
    return None


def _looks_like_input(raw: str, match: re.Match[str], text: str) -> bool:
    """Whether <name> or [name] asks the caller for something rather than the judge."""
    if f"</{raw}" in text or " " in raw:
        return False

    identifier = "_" in raw or raw.isupper()
    if not identifier or _OUTPUT_WORDS.fullmatch(raw.lower()):
        return False

    line = text[: match.start()].rpartition("\n")[2]
    return '"' not in line  # within JSON it stands for the answer


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

    if name in {"source", "reference", "marked", "edit"}:
        return f"show.{name}"

    column = re.sub(r"\W+", "_", answer.strip()).strip("_")
    found.fields.append(column)
    return f"field.{column}"
