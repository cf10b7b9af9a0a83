"""A rating study: what human raters are asked about which edits, and how the work is shared out."""

from __future__ import annotations

import math
import random
import re
import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from lmmscore.benchmark import Benchmark
from lmmscore.conversation import PAIR_KINDS, is_file
from lmmscore.errors import BenchmarkError, FileProblem, LmmscoreError, counted, nearest
from lmmscore.plan import Plan, Protocol, make_plan, order_of
from lmmscore.scales import Factor, Scale, show
from lmmscore.yaml_files import StrictModel, load_yaml, read_text, validate

VERSION = 1
"""Of the format in which a study is kept."""

Covers = Literal["item", "edit", "pair"]
Check = Literal["source", "failure", "repeat"]
CHECKS: tuple[Check, ...] = ("source", "failure", "repeat")
Purpose = Literal["practice", "rate", "source", "failure", "repeat"]

SCREENS_PER_CHECK = 20
"""Each kind of check occurs once in so many screens, and at least once."""

MOST_LEVELS = 12
"""A scale of more whole numbers than this gets a number field instead of a button for each."""

MOST_EDITS = 26
"""Edits are called A to Z."""

CHOICES = ("A", "B", "tie", "bad")
"""What a rater may answer about a pair: one is better, both are equally good, both are bad."""


class PracticeItem(StrictModel):
    """An item to practise on, with what a careful rater would answer."""

    item: str = Field(description="The item's id; it is excluded from the study itself.")
    expect: dict[str, dict[str, tuple[float, float]]] = Field(
        default_factory=dict,
        description="By method and factor: the lowest and highest score that need no remark.",
    )
    feedback: str = Field("", description="Shown after the item, whatever was answered.")


class PracticeFile(StrictModel):
    """The keys of a practice file."""

    practice: tuple[PracticeItem, ...] = Field(
        min_length=1, description="Items to practise on, in order."
    )


class Study(StrictModel):
    """What is asked, of whom, and how often. Kept in the database beside the answers."""

    version: Literal[1] = 1
    id: str
    benchmark: str
    dialog: str
    dialog_version: int
    dialog_digests: tuple[str, ...]
    covers: Covers
    shows: tuple[str, ...]
    """Kinds of picture shown beside the edits; the source comes first."""
    factors: tuple[Factor, ...]
    methods: tuple[str, ...]
    tasks: dict[str, str]
    """The task category of each item."""
    raters_per_edit: int = Field(ge=1)
    items_per_rater: int | None = Field(None, ge=1)
    """Screens in a rater's share, checks not counted; None: everything."""
    checks: tuple[Check, ...] = ()
    practice: tuple[PracticeItem, ...] = ()
    instructions: str
    """Markdown."""
    completion_code: str = ""
    """The same for everyone; empty: each rater gets one of their own."""
    seed: int = 0
    max_side_px: int = 1024

    def same_questions(self, other: Study) -> bool:
        """Tell whether answers to both may stand in one table."""
        mine, theirs = (
            (each.benchmark, each.dialog, each.covers, each.dialog_digests)
            for each in (self, other)
        )
        return mine == theirs

    def factor(self, key: str) -> Factor | None:
        """Return the factor of that key, or None."""
        return next((factor for factor in self.factors if factor.key == key), None)


@dataclass(frozen=True, slots=True)
class StudyOptions:
    """What the owner of a study chooses."""

    raters_per_edit: int = 3
    items_per_rater: int | None = None
    checks: tuple[str, ...] = ()
    practice: Path | None = None
    instructions: Path | None = None
    completion_code: str = ""
    seed: int = 0
    max_side_px: int = 1024


class Subject(StrictModel):
    """What is judged on one screen: an item with all its edits, with one, or with two."""

    item: str
    methods: tuple[str, ...]


