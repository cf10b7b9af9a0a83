"""Which edit of a pair a reply prefers: from the dialog's words, `[[A>B]]`, JSON, a statement.

The last verdict of the clearest kind counts, if nothing beside it makes it an example, an
alternative or somebody else's, and nothing in the reply says that no image was seen or takes it
back. What cannot be told is a fault, never a tie.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from lmmscore.parsing import Fault, FaultKind, json_values
from lmmscore.parsing.read import CUT_OFF, no_answer
from lmmscore.parsing.remarks import is_alarming, makes_up, sees_nothing, takes_back
from lmmscore.parsing.text import drafts
from lmmscore.records import Reply

# What stands for another character, or for nothing, in Markdown, LaTeX and HTML.
_MARKUP = re.compile(
    r"""
      (?P<greater>\\(?:gt|textgreater|succ|succeq|gg)\b(?:\{\})?|[≻＞›]|&gt;)
    | (?P<less>\\(?:lt|textless|prec|preceq|ll)\b(?:\{\})?|[≺＜‹]|&lt;)
    | (?P<equal>\\(?:approx|sim|simeq|equiv|eq)\b|[≈＝≡])
    | (?P<open>[［【〚⟦]|\\lbrack\b)
    | (?P<close>[］】〛⟧]|\\rbrack\b)
    | (?P<space>[_~\u00a0\t]|\\[ ,;!]|\\quad\b)
    | (?P<line></?[A-Za-z][\w-]{2,20}>)
    | (?P<nothing>\\(?:text\w*|math\w+|boxed|fbox|bf|rm|operatorname|left|right|[Bb]igg?)\b
        |[*`$\\{}"'“”‘’])
    """,
    re.VERBOSE,
)
_STANDS_FOR = {"greater": ">", "less": "<", "equal": "=", "open": "[", "close": "]", "space": " "}
_STANDS_FOR["line"] = "\n"

_DOUBLE = re.compile(r"\[ *\[(?P<inside>[^\[\]\n]{1,60})\] *\]")
_SINGLE = re.compile(r"[\[(](?P<inside>[^\[\]()\n]{1,60}[<>=][^\[\]()\n]{1,60})[\])]")
_BARE = re.compile(
    r"(?<![\w<>=])(?P<inside>[AB] *(?:[<>]{1,3}|={1,2}) *[AB]"
    r"(?: *={1,2} *(?:good|bad))?)(?![\w<>=])",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"""
    \b(?:verdict|winner|choice|answer|decision|judge?ment|preference|preferred|conclusion|vote
      |better|better[ ](?:image|edit|model|one)|winning[ ](?:image|edit|model))
    [ ]*(?:\#+)?[ ]*(?:is[ ]*:|is\b|:|=|->|→|–|—|-|\n)\s*(?:\d\.[ ])?
    (?P<inside>[^\n]{1,160})
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?;\n]+")
_TOKEN = re.compile(r"[a-z0-9]+|[<>]+|=+")

_WINNER_KEYS = frozenset(
    """winner better best preferred preference verdict choice answer decision result vote selected
    judgement judgment selection""".split()
)
_FIRST = frozenset(("a", "1", "first", "left", "one"))
_SECOND = frozenset(("b", "2", "second", "right", "two"))
_THINGS = frozenset(
    """model models image images img assistant option answer response edit edits edited
    candidate system output outputs picture pictures method result results version generated
    editing of them""".split()
)
_FILLERS = frozenset(
    """the is are was were it its this that clearly slightly much significantly marginally
    relatively definitely overall equally just about very more or less quite s
    both""".split()
)
_BETTER = frozenset(
    """better wins best preferred preferable winner superior stronger outperforms surpasses
    prevails""".split()
)
_TIED = frozenset("tie tied draw equal same both neither even similar comparable".split())
_GOOD = frozenset("good acceptable great fine well excellent".split())
_BAD = frozenset("bad poor unacceptable fail failed fails failing terrible poorly weak".split())
_GOES_ON = frozenset("because since due given which than over to though but and".split())
_IN_PART = frozenset("in for with by as on".split())
_WHOLLY = frozenset("all every overall total general both each".split())
_DOUBTS = re.compile(
    r"""
    \b(?:either|otherwise|maybe|perhaps|possibly|for[ ]example|for[ ]instance|e\.?g\b|such[ ]as
      |hypothetical\w*|suppos\w+|imagin\w+|placeholders?|template|guess\w*
      |another|(?:other|previous|earlier|first|human)[ ](?:annotator|rater|judge|reviewer|model)s?
      |would[ ]have|could[ ](?:be|answer|say|write|choose)|might
      |(?:not|n['’]t|never|cannot)[ ](?:\w+[ ]){0,2}
        (?:say|choose|pick|call|vote|answer|give|state|write|mean)\w*)\b
    | ^\W*if\b | \bnot\W*$ | \bor\W*$
    """,
    re.VERBOSE | re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:not|than|instead of)\W*$", re.IGNORECASE)
_FINAL = re.compile(r"\b(?:final\w*|verdict|overall|conclu\w+|therefore|so)\b", re.IGNORECASE)
_OWN_WORDS = re.compile(
    r"\b(?:I|I['’]m|we|my|me|us)\b|\berror\b|^\W*(?:no|the) (?:images?|pictures?)\b", re.IGNORECASE
)
_ERROR_FIELD = re.compile(r'"errors?"\s*:\s*(?:"[^"]|[\[{]\s*[^\]}\s]|true)', re.IGNORECASE)
_MIXED_UP = re.compile(
    r"\b(?:mix(?:ed)?|swap(?:ped)?|confus\w+|revers\w+|switch(?:ed)?|mistak\w+|wrong)\b"
    r"|\bother way\b|\bvice versa\b",
    re.IGNORECASE,
)
_NEGATIONS = frozenset("not no isnt doesnt never hardly nor cannot".split())
_RESERVATIONS = frozenset("but however although though while if would could might".split())

# In prose "a" is mostly an article: a side has a noun before it, or is a capital.
_NOUN = (
    r"(?:[Mm]odel|[Ii]mage|[Ee]dit|[Aa]ssistant|[Oo]ption|[Cc]andidate|[Mm]ethod|[Oo]utput"
    r"|[Rr]esponse|[Rr]esult|[Pp]icture)"
)
_SIDE = (
    rf"(?:(?:[Tt]he )?(?:edited )?{_NOUN} (?:A|B|1|2)|[Tt]he (?:first|second|left|right)|\b[AB])"
)
_THING = r"s?(?: (?:edited |generated )?(?:image|edit|version|output|result|response|picture|one))?"
_SURELY = r"(?:(?:clearly|slightly|overall|much|significantly|definitely|marginally|therefore) )*"
_END = (
    r"(?= (?:one|edit|image|choice|option|result|overall|of the two|because|since|than|to|over)\b"
    r"|\s*$|,)"
)
_PREFERRED = re.compile(
    rf"(?P<side>{_SIDE}){_THING} (?:(?:is|was|looks) {_SURELY}(?:the )?"
    rf"(?:better|best|superior|preferred|preferable|winner){_END}|wins\b|outperforms\b)"
    rf"|\b(?:I|[Ww]e) (?:prefer|choose|pick|select|favou?r|vote for|go with) (?P<chosen>{_SIDE})\b"
    rf"|\b(?:better|best|preferred|winning) (?:image|edit|model|one|result) is (?P<named>{_SIDE})\b"
)
_BOTH = re.compile(
    r"\b[Bb]oth(?: of them| models?| edited| images?| edits?| results?| outputs?)* (?:are|were) "
    r"(?:(?:equally|very|quite|both) )*(?:bad|poor|unacceptable|good|acceptable|great|excellent)\b"
)
_TIE = re.compile(
    r"\b(?:is|call it|declare(?: it)?|ends? in) (?:a )?(?:tie|draw)\s*$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class WinnerReading:
    """What a reply says of a pair, or why nothing can be told."""

    winner: str = ""
    """`first`, `second`, `tie`, or nothing."""
    both: str = ""
    """Of a tie that says so: `good` or `bad`."""
    span: tuple[int, int] = (0, 0)
    """Where in the reply the verdict stands."""
    fault: Fault | None = None

    def as_dict(self) -> dict[str, str]:
        """Return the verdict as JSON: `winner`, and `both` where a tie says how good both are."""
        if not self.winner:
            return {}
        return {"winner": self.winner} | ({"both": self.both} if self.both else {})


@dataclass(frozen=True, slots=True)
class _Found:
    verdict: str
    """`first`, `second`, `tie`, `both-good` or `both-bad`."""
    span: tuple[int, int] = (0, 0)


def read_winner(
    reply: Reply, words: Mapping[str, str] | None = None, key: str = ""
) -> WinnerReading:
    """Return which of two edits a reply prefers; `words` and `key` are those of the dialog."""
    text = _without_drafts(reply.text)
    silent = no_answer(reply)
    if silent is not None and (reply.refusal or silent.kind != FaultKind.REFUSED):
        return WinnerReading(fault=silent)

    if _is_cut_off(text):
        advice = "raise the token limit with --max-tokens"
        return WinnerReading(fault=Fault(FaultKind.TRUNCATED, "the JSON has no end", advice=advice))

    plain = _Plain(text)
    try:
        found = _given(text, plain, words or {}, key)
    except _TwoVerdictsError as error:
        return WinnerReading(fault=Fault(FaultKind.CONTRADICTION, str(error)))

    # In what sounds like a refusal, a sentence states nothing.
    if found is None and silent is None:
        found = _stated(plain)
    if found is None:
        return WinnerReading(fault=silent or _nothing_found(reply))

    doubt = _doubt(text, found.span)
    return WinnerReading(fault=doubt) if doubt else _reading(found)


def _given(text: str, plain: _Plain, words: Mapping[str, str], key: str) -> _Found | None:
    """Return the verdict in the form it was asked for, the clearest first; raises for two."""
    meanings = {word: _told_apart(word, meaning) for word, meaning in words.items()}
    own = {_folded(word): meaning for word, meaning in meanings.items()}
    return (
        _marked(text, plain, own, meanings)
        or _in_json(text, own, key)
        or _labelled(plain, own)
        or _alone(plain, own)
    )


def _nothing_found(reply: Reply) -> Fault:
    if reply.finish == "length":
        return CUT_OFF
    return Fault(FaultKind.NO_VERDICT, "it does not say which of the two is better")


class _TwoVerdictsError(Exception):
    """A reply gives two different verdicts, neither of which is its last word."""


def _without_drafts(text: str) -> str:
    """Return a text with blanks where the judge thinks aloud before it answers."""
    for start, end in drafts(text):
        text = text[:start] + re.sub(r"\S", " ", text[start:end]) + text[end:]
    return text


def _is_cut_off(text: str) -> bool:
    """Tell whether a reply is JSON that stops in the middle."""
    bare = re.sub(r"^\s*```\w*\s*", "", text).strip()
    return bare.startswith("{") and bare.count("{") > bare.count("}")


def _doubt(text: str, span: tuple[int, int]) -> Fault | None:
    """Return why a verdict does not count: what is said beside it, before it or after it."""
    start, end = span
    before = re.split(r"[.!?](?=\s)|\n", text[:start])[-1]
    if _DOUBTS.search(before):
        says = f"{text[start:end]!r} is not given as the verdict: {' '.join(before.split())[-80:]}"
        return Fault(FaultKind.AMBIGUOUS, says)

    if _ERROR_FIELD.search(text):
        return Fault(FaultKind.DISCLAIMED, "the answer reports an error beside its verdict")

    for sentence in _sentences(text[:start]):
        # An analysis may say that something is missing; only the judge itself sees nothing.
        if _OWN_WORDS.search(sentence) and (sees_nothing(sentence) or makes_up(sentence)):
            says = f"no judgement of these images: {sentence.strip()[:80]}"
            return Fault(FaultKind.DISCLAIMED, says)

    for sentence in _sentences(text[end:]):
        undone = sees_nothing(sentence) or makes_up(sentence) or takes_back(sentence)
        if undone or is_alarming(sentence) or _MIXED_UP.search(sentence):
            return Fault(FaultKind.DISCLAIMED, f"taken back: {sentence.strip()[:80]}")

    return None


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s+|\n+", text)


def _reading(found: _Found) -> WinnerReading:
    if found.verdict in ("both-good", "both-bad"):
        return WinnerReading("tie", found.verdict.removeprefix("both-"), found.span)
    return WinnerReading(found.verdict, "", found.span)


def _told_apart(word: str, meaning: str) -> str:
    """Return the meaning of a dialog's word; a tie whose word says good or bad is one of these."""
    if meaning == "tie":
        return _with_quality(_TOKEN.findall(_folded(word)))
    return meaning


class _Plain:
    """A text without markup, and where each of its characters comes from."""

    def __init__(self, text: str) -> None:
        pieces: list[str] = []
        origins: list[int] = []
        at = 0
        for match in _MARKUP.finditer(text):
            pieces.append(text[at : match.start()])
            origins += range(at, match.start())
            stand_in = _STANDS_FOR.get(match.lastgroup or "", "")
            pieces.append(stand_in)
            origins += [match.start()] * len(stand_in)
            at = match.end()

        pieces.append(text[at:])
        origins += range(at, len(text) + 1)
        self.text = "".join(pieces)
        self._origins = origins

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where a stretch stands in the text as it was written."""
        return self._origins[start], self._origins[max(start, end - 1)] + 1


def _folded(text: str) -> str:
    """Return a text without markup, capitals and spacing."""
    return re.sub(r"\s+", " ", _Plain(text).text).strip(" .,:;!#-()").casefold()


def _marked(
    text: str, plain: _Plain, own: Mapping[str, str], words: Mapping[str, str]
) -> _Found | None:
    """Return the last mark: the dialog's own, `[[A>B]]`, else `[A>B]`, else `A>B`."""
    written = _without_menu(sorted(_literal(text, words), key=lambda found: found.span))
    if written and not _DOUBLE.search(plain.text):
        return written[-1]

    for pattern in (_DOUBLE, _SINGLE, _BARE):
        marks = []
        for match in pattern.finditer(plain.text):
            verdict = _meant(match[0], own) or _meant(match["inside"], own)
            if verdict is not None:
                marks.append(_Found(verdict, plain.span(*match.span())))

        marks = _without_menu(marks)
        _refuse_alternatives(text, marks)
        if marks:
            return marks[-1]

    return None


def _refuse_alternatives(text: str, marks: Sequence[_Found]) -> None:
    """Raise where the last two marks differ and stand on one line, unless the last is the final."""
    if len(marks) < 2:
        return

    earlier, last = marks[-2:]
    between = text[earlier.span[1] : last.span[0]]
    if earlier.verdict == last.verdict or "\n" in between or _FINAL.search(between):
        return

    # "not [[A>B]] but [[B>A]]"
    if not _DENIED.search(text[: earlier.span[0]]):
        raise _TwoVerdictsError("two different verdicts side by side")


def _literal(text: str, words: Mapping[str, str]) -> Iterator[_Found]:
    """Yield the dialog's own words wherever they stand, if they are such as prose does not have."""
    for word, verdict in words.items():
        if re.fullmatch(r"[\w ]*", word):
            continue

        loosely = r"\s*".join(re.escape(part) for part in re.findall(r"\w+|[^\w\s]", word))

        for match in re.finditer(rf"(?<!\w){loosely}(?!\w)", text, re.IGNORECASE):
            yield _Found(verdict, match.span())


def _without_menu(marks: list[_Found]) -> list[_Found]:
    """Drop three or more different marks close to each other at the end: the choices, quoted."""
    menu = 1
    for earlier, later in reversed([*pairwise(marks)]):
        if later.span[0] - earlier.span[1] > 90:
            break
        menu += 1

    different = {found.verdict for found in marks[len(marks) - menu :]}
    return marks[: len(marks) - menu] if len(different) >= 3 else marks


def _in_json(text: str, own: Mapping[str, str], key: str) -> _Found | None:
    """Return the verdict under a key that names one. Raises for two that differ."""
    keys = {re.sub(r"[\W_]", "", key).casefold()} if key else _WINNER_KEYS
    found: list[_Found] = []
    for value in json_values(text):
        for said in _values_under(value, keys, exact=bool(key)):
            verdict = _meant(said, own)
            if verdict is not None:
                place = text.rfind(said)
                found.append(_Found(verdict, (place, place + len(said))))

    if len({each.verdict for each in found}) > 1:
        raise _TwoVerdictsError("two different verdicts in JSON")
    return found[-1] if found else None


def _values_under(value: Any, keys: frozenset[str] | set[str], *, exact: bool) -> Iterator[str]:
    """Yield the texts that stand under one of these keys, in order."""
    if isinstance(value, list):
        for inner in value:
            yield from _values_under(inner, keys, exact=exact)

    if not isinstance(value, dict):
        return

    for key, inner in value.items():
        if not _names_a_winner(str(key), keys, exact=exact):
            yield from _values_under(inner, keys, exact=exact)
            continue

        said = inner if isinstance(inner, list) else [inner]
        texts = [each for each in said if isinstance(each, str)]
        yield from texts
        if not texts:
            yield from _values_under(inner, keys, exact=exact)


def _names_a_winner(key: str, keys: frozenset[str] | set[str], *, exact: bool) -> bool:
    parts = re.findall(r"[a-z]+", key.casefold())
    if "".join(parts) in keys:
        return True
    return not exact and any(part in keys for part in parts)


def _labelled(plain: _Plain, own: Mapping[str, str]) -> _Found | None:
    """Return the last `Winner: B`, `Final verdict: both are bad`, `My choice is Image 2`."""
    found = None
    for match in _LABEL.finditer(plain.text):
        said = match["inside"]
        short = re.split(r"[.,;(:]", said, maxsplit=1)[0]
        verdict = _meant(said, own) or _meant(short, own)
        if verdict is not None:
            found = _Found(verdict, plain.span(*match.span("inside")))

    return found


def _alone(plain: _Plain, own: Mapping[str, str]) -> _Found | None:
    """Return the verdict that is the whole reply, or its last line."""
    text = plain.text.rstrip()
    last = text[text.rfind("\n") + 1 :]
    if last.endswith("?"):
        return None

    verdict = _meant(last, own)
    if verdict is None:
        return None

    start = len(text) - len(last)
    return _Found(verdict, plain.span(start, len(text)))


def _stated(plain: _Plain) -> _Found | None:
    """Return what the last paragraph with a statement says, unless it says two different things."""
    for paragraph in reversed(re.split(r"\n\s*\n", plain.text)):
        found = []
        for sentence in _SENTENCE.finditer(paragraph):
            asks = paragraph[sentence.end() : sentence.end() + 1] == "?"
            verdict = None if asks else _statement(sentence[0])
            if verdict is not None:
                start = plain.text.rfind(sentence[0])
                found.append(_Found(verdict, plain.span(start, start + len(sentence[0]))))

        if found:
            return found[-1] if len({each.verdict for each in found}) == 1 else None

    return None


def _statement(sentence: str) -> str | None:
    """Return what a sentence says: `Model B is better`, `both edits are bad`."""
    sentence = _main_clause(sentence)
    tokens = set(_TOKEN.findall(sentence.casefold()))
    if (_NEGATIONS | _RESERVATIONS) & tokens:
        return None

    preferred = _PREFERRED.search(sentence)
    if preferred is not None:
        side = preferred["side"] or preferred["chosen"] or preferred["named"]
        return _side(_TOKEN.findall(side.casefold())[-1])

    if _BOTH.search(sentence):
        return _with_quality(_TOKEN.findall(sentence.casefold()))
    return "tie" if _TIE.search(sentence) else None


def _main_clause(sentence: str) -> str:
    """Return a sentence without what it concedes: `Although B is sharper,`, `A is close, but`."""
    conceding = re.match(r"\s*(?:[Aa]lthough|[Tt]hough|[Ww]hile)\b[^,]+,(?P<main>.+)", sentence)
    if conceding is not None:
        return conceding["main"]
    if re.search(r"\b(?:tie|draw)\b", sentence):
        return sentence
    return re.split(r",\s*but\b", sentence)[-1].replace("would choose", "choose")


def _meant(phrase: str, own: Mapping[str, str]) -> str | None:
    """Return what a phrase says that is nothing but a verdict; None for any other."""
    folded = _folded(phrase).replace("by far ", "")
    if folded in own:
        return own[folded]

    tokens = _TOKEN.findall(folded)
    # "a" is a side, but in "a tie" an article.
    if tokens[:1] == ["a"] and tokens[1:2] and tokens[1] in _TIED:
        tokens = tokens[1:]

    tokens = [token for token in tokens if token not in _THINGS]
    if tokens and tokens[0] in _TIED:
        known = _TIED | _GOOD | _BAD | _FILLERS | _FIRST | _SECOND | {"quality", "not", "="}
        return _with_quality(tokens) if set(tokens) <= known else None

    tokens = [token for token in tokens if token not in _FILLERS]
    if len(tokens) >= 3 and tokens[1][0] in "<>=":
        return _related(tokens)

    return _preferred(tokens)


def _preferred(tokens: Sequence[str]) -> str | None:
    """Return which side `b`, `b better` or `b better because …` names; None for anything else."""
    if not tokens or tokens[0] not in _FIRST | _SECOND:
        return None

    rest = tokens[1:]
    if rest and rest[0] in _BETTER:
        rest = rest[1:]

    # Better in one respect is not better.
    if rest and rest[0] in _IN_PART:
        return _side(tokens[0]) if _WHOLLY & set(rest) else None

    if rest and rest[0] not in _GOES_ON:
        return None

    return _side(tokens[0])


def _related(tokens: Sequence[str]) -> str | None:
    """Return what `a > b`, `b < a` or `a = b = good` says."""
    one, sign, other = tokens[:3]
    sides = {_side(one), _side(other)}
    if sides != {"first", "second"}:
        return None
    if sign[0] == "=":
        return _with_quality(tokens[3:])
    if any(token[0] in "<>=" for token in tokens[3:]):
        return None
    return _side(one) if sign[0] == ">" else _side(other)


def _side(token: str) -> str:
    if token in _FIRST:
        return "first"
    return "second" if token in _SECOND else ""


def _with_quality(tokens: Sequence[str]) -> str:
    """Return which kind of tie the words speak of."""
    said = set(tokens)
    denied = bool(_NEGATIONS & said) or "neither" in said
    if said & _BAD or (said & _GOOD and denied):
        return "both-bad"

    if said & _GOOD:
        return "both-good"

    return "both-bad" if "neither" in said else "tie"
