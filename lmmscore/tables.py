"""Tables as people keep them: CSV, TSV, Excel, JSON, JSON lines and Parquet, as rows without types.

Cells stay as written: "007" and "NA" may be ids, not a number and a missing score. `number` alone
interprets a cell. Data sets that contain pictures are read in batches.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import math
import re
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from lmmscore.errors import FileProblem, alternatives

SUFFIXES = (".csv", ".tsv", ".txt", ".xlsx", ".xlsm", ".jsonl", ".ndjson", ".json", ".parquet")
NOTHING = {"", "na", "n/a", "nan", "none", "null", "-", "–"}
"""What people write where a number is missing."""

# A spreadsheet runs a cell that begins with one of these as a formula.
_STARTERS = ("=", "+", "-", "@", "\t", "\r")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+", re.ASCII)
_NEARLY_NUMBER = re.compile(r"[+-]?\d*[.,]?\d+\s*(?P<unit>%|/\s*\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of one file or sheet, each with the line where it stands."""

    where: str
    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    lines: tuple[int, ...]
    decimal_commas: bool = False
    """Whether 5,5 is five and a half here, as in files with semicolons."""

    def at(self, place: int) -> str:
        """Return `FILE:LINE` for a row, for messages."""
        return f"{self.where}:{self.lines[place]}"

    def item_at(self, place: int, column: str) -> str:
        """Return the id of a row's item. Raises FileProblem where the cell is empty."""
        if found := text(self.rows[place][column]):
            return found

        raise FileProblem(
            f"{self.at(place)}: {column} is empty; name the item in every row, also where cells "
            "are merged, and delete rows of totals"
        )

    def plain(self, cell: Any) -> Any:
        """Return a cell, a number in it with a point where this file writes a decimal comma."""
        commas = self.decimal_commas and isinstance(cell, str) and _DECIMAL_COMMA.fullmatch(cell)
        return cell.replace(",", ".") if commas else cell

    def find(self, wanted: str, guesses: Iterable[str]) -> str | None:
        """Return the column called `wanted`, or the first of the guesses it has; None without one.

        Guesses are met whatever the case, and with spaces or hyphens for underscores. A wanted
        column that is not there is an error: the user named it.
        """
        if wanted and wanted not in self.columns:
            there_are = alternatives(wanted, self.columns, "it has")
            raise FileProblem(f"{self.where}: no column {wanted!r}{there_are}")

        if wanted:
            return wanted

        known = {
            re.sub(r"[\s_-]+", "_", column.strip().lower()): column
            for column in reversed(self.columns)
        }
        return next((known[guess] for guess in guesses if guess in known), None)


def split_field(spec: str) -> tuple[Path, str]:
    """Split FILE:FIELD. A colon inside an existing path, as on Windows, is part of the path."""
    path, colon, field = spec.rpartition(":")
    if not colon or Path(spec).exists() or "/" in field or "\\" in field:
        return Path(spec), ""

    return Path(path), field


def is_excel(path: Path) -> bool:
    """Tell whether a file may have several sheets."""
    return path.suffix.lower() in {".xlsx", ".xlsm"}


def read_tables(path: Path, sheet: str = "") -> list[Table]:
    """Return the table of a file; of an Excel file those of all its filled sheets,
    or of the one named."""
    if not path.exists():
        raise FileProblem(f"{path}: no such file")

    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise FileProblem(
            f"{path}: cannot read {suffix or 'a file without ending'}; known: {', '.join(SUFFIXES)}"
        )

    with _reading(path):
        if is_excel(path):
            return _read_excel(path, sheet)

        return [_READERS.get(suffix, _read_text)(path)]


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Raise FileProblem for whatever goes wrong while a file is read."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise FileProblem(f"{path}: not UTF-8 (byte {error.start}); save it as UTF-8") from error
    except (OSError, RecursionError) as error:
        raise FileProblem(f"{path}: cannot be read ({error})") from error


def _read_text(path: Path) -> Table:
    rows, lines, delimiter = _text_cells(path)
    return _table(str(path), rows, lines, decimal_commas=delimiter == ";")