def make_study(benchmark: Benchmark, protocol: Protocol, options: StudyOptions) -> Study:
    """Return a study of a benchmark with the factors, scales and pictures of a protocol."""
    covers = protocol.dialogs[0].covers
    check_study(benchmark, protocol, covers)
    factors = tuple(factor for dialog in protocol.dialogs for factor in dialog.factors)
    practice: tuple[PracticeItem, ...] = ()
    if options.practice is not None:
        practice = load_practice(options.practice, benchmark, factors).practice

    return Study(
        # Random, so that neither orders nor picture names can be worked out from outside.
        id=secrets.token_hex(8),
        benchmark=benchmark.name,
        dialog=protocol.name,
        dialog_version=(protocol.suite or protocol.dialogs[0]).version,
        dialog_digests=tuple(dialog.digest for dialog in protocol.dialogs),
        covers=covers,
        shows=shown_kinds(protocol),
        factors=factors,
        methods=benchmark.methods,
        tasks={item.id: item.task for item in benchmark.items},
        raters_per_edit=options.raters_per_edit,
        items_per_rater=options.items_per_rater,
        checks=checks_for(covers, options.checks),
        practice=practice,
        instructions=load_instructions(options.instructions),
        completion_code=options.completion_code,
        seed=options.seed,
        max_side_px=options.max_side_px,
    )


def checks_for(covers: Covers, wanted: Sequence[str]) -> tuple[Check, ...]:
    """Return the checks that are wanted and make sense, in their usual order.

    The unedited source may rightly win against a bad edit, so it is no check between pairs.
    """
    unknown = next((word for word in wanted if word not in CHECKS), None)
    if unknown is not None:
        raise LmmscoreError(
            f"no check {unknown!r}{nearest(unknown, CHECKS)} (there are: {', '.join(CHECKS)})"
        )

    useless = {"source"} if covers == "pair" else set()
    return tuple(check for check in CHECKS if check in wanted and check not in useless)


def subjects_of(
    benchmark: Benchmark, covers: Covers, practice: Iterable[PracticeItem]
) -> list[Subject]:
    """Return everything there is to rate; practice items are left out."""
    practised = {each.item for each in practice}
    found: list[Subject] = []
    for item in benchmark.items:
        if item.id in practised:
            continue

        present = tuple(method for method in benchmark.methods if method in item.edits)
        found.extend(Subject(item=item.id, methods=group) for group in _groups(present, covers))

    if not found:
        raise BenchmarkError(f"{benchmark.path}: no edit is left to rate")

    return found


def _groups(present: tuple[str, ...], covers: Covers) -> list[tuple[str, ...]]:
    if covers == "edit":
        return [(method,) for method in present]
    if covers == "pair":
        return list(combinations(present, 2))
    return [present] if present else []


def check_study(benchmark: Benchmark, protocol: Protocol, covers: Covers) -> None:
    """Raise where the page could not show what the dialog shows."""
    make_plan(benchmark, Plan(benchmark, protocol))
    sourceless = [item.id for item in benchmark.items if "source" not in item.images]
    if sourceless:
        raise BenchmarkError(
            f"{benchmark.path}: raters always see the source, which "
            f"{counted(len(sourceless), 'item lacks', 'items lack')}: "
            f"{', '.join(sourceless[:8])}; give `source` for them"
        )

    # Two letters are kept for hidden checks.
    if covers == "item" and len(benchmark.methods) > MOST_EDITS - 2:
        raise BenchmarkError(
            f"{benchmark.path}: {len(benchmark.methods)} edits on one screen are too many for a "
            f"rater; choose at most {MOST_EDITS - 2} with --method"
        )


def shown_kinds(protocol: Protocol) -> tuple[str, ...]:
    """Return the kinds of picture beside the edits: the source, then what the dialog shows."""
    shown: set[str] = set()
    for dialog in protocol.dialogs:
        shown.update(dialog.images_shown(protocol.settings_for(dialog)))

    own = {kind for kind in shown if not is_file(kind)}
    others = sorted(own - {"source", "edit", *PAIR_KINDS})
    return ("source", *others)


