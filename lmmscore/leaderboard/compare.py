"""Several runs side by side, pooled, or one beside a published leaderboard."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lmmscore.errors import FileProblem, LmmscoreError, alternatives, counted, listed
from lmmscore.leaderboard.ranking import BoardRow, BoardTable, Leaderboard
from lmmscore.records import OVERALL, fixed
from lmmscore.resources import bundled
from lmmscore.stats import SAME, as_json, fisher_z, ranks
from lmmscore.stats.correlation import kendall_b, spearman
from lmmscore.tables import Table, is_number, number, read_tables, restore, text

# --------------------------------------------------------------------------------------------------
# Published leaderboards: load them, find figures that contradict each other, set a run beside
# them.
# --------------------------------------------------------------------------------------------------

_NEEDED = ("task", "method", "mean", "rank")

ALIASES = {
    "instructionpix2pix": "instructpix2pix",
    "ip2p": "instructpix2pix",
    "leditspp": "leditsplusplus",
    "nulltext": "nulltextinversion",
    "plugandplay": "pnp",
}
"""Names that differ in more than case, spaces and punctuation; all in the form `key_of` gives."""


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One printed line."""

    task: str
    method: str
    mean: float
    std: float | None
    rank: int | None
    line: int
    """Where it stands in the file."""
    n: int | None = None
    rounding: float = 0.005
    """By how much mean and std may differ from what is printed."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A figure that cannot be right, or two that cannot both be."""

    task: str
    method: str
    kind: str
    """rank-contradicts-mean, mean-outside-scale, std-too-large, std-negative, printed-twice,
    correlation-outside-range or average-contradicts-rows."""
    says: str


def key_of(name: str) -> str:
    """Return what a name is matched by: its letters and digits, `+` as plus, aliases resolved."""
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
        f"no published table {name!r}{alternatives(name, known, 'give a file, or one of')}"
    )


def load_published(path: Path) -> list[PublishedRow]:
    """Read a table with the columns task, method, mean and rank, in any order and any format.

    The columns std and n may be there too.
    """
    table = read_tables(path)[0]
    missing = [name for name in _NEEDED if name not in table.columns]
    if missing:
        raise FileProblem(
            f"{path}: no column {missing[0]!r}; the columns must be {', '.join(_NEEDED)}"
        )

    rows = [{name: text(cell) for name, cell in row.items()} for row in table.rows]
    # A spreadsheet drops a final 0: the most decimals that any figure has are those of all.
    figures = [row[name] for row in rows for name in ("mean", "std") if name in row]
    rounding = _rounding(max(map(_decimals, figures), default=0))
    found = [_entry(path, line, row) for line, row in zip(table.lines, rows, strict=True)]
    return [replace(entry, rounding=rounding) for entry in found]


def _decimals(shown: str) -> int:
    """Return how many decimals a figure is printed with."""
    return len(shown.partition(".")[2])


def _rounding(decimals: int) -> float:
    """Return by how much a figure may differ from what is printed."""
    return 0.5 * 10.0**-decimals


def _entry(path: Path, line: int, row: Mapping[str, str]) -> PublishedRow:
    mean = _number(path, line, "mean", row.get("mean"))
    if mean is None:
        raise FileProblem(f"{path}, line {line}: the mean is empty; every line needs one")

    rank = _number(path, line, "rank", row.get("rank"))
    n = _number(path, line, "n", row.get("n"))
    if rank is not None and rank != int(rank):
        raise FileProblem(f"{path}, line {line}: rank {rank:g} is not a whole number")

    return PublishedRow(
        task=restore(row["task"].strip()),
        method=restore(row["method"].strip()),
        mean=mean,
        std=_number(path, line, "std", row.get("std")),
        rank=None if rank is None else int(rank),
        line=line,
        n=None if n is None else int(n),
    )


def _number(path: Path, line: int, name: str, cell: str | None) -> float | None:
    """Return a printed figure, None for an empty cell. Raises FileProblem for anything else."""
    try:
        return number(cell)
    except ValueError as error:
        raise FileProblem(f"{path}, line {line}: {name} {error}") from error


