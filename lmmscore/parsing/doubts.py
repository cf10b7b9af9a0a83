"""What a judge says of its own scores, and which of them it leaves: all, some images', or none.

What stands apart from the entries (above all of them, behind all of them, as a caption) must be
known to be harmless. What stands amid them explains them, and may say of pictures what it likes;
there only words that void scores count. Notes and flags beside scores (in JSON, XML and YAML) are
read by their keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cache, partial
from itertools import chain, pairwise

from lmmscore.parsing.lexicon import NO_SCORE, any_of, row_of
from lmmscore.parsing.names import UNKNOWN, ImageName, Names
from lmmscore.parsing.numbers import (
    LIKERT,
    is_upside_down,
    speaks_of_scale_without,
    stated_tops,
    values_in,
)
from lmmscore.parsing.page import Line, Page
from lmmscore.parsing.remarks import (
    announces,
    asks,
    asks_for_pictures,
    commands,
    describes,
    doubts_one,
    explains,
    grounds,
    is_about_a_scale,
    is_alarming,
    is_anothers,
    is_doubtful,
    is_final,
    is_foreign,
    is_harmless,
    is_innocent,
    is_known_to_void,
    is_neutral,
    is_no_verdict,
    is_of_an_answer,
    is_of_lettering,
    is_of_other_work,
    is_of_the_picture,
    is_of_the_source,
    is_plain,
    is_said_by_another,
    is_total,
    is_unsettling_note,
    kind_of,
    leads_astray,
    lists_several,
    makes_up,
    may_be_unseen,
    prefers_low,
    puts_in_doubt,
    puts_off,
    recants,
    reorders,
    sees_nothing,
    sees_part,
    sets_bounds,
    speaks_of_scores,
    takes_back,
    tells_of_pictures,
    unsettles,
)
from lmmscore.parsing.revisions import Scored, revised, revises, scored_lines
from lmmscore.parsing.text import Span
from lmmscore.parsing.verdict import Cell, Kind, Said

_SENTENCE_END = re.compile(
    r"[.!?。！？](?<!\bmax\.)(?<!\bmin\.)(?<!\bno\.)(?<!\bvs\.)(?<!\bp\.s\.)(?<!\be\.g\.)(?<!\bi\.e\.)"
    r"(?=\s|$|[\"'”’)]|[\u3040-\u9fff\uac00-\ud7af])\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Voids:
    """What of a reply counts for nothing."""

    all: str = ""
    """Why none of its scores count."""
    images: frozenset[int] = frozenset()
    """Images of which the judge says that it did not see them."""
    cells: frozenset[Cell] = frozenset()
    """Single scores that were taken back."""
    before: int = 0
    """Up to where in the reply everything was taken back."""
    stretches: frozenset[Span] = frozenset()
    """Where in the reply scores stand that are none, whatever others are given elsewhere."""
    doubts: tuple[str, ...] = ()
    """What is not understood, as it was written, where nothing else voids these scores."""

    def keep(self, said: Sequence[Said]) -> list[Said]:
        """Return what is left."""
        if self.all:
            return []
        if not (self.images or self.cells or self.before or self.stretches):
            return list(said)

        return [
            each
            for each in said
            if each.mark.span[0] >= self.before
            and each.cell[0] not in self.images
            and each.cell not in self.cells
            and not any(start <= each.mark.span[0] < end for start, end in self.stretches)
        ]


class _Place(Enum):
    """Where a sentence stands: ahead of all scores, amid them, or apart behind all of them."""

    AHEAD = "ahead"
    AMID = "amid"
    BEHIND = "behind"


@dataclass(slots=True)
class _Sentence:
    """A sentence that is no part of an entry."""

    text: str
    start: int
    line: Line
    place: _Place
    images: list[tuple[int, ...]]
    """The images it names."""
    factors: set[str]
    """The factors it names."""
    low: bool
    """Whether the dialog has factors of which low scores are the good ones."""

    @property
    def is_caption(self) -> bool:
        return self.text.rstrip().endswith(":") and not self.images

    @property
    def positions(self) -> set[int]:
        return {position for positions in self.images for position in positions}


def voids(
    page: Page, entries: Sequence[bool], said: Sequence[Said], notes: Iterable[Note]
) -> Voids:
    """Return what the judge itself says of its scores that makes them count for nothing.

    Where all of them do because of what is not understood, and nothing else, that is told, too.
    """
    asked = {factor.scale.high for factor in page.names.factors}
    images: frozenset[int] = frozenset()
    cells: frozenset[Cell] = frozenset()
    stretches: frozenset[Span] = frozenset()
    before = 0
    doubtful: list[Voids] = []
    lines = scored_lines(page, said)
    # Asked only where something is said that is not known.
    explained = cache(partial(_is_explained, page, said))

    for found in chain(
        _by_notes(page, notes, said, asked),
        _by_sentences(page, entries, said, revised(page, lines), asked, explained=explained),
        _by_asides(page, lines),
        _by_leads(page, lines, asked),
        _by_captions(page, entries, asked, explained=explained),
    ):
        if found.doubts:
            doubtful.append(found)
            continue

        if found.all:
            return Voids(all=_first(doubtful) or found.all)

        images |= found.images
        cells |= found.cells
        stretches |= found.stretches
        before = max(before, found.before)

    void = _first(doubtful)
    doubts = tuple(dict.fromkeys(doubt for found in doubtful for doubt in found.doubts))
    if not void:
        images = images.union(*(found.images for found in doubtful))

    if not void or len(doubts) > _MOST_DOUBTS or max(map(len, doubts)) > _LONGEST_DOUBT:
        doubts = ()
    return Voids(void, images, cells, before, stretches, doubts)


_MOST_DOUBTS = 10
_LONGEST_DOUBT = 600
"""More than that is not asked about."""


def _first(found: Sequence[Voids]) -> str:
    """Return the first reason why nothing counts."""
    return next((each.all for each in found if each.all), "")


def _is_explained(page: Page, said: Sequence[Said]) -> bool:
    """Tell whether every image has a number on every factor, and words between the numbers, or a
    sentence for each image around them, explain them: nobody explains numbers that mean nothing,
    without a word that says so."""
    marks = {each.cell: each.mark.span for each in said}
    if len(marks) < page.n * len(page.names.factors):
        return False

    lines = [line for line in page.lines if not page.in_table(line) and not line.heading]
    sentences = [page.text[slice(*span)] for line in lines for span in _cut(page, line)]
    if sum(map(tells_of_pictures, sentences)) >= max(2, (page.n + 1) // 2):
        return True

    spans = sorted(marks.values())
    between = [_words_between(page, end, start) for (_, end), (start, _) in pairwise(spans)]
    told = [count for count in between if count >= _FEWEST_WORDS]
    return len(told) >= max(1, page.n - 1) and sum(told) >= _WORDS_AN_IMAGE * max(2, page.n - 1)


def _words_between(page: Page, start: int, end: int) -> int:
    """Return how many words a stretch of the reply has besides names; two signs are a word where
    words are not parted."""
    text = page.original[start:end]
    names = [(each.start, each.end) for each in page.names.factors_in(text, 0, len(text))]
    names += [(each.start, each.end) for each in page.names.images_in(text, 0, len(text))]
    for first, last in sorted(names, reverse=True):
        text = f"{text[:first]} {text[last:]}"

    return len(_PARTED_WORD.findall(text)) + len(_UNPARTED.findall(text)) // 2


_FEWEST_WORDS = 4
_WORDS_AN_IMAGE = 5
_PARTED_WORD = re.compile(r"[^\W\d_\u3040-\u30ff\u3400-\u9fff]{3,}")
_UNPARTED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


def _by_notes(
    page: Page, notes: Iterable[Note], said: Sequence[Said], asked: Set[Fraction]
) -> Iterator[Voids]:
    """Yield what notes and flags void: `"images_received": 0`, or `"note": …` in one image."""
    for note in notes:
        rescaled = note.states_another_scale(asked)
        if not rescaled and not note.casts_doubt():
            continue

        if note.line is not None and not rescaled and note.is_of_one_score(page, said):
            yield Voids(stretches=frozenset((note.line,)))
        elif rescaled or note.image is None or page.n == 1:
            text = " ".join(f"{note.key}: {note.text}".split())
            unclear = not rescaled and note.is_not_understood()
            yield Voids(all=_because(text), doubts=(text,) if unclear else ())
        else:
            yield Voids(images=frozenset((note.image,)))


def _by_sentences(
    page: Page,
    entries: Sequence[bool],
    said: Sequence[Said],
    below: Mapping[int, frozenset[Cell]],
    asked: Set[Fraction],
    *,
    explained: Callable[[], bool],
) -> Iterator[Voids]:
    """Yield what sentences void; one that voids everything spares the scores that replace it."""
    by_order = _are_placed_by_order(page, said)
    some_lack = len({each.cell[0] for each in said}) < page.n
    yield from (Voids(cells=cells) for cells in below.values())
    for sentence in _sentences(page, entries, said):
        if sentence.line.start in below and _is_of_one_alone(sentence):
            continue
        if some_lack and _ONE_MORE_TIME.search(sentence.text):
            continue

        noted = _noted(page, sentence, said)
        alone = _taken_back_alone(page, sentence)
        if noted or alone:
            unsettled = alone or is_unsettling_note(sentence.text) or revises(sentence.text)
            yield Voids(cells=(alone or noted) if unsettled else frozenset())
            continue

        if _is_an_empty_entry(sentence, said) or _is_an_example_of_its_own(page, sentence, said):
            continue

        if _changes_what_scores_mean(sentence, asked, by_order=by_order):
            yield _voiding(page, sentence, _EVERY, unclear=_may_be_a_total(page, sentence))
            continue

        doubted = _doubted(page, sentence)
        # What is merely unknown voids nothing where the scores speak for themselves.
        if doubted and (_raises_doubts(sentence) or not explained()):
            yield _voiding(page, sentence, doubted, unclear=_is_a_remark(sentence.text))


def _raises_doubts(sentence: _Sentence) -> bool:
    return puts_in_doubt(sentence.text, behind=sentence.place is _Place.BEHIND)


def _voiding(page: Page, sentence: _Sentence, doubted: set[int], *, unclear: bool) -> Voids:
    """Return what a sentence voids that leaves these images in doubt; unless it is `unclear` what
    it says, it is known to void them."""
    doubts: tuple[str, ...] = ()
    if unclear and not _is_known_to_void(page, sentence):
        doubts = (_as_written(page, sentence.start, sentence.start + len(sentence.text)),)

    if doubted != _EVERY:
        return Voids(images=frozenset(doubted), doubts=doubts)
    if sentence.place is _Place.BEHIND or not _is_replaced(page, sentence):
        return Voids(all=_because(sentence.text), doubts=doubts)
    return Voids(before=page.span(sentence.start, sentence.start + 1)[0])


def _is_of_one_alone(sentence: _Sentence) -> bool:
    """Tell whether a sentence that revises the score above it says nothing of the others."""
    text = sentence.text
    others = sees_nothing(text) or makes_up(text) or _ALL_OF_IT.search(text) is not None
    return not others and not sentence.line.factors


def _is_an_empty_entry(sentence: _Sentence, said: Sequence[Said]) -> bool:
    """Tell whether a sentence is what the last factor has in place of a score, and says nothing of
    the others: "S_real: confidence 1"."""
    line = sentence.line
    opens = bool(line.factors) and line.factors[0].start == line.head == sentence.start
    if not opens or len(sentence.factors) != 1 or sentence.images:
        return False

    words = sentence.text[line.factors[0].end - line.head :]
    if not _ENTRY_JOINT.match(words) or any(each.factor in sentence.factors for each in said):
        return False
    return not (speaks_of_scores(words) or _voids(words) or takes_back(words))


def _is_an_example_of_its_own(page: Page, sentence: _Sentence, said: Sequence[Said]) -> bool:
    """Tell whether a line is labelled as an example, holds it, and has no score that counts: what
    stands under it is not of it. "Format (not real scores): Image X: S_acc 5, …"."""
    line = sentence.line
    if _is_given_on_a_condition(page, line):
        return not sees_nothing(sentence.text)

    label, colon, held = page.words(line).partition(":")
    if not colon or not sentence.factors or not any(map(str.isdigit, held)):
        return False

    example = kind_of(label) is Kind.EXAMPLE and not sees_nothing(label)
    return example and not any(_is_on(page, line, each) for each in said)


_ENTRY_JOINT = re.compile(r"[ ]*[:=–—-][ ]*[^\W\d]")


# "Just resend it whenever you like": the one picture that has no scores.
_ONE_MORE_TIME = re.compile(
    r"^\W*(?:(?:please|just|if[ ]you|feel[ ]free[ ]to|kindly)[ ])*"
    r"(?:re-?)?(?:send|upload|attach|share)[ ]"
    r"(?:it|that[ ]one|this[ ](?:one|image))(?:[ ]again)?\b[^.;:]{0,40}\W*$"
    r"|^\W*if[ ]you[ ](?:can|could)?[ ]?re-?(?:send|upload|attach|share)[ ]"
    r"(?:it|them|(?:the|that|this)[ ](?:missing[ ]|other[ ])?(?:images?|pictures?|files?))\b"
    r"[^.;]{0,40},[ ]I(?:['’]ll|[ ]will|[ ]can)[ ](?:(?:gladly|happily|then)[ ])?"
    r"(?:complete|finish|score|rate|evaluate|judge)\b[^.;]{0,40}\W*$"
    r"|^\W*(?:请|麻烦)?(?:您|你)?重新(?:发送|上传)(?:一次|一下|该图|这张图)?\W*$",
    re.IGNORECASE,
)


def _are_placed_by_order(page: Page, said: Sequence[Said]) -> bool:
    """Tell whether only their order says which image scores are of."""
    in_prose = page.n > 1 and any("prose" in each.layout for each in said)
    unnamed = in_prose and not any(line.images for line in page.lines)
    return unnamed or any(each.by_order for each in said)


def _by_asides(page: Page, lines: Scored) -> Iterator[Voids]:
    """Yield what words beside scores void, on their own line: "Draft (unseen): S_acc 7"."""
    for line, held in lines:
        if _is_given_on_a_condition(page, line):
            # What it says counts for nothing anyway, and says nothing of other lines.
            continue

        if not any(map(unsettles, _asides(page, line))) and not _is_filled_in(page, line):
            continue

        images = _images_of(line) if page.n > 1 else set()
        if _is_of_one_score(page, line, held):
            yield Voids(cells=frozenset(each.cell for each in held))
        elif images:
            yield Voids(images=frozenset(images))
        else:
            yield Voids(all=_because(page.words(line)))


def _is_of_one_score(page: Page, line: Line, said: Sequence[Said]) -> bool:
    """Tell whether a line opens with its only score's factor, so that what else it says is of that
    score: "S_acc: 7 (provisional)"; the judge's eyes aside."""
    opens = line.factors[0].start == line.head and len(line.keys) == 1
    return opens and len(said) == 1 and not sees_nothing(page.words(line))


