"""A number as a verdict: `6`, `6.5`, `6/10`, `6 out of 10`. Digits of any other kind are not a score."""

from __future__ import annotations

import re
from fractions import Fraction

from lmmscore.parsing.said import TWO_NUMBERS, Mark
from lmmscore.scales import Scale

# At most six digits: what is longer is no score, and a reply of nothing but digits must not keep us busy.
_DIGITS = r"(?:[0-9]{1,6}(?:\.[0-9]{1,6})?|\.[0-9]{1,6})"
_VERDICT = rf"""
    (?P<number>-?{_DIGITS})
    (?:[ ]*(?:/|out[ ]+of\b)[ ]*(?P<top>{_DIGITS}))?
    (?:[ ]*(?:points?|pts)\b\.?)?
"""
_NUMBER = re.compile(rf"[(\[<\"'“]?[ ]*{_VERDICT}(?:[ ]*[)\]>\"'”])?", re.VERBOSE | re.IGNORECASE)
_VALUE = re.compile(rf"[(\[]?\s*{_VERDICT}\s*[)\]]?", re.VERBOSE | re.IGNORECASE)

_PLAIN_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:/[0-9]+)?[.,;)]*"
# A number with nothing more to say of it; but "2)" right before the next name numbers that.
_ENDED = r"[0-9]{1,3}(?:\.[0-9]{1,3})?(?:[ ]*/[ ]*[0-9]{1,3})?(?=[ ]*(?:[.,;](?![0-9])|\)(?![ ]+\Z)|\n|\Z))"
_MAYBE = r"(?:maybe|perhaps|possibly|rather|even|or|no|(?:could|may|might)(?:[ ]also)?[ ]be)"
_WAVERING = rf"(?:(?:but|or|and)[ ]+)?(?:{_MAYBE}[ ,]+)"
_NOT_A_SCORE_BEFORE = re.compile(
    rf"""
      [\w%‰°½¼¾⅓⅔]                    # 6th, 50%, 3D, 6½
    | [:.,'’][0-9]                    # 12:30, 6.5.1, 6,5
    | [-–—/~+][0-9]                   # 1-10, 6–7, 6/7/8
    | \+ | \([0-9.]+\)                # 6+, 0.4(6)
    | [ ]*[=≠<>×·*^+/]                # 1 = poor, 0.4 × 6, 6 + 7, 6 / 7
    | [ ]*(?:->|→|⇒)[^0-9\n]{{0,12}}[0-9]         # 6 → 7, 6 → no, 7
    | [ ]*(?:x|times|cdot)[ ]*[0-9]
    | [ ]*(?:%|(?:percent|per[ ]cent|pct|means?)\b)
    | [ ]*(?:\.{{2,3}}|…)[ ]*[0-9] | [ ]+up[ ]to[ ]+[0-9]     # 6...7, 6 up to 7
    | [,;][ ]*{_WAVERING}?{_ENDED} | [ ]+\(?{_WAVERING}{_ENDED}     # 6, 7; 6, maybe 7; 6 but could be 7
    | [ ,(]+(?:minus|plus)[ ]+(?:[0-9]|an?\b|one\b|two\b|half\b)     # 7 minus 1
    | [ ]+(?:(?:is|being|as)[ ]+)?(?:the[ ]+)?(?:worst|best|lowest|highest|poorest)
      (?=[ ]*(?:[,;.)\n]|\Z|(?:and|to|scores?|ratings?|possible)\b|[0-9]))     # 1 is worst
    | :[ ]*[a-z]{{1,15}}[ ,;]+[0-9]+[ ]*:                      # 1: bad, 10: good
    | [ ]+(?:is|was|seems|feels|looks)[ ]+(?:(?:a[ ]bit|a[ ]little|far|much|perhaps)[ ]+)?too\b     # 8 is too generous
    | [ ]+(?:would[ ]+(?:be|have|mean|seem)|(?:could|might|may)[ ]+be[ ]+too)\b     # 7 would be too high
    | [^.\n]{{0,80}}?[ ](?:so|thus|hence|therefore)[ ]+(?:an?[ ]+|it[ ]is[ ]+)?{_ENDED}     # 7 …, so 5
    # One less, two above Image 1: a difference.
    | [ ]+(?:lower|higher|more|less|fewer|better|worse)(?=[ ]+than\b|[ ]*(?:[,.;\n]|\Z))
    | [ ]+(?:above|below|behind|ahead[ ]of)[ ]+(?:the[ ]+)?(?i:image|edit|picture|average|mean|other|previous|first)
    | [ ]*(?:\([^()\n]{{0,40}}\)[ ]*)?(?:to|or|and|through|vs\.?)[ ]+[0-9]       # 6 to 7, 1 (worst) to 10 (best)
    # Two numbers in a row, "6 7", "6 - 7/10", "1 - 10 scale"; but "6 - 2 dogs are missing" explains.
    | [ ]+(?:[-–—~][ ]*)?{_PLAIN_NUMBER}(?![^\s])(?![ ]+(?!(?:out|of|to|or|scale|points?)\b)[A-Za-z])
    """,
    re.VERBOSE,
)

