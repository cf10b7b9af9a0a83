"""Four scenes in which one thing is to change its colour and nothing else."""

from __future__ import annotations

import numpy as np

from drawing.brush import (
    Array,
    Canvas,
    X,
    Y,
    both,
    box,
    circle,
    cloud,
    down,
    ellipse,
    glow,
    line,
    minus,
    polygon,
    ridge,
    scatter,
    union,
)


def car(edited: bool) -> Array:
    """A red car on a country road, or a blue one."""
    canvas = Canvas(down("#9fd3ea", "#f5f3e0", 0, 140))
    for tone, base, seed in (("#9dbf8a", 120, 5), ("#7dac5f", 142, 10), ("#93bd5e", 164, 13)):
        shape = ridge(base, seed, 13, 80)
        canvas.fill(shape, tone)
        canvas.grain(shape, seed, 0.09)
    for x, y, size in scatter(3, 9, (0, 256), (126, 150)):
        canvas.fill(circle(x, y, 7 + 6 * size), "#4d8050", 1, 3)
    canvas.fill(box(-9, 188, 300, 300), down("#7b7f88", "#565a64", 188, 256))
    canvas.grain(box(-9, 188, 300, 300), 18, 0.06, 48)
    for x in range(-12, 270, 44):
        canvas.fill(box(x, 232, x + 24, 237, 2), "#f2ead2", 0.9)
    _bodywork(canvas, ("#4d8fe0", "#1d4c94") if edited else ("#f0604f", "#a52420"))
    return canvas.finished(9)


def _bodywork(canvas: Canvas, paint: tuple[str, str]) -> None:
    canvas.shadow(ellipse(126, 219, 92, 9), 0.5, 12)
    cabin = both(ellipse(120, 160, 58, 42), box(0, 0, 256, 168))
    body = union(box(38, 158, 214, 206, 18), cabin)
    canvas.fill(body, down(*paint, 120, 206))
    for shape in (
        both(ellipse(120, 161, 49, 34), box(0, 0, 116, 160)),
        both(ellipse(120, 161, 49, 34), box(122, 0, 256, 160)),
    ):
        canvas.fill(shape, down("#d8eef6", "#8fb6c8", 126, 160))
    canvas.fill(line(46, 180, 208, 180, 1.4), "#ffffff", 0.35)
    canvas.fill(line(119, 162, 119, 200, 1.2), "#101828", 0.35)
    canvas.fill(box(126, 172, 138, 175, 1), "#e7e9ee")
    canvas.fill(ellipse(207, 176, 6, 7), "#fff3c0")
    canvas.fill(ellipse(44, 176, 4, 7), "#ffb3a0")
    for x in (80, 174):
        canvas.fill(circle(x, 204, 20), "#22252d")
        canvas.fill(circle(x, 204, 11), glow(x - 3, 200, 14, "#f3f4f7", "#9aa1ad"))
        canvas.fill(circle(x, 204, 3), "#3a3e48")


def umbrella(edited: bool) -> Array:
    """A red sunshade on the beach, or a teal one."""
    canvas = Canvas(down("#5fb4e0", "#dff2f6", 0, 118))
    canvas.fill(box(-9, 116, 300, 172), down("#2f97b7", "#8ed3cf", 116, 172))
    for x, y, size in scatter(31, 40, (0, 256), (120, 160)):
        canvas.fill(line(x, y, x + 8 + 12 * size, y, 1), "#e6f8f6", 0.5)
    sand = np.asarray(166 + 4 * np.sin(X / 22) - Y)
    canvas.fill(np.asarray(sand - 5), "#ffffff", 0.8, 5)
    canvas.fill(sand, down("#f0d9a6", "#dcb877", 166, 256))
    canvas.grain(sand, 37, 0.09, 40)
    canvas.shadow(ellipse(152, 230, 72, 9), 0.35, 16)
    canvas.fill(line(128, 92, 142, 226, 4.5), "#f5efe2")
    shade = _sunshade()
    colour = ("#1f9c93", "#0f6f6b") if edited else ("#e6504a", "#b02a2c")
    canvas.fill(shade, down(*colour, 30, 130))
    rim, hub = ellipse(126, 122, 76, 89, -6), ellipse(126, 122, 46, 89, -6)
    canvas.fill(both(shade, union(minus(rim, hub), ellipse(126, 122, 16, 89, -6))), "#faf3e4")
    canvas.fill(both(shade, ellipse(184, 116, 60, 66)), "#101828", 0.20, 50)
    canvas.fill(line(117, 36, 116, 28, 4), "#f5efe2")
    canvas.fill(polygon((40, 208), (104, 200), (112, 220), (44, 232)), "#5a86c4")
    canvas.fill(polygon((60, 206), (74, 204), (80, 226), (64, 229)), "#f5efe2")
    canvas.fill(circle(206, 214, 13), glow(201, 208, 20, "#fff6d8", "#f2b035"))
    canvas.fill(both(circle(206, 214, 13), box(202, 0, 209, 256)), "#e6504a", 0.9)
    return canvas.finished(10)


def _sunshade() -> Array:
    dome = both(ellipse(126, 122, 96, 88, -6), np.asarray(Y - 126 + (X - 126) * 0.1))
    scallops = [ellipse(34 + 30.7 * k, 137 - 3.1 * k, 17, 10, -6) for k in range(7)]
    return minus(dome, union(*scallops))