def _by_leads(page: Page, lines: Scored, asked: Set[Fraction]) -> Iterator[Voids]:
    """Yield what the words void that lead up to scores on their own line: all scores by another
    scale, those of the line where they are somebody else's: "You proposed S_acc 7"."""
    for line, held in lines:
        for span, lead in _leads(page, line, held):
            if _changes_what_scores_mean(lead, asked, by_order=False):
                yield Voids(all=_because(page.words(line)))
            elif is_said_by_another(_without_names(page, lead)):
                yield Voids(stretches=frozenset((page.span(*span),)))

        yield Voids(stretches=frozenset(_of_the_source(page, line, held)))


def _leads(page: Page, line: Line, said: Sequence[Said]) -> Iterator[tuple[Span, _Sentence]]:
    """Yield the sentences of a line that hold scores, each with the words ahead of these."""
    if len(said) == 1 and line.factors and line.factors[0].start <= line.head + 2:
        return

    places = [page.plain.place(each.mark.span[0]) for each in said]
    for span in _cut(page, line):
        lead = _lead_of(page, line, span, places)
        if lead is not None:
            yield span, lead


def _lead_of(page: Page, line: Line, span: Span, places: Sequence[int]) -> _Sentence | None:
    """Return the words before the first factor or score of a sentence as one ahead of them; none
    where they only name an image. `places` are those of the line's scores."""
    start, end = span
    scored = [place for place in places if start <= place < end]
    if not scored:
        return None

    named = [factor.start for factor in line.factors if start <= factor.start < end]
    first = min([*scored, *named])
    image = line.images[0] if line.images else None
    begins = image.end if image is not None and start <= image.start <= start + 2 else start
    if not any(map(str.isalpha, page.text[begins:first])):
        return None
    return _sentence(page, line, (start, first), _Place.AHEAD)


def _of_the_source(page: Page, line: Line, said: Sequence[Said]) -> Iterator[Span]:
    """Yield where scores stand whose factor is said to be the source's: "S_qua (original): 9"."""
    if _BRACKET.search(page.text, line.start, line.end) is None:
        return

    for each in said:
        place = page.plain.place(each.mark.span[0])
        before = [factor.end for factor in line.factors if factor.end <= place]
        bracket = _BRACKET.search(page.text, before[-1], place) if before else None
        if bracket is not None and is_of_the_source(bracket[1]):
            yield each.mark.span


def _is_on(page: Page, line: Line, each: Said) -> bool:
    return line.start <= page.plain.place(each.mark.span[0]) < line.end


def _by_captions(
    page: Page, entries: Sequence[bool], asked: Set[Fraction], *, explained: Callable[[], bool]
) -> Iterator[Voids]:
    """Yield what the words that lead up to scores void."""

    def counts(lead: str) -> bool:
        return puts_in_doubt(lead, behind=False) or not explained()

    leads = list(_doubtful_leads(page, entries))
    for line, lead in leads if leads and counts(leads[0][1]) else ():
        if not counts(lead):
            continue

        unclear = _is_a_remark(lead) and not (_has_a_form_that_voids(lead) or asks(lead))
        doubts = (_as_written(page, line.head, line.end),) if unclear else ()
        yield Voids(all=_because(lead), doubts=doubts)

    entry = _doubtful_entry(page, entries, asked)
    if entry:
        yield Voids(all=_because(entry))

    yield from (
        Voids(stretches=frozenset((page.span(line.start, line.end),)))
        for line, scored in zip(page.lines, entries, strict=True)
        if scored and _is_given_on_a_condition(page, line)
    )


def _images_of(line: Line | None) -> set[int]:
    """Return the images that a line is said of, as far as it is known which they are."""
    positions = line.positions if line else None
    return set(positions or ()) - {UNKNOWN}


