"""`lmmscore ledger`: list what ledgers hold; merge, extract, verify and export them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lmmscore.cli.command_line import (
    json_flag,
    path_argument,
    path_option,
    put_json,
    text_option,
)
from lmmscore.errors import FileProblem, counted

if TYPE_CHECKING:
    from lmmscore.ledger import Content


@click.group("ledger")
def command() -> None:
    """List what ledgers hold; merge, extract, verify and export them.

    LEDGER is a ledger.sqlite or the folder of a run.
    """


def _place(path: Path) -> Path:
    """Return where the ledger meant by a file or by the folder of a run is, or would be."""
    from lmmscore.run_folder import Run

    if not path.is_dir():
        return path
    if (path / "run.yaml").is_file():
        return Run(path).ledger_path
    return path / "ledger.sqlite"


def _ledger(path: Path) -> Path:
    """Return the ledger meant by a file or a folder. Raises FileProblem where there is none.

    An empty file, as a full disk or a copy that was cut off leaves it, is no ledger: SQLite would
    take it for a database without exchanges.
    """
    found = _place(path)
    if not found.is_file():
        raise FileProblem(f"{found}: no such ledger; name a ledger.sqlite or the folder of a run")
    if not found.stat().st_size:
        raise FileProblem(f"{found}: the file is empty, so it is no ledger; put back a copy")
    return found


@command.command("list", short_help="List judges, exchanges, tokens, cost and dialogs.")
@path_argument("ledgers", nargs=-1, required=True)
@json_flag
def list_(ledgers: tuple[Path, ...], as_json: bool) -> None:
    """List what is in a ledger: judges, parameters, exchanges, tokens, cost and dialogs.

    A ledger holds questions, not dialogs: those come from the runs in its folder and in the folders
    beside it.
    """
    from lmmscore.ledger import contents

    found = {str(path): contents(_ledger(path)) for path in ledgers}
    dialogs = {str(path): _dialogs(_ledger(path)) for path in ledgers}
    if as_json:
        listed = {}
        for name, held in found.items():
            listed[name] = [
                asdict(each) | {"dialogs": dialogs[name].get(_asker(each), [])} for each in held
            ]

        put_json(listed)
        return

    for name, held in found.items():
        click.echo(f"{name}: {counted(sum(each.exchanges for each in held), 'exchange')}")
        for number, each in enumerate(held, 1):
            known = ", ".join(dialogs[name].get(_asker(each), [])) or "not recorded"
            click.echo(f"  #{number} {_described(each)}; dialog: {known}")

        for line in _batches(Path(name)):
            click.echo(f"  {line}")


def _asker(content: Content) -> tuple[str, str]:
    from lmmscore.ledger import identity_of

    return identity_of(content.judge), content.parameters


def _dialogs(ledger: Path) -> dict[tuple[str, str], list[str]]:
    """Return the dialogs played from a ledger, by judge, according to the runs around it."""
    from lmmscore.ledger import Asker, identity_of
    from lmmscore.run_folder import Run

    found: dict[tuple[str, str], list[str]] = {}
    folder = ledger.parent
    for path in [folder / "run.yaml", *sorted(folder.glob("*/run.yaml"))]:
        run = Run(path.parent)
        try:
            manifest = run.manifest
        except FileProblem:
            # A damaged run beside the ledger is not what was asked about.
            continue

        if run.ledger_path.resolve() != ledger.resolve():
            continue

        asked = Asker.of(identity_of(manifest.judge), manifest.parameters)
        dialogs = found.setdefault((asked.judge, asked.parameters), [])
        if manifest.dialog not in dialogs:
            dialogs.append(manifest.dialog)

    return found


def _batches(path: Path) -> list[str]:
    """Return the state of a run's batches, as of the last `lmmscore run`."""
    from lmmscore.execution.batch import BatchLog

    if not (path / "batches.jsonl").is_file():
        return []

    log = BatchLog(path / "batches.jsonl")
    totals = ", ".join(f"{count:,} {what}" for what, count in sorted(log.totals().items()))
    lines = [f"batches: {totals or 'nothing has come back yet'}"]
    return lines + [f"batch {batch}" for batch in log.open()]