def check(entries: Sequence[PublishedRow], *, scale: tuple[float, float]) -> list[Problem]:
    """Return everything in a printed table that cannot be right, in the order of its lines."""
    found = []
    for entry in entries:
        rivals = [other for other in entries if other.task == entry.task and other is not entry]
        found += [*_twice(entry, rivals), *_rank(entry, rivals), *_figures(entry, scale)]
    return found


def _twice(entry: PublishedRow, rivals: Sequence[PublishedRow]) -> Iterator[Problem]:
    if any(
        key_of(other.method) == key_of(entry.method) and other.line < entry.line for other in rivals
    ):
        yield Problem(
            entry.task,
            entry.method,
            "printed-twice",
            f"{entry.method} is listed twice in {entry.task}",
        )


def _rank(entry: PublishedRow, rivals: Sequence[PublishedRow]) -> Iterator[Problem]:
    """Compare with every other line: whoever has the higher mean must have the better rank.

    Equal printed means may have different ranks: rounding can hide a difference. Gaps in the ranks
    are no contradiction either: a table may leave lines out.
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


def _figures(entry: PublishedRow, scale: tuple[float, float]) -> Iterator[Problem]:
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

    # A printed mean may be anything that rounds to it, which matters near the ends of a scale.
    shifts = (-entry.rounding, 0, entry.rounding)
    most = max(largest_std(entry.mean + shift, low, high, entry.n) for shift in shifts)
    if low <= entry.mean <= high and entry.std > most + entry.rounding:
        over = counted(entry.n, "score") if entry.n else "any number of scores"
        scores = f"{over} from {low:g} to {high:g} with mean {entry.mean:g}"
        says = f"std {entry.std:g} is impossible: {scores} have at most {fixed(most, 2)}"
        yield Problem(*place, "std-too-large", says)


def largest_std(mean: float, low: float, high: float, n: int | None) -> float:
    """Return the largest sample standard deviation of `n` scores (None: any number) with this mean.

    It is reached with all scores at the two ends but one, which makes the mean come out.
    """
    mean = min(max(mean, low), high)
    # Beyond a few hundred scores the bound only falls, towards the population's.
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


@dataclass(frozen=True, slots=True)
class PrintedCorrelation:
    """One printed correlation, with what it is of as far as that is named."""

    group: tuple[str, ...]
    """Everything but the method, by which lines belong together."""
    method: str
    value: float
    rounding: float
    """By how much it may differ from what is printed."""
    line: int

    @property
    def average(self) -> bool:
        """Whether the line is an average of the others of its group."""
        return bool(_AVERAGE.search(self.method))


_AVERAGE = re.compile(r"\b(average|avg|mean)\b", re.IGNORECASE)
_CORRELATIONS = re.compile(
    r"(spearman|pearson|kendall|correlation|corr|rho|tau|ρ|τ|r|srcc|plcc|krcc)"
    r"([ _-]?('s|s|r|rho|tau|ρ|τ|b))*",
    re.IGNORECASE,
)
_METHODS = ("method", "model", "system", "judge", "metric")
_NO_CORRELATIONS = frozenset(("mean", "rank", "std", "n", "score"))


def correlation_columns(path: Path) -> list[str]:
    """Return the columns of correlations of a table; none where it is one of means and ranks.

    They are called so, or else the table has no other figures and these could be correlations: a
    column per factor or task, as papers print them.
    """
    table = read_tables(path)[0]
    lowered = {column.strip().casefold() for column in table.columns}
    if lowered & _NO_CORRELATIONS:
        return []

    called = [name for name in table.columns if _CORRELATIONS.fullmatch(name.strip())]
    if called:
        return called

    figures = [name for name in table.columns if _holds_figures(table, name)]
    values: list[float] = []
    for name in figures:
        values += _values(table, name)

    # A misprint or two may lie outside; most of what is correlated lies within.
    outside = sum(abs(value) > 1 for value in values)
    return figures if 2 * outside < len(values) else []


def _values(table: Table, column: str) -> list[float]:
    cells = [table.plain(row[column]) for row in table.rows]
    numbers = [number(cell) for cell in cells if is_number(cell)]
    return [value for value in numbers if value is not None]


def _holds_figures(table: Table, column: str) -> bool:
    shown = [cell for row in table.rows if (cell := text(row[column]))]
    return bool(shown) and len(_values(table, column)) == len(shown)


def load_correlations(path: Path, columns: Sequence[str]) -> list[PrintedCorrelation]:
    """Read a table of printed correlations, one or several columns of them."""
    table = read_tables(path)[0]
    method = table.find("", _METHODS)
    if method is None:
        raise FileProblem(f"{path}: no column `method`; each correlation must be of one")

    others = [name for name in table.columns if name not in (*columns, method)]
    found = []
    for column in columns:
        of = (column,) if len(columns) > 1 else ()
        for line, row in zip(table.lines, table.rows, strict=True):
            shown = text(row[column])
            value = _number(path, line, column, shown)
            if value is None:
                continue

            group = (*(text(row[name]) for name in others), *of)
            rounding = _rounding(max(_decimals(shown), 1))
            found.append(PrintedCorrelation(group, text(row[method]), value, rounding, line))

    return found


def check_correlations(entries: Sequence[PrintedCorrelation]) -> list[Problem]:
    """Return every correlation that cannot be, and every average that its own lines do not give."""
    found = []

    for entry in entries:
        task = ", ".join(part for part in entry.group if part)
        if abs(entry.value) > 1:
            says = f"a correlation of {entry.value:g} is outside −1 to 1"
            found.append(Problem(task, entry.method, "correlation-outside-range", says))

        if entry.average:
            rows = [one for one in entries if one.group == entry.group and not one.average]
            if len(rows) > 1 and (says := _average_problem(entry, rows)):
                found.append(Problem(task, entry.method, "average-contradicts-rows", says))

    return found


def _average_problem(entry: PrintedCorrelation, rows: Sequence[PrintedCorrelation]) -> str:
    """Return what is wrong with a printed average, "" where it is the mean or the Fisher average.

    A printed value stands for all that rounds to it, so each line may move an average by as much.
    """
    # Near ±1 a rounded digit moves Fisher's z by far more than the value.
    ends = [[row.value + side * row.rounding for row in rows] for side in (-1, 1)]
    ways = {}
    for name, average in (("mean", fmean), ("Fisher average", _fisher_average)):
        low, high = (average(values) for values in ends)
        if low - entry.rounding - SAME <= entry.value <= high + entry.rounding + SAME:
            return ""

        ways[f"their {name}"] = average([row.value for row in rows])

    mean = ways["their mean"]
    shown = ", ".join(f"{name} is {fixed(value, 4)}" for name, value in ways.items())
    says = f"printed {entry.value:g}, but of the {len(rows)} lines above it {shown}"
    if abs(entry.value - math.tanh(mean)) <= entry.rounding + rows[0].rounding:
        says += (
            f"; it is tanh of the mean ({fixed(math.tanh(mean), 4)}): transformed back without "
            "having been transformed"
        )

    return says


def _fisher_average(values: Sequence[float]) -> float:
    # ±1 stand for values just inside, for their z is infinite.
    return math.tanh(fmean(fisher_z(np.array(values))))


@dataclass(frozen=True, slots=True)
class Matched:
    """One method in both tables. Ranks are by mean, among the methods in both."""

    method: str
    published_method: str
    mean: float
    published_mean: float
    difference: float
    rank: int
    published_rank: int
    printed_rank: int | None
    n: int


@dataclass(frozen=True, slots=True)
class TaskAgainst:
    """One task category of a run against the published one."""

    task: str
    rows: tuple[Matched, ...]
    spearman: float | None
    kendall: float | None
    only_run: tuple[str, ...]
    only_published: tuple[str, ...]
    statement: str
    factor: str = OVERALL
    """What the run's means are of."""
    ambiguous: tuple[str, ...] = ()
    """Names left out because they match several lines but for case and punctuation."""


