"""YAML files, read strictly: no aliases, no duplicate or unknown keys; complaints name the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from lmmscore.errors import FileProblem, nearest

Model = TypeVar("Model", bound=BaseModel)
_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MAX_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 50


class FileComplaint(str):
    """What is wrong with a file and what to do, as text, with a code to branch on."""

    __slots__ = ("kind",)

    kind: str

    def __new__(cls, kind: str, says: str) -> FileComplaint:
        """Return the text with its code: `unknown-key`, `missing-key` or `bad-value`."""
        made = super().__new__(cls, says)
        made.kind = kind
        return made


def load_yaml(path: Path) -> Any:
    """Return what the file holds as plain Python. Raises FileProblem naming file and line."""
    return parse_yaml(read_text(path), str(path))


def read_text(path: Path) -> str:
    """Return the file's text. Raises FileProblem where it is absent, too large or not UTF-8."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FileProblem(
                f"{path}: more than {MAX_BYTES // 2**20} MiB; that is no file of ours"
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


def _complaint(error: yaml.YAMLError, where: str) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    place = f"{where}, line {mark.line + 1}, column {mark.column + 1}" if mark else where
    return f"{place}: not valid YAML: {problem}"


def _refuse_what_unfolds(text: str, where: str) -> None:
    """Look at the stream of events, which unfolds nothing, before anything is built from it."""
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
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            if len(set(keys)) < len(keys):
                double = next(key for key in keys if keys.count(key) > 1)
                line = node.start_mark.line + 1
                raise FileProblem(
                    f"{where}, line {line}: the key {double!r} stands twice; keep one"
                )

            waiting.extend(child for pair in node.value for child in pair)
        elif isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)


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
        return [_one_complaint(model, dict(problem)) for problem in error.errors(include_url=False)]


def _one_complaint(model: type[BaseModel], problem: dict[str, Any]) -> FileComplaint:
    location = [part for part in problem["loc"] if not str(part).startswith("function-")]
    place = ".".join(str(part + 1) if isinstance(part, int) else str(part) for part in location)
    if problem["type"] == "extra_forbidden":
        known = _known_keys(model, location[:-1])
        known_list = f"; known: {', '.join(known)}" if known else ""
        hint = nearest(str(location[-1]), known) or known_list
        return FileComplaint("unknown-key", f"{place}: unknown key{hint}")

    if problem["type"] == "missing":
        return FileComplaint("missing-key", f"{place}: missing")

    says = str(problem["msg"]).removeprefix("Value error, ")
    return FileComplaint("bad-value", f"{place}: {says}" if place else says)


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
    if _is_model(annotation):
        return annotation

    for inner in getattr(annotation, "__args__", ()):
        found = _inner_model(inner)
        if found is not None:
            return found

    return None


def _is_model(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, BaseModel)
