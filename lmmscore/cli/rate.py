"""`lmmscore rate`: a page on which human raters judge what the judge judges."""

from __future__ import annotations

import asyncio
import logging
import shlex
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from lmmscore.cli.command_line import (
    GroupedCommand,
    filled,
    folder_option,
    json_flag,
    listen_options,
    open_source,
    options_of,
    path_argument,
    path_option,
    put_json,
    refuse_without,
    say_notes,
    text_option,
    write_file,
)
from lmmscore.errors import FileProblem, LmmscoreError
from lmmscore.options import Selection

if TYPE_CHECKING:
    from lmmscore.benchmark import Benchmark
    from lmmscore.plan import Protocol
    from lmmscore.web.pages import RatingStudy
    from lmmscore.web.study import Rater, Study


GROUPS = {
    "What is rated": ("dialog", "setting", "task", "item", "method", "max-side"),
    "The study": (
        *("raters-per-edit", "items-per-rater", "checks", "practice", "instructions"),
        *("completion-code", "seed", "out"),
    ),
    "The page": ("raters", "valid-days", "open", "host", "port", "public", "static", "post"),
    "Before and after": ("plan", "pilot", "export", "downloads", "withdraw"),
}

_file_option = partial(path_option, metavar="FILE")


@click.command("rate", cls=GroupedCommand, groups=GROUPS)
@path_argument("benchmark")
@click.option(
    "--dialog",
    "-d",
    default="lmm-score",
    show_default=True,
    help="Whose factors, scales and pictures raters get: a name or a file.",
)
@_file_option(
    "--out",
    "-o",
    metavar="DIR",
    help="Folder of the study.  [default: ratings/BENCHMARK-DIALOG]",
)
@click.option(
    "--raters-per-edit",
    type=click.IntRange(1, 1000),
    default=3,
    show_default=True,
    metavar="K",
    help="How many raters judge each edit.",
)
@click.option(
    "--items-per-rater",
    type=click.IntRange(1),
    metavar="M",
    help="Screens in a rater's share, checks not counted.  [default: all]",
)
@click.option(
    "--checks",
    is_flag=False,
    flag_value="source,failure,repeat",
    default=None,
    metavar="[KIND,...]",
    help="Hidden checks: source, failure, repeat. Named last and without KIND: all three.",
)
@_file_option("--practice", help="Items to practise on, with the scores expected.")
@_file_option("--instructions", help="What raters read and agree to first, in Markdown.")
@text_option(
    "--completion-code",
    metavar="CODE",
    help="Shown at the end, the same for everyone.  [default: one per rater]",
)
@options_of(Selection, only=["tasks", "items", "settings"])
@click.option("--method", "methods", multiple=True, help="Only this method; may be repeated.")
@click.option(
    "--max-side",
    "max_side_px",
    type=click.IntRange(16),
    default=1024,
    show_default=True,
    metavar="PIXELS",
    help="Longest side of a picture.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the orders.")
@click.option(
    "--raters",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="How many personal links there are.  [default: as many as needed]",
)
@click.option(
    "--valid-days",
    type=click.IntRange(1, 3650),
    default=90,
    show_default=True,
    metavar="DAYS",
    help="How long a new link works.",
)
@click.option(
    "--open",
    "open_registration",
    is_flag=True,
    help="Let anyone with the address take part, for example by ?PROLIFIC_PID=.",
)
@listen_options(8040)
@text_option(
    "--public", metavar="URL", help="Address that raters see, if a reverse proxy serves the page."
)
@_file_option("--static", metavar="DIR", help="Write the page as a folder instead of serving it.")
@text_option(
    "--post",
    metavar="URL",
    help="With --static: where the page sends answers, besides keeping them.",
)
@click.option(
    "--plan", "only_plan", is_flag=True, help="Only say how many raters and minutes it takes."
)
@text_option(
    "--pilot",
    metavar="RUN",
    help="With --plan: a run whose scores say how far methods are apart.",
)
@_file_option(
    "--export",
    "exports",
    multiple=True,
    help="Write the ratings to a .csv or .json file; may be repeated.",
)
@folder_option(
    "--downloads",
    metavar="DIR",
    help="With --export: answers downloaded from a static page.",
)
@click.option(
    "--withdraw",
    callback=filled,
    multiple=True,
    metavar="RATER",
    help="Delete a rater and all their answers, by id, link or Prolific id.",
)
@json_flag
def command(benchmark: Path, **options: Any) -> None:
    """Collect human ratings of BENCHMARK with the factors and scales of a dialog.

    Serves a page with one link per rater until Ctrl-C; the same command again resumes where it
    stopped. Raters see neither method names nor file names.
    """
    from lmmscore.benchmark import load_benchmark
    from lmmscore.plan import load_protocol
    from lmmscore.web.pages import RatingStudy
    from lmmscore.web.study import open_study, study_folder

    refuse_without("static", "post")
    refuse_without("only_plan", "pilot", "as_json")
    refuse_without("exports", "downloads")
    whole = load_benchmark(benchmark)
    protocol = load_protocol(options["dialog"], options["settings"])
    folder = options["out"] or study_folder(whole.name, protocol.name)
    if options["withdraw"]:
        _withdraw(folder, options["withdraw"])
        return

    if options["exports"]:
        _export(folder, options)
        return

    chosen = whole.select(options["tasks"], options["items"], options["methods"])
    study = _study(chosen, protocol, options)
    if options["only_plan"]:
        _plan(folder, study, chosen, protocol, options)
        return

    with closing(open_study(folder, study)) as database:
        _host(RatingStudy(database, whole, chosen), folder, options)


