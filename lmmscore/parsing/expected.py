"""The score a judge would give on average, from the probabilities of its own words.

A server may report, for each token of a reply, the likeliest tokens in its place. Where a score is
one token of an integer scale, their mean, weighted by probability, is the expected score. It stands
beside the stated one and never replaces it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from lmmscore.parsing import Reading
from lmmscore.records import Reply
from lmmscore.scales import Factor, Scale

LIKELY = 0.01
"""A first digit at least so likely, of a number that may go on, leaves the expected score open."""

Cell = tuple[int, str]


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
    """Return a token as a server sends it; the ledger keeps only those with a digit, and shorter."""
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
