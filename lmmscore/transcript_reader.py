"""What published transcripts say: scores, overall, arithmetic, ranking; and a run of many."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from lmmscore.benchmark import Benchmark
from lmmscore.conversation import Conversation, Repair, Turn
from lmmscore.dialog import Dialog, load_dialog
from lmmscore.errors import FileProblem, ImageProblem, LmmscoreError, listed
from lmmscore.images import Picture, Pictures, Recipe
from lmmscore.importers.document import factors_in, item_of, speaks_of_sum
from lmmscore.ledger import Asker, Ledger, key_of
from lmmscore.parsing import Fault, FaultKind, Reading, read_overall, read_text
from lmmscore.plan import Plan, Protocol, Unit
from lmmscore.records import Item, Reply
from lmmscore.run_folder import TRANSCRIPTS, Circumstances, Manifest, Run
from lmmscore.run_writer import RunWriter
from lmmscore.scales import Factor, Overall, Scale, formula, parts_of, show
from lmmscore.scores import SLIP_TOLERANCE, result_of
from lmmscore.session import Done, Exchange, Played, Question, Session, Shown
from lmmscore.transcripts import Transcript, load_transcript

_STATED = Factor(
    key="overall",
    symbol="S_all",
    name="Overall Score",
    aliases=("Overall",),
    scale=Scale(min=0, max=100),
)


@dataclass(frozen=True, slots=True)
class ReplayedEdit:
    """One edit of a transcript."""

    position: int
    method: str | None
    scores: dict[str, Fraction]
    overall: Fraction | None
    stated: Fraction | None
    reason: str
    """Why there is no overall; empty where there is one."""

    @property
    def slipped(self) -> bool:
        """Whether the judge's own overall is not what its sub-scores give."""
        if self.overall is None or self.stated is None:
            return False
        return abs(self.overall - self.stated) > SLIP_TOLERANCE

    @property
    def label(self) -> str:
        """The method, or the image's number where no method is known."""
        return self.method or f"image {self.position}"


@dataclass(frozen=True, slots=True)
class Replayed:
    """A transcript as read."""

    path: Path
    factors: tuple[Factor, ...]
    edits: tuple[ReplayedEdit, ...]
    rule: Overall
    transcript: Transcript
    scoring: int | None
    """Which turn's reply holds the scores; None where each edit is scored in a reply of its own."""
    reading: Reading

    @property
    def folder(self) -> Path:
        """The folder it is in, with its pictures if they were saved too."""
        return self.path.absolute().parent

    @property
    def complete(self) -> bool:
        """Whether every edit has an overall score."""
        return all(edit.overall is not None for edit in self.edits)

    @property
    def ranking(self) -> list[ReplayedEdit]:
        """The scored edits, best first; equal ones in the order they were shown."""
        scored = [edit for edit in self.edits if edit.overall is not None]
        return sorted(scored, key=lambda edit: -(edit.overall or 0))

    @property
    def slips(self) -> list[ReplayedEdit]:
        """The edits whose stated overall is wrong."""
        return [edit for edit in self.edits if edit.slipped]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON."""
        return {
            "transcript": self.path.name,
            "edits": [_edit_dict(edit) for edit in self.edits],
            "slips": [
                {
                    "position": edit.position,
                    "method": edit.method,
                    "overall": _number(edit.overall),
                    "stated_overall": _number(edit.stated),
                }
                for edit in self.slips
            ],
            "ranking": [edit.label for edit in self.ranking],
        }


def _edit_dict(edit: ReplayedEdit) -> dict[str, Any]:
    made = {
        "position": edit.position,
        "method": edit.method,
        "scores": {key: _number(score) for key, score in edit.scores.items()},
        "overall": _number(edit.overall),
        "stated_overall": _number(edit.stated),
    }
    return made if not edit.reason else {**made, "reason": edit.reason}


def _number(score: Fraction | None) -> int | float | None:
    if score is None:
        return None

    return score.numerator if score.denominator == 1 else float(score)


def read_transcript(path: Path, dialog: str | None = None) -> Replayed:
    """Return what a transcript says. Factors are those it asks for itself, or a dialog's."""
    loaded = load_transcript(path)
    factors, rule = _protocol(loaded, dialog)
    transcript, where, reading = _scored(loaded, factors)
    total_of = formula(rule, parts_of(factors))
    stated = _stated(transcript, where, len(transcript.edits))
    edits = []
    for position, method in enumerate(transcript.methods, 1):
        found = ((factor.key, reading.scores.get((position, factor.key))) for factor in factors)
        scores = {key: score for key, score in found if score is not None}
        total = None if total_of is None else total_of.value(scores)
        faults = [str(fault) for fault in reading.faults_of(position)]
        reason = "" if total is not None else "; ".join(faults) or "no score was found"
        edits.append(ReplayedEdit(position, method, scores, total, stated.get(position), reason))

    return Replayed(path, tuple(factors), tuple(edits), rule, transcript, where, reading)


