"""The factors a published text asks for, with their scales, weights and the form of the answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lmmscore.parsing.names import normal
from lmmscore.records import OVERALL
from lmmscore.scales import OPEN

# --------------------------------------------------------------------------------------------------
# The scale a published text states for its scores. What it does not state is left open.
# --------------------------------------------------------------------------------------------------

_NUMBER = r"\d{1,3}(?:\.\d+)?"
_TO = r"\s*(?:-|–|—|~|to|and|_to_|\.\.\.?)\s*"
_MARKS = r"[\s*_`\"'(\[<]*"

_NOT_A_SCALE = (
    r"(?!\s*[-–]?\s*(?:words?|sentences?|tokens?|characters?|degrees?|°|%|seconds?|pixels?|images?|"
    r"frames?|objects?|elements?|points?\s+(?:lower|higher)|times|steps?|lines?|bullet))"
)
_RANGE = re.compile(rf"(?<![\d.])({_NUMBER}){_MARKS}{_TO}{_MARKS}({_NUMBER})(?![\d.]*\d)", re.I)

_STATED_RANGES = (
    # on a scale of 1 to 10 · score from 0 to 100 · rating: 1-5 · integers between 0 and 10
    re.compile(
        r"(?:rang(?:e|es|ing)|scales?|scor(?:e|es|ed|ing)|rat(?:e|ed|es|ing|ings)|integers?|"
        rf"numbers?|assign|give)\b[^.\n;]{{0,60}}?(?<![\d.])({_NUMBER}){_MARKS}{_TO}{_MARKS}"
        rf"({_NUMBER})(?![\d.]*\d){_NOT_A_SCALE}",
        re.IGNORECASE,
    ),
    # from 1 to 5 · between 0 and 10
    re.compile(
        rf"\b(?:from|between)\s+{_MARKS}({_NUMBER}){_MARKS}\s*(?:to|and|-|–){_MARKS}({_NUMBER})"
        rf"(?![\d.]*\d){_NOT_A_SCALE}",
        re.IGNORECASE,
    ),
    # a 0–5 scale · the 1-10 range
    re.compile(rf"(?<![\d.])({_NUMBER}){_TO}({_NUMBER})\s*(?:scale|range|rating)", re.IGNORECASE),
    # integer scores in [0, 10]
    re.compile(
        rf"(?:scores?|ratings?|integers?|values?)\s+(?:in|within|from)\s+\[\s*({_NUMBER})\s*,\s*"
        rf"({_NUMBER})\s*\]",
        re.IGNORECASE,
    ),
    # Evaluation Scale (1 to 5) · ## Consistency Score (1-5)
    re.compile(
        r"(?:scale|score|rating|range|criteria|evaluation)[^\n(]{0,20}\(\s*"
        rf"({_NUMBER}){_TO}({_NUMBER})\s*\)",
        re.IGNORECASE,
    ),
)
_POINT_SCALE = re.compile(r"\b(\d{1,3})[\s-]*point\s+(?:likert\s+)?scale", re.IGNORECASE)

_BINARY = re.compile(
    r"\bbinary\b|(?<![\d./-])(?:0\s*(?:/|or|\|)\s*1|1\s*(?:/|or|\|)\s*0)(?![\d./-])",
    re.IGNORECASE,
)
_VALUES = re.compile(
    rf"(?<![\d.\w])({_NUMBER}(?:\s*,\s*{_NUMBER})+\s*,?\s*(?:or|and)\s+{_NUMBER}"
    rf"|{_NUMBER}(?:\s*[|/]\s*{_NUMBER}){{2,}}|\[{_NUMBER}(?:\s*,\s*{_NUMBER})+\])(?![\d.]*\d)",
    re.IGNORECASE,
)
_INTEGERS = re.compile(
    r"\bintegers?\b|\bwhole\s+numbers?\b|decimal\s+values\s+are\s+not\s+allowed", re.IGNORECASE
)
_LEVEL = re.compile(
    rf"^[\s>*•\-–#`]*(?:\w+\s*\()?(?:score[sd]?\s*(?:=|of|:)?\s*)?[*_`]*\(?({_NUMBER})\)?[*_`]*"
    r"(?!\s*[-–—]\s*\d+\s*\))(?:\s*points?)?[*_`]*"
    r"(?=\s*[:=(–—-]|\s+[*_`]*[A-Z(]|\s{2,}|\s*$|\s+if\b)",
    re.IGNORECASE | re.MULTILINE,
)
_SCORE_VALUE = re.compile(
    rf"\bscor(?:e|ed|ing)\s*(?:=|of|:|as)?\s*[*_`]*({_NUMBER})[*_`]*"
    rf"(?![\d.]*\s*(?:-|–|to\b|/))",
    re.IGNORECASE,
)
_GIVEN_VALUE = re.compile(
    r"\b(?:give|assign|award|set|and|or|otherwise)\s+(?:a\s+|it\s+)?[*_`]*"
    rf"({_NUMBER})[*_`]*\s+(?:when|if|for|by|only|otherwise)\b",
    re.IGNORECASE,
)
_LABELLED_LEVEL = re.compile(r"^[\s>*•\-–]*[A-Z][A-Za-z ]+\((\d{1,3})\)\s*:", re.MULTILINE)


def scale_in_form(value: str) -> Any:
    """Return the scale that a form's own placeholder states: `<0-10>`, `0 or 1`, `[0, 1, 2]`."""
    text = value.replace("_", " ")
    values = _listed_values(text)
    if values is not None:
        return values

    if _BINARY.search(text):
        return {"values": [0, 1]}

    found = _RANGE.search(text)
    if found is None or not _is_scale(found[1], found[2]):
        return OPEN

    return _ranged(found[1], found[2], text)


