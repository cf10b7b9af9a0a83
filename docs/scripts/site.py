"""What `make docs` adds to the site: a live sample of the report, and the example notebook.

A hook of mkdocs. Both are made from the drawn demo while the site is built, so that they are never
older than the code.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import nbformat
from mkdocs.structure.files import File, Files
from nbconvert import HTMLExporter

import lmmscore
from lmmscore.resources import bundled

NOTEBOOK = Path(__file__).parents[1] / "examples" / "tour.ipynb"


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the generated pages to those that mkdocs knows."""
    for name, text in (("report.html", sample_report()), ("notebook.html", notebook_page())):
        files.append(File.generated(config, f"sample/{name}", content=text))
    return files


def sample_report() -> str:
    """Judge the demo offline, and return its report."""
    with tempfile.TemporaryDirectory() as folder:
        run = lmmscore.run(bundled("media") / "demo", out=Path(folder) / "demo", repeats=2)
        return run.report().read_text(encoding="utf-8")


def notebook_page() -> str:
    """Return the executed notebook as a page."""
    book = nbformat.read(NOTEBOOK, as_version=4)
    text, _ = HTMLExporter(embed_images=True).from_notebook_node(book)
    return str(text)
