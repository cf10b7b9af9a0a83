"""Dialogs in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from lmmscore.dialog import Dialog


def print_list(rows: Sequence[Mapping[str, Any]], n: int) -> None:
    """Print the protocols at hand, two lines each."""
    console = Console()
    width = max(len(row["name"]) for row in rows) + 2
    for row in rows:
        console.print(
            Text(f"{row['name']:<{width}}", style="bold") + Text(row["title"], style="not bold")
        )
        facts = [
            f"shows {', '.join(row['shows'])}",
            _factors(row["factors"]),
            f"{row['calls']} calls for {n} methods",
        ]
        facts += [
            f"setting {name}: {' or '.join(choices)}" for name, choices in row["settings"].items()
        ]
        console.print(Padding(Text(" · ".join(facts), style="dim"), (0, 0, 0, width)))


def _factors(factors: Mapping[str, str]) -> str:
    scales = "; ".join(dict.fromkeys(factors.values()))
    names = f" ({', '.join(factors)})" if len(factors) <= 4 and max(map(len, factors)) < 16 else ""
    return f"{len(factors)} factor{'s' if len(factors) > 1 else ''}{names} on {scales}"


def print_script(dialog: Dialog, lines: Sequence[Mapping[str, Any]]) -> None:
    """Print a dialogue as it would be played: what is shown, what is said, what is read."""
    console = Console()
    console.print(Text(f"{dialog.name} (version {dialog.version}): {dialog.title}", style="bold"))
    factors = ", ".join(f"{factor.key} {factor.scale}" for factor in dialog.factors)
    about = [f"factors: {factors}"] if factors else []
    console.print(Text("; ".join([*about, f"overall: {dialog.overall}"]), style="dim"))
    for number, line in enumerate(lines, 1):
        shown = "".join(f" [{kind} image]" for kind in line["shows"])
        fresh = " (a new conversation)" if line.get("fresh") else ""
        console.print(Text(f"\n{number}. {line['turn']}{shown}{fresh}", style="bold cyan"))
        console.print(Padding(Text(line["say"]), (0, 0, 0, 3)))
        if line.get("heard"):
            said = f"→ put into the conversation as the answer: {line['heard']}"
            console.print(Padding(Text(said, style="green"), (0, 0, 0, 3)))
        if line["reads"]:
            console.print(
                Padding(
                    Text(f"→ read from the reply: {line['reads']}", style="green"), (0, 0, 0, 3)
                )
            )
    console.print()
