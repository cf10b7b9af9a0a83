"""A number as a verdict: `6`, `6.5`, `6/10`, `6 out of 10`, `eight`; and whose it is.

Everything that may stand after a score is listed here; a number followed by anything else is none,
and neither is one that shares its entry with another number that might be meant. On a line of names
and numbers each name gets its own, behind it or before it: `S_acc: 8`, but also `8 (S_acc)`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import attrgetter
from typing import Generic, TypeVar

from lmmscore.parsing.lexicon import NO_SCORE
from lmmscore.parsing.names import FactorName, ImageName
from lmmscore.parsing.remarks import is_a_quality, is_doubtful, unsettles
from lmmscore.parsing.verdict import FaultKind, Mark
from lmmscore.scales import Scale, show

# At most six digits: what is longer is no score.
_DIGITS = (
    r"(?:[0-9]{1,6}(?:\.[0-9]{1,6})?|\.[0-9]{1,6}"
    r"|[0-9]{1,3},(?:5|0|25|75)(?![0-9]|,(?![ ][^\W\d])))"
)
_OUT_OF = r"""
    (?:/|(?:out[ ]{1,3}of|of(?=[ ]a?[ ]?(?:possible|max)))
      (?:[ ](?:a[ ])?(?:possible|maximum|total)(?:[ ]of)?)?|von(?:[ ]max\.?)?|sur|sobre|de
      |of(?=[ ]{1,3}(?:5|7|10|100|ten|five)\b)|uit|su|из|na|av|/[ ]?满分|満点)
