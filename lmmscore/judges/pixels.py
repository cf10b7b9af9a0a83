"""The embedded judge: answers every turn in words, from what can be measured in pictures.

A baseline and a stand-in for trying things out, offline. It cannot read, and says so: it
sees which pictures were shown when, whether a turn holds words such as "score", and the shape of a
form.
"""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import exp
from types import SimpleNamespace
from typing import Any, Literal, TypeVar, cast

import numpy as np
import pyjson5
import scipy
from numpy.typing import NDArray
from PIL import Image

from lmmscore.conversation import Conversation, Message
from lmmscore.images import Picture, fit
from lmmscore.judges.judge import JudgeBase, register
from lmmscore.records import Reply

T = TypeVar("T")
Size = tuple[int, int]
FactorScores = dict[str, tuple[Fraction, float]]
"""By factor, its score to one decimal, and the grade from 0 to 1 behind it."""

MEASURED_SIDE_PX = 512
"""Pictures are measured at most this large, for time's sake.

It matters: at half the size, quality came out up to two points higher on a photograph, since
scaling down hides blur and noise.
"""


CAUTION = (
    "pixels is a baseline that cannot read instructions: it compares pixels, and its accuracy "
    "score only means that something changed."
)


@register("pixels", form="pixels", answers_here=True, takes=(), caution=CAUTION)
def open_pixels(_spec: str, _options: Mapping[str, Any]) -> Pixels:
    """Return the judge that measures; it has no options."""
    return Pixels()


class Pixels(JudgeBase):
    """Compares pixels; reads nothing. The same conversation always gets the same answer."""

    name = "pixels"
    parameters: Mapping[str, Any] = {"version": 1}
    """The version of what is measured and how it is graded."""
    caution = CAUTION

    def __init__(self) -> None:
        # Frames are large; a few suffice, since a source is compared with one edit after another.
        self._frames = _Memory(keep=4)

    async def ask(self, conversation: Conversation) -> Reply:
        """Answer the last message, measuring in another thread whatever was not measured before."""
        text = await asyncio.to_thread(self._answer, conversation.messages)
        return Reply(text, model="pixels-1")

    def _answer(self, messages: Sequence[Message]) -> str:
        """Return the answer to the last message: a form where one was shown, else by its kind."""
        pictures = shown(messages)
        form = find_form([message.text for message in messages if message.role != "assistant"])
        if form and pictures.edits:
            return self._filled(form, pictures)

        match kind_of(messages, pictures):
            case "greeting":
                return GREETING
            case "source":
                return describe_picture(self._described(cast(Picture, pictures.first)))
            case "factors":
                return MEASURABLE
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
                return THANKS
            case "waiting":
                return WAITING

    def _analysed(self, last: Message, pictures: PicturesShown) -> str:
        """Return what was measured of the edits that came with the last message."""
        edits = len(pictures.edits)
        new = range(edits - min(len(last.images), edits), edits)
        analyses = [analyse(place + 1, self._seen(pictures, place)) for place in new]
        return "\n\n".join(analyses)

    def _scores(self, messages: Sequence[Message], pictures: PicturesShown) -> list[FactorScores]:
        """Return the scores of every edit, on the scale and for the factors that were named."""
        low, high = scale_asked(messages)
        factors = factors_asked(messages)
        table = []
        for position in range(len(pictures.edits)):
            graded = grades(self._seen(pictures, position))
            scores: FactorScores = {}
            for factor in factors:
                grade = graded[facet_of(factor)]
                tenths = round(10 * (low + (high - low) * grade))
                scores[factor] = (Fraction(tenths, 10), grade)

            table.append(scores)

        return table

    def _scored(self, messages: Sequence[Message], pictures: PicturesShown) -> str:
        def lines(scores: FactorScores) -> list[tuple[str, str, str]]:
            return [
                (factor, f"{float(score):g}", remark(factor, grade))
                for factor, (score, grade) in scores.items()
            ]

        return score_block([lines(each) for each in self._scores(messages, pictures)])

    def _summed(self, messages: Sequence[Message], pictures: PicturesShown) -> str:
        weights = weights_asked(messages)
        overalls = []
        for scores in self._scores(messages, pictures):
            weighted = [weights.get(factor, 0) * score for factor, (score, _) in scores.items()]
            overalls.append(sum(weighted, Fraction()))

        return sums(overalls)

    def _filled(self, form: ScoreForm, pictures: PicturesShown) -> str:
        seen = [self._seen(pictures, position) for position in range(len(pictures.edits))]
        graded = [grades(each) for each in seen]

        def score(edit: int, factor: str) -> float:
            values = permitted(form, factor)
            aim = values[0] + (values[-1] - values[0]) * graded[edit][facet_of(factor)]
            nearest = min(values, key=lambda value: (abs(value - aim), value))
            return int(nearest) if nearest == int(nearest) else nearest

        return fill(form, len(seen), score, lambda edit, factor: reason(seen[edit], factor))

    def _described(self, picture: Picture) -> PictureFacts:
        return _FACTS.get(picture.digest, lambda: describe(self._frame(picture)))

    def _seen(self, pictures: PicturesShown, position: int) -> Seen:
        first, edit = cast(Picture, pictures.first), pictures.edits[position]
        facts = _FACTS.get((first.digest, edit.digest), lambda: self._compared(first, edit))
        marks = self._marks(first, pictures.marked, edit) if pictures.marked else None
        return Seen(facts, pictures.beside_truth, marks)

    def _compared(self, first: Picture, edit: Picture) -> EditFacts:
        frame = self._frame(first)
        return compare(frame, _measurable(edit, frame.size))

    def _marks(self, first: Picture, marked: Picture, edit: Picture) -> MarkFacts:
        def measure() -> MarkFacts:
            frame = self._frame(first)
            return within_marks(
                frame, _measurable(marked, frame.size), _measurable(edit, frame.size)
            )

        return _FACTS.get((first.digest, marked.digest, edit.digest), measure)

    def _frame(self, picture: Picture) -> Frame:
        return self._frames.get(picture.digest, lambda: _measurable(picture))