def against(board: Leaderboard, entries: Sequence[PublishedRow]) -> list[TaskAgainst]:
    """Return for every task category in both the methods in both, matched by `key_of`."""
    found = []
    for table in board.tables:
        if table.task is not None:
            theirs = [entry for entry in entries if key_of(entry.task) == key_of(table.task)]
            if theirs:
                found.append(_task(table, theirs))

    return found


def _task(table: BoardTable, theirs: Sequence[PublishedRow]) -> TaskAgainst:
    """Return one task category: what is in both tables, and what is not."""
    pairs, ambiguous = _pairs(table.rows, theirs)
    ranked_pairs = [(row, entry) for row, entry in pairs if row.mean is not None]
    rows = _matched(ranked_pairs, lower_better=table.is_lower_better)
    spearman, kendall = correlations([r.mean for r in rows], [r.published_mean for r in rows])
    ranked = {key_of(row.method) for row in table.rows if row.mean is not None}
    printed = {key_of(entry.method) for entry in theirs}
    unmatched = [entry.method for entry in theirs if key_of(entry.method) not in ranked]
    return TaskAgainst(
        task=str(table.task),
        rows=rows,
        spearman=spearman,
        kendall=kendall,
        only_run=tuple(row.method for row in table.rows if key_of(row.method) not in printed),
        only_published=tuple(name for name in unmatched if name not in ambiguous),
        statement=_statement(len(rows), spearman, kendall),
        factor=table.factor,
        ambiguous=tuple(ambiguous),
    )


