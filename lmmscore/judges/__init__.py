"""The judges at hand, each in its own file; named by one string."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmmscore.errors import LmmscoreError, nearest
from lmmscore.judges.base import Judge
from lmmscore.judges.options import mask
from lmmscore.ledger import Ledger

KINDS = ("pixels", "openai/", "replay:")


@dataclass(frozen=True, slots=True)
class Bench:
    """The judge that is asked, and a ledger of earlier answers to look in first."""

    judge: Judge
    answers: Ledger | None = None


def open_judge(spec: str | Judge, options: Mapping[str, Any] | None = None) -> Bench:
    """Return the judge a string names: `pixels`, `openai/MODEL[@URL]`, `replay:PATH`, or a name of judges.yaml."""
    if not isinstance(spec, str):
        return Bench(spec)
    if spec == "pixels":
        from lmmscore.judges.pixels import Pixels

        return Bench(Pixels())
    if spec.startswith("replay:"):
        from lmmscore.judges.replay import open_replay

        return open_replay(Path(spec.removeprefix("replay:")))
    from lmmscore.judges.judge_files import judge_named

    judge = judge_named(spec, options or {})
    if judge is not None:
        return Bench(judge)
    raise LmmscoreError(
        f"no judge {mask(spec)!r}{nearest(spec, ['pixels', 'openai', 'replay'])}; a judge is pixels, openai/MODEL, "
        "openai/MODEL@http://127.0.0.1:8000/v1, replay:PATH, or a name from judges.yaml"
    )
