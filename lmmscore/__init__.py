"""Benchmark image-editing methods with a multimodal judge, as a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from lmmscore.agreement import agree
    from lmmscore.interactive import run
    from lmmscore.leaderboard import rank
    from lmmscore.report.leaderboard import render
    from lmmscore.runs import Run, open_run

_WHERE = {
    "run": "lmmscore.interactive",
    "open_run": "lmmscore.runs",
    "Run": "lmmscore.runs",
    "rank": "lmmscore.leaderboard",
    "agree": "lmmscore.agreement",
    "render": "lmmscore.report.leaderboard",
}

__all__ = ["Run", "__version__", "agree", "open_run", "rank", "render", "run"]


def __getattr__(name: str) -> Any:
    # Imported when first used: `lmmscore --help` should cost little more than Python itself.
    if name in _WHERE:
        from importlib import import_module

        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'lmmscore' has no attribute {name!r}")
