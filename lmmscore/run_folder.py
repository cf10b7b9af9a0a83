"""A run is a folder: what was asked, every exchange, and the scores derived from them.

`run.yaml` and `sessions.jsonl` have typed models with a version. Files of version 1, written before
there was a number, are read as they are.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from lmmscore.benchmark import find_benchmark_file, load_benchmark
from lmmscore.dialog import Dialog, Ensemble, Suite, ensemble_of
from lmmscore.errors import FileProblem, LmmscoreError, counted, nearest
from lmmscore.images import Recipe
from lmmscore.ledger import Asker, Ledger
from lmmscore.plan import Order, Orders, Place, Plan, Protocol, Unit, with_numbers
from lmmscore.records import AS_TOLD, OVERALL, Outcome, Reply, Score
from lmmscore.resources import __version__
from lmmscore.scales import Factor, show
from lmmscore.scores import (
    EXPECTED,
    SCORE_COLUMNS,
    Comparison,
    frame_of,
    read_comparisons,
    read_scores,
    slips,
    unjudged_pair,
    unjudged_scores,
)
from lmmscore.tables import restore
from lmmscore.yaml_files import load_yaml, validate

if TYPE_CHECKING:
    import pandas as pd

    from lmmscore.leaderboard import Leaderboard
    from lmmscore.leaderboard.matches import PairBoard
    from lmmscore.session import Exchange, Played

FORMAT = 2
"""The version of run.yaml and sessions.jsonl that is written; files without one are version 1."""

NO_READER = "none"
"""Stands for the reader where nobody is asked about replies that cannot be read."""

TRANSCRIPTS = "transcripts"
"""The judge of a run made of transcripts: each has its own words, and no dialog."""

OWN_PICTURES = "dialogs"
"""The folder in a run that keeps the pictures its dialogs show of their own."""


class _Record(BaseModel):
    # A later version may add keys, which an older reader ignores.
    model_config = ConfigDict(extra="ignore", frozen=True)


class FactorRecord(_Record):
    """A factor as run.yaml lists it."""

    key: str
    name: str = ""
    min: float
    max: float
    integers: bool = False
    values: list[float] | None = None
    weight: float | None = None
    better: Literal["high", "low"] = "high"

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest score."""
        listed = self.values or (self.min, self.max)
        return min(listed), max(listed)

    @classmethod
    def of(cls, factor: Factor) -> FactorRecord:
        """Return the record of a dialog's factor."""
        scale = factor.scale
        return cls(
            key=factor.key,
            name=factor.name,
            min=float(scale.low),
            max=float(scale.high),
            integers=scale.integers,
            values=[float(value) for value in scale.listed] or None,
            weight=None if factor.weight is None else float(factor.weight),
            better=factor.better,
        )


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a run rests on besides its plan: who judges, and how pictures are sent."""

    judge: Asker
    recipe: Recipe
    reader: Asker | None = None
    """Who quotes the scores from replies that cannot be read; None where nobody is asked."""
    caution: str = ""
    """What the judge's own limits mean for the scores."""
    command: str = ""