def _pairs(
    ours: Sequence[BoardRow], theirs: Sequence[PublishedRow]
) -> tuple[list[tuple[BoardRow, PublishedRow]], list[str]]:
    """Return the lines of one method in both tables, and the names that match several lines.

    Names match by key where that is unique in both tables, else only if they are the very same.
    """
    found = []
    for row in ours:
        key = key_of(row.method)
        rivals = [other for other in ours if key_of(other.method) == key]
        entries = [entry for entry in theirs if key_of(entry.method) == key]
        if len(rivals) > 1 or len(entries) > 1:
            entries = [entry for entry in entries if entry.method == row.method]
        if len(entries) == 1:
            found.append((row, entries[0]))

    return found, _unmatched([*ours, *theirs], found)


def _unmatched(
    lines: Sequence[BoardRow | PublishedRow], pairs: Sequence[tuple[BoardRow, PublishedRow]]
) -> list[str]:
    """Return the names that are in no pair although their key is in both tables."""
    taken: set[int] = set()
    for row, entry in pairs:
        taken |= {id(row), id(entry)}

    ours = {key_of(line.method) for line in lines if isinstance(line, BoardRow)}
    theirs = {key_of(line.method) for line in lines if isinstance(line, PublishedRow)}
    found: dict[str, None] = {}
    for line in lines:
        if id(line) not in taken and key_of(line.method) in ours & theirs:
            found[line.method] = None

    return list(found)


def _matched(
    pairs: Sequence[tuple[BoardRow, PublishedRow]], *, lower_better: bool
) -> tuple[Matched, ...]:
    if not pairs:
        return ()

    means = np.array(
        [[row.mean for row, _ in pairs], [entry.mean for _, entry in pairs]], dtype=np.float64
    )
    place = ranks(-means if lower_better else means)
    rows = [
        Matched(
            method=row.method,
            published_method=entry.method,
            mean=float(means[0, k]),
            published_mean=entry.mean,
            difference=float(means[0, k] - means[1, k]),
            rank=int(place[0, k]),
            published_rank=int(place[1, k]),
            printed_rank=entry.rank,
            n=row.n,
        )
        for k, (row, entry) in enumerate(pairs)
    ]
    return tuple(sorted(rows, key=lambda row: (row.rank, row.method)))


def correlations(
    first: Sequence[float], second: Sequence[float]
) -> tuple[float | None, float | None]:
    """Return Spearman's ρ and Kendall's τ-b; None below three pairs or where a side is constant."""
    a, b = np.round(first, 9), np.round(second, 9)
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None, None
    return spearman(a, b), kendall_b(a, b)


