"""README and docs tell the truth: every command runs, every output is real, every link leads somewhere."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema
import nbformat
import pytest
import yaml

import lmmscore
from lmmscore.cli import COMMANDS
from lmmscore.importers.layouts import all_layouts
from tests.docs_scripts import PAGES, WITH_COMMANDS, QuickShell, play, script, shown

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SITE = DOCS / "scripts" / "site.py"

STARTED = {"index.md"}
"""A short page, whose commands a shell starts; the slow tests do so with every page."""
SLOW = {"report.md", "tutorial.md", "ledger.md"}
"""Long pages, which only the slow tests play."""


def name_of(page: Path) -> str:
    return page.name


@pytest.mark.skipif(os.name == "nt", reason="the commands are run by /bin/sh")
@pytest.mark.parametrize(
    "page", [page for page in WITH_COMMANDS if page.name not in SLOW], ids=name_of
)
def test_every_command_runs_and_prints_what_is_shown(page: Path, tmp_path: Path) -> None:
    """The commands of a page run one after the other in an empty folder; `make docs-output` mends what they print."""
    shell = shown.Shell if page.name in STARTED else QuickShell
    play(page, shell(tmp_path))


def test_commands_that_cannot_run_say_why() -> None:
    """What is not run is listed here with its reason, and nothing else is."""
    reasons = {
        block.not_run: None
        for page in PAGES
        for block in shown.blocks(page.read_text(encoding="utf-8"))
        if block.not_run
    }
    assert set(reasons) <= {
        "pip needs a network",
        "stands for a clone of your own",
        "needs a key and costs money",
        "needs a reply of a judge of your own",
        "needs a model served by vLLM or Ollama on this machine",
        "needs a model served on this machine",
        "needs human ratings, and none come with lmmscore",
        "changes the shell it runs in",
        "serves a page until you stop it",
        "shows the versions of this machine",
        "stands for your own data set",
        "stands for a file you downloaded",
        "stands for runs of your own",
        "stands for a reader's machine",
    }


def test_no_command_hides_in_a_block_that_is_not_run() -> None:
    """A fenced block with an lmmscore command is `console` or `sh`, so that the tests see it."""
    for page in PAGES:
        for kind, body in re.findall(
            r"```(\w*)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL
        ):
            if kind not in {"console", "sh", "text", "yaml", "python"}:
                assert "lmmscore " not in body, f"{page.name}: a block of commands without `sh`"


def test_commands_named_in_passing_exist() -> None:
    """`lmmscore WORD` in the text names a command there is."""
    for page in PAGES:
        for word in re.findall(r"`lmmscore ([a-z]+)", page.read_text(encoding="utf-8")):
            assert word in COMMANDS, f"{page.name}: lmmscore {word}"


def links(text: str) -> list[str]:
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return re.findall(r"!?\[[^\]]*\]\(([^)\s]+)\)", prose)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=name_of)
def test_every_link_and_picture_is_there(page: Path) -> None:
    """Links inside the project lead to files, and anchors to headings."""
    for link in links(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        if link.startswith("sample/"):
            # Made while the site is built, by docs/scripts/site.py.
            assert f'"{link.removeprefix("sample/")}"' in SITE.read_text(encoding="utf-8")
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.is_file(), f"{page.name}: {link}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {
                re.sub(r"[^\w]+", "-", re.sub(r"[^\w\s-]", "", heading.lower())).strip("-")
                for heading in headings
            }
            assert anchor in slugs, f"{page.name}: {link}"


def test_every_page_is_in_the_navigation() -> None:
    """The site shows every page there is, and no page that is not."""
    listed = set(
        re.findall(
            r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    pages = [*DOCS.glob("*.md"), *DOCS.glob("protocols/*.md")]
    assert listed == {page.relative_to(DOCS).as_posix() for page in pages}


def test_every_command_and_option_is_documented() -> None:
    """docs/commands.md has every command with every option; `make docs-output` writes it."""
    text = (DOCS / "commands.md").read_text(encoding="utf-8")
    fresh = script("generate").commands()
    assert re.findall(r"^#+ (.*)$", text, re.MULTILINE) == re.findall(
        r"^#+ (.*)$", fresh, re.MULTILINE
    )
    assert set(re.findall(r"--[a-z][\w-]+", fresh)) <= set(re.findall(r"--[a-z][\w-]+", text))
    assert all(f"## lmmscore {name}\n" in text for name in COMMANDS)


def test_every_layout_is_documented() -> None:
    """docs/formats.md has a section for each layout `init` knows."""
    text = (DOCS / "formats.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^### (\w+):", text, re.MULTILINE)) == sorted(all_layouts())


def test_every_exit_code_is_documented() -> None:
    """The codes the help names are explained."""
    text = (DOCS / "terminal.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (\d+) \|", text, re.MULTILINE) == ["0", "1", "2", "3", "130"]


# What is generated


def test_the_reference_of_file_formats_is_current() -> None:
    """Every key of every file stands in docs/reference.md as the code has it; `make docs-output` writes it."""
    assert (DOCS / "reference.md").read_text(encoding="utf-8") == script("generate").reference()


@pytest.mark.parametrize("name", ["benchmark", "dialog", "suite", "judges"])
def test_the_schemas_for_editors_are_current(name: str) -> None:
    """docs/schema holds what the code accepts."""
    stored = json.loads((DOCS / "schema" / f"{name}.json").read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(script("generate").schemas()[name]))


def schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(
        (DOCS / "schema" / f"{name}.json").read_text(encoding="utf-8")
    )
    return loaded


def test_the_schemas_accept_what_comes_with_lmmscore() -> None:
    """An editor finds no fault with the bundled dialogs, the demo's benchmark and the bundled judges."""
    for path in (ROOT / "dialogs").glob("*.yaml"):
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        jsonschema.validate(
            json.loads(json.dumps(data)), schema("suite" if "suite" in data else "dialog")
        )
    data = yaml.safe_load((ROOT / "media/demo/benchmark.yaml").read_text(encoding="utf-8"))
    jsonschema.validate(data, schema("benchmark"))