class Manifest(_Record):
    """run.yaml: what was asked, with versions and digests, and how the run ended."""

    format: int = 1
    lmmscore: str = ""
    command: str = ""
    benchmark: str = ""
    benchmark_file: str = ""
    images_root: str = ""
    dialog: str = ""
    dialog_version: int | None = None
    dialog_digest: str | None = None
    settings: dict[str, str] = {}
    structured: bool = False
    structured_turns: str = ""
    """`scores` where only the turns that score were held to a schema: a variant of the protocol."""
    judge: str = ""
    parameters: dict[str, Any] = {}
    reader: str = NO_READER
    """Who was asked to quote the scores from replies that could not be read."""
    reader_parameters: dict[str, Any] = {}
    caution: str = ""
    order: Order = "shuffled"
    repeats: int = 1
    seed: int = 0
    image_recipe: str = ""
    order_rule: int = 1
    """2: orders come from the methods' names; 1: from the order in which the benchmark lists them.
    """
    methods: list[str] = []
    method_names: dict[str, str] = {}
    """What tables call the methods, where the benchmark says so."""
    tasks: list[str] = []
    task_titles: dict[str, str] = {}
    items: int = 0
    item_ids: list[str] = []
    """Which items, where they are a part of the benchmark."""
    chosen: str = ""
    """Which part of the benchmark was asked for, in words; empty for all of it."""
    beside: dict[str, list[str]] = {}
    """Methods that were judged among some of the others only, and among which."""
    avoid_ties: bool = False
    overall: str = "none"
    factors: list[FactorRecord] = []
    overall_scale: tuple[float, float] | None = None
    """The lowest and the highest overall that the rule can give."""
    covers: str = ""
    """`item`, `edit` or `pair`; empty in older files."""
    pairs: int | None = None
    """How many pairs of methods were compared per item; None for all."""
    suite: dict[str, Any] | None = None
    suites: list[dict[str, Any]] = []
    """The suites inside the suite."""
    dialogs: list[dict[str, Any]] = []
    started: str = ""
    ledger: str | None = None
    """Where the exchanges are, if not in the folder of the run."""
    state: str = ""
    """`running`, `finished`, `waiting` for batches, or `stopped: ` and why."""
    waiting: str = ""
    """What is on its way, where the state is `waiting`."""
    models: list[str] = []
    planned: int = 0
    """How many sessions the folder was ever asked for."""
    judged: int = 0
    """How many of them were played to their end."""
    unscored: int = 0
    slips: int = 0
    """How many of the judge's own sums are arithmetic errors."""
    repairs: int = 0
    helped: int = 0
    """How many scores a reader had to find in the replies."""
    finished: str = ""

    @classmethod
    def of(cls, plan: Plan, out: Path, known: Circumstances) -> Manifest:
        """Return run.yaml as it is before the first question."""
        reader = known.reader
        return cls(
            format=FORMAT,
            lmmscore=__version__,
            command=known.command,
            judge=known.judge.judge,
            parameters=json.loads(known.judge.parameters),
            reader=reader.judge if reader else NO_READER,
            reader_parameters=json.loads(reader.parameters) if reader else {},
            caution=" ".join(filter(None, (plan.protocol.variant, known.caution))),
            image_recipe=str(known.recipe),
            **_what_was_judged(plan, out),
            **_what_was_said(plan.protocol),
        )

    @cached_property
    def protocol(self) -> Protocol:
        """What was played, in the words recorded with the run, whatever those of today are."""
        where = "the dialog recorded in run.yaml"
        if not self.dialogs:
            raise FileProblem(
                f"{where}: there is none; put back run.yaml, or run it again elsewhere"
            )

        dialogs = [validate(Dialog, dialog, where) for dialog in self.dialogs]
        if self.suite is None:
            played: Dialog | Ensemble = dialogs[0]
        else:
            suite = validate(Suite, self.suite, where)
            inner = [validate(Suite, each, where) for each in self.suites]
            played = ensemble_of(suite, inner, dialogs)

        return Protocol(
            played,
            self.settings,
            self.structured,
            reader=self.reader != NO_READER,
            structured_turns=self.structured_turns,
        )

    @property
    def recipe(self) -> Recipe:
        """How the pictures were prepared."""
        return Recipe.parse(self.image_recipe)

    @property
    def has_expected(self) -> bool:
        """Whether the judge was asked for the probabilities of its words."""
        return bool(self.parameters.get("logprobs"))

    @property
    def score_columns(self) -> list[str]:
        """The columns of scores.csv."""
        return [*SCORE_COLUMNS, EXPECTED] if self.has_expected else [*SCORE_COLUMNS]

    @property
    def weights(self) -> dict[str, float] | None:
        """The weights of the run's own dialog; None where it has none."""
        shares = {factor.key: factor.weight or 0.0 for factor in self.factors}
        return shares if sum(shares.values()) > 0 else None

    @property
    def shown_order(self) -> str:
        """How edits were ordered, for advice about it; empty where nothing is known of the run."""
        if self.judge == TRANSCRIPTS:
            return AS_TOLD
        return self.order if self.judge else ""

    @property
    def lower_better(self) -> tuple[str, ...]:
        """The factors whose lowest score is the best."""
        return tuple(factor.key for factor in self.factors if factor.better == "low")

    @property
    def factor_names(self) -> dict[str, str]:
        """The key of each factor by its full name and by its symbol."""
        recorded = [factor for dialog in self.dialogs for factor in dialog.get("factors", ())]
        symbols = {str(one["symbol"]): str(one["key"]) for one in recorded if "symbol" in one}
        return symbols | {factor.name: factor.key for factor in self.factors if factor.name}

    def scales(self, weights: Mapping[str, float] | None = None) -> dict[str, tuple[float, float]]:
        """Return the lowest and highest score of each factor and of the overall.

        `weights` are those by which the overall is derived again.
        """
        ends = {factor.key: factor.ends for factor in self.factors}
        if self.overall_scale and weights is None:
            return {**ends, OVERALL: self.overall_scale}

        shares = weights or self.weights or dict.fromkeys(ends, 1.0)
        return _with_overall(ends, shares)