def _study(benchmark: Benchmark, protocol: Protocol, options: dict[str, Any]) -> Study:
    """Return the study that the options describe."""
    from lmmscore.web.study import StudyOptions, make_study

    words = (options["checks"] or "").split(",")
    wish = StudyOptions(
        raters_per_edit=options["raters_per_edit"],
        items_per_rater=options["items_per_rater"],
        checks=tuple(word.strip() for word in words if word.strip()),
        practice=options["practice"],
        instructions=options["instructions"],
        completion_code=options["completion_code"],
        seed=options["seed"],
        max_side_px=options["max_side_px"],
    )
    return make_study(benchmark, protocol, wish)


def _host(rating: RatingStudy, folder: Path, options: dict[str, Any]) -> None:
    if options["static"]:
        _write_static(rating, options)
        return

    raters = rating.database.raters()
    if not options["open_registration"] or options["raters"]:
        raters = _enough_raters(rating, options)

    logging.basicConfig(format="%(levelname)s %(name)s %(message)s")
    asyncio.run(_serve(rating, raters, folder, options))


def _raters_wanted(rating: RatingStudy, options: dict[str, Any]) -> int:
    from lmmscore.web.study import raters_needed

    return options["raters"] or raters_needed(rating.study, len(rating.subjects))


def _enough_raters(rating: RatingStudy, options: dict[str, Any]) -> list[Rater]:
    """Return the raters of the study, with as many new ones as it still needs."""
    database = rating.database
    raters = database.raters()
    lacking = _raters_wanted(rating, options) - len(raters)
    return raters + [database.add_rater(options["valid_days"]) for _ in range(lacking)]


async def _serve(
    rating: RatingStudy, raters: list[Rater], folder: Path, options: dict[str, Any]
) -> None:
    from lmmscore.web.pages import (
        Doors,
        PictureFolder,
        RatingPage,
        hosted,
        until_interrupted,
        web_origin,
    )

    public = options["public"].rstrip("/")
    if public:
        web_origin(public, "--public")

    doors = Doors(options["open_registration"], options["valid_days"], urlsplit(public).path)
    pictures = PictureFolder(folder / "pictures", rating.study.max_side_px)
    page = RatingPage(rating, pictures, doors)
    async with hosted(page.app(), options["host"], options["port"]) as address:
        where = public or address
        if options["open_registration"]:
            click.echo(f"{where}/")
            click.echo(f"on Prolific: {where}/?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}", err=True)

        for rater in raters:
            click.echo(f"{where}/r/{rater.token}/")

        if not public and options["host"] in ("0.0.0.0", "::"):
            click.echo("note: give the address that raters see with --public URL", err=True)

        click.echo(f"answers are in {folder}; Ctrl-C ends the page, not the study", err=True)
        await until_interrupted()

    click.echo(f"next: lmmscore rate {_again(options, folder)} --export ratings.csv", err=True)


