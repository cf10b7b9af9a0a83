"""`lmmscore watch`: a web page about a run, while it is going on and afterwards."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import hashlib
import hmac
import logging
import secrets
import shlex
import shutil
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.command_line import listen_options, path_argument, take_judge_options
from lmmscore.errors import LmmscoreError

if TYPE_CHECKING:
    from lmmscore.web.live import LiveRun

PORT = 8041


@click.command("watch")
@path_argument("run")
@listen_options(PORT)
def command(run: Path, host: str, port: int) -> None:
    """Show the progress of the run in folder RUN on a web page that changes nothing.

    The page reads the run's folder and its ledger, during the run and after it. Either may be
    stopped and started again; the link stays the same.
    """
    open_live(run)
    logging.basicConfig(format="%(levelname)s %(name)s %(message)s")
    asyncio.run(_watch(run, host, port))


async def _watch(run: Path, host: str, port: int) -> None:
    from lmmscore.web.live import LivePage
    from lmmscore.web.pages import hosted, until_interrupted

    page = LivePage(run, open_live, report_of, link_token(run))
    async with hosted(page.app(), host, port) as address:
        click.echo(f"{address}/w/{page.token}/")
        click.echo("Ctrl-C ends the page, not the run", err=True)
        await until_interrupted()


class WatchAlongside:
    """The page beside a run in the foreground, in its own thread: neither holds up the other."""

    def __init__(self) -> None:
        self._stopped = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def begin(self, folder: Path) -> None:
        """Start the page for the run in a folder."""
        self._thread = threading.Thread(target=self._serve, args=(folder,), daemon=True)
        self._thread.start()

    def _serve(self, folder: Path) -> None:
        asyncio.run(self._host(folder))

    async def _host(self, folder: Path) -> None:
        from lmmscore.web.live import LivePage
        from lmmscore.web.pages import hosted

        self._loop = asyncio.get_running_loop()
        page = LivePage(folder, open_live, report_of, link_token(folder))
        for port in (PORT, 0):
            try:
                async with hosted(page.app(), "127.0.0.1", port) as address:
                    click.echo(f"watch: {address}/w/{page.token}/", err=True)
                    await self._stopped.wait()

                return
            except LmmscoreError:
                # The port is taken; any other will do.
                continue

    def until_interrupted(self) -> None:
        """Keep the page up after the run, until Ctrl-C."""
        with contextlib.suppress(KeyboardInterrupt):
            click.echo("the page stays until Ctrl-C", err=True)
            threading.Event().wait()

    def close(self) -> None:
        """Take the page down."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join(timeout=5)


def link_token(run: Path) -> str:
    """Return the token of a run's link: the same each time, and impossible to guess."""
    path = Path(click.get_app_dir("lmmscore")) / "watch-secret"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        # Empty where it is new, or where an earlier command was killed before it wrote the secret:
        # a token made without one could be guessed.
        if not path.stat().st_size:
            path.write_text(secrets.token_hex(32), encoding="ascii")

        secret = path.read_text(encoding="ascii")
    except OSError:
        return secrets.token_urlsafe(15)

    named = str(run.resolve()).encode("utf-8", "surrogateescape")
    return hmac.new(secret.encode(), named, hashlib.sha256).hexdigest()[:24]


def open_live(run: Path) -> LiveRun:
    """Open a run to watch, with the limits its command set."""
    from lmmscore.run_folder import open_run
    from lmmscore.web.live import LiveRun, RunLimits

    given = _given(open_run(run).manifest.command)
    limits = RunLimits(
        budget_usd=given.get("budget_usd"),
        rpm=given.get("rpm"),
        tpm=given.get("tpm"),
    )

    return LiveRun(run, limits)


_made_reports: dict[tuple[Path, float], Path] = {}
"""By run and the time of its state: a report takes seconds to make and may be asked for often."""


def report_of(run: Path) -> Path:
    """Return the report of a run: the one in its folder, or one made in a temporary folder, since
    watching changes nothing."""
    from lmmscore.results import open_run

    written, derived = run / "report.html", run / "run.yaml"
    stamp = derived.stat().st_mtime
    if written.is_file() and written.stat().st_mtime >= stamp:
        return written

    made = Path(_made_reports.get((run, stamp), ""))
    if made.is_file():
        return made

    folder = Path(tempfile.mkdtemp(prefix="lmmscore-watch-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = open_run(run).report(folder / "report.html", keep_thumbnails=False)
    _made_reports[run, stamp] = made

    return made


def _given(line: str) -> dict[str, Any]:
    """Return the judge's options of the `lmmscore run` that made the run, if one did."""
    # Looked up by name: the module of `run` imports this one.
    from lmmscore.cli import lmmscore as commands

    run_command = commands.get_command(click.Context(commands), "run")
    assert run_command is not None
    try:
        words = shlex.split(line)
        if words[1:2] != ["run"]:
            return {}
        context = run_command.make_context("run", words[2:], resilient_parsing=True)
    except (ValueError, click.ClickException):
        return {}

    return take_judge_options(dict(context.params))