def scale_of(text: str) -> Any:
    """Return the one scale a passage states; an open question where there is none, or several."""
    ranges = _stated_ranges(text)
    if len(ranges) == 1:
        low, high = ranges.pop()
        return _ranged(low, high, text)

    # The surest statement first: levels in a list may be of a part of the scale only.
    if not ranges:
        values = _score_values(text)
        points = {match[1] for match in _POINT_SCALE.finditer(text)}
        if len(points) == 1:
            return {"min": 1, "max": int(points.pop())}

        listed = _listed_values(text)
        if listed is not None:
            return listed

        if values >= {0.0, 0.5, 1.0}:
            return {"values": [0, 0.5, 1]}

        if _BINARY.search(text) or values == {0.0, 1.0}:
            return {"values": [0, 1]}

    return _by_levels(text, ranges)


def _stated_ranges(text: str) -> set[tuple[str, str]]:
    """Return the ranges that are stated as scales, bands within a scale excepted."""
    found = set()
    for expression in _STATED_RANGES:
        for match in expression.finditer(text):
            if _is_scale(match[1], match[2]):
                found.add((match[1], match[2]))

    # "0-29", "1-3": the lowest band of a scale that is stated elsewhere.
    return {each for each in found if not _is_band(each, found)}


def _is_band(each: tuple[str, str], found: set[tuple[str, str]]) -> bool:
    low, high = float(each[0]), float(each[1])
    return any(float(other[0]) == low and float(other[1]) > high for other in found)


def _is_scale(low: str, high: str) -> bool:
    return float(low) < float(high) <= 100 and float(low) in {0.0, 1.0}


def _by_levels(text: str, ranges: set[tuple[str, str]]) -> Any:
    """Return the scale whose levels the text lists line by line: 5: …, 4: …, 3: …"""
    levels = _levels_in(text)
    stated = {(float(first), float(last)) for first, last in ranges}
    for low in (0, 1):
        high = _end_of_run(low, levels)
        listed = low in levels and high - low >= 2
        if listed and (not stated or (low, high) in stated):
            return {"min": low, "max": high}

    if not ranges and levels == {0, 1}:
        return {"values": [0, 1]}

    return _most_stated(text, ranges)


def _levels_in(text: str) -> set[int]:
    found = [match[1] for match in _LEVEL.finditer(text)]
    found += [match[1] for match in _LABELLED_LEVEL.finditer(text)]
    return {int(level) for level in found if "." not in level}


def _end_of_run(first: int, levels: set[int]) -> int:
    """Return the last of the consecutive levels that begin with the first."""
    last = first
    while last + 1 in levels:
        last += 1

    return last


def _most_stated(text: str, ranges: set[tuple[str, str]]) -> Any:
    """Of several ranges, return the one stated more than twice as often as any other."""
    counts: Counter[tuple[str, str]] = Counter()
    for expression in _STATED_RANGES:
        counts.update((match[1], match[2]) for match in expression.finditer(text))

    ranked = [(each, count) for each, count in counts.most_common() if each in ranges]
    if len(ranked) > 1 and ranked[0][1] > 2 * ranked[1][1]:
        low, high = ranked[0][0]
        return _ranged(low, high, text)

    return OPEN


def _score_values(text: str) -> set[float]:
    found = {float(match[1]) for match in _SCORE_VALUE.finditer(text)}
    found |= {float(match[1]) for match in _GIVEN_VALUE.finditer(text)}
    return found


def _listed_values(text: str) -> Any:
    """Return values written as a list: `0, 0.5 or 1`; consecutive integers make a range."""
    for match in _VALUES.finditer(text):
        values = sorted({float(value) for value in re.findall(_NUMBER, match[0])})
        if len(values) < 3 or not _is_scale(str(values[0]), str(values[-1])):
            continue

        low, high = values[0], values[-1]
        consecutive = high - low == len(values) - 1 and low.is_integer()
        if consecutive and len(values) > 3:
            return {"min": int(low), "max": int(high), "integers": True}

        return {"values": [_plain(value) for value in values]}

    return None


