"""YAML files, read strictly: no aliases, no duplicate or unknown keys; complaints name the line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from lmmscore.errors import FileProblem, nearest

Model = TypeVar("Model", bound=BaseModel)
# The C versions take a fifth of the time.
_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper: type[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

MAX_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 50


class StrictModel(BaseModel):
    """What a file holds: an unknown key is a fault, and nothing changes once it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Place = tuple[str | int, ...]
"""Where something stands in a file: keys, and numbers in lists from 0 on."""


class PlacedError(ValueError):
    """What a validator of a whole model finds wrong, and the part of it to look at."""

    def __init__(self, says: str, *place: str | int) -> None:
        super().__init__(says)
        self.place: Place = place


class FileComplaint(str):
    """What is wrong with a file and what to do, as text, with a code to branch on."""

    __slots__ = ("kind", "place")

    kind: str
    place: Place

    def __new__(cls, kind: str, says: str, place: Place = ()) -> FileComplaint:
        """Return the text with its code: `unknown-key`, `missing-key` or `bad-value`."""
        made = super().__new__(cls, says)
        made.kind = kind
        made.place = place
        return made


def load_yaml(path: Path) -> Any:
    """Return what the file holds as plain Python. Raises FileProblem naming file and line."""
    return parse_yaml(read_text(path), str(path))


def read_text(path: Path) -> str:
    """Return the file's text. Raises FileProblem where it is absent, too large or not UTF-8."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FileProblem(
                f"{path}: more than {MAX_BYTES // 2**20} MiB; not a file that lmmscore reads"
            )

        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileProblem(
            f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from error
    except OSError as error:
        raise FileProblem(f"{path}: {error.strerror or error}") from error


def parse_yaml(text: str, where: str) -> Any:
    """Return what the text holds as plain Python; `where` is the name used in complaints."""
    try:
        _refuse_what_unfolds(text, where)
    except yaml.YAMLError as error:
        raise FileProblem(_complaint(error, where)) from error

    # In two steps: a dictionary would keep only the last of two equal keys.
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None

        _refuse_duplicates(node, where)
        return loader.construct_document(node)
    except yaml.YAMLError as error:
        raise FileProblem(_complaint(error, where)) from error
    finally:
        loader.dispose()


def yaml_text(data: Mapping[str, Any]) -> str:
    """Return plain Python as YAML, its keys in their own order."""
    return str(yaml.dump(dict(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True))


def yaml_blocks(data: Mapping[str, Any]) -> str:
    """Return plain Python as YAML for people to read: texts in blocks, exactly as they are."""
    return yaml.dump(
        dict(data), Dumper=_BlockDumper, sort_keys=False, allow_unicode=True, width=10**6
    )


class _BlockDumper(yaml.SafeDumper):
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


def _block(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Write text of several lines as a block, which reads as it is."""
    style = "|" if "\n" in text else None
    if _UNWRITABLE.search(text):
        style = '"'

    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_BlockDumper.add_representer(str, _block)


def _complaint(error: yaml.YAMLError, where: str) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    place = f"{where}, line {mark.line + 1}, column {mark.column + 1}" if mark else where
    return f"{place}: not valid YAML: {problem}"


def _refuse_what_unfolds(text: str, where: str) -> None:
    """Refuse aliases and deep nesting in the stream of events, before anything is built from it."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            raise FileProblem(
                f"{where}, line {_line(event)}: YAML aliases (*name) are not allowed; write it out"
            )

        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1

        if depth > MAX_DEPTH:
            raise FileProblem(f"{where}, line {_line(event)}: nested more than {MAX_DEPTH} deep")


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 1


def _refuse_duplicates(root: yaml.Node, where: str) -> None:
    """Refuse a mapping with the same key twice, of which PyYAML would keep the last."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            if len(set(keys)) < len(keys):
                double = next(key for key in keys if keys.count(key) > 1)
                line = node.start_mark.line + 1
                raise FileProblem(f"{where}, line {line}: duplicate key {double!r}; keep one")

            waiting.extend(child for pair in node.value for child in pair)
        elif isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)


def parse_model(model: type[Model], text: str, where: str) -> Model:
    """Return what the text holds as `model`; every complaint has its line."""
    problems = complaints(model, parse_yaml(text, where))
    if isinstance(problems, BaseModel):
        return problems

    root = yaml.compose(text, Loader=_Loader)
    placed = sorted((_line_of(root, each.place), each) for each in problems)
    listed = "\n  ".join(f"line {line}: {each}" for line, each in placed)
    raise FileProblem(f"{where}, {listed}")


def line_at(path: Path, *place: str | int) -> str:
    """Return `FILE, line N` for a place in a YAML file that has been read before."""
    return f"{path}, line {_line_of(yaml.compose(read_text(path), Loader=_Loader), place)}"


