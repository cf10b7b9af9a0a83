"""From a reply to a reading of it: normalised once, told apart by layout and kind, then decided."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lmmscore.parsing.decide import decide
from lmmscore.parsing.json import Above, Found, find_json, json_says
from lmmscore.parsing.kinds import Kind, kind_of, sees_nothing
from lmmscore.parsing.names import UNKNOWN, Names, names_of
from lmmscore.parsing.page import Line, Page
from lmmscore.parsing.prose import Prose
from lmmscore.parsing.remarks import voids, with_corrections
from lmmscore.parsing.tables import Table, entries_of, tables_in
from lmmscore.parsing.text import Span, drafts, joined, plain_text
from lmmscore.parsing.verdict import Fault, FaultKind, Mark, Reading, Said
from lmmscore.records import Reply
from lmmscore.scales import Factor

_CANNOT = r"(?:can(?:['’]?t|not|\s+not)|won['’]?t|will\s+not|(?:(?:am|['’]m)\s+)?(?:unable|not\s+able)\s+to)"
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
    if not reply.text.strip():
        return _wordless(reply)
    if reply.refusal:
        # Whatever numbers stand beside it: what was refused is no score.
        return _none(FaultKind.REFUSED, f"the judge refused: {_short(reply.refusal)}")
    reading = read_text(reply.text, factors, n)
    return _cut_by_limit(reading, reply.text) if reply.finish == "length" else reading


def _none(kind: FaultKind, says: str) -> Reading:
    return Reading(faults=(Fault(kind, says),))


def _wordless(reply: Reply) -> Reading:
    if reply.refusal:
        return _none(FaultKind.REFUSED, f"the judge refused: {_short(reply.refusal)}")
    if reply.finish == "length":
        return _none(FaultKind.TRUNCATED, "the token limit was reached before any answer")
    return _none(FaultKind.EMPTY, "the answer is empty")


def _cut_by_limit(reading: Reading, text: str) -> Reading:
    """Return the reading of an answer that was cut off, where its verdict is not a draft."""
    # "1" at the very end may be the beginning of "10".
    cut_number = any(end >= len(text.rstrip("*_`$ ")) for _, end in reading.spans.values())
    if reading.complete and not cut_number and not _UNSETTLED.search(text):
        return reading
    says = "the answer was cut off by the token limit; raise it with --max-tokens"
    return _none(FaultKind.TRUNCATED, says)


def read_text(text: str, factors: Sequence[Factor], n: int) -> Reading:
    """Return what a text says of n images."""
    contents = contents_of(text, factors, n)
    if contents.cut:
        return _none(FaultKind.TRUNCATED, "the answer ends in the middle of its JSON")
    if contents.void:
        return _none(FaultKind.DISCLAIMED, f"the judge takes its scores back: “{contents.void}”")
    if contents.said:
        return with_corrections(decide(contents.said, factors, n), contents.page)
    if _REFUSAL.search(contents.page.text) or sees_nothing(contents.page.text):
        return _none(FaultKind.REFUSED, f"the judge refused: {_short(text)}")
    return _none(FaultKind.NO_VERDICT, contents.why_nothing())


class Contents:
    """Everything a reply says of any image, verdicts only, and what keeps the rest from counting."""

    def __init__(self, text: str, names: Names) -> None:
        self.names = names
        self._drafts = drafts(text)
        self._json = _outside(find_json(text, names), self._drafts)
        self.cut = self._json.cut
        cuts = joined([*self._drafts, *self._json.stretches()])
        self.page = Page(plain_text(text, cuts), names, text)
        tables = tables_in(self.page.text, names)
        self.page.tables = [(table.start, table.end) for table in tables]
        prose = Prose(self.page)
        self.void = ""
        self._unplaced = prose.unplaced
        said = [*self._json_says(), *self._tables_say(tables), *prose.said()]
        self._other_kinds = prose.drafts
        self._unplaced = prose.unplaced
        found = voids(self.page, prose.entries, said, self._json.remarks())
        self.void = found.all if said else ""
        self.said = found.keep(said)
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

    def _json_says(self) -> Iterator[Said]:
        headed = []
        for each in self._json.texts:
            line = self.page.line_at(self.page.plain.place(each.start))
            headed.append((each, self._above(line)))
        return json_says(headed, self.names)

    def _above(self, line: Line | None) -> Above:
        """Return what heads a table or a JSON text: the line before it, and that line's section."""
        if line is None:
            return Above(None, verdict=True)
        positions = line.positions or ()
        position = positions[0] if len(positions) == 1 and self.names.n > 1 else None
        words = self.page.words(line).rpartition(". ")[2] if not line.heads else ""
        caption = kind_of(words) if words.rstrip().endswith(":") or len(words) < 100 else None
        own = caption if caption is not None and not line.factors else None
        kind = own or line.kind
        if position == UNKNOWN:
            position = None
        return Above(position, kind is Kind.VERDICT, line.caption)

    def _tables_say(self, tables: Sequence[Table]) -> Iterator[Said]:
        for table in tables:
            line = self.page.line_at(table.start - 1) if table.start else None
            above = self._above(line)
            if not above.verdict:
                continue
            for entry in entries_of(table, above.position, self.names):
                span = self.page.span(*entry.mark.span)
                mark = Mark(entry.mark.value, span, entry.mark.kind, entry.mark.says)
                yield Said(
                    entry.position,
                    entry.key,
                    mark,
                    "table",
                    table.start + 2_000_000,
                    above.caption,
                )


def contents_of(text: str, factors: Sequence[Factor], n: int) -> Contents:
    """Return everything a text says of n images."""
    return Contents(text, names_of(tuple(factors), n))


def _outside(found: Found, spans: Sequence[Span]) -> Found:
    """Return the JSON that does not stand inside these stretches."""
    texts = [
        each for each in found.texts if not any(start <= each.start < end for start, end in spans)
    ]
    return Found(texts, found.cut)


def _short(text: str) -> str:
    text = " ".join(text[:400].split())
    return text if len(text) <= 120 else text[:117] + "…"
