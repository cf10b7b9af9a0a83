"""What someone who joins the project relies on: where things are, and that the lists are complete."""

from __future__ import annotations

import importlib
import re
import subprocess
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import lmmscore

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
DECISIONS = ROOT / "docs/decisions"
FOLDERS = {"unit", "integration", "docs", "browser", "slow", "heavy"}
ROW = re.compile(r"^\| \[(\d{4})\]\((\S+\.md)\) \| (.+) \| (.+) \| (\d{4}-\d\d-\d\d) \|$")


def targets() -> set[str]:
    """The targets of the Makefile that are commands, not files."""
    phony = re.search(r"^\.PHONY:((?:.*\\\n)*.*)$", MAKEFILE, re.MULTILINE)
    assert phony is not None
    return set(phony[1].replace("\\", " ").split())


def test_every_test_is_in_a_folder_that_some_target_runs() -> None:
    """A test file left elsewhere would never run, and nobody would notice."""
    stray = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
        if path.relative_to(ROOT / "tests").parts[0] not in FOLDERS
    ]
    assert stray == [], "move these into tests/unit, tests/integration, …"
    whole = {Path(folder).name for folder in PROJECT["tool"]["pytest"]["ini_options"]["testpaths"]}
    assert whole | {"slow", "heavy"} == FOLDERS
    assert {"test", "test-fast", "test-slow"} <= targets()
    assert 'pytest $(PARALLEL) -m "not slow"\n' in MAKEFILE
    assert "pytest $(PARALLEL) -m slow tests --ignore tests/heavy\n" in MAKEFILE


def test_make_help_lists_every_target() -> None:
    """`make help` names each command with what it does."""
    done = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    listed = re.findall(r"^  make (\S+) +\S", done.stdout, re.MULTILINE)
    assert set(listed) == targets()


def test_commands_named_for_contributors_exist() -> None:
    """Every `make` command in README, CONTRIBUTING and the hooks is a target."""
    for name in ("README.md", "CONTRIBUTING.md", ".pre-commit-config.yaml", ".ci/run"):
        text = (ROOT / name).read_text(encoding="utf-8")
        named = set(re.findall(r"(?:`|^|entry: )make ([a-z-]+)", text, re.MULTILINE))
        assert named <= targets(), name


def test_a_commit_is_held_to_the_checks_of_the_build() -> None:
    """What passes the hooks passes the lint and types of the build: both run the same command."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert {repo["repo"] for repo in hooks["repos"]} == {"local"}, "hooks fetch nothing"
    entries = {hook["entry"] for repo in hooks["repos"] for hook in repo["hooks"]}
    assert entries == {"make check", "make test-fast"}
    assert "\nmake check\nmake test\nmake test-slow\n" in (ROOT / ".ci/run").read_text()


def test_the_version_is_written_in_one_place() -> None:
    """pyproject.toml takes it from the package; what is installed has the same."""
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "lmmscore/resources.py"
    assert version("lmmscore") == lmmscore.__version__


def pins() -> dict[str, str]:
    """The pinned version of each package."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): number for name, number in pinned}


@pytest.mark.parametrize("extra", ["", "plots", "excel", "parquet", "keyring", "docs", "dev"])
def test_every_dependency_is_pinned_within_its_range(extra: str) -> None:
    """A build tomorrow installs what was tested today, for whatever a target installs."""
    project = PROJECT["project"]
    listed = project["optional-dependencies"][extra] if extra else project["dependencies"]
    for requirement in map(Requirement, listed):
        name = canonicalize_name(requirement.name)
        if name != "lmmscore":
            assert requirement.specifier.contains(pins()[name]), requirement


def test_every_decision_is_in_the_index() -> None:
    """The index names each decision once, with a status and a date; `make docs-output` adds what is new."""
    rows = map(ROW.match, (DECISIONS / "README.md").read_text(encoding="utf-8").splitlines())
    found = [row for row in rows if row]
    pages = sorted(page.name for page in DECISIONS.glob("[0-9]*.md"))
    assert [row[2] for row in found] == pages, "run python docs/scripts/decisions.py"
    numbers = [row[1] for row in found]
    assert len(set(numbers)) == len(numbers), "a number stands for one decision"
    for row in found:
        assert row[2].startswith(row[1])
        status = re.fullmatch(r"accepted(?:, see (\d{4}))?|superseded by (\d{4})", row[4])
        assert status, f"{row[1]}: an unknown status: {row[4]}"
        assert set(status.groups()) - {None} <= set(numbers)


def test_what_the_python_page_documents_exists() -> None:
    """docs/api.md names functions and classes by their module; a moved one would break the site."""
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    named = re.findall(r"^::: (\S+)$", page, re.MULTILINE)
    assert named
    for path in named:
        module, _, name = path.rpartition(".")
        assert hasattr(importlib.import_module(module), name), path
