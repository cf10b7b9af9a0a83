"""Small things people notice: completion, colours, narrow and odd consoles, hints, the doctor."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import lmmscore
from lmmscore.cli import COMMANDS, SIBLINGS
from lmmscore.cli import lmmscore as program
from lmmscore.cli.watch import link_token
from lmmscore.report.formats import Cell, Grid, TableDocument, TableLayout, write
from tests.command_line import lmm, started
from tests.sources import PACKAGE, trees


def test_doctor_prints_what_a_bug_report_needs() -> None:
    """Versions of lmmscore, Python and every dependency, and how to get what is not there."""
    found = json.loads(lmm("doctor", "--json").stdout)
    assert found["lmmscore"] == lmmscore.__version__
    assert found["python"].startswith(f"{sys.version_info.major}.{sys.version_info.minor}")
    assert {"aiohttp", "pillow", "numpy", "pandas", "click"} <= set(found["dependencies"])
    assert not any(value.startswith("missing") for value in found["dependencies"].values())
    assert {"excel", "parquet", "plots"} <= set(found["extras"])
    assert set(found["programs"]) == {"chromium", "pdflatex"}


def test_doctor_never_prints_a_key() -> None:
    """Of the key only its presence is told."""
    secret = "sk-secret-that-must-not-appear"
    done = lmm("doctor", OPENAI_API_KEY=secret)
    assert "OPENAI_API_KEY  set" in done.stdout
    assert secret not in done.stdout + done.stderr
    assert "OPENAI_API_KEY  not set" in lmm("doctor", OPENAI_API_KEY="").stdout


def test_doctor_names_the_extra_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not installed comes with the command that installs it."""
    from lmmscore.cli import doctor

    monkeypatch.setattr(
        doctor, "_distribution", lambda: (["nosuchpackage"], {"excel": ["nosuchpackage"]})
    )
    found = doctor.examine()
    assert found["extras"]["excel"] == "not installed: pip install 'lmmscore[excel]'"
    assert found["dependencies"]["nosuchpackage"].startswith("missing")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion_is_there(shell: str) -> None:
    """The shells click knows get their script from the program itself."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; sys.argv[0] = 'lmmscore'; from lmmscore.cli import main; main()",
        ],
        capture_output=True,
        env={**os.environ, "_LMMSCORE_COMPLETE": f"{shell}_source"},
        check=False,
    )
    assert b"lmmscore" in done.stdout and b"_LMMSCORE_COMPLETE" in done.stdout


def test_completion_offers_the_commands() -> None:
    """`lmmscore le<Tab>` is completed without a heavy import."""
    code = (
        "import sys; sys.argv = ['lmmscore']; from lmmscore.cli import main\n"
        "try: main()\n"
        "finally: print('HEAVY' if {'pandas', 'openai', 'scipy'} & set(sys.modules) else 'LIGHT')"
    )
    env = {
        **os.environ,
        "_LMMSCORE_COMPLETE": "bash_complete",
        "COMP_WORDS": "lmmscore do",
        "COMP_CWORD": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False
    )
    assert "plain,doctor" in done.stdout
    assert "LIGHT" in done.stdout


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_poor_console_never_ends_the_program(encoding: str, tmp_path: Path) -> None:
    """What an encoding cannot show is replaced; nothing fails for it."""
    folder = tmp_path / "ünïcode – ×"
    done = started("init", folder, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert done.returncode == 1
    assert "no such folder" in done.stderr and "Traceback" not in done.stderr


def test_redirected_output_is_utf8(tmp_path: Path) -> None:
    """In a pipe the data are UTF-8 whatever the locale, as programs expect of JSON and CSV."""
    load = "import sys; from lmmscore.cli import never_fail_to_print as ready"
    code = f"{load}; ready(sys.stdout); print('\\xd7 \\u2013')"
    env = {
        **os.environ,
        "PYTHONUTF8": "0",
        "LC_ALL": "en_US.ISO-8859-1",
        "PYTHONCOERCECLOCALE": "0",
    }
    env.pop("PYTHONIOENCODING", None)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=env, check=True)
    assert done.stdout.decode().strip() == "× –"


def test_a_narrow_terminal_leaves_out_columns_rather_than_halves_figures() -> None:
    """Where a table does not fit, its spare columns make way and a line says which; figures stay whole."""
    columns = ("Rank", "Method", "Mean", "acc", "pre")
    row = tuple(map(Cell, ("1", "a-method-with-a-long-name", "8.50", "9.00", "8.00")))
    grid = Grid("All", columns, (row,), text_columns=frozenset({1}), spare=frozenset({3, 4}))
    document = TableDocument([grid])
    narrow, wide = (write(document, "term", TableLayout(width)) for width in (50, 200))
    assert "Left out for lack of room: acc, pre" in narrow.replace("\n", " ")
    assert "Left out" not in wide
    assert "a-method-with-a-long-name" in narrow and "8.50" in narrow and "9.00" not in narrow


def test_colours_are_off_with_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR leaves no colour code in a table that would have them."""
    colour = re.compile("\x1b\\[[\\d;]*3[0-7]")
    best = Grid("All", ("Mean",), ((Cell("9.00", "best"),),))
    monkeypatch.delenv("NO_COLOR", raising=False)
    document, layout = TableDocument([best], caution="x"), TableLayout(color=True)
    assert colour.search(write(document, "term", layout))
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colour.search(write(document, "term", layout))


