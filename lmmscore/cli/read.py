"""`lmmscore read` and `lmmscore replay`: what is read from a reply, and from transcripts."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.command_line import (
    FilePath,
    filled,
    json_flag,
    path_argument,
    path_option,
    print_board,
    put_json,
    text_option,
)
from lmmscore.errors import FileProblem, counted
from lmmscore.records import Reply
from lmmscore.report.formats.terminal import printable

if TYPE_CHECKING:
    from fractions import Fraction

    from lmmscore.dialog import Dialog
    from lmmscore.parsing import Reading
    from lmmscore.parsing.names import Names
    from lmmscore.parsing.numbers import Number
    from lmmscore.parsing.winner import WinnerReading
    from lmmscore.scales import Factor


@click.command("read")
@click.argument("file", type=FilePath(path_type=Path, allow_dash=True))
@text_option(
    "--dialog",
    "-d",
    default="lmm-score",
    show_default=True,
    help="Whose factors and scales: a name or a file.",
)
@click.option(
    "--edits",
    "-n",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="How many edits the reply is about.",
)
@text_option("--turn", help="Which turn it answers, where the dialog reads several.")
@json_flag
def command(file: Path, dialog: str, edits: int, turn: str, as_json: bool) -> None:
    """Read the scores in a judge's reply: each with its place in the text, and every fault.

    Where scores are missing, the lines are listed whose numbers were not taken, or that may void
    them, with the reason as far as it is known.

    FILE is the text of one reply (- for standard input), or a .jsonl file of many: objects with
    `reply`, with `dialog`, `n` and `turn` where they differ from the options, and perhaps `name`
    and `finish`. With a dialog of pairs it prints who wins: `first`, `second` or `tie`.

    No judge is asked. Exits with 3 when part of a single reply could not be read. --json prints one
    object, of a .jsonl file one per line.
    """
    if file.suffix == ".jsonl":
        for found in _many(file, dialog, edits, turn):
            click.echo(json.dumps(found, ensure_ascii=False) if as_json else _in_a_line(found))
        return
    if file.is_dir():
        raise FileProblem(f"{file}: a folder; name the file of a reply, or a .jsonl of many")

    _read_one(file, dialog, edits, turn, as_json)


def _many(file: Path, dialog: str, edits: int, turn: str) -> Iterator[dict[str, Any]]:
    from lmmscore.session import read_answer
    from lmmscore.yaml_files import read_text

    dialogs: dict[str, Dialog] = {}
    content = read_text(file)
    if not content.strip():
        raise FileProblem(f"{file}: the file is empty; give one object with a `reply` per line")

    for number, text in enumerate(content.splitlines(), 1):
        if not text.strip():
            continue

        line = {"n": edits, **_object(text, f"{file}, line {number}", edits)}
        name = str(line.get("dialog") or dialog)
        if name not in dialogs:
            dialogs[name] = _dialog_beside(name, file)

        reply = Reply(line["reply"], finish=str(line.get("finish") or "stop"))
        found = read_answer(dialogs[name], reply, line["n"], str(line.get("turn") or turn))
        yield {"name": str(line.get("name") or number), **_as_json(found)}


def _object(text: str, where: str, edits: int) -> dict[str, Any]:
    """Return a line's object, whose `reply` is a text. Raises FileProblem for any other line."""
    try:
        line = json.loads(text)
    except ValueError as error:
        raise FileProblem(f"{where}: not JSON ({error}); one object per line is expected") from None

    if not isinstance(line, dict):
        raise FileProblem(f"{where}: not an object; one object per line is expected")
    if not isinstance(line.get("reply"), str):
        raise FileProblem(f"{where}: there is no `reply`; give the reply's text under that key")

    # True is an integer to Python, and nobody's number of edits.
    n = line.get("n", edits)
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise FileProblem(f"{where}: `n` is {n!r}; give the number of edits, 1 or more")
    return line


def _dialog_beside(name: str, file: Path) -> Dialog:
    """Return a dialog given by name, by path, or by its name in `dialogs/` beside the file."""
    from lmmscore.dialog import is_bundled, load_dialog

    beside = file.parent / "dialogs" / f"{name}.yaml"
    if not is_bundled(name) and beside.is_file():
        return load_dialog(str(beside))

    near = file.parent / name
    if name.endswith((".yaml", ".yml")) and not Path(name).is_file() and near.is_file():
        return load_dialog(str(near))
    return load_dialog(name)


