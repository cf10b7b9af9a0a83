"""`lmmscore judge`: try out a judge before relying on it."""

from __future__ import annotations

import asyncio
import logging
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.command_line import (
    filled,
    json_flag,
    path_argument,
    path_option,
    put,
    put_json,
    screen,
    take_judge_options,
)
from lmmscore.cli.run import judge_options
from lmmscore.errors import JudgeFileError
from lmmscore.judges.judge import kind_of, open_judge
from lmmscore.report.formats import (
    Grid,
    TableDocument,
    TableLayout,
    number,
    plain,
    span,
    write,
)

if TYPE_CHECKING:
    from lmmscore.api import Steered
    from lmmscore.judges.config import JudgeOptions, NamedJudge
    from lmmscore.judges.trials import Finding


@click.group("judge")
def command() -> None:
    """Try out a judge before relying on it."""


@command.command("check", short_help="Find out what a judge can do; costs about a cent at most.")
@click.argument("judge")
@judge_options
@json_flag
def check(judge: str, as_json: bool, **given: Any) -> None:
    """Ask JUDGE a few short questions about two plain pictures, and say what works.

    JUDGE is openai/MODEL[@BASE_URL,…] or a name from judges.yaml; each of several servers is asked.
    It costs about a cent at most. Each question is sent at most twice and given 60 s, or what
    --timeout says. Exits with 1 when the judge cannot see pictures or does not remember what was
    said, and so cannot be used.
    """
    options = take_judge_options(given)
    if kind_of(judge).answers_here:
        # It is opened, so that a record that is not there is named.
        bench = open_judge(judge, options)
        if bench.answers is not None:
            bench.answers.close()

        click.echo(f"{judge} answers from this machine; there is nothing to check", err=True)
        if as_json:
            put_json({"judge": bench.judge.name, "findings": []})

        return

    named = _find(judge, options)
    name = named.address.name
    told = _Told(aloud=not as_json)
    try:
        for endpoint in named.address.endpoints:
            where = endpoint.masked_url
            click.echo(f"{name} at {where}, each question at most {_patience(named)}", err=True)
            if len(named.address.endpoints) > 1 and not as_json:
                click.echo(f"{where}:")

            told.server = where
            _look(f"{named.address.model}@{endpoint.url.geturl()}", named.options, told)
    finally:
        if as_json and told.findings:
            put_json({"judge": name, "findings": told.rows()})

    for line in told.differences():
        click.echo(f"warning: {line}", err=True)

    lacking = told.lacking(several=len(named.address.endpoints) > 1)
    if lacking:
        click.echo(f"{name}: not fit to judge images: {', '.join(lacking)} failed", err=True)
        raise click.exceptions.Exit(1)


class _Told:
    """Prints findings as they come, and on standard error what is being asked and for how long."""

    def __init__(self, *, aloud: bool) -> None:
        self.server = ""
        self.findings: list[tuple[str, Finding]] = []
        """Each with the server it is about."""
        self._aloud = aloud
        self._began_s = 0.0

    def asking(self, what: str) -> None:
        self._began_s = time.monotonic()
        click.echo(f"asking {what} …", nl=False, err=True)

    def asked(self) -> None:
        click.echo(f" {time.monotonic() - self._began_s:.1f} s", err=True)

    def found(self, finding: Finding) -> None:
        self.findings.append((self.server, finding))
        if self._aloud:
            mark = {True: "yes", False: "NO", None: "?"}[finding.works]
            click.echo(f"{finding.what:<18} {mark:<4} {finding.detail}")

    def lacking(self, *, several: bool) -> list[str]:
        """Return what a judge needs and failed at, and where if there are several servers."""
        failed = [(at, one) for at, one in self.findings if one.needed and not one.works]
        return [f"{one.what} at {at}" if several else one.what for at, one in failed]

    def differences(self) -> list[str]:
        """Return where servers differ that should be alike."""
        by_finding: dict[str, dict[str, list[str]]] = {}
        for server, finding in self.findings:
            shown = {True: "yes", False: "no", None: "unknown"}[finding.works]
            if finding.what in {"model", "fingerprint"}:
                shown = finding.detail

            by_finding.setdefault(finding.what, {}).setdefault(shown, []).append(server)

        lines = []
        for what, answers in by_finding.items():
            if len(answers) > 1:
                listed = [f"{shown} ({', '.join(where)})" for shown, where in answers.items()]
                lines.append(f"servers differ in {what}: {'; '.join(listed)}")

        return lines

    def rows(self) -> list[dict[str, Any]]:
        """Return the findings for programs."""
        return [{"server": server, **asdict(one)} for server, one in self.findings]


