"""The command line. A command's module is imported only when that command is called."""

from __future__ import annotations

import importlib
import os
import sys
from difflib import get_close_matches

import click

from lmmscore import __version__
from lmmscore.cli.streams import never_fail_to_print
from lmmscore.errors import LmmscoreError

COMMANDS = {
    "demo": "Try everything offline, on pictures that come with lmmscore.",
    "init": "Recognise the layout of your pictures and write benchmark.yaml.",
    "check": "Find all that is wrong with a benchmark before it costs anything.",
    "plan": "Say what a run would take: calls, images, tokens, price.",
    "run": "Play a dialog about every item and score the edits.",
    "leaderboard": "Rank the methods of a run.",
    "compare": "Set several runs side by side.",
    "power": "Say how many items or repeats would tell two methods apart.",
    "agree": "Compare a judge with human ratings.",
    "rate": "Collect human ratings on a web page.",
    "watch": "Show on a web page how a run is getting on.",
    "report": "Write a run as one HTML page.",
    "show": "Print one conversation of a run.",
    "replay": "Read a published transcript: its scores, ranking and arithmetic.",
    "scores": "Turn another tool's score file into a tidy scores.csv.",
    "dialogs": "List, show, check and import protocols.",
    "judge": "Try out a judge before relying on it.",
    "published": "Check published leaderboards for contradictions.",
    "ledger": "Look into ledgers, unite them, take a part out, check and export.",
    "publish": "Write a run as an archive that others can check.",
    "doctor": "Print the versions that matter for a bug report.",
}
"""Every command with its one-line help. Each lives in the module of its name beside this file."""


class Commands(click.Group):
    """A group that knows its commands by name and loads only the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order a newcomer meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module and return its command."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"lmmscore.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table above, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for an unknown one say which was meant."""
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

    Exit codes: 0 all done; 1 something you can mend, and one line says how; 2 a command that is not understood;
    3 finished, though some edits have no score; 130 stopped by you, with everything paid for in the ledger.
    """


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
    except (click.Abort, KeyboardInterrupt):
        click.echo("lmmscore: interrupted; what was recorded is kept", err=True)
        code = 130
    except BrokenPipeError:
        # The reader (`| head`) has what it wanted. Python would complain once more when flushing at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code if isinstance(code, int) else 0)
