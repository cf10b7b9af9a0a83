"""An agreement as grids: the headline with its verdict, further statistics, levels, people, comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lmmscore.agreement import Agreement
from lmmscore.agreement.rows import Row
from lmmscore.agreement.verdict import BETTER, EQUAL
from lmmscore.records import OVERALL
from lmmscore.report.grids import NONE, Cell, Grid, number, p_value, plain, span

UNDEFINED = "undefined"

FURTHER = {
    "pearson": "Pearson r",
    "kendall_b": "τ-b",
    "mae": "MAE",
    "bias": "bias",
    "pairwise_accuracy": "pairs",
    "pairwise_accuracy_calibrated": "pairs, calibrated",
}
ACROSS = {
    "spearman": "Spearman ρ",
    "pearson": "Pearson r",
    "kendall_b": "τ-b",
    "pairwise_accuracy": "pairs",
}
LEVELS = {
    "within-item": {**ACROSS, "pairwise_accuracy_calibrated": "pairs, calibrated"},
    "method": {**ACROSS, "soft_pairwise_accuracy": "soft pairs"},
}


SECTIONS = ("further", "levels", "tasks", "people", "judges", "replace", "powered")
AT_A_GLANCE = ("levels", "people", "judges", "replace")


def agreement_grids(found: Agreement, sections: Sequence[str] = SECTIONS) -> list[Grid]:
    """Return the tables of an agreement, the answer first, then the sections asked for."""
    made = {
        "further": lambda: [further(found, judge) for judge in found.judges],
        "levels": lambda: [
            level_grid(found, judge, level) for judge in found.judges for level in LEVELS
        ],
        "tasks": lambda: task_grids(found),
        "people": lambda: [people_grid(found)],
        "judges": lambda: [comparison_grid(found)] if found.comparisons else [],
        "replace": lambda: [alternative_grid(found)],
        "powered": lambda: powered_grids(found),
    }
    answers = [headline(found, judge) for judge in found.judges]
    return [*answers, *(grid for name in SECTIONS if name in sections for grid in made[name]())]


def headline(found: Agreement, judge: str) -> Grid:
    """Return the table that answers the question: the judge, the ceiling, the verdict."""
    rows = []
    for factor in found.factors:
        row = found.row(judge, factor, "item", "spearman")
        if row is None:
            continue
        own, rater = (
            found.row(judge, factor, "item", "rater_spearman"),
            found.people_row(factor, "rater_spearman"),
        )
        said = found.verdict(judge, factor)
        words = said.words if said else ""
        mark = Cell(words, "best" if words in (EQUAL, BETTER) else "")
        rows.append(
            (
                *plain(
                    factor,
                    str(row.measure.n),
                    _value(row),
                    _limits(row),
                    _value(own),
                    _value(rater),
                ),
                mark,
            )
        )
    return Grid(
        f"{judge} against people",
        ("factor", "n", "Spearman ρ", "95%", "judge as a rater", "a rater", "verdict"),
        tuple(rows),
        caption=(
            "Level item: all edits pooled, the judge's score against the mean over raters. As a rater: against the "
            "mean of the other raters, within each rater's edits, then averaged; a rater is people's own ceiling."
        ),
        above=tuple(_answer(found, judge)),
        below=tuple(_below(found, judge)),
        text_columns=frozenset({0, 6}),
    )


def _answer(found: Agreement, judge: str) -> Iterator[str]:
    """Yield the answer as a sentence."""
    factor = OVERALL if OVERALL in found.factors else found.factors[0]
    row, said = found.row(judge, factor, "item", "spearman"), found.verdict(judge, factor)
    if row is None:
        return
    if row.value is None:
        yield f"{factor}: undefined, because {row.measure.why}."
        return
    words = said.words if said else "no ceiling"
    yield f"{factor}: {words} (ρ = {number(row.value, 3)}, 95% {_limits(row)}, {row.measure.n} edits)."
    if said and said.difference is not None:
        gap = said.difference
        yield (
            f"In a rater's place it reaches {number(said.judge_value, 3)} where a rater reaches "
            f"{number(said.people_value, 3)}; the difference is {number(gap.value, 3)} "
            f"(95% {span(gap.percentile, 2)}, {said.raters} raters)."
        )
    elif said and said.why:
        yield f"No ceiling: {said.why}."


def _below(found: Agreement, judge: str) -> Iterator[str]:
    for entry in found.factor_means:
        if entry["judge"] == judge and entry["statistic"] == "spearman" and entry["n"]:
            left = f"; {_told(entry['left_out'])}" if entry["left_out"] else ""
            yield f"Mean of the {entry['n']} factors' Spearman ρ: {number(entry['value'], 3)}{left}."
    heads = [row for row in found.rows if row.judge == judge and row.measure.level == "item"]
    yield from left_out([row for row in heads if row.measure.statistic == "spearman"])
    yield from left_out(
        [row for row in heads if row.measure.statistic == "rater_spearman"], "as a rater: "
    )
    ceilings = [row for row in found.people if row.measure.statistic == "rater_spearman"]
    yield from left_out([row for row in ceilings if row.factor in found.factors], "a rater: ")


def left_out(rows: Sequence[Row], about: str = "") -> Iterator[str]:
    """Yield what was left out and what is undefined, factors of the same fate in one line."""
    fates: dict[str, list[str]] = {}
    for row in rows:
        if row.value is None:
            fates.setdefault(f"undefined, because {row.measure.why}", []).append(row.factor)
        elif row.measure.left_out:
            fates.setdefault(f"left out: {_told(row.measure.left_out)}", []).append(row.factor)
    for fate, factors in fates.items():
        where = "all factors" if len(factors) == len(rows) and len(rows) > 1 else ", ".join(factors)
        yield f"{about}{where}: {fate}."


def _told(counts: object) -> str:
    assert isinstance(counts, dict)
    return ", ".join(f"{reason} ({count})" for reason, count in counts.items())


def further(found: Agreement, judge: str) -> Grid:
    """Return the other statistics at the item level, each with its interval."""
    rows = [
        plain(factor, *(_both(found.row(judge, factor, "item", name)) for name in FURTHER))
        for factor in found.factors
        if found.row(judge, factor, "item", "spearman")
    ]
    thresholds = [
        f"{row.factor} {row.measure.extra['threshold']:g}"
        for row in found.rows
        if row.judge == judge and row.measure.level == "item" and row.measure.extra.get("threshold")
    ]
    ties = (
        (f"Calibrated: a difference up to this counts as a tie: {', '.join(thresholds)}.",)
        if thresholds
        else ()
    )
    return Grid(
        f"{judge}: further statistics, level item",
        ("factor", *FURTHER.values()),
        tuple(rows),
        caption="With 95% intervals. Bias is judge minus people. Pairs: the share of pairs of edits ordered alike.",
        below=ties,
        text_columns=frozenset({0}),
    )


def level_grid(found: Agreement, judge: str, level: str) -> Grid:
    """Return a level's table, or the reason why it has none."""
    names = LEVELS[level]
    heads = [row for row in found.rows if (row.judge, row.measure.level) == (judge, level)]
    title = f"{judge}: level {level}"
    if all(row.value is None for row in heads):
        reasons = dict.fromkeys(row.measure.why for row in heads)
        return Grid(title, ("factor",), (), caption=f"Undefined, because {'; '.join(reasons)}.")
    rows = []
    for factor in found.factors:
        cells = [found.row(judge, factor, level, name) for name in names]
        if cells[0] is not None:
            rows.append(plain(factor, str(cells[0].measure.n), *map(_both, cells)))
    spearmans = [row for row in heads if row.measure.statistic == "spearman"]
    return Grid(
        title,
        ("factor", heads[0].measure.of, *names.values()),
        tuple(rows),
        caption=f"{heads[0].measure.averaging.capitalize()}, with 95% intervals.",
        below=tuple(left_out(spearmans)),
        text_columns=frozenset({0}),
    )


