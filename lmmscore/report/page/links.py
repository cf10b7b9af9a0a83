"""Names for links, made of what things are called, so that a link stays true."""

from __future__ import annotations

import hashlib
import re

from lmmscore.report.conversation import PlayedTurn, Talk

APART = "--"
"""Keeps the parts of a link apart: it occurs in no part."""


def slug(text: str) -> str:
    """Return a name fit for a link. Different texts get different names."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-")
    if plain == text:
        return plain
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:6]
    return f"{plain[:40].rstrip('-')}-{digest}".lstrip("-")


def talk_id(talk: Talk, run: str, several_dialogs: bool) -> str:
    """Return the name of a conversation: item, repeat, and what tells it from its neighbours."""
    dialog = slug(talk.dialog) if several_dialogs else ""
    parts = [run, slug(talk.item), str(talk.repeat), dialog, slug(talk.method)]
    return APART.join(part for part in parts if part)


def turn_id(talk: str, turn: PlayedTurn) -> str:
    """Return the name of a turn within its conversation."""
    parts = [talk, re.sub("-+", "-", turn.name)]
    if turn.position:
        parts.append(str(turn.position))
    if turn.repair:
        parts.append(f"repair{turn.repair}")
    if turn.aside:
        parts.append("reader")
    return APART.join(parts)


def item_id(item: str, run: str) -> str:
    """Return the name of an item."""
    return "-".join(part for part in (run, slug(item)) if part)


def board_id(run: str, task: str | None, factor: str) -> str:
    """Return the name of a leaderboard table."""
    parts = ("board", run, slug(task or "all"), slug(factor))
    return "-".join(part for part in parts if part)
