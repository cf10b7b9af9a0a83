"""Everything the page shows, as plain data, run by run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lmmscore.agreement import Agreement
from lmmscore.dialog import task_title
from lmmscore.leaderboard import Leaderboard
from lmmscore.leaderboard.compare import compare
from lmmscore.leaderboard.diagnostics import Extras, extras
from lmmscore.records import OVERALL
from lmmscore.report import extra_grids
from lmmscore.report.agreement_grids import agreement_grids
from lmmscore.report.grids import Grid
from lmmscore.report.page import people, summary
from lmmscore.report.page.album import Album
from lmmscore.report.page.boards import Board, boards, copies, ranked
from lmmscore.report.page.dialogue import BUNDLE, Words, bundles, dialogue, label, talk_ids
from lmmscore.report.page.gallery import gallery
from lmmscore.report.page.judged import Judged
from lmmscore.report.page.making import making
from lmmscore.report.page.names import slug


@dataclass(frozen=True)
class RunView:
    """One run, as the page shows it."""

    name: str
    prefix: str
    caution: str
    facts: list[tuple[str, str]]
    shares: list[summary.Share]
    cautions: list[str]
    boards: list[Board]
    notes: tuple[str, ...]
    behind: list[Grid]
    """Position, repeats, sensitivity, habits."""
    making: list[tuple[str, str]]
    items: list[dict[str, Any]]
    talks: list[dict[str, Any]]
    data: dict[str, Any]
    """What the page's code must know of the run."""


@dataclass(frozen=True)
class Plots:
    """The agreement plots of one judge."""

    judge: str
    scatters: list[people.Plot]
    bland_altmans: list[people.Plot]
    maps: list[people.HeatMap]


@dataclass(frozen=True)
class Gathered:
    """The page before it is written."""

    title: str
    views: list[RunView]
    copies: dict[str, dict[str, str]]
    compared: list[Grid]
    agreement: list[Grid]
    agreement_notes: list[str]
    plots: list[Plots]
    words: list[str]
    bundles: list[list[dict[str, Any]]] = field(default_factory=list)
    talk_list: list[dict[str, Any]] = field(default_factory=list)


def gather(
    runs: Sequence[Judged], album: Album, agreement: Agreement | None, renames: Mapping[str, str]
) -> Gathered:
    """Return everything that is to be shown of these runs."""
    words = Words()
    texts: dict[str, dict[str, str]] = {}
    found: list[Leaderboard] = []
    views: list[RunView] = []
    for number, judged in enumerate(runs):
        board = ranked(judged)
        found.append(board)
        view = _view(
            judged, board, album, words, slug(judged.name) if number else "", agreement, renames
        )
        texts |= copies(board, view.boards)
        views.append(view)
    return Gathered(
        title=" and ".join(
            dict.fromkeys(str(judged.settings.get("benchmark") or judged.name) for judged in runs)
        ),
        views=views,
        copies=texts,
        compared=_compared(runs, found),
        agreement=agreement_grids(agreement) if agreement else [],
        agreement_notes=_agreement_notes(agreement) if agreement else [],
        plots=_plots(agreement) if agreement else [],
        words=list(words.texts),
        bundles=bundles([talk for view in views for talk in view.talks]),
        talk_list=_talk_list(views),
    )


def _view(
    judged: Judged,
    board: Leaderboard,
    album: Album,
    words: Words,
    prefix: str,
    agreement: Agreement | None,
    renames: Mapping[str, str],
) -> RunView:
    ids = talk_ids(judged, prefix)
    original = {new: old for old, new in renames.items() if old in judged.factors}
    apart = people.gaps(agreement, judged.name, original) if agreement else {}
    further = _extras(judged, board)
    shown = boards(judged, board, prefix)
    return RunView(
        name=judged.name,
        prefix=prefix,
        caution=str(judged.settings.get("caution") or ""),
        facts=summary.facts(judged),
        shares=summary.coverage(judged),
        cautions=summary.cautions(judged, board, further, agreement is not None),
        boards=shown,
        notes=board.notes,
        behind=_behind(judged, further),
        making=making(judged),
        items=gallery(judged, album, prefix, ids, apart),
        talks=dialogue(judged, ids, album, words),
        data=_data(judged, bool(apart)),
    )


def _extras(judged: Judged, board: Leaderboard) -> Extras:
    return extras(
        judged.scores,
        factor=board.tables[0].factor,
        weights=judged.weights,
        sessions=judged.sessions or None,
        level=0.95,
        seed=0,
    )


def _behind(judged: Judged, found: Extras) -> list[Grid]:
    grids = [extra_grids.position_grid(found.position, 2)]
    if found.repeats and int(judged.settings.get("repeats") or 1) > 1:
        grids.append(extra_grids.repeat_grid(found.repeats, 2))
    if found.sensitivity is not None:
        grids.append(extra_grids.sensitivity_grid(found.sensitivity))
    asks = bool(judged.settings.get("avoid_ties"))
    return [*grids, extra_grids.habit_grid(found.habits, asks_to_avoid_ties=asks)]


def _data(judged: Judged, has_people: bool) -> dict[str, Any]:
    tasks = dict.fromkeys(task for _, task in judged.items)
    return {
        "name": judged.name,
        "methods": judged.methods,
        "factors": [
            {"key": key, "title": judged.title(key), "scale": judged.scales.get(key)}
            for key in judged.factors
        ],
        "overall": OVERALL if OVERALL in judged.factors else "",
        "tasks": [{"key": task, "title": task_title(task) or "(no category)"} for task in tasks],
        "outcomes": sorted({str(edit.outcome) for edit in judged.edits.values()}),
        "about": "edit" if judged.apart else "item",
        "people": has_people,
        "repeats": int(judged.settings.get("repeats") or 1),
    }


def _talk_list(views: Sequence[RunView]) -> list[dict[str, Any]]:
    """Return every conversation by name, with the bundle it lies in, in the order of the bundles."""
    found: list[dict[str, Any]] = []
    for number, view in enumerate(views):
        several = len({talk["dialog"] for talk in view.talks}) > 1
        for talk in view.talks:
            said = label(talk, several, view.data["methods"])
            bundle = len(found) // BUNDLE
            found.append(
                {
                    "id": talk["id"],
                    "item": talk["item"],
                    "label": said,
                    "run": number,
                    "bundle": bundle,
                }
            )
    return found


def _compared(runs: Sequence[Judged], found: Sequence[Leaderboard]) -> list[Grid]:
    if len(runs) < 2:
        return []
    names = [judged.name for judged in runs]
    scores, settings = [judged.scores for judged in runs], [judged.settings for judged in runs]
    factor = (
        OVERALL if all(OVERALL in judged.factors for judged in runs) else found[0].tables[0].factor
    )
    of_it = [
        replace(board, tables=tuple(t for t in board.tables if t.factor == factor))
        for board in found
    ]
    return extra_grids.comparison_grids(compare(names, of_it, scores, settings, factor=factor), 2)


def _agreement_notes(agreement: Agreement) -> list[str]:
    drawn, seed = agreement.settings["resamples"], agreement.settings["seed"]
    return [
        f"95% intervals: {drawn:,} bootstrap resamples of items, seed {seed}.",
        *agreement.notes,
    ]


def _plots(agreement: Agreement) -> list[Plots]:
    return [
        Plots(
            judge,
            people.scatters(agreement, judge),
            people.bland_altmans(agreement, judge),
            people.factor_maps(agreement, judge),
        )
        for judge in agreement.judges
    ]
