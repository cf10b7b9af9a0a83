"""What every judge is: something that can answer a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from lmmscore.conversation import Conversation
from lmmscore.records import Reply


class Judge(Protocol):
    """Anything that can answer a conversation."""

    @property
    def name(self) -> str:
        """Who answers, as it stands in keys and tables: `pixels`, `openai/MODEL`. Never holds a secret."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Whatever else changes the answers (temperature, seed, …), as plain JSON. Part of every key."""

    @property
    def caution(self) -> str:
        """What every table with this judge's scores must say of it; empty for most judges."""

    async def ask(self, conversation: Conversation) -> Reply:
        """Answer the last message. Raises JudgeError when there is no answer; never returns a made-up one."""

    async def close(self) -> None:
        """Let go of connections."""