def _ranged(low: str, high: str, text: str) -> dict[str, Any]:
    """Return the scale between two numbers, of whole numbers where the text around says so."""
    integers = bool(_INTEGERS.search(text))
    if (float(low), float(high)) == (0.0, 1.0) and integers:
        return {"values": [0, 1]}

    numbers: dict[str, Any] = {"min": _plain(float(low)), "max": _plain(float(high))}
    return {**numbers, "integers": True} if integers else numbers


def _plain(number: float) -> int | float:
    return int(number) if number.is_integer() else number


def parse_scale(answer: str) -> dict[str, Any] | None:
    """Return the scale a user typed: `1-10`, `integers 1-7`, `0,0.5,1`, `yes=1,no=0`."""
    if re.fullmatch(rf"\s*{_NUMBER}(?:\s*,\s*{_NUMBER})+\s*", answer):
        return {"values": [_plain(float(value)) for value in answer.split(",")]}

    if "=" in answer:
        return _word_values(answer)

    match = _RANGE.search(answer)
    return _ranged(match[1], match[2], answer) if match else None


def _word_values(answer: str) -> dict[str, Any] | None:
    """Return a scale of words, `yes=1,no=0,n/a=none`; None where it is written otherwise."""
    words: dict[str, Any] = {}
    for pair in answer.split(","):
        word, _, value = pair.partition("=")
        if not word.strip() or not re.fullmatch(rf"{_NUMBER}|none|", value.strip()):
            return None

        number = value.strip()
        words[word.strip()] = None if number in {"", "none"} else _plain(float(number))

    return {"words": words}


# --------------------------------------------------------------------------------------------------
# The factors a published text asks for, with their scales, weights and the form of the answer.
# --------------------------------------------------------------------------------------------------

FactorData = dict[str, Any]
"""A factor as it stands in a dialog file."""

OVERALL_NAMES = {"all", "overall", "total"}

_OPPOSITES = (
    ("match", "mismatch"),
    ("yes", "no"),
    ("true", "false"),
    ("pass", "fail"),
    ("correct", "incorrect"),
    ("consistent", "inconsistent"),
    ("success", "failure"),
)
_TEXT_KEYS = re.compile(
    r"reason|explan|rationale|justif|analys|comment|descri|summar|evidence|feedback|thought|"
    r"think|detail|caption|notes?\b|brief|difference|observ|suggest|critique",
    re.IGNORECASE,
)
_SCORE_KEYS = re.compile(r"scor|rating|rate\b|grade|value\b", re.IGNORECASE)


@dataclass(slots=True)
class FoundFactors:
    """The factors of a prompt and, where the answer is JSON, its form."""

    factors: list[FactorData] = field(default_factory=list)
    form: dict[str, Any] | None = None


def factors_of_prompt(text: str) -> FoundFactors:
    """Return the factors that the output format of a prompt names; empty where none is found."""
    for look in (_from_list, _from_json, _from_lines, _from_criteria, _from_final_score):
        found = look(text)
        if found.factors:
            return found

    return FoundFactors()


# A list: output score = [naturalness, artifacts]

_LIST = re.compile(
    r"(?:score|scores|output|rating)s?[\"'”]?\s*[:=]\s*"
    r"\[(?P<names>\s*[A-Za-z][^\[\]\n]{2,120})\]",
    re.IGNORECASE,
)
_EXPLAINED = (
    r"[\"'‘’“”`]?{name}[\"'‘’“”`]?\s+(?:evaluates?|rates?|measures?|is|refers\s+to|indicates?|"
    r"represents?|reflects?)\s+(?:the\s+)?(?:degree\s+of\s+|level\s+of\s+|quality\s+of\s+)?"
    r"(?P<what>[a-z][\w -]{{2,60}}?)(?=\s+(?:and\s+[\"'‘“`]?score|of\s+the|in\s+the)|[.,;\n]|$)"
)


def _from_list(text: str) -> FoundFactors:
    """Return the factors of a list without names in the answer: `score = [naturalness, …]`."""
    matches = list(_LIST.finditer(text))
    if not matches:
        return FoundFactors()

    names = [name.strip(" \"'‘’“”`.") for name in matches[-1]["names"].split(",")]
    names = [name for name in names if re.fullmatch(r"[A-Za-z][\w -]*", name)]
    assigned = "=" in matches[-1][0].partition("[")[0]
    if not names or (len(names) == 1 and not assigned):
        return FoundFactors()  # "Score: [Your Score]" is a line, not a list

    if all(name.lower() in {"int", "float", "score", "number", "integer"} for name in names):
        names = [f"score_{place}" for place in range(1, len(names) + 1)]

    scale = scale_of(text)
    factors = []
    for name in names:
        key = slug(_explained(name, text) or name)
        factors.append({"key": key, "name": _title(key), "scale": scale})

    return FoundFactors(_unique(factors), {"list": _list_key(text)})


