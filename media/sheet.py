"""Lay the demo out on one page: `python media/sheet.py FILE [ITEM …]`, a row an item, best method first."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml
from PIL import Image, ImageDraw, ImageFont

DEMO = Path(__file__).parent / "demo"
CELL_PX, GAP_PX, HEAD_PX = 176, 6, 26


def main() -> None:
    """Write the page to the file named on the command line."""
    target, *items = sys.argv[1:]
    order = yaml.safe_load((DEMO / "constructed.yaml").read_text(encoding="utf-8"))["order"]
    columns = {"source": DEMO / "source"} | {method: DEMO / "edits" / method for method in order}
    rows = items or sorted(path.stem for path in (DEMO / "source").iterdir())
    step = CELL_PX + GAP_PX
    page = Image.new("RGB", (step * len(columns) + GAP_PX, step * len(rows) + HEAD_PX), "white")
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(size=14)
    for column, (name, folder) in enumerate(columns.items()):
        x = GAP_PX + column * step
        pen.text((x + CELL_PX / 2, HEAD_PX / 2), name, "#333333", font, "mm")
        for row, item in enumerate(rows):
            with Image.open(folder / f"{item}.jpg") as picture:
                cell = picture.resize((CELL_PX, CELL_PX), Image.Resampling.LANCZOS)
            page.paste(cell, (x, HEAD_PX + row * step))
    page.save(target, quality=90)


if __name__ == "__main__":
    main()
