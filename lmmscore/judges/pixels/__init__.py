"""The embedded judge: a baseline that measures pixels, offline. It cannot read, and says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lmmscore.judges.judge import Judge, register


@register("pixels", form="pixels", answers_here=True, takes=())
def open_pixels(_spec: str, _options: Mapping[str, Any]) -> Judge:
    """Return the judge that measures; it has no options."""
    from lmmscore.judges.pixels.baseline import Pixels

    return Pixels()
