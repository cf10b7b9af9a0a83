"""Rank methods, and say how sure the ranking is."""

from __future__ import annotations

from lmmscore.leaderboard.ranking import BoardRow, BoardTable, Leaderboard, rank

__all__ = ["BoardRow", "BoardTable", "Leaderboard", "rank"]