def _statement(n: int, spearman: float | None, kendall: float | None) -> str:
    if not n:
        return "No method is in both tables."

    if spearman is None or kendall is None:
        few = f"{n} method{'' if n == 1 else 's'} in both"
        return f"{few}: " + (
            "too few for a rank correlation." if n < 3 else "one side is all ties, no correlation."
        )

    values = f"Spearman {fixed(spearman, 2)}, Kendall {fixed(kendall, 2)}"
    return f"Rank correlation of the means over {n} methods: {values}."


# --------------------------------------------------------------------------------------------------
# Several runs side by side, or pooled.
# --------------------------------------------------------------------------------------------------

_MUST_MATCH = {
    "judge": "judge",
    "models": "judge snapshot",
    "parameters": "judge parameters",
    "dialog": "dialog",
    "dialog_version": "dialog version",
    "dialog_digest": "wording of the dialog",
}
"""Settings that must be equal before scores may be pooled, as must the pictures, and what each is
called."""


@dataclass(frozen=True, slots=True)
class RunAgreement:
    """How far two runs agree on the edits both have scored, in one factor."""

    factor: str
    first: str
    second: str
    edits: int
    pearson: float | None
    spearman: float | None
    mean_difference: float | None
    """Second run minus first: how much more generous it is."""
    mean_distance: float | None
    methods: int
    rank_spearman: float | None
    rank_kendall: float | None


@dataclass(frozen=True, slots=True)
class RankChange:
    """One method's ranks and means in every run, in one table."""

    factor: str
    task: str | None
    method: str
    ranks: tuple[int | None, ...]
    means: tuple[float | None, ...]
    changes: tuple[int | None, ...]
    """Each run's rank less that in the first, among the methods that both rank."""
    n: tuple[int | None, ...]
    """Items each mean is over."""
    same_items: bool = True
    """False where the runs share no item: ranks and means are each run's own, without a change."""

    @property
    def change(self) -> int | None:
        """The change from the first run to the last."""
        return self.changes[-1]


@dataclass(frozen=True, slots=True)
class SharedItems:
    """What the ranks of one table are over, where the runs have scores for other edits."""

    factor: str
    task: str | None
    items: tuple[int, ...]
    """Scored items of each run."""
    shared: int
    """Items that every run of the table has scores for; with 0 no ranks are compared."""
    statement: str


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Several runs side by side."""

    names: tuple[str, ...]
    differing: tuple[str, ...]
    """What is not the same in all runs: reasons not to pool them."""
    changes: tuple[RankChange, ...]
    agreements: tuple[RunAgreement, ...]
    cautions: tuple[str, ...] = ()
    shared: tuple[SharedItems, ...] = ()
    """The tables whose ranks are not over all that each run scored."""

    @property
    def factors(self) -> tuple[str, ...]:
        """What they are compared on."""
        return tuple(dict.fromkeys(pair.factor for pair in self.agreements))

    def as_dict(self, decimals: int | None = None) -> dict[str, Any]:
        """Return the comparison for JSON."""
        return {
            "runs": list(self.names),
            "differing": list(self.differing),
            "ranks": [as_json(line, decimals) | {"change": line.change} for line in self.changes],
            "agreement": [as_json(pair, decimals) for pair in self.agreements],
            "cautions": list(self.cautions),
            "shared": [as_json(one, decimals) for one in self.shared],
        }

    def statement(self, factor: str, task: str | None) -> str:
        """Return what the ranks of a table are over; "" where that is all of every run."""
        told = [one.statement for one in self.shared if (one.factor, one.task) == (factor, task)]
        return "".join(told)


def compare(
    names: Sequence[str],
    boards: Sequence[Leaderboard],
    scores: Sequence[pd.DataFrame],
    settings: Sequence[Mapping[str, Any]],
    *,
    factor: str | Sequence[str],
) -> RunComparison:
    """Set runs side by side on each factor.

    Ranks and agreement are over the edits all runs scored, their repeats averaged.
    """
    factors = [factor] if isinstance(factor, str) else list(factor)
    changes: list[RankChange] = []
    shared: list[SharedItems] = []
    agreements: list[RunAgreement] = []
    for name in factors:
        edits = [edit_means(frame, name) for frame in scores]
        for table in _tables(boards, name, edits):
            changes += table.changes()
            shared += table.shared()

        for first, second in combinations(range(len(names)), 2):
            agreements.append(_agreement(names, name, edits, first, second))

    return RunComparison(
        names=tuple(names),
        differing=tuple(differing(names, settings, scores)),
        changes=tuple(changes),
        agreements=tuple(agreements),
        cautions=tuple(dict.fromkeys(board.caution for board in boards if board.caution)),
        shared=tuple(shared),
    )


def factors_of(names: Sequence[str], scores: Sequence[pd.DataFrame], wanted: str) -> list[str]:
    """Return what runs can be compared on: `wanted`, if all have it.

    Where that is `all`, or an overall that a run lacks, it is each factor that every run has
    scored, the overall first. Raises where there is none.
    """
    scored = [_scored_factors(frame) for frame in scores]
    common = [name for name in scored[0] if all(name in other for other in scored)]
    every = wanted == "all" or (wanted == OVERALL and OVERALL not in common)
    if every and common:
        return sorted(common, key=lambda name: name != OVERALL)

    if every:
        told = []
        for name, own in zip(names, scored, strict=True):
            told.append(f"{name}: {', '.join(own) or 'none'}")

        raise LmmscoreError(
            f"these runs have no scored factor in common ({'; '.join(told)}); they cannot be "
            "compared"
        )

    for name, frame in zip(names, scores, strict=True):
        known = [str(key) for key in frame["factor"].unique()]
        if wanted not in known:
            raise LmmscoreError(f"no factor {wanted!r} in {name}{alternatives(wanted, known)}")

    return [wanted]


def _scored_factors(scores: pd.DataFrame) -> list[str]:
    """Return the factors with at least one score, in the order they first occur."""
    scored = scores.loc[scores["score"].notna(), "factor"]
    return [str(name) for name in scored.unique()]


def edit_means(scores: pd.DataFrame, factor: str) -> pd.Series:
    """Return each edit's mean over its scored repeats, by task, item and method."""
    known = scores[(scores["factor"] == factor) & scores["score"].notna()]
    means: pd.Series = known.groupby(["task", "item", "method"], sort=False, observed=True)[
        "score"
    ].mean()
    return means


