"""What is printed to a terminal and is no table: conversations and dialogs."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.table import Table as RichTable
from rich.text import Text

from lmmscore.dialog import Dialog
from lmmscore.records import OVERALL
from lmmscore.report.formats.terminal import printable
from lmmscore.report.grids import NONE
from lmmscore.scales import show
from lmmscore.scores import TIE

if TYPE_CHECKING:
    import pandas as pd

    from lmmscore.report.run_data import PlayedTurn, Talk
    from lmmscore.transcript_reader import Replayed


WIDEST = 110
"""Prose in longer lines is hard to read."""


def print_talks(
    talks: Sequence[Talk], scores: pd.DataFrame, console: Console | None = None
) -> None:
    """Print conversations to standard output, each followed by what was read from it."""
    console = console or Console(highlight=False)
    console.width = min(console.width, WIDEST)
    for talk in talks:
        with console.capture() as caught:
            _print(console, talk)
            console.print(_outcome(talk, scores))
            for line in _aftermath(talk):
                console.print(Text(printable(line), style="yellow"))

        # Rich pads every line to the full width, which nobody wants in a file.
        console.file.write("\n".join(line.rstrip() for line in caught.get().splitlines()) + "\n")


def talks_text(talks: Sequence[Talk], scores: pd.DataFrame) -> str:
    """Return the same as text without colours, for a file."""
    out = io.StringIO()
    print_talks(talks, scores, Console(file=out, width=WIDEST, highlight=False))
    return out.getvalue()


def _print(console: Console, talk: Talk) -> None:
    parts = (talk.item, f"repeat {talk.repeat}", talk.dialog, talk.method)
    about = " · ".join(part for part in parts if part)
    console.print(Rule(Text(printable(about), style="bold"), style="dim"))
    console.print(Text(printable(f"{talk.task}: {talk.instruction}"), style="italic"))
    if talk.system:
        console.print(Padding(Text(printable(f"system: {talk.system}"), style="dim"), (1, 0, 0, 2)))

    for number, turn in enumerate(talk.turns, 1):
        _print_turn(console, talk, turn, number)


def _file(path: Path) -> str:
    from lmmscore.report.run_data import NOT_SHOWN

    if path.is_relative_to(NOT_SHOWN):
        return f"{path.relative_to(NOT_SHOWN).as_posix()} (not at hand as it was judged)"
    return os.path.normpath(path)


def _print_turn(console: Console, talk: Talk, turn: PlayedTurn, number: int) -> None:
    console.print()
    heading = Text.assemble((f"{number} {turn.name}", "bold cyan"))
    if turn.position and talk.covers == "item":
        heading.append(
            printable(f" · Image {turn.position} (method: {talk.method_at(turn.position)})")
        )

    for mark in turn.marks:
        heading.append(f"  [{mark}]", "bold yellow")

    console.print(heading)
    for kind, path in turn.images:
        console.print(
            Text(printable(f"  shown: {kind} {_file(path)}"), style="dim"),
            soft_wrap=True,
        )

    if turn.entry is None:
        return

    # Who speaks is said in words: colour gets lost in a file, and not everybody sees it.
    console.print(Text("  asked:", style="bold dim"))
    console.print(Padding(Text(printable(turn.entry.question), style="dim"), (0, 0, 0, 4)))
    console.print(Text("  judge:", style="bold"))
    console.print(Padding(_words(turn), (0, 0, 0, 4)))


def _words(turn: PlayedTurn) -> Text:
    words = Text()
    for piece in turn.pieces:
        style = "" if not piece.read else "bold green reverse" if piece.counts else "strike"
        words.append(printable(piece.text), style)

    if turn.reply.refusal:
        words.append(printable(turn.reply.refusal), "yellow")

    return words


def _outcome(talk: Talk, scores: pd.DataFrame) -> RichTable | Text:
    if talk.covers != "pair":
        return _table(talk, scores)
    said = {"": "no verdict", TIE: "a tie"}.get(talk.winner, f"{talk.winner} won")
    shown = f"shown first: {talk.method_at(1)}, second: {talk.method_at(2)}"
    return Text(printable(f"\nRead from it: {said} ({shown})"), style="bold")


def _table(talk: Talk, scores: pd.DataFrame) -> RichTable:
    table = RichTable(
        box=box.SIMPLE_HEAD, pad_edge=False, title="Read from it", title_justify="left"
    )
    rows = read_from(talk, scores)
    names = list(rows[0]["scores"]) if rows else []
    for head in ("Image", "Method", *names, *(["stated"] if talk.stated else [])):
        table.add_column(Text(printable(head)), justify="left" if head == "Method" else "right")

    for row in rows:
        cells = [NONE if value is None else f"{value:g}" for value in row["scores"].values()]
        said = [talk.stated.get(row["position"], NONE)] if talk.stated else []
        texts = (str(row["position"]), row["method"], *cells, *said)
        table.add_row(*(Text(printable(text)) for text in texts))

    return table


def read_from(talk: Talk, scores: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the scores of a conversation's edits: position, method, numbers,
    outcome and reason."""
    here = scores[(scores["item"] == talk.item) & (scores["repeat"] == talk.repeat)]
    found = []
    for position, method in enumerate(talk.order, 1):
        rows = here[here["method"] == method]
        numbers = {
            str(factor): float(score) if outcome == "scored" else None
            for factor, score, outcome in zip(
                rows["factor"], rows["score"], rows["outcome"], strict=True
            )
        }
        bad = rows[rows["outcome"] != "scored"]
        last = bad[bad["factor"] == OVERALL] if OVERALL in numbers else bad
        outcome, reason = (
            (last.iloc[0]["outcome"], last.iloc[0]["reason"]) if len(last) else ("scored", "")
        )
        found.append(
            {
                "position": position,
                "method": method,
                "scores": numbers,
                "outcome": outcome,
                "reason": reason,
            }
        )

    return found


