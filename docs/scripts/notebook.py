"""Write docs/examples/tour.ipynb, executed: `python docs/scripts/notebook.py`. The tests execute it again."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

TARGET = Path(__file__).parents[1] / "examples" / "tour.ipynb"

CELLS: list[tuple[str, str]] = [
    (
        "markdown",
        "# lmmscore in a notebook\n\nOffline: the judge is `pixels`, which compares pixels and cannot "
        'read. With a key, put `judge="openai/MODEL"`.',
    ),
    (
        "code",
        "import lmmscore\nfrom lmmscore.resources import bundled\n\n"
        "demo = bundled('media') / 'demo'\n"
        "run = lmmscore.run(demo, tasks=['color_change'], out='results/tour')\n"
        "run.item('car')",
    ),
    ("markdown", "Every score, tidy: one row per edit, repeat and factor."),
    ("code", "run.scores().head()"),
    (
        "markdown",
        "A leaderboard takes the options of the command. Methods that share a letter show no "
        "significant difference.",
    ),
    ("code", "board = run.leaderboard(resamples=2000)\nboard"),
    ("markdown", "Printed it is a table, and for a paper it is LaTeX."),
    ("code", "board.to_latex().splitlines()[:8]"),
    ("markdown", "The same call again asks nothing: every answer is on record."),
    (
        "code",
        "again = lmmscore.run(demo, judge='replay:results/tour', tasks=['color_change'],\n"
        "                     out='results/again')\n"
        "again.scores().equals(run.scores())",
    ),
    (
        "markdown",
        "Agreement needs ratings. There are none by people here, so this cell takes the order *by "
        "construction* of the drawn methods in their place, as one rater called `construction`. With "
        "people it would be `lmmscore.agree(run, 'ratings.csv')`.",
    ),
    (
        "code",
        "import pandas as pd\nfrom lmmscore.yaml_files import load_yaml\n\n"
        "order = load_yaml(demo / 'constructed.yaml')['order']\n"
        "items = run.scores()['item'].unique()\n"
        "ratings = pd.DataFrame(\n"
        "    [(item, method, 'construction', 'overall', float(len(order) - place), '')\n"
        "     for item in items for place, method in enumerate(order)],\n"
        "    columns=['item', 'method', 'rater', 'factor', 'score', 'where'],\n"
        ")\n"
        "found = lmmscore.agree({'pixels': run}, ratings, scale=(1, 6), resamples=500)\n"
        "found.plot('scatter', width_in=3)",
    ),
    (
        "markdown",
        "The report is one page. `webbrowser.open(page.as_uri())` opens it in the browser.",
    ),
    ("code", "page = run.report()\npage.name"),
]


def notebook() -> nbformat.NotebookNode:
    """Return the notebook, not yet executed."""
    make = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    cells = [make[kind](text) for kind, text in CELLS]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # random ids would change the file at every writing
    book = nbformat.v4.new_notebook(cells=cells)
    book["metadata"] = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
    }
    return book


def execute(book: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Run every cell in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            book, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
        ).execute()
    return book


def tidied(book: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Leave out what belongs to the moment: progress, times, versions. The tables are what a reader wants."""
    for cell in book.cells:
        cell.get("metadata", {}).pop("execution", None)
        if cell["cell_type"] == "code":
            cell["outputs"] = [o for o in cell["outputs"] if o["output_type"] == "execute_result"]
    book["metadata"].pop("language_info", None)
    return book


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[2])
    nbformat.write(tidied(execute(notebook())), TARGET)
    print(f"wrote {TARGET.name}", file=sys.stderr)