def _what_was_judged(plan: Plan, out: Path) -> dict[str, Any]:
    """Return the keys of run.yaml about the benchmark and the order of the edits."""
    benchmark = plan.benchmark
    return {
        "benchmark": benchmark.name,
        "benchmark_file": relative_to_run(benchmark.path, out),
        "images_root": relative_to_run(benchmark.root, out),
        "order": plan.order,
        "order_rule": plan.order_rule,
        "repeats": plan.repeats,
        "seed": plan.seed,
        "pairs": plan.pairs,
        "methods": list(benchmark.methods),
        "method_names": dict(benchmark.method_names),
        "tasks": list(benchmark.tasks),
        "task_titles": dict(benchmark.task_titles),
        "items": len(benchmark.items),
        "item_ids": [item.id for item in benchmark.items] if plan.is_part else [],
        "chosen": plan.chosen,
        "beside": {method: list(plan.beside) for method in plan.newcomers},
    }


def _what_was_said(protocol: Protocol) -> dict[str, Any]:
    """Return the keys of run.yaml about the protocol: its words, its factors and its rule."""
    dialogs, suite = protocol.dialogs, protocol.suite
    factors = [factor for dialog in dialogs for factor in dialog.factors]
    return {
        "dialog": protocol.name,
        "dialog_version": suite.version if suite else dialogs[0].version,
        "dialog_digest": None if suite else dialogs[0].digest,
        "settings": dict(protocol.settings),
        "structured": protocol.structured,
        "structured_turns": protocol.structured_turns,
        "covers": dialogs[0].covers,
        "avoid_ties": any(dialog.avoid_ties for dialog in dialogs),
        "overall": _rule_in_words(protocol),
        "overall_scale": _overall_scale(protocol.played),
        "factors": [FactorRecord.of(factor) for factor in factors],
        "suite": suite.model_dump(mode="json") if suite else None,
        "suites": _inner_suites(protocol.played),
        "dialogs": [dialog.model_dump(mode="json", exclude_defaults=True) for dialog in dialogs],
    }


