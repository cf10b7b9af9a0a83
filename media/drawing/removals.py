"""Four scenes from which one thing is to be taken away: what lay behind it comes to light."""

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


def lamp(edited: bool) -> Array:
    """A park bench beside a street lamp, or without the lamp."""
    canvas = Canvas(down("#f7c99b", "#fbe7c6", 0, 150))
    for tone, base, seed in (("#c99a86", 128, 1), ("#9c8a6e", 148, 4)):
        shape = ridge(base, seed, 14, 70)
        canvas.fill(shape, tone)
        canvas.grain(shape, seed, 0.10)
    lawn = ridge(178, 6, 4, 160)
    canvas.fill(lawn, down("#9aa84e", "#6c8238", 178, 256))
    canvas.grain(lawn, 19, 0.12, 24)
    canvas.fill(polygon((0, 238), (256, 214), (256, 236), (0, 262)), "#d9bd8e")
    for x, y, size in ((34, 92, 34), (226, 84, 40)):
        canvas.fill(box(x - 4, y, x + 4, 182), "#6d4a34")
        for px, py, s in scatter(
            int(x), 26, (x - size * 0.8, x + size * 0.8), (y - size, y + size * 0.5)
        ):
            canvas.fill(
                circle(px, py, 7 + 7 * s), ("#d9772f", "#e89b3c", "#c5562b")[int(s * 3)], 0.85, 3
            )
    _bench(canvas)
    if not edited:
        _lamp_post(canvas)
    return canvas.finished(5)


def _bench(canvas: Canvas) -> None:
    canvas.shadow(ellipse(92, 216, 46, 6), 0.35, 10)
    for x in (58, 126):
        canvas.fill(line(x, 172, x, 214, 4), "#3c3c42")
    for y in (174, 183, 197):
        canvas.fill(box(50, y - 3, 134, y + 3, 2), down("#a8683b", "#7d4a28", y - 3, y + 3))


def _lamp_post(canvas: Canvas) -> None:
    canvas.shadow(ellipse(172, 214, 20, 4), 0.35, 8)
    canvas.fill(circle(170, 62, 40), "#fff0b0", 0.45, 52)
    canvas.fill(line(170, 84, 170, 212, 5), "#2e3440")
    canvas.fill(box(162, 204, 178, 214, 2), "#2e3440")
    canvas.fill(
        polygon((156, 48), (184, 48), (178, 82), (162, 82)), glow(170, 66, 22, "#fffbe0", "#ffcf5e")
    )
    canvas.fill(
        union(polygon((152, 49), (188, 49), (170, 34)), box(160, 80, 180, 86, 2)), "#2e3440"
    )


def fruit(edited: bool) -> Array:
    """A bowl of fruit with a lemon lying beside it, or without the lemon."""
    canvas = Canvas(down("#3f5d66", "#6d8a8c", 0, 170))
    canvas.grain(box(-9, -9, 300, 300), 23, 0.07, 4)
    table = box(-9, 168, 300, 300)
    canvas.fill(table, down("#efe3cb", "#cdb98f", 168, 256))
    for x in range(-10, 270, 32):
        canvas.fill(both(table, line(x, 168, x - 20 + (x - 128) * 0.5, 256, 6)), "#b9563f", 0.35)
    canvas.shadow(ellipse(112, 222, 76, 10), 0.45, 16)
    globes = [
        (78, 132, 27, "#e9594a", "#a3231f"),
        (148, 132, 27, "#f6a93b", "#cb6c17"),
        (112, 112, 29, "#9fc45a", "#5b8a2c"),
    ]
    for x, y, radius, light, dark in globes:
        canvas.fill(circle(x, y, radius), glow(x - 8, y - 10, radius * 1.5, light, dark))
        canvas.fill(circle(x - 9, y - 11, radius * 0.2), "#ffffff", 0.5, 7)
        canvas.fill(line(x, y - radius + 3, x + 4, y - radius - 7, 2.4), "#5b3b1e")
    canvas.fill(box(84, 206, 140, 224, 4), down("#c9d3dc", "#8796a5", 206, 224))
    bowl = both(ellipse(112, 140, 80, 76), box(0, 146, 256, 256))
    canvas.fill(bowl, glow(84, 160, 120, "#fdfaf1", "#a9b7c4"))
    canvas.fill(both(bowl, box(0, 158, 256, 166)), "#3f6fa3", 0.85)
    canvas.fill(both(bowl, box(0, 171, 256, 174)), "#3f6fa3", 0.85)
    if not edited:
        canvas.shadow(ellipse(208, 221, 30, 7), 0.4, 10)
        lemon = union(ellipse(206, 203, 27, 19, -12), ellipse(232, 198, 8, 6, -12))
        canvas.fill(lemon, glow(198, 195, 40, "#fff08a", "#e0a91c"))
        canvas.grain(lemon, 29, 0.06, 64)
    return canvas.finished(6)


