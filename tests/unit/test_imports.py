from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.sources import FILES, PACKAGE, trees

ROOT = Path(__file__).parents[2]

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


def places() -> dict[str, int]:
    """The line on which docs/architecture.md has each module of the package; a package counts as one."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    tree = text.partition("\n## The tree\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| .* \| (`.*) \|$", tree, re.MULTILINE)
    found: dict[str, int] = {}
    for number, row in enumerate(rows):
        for name in re.findall(r"`(\w+)/?`", re.sub(r"\(.*?\)", "", row)):
            assert name not in found, f"{name} stands in the tree twice"
            found[name] = number
    return found


def unit_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def modules() -> Iterator[tuple[str, Path]]:
    for path in FILES:
        if unit_of(path) not in {"__init__", "__main__"}:
            yield unit_of(path), path


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {module_name(path): path for path in FILES}


def imported(tree: ast.Module) -> Iterator[str]:
    """Every module that is imported: at the top, in a function, or for types only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            assert node.module is not None
            yield from imported_from(node.module, [alias.name for alias in node.names])


@cache
def imports() -> dict[Path, set[str]]:
    """What each file of the package imports."""
    return {path: set(imported(tree)) for path, tree in trees().items()}


def imported_from(module: str, names: list[str]) -> Iterator[str]:
    """`from lmmscore import x` imports lmmscore.x where that is a module, else lmmscore."""
    inner = [f"{module}.{name}" for name in names]
    yield from (name for name in inner if name in NAMES)
    if not all(name in NAMES for name in inner):
        yield module


def graph() -> dict[str, set[str]]:
    return {
        name: {other for other in imports()[path] if other in NAMES and other != name}
        for name, path in NAMES.items()
    }


def inside() -> Iterator[tuple[str, str, Path]]:
    """Each import from one unit of the package to another."""
    for unit, path in modules():
        others = {name.split(".")[1] for name in imports()[path] if name.startswith("lmmscore.")}
        yield from ((unit, other, path) for other in others - {unit})


def test_every_module_has_its_place() -> None:
    """The tree in docs/architecture.md names every module there is, and none that is not."""
    assert {unit for unit, _ in modules()} == set(places())


def test_imports_run_one_way() -> None:
    """Later lines of the tree import earlier ones, never the reverse."""
    line = places()
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {other}"
        for unit, other, path in inside()
        if line[other] > line[unit]
    ]
    assert wrong == []


def test_no_module_imports_the_package_itself() -> None:
    """`lmmscore` names what users import, so nothing in the package may stand on it."""
    assert [name for name, others in graph().items() if "lmmscore" in others] == []


def test_no_two_modules_import_each_other() -> None:
    """No cycle anywhere, between packages or inside one, also lazily or for types only."""
    units: dict[str, set[str]] = {}
    for unit, other, _ in inside():
        units.setdefault(unit, set()).add(other)
    for edges in (graph(), units):
        try:
            TopologicalSorter(edges).prepare()
        except CycleError as error:
            raise AssertionError(" -> ".join(error.args[1])) from None


def test_the_guard_sees_every_way_to_import() -> None:
    """A lazy import, one for types and one of a module from its package all count."""
    source = (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from lmmscore.plan import Plan\n"
        "def lazy():\n    from lmmscore import api, run\n    import lmmscore.cli.run\n"
    )
    ours = {name for name in imported(ast.parse(source)) if name.startswith("lmmscore")}
    assert ours == {"lmmscore", "lmmscore.api", "lmmscore.plan", "lmmscore.cli.run"}


def test_packages_stay_behind_their_border() -> None:
    """openai appears only in the judges, rich only where something is shown, and so on."""
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for unit, path in modules()
        for name in imports()[path]
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