def _line_of(node: yaml.Node | None, place: Place) -> int:
    """Return the line of a place; of what it stands in, where the place itself is missing."""
    line = 1
    for part in place:
        # Keys are compared as text: YAML has numbers and truth values among them.
        if isinstance(node, yaml.MappingNode):
            found = next((pair for pair in node.value if pair[0].value == str(part)), None)
            if found is None:
                break

            line, node = found[0].start_mark.line + 1, found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            if part >= len(node.value):
                break

            node = node.value[part]
            line = node.start_mark.line + 1

    return line


def validate(model: type[Model], data: Any, where: str) -> Model:
    """Return `data` as `model`. Raises FileProblem listing every complaint."""
    problems = complaints(model, data)
    if isinstance(problems, BaseModel):
        return problems

    raise FileProblem(f"{where}: " + "\n  ".join(problems))


def complaints(model: type[Model], data: Any) -> Model | list[FileComplaint]:
    """Return the validated model, or every complaint about `data` with its place."""
    if not isinstance(data, dict):
        keys = ", ".join(list(model.model_fields)[:4])
        return [FileComplaint("bad-value", f"expected a mapping of keys such as {keys}")]

    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems = [dict(problem) for problem in error.errors(include_url=False)]
        return [_one_complaint(model, problem) for problem in _without_alternatives(problems)]


# In the place of an error pydantic names the alternative it tried: `tuple[int,int]`, `function-…`.
_ALTERNATIVE = re.compile(
    r"function-.*|(?:tuple|dict|list|set|literal|nullable|constrained)\b.*\[.*"
)


def _is_alternative(part: object) -> bool:
    return _ALTERNATIVE.fullmatch(str(part)) is not None


def _without_alternatives(problems: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Drop complaints about an alternative that was not meant: another fits more closely."""
    kept = []
    for problem in problems:
        tried = [place for place, part in enumerate(problem["loc"]) if _is_alternative(part)]
        if not tried:
            kept.append(problem)
            continue

        head = problem["loc"][: tried[0]]
        rivals = [len(each["loc"]) for each in problems if each["loc"][: len(head)] == head]
        if len(problem["loc"]) == max(rivals):
            kept.append(problem)

    return kept


_EXPECTED = {
    "tuple_type": "expected a list",
    "list_type": "expected a list",
    "dict_type": "expected a mapping, as key: value",
    "model_type": "expected a mapping, as key: value",
    "model_attributes_type": "expected a mapping, as key: value",
    "string_type": "expected text; put it in quotes",
    "bool_type": "expected true or false",
    "bool_parsing": "expected true or false",
    "int_type": "expected a whole number",
    "int_parsing": "expected a whole number",
    "int_from_float": "expected a whole number",
    "decimal_type": "expected a number",
    "decimal_parsing": "expected a number",
    "float_type": "expected a number",
    "float_parsing": "expected a number",
    "finite_number": "expected a finite number",
    "too_short": "must not be empty",
}
"""pydantic's codes in the words of somebody who writes YAML."""


def _one_complaint(model: type[BaseModel], problem: dict[str, Any]) -> FileComplaint:
    """Return pydantic's complaint in the words of somebody who writes YAML."""
    location = tuple(part for part in problem["loc"] if not _is_alternative(part))
    place = ".".join(str(part + 1) if isinstance(part, int) else str(part) for part in location)
    if problem["type"] == "extra_forbidden":
        known = _known_keys(model, list(location[:-1]))
        known_list = f"; known: {', '.join(known)}" if known else ""
        hint = nearest(str(location[-1]), known) or known_list
        return FileComplaint("unknown-key", f"{place}: unknown key{hint}", location)

    if problem["type"] == "missing":
        return FileComplaint("missing-key", f"{place}: missing", location)

    error = problem.get("ctx", {}).get("error")
    if isinstance(error, PlacedError):
        location = (*location, *error.place)

    # pydantic puts a prefix before the messages of our own validators.
    says = str(problem["msg"]).removeprefix("Value error, ")
    says = says.replace("Input should be", "must be", 1).replace("String should", "must", 1)
    says = _EXPECTED.get(problem["type"], says)
    return FileComplaint("bad-value", f"{place}: {says}" if place else says, location)


def _known_keys(model: type[BaseModel], location: list[Any]) -> list[str]:
    """Return the keys allowed at a place inside the model, following its annotations."""
    here: Any = model
    for part in location:
        if isinstance(part, int):
            continue

        if not _is_model(here) or part not in here.model_fields:
            return []

        here = _inner_model(here.model_fields[part].annotation)

    return list(here.model_fields) if _is_model(here) else []


def _inner_model(annotation: Any) -> Any:
    """Return the model inside an annotation such as `list[Turn] | None`; None without one."""
    if _is_model(annotation):
        return annotation

    for inner in getattr(annotation, "__args__", ()):
        found = _inner_model(inner)
        if found is not None:
            return found

    return None


def _is_model(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, BaseModel)
