"""Published files as dialogs: the user turns of a chat, a single prompt, or a whole protocol.

A chat and a prompt are read as they are, and what they leave open is asked. A protocol spread over
the files of a repository is put together by a recipe.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from pydantic import Field

from lmmscore.conversation import IMAGE_KINDS, cardinal, escape, ordinal, task_title
from lmmscore.dialog import load_dialog
from lmmscore.errors import DialogError, FileProblem, nearest
from lmmscore.importers.factors import (
    FactorData,
    answered_factors,
    factors_of_chat,
    lower_is_better,
    open_scales,
    parse_scale,
)
from lmmscore.importers.prompt import draft_prompt
from lmmscore.parsing import read_overall
from lmmscore.parsing import read_text as read_scores
from lmmscore.scales import OPEN, Factor, RuleName, Scale
from lmmscore.transcripts import Transcript, TranscriptTurn, load_transcript
from lmmscore.yaml_files import (
    StrictModel,
    load_yaml,
    parse_yaml,
    read_text,
    validate,
    yaml_blocks,
)

# --------------------------------------------------------------------------------------------------
# Published words where they lie: a text file, a constant in Python, a value in JSON or YAML.
#
# `FILE.py:NAME` and `FILE.json:key.path` name one string inside a file. Python is parsed, never
# run.
# --------------------------------------------------------------------------------------------------

_MOST_STEPS = 200
"""How many references are followed before a constant counts as unreadable."""


@dataclass(frozen=True, slots=True)
class FoundWords:
    """A published text and where it was found."""

    text: str
    origin: str
    """File and name, without the folders above: it goes into the dialog."""

    name: str
    """What to call a dialog that says them."""


def read_words(spec: str | Path) -> FoundWords:
    """Return the words that FILE, FILE.py:NAME or FILE.json:key.path means. Raises FileProblem.

    YAML is read as JSON is.
    """
    path, inner = _split(str(spec))
    if path.is_dir():
        raise FileProblem(f"{path}: a folder; name a file in it, or see `lmmscore dialogs recipes`")

    if not path.exists():
        raise FileProblem(f"{path}: no such file")

    text = read_text(path)
    suffix = path.suffix.lower()
    if suffix == ".py":
        return _named(path, inner, _python_string(path, text, inner))

    if suffix in {".json", *_YAML}:
        data = _data(path, text, inner)
        # Texts by key, of which one must be named. A list may be a chat, which is read as a whole.
        if inner or (isinstance(data, dict) and _strings_in(data)):
            return _named(path, inner, _text_at(path, data, inner))

    return FoundWords(text, path.name, path.stem)


def _split(spec: str) -> tuple[Path, str]:
    """Split FILE:NAME. A colon inside an existing path, as on Windows, is part of the path."""
    path, colon, inner = spec.rpartition(":")
    if not colon or Path(spec).exists() or not path.lower().endswith((".py", ".json", *_YAML)):
        return Path(spec), ""

    return Path(path), inner


def _named(path: Path, inner: str, text: str) -> FoundWords:
    return FoundWords(text, f"{path.name}:{inner}", inner.rpartition(".")[2] or path.stem)


# JSON and YAML

_YAML = (".yaml", ".yml")


def _data(path: Path, text: str, inner: str) -> Any:
    """Return what a JSON or YAML file holds. Raises FileProblem.

    JSON that is none may still hold a chat, a message a line, unless something in it was named.
    """
    if path.suffix.lower() in _YAML:
        return parse_yaml(text, str(path))

    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if not inner:
            return None

        raise FileProblem(f"{path}: not JSON ({error})") from error


def _text_at(path: Path, data: Any, inner: str) -> str:
    """Return the text under a dotted path. Raises FileProblem, with the paths there are."""
    known = _strings_in(data)
    if inner in known:
        return known[inner]

    raise _no_such_text(path, inner, known)


def _strings_in(data: Any, above: str = "", depth: int = 0) -> dict[str, str]:
    """Return every string by its path: `add.system`, `prompts.0`."""
    if isinstance(data, str):
        return {above: data}

    if depth > 20 or not isinstance(data, dict | list):
        return {}

    entries = data.items() if isinstance(data, dict) else enumerate(data)
    found: dict[str, str] = {}
    for key, value in entries:
        found |= _strings_in(value, f"{above}.{key}" if above else str(key), depth + 1)

    return found


def _no_such_text(path: Path, inner: str, known: dict[str, str]) -> FileProblem:
    """Return the error for a text that is not there, with the names of those that are."""
    if not known:
        return FileProblem(f"{path}: no text in it that could be a prompt")

    # The longest are the prompts; a file has many short strings besides.
    longest = sorted(known, key=lambda name: -len(known[name]))[:12]
    names = ", ".join(sorted(longest))
    if not inner:
        return FileProblem(
            f"{path}: name the text in it, as {path.name}:{longest[0]}; it has: {names}"
        )

    return FileProblem(f"{path}: no text {inner!r}{nearest(inner, known)}; it has: {names}")


# Python


def _python_string(path: Path, text: str, inner: str) -> str:
    """Return the constant a Python file assigns to a name. Raises FileProblem."""
    try:
        tree = ast.parse(text, filename=str(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FileProblem(f"{path}: not Python that can be parsed ({error})") from error

    constants = _Constants(tree)
    value = constants.look_up(inner) if inner else None
    if value is not None:
        return value

    if inner in constants.assigned:
        raise FileProblem(
            f"{path}: {inner} is put together while the program runs; save its text to a file"
        )

    raise _no_such_text(path, inner, constants.strings())


class _Constants:
    """The strings a Python file assigns, worked out without running it."""

    def __init__(self, tree: ast.Module) -> None:
        self.assigned: dict[str, ast.expr] = {}
        self._steps = 0
        self._gather(tree, "")

    def _gather(self, scope: ast.AST, above: str) -> None:
        """Note assignments in the module, and in its classes and functions by `Scope.NAME`."""
        for node in ast.iter_child_nodes(scope):
            match node:
                case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._gather(node, f"{above}{node.name}.")

                case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While():
                    self._gather(node, above)

                case ast.Assign():
                    for target in node.targets:
                        self._note(target, node.value, above)

                case ast.AnnAssign(value=ast.expr() as value):
                    self._note(node.target, value, above)

                case ast.Return(value=ast.expr() as value):
                    self.assigned.setdefault(f"{above}return", value)

    def _note(self, target: ast.expr, value: ast.expr, above: str) -> None:
        """Note an assignment to a plain name, under its scope."""
        if not isinstance(target, ast.Name):
            return

        self.assigned[above + target.id] = value
        # A constant inside a function may be named without the function, if that is clear.
        self.assigned.setdefault(target.id, value)

    def strings(self) -> dict[str, str]:
        """Return every string by name, entries of dictionaries as NAME.key."""
        found: dict[str, str] = {}
        for name, node in self.assigned.items():
            self._steps = 0
            value = self._value(node)
            found |= _strings_in(value, name)

        return found

    def look_up(self, name: str) -> str | None:
        """Return the string of that name; None where there is none or it is not constant."""
        first = self.assigned.get(name)
        if first is not None:
            self._steps = 0
            value = self._value(first)
            return value if isinstance(value, str) else None

        return self.strings().get(name)

    def _value(self, node: ast.expr) -> Any:
        """Return the constant a node stands for; None for anything that would have to be run."""
        # Names may refer to each other in a circle.
        self._steps += 1
        if self._steps > _MOST_STEPS:
            return None

        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name) if name in self.assigned:
                return self._value(self.assigned[name])
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                parts = [self._value(left), self._value(right)]
                return "".join(parts) if all(isinstance(part, str) for part in parts) else None
            case ast.JoinedStr():
                return self._formatted(node)
            case ast.Dict():
                return self._dictionary(node)
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return [self._value(each) for each in elements]
            case ast.Call():
                return self._called(node)

        return None

    def _formatted(self, node: ast.JoinedStr) -> str:
        """Return an f-string with its expressions as placeholders: {item["prompt"]} → {prompt}."""
        pieces = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                # Braces in an f-string's text are literal; doubled, they stay literal for us.
                pieces.append(str(part.value).replace("{", "{{").replace("}", "}}"))
            elif isinstance(part, ast.FormattedValue):
                pieces.append(self._filled_in(part.value))

        return "".join(pieces)

    def _filled_in(self, node: ast.expr) -> str:
        """Return what stands in an f-string: a constant of the file, else a placeholder."""
        # By its capitals: any other name may be set to something else before it is said.
        constant = isinstance(node, ast.Constant) or (
            isinstance(node, ast.Name) and node.id.isupper()
        )
        value = self._value(node) if constant else None
        if isinstance(value, str | int | float):
            return str(value).replace("{", "{{").replace("}", "}}")

        return "{" + _expression_name(node) + "}"

    def _dictionary(self, node: ast.Dict) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                made[str(key.value)] = self._value(value)

        return made

    def _called(self, node: ast.Call) -> str | None:
        """Return what a harmless method of strings gives: strip, join, dedent, format."""
        if not isinstance(node.func, ast.Attribute):
            return None

        name = node.func.attr
        if name in _CLEANED and len(node.args) == 1:
            text = self._value(node.args[0])
            return _CLEANED[name](text) if isinstance(text, str) else None

        subject = self._value(node.func.value)
        if not isinstance(subject, str):
            return None

        # What is filled in later stands in the words as a placeholder, which is what is wanted.
        if name in {"format", "format_map"}:
            return subject

        return _applied(subject, name, [self._value(each) for each in node.args])


_CLEANED = {"dedent": textwrap.dedent, "cleandoc": inspect.cleandoc}


def _applied(subject: str, method: str, arguments: list[Any]) -> str | None:
    """Return what a method of strings gives; None for one that is not known to be harmless."""
    match method, arguments:
        case "strip" | "lstrip" | "rstrip", []:
            return str(getattr(subject, method)())

        case "replace", [str() as old, str() as new]:
            return subject.replace(old, new)

        # Something of the item's is put in while the program runs: its mark stays, as with format.
        case "replace", [_, _]:
            return subject

        case "join", [list() as parts] if all(isinstance(part, str) for part in parts):
            return subject.join(parts)

    return None


def _expression_name(node: ast.expr) -> str:
    """Return a name for an expression in an f-string: a variable, an attribute, a string key."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=value)) | ast.Constant(value=value):
            return str(value)
        case ast.Call(func=ast.Attribute(), args=[argument, *_]):
            return _expression_name(argument)

    return "0"