def _decoded(path: Path) -> str:
    """Return a file's text: UTF-8, or UTF-16 where its first bytes say so, as Excel writes it."""
    with path.open("rb") as file:
        start = file.read(2)

    # -sig: Excel writes a byte order mark, which would become part of the first column's name.
    utf16 = start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return path.read_text(encoding="utf-16" if utf16 else "utf-8-sig")


def _text_cells(path: Path) -> tuple[list[list[str]], list[int], str]:
    """Return the cells of a text file, the line of each row, and the delimiter."""
    text = _decoded(path)
    header = text.split("\n", 1)[0]
    # The header has no commas in its cells, as a row of text may.
    delimiter = max(",;\t", key=header.count) if path.suffix.lower() != ".tsv" else "\t"
    # Strict: a quotation mark that is never closed would swallow the rows after it.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows, lines = [], []
    try:
        for row in reader:
            rows.append([cell.strip() for cell in row])
            lines.append(reader.line_num)
    except csv.Error as error:
        raise FileProblem(
            f"{path}:{reader.line_num}: {error}; close every quotation mark, and double one "
            "that stands inside a quoted cell"
        ) from error

    return rows, lines, delimiter


def read_cells(path: Path) -> dict[str, list[list[str]]]:
    """Return the cells of an Excel or text file by sheet, header and all, empty rows excluded.

    Merged cells are filled downwards. A text file is one sheet without a name.
    """
    with _reading(path):
        if not is_excel(path):
            return {"": [row for row in _text_cells(path)[0] if any(row)]}

        # Not read-only: openpyxl knows about merged cells only in a book that is read as a whole.
        book = _workbook(path, read_only=False)

    sheets = {}
    for sheet in book.worksheets:
        rows = [[_cell(value) for value in row] for row in sheet.iter_rows(values_only=True)]
        for area in sheet.merged_cells.ranges:
            for number in range(area.min_row, area.max_row):
                rows[number][area.min_col - 1] = rows[area.min_row - 1][area.min_col - 1]

        sheets[sheet.title] = [row for row in rows if any(row)]

    return sheets


def _workbook(path: Path, *, read_only: bool) -> Any:
    """Open an Excel file, formulas as the values Excel last computed."""
    try:
        import openpyxl
    except ImportError as error:
        raise FileProblem(
            f"{path}: reading Excel needs openpyxl; pip install 'lmmscore[excel]'"
        ) from error

    try:
        return openpyxl.load_workbook(path, read_only=read_only, data_only=True)
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError) as error:
        raise FileProblem(
            f"{path}: not an Excel file ({error}); save it again, or as CSV UTF-8"
        ) from error


def _read_excel(path: Path, sheet: str) -> list[Table]:
    """Return the tables of the sheets that have something in them, or of the one named."""
    book = _workbook(path, read_only=True)
    try:
        if sheet and sheet not in book.sheetnames:
            there_are = alternatives(sheet, book.sheetnames, "it has")
            raise FileProblem(f"{path}: no sheet {sheet!r}{there_are}")

        names = [sheet] if sheet else book.sheetnames
        found = [
            (name, [[_cell(value) for value in row] for row in book[name].values]) for name in names
        ]
    finally:
        book.close()

    filled = [(name, rows) for name, rows in found if any(any(row) for row in rows)]
    tables = [_table(f"{path}:{name}", rows, range(1, len(rows) + 1)) for name, rows in filled]
    if not tables:
        raise FileProblem(f"{path}: no rows in it")

    return tables


def _cell(value: Any) -> str:
    """Return an Excel cell as it looks: Excel stores a whole number as a float."""
    if value is None:
        return ""

    if isinstance(value, float) and value.is_integer():
        return str(int(value))

    return str(value).strip()


