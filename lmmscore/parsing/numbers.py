"""A number as a verdict: `6`, `6.5`, `6/10`, `6 out of 10`, `eight`.

Everything that may stand after a score is listed here; a number followed by anything else is none,
and neither is one that shares its entry with another number that might be meant.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from fractions import Fraction

from lmmscore.parsing.verdict import FaultKind, Mark
from lmmscore.scales import Scale

# At most six digits: what is longer is no score.
_DIGITS = r"(?:[0-9]{1,6}(?:\.[0-9]{1,6})?|\.[0-9]{1,6}|[0-9]{1,3},(?:5|0|25|75)(?![0-9,]))"
_OUT_OF = r"""
    (?:/|out[ ]{1,3}of(?:[ ](?:a[ ])?(?:possible|maximum|total)(?:[ ]of)?)?|von(?:[ ]max\.?)?|sur|de
      |of(?=[ ]{1,3}(?:5|7|10|100|ten|five)\b)|uit|/[ ]?满分|満点)
"""
_UNIT = r"(?:points?\b|pts?\b\.?|分|点|점|Punkte\b|Punkten\b|puntos\b|marks?\b|/s\b)"
NUMBER = re.compile(
    rf"""
    (?<![A-Za-z0-9_]) (?<![0-9][.,/:]) (?<![A-Za-z][-'’])
    (?P<sign>[-+])?(?P<digits>{_DIGITS})
    (?: [ ]{{0,3}}{_OUT_OF}[ ]{{0,3}}(?P<top>[0-9]{{1,6}}(?:\.[0-9]{{1,3}})?|ten\b|five\b)
        (?![0-9/A-Za-z]|[.,][0-9]|[ ]?%) )?
    (?![0-9]|[.,:][0-9]|\.[a-z]\b|[ ]?[%‰°½¼¾⅓⅔])
    (?!(?![A-Z][a-z]{{3}})[A-Za-z_])
    (?P<unit>[ ]{{0,3}}{_UNIT})?
    """,
    re.VERBOSE,
)
_IN_WORDS = {
    word: number
    for number, word in enumerate("zero one two three four five six seven eight nine ten".split())
}
_CHINESE = {sign: number for number, sign in enumerate("零一二三四五六七八九十")}
_WORD = re.compile(
    rf"""
    (?P<word>{"|".join(_IN_WORDS)})\b(?:[ ]{{1,3}}out[ ]of[ ]{{1,3}}(?P<top>ten|10|five|5|seven|7))?
    (?=[ ]*(?:[,;.)\n]|\Z|points?\b|and\b|\([0-9]))
  | (?P<chinese>[零一二三四五六七八九十])分
    """,
    re.VERBOSE | re.IGNORECASE,
)
_OPENING = re.compile(r"[ ]*(?:(?:[(\[\"'“‘]|<(?=[ ]*[0-9.]+[ ]*>)){1,3}[ ]*)?")

_CLOSING = re.compile(r"(?:[ ]*[)\]>\"'”’]{1,3})?")
_SCALE = re.compile(
    r"""
    [ ]*[(\[,]?[ ]*
    (?:(?:on|in)[ ](?:a|the)[ ](?:scale[ ](?:of|from)[ ])?|scale:?[ ]|from[ ]|out[ ]of[ ]|von[ ])?
    [0-9]{1,3}[ ]?(?:-|–|—|to|bis|~|/|至)[ ]?[0-9]{1,3}(?:[ ]?(?:point[ ])?(?:scale
      |Skala))?[ ]*[)\]]?
    (?![ ]?[0-9A-Za-z])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_STATED_SCALE = re.compile(r"\bscale\b|\bfrom\b|\bSkala\b", re.IGNORECASE)
_ENDS = re.compile(r"[\s.,;:!|)\]}\"'”’>/–—-]*(?:\b(?:and|und|y|et)\b[\s,]*(?:an?|the|its)?\s*)?\Z")
_DOUBTED = re.compile(r"[ ]*[(\[!]*\?|[-+]\s*\Z")
# What makes the number one of several, a bound, or something not yet settled.
_RUNS_ON = re.compile(
    r"""
      [ ]*(?:[,;/&|+、・]|\.{2,3}|…)[ ]*[0-9]{1,3}(?:\.[0-9]+)?[ ]*(?:[,;/&|\]、]|\)(?![ ]+\Z)|\Z|\n)
    | [ ]*(?:→|->|=>|[=+×*^<>±≠≈~?]|roughly\b|approx\w*|to\b|or\b|bis\b|bzw|oder\b|ou\b|til\b
    |until\b|through\b|vs\b|&
        |至|到|或|から|か|至少|以上|以下|左右|o\b|ó\b)
    | [ ]*[,;(–—-]*[ ]*
      (?:at[ ](?:best|most|least)|if\b|unless\b|otherwise\b|maybe\b|perhaps\b|possibly\b|probably\b
        |could\b|might\b|may\b|should\b|would\b|up[ ]to\b|tentativ\w*|provisional\w*|preliminar\w*
        |or\b|rather\b|no[ ]wait\b|wait\b|actually\b|assuming\b|provided\b
        |depending\b|minus\b|plus\b|half\b|and[ ](?:a[ ])?(?:half|quarter|[0-9])|tops?\b|max\b
        |maximum\b|minimum\b|min\b|ceiling\b|tbd\b|tbc\b|pending\b|not[ ]final\b|draft\b|guess\w*
        |but[ ](?:could|might|may|should|maybe|perhaps|possibly|only[ ]if|if|probably|not[ ]if)\b
        |placeholder\w*|hypothetical\w*|vielleicht\b|höchstens\b|mindestens\b|quizás\b|máximo\b)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_EXPLAINS = re.compile(
    r"""
      [ ]*[,;:.!|(\[。，；（]
    | [ ]*[–—]|[ ]+-[ ]|-[ ]
    | [ ]+(?:as(?![ ](?:a|the)[ ](?:max|min|upper|lower))|and(?![ ]+[0-9])|(?P<word>[a-z]+))\b
    | [ ]*(?=[A-ZÀ-Þ][a-zß-ÿ]{2,}|[A-Z][a-z]\b|A[ ][a-z]{2,}|I[ ][a-z])
    | [ ]+(?=["“‘*_]{1,3}[A-Za-z][a-z])
    | [ ]*[\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7af]
    """,
    re.VERBOSE,
)
# Nobody counts these, so a number before them is no count: "6 because …", "7 keeps the fox intact".
_BEGINS_AN_EXPLANATION = frozenset(
    """a adheres aligns also although an appears aside based because being but by captures car clear
    clearly considering contains da denn despite due edit even excellent fails fair fairly feels fits
    follows for gives given good great has however i in indicating introduces it its just keeps lacks
    leaves looks loses maintains makes meets minor misses moderate mostly needs nice no not nothing on
    only overall owing perfect poor porque preserves quite reflecting remains replaces respects retains
    seems shows since slight slightly so some solid somewhat stays still strong strongly suffers suggests
    thanks that the there these they this though thus too totally very weak weil well where
    which while with within without yet""".split()
)
_UNIT_RUNS_ON = re.compile(
    r"""
    [ ]*(?:deducted|off\b|lost|taken|removed|subtracted|docked|apart|lower|higher|above|below|better
      |worse|less|more|fewer|ahead|behind|short|away|difference|from\b|were|was|are|is\b|go\b
      |for[ ]each
      |each\b|per\b|abgezogen|Abzug|weniger|mehr|to\b|or\b|max)
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Words after which a number still stands for itself; before any other word it counts something.
_NOT_COUNTED = frozenset(
    """for in on at after before if otherwise but and or to because since as out of from now then when
    while with without instead finally initially overall is was are were would could should due rather
    given though although so thus hence by per vs than again too maybe perhaps later here there marks
    stars point points pts only not considering despite at best instead where which that this the a an
    it i my would final revised corrected be being has had seems might may""".split()
)
_COUNTED = re.compile(
    r"""
      [ ]of[ ](?:the[ ]|all[ ])?[0-9]{1,4}[ ][^\W\d_]
    | [ ]?/[ ]?[0-9]{1,4}[ ](?:of|the)\b
    | (?:[ ]?(?:or|to|and|[-–—])[ ]?[0-9]{1,4})?[ -]?(?:of[ ](?:the|them|these|those|all|its)[ ]?)?
      (?P<word>[^\W\d_][\w'’-]*)
    """,
    re.VERBOSE,
)
_POINTS_COUNTED = re.compile(
    r"[ ]*(?:points?|pts)\b[ ]*(?:were[ ]|was[ ]|are[ ]|is[ ])?"
    r"(?:deducted|off|lost|taken|removed|subtracted|docked|apart|lower|higher|above|below|better"
    r"|worse|less|more|fewer|ahead|behind|short|away|for[ ](?:the|a|an)|bonus|penalty|deduction)",
    re.IGNORECASE,
)
_NAMED_OTHERWISE = re.compile(
    r"""
    (?:\b(?:was|were|previously|formerly|earlier|originally[ ]|up[ ]from|down[ ]from|raised[ ]from
        |lowered[ ]from|reduced[ ]from|increased[ ]from|before|instead[ ]of|rather[ ]than|not|than
        |vorher|statt)
      |\b(?:confidence|certainty|sure|weight|weighting|level|step|factor|criterion|version|figure
        |page|line|row|section|part|round|top|bottom|maximum|max|out[ ]of|of|scale|image|edit|task
        |f/|ISO|no\.|number|nr\.|\#)
      |\b(?:overall|total|average|mean|S_all|S_total|sum|final|combined)
        (?:[ ](?:scores?|ratings?|grade))?(?:[ ](?:is|of|at|to|be|as))*
    )[ ]*[:=(#]*[ ]*\Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
_HEDGED_BEFORE = re.compile(
    r"""
    (?:\b(?:around|about|approximately|roughly|nearly|almost|at[ ](?:most|least|best)|up[ ]to|below
        |above|under|over|not|less[ ]than|more[ ]than|between|maybe|perhaps|possibly|rank|ranked
        |from
        |than|to|or|minus|plus|place|level|weight|version|maximum|minimum|max|min|could[ ]be
        |would[ ]be
        |might[ ]be|should[ ]be|ungefähr|etwa|ca\.|circa|by|step|factor|no\.|number|another|extra)
      |[<>≤≥~≈±×*^/#$€£]|[0-9][ ]?[-–—]
    )[ ]*(?:an?[ ])?\Z
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it stands in a text."""

    value: Fraction
    top: Fraction | None
    """What it is out of, where it says so."""
    start: int
    digits_end: int
    end: int
    """After what it is out of, and its unit."""
    unit: bool = False
    in_words: bool = False

    def sign_of_difference(self, text: str) -> bool:
        """Whether it is written as a change: `+2`."""
        return text.startswith("+", self.start)

    def mark(self, scale: Scale) -> Mark:
        """Return it as a score on a scale, or as what keeps it from being one."""
        span = (self.start, self.digits_end)
        # "8/10" is out of ten; where ten is not the top of the scale it may be a date or a ratio.
        if self.top is not None and self.top != scale.high:
            says = f"{_shown(self.value)}/{_shown(self.top)} is not on the scale {scale}"
            return Mark(None, span, FaultKind.OFF_SCALE, says)
        fault = scale.fault(self.value)
        if fault:
            return Mark(None, span, FaultKind.OFF_SCALE, fault)
        return Mark(self.value, span)


def _shown(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else str(float(value))


def _number(match: re.Match[str]) -> Number:
    top = match["top"]
    if top is not None:
        top = str(_IN_WORDS.get(top, top))
    value = Fraction(match["digits"].replace(",", "."))
    if match["sign"] == "-":
        value = -value
    start = match.start("sign") if match["sign"] else match.start("digits")
    return Number(
        value,
        Fraction(top) if top else None,
        start,
        match.end("digits"),
        match.end(),
        match["unit"] is not None,
    )


def numbers_in(text: str, start: int, end: int) -> Iterator[Number]:
    """Yield every number in a stretch of text, whatever it is of."""
    for match in NUMBER.finditer(text, start, end):
        yield _number(match)


def number_at(text: str, place: int, end: int) -> Number | None:
    """Return the number that stands right here, in brackets or quotation marks or not."""
    opening = _OPENING.match(text, place, end)
    begin = opening.end() if opening else place
    match = NUMBER.match(text, begin, end)
    if match is not None:
        return _number(match)
    word = _WORD.match(text, begin, end)
    if word is None:
        return None
    value = _CHINESE[word["chinese"]] if word["chinese"] else _IN_WORDS[word["word"].lower()]
    top = word["top"]
    top = _IN_WORDS.get(top.lower(), top) if top else None
    return Number(
        Fraction(value),
        Fraction(top) if top is not None else None,
        word.start(),
        word.end("chinese") if word["chinese"] else word.end("word"),
        word.end(),
        in_words=True,
    )


def is_hedged(text: str, start: int, place: int) -> bool:
    """Tell whether the words right before a number make it a bound, a rank or a guess."""
    return _HEDGED_BEFORE.search(text, max(start, place - 40), place) is not None


def entry_fault(
    text: str, number: Number, end: int, scale: Scale, others: Container[int] = ()
) -> str:
    """Return why a number is not this entry's score, or nothing when it is.

    The entry goes on to `end`. Numbers that begin at one of the `others` belong to other entries.
    """
    if number.sign_of_difference(text):
        return "it is given as a difference"
    place = number.end
    if number.unit and _UNIT_RUNS_ON.match(text, place, end):
        return "the number counts points"
    closing = _CLOSING.match(text, place, end)
    place = closing.end() if closing else place
    scale_words = _SCALE.match(text, place, end)
    if scale_words is not None and _STATED_SCALE.search(scale_words[0]):
        place = scale_words.end()
    if _DOUBTED.match(text, place, end):
        return "its number is put in doubt"
    if _ENDS.match(text, place, end):
        return ""
    if _RUNS_ON.match(text, place, end):
        return "its number is hedged, or one of several"
    if _starts_a_range(text, number, place, end):
        return "it is given a range"
    explains = _EXPLAINS.match(text, place, end)
    if explains is not None and explains["word"]:
        explains = explains if explains["word"] in _BEGINS_AN_EXPLANATION else None
    if explains is None:
        words = " ".join(text[place : min(end, place + 30)].split())
        return f"the number is followed by “{words}”"
    competing = next(competitors(text, place, end, scale, number.value, others), None)
    if competing is not None:
        shown = text[competing.start : competing.end].strip()
        return f"it is given two numbers, {_shown(number.value)} and {shown}"
    return ""


def competitors(
    text: str, start: int, end: int, scale: Scale, value: Fraction, others: Container[int] = ()
) -> Iterator[Number]:
    """Yield the other numbers of an entry that might be meant as its score."""
    for number in numbers_in(text, start, end):
        if number.start in others or number.value == value or scale.fault(number.value):
            continue
        if number.top is not None and number.top != scale.high:
            continue
        if number.sign_of_difference(text) or counts(text, number, end):
            continue
        if _NAMED_OTHERWISE.search(text, max(start - 1, number.start - 40), number.start):
            continue
        if _in_a_scale(text, number, start, end) or _NUMBERS.fullmatch(text, number.end, end):
            continue
        yield number


def counts(text: str, number: Number, end: int) -> bool:
    """Tell whether a number counts what follows it: "2 birds", "1 or 2 pixels", "2-pixel"."""
    if number.unit:
        return _POINTS_COUNTED.match(text, number.digits_end, end) is not None
    if number.top is not None:
        return False
    match = _COUNTED.match(text, number.end, end)
    if match is None:
        return False
    word = match["word"]
    return word is None or word.lower() not in _NOT_COUNTED


_NUMBERS = re.compile(r"[.)][ ]+")
_RANGE_BEFORE = re.compile(r"[0-9]{1,3}[ ]?(?:-|–|—|to|bis|~|/|至)[ ]?\Z")
_RANGE_AFTER = re.compile(r"[ ]?(?:-|–|—|to|bis|~|至)[ ]?[0-9]{1,3}(?![0-9])")
_SCALE_WORD = re.compile(r"\bscale\b|\bfrom\b|\bSkala\b|\bpoint\b", re.IGNORECASE)


def _in_a_scale(text: str, number: Number, start: int, end: int) -> bool:
    """Tell whether a number is an end of a scale: "on a scale of 1 to 10", "the 1-10 scale"."""
    before = _RANGE_BEFORE.search(text, max(start, number.start - 8), number.start)
    after = _RANGE_AFTER.match(text, number.digits_end, end)
    if before is None and after is None:
        return False
    around = text[max(start, number.start - 30) : min(end, number.end + 20)]
    return _SCALE_WORD.search(around) is not None


def _starts_a_range(text: str, number: Number, place: int, end: int) -> bool:
    """Tell whether a number is followed by the other end of a range: "1 - 10", not "6 - 2 dogs"."""
    after = _RANGE_AFTER.match(text, place, end)
    if after is None:
        return False
    other = Number(number.value, None, after.end(), after.end(), after.end())
    scale = re.match(r"[ -]*(?:points?|scale|Skala)\b", text[after.end() : end], re.IGNORECASE)
    return scale is not None or not counts(text, other, end)


def value_in(text: str, scale: Scale, start: int) -> Mark:
    """Return what a JSON value or a table's cell says: a number, and nothing beside it."""
    stripped = text.strip()
    shown = stripped if len(stripped) <= 40 else stripped[:39] + "…"
    begin = start + len(text) - len(text.lstrip())
    span = (begin, begin + len(stripped))
    number = number_at(stripped, 0, len(stripped))
    if number is None or (number.in_words and not _ENDS.match(stripped, number.end)):
        says = f"{shown} is not a number" if shown else "the score is empty"
        return Mark(None, span, FaultKind.NOT_A_NUMBER, says)
    fault = entry_fault(stripped, number, len(stripped), scale)
    if fault:
        kind = FaultKind.AMBIGUOUS if number.top is None else FaultKind.NOT_A_NUMBER
        return Mark(None, span, kind, f"{shown} is not a number: {fault}")
    mark = number.mark(scale)
    return Mark(mark.value, (begin + mark.span[0], begin + mark.span[1]), mark.kind, mark.says)