# --------------------------------------------------------------------------------------------------
# From a published file to a dialog: the user turns of a chat, or a single prompt.
# --------------------------------------------------------------------------------------------------

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
    _refuse_edits_at_once(transcript)
    questions: dict[str, str] = {}
    item = _Item(transcript, answers, questions)
    scoring, overall = _reading_turns(transcript)
    if "read" in answers:
        scoring = _answered_turn(answers["read"], transcript)

    turns: list[dict[str, Any]] = []
    for number, turn in enumerate(transcript.turns):
        if number in transcript.edit_turns:
            # The turns about edits become one, which is said for each edit.
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


def _refuse_edits_at_once(transcript: Transcript) -> None:
    """Refuse a chat that shows several edits in one turn, which no turn of a dialog can."""
    for number in transcript.edit_turns:
        edits = sum(edit.turn == number for edit in transcript.edits)
        if edits > 1 or number == transcript.source_turn:
            raise DialogError(
                f"{transcript.path}: turn {number + 1} shows an edit together with other pictures; "
                "a dialog shows each edit in a turn of its own (each: edit). Write the dialog by "
                "hand: docs/dialogs.md"
            )


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
        self.n = len(transcript.edits)
        source = transcript.source_turn
        where = transcript.turns[source].prompt if source is not None else ""
        self.task = answers.get("task") or _stated(_TASK, where)
        self.instruction = ""
        answer = answers.get("instruction", "")
        if answer == "none":
            return

        self.instruction = (answer or _stated(_INSTRUCTION, where)).removesuffix(".")
        if not self.instruction:
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
        # "one" is seldom the number of edits: "one image at a time".
        if self.n > 1:
            text = re.sub(rf"\b{cardinal(self.n)}\b{_COUNTED}", "{{n_word}}", text)

        return text