def _protocol(transcript: Transcript, dialog: str | None) -> tuple[Sequence[Factor], Overall]:
    """Return the factors and the rule by which a transcript is read."""
    if dialog is not None:
        loaded = load_dialog(dialog)
        return loaded.factors, loaded.overall

    factors = factors_in(transcript)
    if all(factor.weight is not None for factor in factors):
        return factors, "weighted"

    # A transcript that states no weights but scores the factors of lmm-score gets its weights.
    usual = load_dialog("lmm-score").factors
    if {factor.key for factor in factors} == {factor.key for factor in usual}:
        return usual, "weighted"

    return factors, "mean"


def _scored(
    loaded: Transcript, factors: Sequence[Factor]
) -> tuple[Transcript, int | None, Reading]:
    """Return a transcript with its edits, which turn's reply scores them, and what that says.

    Which pictures are edits is not always plain: one may be a reference, or have the name of
    another. Where the scores fit one way to count them, that one is meant.
    """
    ways = [loaded, replace(loaded, every_picture=True)]
    if ways[0].edits == ways[1].edits:
        del ways[1]

    if not ways[-1].edits:
        raise FileProblem(
            f"{loaded.path}: no edited images are shown in it (`<img src=…>` or `![](…)` after the "
            "source image)"
        )

    another = ways[-1].next_item
    if another is not None:
        raise FileProblem(
            f"{loaded.path}: turn {another + 1} shows the source image of another item; "
            "cut the file there, into one transcript per item"
        )

    found = [(way, *_scoring(way, factors)) for way in ways if way.edits]
    complete = [each for each in found if each[2].complete]
    if len(complete) == 1 or len(found) == 1:
        return (complete or found)[0]

    counts = " or ".join(str(len(way.edits)) for way in ways)
    doubtful = [edit.image for edit in ways[1].edits if edit not in ways[0].edits]
    raise FileProblem(
        f"{loaded.path}: it shows {counts} edits, and no reply scores exactly so many: "
        f"{', '.join(str(image) for image in doubtful[:3])} may be an edit or not. Take the "
        "pictures out that are none, and give all others names of their own"
    )


def _scoring(transcript: Transcript, factors: Sequence[Factor]) -> tuple[int | None, Reading]:
    """Return the last reply with a complete verdict, else the one with most scores, and what it
    says; no such reply where each edit is scored by itself."""
    after = transcript.edit_turns[-1]
    readings = [
        (number, _read_reply(transcript, turn.reply, factors))
        for number, turn in enumerate(transcript.turns)
        if number >= after and turn.reply
    ]
    if not readings:
        raise FileProblem(
            f"{transcript.path}: no reply after the last edited image, so nothing is scored"
        )

    complete = [found for found in readings if found[1].complete]
    fullest = max(readings, key=lambda found: len(found[1].scores))
    where, reading = complete[-1] if complete else fullest
    later = [found for number, found in readings if number > where]
    reading = _uncontested(reading, later)
    if complete:
        return where, reading

    single = _one_by_one(transcript, factors, reading)
    if single is not None:
        return None, single

    return where, _with_earlier(transcript, factors, reading)


