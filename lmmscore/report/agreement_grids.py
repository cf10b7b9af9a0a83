"""An agreement as grids: the methods beside people's ranking first, then levels, people, judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from lmmscore.agreement import Agreement
from lmmscore.agreement.levels import (
    BETTER,
    EQUAL,
    MEANING,
    OVER,
    PANEL_WITHOUT,
    AgreementRow,
    MethodStanding,
    told,
)
from lmmscore.agreement.raters import VoteAgreement
from lmmscore.agreement.statistics import (
    ITEM,
    METHOD,
    WITHIN_ITEM,
    WITHIN_METHOD,
    statistics,
)
from lmmscore.report.formats import (
    NONE,
    Cell,
    Grid,
    TableDocument,
    TableLayout,
    number,
    p_value,
    percent,
    plain,
    span,
    write,
)
from lmmscore.report.leaderboard import Format
from lmmscore.stats import SAME

UNDEFINED = "undefined"

NO_INTERVAL = "There is no interval over methods: with few methods none was found that covers."

SECTIONS = (
    "methods",
    "within-item",
    "within-method",
    "item",
    "further",
    "tasks",
    "people",
    "judges",
    "replace",
    "powered",
    "variance",
    "disagreements",
)
AT_A_GLANCE = ("methods", "within-item", "item", "people", "judges", "replace", "disagreements")
"""What a terminal shows unless more is asked for."""


def agreement_grids(found: Agreement, sections: Sequence[str] = SECTIONS) -> list[Grid]:
    """Return the tables of an agreement, the answer first, then the sections asked for."""
    made: dict[str, Callable[[Agreement], list[Grid]]] = {
        "methods": methods_grids,
        "within-item": lambda one: _by_judge(one, _within_item, WITHIN_ITEM),
        "within-method": within_method_grids,
        "item": lambda one: _by_judge(one, headline, ITEM),
        "further": lambda one: _by_judge(one, _further, ITEM),
        "tasks": task_grids,
        "people": lambda one: [people_grid(one)],
        "judges": judge_grids,
        "replace": lambda one: [alternative_grid(one)],
        "powered": powered_grids,
        "variance": variance_grids,
        "disagreements": lambda one: disagreement_grids(one.disagreements),
    }
    wanted = set(sections)
    # Not at a glance, but where it is the only level asked for, its table is the answer.
    if set(found.settings["levels"]) == {WITHIN_METHOD}:
        wanted.add(WITHIN_METHOD)

    grids = [grid for name in SECTIONS if name in wanted for grid in made[name](found)]
    # A level that the data do not have says why after what they do have.
    grids.sort(key=lambda grid: not grid.rows)
    return grids


def level_sections(levels: Sequence[str], sections: Sequence[str]) -> list[str]:
    """Return those of the sections that show some levels, and judges beside each other."""
    of_level = {METHOD: "methods", WITHIN_ITEM: WITHIN_ITEM, WITHIN_METHOD: WITHIN_METHOD}
    shown = {of_level.get(level, level) for level in levels} | {"judges", "disagreements"}
    if ITEM in levels:
        shown.add("further")
    return [section for section in sections if section in shown]


def _headline(found: Agreement) -> list[str]:
    """Return the answer for each judge, over everything there is."""
    said = []
    for judge in found.judges:
        if not judge.startswith(PANEL_WITHOUT):
            beside = found.beside_raters(judge) if ITEM in found.settings["levels"] else []
            said.append(" ".join([found.sentence(judge), *beside]))
    return said


def _by_judge(found: Agreement, make: Callable[[Agreement, str], Grid], level: str) -> list[Grid]:
    """Return a table of each judge that has rows at a level."""
    having = {row.judge for row in found.rows if row.level == level}
    return [make(found, judge) for judge in found.judges if judge in having]


def methods_grids(found: Agreement) -> list[Grid]:
    """Return the ranking of methods by the judge beside people's,
    per task category and over all."""
    grids = []

    for judge in found.judges:
        for factor in found.headline_factors:
            standings = [one for one in found.methods if (one.judge, one.factor) == (judge, factor)]
            tasks = _places(standings)
            ranked = [task for task in tasks if len(found.standings(judge, factor, task)) > 1]
            grids += [_methods_grid(found, judge, factor, task) for task in ranked]

    return grids


def _places(rows: Sequence[MethodStanding] | Sequence[AgreementRow]) -> list[str | None]:
    """Return the task categories of rows, and None for all of them where that says more."""
    tasks = list(dict.fromkeys(row.task for row in rows))
    # Two are one category and all of them, which is the same twice.
    return [task for task in tasks if task is not None] if len(tasks) == 2 else tasks


def _methods_grid(found: Agreement, judge: str, factor: str, task: str | None) -> Grid:
    standings = found.standings(judge, factor, task)
    rows = []
    for one in standings:
        figures = plain(
            number(one.judge_mean, 2),
            str(one.judge_rank),
            number(one.human_mean, 2),
            str(one.human_rank),
            str(one.items),
        )
        rows.append((Cell(one.method), *figures))

    place = "all task categories" if task is None else task
    across = {
        name: found.row(judge, factor, METHOD, name, task=task)
        for name in ("spearman", "kendall_b", "pearson", "soft_pairwise_accuracy")
    }
    return Grid(
        f"{judge} and people, {factor}: {place}",
        ("Method", "Judge's mean", "Rank", "People's mean", "Rank", "n"),
        tuple(rows),
        caption="Means over the edits that have both a score and a rating; n counts them.",
        below=tuple(_across(across)),
    )


def _across(rows: Mapping[str, AgreementRow | None]) -> Iterator[str]:
    """Yield the correlations over methods, and how far noise in the means lowers them."""
    first = rows["spearman"]
    if first is None:
        return

    if first.value is None:
        yield f"Over methods: undefined, because {first.why}."
        return

    titles = (
        ("Spearman ρ", "spearman"),
        ("Kendall τ-b", "kendall_b"),
        ("Pearson r", "pearson"),
        ("soft pairwise accuracy", "soft_pairwise_accuracy"),
    )
    there = [(title, rows[name]) for title, name in titles if rows[name] is not None]
    said = [f"{title} {_value(row, 2)}" for title, row in there if row and row.value is not None]
    over = f"Over {first.n} methods: {', '.join(said)}."
    factor = first.extra.get("attenuation")
    if factor is not None:
        over += (
            f" Noise in the means: reliability {number(first.extra['judge_reliability'], 2)} "
            f"(judge) and {number(first.extra['human_reliability'], 2)} (people), so that a true "
            f"ρ of 1 would show as about {number(factor, 2)} if the two were independent."
        )
        if first.value > factor + SAME:
            over += " Here ρ is above that: by chance, or because the noise of both is related."

    yield over
    for title, row in there:
        if row and row.value is None:
            yield f"No {title}, because {row.why}."

    yield NO_INTERVAL


def headline(found: Agreement, judge: str) -> Grid:
    """Return the judge's correlation over edits, beside the ceiling, with the verdict."""
    rows = []
    for factor in found.factors:
        row = found.row(judge, factor, ITEM, "spearman")
        if row is None:
            continue

        own = found.row(judge, factor, ITEM, "rater_spearman")
        rater = found.row(judge, factor, ITEM, "people_rater_spearman")
        ceiling = found.row(judge, factor, ITEM, "spearman_corrected")
        most = ceiling.extra.get("ceiling") if ceiling else None
        said = found.verdict(judge, factor)
        words = said.words if said else ""
        figures = plain(
            factor,
            str(row.n),
            _value(row),
            _limits(row),
            number(most, 2),
            _value(own),
            _value(rater),
        )
        rows.append((*figures, Cell(words, "best" if words in (EQUAL, BETTER) else "")))

    return Grid(
        f"{judge} against people, level item",
        ("factor", "n", "Spearman ρ", "95%", "at most", "as a rater", "a rater", "verdict"),
        tuple(rows),
        caption=(
            "Over all edits pooled, the judge's score against the mean over raters. At most: what "
            "ρ could be, given the raters' reliability. As a rater: against the mean of the other "
            "raters, within each rater's edits, then averaged. All figures of a row are on its n "
            f"edits; those beside raters on the ones of them that several rated. {MEANING}"
        ),
        below=tuple(_below(found, judge)),
        text_columns=frozenset({0, 7}),
        spare=frozenset({1, 4, 5, 6}),
    )