def _stated(expression: re.Pattern[str], text: str) -> str:
    found = expression.search(text)
    return found["value"] if found else ""


def item_of(transcript: Transcript) -> tuple[str, str, str]:
    """Return item, task and instruction as a transcript says them; empty where it does not."""
    said = _Item(transcript, {}, {})
    names = (_stated(_ITEM_NAME, turn.prompt) for turn in transcript.turns)
    return next(filter(None, names), ""), said.task, said.instruction


def _task_slot(task: str) -> str:
    if task_title(task) == task:
        return "task"

    return "task_lower" if task == task.lower() and "_" not in task else "task_id"


def _edit_turn(transcript: Transcript, item: _Item) -> dict[str, Any]:
    """Return one turn for all edits: the rule their words follow, and the exceptions."""
    words = [transcript.turns[number].prompt for number in transcript.edit_turns]
    n = len(words)
    rules = [_with_ordinal(item.generalised(text), place) for place, text in enumerate(words, 1)]
    # The first and the last edit are often announced in other words than those between.
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
    """Return the words of an edit, its position in them made into slots."""
    text = re.sub(rf"\b{ordinal(place)}\b", "{{ordinal}}", text)
    return re.sub(
        rf"(?<=image )#?{place}\b|(?<=Image )#?{place}\b",
        lambda m: m[0].replace(str(place), "{{position}}"),
        text,
    )


