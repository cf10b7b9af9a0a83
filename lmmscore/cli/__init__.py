"""The command line. A command's module is imported only when that command is called."""

from __future__ import annotations

import importlib
import os
import sys
from difflib import get_close_matches
from typing import TextIO

import click

from lmmscore.errors import LmmscoreError
from lmmscore.resources import __version__

COMMANDS = {
    "demo": "Try everything offline, on pictures that come with lmmscore.",
    "init": "Recognise the layout of your pictures and write benchmark.yaml.",
    "check": "Find every problem of a benchmark before it costs anything.",
    "plan": "Say what a run would take: calls, images, tokens, price.",
    "run": "Run a dialog about every item and score the edits.",
    "list": "List the runs in a folder.",
    "leaderboard": "Rank the methods of a run.",
    "compare": "Set several runs side by side.",
    "power": "Say how many items or repeats it takes to show a difference.",
    "agree": "Compare a judge with human ratings.",
    "rate": "Collect human ratings on a web page.",
    "watch": "Show the progress of a run on a web page.",
    "report": "Write a run as one HTML page.",
    "show": "Print one conversation of a run.",
    "read": "Read a reply: its scores, where they stand, and what is not read.",
    "replay": "Read published transcripts: their scores, ranking and arithmetic.",
    "scores": "Turn another tool's score file into a tidy scores.csv.",
    "dialogs": "List, show, check and import protocols.",
    "judge": "Try out a judge before relying on it.",
    "published": "Check published leaderboards for contradictions.",
    "ledger": "List, merge, extract, verify and export recorded exchanges.",
    "publish": "Write a run as an archive that others can check.",
    "doctor": "Print the versions that matter for a bug report.",
}
"""Every command with its one-line help. Each is the `command` of the module of its name."""

SIBLINGS = {
    "check": "init",
    "show": "list",
    "replay": "read",
    "power": "compare",
    "published": "scores",
}
"""Small commands, each under its own name in the module of the command it belongs to."""

TASKS = {
    "Set up": ("demo", "init", "check", "doctor"),
    "Run a judge": ("plan", "run", "watch", "judge", "dialogs"),
    "Read the results": ("list", "leaderboard", "compare", "power", "report", "show"),
    "Compare with human raters": ("rate", "agree"),
    "Keep and publish": ("ledger", "publish"),
    "Results of others": ("read", "replay", "scores", "published"),
}
"""The groups of the help; a command in none of them is listed last."""

EXAMPLES = {
    "demo": "lmmscore demo",
    "init": "lmmscore init my-pictures",
    "check": "lmmscore check my-pictures",
    "plan": "lmmscore plan my-pictures --judge openai/MODEL",
    "run": "lmmscore run my-pictures --judge openai/MODEL --budget 5",
    "list": "lmmscore list results",
    "leaderboard": "lmmscore leaderboard results/demo --format tex -o table.tex",
    "compare": "lmmscore compare results/first results/second",
    "power": "lmmscore power results/demo CleanEdit SoftBrush",
    "agree": "lmmscore agree results/demo --human ratings.csv",
    "report": "lmmscore report results/demo --human ratings.csv",
    "show": "lmmscore show results/demo boat",
    "read": "lmmscore read reply.md --dialog lmm-score --edits 8",
    "replay": "lmmscore replay transcript.md",
    "scores": "lmmscore scores other_tool.json --out scores.csv",
    "dialogs": "lmmscore dialogs",
    "dialogs list": "lmmscore dialogs list",
    "dialogs show": "lmmscore dialogs show lmm-score",
    "dialogs check": "lmmscore dialogs check my-dialog.yaml",
    "dialogs import": "lmmscore dialogs import prompt.txt",
    "dialogs recipes": "lmmscore dialogs recipes",
    "judge": "lmmscore judge check openai/MODEL",
    "judge check": "lmmscore judge check openai/MODEL",
    "judge probe": "lmmscore judge probe openai/MODEL my-pictures --items 5",
    "published": "lmmscore published check editeval_v1",
    "published list": "lmmscore published list",
    "published check": "lmmscore published check editeval_v1",
    "doctor": "lmmscore doctor",
    "watch": "lmmscore watch results/demo",
    "rate": "lmmscore rate my-pictures --dialog lmm-score",
    "ledger": "lmmscore ledger list results/demo",
    "ledger list": "lmmscore ledger list results/demo",
    "ledger merge": "lmmscore ledger merge all.sqlite results/first results/second",
    "ledger extract": "lmmscore ledger extract all.sqlite one.sqlite --run results/first",
    "ledger verify": "lmmscore ledger verify results/demo",
    "ledger export": "lmmscore ledger export results/demo exchanges.jsonl",
    "publish": "lmmscore publish results/demo demo.zip",
}
"""One line to try for each command; its help ends with it."""


