"""Of everything a reply says, what holds: the last complete verdict counts, contradictions are
faults, and what the judge disclaims, takes back or corrects is no score.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction

from lmmscore.parsing.names import UNKNOWN, FactorName, ImageName
from lmmscore.parsing.numbers import is_reckoned_up, numbers_in, outside, pairs, spoken
from lmmscore.parsing.page import Page
from lmmscore.parsing.remarks import is_final, is_foreign, kind_of, supposes
from lmmscore.parsing.text import Span
from lmmscore.parsing.verdict import QUANTITIES, SILENCE, Cell, Fault, FaultKind, Reading, Said
from lmmscore.scales import Factor

# --- The last complete verdict ---


_TWICE = "is scored twice with different numbers"
_AGAIN = "is scored again later with another number"
_APART = "two verdicts differ, and nothing says which of them holds"


@dataclass(slots=True)
class _Pass:
    """One run through the images: every cell at most once, but for repetitions."""

    cells: dict[Cell, Said] = field(default_factory=dict)
    twice: set[Cell] = field(default_factory=set)
    """Cells given two different numbers in it."""

    @property
    def label(self) -> str:
        return next(iter(self.cells.values())).label

    @property
    def layout(self) -> str:
        return next(iter(self.cells.values())).layout


def decide(said: Iterable[Said], factors: Sequence[Factor], n: int, text: str = "") -> Reading:
    """Return the last verdict that scores n images on every factor, or what can be read of one.

    `text` is the reply: of two whole verdicts the last one counts where words between them say so.
    """
    said = _counted_from_one(sorted(said, key=lambda each: each.mark.span), n)
    strange = _not_the_only_image(said) if n == 1 else _not_shown(said, n)
    if strange is not None:
        # Whoever scores an image that was not shown may have numbered all of them otherwise.
        fault = Fault(FaultKind.CONTRADICTION, _strangeness(strange, n))
        return Reading(faults=(fault,))

    if n == 1:
        said = [replace(each, position=1) for each in said]

    size = n * len(factors)
    passes = _passes(_whole_objects(said, len(factors), n), size)
    complete = [index for index, each in enumerate(passes) if len(each.cells) == size]
    if not complete:
        return _merged_reading(passes, factors, n)

    verdict = passes[complete[-1]]
    return _reading(verdict.cells, _contradictions(passes, complete, text), said, factors, n)


def _contradictions(passes: Sequence[_Pass], complete: Sequence[int], text: str) -> list[Fault]:
    """Return what speaks against the last complete verdict: itself, what follows, what precedes."""
    last = complete[-1]
    verdict = passes[last]
    faults = [Fault(FaultKind.CONTRADICTION, _TWICE, *cell) for cell in sorted(verdict.twice)]
    faults += _differing(verdict, passes[last + 1 :], _AGAIN)
    if last > 0 and last - 1 not in complete:
        # Half a verdict in the same form right before it is a part of it rather than a draft.
        before = passes[last - 1]
        if before.layout == verdict.layout and not is_final(verdict.label):
            faults += _differing(verdict, [before], _TWICE)

    for index in complete[:-1]:
        earlier = passes[index]
        if _side_by_side(earlier, verdict) or not _is_replaced(earlier, verdict, text):
            faults += _apart(verdict, earlier)

    return faults


def _apart(verdict: _Pass, other: _Pass) -> list[Fault]:
    """Return where two whole verdicts differ, of which neither holds; in most cells they may as
    well agree by chance in the others."""
    differing = _differing(verdict, [other], _APART)
    if 2 * len(differing) > len(verdict.cells):
        return [Fault(FaultKind.CONTRADICTION, _APART, *cell) for cell in verdict.cells]
    return differing


def _counted_from_one(said: list[Said], n: int) -> list[Said]:
    """Return what is said with images counted from 1: n of them from 0 on can only mean that."""
    positions = {each.position for each in said}
    if n == 1 or positions != set(range(n)):
        return said

    made = []
    for each in said:
        notes = (*each.notes, "images counted from 0")
        made.append(replace(each, position=(each.position or 0) + 1, notes=notes))

    return made


_REPLACES = re.compile(
    r"""
    \b(?:final\w*|revis\w+|updat\w+|correct\w*|amend\w*|adjust\w*|reconsider\w*|reflection
      |second[ ](?:thoughts?|look)|review\w*|instead|actual\w*|wait|scratch[ ]that|calibrat\w+
      |check(?:ed|ing)?|no,|rather|settle\w*|definitive|better)\b
    | 最终|最終|修正|更正|endgültig\w*|final
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _is_replaced(earlier: _Pass, verdict: _Pass, text: str) -> bool:
    """Tell whether words say that a whole verdict gives way to a later one."""
    end = max(each.mark.span[1] for each in earlier.cells.values())
    start = min(each.mark.span[0] for each in verdict.cells.values())

    # What follows the last number on its line explains that number.
    between = text[end:start].partition("\n")[2] or text[end:start]
    return _REPLACES.search(between) is not None


