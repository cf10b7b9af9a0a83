"""A single published prompt → a dialog of one turn that says exactly its words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lmmscore.importers.dialogs.factors import FactorData, dict_of, factors_of_prompt, slug
from lmmscore.importers.dialogs.placeholders import (
    SlottedWords,
    images_of,
    typed_images,
    with_slots,
)
from lmmscore.importers.dialogs.stated_scales import scale_of
from lmmscore.scales import OPEN

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
    kinds = asked or slotted.images or images_of(text)
    if draft.covers == "pair":
        kinds = [kind for kind in kinds if kind not in {"edit", "first", "second"}]
        kinds += ["first", "second"]

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
    named = [name.strip() for name in answers.get("factors", "").split(",") if name.strip()]
    found = factors_of_prompt(text)
    if named:
        scale = scale_of(text)
        draft.factors = []
        for name in named:
            draft.factors.append({"key": slug(name), "name": name, "scale": dict_of(scale)})
    else:
        draft.factors = found.factors

    if not draft.factors:
        draft.questions["factors"] = _FACTORS_QUESTION

    draft.turn["read"] = "scores"
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
    words = _winners(match[0] for match in _TOKEN.finditer(text))
    if words:
        return {"words": words}

    for found in _WINNER_KEY.finditer(text):
        value = _LEAD_IN.sub("", found["value"])
        # "Image 1/2" is short for "Image 1" or "Image 2".
        value = re.sub(r"\b(\w+)\s+(1|A)\s*/\s*(2|B)\b", r"\1 \2 | \1 \3", value)
        options = re.split(r"\s*(?:\||/|\bor\b|,)\s*", value.strip(" \"'“”<>[]`,"))
        words = _winners(option.strip(" \"'“”‘’<>[]`,.") for option in options)
        if words:
            return {"key": found["key"], "words": words}

    words = _winners(match[0] for match in _IS_BETTER.finditer(text))
    if words:
        return {"words": words}

    if not _COMPARES.search(text):
        return None

    for choices in _CHOICES.finditer(text):
        quoted = re.findall(r"[\"'“‘`*]([\w=> ]{1,20}?)[\"'”’`*]", choices[0])
        words = _winners(quoted)
        if words:
            return {"words": words}

    # Without a form of its own, the answer says in a sentence which is better.
    asks = _ASKS_WHICH.search(text)
    return {} if asks and not factors_of_prompt(text).factors else None


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
    plain = re.sub(r"\s+is\s+better$", "", word.strip().lower())
    comparison = re.fullmatch(
        r"(?P<one>a|b|1|2)\s*(?P<sign>>+|=+|<+)\s*(?P<other>a|b|1|2)(?P<rest>.*)", plain
    )
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
