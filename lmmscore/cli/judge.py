"""`lmmscore judge`: try out a judge before relying on it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.options import json_flag, judge_options, take_judge_options

if TYPE_CHECKING:
    from lmmscore.judges.checkup import Finding


@click.group("judge")
def command() -> None:
    """Try out a judge before relying on it."""


@command.command("check")
@click.argument("judge")
@judge_options
@json_flag
def check(judge: str, as_json: bool, **given: Any) -> None:
    """Ask JUDGE a few short questions about two plain pictures, and say what works.

    JUDGE is openai/MODEL[@BASE_URL] or a name from judges.yaml. It costs about a cent at most. Exits with 1 when
    the judge cannot see pictures or cannot remember what was said: it would be of no use.
    """
    findings = _look(judge, take_judge_options(given))
    if as_json:
        rows = [{"what": f.what, "works": f.works, "detail": f.detail, "needed": f.needed} for f in findings]
        click.echo(json.dumps({"judge": judge_name(judge), "findings": rows}, ensure_ascii=False, indent=2))
    else:
        for finding in findings:
            mark = {True: "yes", False: "NO", None: "?"}[finding.works]
            click.echo(f"{finding.what:<18} {mark:<4} {finding.detail}")
    lacking = [finding.what for finding in findings if finding.needed and not finding.works]
    if lacking:
        click.echo(f"{judge_name(judge)}: not fit to judge images: {', '.join(lacking)} failed", err=True)
        raise click.exceptions.Exit(1)


def judge_name(judge: str) -> str:
    """Return the judge's name without anything secret in it."""
    from lmmscore.judges.judge_files import find_judge
    from lmmscore.judges.options import parse_address

    return parse_address(find_judge(judge).spec).name


def _look(judge: str, given: dict[str, Any]) -> list[Finding]:
    import asyncio
    import random

    from lmmscore.errors import JudgeFileError
    from lmmscore.judges.checkup import check_up
    from lmmscore.judges.judge_files import find_judge
    from lmmscore.judges.openai_api import make

    if judge == "pixels" or judge.startswith("replay:"):
        raise JudgeFileError(f"{judge} answers from this machine; there is nothing to check")
    named = find_judge(judge, **given)
    return asyncio.run(
        check_up(lambda options: make(named.spec, options=options), named.options, random.Random())
    )