def _below(found: Agreement, judge: str) -> Iterator[str]:
    for entry in found.factor_means:
        if entry["judge"] == judge and entry["n"]:
            left = f"; {told(entry['left_out'])}" if entry["left_out"] else ""
            mean = number(entry["value"], 3)
            of = "one factor's" if entry["n"] == 1 else f"{entry['n']} factors'"
            yield f"Mean of the {of} Spearman ρ: {mean}{left}."

    own = [row for row in found.rows if row.judge == judge and row.level == ITEM and not row.task]

    for row in _of(own, "spearman_over_raters"):
        yield f"{row.factor}: over other items and other raters, 95% {_limits_or_why(row)}."

    yield from _about_ceilings(_of(own, "spearman"), _of(own, "spearman_corrected"))
    yield from left_out(_of(own, "spearman"))
    yield from left_out(_of(own, "rater_spearman"), "as a rater: ")
    yield from left_out(_of(own, "people_rater_spearman"), "a rater: ")


def _about_ceilings(
    heads: Sequence[AgreementRow], corrected: Sequence[AgreementRow]
) -> Iterator[str]:
    """Yield why factors have no ceiling, and which have a ρ above theirs."""
    defined = {row.factor for row in heads if row.value is not None}
    lacking: dict[str, list[str]] = {}
    for row in corrected:
        if row.factor in defined and row.extra.get("ceiling") is None:
            lacking.setdefault(row.why, []).append(row.factor)

    for why, factors in lacking.items():
        yield f"{', '.join(factors)}: no “at most”, because {why}."

    above = [row.factor for row in corrected if row.extra.get("above_ceiling")]
    if above:
        yield (
            f"{', '.join(above)}: ρ is above its “at most”, which is an estimate too: by chance "
            "one is too high or the other too low, so take neither for sure."
        )