def test_help_fits_a_narrow_terminal() -> None:
    """In 40 columns every line of the help does too, but for click's own margins."""
    lines = lmm("--help", COLUMNS="40").stdout.splitlines()
    assert max(map(len, lines)) <= 50


def test_every_command_has_a_module() -> None:
    """No command is promised that cannot be called."""
    modules = {SIBLINGS.get(name, name) for name in COMMANDS}
    missing = [name for name in modules if not (PACKAGE / "cli" / f"{name}.py").is_file()]
    assert not missing


# Windows and macOS

POSIX_ONLY = {"fcntl", "termios", "tty", "pty", "pwd", "grp", "resource", "readline", "syslog"}


def _asks_first(block: ast.AST) -> bool:
    asks = isinstance(block, ast.If) and "sys.platform" in ast.unparse(block.test)
    return asks or isinstance(block, ast.Try)


def test_no_module_that_only_posix_has() -> None:
    """A module Windows lacks is imported only inside `try`, or where the platform is asked first."""
    for path, tree in trees(*POSIX_ONLY):
        guarded = {id(n) for block in ast.walk(tree) if _asks_first(block) for n in ast.walk(block)}
        for node in ast.walk(tree):
            names = {alias.name for alias in node.names} if isinstance(node, ast.Import) else set()
            assert id(node) in guarded or not names & POSIX_ONLY, f"{path}: {names}"


def test_text_files_are_never_read_in_the_encoding_of_the_country() -> None:
    """Every open, read_text and write_text says which encoding it means."""
    for path, tree in trees("read_text", "write_text"):
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            name = (
                node.func.attr
                if isinstance(node.func, ast.Attribute)
                else getattr(node.func, "id", "")
            )
            if name in {"read_text", "write_text"} and isinstance(node.func, ast.Attribute):
                says = any(keyword.arg == "encoding" for keyword in node.keywords)
                assert says or len(node.args) > (name == "write_text"), (
                    f"{path}, line {node.lineno}"
                )


@pytest.mark.parametrize("room", [12, 13, 30])
def test_names_are_cut_in_the_middle_to_the_columns_they_take(room: int) -> None:
    """Chinese characters take two columns each, and long names stay apart by their ends."""
    from rich.cells import cell_len

    from lmmscore.report.formats.terminal import shortened

    names = [f"画像編集手法の名前がとても長い場合の方法その{k}番" for k in range(3)]
    cut = [shortened(name, room) for name in names]
    assert all(cell_len(text) <= room for text in cut) and len(set(cut)) == 3
    assert shortened("short", room) == "short"


def test_long_names_leave_the_interval_and_the_group_in_view() -> None:
    """At 80 columns names are shortened before the figures go that say how sure a mean is."""
    keys = ("rank", "method", "mean", "std", "mean_interval", "group")
    name = "a name that goes on and on and on until nothing else would fit beside it "
    rows = tuple(
        tuple(Cell(text) for text in (str(k), f"{name}{k}", "8.12", "0.51", "7.90–8.30", "ab"))
        for k in (1, 2)
    )
    grid = Grid("Any", keys, rows, keys=keys, text_columns=frozenset({1}))
    lines = write(TableDocument([grid]), "term", TableLayout(80)).splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert sum("7.90–8.30" in line and line.endswith("ab") for line in lines) == 2
    assert any("Left out for lack of room: std" in line for line in lines)