def _as_written(page: Page, start: int, end: int) -> str:
    """Return a stretch of the plain text as it stands in the reply."""
    return page.original[slice(*page.span(start, end))].strip()


def _because(sentence: str) -> str:
    short = " ".join(sentence.split())
    return short if len(short) <= 100 else short[:97] + "…"


# --- What one sentence voids ---

_MISSING = re.compile(
    rf"\W*(?:(?:no[ ])?(?:score|rating)[ ]*[:=–—-]?[ ]*)?(?:{NO_SCORE}"
    r"|(?:I[ ])?cannot[ ](?:be[ ])?(?:judged?|scored?|rated?|determined?|assess(?:ed)?)"
    r"(?:[ ]this)?(?:[ ]from[ ][\w ]{3,20})?)\W*",
    re.IGNORECASE,
)
_EVERY = {0}
"""Stands for every image there is."""
_MAY_BE_UNREAL = frozenset((Kind.VERDICT, Kind.HYPOTHESIS, Kind.EXAMPLE))


def _doubted(page: Page, sentence: _Sentence) -> set[int]:
    """Return the images whose scores a sentence leaves in doubt."""
    text, line = sentence.text, sentence.line
    if _MISSING.fullmatch(text) and not line.gap:
        # "N/A", right under the factor that has no score.
        return set()

    if sees_part(text) and page.n > 1:
        # Which ones were not is hardly ever said.
        return _EVERY

    if sees_nothing(text):
        return _of_one(page, sentence) or _EVERY

    if asks_for_pictures(text):
        return _EVERY

    restates = sentence.low and prefers_low(text) and not is_doubtful(text)
    if restates or _orders_a_table(page, line, text):
        return set()

    flag = flag_in(text) if sentence.place is not _Place.AMID else None
    if flag is not None and not sentence.factors:
        return _every_if(flag.casts_doubt())

    if sentence.place is _Place.AHEAD and line.kind is Kind.LEGEND and line.heads:
        return _every_if(sets_bounds(text))

    if sentence.place is _Place.AHEAD and _heads_edits_as_the_source(page, sentence):
        return _EVERY

    if line.kind not in _MAY_BE_UNREAL:
        return set()

    if sentence.place is _Place.BEHIND:
        return _doubted_behind(page, sentence)
    return _doubted_ahead_or_amid(page, sentence)


def _heads_edits_as_the_source(page: Page, sentence: _Sentence) -> bool:
    """Tell whether a caption announces the source's scores, and what comes next is an edit's: "The
    scores for the source picture are as follows:", right above "Image 1: S_acc: 8"."""
    line = sentence.line
    if line.kind is not Kind.SOURCE or not sentence.text.rstrip().endswith(":"):
        return False

    below = next((each for each in page.lines if each.start > line.start), None)
    return below is not None and bool(below.images) and speaks_of_scores(sentence.text)


def _every_if(doubted: bool) -> set[int]:
    return _EVERY if doubted else set()


def _doubted_ahead_or_amid(page: Page, sentence: _Sentence) -> set[int]:
    """Return the images whose scores a sentence before the last of them leaves in doubt."""
    text, line = sentence.text, sentence.line
    ahead = sentence.place is _Place.AHEAD
    if ahead and (asks(text) or is_of_lettering(text) or _heads_something_else(sentence)):
        return _EVERY

    alone = _meant(page, sentence)
    if _says_they_are_none(sentence):
        return alone or _EVERY

    if line.kind is not Kind.VERDICT or _is_left_alone(sentence):
        return set()
    if _replaces(text) and not ahead:
        return set()
    if is_of_an_answer(text, page.words(line)):
        return set()

    in_section = page.n > 1 and line.positions is not None
    if in_section or sentence.factors or sentence.images:
        # It speaks of one image: whatever it voids, the others stay.
        voided = alone and not line.heads and doubts_one(text)
        return alone if voided else set()

    if ahead:
        return _every_if(not _is_known_ahead(page, sentence))
    return _every_if(speaks_of_scores(text))


def _replaces(caption: str) -> bool:
    """Tell whether a caption announces scores in place of others: "On second thought, I revise my
    scores:"."""
    if not caption.rstrip().endswith(":") or is_doubtful(caption) or _SUPPOSED.search(caption):
        return False
    return is_final(caption) and kind_of(caption) is Kind.VERDICT


_SUPPOSED = re.compile(r"\b(?:would|should|ought)\b", re.IGNORECASE)


def _heads_something_else(sentence: _Sentence) -> bool:
    """Tell whether a caption says that the numbers under it are no scores, which the page has not
    taken it for: "These are ranks among all methods:"."""
    if sentence.line.kind is not Kind.VERDICT or not sentence.text.rstrip().endswith(":"):
        return False
    return kind_of(sentence.text) in _OTHER_NUMBERS


_OTHER_NUMBERS = frozenset((Kind.RANKS, Kind.WEIGHTS, Kind.AVERAGE, Kind.UNKNOWN))


def _meant(page: Page, sentence: _Sentence) -> set[int]:
    """Return the one image a sentence ahead of scores or amid them means, or the two it may mean:
    "The numbers repeat those of Image 1", under another image."""
    alone = _of_one(page, sentence)
    if not alone or not sentence.images:
        return alone
    return alone | _images_of(page.line_at(sentence.line.start - 1))


def _says_they_are_none(sentence: _Sentence) -> bool:
    """Tell whether a sentence says that scores are made up, or, amid them, takes some back."""
    if explains(sentence.text):
        return False

    amid = sentence.place is _Place.AMID
    return makes_up(sentence.text) or (amid and (takes_back(sentence.text) or _swaps(sentence)))


def _is_left_alone(sentence: _Sentence) -> bool:
    """Tell whether a sentence is harmless where it stands, or no sentence: a label, an entry."""
    # Words of an entry that has no number are no remark.
    if sentence.line.factors or _LABELLED.match(sentence.text):
        return True

    if _FILE_SHOWN.fullmatch(sentence.text):
        return True

    if sentence.is_caption and sentence.place is not _Place.AMID:
        # A caption ahead of scores must announce them; that it is harmless is not enough.
        return False
    return is_harmless(sentence.text)


# "Weight: 4", "5 – average", "| Score | Meaning |", "f(2) = 26": no words about other lines.
_LABELLED = re.compile(
    r"\W*[\w ]{1,24}[ ]*[:=][ ]*(?:\w+,[ ])?[0-9]|\W*[0-9]+[ ]*[:=–-]|[|+]|\w+_\w+:$"
    r"|[^.!?]*=[ ]*[-0-9(]|print\(|(?:import|from|return|def)[ ]\w+"
)
# "File: edit_2.png"
_FILE_SHOWN = re.compile(
    r"\W*(?:edited[ ])?(?:image|picture|photo|edit|bild|imagen|画像|图像|图片)?[ ]?"
    r"(?:file(?:[ ]?name)?|datei|archivo|fichier|文件)?[ ]*:[ ]*\S+\.(?:png|jpe?g|webp|gif)\W*",
    re.IGNORECASE,
)


def _is_known_ahead(page: Page, sentence: _Sentence) -> bool:
    """Tell whether what stands ahead of all scores is known to leave them what they are."""
    text = sentence.text
    if announces(text) or explains(text) or is_of_the_picture(text):
        return True

    if _repeats_the_scale(page, text):
        return True

    long = len(text.split()) > _LONGEST_CAPTION
    if sentence.is_caption:
        return long and is_harmless(text)

    if sentence.line.heading or _gives_reasons(page, text):
        return True

    whole = long or _SENTENCE_END.search(text) is not None
    return whole and is_harmless(text)


_LONGEST_CAPTION = 8


def _repeats_the_scale(page: Page, text: str) -> bool:
    """Tell whether a sentence names the scale that was asked for: "Each from 0 to 10"."""
    if not is_about_a_scale(text) or is_doubtful(text):
        return False
    asked = {factor.scale.high for factor in page.names.factors}
    return bool(values_in(text) & asked)


def _gives_reasons(page: Page, text: str) -> bool:
    """Tell whether a sentence may be a reason for the number it stands before or behind."""
    return len(page.names.factors) <= _FEW and is_innocent(text)


_FEW = 2
"""Who scores so few factors speaks of the picture before or after the numbers."""


def _doubted_behind(page: Page, sentence: _Sentence) -> set[int]:
    """Return the images whose scores a sentence behind all of them leaves in doubt."""
    text, line = sentence.text, sentence.line
    if _says_they_are_none(sentence):
        return _named_alone(page, sentence) or _EVERY

    if line.heading or text.rstrip().endswith(":"):
        # A heading speaks of what follows it, if anything does.
        return _every_if(line is page.lines[-1] and not _begins_more(sentence))

    if line.kind is not Kind.VERDICT or _LABELLED.match(text) or _lists_something_else(text):
        return set()

    if _swaps(sentence) or commands(text) or puts_off(text) or is_of_other_work(text):
        return _EVERY

    if _recants(page, sentence):
        return _named_alone(page, sentence) or _EVERY

    if is_harmless(text) or _leaves_what_it_names(page, sentence):
        return set()
    return _named_alone(page, sentence) or _EVERY