def _with_overall(
    ends: dict[str, tuple[float, float]], shares: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """Add the ends of the overall, where those of all factors with a weight are known."""
    low = high = total = 0.0
    for key, share in shares.items():
        if not share:
            continue
        if key not in ends:
            return ends

        low += share * ends[key][0]
        high += share * ends[key][1]
        total += share

    if not total:
        return ends

    # A mean of any kind lies between the means of the lowest and of the highest scores.
    return {**ends, OVERALL: (low / total, high / total)}


def _rule_in_words(protocol: Protocol) -> str:
    rule = protocol.suite.rule if protocol.suite else protocol.dialogs[0].overall
    return rule if isinstance(rule, str) else "rule"


def _overall_scale(played: Dialog | Ensemble) -> tuple[float, float] | None:
    if played.formula is None:
        return None
    low, high = played.formula.ends
    return float(low), float(high)


def _inner_suites(played: Dialog | Ensemble) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for member in played.members if isinstance(played, Ensemble) else ():
        if isinstance(member, Ensemble):
            found += [member.suite.model_dump(mode="json"), *_inner_suites(member)]
    return found


def _within(name: str) -> str:
    """Return a file's name if it stays inside the benchmark, else only its last part."""
    path = PurePosixPath(name.replace("\\", "/"))
    leads_out = path.is_absolute() or ".." in path.parts or path.parts[:1] == ("~",)
    return path.name if leads_out else name


FileName = Annotated[str, AfterValidator(_within)]
"""A picture's file, relative to the root of the benchmark.

A run received from others must not point outside of it.
"""


class ExchangeRecord(_Record):
    """One exchange of a session: its place in the dialog, and its key in the ledger."""

    turn: str
    position: int | None = None
    repair: int = 0
    key: str
    images: list[tuple[str, FileName]] = []
    """Kind and file of every picture shown, the file relative to the root of the benchmark."""
    aside: bool = False
    """Whether it went to the reader, outside the conversation."""

    @classmethod
    def of(cls, exchange: Exchange, root: Path) -> ExchangeRecord:
        """Return the record of an exchange."""
        question = exchange.question
        return cls.model_construct(
            turn=question.turn,
            position=question.position,
            repair=question.repair,
            key=exchange.key,
            images=[(shown.kind, _relative(shown.path, root)) for shown in question.images],
            aside=question.aside,
        )


class SessionRecord(_Record):
    """One line of sessions.jsonl: a session's order, its exchanges and what was read from them."""

    item: str
    task: str
    instruction: str = ""
    repeat: int = 1
    dialog: str
    order: list[str]
    exchanges: list[ExchangeRecord] = []
    layout: str = ""
    notes: list[str] = []
    faults: list[str] = []
    failure: str = ""
    outcome: Outcome = Outcome.FAILED
    """How the session ended, where `failure` says why it ended early."""
    fields: dict[str, str] = {}
    """Further columns of the items file, which the dialog may quote."""
    repairs: int = 0
    helped: int = 0
    """How many scores a reader had to find in the replies."""
    stated: dict[str, str] = {}
    """The judge's own overall, by position."""
    slips: list[tuple[int, str, str]] = []
    """Position, exact overall and stated overall of every arithmetic error."""
    images: dict[str, FileName] = {}
    usage: dict[str, float | None] = {}

    @property
    def place(self) -> Place:
        """Where in the run it belongs."""
        return self.task, self.item, self.repeat

    @property
    def key(self) -> tuple[Place, tuple[str, ...]]:
        """What identifies its unit: the members of a suite share it."""
        return self.place, tuple(self.order)

    @classmethod
    def of(cls, played: Played, root: Path) -> SessionRecord:
        """Return the record of a session that was played."""
        session, done = played.session, played.done
        errors = [(at, show(exact), show(stated)) for at, exact, stated in slips(played)]
        # Not validated, as it comes from our own types: that would be half the time of writing it.
        return cls.model_construct(
            item=session.item.id,
            task=session.item.task,
            instruction=session.item.instruction,
            repeat=session.repeat,
            dialog=session.dialog.name,
            order=list(session.order),
            exchanges=[ExchangeRecord.of(exchange, root) for exchange in played.exchanges],
            layout=done.reading.layout,
            notes=list(done.notes),
            faults=[str(fault) for fault in done.reading.faults],
            failure=done.failure.reason if done.failure else "",
            outcome=done.failure.outcome if done.failure else Outcome.SCORED,
            fields=dict(session.item.fields),
            repairs=played.repairs,
            helped=len(done.helped),
            stated={str(position): show(stated) for position, stated in done.stated.items()},
            slips=errors,
            images={kind: _relative(path, root) for kind, path in session.item.images.items()},
            usage=_usage([exchange.reply for exchange in played.exchanges]),
        )


def pictures_shown(
    record: SessionRecord, ledger: Ledger
) -> Iterator[tuple[ExchangeRecord, str, str, str]]:
    """Yield every picture of a session: its exchange, kind, file and the digest on record."""
    for exchange in record.exchanges:
        digests = ledger.pictures(exchange.key) if exchange.images else []
        # A received ledger may list fewer pictures than the session says it showed.
        for (kind, name), digest in zip(exchange.images, digests, strict=False):
            yield exchange, kind, name, digest


def shown_digests(records: Iterable[SessionRecord], ledger: Ledger) -> dict[str, set[str]]:
    """Return what the judge was shown: the digests on record for each picture's file."""
    found: dict[str, set[str]] = {}
    for record in records:
        for _, _, name, digest in pictures_shown(record, ledger):
            found.setdefault(name, set()).add(digest)

    return found


def _usage(replies: Iterable[Reply]) -> dict[str, float | None]:
    """Return tokens and price, recalled answers included; None where they were not counted."""
    totals: dict[str, float | None] = dict.fromkeys(
        ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "cost_usd")
    )
    for reply in replies:
        usage = reply.usage
        counted = (
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.cached_tokens,
            usage.reasoning_tokens,
            reply.cost_usd,
        )
        for name, number in zip(totals, counted, strict=True):
            if number is not None:
                totals[name] = (totals[name] or 0) + number

    return totals