def _table(
    where: str, rows: Sequence[Sequence[str]], lines: Sequence[int], *, decimal_commas: bool = False
) -> Table:
    """Return the table under a header row; columns without a name and empty rows are left out."""
    if not rows:
        raise FileProblem(f"{where}: no rows in it")

    header = rows[0]
    columns = [name for name in header if name]
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        raise FileProblem(f"{where}: two columns are called {twice!r}; rename one")

    places = [place for place, name in enumerate(header) if name]
    records: list[dict[str, Any]] = []
    kept: list[int] = []
    for row, line in zip(rows[1:], lines[1:], strict=True):
        if not any(row):
            continue

        # Spreadsheets add empty cells at the end of a row; a missing or an extra cell is a fault.
        if len(row) <= max(places, default=-1) or any(row[len(header) :]):
            raise FileProblem(
                f"{where}:{line}: {len(row)} cells where the header has {len(header)}"
            )

        records.append({header[place]: row[place] for place in places})
        kept.append(line)

    return Table(where, tuple(columns), tuple(records), tuple(kept), decimal_commas)


def _read_json(path: Path) -> Table:
    """Return the table of a list of objects, or of one object per line."""
    text = _decoded(path)
    numbered = (
        _whole_json(path, text) if path.suffix.lower() == ".json" else _json_lines(path, text)
    )
    for line, record in numbered:
        if not isinstance(record, dict):
            raise FileProblem(
                f"{path}:{line}: a JSON object is expected here, not a {type(record).__name__}"
            )

    # Objects need not all have the same keys; the columns are those of any of them.
    columns = tuple(dict.fromkeys(key for _, record in numbered for key in record))
    if not columns:
        raise FileProblem(f"{path}: no rows in it")

    rows = tuple({column: record.get(column) for column in columns} for _, record in numbered)
    return Table(str(path), columns, rows, tuple(line for line, _ in numbered))


def _read_parquet(path: Path) -> Table:
    """Return a Parquet file as a table; its rows are numbered from 1, as it has no lines."""
    rows = tuple(row for batch in _batches(path) for row in batch.to_pylist())
    if not rows:
        raise FileProblem(f"{path}: no rows in it")

    return Table(str(path), tuple(rows[0]), rows, tuple(range(1, len(rows) + 1)))


_READERS = {
    ".json": _read_json,
    ".jsonl": _read_json,
    ".ndjson": _read_json,
    ".parquet": _read_parquet,
}


def _json_lines(path: Path, text: str) -> list[tuple[int, Any]]:
    """Return what stands on each line that is not empty, with its number."""
    lines = enumerate(text.split("\n"), 1)
    return [(line, parse_json(piece, path, line)) for line, piece in lines if piece.strip()]


def _whole_json(path: Path, text: str) -> list[tuple[int, Any]]:
    """Return the entries of a JSON list, numbered from 1: their lines are not known."""
    data = parse_json(text, path)
    if not isinstance(data, list):
        raise FileProblem(f"{path}: a list of objects is expected, not a {type(data).__name__}")

    return list(enumerate(data, 1))


