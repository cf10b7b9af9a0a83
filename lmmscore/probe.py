"""Can a judge be steered? Some edits are judged again with changes that should not matter."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lmmscore.api import run
from lmmscore.benchmark import Benchmark, load_benchmark
from lmmscore.errors import BenchmarkError, counted
from lmmscore.images import load_rgb
from lmmscore.judges.judge import Judge
from lmmscore.judges.trials import ALTERATIONS
from lmmscore.records import OVERALL, Item
from lmmscore.stats.resampling import mean_limits

if TYPE_CHECKING:
    import pandas as pd

AGAIN = "again"


@dataclass(frozen=True, slots=True)
class Steered:
    """How far one change of the picture moved the score of an edit, over items."""

    alteration: str
    done: str
    factor: str
    change: float | None
    """Mean score of the altered edit minus that of the edit as it is; None where none was scored.
    """
    low: float | None
    high: float | None
    items: int
    unscored: int
    """Items on which the edit has no score, before or after."""

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self)


def probe(
    judge: str | Judge,
    benchmark: str | Path,
    *,
    items: int,
    out: Path,
    dialog: str | None = None,
    seed: int = 0,
    judge_options: Mapping[str, Any] | None = None,
    said: Callable[[str], None] = lambda _: None,
) -> list[Steered]:
    """Judge `items` items as they are, twice, and once with each change to one of their edits.

    The first line is the control: the same pictures asked again, which shows what the judge's own
    noise does. `out` gets a run for each, so that every reply can be looked up, and stopping and
    starting again costs nothing.
    """
    whole = load_benchmark(Path(benchmark))
    chosen = _chosen(whole, items, seed)
    common: dict[str, Any] = {
        "dialog": dialog,
        "judge": judge,
        "seed": seed,
        "order": "shuffled",
        "judge_options": judge_options,
        "progress": False,
    }
    said(f"{counted(len(chosen), 'item')} as they are, twice")
    folder = _copied(whole, chosen, out / "unaltered", None)
    plain = run(folder, out=out / "unaltered" / "run", repeats=2, **common).scores()
    first = _scores(plain[plain["repeat"] == 1], chosen)
    second = _scores(plain[plain["repeat"] == 2], chosen)
    found = list(_compared(AGAIN, "the same pictures asked again", first, second))
    for name, (done, _) in ALTERATIONS.items():
        said(f"one edit of each with {done}")
        folder = _copied(whole, chosen, out / name, name)
        altered = run(folder, out=out / name / "run", repeats=1, **common).scores()
        found += _compared(name, done, first, _scores(altered, chosen))

    return found


def _chosen(whole: Benchmark, items: int, seed: int) -> dict[str, str]:
    """Return the items to judge again, and which method's edit is altered in each."""
    usable = [item for item in whole.items if item.edits]
    if not usable:
        raise BenchmarkError(f"{whole.path}: no item has an edit to alter")

    rng = np.random.default_rng(seed)
    order = rng.permutation(len(usable))[:items]
    found = {}
    for turn, place in enumerate(order):
        item = usable[place]
        # Methods take turns: no change is tried on one method alone.
        methods = [method for method in whole.methods if method in item.edits]
        found[item.id] = methods[turn % len(methods)]

    return found


def _copied(whole: Benchmark, chosen: Mapping[str, str], folder: Path, name: str | None) -> Path:
    """Write the chosen items as a benchmark of their own, with one edit of each altered."""
    rows = []
    kinds: set[str] = set()
    for item in whole.items:
        if item.id not in chosen:
            continue

        row = {**item.fields, "id": item.id, "task": item.task, "instruction": item.instruction}
        rows.append(row)
        kinds |= set(item.images)
        _copy_pictures(item, folder, chosen[item.id], name)

    (folder / "items.jsonl").write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )
    images = {kind: f"{kind}/{{id}}.png" for kind in sorted(kinds)}
    images["edit"] = "edit/{method}/{id}.png"
    lines = [f"name: {json.dumps(whole.name)}", "items: items.jsonl"]
    lines.append(f"methods: {json.dumps(list(whole.methods), ensure_ascii=False)}")
    lines.append(f"images: {json.dumps(images)}")
    path = folder / "benchmark.yaml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _copy_pictures(item: Item, folder: Path, method: str, name: str | None) -> None:
    """Copy an item's pictures; `name` says how the edit of `method` is altered, None not at all."""
    named = {f"{kind}/{item.id}.png": (path, False) for kind, path in item.images.items()}
    for other, path in item.edits.items():
        named[f"edit/{other}/{item.id}.png"] = (path, other == method and name is not None)

    for place, (path, altered) in named.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        picture = load_rgb(path)
        if altered and name is not None:
            picture = ALTERATIONS[name][1](picture)

        picture.save(target)


def _scores(table: pd.DataFrame, chosen: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Return by factor and item the score of the edit that is altered; NaN where it has none."""
    found: dict[str, dict[str, float]] = {}
    for row in table.to_dict("records"):
        if chosen.get(str(row["item"])) == row["method"]:
            found.setdefault(str(row["factor"]), {})[str(row["item"])] = float(row["score"])
    return found


def _compared(
    name: str,
    done: str,
    before: Mapping[str, Mapping[str, float]],
    after: Mapping[str, Mapping[str, float]],
) -> Iterable[Steered]:
    """Yield the mean change of every factor, the overall first."""
    for factor in sorted(before, key=lambda one: one != OVERALL):
        changed = after.get(factor, {})
        gaps = np.array(
            [changed.get(item, np.nan) - score for item, score in before[factor].items()]
        )
        known = gaps[np.isfinite(gaps)]
        limits = mean_limits(gaps, None, level=0.95) or (None, None)
        mean = float(known.mean()) if len(known) else None
        yield Steered(
            name, done, factor, mean, limits[0], limits[1], len(known), len(gaps) - len(known)
        )