def differing(
    names: Sequence[str], settings: Sequence[Mapping[str, Any]], scores: Sequence[pd.DataFrame]
) -> list[str]:
    """Return a sentence for each difference between runs that forbids pooling their scores."""
    found = []
    recorded = []
    for name, known in zip(names, settings, strict=True):
        if known:
            recorded.append((name, known))
        else:
            found.append(f"{name}: its judge and dialog are not on record (no run.yaml)")

    for key, what in _MUST_MATCH.items():
        values = [(name, known.get(key)) for name, known in recorded]
        if len({repr(value) for _, value in values}) > 1:
            told = "; ".join(f"{name}: {_short(value)}" for name, value in values)
            found.append(f"another {what} ({told})")

    return [*found, *_other_images(names, settings, scores)]


def _other_images(
    names: Sequence[str], settings: Sequence[Mapping[str, Any]], scores: Sequence[pd.DataFrame]
) -> list[str]:
    """Return a sentence for each run that has other edits than the first, or other pictures.

    The digests of the pictures decide; where one is not on record, the names of the edits do.
    """
    edits = [set(frame.groupby(["task", "item", "method"]).groups) for frame in scores]
    digests = [known.get("images_digest") for known in settings]
    known = [(name, digest) for name, digest in zip(names, digests, strict=True) if digest]
    found = []
    for name, own, digest in zip(names[1:], edits[1:], digests[1:], strict=True):
        others = [other for other, theirs in known if digest and theirs != digest]
        on_record = digest and digests[0]
        if own != edits[0] and not (on_record and digest == digests[0]):
            shared = f"{len(edits[0] & own)} of {len(edits[0] | own)} edits"
            found.append(f"another image set ({names[0]} and {name} share {shared})")
        elif others and others[0] in names[: names.index(name)]:
            found.append(
                f"another image set (the pictures of {others[0]} and {name} are not the same)"
            )

    return found


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _tables(
    boards: Sequence[Leaderboard], factor: str, edits: Sequence[pd.Series]
) -> list[_SideBySide]:
    """Return the tables of a factor that any run has, each with its lines in every run."""
    boards_by_task = [_by_task(board, factor) for board in boards]
    tasks: dict[str | None, None] = {}
    for own in boards_by_task:
        tasks |= dict.fromkeys(own)

    return [
        _SideBySide(
            factor, task, [own.get(task) for own in boards_by_task], [_of(e, task) for e in edits]
        )
        for task in tasks
    ]


