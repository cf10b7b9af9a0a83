"""`lmmscore dialogs`: list, show, check and import protocols."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.options import FilePath, filled, json_flag, pairs

if TYPE_CHECKING:
    from lmmscore.dialog import Dialog, Suite


@click.group("dialogs", invoke_without_command=True)
@click.option(
    "-n",
    "n",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    help="Methods an item, for the number of calls.",
)
@json_flag
@click.pass_context
def command(ctx: click.Context, n: int, as_json: bool) -> None:
    """List the protocols at hand, or show, check and import them."""
    if ctx.invoked_subcommand is not None:
        return
    from lmmscore.dialog import dialog_names, load

    rows = [_row(load(name), n) for name in dialog_names()]
    if as_json:
        click.echo(json.dumps({"dialogs": rows}, ensure_ascii=False, indent=2))
        return
    from lmmscore.report.dialogs import print_list

    print_list(rows, n)


def _row(loaded: Dialog | Suite, n: int) -> dict[str, Any]:
    from lmmscore.dialog import Dialog, load_dialog

    members = (
        [loaded]
        if isinstance(loaded, Dialog)
        else [load_dialog(member) for member in loaded.members]
    )
    return {
        "name": loaded.name,
        "title": loaded.title,
        "version": loaded.version,
        "shows": list(
            dict.fromkeys(kind for member in members for kind in member.images_shown({}))
        ),
        "factors": {
            factor.key: str(factor.scale) for member in members for factor in member.factors
        },
        "settings": {
            name: list(setting.choices)
            for member in members
            for name, setting in member.settings.items()
        },
        "calls": sum(member.calls(n) for member in members),
        "methods": n,
    }


@command.command("show")
@click.argument("name")
@click.option(
    "-n", "n", type=click.IntRange(1), default=3, show_default=True, help="With so many edits."
)
@click.option(
    "--setting", "settings", multiple=True, metavar="NAME=CHOICE", help="A setting of the dialog."
)
@click.option(
    "--task", default="background_change", show_default=True, help="Task category of the example."
)
@click.option(
    "--instruction",
    default="Turn the lawn into a lake",
    show_default=True,
    help="Instruction of the example.",
)
@json_flag
def show(
    name: str, n: int, settings: tuple[str, ...], task: str, instruction: str, as_json: bool
) -> None:
    """Print the whole dialogue as it would be played."""
    from lmmscore.dialog import load_members
    from lmmscore.report.dialogs import print_script
    from lmmscore.session import script

    suite, dialogs = load_members(name)
    chosen = pairs(settings, "--setting")
    played = [
        (
            dialog,
            script(
                dialog,
                n,
                task,
                instruction,
                {k: v for k, v in chosen.items() if k in dialog.settings or not suite},
            ),
        )
        for dialog in dialogs
    ]
    if as_json:
        turns = [{"dialog": dialog.name, **line} for dialog, lines in played for line in lines]
        click.echo(json.dumps({"name": name, "turns": turns}, ensure_ascii=False, indent=2))
        return
    for dialog, lines in played:
        print_script(dialog, lines)


@command.command("check")
@click.argument("names", nargs=-1)
def check(names: tuple[str, ...]) -> None:
    """Check dialogs, given by name or file; all at hand if none is given."""
    from lmmscore.dialog import dialog_names, load_members
    from lmmscore.errors import LmmscoreError

    wrong = 0
    for name in names or dialog_names():
        try:
            _, dialogs = load_members(name)
        except LmmscoreError as error:
            click.echo(f"problem: {error}")
            wrong += 1
            continue
        click.echo(f"ok: {name}")
        for dialog in dialogs:
            for key, text in dialog.questions.items():
                click.echo(f"  open question, {key}: {text}")
    if wrong:
        raise click.exceptions.Exit(1)


@command.command("import")
@click.argument("file", type=FilePath(path_type=Path))
@click.option("--name", callback=filled, help="Name of the dialog  [default: the file's name]")
@click.option(
    "--out",
    "-o",
    type=FilePath(path_type=Path),
    help="Where to write it  [default: dialogs/NAME.yaml]",
)
@click.option(
    "--set",
    "answers",
    multiple=True,
    metavar="NAME=VALUE",
    help="Answer an open question: overall=mean, scale=1-10, scale.FACTOR=0,1, show=reference,edit, …",
)
@click.option("--force", is_flag=True, help="Write over an existing file.")
def import_(
    file: Path, name: str | None, out: Path | None, answers: tuple[str, ...], force: bool
) -> None:
    """Turn a published prompt or chat transcript into a dialog that plays its exact words.

    What the document does not say is left as a marked question in the YAML, and asked for here by name.
    """
    from lmmscore.errors import FileProblem
    from lmmscore.importers.dialogs.document import can_be_set, import_document

    draft = import_document(file, name or file.stem, pairs(answers, "--set"))
    target = out or Path("dialogs") / f"{draft.data['dialog']}.yaml"
    if target.exists() and not force:
        raise FileProblem(f"{target}: exists already; give another --name or --out, or --force")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(draft.as_yaml(), encoding="utf-8")
    except OSError as error:
        raise FileProblem(f"{target}: cannot be written ({error.strerror})") from error
    click.echo(target)
    for key, text in draft.questions.items():
        way = f"--set {key}=…, or edit the file" if can_be_set(key) else "edit the file"
        click.echo(f"open question, {key}: {text} ({way})", err=True)
    shown = shlex.quote(str(target))
    click.echo(f"next: lmmscore dialogs check {shown} && lmmscore dialogs show {shown}", err=True)
