"""What a rater is shown and may answer. The page hears of no method, no item id and no file."""

from __future__ import annotations

import math
import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lmmscore.benchmark import Benchmark
from lmmscore.conversation import task_title
from lmmscore.errors import FileProblem, LmmscoreError
from lmmscore.plan import order_of
from lmmscore.records import Item
from lmmscore.scales import show
from lmmscore.web.study import (
    CHOICES,
    Assignment,
    Covers,
    PracticeItem,
    Purpose,
    Rater,
    RaterAnswer,
    RatingDatabase,
    ShownEdit,
    Study,
    Subject,
    factor_for_page,
    letters,
    parse_score,
    subjects_of,
)

SCREENS_PER_CHECK = 20
"""Each kind of check occurs once per this many screens, and at least once."""

AHEAD = 2
"""Screens a rater has open: the one they see, and the next, whose pictures are loaded meanwhile."""

COMMENT_CHARACTERS = 2_000
ANSWERS_PER_SCREEN = 2_000
MOST_SECONDS = 24 * 3600.0

NONCE = re.compile(r"[A-Za-z0-9_-]{8,64}")
"""What the page gives an answer, so that one sent twice is kept once."""

REASONS = (
    "The picture is not shown, or is broken",
    "I do not understand the instruction",
    "The factor does not apply to this edit",
    "I find the content disturbing",
    "Another reason",
)

LABELS = {"source": "Source", "reference": "Reference", "marked": "Marked source"}