def _of(edits: pd.Series, task: str | None) -> pd.Series:
    """Return the edits of a task category; of all where it is None."""
    if task is None:
        return edits
    found: pd.Series = edits[edits.index.get_level_values("task").astype(str) == task]
    return found


class _Line(NamedTuple):
    """A method in one run."""

    rank: int
    mean: float
    n: int


class _SideBySide:
    """One table of several runs, ranked over the edits that all which have it scored."""

    def __init__(
        self,
        factor: str,
        task: str | None,
        tables: Sequence[BoardTable | None],
        edits: Sequence[pd.Series],
    ) -> None:
        self.factor = factor
        self.task = task
        self.tables = tables
        self.low = any(table.is_lower_better for table in tables if table)
        # A run without a table for this category has no part in what is shared.
        self.edits = [
            own[:0] if table is None else own for own, table in zip(edits, tables, strict=True)
        ]
        self.items = [{(task, item) for task, item, _ in own.index} for own in self.edits]
        having = [items for items in self.items if items]
        self.common = set.intersection(*having) if having else set()
        self.kept = [self._kept(own) for own in self.edits] if self.common else list(self.edits)
        self.narrowed = len(having) > 1 and any(
            len(kept) < len(own) or not self.common
            for kept, own in zip(self.kept, self.edits, strict=True)
        )

    def _kept(self, own: pd.Series) -> pd.Series:
        """Return the edits of one run that every run with their method scored."""
        runs = [(set(other.index), {key[-1] for key in other.index}) for other in self.edits]
        kept = [
            key[:-1] in self.common
            # A method that only some runs have is judged by those that have it.
            and all(key in edits or key[-1] not in methods for edits, methods in runs)
            for key in own.index
        ]
        return own[np.array(kept, dtype=bool)] if len(own) else own

    def lines(self) -> list[dict[str, _Line]]:
        """Return every ranked method's line, run by run."""
        if self.narrowed and self.common:
            return [_ranked(own, low=self.low) for own in self.kept]

        return [_board_lines(table) for table in self.tables]

    def changes(self) -> list[RankChange]:
        """Return every method's rank and mean in each run, None where a run lacks it."""
        lines = self.lines()
        methods: dict[str, None] = {}
        for one in lines:
            methods |= dict.fromkeys(one)

        # Unranked methods stand last.
        for table in self.tables:
            methods |= dict.fromkeys(row.method for row in table.rows) if table else {}

        apart = self.narrowed and not self.common
        found = []
        for method in methods:
            own = [one.get(method) for one in lines]
            changes = [None if apart else _change(lines[0], one, method) for one in lines]
            found.append(
                RankChange(
                    self.factor,
                    self.task,
                    method,
                    ranks=tuple(line.rank if line else None for line in own),
                    means=tuple(line.mean if line else None for line in own),
                    changes=tuple(changes),
                    n=tuple(line.n if line else None for line in own),
                    same_items=not apart,
                )
            )

        return found

    def shared(self) -> list[SharedItems]:
        """Return what the ranks are over, where it is not all that each run scored."""
        if not self.narrowed:
            return []

        items = tuple(map(len, self.items))
        told = self._statement([n for n in items if n])
        return [SharedItems(self.factor, self.task, items, len(self.common), told)]

    def _statement(self, items: Sequence[int]) -> str:
        against = f"{counted(items[0], 'item')} against {listed([str(n) for n in items[1:]])}"
        they = "they share" if len(items) == 2 else "all share"
        if not self.common:
            return f"{against}, none of which {they}: these are each run's own ranks."

        shared = len(self.common)
        if set(items) != {shared}:
            edits = max(map(len, self.kept))
            return f"{against}; compared over the {shared} {they} ({counted(edits, 'edit')})."

        kept = [str(len(one)) for one, own in zip(self.kept, self.edits, strict=True) if len(own)]
        scored = [str(len(own)) for own in self.edits if len(own)]
        return (
            "Compared over the edits that every run with their method scored "
            f"({listed(kept)} of {listed(scored)})."
        )


