from __future__ import annotations

import json

import jsonschema
import pytest

from lmmscore.conversation import JsonForm, reply_schema
from lmmscore.dialog import load_dialog
from lmmscore.errors import DialogError
from lmmscore.plan import load_protocol
from lmmscore.scales import Factor, Scale


def test_the_schema_admits_exactly_the_scale() -> None:
    """Structured output can hold a judge to whole numbers from 1 to 7, all twelve factors."""
    dialog = load_dialog("factors-12")
    form = dialog.turns[0].form
    assert form is not None
    schema = json.loads(
        reply_schema(form, dialog.factors, dialog.setting_values({"against": "source"}))
    )
    good = {
        "online_factor_results": {
            f.key: {"score": 7, "justification": "Clear."} for f in dialog.factors
        }
    }
    jsonschema.validate(good, schema)
    for wrong in (8, 6.5, "7"):
        good["online_factor_results"]["alignment"]["score"] = wrong
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(good, schema)


def test_values_are_enumerated() -> None:
    """0.5 is possible for the second metric only."""
    dialog = load_dialog("visual-adherence")
    form = dialog.turns[0].form
    assert form is not None
    schema = json.loads(reply_schema(form, dialog.factors, {}))
    enums = [
        schema["properties"][factor.key]["properties"]["score"]["enum"] for factor in dialog.factors
    ]
    assert enums == [[0, 1], [0, 0.5, 1], [0, 1]]


def test_a_dialog_in_prose_cannot_be_structured() -> None:
    """lmm-score asks for prose; holding it to a schema would be another protocol."""
    with pytest.raises(DialogError, match="prose"):
        load_protocol("lmm-score", {}, structured=True)


def test_whole_numbers_lie_within_the_ends_of_the_scale() -> None:
    """Of 0.5 to 3.5 the whole numbers are 1 to 3: a judge is not offered a score off the scale."""
    scale = Scale.model_validate({"min": 0.5, "max": 3.5, "integers": True})
    schema = json.loads(reply_schema(JsonForm(), [Factor(key="acc", scale=scale)], {}))
    assert schema["properties"]["acc"]["properties"]["score"]["enum"] == [1, 2, 3]
