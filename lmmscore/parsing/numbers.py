"""A number as a verdict: `6`, `6.5`, `6/10`, `6 out of 10`, `eight`; and whose it is.

Everything that may stand after a score is listed here; a number followed by anything else is none,
and neither is one that shares its entry with another number that might be meant. On a line of names
and numbers each name gets its own, behind it or before it: `S_acc: 8`, but also `8 (S_acc)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Generic, TypeVar

from lmmscore.parsing.names import FactorName, ImageName
from lmmscore.parsing.remarks import unsettles
from lmmscore.parsing.verdict import FaultKind, Mark
from lmmscore.scales import Scale, show

# At most six digits: what is longer is no score.
_DIGITS = r"(?:[0-9]{1,6}(?:\.[0-9]{1,6})?|\.[0-9]{1,6}|[0-9]{1,3},(?:5|0|25|75)(?![0-9,]))"
_OUT_OF = r"""
    (?:/|(?:out[ ]{1,3}of|of(?=[ ]a?[ ]?(?:possible|max)))
      (?:[ ](?:a[ ])?(?:possible|maximum|total)(?:[ ]of)?)?|von(?:[ ]max\.?)?|sur|sobre|de
      |of(?=[ ]{1,3}(?:5|7|10|100|ten|five)\b)|uit|su|из|na|av|/[ ]?满分|満点)
