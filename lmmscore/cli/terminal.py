"""What several commands share: standard output, and the runs or score files they are given."""

from __future__ import annotations

import hashlib
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypedDict

import click

from lmmscore.errors import LmmscoreError, nearest

if TYPE_CHECKING:
    import pandas as pd

    from lmmscore.leaderboard import Leaderboard
    from lmmscore.leaderboard.matches import PairBoard
    from lmmscore.run_folder import Manifest, Run


# --------------------------------------------------------------------------------------------------
# Standard output: streams that take every character, and what several commands print on them.
# --------------------------------------------------------------------------------------------------


class Screen(TypedDict):
    """How tables are to be drawn."""

    color: bool
    width: int | None


def screen() -> Screen:
    """Return what standard output can show: colours and a width where someone is looking,
    else neither."""
    from shutil import get_terminal_size

    tty = sys.stdout.isatty()
    return {"color": tty, "width": get_terminal_size().columns if tty else None}


def put(text: str, out: Path | None) -> None:
    """Print a table, or write it to a file and say so."""
    if out is None:
        click.echo(text, nl=False)
        return

    from lmmscore.errors import FileProblem

    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        reason = error.strerror or error
        raise FileProblem(f"{out}: cannot be written ({reason}); give another --out") from error

    click.echo(f"wrote {out}", err=True)


def print_board(board: Leaderboard | PairBoard) -> None:
    """Print a leaderboard's tables to standard output, in colour where someone is looking."""
    from lmmscore.leaderboard.matches import PairBoard
    from lmmscore.report.leaderboard import render, render_pairs

    if isinstance(board, PairBoard):
        click.echo(render_pairs(board, "term", **screen()), nl=False)
        return

    click.echo(render(board, "term", **screen()), nl=False)


def never_fail_to_print(*streams: TextIO) -> None:
    """Make the streams UTF-8, or where someone asked for another encoding, replace what that cannot
    show.

    Python writes to a Windows console in UTF-8 already, but into a file or a pipe in the code page
    of the country, which lacks the lines of our tables; one such character would end the program.
    """
    asked = os.environ.get("PYTHONIOENCODING", "").partition(":")

    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        encoding = (getattr(stream, "encoding", "") or "").lower().replace("-", "")
        if reconfigure is None or encoding == "utf8":
            continue

        if asked[0] or stream.isatty():
            reconfigure(errors=asked[2] or "replace")
        else:
            reconfigure(encoding="utf-8")


# --------------------------------------------------------------------------------------------------
# What the ranking commands are given: run folders or score files, and what is known about them.
# --------------------------------------------------------------------------------------------------


def _nothing_known() -> Manifest:
    from lmmscore.run_folder import Manifest

    return Manifest()


@dataclass(frozen=True)
class Source:
    """The scores of one run, and the run itself where there is one."""

    name: str
    path: Path
    scores: pd.DataFrame
    manifest: Manifest = field(default_factory=_nothing_known)
    """What the run says of itself; empty where there are scores only."""
    run: Run | None = None

    @property
    def caution(self) -> str:
        """What the judge's own limits mean for these figures."""
        return self.manifest.caution

    @property
    def models(self) -> str:
        """The model behind the judge, as far as it is on record; else the name of the run."""
        return " ".join(self.manifest.models) or self.manifest.judge or self.name

    def sessions(self, *, with_names: bool) -> Iterator[Mapping[str, Any]] | None:
        """Return the records of the sessions, one at a time; None where there are none.

        `with_names` reads every reply and adds the method names found in it.
        """
        if self.run is None or not (self.run.path / "sessions.jsonl").is_file():
            return None

        methods = [str(name) for name in self.scores["method"].unique()]
        if with_names and self.run.ledger_path.is_file():
            return sessions_with_names(self.run, methods)

        return (record.model_dump(mode="json") for record in self.run.records())

    def comparable(self) -> dict[str, Any]:
        """Return the settings, with a digest of the very pictures judged where they
        are on record."""
        known = self.manifest
        settings = known.model_dump(mode="json") if known.model_fields_set else {}
        if self.run is None or not (self.run.path / "sessions.jsonl").is_file():
            return settings

        if not self.run.ledger_path.is_file():
            return settings

        digest = images_digest(self.run)
        return {**settings, "images_digest": digest} if digest else settings


