"""`lmmscore dialogs`: list, show, check and import protocols."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.command_line import (
    filled,
    json_flag,
    pair_option,
    path_option,
    put_json,
    say_notes,
    write_file,
)
from lmmscore.errors import FileProblem, LmmscoreError

if TYPE_CHECKING:
    from lmmscore.plan import Protocol


class DialogCommands(click.Group):
    """A group that knows its commands from the names of dialogs."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for the name of a dialog say which command shows it."""
        from lmmscore.dialog import dialog_names

        name = args[0]
        if name not in self.commands and (name in dialog_names() or Path(name).is_file()):
            words = shlex.join(["lmmscore", "dialogs", "show", name])
            ctx.fail(f"'{name}' is a dialog, not a command: {words}")

        return super().resolve_command(ctx, args)


@click.group("dialogs", cls=DialogCommands, invoke_without_command=True)
@click.option(
    "-n",
    "n",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    help="Methods per item, for the number of calls.",
)
@json_flag
@click.pass_context
def command(ctx: click.Context, n: int, as_json: bool) -> None:
    """List the protocols at hand, or show, check and import them."""
    if ctx.invoked_subcommand is None:
        _print_all(n, as_json)


@command.command("list", short_help="List the protocols at hand.")
@click.option("-n", "n", type=click.IntRange(1), help="Methods per item  [default: 8]")
@json_flag
@click.pass_context
def list_all(ctx: click.Context, n: int | None, as_json: bool) -> None:
    """List the protocols at hand, as `lmmscore dialogs` does."""
    # What stands before the word `list` counts too.
    before = ctx.parent.params if ctx.parent else {}
    _print_all(n or before["n"], as_json or before["as_json"])


def _print_all(n: int, as_json: bool) -> None:
    from lmmscore.dialog import dialog_names, load_members
    from lmmscore.plan import Protocol

    rows = [_row(Protocol(load_members(name)), n) for name in dialog_names()]
    if as_json:
        put_json({"dialogs": rows})
        return

    from lmmscore.report.formats.terminal import print_list

    print_list(rows, n)


def _row(protocol: Protocol, n: int) -> dict[str, Any]:
    members = protocol.dialogs
    loaded = protocol.suite or members[0]
    return {
        "name": loaded.name,
        "title": loaded.title,
        "version": loaded.version,
        "shows": list(
            dict.fromkeys(kind for member in members for kind in member.images_shown({}))
        ),
        "factors": {
            factor.key: f"{factor.scale}{', lower is better' if factor.better == 'low' else ''}"
            for member in members
            for factor in member.factors
        },
        "settings": {
            name: list(setting.choices)
            for member in members
            for name, setting in member.settings.items()
        },
        "calls": sum(member.calls(n) for member in members),
        "methods": n,
    }


@command.command("show", short_help="Print a dialog as it would be played.")
@click.argument("name")
@click.option(
    "-n", "n", type=click.IntRange(1), default=3, show_default=True, help="How many edits."
)
@pair_option("--setting", "settings", metavar="NAME=CHOICE", help="A setting of the dialog.")
@click.option(
    "--task", default="background_change", show_default=True, help="Task category of the example."
)
@click.option(
    "--instruction",
    default="Turn the lawn into a lake",
    show_default=True,
    help="Instruction of the example.",
)
@pair_option(
    "--field",
    "fields",
    metavar="COLUMN=TEXT",
    help="A further column of the example's item.",
)
@json_flag
def show(
    name: str,
    n: int,
    settings: dict[str, str],
    task: str,
    instruction: str,
    fields: dict[str, str],
    as_json: bool,
) -> None:
    """Print a dialog as it would be played, word for word."""
    from lmmscore.dialog import load_members
    from lmmscore.plan import Protocol
    from lmmscore.report.formats.terminal import print_script
    from lmmscore.session import script

    # Not load_protocol, which refuses a dialog with open questions: those are to be seen, too.
    protocol = Protocol(load_members(name), settings)
    protocol.refuse_unknown_settings()
    played = []
    for dialog in protocol.dialogs:
        chosen = protocol.settings_for(dialog)
        played.append((dialog, script(dialog, n, task, instruction, chosen, fields)))

    if as_json:
        turns = [{"dialog": dialog.name, **line} for dialog, lines in played for line in lines]
        put_json({"name": name, "turns": turns})
        return

    for dialog, lines in played:
        print_script(dialog, lines)


