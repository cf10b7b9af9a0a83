"""What a judge says of its own scores, and which of them it leaves: none, all, or some images'."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from lmmscore.parsing.names import UNKNOWN
from lmmscore.parsing.numbers import (
    is_upside_down,
    numbers_in,
    speaks_of_scale_without,
    stated_tops,
)
from lmmscore.parsing.page import Line, Page
from lmmscore.parsing.remarks import (
    announces,
    closes_well,
    commands,
    doubts_one,
    has_second_thoughts,
    is_alarming,
    is_doubtful,
    is_harmless,
    is_neutral,
    kind_of,
    makes_up,
    opens_well,
    sees_nothing,
    speaks_of_numbers,
    speaks_of_scores,
    takes_back,
)
from lmmscore.parsing.verdict import Cell, Fault, FaultKind, Kind, Reading, Said

# --- What the judge says of its own scores ---


_SENTENCE_END = re.compile(r"[.!?。！？](?=\s|$|[\"'”’)])\s*")
_ONE_PICTURE = re.compile(
    r"\b(?:this|the|that)[ ](?:\w+[ ])?(?:image|picture|photo|photograph|edit|file)\b(?!s)|\bit\b",
    re.IGNORECASE,
)
_SCORES = re.compile(r"\b(?:scores?|ratings?|values?|numbers?)\b", re.IGNORECASE)
_BACKWARD = re.compile(r"\b(?:above|previous|preceding|earlier|these were|those)\b", re.IGNORECASE)
_CUE = re.compile(
    r"""
    \b(?:correct(?:ion|ed|ing)?|chang(?:e|ed|ing)|revis(?:e|ed|ing|ion)|adjust(?:ed|ing|ment)?
      |amend(?:ed|ing)?|lower(?:ed|ing)?|rais(?:e|ed|ing)|reduc(?:e|ed|ing)|increas(?:e|ed|ing)
      |updat(?:e|ed|ing)|bump(?:ed|ing)?|instead|withdraw|deserves?|merits?|ought|actually|rather
      |reconsider\w*|looking[ ]again|on[ ]second|wait|oops|mistake|erratum|typo|meant|mean
      |make[ ](?:that|it)|too[ ](?:generous|harsh|strict|lenient|high|low|kind)
      |downgrad\w+|upgrad\w+|drop(?:ped)?|re-?scor\w+|re-?rat\w+|sorry|fix(?:ed)?|korrig\w+
      |Korrektur
      |should[ ](?:rather[ ]|actually[ ]|really[ ])?(?:be|have|get|read)|better[ ]to)\b
    | 更正|改为|应为|訂正|修正
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CHANGED = re.compile(
    r"""
    \b(?:should|must|ought)\b[^.\n]{0,40}\bpoints?[ ](?:lower|higher|less|more)\b |
    \b(?:an?|one|two|half[ ]an?|[0-9])[ ]points?[ ](?:lower|higher|less|more)\b(?![ ]than) |
    \b(?:lower|rais|reduc|increas|bump|adjust|drop|deduct|subtract|add|downgrad
      |upgrad)\w*\b[^.\n]{0,60}\bby[ ](?:an?|one|two|three|half|[0-9.]+)\b |
    \b(?:lower|rais|reduc|increas|bump|adjust|drop|deduct|subtract|add|downgrad
      |upgrad)\w*\b[^.\n]{0,60}
    \b(?:by|of)?[ ]?(?:an?|one|two|half|0?\.5|[0-9])[ ]?(?:half[ ]?)?(?:a[ ])?points?\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BRACKETED = re.compile(r"[\[(<].*[\])>]\s*")
_GIVEN = re.compile(
    r"(?:[ ](?:of|for)[ ][^.:;0-9]{0,20}[0-9]{1,3})?[ ]*(?:[:=→–—-]|->|is\b|to\b|at\b)?"
    r"[ ]*(?:an?[ ])?[0-9]",
    re.IGNORECASE,
)
_OF_SOMETHING_ELSE = re.compile(
    r"\b(?:S_all|overall|total|weight\w*|rank\w*|average|mean of)\b", re.IGNORECASE
)
_SUM = re.compile(r"[0-9)][ ]*[×·*+]|[×·*+][ ]*[0-9(S]")
_COUNTED = re.compile(
    r"[ ]+(?:points?[ ]+(?!because|since|for\b)|%|times\b|percent)", re.IGNORECASE
)
_OLD = re.compile(r"\b(?:from|than|not|instead of|rather than|was|were)[ ]+$", re.IGNORECASE)
_PLAIN_END = re.compile(
    r"[ ]*(?:[.,;:!?)\]/\n–—→-]|$|(?:out of|instead|rather|not|from|because|since|as|for|on|in|and"
    r"|here"
    r"|now|but|then|after|points?|would|is|to|than|while|if|though|too)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Voids:
    """What of a reply counts for nothing."""

    all: str = ""
    """Why none of its scores count."""
    images: frozenset[int] = frozenset()
    """Images of which the judge says that it did not see them."""
    before: int = 0
    """Up to where in the reply everything was taken back."""

    def keep(self, said: Sequence[Said]) -> list[Said]:
        """Return what is left."""
        if self.all:
            return []

        return [
            each
            for each in said
            if each.mark.span[0] >= self.before and (each.position or 1) not in self.images
        ]


_MAY_BE_UNREAL = frozenset((Kind.VERDICT, Kind.HYPOTHESIS, Kind.EXAMPLE))


def voids(page: Page, entries: Sequence[bool], said: Sequence[Said], notes: Iterator[str]) -> Voids:
    """Return what the judge itself says of its scores that makes them count for nothing."""
    for note in notes:
        if sees_nothing(note) or makes_up(note):
            return Voids(all=_because(note))

    blind: set[int] = set()
    by_order = any(each.by_order for each in said)
    before = 0
    remarks = False
    """Whether a heading behind all scores has named an image: what follows is said of it."""
    first = min((each.mark.span[0] for each in said), default=0)
    apart = _paragraphs_behind(page, entries, first, max((s.mark.span[1] for s in said), default=0))

    for line, start, sentence in _sentences(page, entries):
        place = page.span(start, start + 1)[0]
        ahead = place < first and not line.images

        if sees_nothing(sentence):
            unseen = _unseen(page, line, start, sentence)
            if unseen is None:
                return Voids(all=_because(sentence))

            blind.add(unseen)
            continue

        if _REORDERED.search(sentence) and (by_order or _ALIAS.search(sentence)):
            return Voids(all=_because(sentence))

        remarks = remarks or (apart <= line.start and line.heading and bool(line.images))
        behind = apart <= line.start and not remarks and _closes_badly(page, line, start, sentence)
        if behind or _states_another_scale(page, line, start, sentence):
            return Voids(all=_because(sentence))

        if place > first and (takes_back(sentence) or _swaps(page, start, sentence)):
            before = place
            continue

        unreal = makes_up(sentence) and line.kind in _MAY_BE_UNREAL
        if unreal and place > first and _BACKWARD.search(sentence):
            before = place
        elif (
            unreal
            or (ahead and is_alarming(sentence))
            or _qualifies(page, line, start, sentence)
            or (place < first and _opens_badly(page, line, start, sentence))
        ):
            if not _real_ones_follow(page, line, start + len(sentence)):
                return Voids(all=_because(sentence))
            before = place
        elif not ahead or line.positions is not None:
            blind |= _doubted(page, line, start, sentence, apart=apart <= line.start)

    lead = _doubtful_lead(page, entries)
    return Voids(all=_because(lead)) if lead else Voids(images=frozenset(blind), before=before)


def _is_known_to_head(words: str, last: str, *, apart: bool) -> bool:
    """Tell whether a caption is one under which scores stand; `last` is its last sentence,
    and it may stand apart from them."""
    if announces(last) or is_neutral(words):
        return True
    # A title apart from the numbers says nothing of them, unless it raises doubts.
    return apart and not words.rstrip().endswith(":") and not is_doubtful(words)


def _may_head(line: Line, words: str) -> bool:
    """Tell whether a line may say what the numbers below it are."""
    if words.rstrip().endswith(":") or line.heading or _BRACKETED.fullmatch(words):
        return True
    return len(words.split()) <= 6 and not _SENTENCE_END.search(words)


def _states_another_scale(page: Page, line: Line, start: int, sentence: str) -> bool:
    """Tell whether a sentence or a caption says that scores are on another scale than asked for."""
    if line.kind not in {Kind.VERDICT, Kind.LEGEND} or len(sentence) > 300:
        return False

    tops = stated_tops(sentence)
    asked = {factor.scale.high for factor in page.names.factors}
    if tops and not tops & asked:
        return True

    # "Image 1 is the best" speaks of an image.
    end = start + len(sentence)
    if next(page.names.images_in(page.text, start, end), None) is not None:
        return False
    if is_upside_down(sentence):
        return True

    apart = not page.names.factors_in(page.text, start, end) and line.positions is None
    return apart and speaks_of_scale_without(sentence, asked)


_SWAP = re.compile(
    r"\b(?:swap|switch|interchang|exchang|revers|transpos|vertausch|verwechsel|intercambi|invert|invers"
    r"|confus|mislabel)\w*|\bmix(?:ed)?[ -]up\b|\b(?:other|wrong)[ ]way[ ]a?round\b|échang|scambi"
    r"|互换|调换|弄反|搞混|入れ替|逆に|바뀌",
    re.IGNORECASE,
)


def _swaps(page: Page, start: int, sentence: str) -> bool:
    """Tell whether a sentence gives the scores of two images, or of two factors, to each other."""
    if not _SWAP.search(sentence):
        return False

    end = start + len(sentence)
    positions = {
        at for image in page.names.images_in(page.text, start, end) for at in image.positions
    }
    factors = {factor.key for factor in page.names.factors_in(page.text, start, end)}
    return len(positions) > 1 or len(factors) > 1


# In which order images are listed, where that may not be the order in which they were shown.
_ALIAS = re.compile(
    r"""
    \b(?:[A-H]|image[ ][0-9]+)[ ](?:denotes?|stands[ ]for|refers[ ]to|means)[ ]
    | \blet[ ][A-H]\b|\b(?:your|original|actual)[ ]image[ ][0-9]
    """,
    re.VERBOSE | re.IGNORECASE,
)
_REORDERED = re.compile(
    rf"""
    \b(?:best[ ]to[ ]worst|worst[ ]to[ ]best|descending|ascending|sorted|reverse[d]?[ ]order
      |in[ ]order[ ]of|in[ ]the[ ]order[ ](?:of[ ])?[0-9]
      |order[ ]of[ ](?:the[ ])?images:?[ ]*(?!1\b)[0-9]
      |rank(?:ed|ing)[ ]order)\b | {_ALIAS.pattern}
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _closes_badly(page: Page, line: Line, start: int, sentence: str) -> bool:
    """Tell whether a sentence in a paragraph behind all scores may undo them."""
    if line.kind is not Kind.VERDICT or line.heading or sentence.rstrip().endswith(":"):
        return False

    end = start + len(sentence)
    if commands(sentence):
        return True

    if page.names.factors_in(page.text, start, end):
        # A correction of its own, or a remark, unless it says what the numbers are.
        moved = _OF_LAYOUT.search(sentence) is not None
        return moved or (speaks_of_numbers(sentence) and not is_harmless(sentence))

    if next(page.names.images_in(page.text, start, end), None) is not None:
        if speaks_of_scores(sentence) and _UNFINISHED.search(sentence):
            return True
        return has_second_thoughts(sentence) and not _CORRECTED.search(sentence)

    if not closes_well(sentence):
        return True

    # "*should be 6": a sentence without a subject may replace any score.
    return _REPLACED_BY.match(sentence) is not None


def _opens_badly(page: Page, line: Line, start: int, sentence: str) -> bool:
    """Tell whether a sentence ahead of all scores may make them none."""
    if line.kind is not Kind.VERDICT or line.heading or opens_well(sentence):
        return False

    end = start + len(sentence)
    on_one = page.n > 1 and line.positions is not None and len(line.positions) == 1
    if on_one or page.names.factors_in(page.text, start, end):
        return False

    named = next(page.names.images_in(page.text, start, end), None)
    return named is None or page.n == 1 or len(named.positions) == page.n


_UNFINISHED = re.compile(r"\b(?:provisional|tentative|preliminary|draft|estimate[ds]?|guess\w*)\b")
_OF_LAYOUT = re.compile(r"\b(?:columns?|rows?|labels?|order)\b", re.IGNORECASE)
_REPLACED_BY = re.compile(
    r"\W*(?:should|must|ought|make|now|actually|rather|better|really)\b[^.\n]{0,20}[0-9]",
    re.IGNORECASE,
)
_CORRECTED = re.compile(r"\b(?:to|is|be|a|of)[ ][0-9]{1,3}\b|\bpoints?\b|\btoo[ ](?:high|low)")


def _paragraphs_behind(page: Page, entries: Sequence[bool], first: int, last: int) -> int:
    """Return where what stands behind all scores begins: the next paragraph.

    The next line, where no score has an explanation on a line of its own.
    """
    start, place = page.plain.place(first), page.plain.place(last)
    bare = sum(entries) > 1
    for line, scored in zip(page.lines, entries, strict=True):
        if start <= line.start < place and not (scored or line.heads or line.images):
            bare = False

        if line.start >= place and (line.gap or (bare and not scored)):
            return line.start

    return len(page.text)


def _unseen(page: Page, line: Line, start: int, sentence: str) -> int | None:
    """Return the one image that a sentence says was not seen; None where it may be all of them."""
    named = [
        image.positions for image in page.names.images_in(page.text, start, start + len(sentence))
    ]
    if page.n < 2 or len(named) > 1:
        return None

    if not named and not _ONE_PICTURE.search(sentence):
        return None

    positions = named[0] if named else line.positions
    if positions is None or len(positions) > 1 or positions[0] == UNKNOWN:
        return None

    return positions[0]


def _doubted(page: Page, line: Line, start: int, sentence: str, *, apart: bool) -> set[int]:
    """Return the images whose scores a remark may undo: of those that it names or stands under.

    What stands apart behind all scores must name one.
    """
    end = start + len(sentence)
    if page.n < 2 or line.kind is not Kind.VERDICT or line.heads or not doubts_one(sentence):
        return set()

    if page.names.factors_in(page.text, start, end):
        return set()

    found = {
        position
        for image in page.names.images_in(page.text, start, end)
        for position in image.positions
    }
    if not apart and line.positions is not None:
        above = page.line_at(line.start - 1)
        found.update(line.positions, (above.positions if above else None) or ())

    return found


def _qualifies(page: Page, line: Line, start: int, sentence: str) -> bool:
    """Tell whether a sentence says of all scores what is not known to leave them as they are."""
    if line.kind is not Kind.VERDICT or not speaks_of_scores(sentence) or is_harmless(sentence):
        return False

    end = start + len(sentence)
    if page.names.factors_in(page.text, start, end):
        return False

    every = tuple(range(1, page.n + 1))
    named = [image.positions for image in page.names.images_in(page.text, start, end)]
    return all(positions == every for positions in named)


def _doubtful_lead(page: Page, entries: Sequence[bool]) -> str:
    """Return the words that lead up to scores, where these may make them somebody else's."""
    for index, line in enumerate(page.lines[:-1]):
        words = page.words(line)
        shown = any(0 <= at <= page.n for image in line.images for at in image.positions)
        if shown or line.factors or entries[index] or line.kind is not Kind.VERDICT:
            continue

        if page.in_table(line) or not any(map(str.isalpha, words)):
            continue

        explains = index > 0 and entries[index - 1] and _goes_on(page, line)
        if explains or not _may_head(line, words):
            continue

        if kind_of(words) not in {None, Kind.VERDICT}:
            # What the caption says its numbers are has been heeded already.
            continue

        below = page.lines[index + 1]
        heads = bool(below.images) or page.in_table(below) or (page.n == 1 and entries[index + 1])
        last = _SENTENCE_END.split(words.rstrip())[-1]
        apart = below.gap or bool(below.images)
        if heads and not _is_known_to_head(words, last, apart=apart):
            return words

    return ""


def _goes_on(page: Page, line: Line) -> bool:
    """Tell whether a line is indented right under another, and part of what that says."""
    return not line.gap and page.text.startswith("  ", line.start)


def _because(sentence: str) -> str:
    short = " ".join(sentence.split())
    return short if len(short) <= 100 else short[:97] + "…"


def _real_ones_follow(page: Page, line: Line, place: int) -> bool:
    """Tell whether later words announce scores in earnest: a heading, or the end of this line."""
    rest = page.text[place : line.end]
    if rest.rstrip().endswith(":") and _announces(rest):
        return True

    return any(
        later.start > line.start and later.heads and _announces(page.words(later))
        for later in page.lines
    )


def _announces(words: str) -> bool:
    return kind_of(words) is Kind.VERDICT and is_harmless(words)


_SORRY = re.compile(r"\W*(?:sorry|oops|wait|correction|I[ ]mean)\b", re.IGNORECASE)


def _sentences(page: Page, entries: Sequence[bool]) -> Iterator[tuple[Line, int, str]]:
    """Yield the sentences that are not part of an entry, with the line and the place of each."""
    for line, scored in zip(page.lines, entries, strict=True):
        if page.in_table(line):
            continue

        place = line.head

        for number, match in enumerate([*_SENTENCE_END.finditer(page.text, place, line.end), None]):
            end = match.end() if match else line.end
            sentence = page.text[place:end]
            # The sentence with the score may say of the picture what it likes.
            explains = scored and (number == 0 or not _SCORES.search(sentence))
            undone = number > 0 and _SORRY.match(sentence)
            if sentence.strip() and (not explains or undone or sees_nothing(sentence)):
                yield line, place, sentence

            place = end


def with_corrections(reading: Reading, page: Page) -> Reading:
    """Return a reading without the scores that words after the verdict change.

    Each is a contradiction instead: "I lower S_acc of image 2 to 3".
    """
    end = max((span[1] for span in reading.spans.values()), default=0)
    places: dict[tuple[int, str], None] = {}
    for sentence_start, sentence_end in _corrections(page, page.plain.place(end)):
        for cell in _changed(page, sentence_start, sentence_end, reading):
            places[cell] = None
    return _without(reading, places, "is corrected later, in words")


def without_contradicted(reading: Reading, mentioned: Sequence[tuple[Cell, Fraction]]) -> Reading:
    """Return a reading without the scores that a sentence elsewhere gives another number."""
    differing = {
        cell: None for cell, value in mentioned if reading.scores.get(cell, value) != value
    }
    return _without(reading, differing, "is given another number in a sentence")


def _without(reading: Reading, cells: dict[Cell, None], says: str) -> Reading:
    """Return a reading in which these cells are contradictions."""
    faults = tuple(Fault(FaultKind.CONTRADICTION, says, *cell) for cell in cells)
    if not faults:
        return reading
    scores = {cell: score for cell, score in reading.scores.items() if cell not in cells}
    spans = {cell: reading.spans[cell] for cell in scores}
    return replace(reading, scores=scores, spans=spans, faults=reading.faults + faults)


def _corrections(page: Page, start: int) -> Iterator[tuple[int, int]]:
    """Yield where sentences stand that speak of a change, from a place on.

    A line that ends in a colon goes on in the next.
    """
    lines = [line for line in page.lines if line.end > start]

    for index, line in enumerate(lines):
        place = max(start, line.head)

        for match in [*_SENTENCE_END.finditer(page.text, place, line.end), None]:
            end = match.end() if match else line.end
            if _speaks_of_change(page, place, end):
                open_end = page.text[place:end].rstrip().endswith((":", "-", "–"))
                if open_end and index + 1 < len(lines):
                    end = lines[index + 1].end

                yield place, end

            place = end


def _speaks_of_change(page: Page, start: int, end: int) -> bool:
    """Tell whether a sentence may change a score: by its words, or as it gives a factor one."""
    if _CUE.search(page.text, start, end) or _CHANGED.search(page.text, start, end):
        return True

    image = next(page.names.images_in(page.text, start, end), None)
    if image is None:
        return False

    named = page.names.factors_in(page.text, start, end)
    return any(_GIVEN.match(page.text, factor.end, end) for factor in named)


def _changed(page: Page, start: int, end: int, reading: Reading) -> list[tuple[int, str]]:
    """Return the images and factors that a sentence gives another number than the verdict does."""
    sentence = page.text[start:end]
    images = {
        position
        for image in page.names.images_in(page.text, start, end)
        for position in image.positions
    }
    factors = {factor.key for factor in page.names.factors_in(page.text, start, end)}
    if _SUM.search(sentence) or not (images or factors):
        return []

    if not factors and _OF_SOMETHING_ELSE.search(sentence):
        return []

    anything = _CHANGED.search(sentence) is not None
    numbers = _numbers_of(page, start, end)
    changed = []

    # What is not named may be any of them.
    for cell, score in reading.scores.items():
        named = (cell[0] in images or not images) and (cell[1] in factors or not factors)
        scale = page.names.factor(cell[1]).scale
        other = any(number != score and not scale.fault(number) for number in numbers)
        if named and (other or anything):
            changed.append(cell)

    return changed


def _numbers_of(page: Page, start: int, end: int) -> set[Fraction]:
    """Return the numbers in a sentence that may be scores, those in the names of images aside."""
    inside = [(image.start, image.end) for image in page.names.images_in(page.text, start, end)]
    found = set()
    for number in numbers_in(page.text, start, end):
        if any(first <= number.start < last for first, last in inside):
            continue
        if _COUNTED.match(page.text, number.digits_end, end):
            continue
        if _OLD.search(page.text, max(start, number.start - 20), number.start):
            continue

        if _PLAIN_END.match(page.text, number.digits_end, end):
            found.add(number.value)

    return found