def _of(rows: Sequence[AgreementRow], statistic: str) -> list[AgreementRow]:
    return [row for row in rows if row.statistic == statistic]


def _limits_or_why(row: AgreementRow) -> str:
    low, high = row.limits
    if low is not None and high is not None:
        return span((low, high), 2)
    return f"undefined, because {row.why_no_interval or row.why}"


def left_out(rows: Sequence[AgreementRow], about: str = "") -> Iterator[str]:
    """Yield what was left out and what is undefined, factors of the same fate in one line."""
    fates: dict[str, list[str]] = {}

    for row in rows:
        if row.value is None:
            fates.setdefault(f"undefined, because {row.why}", []).append(row.factor)
        elif row.left_out:
            fates.setdefault(f"left out: {told(row.left_out)}", []).append(row.factor)
        elif row.why_no_interval:
            fates.setdefault(f"no interval: {row.why_no_interval}", []).append(row.factor)

    for fate, factors in fates.items():
        everywhere = len(factors) == len(rows) and len(rows) > 1
        yield f"{about}{'all factors' if everywhere else ', '.join(factors)}: {fate}."


def _further(found: Agreement, judge: str) -> Grid:
    """Return the other statistics at the item level, each with its interval."""
    chosen = [one for one in statistics(ITEM) if one.name != "spearman"]
    rows = []
    for factor in found.factors:
        cells = [found.row(judge, factor, ITEM, one.name) for one in chosen]
        if any(cell is not None for cell in cells):
            rows.append(plain(factor, *map(_both, cells)))

    return Grid(
        f"{judge}: further statistics, level item",
        ("factor", *(one.title for one in chosen)),
        tuple(rows),
        caption="With 95% intervals. Bias is judge minus people."
        + _scale_caption(found)
        + " Pairs: the share of pairs of edits that the judge orders, or ties, as people do.",
        below=tuple(_pair_notes(found, judge, ITEM)),
    )