def _again(options: dict[str, Any], folder: Path) -> str:
    context = click.get_current_context(silent=True)
    benchmark = context.params["benchmark"] if context else "BENCHMARK"
    words = [str(benchmark), "--dialog", options["dialog"]]
    words += ["--out", str(folder)] if options["out"] else []
    return shlex.join(words)


def _write_static(rating: RatingStudy, options: dict[str, Any]) -> None:
    from lmmscore.report.formats.terminal import counting
    from lmmscore.web.pages import web_origin, write_static

    if options["post"]:
        web_origin(options["post"], "--post")

    raters = _enough_raters(rating, options)[: _raters_wanted(rating, options)]
    most = len(rating.items) * (len(rating.study.methods) + len(rating.study.shows))
    with counting("pictures", most) as count:
        page = write_static(rating, raters, options["static"], options["post"], count)

    click.echo(str(page))
    for rater in raters:
        click.echo(f"rater {rater.number}: {page.name}?rater={rater.number}", err=True)

    click.echo(f"which letter is which method is in {rating.database.path}: keep it", err=True)


def _plan(
    folder: Path,
    study: Study,
    benchmark: Benchmark,
    protocol: Protocol,
    options: dict[str, Any],
) -> None:
    from lmmscore.web.rating_results import plan_lines, plan_study
    from lmmscore.web.study import subjects_of

    subjects = subjects_of(benchmark, study.covers, study.practice)
    seconds, scores, basis = _pilot(folder, study, protocol, options["pilot"])
    found = replace(plan_study(study, subjects, seconds, scores), power_basis=basis)
    if options["as_json"]:
        put_json(found.as_dict())
        return

    for line in plan_lines(found, study):
        click.echo(line)

    if not found.powers:
        say_notes(["with --pilot RUN, it also says how many items show a difference"])


def _pilot(
    folder: Path, study: Study, protocol: Protocol, run: str
) -> tuple[list[float], Any, str]:
    """Return the times per screen, and scores from which power is computed, with their source."""
    from lmmscore.scales import formula, parts_of
    from lmmscore.web.rating_results import database_rows, scores_of_raters
    from lmmscore.web.study import FILE_NAME, RatingDatabase

    factors = study.factors
    seconds: list[float] = []
    scores, basis = None, ""
    if (folder / FILE_NAME).is_file():
        with closing(RatingDatabase(folder / FILE_NAME, read_only=True)) as database:
            done = [each for each in database.all_assignments() if each.done]
            seconds = [each.seconds for each in done if each.purpose != "practice"]
            single = len(protocol.dialogs) == 1
            rule = protocol.dialogs[0].formula if single else formula("mean", parts_of(factors))
            scores = scores_of_raters(database_rows(database), rule)
            basis = "the ratings so far"

    if run:
        scores, basis = open_source(run).scores, run

    return seconds, scores, basis


def _export(folder: Path, options: dict[str, Any]) -> None:
    from lmmscore.web.rating_results import (
        database_rows,
        download_ratings,
        downloads_of,
        quality_notes,
        to_csv,
        to_json,
    )
    from lmmscore.web.study import FILE_NAME, RatingDatabase

    notes: list[str] = []
    with closing(RatingDatabase(folder / FILE_NAME, read_only=True)) as database:
        rows = database_rows(database)
        if options["downloads"]:
            handed_in = download_ratings(database, downloads_of(options["downloads"]))
            rows += handed_in.rows
            notes += handed_in.notes

        study = database.study

    for path in options["exports"]:
        if path.suffix.lower() not in (".csv", ".json"):
            raise FileProblem(f"{path}: ratings are exported as .csv or .json; name such a file")

        write_file(path, to_csv(rows) if path.suffix.lower() == ".csv" else to_json(study, rows))
        click.echo(str(path))

    say_notes([*notes, *quality_notes(rows)])


def _withdraw(folder: Path, names: tuple[str, ...]) -> None:
    from lmmscore.web.study import FILE_NAME, RatingDatabase

    path = folder / FILE_NAME
    with closing(RatingDatabase(path, read_only=True)):
        pass

    with closing(RatingDatabase(path)) as database:
        for name in names:
            rater = database.find_rater(name.rstrip("/").rpartition("/")[2])
            if rater is None:
                raise LmmscoreError(f"{path}: no rater {name!r}; the export lists their ids")

            count = database.withdraw(rater)
            click.echo(f"{rater.id}: deleted, with {count} answers", err=True)