def _relative(path: Path, root: Path) -> str:
    # A picture outside the root keeps only its name: a run holds no absolute path.
    name, folder = path.as_posix(), root.as_posix().rstrip("/") + "/"
    return name[len(folder) :] if name.startswith(folder) else path.name


def relative_to_run(path: Path, folder: Path) -> str:
    """Return a path as a run may hold it: relative to its folder, without any user's name."""
    try:
        relative = os.path.relpath(path.absolute(), folder.absolute())
    except ValueError:
        # Another drive of Windows.
        return path.name

    parts = Path(relative).parts
    home = Path.home().name
    return path.absolute().name if home and home in parts else Path(relative).as_posix()


_WRITTEN_AGAIN = "`lmmscore run` with the same arguments writes it again"
_REBUILT = f"if the file is damaged, remove it: {_WRITTEN_AGAIN} from the ledger"


class _NothingJudged(FileProblem):
    """A run with nothing to rank yet."""

    def __init__(self, run: Run) -> None:
        nothing = "no session was finished; " if run.manifest.state == "running" else ""
        says = f"{nothing}{run.progress()}; the same `lmmscore run` resumes it"
        if run.finished:
            says = f"{run.results_file} is missing; {_WRITTEN_AGAIN}"
        super().__init__(f"{run.path}: {says}")


