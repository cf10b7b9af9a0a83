"""The gallery's data: every item with its pictures, its edits and their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmmscore.report.conversation import Talk
from lmmscore.report.page.album import Album
from lmmscore.report.page.judged import Edit, Judged
from lmmscore.report.page.names import slug, turn_id

KINDS = ("source", "reference", "marked")
Gaps = Mapping[tuple[str, str, str], tuple[float, float]]
"""By item, method and factor: people's mean rating, and how far the judge's place is above theirs."""


def gallery(
    judged: Judged, album: Album, prefix: str, talk_ids: Sequence[str], gaps: Gaps
) -> list[dict[str, Any]]:
    """Return the items in the order of the run."""
    by_item: dict[str, list[int]] = {}
    for number, talk in enumerate(judged.talks):
        by_item.setdefault(talk.item, []).append(number)
    return [
        _item(
            judged,
            album,
            prefix,
            item,
            task,
            [(talk_ids[k], judged.talks[k]) for k in by_item.get(item, [])],
            gaps,
        )
        for item, task in judged.items
    ]


def _item(
    judged: Judged,
    album: Album,
    prefix: str,
    item: str,
    task: str,
    talks: list[tuple[str, Talk]],
    gaps: Gaps,
) -> dict[str, Any]:
    seen = _seen(talks)
    # The benchmark is only looked into for what no conversation shows: it may have moved, and it may be large.
    known = None if talks and len(seen) == len(judged.methods) else judged.benchmark_items.get(item)
    images = talks[0][1].images if talks else known.images if known else {}
    paths = dict(known.edits) if known else {}
    edits = []
    for number, method in enumerate(judged.methods):
        if (item, method) in judged.edits:
            shown = seen.get(method, [])
            path = shown[0][0] if shown else paths.get(method)
            data = _edit(judged.edits[item, method], judged.factors, _gaps(gaps, item, method))
            picture = None if path is None else album.add(path)
            edits.append(
                {
                    "method": number,
                    "picture": picture,
                    "seen": [place for _, place in shown],
                    **data,
                }
            )
    return {
        "id": item,
        "slug": "-".join(part for part in (prefix, slug(item)) if part),
        "task": task,
        "instruction": talks[0][1].instruction if talks else known.instruction if known else "",
        "pictures": [[kind, album.add(images[kind])] for kind in KINDS if kind in images],
        "edits": edits,
        "talks": [talk_id for talk_id, _ in talks],
    }


def _seen(talks: Sequence[tuple[str, Talk]]) -> dict[str, list[tuple[Path, list[Any]]]]:
    """Return, by method, every picture of its edit the judge saw, with repeat, position and the turn's name."""
    found: dict[str, list[tuple[Path, list[Any]]]] = {}
    for name, talk in talks:
        for turn in talk.turns:
            for kind, path in turn.images:
                if kind == "edit":
                    place = [talk.repeat, turn.position or 1, turn_id(name, turn)]
                    found.setdefault(talk.method_at(turn.position or 1), []).append((path, place))
    return found


def _gaps(gaps: Gaps, item: str, method: str) -> Mapping[str, tuple[float, float]]:
    # Ratings of a single method may name none.
    return {
        factor: gaps.get((item, method, factor)) or gaps[item, "", factor]
        for factor in {key[2] for key in gaps}
        if (item, method, factor) in gaps or (item, "", factor) in gaps
    }


def _edit(
    edit: Edit, factors: Sequence[str], gaps: Mapping[str, tuple[float, float]]
) -> dict[str, Any]:
    data: dict[str, Any] = {
        "scores": [_short(edit.mean(factor)) for factor in factors],
        "outcome": str(edit.outcome),
    }
    if edit.reason:
        data["reason"] = edit.reason
    spreads = [_short(edit.spread(factor)) for factor in factors]
    if any(value is not None for value in spreads):
        data["spread"] = spreads
    if gaps:
        data["people"] = [_short(gaps[factor][0]) if factor in gaps else None for factor in factors]
        data["gap"] = [_short(gaps[factor][1]) if factor in gaps else None for factor in factors]
    return data


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
