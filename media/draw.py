"""Draw the demo benchmark: `python media/draw.py [FOLDER]` writes it into media/demo, or into FOLDER.

Everything in it is made here, from shapes and fixed seeds; there is no photograph and no human rating in it.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml
from drawing import backgrounds, colours, removals
from drawing.brush import SIDE_PX, Array, Canvas, circle, ellipse, line, minus
from drawing.faults import METHODS, Drawn, edit
from PIL import Image


class Scene(NamedTuple):
    """One item of the benchmark."""

    id: str
    task: str
    instruction: str
    draw: Callable[[bool], Array]


SCENES = (
    Scene(
        "boat", "background_change", "Change the midday sky and sea to a sunset", backgrounds.boat
    ),
    Scene(
        "cottage",
        "background_change",
        "Change the summer hills to a snowy winter landscape",
        backgrounds.cottage,
    ),
    Scene(
        "balloon",
        "background_change",
        "Put the balloon in front of a starry night sky",
        backgrounds.balloon,
    ),
    Scene(
        "vase", "background_change", "Change the plain wall to striped wallpaper", backgrounds.vase
    ),
    Scene("lamp", "object_removal", "Remove the street lamp", removals.lamp),
    Scene("fruit", "object_removal", "Remove the lemon beside the bowl", removals.fruit),
    Scene("lake", "object_removal", "Remove the rowing boat from the lake", removals.lake),
    Scene("moon", "object_removal", "Remove the moon from the sky", removals.moon),
    Scene("car", "color_change", "Make the red car blue", colours.car),
    Scene(
        "umbrella", "color_change", "Change the red of the beach umbrella to teal", colours.umbrella
    ),
    Scene("street", "color_change", "Paint the middle house pink", colours.street),
    Scene("fish", "color_change", "Turn the orange fish violet", colours.fish),
)

BENCHMARK = """\
# Drawn by media/draw.py. The order of the methods is known by construction: see constructed.yaml.
name: demo
items: items.csv
images:
  source: "source/{id}.jpg"
  edit: "edits/{method}/{id}.jpg"
  reference: "reference/{id}.jpg"   # the edit without a fault
  marked: "marked/{id}.jpg"         # the source with the place to edit ringed in red
"""


def main() -> None:
    """Draw all items into the folder named on the command line, or into media/demo."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "demo"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmark.yaml").write_text(BENCHMARK, encoding="utf-8")
    (folder / "constructed.yaml").write_text(_constructed(), encoding="utf-8")
    with (folder / "items.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerows([("id", "task", "instruction"), *(scene[:3] for scene in SCENES)])
    for scene in SCENES:
        _draw_item(scene, folder)


def _draw_item(scene: Scene, folder: Path) -> None:
    item = Drawn(scene.id, scene.draw(False), scene.draw(True))
    pictures = {"source": item.source, "reference": item.perfect, "marked": _marked(item)}
    pictures |= {f"edits/{method.name}": edit(item, method) for method in METHODS}
    for place, picture in pictures.items():
        (folder / place).mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(np.round(picture * 255).astype(np.uint8))
        # As PNG all this would weigh 7 MB, which every installation would carry.
        image.save(folder / place / f"{scene.id}.jpg", quality=93, subsampling=0)


def _marked(item: Drawn) -> Array:
    """Return the source with a red ring around the place to edit and an arrow to it."""
    rows, columns = (np.flatnonzero(item.region.any(axis)) for axis in (1, 0))
    x, y = (columns[0] + columns[-1]) / 2, (rows[0] + rows[-1]) / 2
    rx, ry = (min((side[-1] - side[0]) / 2 * 1.15 + 5, SIDE_PX * 0.48) for side in (columns, rows))
    canvas = Canvas(item.source)
    canvas.fill(minus(ellipse(x, y, rx, ry, 2), ellipse(x, y, rx - 4, ry - 4, 2)), "#e3202c")
    sideways = -1 if x > SIDE_PX / 2 else 1
    tip_x, tip_y = x + sideways * rx * 0.75, y - ry * 0.75
    for dx, dy in ((40, -34), (13, 0), (0, -13)):
        canvas.fill(line(tip_x, tip_y, tip_x + sideways * dx, tip_y + dy, 4), "#e3202c")
    canvas.fill(circle(tip_x, tip_y, 2.5), "#e3202c")
    return canvas.pixels


def _constructed() -> str:
    about = (
        "The order of the methods by construction, best first: these are not human ratings. The six "
        "methods are made up; each spoils the perfect edit with a fault of known kind and size, varied by "
        "up to 15 % from item to item. Between kinds of fault the order is a decision of ours: softness "
        "and grain leave the edit whole, an outline betrays it, a cast spoils what was to be kept, an "
        "edit that was not made fails."
    )
    faults = [
        {"method": method.name, "fault": method.fault, "size": method.size, "hurts": method.hurts}
        for method in METHODS
    ]
    order = {"about": about, "order": [method.name for method in METHODS], "faults": faults}
    return yaml.safe_dump(order, sort_keys=False, allow_unicode=True, width=110)


if __name__ == "__main__":
    main()
