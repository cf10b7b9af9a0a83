"""Judges: each kind in a file of its own that registers itself; named by one string."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lmmscore.judges.judge import Bench, Judge, JudgeBase, open_judge, register

__all__ = ["Bench", "Judge", "JudgeBase", "open_judge", "register"]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: options are read without loading a judge."""
    if name in __all__:
        return getattr(import_module("lmmscore.judges.judge"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