def _read_reply(transcript: Transcript, reply: str, factors: Sequence[Factor]) -> Reading:
    """Return what a reply says of the edits, by their numbers or under their methods' names."""
    reading = read_text(reply, factors, len(transcript.edits))
    if reading.complete:
        return reading

    counted = _counting_the_source(transcript, reply, factors)
    return counted or _by_name(transcript, reply, factors) or reading


def _counting_the_source(
    transcript: Transcript, reply: str, factors: Sequence[Factor]
) -> Reading | None:
    """Return the scores of images 2, 3 … as those of the first edit, the second …

    None where the source cannot be image 1: it came in a turn of its own, without a number.
    """
    n = len(transcript.edits)
    together = transcript.edits[0].turn == transcript.source_turn
    if not together and transcript.announced != tuple(range(2, n + 2)):
        return None

    counted = read_text(reply, factors, n + 1)
    wanted = {(place, factor.key) for place in range(2, n + 2) for factor in factors}
    if set(counted.scores) != wanted or any(fault.position != 1 for fault in counted.faults):
        return None

    return replace(
        counted,
        scores={(place - 1, key): score for (place, key), score in counted.scores.items()},
        spans={(place - 1, key): span for (place, key), span in counted.spans.items()},
        faults=(),
    )


def _by_name(transcript: Transcript, reply: str, factors: Sequence[Factor]) -> Reading | None:
    """Return what a reply says that calls every edit by its method or its file; else None."""
    places: dict[str, int] = {}
    for place, (edit, method) in enumerate(
        zip(transcript.edits, transcript.methods, strict=True), 1
    ):
        if edit.image is None or method is None or len(method) < 2 or method.isdecimal():
            return None

        for name in (edit.image.name, edit.image.stem, method):
            places[name.casefold()] = place

    # Longest first: a file's name holds the method's.
    names = sorted(places, key=len, reverse=True)
    called = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])", re.IGNORECASE)
    found = {places[name.casefold()] for name in called.findall(reply)}
    if len(found) < len(transcript.edits) or re.search(r"\bimage\W{0,3}\d", reply, re.IGNORECASE):
        return None

    numbered = called.sub(lambda match: f"Image {places[match[0].casefold()]}", reply)
    reading = read_text(numbered, factors, len(transcript.edits))
    # Places in the text with numbers for names are not places in the reply.
    return replace(reading, spans={}) if reading.complete else None


def _with_earlier(transcript: Transcript, factors: Sequence[Factor], last: Reading) -> Reading:
    """Return the last scores, and those of edits that were scored before others were shown.

    Raises FileProblem where the last ones are of the first images again: those of another item.
    """
    for number in range(transcript.edit_turns[-1] - 1, -1, -1):
        known = sum(edit.turn <= number for edit in transcript.edits)
        earlier = read_text(transcript.turns[number].reply, factors, known) if known > 1 else None
        if earlier is None or not earlier.complete:
            continue

        if any(position <= known for position, _ in last.scores):
            raise FileProblem(
                f"{transcript.path}: turn {number + 1} scores {known} edits; others come later, "
                "and their scores begin with image 1 again. Cut the file there, into one "
                "transcript per item"
            )

        faults = [fault for fault in last.faults if (fault.position or known + 1) > known]
        return Reading({**earlier.scores, **last.scores}, faults=tuple(faults))

    return last


