from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import lmmscore

PACKAGE = Path(lmmscore.__file__).parent

ORDER = [
    "errors",
    "options",
    "resources",
    "yaml_files",
    "records",
    "images",
    "scales",
    "tables",
    "benchmark",
    "check",
    "conversation",
    "dialog",
    "ledger",
    "transcripts",
    "parsing",
    "session",
    "plan",
    "scores",
    "stats",
    "score_files",
    "leaderboard",
    "run_folder",
    "run_writer",
    "judges",
    "execution",
    "publish",
    "forecast",
    "anchors",
    "importers",
    "transcript_reader",
    "agreement",
    "request",
    "report",
    "results",
    "web",
    "api",
    "probe",
    "cli",
]
"""Later ones may import earlier ones, never the reverse. A package counts as one."""

ONLY_IN = {
    "openai": {"judges"},
    "aiohttp": {"judges", "web"},
    "PIL": {"images", "judges", "report"},
    "rich": {"report", "cli"},
    "skimage": {"judges"},
    "matplotlib": {"report"},
    "jinja2": {"report", "web"},
    "markdown_it": {"report", "web"},
}
"""Packages that stay behind one border."""


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        unit = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if unit not in {"__init__", "__main__", "_data"}:
            yield unit, path


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {module_name(path): path for path in PACKAGE.rglob("*.py")}


def imported(path: Path) -> Iterator[str]:
    """Every module a file imports: at its top, in a function, or for its types only."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            assert node.module is not None
            yield from imported_from(node.module, [alias.name for alias in node.names])


def imported_from(module: str, names: list[str]) -> Iterator[str]:
    """`from lmmscore import x` imports lmmscore.x where that is a module, else lmmscore."""
    inner = [f"{module}.{name}" for name in names]
    yield from (name for name in inner if name in NAMES)
    if not all(name in NAMES for name in inner):
        yield module


def graph() -> dict[str, set[str]]:
    return {
        name: {other for other in imported(path) if other in NAMES and other != name}
        for name, path in NAMES.items()
    }


def test_every_module_has_its_place() -> None:
    """A new module is given a place in the order."""
    assert {unit for unit, _ in modules()} <= set(ORDER)


def test_imports_run_one_way() -> None:
    """Later modules import earlier ones, never the reverse."""
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for unit, path in modules()
        for name in imported(path)
        if name.startswith("lmmscore.") and ORDER.index(name.split(".")[1]) > ORDER.index(unit)
    ]
    assert wrong == []


def test_no_module_imports_the_package_itself() -> None:
    """`lmmscore` names what users import, so nothing in the package may stand on it."""
    assert [name for name, others in graph().items() if "lmmscore" in others] == []


def test_no_two_modules_import_each_other() -> None:
    """No cycle anywhere, also inside a package, also lazily or for types only."""
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_the_guard_sees_every_way_to_import(tmp_path: Path) -> None:
    """A lazy import, one for types and one of a module from its package all count."""
    source = tmp_path / "some.py"
    source.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from lmmscore.plan import Plan\n"
        "def lazy():\n    from lmmscore import api, run\n    import lmmscore.cli.run\n"
    )
    ours = {name for name in imported(source) if name.startswith("lmmscore")}
    assert ours == {"lmmscore", "lmmscore.api", "lmmscore.plan", "lmmscore.cli.run"}


def test_packages_stay_behind_their_border() -> None:
    """openai appears only in the judges, rich only where something is shown, and so on."""
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for unit, path in modules()
        for name in imported(path)
        if unit not in ONLY_IN.get(name.split(".")[0], {unit})
    ]
    assert wrong == []


def test_help_imports_nothing_heavy() -> None:
    """`lmmscore --help` costs little more than Python itself."""
    code = "import sys; sys.argv = ['lmmscore', '--help']\nfrom lmmscore.cli import main\n"
    code += "try: main()\nexcept SystemExit: pass\nprint('LOADED', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split("LOADED")[1].split())
    heavy = {
        "numpy",
        "pandas",
        "scipy",
        "PIL",
        "rich",
        "pydantic",
        "openai",
        "yaml",
        "skimage",
        "asyncio",
    }
    assert loaded & heavy == set()


def test_the_options_of_a_run_are_known_without_talking_to_a_server() -> None:
    """`lmmscore run --help` and a run of `pixels` do without the packages of API judges."""
    code = "import lmmscore.cli.run, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"openai", "httpx2", "aiohttp", "ray"} & set(done.stdout.split()) == set()
