"""Published leaderboards: load them, find figures that contradict each other, set a run beside them."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmmscore.csvsafe import restore
from lmmscore.errors import FileProblem, nearest
from lmmscore.resources import bundled

_NEEDED = ("task", "method", "mean", "rank")

_ROUNDING = 0.005
"""Figures are printed with two decimals."""

ALIASES = {
    "instructionpix2pix": "instructpix2pix",
    "ip2p": "instructpix2pix",
    "leditspp": "leditsplusplus",
    "nulltext": "nulltextinversion",
    "plugandplay": "pnp",
}
"""Names that differ in more than case, spaces and punctuation; all in the form `key_of` gives."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One printed line."""

    task: str
    method: str
    mean: float
    std: float | None
    rank: int | None
    line: int
    """Where it stands in the file."""
    n: int | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """A figure that cannot be right, or two that cannot both be."""

    task: str
    method: str
    kind: str
    """rank-contradicts-mean, mean-outside-scale, std-too-large, std-negative or printed-twice."""
    says: str


def key_of(name: str) -> str:
    """Return what a name is matched by: its letters and digits, `+` as plus, known aliases resolved."""
    plain = "".join(c for c in name.casefold().replace("+", "plus") if c.isalnum()) or name
    return ALIASES.get(plain, plain)


def find_published(name: str) -> Path:
    """Return the file of a published table: a path, or the name of one that comes with lmmscore."""
    path = Path(name)
    if path.is_file():
        return path
    folder = bundled("published")
    inside = folder / f"{name}.csv"
    if inside.is_file() and inside.parent == folder:
        return inside
    known = sorted(file.stem for file in folder.glob("*.csv"))
    raise FileProblem(
        f"no published table {name!r}{nearest(name, known)}; give a file, or one of: {', '.join(known)}"
    )


def load_published(path: Path) -> list[Entry]:
    """Read a table with the columns task, method, mean and rank, in any order; std and n may be there too."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        reader = csv.DictReader(io.StringIO(text, newline=""))
        missing = [name for name in _NEEDED if name not in (reader.fieldnames or ())]
        if missing:
            raise FileProblem(
                f"{path}: no column {missing[0]!r}; the columns must be {', '.join(_NEEDED)}"
            )
        return [_entry(path, reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileProblem(
            f"{path}: cannot be read ({error}); a CSV file in UTF-8 is needed"
        ) from error


def _entry(path: Path, line: int, row: Mapping[str, str | None]) -> Entry:
    mean = _number(path, line, "mean", row.get("mean"))
    if mean is None:
        raise FileProblem(f"{path}, line {line}: the mean is empty; every line needs one")
    rank = _number(path, line, "rank", row.get("rank"))
    n = _number(path, line, "n", row.get("n"))
    if rank is not None and rank != int(rank):
        raise FileProblem(f"{path}, line {line}: rank {rank:g} is not a whole number")
    return Entry(
        task=restore((row["task"] or "").strip()),
        method=restore((row["method"] or "").strip()),
        mean=mean,
        std=_number(path, line, "std", row.get("std")),
        rank=None if rank is None else int(rank),
        line=line,
        n=None if n is None else int(n),
    )


def _number(path: Path, line: int, name: str, text: str | None) -> float | None:
    if text is None or not text.strip():
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FileProblem(f"{path}, line {line}: {name} {text.strip()!r} is not a number")
    return value


def check(entries: Sequence[Entry], *, scale: tuple[float, float]) -> list[Problem]:
    """Return everything in a printed table that cannot be right, in the order of its lines."""
    found = []
    for entry in entries:
        rivals = [other for other in entries if other.task == entry.task and other is not entry]
        found += [*_twice(entry, rivals), *_rank(entry, rivals), *_figures(entry, scale)]
    return found


def _twice(entry: Entry, rivals: Sequence[Entry]) -> Iterator[Problem]:
    if any(
        key_of(other.method) == key_of(entry.method) and other.line < entry.line for other in rivals
    ):
        yield Problem(
            entry.task,
            entry.method,
            "printed-twice",
            f"{entry.method} stands twice in {entry.task}",
        )


def _rank(entry: Entry, rivals: Sequence[Entry]) -> Iterator[Problem]:
    """Compare with every other line: whoever has the higher mean must have the better rank.

    Equal printed means may have different ranks: rounding can hide a difference. Gaps in the ranks are no
    contradiction either: a table may leave lines out.
    """
    if entry.rank is None:
        return
    wrong = [
        f"rank {other.rank} {other.method} with {other.mean:g}"
        for other in rivals
        if other.rank is not None and (other.mean - entry.mean) * (other.rank - entry.rank) > 0
    ]
    wrong += [
        f"the same rank as {other.method} with {other.mean:g}"
        for other in rivals
        if other.rank == entry.rank and other.mean != entry.mean
    ]
    if wrong:
        by_mean = 1 + sum(other.mean > entry.mean for other in rivals)
        printed = f"printed rank {entry.rank} with mean {entry.mean:g}"
        says = f"{printed}, but {', '.join(wrong)}; by its mean it is {by_mean}"
        yield Problem(entry.task, entry.method, "rank-contradicts-mean", says)


def _figures(entry: Entry, scale: tuple[float, float]) -> Iterator[Problem]:
    low, high = scale
    place = entry.task, entry.method
    if not low <= entry.mean <= high:
        yield Problem(
            *place,
            "mean-outside-scale",
            f"mean {entry.mean:g} is outside the scale {low:g}–{high:g}",
        )
    if entry.std is None:
        return
    if entry.std < 0:
        yield Problem(*place, "std-negative", f"std {entry.std:g} is below 0")
    # A printed mean stands for everything that rounds to it, and near the end of a scale that matters.
    most = max(
        largest_std(entry.mean + shift, low, high, entry.n) for shift in (-_ROUNDING, 0, _ROUNDING)
    )
    if low <= entry.mean <= high and entry.std > most + _ROUNDING:
        over = f"{entry.n} scores" if entry.n else "any number of scores"
        scores = f"{over} from {low:g} to {high:g} with mean {entry.mean:g}"
        says = f"std {entry.std:g} is impossible: {scores} have at most {most:.2f}"
        yield Problem(*place, "std-too-large", says)


def largest_std(mean: float, low: float, high: float, n: int | None) -> float:
    """Return the largest sample standard deviation of `n` scores with this mean (None: of any number).

    It is reached by as many scores at both ends as the mean allows and one in between to make it come out.
    """
    mean = min(max(mean, low), high)
    # Beyond a few hundred scores the bound only falls towards the population's, sqrt((high-mean)(mean-low)).
    sizes = range(2, 400) if n is None else (max(n, 2),)
    return max(_largest(mean, low, high, size) for size in sizes)


def _largest(mean: float, low: float, high: float, n: int) -> float:
    total = n * (mean - low)
    at_top = math.floor(total / (high - low) + 1e-9)
    rest = max(total - at_top * (high - low), 0.0)
    squares = at_top * (high - mean) ** 2
    if at_top < n:
        squares += (low + rest - mean) ** 2 + (n - at_top - 1) * (mean - low) ** 2
    return math.sqrt(squares / (n - 1))