def _as_json(reading: Reading | WinnerReading) -> dict[str, Any]:
    from lmmscore.parsing.winner import WinnerReading

    if isinstance(reading, WinnerReading):
        faults = [str(reading.fault)] if reading.fault else []
        return {**reading.as_dict(), "faults": faults}

    return {
        "scores": {f"{at[0]}.{at[1]}": _number(score) for at, score in reading.scores.items()},
        "faults": [str(fault) for fault in reading.faults],
    }


def _number(score: Fraction) -> int | float:
    return score.numerator if score.denominator == 1 else float(score)


def _in_a_line(found: dict[str, Any]) -> str:
    faults = "; ".join(found["faults"]) or "no faults"
    if "scores" not in found:
        verdict = " ".join(found[key] for key in ("winner", "both") if key in found)
        return f"{found['name']}: {verdict or 'no winner'}; {faults}"
    return f"{found['name']}: {counted(len(found['scores']), 'score')}; {faults}"


def _read_one(file: Path, dialog: str, edits: int, turn: str, as_json: bool) -> None:
    from lmmscore.dialog import load_dialog
    from lmmscore.parsing.winner import WinnerReading
    from lmmscore.session import read_answer
    from lmmscore.yaml_files import read_text

    loaded = load_dialog(dialog)
    text = sys.stdin.read() if str(file) == "-" else read_text(file)
    reading = read_answer(loaded, Reply(text), edits, turn)
    if isinstance(reading, WinnerReading):
        _show_winner(file.stem, reading, text, as_json)
        return

    if as_json:
        places = {
            f"{at[0]}.{at[1]}": list(_digits(text, span)) for at, span in reading.spans.items()
        }
        found = {"name": file.stem, **_as_json(reading), "places": places}
        click.echo(json.dumps(found, ensure_ascii=False))
    else:
        _print(reading, text)
        for line in _passed_over(reading, text, loaded.factors, edits):
            click.echo(printable(line))

    if not reading.complete:
        raise click.exceptions.Exit(3)


def _show_winner(name: str, reading: WinnerReading, text: str, as_json: bool) -> None:
    """Print who wins a pair, and where the reply says so; exit with 3 where it does not."""
    if as_json:
        place = {"place": list(reading.span)} if reading.winner else {}
        click.echo(json.dumps({"name": name, **_as_json(reading), **place}, ensure_ascii=False))
    elif reading.fault is None:
        both = f", both {reading.both}" if reading.both else ""
        said = printable(text[slice(*reading.span)])
        click.echo(f"winner: {reading.winner}{both}  [{said}]")
    else:
        click.echo(f"not read: {printable(str(reading.fault))}")

    if reading.fault is not None:
        raise click.exceptions.Exit(3)


def _print(reading: Reading, text: str) -> None:
    """Print each score with its line, column and the words around it, then the faults."""
    from lmmscore.scales import show

    for (position, key), score in sorted(reading.scores.items()):
        start, end = _digits(text, reading.spans[position, key])
        line = text.count("\n", 0, start) + 1
        begin = text.rfind("\n", 0, start) + 1
        stop = text.find("\n", end)
        before = text[max(begin, start - 30) : start].lstrip()
        after = text[end : min(len(text) if stop < 0 else stop, end + 30)].rstrip()
        place = f"{line}:{start - begin + 1}"
        words = printable(f"{before}[{text[start:end]}]{after}")
        click.echo(f"image {position}  {key:<12} {show(score):>5}  {place:>8}  {words}")

    for note in reading.notes:
        click.echo(f"note: {printable(note)}")

    for fault in reading.faults:
        click.echo(f"not read: {printable(str(fault))}")

    for doubt in reading.doubts:
        click.echo(f"in doubt: {printable(doubt)}")


