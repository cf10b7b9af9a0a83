"""What a reader should know first: what was judged, at what cost, and what to be careful about."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from lmmscore.dialog import task_title
from lmmscore.leaderboard import Leaderboard
from lmmscore.leaderboard.diagnostics import Extras, habit_statements
from lmmscore.records import OVERALL, Outcome
from lmmscore.report.page.judged import Judged

FEW_ITEMS = 20
"""Below this, one odd item moves every mean visibly."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What the replies behind the page cost."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Share:
    """How many judgements had an outcome, and where that is drawn on a bar of width 100."""

    outcome: str
    count: int
    start: float
    width: float


def spent(judged: Judged) -> Spent:
    """Return the cost of all replies of a run; those that several conversations share count once."""
    entries = {
        turn.key: turn.reply
        for talk in judged.talks
        for turn in talk.turns
        if turn.entry is not None
    }
    replies = list(entries.values())
    costs = [reply.cost_usd for reply in replies if reply.cost_usd is not None]
    return Spent(
        calls=len(replies),
        prompt_tokens=sum(reply.usage.prompt_tokens or 0 for reply in replies),
        completion_tokens=sum(reply.usage.completion_tokens or 0 for reply in replies),
        cost_usd=sum(costs) if costs else None,
    )


def coverage(judged: Judged) -> list[Share]:
    """Return the judgements (edits × repeats) by outcome, scored ones first."""
    standing = OVERALL if OVERALL in judged.factors else judged.factors[-1]
    rows = judged.scores[judged.scores["factor"] == standing]
    counts = Counter(str(outcome) for outcome in rows["outcome"])
    total, start, shares = max(len(rows), 1), 0.0, []
    for outcome in sorted(counts, key=lambda name: (name != Outcome.SCORED, -counts[name])):
        width = 100 * counts[outcome] / total
        shares.append(Share(outcome, counts[outcome], round(start, 2), round(width, 2)))
        start += width
    return shares


def facts(judged: Judged) -> list[tuple[str, str]]:
    """Return the run in a few lines: name and value."""
    settings, cost = judged.settings, spent(judged)
    models = ", ".join(settings.get("models") or ())
    tasks = [task_title(task) or task for task in dict.fromkeys(task for _, task in judged.items)]
    found = [
        ("Benchmark", f"{settings.get('benchmark', '')}: {_count(len(judged.items), 'item')} in "
                      f"{_count(len(tasks), 'task category', 'task categories')} ({', '.join(tasks)})"),
        ("Methods", f"{len(judged.methods)}: {', '.join(judged.methods)}"),
        ("Judge", settings.get("judge", "") + (f" (answered by {models})" if models else "")),
        ("Dialog", f"{settings.get('dialog', '')}, version {settings.get('dialog_version', '?')}"),
        ("Order of edits", f"{settings.get('order', '?')}, seed {settings.get('seed', '?')}, "
                           f"{_count(int(settings.get('repeats') or 1), 'repeat')}"),
        ("When", _when(settings)),
        ("Cost", _cost(cost)),
    ]  # fmt: skip
    return [(name, value) for name, value in found if value]


def _when(settings: dict[str, object]) -> str:
    started, finished = (
        str(settings.get(key) or "").replace("T", " ").removesuffix("+00:00")
        for key in ("started", "finished")
    )
    if not finished:
        return f"begun {started} UTC, not finished" if started else ""
    return f"{started} to {finished} UTC"


def _cost(cost: Spent) -> str:
    parts = [_count(cost.calls, "reply", "replies")]
    if cost.prompt_tokens or cost.completion_tokens:
        parts.append(f"{cost.prompt_tokens:,} tokens in, {cost.completion_tokens:,} out")
    parts.append("no price on record" if cost.cost_usd is None else f"${cost.cost_usd:,.2f}")
    return ", ".join(parts) if cost.calls else "no replies at hand"


def cautions(judged: Judged, board: Leaderboard, extras: Extras, has_people: bool) -> list[str]:
    """Return what to be careful about, in plain words, the gravest first."""
    settings = judged.settings
    whole = next((table for table in board.tables if table.task is None), board.tables[0])
    found = [str(settings.get("caution") or "")]
    state = str(settings.get("state") or "")
    if state and state != "finished":
        found.append(f"The run did not finish ({state}): what follows is a part of it.")
    found += whole.warnings
    found += _few(len(judged.items), whole.notes)
    found += [] if judged.apart else _order(extras)
    if int(settings.get("repeats") or 1) == 1:
        found.append(
            "Each edit was judged once: how much the judge wavers between repeats is not known."
        )
    if not has_people:
        found.append(
            "No human ratings were given: nothing here says whether people would agree with the judge."
        )
    found += [
        text
        for text in habit_statements(
            extras.habits, asks_to_avoid_ties=bool(settings.get("avoid_ties"))
        )
        if "impossible" in text
    ]
    slips, repairs = int(settings.get("slips") or 0), int(settings.get("repairs") or 0)
    if slips:
        found.append(
            f"The judge's own sums were wrong {_times(slips)}; every overall here is computed from its sub-scores."
        )
    if repairs:
        found.append(
            f"Scores could only be read after asking again {_times(repairs)}; these turns are marked as repairs."
        )
    return [text for text in dict.fromkeys(found) if text]


def _few(items: int, notes: tuple[str, ...]) -> list[str]:
    said = [
        note
        for note in notes
        if "could reach" in note or "One item" in note or "right at most" in note
    ]
    if items < FEW_ITEMS:
        return [
            f"{_count(items, 'item')}: one odd picture can move every mean. Look at the intervals, not at the ranks.",
            *said,
        ]
    return said


def _order(extras: Extras) -> list[str]:
    effect = extras.position
    moved = effect.p is not None and effect.p <= 0.05
    return [effect.statement, *effect.doubts] if moved or effect.fixed or effect.doubts else []


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"
