"""How long it takes to read a reply, as multiples of merely splitting it into words and numbers.

The yardstick is one pass of one plain pattern over the same reply, measured in the same run. No two
sentences of a reply are alike, so that nothing is answered from memory that a judge would not repeat.
Beside it, how the time grows where a reply gets twice as long, also where it is nothing but dots,
dashes or bare numbers: twice, if reading takes one pass.
"""

from __future__ import annotations

import random
import re
import statistics
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial

from lmmscore.parsing import read_text
from lmmscore.scales import Factor, Scale

ROUNDS = 9
OFTEN = 20
SPLIT = re.compile(r"[^\W\d_]+|[0-9]+|[^\w\s]")

NAMES = (
    *("Accuracy", "Preservation", "Image Quality", "Realism", "Color Fidelity", "Sharpness"),
    *("Lighting", "Composition", "Texture", "Geometry", "Style Match", "Artifact Control"),
)
SUBJECTS = (
    "The fox",
    "The snow",
    "The background",
    "The sky",
    "Its fur",
    "The shadow",
    "The light",
)
VERBS = ("keeps", "loses", "shows", "blends with", "hides", "matches", "softens", "repeats")
OBJECTS = (
    *("its pose", "some detail near the tail", "a faint halo", "the scene around it"),
    *("what was asked for", "the grain of the ground", "one edge too many", "the horizon"),
)
ENDS = ("on the left", "as instructed", "in a natural way", "although not everywhere", "too much")

Write = Callable[[int, Sequence[Factor], random.Random], str]


def factors(count: int) -> tuple[Factor, ...]:
    """Return some factors on the scale of 1 to 10."""
    scale = Scale(min=Decimal(1), max=Decimal(10))
    made = []
    for name in NAMES[:count]:
        key = name[:3].lower()
        made.append(Factor(key=key, symbol=f"S_{key}", name=name, scale=scale))
    return tuple(made)


def remark(rng: random.Random) -> str:
    """Return a sentence about a picture."""
    words = [rng.choice(each) for each in (SUBJECTS, VERBS, OBJECTS, ENDS)]
    return " ".join(words) + f", patch {rng.choice('abcdefgh')}{rng.choice('klmnopqr')} aside."


def bullets(n: int, asked: Sequence[Factor], rng: random.Random) -> str:
    """Return a list for each image, every score with its reason."""
    lines = ["Here are my scores for the edited images.", ""]
    for position in range(1, n + 1):
        lines.append(f"**Image {position}:**")
        for factor in asked:
            score = rng.randint(1, 10)
            lines.append(f"- {factor.name} ({factor.symbol}): {score}/10 - {remark(rng)}")
        lines.append("")
    return "\n".join(lines)


def table(n: int, asked: Sequence[Factor], rng: random.Random) -> str:
    """Return a Markdown table."""
    head = " | ".join(factor.symbol for factor in asked)
    lines = ["Here are my scores.", "", f"| Image | {head} |", "|---" * (len(asked) + 1) + "|"]
    for position in range(1, n + 1):
        scores = " | ".join(str(rng.randint(1, 10)) for _ in asked)
        lines.append(f"| Image {position} | {scores} |")
    lines += ["", "These scores reflect how well each edit follows the instruction."]
    return "\n".join(lines)


def prose(n: int, asked: Sequence[Factor], rng: random.Random) -> str:
    """Return a paragraph for each image."""
    lines = ["After comparing all edits, these are my scores.", ""]
    for position in range(1, n + 1):
        scores = ", ".join(f"{factor.symbol} {rng.randint(1, 10)}" for factor in asked)
        lines += [f"Image {position}: I give it {scores}. {remark(rng)} {remark(rng)}", ""]
    return "\n".join(lines)


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start


def split_often(reply: str) -> None:
    """Split a reply into words, many times: once takes less than the clock tells."""
    for _ in range(OFTEN):
        SPLIT.findall(reply)


def of_replies(name: str, write: Write, n: int, count: int, most: float) -> None:
    """Print how long replies of a kind take."""
    asked = factors(count)
    replies = [write(n, asked, random.Random(seed)) for seed in range(ROUNDS + 1)]
    assert len(read_text(replies[0], asked, n).scores) == n * count, f"{name}: not all was read"

    read = [seconds(partial(read_text, reply, asked, n)) for reply in replies[1:]]
    split = [seconds(partial(split_often, reply)) / OFTEN for reply in replies[1:]]

    spent = statistics.median(read)
    ratio = spent / statistics.median(split)
    verdict = "ok" if ratio <= most else "TOO SLOW"
    shape = f"{name}, {n} × {count}"
    print(f"  {shape:28s} {1000 * spent:7.2f} ms {ratio:6.0f} x (at most {most:g} x) {verdict}")


def of_growth(name: str, piece: str, most: float) -> None:
    """Print how the time grows with the length of a reply of one piece again and again."""
    asked = factors(4)
    short = "S_acc " + piece * (20_000 // len(piece)) + " 7"
    long = "S_acc " + piece * (40_000 // len(piece)) + " 7"
    read_text(short, asked, 3)

    spent = min(seconds(lambda: read_text(short, asked, 3)) for _ in range(3))
    ratio = min(seconds(lambda: read_text(long, asked, 3)) for _ in range(3)) / spent
    verdict = "ok" if ratio <= most else "GROWS TOO FAST"
    print(f"  {name:28s} {ratio:6.2f} x where it is twice as long (at most {most:g} x) {verdict}")


def main() -> None:
    """Print the figures."""
    print("reading a reply, against splitting it into words (images × factors)")
    of_replies("bullets with reasons", bullets, 20, 12, 60)
    of_replies("bullets with reasons", bullets, 8, 4, 60)
    of_replies("bullets with reasons", bullets, 1, 4, 100)
    of_replies("a table", table, 20, 12, 60)
    of_replies("a table", table, 8, 4, 100)
    of_replies("prose", prose, 20, 12, 100)
    of_replies("prose", prose, 8, 4, 100)

    print("how that grows")
    of_growth("dots", ".", 3)
    of_growth("dashes", "- ", 3)
    of_growth("numbers", "1,2,3,4,5\n", 3)
    of_growth("sentences", "The fox keeps its pose.\n", 3)


if __name__ == "__main__":
    main()