def _find(judge: str, given: dict[str, Any]) -> NamedJudge:
    from lmmscore.judges.trials import hurried

    kind = kind_of(judge)
    if kind.configure is None:
        raise JudgeFileError(f"{judge}: only a judge behind an OpenAI-compatible API is checked")

    named = kind.configure(judge, given)
    return replace(named, options=hurried(named.options, given.get("timeout_s")))


def _patience(named: NamedJudge) -> str:
    attempts, timeout_s = named.options.attempts, named.options.timeout_s
    return f"{attempts} × {timeout_s:g} s (--timeout for longer)"


def _look(spec: str, options: JudgeOptions, told: _Told) -> None:
    from lmmscore.judges.openai import make
    from lmmscore.judges.trials import check_up

    # Without a handler, Python would print log messages in the middle of the progress; the findings
    # say the same.
    logging.getLogger("lmmscore").addHandler(logging.NullHandler())
    asyncio.run(check_up(lambda given: make(spec, options=given), options, random.Random(), told))


@command.command("probe", short_help="Measure what moves a judge's scores and should not.")
@click.argument("judge")
@path_argument("benchmark")
@click.option(
    "--items",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="How many items are judged again.",
)
@click.option("--dialog", "-d", callback=filled, help="Name or file  [default: lmm-score]")
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the choice of items.",
)
@path_option("--out", "-o", help="Keep the runs here: the same command resumes where it stopped.")
@judge_options
@json_flag
def probe(judge: str, benchmark: Path, out: Path | None, as_json: bool, **given: Any) -> None:
    """Judge some items again with changes to an edit that should not move its score.

    The changes are a caption that praises the edit, “score: 10” written on it, a border, a little
    brightness, and JPEG compression. Each item is judged twice as it is and once for each change:
    seven sessions per item. Prints the mean change of score with its 95% interval.
    """
    from lmmscore import api as steering

    options = take_judge_options(given)

    def said(text: str) -> None:
        click.echo(f"judging {text} …", err=True)

    with tempfile.TemporaryDirectory() as scratch:
        found = steering.probe(
            judge,
            benchmark,
            out=out or Path(scratch),
            judge_options=options,
            said=said,
            **given,
        )

    if as_json:
        put_json({"judge": judge, "changes": [asdict(one) for one in found]})
    else:
        put(_changes_table(judge, found), None)


def _changes_table(judge: str, found: Sequence[Steered]) -> str:
    factor = found[0].factor
    shown = []
    for one in found:
        if one.factor != factor:
            continue

        limits = None if one.low is None or one.high is None else (one.low, one.high)
        shown.append(plain(one.done, number(one.change, 2), span(limits, 2), str(one.items)))

    grid = Grid(
        f"{judge}: what moves its scores",
        ("change of the edit", f"change of {factor}", "95%", "items"),
        tuple(shown),
        caption="Score of the altered edit minus that of the same edit as it is. The first line is "
        "the judge's own noise: an interval that does not hold 0 beside one that does means that "
        "the judge can be steered by it. Of twenty intervals, one misses 0 by chance.",
        text_columns=frozenset({0}),
    )
    return write(TableDocument([grid]), "term", TableLayout(**screen()))