_HEADED = r"(?P<what>[A-Z][\w &/'’-]{{2,50}}?)\s*\(\s*(?:score|s|rating)[ _]?{number}\s*\)"
"""A heading that names the score: **Editing success (Score 1)**."""


def _explained(name: str, text: str) -> str:
    """Return what a bare name such as score1 stands for: "where 'score1' evaluates …"."""
    if not re.fullmatch(r"(?:score|s|rating)_?\d", name, re.IGNORECASE):
        return ""

    found = re.search(_EXPLAINED.format(name=re.escape(name)), text, re.IGNORECASE)
    found = found or re.search(_HEADED.format(number=name[-1]), text, re.IGNORECASE)
    return found["what"] if found else ""


def _list_key(text: str) -> str:
    found = re.search(r"[\"“](\w*(?:score|rating)\w*)[\"”]\s*:", text, re.IGNORECASE)
    return found[1] if found else "score"


# JSON


@dataclass(slots=True)
class _Node:
    """A key of the JSON a prompt shows, with its value as written or its own keys."""

    key: str
    value: str
    children: list[_Node] = field(default_factory=list)


_KEY = re.compile(r"[\"“'](?P<key>[A-Za-z][^\"“”'\n{}]{0,80}?)[\"”']\s*:")


def _from_json(text: str) -> FoundFactors:
    """Return the factors of the JSON a prompt shows; of several, those of the fullest."""
    best = FoundFactors()
    for block in _json_blocks(text):
        found = _factors_of_block(_nodes(block), text)
        if found.factors and len(found.factors) >= len(best.factors):
            best = found

    return best


def _json_blocks(text: str) -> list[str]:
    """Return the outermost passages in braces that hold keys; an unclosed last one too."""
    blocks = []
    depth = start = 0
    for place, letter in enumerate(text):
        if letter == "{":
            start = place if depth == 0 else start
            depth += 1
        elif letter == "}" and depth:
            depth -= 1
            if depth == 0:
                blocks.append(text[start : place + 1])

    if depth:
        blocks.append(text[start:])

    return [block for block in blocks if _KEY.search(block)]


def _nodes(block: str) -> list[_Node]:
    """Return the keys of a block as a tree, however carelessly the JSON is written."""
    roots: list[_Node] = []
    levels: dict[int, list[_Node]] = {}
    matches = list(_KEY.finditer(block))
    for number, match in enumerate(matches):
        end = matches[number + 1].start() if number + 1 < len(matches) else len(block)
        node = _Node(match["key"].strip(), block[match.end() : end].strip())
        before = block[: match.start()]
        # By braces alone: the JSON of prompts has comments, dots and placeholders in it.
        depth = before.count("{") - before.count("}")
        levels[depth] = siblings = levels.get(depth, [])
        siblings.append(node)
        above = levels.get(depth - 1)
        if above:
            above[-1].children.append(node)
        else:
            roots.append(node)

        # What stood deeper belonged to the key before.
        for deeper in [level for level in levels if level > depth]:
            del levels[deeper]

    return roots


def _factors_of_block(nodes: list[_Node], text: str) -> FoundFactors:
    """Return the factors among the keys of one JSON object, or of an object inside it."""
    # A list of checks, each with a score, holds as many as the judge likes: it is no factor.
    nodes = [node for node in nodes if not (node.children and node.value.startswith("["))]
    nested = [node for node in nodes if _score_child(node) is not None]
    if nested:
        return _nested(nested, text)

    flat = [node for node in nodes if not node.children and _is_score(node)]
    if flat:
        return _flat(flat, text)

    # {"evaluation": {"accuracy": {…}, …}}: the factors stand under one key.
    for node in nodes:
        if node.children:
            found = _factors_of_block(node.children, text)
            if found.factors:
                form = found.form if found.form is not None else {}
                found.form = {"under": node.key, **form}
                return found

    return FoundFactors()


def _score_child(node: _Node) -> _Node | None:
    for child in node.children:
        if normal(child.key) in {"score", "rating"} and not child.children:
            return child

    return None


def _nested(nodes: list[_Node], text: str) -> FoundFactors:
    """{"accuracy": {"score": 7, "reason": …}}"""
    scores = [(node, child) for node in nodes if (child := _score_child(node)) is not None]
    factors = [_factor(node.key, child.value, text) for node, child in scores]
    form: dict[str, Any] = {"number": scores[0][1].key}
    texts = [child.key for child in nodes[0].children if _is_text(child)]
    if texts:
        form["text"] = texts[0]

    words = _WORDS.search(text)
    if words:
        form["words"] = [int(words[1]), int(words[2])]

    return FoundFactors(_unique(factors), form)


_WORDS = re.compile(r"\b(\d{1,3})\s*(?:-|–|to)\s*(\d{1,3})\s+words\b", re.IGNORECASE)


