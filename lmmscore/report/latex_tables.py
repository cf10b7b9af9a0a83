"""Grids as LaTeX: booktabs tables in a file that compiles by itself and can be \\input into a paper."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from lmmscore.report.grids import Cell, Grid

# Inside a document \\@nodocument is \\relax: then only the tables count. Compiled by itself, the file opens a
# document of its own, on paper wide enough for the widest table.
_HEAD = r"""% Compiles as it stands. In a paper: \usepackage{booktabs} in the preamble, then \input this file.
\expandafter\ifx\csname @nodocument\endcsname\relax
  \def\lmmscoreend{}\def\lmmscorenext{}%
\else
  \def\lmmscoreend{\end{document}}\def\lmmscorenext{\clearpage}%
  \documentclass{article}
  \usepackage{booktabs}
  \usepackage[paperwidth=WIDTHcm,paperheight=29.7cm,margin=1.5cm]{geometry}
  \begin{document}
\fi
"""

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%",
    "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''", "–": "--", "—": "---", "‘": "`", "’": "'",
    "“": "``", "”": "''", "…": r"\ldots{}", "±": r"\ensuremath{\pm}",
    "×": r"\ensuremath{\times}", "→": r"\ensuremath{\rightarrow}",
    "≥": r"\ensuremath{\geq}", "≤": r"\ensuremath{\leq}", "−": r"\ensuremath{-}", "·": r"\ensuremath{\cdot}",
}  # fmt: skip
"""What LaTeX would take for something else, and common signs it has no letter for."""

_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "θ": "theta", "λ": "lambda",
    "μ": "mu", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "φ": "phi", "ω": "omega", "Δ": "Delta", "Σ": "Sigma",
    "Ω": "Omega", "Φ": "Phi",
}  # fmt: skip


def latex(grids: Sequence[Grid], *, caution: str, notes: Sequence[str] = ()) -> str:
    """Return the grids as one LaTeX file, each a table float with its warnings in the caption."""
    width = max((18 + 1.9 * max(len(grid.columns) - 6, 0) for grid in grids), default=21.0)
    body = "\n".join(_float(grid, caution, notes) for grid in grids)
    return _HEAD.replace("WIDTH", f"{max(width, 21):.0f}") + body + "\\lmmscoreend\n"


def _float(grid: Grid, caution: str, notes: Sequence[str]) -> str:
    said = [grid.title + ".", f"Caution: {caution}" if caution else "", *grid.above, grid.caption]
    below = " ".join((*grid.below, *(() if grid.groups else notes)))
    lines = [
        r"\begin{table}[htbp]",
        r"  \centering",
        rf"  \caption{{{escape(' '.join(text for text in said if text))}}}",
        r"  \setlength{\tabcolsep}{4pt}",
        rf"  \begin{{tabular}}{{{_layout(grid)}}}",
        r"    \toprule",
        *_group_lines(grid),
        "    " + _line([escape(name) for name in grid.columns]),
        r"    \midrule",
        *["    " + _line([_cell(cell) for cell in row]) for row in grid.rows],
        r"    \bottomrule",
        r"  \end{tabular}",
        *(
            [rf"  \par\smallskip\parbox{{0.95\linewidth}}{{\footnotesize {escape(below)}}}"]
            if below
            else []
        ),
        r"\end{table}",
        r"\lmmscorenext",
        "",
    ]
    return "\n".join(lines)


def _layout(grid: Grid) -> str:
    return "".join("l" if k in grid.text_columns else "r" for k in range(len(grid.columns)))


def _group_lines(grid: Grid) -> list[str]:
    """Return the headings over several columns, with a rule under each."""
    if not grid.groups:
        return []
    cells, rules, column = [], [], 1
    for name, width in grid.groups:
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{escape(name)}}}" if name else "")
        rules += [rf"\cmidrule(lr){{{column}-{column + width - 1}}}"] if name else []
        column += width
    return ["    " + _line(cells), "    " + " ".join(rules)]


def _line(cells: Sequence[str]) -> str:
    # A row that begins with [ or * would be read as an argument of the \\ before it.
    return (
        " & ".join(f"{{{cell}}}" if cell[:1] in "[*" and cell else cell for cell in cells) + r" \\"
    )


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    return {"best": rf"\textbf{{{text}}}", "second": rf"\underline{{{text}}}"}.get(cell.mark, text)


def escape(text: str) -> str:
    """Return text that any LaTeX document prints as it is; a sign without a letter there as its number."""
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
    base, accent = unicodedata.normalize("NFD", sign)[0], unicodedata.normalize("NFD", sign)[1:]
    if "a" <= base.lower() <= "z" and accent in _ACCENTS:
        return rf"\{_ACCENTS[accent]}{{{base}}}"
    if sign in _LETTERS:
        return rf"{{\{_LETTERS[sign]}}}"
    return f"[U+{ord(sign):04X}]"


_ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0308": '"', "\u030c": "v",
            "\u030a": "r", "\u0327": "c"}  # fmt: skip
_LETTERS = {"ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "å": "aa", "Å": "AA",
            "ł": "l", "Ł": "L", "ı": "i"}  # fmt: skip
