"""A published file → a dialog: a chat transcript with its user turns, or a single prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import yaml

from lmmscore.dialog import IMAGE_KINDS, task_title
from lmmscore.dialog_files import load_dialog
from lmmscore.errors import DialogError, FileProblem, nearest
from lmmscore.importers.dialogs.factors import FactorData, factors_of_chat, open_scales, slug
from lmmscore.importers.dialogs.prompt import draft_prompt
from lmmscore.importers.dialogs.stated_scales import parse_scale, scale_of
from lmmscore.importers.dialogs.words import FoundWords, read_words
from lmmscore.parsing import read_overall, read_text
from lmmscore.rules import RuleName
from lmmscore.scales import OPEN, Factor, Scale
from lmmscore.templates import cardinal, escape, ordinal
from lmmscore.transcripts import Transcript, TranscriptTurn, load_transcript

# Chats: the user's turns, with what belongs to the item made into slots


_TASK = re.compile(
    r"\btask(?:\s+(?:indicator|type|category|name))?\s*[:：]\s*(?P<value>[^\n]+?)\s*\.?\s*$",
    re.I | re.M,
)
_INSTRUCTION = re.compile(
    r"\b(?:edit(?:ing)?\s+|text\s+)?(?:instruction|prompt)\s*[:：]\s*(?P<value>[^\n]+?)\s*$",
    re.I | re.M,
)
_ITEM_NAME = re.compile(
    r"\b(?:item|sample)(?:\s+(?:id|name|number))?\s*[:：]\s*(?P<value>[^\n]+?)\s*\.?\s*$",
    re.I | re.M,
)
_COUNTED = (
    r"(?=(?:\s+[\w-]+){0,3}\s+"
    r"(?:images?|methods?|edits?|pictures?|results?|models?|outputs?|candidates?)\b)"
)
_AVOID_TIES = re.compile(
    r"avoid\w*\s+(?:\w+\s+){0,3}(?:same|equal|identical|tied)|no\s+ties", re.IGNORECASE
)


def turns_of(
    transcript: Transcript, answers: Mapping[str, str]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the dialog's turns, and a question for everything the transcript leaves open."""
    questions: dict[str, str] = {}
    item = _Item(transcript, answers, questions)
    scoring, overall = _reading_turns(transcript)
    if "read" in answers:
        scoring = _answered_turn(answers["read"], transcript)

    turns: list[dict[str, Any]] = []
    for number, turn in enumerate(transcript.turns):
        if number in transcript.edit_turns:
            if number == transcript.edit_turns[0]:
                turns.append(_edit_turn(transcript, item))

            continue

        made: dict[str, Any] = {"name": _name(number, transcript, scoring, overall)}
        if number == transcript.source_turn:
            made["show"] = ["source"]

        made["say"] = item.generalised(turn.prompt)
        if number in (scoring, overall):
            made["read"] = "scores" if number == scoring else "overall"

        turns.append(made)

    if scoring is None:
        questions["read"] = "which turn asks for the scores? Answer with its number, from 1 on"

    return turns, questions


def _answered_turn(answer: str, transcript: Transcript) -> int:
    """Return the place of the turn that a user named by its number."""
    last = len(transcript.turns)
    if not answer.isdecimal() or not 1 <= int(answer) <= last:
        raise DialogError(f"--set read: {answer!r} is not the number of a turn, 1 to {last}")

    return int(answer) - 1


class _Item:
    """What in the transcript belongs to its item: task, instruction and the number of edits."""

    def __init__(
        self, transcript: Transcript, answers: Mapping[str, str], questions: dict[str, str]
    ) -> None:
        self.n = len(transcript.edit_turns)
        source = transcript.source_turn
        where = transcript.turns[source].prompt if source is not None else ""
        task, instruction = _TASK.search(where), _INSTRUCTION.search(where)
        self.task = answers.get("task") or (task["value"] if task else "")
        answer = answers.get("instruction", "")
        stated = instruction["value"] if instruction else ""
        self.instruction = "" if answer == "none" else (answer or stated).removesuffix(".")
        if not self.instruction and answer != "none":
            questions["instruction"] = (
                "which words are the item's editing instruction? Put {{instruction}} in their place"
            )

    def generalised(self, text: str) -> str:
        """Return the words with slots; filling them with this item gives the words back."""
        text = escape(text)
        if self.instruction:
            text = text.replace(self.instruction, "{{instruction}}")

        if self.task:
            text = re.sub(
                rf"(?<!\w){re.escape(self.task)}(?!\w)", "{{" + _task_slot(self.task) + "}}", text
            )

        text = re.sub(rf"(?<![\w.]){self.n}(?![\w.]){_COUNTED}", "{{n}}", text)
        return (
            re.sub(rf"\b{cardinal(self.n)}\b{_COUNTED}", "{{n_word}}", text) if self.n > 1 else text
        )


