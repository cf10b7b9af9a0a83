"""Draw the pictures of the pages on reading results: `python docs/scripts/pictures.py` writes docs/images/*.svg.

Every figure in them is made up for the purpose of explaining and is said to be so in the text beside it.
"""

from __future__ import annotations

from pathlib import Path

IMAGES = Path(__file__).parents[1] / "images"
BLUE, ORANGE, GREY, LIGHT = "#2563eb", "#d97706", "#6b7280", "#d1d5db"


class Drawing:
    """A few marks on a white card; coordinates in pixels from the upper left."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.size = (width, height)
        self.title = title
        self.marks: list[str] = []

    def line(
        self,
        x1: float,
        y1: float,
        x2: float,
        y2: float,
        colour: str = GREY,
        width: float = 1.5,
        dash: str = "",
    ) -> None:
        """Draw a straight line."""
        extra = f' stroke-dasharray="{dash}"' if dash else ""
        self.marks.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{colour}" stroke-width="{width}"{extra}/>'
        )

    def dot(
        self, x: float, y: float, colour: str = BLUE, radius: float = 5, hollow: bool = False
    ) -> None:
        """Draw a dot."""
        fill = "white" if hollow else colour
        self.marks.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}" stroke="{colour}" stroke-width="1.5"/>'
        )

    def bar(self, x: float, y: float, width: float, height: float, colour: str = BLUE) -> None:
        """Draw a rectangle."""
        self.marks.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2" fill="{colour}"/>'
        )

    def text(
        self,
        x: float,
        y: float,
        words: str,
        colour: str = "#111827",
        size: int = 13,
        anchor: str = "start",
    ) -> None:
        """Write a few words."""
        self.marks.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}">{words}</text>'
        )

    def svg(self) -> str:
        """Return the drawing as a file."""
        width, height = self.size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" font-family="system-ui, sans-serif"><title>{self.title}</title>'
        )
        card = f'<rect width="{width}" height="{height}" rx="8" fill="white" stroke="{LIGHT}"/>'
        return "\n".join([head, card, *self.marks, "</svg>"]) + "\n"


def intervals() -> Drawing:
    """Two methods whose intervals overlap, and that differ all the same, item by item."""
    d = Drawing(660, 250, "Means with overlapping intervals, and the same scores paired by item")
    for x, name, low, mean, high in ((90, "A", 6.9, 7.6, 8.3), (170, "B", 6.5, 7.2, 7.9)):
        y = [220 - (value - 6) * 70 for value in (low, mean, high)]
        d.line(x, y[0], x, y[2], BLUE if name == "A" else ORANGE, 3)
        d.dot(x, y[1], BLUE if name == "A" else ORANGE, 6)
        d.text(x, 240, name, anchor="middle")
    d.text(130, 26, "the intervals overlap …", anchor="middle")
    for number, value in enumerate([6.4, 6.8, 7.1, 7.4, 7.8, 8.1, 8.6]):
        x, top, bottom = 300 + number * 50, 220 - (value - 6) * 70, 220 - (value - 0.4 - 6) * 70
        d.line(x, top, x, bottom, LIGHT, 2)
        d.dot(x, top, BLUE)
        d.dot(x, bottom, ORANGE)
        d.text(x, 240, str(number + 1), GREY, 11, "middle")
    d.text(450, 26, "… yet A is above B on every item", anchor="middle")
    return d


def position() -> Drawing:
    """Scores that fall with the position at which an edit is shown."""
    d = Drawing(660, 250, "A judge whose scores fall with the position")
    d.line(60, 215, 620, 215)
    for place in range(1, 9):
        x = 60 + place * 62
        d.text(x, 235, str(place), GREY, 12, "middle")
        for shift in (-14, 3, 17):
            d.dot(x + shift / 3, 70 + place * 9 + shift, BLUE, 4)
    d.line(100, 78, 580, 150, ORANGE, 3)
    d.text(440, 100, "the fitted position effect", ORANGE)
    d.text(60, 30, "overall")
    d.text(620, 235, "position", GREY, 12, "end")
    return d


def holes() -> Drawing:
    """A mean over fewer items is not the mean over all."""
    d = Drawing(660, 230, "A method without edits of the hard items")
    for row, (name, missing, mean) in enumerate((("A", (), "6.5"), ("B", (5, 6, 7), "7.4"))):
        y = 80 + row * 80
        d.text(30, y + 5, name, size=16)
        for item in range(8):
            x = 80 + item * 52
            if item in missing:
                d.text(x, y + 5, "–", GREY, 18, "middle")
            else:
                shade = 8.6 - item * 0.6
                d.bar(x - 16, y - 20, 32, 40, BLUE if row == 0 else ORANGE)
                d.text(x, y + 5, f"{shade:.1f}", "white", 12, "middle")
        d.text(520, y + 5, f"mean {mean}", size=14)
        d.text(520, y + 24, "coverage 100%" if not missing else "coverage 63%", GREY, 12)
    d.text(80, 30, "easy items", GREY, 12)
    d.text(460, 30, "hard items", GREY, 12, "end")
    d.text(80, 215, "B looks better because it gave no edit where edits are hard.", GREY, 12)
    return d


def ceiling() -> Drawing:
    """A scale that ends below the difference."""
    d = Drawing(660, 230, "Scores that pile up at the top of the scale")
    counts = {"A": [0, 0, 1, 1, 2, 4, 12], "B": [0, 1, 1, 2, 3, 4, 9]}
    for column, (name, bars) in enumerate(counts.items()):
        left = 60 + column * 310
        for step, count in enumerate(bars):
            d.bar(
                left + step * 34, 190 - count * 10, 26, count * 10, BLUE if name == "A" else ORANGE
            )
            d.text(left + step * 34 + 13, 208, str(step + 1), GREY, 11, "middle")
        d.text(left, 58, f"method {name}", size=13)
    d.text(330, 30, "most edits of both methods get the highest score", anchor="middle")
    return d


def levels() -> Drawing:
    """The same ratings at two levels: within items nothing agrees, over methods everything does."""
    d = Drawing(660, 260, "Agreement over methods and agreement over items are different questions")
    means = [(110, 190), (170, 140), (230, 80)]
    for x, y in means:
        d.dot(x, y, ORANGE, 8)
    d.line(90, 208, 250, 62, ORANGE, 1.5, "5 4")
    for left in (60, 350):
        d.line(left, 50, left, 226, LIGHT)
        d.line(left, 226, left + 270, 226, LIGHT)
        d.text(left, 246, "raters →", GREY, 12)
        d.text(left + 6, 60, "judge ↑", GREY, 12)
    d.text(170, 30, "level of methods: 3 means", anchor="middle")
    offsets = [(-34, 18), (-18, -30), (-4, 26), (8, -22), (24, 30), (34, -14)]
    for x, y in means:
        for dx, dy in offsets:
            d.dot(330 + (x - 60) * 1.2 + dx, y + dy, BLUE, 4)
    d.text(490, 30, "level of items: 18 edits", anchor="middle")
    return d


def files() -> dict[Path, str]:
    """Return every picture with its text."""
    return {
        IMAGES / f"{make.__name__}.svg": make().svg()
        for make in (intervals, position, holes, ceiling, levels)
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