@command.command("check", short_help="Check dialogs for inconsistencies.")
@click.argument("names", nargs=-1)
def check(names: tuple[str, ...]) -> None:
    """Check dialogs, given by name or file; all known ones if none is given."""
    from lmmscore.dialog import dialog_names
    from lmmscore.plan import load_protocol

    wrong = 0
    for name in names or dialog_names():
        try:
            protocol = load_protocol(name, {})
        except LmmscoreError as error:
            click.echo(f"problem: {error}")
            wrong += 1
            continue

        click.echo(f"ok: {name}")
        for dialog in protocol.dialogs:
            for remark in dialog.remarks():
                click.echo(f"  warning: {remark}")

            for key, text in dialog.questions.items():
                click.echo(f"  open question, {key}: {text}")

    if wrong:
        raise click.exceptions.Exit(1)


@command.command("import", short_help="Turn a published prompt into a dialog.")
@click.argument("source", metavar="FILE[:NAME]", callback=filled)
@click.option(
    "--recipe",
    callback=filled,
    metavar="NAME",
    help="Make the whole protocol of a published benchmark; FILE is then your clone of it. "
    "See `lmmscore dialogs recipes`.",
)
@click.option("--name", callback=filled, help="Name of the dialog  [default: the file's name]")
@path_option("--out", "-o", help="Where to write it  [default: dialogs/NAME.yaml]")
@pair_option(
    "--set",
    "answers",
    metavar="NAME=VALUE",
    help="Answer an open question: overall=mean, scale=1-10 (a range), scale.FACTOR=0,1 (these "
    "values alone), factors=a,b, show=reference,edit, instruction=none, …",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def import_(
    source: str,
    recipe: str | None,
    name: str | None,
    out: Path | None,
    answers: dict[str, str],
    force: bool,
) -> None:
    """Turn a published prompt or chat transcript into a dialog with its exact words.

    FILE.py:NAME takes a string out of a Python file, which is parsed and never run;
    FILE.json:key.path a string out of JSON or YAML. What the document does not say is left as a
    marked question in the YAML, and listed here with its name.
    """
    from lmmscore.importers.document import follow, import_document, load_recipe

    if recipe is not None:
        if answers:
            raise click.UsageError("--set answers questions of a prompt; a recipe leaves none open")

        made = follow(load_recipe(recipe), Path(source), name)
        target = _write(made.name, made.text, out, force)
        say_notes(made.notes)
    else:
        draft = import_document(source, name or "", answers)
        target = _write(draft.data["dialog"], draft.as_yaml(), out, force)
        say_notes(draft.notes)
        for key, text in draft.questions.items():
            click.echo(f"open question, {key}: {text} (--set {key}=…, or edit the file)", err=True)

    shown = shlex.quote(str(target))
    click.echo(f"next: lmmscore dialogs check {shown} && lmmscore dialogs show {shown}", err=True)


def _write(name: str, text: str, out: Path | None, force: bool) -> Path:
    """Write a dialog, print where it is, and return that."""
    target = out or Path("dialogs") / f"{name}.yaml"
    if target.exists() and not force:
        raise FileProblem(f"{target}: exists already; give another --name or --out, or --force")

    write_file(target, text)
    click.echo(target)
    return target


@command.command("recipes", short_help="List published protocols that can be imported whole.")
@json_flag
def recipes(as_json: bool) -> None:
    """List the published benchmarks whose protocol can be made from a clone of their code."""
    from lmmscore.importers.document import load_recipe, recipe_names

    found = [load_recipe(name) for name in recipe_names()]
    if as_json:
        put_json({"recipes": [recipe.described() for recipe in found]})
        return

    for recipe in found:
        click.echo(f"{recipe.recipe}: {recipe.title}")
        click.echo(f"  code:                {recipe.code}")
        click.echo(f"  reproduces:          {recipe.reproduces}")
        click.echo(f"  does not reproduce:  {recipe.differs}")

    click.echo("use: lmmscore dialogs import --recipe NAME PATH_TO_CLONE", err=True)