def _one_by_one(transcript: Transcript, factors: Sequence[Factor], last: Reading) -> Reading | None:
    """Return the scores that each edit gets in the reply to the turn that shows it.

    None where a reply scores something else, or `last`, the fullest verdict, says otherwise.
    """
    n = len(transcript.edits)
    if len(transcript.edit_turns) < n or n == 1:
        return None

    scores: dict[tuple[int, str], Fraction] = {}
    faults: list[Fault] = []
    for place, edit in enumerate(transcript.edits, 1):
        reply = transcript.turns[edit.turn].reply
        reading = read_text(reply, factors, n)
        named = {position for position, _ in reading.scores}
        if named - {place}:
            return None

        if not named:
            # A reply that names no image is about the one it answers to.
            alone = read_text(reply, factors, 1)
            scores |= {(place, key): score for (_, key), score in alone.scores.items()}
            faults += [replace(fault, position=place) for fault in alone.faults]
        else:
            scores |= reading.scores
            faults += [fault for fault in reading.faults if fault.position == place]

    several = len({position for position, _ in scores}) > 1
    agrees = all(scores.get(cell) == score for cell, score in last.scores.items())
    return Reading(scores, faults=tuple(faults)) if several and agrees else None


def _uncontested(reading: Reading, later: Sequence[Reading]) -> Reading:
    """Return a reading without the scores that a later reply changes: which counts is unknown."""
    scores = dict(reading.scores)
    faults = list(reading.faults)
    for other in later:
        for cell, score in other.scores.items():
            if cell in scores and scores[cell] != score:
                says = f"scored {show(scores.pop(cell))}, but {show(score)} in a later reply"
                faults.append(Fault(FaultKind.CONTRADICTION, says, *cell))

    return replace(reading, scores=scores, faults=tuple(faults))


def _stated(transcript: Transcript, scoring: int | None, n: int) -> dict[int, Fraction]:
    """Return the overall scores the judge states: in a later reply,
    or under their own name beside the others."""
    last = transcript.edit_turns[-1] if scoring is None else scoring
    for turn in reversed(transcript.turns[last + 1 :]):
        stated = read_overall(turn.reply, n) if speaks_of_sum(turn) else {}
        if stated:
            return stated

    if scoring is None:
        return {}

    reading = _read_reply(transcript, transcript.turns[scoring].reply, (_STATED,))
    return {position: score for (position, _), score in reading.scores.items()}


# Many transcripts as a run

_CAUTION = "Read from transcripts: what was shown and asked is known only as far as they say."


@dataclass(frozen=True)
class TranscriptPlan(Plan):
    """The conversations there are, and no others: one item may have more repeats than another."""

    told: tuple[Unit, ...] = ()

    @property
    def units(self) -> int:
        """How many transcripts there are."""
        return len(self.told)

    def __iter__(self) -> Iterator[Unit]:
        return iter(self.told)


def make_run(paths: Sequence[Path], out: Path, dialog: str | None = None, command: str = "") -> Run:
    """Write a run made of transcripts, one session each, and return it."""
    all_read = _read_all(paths, dialog)
    _refuse_unlike(all_read)
    name = load_dialog(dialog).name if dialog else "transcript"
    protocol = Protocol(_dialog_of(all_read[0], name))
    sessions = _sessions(all_read, protocol)
    benchmark = _benchmark_of(paths, sessions)
    numbers = {item.id: number for number, item in enumerate(benchmark.items)}
    repeats = max(session.repeat for session in sessions)
    units = _units(sessions, benchmark, repeats)
    plan = TranscriptPlan(benchmark, protocol, "given", repeats, numbers=numbers, told=units)

    recipe = Recipe()
    asker = Asker.of(TRANSCRIPTS, {})
    caution = " ".join([_CAUTION, *_told_twice(all_read)])
    known = Circumstances(asker, recipe, caution=caution, command=command)
    manifest = Manifest.of(plan, out, known)
    ledger_path = out / "ledger.sqlite"
    with closing(RunWriter(out, manifest, plan, ledger_path)) as writer:
        with Ledger(ledger_path) as ledger:
            writer.begin()
            for replayed, session, unit in zip(all_read, sessions, units, strict=True):
                played = _played(replayed, session, ledger, Pictures(recipe))
                writer.take(result_of(unit, protocol, [played]))

        return writer.finish("finished")


