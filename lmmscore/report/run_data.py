"""A run, read once: its settings, its scores edit by edit, its conversations and what they cost.

Everything the report takes from a run's files is read here, so that the files may change in one
place. A run that is still going is read from what it has written so far.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lmmscore.benchmark import load_benchmark
from lmmscore.dialog import Dialog
from lmmscore.errors import FileProblem, ImageProblem, LedgerError, LmmscoreError
from lmmscore.images import Pictures
from lmmscore.ledger import Ledger
from lmmscore.records import OVERALL, Item, Outcome
from lmmscore.report.conversation import PlayedTurn, Talk, with_scores_marked
from lmmscore.report.grids import DisplayNames
from lmmscore.report.leaderboard import display_names
from lmmscore.run_folder import ExchangeRecord, Manifest, Run, SessionRecord
from lmmscore.scores import read_scores
from lmmscore.session import Session, slots_for
from lmmscore.templates import fill, slots_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class ScoredEdit:
    """What is known of one method's edit of one item, over all repeats."""

    scores: dict[str, list[float]] = field(default_factory=dict)
    """By factor: the score of each repeat that gave one."""
    outcome: Outcome = Outcome.SCORED
    """The first that was not `scored`, if any."""
    reason: str = ""

    def mean(self, factor: str) -> float | None:
        """Return the mean over repeats, or None where no repeat gave a score."""
        known = self.scores.get(factor)
        return sum(known) / len(known) if known else None

    def spread(self, factor: str) -> float | None:
        """Return how far apart the repeats are; None with fewer than two."""
        known = self.scores.get(factor, [])
        return max(known) - min(known) if len(known) > 1 else None