@dataclass(frozen=True)
class Run:
    """A finished or interrupted run."""

    path: Path

    @cached_property
    def manifest(self) -> Manifest:
        """What was asked and how the run ended, as run.yaml has it."""
        path = self.path / "run.yaml"
        try:
            loaded = load_yaml(path)
        except FileProblem as error:
            raise FileProblem(f"{error}; {_REBUILT}") from error

        if not isinstance(loaded, dict):
            raise FileProblem(f"{path}: not a run's settings; {_REBUILT}")

        if "state" not in loaded:
            # Half a file may still be YAML.
            raise FileProblem(f"{path}: it ends too soon; {_REBUILT}")

        version = loaded.get("format", 1)
        if isinstance(version, int) and version > FORMAT:
            raise FileProblem(
                f"{path}: written by a newer lmmscore (format {version}); update lmmscore"
            )

        try:
            return validate(Manifest, loaded, str(path))
        except FileProblem as error:
            raise FileProblem(f"{error}; {_REBUILT}") from error

    @cached_property
    def protocol(self) -> Protocol:
        """What was played, with the dialogs' own pictures as kept with the run."""
        recorded = self.manifest.protocol
        return replace(recorded, played=recorded.played.kept_in(self.path / OWN_PICTURES))

    @property
    def finished(self) -> bool:
        """Whether all that the folder was asked for is done."""
        return self.manifest.state == "finished"

    def scores(self) -> pd.DataFrame:
        """Return the tidy table: one row per edit, repeat and factor.

        Raises where nothing is judged yet.
        """
        if self.is_of_pairs:
            raise FileProblem(
                f"{self.path}: it compares pairs, which have no scores; `lmmscore leaderboard "
                f"{self.path}` ranks its methods, and `lmmscore show` prints its conversations"
            )

        try:
            with self._whole_lines("scores.csv") as path:
                table = read_scores(path)
        except _NothingJudged:
            raise
        except FileProblem as error:
            raise FileProblem(f"{error}; {_WRITTEN_AGAIN}") from error

        if not self.finished and not (table["outcome"] != Outcome.UNJUDGED).any():
            raise _NothingJudged(self)
        return self._with_unjudged(table)

    @contextlib.contextmanager
    def _whole_lines(self, name: str) -> Iterator[Path]:
        """Yield a table; if unfinished, a copy of it up to the last complete line."""
        path = self.path / name
        if path.is_file():
            yield path
            return

        part = self.path / f"{name}.part"
        content = part.read_bytes() if part.is_file() else b""
        if content.count(b"\n") < 2:
            raise _NothingJudged(self)

        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / name
            copy.write_bytes(content[: content.rfind(b"\n") + 1])
            yield copy

    def plan(self) -> Plan:
        """Return all that the folder was ever asked for.

        Raises FileProblem where the benchmark is not here any more. Its pictures may have gone.
        """
        manifest = self.manifest
        file = self.find_benchmark()
        if file is None:
            raise FileProblem(
                f"{self.path}: its benchmark is not where it was ({manifest.benchmark_file}); "
                "put it back, or next to the run"
            )

        whole = load_benchmark(file, self.find_pictures())
        items = tuple(manifest.item_ids)
        if not items and manifest.items != len(whole.items):
            # Older versions did not list the items of a part; its table does.
            items = self.item_ids()

        asked = Plan(
            whole.select(items=items, methods=manifest.methods),
            manifest.protocol,
            order=manifest.order,
            repeats=manifest.repeats,
            seed=manifest.seed,
            order_rule=manifest.order_rule,
            recorded_orders=self.orders(),
            pairs=manifest.pairs,
        )
        return with_numbers(whole, asked)

    def _cut_off_units(self) -> Iterable[Unit]:
        """Return the plan of a run that was killed or is still going on.

        Only a run that ends in order writes down what it did not reach. Empty where the
        benchmark has gone, as the plan is not known then.
        """
        if self.manifest.state != "running":
            return ()
        try:
            return self.plan()
        except LmmscoreError:
            return ()

    def _with_unjudged(self, table: pd.DataFrame) -> pd.DataFrame:
        """Add what was planned and not reached, as a run that is stopped does itself."""
        import pandas as pd

        columns = [table[name] for name in ("task", "item", "repeat", "method")]
        judged = set(zip(*columns, strict=True))
        rows: list[Score] = []
        for unit in self._cut_off_units():
            dialogs = self.manifest.protocol.dialogs
            for method in unit.methods:
                if (*unit.place, method) not in judged:
                    rows += unjudged_scores(unit.item, method, unit.repeat, dialogs)

        if not rows:
            return table

        added = frame_of(rows).reindex(columns=table.columns)
        return pd.concat([table, added], ignore_index=True)

    def progress(self) -> str:
        """Return how far the run is, in words."""
        manifest = self.manifest
        if self.finished:
            return "the run is finished"

        if manifest.state == "running":
            if RunLock.held(self.path):
                return "the run is still going on"
            return "the run was cut off before it could save its tables"

        if manifest.state == "waiting":
            return f"the run waits for {manifest.waiting}"

        if manifest.judged:
            planned = counted(manifest.planned, "session was", "sessions were")
            return f"{manifest.judged} of {planned} judged"

        # The rest of the reason says what to do, which the caller says anyway.
        reason = manifest.state.removeprefix("stopped: ").split("; ")[0]
        return f"no session was finished ({reason})"

    def find_benchmark(self, given: Path | None = None) -> Path | None:
        """Return where the benchmark's file is now: as given, where it was, or beside the run."""
        recorded = Path(self.manifest.benchmark_file)
        folder = recorded.parent.name
        if given is not None:
            return find_benchmark_file(given)

        tried = [
            self.path / recorded,
            self.path.parent / folder / recorded.name,
            self.path / folder / recorded.name,
            Path(folder) / recorded.name,
            Path(recorded.name),
        ]
        return next((path for path in tried if path.is_file()), None)

    def find_pictures(self, given: Path | None = None) -> Path | None:
        """Return the folder of the benchmark's pictures, wherever the benchmark is now."""
        recorded = self.path / self.manifest.images_root
        benchmark = self.find_benchmark(given)
        if benchmark is None:
            return recorded if recorded.is_dir() else None

        was = Path(os.path.relpath(recorded, (self.path / self.manifest.benchmark_file).parent))
        moved = benchmark.parent / was
        return moved if moved.is_dir() else benchmark.parent

    @property
    def is_of_pairs(self) -> bool:
        """Whether pairs were compared, so that the results are in pairs.csv."""
        return self.manifest.covers == "pair"

    @property
    def results_file(self) -> str:
        """The table that holds what was judged."""
        return "pairs.csv" if self.is_of_pairs else "scores.csv"

    def comparisons(self) -> list[Comparison]:
        """Return every comparison in the order of the plan, those not reached at the end.

        Raises where nothing is compared yet.
        """
        with self._whole_lines("pairs.csv") as path:
            rows = read_comparisons(path)

        judged = {row.key for row in rows}
        unjudged = [unit for unit in self._cut_off_units() if unit.key not in judged]
        return [*rows, *map(unjudged_pair, unjudged)]

    def records(self) -> Iterator[SessionRecord]:
        """Yield the record of each session, in the order of the plan."""
        path = self.path / "sessions.jsonl"
        judged = self.manifest.judged
        if not path.is_file() and not self.finished:
            path = self.path / "sessions.jsonl.part"

        if not path.is_file():
            # Older versions did not count what they judged.
            if self.finished and judged:
                raise FileProblem(f"{path}: missing; {_WRITTEN_AGAIN}")
            return

        found = set()
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    record = SessionRecord.model_validate_json(line)
                except ValidationError as error:
                    raise FileProblem(
                        f"{path}, line {number}: not the record of a session; {_WRITTEN_AGAIN}"
                    ) from error

                found.add(record.key)
                yield record

        if self.finished and len(found) < judged:
            raise FileProblem(
                f"{path}: holds {len(found)} of {counted(judged, 'session')}; {_WRITTEN_AGAIN}"
            )

    def intact_records(self) -> Iterator[SessionRecord]:
        """Yield the records up to the first damaged one; the ledger still has the rest."""
        records = self.records()
        with contextlib.suppress(FileProblem):
            yield from records

    def orders(self) -> Orders:
        """Return how the edits were shown, as far as it is on record."""
        keys = (record.key for record in self.intact_records())
        return {(place, frozenset(order)): order for place, order in keys}

    def item_ids(self) -> tuple[str, ...]:
        """Return the items that the folder was ever asked for, each once."""
        # run.yaml lists those of a part. All items of a benchmark stand in the table, which may be
        # damaged: then only some do.
        if self.manifest.item_ids:
            return tuple(self.manifest.item_ids)

        cells = dict.fromkeys(row["item"] for row in self.score_rows())
        return tuple(dict.fromkeys(restore(cell) for cell in cells))

    def score_rows(self) -> Iterator[dict[str, str]]:
        """Yield the rows of scores.csv, or of pairs.csv, as written; none where there is no file.

        Damaged rows are left out: their scores follow from the ledger.
        """
        path = self.path / self.results_file
        if not path.is_file():
            return

        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            rows = csv.reader(file)
            header = next(rows, [])
            for cells in rows:
                if len(cells) != len(header) or not _is_text(cells):
                    continue

                row = dict(zip(header, cells, strict=True))
                if _is_whole(row):
                    yield row

    def pair_board(self, **options: Any) -> PairBoard:
        """Rank the methods by the pairs compared; options as `rank_pairs` takes them."""
        from lmmscore.leaderboard.matches import rank_pairs

        known = {"caution": self.manifest.caution, "methods": self.manifest.methods}
        return rank_pairs(self.comparisons(), **{**known, **options})

    def leaderboard(self, **options: Any) -> Leaderboard:
        """Rank the methods; options as `lmmscore.leaderboard.rank` takes them."""
        from lmmscore.leaderboard import rank

        known = {
            "caution": self.manifest.caution,
            "scales": self.manifest.scales(options.get("weights")),
            "lower_better": self.manifest.lower_better,
            "shown_order": self.manifest.shown_order,
        }
        return rank(self.scores(), **{**known, **options})

    @property
    def ledger_path(self) -> Path:
        """Where the exchanges are."""
        return self.path / (self.manifest.ledger or "ledger.sqlite")

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def _repr_html_(self) -> str:
        board = self.pair_board() if self.is_of_pairs else self.leaderboard()
        return board._repr_html_()