def test_what_is_not_there_is_named_with_the_way_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newcomer who mistypes a run, or has none yet, hears which there are or how to make one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results" / "first").mkdir(parents=True)
    (tmp_path / "results" / "first" / "run.yaml").touch()
    wrong = {
        "leaderboard results/frst": "no such folder (did you mean first?)",
        "show results/other boat": "`lmmscore list results` lists runs",
        "list nowhere": "no such folder; `lmmscore run` makes runs in results",
        "publish --verify no.zip": "no such file; `lmmscore publish RUN no.zip` writes one",
    }
    for words, says in wrong.items():
        said = CliRunner().invoke(program, words.split())
        assert said.exit_code == 1
        assert says in str(said.exception)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the demo's pictures, their benchmark.yaml and a run of one item."""
    folder = tmp_path_factory.mktemp("newcomer")
    for words in (
        "demo --copy pictures",
        "init pictures",
        "run pictures --item boat --out results/first",
    ):
        done = lmm(*words.split(), cwd=folder)
        assert done.returncode == 0, done.stderr
    (folder / "note.txt").write_text("hello", encoding="utf-8")
    for name in ("empty.txt", "empty.jsonl"):
        (folder / name).touch()
    return folder


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("init note.txt", 1, "note.txt: not a folder; name the folder of your pictures"),
        ("init pictures --force --language cn", 2, "--language is for the layout gedit; this is"),
        ("plan pictures --engine rya", 1, "no engine 'rya' (did you mean ray?)"),
        ("run pictures --wait", 2, "--wait goes with --engine batch, or --batch for short"),
        ("leaderboard results/first --human note.txt", 2, "--human goes with --corrected"),
        ("leaderboard results/first --method Clean", 1, "(did you mean CleanEdit?); there are: "),
        (
            "leaderboard results/first --method x",
            1,
            "no method 'x'; there are: CleanEdit, FaintTouch",
        ),
        ("dialogs lmm-score", 2, "is a dialog, not a command: lmmscore dialogs show lmm-score"),
        ("demo --copy other --out results/x", 2, "--out is the folder of a run; --copy makes none"),
        ("replay results/first", 1, "lmmscore run BENCHMARK --judge replay:results/first"),
        ("publish results/first a.zip --bench pictures", 2, "--bench goes with --pictures"),
        ("publish --verify a.zip --pictures", 2, "--pictures has no effect with --verify"),
        ("publish --verify results/first", 1, "a folder; --verify takes an archive"),
        ("compare results/first results/first --anyway", 2, "--anyway goes with --pool"),
        ("ledger export results/first note.txt/a.jsonl", 1, "Not a directory; name another, or"),
        ("judge probe pixels pictures --out note.txt", 1, "Not a directory; name another, or"),
        ("read empty.jsonl", 1, "empty.jsonl: the file is empty; give one object with a `reply`"),
        ("dialogs show visual --setting nope=x", 1, "no setting 'nope'"),
        ("list note.txt", 1, "note.txt: a file; name a folder with runs in it"),
        ("show note.txt boat", 1, "note.txt: a file, not a run; name the folder"),
        ("read pictures", 1, "pictures: a folder; name the file of a reply"),
        ("ledger list nowhere", 1, "no such ledger; name a ledger.sqlite or the folder of a run"),
        ("ledger export empty.txt a.zip", 1, "empty.txt: the file is empty, so it is no ledger"),
    ],
)
def test_a_command_that_cannot_be_meant_is_answered_with_what_can(
    pictures: Path, words: str, code: int, says: str
) -> None:
    """No option is ignored in silence, and no message leads a newcomer astray."""
    done = lmm(*words.split(), cwd=pictures)
    assert done.returncode == code and says in done.stderr
    assert not (pictures / "other").exists() and not (pictures / "a.zip").exists()


def test_an_empty_name_is_refused_and_offered_no_way_out_there_is_not(pictures: Path) -> None:
    """An unset variable of the shell is not the current folder; what is needed cannot be left out."""
    for words in (["check", ""], ["dialogs", "import", ""]):
        done = lmm(*words, cwd=pictures)
        assert done.returncode == 2 and "it is empty; " in done.stderr
    assert "leave it out" not in lmm("check", "", cwd=pictures).stderr
    assert "leave it out" in lmm("list", "", cwd=pictures).stderr


def test_an_empty_file_is_no_sound_ledger(pictures: Path) -> None:
    """SQLite takes one for a database; a copy that was cut off must not pass as verified."""
    done = lmm("ledger", "verify", "empty.txt", "results/first", cwd=pictures)
    assert done.returncode == 1
    assert (
        done.stdout
        == "problem: empty.txt: the file is empty, so it is no ledger; put back a copy\n"
    )


def test_a_file_that_is_no_benchmark_is_not_counted(pictures: Path) -> None:
    """One problem is named; there are no items, methods and edits to sum up."""
    done = lmm("check", "note.txt", cwd=pictures)
    assert done.returncode == 1 and "expected a mapping of keys" in done.stdout
    assert "0 items" not in done.stderr


def test_a_plan_offers_no_batches_that_a_run_refuses(pictures: Path) -> None:
    """A judge that runs here takes no batches."""
    done = lmm("plan", "pictures", "--batch", cwd=pictures)
    assert "batches        none: this judge runs here" in done.stdout


def test_the_demo_says_where_the_command_is_if_the_shell_would_not_find_it(tmp_path: Path) -> None:
    """After `make demo` the command is in .venv/bin, which is not on the PATH yet."""
    words = ["demo", "--out", tmp_path / "demo"]
    done = lmm(*words, program=".venv/bin/lmmscore", PATH=str(tmp_path))
    assert done.returncode == 0
    assert "not on your PATH yet: type .venv/bin/lmmscore instead" in done.stderr


def test_the_link_of_a_page_cannot_be_guessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even after a command that was killed before it had written the secret behind it."""
    monkeypatch.setattr(click, "get_app_dir", lambda _: str(tmp_path))
    (tmp_path / "watch-secret").touch()
    first = link_token(tmp_path / "run")
    assert (tmp_path / "watch-secret").stat().st_size == 64
    assert link_token(tmp_path / "run") == first
    assert link_token(tmp_path / "other") != first