def _scale_caption(found: Agreement) -> str:
    """Return what was done to scales, and which were taken to be the same unstated."""
    mapped = found.settings.get("scales") or []
    if mapped:
        return f" Rescaled: {'; '.join(mapped)}."

    taken = found.settings.get("taken_as_one_scale") or []
    if not taken:
        return ""
    return f" Taken as one scale, as far as is known: {'; '.join(taken)} (state it with --scale)."


def _pair_notes(found: Agreement, judge: str, level: str) -> Iterator[str]:
    """Yield the shares of tied pairs, the calibrated thresholds, and why there are no distances."""
    ties, thresholds = [], []
    undefined: dict[str, None] = {}
    own = [row for row in found.rows if (row.judge, row.level, row.task) == (judge, level, None)]
    for row in own:
        if row.statistic == "pairwise_accuracy" and "ties_people" in row.extra:
            by_judge, by_people = row.extra["ties_judge"], row.extra["ties_people"]
            ties.append(f"{row.factor} {percent(by_judge)} and {percent(by_people)}")

        if row.extra.get("threshold"):
            thresholds.append(f"{row.factor} {row.extra['threshold']:g}")

        if row.statistic == "mae" and row.value is None:
            undefined[row.why] = None

    if ties:
        yield f"Pairs that the judge and that people tie: {', '.join(ties)}."

    if thresholds:
        yield f"Calibrated: a difference up to this counts as a tie: {', '.join(thresholds)}."

    for why in undefined:
        yield f"No MAE and no bias, because {why}."


def _within_item(found: Agreement, judge: str) -> Grid:
    """Return the statistics inside items, or the reason why there are none."""
    chosen = list(statistics(WITHIN_ITEM))
    heads = []
    rows = []
    title = f"{judge}: level {WITHIN_ITEM}"
    for factor in found.factors:
        cells = [found.row(judge, factor, WITHIN_ITEM, one.name) for one in chosen]
        head = cells[0]
        if head is None:
            continue

        heads.append(head)
        rows.append(plain(factor, str(head.n), *map(_both, cells)))

    if all(row.value is None for row in heads):
        reasons = dict.fromkeys(row.why for row in heads)
        return Grid(title, ("factor",), (), caption=f"Undefined, because {'; '.join(reasons)}.")

    return Grid(
        title,
        ("factor", heads[0].of, *(one.title for one in chosen)),
        tuple(rows),
        caption=f"{OVER[WITHIN_ITEM].capitalize()} (mean), with 95% intervals.",
        below=(
            *_beside_raters(found, judge),
            *left_out(heads),
            *_pair_notes(found, judge, WITHIN_ITEM),
        ),
    )


def _beside_raters(found: Agreement, judge: str) -> Iterator[str]:
    """Yield how judge and raters do inside items, in the place of a rater."""
    said = []
    for factor in found.factors:
        own, rater = (found.row(judge, factor, WITHIN_ITEM, name) for name, _ in _BESIDE)
        if own and rater and own.value is not None and rater.value is not None:
            figures = f"as a rater {_both(own)}, a rater {_both(rater)}"
            said.append(f"{factor}: {figures}, {own.n} items")

    if said:
        yield f"Spearman ρ beside raters: {'; '.join(said)}. {_AS_A_RATER}"


def within_method_grids(found: Agreement) -> list[Grid]:
    """Return Spearman inside each method, per task category, with both averages."""
    grids = []
    for judge in found.judges:
        own = [
            row
            for row in found.rows
            if (row.judge, row.level, row.statistic) == (judge, WITHIN_METHOD, "spearman")
        ]
        for task in _places(own):
            rows = [row for row in own if row.task == task]
            grids.append(_within_method(found, judge, task, rows))

    return grids