def _is_whole(row: Mapping[str, str]) -> bool:
    """Tell whether a row of a table says what it is about and how it came about."""
    known = {"task", "item", "repeat", "outcome"} <= row.keys()
    return known and row["repeat"].isdecimal() and row["outcome"] in list(Outcome)


def _is_text(cells: Iterable[str]) -> bool:
    """Tell whether all of it was UTF-8; other bytes were decoded as lone surrogates."""
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        return False
    return True


def open_run(path: str | Path) -> Run:
    """Return the run in a folder. Raises FileProblem where there is none."""
    folder = Path(path)
    if (folder / "run.yaml").is_file():
        return Run(folder)
    if any(folder.glob("*/run.yaml")):
        raise FileProblem(
            f"{folder}: no run here (no run.yaml), but runs in folders inside; "
            f"`lmmscore list {shlex.quote(str(folder))}` lists them"
        )
    if folder.is_file():
        raise FileProblem(f"{folder}: a file, not a run; name the folder that `lmmscore run` made")
    if folder.exists():
        raise FileProblem(f"{folder}: no run here (no run.yaml); `lmmscore run` makes one")

    around = [each.parent.name for each in folder.parent.glob("*/run.yaml")]
    listing = f"; `lmmscore list {shlex.quote(str(folder.parent))}` lists runs"
    remedy = nearest(folder.name, around) or listing
    raise FileProblem(f"{folder}: no such folder{remedy}")