def item_of(transcript: Transcript) -> tuple[str, str, str]:
    """Return item, task and instruction as a transcript says them; empty where it does not."""
    stated = _Item(transcript, {}, {})
    names = (_ITEM_NAME.search(turn.prompt) for turn in transcript.turns)
    name = next((found["value"] for found in names if found), "")
    return name, stated.task, stated.instruction


def _task_slot(task: str) -> str:
    if task_title(task) == task:
        return "task"

    return "task_lower" if task == task.lower() and "_" not in task else "task_id"


def _edit_turn(transcript: Transcript, item: _Item) -> dict[str, Any]:
    """Return one turn for all edits: the rule their words follow, and the exceptions."""
    words = [transcript.turns[number].prompt for number in transcript.edit_turns]
    n = len(words)
    rules = [_with_ordinal(item.generalised(text), place) for place, text in enumerate(words, 1)]
    middle = rules[1:-1] or rules[-1:]
    rule = max(middle, key=middle.count)
    made: dict[str, Any] = {"name": "edit", "each": "edit", "show": ["edit"], "say": rule}
    if n > 1 and rules[0] != rule:
        made["say_first"] = rules[0]

    if n > 1 and rules[-1] != rule:
        made["say_last"] = rules[-1]

    odd = {place: text for place, text in enumerate(rules, 1) if 1 < place < n and text != rule}
    if odd:
        made["say_at"] = odd

    return made


def _with_ordinal(text: str, place: int) -> str:
    text = re.sub(rf"\b{ordinal(place)}\b", "{{ordinal}}", text)
    return re.sub(
        rf"(?<=image )#?{place}\b|(?<=Image )#?{place}\b",
        lambda m: m[0].replace(str(place), "{{position}}"),
        text,
    )


def _reading_turns(transcript: Transcript) -> tuple[int | None, int | None]:
    """Return which turns' replies hold the scores, and the judge's own sums."""
    n = max(1, len(transcript.edit_turns))
    after = transcript.edit_turns[-1] if transcript.edit_turns else -1
    later = range(after + 1, len(transcript.turns))
    factors = factors_in(transcript)
    counts = {
        number: len(read_text(transcript.turns[number].reply, factors, n).scores)
        for number in later
    }
    scoring = max(counts, key=lambda number: counts[number], default=None)
    if scoring is None or not counts[scoring]:
        asks = [
            number
            for number in later
            if re.search(r"\bscores?\b", transcript.turns[number].prompt, re.I)
        ]
        scoring = asks[0] if asks else None

    sums = [
        number
        for number in later
        if scoring is not None and number > scoring and _asks_for_sum(transcript.turns[number], n)
    ]
    return scoring, sums[0] if sums else None


def _asks_for_sum(turn: TranscriptTurn, n: int) -> bool:
    asked = re.search(r"overall|weighted|S\\?_\{?all|total", turn.prompt, re.IGNORECASE)
    return bool(asked) and (not turn.reply or bool(read_overall(turn.reply, n)))


def _name(number: int, transcript: Transcript, scoring: int | None, overall: int | None) -> str:
    if number == transcript.source_turn:
        return "source"

    if number == scoring:
        return "scores"

    return "overall" if number == overall else f"turn-{number + 1}"


def factors_in(transcript: Transcript) -> tuple[Factor, ...]:
    """Return the factors a transcript asks for; those of lmm-score where none are certain."""
    found = factors_of_chat("\n".join(turn.prompt for turn in transcript.turns))
    certain = [Factor.model_validate(factor) for factor in found if factor["scale"] != OPEN]
    return tuple(certain) or load_dialog("lmm-score").factors


def avoids_ties(transcript: Transcript) -> bool:
    """Tell whether the words ask the judge to avoid equal scores."""
    return any(_AVOID_TIES.search(turn.prompt) for turn in transcript.turns)


# Drafts


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
    # Empty lines around a text file are the file's; inside a program they are part of the words.
    text = words.text if ":" in words.origin else words.text.strip("\n")
    draft = draft_prompt(text, answers)
    asks = draft.factors or draft.covers == "pair"
    if not asks and not re.search(r"\bscor|\brat(?:e|ing)\b", text, re.IGNORECASE):
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
