"""Write the page: gather, draw, fill the template, put the file in place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lmmscore.agreement import Agreement
from lmmscore.errors import FileProblem
from lmmscore.report.page.album import PAGE_OF, Album, beside, embedded, sensible_px
from lmmscore.report.page.gathering import Gathered, gather
from lmmscore.report.page.inert import inert_json, policy
from lmmscore.report.page.judged import Judged
from lmmscore.report.page.making import this_page

STYLES = ("page.css",)
SCRIPTS = (
    "data.js",
    "theme.js",
    "leaderboard.js",
    "compare.js",
    "gallery.js",
    "dialogue.js",
    "route.js",
)


class Counting(Protocol):
    """Shows how far the work is: entered with what is done and how much of it, it gives a function that counts."""

    def __call__(self, what: str, total: int) -> AbstractContextManager[Any]:
        """Begin to count."""


def _silently(what: str, total: int) -> AbstractContextManager[Any]:  # noqa: ARG001
    return nullcontext(lambda: None)


@dataclass(frozen=True)
class Wish:
    """What the page is to be like."""

    out: Path
    agreement: Agreement | None = None
    renames: dict[str, str] = field(default_factory=dict)
    """Factors that the agreement knows by another name."""
    assets: bool = False
    """Pictures in a folder beside the page instead of inside it."""
    thumb_px: int | None = None
    """Longest side of a thumbnail; None: what is sensible for so many."""
    command: str = ""
    counting: Counting = _silently


def write_report(runs: Sequence[Judged], wish: Wish) -> Path:
    """Write the page about one or several runs, and return its file. Raises FileProblem."""
    # Before the work, not after it; and a bare `.` has no name to put the assets or the unfinished page beside.
    if wish.out.is_dir():
        raise FileProblem(
            f"{wish.out}: is a folder; name the page, for example {wish.out / 'report.html'}"
        )
    album = Album()
    gathered = gather(runs, album, wish.agreement, wish.renames)
    thumb_px = wish.thumb_px or sensible_px(len(album))
    pictures = _pictures(album, thumb_px, wish)
    environment = _environment()
    styles, scripts = (
        [_source(environment, name) for name in names] for names in (STYLES, SCRIPTS)
    )
    text = environment.get_template("page.html.j2").generate(
        page=gathered,
        policy=policy(styles, scripts, assets=wish.assets),
        styles=[Markup(code) for code in styles],
        scripts=[Markup(code) for code in scripts],
        core=_core(gathered, wish.assets),
        pictures=pictures,
        this_page=this_page(wish.command, thumb_px),
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    return _put(text, wish.out)


def _pictures(album: Album, thumb_px: int, wish: Wish) -> list[list[str]]:
    with wish.counting("thumbnails", len(album)) as count:
        thumbnails = album.thumbnails(thumb_px, count)
        if wish.assets:
            return beside(thumbnails, wish.out.with_name(f"{wish.out.stem}_assets"))
        return embedded(thumbnails)


def _core(gathered: Gathered, assets: bool) -> dict[str, Any]:
    """Return what the page needs at once; everything else waits in bundles until it is looked at."""
    return {
        "runs": [view.data for view in gathered.views],
        "items": [view.items for view in gathered.views],
        "talks": gathered.talk_list,
        "copies": gathered.copies,
        "assets": assets,
        "bundle": PAGE_OF,
    }


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("lmmscore.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["inert"] = inert_json
    return environment


def _source(environment: Environment, name: str) -> str:
    """Return a style sheet or script of ours, as the browser will see it: that is what its digest is made of."""
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0].strip()


def _put(text: Iterable[str], out: Path) -> Path:
    part = out.with_name(out.name + ".part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.writelines(text)
        part.replace(out)
    except OSError as error:
        raise FileProblem(
            f"{out}: cannot be written ({error.strerror or error}); give another --out"
        ) from error
    return out