def parse_json(text: str, path: Path, line: int | None = None) -> Any:
    """Return what the text of a file holds, or one line of it. Raises FileProblem."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise FileProblem(
            f"{path}:{line or error.lineno}: not JSON ({error.msg}, column {error.colno})"
        ) from error
    except ValueError as error:
        raise FileProblem(f"{path}:{line}: {error}" if line else f"{path}: {error}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object. Raises ValueError for a key that occurs twice: Python would keep the
    last score and drop the other silently."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"an object has the key {key!r} twice; keep one")

        found[key] = value

    return found


def text(cell: Any) -> str:
    """Return a cell as an id or a name: the same for 7 and "7"."""
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)

    return "" if cell is None else str(cell).strip()


def number(cell: Any) -> float | None:
    """Return a cell's number, None for an empty one. Raises ValueError for anything else,
    `true` included."""
    if cell is None or (isinstance(cell, str) and cell.strip().lower() in NOTHING):
        return None

    if isinstance(cell, bool) or not isinstance(cell, str | int | float | Decimal):
        raise ValueError(f"{cell!r} is not a number")

    try:
        value = float(cell)
    except ValueError as error:
        raise ValueError(f"{cell!r} is not a number") from error

    if math.isnan(value):
        return None

    # Python reads 1_0 as ten, which nobody means in a table.
    if math.isinf(value) or "_" in str(cell):
        raise ValueError(f"{cell!r} is not a number")

    return value


def is_number(cell: Any) -> bool:
    """Return whether a cell holds a number."""
    try:
        return number(cell) is not None
    except ValueError:
        return False


def number_list(cell: Any) -> list[float] | None:
    """Return the numbers of a cell that is a list, or is written as one: [0.5, 1]; None for others.

    Raises ValueError for a list that holds anything but numbers.
    """
    if isinstance(cell, str):
        plain = cell.strip()
        if not (plain.startswith("[") and plain.endswith("]")):
            return None

        cell = [part.strip() for part in plain[1:-1].split(",")]

    if not isinstance(cell, list | tuple):
        return None

    found = []
    for part in cell:
        value = number(part)
        if value is None:
            raise ValueError(f"{cell!r} holds something that is not a number")

        found.append(value)

    return found


NOT_SCORES = frozenset(
    "seed time time_s seconds duration latency runtime timestamp cost price tokens size width "
    "height step steps iteration epoch guidance id uid key index row line number nr item image "
    "sample method model task category position order repeat trial run session rater annotator "
    "worker participant age year".split()
)
"""Columns of numbers that are not scores."""

PROSE = frozenset(
    "comment comments note notes remark remarks reason justification explanation instruction "
    "prompt caption".split()
)
"""Columns of text, where a number alone is still text."""


def factor_columns(
    table: Table, taken: Collection[str | None], places: Sequence[int], notes: list[str]
) -> list[str]:
    """Return the columns that hold scores: those with a number in them. Doubtful ones are noted.

    A column in which some cells are not numbers is a factor too, and so is one of `8/10` or `5,5`:
    scores that cannot be read must show as missing, not leave the overall to the other factors.
    """
    found = []
    for name in table.columns:
        if name in taken:
            continue

        # By the cells, not by the name alone: people call factors whatever they like.
        cells = [table.plain(table.rows[place][name]) for place in places]
        numbers = sum(map(is_number, cells))
        said = [cell for cell in cells if text(cell).lower() not in NOTHING]
        plain = name.strip().lower()
        if not said:
            notes.append(f"{table.where}: column {name} is empty and is ignored")
        elif not numbers and not _nearly_numbers(said):
            continue
        elif _no_score(plain):
            notes.append(f"{table.where}: column {name} is ignored; by its name it is not a score")
        elif numbers == len(said) or plain not in PROSE:
            found.append(name)

    return found


def _nearly_numbers(cells: Sequence[Any]) -> bool:
    """Tell whether every cell is a number as people write it, all in one form: `85%`, `8/10`."""
    forms = [_NEARLY_NUMBER.fullmatch(text(cell)) for cell in cells]
    return all(forms) and len({form["unit"] for form in forms if form}) == 1


def _no_score(name: str) -> bool:
    return name in NOT_SCORES or name.endswith("_id") or name.startswith("unnamed:")


def defuse(cell: str) -> str:
    """Return a text cell that is safe in a CSV file: what a spreadsheet would run gets a quote.

    For text only: a number keeps its minus sign. `restore` undoes it.
    """
    return "'" + cell if cell.startswith(_STARTERS) or _is_defused(cell) else cell


def restore(cell: str) -> str:
    """Return the text that was defused, without the quote that `defuse` put before it."""
    return cell[1:] if _is_defused(cell) else cell


def _is_defused(cell: str) -> bool:
    # Text that already looks defused gets another quote, so that `restore` returns it unchanged.
    return cell.startswith("'") and cell[1:].startswith((*_STARTERS, "'"))


# Parquet, and data sets that Hugging Face `datasets` saved to disk, in batches


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
    # `datasets` calls all its files data-…, in a folder per split; a Parquet file names its split.
    tells = file.suffix != ".arrow" and match is not None and match["split"] != "data"
    if match and tells:
        return match["split"]

    # Files that are not numbered shards (a.parquet, b.parquet) are parts of one table.
    return file.parent.name if file.parent != root else "all"


def dataset_columns(file: Path) -> DatasetColumns:
    """Return which columns hold pictures and which hold text or numbers."""
    schema = _schema(file)
    declared = _declared_images(schema)
    images = [field.name for field in schema if field.name in declared or _is_image(field.type)]
    text = [field.name for field in schema if field.name not in images and _is_text(field.type)]
    return DatasetColumns(tuple(images), tuple(text))


def _declared_images(schema: Any) -> set[str]:
    """Return the columns that the metadata of Hugging Face declares as images."""
    try:
        note = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = note["info"]["features"].items()
    except (ValueError, KeyError, TypeError, AttributeError):
        return set()

    return {name for name, one in features if isinstance(one, dict) and one.get("_type") == "Image"}


def _is_image(kind: Any) -> bool:
    """Tell whether a column's type is that of pictures: bytes, or bytes with a path."""
    import pyarrow.types as types

    if types.is_struct(kind):
        return {"bytes", "path"} <= {kind.field(i).name for i in range(kind.num_fields)}

    return bool(types.is_binary(kind) or types.is_large_binary(kind))