def _read_all(paths: Sequence[Path], dialog: str | None) -> list[Replayed]:
    """Return what each transcript says. Raises FileProblem with all that cannot be read."""
    found: list[Replayed] = []
    problems: list[str] = []
    for path in paths:
        try:
            found.append(read_transcript(path, dialog))
        except FileProblem as error:
            problems.append(str(error))

    if problems:
        raise FileProblem("\n".join(problems))
    return found


def _benchmark_of(paths: Sequence[Path], sessions: Sequence[Session]) -> Benchmark:
    """Return the benchmark that transcripts imply; there is no file of it."""
    folder = Path(os.path.commonpath([path.absolute().parent for path in paths]))
    methods = dict.fromkeys(method for session in sessions for method in session.order)
    return Benchmark(
        "transcripts", folder / "benchmark.yaml", folder, tuple(methods), _items_of(sessions)
    )


def _units(sessions: Sequence[Session], benchmark: Benchmark, repeats: int) -> tuple[Unit, ...]:
    """Return what each transcript accounts for: the methods it shows, and those which no transcript
    of its item shows."""
    # A method that another transcript of the item shows is not missing here: it is judged there.
    known = {item.id: item for item in benchmark.items}
    units: list[Unit] = []
    for session in sessions:
        edits = known[session.item.id].edits
        elsewhere = set(edits) - set(session.order)
        methods = tuple(method for method in benchmark.methods if method not in elsewhere)
        units.append(Unit(session.item, session.repeat, methods, session.order, repeats))

    return tuple(units)


def _refuse_unlike(all_read: Sequence[Replayed]) -> None:
    """Refuse transcripts whose scores do not belong in one table."""
    first = all_read[0]
    seen: set[Path] = set()
    for replayed in all_read:
        if replayed.path.resolve() in seen:
            raise LmmscoreError(f"{replayed.path} is given twice; name each transcript once")

        seen.add(replayed.path.resolve())
        if (replayed.factors, replayed.rule) != (first.factors, first.rule):
            raise LmmscoreError(
                f"{replayed.path} asks for {_named(replayed)}, and {first.path} for "
                f"{_named(first)}; "
                "make a run of each kind, or say with --dialog what all of them score"
            )

        labels = [edit.label for edit in replayed.edits]
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if twice:
            raise LmmscoreError(
                f"{replayed.path}: two images are called {twice[0]}; rename one in the transcript"
            )


def _told_twice(all_read: Sequence[Replayed]) -> Iterator[str]:
    """Yield a caution for transcripts that are the same file under several names."""
    by_digest: dict[str, list[str]] = {}
    for replayed in all_read:
        digest = hashlib.sha256(replayed.path.read_bytes()).hexdigest()
        by_digest.setdefault(digest, []).append(replayed.path.name)

    for names in by_digest.values():
        if len(names) > 1:
            yield f"{listed(names)} are byte-identical; each counts: leave out copies."


def _named(replayed: Replayed) -> str:
    factors = ", ".join(f"{factor.key} ({factor.scale})" for factor in replayed.factors)
    return f"{factors}, overall {replayed.rule}"


def _dialog_of(replayed: Replayed, name: str) -> Dialog:
    """Return what all transcripts have in common, as a dialog; the words of each are its own."""
    return Dialog(
        dialog=name,
        version=1,
        title="Read from transcripts",
        covers="item",
        factors=replayed.factors,
        overall=replayed.rule,
        turns=(
            Turn(name="edit", each="edit", show=("edit",), say="(as each transcript says)"),
            Turn(name="scores", say="(as each transcript says)", read="scores"),
        ),
        repair=Repair(say="{{problems}}", at_most=0),
    )


def _sessions(all_read: Sequence[Replayed], protocol: Protocol) -> list[Session]:
    """Return a session for each transcript; several about one item are its repeats."""
    found: list[Session] = []
    judged: Counter[tuple[str, str]] = Counter()
    stems = Counter(replayed.path.stem for replayed in all_read)
    for replayed in all_read:
        item = _item_of(replayed, unique=stems[replayed.path.stem] == 1)
        judged[item.task, item.id] += 1
        order = tuple(edit.label for edit in replayed.edits)
        repeat = judged[item.task, item.id]
        found.append(Session(protocol.dialogs[0], item, repeat, order))

    return found