def _flat(nodes: list[_Node], text: str) -> FoundFactors:
    """{"consistency_score": X, "reasoning": …}"""
    value = nodes[0].value
    if len(nodes) == 1 and value.startswith("[") and not _VALUE_LIST.match(value):
        return FoundFactors()  # a list of numbers that nothing names

    factors = []
    for node in nodes:
        factor = _factor(node.key, node.value, text)
        words = _word_scale(node.value)
        if words is not None:
            # A word may be worth no score, as "N/A" is; of the others the prompt must say it.
            open_words = [word for word in words if words[word] is None and not _is_nothing(word)]
            factor["scale"] = OPEN if open_words else {"words": words}

        factors.append(factor)

    return FoundFactors(_unique(factors))


_VALUE_LIST = re.compile(r"\[\s*\d")
_SCORE_LINE = re.compile(
    r"[\s\"'“”`*\[(<]*(?:-?\d+(?:\.\d+)?\b|[xXnN]{1,2}\b|\.\.\.|…|<|_{2,}|\?|int(?:eger)?\b|"
    r"float\b|number\b|an?\s+(?:integer|number|score|value)\b|your\b|the\s+score\b|insert\b|"
    r"score\b|rating\b|\[|,?\s*$)",
    re.IGNORECASE,
)


def _is_score(node: _Node) -> bool:
    """Whether a key of the answer takes a score rather than text."""
    if _word_scale(node.value) is not None:
        return True

    if _is_text(node) or re.match(r"\s*(?:true|false)\b", node.value, re.IGNORECASE):
        return False

    if _SCORE_KEYS.search(node.key):
        return True

    stripped = node.value.strip().rstrip(",}] \n`")
    quoted = re.match(r"[\"'“](.*)[\"'”]$", stripped, re.DOTALL)
    if quoted is not None:
        return scale_in_form(quoted[1]) != OPEN and len(quoted[1]) < 60

    if re.fullmatch(r"[\[(<{].*", stripped) and _TEXT_KEYS.search(stripped):
        return False

    return bool(stripped) and _SCORE_LINE.match(stripped) is not None


def _is_text(node: _Node) -> bool:
    # reasoning_score is a score, score_reason is not.
    is_score = re.search(r"(?:scores?|rating)$", node.key, re.IGNORECASE)
    return bool(_TEXT_KEYS.search(node.key)) and not is_score


def _word_scale(value: str) -> dict[str, int | None] | None:
    """Return the words of "MATCH | MISMATCH | N/A" with what they are worth, where clear."""
    stripped = re.sub(r"^[\s,\"'“”`<\[(]+|[\s,\"'“”`>\])}]+$", "", value)
    options = re.split(r"\s*\|\s*|\s+or\s+|(?<=\w)/(?=[A-Z]{2})", stripped)
    words = [option.strip(" \"'“”") for option in options]
    unlikely = [word for word in words if not re.fullmatch(r"[A-Za-z][A-Za-z /_-]{0,20}", word)]
    if len(words) < 2 or unlikely:
        return None

    # Only opposites that everybody would score alike; of other words the user is asked.
    plain = {word.lower() for word in words}
    for good, bad in _OPPOSITES:
        if {good, bad} <= plain:
            return {word: {good: 1, bad: 0}.get(word.lower()) for word in words}

    if all(word.isupper() for word in words) and "|" in stripped:
        return dict.fromkeys(words, None)

    return None


def _is_nothing(word: str) -> bool:
    return word.lower() in {"n/a", "na", "none", "unclear", "unknown", "not applicable"}


# Lines: Prompt Compliance: A number from 1 to 5.

_LINE = re.compile(
    r"^[ \t>*#•\-]*(?:\d+[.)]\s*)?[\"“]?[*_`]*"
    r"(?P<name>[A-Z][\w &/'’-]{1,60}?(?:\s*\([\w -]{1,12}\))?)"
    r"[*_`]*[\"”]?[ \t]*[*_`]*[ \t]*[:：][ \t]*[*_`]*[ \t]*(?P<value>[^\n]{1,80}?)[*_`.\s]*$",
    re.MULTILINE,
)
_LINE_VALUE = re.compile(
    r"[*_`\s]*(?:"
    r"an?\s+(?:integer|number|score|rating)\b.*"
    r"|[<\[({]\s*(?:your\s+|the\s+|insert\s+|a\s+|final\s+|overall\s+)*(?:\w+\s+)?"
    r"(?:int|integer|number|score|rating|value|x|n)\b[^\n]*[>\])}].*"
    r"|[<\[(]?\s*\d{1,3}\s*(?:-|–|to|~|,|\||or)\s*\d{1,3}"
    r"(?:\s*(?:,\s*or\b|,|\||or\b)\s*\d{1,3})*\s*[>\])]?(?:\s*points?)?"
    r"|[<\[(]?[XN]{1,2}[>\])]?(?:\s*/\s*\d+)?"
    r"|_{2,}|/\s*\d+"
    r")[*_`.\s]*",
    re.IGNORECASE,
)

