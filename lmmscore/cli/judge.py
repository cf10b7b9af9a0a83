"""`lmmscore judge`: try out a judge before relying on it."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.judge_probe import command as probe_command
from lmmscore.cli.options import json_flag, judge_options, take_judge_options

if TYPE_CHECKING:
    from lmmscore.judges.config import JudgeOptions, NamedJudge
    from lmmscore.judges.probe import Finding


@click.group("judge")
def command() -> None:
    """Try out a judge before relying on it."""


@command.command("check")
@click.argument("judge")
@judge_options
@json_flag
def check(judge: str, as_json: bool, **given: Any) -> None:
    """Ask JUDGE a few short questions about two plain pictures, and say what works.

    JUDGE is openai/MODEL[@BASE_URL,…] or a name from judges.yaml; each of several servers is asked.
    It costs about a cent at most. Each question is sent twice at most and waits 60 s for its
    answer, unless --timeout says otherwise. Exits with 1 when the judge cannot see pictures or
    cannot remember what was said: it would be of no use.
    """
    named = _find(judge, take_judge_options(given))
    name = named.address.name
    told = _Told(aloud=not as_json)
    try:
        for endpoint in named.address.endpoints:
            where = endpoint.masked_url
            click.echo(f"{name} at {where}, each question at most {_patience(named)}", err=True)
            told.server = where
            _look(f"{named.address.model}@{endpoint.url.geturl()}", named.options, told)
    finally:
        if as_json and told.findings:
            found = {"judge": name, "findings": told.rows()}
            click.echo(json.dumps(found, ensure_ascii=False, indent=2))
    for line in told.differences():
        click.echo(f"warning: {line}", err=True)
    lacking = told.lacking(several=len(named.address.endpoints) > 1)
    if lacking:
        click.echo(f"{name}: not fit to judge images: {', '.join(lacking)} failed", err=True)
        raise click.exceptions.Exit(1)


class _Told:
    """Prints findings as they come, and on the side what is being asked and how long it takes."""

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
        """What a judge needs and did not show, and where if there are several servers."""
        failed = [(at, one) for at, one in self.findings if one.needed and not one.works]
        return [f"{one.what} at {at}" if several else one.what for at, one in failed]

    def differences(self) -> list[str]:
        """What servers that should be alike do not have in common."""
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
        """The findings for programs."""
        return [
            {
                "server": server,
                "what": one.what,
                "works": one.works,
                "detail": one.detail,
                "needed": one.needed,
            }
            for server, one in self.findings
        ]


def _find(judge: str, given: dict[str, Any]) -> NamedJudge:
    from dataclasses import replace

    from lmmscore.errors import JudgeFileError
    from lmmscore.judges.probe import hurried
    from lmmscore.judges.registry import kind_of

    kind = kind_of(judge)
    if kind.answers_here:
        raise JudgeFileError(f"{judge} answers from this machine; there is nothing to check")
    if kind.configure is None:
        raise JudgeFileError(f"{judge}: only a judge behind an OpenAI-compatible API is checked")
    named = kind.configure(judge, given)
    return replace(named, options=hurried(named.options, given.get("timeout_s")))


def _patience(named: NamedJudge) -> str:
    attempts, timeout_s = named.options.attempts, named.options.timeout_s
    return f"{attempts} × {timeout_s:g} s (--timeout for longer)"


def _look(spec: str, options: JudgeOptions, told: _Told) -> None:
    import asyncio
    import logging
    import random

    from lmmscore.judges.openai import make
    from lmmscore.judges.probe import check_up

    # Without a handler, Python would write what is logged into the middle of the progress; the
    # findings say it too.
    logging.getLogger("lmmscore").addHandler(logging.NullHandler())
    asyncio.run(check_up(lambda given: make(spec, options=given), options, random.Random(), told))


command.add_command(probe_command)