def _ranked(edits: pd.Series, *, low: bool) -> dict[str, _Line]:
    """Return the methods of one run by their means over these edits."""
    by_method = edits.groupby(level="method", sort=False, observed=True)
    means = by_method.mean()
    places = ranks(np.array([-means if low else means], dtype=np.float64))[0] if len(means) else []
    found = {
        str(method): _Line(int(place), float(mean), int(n))
        for method, place, mean, n in zip(
            means.index, places, means, by_method.count(), strict=True
        )
    }
    return dict(sorted(found.items(), key=lambda line: line[1].rank))


def _board_lines(table: BoardTable | None) -> dict[str, _Line]:
    """Return the ranked methods of a leaderboard's table."""
    rows = table.rows if table else ()
    return {
        row.method: _Line(row.rank, row.mean, row.n)
        for row in rows
        if row.rank is not None and row.mean is not None
    }


def _change(before: Mapping[str, _Line], after: Mapping[str, _Line], method: str) -> int | None:
    """Return how many places a method fell among the methods that both runs rank."""
    if method not in before or method not in after:
        return None

    # A run with one method more puts others further down, and no judge thought worse of them.
    places = []
    for run, other in ((before, after), (after, before)):
        own = run[method].rank
        places.append(sum(line.rank < own for name, line in run.items() if name in other))

    return places[1] - places[0]


def _by_task(board: Leaderboard, factor: str) -> dict[str | None, BoardTable]:
    """Return the tables of a factor by task."""
    return {table.task: table for table in board.tables if table.factor == factor}


def _agreement(
    names: Sequence[str], factor: str, edits: Sequence[pd.Series], a: int, b: int
) -> RunAgreement:
    """Return how far two runs agree on the edits both have, and on the methods."""
    both = pd.concat([edits[a], edits[b]], axis=1, join="inner", keys=["a", "b"])
    x = both["a"].to_numpy(dtype=np.float64)
    y = both["b"].to_numpy(dtype=np.float64)
    spearman, _ = correlations(list(x), list(y))

    # Over the same edits: what one run lacks would move its means, and no judge disagreed there.
    methods = both.groupby(level="method", sort=False).mean()
    rho, tau = correlations(list(methods["a"]), list(methods["b"]))
    return RunAgreement(
        factor=factor,
        first=names[a],
        second=names[b],
        edits=len(x),
        pearson=float(np.corrcoef(x, y)[0, 1]) if spearman is not None else None,
        spearman=spearman,
        mean_difference=float((y - x).mean()) if len(x) else None,
        mean_distance=float(np.abs(y - x).mean()) if len(x) else None,
        methods=len(methods),
        rank_spearman=rho,
        rank_kendall=tau,
    )


def pool(
    names: Sequence[str],
    scores: Sequence[pd.DataFrame],
    settings: Sequence[Mapping[str, Any]],
    *,
    anyway: bool,
) -> pd.DataFrame:
    """Return the scores of several runs as one table; repeats are counted on from run to run.

    Raises unless judge, dialog and images are the same, or `anyway` says to pool regardless.
    """
    reasons = differing(names, settings, scores)
    if reasons and not anyway:
        raise LmmscoreError(
            f"these runs are not comparable and are not pooled: {'; '.join(reasons)}. "
            "See them side by side with lmmscore compare, "
            "or add --anyway to pool them all the same."
        )

    # Each run's repeats follow those of the run before: the same judgement twice would be refused.
    frames, last = [], 0
    for frame in scores:
        frames.append(frame.assign(repeat=frame["repeat"] + last))
        last = int(frames[-1]["repeat"].max())

    return pd.concat(frames, ignore_index=True)
