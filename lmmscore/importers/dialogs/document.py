"""Import a published file: a chat transcript, or a single prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import yaml

from lmmscore.dialog import IMAGE_KINDS
from lmmscore.errors import DialogError, FileProblem, nearest
from lmmscore.importers.dialogs.chat import avoids_ties, turns_of
from lmmscore.importers.dialogs.factors import factors_of_chat, open_scales, parse_scale
from lmmscore.importers.dialogs.prompt import turn_of
from lmmscore.scales import OPEN, OverallRule, Scale
from lmmscore.transcripts import load_transcript
from lmmscore.yaml_files import read_text

ANSWERS = ("overall", "scale", "show", "task", "instruction")
"""What can be answered at import, besides `scale.FACTOR`."""

_REPAIR = (
    "Some scores could not be read from your answer:\n\n{{problems}}\n\n"
    "Please write all scores again, complete and in the form asked for."
)
_OVERALL_QUESTION = (
    "the document does not say how its factors combine; answer with mean, weighted or geometric"
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A dialog as imported, and the questions the document leaves open, by name."""

    data: dict[str, Any]
    questions: Mapping[str, str]

    def as_yaml(self) -> str:
        """Return the dialog file, with every open question in a comment at its head."""
        head = [f"# Imported, word for word, from {self.data['origin']}."]
        head += [f"# OPEN QUESTION {name}: {text}" for name, text in self.questions.items()]
        body = yaml.dump(
            self.data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6
        )
        return "\n".join(head) + "\n" + body


class _Dumper(yaml.SafeDumper):
    """Writes long texts as blocks, so that people can read them, and everything out: no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Say that nothing is to be abbreviated."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    )


_Dumper.add_representer(str, _text)


def import_document(path: Path, name: str, answers: Mapping[str, str] | None = None) -> Draft:
    """Return the dialog that plays the file's exact words; what cannot be inferred is asked, not guessed."""
    answers = dict(answers or {})
    _refuse_unknown(answers)
    head = {
        "dialog": _name(name),
        "version": 1,
        "title": f"Imported from {path.name}",
        "origin": path.name,
    }
    try:
        transcript = load_transcript(path)
    except FileProblem:
        if not read_text(path).strip():
            raise
        return _from_prompt(path, head, answers)
    turns, questions = turns_of(transcript, answers)
    factors = factors_of_chat("\n".join(turn.prompt for turn in transcript.turns))
    weighted = bool(factors) and all("weight" in factor for factor in factors)
    head |= {"covers": "item", "avoid_ties": avoids_ties(transcript)}
    return _draft(head, factors, turns, questions, answers, "weighted" if weighted else None)


def _from_prompt(path: Path, head: dict[str, Any], answers: Mapping[str, str]) -> Draft:
    text = read_text(path).strip("\n")
    turn, factors, questions = turn_of(text, answers)
    if not factors and not re.search(r"\bscor|\brat(?:e|ing)\b", text, re.IGNORECASE):
        raise DialogError(f"{path}: neither a chat transcript nor a prompt that asks for scores")
    rule = "mean" if len(factors) == 1 else None
    return _draft(head | {"covers": "edit"}, factors, [turn], questions, answers, rule)


def _draft(
    head: dict[str, Any],
    factors: list[dict[str, Any]],
    turns: list[dict[str, Any]],
    questions: dict[str, str],
    answers: Mapping[str, str],
    rule: str | None,
) -> Draft:
    for factor in factors:
        answer = answers.get(
            f"scale.{factor['key']}", answers.get("scale", "") if factor["scale"] == OPEN else ""
        )
        if answer:
            factor["scale"] = _scale_typed(answer)
    rule = answers.get("overall", rule or "")
    _refuse_misfits(answers, factors)
    questions = {
        **questions,
        **open_scales(factors),
        **({} if rule else {"overall": _OVERALL_QUESTION}),
    }
    data = {
        **head,
        "factors": factors,
        "overall": rule or "none",
        "turns": turns,
        "repair": {"say": _REPAIR},
        "questions": questions,
    }
    return Draft({key: value for key, value in data.items() if value not in ({}, False)}, questions)


def _scale_typed(answer: str) -> dict[str, Any]:
    scale = parse_scale(answer)
    try:
        Scale.model_validate(scale)
    except ValueError:
        raise DialogError(
            f"--set scale: {answer!r} is no scale; write 1-10, integers 1-7 or 0,0.5,1"
        ) from None
    return scale or {}


def _refuse_misfits(answers: Mapping[str, str], factors: list[dict[str, Any]]) -> None:
    rule, rules = answers.get("overall", "none"), get_args(OverallRule)
    if rule not in rules:
        raise DialogError(
            f"--set overall: {rule!r} is none of {', '.join(rules)}{nearest(rule, rules)}"
        )
    if rule == "weighted" and not (factors and all("weight" in factor for factor in factors)):
        raise DialogError(
            "--set overall=weighted: the document gives no weights; add them in the file"
        )
    keys = [factor["key"] for factor in factors]
    for name in answers:
        key = name.removeprefix("scale.")
        if key != name and key not in keys:
            raise DialogError(
                f"--set {name}: no factor {key}{nearest(key, keys)}; there are: {', '.join(keys) or 'none'}"
            )
    kinds = [kind.strip() for kind in answers.get("show", "").split(",") if kind.strip()]
    for kind in kinds:
        if kind not in IMAGE_KINDS:
            raise DialogError(
                f"--set show: no image {kind!r}{nearest(kind, IMAGE_KINDS)}; known: {', '.join(IMAGE_KINDS)}"
            )


def can_be_set(question: str) -> bool:
    """Tell whether an answer given at import settles this question; the rest takes a change of the file."""
    return question in {"overall", "scale", "show"} or question.startswith("scale.")


def _refuse_unknown(answers: Mapping[str, str]) -> None:
    for name in answers:
        if name not in ANSWERS and not name.startswith("scale."):
            known = ", ".join([*ANSWERS, "scale.FACTOR"])
            raise DialogError(
                f"nothing is asked by the name {name!r}{nearest(name, ANSWERS)}; known: {known}"
            )


def _name(name: str) -> str:
    made = re.sub(r"[^\w.-]+", "-", name).strip("-._") or "imported"
    return made if made[0].isalnum() else f"d{made}"
