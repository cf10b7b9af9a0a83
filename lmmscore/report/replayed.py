"""A replayed transcript in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lmmscore.scales import show
from lmmscore.transcript_reader import Replayed


def print_replayed(replayed: Replayed) -> None:
    """Print every edit's scores, the overall computed and stated, and the ranking."""
    console = Console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("image", justify="right")
    table.add_column("method")
    for factor in replayed.factors:
        table.add_column(factor.key, justify="right")
    table.add_column("overall", justify="right")
    table.add_column("stated", justify="right")
    for edit in replayed.edits:
        scores = [
            show(edit.scores[f.key]) if f.key in edit.scores else "–" for f in replayed.factors
        ]
        total = "–" if edit.overall is None else show(edit.overall)
        stated = "–" if edit.stated is None else show(edit.stated) + (" ✗" if edit.slipped else "")
        table.add_row(str(edit.position), Text(edit.method or "?"), *scores, total, stated)
    console.print(table)
    for edit in replayed.edits:
        if edit.reason:
            console.print(
                Text(
                    f"image {edit.position} ({edit.label}) is unscored: {edit.reason}",
                    style="yellow",
                )
            )
    for edit in replayed.slips:
        stated, exact = (
            show(number) for number in (edit.stated, edit.overall) if number is not None
        )
        says = f"{edit.label}: the judge states {stated}, its sub-scores give {exact}"
        console.print(Text(says, style="yellow"))
    console.print(
        Text("ranking: " + " > ".join(edit.label for edit in replayed.ranking), style="bold")
    )
