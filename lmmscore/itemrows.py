"""The rows of an items file: CSV, TSV, JSON Lines, JSON or YAML, each with its place for complaints."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lmmscore.errors import FileProblem
from lmmscore.yamlfile import load_yaml, read_text


def read_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (place, fields) for each row of a .csv, .tsv, .jsonl, .json or .yaml file."""
    text = read_text(path)
    if path.suffix in {".jsonl", ".ndjson"}:
        yield from _jsonl_rows(path, text)
    elif path.suffix in {".yaml", ".yml", ".json"}:
        rows = _json(path, text) if path.suffix == ".json" else load_yaml(path)
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise FileProblem(
                f"{path}: expected a list of items, each with id, task and instruction"
            )
        for number, row in enumerate(rows, 1):
            yield f"{path}, item {number}", row
    elif path.suffix in {".csv", ".tsv", ".txt"}:
        yield from _csv_rows(path, text)
    else:
        raise FileProblem(f"{path}: items are read from .csv, .tsv, .jsonl or .yaml")


def _json(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileProblem(f"{path}: not JSON ({error})") from error


def _jsonl_rows(path: Path, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FileProblem(f"{path}, line {number}: not JSON ({error})") from error
        if not isinstance(row, dict):
            raise FileProblem(
                f"{path}, line {number}: expected an object with id, task and instruction"
            )
        yield f"{path}, line {number}", row


def _csv_rows(path: Path, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    header = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=header.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if None in row:
                raise FileProblem(
                    f"{path}, line {reader.line_num}: more cells than the header has; quote commas"
                )
            yield (
                f"{path}, line {reader.line_num}",
                {k.strip(): v for k, v in row.items() if k is not None},
            )
    except csv.Error as error:
        raise FileProblem(f"{path}, line {reader.line_num}: not valid CSV ({error})") from error
