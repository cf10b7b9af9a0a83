"""Random replies of a judge with scores left out, and what a careful reader finds in each.

Headings, joints, layouts, languages and explanations are mixed at random, and explanations hold
numbers and names of other images. `python tests/random_replies.py SEED N` reads N replies and
prints every one in which a cell is read as what was not written.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from lmmscore.conversation import cardinal, ordinal
from lmmscore.dialog import load_dialog
from lmmscore.parsing import Cell, read_text

FACTORS = load_dialog("lmm-score").factors
KEYS = tuple(factor.key for factor in FACTORS)
NAMES: tuple[tuple[str, ...], ...] = (
    tuple(factor.symbol for factor in FACTORS),
    tuple(factor.symbol for factor in FACTORS),
    tuple(factor.name for factor in FACTORS),
    tuple(f"{factor.name} ({factor.symbol})" for factor in FACTORS),
    tuple(f"{factor.symbol} ({factor.name})" for factor in FACTORS),
    tuple(f"$S_{{{factor.key}}}$" for factor in FACTORS),
    tuple(f"S_{{\\text{{{factor.key}}}}}" for factor in FACTORS),
    tuple(f"{i}. {factor.name}" for i, factor in enumerate(FACTORS, 1)),
    tuple(f"{factor.symbol} (1-10)" for factor in FACTORS),
    ("accuracy", "preservation", "quality", "realism"),
    ("Genauigkeit (S_acc)", "Erhaltung (S_pre)", "Bildqualität (S_qua)", "Realismus (S_real)"),
    ("编辑准确性 (S_acc)", "上下文保持 (S_pre)", "视觉质量 (S_qua)", "逻辑真实性 (S_real)"),
    ("Precisión (S_acc)", "Preservación (S_pre)", "Calidad (S_qua)", "Realismo (S_real)"),
)
HEADINGS = (
    *("Image {i}:", "Image {i}", "**Image {i}**", "### Image {i}", "**Image {i}:**", "Image {i} –"),
    *("## Edit {i}", "Edit #{i}", "{o} image:", "The {o} edit", "__Picture {i}__", "#{i}", "{i}."),
    *(
        "({i})",
        "[{i}]",
        "{i})",
        "— {i} —",
        "=== {i} ===",
        "*** {i} ***",
        "-- Image {i} --",
        "<{i}>",
    ),
    *("Method {L}", "{L}:", "{L})", "Variant {L}.", "Option {w}", "{w}", "**{w}**", "Image {R}"),
    *("Moving on to Image {i}:", "Now for image {i}.", "Next, the {o} picture:", "Next one:"),
    *("And then the {o}…", "On to number {i}.", "Turning to the {o}:", "Finally:", "Then:"),
    *("Image {i} (2 foxes, dusk)", "Image {i} - 3 birds", "Image {i}/{n}", "Image {i} of {n}:"),
    *("The snowy one:", "The one with 2 suns", "Beach, 7 pm", "Better:", "Also:", "***", "---", ""),
    *(
        "Bild {i}:",
        "图像{i}：",
        "第{i}张图片",
        "图{i}",
        "画像{i}:",
        "{i}枚目の画像",
    ),
    *("이미지 {i}:", "Imagen {i}:", "La {i}ª imagen:", "Изображение {i}:", "Résultat {i} :"),
    *("🖼️ Image {i}", "➡️ {i}", "Image {i}️⃣", "edit_{i}.png", "`image_{i}.jpg`:", "I{i}:", "img{i}"),
    *("> Image {i}", "- Image {i}", "* **Image {i}**", "{i}. Image {i}", "Step {i}: Image {i}"),
    *("| Image {i} |", "Image {i} ->", "Image {i} scores:", "Scores ({o}):", "Assessment {i}"),
    *("What about image {i}?", "Image No. {i}", "Image: {i}", "Image ({i})", "{i} -", "Item {i}"),
)
JOINTS = (
    ": ",
    ": ",
    ": ",
    " = ",
    "=",
    " - ",
    " – ",
    " — ",
    " is ",
    " ",
    "  ",
    " → ",
    " -> ",
    " ...... ",
)
JOINTS += (":\n  ", "\n", " of ", " | ", ":", " gets ", " (score): ", " ~ ", " :: ", "：")
FORMS = ("{s}", "{s}", "{s}/10", "{s} / 10", "{s} out of 10", "**{s}**", "({s})", "[{s}]", "{s}.0")
FORMS += ("{s}分", "{s} points", "**{s}/10**", "`{s}`", "{s}/10.", "${s}$", "\\boxed{{{s}}}")
MISSING = (
    None,
    None,
    None,
    "",
    "N/A",
    "-",
    "—",
    "?",
    "n/a",
    "unclear",
    "not applicable",
    "…",
    "TBD",
)
EXPLANATIONS = (
    *(
        "",
        "",
        "",
        "",
        " - the sky is fine",
        " (2 dogs remain)",
        ", sharp",
        ". Good light.",
        " – 3 px halo",
    ),
    *(
        " (better than in Image {j})",
        ". Unlike Image {j}, the horizon is straight.",
        ", like Image {j}",
    ),
    *(
        " — 7 of 10 birds are kept",
        " because the 4 windows are gone",
        "; see Image {j}",
        " (ok)",
        " ✅",
    ),
    *(
        ". It has 2 suns and 1 moon.",
        " - {f} suffers, too",
        " (cf. {f})",
        ". The best of the {n}.",
        " 👍",
    ),
    *(
        ", weniger als bei Bild {j}",
        "（比图像{j}好）",
        " (the 5th step)",
        ": clean",
        ". Only 1 flaw: the ears.",
    ),
)
REMARKS = (
    *("The edit keeps 3 of 4 trees.", "Compared with Image {j}, the colours are warmer.", "Fine."),
    *(
        "Image {j} does this better.",
        "It shows 2 foxes at 7 pm.",
        "Not as sharp as the {oj} image.",
    ),
    *(
        "The instruction asked for 5 birds; 4 are there.",
        "{f} is limited by the halo.",
        "Notes: ok",
    ),
    *(
        "Reason: the 2 shadows disagree.",
        "Confidence: 4/5",
        "Overall: {s}",
        "S_all = {s}.4",
        "Rank: 2",
    ),
)
OPENINGS = ("", "", "Here are my scores:\n\n", "Sure! Here is my evaluation.\n\n", "**Scores**\n\n")
LABELS = (
    *(
        "Image {i}",
        "{i}",
        "#{i}",
        "Method {L}",
        "{L}",
        "Edit {i}",
        "图像{i}",
        "Image {i} (nice)",
        "**{i}**",
    ),
    *(
        "edit_{i}.png",
        "I{i}",
        "Image {i} of {n}",
        "{i}/{n}",
        "{O}",
        "Image {i}/{n}",
        "image_{i}",
        "Bild {i}",
    ),
)
EXTRA_COLUMNS = (
    "S_all",
    "Average",
    "Rank",
    "Total",
    "Notes",
    "Confidence",
    "Weight",
    "Δ",
    "Overall",
)
EXTRA_COLUMNS += ("Issues", "Time (s)", "#", "Human", "Max", "Prev.", "")
EXTRA_ROWS = (
    "Average",
    "Mean",
    "Source",
    "Weight",
    "Max",
    "Total",
    "Ideal",
    "Image 0",
    "Original",
    "Sum",
)
ROMAN = ("I", "II", "III", "IV", "V", "VI")


class RandomReply:
    """One random reply: its text, how many images it is of, and the scores it gives."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.n = self._pick((1, 2, 2, 3, 3, 4, 4, 5, 6))
        holes = self._pick((0.15, 0.2, 0.3))
        self.scores: dict[Cell, int] = {}
        for i in range(1, self.n + 1):
            silent = self._chance(0.06)
            for key in KEYS:
                if not silent and not self._chance(holes):
                    self.scores[i, key] = self._random.randint(1, 10)
        self._names = self._pick(NAMES)
        self._form = self._pick(FORMS)
        self._missing = self._pick(MISSING)
        self._label = self._pick(LABELS)
        self._order = self._shuffled(range(1, self.n + 1), 0.15)
        self._factors = self._shuffled(range(len(KEYS)), 0.2)
        self.layout = self._pick(tuple(self._layouts()))
        self.text = self._pick(OPENINGS) + self._layouts()[self.layout]()

    def _pick(self, values: Sequence):
        return self._random.choice(values)

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _shuffled(self, values: Sequence[int], share: float) -> list[int]:
        made = list(values)
        if self._chance(share):
            self._random.shuffle(made)
        return made

    def _layouts(self) -> dict[str, Callable[[], str]]:
        return {
            "lists": self._lists,
            "lines": self._lines,
            "sentences": self._sentences,
            "by factor": self._by_factor,
            "by factor inline": self._by_factor_inline,
            "images as rows": self._images_as_rows,
            "images as columns": self._images_as_columns,
            "a table an image": self._tables,
            "a table a factor": self._tables_by_factor,
            "a line a score": self._long_table,
            "json": self._json,
            "yaml": self._yaml,
            "xml": self._xml,
            "remarks": self._with_remarks,
            "halves": self._halves,
        }

    # --- Pieces ---

    def _filled(self, pattern: str, i: int) -> str:
        others = [j for j in range(1, self.n + 1) if j != i] or [1]
        j = self._pick(others)
        return pattern.format(
            i=i,
            j=j,
            n=self.n,
            o=ordinal(i),
            O=ordinal(i).capitalize(),
            oj=ordinal(j),
            w=cardinal(i).capitalize(),
            L="ABCDEF"[i - 1],
            R=ROMAN[i - 1],
            f=self._pick(self._names),
            s=self._random.randint(1, 9),
        )

    def _value(self, i: int, factor: int) -> str | None:
        """What is written as a score; None where nothing is."""
        score = self.scores.get((i, KEYS[factor]))
        if score is not None:
            return self._form.format(s=score)
        return self._missing if self._missing is not None or self._chance(0.7) else ""

    def _cell(self, i: int, factor: int) -> str:
        return self._value(i, factor) or self._pick(("", "-", "—"))

    def _entries(self, i: int, joint: str, explained: float) -> list[str]:
        made = []
        for factor in self._factors:
            value = self._value(i, factor)
            if value is None:
                continue
            entry = self._names[factor] + joint + value
            if self._chance(explained):
                entry += self._filled(self._pick(EXPLANATIONS), i)
            made.append(entry)
        return made

    def _headings(self) -> list[str]:
        same = self._pick(HEADINGS)
        mixed = self._chance(0.35)
        heads = [self._pick(HEADINGS) if mixed else same for _ in self._order]
        made = [self._filled(head, i) for head, i in zip(heads, self._order, strict=True)]
        for place, head in enumerate(heads):
            # A heading without a name needs scores before it, or nobody could say whose they are.
            silent = place == 0 or not self._says_anything(self._order[place - 1])
            if "{" not in head and silent:
                made[place] = f"Image {self._order[place]}:"
        return made

    def _says_anything(self, i: int) -> bool:
        return any((i, key) in self.scores for key in KEYS)

    # --- Lists, lines, sentences ---

    def _lists(self) -> str:
        joint = self._pick(JOINTS)
        bullet = self._pick(("- ", "* ", "", "• ", "  - ", "1. ", "+ ", "> ", "a) ", "– "))
        explained = self._pick((0, 0.5, 1))
        blocks = []
        for head, i in zip(self._headings(), self._order, strict=True):
            lines = [bullet + entry for entry in self._entries(i, joint, explained)]
            blocks.append("\n".join([head, *lines]))
        return self._pick(("\n\n", "\n", "\n\n---\n\n", "\n\n\n")).join(blocks)

    def _with_remarks(self) -> str:
        joint = self._pick((": ", " = ", " – ", " is ", " ("))
        close = ")" if joint == " (" else ""
        under = self._pick(("\n  - ", "\n", "\n    ", "\n> ", "\n\n"))
        blocks = []
        for head, i in zip(self._headings(), self._order, strict=True):
            lines = [head]
            if self._chance(0.4):
                lines.append(self._filled(self._pick(REMARKS), i))
            for entry in self._entries(i, joint, 0.2):
                remark = self._filled(self._pick(REMARKS), i)
                lines.append("- " + entry + close + (under + remark if self._chance(0.6) else ""))
            blocks.append("\n".join(lines))
        return self._pick(("\n\n", "\n", "\n\n---\n\n")).join(blocks)

    def _lines(self) -> str:
        joint = self._pick(JOINTS).replace("\n", " ")
        backward = self._chance(0.25)
        between = self._pick((", ", "; ", " | ", " ", " · ", ", and ", ". ", " / ", ",", "\t"))
        explained = self._pick((0, 0, 0.4))
        blocks = []
        for head, i in zip(self._headings(), self._order, strict=True):
            if backward:
                entries = self._backward_entries(i)
            else:
                entries = self._entries(i, joint, explained)
            blocks.append(head + self._pick((" ", "\n", ": ")) + between.join(entries))
        return self._pick(("\n\n", "\n", "\n", "; ", " ", ". ", "\n---\n")).join(blocks)

    def _backward_entries(self, i: int) -> list[str]:
        joint = self._pick((" for ", " (", " - ", " in ", ": ", " "))
        close = ")" if joint == " (" else ""
        made = []
        for factor in self._factors:
            value = self._value(i, factor)
            if value:
                made.append(value + joint + self._names[factor] + close)
        return made

    def _sentences(self) -> str:
        verb = self._pick(
            (", I give ", " gets ", " scores ", " receives ", ": ", " has ", " earns a ")
        )
        forward = self._chance(0.4)
        made = []
        for i in self._order:
            said = []
            for factor in self._factors:
                score = self.scores.get((i, KEYS[factor]))
                if score is None:
                    if self._chance(0.3):
                        said.append(f"no score for {self._names[factor]}")
                    continue
                name = self._names[factor]
                said.append(f"{name} {score}" if forward else f"{score} for {name}")
            lead = self._pick(("", "", "For ", "As for ", "The edit of "))
            label = self._filled(self._label, i)
            tail = self._filled(
                self._pick((".", ".", " since Image {j} is sharper.", " overall.")), i
            )
            listed = self._pick((", ", " and ", "; ")).join(said)
            made.append(lead + label + verb + listed + tail)
        return self._pick(("\n", "\n\n", " ")).join(made)

    def _by_factor(self) -> str:
        head = self._pick(("**{}**", "{}:", "### {}", "{}", "- {}:", "__{}__:"))
        joint = self._pick((": ", " - ", " = ", " – ", " ", " → ", " gets ", "("))
        explained = self._pick((0, 0.5))
        blocks = []
        for factor in self._factors:
            lines = [head.format(self._names[factor])]
            for i in self._order:
                value = self._value(i, factor)
                if value is None:
                    continue
                line = (
                    f"- {self._filled(self._label, i)}{joint}{value}{')' if joint == '(' else ''}"
                )
                if self._chance(explained):
                    line += self._filled(self._pick(EXPLANATIONS), i)
                lines.append(line)
            blocks.append("\n".join(lines))
        return self._pick(("\n\n", "\n")).join(blocks)

    def _by_factor_inline(self) -> str:
        joint = self._pick((": ", " ", " = ", "=", " (", " – ", " gets "))
        between = self._pick((", ", "; ", " | ", " / ", ". "))
        lines = []
        for factor in self._factors:
            said = []
            for i in self._order:
                value = self._value(i, factor)
                if value is not None:
                    close = ")" if joint == " (" else ""
                    said.append(self._filled(self._label, i) + joint + value + close)
            lines.append(self._names[factor] + self._pick((": ", " – ")) + between.join(said))
        return "\n".join(lines)

    # --- Tables ---

    def _noise(self) -> str:
        return self._pick(("3", "6.4", "2 birds", "good", "—", "", "0.4", "+1", "5/10", "1st", "9"))

    def _with_extras(self, rows: list[list[str]]) -> list[list[str]]:
        for _ in range(self._pick((0, 0, 1, 1, 2))):
            place = self._random.randint(1, len(rows[0]))
            title = self._pick(EXTRA_COLUMNS)
            for number, row in enumerate(rows):
                row.insert(place, self._noise() if number else title)
        if self._chance(0.25):
            extra = [self._pick(EXTRA_ROWS), *(self._noise() for _ in rows[0][1:])]
            rows.insert(self._pick((1, len(rows))), extra)
        return rows

    def _drawn(self, rows: list[list[str]]) -> str:
        style = self._pick(
            ("bars", "bars", "bare", "tabs", "csv", "semi", "html", "box", "aligned", "latex")
        )
        rule = "|" + "---|" * len(rows[0])
        if style in {"csv", "semi", "tabs"}:
            return "\n".join(
                {"csv": ",", "semi": ";", "tabs": "\t"}[style].join(row) for row in rows
            )
        if style == "bars":
            lines = ["| " + " | ".join(row) + " |" for row in rows]
            return "\n".join([lines[0], rule, *lines[1:]])
        if style == "bare":
            lines = [" | ".join(row) for row in rows]
            return "\n".join([lines[0], rule[1:-1], *lines[1:]])
        if style == "html":
            lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
            return "<table>" + "\n".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
        if style == "latex":
            lines = [" & ".join(row) + r" \\" for row in rows]
            return "\n".join([r"\begin{tabular}{lcccc}", *lines, r"\end{tabular}"])
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        padded = [
            [cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows
        ]
        if style == "aligned":
            return "\n".join("  ".join(row) for row in padded)
        line = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
        body = ["| " + " | ".join(row) + " |" for row in padded]
        return "\n".join([line, body[0], line, *body[1:], line])

    def _images_as_rows(self) -> str:
        corner = self._pick(("Image", "", "Method", "#", "Edit", "图像", "Bild", "Rank"))
        rows = [[corner, *(self._names[factor] for factor in self._factors)]]
        for i in self._order:
            cells = (self._cell(i, factor) for factor in self._factors)
            rows.append([self._filled(self._label, i), *cells])
        return self._drawn(self._with_extras(rows))

    def _images_as_columns(self) -> str:
        rows = [["Factor", *(self._filled(self._label, i) for i in self._order)]]
        rows += [
            [self._names[factor], *(self._cell(i, factor) for i in self._order)]
            for factor in self._factors
        ]
        return self._drawn(self._with_extras(rows))

    def _tables(self) -> str:
        blocks = []
        for head, i in zip(self._headings(), self._order, strict=True):
            rows = [["Factor", "Score", "Why"]]
            for factor in self._factors:
                why = self._pick(("ok", "2 birds", "halo of 3 px", "7", "like Image 1"))
                rows.append([self._names[factor], self._cell(i, factor), why])
            blocks.append(head + "\n\n" + self._drawn(rows))
        return "\n\n".join(blocks)

    def _tables_by_factor(self) -> str:
        blocks = []
        for factor in self._factors:
            rows = [["Image", "Score"]]
            rows += [[self._filled(self._label, i), self._cell(i, factor)] for i in self._order]
            blocks.append(f"**{self._names[factor]}**\n\n" + self._drawn(rows))
        return "\n\n".join(blocks)

    def _long_table(self) -> str:
        swapped = self._chance(0.5)
        rows = [["Factor", "Image", "Score"] if swapped else ["Image", "Factor", "Score"]]
        for i in self._order:
            for factor in self._factors:
                named = [self._filled(self._label, i), self._names[factor]]
                rows.append([*(reversed(named) if swapped else named), self._cell(i, factor)])
        return self._drawn(rows)

    # --- JSON, YAML, XML ---

    def _number(self, i: int, factor: int) -> object:
        score = self.scores.get((i, KEYS[factor]))
        if score is None:
            return self._pick((None, "N/A", "", "-", None))
        return self._pick((score, score, str(score), f"{score}/10"))

    def _objects(self) -> dict[str, object]:
        wrapped = self._pick(("", "", "score", "rating"))
        made: dict[str, object] = {}
        for i in self._order:
            scores: dict[str, object] = {}
            for factor in self._factors:
                if (i, KEYS[factor]) not in self.scores and self._chance(0.4):
                    continue
                value = self._number(i, factor)
                reason = self._filled(self._pick(REMARKS), i)
                scores[self._names[factor]] = (
                    {"reason": reason, wrapped: value} if wrapped else value
                )
            made[self._filled(self._label, i)] = scores
        return made

    def _json(self) -> str:
        objects = self._objects()
        shape = self._pick(("object", "list", "nested", "factors", "fenced", "sequence"))
        if self._chance(0.25):
            odd = self._pick(
                ("average", "source", "weights", "ranks", "mean", "previous", "example")
            )
            objects[odd] = {name: self._random.randint(1, 10) for name in self._names}
        indent = self._pick((None, 2))
        if shape == "list":
            listed = [{"image": label, "scores": scores} for label, scores in objects.items()]
            return json.dumps(listed, ensure_ascii=False, indent=indent)
        if shape == "nested":
            return json.dumps({"scores": objects}, ensure_ascii=False, indent=indent)
        if shape == "factors":
            turned: dict[str, dict[str, object]] = {}
            for label, scores in objects.items():
                for name, value in scores.items():  # type: ignore[attr-defined]
                    turned.setdefault(name, {})[label] = value
            return json.dumps(turned, ensure_ascii=False, indent=indent)
        if shape == "sequence":
            return "\n".join(
                f"{label}: {json.dumps(scores, ensure_ascii=False)}"
                for label, scores in objects.items()
            )
        text = json.dumps(objects, ensure_ascii=False, indent=indent)
        return f"```json\n{text}\n```" if shape == "fenced" else text

    def _yaml(self) -> str:
        lines = []
        for i in self._order:
            lines.append(
                f"{self._filled(self._pick(('image_{i}', 'Image {i}', '- image: {i}')), i)}:"
            )
            for factor in self._factors:
                value = self.scores.get((i, KEYS[factor]))
                if value is not None or self._chance(0.5):
                    lines.append(f"  {self._names[factor]}: {'' if value is None else value}")
        return "\n".join(lines)

    def _xml(self) -> str:
        lines = []
        for i in self._order:
            lines.append(f'<image id="{i}">')
            for factor in self._factors:
                value = self.scores.get((i, KEYS[factor]))
                if value is not None or self._chance(0.5):
                    tag = f"S_{KEYS[factor]}"
                    lines.append(f"  <{tag}>{'' if value is None else value}</{tag}>")
            lines.append("</image>")
        return "\n".join(lines)

    def _halves(self) -> str:
        """Some images in a list, the others in a table."""
        cut = self._random.randint(0, self.n)
        every = self._order
        self._order = every[:cut]
        first = self._lists() if cut else ""
        self._order = every[cut:]
        second = self._images_as_rows() if cut < self.n else ""
        return f"{first}\n\n{second}" if self._chance(0.5) else f"{second}\n\n{first}"


def scores_read(reply: RandomReply) -> Mapping[Cell, Fraction]:
    """Return the cells that are read, each with its score."""
    return read_text(reply.text, FACTORS, reply.n).scores


def wrong_cells(reply: RandomReply, read: Mapping[Cell, Fraction]) -> dict[Cell, float]:
    """Return the cells that are read as what the reply does not say."""
    return {cell: float(score) for cell, score in read.items() if reply.scores.get(cell) != score}


def _main(first: int, count: int) -> None:
    wrong = read = given = 0
    for seed in range(first, first + count):
        reply = RandomReply(seed)
        found = scores_read(reply)
        bad = wrong_cells(reply, found)
        read += len(found)
        given += len(reply.scores)
        if bad:
            wrong += 1
            print(f"### seed {seed}, {reply.layout}, {reply.n} images: {bad}\n{reply.text}\n")
    print(f"{count} replies: {wrong} with a wrong cell; {read} of {given} scores read")


if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]))
