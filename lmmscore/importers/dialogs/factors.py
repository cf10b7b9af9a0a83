"""What a published text says of its factors, scales and weights. What it does not say is left open."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lmmscore.parsing.names import normal
from lmmscore.scales import OPEN

_NUMBER = r"\d+(?:\.\d+)?"
_RANGE = re.compile(
    rf"\b(?:from|between|scale\s+of|range\s+of|score\s+of)?\s*({_NUMBER})\s*(?:-|–|to|and|_to_)\s*({_NUMBER})\b",
    re.IGNORECASE,
)
_STATED_RANGE = re.compile(
    rf"(?:rang(?:e|es|ing)|scale|scores?|rat(?:e|ing))[^.\n]{{0,40}}?\b({_NUMBER})\s*(?:-|–|to|and)\s*({_NUMBER})\b"
    rf"|\b(?:from|between)\s+({_NUMBER})\s+(?:to|and)\s+({_NUMBER})\b",
    re.IGNORECASE,
)
_INTEGERS = re.compile(
    r"\bintegers?\b|\bwhole\s+numbers?\b|decimal\s+values\s+are\s+not\s+allowed", re.IGNORECASE
)
_SCORE_VALUE = re.compile(
    rf"\bscore\s*(?:=|of|:)?\s*({_NUMBER})(?![\d.]*\s*(?:-|–|to\b))", re.IGNORECASE
)
_SYMBOL = re.compile(r"\bS(?:\\?_)\{?\s*(?:\\text\{)?([A-Za-z]{2,12})\}*")
_NAMED = re.compile(
    r"^\s*(?:[-*]|\d+[.)])\s*\**([A-Z][A-Za-z][\w /&-]{2,40}?)\**\s*(?:\([^()\n]*\))?\s*\**:",
    re.MULTILINE,
)
_TERM = re.compile(
    rf"({_NUMBER})\s*(?:\*|×|·|\\times|\\cdot)?\s*\$?\s*S(?:\\?_)\{{?\s*([A-Za-z]{{2,12}})"
)
_FACTOR_KEY = re.compile(
    r"[\"“](?P<key>\w[\w -]*)[\"”]\s*:\s*\{(?P<body>[^{}]*[\"“](?:score|rating)[\"”][^{}]*)\}"
)
_WRAPPER = re.compile(r"[\"“](\w+)[\"”]\s*:\s*\{\s*$")
_WORDS = re.compile(r"\b(\d{1,3})\s*(?:-|–|to)\s*(\d{1,3})\s+words\b", re.IGNORECASE)

OVERALL_NAMES = {"all", "overall", "total"}


def factors_of_chat(text: str) -> list[dict[str, Any]]:
    """Return the factors a chat asks for by symbols such as S_acc, with names, weights and scale."""
    symbols = [
        key for key in dict.fromkeys(_SYMBOL.findall(text)) if key.lower() not in OVERALL_NAMES
    ]
    names = [name.strip() for name in dict.fromkeys(_NAMED.findall(text))]
    weights = {key: float(weight) for weight, key in _TERM.findall(text)}
    named = dict(zip(symbols, names, strict=False)) if len(names) >= len(symbols) else {}
    keys = symbols or [slug(name) for name in names]
    titles = named or dict(zip(keys, names, strict=False))
    scale = scale_of(text)
    return [
        {
            "key": key,
            **({"name": titles[key]} if key in titles else {}),
            **({"symbol": f"S_{key}"} if symbols else {}),
            "scale": scale,
            **({"weight": weights[key]} if key in weights else {}),
        }
        for key in keys
    ]


def factors_of_json(text: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the factors named in a prompt's JSON block, and the form of that block."""
    found = list(_FACTOR_KEY.finditer(text))
    keys = list(dict.fromkeys(match["key"] for match in found))
    bodies = {match["key"]: match["body"] for match in found}
    factors = [
        {"key": _key(key), "name": _title(key), "scale": _scale_for(key, bodies[key], text)}
        for key in keys
    ]
    form: dict[str, Any] = {"number": "score"}
    wrapper = _WRAPPER.search(text[: found[0].start()]) if found else None
    if wrapper is not None:
        form["under"] = wrapper[1]
    others = re.findall(r"[\"“](\w+)[\"”]\s*:", bodies[keys[0]]) if keys else []
    texts = [other for other in others if normal(other) not in {"score", "rating"}]
    if texts:
        form["text"] = texts[0]
    words = _WORDS.search(text)
    if words:
        form["words"] = [int(words[1]), int(words[2])]
    return factors, form