def test_the_schema_refuses_a_wrong_key() -> None:
    """A misspelt key is underlined."""
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"name": "x", "items": "items.csv", "image": {}}, schema("benchmark"))


def test_the_drawings_are_current() -> None:
    """docs/images/*.svg come from docs/scripts/pictures.py."""
    for path, text in script("pictures").files().items():
        assert path.read_text(encoding="utf-8") == text, path.name


def test_the_example_transcript_is_a_real_conversation() -> None:
    """docs/examples/transcript.md is what the embedded judge says, word for word."""
    assert (DOCS / "examples/transcript.md").read_text(encoding="utf-8") == script(
        "transcript"
    ).text()


# The notebook


@pytest.mark.slow
def test_the_example_notebook_runs_and_shows_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run, its scores and a leaderboard show themselves as HTML, an agreement as a drawing."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    module = script("notebook")
    done = module.execute(module.notebook())
    assert "4/4 sessions" in str(done.cells[1].outputs), "progress is shown"
    done = module.tidied(done)
    outputs = [output for cell in done.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output["output_type"] == "error"]
    tables = [
        output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})
    ]
    assert len(tables) == 3 and all("<table" in table for table in tables[1:])
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert sum("<svg" in table for table in tables) == 1
    assert any(output.get("data", {}).get("text/plain") == "True" for output in outputs)


def test_the_stored_notebook_is_the_one_that_is_tested() -> None:
    """Its cells are those of docs/scripts/notebook.py, and it was stored executed."""
    stored = nbformat.read(DOCS / "examples/tour.ipynb", as_version=4)
    assert [(cell.cell_type, cell.source) for cell in stored.cells] == script("notebook").CELLS
    assert all(cell.outputs for cell in stored.cells if cell.cell_type == "code")


# Citing


def test_the_citation_names_this_version() -> None:
    """CITATION.cff, CHANGELOG.md and the package agree."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == lmmscore.__version__
    assert f"## {lmmscore.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