_BESIDE = (("rater_spearman", "as a rater"), ("people_rater_spearman", "a rater"))
"""The judge in a rater's place, and the raters, at one level."""

_AS_A_RATER = (
    "As a rater: the judge against the mean of the other raters, for each rater, then averaged; a "
    "rater: the raters themselves, on the same edits."
)


def _sizes(rows: Sequence[AgreementRow | None]) -> str:
    """Return the n of a line; the least and the most where factors differ."""
    known = [row.n for row in rows if row is not None]
    if not known:
        return NONE
    return str(min(known)) if min(known) == max(known) else f"{min(known)}–{max(known)}"


def _within_method(
    found: Agreement, judge: str, task: str | None, rows: Sequence[AgreementRow]
) -> Grid:
    by_place = {(row.method, row.averaging, row.factor): row for row in rows}
    lines = []
    for method in dict.fromkeys(row.method for row in rows if row.method is not None):
        own = [by_place.get((method, "", factor)) for factor in found.factors]
        lines.append(plain(method or NONE, _sizes(own), *map(_both, own)))

    for averaging, title in (("mean", "mean over methods"), ("fisher", "Fisher average")):
        own = [by_place.get((None, averaging, factor)) for factor in found.factors]
        lines.append(plain(title, _sizes(own), *map(_both, own)))

    for statistic, title in _BESIDE:
        own = [
            found.row(judge, factor, WITHIN_METHOD, statistic, task=task)
            for factor in found.factors
        ]
        lines.append(plain(f"{title} (mean)", _sizes(own), *map(_both, own)))

    place = "all task categories" if task is None else task
    undefined = [row for row in rows if row.method is not None and row.value is None]
    return Grid(
        f"{judge}: level within-method, {place}",
        ("Method", "n", *found.factors),
        tuple(lines),
        caption=(
            f"Spearman ρ {OVER[WITHIN_METHOD]}, with 95% intervals; n counts a method's items, and "
            f"methods where these are averaged. {_AS_A_RATER}"
        ),
        below=tuple(
            dict.fromkeys(f"{row.method}, {row.factor}: undefined, {row.why}." for row in undefined)
        ),
    )


def task_grids(found: Agreement) -> list[Grid]:
    """Return Spearman at every level inside task categories,
    for the factors of the first tables."""
    levels = list(found.settings["levels"])
    grids = []
    for factor in found.headline_factors:
        rows = []
        for judge in found.judges:
            for task in found.tasks:
                cells = [found.row(judge, factor, level, "spearman", task=task) for level in levels]
                known = [cell for cell in cells if cell is not None]
                if known:
                    item = found.row(judge, factor, ITEM, "spearman", task=task)
                    edits = str(item.n) if item else NONE
                    rows.append(plain(judge, task, edits, *map(_both, cells)))

        if rows:
            columns = ("judge", "task", "edits", *levels)
            caption = "Spearman ρ at each level inside each task category."
            grids.append(
                Grid(
                    f"By task category, {factor}",
                    columns,
                    tuple(rows),
                    caption,
                    text_columns=frozenset({0, 1}),
                )
            )

    return grids


def people_grid(found: Agreement) -> Grid:
    """Return what is known about the people themselves."""
    names = ("alpha_interval", "icc1", "icc1k", "rater_spearman")
    means = ("mean_over_ratings", "mean_over_edits")
    rows, heads = [], []
    for factor in found.factors:
        cells = [found.people_row(factor, name) for name in names]
        head = cells[0]
        if head is None:
            continue

        sizes = str(head.n), str(head.extra["ratings"]), str(head.extra["raters"])
        over = [_value(found.people_row(factor, name), 3) for name in means]
        rows.append(plain(factor, *sizes, *map(_both, cells), *over))
        heads.append(head)

    columns = ("factor", "edits", "ratings", "raters", "α", "ICC(1)", "ICC(1,k)", "a rater")
    return Grid(
        "People among themselves",
        (*columns, "mean over ratings", "mean over edits"),
        tuple(rows),
        caption=(
            "α is Krippendorff's for interval data; ICC(1) one rating, ICC(1,k) the mean over "
            "raters; a rater: each against the mean of the others, within rater, then averaged "
            "(Spearman ρ). Over all rated edits, judged or not. With 95% intervals."
        ),
        below=tuple(left_out(heads)),
    )