def _item_of(replayed: Replayed, *, unique: bool) -> Item:
    """Return what a transcript is about; its id is the file name where it states none."""
    transcript = replayed.transcript
    folder = replayed.folder
    name, task, instruction = item_of(transcript)
    stem = replayed.path.stem if unique else f"{folder.name}-{replayed.path.stem}"
    images = {"source": folder / transcript.source} if transcript.source is not None else {}
    edits = {}
    for edit, shown in zip(replayed.edits, transcript.edits, strict=True):
        edits[edit.label] = folder / (shown.image or edit.label)

    return Item(name or stem, task or "all", instruction, images, edits)


def _items_of(sessions: Sequence[Session]) -> tuple[Item, ...]:
    """Return every item once, with the edits of all sessions about it."""
    found: dict[str, Item] = {}
    for session in sessions:
        item = session.item
        known = found.setdefault(item.id, item)
        if known.task != item.task:
            raise LmmscoreError(
                f"item {item.id} is of the task {known.task} in one transcript and of {item.task} "
                "in another; rename one of the items"
            )
        if known.instruction and item.instruction not in {"", known.instruction}:
            raise LmmscoreError(
                f"item {item.id} is to {known.instruction!r} in one transcript and to "
                f"{item.instruction!r} in another; rename one of the items"
            )

        found[item.id] = replace(known, edits={**known.edits, **item.edits})

    return tuple(found.values())


def _played(replayed: Replayed, session: Session, ledger: Ledger, pictures: Pictures) -> Played:
    """Return a transcript as a session that was played, its exchanges written to the ledger."""
    transcript = replayed.transcript
    digest = hashlib.sha256(replayed.path.read_bytes()).hexdigest()
    # Transcripts begin with the same words, so each is recorded as a judge of its own.
    asker = Asker.of(f"transcript/{replayed.path.stem}", {"sha256": digest})
    conversation = Conversation()
    exchanges: list[Exchange] = []
    for number, turn in enumerate(transcript.turns):
        question = _question(replayed, number)
        images = tuple(_opened(question.images, replayed.folder, pictures))
        conversation = conversation.say(turn.prompt, images)
        reply = Reply(turn.reply)
        if turn.reply:
            key = key_of(asker, conversation, session.repeat)
            ledger.record(asker, conversation, session.repeat, reply).result()
            exchanges.append(Exchange(question, reply, True, key))

        conversation = conversation.hear(turn.reply or "(no answer)")

    stated = {edit.position: edit.stated for edit in replayed.edits if edit.stated is not None}
    done = Done(replayed.reading, stated, replayed.reading.notes)
    return Played(session, tuple(exchanges), done)


def _question(replayed: Replayed, number: int) -> Question:
    """Return a turn of a transcript as a question; its edit is known by its position."""
    transcript = replayed.transcript
    turn = transcript.turns[number]
    edits = {edit.image: place for place, edit in enumerate(transcript.edits, 1)}
    places = [place for place, edit in enumerate(transcript.edits, 1) if edit.turn == number]
    name = f"turn-{number + 1}"
    if number == transcript.source_turn:
        name = "source"
    elif places:
        name = "edit"

    if number == replayed.scoring:
        name = "scores"

    shown = []
    for image in turn.images:
        kind = "source" if image == transcript.source else "edit" if image in edits else "image"
        shown.append(Shown(kind, replayed.folder / image))

    return Question(name, places[0] if len(places) == 1 else None, turn.prompt, tuple(shown))


def _opened(shown: Sequence[Shown], folder: Path, pictures: Pictures) -> Iterator[Picture]:
    """Yield the pictures that are still there, in the transcript's own folder."""
    for each in shown:
        inside = each.path.resolve().is_relative_to(folder.resolve())
        if inside and each.path.is_file():
            with contextlib.suppress(ImageProblem):
                yield pictures.get(each.path)