def _measurable(picture: Picture, size: Size | None = None) -> Frame:
    """Return the picture ready to be measured; of the given size, so that places correspond."""
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


_FACTS = _Memory(keep=4096)
"""What was measured, under the digests of the pictures: no run of a process measures it again."""

# --------------------------------------------------------------------------------------------------
# Measures: arrays in, facts out.
#
# Facts are rounded where they are made: the last bits of a float differ between machines, and a
# reply must not.
# --------------------------------------------------------------------------------------------------

Array = NDArray[np.floating]
Mask = NDArray[np.bool_]

VISIBLE_DELTA_E = 5.0
"""Colour differences (CIE76) below this are compression and noise to most eyes, not an edit."""

CONTENT_SIGMA_PX = 2.0
"""Grain and focus are smoothed away first: what was changed and kept is a matter of content.
"""

SEAM_BAND_PX = 3
SMALLEST_PX = 16
COLOURS = {
    "black": (0, 0, 0),
    "grey": (54, 0, 0),
    "white": (97, 0, 0),
    "red": (48, 62, 42),
    "orange": (68, 36, 62),
    "yellow": (86, 0, 72),
    "green": (55, -42, 38),
    "teal": (55, -30, -8),
    "blue": (45, 8, -48),
    "pale blue": (80, -10, -18),
    "violet": (38, 42, -48),
    "pink": (72, 38, 4),
    "brown": (40, 18, 30),
    "beige": (86, 3, 18),
}
"""Colour names with their place in CIE Lab."""


@dataclass(frozen=True, slots=True)
class PictureFacts:
    """One picture on its own."""

    width: int
    height: int
    brightness: float
    """Mean lightness, 0 (black) to 100 (white)."""
    contrast: float
    """Standard deviation of lightness."""
    blur: float
    """0 (sharp) to 1 (blurred), by re-blurring (skimage's blur_effect)."""
    noise: float
    """Noise sigma in levels of 255, from wavelets."""
    colours: tuple[str, ...]
    """The commonest colours, most frequent first."""


@dataclass(frozen=True, slots=True)
class EditFacts:
    """An edit beside the picture it was made from."""

    changed: float
    """Share of the frame that changed visibly, 0 to 1."""
    change: float
    """Mean colour difference inside the changed region (CIE76)."""
    where: str
    """The thirds of the frame with most of the change, in words; empty when nothing changed."""
    kept: float
    """Structural similarity of content outside the changed region, 1 when nothing else moved."""
    drift: float
    """Mean colour difference outside the changed region."""
    cast: str
    """The direction of a common colour shift outside the region, in words, if any."""
    detail: float
    """Steepness of the first picture's edges outside the region; below 1 is softer."""
    blur: float
    """As for a picture on its own."""
    noise_added: float
    """Noise sigma above that of the first picture, in levels of 255."""
    seam: float
    """Steps and rims along the border of the region, beyond those around it and before."""
    likeness: float
    """Structural similarity of the whole frame."""


@dataclass(frozen=True, slots=True)
class MarkFacts:
    """An edit beside marks drawn on the picture it was made from."""

    inside: float
    """Share of the change that lies within the marked box."""
    covered: float
    """Share of the marked box that changed."""


_LOADING = threading.Lock()


@cache
def _tools() -> SimpleNamespace:
    """Return what scikit-image has to measure with.

    It takes a second to load, and a run that asks nothing new has no use for it.
    """
    # One thread at a time: its parts import each other, and threads that begin at different ends
    # would be given half a module.
    with _LOADING:
        from skimage.color import rgb2gray, rgb2lab
        from skimage.filters import sobel, threshold_otsu
        from skimage.measure import blur_effect
        from skimage.metrics import structural_similarity
        from skimage.morphology import disk
        from skimage.restoration import estimate_sigma

    return SimpleNamespace(
        rgb2gray=rgb2gray,
        rgb2lab=rgb2lab,
        sobel=sobel,
        threshold_otsu=threshold_otsu,
        blur_effect=blur_effect,
        structural_similarity=structural_similarity,
        disk=disk,
        estimate_sigma=estimate_sigma,
    )


def _known(value: float) -> float:
    return value if np.isfinite(value) else 0.0