def _leaves_what_it_names(page: Page, sentence: _Sentence) -> bool:
    """Tell whether a sentence that is not known to be harmless leaves the scores of the images and
    factors it names as they are; where it names none, those of all."""
    if sentence.images or sentence.factors:
        return not _may_undo_named(sentence)
    return _gives_reasons(page, sentence.text) or _is_harmless_so_far(page, sentence)


def _begins_more(sentence: _Sentence) -> bool:
    """Tell whether a heading with which a reply ends begins more of the same: "Image 3:"; not
    "On reflection, my scores:"."""
    if sentence.images or sentence.factors:
        return True
    if is_final(sentence.text):
        return False
    return announces(sentence.text) or is_neutral(sentence.text)


def _may_undo_named(sentence: _Sentence) -> bool:
    """Tell whether a sentence that names images or factors may undo their scores: "Image 2 was a
    guess"."""
    text = sentence.text
    if _CORRECTED.search(text):
        # What gives a score another number is a correction of that score.
        return False

    several = len(sentence.positions) > 1 or len(sentence.factors) > 1
    if reorders(text) and (several or (sentence.factors and not _MEANS.match(text))):
        return True

    # In another language, what is said of an image's scores may take them back.
    strange = speaks_of_scores(text) and is_foreign(text)
    return strange or is_alarming(text) or takes_back(text) or is_anothers(text)


# "This means that the artifacts are few" explains a score.
_MEANS = re.compile(
    r"\W*(?:this|which)[ ](?:means|suggests|indicates|shows|implies)\b", re.IGNORECASE
)
_CORRECTED = re.compile(
    r"(?:\b(?:to|is|be|a|of|read|get|gets)|[→=:])[ ][0-9]{1,3}\b|\bpoints?\b|\btoo[ ](?:high|low)"
)


def _lists_something_else(text: str) -> bool:
    """Tell whether a line is labelled as ranks, means or weights, and then lists them."""
    label, colon, listed = text.partition(":")
    if not colon or not any(map(str.isdigit, listed)):
        return False
    return kind_of(label) in {Kind.RANKS, Kind.AVERAGE, Kind.WEIGHTS} and not is_alarming(listed)


def _is_harmless_so_far(page: Page, sentence: _Sentence) -> bool:
    """Tell whether a reply ends in the middle of a word, and the sentence is harmless without."""
    written = page.text.rstrip()
    if sentence.start + len(sentence.text) < len(written) or not written[-1:].isalpha():
        return False

    begun = sentence.text.rpartition(" ")[0]
    return bool(begun) and is_harmless(begun)


def _named_alone(page: Page, sentence: _Sentence) -> set[int]:
    """Return the one image that a sentence behind all scores speaks of, if it changes no order."""
    named = sentence.positions
    if page.n < 2 or UNKNOWN in named or reorders(_LOOKING_BACK.sub("", sentence.text)):
        return set()

    if not sentence.line.gap:
        named |= set(sentence.line.positions or ())

    return named


# "Having written this down, I cannot stand behind …"
_LOOKING_BACK = re.compile(
    r"^\W*(?:having|after|on|upon)[ ](?:(?:all|now|just)[ ])?"
    r"(?:written|seen|read|reading|writing|finished|reviewing|reviewed)\b[^,]{0,40},",
    re.IGNORECASE,
)


def _of_one(page: Page, sentence: _Sentence) -> set[int]:
    """Return the one image that a sentence speaks of; none where it may be several."""
    if page.n < 2 or len(sentence.images) > 1 or lists_several(sentence.text):
        return set()

    if sentence.images:
        positions = sentence.images[0]
    elif _may_mean_several(sentence):
        return set()
    else:
        positions = sentence.line.positions or ()

    return set(positions) - {UNKNOWN} if len(positions) == 1 else set()


def _may_mean_several(sentence: _Sentence) -> bool:
    """Tell whether a sentence that names no image may speak of more than the one above it."""
    if _FROM_NOW_ON.search(sentence.text):
        return True
    return sentence.place is _Place.BEHIND and not _ONE_PICTURE.search(sentence.text)


# What is said of pictures in the plural is said of more than the one it stands under.
_FROM_NOW_ON = re.compile(
    r"\b(?:images|pictures|photos|previews|files|the[ ]rest|these|those|from[ ](?:here|now)[ ]on"
    r"|remaining|onwards?|both|all[ ](?:two|three|four|five|six|of))\b",
    re.IGNORECASE,
)
_ONE_PICTURE = re.compile(
    r"\b(?:this|the|that)[ ](?:\w+[ ])?(?:image|picture|photo|photograph|edit|file|one)\b(?!s)"
    r"|\bit\b",
    re.IGNORECASE,
)


def _is_replaced(page: Page, sentence: _Sentence) -> bool:
    """Tell whether scores in earnest follow what voids others: a heading, or this line, says so."""
    if sentence.place is _Place.AMID and (takes_back(sentence.text) or _swaps(sentence)):
        return True

    rest = page.text[sentence.start + len(sentence.text) : sentence.line.end]
    announced = rest.rstrip().endswith(":") and _announces(rest)
    if announced and not sees_nothing(sentence.text):
        # Whatever is announced right behind "I see no image" was not seen, either.
        return True

    return any(
        later.start > sentence.line.start and later.heads and _announces(page.words(later))
        for later in page.lines
    )


def _announces(words: str) -> bool:
    return kind_of(words) is Kind.VERDICT and (is_harmless(words) or announces(words))


# --- What is known to void scores, and what is asked about ---


def _is_known_to_void(page: Page, sentence: _Sentence) -> bool:
    """Tell whether a sentence that leaves scores in doubt is of a form that voids them; any other
    merely is not known to be harmless: "I'd call it a good generation and a poor edit."."""
    text, line = sentence.text, sentence.line
    flag = flag_in(text) if sentence.place is not _Place.AMID else None
    if flag is not None and not sentence.factors:
        return not flag.is_not_understood()

    behind = sentence.place is _Place.BEHIND
    if _has_a_form_that_voids(text, behind=behind) or _swaps(sentence) or _recants(page, sentence):
        return True

    if sentence.place is not _Place.AHEAD:
        return False

    if asks(text) or is_of_lettering(text) or _heads_something_else(sentence):
        return True
    legend = line.kind is Kind.LEGEND and line.heads
    return legend or _heads_edits_as_the_source(page, sentence)


def _has_a_form_that_voids(text: str, *, behind: bool = False) -> bool:
    """Tell whether a text beside scores is known to void them."""
    forms = (makes_up, takes_back, is_upside_down, prefers_low, unsettles)
    return is_known_to_void(text, behind=behind) or any(form(text) for form in forms)


def _is_a_remark(text: str) -> bool:
    """Tell whether a text has words enough to be asked about. What heads numbers must speak of
    scores, and of nothing that raises doubts: "The snowy one:" may be an image's name, and what
    stands under it another image's."""
    if text.rstrip().endswith((":", "：")):
        return speaks_of_scores(text) and not is_alarming(text)

    words = [word for word in text.split() if _PARTED_WORD.search(word)]
    return len(words) >= _FEWEST_OF_A_REMARK or len(_UNPARTED.findall(text)) >= _FEWEST_WORDS


_FEWEST_OF_A_REMARK = 2


def _may_be_a_total(page: Page, sentence: _Sentence) -> bool:
    """Tell whether what looks like another scale may be a sum: a number is given out of what all
    factors have together, and no other top is named. "Sum: 31 out of 40.", for four of 10."""
    total = sum((factor.scale.high for factor in page.names.factors), Fraction(0))
    given = {Fraction(top) for top in _OUT_OF.findall(sentence.text)}
    changed = _changes_what_scores_mean(sentence, frozenset((total,)), by_order=True)
    return given == {total} and not changed


_OUT_OF = re.compile(
    r"[0-9][ ]?(?:/|of|out[ ]of|von|sur|de|su|из|z)[ ]?([0-9]{1,4})\b", re.IGNORECASE
)


# --- What is said of single scores ---

_SIGN_OF_A_NOTE = r"[¹²³⁴⁵⁶⁷⁸⁹⁰†‡§¶]{1,2}|\[\^?\w{1,2}\]|<sup>\w</sup>"
_FOOTNOTE = re.compile(rf"[ ]*(\\?\*{{1,3}}|{_SIGN_OF_A_NOTE})")
_NEXT_NOTE = re.compile(rf"[,;.][ ]+({_SIGN_OF_A_NOTE})(?=[ ])")


def _noted(page: Page, sentence: _Sentence, said: Sequence[Said]) -> frozenset[Cell]:
    """Return the scores that a sentence is a footnote to: `8*`, and below it "* A guess."."""
    if sentence.place is not _Place.BEHIND or sees_nothing(sentence.text):
        return frozenset()

    reply = page.original
    start = reply.rfind("\n", 0, page.written(sentence.line.head)) + 1
    mark = _FOOTNOTE.match(reply, start)
    if mark is None:
        return frozenset()

    end = reply.find("\n", start)
    marks = [
        mark[1].removeprefix("\\"),
        *_NEXT_NOTE.findall(reply[start : end if end > 0 else len(reply)]),
    ]
    cells = [each.cell for each in said if any(_has_mark(reply, each, sign) for sign in marks)]
    if not cells:
        # "**Image 1** †"
        headed = [each for each in page.lines if each.heads and _ends_in(page, each, marks)]
        images = {at for each in headed for at in each.positions or ()}
        cells = [each.cell for each in said if each.position in images]
    return frozenset(cells)


