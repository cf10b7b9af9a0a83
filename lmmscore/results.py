"""Runs, leaderboards and agreements for programs and notebooks.

The same values as everywhere else, with what only their reader needs: a table when printed, LaTeX
and Markdown, a report, pictures in a notebook.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from lmmscore.agreement import Agreement
from lmmscore.agreement import agree as compare_with_people
from lmmscore.errors import LmmscoreError, alternatives, nearest
from lmmscore.images import thumbnail
from lmmscore.leaderboard import Leaderboard
from lmmscore.leaderboard import rank as rank_scores
from lmmscore.report.agreement_grids import render as render_agreement
from lmmscore.report.formats import DisplayNames, number
from lmmscore.report.leaderboard import display_names, render
from lmmscore.report.run_data import RunData
from lmmscore.run_folder import Run
from lmmscore.run_folder import open_run as open_folder
from lmmscore.score_files import Columns, HumanRatings
from lmmscore.scores import read_scores
from lmmscore.web.rating_results import read_human_ratings

if TYPE_CHECKING:
    from lmmscore.report.figures import PlotImage

PathLike = str | Path
JudgeScores = pd.DataFrame | Run | str | Path
"""A table of scores, a run, or the path of either."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class RankedBoard(Leaderboard):
    """A leaderboard that prints as a table and converts to what a paper needs."""

    names: DisplayNames = field(default_factory=DisplayNames)
    """What tables call the methods and task categories."""

    def __str__(self) -> str:
        return render(self, "term", names=self.names)

    def to_latex(self, **options: Any) -> str:
        """Return the tables for a paper; options as `lmmscore.render` takes them."""
        return render(self, "tex", **{"names": self.names, **options})

    def to_markdown(self, **options: Any) -> str:
        """Return the tables as Markdown."""
        return render(self, "md", **{"names": self.names, **options})

    def to_csv(self, **options: Any) -> str:
        """Return one line per table and method, at full precision."""
        return render(self, "csv", **options)


class JudgeAgreement(Agreement):
    """An agreement that prints as tables, converts and plots."""

    __slots__ = ()

    def __str__(self) -> str:
        return render_agreement(self, "term")

    def to_latex(self) -> str:
        """Return the tables as LaTeX."""
        return render_agreement(self, "tex")

    def to_markdown(self) -> str:
        """Return the tables as Markdown."""
        return render_agreement(self, "md")

    def plot(self, kind: str = "scatter", *, judge: str = "", width_in: float = 6.75) -> PlotImage:
        """Return a figure of one judge: `scatter`, `bland-altman` or `factors`."""
        from lmmscore.report.figures import PlotImage, agreement_drawings, drawn

        wanted = f"{judge or self.judges[0]}-{kind}"
        drawings = {drawing.name: drawing for drawing in agreement_drawings(self, {})}
        if wanted not in drawings:
            raise LmmscoreError(f"no figure {wanted!r}{alternatives(wanted, drawings)}")

        return PlotImage(drawn(drawings[wanted], width_in))


class RunResult(Run):
    """A run that can be ranked, looked at and reported."""

    def leaderboard(self, **options: Any) -> RankedBoard:
        """Rank the methods; options as `lmmscore.rank` takes them."""
        board = super().leaderboard(**options)
        return _become(RankedBoard, board, names=display_names(self.manifest))

    def report(self, out: PathLike | None = None, **options: Any) -> Path:
        """Write the page about this run and return its file.

        Options are `full_images`, `assets`, `thumb_px` and `agreement`.
        """
        from lmmscore.report.page import PageOptions, write_page

        page = self.path / "report.html" if out is None else Path(out)
        data = RunData(self.path.resolve().name, self)
        return write_page([data], PageOptions(out=page, **options))

    def item(self, name: str) -> ItemView:
        """Return one item with all its edits, as a notebook shows it."""
        data = RunData(self.path.resolve().name, self)
        known = [item for item, _ in data.items]
        if name not in known:
            raise LmmscoreError(f"no item {name!r} in this run{nearest(name, known)}")
        return ItemView(data, name)


@dataclass(frozen=True)
class ItemView:
    """An item's pictures and scores; a notebook shows them side by side."""

    data: RunData
    name: str

    def __repr__(self) -> str:
        lines = [f"{method}: {score}" for method, score, _ in self._edits()]
        return "\n".join([self.name, *lines])

    def _edits(self) -> list[tuple[str, str, Path | None]]:
        paths = self._paths()
        found = []
        for method in self.data.methods:
            edit = self.data.edits.get((self.name, method))
            mean = edit.mean(self.data.main_factor) if edit else None
            found.append((self.data.names.method(method), number(mean, 2), paths.get(method)))

        return found

    def _paths(self) -> dict[str, Path]:
        """Return the files of the source and of every method's edit."""
        paths: dict[str, Path] = {}
        talks = [talk for talk in self.data.talks if talk.item == self.name]
        for talk in talks:
            if "source" in talk.images:
                paths["source"] = talk.images["source"]

            for turn in talk.turns:
                shown = dict(turn.images)
                if "edit" in shown:
                    paths[talk.method_at(turn.position or 1)] = shown["edit"]

        return paths

    def _repr_html_(self) -> str:
        source = self._paths().get("source")
        pictures = [("source", "", source), *self._edits()] if source else self._edits()
        figures = [_figure(label, score, path) for label, score, path in pictures]
        return f'<div style="display:flex;flex-wrap:wrap;gap:12px">{"".join(figures)}</div>'