def _described(content: Content) -> str:
    parts = [
        f"{content.judge} {content.parameters}",
        counted(content.exchanges, "exchange"),
        counted(content.openings, "opening question"),
        f"{content.prompt_tokens:,} tokens in, {content.completion_tokens:,} out",
    ]
    if content.cost_usd:
        parts.append(f"${content.cost_usd:,.4f}")

    if content.models:
        parts.append(f"answered by {', '.join(content.models)}")

    parts.append(f"{content.first[:10]} to {content.last[:10]}")
    return "; ".join(parts)


@command.command("merge", short_help="Merge several ledgers into one.")
@path_argument("out")
@path_argument("ledgers", nargs=-1, required=True)
def merge_(out: Path, ledgers: tuple[Path, ...]) -> None:
    """Merge LEDGERS into OUT, a ledger or the folder of a run.

    The same question is kept once. Where ledgers have different answers to it, the one already in
    OUT stays, or else the one recorded first, and the conflict is listed.
    """
    from lmmscore.ledger import merge

    target = _place(out)
    if not out.exists() and out.suffix not in (".sqlite", ".sqlite3", ".db"):
        target = out / "ledger.sqlite"

    done = merge(target, [_ledger(path) for path in ledgers])
    for conflict in done.conflicts[:20]:
        click.echo(
            f"conflict: {conflict.key[:12]} is answered differently in {conflict.other}; the "
            f"answer from {conflict.kept} stands",
            err=True,
        )

    if len(done.conflicts) > 20:
        click.echo(f"… and {len(done.conflicts) - 20} more conflicts", err=True)

    click.echo(
        f"{counted(done.added, 'exchange')} added, {done.known:,} there already, "
        f"{counted(len(done.conflicts), 'conflict')}",
        err=True,
    )
    click.echo(target)


@command.command("extract", short_help="Copy one run's exchanges, or one judge's.")
@path_argument("ledger")
@path_argument("out")
@path_option("--run", help="Only the exchanges of the run in this folder.")
@text_option("--judge", help="Only the exchanges of this judge.")
def extract_(ledger: Path, out: Path, run: Path | None, judge: str) -> None:
    """Copy a part of LEDGER to OUT: one run's exchanges, or one judge's."""
    from lmmscore.ledger import extract
    from lmmscore.run_folder import open_run

    if run is None and not judge:
        raise click.UsageError("say what to take out: --run FOLDER or --judge NAME")

    keys = None
    if run is not None:
        keys = [exchange.key for record in open_run(run).records() for exchange in record.exchanges]

    count = extract(_ledger(ledger), out, keys=keys, judge=judge)
    click.echo(f"{counted(count, 'exchange')} copied", err=True)
    click.echo(out)


@command.command("verify", short_help="Check that a ledger is intact.")
@path_argument("ledgers", nargs=-1, required=True)
def verify_(ledgers: tuple[Path, ...]) -> None:
    """Check that the file is intact and that every key matches what was asked."""
    from lmmscore.ledger import problems

    wrong: list[str] = []
    for path in ledgers:
        try:
            wrong += problems(_ledger(path))
        except FileProblem as error:
            wrong.append(str(error))

    for problem in wrong:
        click.echo(f"problem: {problem}")

    if wrong:
        raise click.exceptions.Exit(1)
    click.echo("no problems", err=True)


@command.command("export", short_help="Write every exchange as JSON lines or Parquet.")
@path_argument("ledger")
@path_argument("out", metavar="OUT.jsonl|OUT.parquet")
def export_(ledger: Path, out: Path) -> None:
    """Write every exchange as JSON lines or Parquet."""
    from lmmscore.ledger import export

    count = export(_ledger(ledger), out)
    click.echo(f"{counted(count, 'exchange')} written", err=True)
    click.echo(out)
