"""Import a published file: a chat transcript, or a single prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import yaml

from lmmscore.dialog import IMAGE_KINDS
from lmmscore.errors import DialogError, FileProblem, nearest
from lmmscore.importers.dialogs.chat import avoids_ties, turns_of
from lmmscore.importers.dialogs.factors import FactorData, factors_of_chat, open_scales, slug
from lmmscore.importers.dialogs.prompt import draft_prompt
from lmmscore.importers.dialogs.stated_scales import parse_scale, scale_of
from lmmscore.importers.dialogs.words import FoundWords, read_words
from lmmscore.rules import RuleName
from lmmscore.scales import OPEN, Scale
from lmmscore.transcripts import load_transcript

ANSWERS = ("overall", "scale", "show", "task", "instruction", "factors", "read")
"""What can be answered at import, besides `scale.FACTOR` and `slot.NAME`."""

REPAIR = (
    "Some scores could not be read from your answer:\n\n{{problems}}\n\n"
    "Please write all scores again, complete and in the form asked for."
)
_OVERALL_QUESTION = (
    "the document does not say how its factors combine; answer with mean, min, geometric or none"
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A dialog as imported, and the questions the document leaves open, by name."""

    data: dict[str, Any]
    questions: Mapping[str, str]
    notes: tuple[str, ...] = field(default=())

    def as_yaml(self) -> str:
        """Return the dialog file, with every open question in a comment at its head."""
        head = [f"# Imported, word for word, from {self.data['origin']}."]
        head += [f"# {note}" for note in self.notes]
        head += [f"# OPEN QUESTION {name}: {text}" for name, text in self.questions.items()]
        return "\n".join(head) + "\n" + dump_dialog(self.data)


# YAML that people can read