def _reading_turns(transcript: Transcript) -> tuple[int | None, int | None]:
    """Return which turns' replies hold the scores, and the judge's own sums."""
    n = max(1, len(transcript.edits))
    after = transcript.edit_turns[-1] if transcript.edit_turns else -1
    later = range(after + 1, len(transcript.turns))
    factors = factors_in(transcript)
    counts = {
        number: len(read_scores(transcript.turns[number].reply, factors, n).scores)
        for number in later
    }
    scoring = max(counts, key=lambda number: counts[number], default=None)
    if scoring is None or not counts[scoring]:
        # A transcript without replies: the first turn that speaks of scores asks for them.
        asks = re.compile(r"\bscores?\b", re.IGNORECASE)
        scoring = next((each for each in later if asks.search(transcript.turns[each].prompt)), None)

    if scoring is None:
        return None, None

    following = range(scoring + 1, len(transcript.turns))
    sums = (number for number in following if _asks_for_sum(transcript.turns[number], n))
    return scoring, next(sums, None)


_SUM = re.compile(r"overall|weighted|S\\?_\{?all|total|final|average|\bsums?\b", re.IGNORECASE)


def speaks_of_sum(turn: TranscriptTurn) -> bool:
    """Tell whether an overall score is asked for, or given under such a name."""
    return _SUM.search(f"{turn.prompt}\n{turn.reply}") is not None


def _asks_for_sum(turn: TranscriptTurn, n: int) -> bool:
    asked = _SUM.search(turn.prompt)
    return bool(asked) and (not turn.reply or bool(read_overall(turn.reply, n)))


def _name(number: int, transcript: Transcript, scoring: int | None, overall: int | None) -> str:
    """Return what to call a turn: by what it does, else by its number."""
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
    """Whether the words ask the judge to avoid equal scores."""
    return any(_AVOID_TIES.search(turn.prompt) for turn in transcript.turns)


# Drafts


ANSWERS = ("overall", "scale", "show", "task", "instruction", "factors", "read")
"""What can be answered at import, besides those that end in the name of a factor or a slot."""

_ANSWERS_FOR_ONE = {"scale.": "FACTOR", "better.": "FACTOR", "slot.": "NAME"}

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
        return "\n".join(head) + "\n" + yaml_blocks(self.data)


# Documents


def import_document(
    source: str | Path, name: str = "", answers: Mapping[str, str] | None = None
) -> Draft:
    """Return the dialog that says a file's exact words; what cannot be inferred is asked.

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
        # A text inside a program or a table is a prompt, whatever it looks like.
        try:
            transcript = load_transcript(Path(source))
        except FileProblem as error:
            if Path(source).suffix.lower() == ".json":
                raise _no_chat(Path(source), words.text) from error

            return _from_prompt(words, head, given)

        if _is_chat(transcript, words):
            return _from_chat(transcript, head, given)

    return _from_prompt(words, head, given)


def _no_chat(path: Path, text: str) -> FileProblem:
    """Return the error for JSON that is no chat: its brackets and keys are nobody's words."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        return FileProblem(
            f"{path}: not JSON ({error}); if it is cut off, save it again, and if it is the plain "
            "text of a prompt, name it .txt"
        )

    return _no_such_text(path, "", _strings_in(data))


def _is_chat(transcript: Transcript, words: FoundWords) -> bool:
    """Whether people speak in a file: a prompt may have lines `**Prompt:** …` of its own."""
    if len(transcript.turns) > 1 or words.origin.lower().endswith((".json", ".jsonl")):
        return True

    only = transcript.turns[0]
    before = words.text.find(only.prompt)
    return bool(only.reply) and before < _LONGEST_LABEL


_LONGEST_LABEL = 60
"""How much may stand before the first thing said: a title and the speaker's name."""