def task_grids(found: Agreement) -> list[Grid]:
    """Return the method level inside task categories, for the overall."""
    names = LEVELS["method"]
    rows = []
    factor = OVERALL if OVERALL in found.factors else found.factors[0]
    tasks = dict.fromkeys((row.judge, row.task) for row in found.tasks if row.factor == factor)
    for judge, task in tasks:
        cells = {
            row.measure.statistic: row
            for row in found.tasks
            if (row.judge, row.task, row.factor) == (judge, task, factor)
        }
        n = str(cells["spearman"].measure.n)
        rows.append(plain(judge, task, n, *(_both(cells.get(name)) for name in names)))
    if not rows:
        return []
    caption = f"{factor}, level method: over the methods' means in each task category."
    columns = ("judge", "task", "methods", *names.values())
    return [Grid("By task category", columns, tuple(rows), caption, text_columns=frozenset({0, 1}))]


def people_grid(found: Agreement) -> Grid:
    """Return what is known about the people themselves."""
    names = (
        "alpha_interval",
        "icc1",
        "icc1k",
        "rater_spearman",
        "mean_over_ratings",
        "mean_over_edits",
    )
    rows, heads = [], []
    for factor in found.factors:
        cells = [found.people_row(factor, name) for name in names]
        if cells[0] is not None:
            counts = cells[0].measure.extra
            sizes = str(cells[0].measure.n), str(counts["ratings"]), str(counts["raters"])
            means = [_value(cell, 3) for cell in cells[4:]]
            rows.append(plain(factor, *sizes, *map(_both, cells[:4]), *means))
            heads.append(cells[0])
    columns = (
        "factor",
        "edits",
        "ratings",
        "raters",
        "α",
        "ICC(1)",
        "ICC(1,k)",
        "a rater",
        "mean",
        "mean",
    )
    return Grid(
        "People among themselves",
        columns,
        tuple(rows),
        caption=(
            "α is Krippendorff's for interval data; ICC(1) one rating, ICC(1,k) the mean over raters; a rater: each "
            "against the mean of the others, within rater, then averaged (Spearman ρ). With 95% intervals."
        ),
        below=tuple(left_out(heads)),
        text_columns=frozenset({0}),
        groups=(("", 8), ("over ratings", 1), ("over edits", 1)),
    )