def tasks() -> dict[str, list[str]]:
    """Return the commands by group; those in none come last."""
    found = {title: [name for name in names if name in COMMANDS] for title, names in TASKS.items()}
    grouped = {name for names in found.values() for name in names}
    rest = [name for name in COMMANDS if name not in grouped]
    return {**found, "More": rest} if rest else found


def _add_example(command: click.Command, name: str) -> None:
    if name in EXAMPLES and command.epilog is None:
        command.epilog = f"\b\nExample:\n  {EXAMPLES[name]}"
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            _add_example(inner, f"{name} {inner.name}")


class Commands(click.Group):
    """A group that knows its commands by name and imports only the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order a newcomer meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module and return its command."""
        if cmd_name not in COMMANDS:
            return None

        module = importlib.import_module(f"lmmscore.cli.{SIBLINGS.get(cmd_name, cmd_name)}")
        command = getattr(module, cmd_name if cmd_name in SIBLINGS else "command")
        assert isinstance(command, click.Command)
        _add_example(command, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table above, without importing any."""
        for title, names in tasks().items():
            with formatter.section(title):
                formatter.write_dl([(name, COMMANDS[name]) for name in names])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for an unknown one suggest the nearest."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            close = get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {close[0]}?" if close else " See lmmscore --help."
            ctx.fail(f"No such command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="lmmscore")
def lmmscore() -> None:
    """Benchmark image-editing methods with a multimodal judge, as a conversation.

    New here? Type `lmmscore demo`: it runs offline and needs no key.

    Exit codes: 0 done; 1 something you can fix, and one line says how; 2 wrong command or option; 3
    finished, but some edits have no score; 130 stopped by you, with everything paid for in the
    ledger.
    """


def never_fail_to_print(*streams: TextIO) -> None:
    """Make the streams UTF-8; where another encoding was asked for, replace what it cannot show.

    Python writes to a Windows console in UTF-8 already, but into a file or a pipe in the local code
    page, which lacks the lines of our tables; one such character would end the program.
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


def _in_words(error: OSError) -> str:
    """Return what the system says of a file or folder, and what to do about it."""
    remedy = "name another, or make room or put its permissions right"
    return f"{os.fsdecode(error.filename)}: {error.strerror or error}; {remedy}"


def main() -> None:
    """Run the command line and exit with its code."""
    never_fail_to_print(sys.stdout, sys.stderr)
    try:
        code = lmmscore.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except LmmscoreError as error:
        click.echo(f"lmmscore: {error}", err=True)
        code = 1
    except OSError as error:
        # The last border: a full disk or a folder that may not be written can end any command.
        if error.filename is None:
            raise
        click.echo(f"lmmscore: {_in_words(error)}", err=True)
        code = 1
    except (click.Abort, KeyboardInterrupt):
        click.echo("lmmscore: interrupted; what was recorded is kept", err=True)
        code = 130

    sys.exit(code if isinstance(code, int) else 0)