def _from_chat(transcript: Transcript, head: dict[str, Any], answers: Mapping[str, str]) -> Draft:
    """Return the dialog with a chat's own prompts as turns."""
    turns, questions = turns_of(transcript, answers)
    text = "\n".join(turn.prompt for turn in transcript.turns)
    factors = answered_factors(answers, text) or factors_of_chat(text)
    if not factors:
        questions["factors"] = (
            "which factors does it score? For example accuracy,preservation,quality"
        )

    weighted = bool(factors) and all("weight" in factor for factor in factors)
    head |= {"covers": "item", "avoid_ties": avoids_ties(transcript)}
    rule = "weighted" if weighted else ""
    questions |= _directions(factors, text, answers)
    return _draft(head, factors, turns, questions, answers, rule)


def _from_prompt(words: FoundWords, head: dict[str, Any], answers: Mapping[str, str]) -> Draft:
    """Return the dialog of one turn that says a prompt. Raises where it asks for no scores."""
    # Empty lines around a text file are the file's; inside a program they are part of the words.
    text = words.text if ":" in words.origin else words.text.strip("\n")
    draft = draft_prompt(text, answers)
    asks = draft.factors or draft.covers == "pair"
    if not asks and not re.search(r"\bscor|\brat(?:e|ing)\b", text, re.IGNORECASE):
        raise DialogError(
            f"{words.origin}: neither a chat transcript nor a prompt that asks for scores; if it "
            "does ask for some, name them: --set factors=success,quality"
        )

    head |= {"format": 2, "covers": draft.covers}
    rule = draft.overall or ("mean" if len(draft.factors) == 1 else "")
    notes = []
    if draft.fields:
        columns = ", ".join(dict.fromkeys(draft.fields))
        notes.append(f"It says these columns of the items file: {columns}.")

    questions = draft.questions | _directions(draft.factors, text, answers)
    made = _draft(head, draft.factors, [draft.turn], questions, answers, rule)
    return Draft(made.data, made.questions, (*notes, *made.notes))


def _directions(factors: list[FactorData], text: str, answers: Mapping[str, str]) -> dict[str, str]:
    """Say of each factor whose lower scores the words call better that they are.

    Returns a question for each of which they may not mean it.
    """
    questions = {}
    called = lower_is_better(factors, text)
    for factor in factors:
        key = factor["key"]
        answer = answers.get(f"better.{key}", "")
        if answer == "low" or (called.get(key) and answer != "high"):
            factor["better"] = "low"
        elif key in called and answer != "high":
            questions[f"better.{key}"] = (
                "the words say that lower is better, and may not mean this factor: is a low score "
                "of it the good one? Answer low or high"
            )

    return questions


def _draft(
    head: dict[str, Any],
    factors: list[FactorData],
    turns: list[dict[str, Any]],
    questions: dict[str, str],
    answers: Mapping[str, str],
    rule: str,
) -> Draft:
    """Return the dialog with the user's answers taken in, and what is still open."""
    notes: list[str] = []
    for factor in factors:
        answer = answers.get(f"scale.{factor['key']}", "")
        if not answer and factor["scale"] == OPEN:
            answer = answers.get("scale", "")

        if answer:
            factor["scale"] = _scale_typed(answer)
            notes.append(_as_understood(factor))

    rule = answers.get("overall", rule)
    _refuse_misfits(answers, factors)
    questions = {**questions, **open_scales(factors)}
    if not rule:
        questions["overall"] = _OVERALL_QUESTION

    if any(factor.get("better") == "low" for factor in factors):
        head = {**head, "format": 2}

    data = {
        **head,
        "factors": factors,
        "overall": rule or "none",
        "turns": turns,
        "repair": {"say": REPAIR},
        "questions": questions,
    }
    # A pair is asked for a winner, not for scores.
    if head["covers"] == "pair":
        del data["factors"]

    data = {key: value for key, value in data.items() if value not in ({}, False)}
    return Draft(data, questions, tuple(notes))


def _as_understood(factor: FactorData) -> str:
    """Return the scale that a user typed, in words: `0,100` may be meant as a range."""
    values = factor["scale"].get("values", [])
    note = f"{factor['key']} may be {Scale.model_validate(factor['scale'])}"
    if len(values) == 2 and values[0] + 1 < values[1]:
        note += f" and nothing between; for the range write {values[0]}-{values[1]}"

    return note


# Answers


