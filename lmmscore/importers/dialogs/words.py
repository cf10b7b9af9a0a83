"""Published words where they lie: a text file, a constant in Python, a value in JSON or YAML.

`FILE.py:NAME` and `FILE.json:key.path` name one string inside a file. Python is parsed, never run.
"""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmmscore.errors import FileProblem, nearest
from lmmscore.yaml_files import parse_yaml, read_text

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

    if suffix == ".json" and (inner or _is_table(text)):
        return _named(path, inner, _json_string(path, text, inner))

    if suffix in _YAML and (inner or _holds_texts(parse_yaml(text, str(path)))):
        return _named(path, inner, _text_at(path, parse_yaml(text, str(path)), inner))

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


def _is_table(text: str) -> bool:
    """Whether a JSON file holds texts by key, so that one must be named."""
    try:
        return _holds_texts(json.loads(text))
    except (ValueError, RecursionError):
        return False


def _holds_texts(data: Any) -> bool:
    return isinstance(data, dict) and bool(_strings_in(data))


def _json_string(path: Path, text: str, inner: str) -> str:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileProblem(f"{path}: not JSON ({error})") from error

    return _text_at(path, data, inner)


def _text_at(path: Path, data: Any, inner: str) -> str:
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
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                self._gather(node, f"{above}{node.name}.")
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    self._note(target, node.value, above)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self._note(node.target, node.value, above)
            elif isinstance(node, ast.Return) and node.value is not None:
                self.assigned.setdefault(f"{above}return", node.value)
            elif isinstance(node, ast.If | ast.Try | ast.With | ast.For | ast.While):
                self._gather(node, above)

    def _note(self, target: ast.expr, value: ast.expr, above: str) -> None:
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
        self._steps += 1
        if self._steps > _MOST_STEPS:
            return None

        if isinstance(node, ast.Constant):
            return node.value

        if isinstance(node, ast.Name):
            target = self.assigned.get(node.id)
            return self._value(target) if target is not None and target is not node else None

        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self._value(node.left), self._value(node.right)
            both = isinstance(left, str) and isinstance(right, str)
            return left + right if both else None

        if isinstance(node, ast.JoinedStr):
            return self._formatted(node)

        if isinstance(node, ast.Dict):
            return self._dictionary(node)

        if isinstance(node, ast.List | ast.Tuple):
            return [self._value(each) for each in node.elts]

        if isinstance(node, ast.Call):
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
        function = node.func
        if not isinstance(function, ast.Attribute):
            return None

        if function.attr in _CLEANED and len(node.args) == 1:
            text = self._value(node.args[0])
            return _CLEANED[function.attr](text) if isinstance(text, str) else None

        subject = self._value(function.value)
        if not isinstance(subject, str):
            return None

        if function.attr in {"strip", "lstrip", "rstrip"} and not node.args:
            return str(getattr(subject, function.attr)())

        # What is filled in later stands in the words as a placeholder, which is what is wanted.
        if function.attr in {"format", "format_map"}:
            return subject

        if function.attr == "replace" and len(node.args) == 2:
            old, new = (self._value(each) for each in node.args)
            constant = isinstance(old, str) and isinstance(new, str)
            return subject.replace(old, new) if constant else subject

        if function.attr == "join" and len(node.args) == 1:
            parts = self._value(node.args[0])
            if isinstance(parts, list) and all(isinstance(part, str) for part in parts):
                return subject.join(parts)

        return None


_CLEANED = {"dedent": textwrap.dedent, "cleandoc": inspect.cleandoc}


def _expression_name(node: ast.expr) -> str:
    """Return a name for an expression in an f-string: a variable, an attribute, a string key."""
    if isinstance(node, ast.Name):
        return node.id

    if isinstance(node, ast.Attribute):
        return node.attr

    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)

    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        return _expression_name(node.args[0])

    if isinstance(node, ast.Constant):
        return str(node.value)

    return "value"
