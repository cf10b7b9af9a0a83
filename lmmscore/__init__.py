"""Benchmark image-editing methods with a multimodal judge, as a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from lmmscore.agreement import agree
    from lmmscore.api import run
    from lmmscore.leaderboard import rank
    from lmmscore.report.leaderboard import render
    from lmmscore.run_folder import Run, open_run

_WHERE = {
    "run": "lmmscore.api",
    "open_run": "lmmscore.run_folder",
    "Run": "lmmscore.run_folder",
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
