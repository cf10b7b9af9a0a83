"""How long the justifications in a JSON reply are. Noted, never enforced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lmmscore.dialog import JsonForm
from lmmscore.parsing import json_values
from lmmscore.parsing.names import normal
from lmmscore.scales import Factor


def length_notes(reply: str, form: JsonForm | None, factors: Sequence[Factor]) -> tuple[str, ...]:
    """Return a note for every justification that is shorter or longer than the dialog asks for."""
    if form is None or form.lengths is None or not form.text:
        return ()
    least, most = form.lengths
    texts: dict[str, str] = {}
    for value in json_values(reply):
        texts |= dict(
            _texts(value, form.text, {normal(factor.key): factor.key for factor in factors})
        )
    counts = {key: len(text.split()) for key, text in texts.items()}
    return tuple(
        f"the {form.text} of {key} has {count} words; {least} to {most} were asked for"
        for key, count in counts.items()
        if not least <= count <= most
    )


def _texts(value: Any, text_key: str, factors: dict[str, str]) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for inner in value:
            yield from _texts(inner, text_key, factors)
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        factor = factors.get(normal(str(key)))
        if factor is not None and isinstance(inner, dict):
            said = next(
                (text for name, text in inner.items() if normal(str(name)) == normal(text_key)),
                None,
            )
            if isinstance(said, str):
                yield factor, said
        else:
            yield from _texts(inner, text_key, factors)