def dump_dialog(data: Mapping[str, Any]) -> str:
    """Return a dialog as YAML, its texts in blocks exactly as they are said."""
    return yaml.dump(dict(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and everything out: no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Say that nothing is to be abbreviated."""
        return True

    def analyze_scalar(self, scalar: str) -> Any:
        """Allow a block for text with blanks at the ends of lines, which YAML keeps as they are."""
        analysis = super().analyze_scalar(scalar)
        if analysis.multiline and not _UNWRITABLE.search(scalar):
            analysis.allow_block = True

        return analysis


_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|\\A\\s*\\t")
"""What YAML cannot hold in a block without changing it; a tab at the very start is one."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    if _UNWRITABLE.search(text):
        style = '"'

    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


# Documents


def import_document(
    source: str | Path, name: str = "", answers: Mapping[str, str] | None = None
) -> Draft:
    """Return the dialog that plays a file's exact words; what cannot be inferred is asked.

    `source` is a file, FILE.py:NAME or FILE.json:key.path.
    """
    given = dict(answers or {})
    _refuse_unknown(given)
    words = read_words(source)
    if not words.text.strip():
        raise FileProblem(f"{source}: the file is empty")

    head = {
        "dialog": dialog_name(name or words.name),
        "version": 1,
        "title": f"Imported from {words.origin}",
        "origin": words.origin,
    }
    if ":" not in words.origin:
        try:
            transcript = load_transcript(Path(source))
        except FileProblem:
            return _from_prompt(words, head, given)

        return _from_chat(transcript, head, given)

    return _from_prompt(words, head, given)


def _from_chat(transcript: Any, head: dict[str, Any], answers: Mapping[str, str]) -> Draft:
    turns, questions = turns_of(transcript, answers)
    text = "\n".join(turn.prompt for turn in transcript.turns)
    factors = _named_factors(answers, text) or factors_of_chat(text)
    if not factors:
        questions["factors"] = (
            "which factors does it score? For example accuracy,preservation,quality"
        )

    weighted = bool(factors) and all("weight" in factor for factor in factors)
    head |= {"covers": "item", "avoid_ties": avoids_ties(transcript)}
    rule = "weighted" if weighted else ""
    return _draft(head, factors, turns, questions, answers, rule)


def _named_factors(answers: Mapping[str, str], text: str) -> list[FactorData]:
    names = [name.strip() for name in answers.get("factors", "").split(",") if name.strip()]
    return [{"key": slug(name), "name": name, "scale": scale_of(text)} for name in names]


def _from_prompt(words: FoundWords, head: dict[str, Any], answers: Mapping[str, str]) -> Draft:
    text = words.text.strip("\n")
    draft = draft_prompt(text, answers)
    if not draft.factors and not re.search(r"\bscor|\brat(?:e|ing)\b|winner|\[\[", text, re.I):
        raise DialogError(
            f"{words.origin}: neither a chat transcript nor a prompt that asks for scores"
        )

    head |= {"format": 2, "covers": draft.covers}
    rule = draft.overall or ("mean" if len(draft.factors) == 1 else "")
    notes = []
    if draft.fields:
        columns = ", ".join(dict.fromkeys(draft.fields))
        notes.append(f"It says these columns of the items file: {columns}.")

    made = _draft(head, draft.factors, [draft.turn], draft.questions, answers, rule)
    return Draft(made.data, made.questions, tuple(notes))


def _draft(
    head: dict[str, Any],
    factors: list[FactorData],
    turns: list[dict[str, Any]],
    questions: dict[str, str],
    answers: Mapping[str, str],
    rule: str,
) -> Draft:
    for factor in factors:
        answer = answers.get(f"scale.{factor['key']}", "")
        if not answer and factor["scale"] == OPEN:
            answer = answers.get("scale", "")

        if answer:
            factor["scale"] = _scale_typed(answer)

    rule = answers.get("overall", rule)
    _refuse_misfits(answers, factors)
    questions = {**questions, **open_scales(factors)}
    if not rule:
        questions["overall"] = _OVERALL_QUESTION

    data = {
        **head,
        "factors": factors,
        "overall": rule or "none",
        "turns": turns,
        "repair": {"say": REPAIR},
        "questions": questions,
    }
    if head["covers"] == "pair":
        del data["factors"]

    return Draft({key: value for key, value in data.items() if value not in ({}, False)}, questions)


# Answers


def _scale_typed(answer: str) -> dict[str, Any]:
    scale = parse_scale(answer)
    try:
        Scale.model_validate(scale)
    except ValueError:
        raise DialogError(
            f"--set scale: {answer!r} is no scale; write 1-10, integers 1-7, 0,0.5,1 or yes=1,no=0"
        ) from None

    return scale or {}


def _refuse_misfits(answers: Mapping[str, str], factors: list[FactorData]) -> None:
    rule, rules = answers.get("overall", "none"), get_args(RuleName)
    if rule not in rules:
        hint = nearest(rule, rules)
        raise DialogError(f"--set overall: {rule!r} is none of {', '.join(rules)}{hint}")

    if rule == "weighted" and not (factors and all("weight" in factor for factor in factors)):
        raise DialogError(
            "--set overall=weighted: the document gives no weights; add them in the file"
        )

    keys = [factor["key"] for factor in factors]
    for name in answers:
        key = name.removeprefix("scale.")
        if key != name and key not in keys:
            known = ", ".join(keys) or "none"
            raise DialogError(
                f"--set {name}: no factor {key}{nearest(key, keys)}; there are: {known}"
            )

    _refuse_odd_images(answers.get("show", ""))


def _refuse_odd_images(answer: str) -> None:
    """Refuse a list without an edit, or with what looks like a typing error."""
    kinds = [kind.strip() for kind in answer.split(",") if kind.strip()]
    edits = {"edit", "first", "second"}
    for kind in kinds:
        # Benchmarks may name kinds of their own, so an unusual one is not wrong by itself.
        mistyped = kind not in IMAGE_KINDS and bool(nearest(kind, IMAGE_KINDS))
        if kind not in {*IMAGE_KINDS, *edits} and (mistyped or not edits & set(kinds)):
            hint = nearest(kind, IMAGE_KINDS)
            usual = ", ".join(IMAGE_KINDS)
            raise DialogError(f"--set show: no image {kind!r}{hint}; the usual: {usual}")


def _refuse_unknown(answers: Mapping[str, str]) -> None:
    for name in answers:
        if name not in ANSWERS and not name.startswith(("scale.", "slot.")):
            known = ", ".join([*ANSWERS, "scale.FACTOR", "slot.NAME"])
            hint = nearest(name, ANSWERS)
            raise DialogError(f"nothing is asked by the name {name!r}{hint}; known: {known}")


def dialog_name(name: str) -> str:
    """Return a text as the name of a dialog."""
    made = re.sub(r"[^\w.-]+", "-", name).strip("-._") or "imported"
    return made if made[0].isalnum() else f"d{made}"
