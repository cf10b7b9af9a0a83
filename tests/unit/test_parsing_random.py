"""Random replies with scores left out: what is read is always what was written, or it is not read."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from lmmscore.conversation import cardinal, ordinal
from lmmscore.dialog import load_dialog
from lmmscore.parsing import read_text

FOUR = load_dialog("lmm-score").factors
HEADINGS = (
    *("Image {i}:", "**Image {i}**", "### Image {i}", "Image {i}", "#{i}", "{i}.", "({i})", "{L})"),
    *("Moving on to Image {i}:", "Moving on to image {i}.", "The {o} variant:", "And the {o}:"),
    *("Next, image {i}.", "The next one:", "Method {L}", "Edit #{i}", "Picture {w}", "Figure {i}."),
    *("=== {i} ===", "[Image {i}]", "image_{i}:", "I{i}:", "Bild {i}:", "画像{i}", "第{i}张图"),
    *(
        "Scores of the {o} picture:",
        "On to the {o}.",
        "Image {i} of {n}",
        "Image {i} ->",
        "No. {i}:",
    ),
    *("The one with the dog:", "Beach at dusk", "**The dusk picture**", "Also good", "Slide {i}"),
)
JOINTS = (
    ": ",
    " = ",
    "=",
    " - ",
    " – ",
    " is ",
    " ",
    " → ",
    " ........ ",
    ":\n  ",
    " of ",
    ": about ",
)
NAMES = ("{f.symbol}", "{f.name}", "**{f.symbol}**", "{f.name} ({f.symbol})", "{f.key}", "S{f.key}")
FORMS = ("{s}", "{s}/10", "{s} out of 10", "**{s}**", "({s})", "{s}.0", "{s}分", "[{s}]")
EXPLANATIONS = ("", "", " - the sky is fine", " (2 dogs remain)", ", sharp", ". Good light.")
MISSING = (None, "N/A", "–", "unclear", "?")


def heading(pattern: str, i: int, n: int) -> str:
    return pattern.format(i=i, n=n, o=ordinal(i), w=cardinal(i), L="ABCDEF"[i - 1])


class Writer:
    """Writes one random reply, and knows its scores."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        pick = self.random.choice
        self.n = self.random.randint(1, 6)
        self.scores = {
            (i, factor.key): Fraction(self.random.randint(1, 10))
            for i in range(1, self.n + 1)
            for factor in FOUR
            if self.random.random() > 0.15
        }
        same = pick(HEADINGS)
        mixed = self.random.random() < 0.4
        self.heads = [pick(HEADINGS) if mixed else same for _ in range(self.n)]
        self.name, self.joint, self.form = pick(NAMES), pick(JOINTS), pick(FORMS)
        self.missing = pick(MISSING)

    def entry(self, i: int, factor: object) -> str | None:
        score = self.scores.get((i, factor.key))  # type: ignore[attr-defined]
        said = self.missing if score is None else self.form.format(s=score)
        return None if said is None else self.name.format(f=factor) + self.joint + said

    def text(self) -> str:
        """The reply: a list or a line for each image."""
        bullet = self.random.choice(("- ", "* ", "", "1. ", "| "))
        between = self.random.choice(("\n\n", "\n", "\n\n---\n\n"))
        inline = self.random.random() < 0.4
        separator = self.random.choice((", ", "; ", " | ", " ", ". ", " and "))
        parts = []
        for i in range(1, self.n + 1):
            entries = [entry for f in FOUR if (entry := self.entry(i, f)) is not None]
            head = heading(self.heads[i - 1], i, self.n)
            if inline:
                parts.append(head + self.random.choice((" ", "\n", ": ")) + separator.join(entries))
            else:
                lines = [bullet + each + self.random.choice(EXPLANATIONS) for each in entries]
                parts.append("\n".join([head, *lines]))
        return between.join(parts)


@pytest.mark.parametrize("block", range(4))
def test_no_cell_of_a_random_reply_is_read_wrong(block):
    """Whatever heads the images and joins names to numbers, a missing score is nobody else's."""
    read = 0
    for seed in range(block * 150, block * 150 + 150):
        writer = Writer(seed)
        text = writer.text()
        scores = read_text(text, FOUR, writer.n).scores
        wrong = {at: float(s) for at, s in scores.items() if writer.scores.get(at) != s}
        assert not wrong, f"seed {seed}, {writer.n} images:\n{text}"
        read += len(scores)
    assert read > 500
