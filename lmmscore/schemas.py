"""The JSON schema of a reply, derived from the factors: what a judge with structured output is held to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lmmscore.dialogs import JsonForm
from lmmscore.scales import Factor, Scale
from lmmscore.templates import fill


def reply_schema(form: JsonForm, factors: Sequence[Factor], slots: Mapping[str, str]) -> str:
    """Return the schema as JSON text: every factor, only scores on its scale, and its justification."""
    made = _object({factor.key: _factor(factor, form) for factor in factors})
    under = fill(form.under, slots, "form.under")
    return json.dumps(_object({under: made}) if under else made)


def _factor(factor: Factor, form: JsonForm) -> dict[str, Any]:
    # The justification first: a judge that has given its reasons scores after them.
    parts: dict[str, Any] = {form.text: {"type": "string"}} if form.text else {}
    return _object({**parts, form.number: _number(factor.scale)})


def _number(scale: Scale) -> dict[str, Any]:
    if scale.values:
        return {"type": "number", "enum": [float(value) for value in scale.values]}
    if scale.integers:
        return {"type": "integer", "enum": list(range(int(scale.low), int(scale.high) + 1))}
    return {"type": "number", "minimum": float(scale.low), "maximum": float(scale.high)}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