def _strangeness(position: int, n: int) -> str:
    if position == UNKNOWN:
        return "it does not say by number which image is which"
    if position == 0:
        return "an image is numbered 0, and not all of them are counted from there"
    shown = "1 was" if n == 1 else f"{n} were"
    return f"there is no image {position}; {shown} shown"


def _not_shown(said: Sequence[Said], n: int) -> int | None:
    """Return the first number of an image that is none of those shown: 9 of 8."""
    for each in said:
        if each.position is not None and not 1 <= each.position <= n:
            return each.position
    return None


def _not_the_only_image(said: Sequence[Said]) -> int | None:
    """Return the first number that cannot be the only image's, where several are scored."""
    units: dict[int, set[int]] = {}
    for each in said:
        if each.position is not None:
            units.setdefault(each.position, set()).add(each.unit)

    # 0 is a way of saying 1, but not in the table that has an image 1 as well.
    if units.get(0, set()) & units.get(1, set()):
        return 0
    # A single number, whatever it is, numbers the only image.
    return next((position for position in units if position > 1), None) if len(units) > 1 else None


def _whole_objects(said: Sequence[Said], size: int, n: int) -> Sequence[Said]:
    """Drop JSON objects that score the only image on some factors, where another does on all."""
    if n > 1:
        return said

    factors: dict[int, set[str]] = {}

    for each in said:
        if each.layout == "json":
            factors.setdefault(each.unit, set()).add(each.factor)

    whole = {unit for unit, keys in factors.items() if len(keys) == size}
    if not whole:
        return said

    return [each for each in said if each.layout != "json" or each.unit in whole]


def _passes(said: Sequence[Said], size: int) -> list[_Pass]:
    """Tell verdicts apart: a new one begins where a cell comes again in another unit, and with
    every JSON text that has them all."""
    passes: list[_Pass] = []
    current = _Pass()
    whole = _whole_texts(said, size)
    for each in said:
        if each.unit in whole:
            whole.discard(each.unit)
            current = _Pass()

        earlier = current.cells.get(each.cell)
        if earlier is None:
            if not current.cells:
                passes.append(current)

            current.cells[each.cell] = each
            continue

        same = earlier.mark.value == each.mark.value and earlier.mark.value is not None
        if same and (earlier.unit == each.unit or len(current.cells) < size):
            continue

        together = earlier.unit == each.unit and (each.whole or len(current.cells) > 1)
        if together and not _begins_again(current, each):
            current.twice.add(each.cell)
            continue

        current = _Pass({each.cell: each})
        passes.append(current)

    return passes


def _whole_texts(said: Sequence[Said], size: int) -> set[int]:
    """Return the units of JSON that score every image on every factor."""
    cells: dict[int, set[Cell]] = {}
    for each in said:
        if each.layout == "json":
            cells.setdefault(each.unit, set()).add(each.cell)

    return {unit for unit, found in cells.items() if len(found) == size}


def _begins_again(current: _Pass, each: Said) -> bool:
    """Tell whether a list starts over: its first cell comes again once the rest has been given."""
    if each.whole:
        return False
    first = next(iter(current.cells))
    return each.cell == first and len(current.cells) > 1