def _scale_for(key: str, body: str, text: str) -> Any:
    """Return the scale of one factor: from its place in the JSON, its own section, or the whole text."""
    placeholder = re.search(r"[\"“](?:score|rating)[\"”]\s*:\s*[\"“]?<([^<>]*)>", body)
    if placeholder is not None:
        inside = placeholder[1].replace("_", " ")
        match = _RANGE.search(inside)
        if match is not None:
            return _ranged(match[1], match[2], bool(_INTEGERS.search(inside)))
    section = _section_about(key, text)
    values = sorted({float(value) for value in _SCORE_VALUE.findall(section)})
    if len(values) >= 2:
        return {"values": [int(value) if value.is_integer() else value for value in values]}
    return scale_of(text)


def _section_about(key: str, text: str) -> str:
    """Return the part of a prompt under the heading that names a factor; the whole prompt where none does."""
    headings = list(
        re.finditer(
            r"^\W*(?:\d+[.):]|factor\s+\d+\s*:?|metric\s+\d+\s*:?)\s*(?P<name>[^\n(]+)",
            text,
            re.M | re.I,
        )
    )
    for number, heading in enumerate(headings):
        if normal(heading["name"]).startswith(normal(key)) or normal(key).startswith(
            normal(heading["name"])
        ):
            end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
            rule = re.compile(r"^\s*[-=_*]{4,}\s*$", re.MULTILINE).search(text, heading.end(), end)
            return text[heading.end() : rule.start() if rule else end]
    return text


def scale_of(text: str) -> Any:
    """Return the one range of scores the text states, or an open question."""
    found = {(m[1] or m[3], m[2] or m[4]) for m in _STATED_RANGE.finditer(text)}
    found = {(low, high) for low, high in found if float(low) < float(high) <= 100}
    if len(found) != 1:
        return OPEN
    low, high = found.pop()
    return _ranged(low, high, bool(_INTEGERS.search(text)))


def _ranged(low: str, high: str, integers: bool) -> dict[str, Any]:
    numbers = {"min": _plain(low), "max": _plain(high)}
    return {**numbers, "integers": True} if integers else numbers


def _plain(number: str) -> int | float:
    return float(number) if "." in number else int(number)


def parse_scale(answer: str) -> dict[str, Any] | None:
    """Return the scale a user typed: `1-10`, `integers 1-7`, `0,0.5,1`."""
    if re.fullmatch(rf"\s*{_NUMBER}(?:\s*,\s*{_NUMBER})+\s*", answer):
        return {"values": [_plain(value.strip()) for value in answer.split(",")]}
    match = _RANGE.search(answer)
    return _ranged(match[1], match[2], bool(_INTEGERS.search(answer))) if match else None


def slug(name: str) -> str:
    """Return a name as a factor's key."""
    return re.sub(r"\W+", "_", name.strip().lower()).strip("_") or "factor"


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z]\w*", key) else slug(key)


def _title(key: str) -> str:
    return key.replace("_", " ").title() if key.islower() else key.replace("_", " ")


def open_scales(factors: list[dict[str, Any]]) -> Mapping[str, str]:
    """Return the question for each factor whose scale the document does not state."""
    return {
        f"scale.{factor['key']}": f"which scores may {factor['key']} take? For example 1-10, integers 1-7, or 0,1"
        for factor in factors
        if factor["scale"] == OPEN
    }