def _digits(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """Return the place of a number without the blanks around it."""
    start, end = span
    said = text[start:end]
    return start + len(said) - len(said.lstrip()), end - len(said) + len(said.rstrip())


def _passed_over(reading: Reading, text: str, factors: Sequence[Factor], n: int) -> Iterator[str]:
    """Yield the lines whose numbers were not taken though scores are missing, and those that may
    void scores, with what is known of the reason."""
    from lmmscore.parsing.names import names_of
    from lmmscore.parsing.numbers import numbers_in, outside
    from lmmscore.parsing.remarks import makes_up, sees_nothing, takes_back

    if reading.complete:
        return

    names = names_of(tuple(factors), n)
    begin, found = 0, []
    for place, line in enumerate(text.split("\n"), 1):
        known = [(start - begin, end - begin) for start, end in reading.spans.values()]
        known += [(image.start, image.end) for image in names.images_in(line, 0, len(line))]
        begin += len(line) + 1
        left = outside(numbers_in(line, 0, len(line)), sorted(known))
        spans = [(number.start, number.end) for number in left]
        spans += [percent.span() for percent in _PERCENT.finditer(line)]
        if spans and names.factors_in(line, 0, len(line)):
            why = _reason(line, left[0], names) if left else "a percentage is on no scale"
            found.append(f"not taken: line {place}: {_marked(line, spans)}{why and f' ({why})'}")
        elif sees_nothing(line) or makes_up(line) or takes_back(line):
            found.append(f"may void scores: line {place}: {_marked(line, ())}")

    yield from found[:_MOST_LINES]
    if len(found) > _MOST_LINES:
        yield f"not taken: {counted(len(found) - _MOST_LINES, 'further line')}"


def _reason(line: str, number: Number, names: Names) -> str:
    """Return what keeps the first number that was left on a line from being a score, if known."""
    from lmmscore.parsing.numbers import entry_fault, is_hedged

    if is_hedged(line, 0, number.start):
        return "its number is hedged"

    named = names.factors_in(line, 0, len(line))
    own = [name for name in named if name.start < number.start] or named
    end = min((name.start for name in named if name.start > number.start), default=len(line))
    scale = names.factor(own[-1].key).scale
    return number.mark(scale).says or entry_fault(line, number, end, scale)


def _marked(line: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return the beginning of a line with these stretches of it in brackets."""
    for start, end in sorted(spans, reverse=True):
        line = f"{line[:start]}[{line[start:end]}]{line[end:]}"
    return line.strip()[:_LONGEST_LINE]


_PERCENT = re.compile(r"[0-9]+(?:[.,][0-9]+)?[ ]?%")
_MOST_LINES = 10
_LONGEST_LINE = 100


@click.command("replay")
@path_argument("transcripts", metavar="TRANSCRIPT…", nargs=-1, required=True)
@path_option(
    "--out",
    "-o",
    metavar="RUN",
    help="Make a run of them in this folder: scores.csv, leaderboards and a report.",
)
@click.option(
    "--dialog",
    "-d",
    callback=filled,
    help="Take factors, scales and weights from this dialog, not from the transcript.",
)
@json_flag
def replay(
    transcripts: tuple[Path, ...], out: Path | None, dialog: str | None, as_json: bool
) -> None:
    """Read a published chat transcript: every edit's scores, its overall, and the ranking.

    With --out, one transcript or many make a run, with item, task and instruction as each says. No
    judge is asked. Exits with 3 when an edit has no readable score.
    """
    from lmmscore.transcript_reader import read_transcript

    for path in transcripts:
        if path.is_dir():
            words = shlex.join(["lmmscore", "run", "BENCHMARK", "--judge", f"replay:{path}"])
            raise FileProblem(f"{path}: a folder, not a transcript; `{words}` replays a run")

    if out is not None:
        _make_run(transcripts, out, dialog, as_json)
        return

    if len(transcripts) > 1:
        raise click.UsageError("several transcripts make a run; say where with --out RUN")

    replayed = read_transcript(transcripts[0], dialog)
    if as_json:
        put_json(replayed.as_dict())
    else:
        from lmmscore.report.formats.terminal import print_replayed

        print_replayed(replayed)

    if not replayed.complete:
        raise click.exceptions.Exit(3)


def _make_run(paths: tuple[Path, ...], out: Path, dialog: str | None, as_json: bool) -> None:
    """Make a run of transcripts and print its leaderboard."""
    from lmmscore.report.leaderboard import write_leaderboards
    from lmmscore.results import RunResult
    from lmmscore.transcript_reader import make_run

    names = [path.name for path in paths]
    command = shlex.join(["lmmscore", "replay", *names, "--out", out.name])
    run = make_run(paths, out, dialog, command)
    board = write_leaderboards(run)
    RunResult(run.path).report(command=command)
    manifest = run.manifest
    if as_json:
        found = {"run": str(run.path), "sessions": manifest.judged, "unscored": manifest.unscored}
        put_json({**found, "slips": manifest.slips, "caution": manifest.caution})
    else:
        print_board(board, manifest)
        click.echo(f"\nrun:  {run.path}", err=True)

    if manifest.unscored:
        edits = counted(manifest.unscored, "edit has", "edits have")
        click.echo(f"{edits} no score; scores.csv says why", err=True)
        raise click.exceptions.Exit(3)
