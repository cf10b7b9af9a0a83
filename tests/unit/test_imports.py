from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import lmmscore

PACKAGE = Path(lmmscore.__file__).parent

ORDER = [
    "errors",
    "registry",
    "sqlite",
    "claims",
    "arguments",
    "records",
    "csvsafe",
    "whiskers",
    "images",
    "templates",
    "scales",
    "rules",
    "yaml_files",
    "resources",
    "tables",
    "picture_files",
    "benchmark",
    "check",
    "dialog",
    "conversation",
    "ledger",
    "ledger_files",
    "speakers",
    "transcripts",
    "parsing",
    "justifications",
    "session",
    "plan",
    "comparisons",
    "scores",
    "stats",
    "ratings",
    "scorelayouts",
    "scorefiles",
    "leaderboard",
    "run_folder",
    "readings",
    "run_writer",
    "publish",
    "judges",
    "execution",
    "forecast",
    "anchors",
    "importers",
    "replaying",
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


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


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