def _figure(label: str, score: str, path: Path | None) -> str:
    words = html.escape(f"{label} {score}".strip())
    if path is None or not path.is_file():
        return f"<figure>{words}: no picture</figure>"
    data = base64.b64encode(thumbnail(path, 220)).decode()
    image = f'<img src="data:image/webp;base64,{data}" alt="{words}" width="170">'
    return f'<figure style="margin:0">{image}<figcaption>{words}</figcaption></figure>'


def _become(kind: type[Value], value: Any, **changes: Any) -> Value:
    """Return the value as an instance of a subclass, with changes to its fields."""
    own = {each.name: getattr(value, each.name) for each in fields(value)}
    return kind(**{**own, **changes})


def open_run(path: PathLike) -> RunResult:
    """Return the run in a folder. Raises FileProblem where there is none."""
    return RunResult(open_folder(path).path)


def rank(scores: pd.DataFrame | PathLike, **options: Any) -> RankedBoard:
    """Rank the methods of a table of scores, or of the file that holds one.

    Options: `task`, `factor`, `weights`, `missing`, `average`, `scales`, `caution`, `level`,
    `resamples` and `seed`, as `lmmscore.leaderboard.rank` describes them.
    """
    table = scores if isinstance(scores, pd.DataFrame) else read_scores(Path(scores))
    return _become(RankedBoard, rank_scores(table, **options))


def read_ratings(*paths: PathLike, **columns: Any) -> pd.DataFrame:
    """Return human ratings as one tidy table: item, method, rater, factor, score.

    A file of a rating study, or its folder, will do: its checks are not ratings. `columns` gives
    the names of columns that differ: `item="image"`, `rater="who"`.
    """
    return read_human_ratings(paths, Columns(**columns)).table


def agree(
    judges: JudgeScores | Sequence[JudgeScores] | Mapping[str, JudgeScores],
    ratings: pd.DataFrame | PathLike | Sequence[PathLike],
    **options: Any,
) -> JudgeAgreement:
    """Compare judges with human ratings.

    A judge is a run, the path of a run or scores.csv, or a table of scores; several are given as a
    list, or by name. `ratings` is a table, or the file or files that hold one. Options: `renames`,
    `factors`, `scales`, `scale`, `weights`, `resamples`, `seed`, as
    `lmmscore.agreement.agree` describes them.
    """
    tables: dict[str, pd.DataFrame] = {}
    runs: dict[str, Run] = {}
    for name, judge in _named_judges(judges).items():
        opened = _opened(judge)
        if isinstance(opened, Run):
            runs[name] = opened
            opened = opened.scores()

        tables[name] = opened

    # What each run has on record of its own; a bare table has nothing.
    known = {
        "scales": {name: run.manifest.scales() for name, run in runs.items()},
        "weights": {name: run.manifest.weights for name, run in runs.items()},
        "lower_better": {name: run.manifest.lower_better for name, run in runs.items()},
        "names": {name: run.manifest.factor_names for name, run in runs.items()},
    }
    human = _human(ratings)
    found = compare_with_people(tables, human.table, **{**known, "scale": human.scale, **options})
    return _become(JudgeAgreement, found.with_notes(human.notes))


def _human(ratings: pd.DataFrame | PathLike | Sequence[PathLike]) -> HumanRatings:
    if isinstance(ratings, pd.DataFrame):
        return HumanRatings(ratings)
    return read_human_ratings([ratings] if isinstance(ratings, str | Path) else ratings, Columns())


def _named_judges(
    judges: JudgeScores | Sequence[JudgeScores] | Mapping[str, JudgeScores],
) -> dict[str, JudgeScores]:
    if isinstance(judges, Mapping):
        return dict(judges)

    several = [judges] if isinstance(judges, JudgeScores) else list(judges)
    named: dict[str, JudgeScores] = {}
    for k, judge in enumerate(several, 1):
        name = _name_of(judge) or f"judge {k}"
        if name in named:
            raise LmmscoreError(f"two judges are called {name!r}; give them by name, in a dict")
        named[name] = judge

    return named


def _name_of(judge: JudgeScores) -> str:
    if isinstance(judge, Run):
        return judge.path.resolve().name
    return "" if isinstance(judge, pd.DataFrame) else Path(judge).resolve().stem


def _opened(judge: JudgeScores) -> Run | pd.DataFrame:
    if isinstance(judge, Run | pd.DataFrame):
        return judge
    path = Path(judge)
    return open_folder(path) if path.is_dir() else read_scores(path)
