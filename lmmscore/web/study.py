"""A rating study: what is asked about which edits, who rates what, and the file of the answers."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import math
import random
import re
import secrets
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from lmmscore.benchmark import Benchmark
from lmmscore.conversation import PAIR_KINDS, is_file
from lmmscore.errors import (
    BenchmarkError,
    FileProblem,
    LmmscoreError,
    alternatives,
    counted,
    nearest,
)
from lmmscore.plan import Plan, Protocol, make_plan, order_of
from lmmscore.scales import Factor, Scale, show
from lmmscore.yaml_files import StrictModel, load_yaml, read_text, validate

VERSION = 1
"""Version of the format in which a study is stored."""

Covers = Literal["item", "edit", "pair"]
Check = Literal["source", "failure", "repeat"]
CHECKS: tuple[Check, ...] = ("source", "failure", "repeat")
Purpose = Literal["practice", "rate", "source", "failure", "repeat"]

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
        """Return whether answers to both may stand in one table."""
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


def raters_needed(study: Study, subjects: int) -> int:
    """Return how many raters cover everything, each with a full share."""
    share = min(study.items_per_rater or subjects, subjects)
    return max(study.raters_per_edit, math.ceil(study.raters_per_edit * subjects / share))


def checks_for(covers: Covers, wanted: Sequence[str]) -> tuple[Check, ...]:
    """Return the checks that are wanted and make sense, in their usual order.

    The unedited source may rightly win against a bad edit, so it is no check between pairs.
    """
    unknown = next((word for word in wanted if word not in CHECKS), None)
    if unknown is not None:
        raise LmmscoreError(f"no check {unknown!r}{alternatives(unknown, CHECKS, 'there are')}")

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
    """Return ratings/BENCHMARK-DIALOG, in characters every file system takes."""
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


@dataclass(frozen=True, slots=True)
class ShownEdit:
    """One picture to be rated: an edit, or a check that looks like one."""

    kind: Literal["edit", "source", "failure"]
    method: str = ""


# --------------------------------------------------------------------------------------------------
# Which answers a rater may give.
# --------------------------------------------------------------------------------------------------

COMMENT_CHARACTERS = 2_000
MOST_SECONDS = 24 * 3600.0


class AnswerRefused(LmmscoreError):
    """An answer or a link that cannot be taken. The status is HTTP's; the code is for the page."""

    def __init__(self, status: int, code: str, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.code = code


def answers_for_page(answers: Sequence[RaterAnswer]) -> dict[str, Any]:
    """Return the answers of a screen as the page keeps them."""
    told: dict[str, Any] = {"scores": {}, "unable": {}, "choice": None, "comment": ""}
    for answer in answers:
        if answer.kind == "score":
            told["scores"].setdefault(answer.slot, {})[answer.factor] = answer.value
        elif answer.kind == "unable":
            told["unable"][answer.slot] = answer.value
        elif answer.kind == "choice":
            told["choice"] = answer.value
        else:
            told["comment"] = answer.value or ""

    return told


def checked_answer(study: Study, sent: Any) -> tuple[str, str, str, str | None]:
    """Return kind, slot, factor and value of an answer. Raises AnswerRefused where it is none."""
    if not isinstance(sent, dict):
        raise AnswerRefused(400, "malformed", "The answer is not understood.")

    kind, slot, factor = (str(sent.get(name) or "") for name in ("kind", "slot", "factor"))
    value = sent.get("value")
    if kind == "score" and slot and study.covers != "pair":
        return kind, slot, factor, _score(study, factor, value)

    if kind == "unable" and slot:
        return kind, slot, "", _short_text(value)

    if kind == "comment":
        return kind, "", "", _short_text(value)

    if kind == "choice" and study.covers == "pair":
        return kind, "", "", _choice(value)

    raise AnswerRefused(422, "no-such-question", "There is no such question here.")


def _score(study: Study, factor: str, value: Any) -> str | None:
    known = study.factor(factor)
    if known is None:
        raise AnswerRefused(422, "no-such-question", "There is no such factor here.")

    if value is None:
        return None

    try:
        return show(parse_score(known, value))
    except LmmscoreError as error:
        raise AnswerRefused(422, "off-the-scale", str(error)) from error


def seconds_sent(value: Any) -> float:
    """Return the time spent on a screen as the page reports it; 0 for anything invalid."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    # NaN fails the comparison and counts as no time; a whole number may be too large for a float.
    return float(min(value, MOST_SECONDS)) if value > 0 else 0.0


def _short_text(value: Any) -> str | None:
    if value is None:
        return None

    if not isinstance(value, str):
        raise AnswerRefused(422, "malformed", "This is not a text.")

    if len(value) > COMMENT_CHARACTERS:
        raise AnswerRefused(
            413,
            "too-long",
            f"At most {COMMENT_CHARACTERS:,} characters, please; nothing was saved.",
        )

    # Lone surrogates can come in JSON, but no file or database takes them.
    return value.encode("utf-8", "replace").decode("utf-8")


def _choice(value: Any) -> str | None:
    if value is None:
        return None
    if value not in CHOICES:
        raise AnswerRefused(422, "off-the-scale", f"Choose one of {', '.join(CHOICES)}.")
    return str(value)


# --------------------------------------------------------------------------------------------------
# Who rates what: coverage first, chance second; positions balanced over raters.
# --------------------------------------------------------------------------------------------------


SCREENS_PER_CHECK = 20
"""Each kind of check occurs once per this many screens, and at least once."""


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


# --------------------------------------------------------------------------------------------------
# Its answers, in SQLite: on the disk before the page says that they are saved.
#
# Neither addresses nor browsers of raters are kept. A rater is a random id; an outside id, such as
# Prolific's, is kept only as a keyed digest, so that the same person finds their own place again.
# --------------------------------------------------------------------------------------------------


APPLICATION_ID = 0x6C6D6D72  # "lmmr"
FILE_NAME = "ratings.sqlite"

PENDING_S = 3600
"""How long a screen that was given out counts as covered; then its rater seems to have left."""

_SCHEMA = """
CREATE TABLE study (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  description TEXT NOT NULL,      -- JSON of a Study
  secret TEXT NOT NULL            -- key of the digests in rater.alias
);
CREATE TABLE rater (
  id TEXT PRIMARY KEY,            -- random
  number INTEGER NOT NULL UNIQUE, -- in links of a static page
  token TEXT NOT NULL UNIQUE,     -- in the link of this rater
  alias TEXT UNIQUE,              -- keyed digest of an id from elsewhere
  code TEXT NOT NULL,             -- shown at the end
  made_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  consented_at TEXT,
  finished_at TEXT
);
CREATE TABLE picture (
  id TEXT PRIMARY KEY,            -- random
  item TEXT NOT NULL,
  kind TEXT NOT NULL,
  method TEXT NOT NULL,
  check_kind TEXT NOT NULL,
  UNIQUE (item, kind, method, check_kind)
);
CREATE TABLE assignment (
  id TEXT PRIMARY KEY,            -- random
  rater TEXT NOT NULL REFERENCES rater (id) ON DELETE CASCADE,
  place INTEGER NOT NULL,
  item TEXT NOT NULL,
  methods TEXT NOT NULL,          -- JSON: the subject's methods
  shown TEXT NOT NULL,            -- JSON: what stands at A, B, C
  purpose TEXT NOT NULL,
  made_at TEXT NOT NULL,
  done_at TEXT,
  seconds REAL NOT NULL DEFAULT 0,
  UNIQUE (rater, place)
);
CREATE TABLE answer (
  seq INTEGER PRIMARY KEY,
  nonce TEXT NOT NULL UNIQUE,     -- made by the page: what is sent twice is kept once
  assignment TEXT NOT NULL REFERENCES assignment (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,             -- score, unable, choice, comment
  slot TEXT NOT NULL,
  factor TEXT NOT NULL,
  value TEXT,                     -- none: taken back
  at TEXT NOT NULL
);
CREATE INDEX answer_by_assignment ON answer (assignment, seq);
"""


@dataclass(frozen=True, slots=True)
class Rater:
    """A human rater, known by nothing but random words."""

    id: str
    number: int
    token: str
    code: str
    expires_at: str
    consented: bool
    finished: bool

    @property
    def expired(self) -> bool:
        """Whether the link has run out."""
        return self.expires_at <= _now()


@dataclass(frozen=True, slots=True)
class Assignment:
    """A screen given to a rater."""

    id: str
    rater: str
    place: int
    subject: Subject
    shown: tuple[ShownEdit, ...]
    purpose: Purpose
    made_at: str
    done: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class RaterAnswer:
    """One answer as the page sent it. The last one of its kind, slot and factor counts."""

    assignment: str
    kind: str
    slot: str
    factor: str
    value: str | None
    nonce: str


class RatingDatabase:
    """The file of a study. One connection, used by one thread at a time."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._connection = _connect(path, read_only)
        self._study: Study | None = None
        self._picture_ids: dict[tuple[str, str, str, str], str] = {}

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _translated(self.path), self._connection:
            yield self._connection

    def _write(self, sql: str, values: Sequence[Any]) -> None:
        """Change the file by one statement, which is on the disk on return."""
        with self._writing() as connection:
            connection.execute(sql, values)

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._lock, _translated(self.path):
            return self._connection.execute(sql, values).fetchall()

    # The study

    @property
    def study(self) -> Study:
        """What the answers are about."""
        if self._study is None:
            rows = self._rows("SELECT description FROM study")
            if not rows:
                raise FileProblem(f"{self.path}: holds no study; `lmmscore rate` begins one")
            self._study = Study.model_validate_json(rows[0][0])
        return self._study

    @property
    def begun(self) -> bool:
        """Whether a study was written into the file."""
        return bool(self._rows("SELECT 1 FROM study"))

    def keep_study(self, study: Study) -> None:
        """Write what is asked; a later start may change shares and texts, never the questions."""
        # The secret of the first start stays: a rater's alias is a digest made with it.
        self._write(
            "INSERT INTO study VALUES (1, ?, ?) "
            "ON CONFLICT DO UPDATE SET description = excluded.description",
            (study.model_dump_json(exclude_defaults=True), secrets.token_hex(32)),
        )
        self._study = study

    # Raters

    def add_rater(self, valid_days: int, outside_id: str = "") -> Rater:
        """Return a new rater; for an outside id that is known, the rater it belongs to."""
        alias = self._alias(outside_id) if outside_id else None
        expires = datetime.now(UTC) + timedelta(days=valid_days)
        with self._writing() as connection:
            known = self._raters("WHERE alias = ?", (alias,))
            if known:
                return known[0]

            number = connection.execute("SELECT coalesce(max(number), 0) + 1 FROM rater")
            name = f"r-{secrets.token_hex(5)}"
            connection.execute(
                "INSERT INTO rater VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL)",
                (
                    name,
                    number.fetchone()[0],
                    secrets.token_urlsafe(18),
                    alias,
                    self.study.completion_code or _code(),
                    _now(),
                    expires.isoformat(timespec="seconds"),
                ),
            )

        return self._raters("WHERE id = ?", (name,))[0]

    def _alias(self, outside_id: str) -> str:
        secret = self._rows("SELECT secret FROM study")[0][0]
        return hmac.new(secret.encode(), outside_id.encode(), hashlib.sha256).hexdigest()

    def _raters(self, where: str = "", values: Sequence[Any] = ()) -> list[Rater]:
        columns = "id, number, token, code, expires_at, consented_at, finished_at"
        rows = self._rows(f"SELECT {columns} FROM rater {where} ORDER BY number", values)
        return [
            Rater(name, number, token, code, expires, consented is not None, finished is not None)
            for name, number, token, code, expires, consented, finished in rows
        ]

    def raters(self) -> list[Rater]:
        """Return everyone, in the order of their numbers."""
        return self._raters()

    def rater_by_token(self, token: str) -> Rater | None:
        """Return the rater a link belongs to, or None."""
        return next(iter(self._raters("WHERE token = ?", (token,))), None)

    def find_rater(self, name: str) -> Rater | None:
        """Return the rater known by an id, by the token of a link, or by an id from elsewhere."""
        found = self._raters("WHERE ? IN (id, token) OR alias = ?", (name, self._alias(name)))
        return next(iter(found), None)

    def consent(self, rater: Rater) -> None:
        """Note that a rater has read the instructions and wants to begin."""
        self._note_moment(rater, "consented_at")

    def finish(self, rater: Rater) -> None:
        """Note that nothing is left for a rater."""
        self._note_moment(rater, "finished_at")

    def _note_moment(self, rater: Rater, column: str) -> None:
        """Note that it is now, unless it was noted before."""
        self._write(
            f"UPDATE rater SET {column} = coalesce({column}, ?) WHERE id = ?", (_now(), rater.id)
        )

    def withdraw(self, rater: Rater) -> int:
        """Delete a rater and every answer of theirs, free pages included; return how many."""
        count = self._rows(
            "SELECT count(*) FROM answer JOIN assignment ON assignment = id WHERE rater = ?",
            (rater.id,),
        )
        self._write("DELETE FROM rater WHERE id = ?", (rater.id,))
        with self._lock, _translated(self.path):
            # Deleted rows must not survive in the log or in unused pages.
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

        return int(count[0][0])

    # Screens

    def assignments(self, rater: Rater) -> list[Assignment]:
        """Return the screens of a rater in order."""
        return self._assignments("WHERE rater = ? ORDER BY place", (rater.id,))

    def all_assignments(self) -> list[Assignment]:
        """Return every screen of every rater."""
        return self._assignments("ORDER BY rater, place")

    def _assignments(self, where: str, values: Sequence[Any] = ()) -> list[Assignment]:
        columns = "id, rater, place, item, methods, shown, purpose, made_at, done_at, seconds"
        return [
            _assignment(row)
            for row in self._rows(f"SELECT {columns} FROM assignment {where}", values)
        ]

    def counts(self) -> tuple[dict[Subject, int], dict[Subject, int]]:
        """Return by how many raters each subject is covered, and how often it was ever shown.

        Covered is what is answered, or was given out a short while ago.
        """
        since = (datetime.now(UTC) - timedelta(seconds=PENDING_S)).isoformat(timespec="seconds")
        rows = self._rows(
            "SELECT item, methods, "
            "sum(purpose = 'rate' AND (done_at IS NOT NULL OR made_at > ?)), "
            "sum(purpose IN ('rate', 'repeat')) "
            "FROM assignment GROUP BY item, methods",
            (since,),
        )
        covered: dict[Subject, int] = {}
        shown: dict[Subject, int] = {}
        for item, methods, done, times in rows:
            subject = Subject(item=item, methods=tuple(json.loads(methods)))
            covered[subject] = done
            shown[subject] = times

        return covered, shown

    def assign(
        self,
        rater: Rater,
        place: int,
        subject: Subject,
        shown: Sequence[ShownEdit],
        purpose: Purpose,
    ) -> None:
        """Give a screen to a rater; where the place is taken, as by another window, leave it so."""
        self._write(
            "INSERT INTO assignment (id, rater, place, item, methods, shown, purpose, made_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                secrets.token_urlsafe(9),
                rater.id,
                place,
                subject.item,
                json.dumps(subject.methods),
                json.dumps([[each.kind, each.method] for each in shown]),
                purpose,
                _now(),
            ),
        )

    def close_screen(self, assignment: Assignment, seconds: float) -> None:
        """Note that a screen is done, and the time spent on it."""
        self._write(
            "UPDATE assignment SET seconds = max(seconds, ?), done_at = coalesce(done_at, ?) "
            "WHERE id = ?",
            (seconds, _now(), assignment.id),
        )

    # Answers

    def save(self, answer: RaterAnswer, seconds: float, limit: int) -> bool:
        """Keep an answer; durable on return. False where the screen has `limit` answers already."""
        with self._writing() as connection:
            row = connection.execute(
                "SELECT count(*) FROM answer WHERE assignment = ?", (answer.assignment,)
            ).fetchone()
            if row[0] >= limit:
                return False

            connection.execute(
                "INSERT INTO answer (nonce, assignment, kind, slot, factor, value, at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (
                    answer.nonce,
                    answer.assignment,
                    answer.kind,
                    answer.slot,
                    answer.factor,
                    answer.value,
                    _now(),
                ),
            )
            connection.execute(
                "UPDATE assignment SET seconds = max(seconds, ?) WHERE id = ?",
                (seconds, answer.assignment),
            )

        return True

    def answers(self, rater: Rater | None = None) -> dict[str, list[RaterAnswer]]:
        """Return the answers that count, by assignment, in the order they were given."""
        where = "WHERE rater = ?" if rater else ""
        rows = self._rows(
            "SELECT assignment, kind, slot, factor, value, nonce FROM answer "
            f"JOIN assignment ON assignment = id {where} ORDER BY seq",
            (rater.id,) if rater else (),
        )
        last: dict[str, dict[tuple[str, str, str], RaterAnswer]] = {}
        for row in rows:
            answer = RaterAnswer(*row)
            of_screen = last.setdefault(answer.assignment, {})
            of_screen[answer.kind, answer.slot, answer.factor] = answer

        return {name: list(of_screen.values()) for name, of_screen in last.items()}

    def revisions(self, rater: Rater) -> dict[str, int]:
        """Return how many answers each screen of a rater has ever had, where it has any."""
        rows = self._rows(
            "SELECT assignment, count(*) FROM answer JOIN assignment ON assignment = id "
            "WHERE rater = ? GROUP BY assignment",
            (rater.id,),
        )
        return dict(rows)

    # Pictures

    def picture_id(self, item: str, kind: str, method: str = "", check: str = "") -> str:
        """Return the random name of a picture, the same each time."""
        key = (item, kind, method, check)
        if key not in self._picture_ids:
            self._picture_ids[key] = self._named_picture(key)
        return self._picture_ids[key]

    def _named_picture(self, key: tuple[str, str, str, str]) -> str:
        sql = "SELECT id FROM picture WHERE item = ? AND kind = ? AND method = ? AND check_kind = ?"
        known = self._rows(sql, key)
        if known:
            return str(known[0][0])

        self._write(
            "INSERT INTO picture VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (secrets.token_urlsafe(9), *key),
        )
        # Another process may have named it first.
        return str(self._rows(sql, key)[0][0])

    def picture(self, name: str) -> tuple[str, str, str, Any] | None:
        """Return item, kind, method and check of a picture, or None."""
        rows = self._rows(
            "SELECT item, kind, method, check_kind FROM picture WHERE id = ?", (name,)
        )
        return rows[0] if rows else None


