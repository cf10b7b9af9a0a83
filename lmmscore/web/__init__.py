"""Pages for people: one on which human raters rate edits, one on which to watch a run.

What every page is made of, the report too, is here: templates, data that stays data, and a policy
for the browser.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

if TYPE_CHECKING:
    from jinja2 import Environment

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


_FORBIDDEN = {
    "base-uri": "'none'",
    "form-action": "'none'",
    # Even our own code cannot turn a text into markup.
    "require-trusted-types-for": "'script'",
    "trusted-types": "'none'",
}


def policy(**allowed: str) -> str:
    """Return a Content-Security-Policy; `img_src` and the like say what is not forbidden."""
    given = {name.replace("_", "-"): sources for name, sources in allowed.items()}
    directives = {"default-src": "'none'"} | given | _FORBIDDEN | given
    return "; ".join(f"{name} {sources}" for name, sources in directives.items())


def inline_policy(styles: Sequence[str], scripts: Sequence[str], **allowed: str) -> str:
    """Return the policy of a page that is one file: its own code, known by digest, may run."""
    style_src = " ".join(map(digest_source, styles))
    script_src = " ".join(map(digest_source, scripts))
    return policy(**allowed, style_src=style_src, script_src=script_src)


def page_templates(package: str, folder: str) -> Environment:
    """Return the templates of a package: texts are escaped, and a missing value is an error."""
    # Reading ratings imports this package too, and fills no template.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package, folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["inert"] = inert_json
    return environment
