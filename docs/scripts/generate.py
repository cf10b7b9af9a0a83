"""Write what the documentation need not say twice: schemas for editors, the reference of file formats, every command.

`python docs/scripts/generate.py` writes the files; a test holds them against the code.
"""

from __future__ import annotations

import json
import os
import re
import sys
from datetime import date
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel, JsonValue

from lmmscore.benchmark import BenchmarkFile, InlineItem
from lmmscore.cli import COMMANDS, EXAMPLES, lmmscore, tasks
from lmmscore.conversation import SLOT_NAMES
from lmmscore.dialog import Dialog, Suite
from lmmscore.judges.config import judges_file

DOCS = Path(__file__).parents[1]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
NOTICE = "<!-- Written by docs/scripts/generate.py; edit the code it reads instead. -->\n\n"


def files() -> dict[Path, str]:
    """Return every generated file with its text."""
    made = {DOCS / "schema" / f"{name}.json": _json(schema) for name, schema in schemas().items()}
    made[DOCS / "reference.md"] = reference()
    made[DOCS / "commands.md"] = commands()
    return made


# Schemas


def schemas() -> dict[str, dict[str, Any]]:
    """Return a JSON schema for each file people write."""
    return {
        "benchmark": _schema(_with_items(), "benchmark.yaml of lmmscore"),
        "dialog": _schema(Dialog.model_json_schema(), "A dialog of lmmscore"),
        "suite": _schema(Suite.model_json_schema(), "A suite of dialogs of lmmscore"),
        "judges": _schema(judges_file().model_json_schema(), "judges.yaml of lmmscore"),
    }


def _schema(schema: dict[str, Any], title: str) -> dict[str, Any]:
    return {"$schema": DRAFT, **schema, "title": title}


def _with_items() -> dict[str, Any]:
    """Return the benchmark's schema with the items spelt out, which the reader checks one by one."""
    schema = BenchmarkFile.model_json_schema()
    item = InlineItem.model_json_schema()
    schema.setdefault("$defs", {})["InlineItem"] = item
    schema["properties"]["items"]["anyOf"] = [
        {"type": "string"},
        {"type": "array", "items": {"$ref": "#/$defs/InlineItem"}},
    ]
    return schema


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


# The reference of file formats


def reference() -> str:
    """Return the page that lists every key of every file."""
    text = [NOTICE, "# File formats, key by key\n\n"]
    text.append(
        "Every file is strict: an unknown key is refused, and the nearest known one suggested. An editor that knows "
        "JSON schemas completes and checks the keys: begin a YAML file with, for example,\n\n"
        "```yaml\n# yaml-language-server: $schema=PATH/TO/lmmscore/docs/schema/dialog.json\n```\n\n"
        "The schemas: [benchmark](schema/benchmark.json), [dialog](schema/dialog.json), [suite](schema/suite.json), "
        "[judges](schema/judges.json).\n\n"
    )
    for title, model in (
        ("benchmark.yaml", BenchmarkFile),
        ("An item in benchmark.yaml", InlineItem),
        ("A dialog", Dialog),
        ("A suite", Suite),
        ("judges.yaml", judges_file()),
    ):
        text += _section(title, model, 2, set())
    text.append(
        "## Slots\n\nWhat `{{…}}` in the words of a dialog may name:\n\n| slot | becomes |\n|---|---|\n"
    )
    text += [f"| `{{{{{name}}}}}` | {what} |\n" for name, what in SLOT_NAMES.items()]
    text.append("| `{{field.COLUMN}}` | a further column of the items file |\n")
    text.append("| `{{show.KIND}}` | format 2: a picture, where the slot stands |\n")
    text.append("| `{{SETTING.NAME}}` | what the chosen setting of the dialog gives to NAME |\n")
    return "".join(text)