def comparison_grid(found: Agreement) -> Grid:
    """Return the tests of two judges."""
    rows = []
    for entry in found.comparisons:
        first, second = entry["judges"]
        values = [entry.get(name) for name in ("first", "second", "value")]
        shown = [number(value, 3) for value in values] if values[2] is not None else [UNDEFINED] * 3
        tests = [p_value(entry.get("p_permutation")), p_value(entry.get("p_williams"))]
        names = (f"{first} – {second}", entry["factor"], entry["level"], entry["statistic"])
        rows.append(plain(*names, str(entry["n"]), *shown, *tests))
    clustered = any(entry.get("edits_independent") is False for entry in found.comparisons)
    caution = (
        "Items have several edits, so Williams' test is too sure of itself; trust the permutation.",
    )
    return Grid(
        "Which judge is nearer to people",
        ("judges", "factor", "level", "statistic", "n", "first", "second", "difference", "p (permutation)",
         "p (Williams)"),
        tuple(rows),
        caption="Paired over the edits both scored; two-sided; not corrected for the number of factors.",
        below=caution if clustered else (),
        text_columns=frozenset({0, 1, 2, 3}),
    )  # fmt: skip


def alternative_grid(found: Agreement) -> Grid:
    """Return the alternative annotator test, or why it cannot be made."""
    title = "May the judge replace a person? (alternative annotator test)"
    known = [entry for entry in found.alternative if entry["winning_rate"] is not None]
    if not known:
        reasons = dict.fromkeys(str(entry.get("why")) for entry in found.alternative)
        return Grid(title, ("factor",), (), caption=f"Undefined, because {'; '.join(reasons)}.")
    rows = [
        plain(
            entry["judge"],
            entry["factor"],
            str(entry["n"]),
            number(entry["winning_rate"], 2),
            number(entry["advantage"], 3),
            "yes" if entry["passed"] else "no",
        )
        for entry in known
    ]
    first = known[0]
    lacking = [
        f"{e['judge']}, {e['factor']}: undefined, because {e['why']}."
        for e in found.alternative
        if "why" in e
    ]
    few = dict.fromkeys(_told(entry["left_out"]) for entry in known if entry["left_out"])
    return Grid(
        title,
        ("judge", "factor", "raters", "winning rate ω", "advantage ρ", "may replace"),
        tuple(rows),
        caption=(
            f"ε = {first['epsilon']:g}; at least {first['minimum_edits']} edits a rater; p-values corrected by "
            f"{first['correction']} at {first['false_discovery_rate']:g}. It may where ω is at least 0.5."
        ),
        below=(*lacking, *(f"Left out: {text}." for text in few)),
        text_columns=frozenset({0, 1, 5}),
    )


def powered_grids(found: Agreement) -> list[Grid]:
    """Return prediction-powered means of the overall, where there are scores that nobody rated."""
    factor = OVERALL if OVERALL in found.factors else found.factors[0]
    entries = [entry for entry in found.powered if entry["factor"] == factor]
    if not any(entry.get("n_judge", 0) > entry.get("n", 0) for entry in entries):
        return []
    rows = []
    for entry in entries:
        shown = [UNDEFINED, NONE, NONE, NONE, NONE, NONE, NONE]
        if entry["value"] is not None:
            alone = span((entry["people_only_low"], entry["people_only_high"]), 2)
            shown = [number(entry["value"], 2), span((entry["low"], entry["high"]), 2)]
            shown += [
                number(entry["people_only"], 2),
                alone,
                str(entry["n"]),
                str(entry["n_judge"]),
            ]
            shown += [number(entry["trust"], 2)]
        rows.append(
            plain(entry["judge"], entry["method"] or NONE, entry["stratum"] or NONE, *shown)
        )
    reasons = dict.fromkeys(
        f"{entry['stratum']}: undefined, because {entry['why']}."
        for entry in entries
        if "why" in entry
    )
    columns = (
        "judge",
        "method",
        "task",
        "mean",
        "95%",
        "people alone",
        "95%",
        "rated",
        "scored",
        "λ",
    )
    return [
        Grid(
            f"{factor}: what people would say of all edits (prediction-powered)",
            columns,
            tuple(rows),
            caption="PPI++: the mean rating, corrected by the judge's scores of edits nobody rated; λ is how far the "
            "judge is believed. It holds where the rated edits are a random part of all.",
            below=tuple(reasons),
            text_columns=frozenset({0, 1, 2}),
        )
    ]


def _value(row: Row | None, decimals: int = 3) -> str:
    return UNDEFINED if row is None or row.value is None else number(row.value, decimals)


def _limits(row: Row) -> str:
    low, high = row.limits
    return NONE if low is None or high is None else span((low, high), 2)


def _both(row: Row | None) -> str:
    if row is None or row.value is None:
        return UNDEFINED
    limits = _limits(row)
    return number(row.value, 2) + (f" ({limits})" if limits != NONE else "")