_WORDS_AFTER = re.compile(r"[ ]+(?P<word>[a-z][a-z'’-]*)(?:[ ]+(?P<next>[a-z][a-z'’-]*))?")
_COUNTING = frozenset(
    "of out more other another further additional people men women children feet fish".split()
)
# Nobody counts these, so a number before them is not a count: "6 because …", "7 keeps the fox intact".
_BEGINS_AN_EXPLANATION = frozenset(
    """a about adheres aligns almost also although an and appears as aside based because being but by captures clear
    clearly considering contains despite due edit even excellent fails fair fairly feels fits follows for from gives
    given good great has however i if in introduces is it its just keeps lacks leaves like looks loses maintains makes
    meets minor misses moderate mostly nearly needs nice no not nothing only overall perfect perhaps poor preserves
    quite rather remains replaces respects retains seems shows since slight slightly so some solid somewhat stays
    still strong strongly suffers suggests than that the there these they this though thus too totally very was weak
    well what when where while with within without yet""".split()
)

_BREAK = r"(?:^|[.!?:;,=→(\[–—-])[ ]*"
_SCORING = r"(?:(?:scores?|scored|rated?|rating|gives?|given|deserves|earns|gets|receives)\b[^.\n0-9]{0,30})"
_AT_THE_END = re.compile(
    rf"(?:{_BREAK}|\b{_SCORING})(?P<number>{_DIGITS})[ ]*(?:/|out[ ]+of\b)[ ]*(?P<top>{_DIGITS})[ ]*[)\].!]*[ ]*$",
    re.MULTILINE | re.IGNORECASE,
)
_AFTER_A_WORD = re.compile(
    r"(?:^[ ]*(?:[-•–*+][ ]*)?|[.;][ ]+)(?:(?:final|my|sub-?)[ ]*)?(?:score|rating)[ ]*(?:[:=]|\bis\b)[ ]*",
    re.MULTILINE | re.IGNORECASE,
)
_ON_ITS_OWN_LINE = re.compile(
    rf"^[ ]*(?:[-•–*+][ ]*)?(?P<number>{_DIGITS})[ ]*(?:/|out[ ]+of\b)[ ]*(?P<top>{_DIGITS})[ ]*\.?[ ]*$",
    re.MULTILINE | re.IGNORECASE,
)
_BLANK_LINE = re.compile(r"\n[ ]*\n")


def number_at(
    text: str, place: int, end: int, scale: Scale, *, alone: bool, singular: bool = False
) -> Mark | None:
    """Return the verdict that stands right here, or None. A verdict off the scale is a fault, not a score.

    Where an explanation may follow ("S_qua: 6 sharp but dark"), digits that count something ("2 dogs", "2 large
    dogs") are still none; where the number must stand `alone`, only words that nobody counts may follow. A `singular`
    noun after 1 is taken for the beginning of an explanation.
    """
    match = _NUMBER.match(text, place, end)
    if match is None or _NOT_A_SCORE_BEFORE.match(text, match.end(), end):
        return None
    # One of a thing is singular, so its word does not tell a count ("1 dog") from an explanation.
    alone = alone or (match["number"] == "1" and not singular)
    if _counts(text, match.end(), end, alone=alone, topped=match["top"] is not None):
        return None
    return _judged(match, scale)


def _counts(text: str, place: int, end: int, *, alone: bool, topped: bool) -> bool:
    """Tell whether the words that follow are what the number counts."""
    match = _WORDS_AFTER.match(text, place, end)
    if match is None or match["word"] in _BEGINS_AN_EXPLANATION:
        return False
    if match["word"] in _COUNTING or _plural(match["word"]):
        return True
    return not topped and (alone or _plural(match["next"] or ""))


def _plural(word: str) -> bool:
    countable = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word in _COUNTING or (countable and word not in _BEGINS_AN_EXPLANATION)


def number_below(text: str, start: int, end: int, scale: Scale) -> Mark | None:
    """Return the verdict of the lines that explain a factor: `… . 6/10` at the end of one, or `Score: 6`.

    After a blank line, only a line of its own will do. "Taken on 5/10", "9/10 of the sand" and "4/5" on another
    scale are none.
    """
    blank = _BLANK_LINE.search(text, start, end)
    paragraph = blank.start() if blank else end
    matches = [
        *_AT_THE_END.finditer(text, start, paragraph),
        *_ON_ITS_OWN_LINE.finditer(text, paragraph, end),
    ]
    found = [_judged(match, scale) for match in matches if Fraction(match["top"]) == scale.high]
    for match in _AFTER_A_WORD.finditer(text, start, end):
        mark = number_at(text, match.end(), end, scale, alone=True)
        found += [mark] if mark else []
    if len({mark.value for mark in found}) > 1:
        return Mark(None, TWO_NUMBERS, found[-1].span)
    return found[-1] if found else None


def number_in(text: str, scale: Scale, start: int) -> Mark:
    """Return what a JSON value says: numbers and numbers in strings are read; `true`, NaN and words are not."""
    match = _VALUE.fullmatch(text.strip())
    if match is None:
        said = text.strip() if len(text) <= 40 else text.strip()[:39] + "…"
        return Mark(
            None,
            f"{said} is not a number" if said else "the score is empty",
            (start, start + len(text)),
        )
    start += len(text) - len(text.lstrip())
    mark = _judged(match, scale)
    return Mark(mark.value, mark.fault, (start + mark.span[0], start + mark.span[1]))


def _judged(match: re.Match[str], scale: Scale) -> Mark:
    number, top = match["number"], match["top"]
    # "8/10" is a score out of ten; where ten is not the top of the scale it is something else, a date or a ratio.
    if top is not None and Fraction(top) != scale.high:
        return Mark(None, f"{number}/{top} is not on the scale {scale}", match.span("number"))
    fault = scale.fault(Fraction(number))
    return Mark(None if fault else Fraction(number), fault, match.span("number"))
