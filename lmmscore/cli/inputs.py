"""What the ranking commands are given: run folders or score files, and what is known about them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmmscore.errors import LmmscoreError
from lmmscore.records import OVERALL

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Source:
    """The scores of one run, and its settings where they are on record."""

    name: str
    path: Path
    scores: pd.DataFrame
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def caution(self) -> str:
        """What the judge's own limits mean for these figures."""
        return str(self.settings.get("caution") or "")

    def sessions(self) -> Iterator[Mapping[str, Any]] | None:
        """Return the records of the sessions, one at a time; None where there are none."""
        file = self.path / "sessions.jsonl"
        return _records(file) if file.is_file() else None


def _records(file: Path) -> Iterator[Mapping[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                record = json.loads(line)
                if isinstance(record, dict):
                    yield record


def open_source(text: str) -> Source:
    """Open a run folder, or a scores.csv by itself; its run.yaml counts if it stands beside it."""
    from lmmscore.runs import open_run
    from lmmscore.scores import read_scores

    path = Path(text)
    if path.is_dir():
        run = open_run(path)
        return Source(path.resolve().name, path, run.scores(), run.settings)
    scores = read_scores(path)
    if (path.parent / "run.yaml").is_file():
        return Source(path.resolve().parent.name, path.parent, scores, open_run(path.parent).settings)
    return Source(path.stem, path, scores)


def open_sources(texts: Sequence[str]) -> list[Source]:
    """Open several, each under a name of its own; raise for the same one twice."""
    sources: list[Source] = []
    for text in texts:
        source = open_source(text)
        if any(source.path.resolve() == other.path.resolve() for other in sources):
            raise LmmscoreError(f"{text} is given twice; name each run once")
        sources.append(source)
    names = [source.name for source in sources]
    return [
        source
        if names.count(source.name) == 1
        else Source(text.rstrip("/"), source.path, source.scores, source.settings)
        for source, text in zip(sources, texts, strict=True)
    ]


def cautions(sources: Sequence[Source]) -> str:
    """Return every caution the runs carry, once each."""
    return " ".join(dict.fromkeys(source.caution for source in sources if source.caution))


def scales_of(
    settings: Mapping[str, Any], weights: Mapping[str, float] | None
) -> dict[str, tuple[float, float]]:
    """Return the lowest and highest score of each factor and of the overall, as the dialog has them."""
    ends: dict[str, tuple[float, float]] = {}
    for factor in settings.get("factors") or ():
        values = [float(value) for value in factor.get("values") or ()]
        low = min(values) if values else factor.get("min")
        high = max(values) if values else factor.get("max")
        if low is not None and high is not None:
            ends[str(factor["key"])] = (float(low), float(high))
    shares = weights or {str(f["key"]): float(f.get("weight") or 0) for f in settings.get("factors") or ()}
    shares = shares if sum(shares.values()) > 0 else dict.fromkeys(ends, 1.0)
    if ends and all(name in ends for name, share in shares.items() if share):
        # Means of any kind lie between those of the lowest and of the highest scores.
        total = sum(shares.values())
        low, high = (sum(shares[n] * ends[n][side] for n in shares if shares[n]) / total for side in (0, 1))
        ends[OVERALL] = (low, high)
    return ends


def weights_of(settings: Mapping[str, Any]) -> dict[str, float] | None:
    """Return the weights of the run's own dialog; None where it has none."""
    found = {str(f["key"]): float(f.get("weight") or 0) for f in settings.get("factors") or ()}
    return found if sum(found.values()) > 0 else None


def parse_scale(text: str) -> tuple[float, float]:
    """Read `1,10`; raise for anything else."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise LmmscoreError(
            f"--scale: cannot read {text!r}; write the lowest and highest score, as 1,10"
        ) from None
    if not low < high:
        raise LmmscoreError(f"--scale: {low:g} is not below {high:g}")
    return low, high