def _is_text(kind: Any) -> bool:
    """Tell whether a column's type can be written as text: a number, a word, a category."""
    import pyarrow.types as types

    checks = (
        types.is_string,
        types.is_large_string,
        types.is_integer,
        types.is_boolean,
        types.is_floating,
    )
    return any(check(kind) for check in checks) or bool(types.is_dictionary(kind))


def dataset_rows(files: list[Path], columns: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the files, these columns only; never more than a batch in memory."""
    for file in files:
        for batch in _batches(file, columns):
            yield from batch.select(columns).to_pylist()


def count_rows(files: list[Path]) -> int:
    """Return how many rows there are, without reading their columns."""
    return sum(batch.num_rows for file in files for batch in _batches(file, []))


def text_rows(path: Path) -> list[dict[str, str]]:
    """Return the text columns of all rows, as text; pictures are not read."""
    files = data_files(path)
    if not files:
        raise FileProblem(f"{path}: no .parquet or .arrow files in this folder")

    names = list(dataset_columns(files[0]).text)
    return [text_row(row) for row in dataset_rows(files, names)]


def text_row(row: Mapping[str, Any]) -> dict[str, str]:
    """Return a row with every cell as text, empty where there is nothing."""
    return {key: "" if value is None else str(value).strip() for key, value in row.items()}


def _schema(file: Path) -> Any:
    """Return the columns of a data file and their types, without reading its rows."""
    with _data(file) as data:
        return data.schema_arrow if _is_parquet(file) else data.schema


def _batches(file: Path, columns: list[str] | None = None) -> Iterator[Any]:
    """Yield the rows of a data file, a few at a time; of Parquet these columns only."""
    with _data(file) as data:
        if _is_parquet(file):
            yield from data.iter_batches(batch_size=_BATCH_ROWS, columns=columns)
        elif hasattr(data, "num_record_batches"):
            # The form with an index is read by number, the streaming form from front to back.
            yield from (data.get_batch(number) for number in range(data.num_record_batches))
        else:
            yield from data


@contextmanager
def _data(file: Path) -> Iterator[Any]:
    """Open a Parquet or an Arrow file. Raises FileProblem, also where pyarrow is not installed."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise FileProblem(
            f"{file}: reading it needs pyarrow; pip install 'lmmscore[parquet]'"
        ) from error

    try:
        if _is_parquet(file):
            with parquet.ParquetFile(file) as data:
                yield data
            return

        source = pyarrow.memory_map(str(file))
        try:
            # `datasets` writes the streaming form, others the one with an index.
            reader = pyarrow.ipc.open_stream(source)
        except pyarrow.ArrowInvalid:
            reader = pyarrow.ipc.open_file(source)

        with reader:
            yield reader
    except (pyarrow.ArrowException, OSError) as error:
        raise FileProblem(f"{file}: cannot be read ({error})") from error


def _is_parquet(file: Path) -> bool:
    return file.suffix.lower() == ".parquet"
