"""From a reply to a reading of it: normalised once, told apart by layout and kind, then decided;
and what it states as the overall, and expects by the probabilities of its own words.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import zip_longest
from typing import Any

from lmmscore.conversation import ordinal
from lmmscore.parsing.decide import decide, with_corrections, without_contradicted
from lmmscore.parsing.doubts import Voids, attributes, voids
from lmmscore.parsing.json import Above, FoundJson, find_json, json_says
from lmmscore.parsing.names import UNKNOWN, Names, names_of
from lmmscore.parsing.numbers import number_at
from lmmscore.parsing.page import Line, Page
from lmmscore.parsing.prose import Prose
from lmmscore.parsing.remarks import kind_of, sees_nothing
from lmmscore.parsing.tables import ReplyTable, barred_tables, entries_of, tables_in
from lmmscore.parsing.text import Span, drafts, joined, plain_text
from lmmscore.parsing.verdict import (
    QUANTITIES,
    Cell,
    Fault,
    FaultKind,
    Kind,
    Mark,
    Reading,
    Said,
)
from lmmscore.records import Reply
from lmmscore.scales import Factor, Scale, word_key

# --- Scores ---


_CANNOT = (
    r"(?:can(?:['’]?t|not|\s+not)|won['’]?t|will\s+not"
    r"|(?:(?:am|['’]m)\s+)?(?:unable|not\s+able)\s+to)"
)
_TASK = (
    r"(?:assist|help|provide|evaluat|scor|rat(?:e|ing)|judg|assess|comply|do\s+(?:that|this)|fulfil"
    r"|analy[sz]|continue|compar|complete|engage|participate|accomplish"
    r"|(?:view|see|access|process|open)\s+(?:the\s+|any\s+|these\s+|your\s+)?"
    r"(?:image|picture|photo|attach|file))"
)
_REFUSAL = re.compile(
    rf"""
      \b(?:i\s*(?:am|['’]m)\s+(?:(?:very|really|so)\s+)?(?:sorry|afraid)|i\s+apologi[sz]e|sorry\b)
        [^.!\n]{{0,80}}\b{_CANNOT}
    | \bi\s*{_CANNOT}\b[^.!\n]{{0,60}}\b{_TASK}
    | \bi\s+(?:must|have\s+to)?\s*(?:decline|refuse)\b
    | \bi['’]d\s+(?:rather|prefer)\s+not\b
    | \bas\s+an\s+ai\b[^.!\n]{{0,80}}\b{_CANNOT}
    | \b(?:against|violates?)\s+(?:my|our|the)\s+(?:\w+\s+)?(?:polic|guideline)
    | \bi\s+(?:do\s+not|don['’]t)\s+feel\s+comfortable\b
    | \btut\s+mir\s+leid\b[^.!\n]{{0,60}}\bnicht\b|\blo\s+siento\b[^.!\n]{{0,60}}\bno\s+puedo\b
    | (?:抱歉|对不起)[^。\n]{{0,20}}(?:无法|不能)|申し訳[^。\n]{{0,20}}(?:できません|でき?かね)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_UNSETTLED = re.compile(
    r"""
    \b(?:let[ ]me|hmm+|wait|draft|first[ ]pass|first[ ]impression|initial(?:ly)?|tentativ\w+
      |preliminary
      |reconsider\w*|re-?think|think(?:ing)?[ ](?:about|again|through)|on[ ]second|double-?check
      |adjust
      |now[ ]I|rough(?:ly)?|provisional|before[ ]I[ ]finali[sz]e|check[ ]again|revisit|calibrat\w+
      |compare[ ]again|actually|maybe|perhaps|should[ ]I|final[ ](?:scores?|verdict
      |answer)[ ]will)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)


def read_reply(reply: Reply, factors: Sequence[Factor], n: int) -> Reading:
    """Return the scores of n images on these factors, or why they cannot be read. Never guesses."""
    if reply.finish == "content_filter":
        return _none(FaultKind.FILTERED, "the provider's content filter withheld the answer")
    if reply.refusal:
        # Whatever numbers stand beside it: what was refused is no score.
        return _none(FaultKind.REFUSED, f"the judge refused: {_short(reply.refusal)}")
    if not reply.text.strip():
        return _wordless(reply)

    reading = read_text(reply.text, factors, n)
    return _cut_by_limit(reading, reply.text) if reply.finish == "length" else reading


def no_answer(reply: Reply) -> Fault | None:
    """Return why there is nothing to read: withheld, refused or empty. None where there may be."""
    if reply.finish == "content_filter" or not reply.text.strip() or reply.refusal:
        return read_reply(reply, (), 1).faults[0]
    if _REFUSAL.search(reply.text) or sees_nothing(reply.text):
        return Fault(FaultKind.REFUSED, f"the judge refused: {_short(reply.text)}")
    return None


def _none(kind: FaultKind, says: str) -> Reading:
    return Reading(faults=(Fault(kind, says),))


def _wordless(reply: Reply) -> Reading:
    if reply.finish == "length":
        return _none(FaultKind.TRUNCATED, "the token limit was reached before any answer")
    return _none(FaultKind.EMPTY, "the answer is empty")


def _cut_by_limit(reading: Reading, text: str) -> Reading:
    """Return the reading of an answer that was cut off, where its verdict is not a draft."""
    # "1" at the very end may be the beginning of "10", and "8." that of "8.5".
    cut_number = any(end >= len(text.rstrip("*_`$ .,/")) for _, end in reading.spans.values())
    if reading.complete and not cut_number and not _UNSETTLED.search(text):
        return reading
    return Reading(faults=(CUT_OFF,))


CUT_OFF = Fault(
    FaultKind.TRUNCATED,
    "the answer was cut off by the token limit",
    advice="raise it with --max-tokens",
)


def read_text(text: str, factors: Sequence[Factor], n: int) -> Reading:
    """Return what a text says of n images."""
    contents = contents_of(text, factors, n)
    if contents.cut:
        return _none(FaultKind.TRUNCATED, "the answer ends in the middle of its JSON")
    if contents.void:
        return _void(contents, factors, n, text)
    if contents.said:
        return _decided(contents, contents.said, factors, n, text)

    if _REFUSAL.search(contents.page.text) or sees_nothing(contents.page.text):
        return _none(FaultKind.REFUSED, f"the judge refused: {_short(text)}")
    return _none(FaultKind.NO_VERDICT, contents.why_nothing())


def _void(contents: Contents, factors: Sequence[Factor], n: int, text: str) -> Reading:
    """Return no scores; where it is not known that they are void, with what would be read."""
    says = f"what the judge says may void its scores: “{contents.void}”"
    if contents.withheld:
        withheld = _decided(contents, contents.withheld, factors, n, text)
        if withheld.scores:
            fault = Fault(FaultKind.DOUBTFUL, says)
            return Reading(faults=(fault,), doubts=contents.doubts, withheld=withheld)

    return _none(FaultKind.DISCLAIMED, says)


def _decided(
    contents: Contents, said: Sequence[Said], factors: Sequence[Factor], n: int, text: str
) -> Reading:
    """Return the scores that something said of images makes, with what is said of them after."""
    reading = with_corrections(decide(said, factors, n, text), contents.page)
    return without_contradicted(reading, contents.mentioned)


class Contents:
    """Everything a reply says of any image, verdicts only,
    and what keeps the rest from counting."""

    def __init__(self, text: str, names: Names, *, doubted: bool = True) -> None:
        self.names = names
        self._drafts = drafts(text)
        self._json = _outside(find_json(text, names), self._drafts)
        self.cut = self._json.cut
        cuts = joined([*self._drafts, *self._json.stretches(names)])
        self.page = Page(plain_text(text, cuts), names, text)
        tables = tables_in(self.page.text, names, self.page.measures)
        self.page.tables = [(table.start, table.end) for table in tables]
        prose = Prose(self.page)
        self._taken = self._sections_with_scores(prose)
        """Where each section first has a score in prose."""
        said = [*self._json_says(text), *self._tables_say(tables), *prose.said()]
        said = self._without_zero(said, tables, unplaced=prose.unplaced)
        self._other_kinds = prose.drafts
        self.mentioned = prose.mentioned
        self._unplaced = prose.unplaced
        found = Voids()
        if doubted:
            notes = [*self._json.notes(names), *attributes(text, names)]
            found = voids(self.page, prose.entries, said, notes)

        self.void = found.all if said else ""
        self.doubts = found.doubts if said else ()
        self.said = found.keep(said)
        self.withheld = replace(found, all="").keep(said) if self.doubts else []
        self._taken_back = len(self.said) < len(said)

    def why_nothing(self) -> str:
        """Return why no scores were found."""
        if self._taken_back:
            return "the judge takes its scores back"

        if self._other_kinds:
            kinds = ", ".join(sorted(self._other_kinds))
            return f"no verdict was found in the answer, only numbers of another kind: {kinds}"

        if self._unplaced:
            return "scores were found, but not which image they are of"
        if self._drafts:
            return "no scores were found in the answer, outside of what the judge thought aloud"
        return "no scores were found in the answer"

    def _json_says(self, text: str) -> Iterator[Said]:
        headed = []
        sections: set[tuple[int, str]] = set()
        for each in self._json.texts:
            line = self.page.line_at(self.page.plain.place(each.start))
            before = text[text.rfind("\n", 0, each.start) + 1 : each.start]
            above = self._above(line, sections, each.factor(self.names))
            if kind_of(before) not in {None, Kind.VERDICT}:
                above = replace(above, verdict=False)

            headed.append((each, above))

        return json_says(headed, self.names)

    def _sections_with_scores(self, prose: Prose) -> dict[int, int]:
        first: dict[int, int] = {}
        for line, scored in zip(self.page.lines, prose.entries, strict=True):
            if scored:
                first.setdefault(line.section, line.start)

        return first

    def _without_zero(
        self, said: list[Said], tables: Sequence[ReplyTable], *, unplaced: bool
    ) -> list[Said]:
        """Return what is said, with images counted from 1.

        Where an image 0 is named and no image n, they are counted from 0, also where nothing is
        said of some. Where both are, "Image 0" is nobody knows which; and so are all of them where
        no scores are given to image n, where there is a "First", or where other scores are
        `unplaced`: image n may be behind a heading that is not understood.
        """
        if self.names.n == 1:
            return _of_the_only_image(said, tables)

        named = self._named_images(tables)
        zero = 0 in named or any(each.position == 0 for each in said)
        if not (zero or _counts_from_zero(self.page.text)):
            return said

        if self._zero_is_the_source():
            return [each for each in said if each.position != 0]

        if any(each.position == self.names.n for each in said):
            return [replace(each, position=each.position or UNKNOWN) for each in said]

        rows = [row[0].text for table in tables for row in table.rows[:100]]
        by_rank = any(label.strip(" *").lower() in _RANKS for label in rows)
        unclear = by_rank or unplaced or self.names.n in named
        return [_counted_on(each, UNKNOWN if unclear else None) for each in said]

    def _zero_is_the_source(self) -> bool:
        """Tell whether every line that names image 0 calls it the source: "Image 0 (original)"."""
        zeros = [line for line in self.page.lines if any(0 in i.positions for i in line.images)]
        return bool(zeros) and all(_ORIGINAL.search(self.page.words(line)) for line in zeros)

    def _named_images(self, tables: Sequence[ReplyTable]) -> set[int]:
        """Return the images that prose and the headings of tables name, with scores or without."""
        named: set[int] = set()
        for line in self.page.lines:
            named.update(*(image.positions for image in line.images))

        for table in tables:
            labels = [*table.rows[0], *(row[0] for row in table.rows)]
            found = {self.names.image_labelled(cell.text) for cell in labels[:100]}
            named |= {position for position in found if position is not None}

        return named

    def _above(self, line: Line | None, sections: set[tuple[int, str]], of: str = "") -> Above:
        """Return what heads a table or a JSON text: the line before it, and that line's section.

        Only the first in a section is headed by its image: another may be the next image's, whose
        heading was not understood. `sections` are those that have had one, each with the
        factor (`of`) where it was of one only.
        """
        if line is None:
            return Above(None, verdict=True)

        taken = (line.section, of) in sections or self._taken.get(line.section, line.end) < line.end
        sections.add((line.section, of))
        position = None if taken else self._only_image(line)
        kind = self._own_kind(line) or line.kind
        return Above(position, kind is Kind.VERDICT, line.caption)

    def _only_image(self, line: Line) -> int | None:
        """Return the image that a line is of, where it is one that was shown among others."""
        if self.names.n == 1 or line.positions is None or len(line.positions) != 1:
            return None
        return line.positions[0] if line.positions[0] != UNKNOWN else None

    def _own_kind(self, line: Line) -> Kind | None:
        """Return what the last line above says that numbers are; None where it says nothing of it,
        or no more than a heading right over it has said."""
        caption = None if line.factors or line.heads else self._caption_of(line)
        if caption is Kind.VERDICT and self._is_under_another_kind(line):
            return None
        return caption

    def _is_under_another_kind(self, line: Line) -> bool:
        """Tell whether a line stands right under a heading of numbers that are no scores:
        "# dummy data", and under it "scores ="."""
        if line.gap or line.kind is Kind.VERDICT:
            return False

        before = self.page.line_at(line.start - 1)
        return before is not None and before.heads

    def _caption_of(self, line: Line) -> Kind | None:
        """Return what the last sentence of a line says that the numbers under it are."""
        words = self.page.words(line).rpartition(". ")[2]
        colon = words.rstrip().endswith(":")
        if not colon and len(words) >= _LONGEST_CAPTION:
            return None

        kind = kind_of(words)
        if not colon and kind in _OF_NUMBERS and _SENTENCE_ENDS.search(words):
            # "One difference lies outside the target." is no caption.
            return None
        return kind

    def _tables_say(self, tables: Sequence[ReplyTable]) -> Iterator[Said]:
        sections: set[tuple[int, str]] = set()
        for table in tables:
            line = self.page.line_at(table.start - 1) if table.start else None
            above = self._above(line, sections)
            if not above.verdict:
                continue

            factor = _heading_factor(self.page, line)
            for entry in entries_of(table, above.position, self.names, factor):
                span = self.page.span(*entry.mark.span)
                mark = Mark(entry.mark.value, span, entry.mark.kind, entry.mark.says)
                yield Said(
                    entry.position,
                    entry.key,
                    mark,
                    "table",
                    table.start + 2_000_000,
                    above.caption,
                    by_order=entry.by_order,
                )


_NOTE = "images counted from 0"


def _counted_on(said: Said, position: int | None) -> Said:
    """Return what is said of an image as of the next one, or as of that position."""
    if said.position is None or said.position < 0 or _NOTE in said.notes:
        return said
    return replace(
        said,
        position=said.position + 1 if position is None else position,
        notes=(*said.notes, _NOTE),
    )


_FROM_ZERO = re.compile(
    r"(?<!not )\b(?:zero|0)[- ](?:based|indexed)\b|\bcount(?:ed|ing)?[ ]from[ ](?:zero|0)\b",
    re.IGNORECASE,
)


def _of_the_only_image(said: list[Said], tables: Sequence[ReplyTable]) -> list[Said]:
    """Return what is said without "Image 0", where a table has another row beside it."""
    if all(len(table.rows) <= _ONE_ROW for table in tables):
        return said
    return [each for each in said if each.position != 0 or each.layout != "table"]


_ONE_ROW = 2
"""A heading, and a row below it."""


def _counts_from_zero(text: str) -> bool:
    """Tell whether a text says that images are counted from 0; most do not speak of it."""
    spoken_of = any(map(text.__contains__, ("based", "indexed", "count", "Count")))
    return spoken_of and _FROM_ZERO.search(text) is not None


_RANKS = frozenset(map(ordinal, range(1, 21)))
_ORIGINAL = re.compile(
    r"\b0\W{0,3}(?:\((?:the[ ])?|[–—-][ ]|the[ ])(?:original|source|reference|unedited|input)\b",
    re.IGNORECASE,
)


def _heading_factor(page: Page, line: Line | None) -> str | None:
    """Return the factor that a line names, where it does nothing else."""
    if line is None or len(line.factors) != 1 or line.images:
        return None
    factor = line.factors[0]
    rest = page.text[line.head : factor.start] + page.text[factor.end : line.end]
    return None if re.search(r"\w", rest) else factor.key


_OF_NUMBERS = QUANTITIES | {Kind.SOURCE}
_SENTENCE_ENDS = re.compile(r"[.!?。]\W*$")
_LONGEST_CAPTION = 100


def contents_of(text: str, factors: Sequence[Factor], n: int) -> Contents:
    """Return everything a text says of n images."""
    return Contents(text, names_of(tuple(factors), n))


def _outside(found: FoundJson, spans: Sequence[Span]) -> FoundJson:
    """Return the JSON that does not stand inside these stretches."""
    texts = [
        each for each in found.texts if not any(start <= each.start < end for start, end in spans)
    ]
    return FoundJson(texts, found.cut)


def _short(text: str) -> str:
    text = " ".join(text[:400].split())
    return text if len(text) <= 120 else text[:117] + "…"


# --- The overall a judge states itself: compared with ours, never used ---


# A judge may state anything, so that an error can be seen.
_ANYTHING = Scale(min=Decimal(-100_000), max=Decimal(100_000))
_OVERALL = Factor(
    key="overall",
    symbol="S_all",
    name="Overall Score",
    aliases=(
        "S_overall",
        "S_total",
        "overall",
        "overall rating",
        "total",
        "total score",
        "weighted score",
        "weighted sum",
        "weighted total",
        "weighted average",
        "final score",
        "weighted overall score",
    ),
    scale=_ANYTHING,
)

_OUT_OF = re.compile(
    r"([0-9][*_`$ ]{0,4})(?:/|out[ ]of)[ ]{0,3}(?:10|100|[1-9])(?:\.0)?(?!\.?[0-9])"
)
_RESULT = re.compile(
    r"^(?=[^\n]*(?:[+×·*]|\bx\b|times)|[ ]*=)[^\n]*"
    r"[=≈][ ]*(?P<number>-?[0-9]{1,6}(?:\.[0-9]{1,6})?)[ ]*[).,;]*[ ]*$",
    re.MULTILINE,
)
_OVERALL_COLUMN = re.compile(
    r"all\b|overall|total|weighted|final|\bsum\b|\bscores?\b|average|mean|gesamt|总", re.IGNORECASE
)
_MORE_NUMBERS = re.compile(r"[ ]*[,;][ ]*[0-9]")


def read_overall(text: str, n: int, symbol: str = _OVERALL.symbol) -> dict[int, Fraction]:
    """Return the overall score the reply states for each image, as far as it does so plainly.

    By its name (`S_all: 6.1`, a column, a JSON key), else as the result of a sum (`… = 6.1`), else
    as the only number given (`Image 1: 6.1`). Of several, the last. `symbol` is what the dialog
    calls it in place of `S_all`.
    """
    text = _OUT_OF.sub(r"\1 ", text)
    overall = _OVERALL.model_copy(update={"symbol": symbol})
    # What is only compared need not be doubted, which is half the work.
    contents = Contents(text, names_of((overall,), n), doubted=False)
    page = contents.page
    stated = dict(_by_sums(page)) or dict(_in_last_column(page))
    for each in sorted(contents.said, key=lambda each: each.mark.span):
        if each.mark.value is not None:
            stated[each.position or 1] = each.mark.value

    return {position: stated[position] for position in sorted(stated) if 1 <= position <= n}


def _by_sums(page: Page) -> Iterator[tuple[int, Fraction]]:
    """Yield the number that each image's stretch of text ends a sum with, or gives right away."""
    heads = [line for line in page.lines if line.images and line.images[0].start <= line.head + 12]

    for line, following in zip_longest(heads, heads[1:]):
        image = line.images[0]
        end = following.start if following else len(page.text)
        stretch = page.text[image.end : end]
        number = _last_result(stretch)
        number = _first_number(stretch) if number is None else number
        if len(image.positions) == 1 and number is not None:
            yield image.positions[0], number

    if page.n == 1 and not heads:
        number = _last_result(page.text)
        if number is not None:
            yield 1, number


def _last_result(text: str) -> Fraction | None:
    results = _RESULT.findall(text)
    return Fraction(results[-1]) if results else None


def _first_number(text: str) -> Fraction | None:
    text = text.lstrip(" :=≈")
    number = number_at(text, 0, len(text))
    # "6, 7, 5, 6" are sub-scores.
    if number is None or _MORE_NUMBERS.match(text, number.end):
        return None
    return number.value


def _in_last_column(page: Page) -> Iterator[tuple[int, Fraction]]:
    for table in [*tables_in(page.text, page.names, page.measures), *barred_tables(page.text)]:
        if not _OVERALL_COLUMN.search(table.rows[0][-1].text):
            # A table that repeats the sub-scores states no overall.
            continue

        for row in table.rows:
            position = page.names.image_labelled(row[0].text)
            if position is None or len(row) < 2:
                continue

            if re.fullmatch(r"[0-9]{1,6}(?:\.[0-9]{1,6})?", row[-1].text):
                yield position, Fraction(row[-1].text)


# --- The score a judge would give on average ---


LIKELY = 0.01
"""A first digit at least so likely, of a number that may go on, leaves the expected score open."""


def expected_scores(
    reply: Reply, reading: Reading, factors: Sequence[Factor]
) -> dict[Cell, Fraction]:
    """Return the expected score wherever a score is one token with alternatives."""
    tokens = _tokens(reply)
    if not tokens:
        return {}

    by_place = _by_place(reply.text, tokens)
    scales = {factor.key: factor.scale for factor in factors}
    found: dict[Cell, Fraction] = {}
    for cell, span in reading.spans.items():
        token = by_place.get(span)
        if token is None or cell not in reading.scores or cell[1] not in scales:
            continue

        value = _expected(token, scales[cell[1]])
        if value is not None:
            found[cell] = value

    return found


def _tokens(reply: Reply) -> list[Mapping[str, Any]]:
    if "logprobs" not in reply.also:
        return []

    try:
        held = json.loads(reply.also)["logprobs"]
    except (ValueError, KeyError, TypeError):
        return []

    content = held.get("content") if isinstance(held, dict) else held
    if not isinstance(content, list):
        return []

    tokens = [token for token in content if isinstance(token, dict) and "token" in token]
    return [_unpacked(token) for token in tokens]


def _unpacked(token: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a token as a server sends it; the ledger keeps only those with a digit,
    and shorter."""
    top = token.get("top")
    if not isinstance(top, list):
        return token

    pairs = [pair for pair in top if isinstance(pair, list) and len(pair) == 2]
    alternatives = [{"token": said, "logprob": logprob} for said, logprob in pairs]
    return {**token, "top_logprobs": alternatives}


def _by_place(
    text: str, tokens: Sequence[Mapping[str, Any]]
) -> dict[tuple[int, int], Mapping[str, Any]]:
    """Return the tokens that are numbers, by place; none where they are not those of the text."""
    found: dict[tuple[int, int], Mapping[str, Any]] = {}
    at = 0
    for token in tokens:
        said = str(token["token"])
        at = int(token.get("at", at))
        if not text.startswith(said, at):
            return {}

        bare = said.strip()
        if bare.isdecimal():
            start = at + said.index(bare)
            found[start, start + len(bare)] = token

        at += len(said)

    return found


def _expected(token: Mapping[str, Any], scale: Scale) -> Fraction | None:
    """Return the mean of the alternatives on the scale, weighted by their probability."""
    values = _whole_values(scale)
    shares: dict[int, float] = {}
    for alternative in token.get("top_logprobs") or ():
        said = str(alternative.get("token", "")).strip()
        logprob = alternative.get("logprob")
        if said.isdecimal() and int(said) in values and isinstance(logprob, int | float):
            shares[int(said)] = shares.get(int(said), 0.0) + math.exp(logprob)

    total = sum(shares.values())
    if total <= 0 or _may_go_on(shares, values):
        return None

    mean = sum(value * share for value, share in shares.items()) / total
    return Fraction(mean).limit_denominator(10**9)


def _whole_values(scale: Scale) -> set[int]:
    if scale.words is not None:
        return set()

    if scale.values:
        whole = [value for value in scale.values if value == value.to_integral_value()]
        return {int(value) for value in whole} if len(whole) == len(scale.values) else set()

    return set(range(math.ceil(scale.low), math.floor(scale.high) + 1))


def _may_go_on(shares: Mapping[int, float], values: set[int]) -> bool:
    """Tell whether a likely token may begin a longer number: 1 of 10, where 10 is no token."""
    for value, share in shares.items():
        longer = {other for other in values if other != value and str(other).startswith(str(value))}
        if longer and share >= LIKELY and not longer & set(shares):
            return True
    return False


# --------------------------------------------------------------------------------------------------
# Replies in a form that the dialog prescribes: scores in a list without names, words as scores.
#
# Whatever is not in that form is read as any other reply.
# --------------------------------------------------------------------------------------------------

_SCALAR = re.compile(r"""\s*("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^,\[\]\n"']*)\s*""")
_NUMBER = re.compile(
    r"(?P<number>[-+]?\d{1,6}(?:\.\d{1,6})?)(?:\s*(?:/|out\s+of)\s*(?P<top>\d{1,6}(?:\.0+)?))?"
)
_IMAGE = re.compile(r"\b(?:image|edit|picture|candidate|img)[\s_#]*(\d{1,3})\b", re.IGNORECASE)
_BARE_LIST = re.compile(r"^[ \t`*]*\[(?=[^\n]*\][ \t`*.]*$)", re.MULTILINE)
_DECORATION = "\"'`*_ \t$"


# What a reader of numbers says of words, and of a reply that was read in words.
_NO_NUMBER = (FaultKind.OFF_SCALE, FaultKind.MISSING_FACTOR, FaultKind.NOT_A_NUMBER)
_BESIDE_THE_POINT = (FaultKind.NO_VERDICT, FaultKind.MISSING_IMAGE)


@dataclass(frozen=True, slots=True)
class FormReading:
    """What a reply in a prescribed form says, and what it says does not apply."""

    reading: Reading
    absent: frozenset[Cell] = frozenset()


def read_form(reply: Reply, factors: Sequence[Factor], n: int, list_key: str = "") -> FormReading:
    """Return the scores of n images: from a list under a key, from words, or as usual."""
    if reply.finish == "content_filter" or reply.refusal or not reply.text.strip():
        return FormReading(read_reply(reply, factors, n))

    if list_key:
        found = _read_lists(reply, factors, n, list_key)
        if found is not None:
            return found

    if any(factor.scale.words for factor in factors):
        return _read_words(reply, factors, n)

    return FormReading(read_reply(reply, factors, n))


# Lists


@dataclass(frozen=True, slots=True)
class _FormEntry:
    text: str
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Listed:
    """A list as it stands in a reply: its entries, or its inner lists."""

    entries: tuple[_FormEntry, ...]
    inner: tuple[_Listed, ...]
    end: int


def _read_lists(reply: Reply, factors: Sequence[Factor], n: int, key: str) -> FormReading | None:
    """Return what the last list under the key says; None where no list there holds a score."""
    verdicts: list[list[_Listed]] = []
    by_image: dict[int, _Listed] = {}
    for start, found in _lists(reply.text, key):
        rows = list(found.inner) or [found]
        if not any(_is_said(entry, factors) for row in rows for entry in row.entries):
            # `[score1, score2]`: the form itself, quoted.
            continue

        if n > 1 and len(rows) == 1:
            by_image[_image_before(reply.text, start) or len(by_image) + 1] = rows[0]
        else:
            verdicts.append(rows)

    if not verdicts and by_image:
        verdicts = [[by_image[image] for image in sorted(by_image)]]
        if sorted(by_image) != list(range(1, n + 1)):
            says = f"the lists are of the images {', '.join(map(str, sorted(by_image)))}"
            return _fault(FaultKind.CONTRADICTION, f"{says}; {n} were shown")

    if not verdicts:
        return None
    return _cut(_from_rows(verdicts[-1], factors, n), reply)


def _lists(text: str, key: str) -> Iterator[tuple[int, _Listed]]:
    named = re.compile(rf"(?<!\w){re.escape(key)}s?[\"'`*_\s]*[:=]\s*[`*]*\s*\[", re.IGNORECASE)
    matches = [*named.finditer(text)] or [*_BARE_LIST.finditer(text)]
    for match in matches:
        found = _list_at(text, match.end() - 1)
        if found is not None:
            yield match.start(), found


def _list_at(text: str, start: int, depth: int = 0) -> _Listed | None:
    """Return the list that opens here; None where it is not closed or nested more than once."""
    entries: list[_FormEntry] = []
    inner: list[_Listed] = []
    at = start + 1
    while at < len(text):
        if text[at] == "[" and depth == 0:
            found = _list_at(text, at, 1)
            if found is None:
                return None

            inner.append(found)
            at = found.end
        elif text[at] == "]":
            return _Listed(tuple(entries), tuple(inner), at + 1)
        elif text[at] in ", \t\r\n":
            at += 1
        else:
            match = _SCALAR.match(text, at)
            if match is None or match.end() == at:
                return None

            entries.append(_FormEntry(match[1].strip(), match.span(1)))
            at = match.end()

    return None


def _is_said(entry: _FormEntry, factors: Sequence[Factor]) -> bool:
    plain = entry.text.strip(_DECORATION)
    words = {word_key(word) for factor in factors for word in factor.scale.words or ()}
    return _NUMBER.fullmatch(plain) is not None or word_key(plain) in words


def _from_rows(rows: Sequence[_Listed], factors: Sequence[Factor], n: int) -> FormReading:
    if len(rows) != n:
        return _fault(FaultKind.CONTRADICTION, f"the list is of {len(rows)} images; {n} were shown")

    scores: dict[Cell, Fraction] = {}
    spans: dict[Cell, tuple[int, int]] = {}
    absent: set[Cell] = set()
    faults: list[Fault] = []
    for position, row in enumerate(rows, 1):
        if len(row.entries) > len(factors):
            says = f"the list has {len(row.entries)} scores; {len(factors)} were asked for"
            faults.append(Fault(FaultKind.CONTRADICTION, says, position))
            continue

        for factor, entry in zip(factors, row.entries, strict=False):
            cell = (position, factor.key)
            value = _meaning(entry.text, factor.scale)
            if isinstance(value, Fraction):
                scores[cell], spans[cell] = value, entry.span
            elif value is None:
                absent.add(cell)
            else:
                faults.append(Fault(FaultKind.OFF_SCALE, value, *cell))

        for factor in factors[len(row.entries) :]:
            says = "the list has no score for it"
            faults.append(Fault(FaultKind.MISSING_FACTOR, says, position, factor.key))

    return FormReading(Reading(scores, spans, tuple(faults), "list"), frozenset(absent))


def _meaning(text: str, scale: Scale) -> Fraction | str | None:
    """Return the score a text stands for, None for one that does not count, or what is wrong."""
    plain = text.strip(_DECORATION)
    if scale.words is not None:
        by_word = {word_key(word): value for word, value in scale.words.items()}
        if word_key(plain) not in by_word:
            return f"{plain[:40]!r} is not one of {scale}"

        value = by_word[word_key(plain)]
        return None if value is None else Fraction(value)

    match = _NUMBER.fullmatch(plain)
    if match is None:
        return f"{plain[:40]!r} is not a number"

    score = Fraction(match["number"])
    if match["top"] and Fraction(match["top"]) != scale.high:
        return f"{plain} is on another scale than {scale}"
    return scale.fault(score) or score


def _image_before(text: str, place: int) -> int | None:
    """Return the image that was named last before a place."""
    named = [int(match[1]) for match in _IMAGE.finditer(text, 0, place)]
    return named[-1] if named else None


# Words


@dataclass(slots=True)
class _Said:
    """What a reply says in words: for each image and factor, its last word."""

    values: dict[Cell, Decimal | None] = field(default_factory=dict)
    spans: dict[Cell, tuple[int, int]] = field(default_factory=dict)


def _read_words(reply: Reply, factors: Sequence[Factor], n: int) -> FormReading:
    """Return the scores of factors with scales of words, and of the others as usual."""
    said = _said(reply.text, factors, n)
    silent = [
        factor
        for factor in factors
        if any((position, factor.key) not in said.values for position in range(1, n + 1))
    ]
    if not silent:
        return _cut(_with_numbers(said, Reading(layout="words"), silent, n), reply)

    numbers = read_reply(reply, [_numeric(factor) for factor in silent], n)
    found = _with_numbers(said, numbers, silent, n)
    if numbers.withheld is not None:
        other = _with_numbers(said, numbers.withheld, silent, n)
        if other.absent == found.absent:
            reading = replace(found.reading, doubts=numbers.doubts, withheld=other.reading)
            found = replace(found, reading=reading)

    return _cut(found, reply)


def _with_numbers(said: _Said, numbers: Reading, silent: Sequence[Factor], n: int) -> FormReading:
    """Return what is said in words, and in numbers of factors of which no word is said."""
    scores = {cell: Fraction(value) for cell, value in said.values.items() if value is not None}
    spans = {cell: said.spans[cell] for cell in scores}
    absent = frozenset(cell for cell, value in said.values.items() if value is None)
    faults: list[Fault] = []
    for (position, key), number in numbers.scores.items():
        cell = (position, key)
        value = _number_word(number, next(f for f in silent if f.key == key).scale)
        if cell in said.values:
            continue

        if isinstance(value, str):
            faults.append(Fault(FaultKind.OFF_SCALE, value, *cell))
        elif value is None:
            absent |= {cell}
        else:
            scores[cell], spans[cell] = value, numbers.spans[cell]

    faults += _open_faults(numbers.faults, silent, {*said.values, *absent, *scores}, n)
    layout = numbers.layout or "words"
    return FormReading(Reading(scores, spans, tuple(faults), layout, numbers.notes), absent)


def _open_faults(
    faults: Sequence[Fault], factors: Sequence[Factor], known: set[Cell], n: int
) -> list[Fault]:
    """Return a fault for everything still open: the reader's own, or that nothing was said."""
    return [
        _open_fault(faults, factor, position, partly=bool(known))
        for position in range(1, n + 1)
        for factor in factors
        if (position, factor.key) not in known
    ]


def _open_fault(faults: Sequence[Fault], factor: Factor, position: int, *, partly: bool) -> Fault:
    silence = Fault(
        FaultKind.MISSING_FACTOR, f"none of {factor.scale} was found", position, factor.key
    )
    for fault in reversed(faults):
        concerns = fault.position in (None, position) and fault.factor in (None, factor.key)
        # What a reader of numbers says of a reply that was read in words is beside the point.
        if concerns and not (partly and fault.kind in _BESIDE_THE_POINT):
            if factor.scale.words and fault.kind in _NO_NUMBER:
                return silence
            return replace(fault, position=position, factor=factor.key)

    return silence


def _numeric(factor: Factor) -> Factor:
    """Return the factor as one of numbers: those among its words, or none that could be met."""
    if factor.scale.words is None:
        return factor
    numbers = [Decimal(word) for word in factor.scale.words if _NUMBER.fullmatch(word)]
    scale = Scale(values=tuple(numbers)) if numbers else Scale(values=(_NEVER,))
    return factor.model_copy(update={"scale": scale})


_NEVER = Decimal("-987654.5")
"""On no scale: a factor of words alone has no score in numbers."""


def _number_word(number: Fraction, scale: Scale) -> Fraction | str | None:
    """Return what a number means on a scale of words, where it is one of the words."""
    if scale.words is None:
        return number

    for word, value in scale.words.items():
        if _NUMBER.fullmatch(word) and Fraction(word) == number:
            return None if value is None else Fraction(value)

    return f"{number} is not one of {scale}"


def _said(text: str, factors: Sequence[Factor], n: int) -> _Said:
    found = _Said()
    for factor in factors:
        words = [w for w in factor.scale.words or () if not _NUMBER.fullmatch(w)]
        if not words:
            continue

        only = len(factors) == 1
        for match in _word_pattern(factor, words, only=only).finditer(text):
            position = 1 if n == 1 else _image_before(text, match.start("word"))
            if position is None or not 1 <= position <= n:
                continue

            cell = (position, factor.key)
            spoken = word_key(match["word"])
            meaning = {word_key(word): value for word, value in (factor.scale.words or {}).items()}
            found.values[cell] = meaning[spoken]
            found.spans[cell] = match.span("word")

    return found


def _word_pattern(factor: Factor, words: Sequence[str], *, only: bool) -> re.Pattern[str]:
    """Return what finds `Left Arm: MATCH`, the same in JSON, or the word as the whole reply."""
    listed = "|".join(_loosely(word) for word in sorted(words, key=len, reverse=True))
    names = "|".join(_loosely(name) for name in sorted(factor.names, key=len, reverse=True))
    # A word with another beside it, `MATCH | MISMATCH`, is the choice that was offered.
    word = rf"(?P<word>{listed})(?!\w)(?![\"'`*]*\s*(?:\||/|or\b))"
    value = r"[\s\"'`*_(\[]*"
    joint = rf"[\"'`*_)\]\s]*(?:[:=|–—-]|->|→|\bis\b){value}"
    labelled = rf"(?:\{{[^{{}}]*?[\"'](?:{_VALUE_KEYS})[\"']\s*:{value})?"
    alone = rf"|\A{value}(?P<whole>)" if only else ""
    named = rf"(?<!\w)(?:{names})(?!\w){joint}{labelled}"
    return re.compile(rf"(?:{named}{alone}){word}", re.IGNORECASE)


_VALUE_KEYS = "score|label|value|answer|result|verdict|status|rating|judge?ment|decision"


def _loosely(name: str) -> str:
    """Return a pattern for a name, whatever stands between its parts."""
    parts = [re.escape(part) for part in re.split(r"[\s_]+", name.strip()) if part]
    return r"[\s_-]*".join(parts)


# Both


def _fault(kind: FaultKind, says: str) -> FormReading:
    return FormReading(_none(kind, says))


def _cut(found: FormReading, reply: Reply) -> FormReading:
    """Return the reading; nothing of it where the reply was cut off before it was complete."""
    if reply.finish != "length" or found.reading.complete:
        return found
    return FormReading(Reading(faults=(CUT_OFF,)))