_LEAD_IN = re.compile(
    r"^(?:please\s+)?(?:reply|respond|answer|return|output|write|end|finish|conclude|give|provide|"
    r"state|use)\s+(?:(?:only|just|exactly|it|finally|with|as|in|by|the|your|an?|this|form|format|"
    r"line)\s+)+",
    re.IGNORECASE,
)
"""What asks for the line rather than names the factor: `Reply with Score: X`."""


def _from_lines(text: str) -> FoundFactors:
    """Name: A number from 1 to 5. / **Final Score:** **X** / Score: [Your Score]"""
    factors: list[FactorData] = []
    for match in _LINE.finditer(text):
        name = _LEAD_IN.sub("", match["name"].strip(" *_"))
        if not _LINE_VALUE.fullmatch(match["value"]) or _no_factor_name(name):
            continue

        key = slug(re.sub(r"\s*\(.*\)$", "", name))
        if all(factor["key"] != key for factor in factors):
            scale = scale_in_form(match["value"])
            if scale == OPEN:
                scale = _scale_for(name, text)

            factors.append({"key": key, "name": name, "scale": scale})

    return FoundFactors(factors)


def _no_factor_name(name: str) -> bool:
    words = (
        r"(?:your|brief|short|the|detailed)?\s*"
        r"(?:reason\w*|explanation|rationale|analysis|comments?|"
        r"thoughts?|summary|justification|description|image\s*\w*|examples?|step\s*\w*|range|scale|"
        r"(?:editing\s+)?instructions?|inputs?|outputs?|notes?|numbers?|level|format|"
        r"evaluation\s+scale|scoring\s*\w*|metrics?|word\s+limit|length)"
    )
    return re.fullmatch(words, name.strip(), re.IGNORECASE) is not None


# Criteria in a list: "give two scores based on the following criteria: 1. … 2. …"

_COUNTS = {word: number for number, word in enumerate("two three four five six".split(), 2)}
_ANNOUNCED = re.compile(
    r"\b(?P<count>two|three|four|five|six|[2-9])\s+(?:[\w-]+\s+){0,3}"
    r"(?:scores|numbers|dimensions|aspects|metrics|criteria|perspectives|factors|ratings)\b"
    r"|\b(?:score|rate|grade)\s+each\s+\w+[^.\n]{0,30}?\d{1,3}\s*(?:-|–|to)\s*\d{1,3}",
    re.IGNORECASE,
)
_CRITERION = re.compile(
    r"^[ \t>]*(?:\(?(?:\d|[a-h])[.):]\)?|[-*•])\s*[*_]*(?P<name>[A-Z][\w &/'’-]{2,50}?)"
    r"(?:\s*\(\s*\d+\s*(?:-|–|to)\s*\d+\b[^()\n]{0,50}\)"
    r"|(?:\s*\([^()\n]{1,20}\))?[*_]*\s*(?::|—|–|\s-\s))",
    re.MULTILINE,
)


def _from_criteria(text: str) -> FoundFactors:
    """Return the factors of a numbered list that is announced as one of criteria."""
    for announced in _ANNOUNCED.finditer(text):
        count = announced["count"]
        wanted = _COUNTS.get(count.lower(), int(count) if count.isdigit() else 0) if count else 0
        names = _first_list(text[announced.end() :])
        if len(names) >= 2 and wanted in {0, len(names)}:
            factors = [
                {"key": slug(name), "name": name, "scale": _scale_for(name, text)} for name in names
            ]
            return FoundFactors(_unique(factors))

    return FoundFactors()


def _first_list(text: str) -> list[str]:
    """Return the names at the head of the first list's entries, until its numbering restarts."""
    names: list[str] = []
    seen: set[str] = set()
    for match in _CRITERION.finditer(text):
        mark = match[0].strip()[:2]
        if mark[:1] not in "-*•" and mark in seen:
            break

        seen.add(mark)
        names.append(match["name"].strip())

    return names


# A final score in prose

_ONE_SCORE = re.compile(
    r"\b(?:final|overall|single|a|one|the|integer|numerical|appropriate|precise)\s+"
    r"(?:\w+\s+)?(?:score|rating)\b|\b(?:score|rate|grade)\s+(?:the|this|it|how|each|from|on)\b",
    re.IGNORECASE,
)


def _from_final_score(text: str) -> FoundFactors:
    """A prompt that speaks of one score on one scale, and names no other form."""
    scale = scale_of(text)
    if scale == OPEN or not _ONE_SCORE.search(text):
        return FoundFactors()

    # "A second score …": more than one, of which nothing says how they are to be written.
    if re.search(r"\bsecond\s+(?:score|rating)\b", text, re.IGNORECASE):
        return FoundFactors()

    return FoundFactors([{"key": "score", "name": "Score", "scale": scale}])


# Factors and their scales