"""
_UNIT = (
    r"(?:points?\b|pts?\b\.?|分|点|점|Punkte\b|Punkten\b|puntos\b|marks?\b|/s\b"
    r"|балл(?:а|ов)?\b|очк(?:о|а|ов)\b|punti\b|pontos\b|punten\b|punkt(?:y|ów)?\b|pkt\b\.?"
    r"|poäng\b|puan\b|bodů\b)"
)
NUMBER = re.compile(
    rf"""
    (?<![A-Za-z0-9_#]) (?<![0-9][.,/:]) (?<![A-Za-z][-'’])
    (?P<sign>[-+])?(?P<digits>{_DIGITS})
    (?: [ ]{{0,3}}{_OUT_OF}[ ]{{0,3}}(?P<top>[0-9]{{1,6}}(?:\.[0-9]{{1,3}})?|ten\b|five\b)
        (?![0-9/A-Za-z]|[.,][0-9]|[ ]?%)
      | [ ]\((?:(?:out[ ])?of|max(?:imum|imal)?\.?:?)[ ](?P<held>[0-9]{{1,3}})\) )?
    (?![0-9]|[.,:][0-9]|\.[a-z]\b|[ ]?[%‰°½¼¾⅓⅔])
    (?!(?![A-Z][a-z]{{3}}|(?:The|All|Its?|In|No|But)\b|pts?\b|points?\b)[A-Za-z_])
    (?P<unit>[ ]{{0,3}}{_UNIT})?
    """,
    re.VERBOSE,
)
_DIGIT = re.compile(r"[0-9]")
_IN_WORDS = {
    word: number
    for number, word in enumerate("zero one two three four five six seven eight nine ten".split())
}


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


def worth(number: str) -> Fraction:
    """Return what a number in digits or in English words is worth."""
    return _fraction(str(_IN_WORDS.get(number.lower(), number)))


def _number(match: re.Match[str]) -> Number:
    sign, digits, top, unit = match.group("sign", "digits", "top", "unit")
    top = top or match["held"]
    value = _fraction(digits)
    if sign == "-":
        value = -value

    out_of = worth(top) if top is not None else None
    start = match.start("sign" if sign else "digits")
    return Number(value, out_of, start, match.end("digits"), match.end(), unit is not None)


def numbers_in(text: str, start: int, end: int) -> Iterator[Number]:
    """Yield every number in a stretch of text, whatever it is of."""
    while (digit := _DIGIT.search(text, start, end)) is not None:
        # No more than a sign and a point stand before its first digit.
        match = NUMBER.search(text, max(start, digit.start() - 2), end)
        if match is None:
            return

        yield _number(match)
        start = match.end()


def outside(numbers: Iterable[Number], spans: Sequence[tuple[int, int]]) -> list[Number]:
    """Return the numbers, in order, that stand in none of these stretches, which are in order."""
    kept = []
    at = 0

    for number in numbers:
        while at < len(spans) and spans[at][1] <= number.start:
            at += 1

        if at == len(spans) or number.start < spans[at][0]:
            kept.append(number)

    return kept


def values_in(text: str) -> set[Fraction]:
    """Return every number that a text names, and what each is out of."""
    found = list(numbers_in(text, 0, len(text)))
    return {number.value for number in found} | {each.top for each in found if each.top is not None}


_OPENING = re.compile(r"[ ]*(?:(?:[(\[\"'“‘]|<(?=[ ]*[0-9.]+[ ]*>)){1,3}[ ]*)?")
_CHINESE = {sign: number for number, sign in enumerate("零一二三四五六七八九十")}
_WORTH = _IN_WORDS | _CHINESE | {"half": Fraction(1, 2)}
_WORD = re.compile(
    rf"""
    (?P<word>{"|".join(_IN_WORDS)}|(?<=\ba[ ])half)\b
      (?:[ ]{{1,3}}(?:out[ ])?of[ ]{{1,3}}(?P<top>ten|10|five|5|seven|7))?
    (?=[ ]*(?:[,;:.)\n]|\Z|points?\b|and\b|for\b|\([0-9]))
  | (?P<chinese>[零一二三四五六七八九十])分(?![\u4e00-\u9fff])  # 十分清楚: quite clear
    """,
    re.VERBOSE | re.IGNORECASE,
)


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

    value = Fraction(_WORTH[word["chinese"] or word["word"].lower()])
    top = word["top"]
    top = _IN_WORDS.get(top.lower(), top) if top else None
    return Number(
        value,
        Fraction(top) if top is not None else None,
        word.start(),
        word.end("chinese") if word["chinese"] else word.end("word"),
        word.end(),
        in_words=True,
    )


_HEDGED_BEFORE = re.compile(
    r"""
    (?:\b(?:around|about|approximately|roughly|nearly|almost|at[ ](?:most|least|best)|up[ ]to|below
        |above|under|over|not|less[ ]than|more[ ]than|between|maybe|perhaps|possibly|rank|ranked
        |from
        |than|to|or|minus|plus|place|level|weight|version|maximum|minimum|max|min|could[ ]be
        |(?<!score[ ])(?<!scores[ ])would[ ]be|\(of|out[ ]of
        |might[ ]be|should[ ]be|ungefähr|etwa|ca\.|circa|by|step|factor|no\.|number|another|extra)
      |[<>≤≥~≈±×*^#$€£]|(?<![ ])/|[0-9][ ]?[-–—]|\bbetween[ ][0-9.]+[ ]and
    )[ ]*(?:an?[ ])?\Z
    """,
    re.VERBOSE | re.IGNORECASE,
)


def is_hedged(text: str, start: int, place: int) -> bool:
    """Tell whether the words right before a number make it a bound, a rank or a guess."""
    return _HEDGED_BEFORE.search(text, max(start, place - 40), place) is not None


# --- What may stand behind a score ---

_UNIT_RUNS_ON = re.compile(
    r"""
    [ ]*(?:deducted|off\b|lost|taken|removed|subtracted|docked|apart|lower|higher|above|below|better
      |worse|less|more|fewer|ahead|behind|short|away|difference|from\b|were|was|are|is\b|go\b
      |for[ ]each
      |each\b|per\b|abgezogen|Abzug|weniger|mehr|to\b|or\b|max
      |이상|이하|미만|초과|정도|쯤|以上|以下|未満|以内|左右|上下|程度|前後|くらい|ぐらい|钟|鐘|方向
      |または|或|もしくは|또는|[で中]?満点|满分|滿分|만점|制|中|之|里)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_DOUBTED = re.compile(r"[ ]*[(\[!]*\?|[-+]\s*\Z")
_ENDS = re.compile(
    r"[\s.,;:!|)\]}\"'”’>/–—、·•#-]*"
    r"(?:\b(?:and|und|y|et|e)\b[\s,]*(?:an?|the|its|una?|une|um|eine?|bei|pour|en|em|per"
    r"|für(?:\s(?:die|den|das))?)?\s*)?\Z"
)
# What makes the number one of several, a bound, or something not yet settled.
_RUNS_ON = re.compile(
    r"""
      [ ]*(?:[,;/&|+、・]|\.{2,3}|…)[ ]*[0-9]{1,3}(?:\.[0-9]+)?[ ]*
        (?:[,;/&|\]、]|\)(?![ ]+\Z)|\Z|\n)
    | ["']?[ ]*,[ ]*(?:null|none|nan|n/?a|["'][^"'\n]{0,12}["']|[-–—?]{1,3})[ ]*(?:[,\]]|\Z|\n)
    | [ ]*:[ ]*(?:[-–—?]+[ ]*(?:$|[,;])|n/?a\b|none\b|tbd\b|unknown\b
        |not\b|no[ ]score\b|unclear\b|cannot\b|can['’]t\b
        |(?:undecided|unscored|skipped|omitted|left[ ]open
          |one|two|three|four|five|six|seven|eight|nine|ten)[ ]*(?:$|[,;.(]|out[ ]of\b)
        |[0-9]+(?![0-9.]*[ ](?:of[ ](?:the[ ])?[0-9]+[ ](?!points|marks))?[a-z]{3}))
    | [ ]*(?:→|->|=>)(?![ ]*[^\W\d](?:[^0-9\n]|[0-9]+[ ][a-z]{3})*\Z)
    | [ ]*[(\[,;]?[ ]*[+][ ]?[0-9]
    | [ ]+(?-i:in)[ ](?:every[ ])?[0-9]+[ ]
    | [ ]*+(?:=(?![ ]*(?:very[ ]|quite[ ]|rather[ ])?
        (?:good|poor|bad|excellent|fair|acceptable|great|weak|strong|perfect|high|low|medium|moderate)\b)|[+×*^<>±≠≈~?]|roughly\b|approx\w*|to\b|or\b|bis\b|bzw|oder\b|ou\b|til\b
    |until\b|through\b|vs\b|&
        |至|到|或|から|か|至少|以上|以下|左右|未満|弱|強|程度|前後|o\b|ó\b|\.[0-9])
    | [ ]*+[,;(–—-]*+[ ]*+
      (?:at[ ](?:best|most|least)|if\b|falls\b|wenn\b|sofern\b|si\b|sauf\b|如果|もし|\.[0-9]
        |(?:but[ ])?(?:only|just|solely|strictly|even|purely)[ ]
          (?:if|when|once|where|while|with|without|under)\b
        |(?:nur|seulement|uniquement|solo|sólo|soltanto|alleen)[ ](?:wenn|falls|si|se|als)\b
        |(?:as|so)[ ]long[ ]as\b|on[ ](?:the[ ])?(?:condition|assumption|premise)\b
        |in[ ]case\b|supposing\b|subject[ ]to\b|conditional\b|were[ ](?:it|the)\b
        |unless\b|otherwise\b|maybe\b|perhaps\b|possibly\b|probably\b
        |(?:could|might|may|should|would)\b(?![ ](?:\w+er\b
          |(?:almost[ ])?be[ ](?:\w+er|more|less|an?|the|from|part|real|taken|mistaken)\b
          |profit|benefit|need|look|have|also|pass|fool))
        |for[ ](?:now|starters|the[ ](?:moment|time[ ]being))\b|at[ ]first\b(?![ ](?:glance|sight
          |look))
        |initially\b(?=[ ]*(?:[.,;)\]]|$))|to[ ](?:begin|start)[ ]with\b|vorerst\b|por[ ]ahora\b
        |pour[ ]l['’]instant\b|暂时|暂定|とりあえず|일단
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
        |or\b|rather\b(?![ ]than\b)|(?:no|nein|non|nee|нет)(?:[ ]wait\b|[ ]*[:,;–—])
        |wait\b|actually\b|assuming\b|provided\b
        |depending\b|minus\b|plus\b
        |half\b(?![ ](?:of|an?|the|of[ ](?:an?|the|its))[ ]
          (?!an?\b|the\b|points?|marks?|grades?)[a-z])
        |and[ ](?:a[ ])?(?:half|quarter|[0-9])
        |and[ ](?:[-–—?]+|n/?a|none|tbd|not[ ]\w+|no[ ]score|one|two|three|four|five|six|seven|eight
          |nine|ten)[ ]*(?=[,.;)]|out[ ]of\b|$)|tops?\b|max\b
        |maximum\b|minimum\b|min\b|ceiling\b|tbd\b|tbc\b|pending\b|not[ ]final\b|draft\b|guess\w*
        |but[ ](?:could|might|may|should|maybe|perhaps|possibly|only[ ]if|if|probably|not[ ]if)\b
        |placeholder\w*|hypothetical\w*|default\b|random\w*|arbitrar\w+|dummy\b|filler\b
        |made[ -]up\b|invented\b|assum\w+|fake\b|mock\b|fictional\b|imaginary\b|estimat\w+
        |unsure\b|uncertain\w*|unclear\b|unknown\b|vielleicht\b|höchstens\b|mindestens\b|quizás\b
        |máximo\b)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_DEDUCTED = re.compile(
    r"\b(?:[0-9]|one|two|three|a)[ ]points?[ ](?:(?:is|are|was|were)[ ])?"
    r"(?:deducted|off\b|lost|taken|docked|subtracted|removed)|\bminus[ ][0-9]",
    re.IGNORECASE,
)


def entry_fault(
    text: str,
    number: Number,
    end: int,
    scale: Scale,
    others: Set[int] = frozenset(),
    *,
    listed: bool = False,
) -> str:
    """Return why a number is not this entry's score, or nothing when it is.

    The entry goes on to `end`. Numbers that begin at one of the `others` belong to other entries;
    `listed` says that there are other entries on its line.
    """
    if number.sign_of_difference(text):
        return "it is given as a difference"
    if text[number.end : end] in _NEXT_ENTRY:
        return ""

    arrow = _ARROW.search(text, number.end, end)
    total = _TOTAL_NEXT.search(text, number.end, end) if arrow else None
    if total is not None:
        end = total.start()

    if number.unit and _UNIT_RUNS_ON.match(text, number.end, end):
        return "the number counts points"
    if number.top is not None and counts(text, number, end):
        return "the number counts something"

    place = _behind_brackets_and_scale(text, number.end, end)
    if _DOUBTED.match(text, place, end):
        return "its number is put in doubt"
    if _NOTHING_FOLLOWS.match(text, place) and not (listed and _CLOSING_DASH.match(text, place)):
        return "a sign for a missing score follows the number"
    less = _LESS_BEHIND.match(text, number.end, end)
    if less is not None and number.value + _fraction(less["points"]) != scale.high:
        # "8 (−2 for the halo)" says what became of the 10.
        return "points are taken off it"
    if _ENDS.match(text, place, end):
        return ""
    if listed and _precedes_a_label(text, place, end):
        return ""
    if _RUNS_ON.match(text, place, end):
        return "its number is hedged, or one of several"
    if _starts_a_range(text, number, place, end):
        return "it is given a range"
    if number.value == scale.high and _DEDUCTED.search(text, place, end):
        return "points are taken off it"
    if not _begins_an_explanation(text, place, end):
        words = " ".join(text[place : min(end, place + 30)].split())
        return f"the number is followed by “{words}”"
    if _unsettled_bracket(text, place, end):
        return "what stands in brackets behind it unsettles it"
    if _says_otherwise(text, number, place, end):
        return "what stands behind it says another number, or what it counts"
    if _WITHDRAWN.search(text, place, end):
        return "it is taken back"
    if text.find(" I ", place, end) >= 0 and _ABSTAINS.search(text, place, end):
        return "it is not the judge's"

    competing = next(competitors(text, place, end, scale, number.value, others), None)
    if competing is not None:
        shown = text[competing.start : competing.end].strip()
        return f"it is given two numbers, {show(number.value)} and {shown}"
    return ""


# What parts most entries of a list: nothing is said there.
_NEXT_ENTRY = frozenset((", ", "; ", ", and "))
_ARROW = re.compile(r"[→>]")
# "S_real = 7 → S_all = 0.4×9 + … = 7.7": the sum that scores go into is no part of an entry.
_TOTAL_NEXT = re.compile(
    r"[ ]*(?:→|->|=>)[ ]*(?:S_(?:all|total)|(?:overall|total)(?:[ ]score)?|weighted[ ]\w+)[ ]*[=:]",
    re.IGNORECASE,
)
# "9 – no, I take that back: no score", "5 and –, respectively"; not "8, no score for S_pre".
_WITHDRAWN = re.compile(
    r"\b(?=[nutwrsdif][onaiectg])"
    r"(?:(?:no[ ](?:score|rating|grade)|not[ ](?:scored|rated|graded)|unscored)\b"
    r"(?![ ]*[:=]|[ ](?:for|on|in)\b)"
    r"|(?:take|taking|took)[ ](?:that|this|it)[ ]back\b|(?:withdrawn|retracted|respectively)\b"
    r"|(?:scratch|scrap|strike|delete|ignore|disregard|withdraw|forget)[ ](?:that|this|it)\b)",
    re.IGNORECASE,
)
# "7, as the crowd workers put it; I abstain"
_ABSTAINS = re.compile(r"\bI[ ](?:myself[ ])?(?:abstain|pass|decline|refrain)\b")
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
_SCALE_WORD = re.compile(r"\bscale\b|\brange\b|\bfrom\b|\bSkala\b|\bpoint\b", re.IGNORECASE)


def _behind_brackets_and_scale(text: str, place: int, end: int) -> int:
    """Return where a number is over and done with: `"6") on a scale from 1 to 10`."""
    closing = _CLOSING.match(text, place, end)
    place = closing.end() if closing else place
    scale = _SCALE.match(text, place, end)
    if scale is not None and _SCALE_WORD.search(scale[0]):
        return scale.end()
    return place


# In "Accuracy: 1: —" and "S_acc  1  -" the number is the image's, and the dash its missing score.
_NOTHING = rf"(?:[?…]++|\.{{2,3}}|{NO_SCORE})"
_DASHES = r"(?:[-–—]++[ ]?){1,4}+"
_NOTHING_FOLLOWS = re.compile(
    rf"[ \t*_]*+(?::[ \t*_]*+(?:{_DASHES}|{_NOTHING})?|{_DASHES}[ *_]*+{_NOTHING}?"
    rf"|(?!\.){_NOTHING}|\([ ]*+(?:{_DASHES}|{_NOTHING})?[ ]*+\))[ \t*_]*+(?=\n|\Z)",
    re.IGNORECASE,
)
# "naturalness 10 - artifacts 5 -": where other names have their numbers, it only ends the line.
# "10 (−3 for the halo)"
_LESS_BEHIND = re.compile(
    r"[ ]*[(\[][ ]*[-−–][ ]?(?P<points>[0-9](?:\.[0-9])?)[ ]*"
    r"(?:for|because|due|points?|pts?|off|wegen|pour|por)\b"
)
_CLOSING_DASH = re.compile(r"[ ][-–—][ ]*(?=\n|\Z)")
_RANGE_AFTER = re.compile(r"[ ]?(?:-|–|—|to|bis|~|至)[ ]?[0-9]{1,3}(?![0-9])")


# "8 – 6 out of 6 hats"
_SHARE_BEHIND = re.compile(r"[ ]out[ ]of[ ](?:the[ ])?[0-9]{1,3}[ ][^\W\d_]{3}")


def _starts_a_range(text: str, number: Number, place: int, end: int) -> bool:
    """Tell whether a number is followed by the other end of a range: "1 - 10", not "6 - 2 dogs"."""
    after = _RANGE_AFTER.match(text, place, end)
    if after is None:
        return False

    if _SHARE_BEHIND.match(text, after.end(), end):
        return False

    other = Number(number.value, None, after.end(), after.end(), after.end())
    scale = re.match(
        r"[ -]*(?:points?|scale|range|Skala)\b", text[after.end() : end], re.IGNORECASE
    )
    return scale is not None or not counts(text, other, end)


_EXPLAINS = re.compile(
    r"""
      [ ]*[,;:.!|(\[。，；（·•]|[ ]+\#[ ]
    | [ ]*[–—→←]|[ ]+-[ ]|-[ ]|[ ]=[ ](?=[a-z])
    | [ ]{2,}(?=[^\W\d])
    | [ ]+(?:instead[ ]of|rather[ ]than)[ ](?:an?[ ])?[0-9]+(?:\.[0-9])?(?:/[0-9]+)?[ ]?
      (?:[,.;)](?![0-9])|(?:because|as|since|due|for|owing|given)\b|$)
    | [ ]+is[ ](?:fair|fitting|justified|appropriate|reasonable|deserved|warranted)
      (?=[,.;]|[ ](?:because|as|since|given|considering|due)\b|$)
    | [ ]/[ ](?=(?:total|sum|overall|average|mean)[ ]*[:=])
    | [ ]+(?=(?:image|edit|picture|photo|img)[ ]\#?[0-9])
    | [ ]+(?:as(?![ ](?:a|the)[ ](?:max|min|upper|lower))|and(?![ ]+[0-9])|(?P<word>[a-z]+))\b
    | [ ]*(?=[A-ZÀ-Þ][a-zß-ÿ]{2,}|[A-Z][a-z]\b|A[ ][a-z]{2,}|I[ ][a-z])
    | [ ]+(?=["“‘*_]{1,3}[A-Za-z][a-z])
    | (?:[ ]+|(?<=[分点점]))[\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7af]
    """,
    re.VERBOSE,
)
# Nobody counts these, so a number before them is no count: "6 because …", "7 keeps the fox intact".
_EXPLAINING = frozenset(
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


def _begins_an_explanation(text: str, place: int, end: int) -> bool:
    """Tell whether what follows a number may explain it: ", as the …", "because …", "(a …)"."""
    match = _EXPLAINS.match(text, place, end)
    return match is not None and (not match["word"] or match["word"] in _EXPLAINING)


# What a number of the scale means: "4 (Neutral)".
LIKERT = re.compile(
    r"(?:(?:strongly|somewhat|slightly|mostly)[ ])?(?:agree|disagree)|neutral", re.IGNORECASE
)
_IN_A_BRACKET = re.compile(
    r"[ ]*(?:[(\[](?P<words>[^()\[\]\d]{3,40})[)\]]|\#[ ](?P<comment>[^\d\n]{3,60}))"
)


def _unsettled_bracket(text: str, place: int, end: int) -> bool:
    """Tell whether a few words in brackets say that a number is no verdict: "(blind guess)"."""
    bracket = _IN_A_BRACKET.match(text, place, end)
    if bracket is None:
        return False
    words = bracket["words"] or bracket["comment"]
    return not LIKERT.fullmatch(words) and unsettles(words)


_SAID_IN_WORDS = {
    word: number
    for words in (
        "zero one two three four five six seven eight nine ten",
        "null eins zwei drei vier fünf sechs sieben acht neun zehn",
        "zéro un deux trois quatre cinq six sept huit neuf dix",
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez",
        "zero uno due tre quattro cinque sei sette otto nove dieci",
        "zero um dois três quatro cinco seis sete oito nove dez",
        "nul een twee drie vier vijf zes zeven acht negen tien",
        "zero jeden dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć",
        "ноль один два три четыре пять шесть семь восемь девять десять",
        " ".join(_CHINESE),
    )
    for number, word in enumerate(words.split())
}


def spoken(text: str, *, english: bool) -> set[Fraction]:
    """Return the numbers that a text names in words, unless the only one counts what follows it;
    "one" is hardly ever a number."""
    known = _IN_WORDS if english else _SAID_IN_WORDS
    lower = text.lower()
    found = [
        word
        for word in _SPOKEN.finditer(lower)
        if known.get(word["word"], 0) > 1
        and not _INSTEAD_OF.search(lower, 0, word.start())
        and not _THINGS_COUNTED.match(lower, word.end("word"))
    ]
    if len(found) == 1 and found[0]["ends"] is None:
        return set()
    return {Fraction(known[word["word"]]) for word in found}


# "four of the six doors": neither may be a score.
_THINGS_COUNTED = re.compile(
    r"[ ]of[ ](?:the|them|these|those|its|all)\b|[ ][a-z]{3,}s\b(?<!points)"
)
_INSTEAD_OF = re.compile(r"\b(?:instead[ ]of|rather[ ]than|out[ ]of|not|than)[ ](?:the[ ])?\Z")
_SPOKEN = re.compile(r"(?P<word>[^\W\d_]+)(?P<ends>\s*(?:[.,;:!?)]|\Z))?")
_WORD_BEHIND = re.compile(r"[ ]*[(\[=/–—-][ ]*(?P<word>[^\W\d_]{1,9})[ ]*(?:[)\],;.]|\n|\Z)")
# "3 (a sixth finger, a melted spoon and a seam)"
_THINGS_BEHIND = re.compile(
    r"[ ]*[(:–—][ ]*(?P<things>(?:an?|one|another|eine?|une?|una)[ ][^()\n.;:]{3,200})"
)
_NEXT_THING = re.compile(
    r",?[ ](?:and|und|et|y|e)[ ](?=(?:an?|one|another|eine?|une?|una)[ ])"
    r"|,[ ](?=(?:an?|one|another|eine?|une?|una)[ ])"
)


def _says_otherwise(text: str, number: Number, place: int, end: int) -> bool:
    """Tell whether a word right behind a number is another, "6 (nine)", or just as many things are
    listed there as it says: then it counts them."""
    word = _WORD_BEHIND.match(text, place, end)
    if word is not None and word["word"].lower() in _SAID_IN_WORDS:
        return _SAID_IN_WORDS[word["word"].lower()] != number.value

    things = _THINGS_BEHIND.match(text, place, end) if number.value > 1 else None
    if things is None or number.top is not None:
        return False

    listed = _NEXT_THING.split(things["things"])
    return len(listed) == number.value and not any("," in each for each in listed)


# --- Other numbers beside a score ---

# "sqrt(4*9) = 6"
_IN_A_FORMULA = re.compile(r"(?:sqrt\(|√\(?|[*×])[ ]*\Z|\)[ ]?=[ ]?\Z")
_TO_ABOUT = r"(?:[ ](?:is|of|at|to|be|as|would|will|an?|about|around|roughly|approximately))*"
_RECKONED_UP = re.compile(
    r"\b(?:averag(?:e[ds]?|ing)|(?<!\bI[ ])mean|sum(?:s|ming)?(?:[ ]up)?|add(?:s|ing)?[ ]up"
    rf"|total(?:s|l?ing)?){_TO_ABOUT}[ ]*[:=(]?[ ]*\Z",
    re.IGNORECASE,
)


def is_reckoned_up(text: str, start: int, place: int) -> bool:
    """Tell whether the words right before a number make it a sum or a mean: "which averages to"."""
    return _RECKONED_UP.search(text, max(start, place - 40), place) is not None


_NAMED_OTHERWISE = re.compile(
    rf"""
    (?:\b(?:was|were|previously|formerly|earlier|originally[ ]|up[ ]from|down[ ]from|raised[ ]from
        |(?:lowered|reduced|increased|corrected|changed|revised|adjusted)[ ]from
        |before|instead[ ]of|rather[ ]than|not|than|vorher|statt|anstatt|anstelle[ ]von|all
        |in[ ]plaats[ ]van|zamiast|au[ ]lieu[ ]de|en[ ]lugar[ ]de|en[ ]vez[ ]de|invece[ ]di
        |em[ ]vez[ ]de|вместо
        |(?:would|could|might)[ ]have[ ](?:been|got(?:ten)?|earned|scored|received|merited)
          (?:[ ]an?)?
        |(?:nearly|almost|short[ ]of|tempted[ ]to)(?:[ ]have)?
          [ ](?:gave|give|given|giving|rated?|scored?|awarded?|been)(?:[ ](?:an?|it|this))*)
      |[(\[](?:just[ ]|very[ ])?(?:nearly|almost|close[ ]to|short[ ]of)(?:[ ]an?)?
      |\b(?:confidence|certainty|sure|weight|weighting|target|goal|source|original|input|baseline
        |reference|considered(?:[ ]giving)?(?:[ ]an?)?
        |(?:raters?|annotators?|reviewers?|others)[ ](?:gave|give|said)(?:[ ](?:it|an?))*
        |level|step|factor|criterion|version|figure
        |page|line|row|section|part|round|top|bottom|maximum|max|out[ ]of
        |(?:of|sur|von)(?:[ ](?:the|all|these))?|scale
        |(?:image|edit|task)(?![ ]*:)|rank(?:ed|ing)?|place|position
        |f/|ISO|no\.|number|nr\.|\#)
      |满分|満点
      # "I count 9", "flower boxes (3)", "keeps it from a perfect 10"
      |\bcount(?:s|ed|ing)?
      |\b(?!(?:scores?|ratings?|points|marks|grades|values)\b)[a-z]{{3,}}s[ ](?=\()
      |\b(?:from|short[ ]of|not|than)[ ](?:being[ ])?(?:an?|the)[ ](?:perfect|full|flawless|clean)
      # "see note 2"
      |\b(?:see|cf\.?|vgl\.?|siehe|voir)[ ](?:also[ ])?(?!(?:scores?|ratings?|grades?)\b)[^\W\d_]+
      |\bfootnote
      # "S_qua: 6, S_rael: 5": an entry of another name.
      |(?-i:[,;|][ ]*[A-Z]_[a-z]{{2,8}}(?=[ ]*[:=]))
      |\b(?:source|original|input)(?:[ ](?:image|photo|picture))?(?:[ ]itself)?
        (?:[ ](?:would|gets?|be|has|have|scores?|earns?|receives?|deserves?|an?))+
      # "3 stripes became 2": so many of them there are now.
      |\b(?:[0-9]{{1,3}}|one|two|three|four|five|six)[ ](?!points|marks)[a-z]{{2,}}[ ]
        (?:became|turned[ ]into|are[ ]now|have[ ]become)
      |\bfrom[ ](?:[0-9]{{1,3}}|one|two|three|four|five|six)[ ]
        (?!points|marks|stars)[a-z]{{3,}}s[ ]to
      |\b(?:overall|total|average|(?<!\bI[ ])mean|S_all|S_total|sum|final|combined)
        (?:[ ](?:scores?|ratings?|grade))?{_TO_ABOUT}
    )[ ]*[:=(#'‘“"]*[ ]*\Z
    """,
    re.VERBOSE | re.IGNORECASE,
)


def competitors(
    text: str, start: int, end: int, scale: Scale, value: Fraction, others: Set[int] = frozenset()
) -> Iterator[Number]:
    """Yield the other numbers of an entry that might be meant as its score."""
    for number in numbers_in(text, start, end):
        if number.start in others or number.value == value or number.mark(scale).value is None:
            continue
        if number.sign_of_difference(text) or counts(text, number, end):
            continue
        if _is_half_a_range(text, number, start, end, scale):
            continue

        if _IN_A_FORMULA.search(text, max(start, number.start - 6), number.start):
            continue
        if text[number.end : number.end + 2].lstrip().startswith(("*", "×", "·")):
            continue

        if _NAMED_OTHERWISE.search(text, max(start - 1, number.start - 40), number.start):
            continue
        # What several entries average; one entry may be "8 up close, averaging 6".
        if len(others) > 1 and is_reckoned_up(text, start, number.start):
            continue
        if _in_a_scale(text, number, start, end) or _numbers_the_next(text, number, start, end):
            continue
        if _LETTERING.search(text, max(start, number.start - 60), number.start):
            continue
        if number.value == scale.high and _IS_PERFECT.match(text, number.end, end):
            continue
        if _accounts_for(text, number, start, end, scale, value):
            continue

        yield number


def _is_half_a_range(text: str, number: Number, start: int, end: int, scale: Scale) -> bool:
    """Tell whether a number is one end of a range whose other end cannot be a score: "(9–18)"."""
    after = _OTHER_END.match(text, number.digits_end, end)
    before = _FIRST_END.search(text, max(start, number.start - 8), number.start)
    other = after or before
    return other is not None and bool(scale.fault(_fraction(other["other"])))


_OTHER_END = re.compile(r"[ ]?[-–—][ ]?(?P<other>[0-9]{1,4})(?![0-9.])")
_FIRST_END = re.compile(r"(?<![0-9.])(?P<other>[0-9]{1,4})[ ]?[-–—][ ]?\Z")
_IS_PERFECT = re.compile(
    r"[ ](?:would[ ](?:have[ ])?)?(?:means?|requires?d?|need(?:s|ed)?|taken"
    r"|be[ ](?:perfect|flawless|ideal))\b"
    r"|(?<=\bwhere[ ]10)[ ]is[ ](?:the[ ])?(?:best|highest|top|maximum|perfect)\b"
    r"|(?<=\bwith[ ]10)[ ]being[ ](?:the[ ])?(?:best|highest|top|maximum|perfect)\b"
)
_BRACKET = re.compile(r"[(\[][^()\[\]\n]*[)\]]")
_LEGEND = re.compile(r".(?:scale:?[ ])?(?:[ ]*[0-9]{1,3}[ ]?(?:=|means)[ ]?[^\d=\n]{2,60}){2,6}")
_MEAN_OF = re.compile(
    r".(?:the[ ])?(?:mean|average)[ ](?:of|between)\b|[^\n]*\b(?:averaged|on[ ]average).\Z",
    re.IGNORECASE,
)

_INTERVAL = re.compile(
    r".(?:[0-9]{1,2}[ ]?%[ ])?(?:confidence[ ]|credible[ ]|uncertainty[ ])?(?:interval|CI|bounds)\b"
    r"[^\d\n]{0,12}[0-9.]+[ ]?(?:to|and|-|–|—|,)[ ]?[0-9.]+.\Z",
    re.IGNORECASE,
)
_TAKEN_OFF = re.compile(
    r"(?:扣[除掉了]{0,2}|减[去]?|減点"
    r"|\b(?:took|taken|taking|knocked|docked|deducted|subtracted|lost|loses|minus)(?:[ ]off)?)"
    r"[ ]?\Z",
    re.IGNORECASE,
)


def _accounts_for(
    text: str, number: Number, start: int, end: int, scale: Scale, value: Fraction
) -> bool:
    """Tell whether a bracket around a number says how the score came about: "7 (the mean of 6 and
    8)", "6 (扣4分)", how sure it is: "7 (95% interval 6 to 8)", or what the scale means: "6 (1 =
    not done, 10 = done)"."""
    if _TAKEN_OFF.search(text, start, number.start):
        return value + number.value == scale.high

    opened = max(text.rfind("(", start, number.start), text.rfind("[", start, number.start))
    bracket = _BRACKET.match(text, opened, end) if opened >= 0 else None
    if bracket is None or bracket.end() < number.end:
        return False

    inside = [
        each.value
        for each in numbers_in(text, opened, bracket.end())
        if not counts(text, each, bracket.end())
    ]
    if _LEGEND.fullmatch(bracket[0]):
        return max(inside) == scale.high and not is_upside_down(bracket[0])
    if _INTERVAL.match(bracket[0]):
        return len(inside) == 2 and inside[0] <= value <= inside[1]
    return _MEAN_OF.match(bracket[0]) is not None and sum(inside) == value * len(inside)


# `now says "Route 4"`: what is written in the picture.
_LETTERING = re.compile(
    r"\b(?:says?|reads?|reading|saying|text|letters|lettering|sign|words?|written)[ :]{1,2}"
    r"[\"“][^\"“”\n]*\Z"
)
_NUMBERS = re.compile(r"[.)][ ]+")
# "…; 2: " before the first name of another list.
_NUMBERS_NEXT = re.compile(r"[.):][ ]+")


def _numbers_the_next(text: str, number: Number, start: int, end: int) -> bool:
    """Tell whether a number only counts the entry behind this one: `1. S_acc: 6, 2. S_pre: 7`."""
    if not _NUMBERS_NEXT.fullmatch(text, number.end, end):
        return False
    before = rf"(?<![0-9.]){number.value - 1}[.):][ ]"
    return re.search(before, text[max(0, start - 300) : start]) is not None


_NEXT_LABEL = re.compile(r"[ ]+(?P<number>[0-9]{1,2})[.)][ ]*")


def _precedes_a_label(text: str, place: int, end: int) -> bool:
    """Tell whether only the number of the next entry follows: `1. S_acc – 9 2. S_pre – 6`."""
    label = _NEXT_LABEL.fullmatch(text, place, end)
    if label is None:
        return False
    before = rf"(?<![0-9.]){int(label['number']) - 1}[.)][ ]"
    return re.search(before, text[max(0, place - 120) : place]) is not None


_COUNTED = re.compile(
    r"""
      [ ]of[ ](?:(?:the|all|its|these|those|their)[ ]|all[ ]the[ ])?[0-9]{1,4}[ ][^\W\d_]
    | [ ]?/[ ]?[0-9]{1,4}[ ](?:of|the)\b
    | [ ]of[ ](?:the[ ])?(?!(?:5|7|10|100)\b)[0-9]{1,4}(?=[ ]*[),.;])
    | [ ](?:was|were)[ ](?!given|meant|assigned|awarded|deserved|intended)[^\W\d_]+(?:ed|en)\b
    | (?:[ ]?(?:or|to|and|[-–—])[ ]?[0-9]{1,4})?[ -]?(?:of[ ](?:the|them|these|those|all|its)[ ]?)?
      (?P<word>[^\W\d_][\w'’-]*)
    """,
    re.VERBOSE,
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
# "9 of 10 leaves are sharp", where 10 is the top of the scale; not "9 of 10 because …".
_SHARE_OF = re.compile(r"[ ]+of[ ]+(?:the[ ]+)?[0-9]{1,3}[ ]+(?P<word>[a-z][\w'’-]*)")
_POINTS_COUNTED = re.compile(
    r"[ ]*(?:points?|pts)\b[ ]*(?:were[ ]|was[ ]|are[ ]|is[ ])?"
    r"(?:deducted|off|lost|taken|removed|subtracted|docked|apart|lower|higher|above|below|better"
    r"|worse|less|more|fewer|ahead|behind|short|away|for[ ](?:the|a|an)|bonus|penalty|deduction)"
    r"|[点點分时時][钟鐘]|[点點分점][ ]?(?:満点|满分|滿分|만점|制)",
    re.IGNORECASE,
)


def counts(text: str, number: Number, end: int) -> bool:
    """Tell whether a number counts what follows it: "2 birds", "1 or 2 pixels", "2-pixel"."""
    if number.unit:
        return _POINTS_COUNTED.match(text, number.digits_end, end) is not None
    if number.top is not None:
        share = _SHARE_OF.match(text, number.digits_end, end)
        return share is not None and share["word"].lower() not in _NOT_COUNTED

    match = _COUNTED.match(text, number.end, end)
    if match is None:
        return False

    word = match["word"]
    return word is None or word.lower() not in _NOT_COUNTED


_RANGE_BEFORE = re.compile(r"[0-9]{1,3}[ ]?(?:-|–|—|to|bis|~|/|至)[ ]?\Z")


def _in_a_scale(text: str, number: Number, start: int, end: int) -> bool:
    """Tell whether a number is an end of a scale: "on a scale of 1 to 10", "the 1-10 scale"."""
    before = _RANGE_BEFORE.search(text, max(start, number.start - 8), number.start)
    after = _RANGE_AFTER.match(text, number.digits_end, end)
    if before is None and after is None:
        return False
    around = text[max(start, number.start - 30) : min(end, number.end + 20)]
    return _SCALE_WORD.search(around) is not None


# --- Scales stated in words ---

_STATED_TOP = re.compile(
    r"""
      \b(?:scale|range|rated|ratings?|scores?|scored)\b[^.\n0-9]{0,24}?
        (?<![0-9.])(?P<low>[0-9]{1,3})[ ]?(?:-|–|—|to|bis|~|\.\.|至)[ ]?(?P<high>[0-9]{1,3})
        (?![0-9%.])
    | [(\[][ ]*(?P<from>[01])[ ]?(?:-|–|—|to|bis|~|\.\.|至)[ ]?(?P<to>[0-9]{1,3})[ ]*[)\]]
    | (?<![0-9.])[01][ ]?(?:-|–|—|to)[ ]?(?P<top>[0-9]{1,3})[ ]+scale\b
    | (?<![0-9.])[01][ ]?-{4,40}[ ]?(?P<drawn>[0-9]{1,3})(?![0-9])
    | (?<![0-9.])(?P<points>(?!1[ ])[0-9]{1,3})[- ]point\b
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


def stated_tops(text: str) -> set[Fraction]:
    """Return the highest scores of the scales that a caption, a label or a sentence states."""
    found: set[Fraction] = set()
    for match in _STATED_TOP.finditer(text) if _DIGIT.search(text) else ():
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


def is_upside_down(text: str) -> bool:
    """Tell whether words say that low numbers are good ones."""
    return _UPSIDE_DOWN.search(text) is not None


# --- A value that stands alone ---

# What a number is called, right before it: "Somewhat agree (5)", "very good: 8".
_GRADES = (
    r"strongly|somewhat|slightly|mostly|neither|nor|agree|disagree|neutral|very|good|great"
    r"|excellent|perfect|fair|poor|bad|high|low|medium|moderate|acceptable|middling|mediocre"
    r"|flawless|weak|strong"
)
_GRADED = re.compile(
    rf"(?:(?:{_GRADES})\b[ ]*){{1,4}}(?:[:=]|[–—-](?=[ ]))?[ ]*(?=[(\[]?[0-9])", re.IGNORECASE
)


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
    graded = _GRADED.match(stripped)
    number = number_at(stripped, graded.end() if graded else 0, len(stripped))
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
    value: Fraction | None = None
    """The number as written, a score or not."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """A number that a name may have."""

    label: int
    """Which of the names has it."""
    number: Number
    strong: bool
    """Whether a sign or a word joins the two, and not only a space or a dash."""
    bracketed: bool = False
    backward: bool = False


_Claims = dict[int, _Claim]
"""Claims by where their number begins."""


@dataclass(frozen=True, slots=True)
class _Stretch(Generic[Name]):
    """A stretch of text with the names and the numbers in it that are to be put together."""

    text: str
    start: int
    end: int
    names: Sequence[Name]
    numbers: Sequence[Number]
    """Those that are no part of a name or of a scale."""
    lists: Sequence[tuple[int, int]]
    """The first and the last of names that stand in one list."""
    ends: Set[int] = frozenset()
    """Where something ends that is understood: an image's name, a list's number."""

    def limit(self, index: int) -> int:
        """Return where a name's entry ends at the latest: where the next name begins."""
        return self.names[index + 1].start if index + 1 < len(self.names) else self.end


_MOST = 300
# "S_acc (1-10)": the ends of the scale are nobody's scores.
_SCALE_IN_BRACKETS = re.compile(r"[(\[][ ]?[01][ ]?(?:-|–|—|to)[ ]?[0-9]{1,3}[ ]?[)\]]")
_LISTED_NAMES = re.compile(
    r"[ ]*(?:[)\]][ ]*)?"
    r"(?:\((?:(?:[^()\n\d]{1,20}|[0-9]{1,2}[ ]?[–-][ ]?)[0-9]{1,3}|[0-9]{1,3}[ ]?%)\)[ ]*)?"
    r"(?:[,;|/&+·•、]|,?[ ]and|und|et|y|и|和|与)[ ]*"
    r"(?:(?:the|its)[ ]|(?:[0-9]{1,2}|[IVX]{1,4}|[a-h])[.)][ ]?)?",
    re.IGNORECASE,
)


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
    if not names or len(names) > _MOST:
        return []

    inside = [match.span() for match in _SCALE_IN_BRACKETS.finditer(text, start, end)]
    inside += [(name.start, name.end) for name in names]
    inside += [match.span() for match in _BEFORE_TOTAL.finditer(text, start, end)]
    inside += taken
    every = list(numbers_in(text, start, end))
    numbers = outside(every, sorted(inside))
    if not numbers:
        numbers = list(_said_in_words(text, start, end))

    ends = frozenset(last for _, last in taken)
    line = _Stretch(text, start, end, names, numbers, [*_lists(text, names, _LISTED_NAMES)], ends)
    named = {number.start for number in every} - {number.start for number in numbers}
    forward, backward = _claims(line, taken)
    made = _made(line, _resolved(line, forward, backward), scale_of, named)
    listed = _listed_pairs(line, scale_of)
    if listed:
        in_lists = {pair.name.start for pair in listed}
        made = [pair for pair in made if pair.name.start not in in_lists]
        made += listed
        made.sort(key=lambda pair: pair.name.start)

    return made


_IN_WORDS_FOR = re.compile(
    rf"(?<!\bthe[ ])\b(?:{'|'.join(_IN_WORDS)})\b(?=[ ](?:points?[ ])?(?:for|in|on)[ ])",
    re.IGNORECASE,
)


def _said_in_words(text: str, start: int, end: int) -> Iterator[Number]:
    """Yield the numbers in words that stand before what they are given for: "nine for quality".
    Where nothing but "one" does, it only stands for a noun: "two lists, one for quality and …"."""
    found = list(_IN_WORDS_FOR.finditer(text, start, end))
    counts_only = all(word[0].lower() == "one" for word in found)
    for word in found:
        if counts_only and not _ARTICLE.search(text, start, word.start()):
            continue
        value = Fraction(_IN_WORDS[word[0].lower()])
        yield Number(value, None, word.start(), word.end(), word.end(), in_words=True)


_ARTICLE = re.compile(r"\ba[ ]\Z", re.IGNORECASE)


# "8 (S_acc), 6 (S_pre), 7.3 (S_all)"
_BEFORE_TOTAL = re.compile(
    r"[0-9](?<![\w.].)[0-9]{0,2}(?:\.[0-9]{1,3})?(?:[ ]?/[ ]?[0-9]{1,3})?[ ]?"
    r"[(\[](?:S_(?:all|total|overall)|overall|total)[)\]]",
    re.IGNORECASE,
)


def _lists(
    text: str, places: Sequence[Name] | Sequence[Number], joint: re.Pattern[str]
) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of two or more that stand in one list: "S_acc, S_pre and …"."""
    first = 0
    for index in range(1, len(places) + 1):
        goes_on = index < len(places) and joint.fullmatch(
            text, places[index - 1].end, places[index].start
        )
        if goes_on:
            continue

        if first < index - 1:
            yield first, index - 1
        first = index


def _claims(line: _Stretch[Name], taken: Sequence[tuple[int, int]]) -> tuple[_Claims, _Claims]:
    """Return which numbers may be those of the name before them, and of the name behind them."""
    forward = _forward(line)
    for first, last in taken:
        forward = {place: claim for place, claim in forward.items() if not first <= place < last}

    backward = _backward(line, forward)
    # "| a score of 10 for Y": what a word gives to the next name is not the last one's.
    starts = {name.start for name in line.names}
    given = [number for number in line.numbers if _is_given_for(line.text, number, starts)]
    forward = {
        place: claim
        for place, claim in forward.items()
        if claim.number not in given
        # Where two are given so, a third is given for something that is not known.
        and not (len(given) > 1 and _FOR.match(line.text, claim.number.end))
    }
    forward, backward = _without_joint_claims(line, forward, backward)
    if _ends_with_a_number(line, forward) or (backward and _are_bracketed(line)):
        backward = {}

    if _opens_with_a_number(line, backward):
        forward = {place: claim for place, claim in forward.items() if claim.strong}

    return _without_shifts(line, forward), backward


_FOR = re.compile(
    r"(?:[ ]?(?:points?|pts|marks?))?[)\]!]?[ ]*(?:for|to|für|pour|para|per)[ ]+"
    r"(?:(?:the|its|die|das|den|la|le|el|il)[ ]+)?",
    re.IGNORECASE,
)


def _is_given_for(text: str, number: Number, starts: Container[int]) -> bool:
    """Tell whether a word such as "for" stands between a number and a name that starts there."""
    given = _FOR.match(text, number.end)
    return given is not None and given.end() in starts


# --- A number behind a name ---

# A name that stands in a sum: "0.2 × S_qua = 1.4".
_TERM = re.compile(
    r"(?:×|\*|\+|0(?<![0-9].)\.[0-9]+(?:[ ]*·)?|\.(?<![0-9].)[0-9]+(?:[ ]*·)?)[ ]*[(]?\Z"
)


def _forward(line: _Stretch[Name]) -> _Claims:
    """Return each number that stands right behind a name: `S_acc (8)`, `S_acc: 8`."""
    known = {number.start: number for number in line.numbers}
    claims: _Claims = {}

    for index, name in enumerate(line.names):
        near = max(line.start, name.start - 12)
        if _is_barred(name) or _TERM.search(line.text, near, name.start):
            continue

        claim = _claim_behind(line, index, known)
        if claim is not None:
            claims[claim.number.start] = claim

    return claims


def _is_barred(name: FactorName | ImageName) -> bool:
    return isinstance(name, FactorName) and name.modified


# Between a name and its number: "(S_acc)", "(1-10)", "score of", a colon, a dash, "is".
_JOINT = re.compile(
    rf"""
    [ ]*[)\]\"'”]?(?:['’]s)?
    (?:[ ]*+[(\[](?![ ]*(?:score[ ]*[:=]?[ ]*)?[-+]?[0-9.,]+(?:[ ]*(?:/
      |out[ ]of)[ ]*[0-9]+)?[ ]*[)\]])
       [^()\[\]\n]{{0,100}}[)\]])*
    (?:[ ]*+\b(?!\d)(?:sub-?)?
       (?:scores?|ratings?|(?:grades?|marks?|values?)(?=[ ]*(?:[:=]|is\b|of\b)))\b)?
    (?:[ ]*+\b(?:of|for|in)[ ](?:(?:the|this|that|its)[ ])?(?:(?:edited|generated|whole)[ ])?
       (?:image|edit|picture|photo|result|version|scene)\b)?
    (?:,[ ](?:the|its|my)[ ](?:score|rating|grade|mark)(?=[ ]is\b)
      |(?<![)\]]),[ ](?:score|rating|grade|mark)(?=[ ]*[:=]))?
    (?:[ ]on[ ]a[ ]scale[ ](?:from|of)[ ][0-9]{{1,3}}[ ]?(?:to|-|–)[ ]?[0-9]{{1,3}}(?=[ ]is\b))?
    (?:[ ]*:?[ ]*[01][ ]?-{{4,40}}[ ]?[0-9]{{1,3}}[ ]+(?=[(\[]?[0-9.]+[)\]]?[ ]*$))?
    [ ]*\"?[ ]*(?P<sign>:{{1,2}}=?|={{1,2}}|->|→|=>|[-–—](?=[ ])|\||[–—]|,(?=[ ][0-9]))?
    (?:[ ]*+[(\[][ ]?[01][ ]?(?:-|–|—|to)[ ]?[0-9]{{1,3}}[ ]?[)\]](?=[ ]*[0-9]))?
    (?:,?[ ]*+\bI(?:['’]d)?[ ](?:would[ ])?
        (?:give|gave|rate|rated|score|assign|assigned|say|go[ ]with)\b
        (?:[ ](?:it|this(?:[ ](?:one|edit|image|picture|result|aspect|factor))?)\b)?
      |,?[ ]*+\b(?:let['’]s|I['’]ll|I[ ]will)[ ]
        (?:call[ ]it|go[ ]with|say|give[ ]it|settle[ ](?:on|for))\b)?
    (?P<words>(?:[ ]*+\b(?!\d)(?:is|are|can[ ]be|gets?|receives?|earns?|scores?|scored|deserves?
      |merits?|rated|at|as|of
      |an?(?![ ]*[:=])|the|has|equals|assigned|given|awarded|with|my|final|solid|strong|clear
      |firm|easy
      |clean|decent|mere|also|leads
      |score|rating|sub-?score
      |stands|comes(?:[ ](?:in|to))?|therefore|thus|hence|to(?=[ ][0-9])
      |worth|(?<=[ts][ ])(?:only|just|merely)|achieves?|rates?
      |(?:only|just|merely)(?=[ ](?:gets|receives|earns|deserves|merits|scores)\b)
      |(?:è[ ])?pari[ ]a|ist|es|est|note|Note|Punktzahl)\b)*)
    (?:[ ]?(?:上|方面)?(?:的)?(?:得分|评分|分数|打分)?(?:为|是|得|打|评|は|が|는|은|이|가)[ ]?)?
    (?:[ ]*+\b(?!\d)(?:{_GRADES}|only|(?<![|][ ])average(?![ ]*[:=]))\b
      (?:(?:,[ ](?:at[ ]|with[ ])?|[ ]at[ ])(?:an?[ ])?
        (?=[0-9]{{1,2}}(?:\.[0-9])?(?:/[0-9]+)?
          (?:[,.;](?![0-9])|[ ](?:because|since|as)\b|$)))?){{0,4}}
    [ ]*[:=]?[ ]*
    """,
    re.VERBOSE | re.IGNORECASE,
)
# "Realism suffers badly and gets a 3.", "alignment the strongest with a 7": the clause ends there.
_OTHER_SUBJECT = (
    r"(?:images?|edits?|pictures?|photos?|results?|methods?|ones?|which|that|it|this|who|another"
    r"|not|no|never|nor|hardly|rarely|would|could|might|may|should|if|when|than|from|source"
    r"|original|usually|often|typically|normally|always|first|initially|starts?|begins?)\b"
)
_IN_A_CLAUSE = re.compile(
    rf"""
    (?:[ ](?:of|in)[ ](?:the|this)[ ](?:image|edit|picture|photo|scene|result))?
    (?P<words>(?:[ ](?!{_OTHER_SUBJECT})[^\W\d_]+){{1,7}}?)
    (?:[ ](?:gets|receives|earns|deserves|merits
        |(?:point|side|strongest|weakest|best|worst|highest|lowest|strength|weakness)[ ]with)
        [ ](?:only[ ]|just[ ])?an?[ ]
      # "The artifacts are minimal, with a low rating of only 1."
      |,?[ ]with[ ]an?[ ](?:(?:low|high|perfect|minimal|strong|good|solid|fair|poor)[ ])?
        (?:score|rating)[ ]of[ ](?:only[ ]|just[ ])?)
    (?=[0-9]{{1,3}}(?:\.[0-9]+)?(?:/[0-9]+)?[ ]?(?:[,.;)](?![0-9])|$))
    """,
    re.VERBOSE | re.IGNORECASE,
)
# "In terms of artifacts, it receives a score of 9"
_AS_FOR = re.compile(
    r"(?:^|[.;!?,(]|\b(?:and|but|while))[ ]*"
    r"(?:in[ ]terms[ ]of|as[ ]for|for|on|when[ ]it[ ]comes[ ]to)[ ]"
    r"(?:the[ ])?\Z",
    re.IGNORECASE | re.MULTILINE,
)
_IT_GETS = re.compile(
    r",[ ](?P<words>(?:it|(?:the|this)[ ](?:image|edit|picture|photo|result))[ ]"
    r"(?:gets|receives|earns|deserves|merits|scores|is[ ](?:given|rated))"
    r"(?:[ ](?:only|just|an?|the|high|low|solid|strong|good|score|rating|of|at))*)[ ]"
    r"(?=[0-9]{1,3}(?:\.[0-9]+)?(?:/[0-9]+)?[ ]?(?:[,.;)](?![0-9])|$))",
    re.IGNORECASE,
)
_STRONG = re.compile(r"[:=(\[]|→|->|=>|\w")
# In "1 Realismus (S_real) | 6 …" the number behind the bar begins another entry.
_CLOSED_BEFORE_BAR = re.compile(r"[ ]*[)\]][ ]*\|")
# "Image 1: 12 - 4 = 8": what it shows, or how an answer reckons.
_EQUATION = re.compile(r"[0-9.]+[ ]?[-+*/×÷–−][ ]?[0-9.]+[ ]?=")
# A dash in a column of its own is a missing score: "S_pre   —    1".
_MISSING_CELL = re.compile(r"[ ]{2,}[-–—]+[ ]{2,}")


# Two words or more before a name, in the cell in which it stands.
_AMID_A_CELL = re.compile(r"\|[^|\d]*[^\W\d_]{2,}[ ][^|\d]*[^\W\d_]{2,}[ ]+\Z")


def _claim_behind(line: _Stretch[Name], index: int, known: dict[int, Number]) -> _Claim | None:
    """Return the number that a name leads up to, if it may be the name's.

    `known` are the numbers of the stretch, by where they begin.
    """
    text, name, limit = line.text, line.names[index], line.limit(index)
    number = _number_in_brackets(text, name, limit)
    if number is not None:
        numbered = limit < line.end and _is_numbered_list(text, name, number, limit)
        return None if numbered else _Claim(index, number, strong=False, bracketed=True)

    joint = _JOINT.match(text, name.end, limit)
    if joint is None:
        return None

    if joint["sign"] == "|" and _AMID_A_CELL.search(text, line.start, name.start):
        # "… | this also hurts accuracy | 6": a remark, and the number of something else.
        return None

    number = known.get(joint.end()) or number_at(text, joint.end(), limit)
    if number is None or not _may_join(line, index, joint, number):
        return _claim_in_a_clause(line, index, known)
    if number.start == name.end:
        return None
    if joint["sign"] == "|" and _shares_a_cell(line, index, number):
        return None
    told = not joint[0].isspace()
    if told and (_MISSING_CELL.search(joint[0]) or _CLOSED_BEFORE_BAR.match(joint[0])):
        return None

    if isinstance(name, ImageName) and _EQUATION.match(text, number.start, limit):
        return None

    strong = told and _STRONG.search((joint["sign"] or "") + (joint["words"] or "")) is not None
    if _is_counted_beside_a_score(line, name, number, limit):
        return None
    if _numbers_next_name(line, number, limit, strong=strong):
        return None
    return _Claim(index, number, strong)


def _shares_a_cell(line: _Stretch[Name], index: int, number: Number) -> bool:
    """Tell whether only signs part a number from the next name, and no bar: "realism | 8 •
    quality"."""
    following = line.limit(index)
    if following == line.end:
        return False
    return _SIGNS_OF_A_CELL.fullmatch(line.text, number.end, following) is not None


_SIGNS_OF_A_CELL = re.compile(r"[ ]*[•·:=–—→-]+[ ]*")
# "Quality comes to 7, and realism to 5"
_COMES_TO = re.compile(r"\bcomes[ ]to[ ][0-9]")
_SEMICOLON = re.compile(r"[ ]*;")
_BEHIND_SEMICOLON = re.compile(r";[ ]*(?:and[ ])?(?:the[ ])?\Z")


def _may_join(line: _Stretch[Name], index: int, joint: re.Match[str], number: Number) -> bool:
    """Tell whether a joint is one here: a comma is where semicolons part the entries, "accuracy, 6;
    quality, 9", and "to" behind another that "comes to" its number."""
    place = line.names[index].start
    words = joint["words"].strip()
    if words == "of" and joint["sign"]:
        # "S_acc: of 10" states a scale.
        return False
    if words == "to":
        return _COMES_TO.search(line.text, line.start, place) is not None
    if joint["sign"] != "," or _SEMICOLON.match(line.text, number.end, line.end):
        return True
    floor = line.names[index - 1].end if index else line.start
    return _BEHIND_SEMICOLON.search(line.text, floor, place) is not None


def _claim_in_a_clause(line: _Stretch[Name], index: int, known: dict[int, Number]) -> _Claim | None:
    """Return the number that ends a clause whose subject or topic a name is."""
    name = line.names[index]
    clause = _IN_A_CLAUSE.match(line.text, name.end, line.limit(index))
    if clause is None and _AS_FOR.search(line.text, max(line.start, name.start - 24), name.start):
        clause = _IT_GETS.match(line.text, name.end, line.limit(index))
    # What is minimal is what the name is of, not the score.
    if clause is None or is_doubtful(clause["words"].replace(" minimal", "")):
        return None

    number = known.get(clause.end())
    return None if number is None else _Claim(index, number, strong=True)


_IN_BRACKETS = re.compile(r"[ ]*[(\[][ ]*(?:(?:score|rating)[ ]*[:=]?[ ]*)?", re.IGNORECASE)
_CLOSED = re.compile(r"[ ]*[)\]]")


def _number_in_brackets(text: str, name: FactorName | ImageName, limit: int) -> Number | None:
    """Return the number that stands alone in brackets behind a name: `S_acc (score: 8)`."""
    bracket = _IN_BRACKETS.match(text, name.end, limit)
    number = number_at(text, bracket.end(), limit) if bracket else None
    if number is None or _CLOSED.match(text, number.end, limit) is None:
        return None
    return number


def _is_numbered_list(text: str, name: FactorName | ImageName, number: Number, limit: int) -> bool:
    """Tell whether a number in brackets may as well be the next name's.

    "Accuracy (2) Quality (3)" numbers what comes next; "acc(2) qua(3)" does not.
    """
    alone = text[number.end : limit].strip() in {")", "]"}
    return alone and number.top is None and text.startswith(" ", name.end)


# "4 (", or "[4] ", "4/10 " and "4/10 – " where a line begins.
_AFTER_ITS_NUMBER = re.compile(
    r"(?:^|[ ])[0-9]{1,3}(?:\.[0-9])?(?:/[0-9]{1,3})?[ ]?[(\[]\Z"
    r"|\A\W{0,3}[(\[][0-9]{1,3}(?:\.[0-9])?(?:/[0-9]{1,3})?[)\]][ ]?\Z"
    r"|\A\W{0,3}[0-9]{1,3}(?:\.[0-9])?/[0-9]{1,3}[ ](?:[–—-][ ])?\Z"
)
SCORE_LABEL = (
    r"score|rating|grade|mark|得分|评分|分数|打分|スコア|点数|得点|점수|Punktzahl|Bewertung|Note"
    r"|puntuación|puntaje|nota|punteggio|voto|pontuação|оценка|балл"
)
"""What a score is called before a colon."""
_SCORE_AT_THE_END = re.compile(
    rf"\b(?:{SCORE_LABEL})[ ]*[:=][ ]*[0-9]{{1,3}}(?:\.[0-9]+)?(?:/[0-9]{{1,3}})?\W*\Z",
    re.IGNORECASE,
)


def _is_counted_beside_a_score(
    line: _Stretch[Name], name: Name, number: Number, limit: int
) -> bool:
    """Tell whether a number counts something where the name has another one for its score.

    "4 (S_qua): 3 visible seams", "S_qua: 3 seams. Score: 4".
    """
    if not counts(line.text, number, limit):
        return False
    return (
        _AFTER_ITS_NUMBER.search(line.text[line.start : name.start]) is not None
        or _SCORE_AT_THE_END.search(line.text, number.end, limit) is not None
    )


_NUMBERED_NAME = re.compile(r"(?:^|[^0-9])[0-9]{1,2}[.)][ ]*\Z", re.MULTILINE)


def _numbers_next_name(line: _Stretch[Name], number: Number, limit: int, *, strong: bool) -> bool:
    """Tell whether a number only counts the name behind it.

    "4. Realism ::  2. Preservation :: 5": there the first score is missing.
    """
    if not _NUMBERS.fullmatch(line.text, number.end, limit):
        return False
    if not strong:
        return True

    first = line.names[0].start
    numbered = _NUMBERED_NAME.search(line.text, max(0, first - 8), first) is not None
    return numbered and number.value <= len(line.names)


# --- A number before a name ---

# Between a number and the name of what it is for.
_BACKWARD = re.compile(
    r"""
    [\"'”)\]]{0,2}[ ]*(?:[(\[](?=(?:for|on|in|für|pour)[ ]))?(?P<sign>
      (?:for|on|in(?:[ ]terms[ ]of)?|(?:goes[ ]|go[ ])?to|für|en|pour|is(?=[ ]the\b))\b
      (?:[ ]+(?:the|its|an?|overall|image|die|den|das|la|le))*|[:=(\[]|[-–—]|→|←)?
    [ ]*[\"'“]?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LISTED_NUMBERS = re.compile(r"[)\]]?[ ]*(?:[,;/&|]|,?[ ]and|,?[ ]und|,?[ ]y|,?[ ]et)[ ]*[(\[]?")


def _backward(line: _Stretch[Name], forward: _Claims) -> _Claims:
    """Return each number that stands right before a name: `8 (S_acc)`, "8 for accuracy"."""
    claims: _Claims = {}

    for index in range(len(line.names)):
        found = _number_before(line, index, forward)
        if found is not None and not found.is_anothers():
            number = found.number
            if not _shares_strange_words(line, index, number, claims):
                claims[number.start] = _Claim(index, number, found.is_joined(), backward=True)

    # A name before the first number: then any number parted by spaces may belong to the one before.
    opened = any(claim.label == 0 for claim in claims.values())
    if _count_names(claims):
        return {}

    return {place: claim for place, claim in claims.items() if opened or claim.strong}


def _count_names(claims: _Claims) -> bool:
    """Tell whether the numbers before names only count them: "1 = accuracy, 2 = quality, 3 = …"."""
    counted = [claim.label for claim in claims.values() if claim.number.value == claim.label + 1]
    return len(counted) == len(claims) > 1 and max(counted) > 1


_AND = re.compile(r"[ ]*(?:,|,?[ ]and|&)[ ]+(?:an?[ ])?")


def _shares_strange_words(
    line: _Stretch[Name], index: int, number: Number, claims: _Claims
) -> bool:
    """Tell whether a number is only added to one that strange words lead up to, and goes with it:
    "scarcely 8 for accuracy and 1 for quality"."""
    if not index or any(claim.label == index - 1 for claim in claims.values()):
        return False

    before = line.names[index - 1]
    if _AND.fullmatch(line.text, before.end, number.start) is None:
        return False

    floor = line.names[index - 2].end if index > 1 else line.start
    held = [each for each in line.numbers if floor <= each.start and each.end <= before.start]
    if not held or _BACKWARD.fullmatch(line.text, held[-1].end, before.start) is None:
        return False
    return _WORD_BACK.search(line.text, floor, held[-1].start) is not None


_START: Callable[[Number], int] = attrgetter("start")
_END: Callable[[Number], int] = attrgetter("end")


def _number_before(line: _Stretch[Name], index: int, forward: _Claims) -> _NumberBefore | None:
    """Return the number that leads up to a name, if there is one that is not hedged."""
    name = line.names[index]
    if not line.numbers or line.numbers[0].end > name.start:
        return None

    floor = line.names[index - 1].end if index else line.start
    count = bisect_right(line.numbers, name.start, key=_END)
    last_two = line.numbers[max(0, count - 2) : count]
    before = [number for number in last_two if floor <= number.start]
    if not before or _is_barred(name):
        return None

    number = before[-1]
    if line.text[number.end] in ",;":
        # A list goes on with the name.
        return None

    joint = _BACKWARD.fullmatch(line.text, number.end, name.start)
    if joint is None or not _is_led_up_to(line, floor, number):
        return None

    # In "S_pre 6, 10 for S_qua" the first is spoken for.
    in_a_list = any(first <= index <= last for first, last in line.lists)
    spoken_for = not in_a_list and _is_spoken_for(before[0], index, forward, joint["sign"] or "")
    listed = _LISTED_NUMBERS.fullmatch(line.text, before[0].end, number.start) is not None
    if len(before) > 1 and listed and not spoken_for:
        # "8, 7 and 9 for S_acc, S_pre and S_qua": none of them is this name's alone.
        return None

    following = line.names[index + 1] if index + 1 < len(line.names) else None
    sign = joint["sign"] or ""
    return _NumberBefore(line.text, floor, number, name, following, joint[0], sign, bool(forward))


# Words that lead up to a number: whoever gives or gets it, and how it is called …
_GIVING = frozenset(
    """assign assigned assigning assigns award awarded awarding awards deserved deserves deserving
    earn earned earning earns gave get gets getting give given gives giving got grant granted grants
    has have having merit merited merits net nets rate rated rates rating receive received receives
    receiving score scored scores scoring take takes with
    bekommt erhält erhalten gebe vergebe verdient mit obtient reçoit donne mérite avec recibe
    obtiene doy merece con ottiene riceve merita recebe obtém merece com krijgt verdient met
    получает dostaje får alır""".split()
)
# … and what may stand between them and it: "gives it a strong 9".
_BEFORE_NUMBER = frozenset(
    """a an the this it its them and but then so plus only just merely also even still another
    my solid strong clear firm easy clean decent mere weak fair good poor bad high low full perfect
    flawless modest middling mediocre generous rare excellent great lowly at as is are be would
    ein eine einen eines und nur noch un une et seulement una uno y solo e um uma een en maar
    score scores rating grade mark note nota punteggio puntuación pontuação bewertung оценка
    и oraz och og""".split()
)
_NOUNS_OF = frozenset(
    "score rating grade mark value note nota punteggio puntuación pontuação bewertung".split()
)
# What gets it, if a word that gives it stands before: "I rate the edited photo 7 for".
_GETTING = frozenset("image picture photo edit edited result one bild foto imagen".split())
_OF = frozenset(("of", "de", "di", "von"))
# "Thus the scores would be 8 for …"
_CONCLUDED = re.compile(r"\b(?:scores?|ratings?)[ ](?:would|will)[ ]be[ ]{1,3}\Z", re.IGNORECASE)
_WORD_BACK = re.compile(r"(?P<word>[^\W\d_]+)[ ]{1,3}\Z")
_BOUND = re.compile(
    r"(?:[.,;:!?|•·(\[\"'“‘>–—&=→。，；：、…*#)\]\n给得打评为是為]|(?:^|[ ])-|[)\]][ ]?\+)[ ]*\Z"
)
# A full stop that only shortens a word: "p. 7", "cf. 7".
_SHORTENED = re.compile(r"(?:^|[^\w])[^\W\d_]{1,4}\.[ ]*\Z")
_OPENS = re.compile(r"[(\[\"'“‘<{][ ]*\Z")
# What a number may touch, and a separator between two entries: "S_acc / 6 S_pre".
_TOUCHED = frozenset(" \t\n\u3000([{<\"'“‘|:;=>→•·*#：；，、。给得打评为是為")
_PARTS_ENTRIES = re.compile(r"[ ]+[/+][ ]+")
_RECKONED = re.compile(r"[)\]]?[ ]*(?:[-–—−+*×·÷/~:^到至]|\.{2,3}|…|to\b|bis\b)*[ ]*[(\[]?")


def _is_led_up_to(line: _Stretch[Name], floor: int, number: Number) -> bool:
    """Tell whether a number stands where an entry begins, or behind words that give it.

    Whatever else stands right before it makes it a page, a range, a scale, a sum or a share:
    "p. 7 for accuracy", "6..8 – S_acc", "/10 – S_acc", "half of 10 for realism".
    """
    text = line.text
    if number.start and text[number.start - 1] not in _TOUCHED:
        return False

    before = bisect_right(line.numbers, number.start - 1, key=_START) - 1
    former = line.numbers[before] if before >= 0 else None
    near = former is not None and former.end >= floor
    if former and near and _RECKONED.fullmatch(text, former.end, number.start):
        return False
    if floor > line.start and _PARTS_ENTRIES.fullmatch(text, floor, number.start):
        return True

    place = number.start
    opened = _OPENS.search(text, max(floor, place - 4), place)
    if opened is not None:
        place = opened.start()

    verb = False
    """Whether a word that gives it must come."""
    while place > floor:
        if place in line.ends or _CONCLUDED.search(text, max(floor, place - 24), place):
            return True

        word = _WORD_BACK.search(text, max(floor, place - 24), place)
        if word is None:
            return not verb and _is_bound(text, floor, place)

        written = word["word"].lower()
        if written in _GIVING:
            return True
        if written in _OF:
            noun = _WORD_BACK.search(text, max(floor, word.start() - 24), word.start())
            return noun is not None and noun["word"].lower() in _NOUNS_OF
        verb = verb or written in _GETTING
        if written not in _BEFORE_NUMBER | _GETTING:
            return opened is not None and _SAID_IN_WORDS.get(written) == number.value

        place = word.start()

    return not verb


def _is_bound(text: str, floor: int, place: int) -> bool:
    """Tell whether an entry or a clause may begin at a place."""
    lead = text[max(floor, place - 40) : place]
    if not lead.strip():
        return True
    return _BOUND.search(lead) is not None and _SHORTENED.search(lead) is None


def _is_spoken_for(number: Number, index: int, forward: _Claims, sign: str) -> bool:
    """Tell whether a number is that of the name before this one, which a word joins to its own."""
    claim = forward.get(number.start)
    return claim is not None and claim.label == index - 1 and sign[:1].isalpha()


_OPENED = re.compile(r"[(\[][ ]?\Z")
_CLOSES_OR_LISTS = re.compile(r"[ ]*(?:[)\],/(]|$)")
_SIGNED = re.compile(r"[ )\]]*(?:[:=→…]|->|\.\.|\|(?![ ]*[0-9]))")
_EXPLAINED_BEHIND = re.compile(
    r"[ )\]]*:[ ]+(?!n/?a\b|no\b|not\b|none\b|nothing\b|score|rating)"
    r"(?:(?:[0-9]{1,2}[ ])?[^\W\d_]+,?[ ][^\W\d_]|(?P<word>[^\W\d_]+)[.!]?[ ]*(?:\n|\Z))",
    re.IGNORECASE,
)
_WORD_BEFORE = re.compile(r"(?P<word>[A-Za-z]+)[ ]{1,2}\Z")
_GIVES = frozenset(
    """a an and assign assigned award awarded earns gave get gets give given gives got of plus rate
    rated rating receives score scored scores""".split()
)


# Behind a name of which something is told.
_TOLD_OF = re.compile(r"[ ](?!and\b|or\b|with\b)[a-z]{2,}[ ][a-z]")


@dataclass(frozen=True, slots=True)
class _NumberBefore:
    """A number right before a name, and what tells whether it is the name's."""

    text: str
    floor: int
    """Where the name before it ends."""
    number: Number
    name: FactorName | ImageName
    following: FactorName | ImageName | None
    joint: str
    """What stands between number and name …"""
    sign: str
    """… and the sign or the word in it that joins them."""
    names_first: bool
    """Whether any name has a number behind it."""

    def is_joined(self) -> bool:
        """Tell whether a sign or a word joins the two: `8 (S_acc)`, "8 for accuracy"."""
        # An arrow may as well lead on to the next entry: "S_acc 4 → S_pre 9".
        return self.sign != "→" and _STRONG.search(self.sign) is not None

    def is_anothers(self) -> bool:
        """Tell whether it is not this name's, or may as well be something else."""
        return (
            self._heads_a_list()
            or self._ends_a_remark()
            or self._numbers_the_name()
            or self._is_explained()
            or self._has_its_number_behind()
            or self._is_in_another_column()
            or self._counts_the_name()
            or self._begins_a_reason()
        )

    def _begins_a_reason(self) -> bool:
        """A reason behind a number that begins with a name: "2: accuracy suffers from the halo"."""
        return (
            self.sign in {":", "-", "–", "—"}
            and _TOLD_OF.match(self.text, self.name.end) is not None
        )

    def _opens_a_bracket(self) -> bool:
        return "(" in self.joint or "[" in self.joint

    def _is_bracketed(self) -> bool:
        start, end = self.number.start, self.number.end
        return self.text[start - 1 : start] in {"(", "["} and self.text[end : end + 1] in {")", "]"}

    def _heads_a_list(self) -> bool:
        """A list of numbers before a list of names: "8, 7, 9 (S_acc, S_pre, S_qua)"."""
        if self.following is None or not self._opens_a_bracket():
            return False
        return _LISTED_NAMES.fullmatch(self.text, self.name.end, self.following.start) is not None

    def _ends_a_remark(self) -> bool:
        """A number amid a remark: "two (the sign reads “Exit 6”) for accuracy"."""
        start = self.number.start
        closes = self.joint.lstrip("\"'”").startswith((")", "]"))
        return closes and _OPENED.search(self.text, max(self.floor, start - 3), start) is None

    def _numbers_the_name(self) -> bool:
        """It only counts: "Question 1: S_acc", "[1] S_acc: 7"."""
        if self.sign == ":" and (self.names_first or self._word_before()):
            return True
        return self.names_first and self._is_bracketed() and not self.sign[:1].isalpha()

    def _is_explained(self) -> bool:
        """The name begins an explanation: "4/10 (realism suffers …)"."""
        # The name of an image may take in the bracket that closes behind it.
        closed = self.text[self.name.end - 1] in ")]"
        return self._opens_a_bracket() and not (
            closed or _CLOSES_OR_LISTS.match(self.text, self.name.end)
        )

    def _has_its_number_behind(self) -> bool:
        """A name before a colon gets its number there, unless none of them does: `8 (S_acc): …`."""
        if not _SIGNED.match(self.text, self.name.end):
            return False
        # "It deserves an 8 in accuracy: the sail is red. Quality gets a 7."
        given = self.sign[:1].isalpha() and self._word_before() in _GIVES
        if self.names_first and not given:
            return True

        # "9/10 — S_acc: The sky is dark.", "6 for S_acc: …": what follows the colon explains it.
        settled = self.number.top is not None or self.sign[:1].isalpha()
        behind = _EXPLAINED_BEHIND.match(self.text, self.name.end) if settled else None
        explained = behind is not None and (not behind["word"] or is_a_quality(behind["word"]))
        return not (explained or self._is_bracketed() or self._opens_a_bracket())

    def _is_in_another_column(self) -> bool:
        """A column of its own, of images or of anything: `2   S_acc`."""
        return not self.sign and self.text.startswith("  ", self.number.end)

    def _counts_the_name(self) -> bool:
        """A number before a name in words: "there are 2 artifacts", but not "I give 2 quality"."""
        if self.sign or not isinstance(self.name, FactorName) or not self.name.in_words:
            return False
        word = self._word_before()
        return word != "" and word not in _GIVES

    def _word_before(self) -> str:
        start = self.number.start
        found = _WORD_BEFORE.search(self.text, max(self.floor, start - 24), start)
        return found["word"].lower() if found else ""


# --- Claims in doubt ---


def _without_joint_claims(
    line: _Stretch[Name], forward: _Claims, backward: _Claims
) -> tuple[_Claims, _Claims]:
    """Return the claims without those of a list of names: "quality and realism with five, and two"
    and "– and 8 for quality and realism" give either nobody knows which."""
    if not line.lists:
        return forward, backward

    claimed = {claim.label for claim in [*forward.values(), *backward.values()]}
    factors = [ends for ends in line.lists if isinstance(line.names[ends[1]], FactorName)]
    lasts = {last for first, last in factors if claimed.isdisjoint(range(first, last))}
    firsts = {first for first, last in factors if claimed.isdisjoint(range(first + 1, last + 1))}
    return (
        {place: claim for place, claim in forward.items() if claim.label not in lasts},
        {place: claim for place, claim in backward.items() if claim.label not in firsts},
    )


_LABELS = re.compile(r"[)\]]?:[ ]+")


def _opens_with_a_number(line: _Stretch[Name], backward: _Claims) -> bool:
    """Tell whether a number stands before all names and is nobody's: then any may be shifted, but
    not by a label such as `1:`."""
    first = line.names[0].start
    ahead = [
        number
        for number in line.numbers
        if number.start < first and not _LABELS.fullmatch(line.text, number.end, first)
    ]
    return any(
        number.start not in backward and not counts(line.text, number, first) for number in ahead
    )


_NEAR = re.compile(r"\W{0,12}")


def _ends_with_a_number(line: _Stretch[Name], forward: _Claims) -> bool:
    """Tell whether a number right behind the last name is nobody's: then any may be shifted."""
    last = line.names[-1].end
    free = (each for each in line.numbers if each.start >= last and each.start not in forward)
    number = next(free, None)
    if number is None or not _NEAR.fullmatch(line.text, last, number.start):
        return False

    return not counts(line.text, number, line.end)


def _without_shifts(line: _Stretch[Name], forward: _Claims) -> _Claims:
    """Return the claims without those that may be shifted: `S_acc 9 - S_pre 5 - S_qua`.

    Where only spaces or dashes part the entries and the last name has no number, the numbers may
    as well stand before their names; and what stands right before a name with a number of its own
    may count it: `S_acc | 2 S_pre: 7`.
    """
    signed = {claim.label for claim in forward.values() if claim.strong}
    forward = {
        place: claim
        for place, claim in forward.items()
        if claim.strong or not (claim.label + 1 in signed and _touches_the_next(line, claim))
    }
    last = len(line.names) - 1
    if any(claim.label == last for claim in forward.values()):
        return forward

    return {
        place: claim
        for place, claim in forward.items()
        if (claim.strong or _is_parted(line, claim)) and not _stands_between_like_signs(line, claim)
    }


def _stands_between_like_signs(line: _Stretch[Name], claim: _Claim) -> bool:
    """Tell whether one sign parts a number from both names beside it, so that it may be either's:
    "N/A | accuracy | 8 | realism"."""
    before = line.text[line.names[claim.label].end : claim.number.start].strip()
    behind = line.text[claim.number.end : line.names[claim.label + 1].start].strip()
    if behind in _CLOSING_SIGNS and len(before) > 1 and before[-1] in "([<{":
        # "accuracy | <2> realism"
        return True
    return len(before) == 1 and before == behind and not before.isalnum()


_CLOSING_SIGNS = frozenset((")", "]", ">", "}"))


def _touches_the_next(line: _Stretch[Name], claim: _Claim) -> bool:
    """Tell whether only spaces part a number from the name behind it."""
    place = line.names[claim.label + 1].start
    return place > claim.number.end and not line.text[claim.number.end : place].strip()


_PARTED = re.compile(r"[ ]*[)\]]?[ ]*(?:[,;|/·•\n]|and\b)")
_EXPLAINED = re.compile(r"[ ]*[)\]][ ]*:")
# "5/10. - Quality": the number may be of what follows.
_STOP_AND_DASH = re.compile(r"\.[ ]*(?:[–—:→]|-[ ])[ ]*")
_BEGINS_A_SENTENCE = re.compile(r"[ ](?!and\b|or\b)[a-z]{3,}[ ][a-z]")


def _is_parted(line: _Stretch[Name], claim: _Claim) -> bool:
    """Tell whether more than a space or a dash parts a number from the name behind it."""
    text, place = line.text, claim.number.end
    following = line.names[claim.label + 1]
    if _PARTED.match(text, place, following.start):
        return True
    if _STOP_AND_DASH.fullmatch(text, place, following.start):
        return False
    if not _BACKWARD.fullmatch(text, place, following.start):
        return True
    if claim.bracketed and _EXPLAINED.match(text, place, following.start):
        return True

    # "S_qua – 9 points Preservation suffers …": the last name begins a sentence.
    is_last = claim.label + 2 == len(line.names)
    return is_last and _BEGINS_A_SENTENCE.match(text, following.end) is not None


# --- Who gets which number ---


def _resolved(
    line: _Stretch[Name], forward: _Claims, backward: _Claims
) -> dict[int, _Claim | None]:
    """Return by name what it gets; None where that is unclear."""
    chosen: dict[int, _Claim | None] = {}

    for place in sorted({*forward, *backward}):
        rivals = [claims[place] for claims in (forward, backward) if place in claims]
        claim = rivals[0] if len(rivals) == 1 else _preferred(line, *rivals)
        if claim is None:
            chosen |= dict.fromkeys((each.label for each in rivals), None)
        else:
            chosen[claim.label] = None if claim.label in chosen else claim

    return chosen


def _preferred(line: _Stretch[Name], ahead: _Claim, back: _Claim) -> _Claim | None:
    """Return which of the names around a number gets it, or None where that cannot be told.

    A sign decides, `S_acc: 8 S_pre`; else how the stretch begins and ends: `S_acc 8 S_pre 7` goes
    from a name to a number, so that each number follows its name.
    """
    if ahead.strong != back.strong:
        return ahead if ahead.strong else back

    begins_with_a_name = line.names[0].start < line.numbers[0].start
    ends_with_a_name = line.names[-1].start > line.numbers[-1].start
    if begins_with_a_name == ends_with_a_name:
        return None
    return ahead if begins_with_a_name else back


def _are_bracketed(line: _Stretch[Name]) -> bool:
    """Tell whether all names stand in brackets, the first before any number: "(accuracy) 7
    (quality) 6". Then a bracket behind a number joins nothing."""
    if line.numbers[0].start < line.names[0].start:
        return False
    return all(
        line.text[name.start - 1 : name.start] in {"(", "["}
        and line.text[name.end : name.end + 1] in {")", "]"}
        for name in line.names
    )


def _made(
    line: _Stretch[Name],
    chosen: dict[int, _Claim | None],
    scale_of: Callable[[Name], Scale],
    named: Set[int],
) -> list[Pair[Name]]:
    """Return the pairs; numbers that begin at one of the `named` are part of a name."""
    starts = {claim.number.start for claim in chosen.values() if claim is not None}
    others = starts | named
    made = []

    for index, claim in sorted(chosen.items()):
        name = line.names[index]
        if claim is None:
            says = "it cannot be told which number is its own"
            mark = Mark(None, (name.start, name.end), FaultKind.AMBIGUOUS, says)
            made.append(Pair(name, mark, name.start, name.end))
            continue

        number, scale = claim.number, scale_of(name)
        mark = number.mark(scale)
        if mark.value is not None:
            fault = _fault(line, claim, scale, starts, others)
            mark = Mark(None, mark.span, FaultKind.AMBIGUOUS, fault) if fault else mark

        first, last = (number, name) if claim.backward else (name, number)
        made.append(
            Pair(name, mark, first.start, last.end, claim.backward, claim.bracketed, number.value)
        )

    return made


def _fault(
    line: _Stretch[Name], claim: _Claim, scale: Scale, starts: Set[int], others: Set[int]
) -> str:
    """Return why a number is not the score of the name that gets it, or nothing when it is."""
    name, number = line.names[claim.label], claim.number
    limit = line.limit(claim.label)
    if _states_another_scale(line.text, name, number, limit, scale):
        return "another scale is stated beside it"
    if not claim.backward:
        listed = len(starts) > 1
        return entry_fault(line.text, number, limit, scale, others, listed=listed)

    # What follows the name follows the number, too.
    called = _SCORE_OF.match(line.text, name.end, limit)
    end = called.end() if called else name.end
    behind = Number(number.value, None, name.start, end, end)
    following = min((place for place in starts if place >= name.end), default=limit)
    return entry_fault(line.text, behind, min(limit, following), scale, others)


# "8 for the naturalness score"
_SCORE_OF = re.compile(r"[ ](?:scores?|ratings?|scale)(?=[ ]*(?:[,.;)]|and\b|but\b|$))")


def _states_another_scale(
    text: str, name: FactorName | ImageName, number: Number, limit: int, scale: Scale
) -> bool:
    """Tell whether another scale stands beside a number: `S_acc (0-5): 4`, `S_acc: 4 (of 5)`."""
    joint = text[name.end : number.start]
    if ("(" in joint or "--" in joint) and stated_tops(joint) - {scale.high}:
        return True

    behind = text[number.end : limit]
    stated = behind.lstrip()[:3].startswith(("(", "[", "on ", "in ", "of "))
    return stated and bool(stated_tops(behind[:40]) - {scale.high})


# --- Lists of names beside numbers ---

_SHARED = re.compile(r"[0-9][ ]for[ ](?:both|each)\b|\bboth\b", re.IGNORECASE)
_BOTH = re.compile(r"\bboth[ ](?:(?:the|its)[ ])?\Z", re.IGNORECASE)
_GIVEN_TO_BOTH = re.compile(
    r"[ ]*(?:[:=]|(?:are|get|gets|receive|earn|deserve|score|rate|at|with)\b"
    r"(?:[ ](?:rated|scored|given|both))?(?:[ ]at)?)[ ]*(?:an?[ ])?",
    re.IGNORECASE,
)
_FOR_ALL = re.compile(
    r"[ ]for[ ](?:both|each[ ]of)[ ](?:of[ ])?(?:the[ ])?(?:factors[ ]|criteria[ ])?", re.IGNORECASE
)
_ORDERED = re.compile(r"respectiv|\border\b|jeweils|Reihenfolge", re.IGNORECASE)


def _listed_pairs(line: _Stretch[Name], scale_of: Callable[[Name], Scale]) -> list[Pair[Name]]:
    """Return what lists of names get from one number for all, or from a list of numbers."""
    if not line.lists:
        return []

    shared = _SHARED.search(line.text, line.start, line.end) is not None
    ordered = _ORDERED.search(line.text, line.names[0].start, line.end) is not None
    made: list[Pair[Name]] = []
    for first, last in line.lists:
        names = line.names[first : last + 1]
        if shared:
            made += _shared(line, names, scale_of)
        if ordered:
            made += _respectively(line, names, scale_of)

    return made


def _shared(
    line: _Stretch[Name], names: Sequence[Name], scale_of: Callable[[Name], Scale]
) -> Iterator[Pair[Name]]:
    """Yield the names of a list that are all given one number: "8 for both quality and realism",
    "both quality and realism get 8"."""
    both = len(names) == 2 and _BOTH.search(line.text, line.start, names[0].start) is not None
    for number in line.numbers:
        for_all = _FOR_ALL.fullmatch(line.text, number.end, names[0].start) is not None
        if both and _GIVEN_TO_BOTH.fullmatch(line.text, names[1].end, number.start):
            behind = (name.start for name in line.names if name.start > number.start)
            end = next(behind, line.end)
            for_all = not entry_fault(line.text, number, end, scale_of(names[0]))

        if for_all and not is_hedged(line.text, 0, number.start):
            for name in names:
                yield _pair(name, number, scale_of(name))


def _respectively(
    line: _Stretch[Name], names: Sequence[Name], scale_of: Callable[[Name], Scale]
) -> Iterator[Pair[Name]]:
    """Yield what a list of names gets from a list of numbers beside it, where the text says that
    they go together: "8, 7 and 9 for S_acc, S_pre and S_qua, respectively"."""
    for first, last in _lists(line.text, line.numbers, _LISTED_NUMBERS):
        numbers = line.numbers[first : last + 1]
        if len(numbers) == len(names) and _go_together(line, names, numbers):
            for name, number in zip(names, numbers, strict=True):
                yield _pair(name, number, scale_of(name))


def _pair(name: Name, number: Number, scale: Scale) -> Pair[Name]:
    first, last = min(name.start, number.start), max(name.end, number.end)
    return Pair(name, number.mark(scale), first, last)


_NUMBERS_FOR = re.compile(r"[)\]]?[ ]*(?:for|on|in|für|pour|en)[ ]+(?:the[ ]+)?", re.IGNORECASE)
_NUMBERS_BEHIND = re.compile(
    r"[ ]*(?:[:=→]|(?:is|are|get|gets|with|at|of|receive[sd]?|scores?)\b"
    r"|,?[ ]I(?:['’]d|[ ]would|[ ]will)?[ ](?:give|assign|rate|award)(?:[ ]it)?\b)[ ]*",
    re.IGNORECASE,
)
_IN_THAT_ORDER = re.compile(
    r"[)\]]?[ ]*[,(]?[ ]*(?:respectively|in[ ](?:this|that|the[ ]same|the[ ]given)[ ]order"
    r"|jeweils|in[ ]dieser[ ]Reihenfolge|respectivement|respectivamente)\b[ ]*[)]?[ ]*"
    r"(?=[.;,!\n]|$)",
    re.IGNORECASE,
)


def _go_together(line: _Stretch[Name], names: Sequence[Name], numbers: Sequence[Number]) -> bool:
    """Tell whether two lists stand side by side, and words behind them say: in that order."""
    if _NUMBERS_FOR.fullmatch(line.text, numbers[-1].end, names[0].start):
        stop = names[-1].end
    elif _NUMBERS_BEHIND.fullmatch(line.text, names[-1].end, numbers[0].start):
        stop = numbers[-1].end
    else:
        return False
    return _IN_THAT_ORDER.match(line.text, stop, line.end) is not None
