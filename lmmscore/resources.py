"""What comes with lmmscore: its version, and data in the installed package or beside a checkout."""

from __future__ import annotations

from pathlib import Path

from lmmscore.errors import FileProblem, alternatives

__version__ = "0.1.0"
"""The one place where the version is written."""

_IN_CHECKOUT = {"dialogs": "dialogs", "media": "media", "published": "results/published"}
_PACKAGE = Path(__file__).resolve().parent


def bundled(kind: str) -> Path:
    """Return the folder of bundled `dialogs`, `media` or `published` figures."""
    if kind not in _IN_CHECKOUT:
        raise FileProblem(f"nothing bundled is called {kind!r}{alternatives(kind, _IN_CHECKOUT)}")

    # The wheel's copy first: a folder called `media` next to site-packages is not ours.
    for folder in (_PACKAGE / "_data" / kind, _PACKAGE.parent / _IN_CHECKOUT[kind]):
        if folder.is_dir():
            return folder

    raise FileProblem(f"the bundled {kind} are missing from {_PACKAGE}; install lmmscore again")
