"""A chat transcript → a dialog: its user turns, with what belongs to the item made into slots."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lmmscore.dialog import load_dialog, task_title
from lmmscore.errors import DialogError
from lmmscore.importers.dialogs.factors import factors_of_chat
from lmmscore.parsing import read_overall, read_text
from lmmscore.scales import OPEN, Factor
from lmmscore.templates import cardinal, escape, ordinal
from lmmscore.transcripts import Transcript, TranscriptTurn

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