def judge_grids(found: Agreement) -> list[Grid]:
    """Return the judges side by side, then the tests of every two."""
    if not found.judge_table:
        return []

    levels = list(found.settings["levels"])
    rows = []
    several = len(found.headline_factors) > 1
    for line in found.judge_table:
        cells = []
        for level in levels:
            letter = line[f"{level} cluster"]
            shown = number(line[level], 3)
            cells.append(f"{shown} {letter}" if letter else shown)

        name = f"{line['judge']}, {line['factor']}" if several else str(line["judge"])
        rows.append(plain(name, *cells, number(line["soft_pairwise_accuracy"], 3)))

    table = Grid(
        "Judges side by side",
        ("judge", *(f"ρ, {level}" for level in levels), "soft pairs"),
        tuple(rows),
        caption=(
            f"{', '.join(found.headline_factors)}. Each ρ is over the edits that its judge has; "
            "between judges that share a letter at a level there is no significant difference on "
            "the edits both have (permutation over items at that level, Holm, 5%)."
        ),
    )
    return [table, comparison_grid(found)]


def comparison_grid(found: Agreement) -> Grid:
    """Return the tests of two judges."""
    rows = []
    for entry in found.comparisons:
        first, second = entry["judges"]
        shown = [UNDEFINED] * 3
        if entry.get("value") is not None:
            shown = [number(entry[name], 3) for name in ("first", "second", "value")]

        limits = NONE
        if entry.get("low") is not None:
            limits = span((entry["low"], entry["high"]), 2)

        tests = [p_value(entry.get(name)) for name in ("p_permutation", "p_holm", "p_williams")]
        names = (f"{first} – {second}", entry["factor"], entry["level"])
        rows.append(plain(*names, str(entry["n"]), *shown, limits, *tests))

    clustered = any(entry.get("edits_independent") is False for entry in found.comparisons)
    caution = (
        "Items have several edits, so Williams' test is too sure of itself; trust the permutation.",
    )
    return Grid(
        "Which judge is nearer to people",
        (
            *("judges", "factor", "level", "n", "first", "second", "difference", "95%"),
            *("p (permutation)", "p (Holm)", "p (Williams)"),
        ),
        tuple(rows),
        caption="Spearman ρ, paired over the edits both scored; two-sided.",
        below=caution if clustered else (),
        text_columns=frozenset({0, 1, 2}),
    )


def alternative_grid(found: Agreement) -> Grid:
    """Return the alternative annotator test, or why it cannot be made."""
    title = "May the judge replace a person? (alternative annotator test)"
    tested = [entry for entry in found.alternative if entry["winning_rate"] is not None]
    if not tested:
        reasons = dict.fromkeys(str(entry.get("why")) for entry in found.alternative)
        return Grid(title, ("factor",), (), caption=f"Undefined, because {'; '.join(reasons)}.")

    rows = [
        plain(
            entry["judge"],
            entry["factor"],
            str(entry["n"]),
            number(entry["winning_rate"], 2),
            number(entry["advantage"], 3),
            percent(entry["power"]),
            entry["replaces_a_person"],
        )
        for entry in tested
    ]
    first = tested[0]
    lacking = [
        f"{entry['judge']}, {entry['factor']}: undefined, because {entry['why']}."
        for entry in found.alternative
        if "why" in entry
    ]
    few = dict.fromkeys(told(entry["left_out"]) for entry in tested if entry["left_out"])
    return Grid(
        title,
        ("judge", "factor", "raters", "winning rate ω", "advantage", "power", "shown?"),
        tuple(rows),
        caption=(
            f"Shown where ω ≥ 0.5: the judge is at least as near to the other raters as at least "
            f"half of the people, who are granted ε = {first['epsilon']:g} "
            f"({first['correction']}, {percent(first['false_discovery_rate'])}). Power: the "
            "chance, per rater, that this many edits show a judge exactly as near as that person; "
            f"“not shown” with low power says little.{_scale_caption(found)}"
        ),
        below=(*(f"Left out: {reasons}." for reasons in few), *lacking),
        text_columns=frozenset({0, 1, 6}),
    )