def _section(title: str, model: type[BaseModel], level: int, seen: set[type]) -> list[str]:
    """Return a model's keys as a table, followed by the models inside it."""
    seen.add(model)
    text = [
        f"{'#' * level} {title}\n\n",
        f"{_first_line(model)}\n\n",
        "| key | | meaning |\n|---|---|---|\n",
    ]
    inner: dict[type[BaseModel], str] = {}
    for name, field in model.model_fields.items():
        kind, models = _kind(field.annotation)
        inner |= dict.fromkeys(models, name)
        default = (
            "**needed**"
            if field.is_required()
            else _default(field.get_default(call_default_factory=True))
        )
        text.append(f"| `{name}` | {kind}, {default} | {_cell(field.description or '')} |\n")
    text.append("\n")
    for each, name in inner.items():
        if each not in seen:
            text += _section(f"{title}: {name}", each, min(level + 1, 4), seen)
    return text


def _first_line(model: type[BaseModel]) -> str:
    return (model.__doc__ or "").strip().splitlines()[0]


def _cell(text: str) -> str:
    """Return text for a table cell; braces of templates as code, for some renderers take them for their own."""
    return re.sub(r"(\{\{?[\w.]+\}?\})", r"`\1`", text).replace("|", "\\|")


def _default(value: Any) -> str:
    if isinstance(value, BaseModel) or value in (None, "", (), {}, []):
        return "optional"
    return f"default `{str(value).lower() if isinstance(value, bool) else value}`"


def _kind(annotation: Any) -> tuple[str, list[type[BaseModel]]]:
    """Return a type in words, and the models inside it."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "keys", [annotation]
    plain = {
        date: "date",
        str: "text",
        int: "whole number",
        float: "number",
        bool: "yes or no",
        type(None): "",
    }
    if annotation is Any or annotation is JsonValue:
        return "anything", []
    if annotation in plain:
        return plain[annotation], []
    origin, arguments = getattr(annotation, "__origin__", None), getattr(annotation, "__args__", ())
    if str(origin) == "typing.Literal":
        return " or ".join(f"`{value}`" for value in arguments if value != ""), []
    parts = [_kind(argument) for argument in arguments if argument is not Ellipsis]
    models = [model for _, inside in parts for model in inside]
    names = [name for name, _ in parts if name]
    if origin in (list, tuple):
        return f"list of {names[0]}" if names else "list", models
    if origin is dict:
        return f"{names[-1]} by name" if names else "keys", models
    return " or ".join(dict.fromkeys(names)) or "number", models


# Every command


def commands() -> str:
    """Return the page of commands, by what one wants to do, each with its help folded."""
    text = [NOTICE, "# Commands\n\n", "`lmmscore COMMAND --help` prints the same.\n\n"]
    groups = tasks()
    for title, names in groups.items():
        text += [f"## {title}\n\n", "| to … | type |\n|---|---|\n"]
        for name in names:
            wish = COMMANDS[name].removesuffix(".")
            wish = wish[:1].lower() + wish[1:]
            text.append(f"| {_cell(wish)} | `{EXAMPLES.get(name, f'lmmscore {name}')}` |\n")
        text.append("\n")
        for name in names:
            command = lmmscore.get_command(click.Context(lmmscore), name)
            if command is not None:
                text += _command(command, f"lmmscore {name}", 3)
    return "".join(text)


def _command(command: click.Command, path: str, level: int) -> list[str]:
    text = [f"{'#' * level} {path}\n\n", "```text\n", _help(command, path), "```\n\n"]
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            text += _command(inner, f"{path} {name}", level + 1)
    return text


def _help(command: click.Command, path: str) -> str:
    settings = {
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "terminal_width": 100,
    }
    context = click.Context(command, info_name=path, **settings)  # type: ignore[arg-type]
    return command.get_help(context) + "\n"


def main() -> None:
    """Write every file that differs."""
    for path, text in files().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(DOCS.parent)}", file=sys.stderr)


if __name__ == "__main__":
    os.environ.pop("COLUMNS", None)
    main()