def open_study(folder: Path, study: Study) -> RatingDatabase:
    """Begin a study in a folder, or resume it. Raises where it holds answers to other questions."""
    database = RatingDatabase(folder / FILE_NAME)
    try:
        if not database.begun:
            database.keep_study(study)
        elif database.study.same_questions(study):
            # A part of the benchmark may be chosen this time; what was rated before keeps its task.
            tasks = {**database.study.tasks, **study.tasks}
            known = {"id": database.study.id, "tasks": tasks}
            database.keep_study(study.model_copy(update=known))
        else:
            raise FileProblem(
                f"{folder}: holds answers about {database.study.benchmark} with dialog "
                f"{database.study.dialog} as it was then; give this study another --out"
            )
    except BaseException:
        database.close()
        raise

    return database


def is_rating_database(path: Path) -> bool:
    """Return whether a file is a study's by its first bytes, whatever it is called."""
    try:
        with path.open("rb") as file:
            head = file.read(72)
    except OSError:
        return False
    return head.startswith(b"SQLite format 3\0") and head[68:72] == APPLICATION_ID.to_bytes(4)


def _assignment(row: tuple[Any, ...]) -> Assignment:
    name, rater, place, item, methods, shown, purpose, made_at, done_at, seconds = row
    return Assignment(
        id=name,
        rater=rater,
        place=place,
        subject=Subject(item=item, methods=tuple(json.loads(methods))),
        shown=tuple(ShownEdit(kind, method) for kind, method in json.loads(shown)),
        purpose=purpose,
        made_at=made_at,
        done=done_at is not None,
        seconds=seconds,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


_CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def _code() -> str:
    return "".join(secrets.choice(_CODE_LETTERS) for _ in range(8))


def _connect(path: Path, read_only: bool) -> sqlite3.Connection:
    if read_only and not path.is_file():
        raise FileProblem(f"{path}: no ratings here; `lmmscore rate` collects some")

    with _translated(path):
        if not read_only:
            _create_privately(path)

        # Without a log beside it nobody writes, and SQLite need not create one: the folder may be
        # on a disk that cannot be written.
        still = read_only and not path.with_name(path.name + "-wal").exists()
        mode = "ro" if read_only else "rwc"
        location = f"{path.absolute().as_uri()}?mode={mode}{'&immutable=1' if still else ''}"
        connection = sqlite3.connect(location, uri=True, check_same_thread=False, timeout=30)
        try:
            _prepare(connection, path, read_only)
        except BaseException:
            connection.close()
            raise

        return connection


def _create_privately(path: Path) -> None:
    # The file holds the links of raters and the key from letters to methods.
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.touch(mode=0o600)


def _prepare(connection: sqlite3.Connection, path: Path, read_only: bool) -> None:
    empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if not empty and application != APPLICATION_ID:
        raise FileProblem(f"{path}: an SQLite file, but not ratings collected by lmmscore")

    if version > VERSION:
        raise FileProblem(f"{path}: written by a newer lmmscore (format {version}); update it")

    connection.execute("PRAGMA foreign_keys = ON")
    if read_only:
        return

    if empty:
        # Before there is a log: the first bytes, by which the file is known, must not wait in one.
        connection.executescript(
            f"BEGIN; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; "
            f"{_SCHEMA} COMMIT;"
        )

    connection.execute("PRAGMA journal_mode = WAL")
    # A commit survives the machine, not only the process.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = ON")


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise FileProblem(
            f"{path}: {error}; check that the disk has room and the folder may be written"
        ) from error
    except OSError as error:
        raise FileProblem(
            f"{path}: {error.strerror or error}; name another folder with --out"
        ) from error