def street(edited: bool) -> Array:
    """A row of town houses with the middle one green, or pink."""
    canvas = Canvas(down("#a9d4ec", "#fdf0dc", 0, 150))
    for x, y, size in scatter(15, 4, (20, 240), (18, 46)):
        canvas.fill(ellipse(x, y, 30 + 10 * size, 6), "#ffffff", 0.7, 9)
    walls = [
        (6, 76, 88, "#e9b44c"),
        (88, 168, 66, "#ec8fa6" if edited else "#7fb08a"),
        (180, 250, 92, "#7aa5cc"),
    ]
    for index, (x0, x1, top, colour) in enumerate(walls):
        _facade(canvas, x0, x1, top, colour, index)
    canvas.fill(box(-9, 222, 300, 300), down("#b8aea2", "#8d8378", 222, 256))
    for row, y in enumerate(range(227, 256, 9)):
        for x in range(-12 + 8 * (row % 2), 270, 17):
            canvas.fill(box(x, y, x + 14, y + 7, 3), "#cfc6ba", 0.5)
    return canvas.finished(11)


def _facade(canvas: Canvas, x0: int, x1: int, top: int, colour: str, index: int) -> None:
    wall = box(x0 - 6, top, x1 + 6, 226)
    canvas.fill(wall, colour)
    canvas.fill(both(wall, box(x1 - 6, 0, x1 + 40, 256)), "#101828", 0.14, 26)
    canvas.grain(wall, 60 + index, 0.05, 32)
    canvas.fill(
        polygon((x0 - 9, top + 1), (x1 + 9, top + 1), ((x0 + x1) / 2, top - 40)),
        down("#a4553f", "#7a3a2b", top - 40, top),
    )
    canvas.fill(box(x0 - 8, top, x1 + 8, top + 5), "#f6efe0")
    middle = (x0 + x1) / 2
    for y in (top + 16, top + 50):
        for x in (middle - 24, middle + 8):
            canvas.fill(box(x - 2, y - 2, x + 18, y + 28, 1), "#f9f4e8")
            canvas.fill(box(x, y, x + 16, y + 25), glow(x + 4, y + 4, 30, "#cfe6ef", "#5f8296"))
            canvas.fill(
                union(line(x + 8, y, x + 8, y + 25, 1.4), line(x, y + 11, x + 16, y + 11, 1.4)),
                "#f9f4e8",
            )
    canvas.fill(box(middle - 12, 178, middle + 12, 224, 3), "#f9f4e8")
    canvas.fill(box(middle - 9, 181, middle + 9, 224, 2), ("#7a4a2c", "#5b3b5a", "#31566e")[index])
    canvas.fill(circle(middle + 5, 204, 1.6), "#f0d58a")


def fish(edited: bool) -> Array:
    """An orange fish over a reef, or a violet one."""
    canvas = Canvas(down("#56c1cf", "#0f4f7a"))
    for x in (40, 110, 190):
        canvas.fill(
            polygon((x, -5), (x + 26, -5), (x - 10, 260), (x - 70, 260)), "#d8fbf6", 0.10, 18
        )
    floor = ridge(226, 21, 7, 90)
    canvas.fill(floor, down("#e3cf9c", "#b08e5a", 220, 256))
    canvas.grain(floor, 25, 0.12, 40)
    for x, y, size in scatter(41, 16, (0, 256), (170, 215)):
        sway = 10 * np.sin(x)
        canvas.fill(union(line(x, 238, x + sway, y, 4), line(x + sway, y, x + sway * 0.4, y - 22, 3)),
                    ("#2f8a62", "#3fa06a", "#8a4f8f")[int(size * 3)], 0.9)  # fmt: skip
    for x, y, r in ((30, 224, 17), (226, 222, 22), (200, 232, 13)):
        canvas.fill(circle(x, y, r), glow(x - 5, y - 6, r * 1.5, "#f08a80", "#a8435c"))
    canvas.grain(np.asarray(190 - Y), 48, 0.05, 12)
    _swimmer(canvas, ("#a678e8", "#5b2f9e") if edited else ("#ffb24d", "#e0601a"))
    for x, y, size in scatter(52, 12, (196, 236), (20, 120)):
        canvas.fill(minus(circle(x, y, 2 + 4 * size), circle(x, y, 1 + 3 * size)), "#e8fbff", 0.7)
    return canvas.finished(12)


def _swimmer(canvas: Canvas, paint: tuple[str, str]) -> None:
    body = ellipse(122, 118, 62, 38)
    fins = union(
        polygon((70, 118), (26, 82), (36, 118), (26, 156)),
        ellipse(118, 80, 32, 15, -8),
        ellipse(112, 156, 22, 11, 18),
    )
    canvas.fill(fins, down(*paint, 70, 160))
    canvas.grain(fins, 71, 0.10, 24)
    canvas.fill(body, glow(138, 100, 92, *paint))
    for x in (94, 142):
        canvas.fill(both(body, ellipse(x, 118, 7, 44)), "#fdfaf2", 0.95)
    scales = np.asarray(0.05 * np.sin(X * 0.9) * np.sin(Y * 0.9 + 0.4 * cloud(9, 4)))
    canvas.pixels = canvas.pixels * (1 + scales * np.clip(0.5 - body, 0, 1))[..., None]
    canvas.fill(both(body, box(0, 138, 256, 256)), "#101828", 0.16, 26)
    canvas.fill(circle(164, 106, 8.5), "#fdfaf2")
    canvas.fill(circle(166, 106, 5), "#1c2230")
    canvas.fill(circle(168, 104, 1.6), "#ffffff")
    canvas.fill(both(body, line(172, 126, 186, 122, 2)), "#7a3018", 0.8)
