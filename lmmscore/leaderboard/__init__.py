"""Rank methods, and say how sure the ranking is."""

from __future__ import annotations

from lmmscore.leaderboard.board import rank
from lmmscore.leaderboard.tables import Leaderboard, Row, Table

__all__ = ["Leaderboard", "Row", "Table", "rank"]
