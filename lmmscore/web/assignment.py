"""Who rates what: coverage first, chance second; positions balanced over raters. Pure."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lmmscore.plan import order_of
from lmmscore.web.study import Covers, Study, Subject

Purpose = Literal["practice", "rate", "source", "failure", "repeat"]

SCREENS_PER_CHECK = 20
"""Each kind of check occurs once in so many screens, and at least once."""


@dataclass(frozen=True, slots=True)
class ShownEdit:
    """One picture to be rated: an edit, or a check that looks like one."""

    kind: Literal["edit", "source", "failure"]
    method: str = ""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in a rater's share, before it is known which item will fill it."""

    purpose: Purpose
    hidden: tuple[Literal["source", "failure"], ...] = ()
    """Checks that stand among the edits of this screen."""


def slots_for(study: Study, rater: str, screens: int) -> list[Slot]:
    """Return the places of a rater's share, the same whenever it is asked for.

    Where all edits of an item are on one screen, a hidden source or failure stands among them;
    otherwise it is a screen of its own.
    """
    rng = random.Random(f"{study.id} {rater} slots")
    times = max(1, math.ceil(screens / SCREENS_PER_CHECK)) if screens else 0
    slots = [Slot("rate")] * screens
    for check in study.checks:
        if check == "repeat":
            slots = _with_repeats(slots, times, rng)
        elif study.covers == "item":
            slots = _with_hidden(slots, check, times, rng)
        else:
            slots = _with_screens(slots, check, times, rng)
    return slots


def _with_hidden(
    slots: list[Slot], check: Literal["source", "failure"], times: int, rng: random.Random
) -> list[Slot]:
    # A screen holds at most one check: two would give each other away.
    free = [place for place, slot in enumerate(slots) if slot == Slot("rate")]
    chosen = set(rng.sample(free, min(times, len(free))))
    return [Slot("rate", (check,)) if k in chosen else slot for k, slot in enumerate(slots)]


def _with_screens(
    slots: list[Slot], check: Literal["source", "failure"], times: int, rng: random.Random
) -> list[Slot]:
    made = list(slots)
    for _ in range(times):
        made.insert(rng.randint(min(1, len(made)), len(made)), Slot(check))
    return made


def _with_repeats(slots: list[Slot], times: int, rng: random.Random) -> list[Slot]:
    # Late in the share: what is repeated must have left the memory as far as the share allows.
    made = list(slots)
    for _ in range(times):
        made.insert(rng.randint(math.ceil(len(made) * 2 / 3), len(made)), Slot("repeat"))
    return made


def choose_subject(
    subjects: Sequence[Subject],
    coverage: Mapping[Subject, int],
    had: Sequence[Subject],
    wanted: int,
    rng: random.Random,
) -> Subject | None:
    """Return what this rater judges next: the least covered, by lot among equals.

    None when all is covered.
    """
    seen = set(had)
    by_coverage: dict[int, list[Subject]] = defaultdict(list)
    for subject in subjects:
        covered = coverage.get(subject, 0)
        if subject not in seen and covered < wanted:
            by_coverage[covered].append(subject)
    if not by_coverage:
        return None

    equals = by_coverage[min(by_coverage)]
    # Two edits of one item in a row would be compared, which a dialog about one edit does not ask.
    last = had[-1].item if had else ""
    elsewhere = [subject for subject in equals if subject.item != last]
    return rng.choice(elsewhere or equals)


def choose_repeat(had: Sequence[Subject], rng: random.Random) -> Subject | None:
    """Return a subject to show again, from the earlier half of what a rater has had."""
    earlier = had[: math.ceil(len(had) / 2)]
    return rng.choice(earlier) if earlier else None


def order_on_screen(
    study: Study, subject: Subject, number: int, times: int, slot: Slot, rng: random.Random
) -> tuple[ShownEdit, ...]:
    """Return what stands at A, B, C …: balanced over the times a subject is shown, checks by lot.

    `number` is the subject's place in the study; `times` how often it was shown before.
    """
    methods = order_of(
        "balanced",
        subject.methods,
        item=subject.item,
        item_number=number + times,
        repeat=1,
        repeats=1,
        seed=study.seed,
    )
    if slot.purpose in ("source", "failure"):
        return _check_screen(study.covers, slot.purpose, methods, rng)
    shown = [ShownEdit("edit", method) for method in methods]
    for kind in slot.hidden:
        shown.insert(rng.randint(0, len(shown)), ShownEdit(kind))
    return tuple(shown)


def _check_screen(
    covers: Covers,
    check: Literal["source", "failure"],
    methods: Sequence[str],
    rng: random.Random,
) -> tuple[ShownEdit, ...]:
    if covers == "edit":
        return (ShownEdit(check),)
    pair = [ShownEdit("edit", methods[0]), ShownEdit(check)]
    rng.shuffle(pair)
    return tuple(pair)


def raters_needed(study: Study, subjects: int) -> int:
    """Return how many raters cover everything, each with a full share."""
    share = min(study.items_per_rater or subjects, subjects)
    return max(study.raters_per_edit, math.ceil(study.raters_per_edit * subjects / share))
