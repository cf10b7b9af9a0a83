"""Structured log lines: `event=retry attempt=2 wait_s=1.5`. Never a key, never the bytes of a picture."""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("lmmscore.judges")


def log(level: int, event: str, **fields: object) -> None:
    """Write one line of key=value pairs; a field that is None or empty is left out."""
    if LOGGER.isEnabledFor(level):
        pairs = [
            f"{name}={_shown(value)}" for name, value in fields.items() if value not in (None, "")
        ]
        LOGGER.log(level, "%s", " ".join([f"event={event}", *pairs]))


def _shown(value: object) -> str:
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return repr(text) if any(mark in text for mark in " \n\t\"'=") else text