def _side_by_side(one: _Pass, other: _Pass) -> bool:
    """Tell whether two verdicts are headed alike, so that neither replaces the other."""
    if not one.label or not other.label or one.label == other.label:
        return False
    return not is_final(other.label)


def _differing(verdict: _Pass, others: Iterable[_Pass], says: str) -> list[Fault]:
    faults = []

    for other in others:
        for cell, each in other.cells.items():
            if cell in verdict.cells and each.mark.value != verdict.cells[cell].mark.value:
                faults.append(Fault(FaultKind.CONTRADICTION, says, *cell))

    return faults


def _merged_reading(passes: Sequence[_Pass], factors: Sequence[Factor], n: int) -> Reading:
    cells: dict[Cell, Said] = {}
    faults: list[Fault] = []
    for each in passes:
        known = _Pass(dict(cells.items()))
        faults += _differing(known, [each], _TWICE)
        faults += [Fault(FaultKind.CONTRADICTION, _TWICE, *cell) for cell in sorted(each.twice)]
        cells |= each.cells

    return _reading(cells, faults, [s for each in passes for s in each.cells.values()], factors, n)


def _reading(
    cells: dict[Cell, Said],
    faults: Sequence[Fault],
    said: Sequence[Said],
    factors: Sequence[Factor],
    n: int,
) -> Reading:
    faults = list(dict.fromkeys(faults))
    bad = {(fault.position, fault.factor) for fault in faults}
    for fault in _holes(cells, factors, n):
        if (fault.position, fault.factor) not in bad:
            faults.append(fault)

    bad = {(fault.position, fault.factor) for fault in faults}
    scores = {}
    spans = {}
    for cell, each in cells.items():
        if each.mark.value is not None and cell not in bad:
            scores[cell] = each.mark.value
            spans[cell] = each.mark.span

    notes = tuple(dict.fromkeys(note for each in cells.values() for note in each.notes))
    layout = said[-1].layout if said else ""
    return Reading(scores, spans, tuple(faults), layout, notes)


def _holes(cells: dict[Cell, Said], factors: Sequence[Factor], n: int) -> list[Fault]:
    """Return a fault for every score that is missing, or that is not one."""
    faults = []
    for position in range(1, n + 1):
        if not any((position, factor.key) in cells for factor in factors):
            faults.append(Fault(FaultKind.MISSING_IMAGE, "no scores for it were found", position))
            continue

        for factor in factors:
            each = cells.get((position, factor.key))
            if each is None:
                kind, says = FaultKind.MISSING_FACTOR, "no score was found"
            elif each.mark.value is None:
                kind, says = each.mark.kind or FaultKind.NOT_A_NUMBER, each.mark.says
            else:
                continue

            faults.append(Fault(kind, says, position, factor.key))

    return faults


def merged(earlier: Reading, later: Reading, factors: Sequence[Factor], n: int) -> Reading:
    """Return the later reading where it is complete; else the earlier one with what the later adds.

    A number is never carried over into a contradiction: what the later reply faults stays faulted.
    What it merely leaves out was not asked again, and is kept. What was withheld from the later one
    is merged likewise.
    """
    cells = [(position, factor.key) for position in range(1, n + 1) for factor in factors]
    covers = all(cell in later.scores for cell in cells)
    if not earlier.scores or (later.complete and covers):
        return later

    scores = earlier.scores | later.scores
    faults = [_fault_at(cell, later, earlier) for cell in cells if cell not in scores]

    for fault in later.faults:
        cell = (fault.position, fault.factor)
        if fault.kind in SILENCE or cell not in scores or cell in later.scores:
            continue

        at = (fault.position or 0, fault.factor or "")
        faults.append(_fault_at(at, later, earlier))
        del scores[at]

    notes = tuple(dict.fromkeys(earlier.notes + later.notes))
    withheld = merged(earlier, later.withheld, factors, n) if later.withheld else None
    # Places in the text belong to one reply only: those of the later one can be shown.
    return Reading(
        scores,
        later.spans,
        tuple(dict.fromkeys(faults)),
        later.layout or earlier.layout,
        notes,
        later.doubts,
        withheld,
    )


def _fault_at(cell: Cell, later: Reading, earlier: Reading) -> Fault:
    """Return the newest reason why a cell has no score."""
    for reading in (later, earlier):
        for fault in reading.faults:
            if fault.position in (None, cell[0]) and fault.factor in (None, cell[1]):
                return replace(fault, position=cell[0], factor=cell[1])
    return Fault(FaultKind.MISSING_FACTOR, "no score was found", *cell)


# --------------------------------------------------------------------------------------------------
# Scores that words after the verdict change: contradictions, whichever number is the right one.
# --------------------------------------------------------------------------------------------------

_SENTENCE_END = re.compile(r"[.!?。！？](?<!\bvs\.)(?=\s|$|[\"'”’)])\s*")
_CUE = re.compile(
    r"""
    \b(?:correct(?:ion|ed|ing)?|chang(?:e|ed|ing)|revis(?:e|ed|ing|ion)|adjust(?:ed|ing|ment)?
      |amend(?:ed|ing)?|lower(?:ed|ing)?|rais(?:e|ed|ing)|reduc(?:e|ed|ing)|increas(?:e|ed|ing)
      |updat(?:e|ed|ing)|bump(?:ed|ing)?|instead|withdraw|deserves?|merits?|ought|actually|rather
      |reconsider\w*|looking[ ]again|on[ ]second|wait|oops|mistake|errat\w+|typo|meant|mean
      |make[ ](?:that|it)|too[ ](?:generous|harsh|strict|lenient|high|low|kind)
      |downgrad\w+|upgrad\w+|drop(?:ped)?|re-?scor\w+|re-?rat\w+|sorry|fix(?:ed)?|korrig\w+
      |Korrektur
      |(?:should|must|(?:has|have|needs?)[ ]to|can[ ]only)[ ](?:rather[ ]|actually[ ]|really[ ])?
        (?:be|have|get|read)|better[ ]to)\b
    | 更正|改为|应为|訂正|修正
    """,
    re.VERBOSE | re.IGNORECASE,
)
# "S_acc falls to 3", "ends up at a 3": whatever the verb is.
_MOVED = re.compile(
    r"(?:[a-z][ ](?:to|at|as|with)|\bnow|\bcall\b[^.!?0-9]{0,40})[ ](?:an?[ ]|only[ ]"
    r"|just[ ])?[0-9]",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"""
    \b(?:delete|withdraw|retract|strike|scrap|cancel|disregard|ignore|remove|drop|take[ ]back)[ ]
      (?:the|my|that|this|its)\b[^.\n]{0,50}\b
      (?:scores?|ratings?|numbers?|[0-9]{1,2}(?![ ](?!of\b|for\b|on\b|there\b|here\b)[a-z]))\b |
    \b(?:scores?|ratings?|[0-9]{1,2})[ ](?:of[ ][^.\n]{0,40}[ ])?(?:is|are)[ ](?:now[ ]|hereby[ ])?
      (?:withdrawn|retracted|void|deleted|cancell?ed|invalid)\b |
    \b(?:should|must|ought)\b[^.\n]{0,40}\bpoints?[ ](?:lower|higher|less|more)\b |
    \b(?:an?|one|two|half[ ]an?|[0-9])[ ]points?[ ](?:lower|higher|less|more)\b(?![ ]than) |
    \b(?:an?|one|two|half[ ]an?|[0-9])[ ]points?[ ]
      (?:off|too[ ](?:low|high|many|few|much|little))\b |
    \b(?:an?|one|two|half[ ]an?|[0-9])[ ](?:more|extra|further)[ ]points?\b |
    \b(?:should|ought|must)[ ](?:to[ ])?(?:be|have[ ]been)[ ](?:\w+[ ])?(?:lower|higher)\b |
    \b(?:lower|rais|reduc|increas|bump|adjust|drop|deduct|subtract|add|downgrad
      |upgrad)\w*\b[^.\n]{0,60}\bby[ ](?:an?|one|two|three|half|[0-9.]+)\b |
    \b(?:lower|rais|reduc|increas|bump|adjust|drop|deduct|subtract|add|downgrad
      |upgrad)\w*\b[^.\n]{0,60}
    \b(?:by|of)?[ ]?(?:an?|one|two|half|0?\.5|[0-9])[ ]?(?:half[ ]?)?(?:a[ ])?points?\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_GIVEN = re.compile(
    r"(?:[ ](?:of|for)[ ][^.:;0-9]{0,20}[0-9]{1,3})?[ ]*(?:[:=→–—-]|->|is\b|to\b|at\b)?"
    r"[ ]*(?:an?[ ])?[0-9]",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_FEW = 1
_SHORT = 4
# In another language, what may follow a number that counts nothing: its verb.
_LAST_WORD = re.compile(
    r"(?![ ]?[个個名处處只人条條张張枚本匹つ棵辆座朵명개])"
    r"(?:[ ]?[\u3040-\u9fff\uac00-\ud7af]|[ ]+[^\W\d_]+[ ]*(?:[.,;:!?)]|$))"
)
_BESIDE = re.compile(r"[ ]*(?:[:=][ ]*)?(?=[0-9])")
_OF_SOMETHING_ELSE = re.compile(
    r"\b(?:S_all|overall|total|weight\w*|rank\w*|average|mean of)\b", re.IGNORECASE
)
_SUM = re.compile(r"[0-9)][ ]*[×·*+]|[×·*+][ ]*[0-9(S]")
# "The gap in S_pre is 2 points."
_GAP = re.compile(
    r"\b(?:gap|difference|margin|lead|advantage)\b[^.0-9]{0,40}[0-9.]+[ ]points?\b", re.IGNORECASE
)
_COUNTED = re.compile(
    r"[ ]+(?:points?[ ]+(?!because|since|for\b)|%|times\b|percent)", re.IGNORECASE
)
_OLD = re.compile(
    r"\b(?:from|than|not|instead of|rather than|was|were|[0-9]{1,3} (?:out )?of)[ ]+$",
    re.IGNORECASE,
)
_SHARE = re.compile(r"[ ](?:out[ ])?of[ ][0-9]{1,3}\b")
_PLAIN_END = re.compile(
    r"[ ]*(?:[.,;:!?()\]/\n–—→\"”'’-]|$|(?:out of|instead|rather|not|from|because"
    r"|since|as|for|on|in|and|here|now|but|then|after|points?|would|is|to|than|while|if|though|too)\b)",
    re.IGNORECASE,
)


def with_corrections(reading: Reading, page: Page) -> Reading:
    """Return a reading without the scores that words after the verdict change.

    Each is a contradiction instead: "I lower S_acc of image 2 to 3".
    """
    end = max((span[1] for span in reading.spans.values()), default=0)
    start = page.plain.end_place(end) if end else 0
    changed: list[Cell] = []
    for sentence_start, sentence_end in _corrections(page, start):
        changed += _changed(page, sentence_start, sentence_end, reading)

    return _without(reading, changed, "is corrected later, in words")


def without_contradicted(reading: Reading, mentioned: Sequence[tuple[Cell, Fraction]]) -> Reading:
    """Return a reading without the scores that a sentence elsewhere gives another number."""
    differing = [cell for cell, value in mentioned if reading.scores.get(cell, value) != value]
    return _without(reading, differing, "is given another number in a sentence")


def _without(reading: Reading, cells: Sequence[Cell], says: str) -> Reading:
    """Return a reading in which these cells are contradictions."""
    if not cells:
        return reading

    gone = dict.fromkeys(cells)
    faults = [Fault(FaultKind.CONTRADICTION, says, *cell) for cell in gone]
    scores = {cell: score for cell, score in reading.scores.items() if cell not in gone}
    spans = {cell: reading.spans[cell] for cell in scores}
    return replace(reading, scores=scores, spans=spans, faults=(*reading.faults, *faults))


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

    named = page.names.factors_in(page.text, start, end)
    if named and _MOVED.search(page.text, start, end):
        return True

    given = any(_GIVEN.match(page.text, factor.end, end) for factor in named)
    if given and next(page.names.images_in(page.text, start, end), None) is not None:
        return True

    if _is_of_the_only_factor(page, start, end):
        return is_foreign(page.text[start:end])

    if len({factor.key for factor in named}) != 1:
        return False

    # An entry of something else has no words but names; in another language any may mean "read".
    around = page.text[start : named[0].start] + page.text[named[0].end : end]
    told = len(_WORD.findall(around)) > _FEW or not around.isascii()
    return told and (given or is_foreign(around))


def _is_of_the_only_factor(page: Page, start: int, end: int) -> bool:
    """Tell whether a sentence need not name the only factor: the image is named, or the only one,
    and little is said of it."""
    if page.names.only is None:
        return False
    if page.n == 1:
        return len(page.text[start:end].split()) <= _SHORT
    return next(page.names.images_in(page.text, start, end), None) is not None


def _changed(page: Page, start: int, end: int, reading: Reading) -> list[Cell]:
    """Return the cells that a sentence gives another number than the verdict does."""
    sentence = page.text[start:end]
    if _SUM.search(sentence) or _GAP.search(sentence) or supposes(sentence):
        return []

    images = list(page.names.images_in(page.text, start, end))
    factors = page.names.factors_in(page.text, start, end)
    if factors and _lists_quantities(page, start, factors[0].start, end):
        return []

    unnamed = not images and not (page.n == 1 and _is_of_the_only_factor(page, start, end))
    if not factors and (unnamed or _OF_SOMETHING_ELSE.search(sentence)):
        return []

    if _says_the_same(page, (start, end), images, factors, reading):
        return []

    positions = {position for image in images for position in image.positions}
    keys = {factor.key for factor in factors}
    if page.n == _TWO and (compared := _compared(page, end, factors)):
        return _not_among(compared, reading)

    meant = _scores_of(reading, positions, keys)
    taken = [(image.start, image.end) for image in images]
    if len(positions) == 1:
        # What is given the same again is not changed: other numbers are of other factors.
        given = _given_in(page, start, end, factors, taken)
        meant = {cell: score for cell, score in meant.items() if given.get(cell[1]) != score}

    if _CHANGED.search(sentence):
        return list(meant)

    numbers = _numbers_of(page, start, end, taken, factors)
    known = set(_scores_of(reading, set(), keys).values())
    own = set(meant.values()) if images else set()
    again = _is_said_again(sentence, of_one=bool(images))
    if len(positions) < 2 and own <= numbers <= known and again:
        return []
    return [cell for cell, score in meant.items() if _another(page, cell, score, numbers)]


def _lists_quantities(page: Page, start: int, first: int, end: int) -> bool:
    """Tell whether a sentence lists other numbers than scores, and changes none: "Mean of the two:
    S_acc: 6.5, …". `first` is where its first factor begins."""
    label = page.text[start:first].rstrip()
    listed = label.endswith(":") and kind_of(label) in QUANTITIES
    return listed and _CUE.search(page.text, first, end) is None


def _not_among(compared: Mapping[str, Set[Fraction]], reading: Reading) -> list[Cell]:
    """Return the cells whose score is none of those that a comparison gives for their factor."""
    scores = reading.scores.items()
    return [cell for cell, score in scores if score not in compared.get(cell[1], {score})]


def _says_the_same(
    page: Page,
    span: Span,
    images: Sequence[ImageName],
    factors: Sequence[FactorName],
    reading: Reading,
) -> bool:
    """Tell whether every number of a sentence is one that was given: behind each image its factors'
    scores again, or behind each factor those of images held against each other."""
    taken = [(image.start, image.end) for image in images]
    numbers = outside(numbers_in(page.text, *span), taken)
    if not factors or not numbers or _CUE.search(page.text, *span):
        return False

    compared = _compared(page, span[1], factors)
    if 2 * len(compared) == len(numbers):
        return all(
            both <= set(_scores_of(reading, set(), {key}).values())
            for key, both in compared.items()
        )

    again = list(_given_again(page, span[1], images, factors, reading))
    return len(again) == len(numbers) and all(again)


def _given_again(
    page: Page,
    end: int,
    images: Sequence[ImageName],
    factors: Sequence[FactorName],
    reading: Reading,
) -> Iterator[bool]:
    """Yield of each score that stands behind an image's name whether it is that image's."""
    for image, following in zip(images, [*images[1:], None], strict=False):
        until = following.start if following else end
        named = [factor for factor in factors if image.end <= factor.start < until]
        given = _given_in(page, image.end, until, named, [])
        for key, score in given.items():
            cells = [(position, key) for position in image.positions]
            yield len(cells) == 1 and reading.scores.get(cells[0]) == score


def _compared(page: Page, end: int, factors: Sequence[FactorName]) -> dict[str, set[Fraction]]:
    """Return by factor the two numbers that stand behind it, one against the other."""
    found = {}
    for factor in factors:
        match = _COMPARED.match(page.text, factor.end, end)
        if match:
            found[factor.key] = {Fraction(match[1]), Fraction(match[2])}

    return found


_TWO = 2
# "Editing Accuracy (8 vs. 4)"
_COMPARED = re.compile(
    r"[ ]*[(\[]?[ ]*([0-9]{1,3}(?:\.[0-9])?)[ ]*(?:vs?\.?|versus|against|gegen)[ ]*"
    r"([0-9]{1,3}(?:\.[0-9])?)[ ]*[)\].,;]",
    re.IGNORECASE,
)


def _is_said_again(sentence: str, *, of_one: bool) -> bool:
    """Tell whether a sentence may only say again what was given: "S_acc runs from 4 to 8", "Image 2
    leads with 9 to 7". One number for one image does not, and in another language none may."""
    if _CUE.search(sentence) or is_foreign(sentence):
        return False
    return not of_one or len(_DIGITS.findall(sentence)) > 1


_DIGITS = re.compile(r"[0-9]+")


def _another(page: Page, cell: Cell, score: Fraction, numbers: Set[Fraction]) -> bool:
    """Tell whether one of the numbers may be another score for a cell."""
    scale = page.names.factor(cell[1]).scale
    return any(number != score and not scale.fault(number) for number in numbers)


def _scores_of(reading: Reading, images: Set[int], factors: Set[str]) -> dict[Cell, Fraction]:
    """Return the scores of the images and factors named; what is not named may be any of them."""
    found = {}
    for cell, score in reading.scores.items():
        of_image = not images or cell[0] in images
        of_factor = not factors or cell[1] in factors
        if of_image and of_factor:
            found[cell] = score

    return found


def _given_in(
    page: Page, start: int, end: int, factors: Sequence[FactorName], taken: Sequence[Span]
) -> dict[str, Fraction]:
    """Return by factor the score that a sentence gives it, and no other."""
    found = pairs(
        page.text, start, end, factors, lambda name: page.names.factor(name.key).scale, taken
    )
    given = {pair.name.key: pair.mark.value for pair in found if pair.mark.value is not None}
    return {} if len(given) < len(found) else given


def _numbers_of(
    page: Page, start: int, end: int, taken: Sequence[Span], factors: Sequence[FactorName]
) -> set[Fraction]:
    """Return the numbers in a sentence that may be scores, those in the names of images aside."""
    given = [_BESIDE.match(page.text, factor.end, end) for factor in factors]
    beside = {match.end() for match in given if match}
    sentence = page.text[start:end]
    foreign = is_foreign(sentence)
    found = spoken(sentence, english=not foreign) if foreign or _CUE.search(sentence) else set()
    numbers = outside(numbers_in(page.text, start, end), taken)
    for number in numbers:
        if _COUNTED.match(page.text, number.digits_end, end):
            continue
        if number.top is None and _SHARE.match(page.text, number.digits_end, end):
            continue
        if _OLD.search(page.text, max(start, number.start - 20), number.start):
            continue
        if is_reckoned_up(page.text, start, number.start):
            continue

        alone = len(numbers) == 1 and not _LAST_WORD.match(page.text, number.digits_end, end)
        settled = number.start in beside or (foreign and not alone)
        if settled or _PLAIN_END.match(page.text, number.digits_end, end):
            found.add(number.value)

    return found