def powered_grids(found: Agreement) -> list[Grid]:
    """Return prediction-powered means, where there are scores that nobody rated."""
    factor = found.headline_factors[0]
    entries = [entry for entry in found.powered if entry["factor"] == factor]
    if not any(entry.get("n_judge", 0) > entry.get("n", 0) for entry in entries):
        return []

    rows = [_powered_row(entry) for entry in entries]
    reasons = dict.fromkeys(
        f"{entry['stratum']}: undefined, because {entry['why']}."
        for entry in entries
        if "why" in entry
    )
    cautions = dict.fromkeys(
        f"{entry['method'] or 'all'}, {entry['stratum']}: {entry['caution']}."
        for entry in entries
        if "caution" in entry
    )
    columns = ("judge", "method", "task", "mean", "95%", "people alone", "95%", "rated", "scored")
    return [
        Grid(
            f"{factor}: what people would say of all edits (prediction-powered)",
            (*columns, "λ"),
            tuple(rows),
            caption="PPI++ with Student's t: the mean rating, corrected by the judge's scores of "
            "edits nobody rated; λ is how far the judge is believed. It holds where the rated "
            "edits are a random part of all.",
            above=tuple(cautions),
            below=tuple(reasons),
            text_columns=frozenset({0, 1, 2}),
        )
    ]


def _powered_row(entry: Mapping[str, Any]) -> tuple[Cell, ...]:
    names = (entry["judge"], entry["method"] or NONE, entry["stratum"] or NONE)
    if entry["value"] is None:
        return plain(*names, UNDEFINED, *[NONE] * 6)

    return plain(
        *names,
        number(entry["value"], 2),
        span((entry["low"], entry["high"]), 2),
        number(entry["people_only"], 2),
        span((entry["people_only_low"], entry["people_only_high"]), 2),
        str(entry["n"]),
        str(entry["n_judge"]),
        number(entry["trust"], 2),
    )


def variance_grids(found: Agreement) -> list[Grid]:
    """Return where the variance of ratings comes from, and what one more of each would bring."""
    rows = []
    for factor, one in found.variance.items():
        parts = [one[name] for name in ("item", "method", "item_method", "rater", "rating")]
        errors = ("error_of_difference", "with_one_more_item", "with_one_more_rater")
        rows.append(
            plain(
                factor,
                *(number(part, 3) for part in parts),
                *(number(one[name], 3) for name in errors),
            )
        )

    if not rows:
        return []

    columns = ("factor", "item", "method", "item × method", "rater", "rating")
    return [
        Grid(
            "Variance of people's ratings",
            (*columns, "now", "one more item", "one more rater"),
            tuple(rows),
            caption="Variance components, on items that all methods have; then the standard error "
            "of the difference of two methods' means: as it is, and with one more item or rater.",
            groups=(("", 1), ("variance", 5), ("error of a difference", 3)),
        )
    ]


