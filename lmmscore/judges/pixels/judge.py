"""The embedded judge: answers every turn in words, from what can be measured in the pictures it is
shown.

A baseline and a stand-in for trying things out, offline. It cannot read, and says so.
"""

from __future__ import annotations

import asyncio
import io
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar, cast

from PIL import Image

from lmmscore.conversation import Conversation, Message
from lmmscore.images import Picture, fit
from lmmscore.judges.base import JudgeBase
from lmmscore.judges.pixels import words
from lmmscore.judges.pixels.grades import (
    EditFacts,
    MarkFacts,
    PictureFacts,
    Seen,
    facet_of,
    grades,
)
from lmmscore.judges.pixels.questions import (
    PicturesShown,
    ScoreForm,
    factors_asked,
    fill,
    find_form,
    kind_of,
    permitted,
    scale_asked,
    shown,
    weights_asked,
)
from lmmscore.records import Reply

if TYPE_CHECKING:
    from lmmscore.judges.pixels.measures import Frame

T = TypeVar("T")
Size = tuple[int, int]

MEASURED_SIDE_PX = 512
"""Pictures are measured at most this large, for time's sake.

It matters: at half the size, quality came out up to two points higher on a photograph, since
scaling down hides blur and noise.
"""


class Pixels(JudgeBase):
    """Compares pixels; reads nothing. The same conversation always gets the same answer."""

    def __init__(self) -> None:
        self._facts = _Memory(keep=4096)
        # Frames are large; a few suffice, since a source is compared with one edit after another.
        self._frames = _Memory(keep=4)

    @property
    def name(self) -> str:
        """Always the same."""
        return "pixels"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The version of what is measured and how it is graded."""
        return {"version": 1}

    @property
    def caution(self) -> str:
        """That it cannot read."""
        return words.CAUTION

    async def ask(self, conversation: Conversation) -> Reply:
        """Answer the last message, measuring in another thread whatever was not measured before."""
        text = await asyncio.to_thread(self._answer, conversation.messages)
        return Reply(text, model="pixels-1")

    def _answer(self, messages: Sequence[Message]) -> str:
        pictures = shown(messages)
        form = find_form([message.text for message in messages if message.role != "assistant"])
        if form and pictures.edits:
            return self._filled(form, pictures)
        match kind_of(messages):
            case "greeting":
                return words.GREETING
            case "source":
                return words.describe_picture(self._described(cast(Picture, pictures.first)))
            case "factors":
                return words.FACTORS
            case "analysis":
                return self._analysed(messages[-1], pictures)
            case "verdict":
                analysis = self._analysed(messages[-1], pictures)
                return f"{analysis}\n\n{self._scored(messages, pictures)}"
            case "scores":
                return self._scored(messages, pictures)
            case "sums":
                return self._summed(messages, pictures)
            case "thanks":
                return words.THANKS
            case "waiting":
                return words.WAITING

    def _analysed(self, last: Message, pictures: PicturesShown) -> str:
        new = min(len(last.images), len(pictures.edits))
        start = len(pictures.edits) - new
        seen = [
            (position, self._seen(pictures, position)) for position in range(start, start + new)
        ]
        return "\n\n".join(words.analyse(position + 1, each) for position, each in seen)

    def _scores(
        self, messages: Sequence[Message], pictures: PicturesShown
    ) -> list[dict[str, tuple[Fraction, float]]]:
        """Return for every edit, by factor, its score to one decimal and the grade behind it."""
        low, high = scale_asked(messages)
        factors = factors_asked(messages)
        table = []
        for position in range(len(pictures.edits)):
            grade = grades(self._seen(pictures, position))
            by_factor = {factor: grade[facet_of(factor)] for factor in factors}
            table.append(
                {
                    f: (Fraction(round(10 * (low + (high - low) * g)), 10), g)
                    for f, g in by_factor.items()
                }
            )
        return table

    def _scored(self, messages: Sequence[Message], pictures: PicturesShown) -> str:
        return words.score_block(
            [
                [
                    (factor, f"{float(score):g}", words.remark(factor, grade))
                    for factor, (score, grade) in row.items()
                ]
                for row in self._scores(messages, pictures)
            ]
        )

    def _summed(self, messages: Sequence[Message], pictures: PicturesShown) -> str:
        weights = weights_asked(messages)
        table = self._scores(messages, pictures)
        return words.sums(
            [
                sum((weights.get(f, 0) * score for f, (score, _) in row.items()), Fraction())
                for row in table
            ]
        )

    def _filled(self, form: ScoreForm, pictures: PicturesShown) -> str:
        seen = [self._seen(pictures, position) for position in range(len(pictures.edits))]
        graded = [grades(each) for each in seen]

        def score(edit: int, factor: str) -> float:
            values = permitted(form, factor)
            aim = values[0] + (values[-1] - values[0]) * graded[edit][facet_of(factor)]
            nearest = min(values, key=lambda value: (abs(value - aim), value))
            return int(nearest) if nearest == int(nearest) else nearest

        return fill(form, len(seen), score, lambda edit, factor: words.reason(seen[edit], factor))

    def _described(self, picture: Picture) -> PictureFacts:
        from lmmscore.judges.pixels.measures import describe

        return self._facts.get(picture.digest, lambda: describe(self._frame(picture)))

    def _seen(self, pictures: PicturesShown, position: int) -> Seen:
        first, edit = cast(Picture, pictures.first), pictures.edits[position]
        facts = self._facts.get((first.digest, edit.digest), lambda: self._compared(first, edit))
        marks = self._marks(first, pictures.marked, edit) if pictures.marked else None
        return Seen(facts, pictures.beside_truth, marks)

    def _compared(self, first: Picture, edit: Picture) -> EditFacts:
        from lmmscore.judges.pixels.measures import compare

        frame = self._frame(first)
        return compare(frame, _measurable(edit, frame.size))

    def _marks(self, first: Picture, marked: Picture, edit: Picture) -> MarkFacts:
        from lmmscore.judges.pixels.measures import within_marks

        def measure() -> MarkFacts:
            frame = self._frame(first)
            return within_marks(
                frame, _measurable(marked, frame.size), _measurable(edit, frame.size)
            )

        return self._facts.get((first.digest, marked.digest, edit.digest), measure)

    def _frame(self, picture: Picture) -> Frame:
        return self._frames.get(picture.digest, lambda: _measurable(picture))


def _measurable(picture: Picture, size: Size | None = None) -> Frame:
    """Return the picture ready to be measured; of the given size, so that places correspond."""
    # scikit-image takes a second to load, and a run that asks nothing new has no use for it.
    import numpy as np

    from lmmscore.judges.pixels.measures import Frame

    with Image.open(io.BytesIO(picture.data())) as image:
        rgb = fit(image.convert("RGB"), MEASURED_SIDE_PX)
    if size and rgb.size != size:
        rgb = rgb.resize(size, Image.Resampling.LANCZOS)
    return Frame(np.asarray(rgb))


class _Memory:
    """Lately used results, within a bound.

    Threads that want the same one wait for the first to get it.
    """

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._results: OrderedDict[Hashable, Future[Any]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, measure: Callable[[], T]) -> T:
        """Return the result under this key, worked out at most once while it is remembered."""
        with self._lock:
            known = self._results.get(key)
            if known is not None:
                self._results.move_to_end(key)
            else:
                pending = self._results[key] = Future()
                while len(self._results) > self._keep:
                    self._results.popitem(last=False)
        if known is not None:
            return cast(T, known.result())
        try:
            pending.set_result(measure())
        except BaseException as error:
            # A broken picture may be mended before it is asked about again: remember no failure.
            pending.set_exception(error)
            with self._lock:
                self._results.pop(key, None)
        return cast(T, pending.result())