def _ends_in(page: Page, line: Line, marks: Sequence[str]) -> bool:
    """Tell whether a line was written with the mark of a footnote at its end."""
    start = page.written(line.head)
    written = page.original[start:].partition("\n")[0].rstrip(" *:") or page.original[start:]
    return bool(line.images) and written.endswith(tuple(set(marks) - {"*", "**", "***"}))


def _has_mark(reply: str, each: Said, mark: str) -> bool:
    """Tell whether a footnote's mark stands right behind a score, and closes no emphasis."""
    behind = reply[each.mark.span[1] : each.mark.span[1] + 20]
    if not behind.startswith(mark) or behind[len(mark) :].startswith("*"):
        return False

    start = reply.rfind("\n", 0, each.mark.span[0]) + 1
    return mark not in reply[start : each.mark.span[0]].lstrip(" *")


def _taken_back_alone(page: Page, sentence: _Sentence) -> frozenset[Cell]:
    """Return the scores that a sentence takes back by name: "I withdraw S_pre of Image 2"."""
    text = sentence.text
    positions = {1} if page.n == 1 else sentence.positions
    if sentence.place is not _Place.BEHIND or not positions or not sentence.factors:
        return frozenset()

    if sees_nothing(text) or _swaps(sentence) or _ALL_OF_IT.search(text):
        return frozenset()

    if not _recants(page, sentence):
        return frozenset()
    return frozenset((at, key) for at in positions for key in sentence.factors)


def _recants(page: Page, sentence: _Sentence) -> bool:
    """Tell whether a sentence takes scores back and gives no others: that is a correction."""
    return not _CORRECTED.search(sentence.text) and recants(_without_names(page, sentence))


def _without_names(page: Page, sentence: _Sentence) -> str:
    """Return a sentence with "score" in place of factors, and without images."""
    span = (sentence.start, sentence.start + len(sentence.text))
    factors = page.names.factors_in(page.text, *span) if sentence.factors else ()
    images = page.names.images_in(page.text, *span) if sentence.images else ()
    names = [(factor.start, factor.end, "score") for factor in factors]
    names += [(image.start, image.end, "") for image in images]
    text = sentence.text
    for start, end, word in sorted(names, reverse=True):
        text = text[: start - span[0]] + word + text[end - span[0] :]

    return text


_ALL_OF_IT = re.compile(
    r"\b(?:all|every\w*|both|rest|others?|these|those|any|scores|ratings|numbers|too|also"
    r"|as[ ]well)\b",
    re.IGNORECASE,
)


# --- What stands beside scores on their line ---

_BRACKET = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_BRACKET_AT_THE_END = re.compile(r"[(\[]([^\W\d_]+(?:[ ][^\W\d_]+)?)[)\]]\W*$")
_CLOSING_BRACKET = re.compile(r"[(\[]([^()\[\]\d]+)[)\]]\W*$")
_CLAUSE = re.compile(r"[,;:.،，、][ ]*|[ ](?:as|since|because|da|weil|car|porque|bo|ponieważ)[ ]")
_FEW_WORDS = 4
_LABEL_OF_SCORES = re.compile(r"([^:]{2,80}):[ ]*$")
_NAME_OF_A_FILE = re.compile(r"\w_|\.\w{3,4}\b")


def _asides(page: Page, line: Line) -> Iterator[str]:
    """Yield what is said of a line's scores before them: a label, and what it has in brackets."""
    if not line.factors:
        return

    lead = page.text[line.head : line.factors[0].start]
    for image in line.images:
        lead = lead.replace(page.text[image.start : image.end], "")

    # What stands in a bracket at the end explains the last score, but for a word or two.
    tail = page.text[line.factors[-1].end : line.end]
    brackets = [*_BRACKET.findall(lead), *_BRACKET_AT_THE_END.findall(tail)]
    closing = _CLOSING_BRACKET.search(tail) if len(line.keys) > 1 else None
    if closing is not None:
        brackets += [part for part in _CLAUSE.split(closing[1]) if len(part.split()) <= _FEW_WORDS]

    for held in brackets:
        if not (_NAME_OF_A_FILE.search(held) or LIKERT.fullmatch(held)):
            yield held

    label = _LABEL_OF_SCORES.search(_BRACKET.sub("", lead))
    if label is not None:
        yield label[1]


def _is_filled_in(page: Page, line: Line) -> bool:
    """Tell whether a line gives every factor the same number, and then says something in another
    language that is not known to be harmless: so does who fills in what was not seen."""
    if len(line.keys) < _SEVERAL:
        return False

    remark = _CLOSING_BRACKET.search(page.text, line.factors[-1].end, line.end)
    if remark is None:
        return False

    digits = re.findall(r"[0-9]+", page.text[line.factors[0].end : remark.start()])
    return len(set(digits)) == 1 and is_foreign(remark[1]) and not is_harmless(remark[1])


_SEVERAL = 3


def _doubtful_entry(page: Page, entries: Sequence[bool], asked: Set[Fraction]) -> str:
    """Return a line of scores that only asks for them, or states another scale before them."""
    for line, scored in zip(page.lines, entries, strict=True):
        if not scored:
            continue

        words = page.words(line)
        lead = page.text[line.head : line.factors[0].start] if line.factors else ""
        brackets = [held for held in _BRACKET.findall(lead) if any(map(str.isdigit, held))]
        scaled = any(speaks_of_scale_without(held, asked) for held in brackets)
        if scaled or (words.endswith("?") and asks(words)):
            return words

    return ""


def _is_given_on_a_condition(page: Page, line: Line) -> bool:
    """Tell whether the words ahead of an image make its scores unreal, or those behind them do:
    "If I were lenient I'd give Image 1: …", "I would give …, were it not for the halo"."""
    if not line.images or not line.factors or line.images[0].start > line.factors[0].start:
        return False

    ahead = page.text[line.head : line.images[0].start]
    if leads_astray(ahead):
        return True

    told = page.text[line.head : line.end]
    return _WOULD.search(ahead) is not None and _BUT_FOR.search(told) is not None


_WOULD = re.compile(r"\b(?:would|could|might)\b|\b\w+['’]d\b", re.IGNORECASE)
_BUT_FOR = re.compile(
    r"[0-9][ ,;)–—-]+(?:were[ ]it[ ]not|if[ ](?:it|not)\b|had[ ]it\b|but[ ]for\b|unless\b)",
    re.IGNORECASE,
)


# --- The sentences that are no part of an entry ---


def _sentences(page: Page, entries: Sequence[bool], said: Sequence[Said]) -> Iterator[_Sentence]:
    """Yield the sentences that are not part of an entry."""
    spans = [each.mark.span for each in said]
    first = page.plain.place(min(start for start, _ in spans)) if spans else 0
    last = page.plain.end_place(max(end for _, end in spans)) if spans else 0
    apart = _paragraphs_behind(page, entries, first, last)
    closing = _closing(page, entries, last)

    for line, scored in zip(page.lines, entries, strict=True):
        if _has_no_sentences(page, line):
            continue

        if scored and line.end < last and not _may_undo(page.words(line)):
            continue

        if apart <= line.start and line.heading and line.images:
            # From here on images are spoken of one by one, as amid their scores.
            apart = len(page.text) + 1

        behind = line.start if apart <= line.start and not scored else closing
        for start, end in _cut(page, line):
            place = _place_of(start, first, behind)
            opens = start == line.head
            if not scored or place is _Place.BEHIND or _undoes(page.text[start:end], opens=opens):
                yield _sentence(page, line, (start, end), place)


def _has_no_sentences(page: Page, line: Line) -> bool:
    """Tell whether a line is a row of a table, lists what the columns of numbers are, or has no
    more than a sign."""
    if line.end - line.head < 2:
        return True
    return page.in_table(line) or page.names.keys_listed(page.text, line.head, line.end)


def _cut(page: Page, line: Line) -> Iterator[Span]:
    """Yield where each sentence of a line begins and ends."""
    start = line.head
    for match in _SENTENCE_END.finditer(page.text, start, line.end):
        yield start, match.end()
        start = match.end()

    if page.text[start : line.end].strip():
        yield start, line.end


def _place_of(start: int, first: int, behind: int) -> _Place:
    """Return the place of what starts there, by where the first score stands and their end."""
    if start >= behind:
        return _Place.BEHIND
    return _Place.AHEAD if start < first else _Place.AMID