def _factor(key: str, value: str, text: str) -> FactorData:
    """Return the factor that a key of the answer stands for."""
    # Whatever follows the placeholder on its line, a comment perhaps, is about something else.
    scale = scale_in_form(value.strip().strip(",")[:60])
    if scale == OPEN:
        scale = _scale_for(key, text)

    # The overall is what the rule gives; the judge's own is a factor like any other.
    own = "overall_score" if key.lower() == OVERALL else _key(key)
    made = {"key": own, "name": _title(key), "scale": scale}
    if made["key"] != key:
        made["aliases"] = [key]

    return made


def _scale_for(key: str, text: str) -> Any:
    """Return the scale of one factor: as it stands beside its name, `Success (1-10)`, else from the
    section about it, else from the whole text."""
    beside = re.search(rf"\b{_spelt(key)}[*_`\"]*\s*\(([^()\n]{{1,60}})\)", text, re.IGNORECASE)
    if beside is not None and scale_in_form(beside[1]) != OPEN:
        return scale_in_form(beside[1])

    section = _section_about(key, text)
    if section != text:
        scale = scale_of(section)
        if scale != OPEN:
            return scale

    return scale_of(text)


def _spelt(name: str) -> str:
    """Return an expression for a name, with underscores or with spaces."""
    return r"[\s_-]*".join(map(re.escape, re.findall(r"[^\W_]+", name)))


_HEADING = re.compile(
    r"^\W*(?:(?:\(?\d+[.):]\)?|[A-D][.)]|factor|metric|sub-?metric|part|dimension|aspect)"
    r"\s*\d*\s*[:.)]?"
    r"|\#{1,6})\s*[*_]*(?P<name>[^\n(*]{3,70})",
    re.MULTILINE | re.IGNORECASE,
)


def _section_about(key: str, text: str) -> str:
    """Return the part of a prompt under the heading that names a factor; the whole if none does."""
    headings = list(_HEADING.finditer(text))
    wanted = normal(re.sub(r"[_\s-]*(?:score|rating)$", "", key, flags=re.IGNORECASE))
    if len(wanted) < 3:
        return text

    for number, heading in enumerate(headings):
        name = normal(heading["name"])
        if not name or not (name.startswith(wanted) or wanted.startswith(name)):
            continue

        end = _end_of_section(headings, number, text)
        # A heading with hardly anything below it does not describe the factor.
        section = text[heading.end() : end]
        if len(section) > 80:
            return section

    return text


def _end_of_section(headings: list[re.Match[str]], number: int, text: str) -> int:
    """Return where a section ends: at the next heading of its kind, or at a ruled line."""
    mark = headings[number][0].strip()[:1]
    end = len(text)
    for later in headings[number + 1 :]:
        same_kind = later[0].strip()[:1].isdigit() == mark.isdigit()
        # A heading right below is a title over the section's first part.
        if same_kind and later.start() > headings[number].end() + 40:
            end = later.start()
            break

    rule = re.compile(r"^\s*[-=_*]{4,}\s*$", re.MULTILINE).search(text, headings[number].end(), end)
    return rule.start() if rule else end


def _unique(factors: list[FactorData]) -> list[FactorData]:
    """Return the factors, a key that stands twice with a number behind it."""
    seen: set[str] = set()
    for factor in factors:
        key = factor["key"]
        number = 2
        while factor["key"] in seen:
            factor["key"] = f"{key}_{number}"
            number += 1

        seen.add(factor["key"])

    return factors


def slug(name: str) -> str:
    """Return a name as a factor's key."""
    made = re.sub(r"\W+", "_", name.strip().lower()).strip("_")
    return made if made[:1].isalpha() else f"factor_{made}".strip("_")


def _key(key: str) -> str:
    """Return a JSON key as the key of a factor: as it is, where that is one."""
    if re.fullmatch(r"[A-Za-z]\w*", key):
        return key

    return re.sub(r"\W+", "_", key).strip("_") or "factor"


def _title(key: str) -> str:
    return key.replace("_", " ").title() if key.islower() else key.replace("_", " ")


def answered_factors(answers: Mapping[str, str], text: str) -> list[FactorData]:
    """Return the factors that a user names, on the scale the text states; none unanswered."""
    names = [name.strip() for name in answers.get("factors", "").split(",") if name.strip()]
    stated = {factor["key"]: factor["scale"] for factor in factors_of_prompt(text).factors}
    return [
        {"key": slug(name), "name": name, "scale": stated.get(slug(name)) or _scale_for(name, text)}
        for name in names
    ]


def open_scales(factors: list[FactorData]) -> Mapping[str, str]:
    """Return the question for each factor whose scale the document does not state."""
    questions = {}
    for factor in factors:
        if factor["scale"] == OPEN:
            key = factor["key"]
            questions[f"scale.{key}"] = (
                f"which scores may {key} take? For example 1-10, integers 1-7, or 0,1"
            )

    return questions


# Which end of a scale is good.

