"""Agreement on pairs, in words."""

from __future__ import annotations

import json
from collections.abc import Mapping

from lmmscore.agreement.votes import VoteAgreement
from lmmscore.report.grids import NONE, Cell, Grid, number, span
from lmmscore.report.leaderboard import Format, render_grids


def votes_as_text(found: Mapping[str, VoteAgreement], form: str) -> str:
    """Return how often each judge's verdicts are those of people, as a table or JSON."""
    if form == "json":
        plain = {name: agreement.as_dict() for name, agreement in found.items()}
        return json.dumps({"votes": plain}, ensure_ascii=False, indent=2) + "\n"
    rows = []
    for name, agreement in found.items():
        one, decided = agreement.with_one_tie(), agreement.without_ties()
        cells = (
            name,
            str(agreement.n),
            number(agreement.accuracy, 4),
            NONE if agreement.interval is None else span(agreement.interval, 2),
            number(agreement.chance, 2),
            number(one.accuracy, 4),
            f"{number(decided.accuracy, 4)} ({decided.n})",
            str(agreement.unread),
        )
        rows.append(tuple(map(Cell, cells)))
    grid = Grid(
        title="Agreement with human verdicts on pairs",
        columns=("Judge", "Votes", "Accuracy", "95%", "Chance", "Ties as one", "Decided", "Unread"),
        rows=tuple(rows),
        caption="share of votes that are the judge's verdict too, ties of both kinds told apart",
        below=(
            "Chance: the accuracy of the same verdicts given at random. Decided: votes where "
            "neither side called a tie. An inconsistent judge's verdict is a tie.",
        ),
        text_columns=frozenset({0}),
    )
    shown: Format = "md" if form == "md" else "term"
    return render_grids([grid], shown, "")