def _scale_typed(answer: str) -> dict[str, Any]:
    """Return the scale a user typed. Raises DialogError, with how to write one."""
    scale = parse_scale(answer)
    try:
        Scale.model_validate(scale)
    except ValueError:
        raise DialogError(
            f"--set scale: {answer!r} is not a scale; "
            "write 1-10, integers 1-7, 0,0.5,1 or yes=1,no=0"
        ) from None

    return scale or {}


def _refuse_misfits(answers: Mapping[str, str], factors: list[FactorData]) -> None:
    """Refuse answers that do not go with what the document holds."""
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
        key = name.removeprefix("scale.").removeprefix("better.")
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
        if name not in ANSWERS and not name.startswith(tuple(_ANSWERS_FOR_ONE)):
            known = ", ".join([*ANSWERS, *(f"{a}{b}" for a, b in _ANSWERS_FOR_ONE.items())])
            hint = nearest(name, ANSWERS)
            raise DialogError(f"nothing is asked by the name {name!r}{hint}; known: {known}")


def dialog_name(name: str) -> str:
    """Return a text as the name of a dialog."""
    made = re.sub(r"[^\w.-]+", "-", name).strip("-._") or "imported"
    return made if made[0].isalnum() else f"d{made}"


# --------------------------------------------------------------------------------------------------
# Recipes: the whole protocol of a published benchmark, its words read from the user's own clone.
#
# A recipe is data, one file each in `recipes/`: where the words lie in the clone, and the dialog
# around them. The words belong to their authors and are not part of lmmscore.
# --------------------------------------------------------------------------------------------------

_RECIPES = Path(__file__).with_name("recipes")


class PublishedWords(StrictModel):
    """Words of the clone as a turn says them."""

    words: tuple[str, ...] = Field(min_length=1, description="Texts by name, joined by new lines.")
    fill: dict[str, str] = Field(
        default_factory=dict, description="The slot that takes the place of each placeholder."
    )
    without: str = Field("", description="The name of a text that is cut out, where it is there.")
    python: bool = Field(
        False, description="The words went through str.format: {{ and }} mean single braces."
    )
    strip: bool = Field(False, description="White space at both ends goes, as in their code.")
    then: str = Field("", description="What follows the words: pictures, and labels between them.")


class ProtocolRecipe(StrictModel):
    """The protocol of a published benchmark, without its words."""

    recipe: str = Field(description="The name.")
    aliases: tuple[str, ...] = Field((), description="Other names it is asked for by.")
    title: str = Field(description="What it is, in a line.")
    code: str = Field(description="Where the code is published.")
    reproduces: str = Field(description="What of the published protocol is the same.")
    differs: str = Field(description="What is not.")
    needs: tuple[str, ...] = Field((), description="What the benchmark must have.")
    files: dict[str, str] = Field(
        description="Texts by name: FILE, FILE.py:NAME or FILE.json:key, relative to the clone."
    )
    optional: tuple[str, ...] = Field((), description="Texts that the clone may lack.")
    dialog: dict[str, Any] = Field(
        description="The dialog; `say` and `system` hold words by name, or a list of such."
    )

    def described(self) -> dict[str, Any]:
        """Return what a program may want to know of it."""
        return self.model_dump(
            include={"recipe", "title", "code", "reproduces", "differs", "needs"}
        )


@dataclass(frozen=True, slots=True)
class Followed:
    """The dialog a recipe gave."""

    name: str
    text: str
    notes: tuple[str, ...]


def recipe_names() -> list[str]:
    """Return the names of all recipes."""
    return sorted(path.stem for path in _RECIPES.glob("*.yaml"))


def load_recipe(name: str) -> ProtocolRecipe:
    """Return the recipe of that name; neither capitals nor hyphens matter."""
    wanted = _plain_name(name)
    for known in recipe_names():
        path = _RECIPES / f"{known}.yaml"
        recipe = validate(ProtocolRecipe, load_yaml(path), path.name)
        if wanted in {_plain_name(each) for each in (recipe.recipe, *recipe.aliases)}:
            return recipe

    names = recipe_names()
    hint = nearest(name.lower(), names)
    raise DialogError(f"no recipe {name!r}{hint}; there are: {', '.join(names)}")