def _aftermath(talk: Talk) -> list[str]:
    lines = [f"could not be read: {fault}" for fault in talk.faults]
    lines += [f"ended early: {talk.failure}"] if talk.failure else []
    for position, (exact, said) in talk.slips.items():
        lines.append(
            f"Image {position}: the judge's own sum is {said}; its sub-scores give {exact}, which "
            "counts"
        )

    return lines


def talks_json(talks: Sequence[Talk], scores: pd.DataFrame) -> str:
    """Return conversations as JSON: `{"conversations": [{item, repeat, turns: […], read:
    […]}]}`."""
    plain = [_plain(talk, scores) for talk in talks]
    return json.dumps({"conversations": plain}, ensure_ascii=False, indent=2)


def _plain(talk: Talk, scores: pd.DataFrame) -> dict[str, Any]:
    return {
        "item": talk.item,
        "task": talk.task,
        "instruction": talk.instruction,
        "repeat": talk.repeat,
        "dialog": talk.dialog,
        "order": list(talk.order),
        **({"winner": talk.winner} if talk.covers == "pair" else {}),
        "system": talk.system,
        "turns": [_plain_turn(turn) for turn in talk.turns],
        "read": [] if talk.covers == "pair" else read_from(talk, scores),
        "stated": {str(position): value for position, value in talk.stated.items()},
        "faults": list(talk.faults),
        "failure": talk.failure,
    }


def _plain_turn(turn: PlayedTurn) -> dict[str, Any]:
    return {
        "turn": turn.name,
        "position": turn.position,
        "repair": turn.repair,
        "aside": turn.aside,
        "images": [[kind, str(path)] for kind, path in turn.images],
        "question": turn.entry.question if turn.entry else None,
        "reply": turn.reply.text if turn.entry else None,
        "refusal": turn.reply.refusal,
        "finish": turn.reply.finish,
        "model": turn.reply.model,
        "read": [{"text": piece.text, "as": piece.read} for piece in turn.pieces if piece.read],
        "marks": list(turn.marks),
    }


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