def recorded_run(judge: str) -> Run | None:
    """Return the run that the judge `replay:PATH` answers from, where PATH is a run's folder."""
    if not judge.startswith("replay:"):
        return None

    path = Path(judge.removeprefix("replay:").split("#")[0])
    folder = path if path.is_dir() else path.parent
    if path.name not in (folder.name, "ledger.sqlite") or not (folder / "run.yaml").is_file():
        return None
    return Run(folder)


_LOCK_NAME = ".lock"
"""Hidden, and there only while a run is being written, or after one was killed, which blocks
nothing."""

_HELD = {errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK}

if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int) -> None:
        # Windows lets no one read what is locked: lock a byte far behind the number written at the
        # start.
        os.lseek(fd, 1 << 30, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        os.lseek(fd, 0, os.SEEK_SET)
else:
    import fcntl

    def _lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


class RunLock:
    """Held from its making until it is closed.

    Raises FileProblem where another run holds the folder.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _LOCK_NAME
        self._fd = -1
        while self._fd < 0:
            self._fd = self._take(folder)

        # For the message to whoever comes next; the lock holds without it.
        with contextlib.suppress(OSError):
            os.truncate(self._fd, 0)
            os.write(self._fd, f"{os.getpid()}\n".encode())

    @staticmethod
    def held(folder: Path) -> bool:
        """Tell whether a run is writing the folder at this moment."""
        try:
            fd = os.open(folder / _LOCK_NAME, os.O_RDWR)
        except OSError:
            return False

        try:
            _lock(fd)
        except OSError as error:
            return error.errno in _HELD
        finally:
            os.close(fd)

        return False

    def _take(self, folder: Path) -> int:
        """Return the locked file; -1 where its holder has removed it meanwhile."""
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(fd)
            current = os.path.samestat(os.fstat(fd), self._path.stat())
        except FileNotFoundError:
            current = False
        except OSError as error:
            if error.errno in _HELD:
                os.close(fd)
                raise FileProblem(
                    f"{folder}: another run is writing it{self._holder()}; wait until that one has "
                    "ended, or give this one another --out"
                ) from None

            # Some network file systems have no locks: there, it is up to the user.
            current = True

        if current:
            return fd

        os.close(fd)
        return -1

    def _holder(self) -> str:
        with contextlib.suppress(OSError, ValueError):
            return f" (process {int(self._path.read_text(encoding='ascii'))})"
        return ""

    def close(self) -> None:
        """Release the folder. Leaves no file behind."""
        if self._fd < 0:
            return

        # Removed while it is still held: whoever opened it meanwhile finds that it is gone and
        # takes a new one. Windows removes no open file; there it is removed after, unless someone
        # else has it open by then.
        removed = self._remove()
        os.close(self._fd)
        self._fd = -1
        if not removed and sys.platform == "win32":
            self._remove()

    def _remove(self) -> bool:
        with contextlib.suppress(OSError):
            self._path.unlink()
            return True
        return False