def _plain_name(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def follow(recipe: ProtocolRecipe, clone: Path, name: str | None = None) -> Followed:
    """Return the dialog of a recipe with the words of the clone. Raises where words are missing."""
    if not clone.is_dir():
        raise FileProblem(f"{clone}: no such folder; clone {recipe.code} and name its folder")

    texts = _read_texts(recipe, clone)
    words = _RecipeWords(recipe, texts)
    dialog = dialog_name(name or recipe.recipe)
    head = {
        "dialog": dialog,
        "version": 1,
        "title": recipe.title,
        "origin": recipe.code,
        "format": 2,
    }
    body = {key: value for key, value in recipe.dialog.items() if key != "turns"}
    if "system" in body:
        body["system"] = words.said(body["system"], "system")

    turns = [words.turn(turn) for turn in recipe.dialog["turns"]]
    data = {**head, **body, "turns": turns, "repair": {"say": REPAIR}}

    comments = [
        f"# Made by the recipe {recipe.recipe} from a clone of {recipe.code}.",
        "# The words are its authors'.",
        f"# Reproduces: {recipe.reproduces}",
        f"# Does not reproduce: {recipe.differs}",
    ]
    text = "\n".join(comments) + "\n" + yaml_blocks(data)
    return Followed(dialog, text, tuple(f"it needs {need}" for need in recipe.needs))


def _read_texts(recipe: ProtocolRecipe, clone: Path) -> dict[str, str]:
    """Return the texts of the clone by name; every missing file is named at once."""
    texts: dict[str, str] = {}
    missing: list[str] = []
    root = clone.resolve()
    for name, spec in recipe.files.items():
        path = clone / spec.partition(":")[0]
        # A clone is the work of others; its links may lead to private files.
        if not path.resolve().is_relative_to(root):
            raise FileProblem(f"{path}: a link that leads out of {clone}; its text is not read")

        if not path.is_file():
            if name not in recipe.optional:
                missing.append(spec.partition(":")[0])

            continue

        texts[name] = read_words(f"{clone / spec}").text

    if missing:
        files = ", ".join(dict.fromkeys(missing))
        raise FileProblem(
            f"{clone}: not there: {files}; is it a clone of {recipe.code}, and were files moved?"
        )

    return texts


class _RecipeWords:
    """Puts the words of the clone into the turns of the recipe."""

    def __init__(self, recipe: ProtocolRecipe, texts: Mapping[str, str]) -> None:
        self.recipe = recipe
        self.texts = texts

    def turn(self, turn: Mapping[str, Any]) -> dict[str, Any]:
        """Return a turn of the dialog, its words filled in."""
        made = dict(turn)
        made["say"] = self.said(turn["say"], f"turn {turn['name']}")
        if "say_for" in turn:
            made["say_for"] = {}
            for task, said in turn["say_for"].items():
                made["say_for"][task] = self.said(said, f"turn {turn['name']}, {task}")

        return made

    def said(self, said: Mapping[str, Any] | Sequence[Mapping[str, Any]], where: str) -> str:
        """Return the words that a recipe names, one piece or several in a row."""
        pieces = [said] if isinstance(said, Mapping) else said
        return "".join(self._piece(each, where) for each in pieces)

    def _piece(self, said: Mapping[str, Any], where: str) -> str:
        """Return one piece of words as the dialog says it. Raises where a placeholder is gone."""
        place = f"recipe {self.recipe.recipe}, {where}"
        words = validate(PublishedWords, said, place)
        text = "\n".join(self.texts[name] for name in words.words)
        if words.without and words.without in self.texts:
            text = text.replace(self.texts[words.without], "")

        if words.strip:
            text = text.strip()

        # Otherwise a changed clone would be used without its instruction, unnoticed.
        for placeholder in words.fill:
            if placeholder not in text:
                files = ", ".join(self.recipe.files[name] for name in words.words)
                raise DialogError(
                    f"{place}: no {placeholder} in {files}; the published words have changed"
                )

        return _filled_words(text, words) + words.then


def _filled_words(text: str, words: PublishedWords) -> str:
    """Return the text with slots for its placeholders, and everything else to the letter."""
    # Placeholders are set apart first: what is escaped must not touch the slots. Splitting at a
    # group keeps the placeholders, so that every second piece is one.
    pieces = [text]
    if words.fill:
        pieces = re.split("(" + "|".join(map(re.escape, words.fill)) + ")", text)

    made = []
    for number, piece in enumerate(pieces):
        if number % 2:
            made.append("{{" + words.fill[piece] + "}}")
            continue

        plain = piece.replace("{{", "{").replace("}}", "}") if words.python else piece
        made.append(escape(plain))

    return "".join(made)
