"""What several commands share: their options, standard output, and the runs they are given."""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, get_origin

import click
from click.core import ParameterSource

from lmmscore.errors import FileProblem, LmmscoreError, alternatives
from lmmscore.options import Declared, declared
from lmmscore.report.formats import format_names

if TYPE_CHECKING:
    import pandas as pd

    from lmmscore.leaderboard import Leaderboard
    from lmmscore.leaderboard.matches import PairBoard
    from lmmscore.report.figures import Drawing
    from lmmscore.report.formats import DisplayNames
    from lmmscore.run_folder import Manifest, Run
    from lmmscore.score_files import HumanRatings

# --------------------------------------------------------------------------------------------------
# Options that several commands take, each defined once.
# --------------------------------------------------------------------------------------------------

Command = TypeVar("Command", bound=Callable[..., Any])


class Finite(click.FloatRange):
    """A range of numbers that NaN and infinity are not in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number; fail for what is none, or is not in the range."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)

        return number


class FilePath(click.Path):
    """A path that is not empty: an empty one would mean the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; fail for an empty one."""
        if isinstance(value, str) and not value:
            optional = "" if param is not None and param.required else ", or leave it out"
            self.fail(f"it is empty; name a file or folder{optional}.", param, ctx)

        return super().convert(value, param, ctx)


def filled(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Refuse an empty text, as an unset shell variable gives: it would pass for no value at all."""
    if ctx.get_parameter_source(param.name or "") is not ParameterSource.COMMANDLINE:
        return value

    for text in value if param.multiple else [value]:
        if isinstance(text, str) and not text.strip():
            raise click.BadParameter("it is empty; give a value, or leave it out.", ctx, param)

    return value


text_option = partial(click.option, callback=filled, default="")
path_option = partial(click.option, type=FilePath(path_type=Path))
folder_option = partial(
    click.option, type=FilePath(path_type=Path, exists=True, file_okay=False), metavar="FOLDER"
)
path_argument = partial(click.argument, type=FilePath(path_type=Path))


