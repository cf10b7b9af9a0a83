"""`lmmscore judge`: try out a judge before relying on it."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.judge_probe import command as probe_command
from lmmscore.cli.options import json_flag, judge_options, take_judge_options

if TYPE_CHECKING:
    from lmmscore.judges.checkup import Finding
    from lmmscore.judges.judge_files import NamedJudge


@click.group("judge")
def command() -> None:
    """Try out a judge before relying on it."""


@command.command("check")
@click.argument("judge")
@judge_options
@json_flag
def check(judge: str, as_json: bool, **given: Any) -> None:
    """Ask JUDGE a few short questions about two plain pictures, and say what works.

    JUDGE is openai/MODEL[@BASE_URL] or a name from judges.yaml. It costs about a cent at most. Each question is
    sent twice at most and waits 60 s for its answer, unless --timeout says otherwise. Exits with 1 when the judge
    cannot see pictures or cannot remember what was said: it would be of no use.
    """
    named = _find(judge, take_judge_options(given))
    name = judge_name(named)
    click.echo(f"{name}, each question at most {_patience(named)}", err=True)
    told = _Told(aloud=not as_json)
    try:
        _look(named, told)
    finally:
        if as_json and told.findings:
            click.echo(
                json.dumps({"judge": name, "findings": told.rows()}, ensure_ascii=False, indent=2)
            )
    lacking = [finding.what for finding in told.findings if finding.needed and not finding.works]
    if lacking:
        click.echo(f"{name}: not fit to judge images: {', '.join(lacking)} failed", err=True)
        raise click.exceptions.Exit(1)


class _Told:
    """Prints findings as they come, and on the side what is being asked and how long it takes."""

    def __init__(self, *, aloud: bool) -> None:
        self.findings: list[Finding] = []
        self._aloud = aloud
        self._began_s = 0.0

    def asking(self, what: str) -> None:
        self._began_s = time.monotonic()
        click.echo(f"asking {what} …", nl=False, err=True)

    def asked(self) -> None:
        click.echo(f" {time.monotonic() - self._began_s:.1f} s", err=True)

    def found(self, finding: Finding) -> None:
        self.findings.append(finding)
        if self._aloud:
            mark = {True: "yes", False: "NO", None: "?"}[finding.works]
            click.echo(f"{finding.what:<18} {mark:<4} {finding.detail}")

    def rows(self) -> list[dict[str, Any]]:
        """The findings for programs."""
        return [
            {"what": one.what, "works": one.works, "detail": one.detail, "needed": one.needed}
            for one in self.findings
        ]


def judge_name(named: NamedJudge) -> str:
    """Return the judge's identity, its server included, without anything secret in it."""
    from lmmscore.judges.options import parse_address

    return parse_address(named.spec, os.environ.get("OPENAI_BASE_URL", "")).name


def _find(judge: str, given: dict[str, Any]) -> NamedJudge:
    from dataclasses import replace

    from lmmscore.errors import JudgeFileError
    from lmmscore.judges.checkup import hurried
    from lmmscore.judges.judge_files import find_judge

    if judge == "pixels" or judge.startswith("replay:"):
        raise JudgeFileError(f"{judge} answers from this machine; there is nothing to check")
    named = find_judge(judge, **given)
    return replace(named, options=hurried(named.options, given.get("timeout_s")))


def _patience(named: NamedJudge) -> str:
    attempts, timeout_s = named.options.attempts, named.options.timeout_s
    return f"{attempts} × {timeout_s:g} s (--timeout for longer)"


def _look(named: NamedJudge, told: _Told) -> None:
    import asyncio
    import logging
    import random

    from lmmscore.judges.checkup import check_up
    from lmmscore.judges.openai_api import make

    # Without a handler, Python would write what is logged into the middle of the progress; the findings say it too.
    logging.getLogger("lmmscore").addHandler(logging.NullHandler())
    asyncio.run(
        check_up(
            lambda options: make(named.spec, options=options), named.options, random.Random(), told
        )
    )


command.add_command(probe_command)