"""
_UNIT = r"(?:points?\b|pts?\b\.?|分|点|점|Punkte\b|Punkten\b|puntos\b|marks?\b|/s\b)"
NUMBER = re.compile(
    rf"""
    (?<![A-Za-z0-9_]) (?<![0-9][.,/:]) (?<![A-Za-z][-'’])
    (?P<sign>[-+])?(?P<digits>{_DIGITS})
    (?: [ ]{{0,3}}{_OUT_OF}[ ]{{0,3}}(?P<top>[0-9]{{1,6}}(?:\.[0-9]{{1,3}})?|ten\b|five\b)
        (?![0-9/A-Za-z]|[.,][0-9]|[ ]?%)
      | [ ]\((?:out[ ])?of[ ](?P<held>[0-9]{{1,3}})\) )?
    (?![0-9]|[.,:][0-9]|\.[a-z]\b|[ ]?[%‰°½¼¾⅓⅔])
    (?!(?![A-Z][a-z]{{3}}|pts?\b|points?\b)[A-Za-z_])
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
    (?P<word>{"|".join(_IN_WORDS)})\b
      (?:[ ]{{1,3}}(?:out[ ])?of[ ]{{1,3}}(?P<top>ten|10|five|5|seven|7))?
    (?=[ ]*(?:[,;.)\n]|\Z|points?\b|and\b|for\b|\([0-9]))
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
_ENDS = re.compile(
    r"[\s.,;:!|)\]}\"'”’>/–—、·•#-]*(?:\b(?:and|und|y|et)\b[\s,]*(?:an?|the|its)?\s*)?\Z"
)
_DOUBTED = re.compile(r"[ ]*[(\[!]*\?|[-+]\s*\Z")
# What makes the number one of several, a bound, or something not yet settled.
_RUNS_ON = re.compile(
    r"""
      [ ]*(?:[,;/&|+、・]|\.{2,3}|…)[ ]*[0-9]{1,3}(?:\.[0-9]+)?[ ]*
        (?:[,;/&|\]、]|\)(?![ ]+\Z)|\Z|\n)
    | [ ]*:[ ]*(?:[-–—?]+[ ]*(?:$|[,;])|n/?a\b|none\b|tbd\b|unknown\b|[0-9]+(?![0-9.]*[ ][a-z]{3}))
    | [ ]*(?:→|->|=>)(?![ ]*[^\W\d][^0-9\n]*\Z)
    | [ ]*[(\[,;]?[ ]*[+][ ]?[0-9]
    | [ ]*(?:=(?![ ]*(?:very[ ]|quite[ ]|rather[ ])?(?:good|poor|bad|excellent|fair|acceptable|great
        |weak|strong|perfect|high|low|medium|moderate)\b)|[+×*^<>±≠≈~?]|roughly\b|approx\w*|to\b|or\b|bis\b|bzw|oder\b|ou\b|til\b
    |until\b|through\b|vs\b|&
        |至|到|或|から|か|至少|以上|以下|左右|未満|弱|強|程度|前後|o\b|ó\b|\.[0-9])
    | [ ]*[,;(–—-]*[ ]*
      (?:at[ ](?:best|most|least)|if\b|falls\b|wenn\b|sofern\b|si\b|sauf\b|如果|もし|\.[0-9]
        |unless\b|otherwise\b|maybe\b|perhaps\b|possibly\b|probably\b
        |(?:could|might|may|should|would)\b(?![ ](?:\w+er\b
          |(?:almost[ ])?be[ ](?:\w+er|more|less|an?|the|from|part|real|taken|mistaken)\b
          |profit|benefit|need|look|have|also|pass|fool))
        |up[ ]to\b|tentativ\w*|provisional\w*|preliminar\w*
        |in[ ](?:the|my|an?)[ ](?:previous|earlier|first|initial|prior|last)[ ]
          (?:round|pass|run|draft|version|impression|look|session)|by[ ]default\b
        |as[ ](?:an?[ ])?(?:placeholder|default|dummy|filler|example|guess|start)\b
        |(?:halved|doubled|reduced|raised|lowered|increased|corrected|changed
          |revised|adjusted|downgraded|upgraded)\b(?![ ]from\b)
        |in[ ](?:theory|principle|part|places)\b
        |without[ ](?:the|its|this|that)\b
        |(?:leaving|ignoring|disregarding|excluding|not[ ]counting|setting[ ]aside)\b
        |with(?:out)?[ ](?:\w+[ ]){0,4}(?:ignored|excluded|disregarded|removed|included)\b
        |(?:old|outdated|wrong|typo|ignored?|void|invalid|cancell?ed|human|target|goal|expected
          |rank(?:ed)?|weight|upper|lower|bound|count|errors?|previous(?:ly)?|prior|draft|baseline
          |reference|source|original|example|sample|test|limit|cap|maximum|minimum)
          (?:[ ](?:scores?|values?|ratings?|numbers?|bounds?|limit|answer
          |is[ ]better))?[ ]*(?=[)\]]|$)
        |number[ ]of\b|by[ ](?:GPT|an?|the|human)\S*|of[ ][0-9]{1,3}[ ]*[)\]]
        |out[ ]of[ ](?!10\b)[0-9]
        |(?:on|in)[ ](?:an?|the)[ ]
          (?:[0-9]{1,3}|three|four|five|six|seven|nine|twelve|hundred)-point\b
        |(?:and|or)[ ](?:below|above|under|over|up|higher|lower|less|more|down|change)\b
        |or\b|rather\b(?![ ]than\b)|no[ ]wait\b|wait\b|actually\b|assuming\b|provided\b
        |depending\b|minus\b|plus\b|half\b|and[ ](?:a[ ])?(?:half|quarter|[0-9])|tops?\b|max\b
        |maximum\b|minimum\b|min\b|ceiling\b|tbd\b|tbc\b|pending\b|not[ ]final\b|draft\b|guess\w*
        |but[ ](?:could|might|may|should|maybe|perhaps|possibly|only[ ]if|if|probably|not[ ]if)\b
        |placeholder\w*|hypothetical\w*|default\b|random\w*|arbitrar\w+|dummy\b|filler\b
        |made[ -]up\b|invented\b|assum\w+|fake\b|mock\b|fictional\b|imaginary\b|estimat\w+
        |unsure\b|uncertain\w*|unclear\b|unknown\b|vielleicht\b|höchstens\b|mindestens\b|quizás\b
        |máximo\b)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_EXPLAINS = re.compile(
    r"""
      [ ]*[,;:.!|(\[。，；（·•]
    | [ ]*[–—→]|[ ]+-[ ]|-[ ]|[ ]=[ ](?=[a-z])
    | [ ]{2,}(?=[^\W\d])
    | [ ]+(?:as(?![ ](?:a|the)[ ](?:max|min|upper|lower))|and(?![ ]+[0-9])|(?P<word>[a-z]+))\b
    | [ ]*(?=[A-ZÀ-Þ][a-zß-ÿ]{2,}|[A-Z][a-z]\b|A[ ][a-z]{2,}|I[ ][a-z])
    | [ ]+(?=["“‘*_]{1,3}[A-Za-z][a-z])
    | (?:[ ]+|(?<=[分点점]))[\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7af]
    """,
    re.VERBOSE,
)
# Nobody counts these, so a number before them is no count: "6 because …", "7 keeps the fox intact".
_BEGINS_AN_EXPLANATION = frozenset(
    """a adheres aligns also although an appears aside based because being but by captures
    car clear clearly considering contains da denn despite due edit even excellent fails
    fair fairly feels fits follows for gives given good great has however i in indicating
    introduces it its just keeps lacks leaves looks loses maintains makes meets minor misses
    moderate mostly needs nice no not nothing on only overall owing perfect poor porque
    preserves quite reflecting remains replaces respects retains seems shows since slight
    slightly so some solid somewhat stays still strong strongly suffers suggests thanks that
    the there these they this though thus too totally very weak weil well where which while
    with within without yet""".split()
)
_UNIT_RUNS_ON = re.compile(
    r"""
    [ ]*(?:deducted|off\b|lost|taken|removed|subtracted|docked|apart|lower|higher|above|below|better
      |worse|less|more|fewer|ahead|behind|short|away|difference|from\b|were|was|are|is\b|go\b
      |for[ ]each
      |each\b|per\b|abgezogen|Abzug|weniger|mehr|to\b|or\b|max
      |이상|이하|미만|초과|정도|쯤|以上|以下|未満|以内|左右|上下|程度|前後|くらい|ぐらい|钟|鐘|方向
      |または|或|もしくは|또는)
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Words after which a number still stands for itself; before any other word it counts something.
_NOT_COUNTED = frozenset(
    """for in on at after before if otherwise but and or to because since as out of from now
    then when while with without instead finally initially overall is was are were would
    could should due rather given though although so thus hence by per vs than again too
    maybe perhaps later here there marks stars point points pts only not considering despite
    at best instead where which that this the a an it i my would final revised corrected be
    being has had seems might may depending according looks means""".split()
)
_COUNTED = re.compile(
    r"""
      [ ]of[ ](?:(?:the|all|its|these|those|their)[ ]|all[ ]the[ ])?[0-9]{1,4}[ ][^\W\d_]
    | [ ]?/[ ]?[0-9]{1,4}[ ](?:of|the)\b
    | [ ](?:was|were)[ ](?!given|meant|assigned|awarded|deserved|intended)[^\W\d_]+(?:ed|en)\b
    | (?:[ ]?(?:or|to|and|[-–—])[ ]?[0-9]{1,4})?[ -]?(?:of[ ](?:the|them|these|those|all|its)[ ]?)?
      (?P<word>[^\W\d_][\w'’-]*)
    """,
    re.VERBOSE,
)
_POINTS_COUNTED = re.compile(
    r"[ ]*(?:points?|pts)\b[ ]*(?:were[ ]|was[ ]|are[ ]|is[ ])?"
    r"(?:deducted|off|lost|taken|removed|subtracted|docked|apart|lower|higher|above|below|better"
    r"|worse|less|more|fewer|ahead|behind|short|away|for[ ](?:the|a|an)|bonus|penalty|deduction)"
    r"|[点點分时時][钟鐘]",
    re.IGNORECASE,
)
_NAMED_OTHERWISE = re.compile(
    r"""
    (?:\b(?:was|were|previously|formerly|earlier|originally[ ]|up[ ]from|down[ ]from|raised[ ]from
        |(?:lowered|reduced|increased|corrected|changed|revised|adjusted)[ ]from
        |before|instead[ ]of|rather[ ]than|not|than|vorher|statt)
      |\b(?:confidence|certainty|sure|weight|weighting|target|goal|source|original|input|baseline
        |level|step|factor|criterion|version|figure
        |page|line|row|section|part|round|top|bottom|maximum|max|out[ ]of|of|scale
        |(?:image|edit|task)(?![ ]*:)
        |f/|ISO|no\.|number|nr\.|\#)
      |满分|満点
      |\b(?:overall|total|average|(?<!\bI[ ])mean|S_all|S_total|sum|final|combined)
        (?:[ ](?:scores?|ratings?|grade))?(?:[ ](?:is|of|at|to|be|as|would|will))*
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
        |would[ ]be|\(of|out[ ]of
        |might[ ]be|should[ ]be|ungefähr|etwa|ca\.|circa|by|step|factor|no\.|number|another|extra)
      |[<>≤≥~≈±×*^#$€£]|(?<![ ])/|[0-9][ ]?[-–—]|\bbetween[ ][0-9.]+[ ]and
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
            says = f"{show(self.value)}/{show(self.top)} is not on the scale {scale}"
            return Mark(None, span, FaultKind.OFF_SCALE, says)

        fault = scale.fault(self.value)
        if fault:
            return Mark(None, span, FaultKind.OFF_SCALE, fault)
        return Mark(self.value, span)


@lru_cache(maxsize=4096)
def _fraction(digits: str) -> Fraction:
    return Fraction(digits.replace(",", "."))


def _number(match: re.Match[str]) -> Number:
    sign, digits, top, unit = match.group("sign", "digits", "top", "unit")
    top = top or match["held"]
    value = _fraction(digits)
    if sign == "-":
        value = -value

    out_of = None
    if top is not None:
        out_of = _fraction(str(_IN_WORDS.get(top, top)))

    start = match.start("sign" if sign else "digits")
    return Number(value, out_of, start, match.end("digits"), match.end(), unit is not None)


def numbers_in(text: str, start: int, end: int) -> Iterator[Number]:
    """Yield every number in a stretch of text, whatever it is of."""
    for match in NUMBER.finditer(text, start, end):
        yield _number(match)


def values_in(text: str) -> set[Fraction]:
    """Return every number that a text names, and what each is out of."""
    found = list(numbers_in(text, 0, len(text)))
    return {number.value for number in found} | {each.top for each in found if each.top is not None}


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


# In "Accuracy: 1: —" and "S_acc  1  -" the number is the image's, and the dash its missing score.
_NOTHING_FOLLOWS = re.compile(
    r"[ \t*_]*(?::[ \t*_]*(?:[-–—]+|n/?a|none|null)?|(?:[-–—]+[ ]?){1,4}|n/?a"
    r"|\([ ]*(?:n/?a|[-–—?]|none)?[ ]*\))"
    r"[ \t*_]*(?=\n|\Z)",
    re.IGNORECASE,
)


def _nothing_follows(text: str, number: Number, place: int) -> bool:
    """Tell whether a number is followed by a sign for a missing score, and by nothing else."""
    if _NOTHING_FOLLOWS.match(text, place) is None:
        return False

    # "naturalness 10 - artifacts 5 -": there the dash only ends each entry.
    line = text[text.rfind("\n", 0, number.start) + 1 : number.start]
    return " - " not in line


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
    if _nothing_follows(text, number, place):
        return "a sign for a missing score follows the number"
    if _ENDS.match(text, place, end):
        return ""
    if _RUNS_ON.match(text, place, end):
        return "its number is hedged, or one of several"
    if _starts_a_range(text, number, place, end):
        return "it is given a range"

    explains = _EXPLAINS.match(text, place, end)
    if explains is not None and explains["word"]:
        explains = explains if explains["word"] in _BEGINS_AN_EXPLANATION else None

    if number.value == scale.high and _DEDUCTED.search(text, place, end):
        return "points are taken off it"
    if explains is not None and _unsettled_bracket(text, place, end):
        return "what stands in brackets behind it unsettles it"

    if explains is None:
        words = " ".join(text[place : min(end, place + 30)].split())
        return f"the number is followed by “{words}”"

    competing = next(competitors(text, place, end, scale, number.value, others), None)
    if competing is not None:
        shown = text[competing.start : competing.end].strip()
        return f"it is given two numbers, {show(number.value)} and {shown}"

    return ""


_IN_A_BRACKET = re.compile(r"[ ]*[(\[](?P<words>[^()\[\]\d]{3,40})[)\]]")


def _unsettled_bracket(text: str, place: int, end: int) -> bool:
    """Tell whether a few words in brackets say that a number is no verdict: "(blind guess)"."""
    bracket = _IN_A_BRACKET.match(text, place, end)
    if bracket is None or LIKERT.fullmatch(bracket["words"]):
        return False
    return unsettles(bracket["words"])


# What a number of the scale means: "4 (Neutral)".
LIKERT = re.compile(
    r"(?:(?:strongly|somewhat|slightly|mostly)[ ])?(?:agree|disagree)|neutral", re.IGNORECASE
)


_DEDUCTED = re.compile(
    r"\b(?:[0-9]|one|two|three|a)[ ]points?[ ](?:(?:is|are|was|were)[ ])?"
    r"(?:deducted|off\b|lost|taken|docked|subtracted|removed)|\bminus[ ][0-9]",
    re.IGNORECASE,
)


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

        if _IN_A_FORMULA.search(text, max(start, number.start - 6), number.start):
            continue
        if text[number.end : number.end + 2].strip()[:1] in {"*", "×", "·"}:
            continue

        if _NAMED_OTHERWISE.search(text, max(start - 1, number.start - 40), number.start):
            continue

        if _in_a_scale(text, number, start, end) or _numbers_the_next(text, number, start, end):
            continue

        yield number


# "sqrt(4*9) = 6"
_IN_A_FORMULA = re.compile(r"(?:sqrt\(|√\(?|[*×])[ ]*\Z|\)[ ]?=[ ]?\Z")


def _numbers_the_next(text: str, number: Number, start: int, end: int) -> bool:
    """Tell whether a number only counts the entry behind this one: `1. S_acc: 6, 2. S_pre: 7`."""
    if not _NUMBERS.fullmatch(text, number.end, end):
        return False
    before = rf"(?<![0-9.]){number.value - 1}[.)][ ]"
    return re.search(before, text[max(0, start - 120) : start]) is not None


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
    scale = re.match(
        r"[ -]*(?:points?|scale|range|Skala)\b", text[after.end() : end], re.IGNORECASE
    )
    return scale is not None or not counts(text, other, end)


_STATED_TOP = re.compile(
    r"""
      \b(?:scale|range|rated|ratings?|scores?|scored)\b[^.\n0-9]{0,24}?
        (?<![0-9.])(?P<low>[0-9]{1,3})[ ]?(?:-|–|—|to|bis|~|\.\.|至)[ ]?(?P<high>[0-9]{1,3})
        (?![0-9%.])
    | [(\[][ ]*(?P<from>[01])[ ]?(?:-|–|—|to|bis|~|\.\.|至)[ ]?(?P<to>[0-9]{1,3})[ ]*[)\]]
    | (?<![0-9.])[01][ ]?(?:-|–|—|to)[ ]?(?P<top>[0-9]{1,3})[ ]+scale\b
    | (?<![0-9.])(?P<points>[0-9]{1,3})[- ]point\b
    | (?<![0-9.])(?P<each>[0-9]{1,3})[ ]points?[ ](?:each|per[ ]factor)\b
    | [(\[][ ]*(?:out[ ]of|max(?:imum)?\.?(?:[ ]of)?:?|/|of|von)[ ]*(?P<out>[0-9]{1,3})
        (?:[ ]points?)?(?:[ ](?:each|per[ ]\w+))?[ ]*[)\]]
    | \bbetween[ ][01][ ]and[ ](?P<between>[0-9]{1,3})(?![0-9.])
    | \b(?:scores?|scored|ratings?|rated|marked|graded|scale)\b[^.\n0-9]{0,12}
        \bout[ ]of[ ](?:a[ ]maximum[ ]of[ ])?(?P<of>[0-9]{1,3})(?![0-9])
    | ^[^0-9\n]{0,40}[^0-9\n /]?[ ]?/[ ]?(?P<slash>[0-9]{1,3})$
    | ^[ ]*[01][ ]?(?:-|–|—|to|\.\.)[ ]?(?P<alone>[0-9]{1,3})[ ]*$
    """,
    re.VERBOSE | re.IGNORECASE,
)
_UPSIDE_DOWN = re.compile(
    r"""
      (?<![0-9.])(?:[01]|\bone)[ ]*(?:=|is|being|means|:|\()[ ]*(?:the[ ])?
        (?:best|highest|excellent|perfect|flawless|outstanding)\b
    | \b(?:lower|smaller|low)[ ](?:scores?[ ]|numbers?[ ]|values?[ ]|is[ ]|are[ ]|=[ ])*better\b
    | (?<![0-9.])(?:5|7|10|100)[ ]*(?:=|is|being|means|:|\()[ ]*(?:the[ ])?
        (?:worst|poorest|lowest|terrible|unusable)\b
    | \b(?:lower|smaller|fewer|less)\b[^.\n]{0,20}\b(?:numbers?|scores?|values?|points?)\b
        [^.\n]{0,20}\b(?:better|best|wins?|good)\b
    | \b(?:10|ten)[ ](?:\w+[ ]){0,3}(?:worst|bad|poor|useless)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)


def stated_tops(text: str) -> set[Fraction]:
    """Return the highest scores of the scales that a caption, a label or a sentence states."""
    found = set()
    for match in _STATED_TOP.finditer(text):
        found.add(Fraction(next(filter(None, reversed(match.groups())))))
    return found


# Words about the scale itself; the numbers beside them are its ends.
_OF_A_SCALE = re.compile(
    r"\b(?:scale|range|max(?:imum|imal(?:ly)?)?|at[ ]most|up[ ]to|out[ ]of|points?|percent\w*"
    r"|stars?|grades?|marks?|likert|normali[sz]ed)\b|%",
    re.IGNORECASE,
)
_TOPS_IN_WORDS = re.compile(
    r"\b(?:one|three|four|five|six|seven|eight|nine|twelve|fifteen|twenty|fifty|hundred)\b",
    re.IGNORECASE,
)


def speaks_of_scale_without(text: str, tops: Set[Fraction]) -> bool:
    """Tell whether words about a scale name numbers, and none of them is a top that was asked for.

    "Five is the maximum" does, where scores go up to 10.
    """
    if not _OF_A_SCALE.search(text):
        return False

    found = values_in(text)
    if found & tops or re.search(r"\bten\b", text, re.IGNORECASE):
        return False

    return bool(found) or _TOPS_IN_WORDS.search(text) is not None


def is_upside_down(text: str) -> bool:
    """Tell whether words say that low numbers are good ones."""
    return _UPSIDE_DOWN.search(text) is not None


def value_in(text: str, scale: Scale, start: int) -> Mark:
    """Return what a JSON value or a table's cell says: a number, and nothing beside it."""
    stripped = text.strip()
    begin = start if stripped == text else start + len(text) - len(text.lstrip())
    mark = _value_of(stripped, scale)
    first, last = mark.span
    return Mark(mark.value, (begin + first, begin + last), mark.kind, mark.says)


@lru_cache(maxsize=4096)
def _value_of(stripped: str, scale: Scale) -> Mark:
    """Return what a value says; the same few numbers fill most tables."""
    shown = stripped if len(stripped) <= 40 else stripped[:39] + "…"
    span = (0, len(stripped))
    number = number_at(stripped, 0, len(stripped))
    if number is None or (number.in_words and not _ENDS.match(stripped, number.end)):
        says = f"{shown} is not a number" if shown else "the score is empty"
        return Mark(None, span, FaultKind.NOT_A_NUMBER, says)

    fault = entry_fault(stripped, number, len(stripped), scale)
    if fault:
        kind = FaultKind.AMBIGUOUS if number.top is None else FaultKind.NOT_A_NUMBER
        return Mark(None, span, kind, f"{shown} is not a number: {fault}")

    return number.mark(scale)


# --- Names and numbers on one line, put together ---


Name = TypeVar("Name", FactorName, ImageName)

# Between a name and its number: "(S_acc)", "(1-10)", "score of", a colon, a dash, "is".
_JOINT = re.compile(
    r"""
    [ ]*[)\]\"'”]?(?:['’]s)?
    (?:[ ]*[(\[](?![ ]*(?:score[ ]*[:=]?[ ]*)?[-+]?[0-9.,]+(?:[ ]*(?:/
      |out[ ]of)[ ]*[0-9]+)?[ ]*[)\]])
       [^()\[\]\n]{0,100}[)\]])*
    (?:[ ]*\b(?:sub-?)?(?:scores?|ratings?|(?:grades?|marks?|values?)(?=[ ]*(?:[:=]|is\b|of\b)))\b)?
    (?:[ ]*\b(?:of|for|in)[ ](?:(?:the|this|that|its)[ ])?(?:(?:edited|generated|whole)[ ])?
       (?:image|edit|picture|photo|result|version|scene)\b)?
    (?:,[ ](?:the|its|my)[ ](?:score|rating|grade|mark)(?=[ ]is\b))?
    (?:[ ]on[ ]a[ ]scale[ ](?:from|of)[ ][0-9]{1,3}[ ]?(?:to|-|–)[ ]?[0-9]{1,3}(?=[ ]is\b))?
    [ ]*\"?[ ]*(?P<sign>:{1,2}=?|={1,2}|->|→|=>|[-–—](?=[ ])|\||[–—])?
    (?:,?[ ]*\bI(?:['’]d)?[ ](?:would[ ])?(?:give|gave|rate|rated|assign|assigned|say|go[ ]with)\b
      (?:[ ]it\b)?|,?[ ]*\b(?:let['’]s|I['’]ll|I[ ]will)[ ](?:call[ ]it|go[ ]with|say|give[ ]it
      |settle[ ](?:on|for))\b)?
    (?P<words>(?:[ ]*\b(?:is|are|can[ ]be|gets?|receives?|earns?|scores?|scored|deserves?|merits?
      |rated|at|as|of
      |an?(?![ ]*[:=])|the|has|equals|assigned|given|awarded|with|my|final|solid|strong|clear
      |firm|easy
      |clean|decent|mere|also
      |score|rating|sub-?score
      |stands|comes|achieves?|rates?|ist|es|est|note|Note|Punktzahl)\b)*)
    (?:[ ]?(?:为|是|得|打|评|は|が)[ ]?)?
    (?:[ ]*\b(?:strongly|somewhat|slightly|mostly|neither|nor|agree|disagree|neutral|very|good|great
      |excellent|perfect|fair|poor|bad|high|low|medium|moderate|average|acceptable)\b){0,4}
    [ ]*[:=]?[ ]*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_AFTER_ITS_NUMBER = re.compile(r"(?:^|[ ])[0-9]{1,3}(?:\.[0-9])?(?:/[0-9]{1,3})?[ ]?[(\[]\Z")
_SCORE_AT_THE_END = re.compile(
    r"\b(?:score|rating|grade)[ ]*[:=][ ]*[0-9]{1,3}(?:\.[0-9]+)?(?:/[0-9]{1,3})?\W*\Z",
    re.IGNORECASE,
)
_IN_BRACKETS = re.compile(r"[ ]*[(\[][ ]*(?:(?:score|rating)[ ]*[:=]?[ ]*)?", re.IGNORECASE)
_CLOSED = re.compile(r"[ ]*[)\]]")
# Between a number and the name of what it is for.
_BACKWARD = re.compile(
    r"""
    [\"'”)\]]{0,2}[ ]*(?P<sign>(?:for|on|in|to|für|en|pour|is(?=[ ]the\b))\b
      (?:[ ]+(?:the|its|an?|overall|die
      |la))*|[:=(\[]|[-–—]|→|←)?
    [ ]*[\"'“]?
    """,
    re.VERBOSE | re.IGNORECASE,
)
# A dash in a column of its own is a missing score: "S_pre   —    1".
# In "1 Realismus (S_real) | 6 …" the number behind the bar begins another entry.
_CLOSED_BEFORE_BAR = re.compile(r"[ ]*[)\]][ ]*\|")
_MISSING_CELL = re.compile(r"[ ]{2,}[-–—]+[ ]{2,}")
_NUMBERED_NAME = re.compile(r"(?:^|[^0-9])[0-9]{1,2}[.)][ ]*\Z", re.MULTILINE)
_NUMBERS_NEXT = re.compile(r"[.)][ ]+")
# A name that stands in a sum: "0.2 × S_qua = 1.4".
_TERM = re.compile(r"(?:[×*+]|(?<![0-9])0?\.[0-9]+(?:[ ]*·)?)[ ]*[(]?\Z")
_MOST = 300
_STRONG = re.compile(r"[:=(\[]|→|->|=>|\w")
_WORD_BEFORE = re.compile(r"(?P<word>[A-Za-z]+)[ ]{1,2}\Z")
_GIVES = frozenset(
    """a an and assign assigned award awarded earns gave get gets give given gives got of plus rate
    rated rating receives score scored scores""".split()
)


@dataclass(frozen=True, slots=True)
class Pair(Generic[Name]):
    """A name with the number given to it."""

    name: Name
    mark: Mark
    start: int
    end: int
    backward: bool = False
    """Whether the number stands before the name."""
    bracketed: bool = False
    """Whether it stands in brackets right behind the name."""
    value: Fraction | None = field(default=None)
    """The number as written, a score or not."""


@dataclass(slots=True)
class _Claim:
    """A number that a name may have."""

    label: int
    number: Number
    strong: bool
    bracketed: bool = False


def pairs(
    text: str,
    start: int,
    end: int,
    names: Sequence[Name],
    scale_of: Callable[[Name], Scale],
    taken: Sequence[tuple[int, int]] = (),
) -> list[Pair[Name]]:
    """Return the names in a stretch of text that are given a number, each with it.

    A number may stand behind its name or before it; where both can be, the ends of the stretch
    decide, and where they do not, nobody gets it. `taken` are stretches whose numbers mean
    something else: the names of images.
    """
    if len(names) > _MOST:
        return []

    scales = [match.span() for match in _SCALE_IN_BRACKETS.finditer(text, start, end)]
    inside = sorted([*taken, *scales, *((name.start, name.end) for name in names)])
    every = list(numbers_in(text, start, end))
    numbers = _outside(every, inside)
    forward = _forward(text, start, end, names, {number.start: number for number in numbers})
    for place in [place for place in forward if _inside(place, taken)]:
        del forward[place]

    backward = _backward(text, start, names, numbers, forward)
    forward = _without_joint_claims(text, names, forward, backward)
    if names and _opens_with_a_number(text, names[0].start, numbers, backward):
        forward = {place: claim for place, claim in forward.items() if claim.strong}

    if names and _ends_with_a_number(text, names[-1].end, numbers, forward, end):
        backward = {}

    forward = _without_shifts(text, names, forward, end)
    chosen = _resolved(names, numbers, forward, backward)
    named = {number.start for number in every} - {number.start for number in numbers}
    made = _made(text, end, names, scale_of, chosen, named)
    listed = _respectively(text, end, names, numbers, scale_of)
    if not listed:
        return made

    taken = {pair.name.start for pair in listed}
    kept = [pair for pair in made if pair.name.start not in taken]
    return sorted([*kept, *listed], key=lambda pair: pair.name.start)


def _without_joint_claims(
    text: str, names: Sequence[Name], forward: dict[int, _Claim], backward: dict[int, _Claim]
) -> dict[int, _Claim]:
    """Return the claims without those of a list of names: "quality and realism with five, and two"
    gives realism nobody knows which."""
    claimed = {claim.label for claim in [*forward.values(), *backward.values()]}
    doubtful = {
        last
        for first, last in _runs(text, names, _LISTED_NAMES)
        if isinstance(names[last], FactorName) and not claimed.intersection(range(first, last))
        if first < last
    }
    return {place: claim for place, claim in forward.items() if claim.label not in doubtful}


_LISTED_NUMBERS = re.compile(r"[)\]]?[ ]*(?:[,;/&|]|,?[ ]and|,?[ ]und|,?[ ]y|,?[ ]et)[ ]*[(\[]?")
_LISTED_NAMES = re.compile(r"[ ]*(?:,|,?[ ]and|&|/|und|et|y)[ ]*(?:the[ ])?", re.IGNORECASE)
_ORDERED = re.compile(r"respectiv|\border\b|jeweils|Reihenfolge", re.IGNORECASE)
_IN_THAT_ORDER = re.compile(
    r"[)\]]?[ ]*[,(]?[ ]*(?:respectively|in[ ](?:this|that|the[ ]same|the[ ]given)[ ]order"
    r"|jeweils|in[ ]dieser[ ]Reihenfolge|respectivement|respectivamente)\b[ ]*[)]?[ ]*"
    r"(?=[.;,!\n]|$)",
    re.IGNORECASE,
)
_NUMBERS_FOR = re.compile(r"[)\]]?[ ]*(?:for|on|in|für|pour|en)[ ]+(?:the[ ]+)?", re.IGNORECASE)
_NUMBERS_BEHIND = re.compile(
    r"[ ]*(?:[:=→]|(?:is|are|get|gets|with|at|of|receive[sd]?|scores?)\b"
    r"|,?[ ]I(?:['’]d|[ ]would|[ ]will)?[ ](?:give|assign|rate|award)(?:[ ]it)?\b)[ ]*",
    re.IGNORECASE,
)


def _respectively(
    text: str,
    end: int,
    names: Sequence[Name],
    numbers: Sequence[Number],
    scale_of: Callable[[Name], Scale],
) -> list[Pair[Name]]:
    """Return what a list of names gets from a list of numbers beside it, where the text says that
    they go together: "8, 7 and 9 for S_acc, S_pre and S_qua, respectively"."""
    shared = _SHARED.search(text) is not None if len(names) > 1 else False
    if not shared and (len(names) < 2 or _ORDERED.search(text, names[0].start, end) is None):
        return []

    made: list[Pair[Name]] = []
    for first, last in _runs(text, names, _LISTED_NAMES):
        run = names[first : last + 1]
        if shared and len(run) > 1:
            made += _shared(text, run, numbers, scale_of)

        for low, high in _runs(text, numbers, _LISTED_NUMBERS):
            values = numbers[low : high + 1]
            if len(values) != len(run) or len(run) < 2:
                continue

            before = _NUMBERS_FOR.fullmatch(text, values[-1].end, run[0].start)
            behind = _NUMBERS_BEHIND.fullmatch(text, run[-1].end, values[0].start)
            stop = run[-1].end if before else values[-1].end
            if not (before or behind) or _IN_THAT_ORDER.match(text, stop, end) is None:
                continue

            for name, number in zip(run, values, strict=True):
                low_end, high_end = sorted((name.start, number.start))
                mark = number.mark(scale_of(name))
                made.append(Pair(name, mark, low_end, max(name.end, number.end, high_end)))

    return made


_SHARED = re.compile(r"[0-9][ ]for[ ](?:both|each)\b", re.IGNORECASE)
_FOR_ALL = re.compile(
    r"[ ]for[ ](?:both|each[ ]of)[ ](?:of[ ])?(?:the[ ])?(?:factors[ ]|criteria[ ])?", re.IGNORECASE
)


def _shared(
    text: str, run: Sequence[Name], numbers: Sequence[Number], scale_of: Callable[[Name], Scale]
) -> Iterator[Pair[Name]]:
    """Yield the names of a list that are all given one number: "8 for both quality and realism"."""
    for number in numbers:
        if _FOR_ALL.fullmatch(text, number.end, run[0].start) and not is_hedged(
            text, 0, number.start
        ):
            for name in run:
                yield Pair(name, number.mark(scale_of(name)), number.start, name.end)


def _runs(
    text: str, places: Sequence[Name] | Sequence[Number], joint: re.Pattern[str]
) -> Iterator[tuple[int, int]]:
    """Yield the first and last of things that stand in one list, joined by nothing else."""
    first = 0
    for index in range(1, len(places) + 1):
        listed = index < len(places) and joint.fullmatch(
            text, places[index - 1].end, places[index].start
        )
        if not listed:
            yield first, index - 1
            first = index


# "S_acc (1-10)": the ends of the scale are nobody's scores.
_SCALE_IN_BRACKETS = re.compile(r"[(\[][ ]?[01][ ]?(?:-|–|—|to)[ ]?[0-9]{1,3}[ ]?[)\]]")
_OPENED = re.compile(r"[(\[][ ]?\Z")
_SIGNED = re.compile(r"[ )\]]*(?:[:=→…]|->|\.\.|\|(?![ ]*[0-9]))")
_LISTED = re.compile(r"[ ]*[,;/|&][ ]*(?:and[ ])?")
_BRACKETS_OPEN = frozenset("([")
_CLOSES_OR_LISTS = re.compile(r"[ ]*(?:[)\],/(]|$)")
_PARTED = re.compile(r"[ ]*[)\]]?[ ]*(?:[,;|/·•\n]|and\b)")
_EXPLAINED = re.compile(r"[ ]*[)\]][ ]*:")
_BEGINS_A_SENTENCE = re.compile(r"[ ](?!and\b|or\b)[a-z]{3,}[ ][a-z]")


def _without_shifts(
    text: str, names: Sequence[Name], forward: dict[int, _Claim], end: int
) -> dict[int, _Claim]:
    """Return the claims without those that may be shifted: `S_acc 9 - S_pre 5 - S_qua`.

    Where only spaces or dashes part the entries and the last name has no number, the numbers may
    as well stand before their names.
    """
    claimed = {claim.label for claim in forward.values()}
    if not names or len(names) - 1 in claimed:
        return forward

    kept = {}

    for place, claim in forward.items():
        following = claim.label + 1
        limit = names[following].start if following < len(names) else end
        parted = _PARTED.match(text, claim.number.end, limit) is not None
        parted = parted or _BACKWARD.fullmatch(text, claim.number.end, limit) is None
        if following == len(names) - 1 and _BEGINS_A_SENTENCE.match(text, names[following].end):
            # "S_qua – 9 points Preservation suffers …"
            parted = True

        if claim.bracketed and _EXPLAINED.match(text, claim.number.end, limit):
            parted = True

        if claim.strong or parted or following == len(names):
            kept[place] = claim

    return kept


def _outside(numbers: Sequence[Number], spans: Sequence[tuple[int, int]]) -> list[Number]:
    """Return the numbers, in order, that stand in none of these stretches, which are in order."""
    kept = []
    at = 0

    for number in numbers:
        while at < len(spans) and spans[at][1] <= number.start:
            at += 1

        if at == len(spans) or number.start < spans[at][0]:
            kept.append(number)

    return kept


def _inside(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(first <= place < last for first, last in spans)


def _is_barred(name: FactorName | ImageName) -> bool:
    return isinstance(name, FactorName) and name.modified


def _opens_with_a_number(
    text: str, first: int, numbers: Sequence[Number], backward: dict[int, _Claim]
) -> bool:
    """Tell whether a number stands before all names and is nobody's: then any may be shifted."""
    for number in numbers:
        if (
            number.start < first
            and number.start not in backward
            and not counts(text, number, first)
        ):
            return True

    return False


def _ends_with_a_number(
    text: str, last: int, numbers: Sequence[Number], forward: dict[int, _Claim], end: int
) -> bool:
    """Tell whether a number right behind the last name is nobody's: then any may be shifted."""
    for number in numbers:
        if number.start >= last and number.start not in forward:
            near = re.fullmatch(r"\W{0,12}", text[last : number.start]) is not None
            return near and not counts(text, number, end)
    return False


def _forward(
    text: str, start: int, end: int, names: Sequence[Name], known: dict[int, Number]
) -> dict[int, _Claim]:
    """Return, by where it begins, each number that stands right behind a name.

    `known` are the numbers of the stretch, by where they begin.
    """
    claims: dict[int, _Claim] = {}
    for index, name in enumerate(names):
        if _TERM.search(text, max(start, name.start - 12), name.start) or _is_barred(name):
            continue

        limit = names[index + 1].start if index + 1 < len(names) else end
        bracket = _IN_BRACKETS.match(text, name.end, limit)
        number = number_at(text, bracket.end(), limit) if bracket else None
        closed = _CLOSED.match(text, number.end, limit) if number else None
        if number is not None and closed is not None:
            apart = text[name.end : name.end + 1] == " "
            bare = number.top is None and not text[closed.end() : limit].strip()
            if limit < end and bare and apart:
                # "Accuracy (2) Quality (3)" numbers what comes next; "acc(2) qua(3)" does not.
                continue

            claims[number.start] = _Claim(index, number, strong=False, bracketed=True)
            continue

        joint = _JOINT.match(text, name.end, limit)
        if joint is None:
            continue

        number = known.get(joint.end()) or number_at(text, joint.end(), limit)
        if number is None or (number.start == name.end and not joint["sign"]):
            continue
        if _MISSING_CELL.search(joint[0]) or _CLOSED_BEFORE_BAR.match(joint[0]):
            continue

        scored = _AFTER_ITS_NUMBER.search(text, start, name.start)
        scored = scored or _SCORE_AT_THE_END.search(text, number.end, limit)
        if scored and counts(text, number, limit):
            # "4 (S_qua): 3 visible seams", "S_qua: 3 seams. Score: 4": it has another number.
            continue

        sign = (joint["sign"] or "") + (joint["words"] or "")
        counted = number.value <= len(names) and _NUMBERED_NAME.search(
            text, max(0, names[0].start - 8), names[0].start
        )
        weak = not _STRONG.search(sign)
        if (weak or counted) and _NUMBERS_NEXT.fullmatch(text, number.end, limit):
            # "4. Realism ::  2. Preservation :: 5": the number of the next name.
            continue

        claims[number.start] = _Claim(index, number, _STRONG.search(sign) is not None)

    return claims


def _backward(
    text: str,
    start: int,
    names: Sequence[Name],
    numbers: Sequence[Number],
    forward: dict[int, _Claim],
) -> dict[int, _Claim]:
    """Return, by where it begins, each number that stands right before a name."""
    claims: dict[int, _Claim] = {}
    behind = {claim.label for claim in forward.values()}
    for index, name in enumerate(names):
        floor = names[index - 1].end if index else start
        before = [
            number for number in numbers if floor <= number.start and number.end <= name.start
        ]
        if not before:
            continue
        if _is_barred(name):
            continue

        number = before[-1]
        if len(before) > 1 and _LISTED_NUMBERS.fullmatch(text, before[-2].end, number.start):
            # "8, 7 and 9 for S_acc, S_pre and S_qua": none of them is this name's alone.
            continue

        joint = _BACKWARD.fullmatch(text, number.end, name.start)
        if joint is None or is_hedged(text, floor, number.start):
            continue

        listed = index + 1 < len(names) and _LISTED.fullmatch(
            text, name.end, names[index + 1].start
        )
        if listed and (joint["sign"] or "") in _BRACKETS_OPEN:
            # "8, 7, 9 (S_acc, S_pre, S_qua)": a list of numbers before a list of names.
            continue

        if joint[0].lstrip("\"'”")[:1] in {")", "]"} and not _OPENED.search(
            text, max(floor, number.start - 3), number.start
        ):
            # "two (the sign reads “Exit 6”) for accuracy": a number amid a remark.
            continue

        enclosed = text[number.start - 1 : number.start] in {"(", "["}
        enclosed = enclosed and text[number.end : number.end + 1] in {")", "]"}
        if enclosed and not (joint["sign"] or "")[:1].isalpha() and behind:
            # "[1] S_acc: 7": where names have their numbers behind them, this one counts.
            continue
        if (joint["sign"] or "") in _BRACKETS_OPEN and not _CLOSES_OR_LISTS.match(text, name.end):
            # "4/10 (realism suffers …)": an explanation that a name begins.
            continue
        explained = not behind and (enclosed or (joint["sign"] or "") in _BRACKETS_OPEN)
        if _SIGNED.match(text, name.end) and not explained:
            # What is followed by a colon gets its number there.
            continue
        if not joint["sign"] and text.startswith("  ", number.end):
            # A column of its own, of images or of anything.
            continue
        if not joint["sign"] and _counts_a_name(text, floor, number, name):
            continue
        if joint["sign"] == ":" and _WORD_BEFORE.search(
            text, max(floor, number.start - 24), number.start
        ):
            # "Question 1: S_acc" numbers what follows.
            continue

        # An arrow may as well lead on to the next entry: "S_acc 4 → S_pre 9".
        strong = joint["sign"] != "→" and _STRONG.search(joint["sign"] or "") is not None
        claims[number.start] = _Claim(index, number, strong)

    opened = any(claim.label == 0 for claim in claims.values())
    # A name before the first number: then any number parted by spaces may belong to the one before.
    return {place: claim for place, claim in claims.items() if opened or claim.strong}


def _counts_a_name(text: str, floor: int, number: Number, name: FactorName | ImageName) -> bool:
    """Tell whether a number right before a name in words only counts: "there are 2 artifacts"."""
    if not isinstance(name, FactorName) or not name.in_words:
        return False
    before = _WORD_BEFORE.search(text, max(floor, number.start - 24), number.start)
    return before is not None and before["word"].lower() not in _GIVES


def _resolved(
    names: Sequence[Name],
    numbers: Sequence[Number],
    forward: dict[int, _Claim],
    backward: dict[int, _Claim],
) -> dict[int, tuple[_Claim, bool] | None]:
    """Return for each name its number, and whether that stands before it;
    None where it is unclear."""
    places = [name.start for name in names]
    marks = [number.start for number in numbers] or [0]
    behind = bool(places) and places[0] < marks[0] and places[-1] < marks[-1]
    before = bool(places) and marks[0] < places[0] and marks[-1] < places[-1]
    chosen: dict[int, tuple[_Claim, bool] | None] = {}

    for place in sorted({*forward, *backward}):
        ahead, back = forward.get(place), backward.get(place)
        if ahead is not None and back is not None:
            if ahead.strong != back.strong:
                ahead, back = (ahead, None) if ahead.strong else (None, back)
            elif behind or before:
                ahead, back = (ahead, None) if behind else (None, back)
            else:
                chosen[ahead.label] = chosen[back.label] = None
                continue

        claim = ahead or back
        if claim is None:
            continue

        if claim.label in chosen:
            chosen[claim.label] = None
        else:
            chosen[claim.label] = (claim, ahead is None)

    return chosen


def _made(
    text: str,
    end: int,
    names: Sequence[Name],
    scale_of: Callable[[Name], Scale],
    chosen: dict[int, tuple[_Claim, bool] | None],
    named: Set[int],
) -> list[Pair[Name]]:
    """Return the pairs; numbers that begin at one of the `named` are part of a name."""
    starts = {found[0].number.start for found in chosen.values() if found is not None}
    made = []
    for index, name in enumerate(names):
        if index not in chosen:
            continue

        found = chosen[index]
        if found is None:
            mark = Mark(
                None,
                (name.start, name.end),
                FaultKind.AMBIGUOUS,
                "it cannot be told which number is its own",
            )
            made.append(Pair(name, mark, name.start, name.end))
            continue

        claim, backward = found
        number = claim.number
        limit = names[index + 1].start if index + 1 < len(names) else end
        scale = scale_of(name)
        fault = _fault(text, name, claim, limit, scale, starts, named, backward=backward)
        mark = number.mark(scale)
        joint = text[name.end : number.start]
        behind = text[number.end : limit]
        beside = behind.lstrip()[:3].startswith(("(", "[", "on ", "in ", "of "))
        if ("(" in joint and stated_tops(joint) - {scale.high}) or (
            beside and stated_tops(behind[:40]) - {scale.high}
        ):
            fault = "another scale is stated beside it"

        if fault and mark.value is not None:
            mark = Mark(None, mark.span, FaultKind.AMBIGUOUS, fault)

        made.append(
            Pair(
                name,
                mark,
                min(name.start, number.start),
                max(name.end, number.end),
                backward,
                claim.bracketed,
                number.value,
            )
        )

    return made


def _fault(
    text: str,
    name: FactorName | ImageName,
    claim: _Claim,
    limit: int,
    scale: Scale,
    starts: set[int],
    named: Set[int],
    *,
    backward: bool,
) -> str:
    number = claim.number
    others = starts | named
    if not backward:
        return entry_fault(text, number, limit, scale, others)

    # What follows the name follows the number, too.
    behind = Number(number.value, None, name.start, name.end, name.end)
    following = min((place for place in starts if place >= name.end), default=limit)
    return entry_fault(text, behind, min(limit, following), scale, others)