class GroupedCommand(click.Command):
    """A command whose help lists its options in groups, the most needed first."""

    def __init__(
        self,
        *args: Any,
        groups: Mapping[str, Sequence[str]] | None = None,
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **attributes)
        self.groups = dict(groups or {})
        """Titles, with the flags under each; flags in no group come last."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options group by group."""
        lines: dict[str, tuple[str, str]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if isinstance(param, click.Option) and record is not None:
                lines[max(param.opts, key=len).lstrip("-")] = record

        for title, names in self.groups.items():
            rows = [lines.pop(name) for name in names if name in lines]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

        if lines:
            with formatter.section("Other options" if self.groups else "Options"):
                formatter.write_dl(list(lines.values()))


def _flag_of(param: click.Parameter) -> str:
    return max(param.opts, key=len)


def _given() -> dict[str, str]:
    """Return the parameters that were typed, each with its longest flag."""
    context = click.get_current_context()
    typed = {}
    for param in context.command.params:
        name = param.name or ""
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            typed[name] = _flag_of(param)

    return typed


def refuse(names: Collection[str], why: str) -> None:
    """Refuse options that have no effect here: whoever types one believes that it has."""
    for name, flag in _given().items():
        if name in names:
            raise click.UsageError(f"{flag} {why}")


def refuse_others(fit: Collection[str], why: str) -> None:
    """Refuse every option but those named, which alone have an effect here."""
    refuse(_given().keys() - set(fit), why)


def refuse_without(needed: str, *names: str) -> None:
    """Refuse options that have an effect only together with another one."""
    if needed in _given():
        return

    params = click.get_current_context().command.params
    flag = next(_flag_of(param) for param in params if param.name == needed)
    refuse(names, f"goes with {flag}")


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that adds several options, in the order in which help lists them."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def listen_options(port: int) -> Callable[[Command], Command]:
    """Add where a command serves its page: on this machine only, unless told otherwise."""
    return together(
        click.option(
            "--host", default="127.0.0.1", show_default=True, help="Address to listen on."
        ),
        click.option(
            "--port",
            type=click.IntRange(0, 65_535),
            default=port,
            show_default=True,
            help="Port to listen on; 0 takes any.",
        ),
    )


def _shard(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Read `3/16`."""
    if value is None:
        return None

    number, slash, count = value.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal()):
        raise click.BadParameter("write the shard and their number, as 3/16.", ctx, param)

    if not 1 <= int(number) <= int(count):
        raise click.BadParameter(f"shards are numbered from 1 to {int(count)}.", ctx, param)

    return int(number), int(count)


def _pairs(
    _: click.Context, param: click.Parameter, values: Sequence[str], *, empty: bool = True
) -> dict[str, str]:
    """Read NAME=VALUE, as often as it was given; `empty` allows a name without a value."""
    made = {}
    for text in values:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and (value or empty)):
            raise click.UsageError(f"{_flag_of(param)} takes {param.metavar}, not {text!r}")

        made[name] = value

    return made


pair_option = partial(click.option, multiple=True, callback=_pairs)
rename_option = partial(
    click.option, multiple=True, metavar="OLD=NEW", callback=partial(_pairs, empty=False)
)


def options_of(
    declaration: type, prefix: str = "", only: Sequence[str] | None = None
) -> Callable[[Command], Command]:
    """Return a decorator that adds the flags a class of options declares, or only some of them."""
    wanted = [each for each in declared(declaration) if only is None or each.name in only]
    return together(*(_flag(each, prefix) for each in wanted if each.about.flag))


def _flag(option: Declared, prefix: str) -> Callable[[Command], Command]:
    """Return one option of a command. Its type says how a value is read."""
    about = option.about
    shown: dict[str, Any] = {"help": about.help, "metavar": about.metavar or None}
    names = [about.flag, *([about.short] if about.short else []), prefix + option.name]
    kinds = option.kinds
    if bool in kinds:
        return click.option(*names, is_flag=True, help=about.help)

    if kinds[0] == tuple[int, int]:
        return click.option(*names, callback=_shard, **shown)

    origin = get_origin(kinds[0])
    if origin is tuple:
        return click.option(*names, multiple=True, callback=filled, **shown)

    if origin is Mapping:
        return pair_option(*names, **shown)

    # With a prefix, what was not given is left to others: a judge has its options from judges.yaml.
    if option.default and not prefix:
        shown |= {"default": option.default, "show_default": True}

    return click.option(*names, type=_type_of(option), callback=filled, **shown)


def _type_of(option: Declared) -> click.ParamType[Any]:
    """Return the type of a flag: the plain type of the option, with its bounds."""
    kinds = option.kinds
    if all(isinstance(kind, str) for kind in kinds):
        return click.Choice(kinds)

    about = option.about
    kind = kinds[0]
    if kind is Path:
        return FilePath(path_type=Path)

    if kind is float and about.above is not None:
        return Finite(min=about.above, min_open=True)

    if kind is float:
        return Finite(min=about.at_least)

    if kind is int and about.at_least is not None:
        return click.IntRange(int(about.at_least))

    return click.INT if kind is int else click.STRING


json_flag = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object for programs."
)

as_json_format = click.option("--json", "as_json", is_flag=True, help="The same as --format json.")


def _scale(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[float, float] | None:
    """Read `1,10`; None where no scale is given."""
    text = filled(ctx, param, value)
    if not text:
        return None

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


scale_option = partial(click.option, "--scale", callback=_scale, metavar="LOW,HIGH")
ratings_scale = scale_option(help="The scale of the ratings, where none is on record.")


def _named(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    """Read METHOD=NAME pairs, or a file that has one on each line."""
    texts: list[str] = []
    for text in value:
        if "=" in text:
            texts.append(text)
        elif Path(text).is_file():
            lines = Path(text).read_text(encoding="utf-8").splitlines()
            texts += [line for line in lines if line.strip()]
        else:
            raise click.UsageError(
                f"--names takes METHOD=NAME or a file of such lines, not {text!r}"
            )

    return _pairs(ctx, param, texts)


method_names = click.option(
    "--names",
    multiple=True,
    callback=_named,
    metavar="METHOD=NAME",
    help="What a table calls a method, or a file of such lines; may be repeated.",
)

table_file = path_option(
    "--out", "-o", metavar="FILE", help="Write to this file instead of standard output."
)


table_format = click.option(
    "--format",
    "form",
    type=click.Choice(format_names()),
    default="term",
    show_default=True,
    help="Output format.",
)


def _drawable(_: click.Context, __: click.Parameter, value: Path | None) -> Path | None:
    """Refuse figures that cannot be drawn before the tables are computed and printed."""
    if value is not None:
        from lmmscore.report.figures import refuse_without_matplotlib

        refuse_without_matplotlib()

    return value


plot_options = together(
    path_option(
        "--plots", metavar="DIR", callback=_drawable, help="Write figures into this folder."
    ),
    click.option(
        "--plot-format",
        type=click.Choice(["pdf", "svg", "png"]),
        default="pdf",
        show_default=True,
        help="Their file format.",
    ),
    click.option(
        "--plot-width",
        type=click.Choice(["column", "page"]),
        default="page",
        show_default=True,
        help="Their width: a column (3.25 in) or a page (6.75 in) of a paper.",
    ),
)
"""The options of every command that writes figures."""

PLOT_GROUP = ("plots", "plot-format", "plot-width")

panel_options = together(
    click.option("--panel", is_flag=True, help="Take the mean of several judges as one judge."),
    click.option(
        "--panel-scores",
        type=click.Choice(["raw", "z"]),
        default="raw",
        show_default=True,
        help="Average the panel's scores as they are, or standardised.",
    ),
    path_option(
        "--families",
        "family_file",
        metavar="FILE",
        help="A table of name parts and model families, for the panel's warnings.",
    ),
)
"""The options of every command that treats several judges as one."""

PANEL_GROUP = ("panel", "panel-scores", "families")


score_columns = together(
    text_option("--item-column", help="The column that names the item."),
    text_option("--method-column", help="The column that names the method."),
    text_option("--task-column", help="The score file's column that names the task category."),
    text_option(
        "--task-pattern",
        metavar="REGEX",
        help="Find the task in the item's id: the first group in parentheses.",
    ),
)
"""The options of every command that reads other tools' score files."""

factor_renames = rename_option("--rename", "renames", help="Call a factor by another name.")


def name_table(path: Path | None) -> dict[str, str]:
    """Return the first two columns of a table as old and new names; none without a file."""
    if path is None:
        return {}

    from lmmscore.tables import read_tables, text

    table = read_tables(path)[0]
    if len(table.columns) < 2:
        raise FileProblem(f"{path}: two columns are needed, the old name and the new")

    old, new = table.columns[:2]
    return {text(row[old]): text(row[new]) for row in table.rows}


JUDGE_PREFIX = "judge_option_"
"""Apart from a command's own: the judge has a seed, and so have the orders."""


def take_judge_options(given: dict[str, Any]) -> dict[str, Any]:
    """Remove the judge's options from a command's arguments and return those that were given."""
    names = [name for name in given if name.startswith(JUDGE_PREFIX)]
    taken = {name.removeprefix(JUDGE_PREFIX): given.pop(name) for name in names}
    # Compared by identity: 0 equals False, and a temperature, a seed or a budget of 0 is meant.
    return {
        name: value for name, value in taken.items() if value is not None and value is not False
    }


# --------------------------------------------------------------------------------------------------
# Standard output: what several commands print on it, or write to a file in its place.
# --------------------------------------------------------------------------------------------------


class Screen(TypedDict):
    """How tables are to be drawn."""

    color: bool
    width: int | None


def screen(out: Path | None = None) -> Screen:
    """Return how tables are drawn: in colour and to the width of the terminal where someone is
    looking, plainly in a pipe or a file."""
    tty = out is None and sys.stdout.isatty()
    return {"color": tty, "width": get_terminal_size().columns if tty else None}


def say_notes(notes: Iterable[str]) -> None:
    """Print what users should know about how files were read, apart from the data."""
    for note in notes:
        click.echo(f"note: {note}", err=True)


def write_plots(drawings: Sequence[Drawing], options: Mapping[str, Any]) -> None:
    """Write figures as the options that `plot_options` adds say, and print where they are."""
    from lmmscore.report.figures import write_figures

    ending, width = options["plot_format"], options["plot_width"]
    for path in write_figures(drawings, options["plots"], ending, width):
        click.echo(f"wrote {path}", err=True)


def put(text: str, out: Path | None) -> None:
    """Print a table, or write it to a file and say so."""
    if out is None:
        click.echo(text, nl=False)
        return

    write_file(out, text)
    click.echo(f"wrote {out}", err=True)


def put_json(data: Any, out: Path | None = None) -> None:
    """Print an object for programs, or write it to a file."""
    put(json.dumps(data, ensure_ascii=False, indent=2) + "\n", out)


def write_file(path: Path, text: str) -> None:
    """Write a file that an option named, with the folders it is in."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # CSV has its own line ends.
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        reason = error.strerror or error
        raise FileProblem(f"{path}: cannot be written ({reason}); name another file") from error


def print_board(board: Leaderboard | PairBoard, manifest: Manifest) -> None:
    """Print a run's leaderboard to standard output, in colour where someone is looking."""
    from lmmscore.leaderboard.matches import PairBoard
    from lmmscore.report.leaderboard import display_names, render, render_pairs

    names = display_names(manifest)
    if isinstance(board, PairBoard):
        put(render_pairs(board, "term", names=names, **screen()), None)
    else:
        put(render(board, "term", names=names, **screen()), None)


def write_boards(run: Run) -> Leaderboard | PairBoard:
    """Write the tables of a run into its folder, and return them."""
    from lmmscore.report.leaderboard import write_leaderboards, write_pair_boards

    return write_pair_boards(run) if run.is_of_pairs else write_leaderboards(run)


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
    """The run's own record of itself; empty where there are only scores."""
    run: Run | None = None

    @property
    def caution(self) -> str:
        """What the judge's own limits mean for these figures."""
        return self.manifest.caution

    @property
    def models(self) -> str:
        """The model behind the judge, as far as it is on record; else the name of the run."""
        return " ".join(self.manifest.models) or self.manifest.judge or self.name

    @property
    def recorded(self) -> Run | None:
        """The run, where its sessions are on record; None where there are only scores."""
        has_sessions = self.run is not None and (self.run.path / "sessions.jsonl").is_file()
        return self.run if has_sessions else None

    def only(self, column: str, names: Sequence[str]) -> Source:
        """Return the scores of these tasks, methods or items; all of them where none is named."""
        if not names:
            return self
        return replace(self, scores=self.scores[self.scores[column].isin(names)])

    def display_names(self, given: Mapping[str, str]) -> DisplayNames:
        """Return what tables call the methods: as the run's benchmark says, or as given now."""
        from lmmscore.report.leaderboard import display_names

        return display_names(self.manifest, given)

    def sessions(self) -> Iterator[Mapping[str, Any]] | None:
        """Yield the records of the sessions, with the methods that replies name where there is a
        ledger to look into; None where no session is on record."""
        run = self.recorded
        if run is None:
            return None

        methods = [str(name) for name in self.scores["method"].unique()]
        if run.ledger_path.is_file():
            return sessions_with_names(run, methods)

        return (record.model_dump(mode="json") for record in run.records())

    def comparable(self) -> dict[str, Any]:
        """Return the settings, with a digest of the pictures shown where they are on record."""
        known = self.manifest
        settings = known.model_dump(mode="json") if known.model_fields_set else {}
        run = self.recorded
        if run is None or not run.ledger_path.is_file():
            return settings

        digest = images_digest(run)
        return {**settings, "images_digest": digest} if digest else settings


def open_source(text: str) -> Source:
    """Open a run folder, or a scores.csv, with the run.yaml beside it if there is one."""
    from lmmscore.run_folder import open_run
    from lmmscore.scores import read_scores

    if not text:
        raise LmmscoreError("the name of a run is empty; give its folder, or a scores.csv")

    path = Path(text)
    # A name that is not there was more likely meant as a run's folder than as a table.
    if path.is_dir() or (not path.exists() and not path.suffix):
        run = open_run(path)
        return Source(path.resolve().name, path, run.scores(), run.manifest, run)

    scores = read_scores(path)
    if path.name == "scores.csv" and (path.parent / "run.yaml").is_file():
        run = open_run(path.parent)
        return Source(path.resolve().parent.name, path.parent, scores, run.manifest, run)

    return Source(path.stem, path, scores)


LISTED = 12
"""How many names a message lists, of however many items or methods there are."""


def refuse_unknown(kind: str, given: Sequence[str], known: Sequence[str], where: str) -> None:
    """Raise where a method or item is named that the scores do not have."""
    for name in given:
        if name not in known:
            there_are = alternatives(name, known, "there are", LISTED)
            raise LmmscoreError(f"{where}: no {kind} {name!r}{there_are}")


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


def pooled(sources: Sequence[Source], *, anyway: bool) -> Source:
    """Return several runs as one. Raises where they are not comparable, unless `anyway`."""
    if len(sources) == 1:
        return sources[0]

    from lmmscore.leaderboard.compare import pool

    names = [source.name for source in sources]
    settings = [source.comparable() for source in sources]
    scores = pool(names, [source.scores for source in sources], settings, anyway=anyway)
    known = for_all(sources, sources[0].manifest)
    return Source(" + ".join(names), sources[0].path, scores, known)


def for_all(sources: Sequence[Source], manifest: Manifest) -> Manifest:
    """Return the manifest with what tables must say of any of the runs: cautions, names and which
    methods were judged beside a few others only."""
    together: dict[str, Any] = {"caution": cautions(sources)}
    for key in ("method_names", "task_titles", "beside"):
        together[key] = {}
        for source in reversed(sources):  # the first run's names win
            together[key] |= getattr(source.manifest, key)

    return manifest.model_copy(update=together)


def human_ratings(options: Mapping[str, Any], *, shared: bool = False) -> HumanRatings:
    """Read the files of --human, by the columns that the options of the command name.

    Where the item's and the method's are `shared`, the ratings need not have them: score files may.
    """
    from lmmscore.score_files import Columns
    from lmmscore.web.rating_results import read_human_ratings

    parts = ("item", "method", "rater", "factor", "score", "task")
    columns = Columns(**{part: options.get(f"{part}_column", "") for part in parts})
    if shared:
        columns = replace(columns, shared=columns.shared | {"item", "method"})
    return read_human_ratings(options["human"], columns)


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


def sessions_with_names(run: Run, methods: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the records of the sessions, each with `names`: the methods its replies mention."""
    from lmmscore.ledger import Ledger

    with Ledger(run.ledger_path, read_only=True) as ledger:
        for record in run.records():
            replies = [ledger.find(exchange.key) for exchange in record.exchanges]
            text = "\n".join(reply.text for reply in replies if reply is not None)
            yield {**record.model_dump(mode="json"), "names": names_in(text, methods)}


def names_in(text: str, methods: Sequence[str]) -> list[str]:
    """Return the methods that a text mentions as whole words.

    Case matters in names of up to three letters: those may be words of the language.
    """
    found = []
    for name in methods:
        folded = re.NOFLAG if len(name) <= 3 else re.IGNORECASE
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, folded):
            found.append(name)

    return found


def images_digest(run: Run) -> str | None:
    """Return a digest of all pictures shown, by item and method; None if one is not on record."""
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
