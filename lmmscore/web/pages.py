"""Templates, style sheets and scripts of the pages, and the headers that keep foreign code out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from lmmscore.report.page.markup import digest_source, inert_json

ASSETS = Path(__file__).parent / "assets"

TYPES = {".css": "text/css", ".js": "text/javascript"}

_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Robots-Tag": "noindex",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "'none'",
}


def security_headers() -> dict[str, str]:
    """Return what every response carries: nothing runs but our own files, nothing is kept."""
    policy = "; ".join(f"{name} {value}" for name, value in _POLICY.items())
    return {**_ALWAYS, "Content-Security-Policy": policy}


def inline_policy(
    styles: Sequence[str], scripts: Sequence[str], pictures: str, connect: str
) -> str:
    """Return the policy of a page that is one file: its own code is known by digest."""
    given = {
        "default-src": "'none'",
        "script-src": " ".join(map(digest_source, scripts)),
        "style-src": " ".join(map(digest_source, styles)),
        "img-src": pictures,
        "connect-src": connect or "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in given.items())


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("lmmscore.web", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["inert"] = inert_json
    return environment


def render(template: str, values: Mapping[str, Any]) -> str:
    """Return a page."""
    return _environment().get_template(template).render(**values)


def asset(name: str) -> str:
    """Return a style sheet or script of ours."""
    return (ASSETS / name).read_text(encoding="utf-8").strip()


def asset_names() -> frozenset[str]:
    """Return the files a browser may ask for."""
    return frozenset(path.name for path in ASSETS.iterdir() if path.suffix in TYPES)


def markdown(text: str) -> Markup:
    """Return Markdown as HTML. HTML in it is shown, not obeyed; pictures are not fetched."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    return Markup(reader.render(text))
