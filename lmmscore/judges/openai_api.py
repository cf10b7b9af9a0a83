"""A judge behind any OpenAI-compatible API."""

from __future__ import annotations

from lmmscore.judges.base import Judge
from lmmscore.judges.options import OpenAIOptions

__all__ = ["OpenAIOptions", "make"]


def make(spec: str, *, options: OpenAIOptions | None = None) -> Judge:
    """Return the judge named `openai/SPEC`, where SPEC is `MODEL[@BASE_URL]`."""
    raise NotImplementedError(spec, options)