_LOWER_IS_BETTER = re.compile(
    r"\b(?:lower|smaller|fewer|less)\b[^.;\n]{0,30}?\b(?:better|best|preferable|preferred)\b"
    r"|\b(?:higher|larger|greater|more)\b[^.;\n]{0,30}?\b(?:worse|worst)\b",
    re.IGNORECASE,
)
_HIGHER_IS_BETTER = re.compile(
    r"\b(?:higher|larger|greater|more)\b[^.;\n]{0,30}?\b(?:better|best|preferable|preferred)\b"
    r"|\b(?:lower|smaller|fewer|less)\b[^.;\n]{0,30}?\b(?:worse|worst)\b",
    re.IGNORECASE,
)
_END_NAMED = re.compile(
    rf"(?<![\d.])({_NUMBER})\s*(?:[=:(]|is|being|means|for)\s*(?:the\s+)?(best|perfect|ideal|worst)\b",
    re.IGNORECASE,
)


def lower_is_better(factors: list[FactorData], text: str) -> dict[str, bool]:
    """Return the factors of which a text says that lower scores are better, and whether it is sure.

    It is where the text names the factor, or asks for no other, and nowhere calls high scores of it
    better.

    It speaks of the factor that it named last, among all it asks for, else of the one that its line
    names next.
    """
    keys: dict[str, bool] = {}
    asked = factors_of_prompt(text).factors
    high: set[str] = set()
    for said in _HIGHER_IS_BETTER.finditer(text):
        named = {factor["key"] for factor in _meant([*factors, *asked], text, said)}
        high |= named if len(named) == 1 else set()

    for said in [*_LOWER_IS_BETTER.finditer(text), *_END_NAMED.finditer(text)]:
        meant = _meant([*factors, *asked], text, said)
        single = len({factor["key"] for factor in meant}) == 1
        for factor in meant:
            key = factor["key"]
            if _is_low(said, factor["scale"]):
                keys[key] = single and key not in high and keys.get(key, True)

    return {factor["key"]: keys[factor["key"]] for factor in factors if factor["key"] in keys}


def _is_low(said: re.Match[str], scale: Any) -> bool:
    """Whether words such as `0 = best` or `10 is worst` put the good end of a scale at its foot."""
    if said.re is not _END_NAMED:
        return True

    ends = [scale.get("min"), scale.get("max")] if isinstance(scale, dict) else []
    if not ends or None in ends:
        return False

    return bool(float(said[1]) == ends[said[2].lower() == "worst"])


def _meant(factors: list[FactorData], text: str, said: re.Match[str]) -> list[FactorData]:
    """Return the factor that a passage speaks of; all of them where it names none."""
    rest_of_line = text[said.end() :].partition("\n")[0]
    places: list[tuple[int, FactorData]] = []
    after: list[tuple[int, FactorData]] = []
    for factor in factors:
        name = re.compile(rf"(?<![^\W_]){_spelt(factor.get('name') or factor['key'])}", re.I)
        places += [(found.start(), factor) for found in name.finditer(text, 0, said.start())]
        after += [(-found.start(), factor) for found in name.finditer(rest_of_line)]

    nearest = max(places or after, key=lambda each: each[0], default=None)
    return factors if nearest is None else [nearest[1]]


# Chats: factors by symbols such as S_acc

_SYMBOL = re.compile(r"\bS(?:\\?_)\{?\s*(?:\\text\{)?([A-Za-z]{2,12})\}*")
_NAMED = re.compile(
    r"^\s*(?:[-*]|\d+[.)])\s*\**([A-Z][A-Za-z][\w /&-]{2,40}?)\**\s*(?:\([^()\n]*\))?\s*\**:",
    re.MULTILINE,
)
_TERM = re.compile(
    r"(\d+(?:\.\d+)?)\s*(?:\*|×|·|\\times|\\cdot)?\s*\$?\s*S(?:\\?_)\{?\s*([A-Za-z]{2,12})"
)


def factors_of_chat(text: str) -> list[FactorData]:
    """Return the factors a chat names by symbols such as S_acc, with weights and scale."""
    found = dict.fromkeys(_SYMBOL.findall(text))
    symbols = [key for key in found if key.lower() not in OVERALL_NAMES]
    names = [name.strip() for name in dict.fromkeys(_NAMED.findall(text))]
    weights = {key: float(weight) for weight, key in _TERM.findall(text)}
    keys = symbols or [slug(name) for name in names]
    # Symbols and names are listed in the same order, if there is a name for each.
    titles = dict(zip(keys, names, strict=False)) if len(names) >= len(keys) else {}

    scale = scale_of(text)
    factors = []
    for key in keys:
        factor: FactorData = {"key": key}
        if key in titles:
            factor["name"] = titles[key]

        if symbols:
            factor["symbol"] = f"S_{key}"

        factor["scale"] = scale
        if key in weights:
            factor["weight"] = weights[key]

        factors.append(factor)

    return factors