def open_source(text: str) -> Source:
    """Open a run folder, or a scores.csv by itself; its run.yaml counts if it stands beside it."""
    from lmmscore.run_folder import open_run
    from lmmscore.scores import read_scores

    if not text:
        raise LmmscoreError("the name of a run is empty; give its folder, or a scores.csv")

    path = Path(text)
    if path.is_dir():
        run = open_run(path)
        return Source(path.resolve().name, path, run.scores(), run.manifest, run)

    scores = read_scores(path)
    if path.name == "scores.csv" and (path.parent / "run.yaml").is_file():
        run = open_run(path.parent)
        return Source(path.resolve().parent.name, path.parent, scores, run.manifest, run)

    return Source(path.stem, path, scores)


def refuse_unknown(kind: str, given: Sequence[str], known: Sequence[str], where: str) -> None:
    """Raise where a method or item is named that the scores do not have."""
    for name in given:
        if name not in known:
            raise LmmscoreError(f"{where}: no {kind} {name!r}{nearest(name, set(known))}")


def open_sources(texts: Sequence[str]) -> list[Source]:
    """Open several, each under a name of its own; raise for the same one twice."""
    sources: list[Source] = []
    for text in texts:
        source = open_source(text)
        if any(source.path.resolve() == other.path.resolve() for other in sources):
            raise LmmscoreError(f"{text} is given twice; name each run once")

        sources.append(source)

    names = [source.name for source in sources]
    return [
        source if names.count(source.name) == 1 else replace(source, name=text.rstrip("/"))
        for source, text in zip(sources, texts, strict=True)
    ]


def cautions(sources: Sequence[Source]) -> str:
    """Return every caution the runs carry, once each."""
    return " ".join(dict.fromkeys(source.caution for source in sources if source.caution))


def factor_titles(sources: Sequence[Source]) -> dict[str, str]:
    """Return the factors' full names, as far as the runs know them."""
    titles = {"overall": "Overall"}
    for source in sources:
        for factor in source.manifest.factors:
            titles[factor.key] = factor.name or factor.key
    return titles


def parse_scale(text: str) -> tuple[float, float]:
    """Read `1,10`; raise for anything else."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise LmmscoreError(
            f"--scale: cannot read {text!r}; write the lowest and highest score, as 1,10"
        ) from None

    if not (math.isfinite(low) and math.isfinite(high)):
        raise LmmscoreError(f"--scale: both ends of {text!r} must be finite numbers, as 1,10")

    if not low < high:
        raise LmmscoreError(f"--scale: {low:g} is not below {high:g}")

    return low, high


def sessions_with_names(run: Run, methods: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the records of the sessions, each with `names`:
    the methods named in one of its replies."""
    from lmmscore.ledger import Ledger

    with Ledger(run.ledger_path, read_only=True) as ledger:
        for record in run.records():
            replies = [ledger.find(exchange.key) for exchange in record.exchanges]
            text = "\n".join(reply.text for reply in replies if reply is not None)
            yield {**record.model_dump(mode="json"), "names": names_in(text, methods)}


def names_in(text: str, methods: Sequence[str]) -> list[str]:
    """Return the methods named in a text, as whole words;
    one of three letters only in its own spelling."""
    found = []
    for name in methods:
        folded = re.NOFLAG if len(name) <= 3 else re.IGNORECASE
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, folded):
            found.append(name)

    return found


def images_digest(run: Run) -> str | None:
    """Return a digest of every picture shown, by item and method;
    None where the ledger lacks one."""
    from lmmscore.ledger import Ledger

    shown: set[tuple[str, ...]] = set()
    with Ledger(run.ledger_path, read_only=True) as ledger:
        for record in run.records():
            for exchange in record.exchanges:
                kinds = [kind for kind, _ in exchange.images]
                digests = ledger.pictures(exchange.key)
                if len(digests) != len(kinds):
                    return None

                method = record.order[exchange.position - 1] if exchange.position else ""
                where = (record.task, record.item, method)
                shown |= {
                    (*where, kind, digest) for kind, digest in zip(kinds, digests, strict=True)
                }

    return hashlib.sha256(repr(sorted(shown)).encode()).hexdigest()
