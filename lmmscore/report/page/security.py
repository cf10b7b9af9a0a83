"""Data and code inside the page: data that cannot run, code that is known by its digest."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

# None of these can then end the element it stands in, open another, or end a line of a script.
_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def inert_json(data: Any) -> Markup:
    """Return data as JSON that can stand inside a script element whatever its texts hold."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.translate(_ESCAPES))


def digest_source(code: str) -> str:
    """Return the source expression that lets exactly this code run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


def policy(styles: Sequence[str], scripts: Sequence[str], *, assets: bool) -> str:
    """Return the Content-Security-Policy: nothing is fetched, and nothing runs but our own code."""
    pictures = "img-src data: 'self'" if assets else "img-src data:"
    return "; ".join(
        [
            "default-src 'none'",
            pictures,
            f"style-src {' '.join(map(digest_source, styles))}",
            f"script-src {' '.join(map(digest_source, scripts))}",
            "base-uri 'none'",
            "form-action 'none'",
            # Even our own code cannot turn a text into markup.
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )
