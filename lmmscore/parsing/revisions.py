"""Numbers on the lines right under a score that may take its place: "(on reflection: 6)"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import takewhile

from lmmscore.parsing.lexicon import any_of, row_of
from lmmscore.parsing.numbers import Number, numbers_in, spoken
from lmmscore.parsing.page import Line, Page
from lmmscore.parsing.remarks import is_no_verdict, is_total
from lmmscore.parsing.verdict import Cell, Said

Scored = Sequence[tuple[Line, Sequence[Said]]]
"""Lines of prose, each with its scores."""


def revised(page: Page, lines: Scored) -> dict[int, frozenset[Cell]]:
    """Return by the start of its line what words under a score give another number.

    Which of the two holds is not asked: neither is read.
    """
    found: dict[int, frozenset[Cell]] = {}
    entries = list(_entries(page, lines))
    in_parts = any(
        sum(_names_a_part(page, entry, line) for line in below) > 1 for entry, below, _ in entries
    )
    for entry, below, above in entries:
        if len(above) == 1 and _is_replaced(page, above[0], _given_behind(page, entry, above[0])):
            found[entry.start] = frozenset((above[0].cell,))

        for line in below:
            if in_parts and _names_a_part(page, entry, line):
                # "- Object: 8", "- Position: 6": of what scores are made in this reply.
                continue

            given = _numbers_given(page, entry, line)
            cells = [each.cell for each in above if _is_replaced(page, each, given)]
            if cells and len(cells) == len(above):
                found[line.start] = frozenset(cells)

    return found


def revises(note: str) -> bool:
    """Tell whether a clause of a footnote gives another number for the score that it is of:
    "corrected: must be 5"."""
    note = _MARK.sub(" ", note)
    return any(
        _may_revise(clause)
        and any(_stands_alone(clause, each) for each in numbers_in(clause, 0, len(clause)))
        for clause in _CLAUSE.split(note)
    )


_CLAUSE = re.compile(r"[:;,.](?=\s)")
_MARK = re.compile(r"\[\^?\w{1,2}\]|\(\w{1,2}\)|^\W*[0-9]{1,2}(?=[.):]?\s)")


def scored_lines(page: Page, said: Sequence[Said]) -> Scored:
    """Return the lines of prose on which scores stand, in their order, each with its scores."""
    found: dict[int, tuple[Line, list[Said]]] = {}
    for each in said:
        line = page.line_at(page.plain.place(each.mark.span[0])) if "prose" in each.layout else None
        if line is not None:
            found.setdefault(line.start, (line, []))[1].append(each)

    return [found[start] for start in sorted(found)]


def _entries(page: Page, lines: Scored) -> Iterator[tuple[Line, Sequence[Line], Sequence[Said]]]:
    """Yield the lines that have scores, with the lines that say more of these and the scores."""
    by_line = {line.start: held for line, held in lines}
    for index, entry in enumerate(page.lines):
        if entry.start not in by_line:
            continue

        more = takewhile(
            lambda line: line.start not in by_line and _goes_on(page, line), page.lines[index + 1 :]
        )
        yield entry, list(more), by_line[entry.start]


def _goes_on(page: Page, line: Line) -> bool:
    """Tell whether a line says more of what stands right above it."""
    named = any(":" not in page.text[image.start : line.end] for image in line.images)
    others = named if page.n == 1 else bool(line.images)
    return not (line.gap or others or line.factors or page.in_table(line))


def _is_replaced(page: Page, each: Said, given: set[Fraction]) -> bool:
    """Tell whether another number than a score's own is given under it, and may be a score."""
    if each.mark.value is None:
        return False
    scale = page.names.factor(each.factor).scale
    return any(not scale.fault(number) for number in given - {each.mark.value})


def _given_behind(page: Page, entry: Line, each: Said) -> set[Fraction]:
    """Return the numbers that take a score's place on its own line: "7 Final score: 6"."""
    tail = page.text[page.plain.end_place(each.mark.span[1]) : entry.end]
    if not any(map(tail.__contains__, (":", "=", "etter", "ather"))):
        return set()

    digits = {Fraction(number) for number in _FINAL_BEHIND.findall(tail)}
    words = [spoken(said, english=True) for said in _BETTER_BEHIND.findall(tail)]
    return digits.union(*words)


_FINAL_BEHIND = re.compile(
    r"\b(?:final|new|revised|corrected|updated|actual)[ ](?:score|rating|grade)[ ]*[:=][ ]*"
    r"([0-9]{1,3}(?:\.[0-9])?)(?![0-9.]*[0-9%])",
    re.IGNORECASE,
)
_BETTER_BEHIND = re.compile(
    r"\b(?:or|no,|make[ ]it|but)[ ](?:better|rather)[ ](?:an?[ ])?([a-z]{3,5})\b", re.IGNORECASE
)


def _numbers_given(page: Page, entry: Line, line: Line) -> set[Fraction]:
    """Return the numbers that a line may give in place of another: those that count nothing."""
    words = page.words(line)
    label, colon, rest = words.rpartition(":")
    if colon and _is_of_something_else(label, deeper=_is_deeper(page, entry, line)):
        return set()

    if _TOTAL.search(words):
        return set()

    labelled = bool(colon) and _BARE.fullmatch(rest) is not None
    if not labelled and not _may_revise(words):
        return set()

    found = {each.value for each in numbers_in(words, 0, len(words)) if _stands_alone(words, each)}
    return found or spoken(words, english=True) | spoken(words, english=False)


_BARE = re.compile(r"[ ]*[0-9]{1,3}(?:\.[0-9]{1,2})?(?:[ ]?/[ ]?[0-9]{1,3}|分|点|점)?[ ).\]]*")


def _is_deeper(page: Page, entry: Line, line: Line) -> bool:
    """Tell whether a line is set in under an entry, in brackets, or quoted."""
    opening = page.text[line.start : line.end].lstrip()[:1]
    return line.head - line.start > entry.head - entry.start or opening in "([（>→"


def _names_a_part(page: Page, entry: Line, line: Line) -> bool:
    """Tell whether a line is set in, and gives something that is neither known nor a revision a
    number of its own."""
    label, colon, rest = page.words(line).rpartition(":")
    known = not colon or _REVISING.intersection(row_of(label))
    return not known and _BARE.fullmatch(rest) is not None and _is_deeper(page, entry, line)


def _is_of_something_else(label: str, *, deeper: bool) -> bool:
    """Tell whether a label heads another quantity than scores, or another factor than those asked
    for: "Confidence", "Overall", "Instruction Adherence"."""
    if is_no_verdict(label) or is_total(label) or _TOTAL.search(label):
        return True

    if _REVISING.intersection(row_of(label)):
        return False
    several = len(label.split()) > 1
    return (several or not deeper) and _TITLE.fullmatch(label.strip()) is not None


_TOTAL = re.compile(r"\b(?:overall|S_all|total|gesamt\w*|summe)\b|总", re.IGNORECASE)
_TITLE = re.compile(r"(?:[A-Z][a-z]+|of|and|to|the)(?:[ -](?:[A-Za-z][a-z]+|of|and|to|the)){0,4}")


def _may_revise(words: str) -> bool:
    """Tell whether a line says little but a number, or has a word for taking back, changing or
    looking again."""
    told = _WORD.findall(words)
    if len(told) <= _FEW_WORDS and (told or _ARROW.match(words)):
        return True
    if _TURNS.match(words):
        return True

    row = row_of(words)
    told_of = _CONTENT.intersection(row) and not _ENDS_IN_ONE.search(words)
    return bool(_REVISING.intersection(row)) and not told_of


# "Or rather a six"
_TURNS = re.compile(
    r"\W*(?:or|rather|well|hm+|eher|lieber|oder|ou|plutôt|mejor|o|meglio|melhor|скорее)\b[^.;]*$",
    re.IGNORECASE,
)
# "Let me change that to 6."
_ENDS_IN_ONE = re.compile(r"(?:\b(?:to|be|is|a|an)|[:=→])[ ][0-9]{1,3}\W*$", re.IGNORECASE)


_FEW_WORDS = 3
_WORD = re.compile(r"[^\W\d_]+")
_ARROW = re.compile(r"[ ]*(?:[→⇒➜⟶>]|[-=]+>)")
_CONTENT = any_of("CONTENT")
_REVISING = any_of(
    *(
        "FINAL",
        "WITHDRAW",
        "ALTER",
        "TOO",
        "DRAFT",
        "REAL",
        "MUST",
        "SELF",
        "SEE",
        "JUDGE",
        "SCORE",
    ),
    *("GOOD", "LOW", "GRADE", "NOT", "NEXT", "MIGHT", "TIME", "OTHER", "PICTURE"),
)


def _stands_alone(words: str, number: Number) -> bool:
    """Tell whether a number counts nothing, names nothing, and is not the one that was."""
    if _OLD.search(words, 0, number.start):
        return False
    return number.top is not None or _ENDS.match(words, number.digits_end) is not None


_OLD = re.compile(
    r"(?:\b(?:from|than|was|were|previously|formerly|instead[ ]of|rather[ ]than|not|step|figure"
    r"|version|part|no\.?|row|line|of|by|at|until|before)|[#/–-]"
    r"|\b(?:id|index|nr|item|entry|image|picture|place|rank|platz|position)\b\W{0,4})"
    r"[ ]*(?:an?[ ]|the[ ])?$",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"[ ]*(?:[.,;:!?)\]\"'”’*_~]|$|[/／]|(?:points?|分|点|점)(?!\w)|(?:it|is|rather|instead|then"
    r"|now|on|after|for|because|since|here|would|seems?|not|and|but|though|too|overall|better|fits|at|as"
    r"|out[ ]of)\b)",
    re.IGNORECASE,
)