def load_practice(path: Path, benchmark: Benchmark, factors: Sequence[Factor]) -> PracticeFile:
    """Return the practice items of a file. Raises FileProblem for anything the benchmark lacks."""
    loaded = validate(PracticeFile, load_yaml(path), str(path))
    items = {item.id: item for item in benchmark.items}
    keys = [factor.key for factor in factors]
    for each in loaded.practice:
        if each.item not in items:
            raise FileProblem(f"{path}: no item {each.item!r}{nearest(each.item, items)}")

        for method, expected in each.expect.items():
            if method not in items[each.item].edits:
                known = nearest(method, items[each.item].edits)
                raise FileProblem(f"{path}: {method!r} made no edit of {each.item!r}{known}")

            unknown = next((key for key in expected if key not in keys), None)
            if unknown is not None:
                raise FileProblem(f"{path}: no factor {unknown!r}{nearest(unknown, keys)}")

    return loaded


def load_instructions(path: Path | None) -> str:
    """Return the text raters read first: the file's, or the one that comes with lmmscore."""
    if path is not None:
        return read_text(path)
    default = Path(__file__).parent / "assets" / "instructions.md"
    return read_text(default)


def study_folder(benchmark: str, dialog: str) -> Path:
    """Return ratings/BENCHMARK-DIALOG, in letters every file system takes."""
    plain = re.sub(r"[^\w.-]+", "-", f"{benchmark}-{dialog}").strip("-.")
    return Path("ratings") / (plain or "study")


def parse_score(factor: Factor, value: Any) -> Fraction:
    """Return a score that is on the factor's scale. Raises LmmscoreError saying why it is not."""
    text = value if isinstance(value, str) else repr(value)
    if isinstance(value, bool) or not re.fullmatch(r"-?\d{1,9}(\.\d{1,6})?", text):
        raise LmmscoreError(f"{factor.name or factor.key}: this is not a number")

    score = Fraction(text)
    fault = factor.scale.fault(score)
    if fault:
        raise LmmscoreError(f"{factor.name or factor.key}: {fault}")

    return score


def share_of_scale(scale: Scale, score: float) -> float:
    """Return where a score lies between the scale's ends: 0 at the lowest, 1 at the highest."""
    low, high = float(scale.low), float(scale.high)
    return (score - low) / (high - low)


def levels_of(scale: Scale) -> list[dict[str, str]]:
    """Return the scores that get a button, each with its key; none for a fine scale."""
    texts = _level_texts(scale)
    taken = {text for text in texts if len(text) == 1}
    made = []
    for text in texts:
        key = text if len(text) == 1 else text[-1]
        if len(text) > 1 and key in taken:
            key = ""

        taken.add(key)
        made.append({"value": text, "key": key})

    return made


def _level_texts(scale: Scale) -> list[str]:
    if scale.values:
        values = sorted(Fraction(value) for value in scale.values)
        return [show(value) for value in values] if len(values) <= MOST_LEVELS else []
    whole = range(math.ceil(scale.low), math.floor(scale.high) + 1)
    return [str(number) for number in whole] if 3 <= len(whole) <= MOST_LEVELS else []


def factor_for_page(factor: Factor) -> dict[str, Any]:
    """Return a factor as the page needs it."""
    scale = factor.scale
    return {
        "key": factor.key,
        "name": factor.name or factor.key,
        "definition": factor.definition,
        "low": show(scale.low),
        "high": show(scale.high),
        "levels": levels_of(scale),
        "exact": not scale.values and (not scale.integers or not _level_texts(scale)),
        "whole": scale.integers,
        "scale": str(scale),
    }


def letters(n: int) -> list[str]:
    """Return A, B, C …"""
    return [chr(ord("A") + place) for place in range(n)]


# Who rates what: coverage first, chance second; positions balanced over raters


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