class AnswerRefused(LmmscoreError):
    """An answer or a link that cannot be taken. The status is HTTP's; the code is for the page."""

    def __init__(self, status: int, code: str, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.code = code


@dataclass(frozen=True, slots=True)
class PictureWanted:
    """Which file a picture is made from, and how."""

    item: Item
    kind: str
    method: str
    check: str


class RatingStudy:
    """A study in progress: hands out screens, takes answers."""

    def __init__(self, database: RatingDatabase, whole: Benchmark, chosen: Benchmark) -> None:
        """`chosen` is given out from now on; raters may have screens from all of `whole`."""
        self.database = database
        self.study = database.study
        self.items = {item.id: item for item in whole.items}
        self.subjects = subjects_of(chosen, self.study.covers, self.study.practice)
        self._numbers = {subject: number for number, subject in enumerate(self.subjects)}
        self._check_given(whole)

    def _check_given(self, whole: Benchmark) -> None:
        """Raise where a rater has a screen about something that is no longer in the benchmark."""
        for each in self.database.all_assignments():
            item = self.items.get(each.subject.item)
            wanted = {shown.method for shown in each.shown if shown.kind == "edit"}
            if item is None or wanted - set(item.edits):
                raise FileProblem(
                    f"{whole.path}: raters have been given edits of {each.subject.item!r} that are "
                    "not in it any more; put them back, or begin another study with --out"
                )

    # Who

    def rater(self, token: str) -> Rater:
        """Return the rater of a link. Raises AnswerRefused for a forged or expired one."""
        found = self.database.rater_by_token(token)
        if found is None:
            raise AnswerRefused(404, "unknown", "This link is not valid. Please ask for a new one.")

        if found.expired:
            raise AnswerRefused(410, "expired", "This link has expired. Please ask for a new one.")

        return found

    # Handing out screens

    def hand_out(self, rater: Rater, ahead: int = AHEAD) -> list[Assignment]:
        """Return the rater's screens, after giving them what they are to see next."""
        given = self.database.assignments(rater)
        while sum(not each.done for each in given) < ahead:
            before = len(given)
            self._give_one(rater, given)
            given = self.database.assignments(rater)
            if len(given) == before:
                break

        return given

    def _give_one(self, rater: Rater, given: Sequence[Assignment]) -> None:
        """Give the next screen, if there is one."""
        place = len(given)
        practice = self.study.practice
        if place < len(practice):
            self._give_practice(rater, place, practice[place])
            return

        slots = self._slots(rater)
        if place - len(practice) >= len(slots):
            return

        slot = slots[place - len(practice)]
        had = [each.subject for each in given if each.purpose == "rate"]
        rng = random.Random(f"{self.study.id} {rater.id} {place}")
        covered, shown_before = self.database.counts()
        subject = self._subject(slot, had, covered, rng)
        if subject is None and self._repeats_left(slots, given):
            # Others have covered the rest of the share; what is to be repeated still is.
            slot = Slot("repeat")
            subject = self._subject(slot, had, covered, rng)

        if subject is None:
            return

        number, times = self._numbers.get(subject, 0), shown_before.get(subject, 0)
        shown = order_on_screen(self.study, subject, number, times, slot, rng)
        self.database.assign(rater, place, subject, shown, slot.purpose)

    def questions(self) -> dict[str, Any]:
        """Return what is asked on every screen."""
        return {
            "covers": self.study.covers,
            "factors": [factor_for_page(factor) for factor in self.study.factors],
            "reasons": list(REASONS),
            "commentLimit": COMMENT_CHARACTERS,
        }

    def _repeats_left(self, slots: Sequence[Slot], given: Sequence[Assignment]) -> bool:
        planned = sum(slot.purpose == "repeat" for slot in slots)
        return sum(each.purpose == "repeat" for each in given) < planned

    def _subject(
        self,
        slot: Slot,
        had: Sequence[Subject],
        covered: Mapping[Subject, int],
        rng: random.Random,
    ) -> Subject | None:
        if slot.purpose == "repeat":
            return choose_repeat(had, rng)
        if slot.purpose in ("source", "failure"):
            return rng.choice(self.subjects)
        return choose_subject(self.subjects, covered, had, self.study.raters_per_edit, rng)

    def _give_practice(self, rater: Rater, place: int, practice: PracticeItem) -> None:
        present = self.items[practice.item].edits
        methods = [method for method in self.study.methods if method in present]
        if self.study.covers != "item":
            wanted = [method for method in methods if method in practice.expect] or methods
            methods = wanted[: 1 if self.study.covers == "edit" else 2]

        rng = random.Random(f"{self.study.id} practice {place}")
        rng.shuffle(methods)
        subject = Subject(item=practice.item, methods=tuple(methods))
        shown = [ShownEdit("edit", method) for method in methods]
        self.database.assign(rater, place, subject, shown, "practice")

    def _slots(self, rater: Rater) -> list[Slot]:
        share = min(self.study.items_per_rater or len(self.subjects), len(self.subjects))
        return slots_for(self.study, rater.id, share)

    # What the page is told

    def state(self, rater: Rater) -> dict[str, Any]:
        """Return all the page needs: the study, the rater's screens and answers so far."""
        own = {"rater": rater.id, "consented": rater.consented, "study": self.questions()}
        if not rater.consented:
            return {**own, "screens": [], "total": 0, "finished": False, "code": ""}

        given = self.hand_out(rater)
        answers = self.database.answers(rater)
        revisions = self.database.revisions(rater)
        screens = [
            self.screen(each, answers.get(each.id, []), revisions.get(each.id, 0)) for each in given
        ]
        finished = all(each.done for each in given)
        if finished and not rater.finished:
            self.database.finish(rater)

        planned = len(self.study.practice) + len(self._slots(rater))
        waiting = sum(not each.done for each in given)

        return {
            **own,
            "screens": screens,
            # Fewer screens waiting than there could be: others have covered the rest of the share.
            "total": planned if waiting >= AHEAD else len(given),
            "finished": finished,
            "code": rater.code if finished and given else "",
        }

    def screen(
        self, assignment: Assignment, answers: Sequence[RaterAnswer], revision: int
    ) -> dict[str, Any]:
        """Return one screen with its answers. Pictures go by random names, edits by letters."""
        item = self.items[assignment.subject.item]
        names = letters(len(assignment.shown))
        slots = [
            {"letter": letter, "picture": self._edit_picture(item, shown)}
            for letter, shown in zip(names, assignment.shown, strict=True)
        ]
        given = [
            {"label": LABELS.get(kind, kind), "picture": self.database.picture_id(item.id, kind)}
            for kind in self.study.shows
        ]
        practice = assignment.purpose == "practice"

        return {
            "id": assignment.id,
            "practice": practice,
            "done": assignment.done,
            "task": task_title(item.task),
            "instruction": item.instruction,
            "given": given,
            "slots": slots,
            "answers": answers_for_page(answers),
            "revision": revision,
            "seconds": assignment.seconds,
            "feedback": self._feedback(assignment, answers)
            if practice and assignment.done
            else None,
        }

    def _edit_picture(self, item: Item, shown: ShownEdit) -> str:
        if shown.kind == "edit":
            return self.database.picture_id(item.id, "edit", shown.method)
        return self.database.picture_id(item.id, "source", check=shown.kind)

    # What the rater answers

    def answer(self, rater: Rater, sent: Any) -> dict[str, Any]:
        """Keep one answer. Raises AnswerRefused; on return it is on the disk."""
        assignment = self._own(rater, sent)
        answer = self._checked(assignment, sent)
        seconds = seconds_sent(sent.get("seconds"))
        if not self.database.save(answer, seconds, ANSWERS_PER_SCREEN):
            text = "This screen was changed too often; please continue with the next one."
            raise AnswerRefused(429, "too-many", text)

        revision = self.database.revision(assignment.id)
        return {"saved": True, "screen": assignment.id, "revision": revision}

    def _own(self, rater: Rater, sent: Any) -> Assignment:
        """Return the screen that something was sent about. Raises unless it is this rater's."""
        if not isinstance(sent, dict):
            raise AnswerRefused(400, "malformed", "The answer is not understood.")

        if not rater.consented:
            raise AnswerRefused(403, "consent", "Please read the first page and press Begin.")

        for each in self.database.assignments(rater):
            if each.id == sent.get("screen"):
                return each

        raise AnswerRefused(403, "not-yours", "This screen is not among yours. Please reload.")

    def _checked(self, assignment: Assignment, sent: Mapping[str, Any]) -> RaterAnswer:
        nonce = str(sent.get("nonce") or "")
        if not NONCE.fullmatch(nonce):
            raise AnswerRefused(400, "malformed", "The answer is not understood.")

        kind, slot, factor, value = checked_answer(self.study, sent)
        if slot and slot not in letters(len(assignment.shown)):
            raise AnswerRefused(422, "no-such-edit", "There is no such edit on this screen.")

        return RaterAnswer(assignment.id, kind, slot, factor, value, f"{assignment.id}:{nonce}")

    def advance(self, rater: Rater, sent: Any) -> dict[str, Any]:
        """Close a screen that is fully answered, and return the state with the next one."""
        assignment = self._own(rater, sent)
        answers = self.database.answers(rater).get(assignment.id, [])
        missing = self._missing(assignment, answers)
        if missing:
            raise AnswerRefused(422, "incomplete", f"Not answered yet: {', '.join(missing)}.")

        self.database.touch(assignment, seconds_sent(sent.get("seconds")), done=True)
        return self.state(rater)

    def _missing(self, assignment: Assignment, answers: Sequence[RaterAnswer]) -> list[str]:
        told = answers_for_page(answers)
        if self.study.covers == "pair":
            unable = any(told["unable"].values())
            return [] if told["choice"] or unable else ["which of the two is better"]

        lacking = []
        for letter in letters(len(assignment.shown)):
            if told["unable"].get(letter):
                continue

            scores = told["scores"].get(letter, {})
            lacking += [
                f"{letter} {factor.name or factor.key}"
                for factor in self.study.factors
                if scores.get(factor.key) is None
            ]

        return lacking

    def _feedback(self, assignment: Assignment, answers: Sequence[RaterAnswer]) -> dict[str, Any]:
        """Return what to tell a rater after practice: which answers were not as expected."""
        practiced = [p for p in self.study.practice if p.item == assignment.subject.item]
        # The study may have been started again without practice, or with other items.
        if not practiced:
            return {"text": "", "remarks": []}

        practice = practiced[0]
        told = answers_for_page(answers)
        remarks = []
        names = letters(len(assignment.shown))
        for letter, shown in zip(names, assignment.shown, strict=True):
            for key, (low, high) in practice.expect.get(shown.method, {}).items():
                score = told["scores"].get(letter, {}).get(key)
                factor = self.study.factor(key)
                if factor is None or score is None or low <= float(score) <= high:
                    continue

                expected = f"{low:g}" if low == high else f"{low:g} to {high:g}"
                remarks.append(
                    f"{letter}, {factor.name or key}: you gave {score}; expected was {expected}."
                )

        return {"text": practice.feedback, "remarks": remarks}

    # Pictures

    def picture(self, rater: Rater, name: str) -> PictureWanted:
        """Return what a picture is made from. Raises AnswerRefused unless this rater may see it."""
        found = self.database.picture(name)
        if found is None or not self._may_see(rater, found):
            raise AnswerRefused(404, "no-picture", "There is no such picture.")
        return self.picture_of(name)

    def picture_of(self, name: str) -> PictureWanted:
        """Return what a picture of this study is made from."""
        found = self.database.picture(name)
        if found is None:
            raise AnswerRefused(404, "no-picture", "There is no such picture.")

        item, kind, method, check = found
        return PictureWanted(self.items[item], kind, method, check)

    def _may_see(self, rater: Rater, picture: tuple[str, str, str, str]) -> bool:
        item, kind, method, check = picture
        wanted = (kind if kind == "edit" else check, method)

        for each in self.database.assignments(rater):
            if each.subject.item != item:
                continue

            if kind != "edit" and not check:
                return True

            if any((shown.kind, shown.method) == wanted for shown in each.shown):
                return True

        return False


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