def disagreement_grids(entries: Sequence[Mapping[str, Any]]) -> list[Grid]:
    """Return the edits on which the judges of a panel differ most; nothing where there are none."""
    if not entries:
        return []

    names = list(entries[0]["scores"])
    rows = []
    for entry in entries:
        scores = [number(entry["scores"][name], 2) for name in names]
        edit = (entry["item"], entry["method"] or NONE)
        rows.append(plain(*edit, number(entry["spread"], 2), *scores))

    return [
        Grid(
            "Where the judges differ most",
            ("Item", "Method", "Spread", *names),
            tuple(rows),
            caption="Spread: standard deviation over judges of their standardised scores.",
            text_columns=frozenset({0, 1}),
        )
    ]


def _value(row: AgreementRow | None, decimals: int = 3) -> str:
    return UNDEFINED if row is None or row.value is None else number(row.value, decimals)


def _limits(row: AgreementRow) -> str:
    low, high = row.limits
    return NONE if low is None or high is None else span((low, high), 2)


def _both(row: AgreementRow | None) -> str:
    if row is None or row.value is None:
        return UNDEFINED
    limits = _limits(row)
    return number(row.value, 2) + (f" ({limits})" if limits != NONE else "")


CSV_COLUMNS = (
    *("judge", "factor", "level", "task", "method", "statistic", "averaging"),
    *("value", "low", "high", "n", "of", "left_out", "why"),
)


def render(
    found: Agreement,
    format: Format,
    *,
    sections: Sequence[str] = SECTIONS,
    caution: str = "",
    width: int | None = None,
    color: bool = False,
) -> str:
    """Return an agreement as text: the answer and the sections asked for; CSV and JSON always hold
    everything.

    Notes stand below the tables in Markdown and LaTeX; the command line prints them to standard
    error as well.
    """
    if format == "json":
        return found.to_json() + "\n"

    document = TableDocument(
        grids=agreement_grids(found, sections),
        # Of one judge, on lines about several: CSV has it no more than JSON does.
        caution="" if format == "csv" else caution,
        headline=_headline(found),
        notes=found.notes if format != "term" else (),
        records=list(_records(found)),
    )
    return write(document, format, TableLayout(width, color))


def _records(found: Agreement) -> Iterator[dict[str, Any]]:
    """Yield every row, people's under the judge's name `people`, at full precision.

    The table of methods stands first, as rows of the statistics judge_mean, judge_rank, human_mean
    and human_rank at the level `method`.
    """
    for standing in found.methods:
        for name in ("judge_mean", "judge_rank", "human_mean", "human_rank"):
            data = standing.to_json() | {"level": "method", "statistic": name, "of": "items"}
            data |= {"value": getattr(standing, name), "n": standing.items}
            yield {column: data.get(column) for column in CSV_COLUMNS}

    for row in (*found.rows, *found.task_rows, *found.people):
        data = row.to_json() | {"judge": row.judge or "people"}
        data["left_out"] = told(row.left_out, "; ")
        yield {column: data.get(column) for column in CSV_COLUMNS}


def votes_as_text(found: Mapping[str, VoteAgreement], form: str) -> str:
    """Return how often each judge's verdicts are those of people, as a table or JSON."""
    rows = []
    for name, agreement in found.items():
        one, decided = agreement.with_one_tie(), agreement.without_ties()
        cells = plain(
            name,
            str(agreement.n),
            number(agreement.accuracy, 4),
            span(agreement.interval, 2),
            number(agreement.chance, 2),
            number(one.accuracy, 4),
            f"{number(decided.accuracy, 4)} ({decided.n})",
            str(agreement.unread),
        )
        rows.append(cells)

    grid = Grid(
        title="Agreement with human verdicts on pairs",
        columns=("Judge", "Votes", "Accuracy", "95%", "Chance", "Ties as one", "Decided", "Unread"),
        rows=tuple(rows),
        caption="share of votes that are the judge's verdict too, both kinds of tie distinguished",
        below=(
            "Chance: the accuracy of the same verdicts given at random. Decided: votes where "
            "neither side called a tie. An inconsistent judge's verdict is a tie.",
        ),
    )
    data = {"votes": {name: agreement.as_dict() for name, agreement in found.items()}}
    return write(TableDocument([grid], data=data), form)