# What leaves scores what they are, though its words might not.
_LEAVES_SCORES = re.compile(
    r"""
    # "Dear evaluator,"
    ^\W*(?:dear|hello|hi|hey|liebe[rs]?|sehr[ ]geehrte\w*|estimad[oa]s?|car[oa]|ch[eè]re?)[ ]
      [^\W\d_]+(?:[ ][^\W\d_]+)?[,!]
    # "I'll refer to the edits by the order in which you sent them"
    | \b(?:refer\w*[ ]to[ ](?:the[ ]|them[ ]|all[ ])?(?:(?:edits|images|pictures|methods)[ ])?)?
      (?:in|by)[ ]the[ ](?:same[ ])?order[ ](?:in[ ]which[ ])?(?:you|they)[ ]
      (?:sent|uploaded|presented|gave|showed|shared|provided|were[ ]\w+)(?:[ ](?:them|it))?
    # "I start from 10 and deduct for visible flaws"
    | \b(?:deduct(?:ed|ing|s)?|subtract(?:ed|ing)?)(?:[ ](?:points?|marks?))?(?=[ ]for\b)
    | \b(?:as|I['’]m|I[ ]am)[ ]an[ ]AI(?:[ ](?:language[ ])?model)?(?:[ ]and\b)?
    # "the railing that the user had outlined"
    | \bthe[ ]user(?:['’]s)?[ ](?:had[ ]|has[ ])?
      (?:outlined|marked|drew|drawn|asked|requested|wanted|circled|specified|highlighted
        |instruct\w+|prompt)
    # "Image 2 gave 2 examples": what an answer has
    | (?<!\bI[ ])\b(?:gave|giv(?:es|ing)|(?:provid|us|includ)(?:es|ed|ing)|with)[ ]
      (?:(?:[0-9]+|two|three|four|five|more|several|many|some|concrete|specific|clear|good
        |practical|relevant)[ ])+examples\b
    # "… and see no reason to change or withdraw any of them"
    | \bno[ ](?:reason|need|cause|grounds?)[ ](?:to|for)[ ]
      (?:change|changing|revis\w+|adjust\w*|alter\w*|correct\w*|withdraw\w*|amend\w*
        |reconsider\w*)
      (?:[ ]or[ ](?:change|revise|adjust|alter|correct|withdraw|amend|retract))?
      (?:[ ](?:any|anything|them|it|of|the|these|those|my|single|scores?|ratings?|one)\b){0,5}
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _sentence(page: Page, line: Line, span: Span, place: _Place) -> _Sentence:
    images = [each.positions for each in page.names.images_in(page.text, *span)]
    factors = {each.key for each in page.names.factors_in(page.text, *span)}
    low = any(factor.better == "low" for factor in page.names.factors)
    # Of the same length, so that places stay what they are.
    text = _LEAVES_SCORES.sub(lambda match: " " * len(match[0]), page.text[slice(*span)])
    return _Sentence(text, span[0], line, place, images, factors, low)


def _may_undo(words: str) -> bool:
    """Tell whether a line of scores may hold more than these and their explanations."""
    return may_be_unseen(words) or any(map(words.lower().__contains__, _UNDOING))


_UNDOING = (
    "score",
    "rating",
    "value",
    "number",
    "figure",
    "generous",
    "sorry",
    "oops",
    "wait",
    "correction",
    "i mean",
)


def _undoes(text: str, *, opens: bool) -> bool:
    """Tell whether a sentence on a line of scores is more than an explanation of them; the one that
    opens the line and gives the score may say of the picture what it likes."""
    if sees_nothing(text):
        return True

    if opens and any(map(str.isdigit, text)):
        return False

    more = _SORRY.match(text) or _SPEAKS_OF_SCORES.search(text)
    return more is not None or takes_back(text)


_SPEAKS_OF_SCORES = re.compile(
    r"\b(?:scores?|ratings?|values?|numbers?|figures?(?=[ ](?:is|are|means?)\b))\b", re.IGNORECASE
)
_SORRY = re.compile(
    r"\W*(?:sorry|oops|wait|correction|I[ ]mean|no,[ ](?:that|this|it)[ ]is)\b", re.IGNORECASE
)


def _closing(page: Page, entries: Sequence[bool], last: int) -> int:
    """Return where, on the line of the last score, a closing of the whole reply begins.

    Sentences behind a score explain it. Where no other entry has any, they close the reply.
    """
    for line, scored in zip(page.lines, entries, strict=True):
        if not scored:
            continue

        if line.end < last and _SENTENCE_END.search(page.text, line.head, line.end - 1):
            break

        if line.start <= last <= line.end:
            end = _SENTENCE_END.search(page.text, last, line.end)
            return end.end() if end else len(page.text)

    return len(page.text)


def _paragraphs_behind(page: Page, entries: Sequence[bool], first: int, last: int) -> int:
    """Return where what stands behind all scores begins: the next paragraph.

    The next line, where no score has an explanation on a line of its own.
    """
    bare = _are_bare(page, entries, first, last)
    for line, scored in zip(page.lines, entries, strict=True):
        if line.start < last:
            continue

        if line.gap or (bare and not scored):
            return line.start

    return len(page.text)


def _are_bare(page: Page, entries: Sequence[bool], first: int, last: int) -> bool:
    """Tell whether several lines have scores, and none between them explains any."""
    return sum(entries) > 1 and all(
        scored or line.heads or line.images
        for line, scored in zip(page.lines, entries, strict=True)
        if first <= line.start < last
    )


# --- Other scales, other orders ---


def _changes_what_scores_mean(sentence: _Sentence, asked: Set[Fraction], *, by_order: bool) -> bool:
    """Tell whether a sentence gives scores another scale, or images another name or order; their
    order matters where nothing else says which score is whose."""
    if by_order and _is_of_another_order(sentence):
        return True
    return _ALIAS.search(sentence.text) is not None or _states_another_scale(sentence, asked)


_FROM_TO = re.compile(r"\bfrom[ ][01][ ]to[ ]([0-9]{1,3})\b", re.IGNORECASE)


# "A difference of 1 point" is on any scale.
_GAP = re.compile(
    r"\b(?:difference|gap|margin|lead)[ ]of[ ](?:\w+[ ]){1,3}points?\b"
    r"|\b[\w.]{1,8}[ -]points?[ ](?:difference|gap|margin|lead|advantage)\b",
    re.IGNORECASE,
)


def _states_another_scale(sentence: _Sentence, asked: Set[Fraction]) -> bool:
    """Tell whether a sentence or a caption says that scores are on another scale than asked for."""
    line, text = sentence.line, _GAP.sub("", sentence.text)
    if line.kind not in {Kind.VERDICT, Kind.LEGEND} or len(text) > 300 or is_total(text):
        return False

    tops = stated_tops(text) | {Fraction(top) for top in _FROM_TO.findall(text)}
    if tops and not tops & asked:
        return True

    # "Image 1 is the best" speaks of an image.
    if sentence.images:
        return False
    upright = sentence.low or max(asked) <= 1
    if not upright and (is_upside_down(text) or prefers_low(text)):
        return True
    if Fraction(100) not in asked and _IN_PERCENT.search(text):
        return True

    if sentence.factors or (line.positions is not None and sentence.place is not _Place.BEHIND):
        return False

    if is_about_a_scale(text):
        numbers = values_in(text)
        if numbers and not numbers & asked:
            return True

    return not describes(text) and speaks_of_scale_without(text, asked)


# "Scores in %:"
_IN_PERCENT = re.compile(
    r"\b(?:in|en|als|as|em|w)[ ](?:%|per[ ]?cents?\b|percentages?\b|Prozent\b|pourcentages?\b"
    r"|porcentajes?\b|percentuale\b)[^\d]{0,20}$|百分[制比数]|퍼센트",
    re.IGNORECASE,
)
_SWAP = re.compile(
    r"取り違え|\b(?:swap|switch|interchang|exchang|revers|transpos|vertausch|verwechsel|intercambi|invert|invers"
    r"|confus|mislabel)\w*|\bmix(?:ed)?[ -]up\b|\b(?:other|wrong)[ ]way[ ]a?round\b|échang|scambi"
    r"|互换|调换|弄反|搞混|入れ替|逆に|바뀌",
    re.IGNORECASE,
)


def _swaps(sentence: _Sentence) -> bool:
    """Tell whether a sentence gives the scores of two images, or of two factors, to each other."""
    several = len(sentence.positions) > 1 or len(sentence.factors) > 1
    return several and _SWAP.search(sentence.text) is not None


# In which order images are listed, where that may not be the order in which they were shown.
_ALIAS = re.compile(
    r"""
    \b(?:[A-H]|image[ ][0-9]+)[ ](?:denotes?|stands[ ]for|refers[ ]to|means)[ ]
    | \blet[ ][A-H]\b|\b(?:your|original|actual)[ ]image[ ][0-9]
    | \bwhat[ ]I[ ](?:call|label|refer[ ]to)\b|\bcount(?:ing|ed)?[ ]from[ ](?:zero|0)\b
    | \bis[ ]your[ ](?:first|second|third|fourth|fifth|last|other|[0-9])
    | \b(?:number|count|label|list|index)\w*\b[^.:\n]{0,40}\b(?:right[ ]to[ ]left|bottom[ ]to[ ]top
      |back[ ]to[ ]front|last[ ]to[ ]first|backwards?|in[ ]reverse
      |from[ ]the[ ](?:end|last|bottom|right)|(?:start|begin)\w*[ ](?:with|from|at)[ ]the[ ]last)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_REORDERED = re.compile(
    r"""
    \b(?:best[ ]to[ ]worst|worst[ ]to[ ]best|(?:best|worst)(?:[ ]\w+)?[ ]first
      |descending|ascending|sorted|reverse[d]?[ ]order
      |last[ ]to[ ]first|back[ ]to[ ]front|right[ ]to[ ]left
      |(?:start|begin)\w*[ ](?:with|from|at)[ ](?:the[ ])?(?:last|second|third|fourth|best|worst)
      |(?:listed|arranged|ordered|ranked)[ ]by[ ](?!image|edit|picture|method|factor|number|criteri)
      |in[ ]order[ ]of(?![ ](?:the[ ])?(?:images|edits|pictures|appearance))
      |in[ ]the[ ]order[ ](?:of[ ])?[0-9]
      |order[ ]of[ ](?:the[ ])?images:?[ ]*(?!1\b)[0-9]
      |rank(?:ed|ing)[ ]order)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _is_of_another_order(sentence: _Sentence) -> bool:
    """Tell whether images are said to be listed otherwise than shown: "Order: image 2, image 1"."""
    if _REORDERED.search(sentence.text):
        return True

    listed = _LISTED_IMAGES.match(sentence.text)
    if listed is not None and not _counts_up(listed["items"]):
        return True

    if not _ORDER.search(sentence.text):
        return not all(map(_ascends, _SIGNS_IN_A_ROW.findall(sentence.text)))

    named = [position for positions in sentence.images for position in positions]
    return named != sorted(named) or not _ascends(sentence.text)


# `images: [Image 3, Image 1]`, `ids = ["c", "a"]`
_LISTED_IMAGES = re.compile(
    r"\W*(?:images?|imgs?|edits?|pictures?|ids?|methods?|labels?|names?|index)\W{0,2}[ ]*[:=][ ]*"
    r"[\[(](?P<items>[^\[\]()]*)[\])]",
    re.IGNORECASE,
)


def _counts_up(items: str) -> bool:
    """Tell whether the items of a list end in 1, 2, 3 or in A, B, C."""
    ends = [re.search(r"([0-9]{1,2}|\b[A-Za-z])\W*$", item) for item in items.split(",")]
    signs = [end[1].lower() if end else "" for end in ends]
    return signs in (
        [str(number) for number in range(1, len(signs) + 1)],
        list("abcdefghijklmnopqrstuvwxyz"[: len(signs)]),
    )


def _ascends(text: str) -> bool:
    """Tell whether the numbers, letters and ordinals of a text stand in their order."""
    signs = [_ORDINALS.get(sign.lower(), sign) for sign in _SIGN.findall(text)]
    return signs == sorted(signs, key=lambda sign: (len(sign), sign))


_ORDINALS = {
    word: str(sign)
    for words in ("first second third fourth fifth sixth seventh eighth ninth", "one two three")
    for sign, word in enumerate(words.split(), 1)
}
_A_SIGN = (
    rf"(?:(?<![0-9A-Za-z])(?:[0-9]{{1,2}}(?:st|nd|rd|th)?|[A-H]|(?i:{'|'.join(_ORDINALS)}|last))"
    r"(?![A-Za-z0-9]))"
)
_SIGN = re.compile(_A_SIGN)
# "third, first and second": signs with nothing but commas between them.
_SIGNS_IN_A_ROW = re.compile(
    rf"{_A_SIGN}(?:(?:[ ]*[,;/>]|[ ](?:and|then))+[ ](?:the[ ])?{_A_SIGN})+"
)
_ORDER = re.compile(
    r"\b(?:order|sequence|reihenfolge|orden|ordre|ordine)\b|顺序|順序|順番|순서", re.IGNORECASE
)


# --- Captions ---

_BRACKETED = re.compile(r"[\[(<].*[\])>]\s*")


def _doubtful_leads(page: Page, entries: Sequence[bool]) -> Iterator[tuple[Line, str]]:
    """Yield the words that lead up to scores, where these may make them somebody else's."""
    last = max((index for index, scored in enumerate(entries) if scored), default=0)
    for index, line in enumerate(page.lines[:-1]):
        if entries[index] or page.in_table(line):
            continue
        words = _LEAVES_SCORES.sub(" ", page.words(line))
        if not _may_head_scores(page, line, words):
            continue

        if _is_below_a_factor(page, index) or _orders_a_table(page, line, words):
            continue
        if _is_of_the_image_above(page, index):
            continue

        if page.names.groups_factors(words):
            continue

        below = page.lines[index + 1]
        apart = below.gap or bool(below.images)
        begins = _begins_scores(page, below, scored=entries[index + 1])
        if index > last:
            # What stands behind all scores heads remarks, unless it looks back.
            known = grounds(words) and not takes_back(words) and not is_anothers(words)
        else:
            known = _is_known_to_head(words, apart=apart)
            known = known or (_replaces(words) and any(entries[:index]))

        if begins and not known:
            yield line, words


def _is_of_the_image_above(page: Page, index: int) -> bool:
    """Tell whether a line is all that stands under an image's heading: "(did not open)", and a gap
    before the next image."""
    above, below = page.lines[index - 1], page.lines[index + 1]
    if page.n == 1 or not index or not (below.gap and below.images):
        return False
    return above.heads and _heads_an_image(page, above)


def _begins_scores(page: Page, line: Line, *, scored: bool) -> bool:
    """Tell whether a line names an image, opens a table, or has a score of the only image."""
    return bool(line.images) or page.in_table(line) or (page.n == 1 and scored)


def _may_head_scores(page: Page, line: Line, words: str) -> bool:
    """Tell whether a line may be a caption of scores, of which more must be known."""
    if line.kind is not Kind.VERDICT or not any(map(str.isalpha, words)):
        return False

    if line.factors or page.in_table(line) or _heads_an_image(page, line):
        return False

    if _OTHER_ENTRY.fullmatch(words) and not is_doubtful(words):
        # "Instruction Adherence: 1" is an entry of its own, "offline_factor_results:" an element.
        return False

    if not _may_head(line, words) or _FILE_SHOWN.fullmatch(words):
        return False

    # What a caption says its numbers are (ranks, weights) has been heeded already.
    return kind_of(words) in {None, Kind.VERDICT}


_OTHER_ENTRY = re.compile(
    r"(?:[A-Z][A-Za-z]+(?:[ ][A-Za-z]+){1,3}|[A-Za-z]+(?:_[A-Za-z]+)+)"
    r":[ ]*[0-9]{1,2}(?:/[0-9]{1,3})?\W*|[A-Za-z]+(?:_[A-Za-z]+)+:"
)


def _orders_a_table(page: Page, line: Line, words: str) -> bool:
    """Tell whether a caption says how the rows of the table under it are sorted.

    Rows that name their images stay what they are; of numbered ones the order is heeded anyway.
    """
    if not _REORDERED.search(words) or is_doubtful(words):
        return False
    below = [each for each in page.lines if each.start > line.start][:1]
    return any(map(page.in_table, below))


def _heads_an_image(page: Page, line: Line) -> bool:
    """Tell whether a line names images that were shown, and not all of them at once."""
    return any(_is_one_of_those_shown(page, image) for image in line.images)


def _is_one_of_those_shown(page: Page, image: ImageName) -> bool:
    """Tell whether a name is that of one image or some: "Image 2", but not "both images"."""
    shown = any(0 <= at <= page.n for at in image.positions)
    if page.n == 1 or len(image.positions) != page.n:
        return shown

    # "Images 1 and 2" heads what is said of these; "both" may be anything.
    name = page.text[image.start : image.end]
    return shown and any(map(str.isdigit, name))


def _is_known_to_head(words: str, *, apart: bool) -> bool:
    """Tell whether a caption is one under which scores stand; it may stand apart from them."""
    last = _SENTENCE_END.split(words.rstrip())[-1]
    if announces(last) or is_neutral(words):
        return True

    if is_final(words) and len(words.split()) == 1:
        # "Correction:" heads scores that change others.
        return True

    # A title apart from the numbers says nothing of them, unless it raises doubts.
    return apart and not words.rstrip().endswith(":") and not is_doubtful(words)


def _may_head(line: Line, words: str) -> bool:
    """Tell whether a line may say what the numbers below it are."""
    if words.rstrip().endswith(":") or line.heading or _BRACKETED.fullmatch(words):
        return True
    return len(words.split()) <= 6 and not _SENTENCE_END.search(words)


def _is_below_a_factor(page: Page, index: int) -> bool:
    """Tell whether a line is indented under a factor's, and part of what that says."""
    while index and not page.lines[index].factors and _goes_on(page, page.lines[index]):
        index -= 1
    return bool(page.lines[index].factors)


def _goes_on(page: Page, line: Line) -> bool:
    """Tell whether a line is indented right under another, and part of what that says."""
    return not line.gap and page.text.startswith("  ", line.start)


# --- Notes and flags beside scores: a key and its value, in JSON, XML and YAML ---
#
# A key beside the images is harmless only if it is known. One that nobody has listed may say that
# nothing was seen (`"image_access": "none"`), or that lower is better.

_TALK = frozenset(
    """note notes disclaimer warning comment comments remark remarks caveat caveats info summary
    message limitation limitations reason reasons reasoning justification explanation rationale
    feedback analysis description observation observations evidence details strengths weaknesses
    purpose conclusion verdict overview why justifications explanations pros cons""".split()
)
_FAILURES = frozenset(("error", "status", "errors", "failure", "exception", "code"))
_NO_FAILURE = frozenset(
    """ok okay success successful complete completed done none null false no final finished valid
    evaluated scored 200 0""".split()
) | {"", "no error", "no errors", "[]"}
_ORIGINS = frozenset("source origin by rater raters author annotator annotators from".split())
"""Keys that say whose scores they are."""
_FREE = frozenset(
    """name label title id index file filename path task category instruction instructions prompt
    question best worst winner preferred weakest strongest""".split()
)
"""Keys under which anything may stand."""
_NAMES = frozenset(
    """number no better date time timestamp created version schema seed language lang locale
    image images edit edits picture option candidate method turn step item session run type
    kind dialog object role url""".split()
)
_QUANTITIES = frozenset(
    """rank ranking ranks order total overall sum average mean confidence weight weights tokens
    count n all certainty weighted s""".split()
)
_SCALES = frozenset("scale range min max minimum maximum top out of direction bounds".split())
_SCORED = frozenset("score rating value grade points id index".split())
"""Keys whose 0 and 1 are numbers."""
_TOPS = frozenset(("max", "maximum", "top"))
_GOOD_FLAGS = frozenset(
    """valid success ok okay done complete completed final real genuine finished usable reliable
    trustworthy grounded access vision""".split()
)
_OTHER_FLAGS = frozenset(
    """tie ties tied winner best same identical weighted json changed edited followed follows
    compliant correct match matches pass passed higher""".split()
)
_YES = frozenset(("true", "yes", "1"))
_NO = frozenset(("false", "no", "0", "none", "null", "", "n/a", "missing", "unavailable"))
_UNREAL = any_of("UNREAL", "DRAFT", "WITHDRAW", "ALTER", "BROKEN", "NOT", "NOTHING", "FAIL")
_SEEING = any_of("SEE", "ARRIVE", "REAL", "FINAL", "FILE")
_PEOPLE = any_of("RATER", "OTHER", "UNREAL")
_OWN_NAMES = frozenset(("judge", "model", "evaluator"))
"""Keys under which the judge may give its own name."""
_SMALL = frozenset("is are was has the a of by in on and for to s x factor factors".split())
_KNOWN = _FREE | _NAMES | _QUANTITIES | _SCALES | _OWN_NAMES | _ORIGINS | _SMALL
_FILE_NAME = re.compile(r"\.[a-z]{3,4}$|/")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?%?")
_GRADES = frozenset(
    """pass passed fail failed failure partial partially good bad poor fair excellent okay ok met
    unmet satisfied correct incorrect wrong high medium low""".split()
)
"""How a score is told in words."""
_TEMPLATE = re.compile(
    r"\.{3}|…|<[^<>]{2,60}>|\{\{?[^{}]{2,60}\}\}?|\[(?:insert|your)[^\[\]]{2,60}\]"
)
"""What is to be filled in."""
_SHORT = 4
"""A remark of fewer words says one thing."""
_NONE_OF = re.compile(r"(?:0|no|none|not)\b")


@dataclass(frozen=True, slots=True)
class Note:
    """A value beside scores, under a key in words, and the image it is said of, if it is of one."""

    image: int | None
    key: str
    text: str
    line: Span | None = None
    """Where its line stands in the reply, if it may be said of one score on that line."""

    @property
    def _words(self) -> set[str]:
        return set(self.key.lower().split())

    @property
    def _value(self) -> str:
        return " ".join(self.text.lower().split())

    def casts_doubt(self) -> bool:
        """Tell whether the scores it stands beside may be none."""
        if self.key == "comment":
            return _voids(self.text) or is_alarming(self.text)

        words, value = self._words, self._value
        if not words:
            return value not in _YES | _NO and _voids(self.text)

        unexpected = self._is_unexpected()
        if unexpected is not None:
            return unexpected

        if _NUMBER.fullmatch(value):
            known = words <= _KNOWN or words & (_QUANTITIES | _TOPS) or is_plain(self.key)
            return self.image is None and not known

        if words & _FREE:
            return False

        said = f"{self.key}: {self.text}"
        if _voids(said) or is_alarming(said):
            return True

        known = words <= _KNOWN or (is_plain(self.key) and is_harmless(self.text))
        return self.image is None and not known

    def _is_unexpected(self) -> bool | None:
        """Tell whether a key of a known kind has a value that it should not have; None for any
        other key. The order matters: `status: none` is a state before it is a flag."""
        words, value = self._words, self._value
        if words & _TALK:
            return self._is_bad_talk()

        if words & _FAILURES:
            return value.strip(" .!") not in _NO_FAILURE

        if _NONE_OF.match(value) and _SEEING.intersection(row_of(self.key)):
            return True

        if value in _YES | _NO and not words & (_SCALES | _SCORED):
            return self._is_a_bad_flag(words, denied=value in _NO)

        if words & _OWN_NAMES:
            return bool(_PEOPLE.intersection(row_of(value)))

        if words & _ORIGINS:
            return not _FILE_NAME.search(value) and not is_plain(value)

        return None

    def is_not_understood(self) -> bool:
        """Tell whether it casts doubt in words that are not known to void scores: `"summary": "A
        good generation and a poor edit."`; of a flag, a state or a name it is known."""
        words, told = self._words, len(self._value.split()) >= _SHORT
        if words & (_FAILURES | _ORIGINS | _OWN_NAMES) or not (told or words & _TALK):
            return False

        if _TEMPLATE.fullmatch(self.text.strip()) or _voids(f"{self.key}: {self.text}"):
            return False
        sentences = _SENTENCE_END.split(self.text)
        return not any(_has_a_form_that_voids(each, behind=True) for each in sentences)

    def voids_a_score(self) -> bool:
        """Tell whether it may void the one score that it stands beside, in an object of its own.

        What explains a score may speak of anything; so only words that are nothing else count.
        """
        value = self._value
        if _TEMPLATE.fullmatch(value):
            return True

        if value.isdigit() and speaks_of_scores(self.key):
            # `"previous_score": 1` is no flag.
            return False

        if value in _YES | _NO:
            unreal = bool(_UNREAL.intersection(row_of(self.key))) or prefers_low(self.key)
            return unreal and value in _YES

        if self._words & _FAILURES:
            return value.strip(" .!") not in _NO_FAILURE | _GRADES

        if self._words & _ORIGINS:
            return bool(_PEOPLE.intersection(row_of(value)))
        return len(value.split()) < _SHORT and value not in _GRADES and unsettles(self.text)

    def _is_bad_talk(self) -> bool:
        if _TEMPLATE.fullmatch(self.text.strip()):
            return True

        if self.image is None:
            return _voids(self.text) or not is_harmless(self.text)
        # What explains an image's scores may say of it what it likes, but that it was not seen.
        return sees_nothing(self.text) or doubts_one(self.text.partition(". ")[0])

    def is_of_one_score(self, page: Page, said: Sequence[Said]) -> bool:
        """Tell whether it stands on the line of one score: `S_acc: 7 <!-- draft had 5 -->`."""
        start, end = self.line or (0, 0)
        held = sum(start <= each.mark.span[0] < end for each in said)
        return held == 1 and page.n * len(page.names.factors) > 1 and not sees_nothing(self.text)

    def states_another_scale(self, asked: Set[Fraction]) -> bool:
        """Tell whether it names the top of a scale, and none that was asked for."""
        if not self._words & _SCALES:
            return False
        tops = stated_tops(f"{self.key} {self.text}") | stated_tops(self.text)
        if self._words & _TOPS and _NUMBER.fullmatch(self.text.strip()):
            tops.add(Fraction(self.text.strip(" %")))

        return bool(tops) and not tops & asked

    def _is_a_bad_flag(self, words: set[str], *, denied: bool) -> bool:
        """Tell whether `is_placeholder: true` or `images_received: 0` says that there was nothing
        to judge; whatever else a flag says, it may say so."""
        row = row_of(self.key)
        if prefers_low(self.key):
            return not denied
        if _UNREAL.intersection(row):
            return not denied
        if words & _GOOD_FLAGS or _SEEING.intersection(row):
            return denied
        return not words <= _KNOWN | _OTHER_FLAGS


def _voids(text: str) -> bool:
    """Tell whether a text beside scores says that they are none."""
    return (
        sees_nothing(text)
        or makes_up(text)
        or doubts_one(text)
        or is_upside_down(text)
        or prefers_low(text)
    )


_TAG = re.compile(r"<[A-Za-z][\w-]*((?:\s+[\w-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'))+)\s*/?>")
_COMMENT = re.compile(r"<!--(.{1,300}?)-->", re.DOTALL)
_ATTRIBUTE = re.compile(r"([\w-]+)\s*=\s*[\"']([^\"'<>]*)[\"']")
_FLAG = re.compile(r"\W*(?P<key>[a-z]+(?:_[a-z]+)+)[ ]*[:=][ ]*(?P<value>\S.{0,80})")


def flag_in(line: str) -> Note | None:
    """Return the note that a line of YAML is: `images_seen: 0`."""
    found = _FLAG.fullmatch(line.strip())
    return Note(None, found["key"].replace("_", " "), found["value"]) if found else None


_LOOKS = frozenset(
    "align bgcolor border cellpadding cellspacing colspan height scope style valign width".split()
)


def _is_of_looks(key: str, value: str) -> bool:
    """Tell whether an attribute only says what an element looks like; a class may say more."""
    if key.lower() == "class":
        return not is_no_verdict(value) and not unsettles(value) and not _voids(value)
    return key.lower() in _LOOKS


def attributes(text: str, names: Names) -> Iterator[Note]:
    """Yield the attributes of tags, and comments: `<scores rater="human">`, `<!-- dummy -->`.

    Those that name a factor hold its score.
    """
    for comment in _COMMENT.finditer(text):
        end = text.find("\n", comment.end())
        line = (text.rfind("\n", 0, comment.start()) + 1, end if end >= 0 else len(text))
        yield Note(None, "comment", comment[1].strip(), line)

    for tag in _TAG.finditer(text):
        for key, value in _ATTRIBUTE.findall(tag[1]):
            if names.factor_named(key) is None and not _is_of_looks(key, value):
                yield Note(None, re.sub(r"[_-]", " ", key), value)