def lake(edited: bool) -> Array:
    """A mountain lake with a rowing boat on it, or with nobody about."""
    canvas = Canvas(down("#7fb6d9", "#f3e9da", 0, 140))
    peaks = union(polygon((-20, 146), (52, 48), (126, 146)), polygon((70, 146), (158, 30), (246, 146)),
                  polygon((180, 146), (242, 74), (300, 146)))  # fmt: skip
    canvas.fill(peaks, down("#7c8fae", "#57708f", 30, 146))
    canvas.grain(peaks, 33, 0.16, 10)
    ragged = np.asarray(Y - 70 - 7 * cloud(14, 12))
    canvas.fill(both(peaks, ragged), "#f6f8fb", 0.95, 3)
    canvas.fill(ridge(142, 9, 5, 50), "#3f6650")
    water = box(-9, 148, 300, 300)
    canvas.fill(water, down("#86b3c4", "#2c607b", 148, 256))
    mirrored = np.flipud(canvas.pixels[40:148])
    fading = np.linspace(0.45, 0, 108)[:, None, None]
    canvas.pixels[148:] = (1 - fading) * canvas.pixels[148:] + fading * mirrored
    canvas.pixels *= (1 + 0.05 * np.clip(0.5 - water, 0, 1) * np.sin(Y * 1.1 + 5 * cloud(3, 5)))[
        ..., None
    ]
    if not edited:
        canvas.shadow(ellipse(136, 214, 48, 7), 0.45, 10)
        hull = both(ellipse(136, 196, 48, 20), box(0, 197, 256, 256))
        canvas.fill(hull, down("#d9823b", "#8f4519", 197, 216))
        canvas.fill(box(88, 195, 184, 199, 2), "#f4dfb8")
        canvas.fill(line(112, 190, 74, 214, 2.4), "#5b3b1e")
        canvas.fill(box(128, 172, 142, 197, 5), "#b8323a")
        canvas.fill(circle(135, 165, 7), "#f0c6a0")
        canvas.fill(both(circle(135, 163, 7.5), box(0, 0, 256, 163)), "#3a2a20")
    return canvas.finished(7)


def moon(edited: bool) -> Array:
    """A town by night under a full moon, or under the stars alone."""
    canvas = Canvas(down("#1a1f4a", "#8a5f8f", 0, 210))
    for x, y, size in scatter(26, 80, (0, 256), (0, 130)):
        canvas.fill(circle(x, y, 0.4 + 0.9 * size**2), "#fdf6e3", 0.8, 1.3)
    if not edited:
        canvas.fill(circle(184, 62, 42), "#f7ecc6", 0.28, 62)
        disc = circle(184, 62, 27)
        canvas.fill(disc, glow(176, 54, 40, "#fffbe9", "#e8d49a"))
        for x, y, r in ((176, 56, 6), (194, 68, 8), (190, 48, 4), (178, 74, 4)):
            canvas.fill(circle(x, y, r), "#cdb985", 0.45, 3)
    for x, y, size in scatter(7, 4, (0, 256), (96, 128)):
        canvas.fill(ellipse(x, y, 46 + 20 * size, 4 + 3 * size), "#c18aa6", 0.35, 7)
    _skyline(canvas)
    return canvas.finished(8)


def _skyline(canvas: Canvas) -> None:
    random = np.random.RandomState(2)
    for tone, low, high, step in (("#4a3f73", 138, 168, 26), ("#2a2450", 160, 196, 30)):
        x = -6.0
        while x < 256:
            width, top = step * random.uniform(0.8, 1.3), random.uniform(low, high)
            canvas.fill(box(x, top, x + width, 260), tone)
            if random.uniform() < 0.5:
                canvas.fill(polygon((x, top), (x + width, top), (x + width / 2, top - 14)), tone)
            if step == 30:
                _windows(canvas, random, x, top, width)
            x += width
    canvas.grain(np.asarray(150 - Y), 44, 0.05)
    canvas.fill(minus(box(-9, 236, 300, 300), circle(-40, 0, 1)), "#171432")
    canvas.pixels = canvas.pixels * (1 + 0.03 * np.sin(X / 40))[..., None]


def _windows(
    canvas: Canvas, random: np.random.RandomState, x: float, top: float, width: float
) -> None:
    for wy in np.arange(top + 7, 230, 11):
        for wx in np.arange(x + 5, x + width - 6, 8):
            if random.uniform() < 0.55:
                canvas.fill(box(wx, wy, wx + 4, wy + 6), "#ffd98a", 0.55 + 0.4 * random.uniform())
