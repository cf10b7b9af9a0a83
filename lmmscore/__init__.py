"""Benchmark image-editing methods with a multimodal judge, as a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lmmscore.resources import __version__

if TYPE_CHECKING:
    from lmmscore.api import run
    from lmmscore.report.leaderboard import render
    from lmmscore.results import agree, open_run, rank, read_ratings
    from lmmscore.run_folder import Run

_WHERE = {
    "run": "lmmscore.api",
    "open_run": "lmmscore.results",
    "Run": "lmmscore.run_folder",
    "rank": "lmmscore.results",
    "agree": "lmmscore.results",
    "read_ratings": "lmmscore.results",
    "render": "lmmscore.report.leaderboard",
}

__all__ = ["Run", "__version__", "agree", "open_run", "rank", "read_ratings", "render", "run"]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    # Imported when first used: `lmmscore --help` should cost little more than Python itself.
    if name in _WHERE:
        from importlib import import_module

        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'lmmscore' has no attribute {name!r}")
