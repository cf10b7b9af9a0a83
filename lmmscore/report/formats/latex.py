"""Tables as LaTeX: booktabs floats that go into a one- or two-column paper as they stand."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lmmscore.report.formats import Cell, Grid, TableDocument, TableLayout, formats

COLUMN_PT, PAGE_PT = 200.0, 340.0
"""The narrowest column and page a table should fit unscaled: those of the class article."""
LETTER_PT = 4.9
"""Average width of a letter in \\small, estimated generously."""
GAP_PT = 8.0
"""Twice \\tabcolsep, which is set to 4pt."""
SMALLEST = 0.75
"""A table is shrunk down to this before its groups of columns are set below each other."""

_NEEDS = "% needs \\usepackage{{{}}}\n"

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\ensuremath{<}",
    ">": r"\ensuremath{>}",
    "|": r"\ensuremath{|}",
    '"': "''",
    "–": "--",
    "—": "---",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
    "†": r"\dag{}",
    "±": r"\ensuremath{\pm}",
    "×": r"\ensuremath{\times}",
    "→": r"\ensuremath{\rightarrow}",
    "↑": r"\ensuremath{\uparrow}",
    "↓": r"\ensuremath{\downarrow}",
    "▲": r"\ensuremath{\uparrow}",
    "▼": r"\ensuremath{\downarrow}",
    "≥": r"\ensuremath{\geq}",
    "≤": r"\ensuremath{\leq}",
    "−": r"\ensuremath{-}",
    "·": r"\ensuremath{\cdot}",
}
"""What LaTeX would take for something else, and common signs it has no letter for."""

_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "θ": "theta",
    "λ": "lambda", "μ": "mu", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "φ": "phi",
    "ω": "omega", "Δ": "Delta", "Σ": "Sigma", "Ω": "Omega", "Φ": "Phi",
}  # fmt: skip

_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0308": '"', "\u030c": "v",
    "\u030a": "r", "\u0327": "c",
}  # fmt: skip

_LETTERS = {
    "ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "å": "aa",
    "Å": "AA", "ł": "l", "Ł": "L", "ı": "i",
}  # fmt: skip


@formats.register("tex")
def write_latex(document: TableDocument, layout: TableLayout) -> str:
    """Return each table as a float: a caption of one sentence, the table, the notes below it."""
    parts = [
        _float(grid, document, layout) if grid.rows else _paragraph(grid, document)
        for grid in document.grids
    ]
    body = "\n".join(parts)
    packages = "booktabs,graphicx" if r"\resizebox" in body else "booktabs"
    # The caution first: it is what must not be overlooked.
    head = f"% Caution: {' '.join(document.caution.split())}\n" if document.caution else ""
    head += _NEEDS.format(packages)
    said = [f"\\par\\noindent {escape(sentence(text))}\\par\n" for text in document.headline]
    return "\n".join([head.rstrip("\n"), *said, body])


def _float(grid: Grid, document: TableDocument, layout: TableLayout) -> str:
    name = "table*" if layout.star else "table"
    room = PAGE_PT if layout.star else COLUMN_PT
    tabulars = [_placed(panel, room) for panel in _panels(grid, room)]
    lines = [
        rf"\begin{{{name}}}[t]",
        r"  \centering",
        rf"  \caption{{{escape(_sentence(grid))}}}",
        rf"  \label{{{_label(grid.title)}}}",
        r"  \small",
        r"  \setlength{\tabcolsep}{4pt}",
        "  \\par\\smallskip\n".join(tabulars),
        *_notes(grid, document),
        rf"\end{{{name}}}",
        "",
    ]
    return "\n".join(lines)


def _paragraph(grid: Grid, document: TableDocument) -> str:
    """Return what is said in place of a table without rows: why there is none."""
    texts = [sentence(text) for text in (grid.verdict, grid.caption) if text]
    said = escape(" ".join([*texts, *_note_texts(grid, document)]))
    return f"\\par\\noindent\\textbf{{{escape(grid.title)}}} {said}\\par\n"


def _label(title: str) -> str:
    """Return a name that a document can refer to, made of a title."""
    return "tab:" + (re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "leaderboard")


def _sentence(grid: Grid) -> str:
    """Return the caption: one sentence, what the table shows."""
    text = sentence(grid.caption).removesuffix(".")
    said = f"{grid.title}: {text[:1].lower()}{text[1:]}" if text else grid.title
    # What a table lacks is told before its figures; what exactly, below them.
    return f"{said} (incomplete: see the notes)." if grid.incomplete else f"{said}."


def _note_texts(grid: Grid, document: TableDocument) -> list[str]:
    caution = [f"Caution: {document.caution}"] if document.caution else []
    notes = [*caution, *grid.above, *grid.below, *document.notes]
    return list(dict.fromkeys(filter(None, map(sentence, notes))))


_OPTIONS = re.compile(r"\s*\([^()]*--[a-z][^()]*\)"), re.compile(r"(?:^|;\s)[^;.]*--[a-z][^;.]*")
"""What names an option to type: in parentheses, or a clause of its own."""


def sentence(text: str) -> str:
    """Return a note as a sentence for a paper, whose readers have no options to type."""
    for pattern in _OPTIONS:
        text = pattern.sub("", text)

    text = text.strip().removesuffix(".")
    # A name at the start, as in `run1: …`, keeps its small letter.
    if re.match(r"[a-z]+ ", text):
        text = text[0].upper() + text[1:]
    return f"{text}." if text else ""


def _notes(grid: Grid, document: TableDocument) -> list[str]:
    notes = _note_texts(grid, document)
    if not notes:
        return []

    # \linewidth is that of the column, or of the page in a starred float.
    text = escape(" ".join(notes))
    return [
        rf"  \par\smallskip\parbox{{\linewidth}}{{\footnotesize\raggedright {text}}}",
    ]


def _panels(grid: Grid, room_pt: float) -> Iterator[Grid]:
    """Yield a table with column groups in as many parts as it needs, each with the first column."""
    if not grid.groups:
        yield grid
        return

    places: list[list[int]] = []
    column = 0
    for name, width in grid.groups:
        if name:
            places.append(list(range(column, column + width)))

        column += width

    named = [(name, width) for name, width in grid.groups if name]

    part: list[int] = []
    for k in range(len(places)):
        wider = _panel(grid, [*part, k], places, named)
        if part and estimated_pt(wider) * SMALLEST > room_pt:
            yield _panel(grid, part, places, named)
            part = []

        part.append(k)

    yield _panel(grid, part, places, named)


def _panel(
    grid: Grid, part: Sequence[int], places: Sequence[list[int]], named: Sequence[tuple[str, int]]
) -> Grid:
    lead = places[0][0]
    columns = [*range(lead), *(place for k in part for place in places[k])]
    groups = (("", lead), *(named[k] for k in part))
    return replace(grid.select(columns), groups=groups)


def estimated_pt(grid: Grid) -> float:
    """Return about how wide a table will be, rather over- than underestimated."""
    total = 0.0
    for k, head in enumerate(grid.columns):
        letters = max(len(head), *(len(row[k].text) for row in grid.rows), 0)
        total += letters * LETTER_PT + GAP_PT
    return total


def _placed(grid: Grid, room_pt: float) -> str:
    """Return the tabular; one that may be too wide shrinks to the line where it has to."""
    rows = _tabular(grid)
    if estimated_pt(grid) <= room_pt:
        return "\n".join(f"  {row}" for row in rows)

    # The estimate is generous, and the column of the paper may be wider than ours: TeX measures
    # the table itself and shrinks only what is really too wide.
    return "\n".join(
        [
            r"  \sbox0{%",
            *(f"  {row}" for row in rows[:-1]),
            f"  {rows[-1]}}}%",
            r"  \ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi",
        ]
    )


def _tabular(grid: Grid) -> list[str]:
    sides = "".join("l" if k in grid.text_columns else "r" for k in range(len(grid.columns)))
    return [
        rf"\begin{{tabular}}{{@{{}}{sides}@{{}}}}",
        r"  \toprule",
        *_group_lines(grid),
        "  " + _line([escape(name) for name in grid.columns]),
        r"  \midrule",
        *["  " + _line([_cell(cell) for cell in row]) for row in grid.rows],
        r"  \bottomrule",
        r"\end{tabular}",
    ]


def _group_lines(grid: Grid) -> list[str]:
    """Return the headings over several columns, with a rule under each."""
    if not grid.groups:
        return []

    cells, rules, column = [], [], 1
    for name, width in grid.groups:
        last = column + width - 1
        if not name:
            cells += [""] * width
        else:
            cells.append(rf"\multicolumn{{{width}}}{{c}}{{{escape(name)}}}")
            rules.append(rf"\cmidrule(lr){{{column}-{last}}}")

        column += width

    return ["  " + _line(cells), "  " + " ".join(rules)]


def _line(cells: Sequence[str]) -> str:
    return " & ".join(_guarded(cell) for cell in cells) + r" \\"


def _guarded(cell: str) -> str:
    # A row that begins with [ or * would be read as an argument of the \\ before it.
    return f"{{{cell}}}" if cell[:1] in ("[", "*") else cell


def _cell(cell: Cell) -> str:
    text = escape(re.sub(r"(?<![\w-])-(?=\d)", "−", cell.text))
    if cell.mark == "best":
        return rf"\textbf{{{text}}}"
    return rf"\underline{{{text}}}" if cell.mark == "second" else text


def escape(text: str) -> str:
    """Return text that any LaTeX document prints as it is; an unknown sign as its number."""
    # Two hyphens in a row would be drawn as one dash.
    parts = " ".join(text.split()).split("--")
    return "-{}-".join("".join(map(_sign, part)) for part in parts)


def _sign(sign: str) -> str:
    if sign in _SPECIAL:
        return _SPECIAL[sign]
    if sign in _GREEK:
        return rf"\ensuremath{{\{_GREEK[sign]}}}"
    if " " <= sign <= "~":
        return sign
    if sign in _LETTERS:
        return rf"{{\{_LETTERS[sign]}}}"

    apart = unicodedata.normalize("NFD", sign)
    base, accent = apart[0], apart[1:]
    if base.isascii() and base.isalpha() and accent in _ACCENTS:
        return rf"\{_ACCENTS[accent]}{{{base}}}"
    return f"[U+{ord(sign):04X}]"