class Frame:
    """A picture with what is computed from it more than once; `size` is width and height."""

    def __init__(self, pixels: NDArray[np.uint8]) -> None:
        self.size = (pixels.shape[1], pixels.shape[0])
        # Every measure looks at a neighbourhood: a picture smaller than that is seen magnified.
        larger = -(-SMALLEST_PX // min(self.size))
        pixels = pixels.repeat(larger, axis=0).repeat(larger, axis=1) if larger > 1 else pixels
        unit = pixels.astype(np.float32) / 255
        tools = _tools()
        self.lab: Array = tools.rgb2lab(unit)
        self.gray: Array = tools.rgb2gray(unit)
        self.edges: Array = tools.sobel(self.gray)
        self.content: Array = scipy.ndimage.gaussian_filter(
            self.lab, (CONTENT_SIGMA_PX, CONTENT_SIGMA_PX, 0)
        )
        self.noise = 0.0
        self.blur = 0.0
        # A picture of one colour has neither noise nor edges to measure blur by: the measures would
        # give NaN.
        if float(np.ptp(self.gray)) >= 1e-6:
            self.noise = _known(float(tools.estimate_sigma(self.gray))) * 255
            self.blur = _known(float(tools.blur_effect(self.gray)))

    def rims(self) -> Array:
        """Return thin lines lighter or darker than both sides; a plain step leaves no trace."""
        line_px = _tools().disk(SEAM_BAND_PX)
        closed = scipy.ndimage.grey_closing(self.gray, footprint=line_px)
        opened = scipy.ndimage.grey_opening(self.gray, footprint=line_px)
        return np.asarray(np.maximum(self.gray - opened, closed - self.gray))


def describe(frame: Frame) -> PictureFacts:
    """Return the facts of one picture."""
    height, width = frame.gray.shape
    lightness = frame.lab[..., 0]
    return PictureFacts(
        width,
        height,
        round(float(lightness.mean()), 1),
        round(float(lightness.std()), 1),
        round(frame.blur, 3),
        round(frame.noise, 2),
        _colours(frame.lab),
    )


def _colours(lab: Array) -> tuple[str, ...]:
    """Return the names of up to three colours, each of at least 8% of the pixels."""
    pixels = lab[::4, ::4].reshape(-1, 1, 3)
    nearest = np.linalg.norm(pixels - np.array(list(COLOURS.values())), axis=2).argmin(axis=1)
    counts = np.bincount(nearest, minlength=len(COLOURS))
    order = np.argsort(-counts, kind="stable")[:3]
    names = list(COLOURS)
    return tuple(names[index] for index in order if counts[index] >= 0.08 * len(pixels))


def compare(first: Frame, edit: Frame) -> EditFacts:
    """Return the facts of an edit beside the picture it was made from; both of one size."""
    delta = difference(first, edit)
    region = changed_region(delta)
    rest = ~scipy.ndimage.binary_dilation(region, iterations=SEAM_BAND_PX)
    likeness, similar = _tools().structural_similarity(
        first.content[..., 0], edit.content[..., 0], data_range=100.0, full=True
    )
    return EditFacts(
        changed=round(float(region.mean()), 3),
        change=round(_mean(delta, region), 1),
        where=_where(region),
        kept=round(_mean(similar, rest, 1.0), 3),
        drift=round(_mean(delta, rest), 1),
        cast=_cast(edit.content - first.content, rest),
        detail=round(_detail(first, edit, rest), 2),
        blur=round(edit.blur, 3),
        noise_added=round(max(0.0, edit.noise - first.noise), 1),
        seam=round(_seam(first, edit, region), 2),
        likeness=round(float(likeness), 3),
    )


def difference(first: Frame, edit: Frame) -> Array:
    """Return the colour difference of content at every pixel (CIE76)."""
    return np.asarray(np.linalg.norm(edit.content - first.content, axis=2))


def changed_region(delta: Array) -> Mask:
    """Return where an edit was made: the larger differences, as far as they are visible at all.

    The threshold is Otsu's, so that a cast over the whole picture does not pass for an edit of
    everything.
    """
    if delta.max() < VISIBLE_DELTA_E:
        return np.zeros(delta.shape, dtype=bool)
    return np.asarray(delta > max(VISIBLE_DELTA_E, float(_tools().threshold_otsu(delta))))


def within_marks(first: Frame, marked: Frame, edit: Frame) -> MarkFacts:
    """Return how far the change lies where the marks are."""
    drawn = np.linalg.norm(marked.lab - first.lab, axis=2) > 3 * VISIBLE_DELTA_E
    region = changed_region(difference(first, edit))
    if not drawn.any() or not region.any():
        return MarkFacts(0.0, 0.0)

    rows, columns = np.flatnonzero(drawn.any(1)), np.flatnonzero(drawn.any(0))
    box = np.zeros(drawn.shape, dtype=bool)
    box[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] = True
    return MarkFacts(round(_mean(box, region), 2), round(_mean(region, box), 2))


def _mean(values: Array | Mask, mask: Mask, otherwise: float = 0.0) -> float:
    return float(values[mask].mean()) if mask.any() else otherwise


def _where(region: Mask) -> str:
    """Return the place of a region in words; empty for no region."""
    if not region.any():
        return ""

    rows = [part.sum() for part in np.array_split(region, 3, axis=0)]
    columns = [part.sum() for part in np.array_split(region, 3, axis=1)]
    vertical = _third(rows, ("top", "middle", "bottom"))
    horizontal = _third(columns, ("left", "centre", "right"))
    if not vertical and not horizontal:
        return "spread over the frame"
    return f"mostly in the {' '.join(part for part in (vertical, horizontal) if part)} of the frame"


def _third(parts: list[int], names: tuple[str, str, str]) -> str:
    # Half of all change in one third is a place; anything less is spread.
    return names[int(np.argmax(parts))] if max(parts) > 0.5 * sum(parts) else ""


def _cast(shift: Array, rest: Mask) -> str:
    """Return the common shift of colours outside the region, in words; empty if too small."""
    if not rest.any():
        return ""

    lightness, red, yellow = (float(shift[..., axis][rest].mean()) for axis in range(3))
    words = [
        ("lighter", "darker", lightness),
        ("redder", "greener", red),
        ("yellower", "bluer", yellow),
    ]
    return " and ".join(
        up if value > 0 else down for up, down, value in words if abs(round(value, 1)) >= 2.0
    )


def _detail(first: Frame, edit: Frame, rest: Mask) -> float:
    """Return the steepness of edges, as a part of what it was; 1 where there are none."""
    # Only where the first picture has edges: elsewhere grain would pass for detail.
    if rest.mean() < 0.01:
        return 1.0
    strong = rest & (first.edges >= np.quantile(first.edges[rest], 0.95))
    before = _mean(first.edges, strong)
    return _mean(edit.edges, strong) / before if before > 0.005 else 1.0


def _seam(first: Frame, edit: Frame, region: Mask) -> float:
    """Return what stands out along the border, a steeper step or a rim, in percent of the range."""
    grown = scipy.ndimage.binary_dilation(region, iterations=SEAM_BAND_PX)
    border = grown & ~scipy.ndimage.binary_erosion(region, iterations=SEAM_BAND_PX, border_value=1)
    wider = scipy.ndimage.binary_dilation(region, iterations=4 * SEAM_BAND_PX) & ~border
    if not border.any() or not wider.any():
        return 0.0

    before, after = (
        _mean(frame.edges, border) - _mean(frame.edges, wider) for frame in (first, edit)
    )
    rims = edit.rims()
    rim = _mean(rims, border) - _mean(rims, wider)
    return 100 * (max(0.0, after - max(0.0, before)) + max(0.0, rim))


# --------------------------------------------------------------------------------------------------
# What a turn asks for, by its shape: which pictures came when, and a few words it may hold. See
# docs/decisions/0011.
# --------------------------------------------------------------------------------------------------

TurnKind = Literal[
    "greeting", "waiting", "source", "factors", "analysis", "verdict", "scores", "sums", "thanks"
]

# What is scored where the words name no factors and no weights: those of `lmm-score`.
WEIGHTS = {
    "acc": Fraction(2, 5),
    "pre": Fraction(3, 10),
    "qua": Fraction(1, 5),
    "real": Fraction(1, 10),
}

_TRUTH = re.compile(
    r"ground[- ]?truth|reference (?:image|picture|edit)|(?:ideal|perfect|correct(?:ly)?) edit", re.I
)
_MARKED = re.compile(
    r"\b(?:marks?|marked|drawn|drew|sketch\w*|annotat\w*|visual instructions?)\b", re.I
)
_SCORING = re.compile(r"\b(?:re-?)?(?:scor|rat|grad)(?:e|es|ed|ing)\b|S\\?_", re.I)
_SUMS = re.compile(r"S\\?_\\?\{?all|weighted (?:sum|mean|average)|overall scores?", re.I)
_SYMBOL = re.compile(r"S\\?_\\?\{?([A-Za-z]+)")
_WEIGHT = re.compile(r"(\d*\.\d+)\s*(?:\\times|\\cdot|[*·×])?\s*\$?\s*S\\?_\\?\{?([A-Za-z]+)")
_SCALE = re.compile(r"\b([01])\s*(?:to|-|–|—|and)\s*(\d{1,3})\b(?!\s*(?:words|sentences|%))")


@dataclass(frozen=True, slots=True)
class PicturesShown:
    """The pictures of a conversation, by the part they play."""

    first: Picture | None
    """The source, or the wanted result where the conversation shows that instead."""
    marked: Picture | None
    edits: tuple[Picture, ...]
    beside_truth: bool


def shown(messages: Sequence[Message]) -> PicturesShown:
    """Return which picture is what: the first is compared with, the rest are edits."""
    groups = [message.images for message in messages if message.role == "user" and message.images]
    if not groups:
        return PicturesShown(None, None, (), False)

    words = said(messages)
    opening = groups[0]
    later = tuple(itertools.chain.from_iterable(groups[1:]))

    marked = None
    together = opening[1:]
    if len(opening) == 3 and _MARKED.search(words):
        marked, together = opening[1], opening[2:]

    beside_truth = False
    if together and marked is None:
        beside_truth = bool(_TRUTH.search(words))

    # Edits that come one by one are the edits; what was shown along with the first picture was to
    # explain.
    return PicturesShown(opening[0], marked, later or together, beside_truth)


def said(messages: Sequence[Message]) -> str:
    """Return everything that was said to the judge."""
    return "\n".join(message.text for message in messages if message.role != "assistant")


def kind_of(messages: Sequence[Message], pictures: PicturesShown) -> TurnKind:
    """Return what the last message asks for."""
    last = messages[-1]
    if last.images and not pictures.edits:
        return "source"

    if last.images:
        # Everything at once, with a word about scoring: there will be no later turn to score in.
        at_once = len(last.images) > 1 and _SCORING.search(last.text)
        return "verdict" if at_once else "analysis"

    if pictures.edits:
        return _after_edits(last.text)
    if pictures.first is None:
        return "greeting" if len(messages) <= 2 else "waiting"
    return "factors" if _SCORING.search(last.text) else "waiting"


def _after_edits(text: str) -> TurnKind:
    if _SUMS.search(text) and (_WEIGHT.search(text) or "weight" in text.lower()):
        return "sums"
    return "scores" if _SCORING.search(text) or "missing" in text.lower() else "thanks"


def factors_asked(messages: Sequence[Message]) -> tuple[str, ...]:
    """Return the sub-scores named, `acc` for `S_acc`, in order; the usual four where none is."""
    found = dict.fromkeys(symbol.lower() for symbol in _SYMBOL.findall(said(messages)))
    found.pop("all", None)
    return tuple(found) or tuple(WEIGHTS)


def weights_asked(messages: Sequence[Message]) -> dict[str, Fraction]:
    """Return the weights before sub-scores, as in `0.4 S_acc`; the usual ones where none are."""
    found = {symbol.lower(): Fraction(weight) for weight, symbol in _WEIGHT.findall(said(messages))}
    return found or WEIGHTS


def scale_asked(messages: Sequence[Message]) -> tuple[int, int]:
    """Return the ends of the scale: the widest range from 0 or 1 that was named, or 1 to 10."""
    # A turn with pictures quotes the instruction, and "from 1 to 20 candles" is no scale.
    wordy = said([message for message in messages if not message.images])
    found = _SCALE.findall(wordy) or _SCALE.findall(said(messages))
    ranges = [(int(low), int(high)) for low, high in found if int(high) > int(low)]
    return max(ranges, key=lambda ends: ends[1] - ends[0], default=(1, 10))


# --------------------------------------------------------------------------------------------------
# Forms: JSON that is shown to be filled in, as published prompts write it. Placeholders stand where
# values belong (<your score>, 0-10, "...") and are rarely valid JSON, so they are quoted first.
# --------------------------------------------------------------------------------------------------

SCORE_KEYS = {"score", "rating", "value"}
REASON_KEYS = {
    "reason",
    "reasons",
    "reasoning",
    "justification",
    "explanation",
    "rationale",
    "comment",
    "analysis",
}

_QUOTED_OR_BLANK = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>{}]*>')
# A value without quotes: up to the next comma, or, where that leaves no JSON, to the line's end.
_BARE_TO_COMMA = re.compile(r'(:[ \t]*)(?![\s"{\[])([^,}\]\n]*?)(?=[ \t]*[,}\]\n])')
_BARE_TO_LINE_END = re.compile(r'(:[ \t]*)(?![\s"{\[])([^\n{}]*?)(?=,?[ \t]*[}\n])')
_DOTS = re.compile(r"^\s*(?:\.\.\.|…),?\s*$", re.M)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?|true|false|null")

