"""Rank methods, and say how sure the ranking is."""

from __future__ import annotations

from lmmscore.leaderboard.board import BoardRow, BoardTable, Leaderboard
from lmmscore.leaderboard.ranking import rank

__all__ = ["BoardRow", "BoardTable", "Leaderboard", "rank"]
