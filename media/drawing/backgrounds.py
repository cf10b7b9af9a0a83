"""Four scenes whose background is to be replaced: the subject stays, everything behind it goes."""

from __future__ import annotations

import numpy as np

from drawing.brush import (
    SIDE_PX,
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


def boat(edited: bool) -> Array:
    """A sailing boat under a noon sky, or under a sunset."""
    canvas = Canvas(
        down("#3f4d8f", "#ffb56b", 0, 165) if edited else down("#4f9fdd", "#d9eefb", 0, 165)
    )
    if edited:
        canvas.fill(circle(182, 140, 70), "#ffd27a", 0.5, 110)
        canvas.fill(circle(182, 140, 20), glow(182, 136, 24, "#fff4c4", "#ffb347"))
    _clouds(canvas, 11, "#f7a08a" if edited else "#ffffff")
    sea = box(-9, 158, 300, 300)
    canvas.fill(
        sea,
        down("#e08a6a", "#3b3a6e", 158, 256) if edited else down("#5fb3d4", "#1f6f9f", 158, 256),
    )
    glint = "#ffd9a0" if edited else "#d6f1fa"
    for x, y, size in scatter(5, 70, (0, 256), (163, 254)):
        canvas.fill(line(x, y, x + 6 + 14 * size, y, 1 + size), glint, 0.35)
    _hull(canvas)
    return canvas.finished(1)


def _clouds(canvas: Canvas, seed: int, colour: str) -> None:
    for x, y, size in scatter(seed, 5, (10, 250), (24, 100)):
        puffs = [
            ellipse(x + d * (14 + 8 * size), y + abs(d) * 3, 20 + 8 * size, 7 + 3 * size)
            for d in (-1, 0, 1)
        ]
        canvas.fill(union(*puffs), colour, 0.55, 9)


def _hull(canvas: Canvas) -> None:
    canvas.shadow(ellipse(118, 203, 66, 8), 0.35, 10)
    canvas.fill(line(116, 48, 116, 182, 4), "#6b4a32")
    sail = both(polygon((120, 52), (120, 170), (184, 170)), circle(78, 152, 112))
    canvas.fill(sail, glow(126, 80, 130, "#ffffff", "#e9dcc3"))
    canvas.fill(polygon((112, 66), (112, 170), (66, 170)), glow(110, 90, 110, "#f26d5b", "#c8402f"))
    canvas.fill(line(120, 130, 164, 130, 1.2), "#cdbb98")
    hull = both(polygon((50, 177), (192, 177), (168, 206), (76, 206)), circle(120, 110, 100))
    canvas.fill(hull, down("#9a5b34", "#5d3119", 177, 206))
    canvas.fill(both(hull, box(0, 177, 256, 182)), "#f3e7cf")
    canvas.grain(hull, 21, 0.08)


def cottage(edited: bool) -> Array:
    """A cottage before summer hills, or before a winter landscape."""
    canvas = Canvas(
        down("#8ea3bd", "#e8edf3", 0, 150) if edited else down("#6fb7e6", "#e6f4ee", 0, 150)
    )
    tints = ("#c3cfdd", "#d9e2ec", "#f4f7fa") if edited else ("#7fae8a", "#6aa35c", "#86bb57")
    for tone, base, seed in zip(tints, (120, 146, 186), (3, 8, 15), strict=True):
        shape = ridge(base, seed, 18, 90)
        canvas.fill(shape, tone)
        canvas.grain(shape, seed, 0.05 if edited else 0.10)
    for x, y, size in scatter(9, 7, (4, 252), (138, 162)):
        if not 60 < x < 200:
            _fir(canvas, x, y, 16 + 12 * size, edited)
    if edited:
        for x, y, size in scatter(12, 90, (0, 256), (0, 256)):
            canvas.fill(circle(x, y, 0.6 + size), "#ffffff", 0.85, 1.6)
    _house(canvas)
    return canvas.finished(2)


def _fir(canvas: Canvas, x: float, y: float, height: float, snowy: bool) -> None:
    canvas.fill(box(x - 1.5, y, x + 1.5, y + 6), "#5a4030")
    for step in range(3):
        top, half = y - height + step * height / 3.6, height / 5 + step * 2.4
        canvas.fill(
            polygon((x, top), (x + half, top + height / 2), (x - half, top + height / 2)), "#2f6b4a"
        )
        if snowy:
            canvas.fill(
                polygon(
                    (x, top), (x + half / 2, top + height / 4), (x - half / 2, top + height / 4)
                ),
                "#f2f6fb",
            )


def _house(canvas: Canvas) -> None:
    canvas.shadow(ellipse(132, 221, 76, 9), 0.35, 14)
    wall = box(78, 142, 184, 220)
    canvas.fill(wall, down("#fbeed3", "#ecd3a6", 142, 220))
    canvas.grain(wall, 31, 0.04, 32)
    canvas.fill(box(152, 88, 166, 130), "#a8583f")
    roof = polygon((66, 146), (98, 98), (166, 98), (196, 146))
    canvas.fill(roof, down("#c9573f", "#96352a", 98, 146))
    for row in range(104, 146, 8):
        canvas.fill(both(roof, line(60, row, 200, row, 1.4)), "#7d2a22", 0.6)
    canvas.fill(box(119, 176, 143, 220, 3), down("#3d6b80", "#2a4d5e", 176, 220))
    canvas.fill(circle(138, 200, 1.6), "#f0d58a")
    for x in (88, 152):
        canvas.fill(box(x, 160, x + 22, 184, 2), "#7a4a2c")
        canvas.fill(box(x + 2, 162, x + 20, 182, 1), glow(x + 8, 168, 20, "#fff3b8", "#f4c35a"))
        canvas.fill(
            union(line(x + 11, 162, x + 11, 182, 1.4), line(x + 2, 172, x + 20, 172, 1.4)),
            "#7a4a2c",
        )


def balloon(edited: bool) -> Array:
    """A hot-air balloon over morning fields, or in a night full of stars."""
    canvas = Canvas(
        down("#0d1433", "#3b3f7a", 0, 200) if edited else down("#74bfe8", "#fdeecb", 0, 200)
    )
    if edited:
        band = np.exp(-(((X - Y * 0.9 - 30) / 46) ** 2)) * (0.6 + 0.4 * cloud(4, 6))
        canvas.pixels = canvas.pixels + 0.16 * band[..., None]
        for x, y, size in scatter(6, 130, (0, 256), (0, 196)):
            canvas.fill(circle(x, y, 0.4 + 1.1 * size**3), "#fdf8e1", 0.9, 1.4)
        canvas.fill(minus(circle(214, 42, 17), circle(206, 38, 16)), "#fbf3cf", 0.95, 1.5)
    else:
        _clouds(canvas, 17, "#ffffff")
    fields = ("#1d2a4c", "#182341", "#131b35") if edited else ("#b9cf78", "#8fb85a", "#d8b75c")
    for tone, base, seed in zip(fields, (198, 216, 236), (2, 5, 7), strict=True):
        shape = ridge(base, seed, 9, 120)
        canvas.fill(shape, tone)
        canvas.grain(shape, seed + 40, 0.09)
    _envelope(canvas)
    return canvas.finished(3)


def _envelope(canvas: Canvas) -> None:
    body = union(circle(122, 88, 56), polygon((72, 113), (172, 113), (136, 158), (108, 158)))
    canvas.fill(body, "#f4efe2")
    for offset, colour in ((-56, "#d8453e"), (-22, "#f2a33a"), (12, "#2f8f8b"), (40, "#d8453e")):
        gore = both(body, polygon((118 + offset * 0.35, 30), (136 + offset * 0.35, 30),
                                  (140 + offset, 92), (127 + offset * 0.2, 160), (119 + offset * 0.2, 160),
                                  (116 + offset, 92)))  # fmt: skip
        canvas.fill(gore, colour)
    canvas.fill(both(body, ellipse(154, 104, 44, 80, 12)), "#14203c", 0.22, 46)
    canvas.fill(both(body, ellipse(98, 62, 18, 26, 24)), "#ffffff", 0.35, 22)
    for x in (110, 134):
        canvas.fill(line(x, 158, 114 if x == 110 else 130, 182, 1.2), "#4a3524")
    basket = box(111, 181, 133, 199, 3)
    canvas.fill(basket, down("#b07a42", "#7c4f26", 181, 199))
    canvas.grain(basket, 77, 0.18, 64)


def vase(edited: bool) -> Array:
    """A vase of flowers before a plain wall, or before striped wallpaper."""
    canvas = Canvas(down("#b9cdd3", "#a2bac2"))
    if edited:
        canvas = Canvas(down("#f3e3c8", "#e2cba4"))
        stripes = np.asarray(np.abs(((X + 6) % 32) - 16) - 7.0)
        canvas.fill(stripes, down("#6d8f6b", "#557553"))
        canvas.fill(np.asarray(np.abs(((X + 6) % 32) - 1.0) - 0.8), "#c59a56", 0.8)
    canvas.grain(box(-9, -9, 300, 300), 51, 0.035)
    table = box(-9, 204, 300, 300)
    canvas.fill(table, down("#a8713f", "#7b4c27", 204, SIDE_PX))
    canvas.pixels = (
        canvas.pixels
        * (1 + 0.07 * np.clip(0.5 - table, 0, 1) * np.sin(Y * 0.8 + 3 * cloud(8, 3)))[..., None]
    )
    _bouquet(canvas)
    return canvas.finished(4)


def _bouquet(canvas: Canvas) -> None:
    canvas.shadow(ellipse(146, 224, 52, 8), 0.4, 14)
    heads = [
        (128, 60, 22, "#e8554d"),
        (92, 84, 19, "#f3b13c"),
        (164, 82, 20, "#f08aa6"),
        (112, 104, 16, "#f6efe2"),
        (148, 110, 16, "#e8554d"),
    ]
    for x, y, *_ in heads:
        canvas.fill(line(x, y, 128, 160, 3), "#3f7a4a")
    for x, turn in ((98, 40), (160, -42), (112, 62), (146, -60)):
        canvas.fill(ellipse(x, 132, 20, 7, turn), glow(x, 126, 24, "#6fae62", "#3b7a45"))
    for x, y, radius, colour in heads:
        petals = [circle(x + radius * 0.62 * np.cos(a), y + radius * 0.62 * np.sin(a), radius * 0.46)
                  for a in np.linspace(0, 2 * np.pi, 8)[:-1]]  # fmt: skip
        canvas.shadow(circle(x + 2, y + 4, radius), 0.22, 10)
        canvas.fill(union(*petals), colour)
        canvas.fill(circle(x, y, radius * 0.85), "#ffffff", 0.16, radius)
        canvas.fill(circle(x, y, radius * 0.32), "#6b3f22", 0.9, 3)
    pot = union(ellipse(128, 194, 36, 34), box(108, 146, 148, 180, 6))
    canvas.fill(pot, glow(114, 176, 60, "#7fb2d6", "#2b5c8a"))
    canvas.fill(both(pot, box(0, 190, 256, 198)), "#f5ead2", 0.9)
    canvas.fill(ellipse(113, 182, 6, 16, 14), "#ffffff", 0.45, 8)
    canvas.fill(box(104, 144, 152, 151, 3), "#244d75")
