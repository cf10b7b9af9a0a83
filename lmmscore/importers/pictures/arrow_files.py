"""Parquet files, and data sets that Hugging Face `datasets` saved to disk, read in batches."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmmscore.errors import FileProblem

_SHARD = re.compile(r"(?P<split>.+?)[-_]\d{5}-of-\d{5}.*")
_BATCH_ROWS = 32  # pictures are large; a batch must fit in memory many times over


@dataclass(frozen=True, slots=True)
class DatasetColumns:
    """The columns of a data set by what they hold."""

    images: tuple[str, ...]
    text: tuple[str, ...]


def data_files(path: Path, split: str | None = None) -> list[Path]:
    """Return the data files of one split. Raises FileProblem where there are several splits."""
    if path.is_file():
        return [path]

    found = sorted(p for p in path.rglob("*.arrow") if not p.name.startswith(("cache-", "tmp")))
    found = found or sorted(path.rglob("*.parquet"))
    splits: dict[str, list[Path]] = {}
    for file in found:
        splits.setdefault(_split_of(file, path), []).append(file)

    if split is not None and split not in splits:
        raise FileProblem(f"{path}: no split {split!r}; there are: {', '.join(splits)}")

    if split is None and len(splits) > 1:
        raise FileProblem(
            f"{path}: several splits ({', '.join(splits)}); choose one with --split NAME"
        )

    return splits[split] if split is not None else next(iter(splits.values()), [])


def _split_of(file: Path, root: Path) -> str:
    """Return the split of a file: `train` for train/data-00000-of-00002.arrow."""
    match = _SHARD.fullmatch(file.stem)
    name = match["split"] if match else file.stem
    if name == "data" or file.suffix == ".arrow":
        return file.parent.name if file.parent != root else "all"

    if match:
        return name

    # Files that are not numbered shards (a.parquet, b.parquet) are parts of one table.
    return file.parent.name if file.parent != root else "all"


def columns_of(file: Path) -> DatasetColumns:
    """Return which columns hold pictures and which hold text or numbers."""
    schema = _schema(file)
    declared = _declared_images(schema)
    images = [field.name for field in schema if field.name in declared or _is_image(field.type)]
    text = [field.name for field in schema if field.name not in images and _is_text(field.type)]
    return DatasetColumns(tuple(images), tuple(text))


def _declared_images(schema: Any) -> set[str]:
    """Return the columns that Hugging Face's own note in the file calls images."""
    try:
        note = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = note["info"]["features"]
    except (ValueError, KeyError, TypeError):
        return set()

    declared = set()
    for name, feature in features.items():
        if isinstance(feature, dict) and feature.get("_type") == "Image":
            declared.add(name)

    return declared


def _is_image(kind: Any) -> bool:
    import pyarrow.types as types

    if types.is_struct(kind):
        return {"bytes", "path"} <= {kind.field(i).name for i in range(kind.num_fields)}

    return bool(types.is_binary(kind) or types.is_large_binary(kind))


def _is_text(kind: Any) -> bool:
    import pyarrow.types as types

    checks = (
        types.is_string,
        types.is_large_string,
        types.is_integer,
        types.is_boolean,
        types.is_floating,
    )
    return any(check(kind) for check in checks) or bool(types.is_dictionary(kind))


def rows(files: list[Path], columns: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the files, these columns only; never more than a batch in memory."""
    for file in files:
        for batch in _batches(file, columns):
            yield from batch.select(columns).to_pylist()


def count_rows(files: list[Path]) -> int:
    """Return how many rows there are."""
    import pyarrow.parquet as parquet

    total = 0
    for file in files:
        if file.suffix == ".parquet":
            total += parquet.ParquetFile(file).metadata.num_rows
        else:
            total += sum(batch.num_rows for batch in _batches(file, []))

    return total


def text_rows(path: Path) -> list[dict[str, str]]:
    """Return the text columns of all rows, as text; pictures are not read."""
    files = data_files(path)
    if not files:
        raise FileProblem(f"{path}: no .parquet or .arrow files in this folder")

    names = list(columns_of(files[0]).text)
    return [_as_text(row) for row in rows(files, names)]


def _as_text(row: dict[str, Any]) -> dict[str, str]:
    return {key: "" if value is None else str(value).strip() for key, value in row.items()}


def _schema(file: Path) -> Any:
    pyarrow = _pyarrow(file)
    try:
        if file.suffix == ".parquet":
            import pyarrow.parquet as parquet

            return parquet.read_schema(file)

        with _stream(file) as reader:
            return reader.schema
    except (pyarrow.ArrowException, OSError) as error:
        raise FileProblem(f"{file}: cannot be read ({error})") from error


def _batches(file: Path, columns: list[str]) -> Iterator[Any]:
    pyarrow = _pyarrow(file)
    try:
        if file.suffix == ".parquet":
            import pyarrow.parquet as parquet

            yield from parquet.ParquetFile(file).iter_batches(
                batch_size=_BATCH_ROWS, columns=columns
            )
            return

        with _stream(file) as reader:
            if hasattr(reader, "num_record_batches"):
                yield from (reader.get_batch(i) for i in range(reader.num_record_batches))
            else:
                yield from reader
    except (pyarrow.ArrowException, OSError) as error:
        raise FileProblem(f"{file}: cannot be read ({error})") from error


def _stream(file: Path) -> Any:
    """Open an Arrow file: `datasets` writes the streaming form, others the one with an index."""
    import pyarrow

    source = pyarrow.memory_map(str(file))
    try:
        return pyarrow.ipc.open_stream(source)
    except pyarrow.ArrowInvalid:
        return pyarrow.ipc.open_file(source)


def _pyarrow(file: Path) -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise FileProblem(
            f"{file}: reading it needs pyarrow: pip install 'lmmscore[parquet]'"
        ) from error

    return pyarrow