@dataclass
class RunData:
    """One run, read once."""

    name: str
    run: Run
    images: Path | None = None
    """Where the benchmark's pictures are now, if not where they were."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Display names given for methods, over those of the benchmark."""

    @property
    def manifest(self) -> Manifest:
        """What was asked, and how the run ended."""
        return self.run.manifest

    @cached_property
    def names(self) -> DisplayNames:
        """What methods and task categories are called."""
        return display_names(self.manifest, self.renamed)

    @property
    def repeats(self) -> int:
        """How often each item was judged."""
        return self.manifest.repeats

    @cached_property
    def scales(self) -> dict[str, tuple[float, float]]:
        """Lowest and highest score of each factor, as far as the dialog says."""
        return self.manifest.scales()

    @cached_property
    def weights(self) -> dict[str, float] | None:
        """The weights of the run's own dialog."""
        return self.manifest.weights

    @cached_property
    def scores(self) -> pd.DataFrame:
        """The tidy table; of a run that is still going, the part that is written."""
        if self.run.is_of_pairs:
            # Pairs have no scores: what was read of them stands out in the judge's words.
            return read_scores(self.run.path / "scores.csv")
        path = self.run.path / "scores.csv"
        part = self.run.path / "scores.csv.part"
        if path.is_file() or not part.is_file():
            return self.run.scores()
        text = _whole_lines(part)
        if text.count("\n") < 2:
            raise FileProblem(
                f"{self.run.path}: this run has no scores yet; make the report again in a while"
            )
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "scores.csv"
            copy.write_text(text, encoding="utf-8")
            return read_scores(copy)

    @cached_property
    def sessions(self) -> list[SessionRecord]:
        """What is known of each session; nothing where the file was left behind."""
        return list(self.run.intact_records())

    @property
    def unfinished(self) -> str:
        """What to say of a run that did not end; nothing of one that did."""
        # A run that was stopped says so in its caution since format 2.
        told = self.manifest.format >= 2 and self.manifest.state != "running"
        if self.run.finished or told:
            return ""
        return f"This run is not finished ({self.run.progress()}): what follows is a part of it."

    @cached_property
    def methods(self) -> list[str]:
        """The methods, in the order of the benchmark."""
        seen = [str(name) for name in self.scores["method"].unique()]
        known = [name for name in self.manifest.methods if name in seen]
        return known + [name for name in seen if name not in known]

    @cached_property
    def factors(self) -> list[str]:
        """The factors as they occur in the table, the overall first."""
        seen = [str(name) for name in self.scores["factor"].unique()]
        return sorted(seen, key=lambda name: name != OVERALL)

    @property
    def main_factor(self) -> str:
        """What methods are ranked by: the overall, or the first factor where there is none."""
        return self.factors[0]

    @cached_property
    def items(self) -> list[tuple[str, str]]:
        """(item, task), in the order of the run."""
        pairs = self.scores[["item", "task"]].drop_duplicates()
        return [(str(item), str(task)) for item, task in pairs.itertuples(index=False)]

    @cached_property
    def edits(self) -> dict[tuple[str, str], ScoredEdit]:
        """By item and method."""
        found: dict[tuple[str, str], ScoredEdit] = {}
        columns = ("item", "method", "factor", "score", "outcome", "reason")
        # The overall decides what is said of an edit; the last factor where there is none.
        standing = OVERALL if OVERALL in self.factors else self.factors[-1]
        cells = (self.scores[name].tolist() for name in columns)
        for item, method, factor, score, outcome, reason in zip(*cells, strict=True):
            edit = found.setdefault((item, method), ScoredEdit())
            if outcome == Outcome.SCORED:
                edit.scores.setdefault(factor, []).append(score)
            elif factor == standing and edit.outcome == Outcome.SCORED:
                edit.outcome, edit.reason = Outcome(outcome), reason
        return found

    @cached_property
    def by_repeat(self) -> dict[tuple[str, str, int], dict[str, float]]:
        """By item, method and repeat: the scores there are."""
        found: dict[tuple[str, str, int], dict[str, float]] = {}
        scored = self.scores[self.scores["outcome"] == Outcome.SCORED]
        columns = ("item", "method", "repeat", "factor", "score")
        cells = (scored[name].tolist() for name in columns)
        for item, method, repeat, factor, score in zip(*cells, strict=True):
            found.setdefault((item, method, repeat), {})[factor] = score
        return found

    @cached_property
    def talks(self) -> list[Talk]:
        """Every conversation."""
        return list(self.conversations(self.sessions))

    def conversations(self, sessions: Iterable[SessionRecord]) -> Iterator[Talk]:
        """Yield the conversations of some sessions, with the replies the ledger has."""
        with contextlib.ExitStack() as stack:
            ledger: Ledger | None = None
            with contextlib.suppress(LedgerError):
                ledger = stack.enter_context(Ledger(self.run.ledger_path, read_only=True))
            for record in sessions:
                yield self._talk(record, ledger)

    @cached_property
    def _dialogs(self) -> dict[str, Dialog]:
        return {dialog.name: dialog for dialog in self.manifest.protocol.dialogs}

    @cached_property
    def _images_root(self) -> Path:
        return self.images or self.run.find_pictures() or Path()

    @cached_property
    def _as_judged(self) -> dict[str, bool]:
        """For every picture on record: whether the file that is there now is what the judge saw."""
        try:
            with Ledger(self.run.ledger_path, read_only=True) as ledger:
                recorded = self.run.shown_digests(ledger)
            pictures = Pictures(self.manifest.recipe)
        except LmmscoreError:
            return {}

        def same(name: str) -> bool | None:
            try:
                return pictures.get(self._images_root / name).digest in recorded[name]
            except ImageProblem:
                return None

        with ThreadPoolExecutor() as pool:
            found = dict(zip(recorded, pool.map(same, recorded), strict=True))
        return {name: state for name, state in found.items() if state is not None}

    @property
    def changed_pictures(self) -> list[str]:
        """The pictures that were exchanged since the judge saw them."""
        return [name for name, same in self._as_judged.items() if not same]

    def _picture(self, name: str) -> Path:
        """Return a picture's file: only what the judge was shown, or what lies where the user says.

        A run that was received could name any file of this machine; it cannot know its digest.
        """
        path = self._images_root / name
        listed = self.images is not None or path.resolve() in self._benchmark_files
        return path if self._as_judged.get(name, listed) else Path("not shown") / name

    @cached_property
    def _benchmark_files(self) -> set[Path]:
        """The pictures that the benchmark lists, shown to the judge or not."""
        items = self.benchmark_items.values()
        return {path.resolve() for item in items for path in item.images.values()}

    def _talk(self, record: SessionRecord, ledger: Ledger | None) -> Talk:
        dialog = self._dialogs.get(record.dialog)
        turns = [self._turn(exchange, ledger) for exchange in record.exchanges]
        return Talk(
            item=record.item,
            task=record.task,
            instruction=record.instruction,
            repeat=record.repeat,
            dialog=record.dialog,
            covers=dialog.covers if dialog else "item",
            order=tuple(record.order),
            system=self._system(dialog, record) if dialog else "",
            turns=tuple(with_scores_marked(turns, dialog, len(record.order))),
            faults=tuple(record.faults),
            failure=record.failure,
            stated={int(position): value for position, value in record.stated.items()},
            slips={position: (exact, said) for position, exact, said in record.slips},
            images={kind: self._picture(path) for kind, path in record.images.items()},
        )

    def _turn(self, exchange: ExchangeRecord, ledger: Ledger | None) -> PlayedTurn:
        return PlayedTurn(
            name=exchange.turn,
            position=exchange.position,
            repair=exchange.repair,
            aside=exchange.aside,
            key=exchange.key,
            images=tuple((kind, self._picture(path)) for kind, path in exchange.images),
            entry=ledger.entry(exchange.key) if ledger else None,
        )

    def _system(self, dialog: Dialog, record: SessionRecord) -> str:
        """Return the system message as it was said."""
        if not dialog.system:
            return ""
        item = Item(record.item, record.task, record.instruction, {}, {})
        chosen = self.manifest.settings
        settings = {name: choice for name, choice in chosen.items() if name in dialog.settings}
        session = Session(dialog, item, record.repeat, tuple(record.order), settings)
        slots = slots_for(session)
        # Further columns of the items file are not on record: their slots are shown as slots.
        unknown = {
            name: "{{" + name + "}}" for name in slots_of(dialog.system) if name not in slots
        }
        return fill(dialog.system, slots | unknown, f"dialog {dialog.name}, system")

    @property
    def apart(self) -> bool:
        """Whether each edit has a conversation of its own, so that none came before another."""
        return bool(self.talks) and all(talk.covers == "edit" for talk in self.talks)

    @cached_property
    def benchmark_items(self) -> Mapping[str, Item]:
        """The benchmark's items as they are now; none where it is gone."""
        with contextlib.suppress(LmmscoreError, OSError):
            file = self.run.find_benchmark()
            if file is not None:
                return {item.id: item for item in load_benchmark(file).items}
        return {}

    def title(self, factor: str) -> str:
        """Return a factor's name in words."""
        for known in self.manifest.factors:
            if known.key == factor:
                return known.name or factor
        return "Overall" if factor == OVERALL else factor


def _whole_lines(path: Path) -> str:
    """Return a file that is being written, up to the last line that is complete."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return text[: text.rfind("\n") + 1]