# How a scale is put in words: "0, 0.5 or 1"; "a score of 1 … a score of 0.5"; "0 to 10".
_LIST = re.compile(
    r"(?<![\d.])\d(?:\.\d+)?(?:\s*(?:,\s*or|,|/|\||or|and)\s*\d(?:\.\d+)?(?![\d.]*\d))+"
)
_ONE_BY_ONE = re.compile(
    r"(?:\bscore\s*(?:of|=|:|is)?\s*|\*\s*|-\s*)(0\.5|0|1)\b(?!\s*(?:[-–—]|to)\s*\d)", re.I
)
_RULE = re.compile(r"^[ \t]*[-=_*]{4,}[ \t]*$", re.M)
_RANGE = re.compile(
    r"(?<![\d.])([01])[\s_]*(?:to|-|–|—|and|through|\.\.)[\s_]*(\d{1,3})(?![\d.]*\d)(?!\s*words)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class ScoreForm:
    """A JSON form to fill in, and the words around it."""

    blank: Any
    words: str

    @property
    def factors(self) -> list[str]:
        """The names under which scores are asked for."""
        return [factor for factor, _ in _slots(self.blank)]


def find_form(texts: Sequence[str]) -> ScoreForm | None:
    """Return the fullest form that asks for scores, the latest of equals, or None."""
    found = [
        ScoreForm(blank, text) for text in texts for blank in _objects(text) if list(_slots(blank))
    ]
    return max(reversed(found), key=lambda form: len(form.factors), default=None)


def _objects(text: str) -> Iterator[Any]:
    """Yield every JSON object in a text that can be read, the outermost of each."""
    start = text.find("{")

    while start >= 0:
        end = _closing(text, start)
        blank = _read(text[start:end]) if end else None
        if isinstance(blank, dict):
            yield blank

        start = text.find("{", end if end and blank is not None else start + 1)


def _closing(text: str, start: int) -> int:
    """Return the place after the brace that closes the one at `start`, or 0."""
    depth = 0
    for match in re.finditer(r'"(?:[^"\\\n]|\\.)*"|[{}]', text[start:]):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return start + match.end()
    return 0


def _read(text: str) -> Any:
    """Return a form as data; None where it cannot be read."""
    quoted = _QUOTED_OR_BLANK.sub(
        lambda m: m[0] if m[0][0] == '"' else json.dumps(m[0]), _DOTS.sub("", text)
    )
    for bare in (_BARE_TO_COMMA, _BARE_TO_LINE_END):
        try:
            return pyjson5.decode(bare.sub(_quote_bare, quoted))
        except pyjson5.Json5DecoderException:
            continue

    return None


def _quote_bare(match: re.Match[str]) -> str:
    value = match[2].strip()
    return match[0] if _NUMBER.fullmatch(value) else match[1] + json.dumps(value)


def _slots(node: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every factor a score is asked for, with what stands in its place."""
    if isinstance(node, list):
        # The entries of a form's list are alike.
        for entry in node[:1]:
            yield from _slots(entry, name)

        return

    pairs = node.items() if isinstance(node, dict) else ()
    for key, value in pairs:
        if isinstance(value, dict | list):
            yield from _slots(value, key)
            continue

        if key.lower() in SCORE_KEYS:
            yield name or key, value
        elif _is_number(value):
            yield key, value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def permitted(form: ScoreForm, factor: str) -> tuple[float, ...]:
    """Return the scores a factor may get, by the words nearest to it."""
    beside = dict(_slots(form.blank)).get(factor)
    for words in (str(beside) if isinstance(beside, str) else "", _about(form, factor)):
        values = _values(words)
        if values:
            return values

    values = _values(form.words) or tuple(range(1, 11))
    # A half that is allowed to some factor or other need not be allowed to this one.
    return tuple(value for value in values if value == int(value))


def _about(form: ScoreForm, factor: str) -> str:
    """Return the passage from the factor's first mention to the next factor or a ruled line."""
    names = {name: re.sub(r"[_\W]+", r"[\\s_]+", name) for name in form.factors}
    any_name = re.compile("|".join(f"(?:{pattern})" for pattern in names.values()), re.I)
    mentions = list(any_name.finditer(form.words))
    own = re.compile(names[factor], re.I)
    for mention, following in zip(mentions, [*mentions[1:], None], strict=True):
        if own.fullmatch(mention[0]):
            passage = form.words[mention.start() : following.start() if following else None]
            return _RULE.split(passage)[0]

    return ""


def _values(words: str) -> tuple[float, ...]:
    """Return the scores that a passage allows, in order; none where it does not say."""
    listed = [(match.start(), _numbers(match[0])) for match in _LIST.finditer(words)]
    listed = [(start, numbers) for start, numbers in listed if numbers[0] == 0 and numbers[-1] == 1]
    start = listed[0][0] if listed else len(words)
    # Values given one by one before any list are this factor's own; the list may speak of all
    # factors.
    singles = {float(match[1]) for match in _ONE_BY_ONE.finditer(words) if match.start() < start}
    if len(singles) > 1:
        return tuple(sorted(singles))
    if listed:
        return listed[0][1]

    ranges = [(int(low), int(high)) for low, high in _RANGE.findall(words) if int(high) > int(low)]
    low, high = max(ranges, key=lambda ends: ends[1] - ends[0], default=(0, -1))
    return tuple(range(low, high + 1))


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(sorted({float(number) for number in re.findall(r"\d(?:\.\d+)?", text)}))


def fill(
    form: ScoreForm,
    edits: int,
    score: Callable[[int, str], float],
    reason: Callable[[int, str], str],
) -> str:
    """Return the form filled in; `score` and `reason` take an edit's index and a factor."""

    def filled(node: Any, edit: int, name: str = "") -> Any:
        if isinstance(node, list):
            return [filled(node[0], each, name) for each in range(edits)] if node else []
        if isinstance(node, dict):
            return {key: entry(key, value, edit, name) for key, value in node.items()}
        return f"image {edit + 1}" if isinstance(node, str) else node

    def entry(key: str, value: Any, edit: int, name: str) -> Any:
        if isinstance(value, dict | list):
            return filled(value, edit, key)
        if key.lower() in SCORE_KEYS:
            return score(edit, name or key)
        if _is_number(value):
            return score(edit, key)

        return (
            reason(edit, name or "overall") if key.lower() in REASON_KEYS else filled(value, edit)
        )

    return json.dumps(filled(form.blank, edits - 1), indent=2)


# --------------------------------------------------------------------------------------------------
# Grades from 0 to 1 for each side of an edit. A larger fault never grades higher. The constants say
# at which size a fault has cost two thirds of a grade. They were set by eye on photographs and
# drawings, not fitted to any ratings.
# --------------------------------------------------------------------------------------------------

CHANGE_DELTA_E = 20.0
MISS_DELTA_E = 25.0
DRIFT_DELTA_E = 22.0
KEPT_LOSS = 0.40
DETAIL_LOSS = 0.70
NOISE_LEVELS = 11.0
SEAM_PERCENT = 12.0


@dataclass(frozen=True, slots=True)
class Seen:
    """An edit as the judge has seen it."""

    facts: EditFacts
    beside_truth: bool
    """Whether the first picture is the wanted result instead of the source."""
    marks: MarkFacts | None


_WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("target", ("locali", "operator", "sketch", "target")),
    ("identity", ("identity", "scale", "structure")),
    ("seam", ("seam", "blend", "transition")),
    ("texture", ("texture", "detail", "sharp")),
    ("colour", ("consist", "color", "colour", "light")),
    ("kept", ("unchanged", "preserv", "context", "spatial", "pre")),
    ("quality", ("qua", "noise", "artifact", "artefact")),
    ("realism", ("real", "plausib", "logic", "natural")),
    (
        "change",
        (
            "acc",
            "align",
            "complet",
            "complian",
            "adher",
            "action",
            "instruct",
            "semantic",
            "follow",
        ),
    ),
)
"""What parts of a factor's name mean.

The special come first: "identity preservation" is about identity.
"""


def facet_of(factor: str) -> str:
    """Return the facet nearest to a factor's name, such as `S_acc` or `Visual Quality`."""
    name = factor.lower()
    return next(
        (facet for facet, parts in _WORDS if any(part in name for part in parts)), "overall"
    )


def grades(seen: Seen) -> dict[str, float]:
    """Return the grade of every facet, 0 to 1."""
    facts = seen.facts
    kept = _cost(1 - facts.kept, KEPT_LOSS) * _cost(facts.drift, DRIFT_DELTA_E)
    sharp = _cost(max(0.0, 1 - facts.detail), DETAIL_LOSS)
    clean = _cost(facts.noise_added, NOISE_LEVELS)
    smooth = _cost(facts.seam, SEAM_PERCENT)
    colour = _cost(facts.drift, DRIFT_DELTA_E)
    result = {
        "change": _change(seen),
        "kept": kept,
        "identity": _cost(1 - facts.kept, KEPT_LOSS) * sharp,
        "colour": colour,
        "texture": sharp * clean,
        "quality": sharp * clean * smooth**0.3,
        "seam": smooth,
        "realism": smooth * colour**0.5,
        "target": _target(seen),
    }
    result["overall"] = sum(result.values()) / len(result)
    return result


def _cost(size: float, scale: float) -> float:
    return exp(-size / scale)


def _change(seen: Seen) -> float:
    """Return how much happened; beside the wanted result, how near the edit came to it."""
    if seen.beside_truth:
        return _cost(seen.facts.change, MISS_DELTA_E) * max(0.0, seen.facts.likeness)
    return 1 - _cost(seen.facts.change, CHANGE_DELTA_E)


def _target(seen: Seen) -> float:
    if seen.marks is None:
        return _change(seen)
    return seen.marks.inside * _change(seen)


# --------------------------------------------------------------------------------------------------
# Words for what was measured. Nothing else is said, and accuracy is never called more than
# "something changed".
# --------------------------------------------------------------------------------------------------

TITLES = {
    "acc": "Editing Accuracy",
    "pre": "Contextual Preservation",
    "qua": "Visual Quality",
    "real": "Logical Realism",
}

GREETING = f"Ready. A word before we begin: {CAUTION}"
WAITING = (
    "Understood. I describe every picture as soon as it is shown, from what can be measured in it."
)
THANKS = (
    "Noted. All of it stands as measured; I can score the edited images whenever that is asked for."
)
NEXT = "I keep the scores until all images have been shown."

MEASURABLE = """\
Clear. This is what I can measure for each factor:

1. **Editing Accuracy:** how much of the frame changed and how strongly. \
I cannot read the instruction, so
   this only tells that something changed, not that it is the right thing.
2. **Contextual Preservation:** likeness and colour drift outside the changed region.
3. **Visual Quality:** edge sharpness compared with the first picture, and noise added to it.
4. **Logical Realism:** seams and rims along the border of the changed region, \
and a cast on the rest."""


def describe_picture(facts: PictureFacts) -> str:
    """Return a description of the first picture."""
    colours = " and ".join(facts.colours) or "many different tones"
    light = _graded(
        facts.brightness,
        (25, "very dark"),
        (45, "dark"),
        (65, "of medium brightness"),
        (101, "bright"),
    )
    contrast = _graded(facts.contrast, (8, "low"), (20, "moderate"), (101, "strong"))
    edges = _graded(
        facts.blur, (0.3, "crisp"), (0.45, "fairly sharp"), (0.6, "soft"), (2, "blurred")
    )
    noise = _graded(facts.noise, (1.5, "hardly any noise"), (5, "some noise"), (999, "much noise"))
    return (
        f"The picture is {facts.width} by {facts.height} pixels as I see it, mostly {colours}. It "
        f"is {light} (mean lightness {facts.brightness:g}), with {contrast} contrast (spread "
        f"{facts.contrast:g}), {edges} edges and {noise} (sigma {facts.noise:g}). What it shows, "
        "and what the instruction asks for, I cannot tell; I will measure how each edited image "
        "differs from it."
    )


def analyse(position: int, seen: Seen) -> str:
    """Return the analysis of one edit under the four headings."""
    lines = [f"Edited image {position}, measured against the first picture:", ""]
    for number, (factor, title) in enumerate(TITLES.items(), 1):
        lines.append(f"{number}. **{title}:** {reason(seen, factor)}")
    return "\n".join([*lines, "", NEXT])


def reason(seen: Seen, factor: str) -> str:
    """Return what was measured for a factor, in one sentence of about 15 to 30 words."""
    facts, facet = seen.facts, facet_of(factor)
    if facet == "target" and seen.marks is not None:
        return (
            f"{_percent(seen.marks.inside)} of the visible change lies inside the marked box, and "
            f"{_percent(seen.marks.covered)} of that box changed; its meaning cannot be read."
        )
    if facet in {"change", "target"}:
        facet = "change" if facts.changed else "nothing"
        if seen.beside_truth:
            facet = "truth"

    return _SENTENCES[facet].format(
        facts=facts,
        changed=_percent(facts.changed),
        steepness=_percent(facts.detail),
        cast=f" ({facts.cast})" if facts.cast else "",
    )


_KEPT = (
    "Outside the changed region the content is {facts.kept:.2f} alike, where 1 is identical, and "
    "colours drift by {facts.drift:g}{cast} on average."
)
_QUALITY = (
    "Edges that both pictures share have {steepness} of their former steepness, and the noise rose "
    "by {facts.noise_added:g} levels of 255 over the frame."
)
_SENTENCES = {
    "nothing": (
        "No visible change was found anywhere in the frame, so what was asked for was hardly done "
        "at all."
    ),
    "change": (
        "{changed} of the frame changed, {facts.where}, by a colour difference of "
        "{facts.change:g}; whether this is what was asked for cannot be told."
    ),
    "truth": (
        "{changed} of the frame misses the wanted picture, by a colour difference of "
        "{facts.change:g}; the whole is {facts.likeness:.2f} alike, where 1 is identical."
    ),
    "kept": _KEPT,
    "identity": _KEPT,
    "colour": (
        "Colours outside the changed region drift by {facts.drift:g} on average{cast}, while "
        "{changed} of the frame counts as changed."
    ),
    "texture": _QUALITY,
    "quality": _QUALITY,
    "seam": (
        "Along the border of the changed region, steps and rims stand out by {facts.seam:g} "
        "percent of the range, beyond what surrounds them."
    ),
    "realism": (
        "The border of the changed region stands out by {facts.seam:g} percent of the range, and "
        "the rest drifts by {facts.drift:g} in colour{cast}; physical sense cannot be measured."
    ),
    "overall": _KEPT,
}


def score_block(blocks: Sequence[Sequence[tuple[str, str, str]]]) -> str:
    """Return every edit's scores; each entry is a factor, its score and a short remark."""
    lines = ["These are my scores, from measured facts only:"]
    for position, block in enumerate(blocks, 1):
        lines += ["", f"**Image {position}:**", ""]
        lines += [f"* S_{factor}: {score} {remark}" for factor, score, remark in block]
    return "\n".join(lines)


def remark(factor: str, grade: float) -> str:
    """Return a few words on a score, without a digit in them: they stand right behind the score."""
    words = _REMARKS.get(facet_of(factor), _REMARKS["quality"])
    return words[min(3, int(grade * 4))]


_REMARKS = {
    "change": (
        "Hardly anything changed.",
        "Something changed, faintly.",
        "Something changed.",
        "Something changed, plainly.",
    ),
    "kept": (
        "The rest did not stay as it was.",
        "The rest shifted visibly.",
        "The rest shifted a little.",
        "The rest stayed as it was.",
    ),
    "quality": (
        "Much sharpness lost or much noise added.",
        "Softer or noisier than before.",
        "A little softer or noisier than before.",
        "As sharp and clean as before.",
    ),
    "realism": (
        "Strong seams or a strong colour cast.",
        "Visible seams or a colour cast.",
        "Slight seams or a slight colour cast.",
        "No seam and no cast to speak of.",
    ),
}


def sums(overalls: Sequence[Fraction]) -> str:
    """Return the weighted sums, one edit a line, written out exactly."""
    lines = [
        f"- Image {position}: {_decimal(overall)}" for position, overall in enumerate(overalls, 1)
    ]
    return "\n".join(
        ["The weighted sums of my scores are:", "", *lines, "", f"Please bear in mind: {CAUTION}"]
    )


def _decimal(number: Fraction) -> str:
    text = f"{float(number):.4f}".rstrip("0")
    return text + "0" if text.endswith(".") else text


def _percent(share: float) -> str:
    return f"{100 * share:.0f} percent" if share >= 0.01 or share == 0 else "Less than 1 percent"


def _graded(value: float, *steps: tuple[float, str]) -> str:
    return next((word for limit, word in steps if value < limit), steps[-1][1])
