"""The rating page as a folder: for any web space, or a USB stick.

The folder holds letters, random names and pictures. The key from letters to methods stays in the
study's database.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup

from lmmscore.errors import FileProblem, LmmscoreError
from lmmscore.web.database import Assignment, Rater
from lmmscore.web.pages import asset, inline_policy, markdown, render
from lmmscore.web.pictures import SUFFIX, prepared
from lmmscore.web.rating import RatingStudy
from lmmscore.web.study import letters

STYLES = ("base.css", "rate.css")
SCRIPTS = ("theme.js", "rate_viewer.js", "rate_store.js", "rate.js")
"""In the order of their imports: the page from a disk cannot import, so they become one script."""

_IMPORT = re.compile(r"^import .*;$", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


def write_static(
    rating: RatingStudy, raters: Sequence[Rater], folder: Path, post: str, count: Callable[[], None]
) -> Path:
    """Write the page, its pictures and every rater's share; return the page's file."""
    _refuse_foreign(folder)
    shares = {str(rater.number): _share(rating, rater) for rater in raters}
    data = {
        "id": rating.study.id,
        "study": rating.questions(),
        "post": post,
        "raters": shares,
    }
    page = _page(rating.study.instructions, data, post)
    names = {name for share in shares.values() for name in _pictures(share)}
    try:
        (folder / "images").mkdir(parents=True, exist_ok=True)
        for name in sorted(names):
            _write_picture(rating, name, folder / "images" / f"{name}{SUFFIX}")
            count()
        (folder / "index.html").write_text(page, encoding="utf-8")
    except OSError as error:
        raise FileProblem(f"{folder}: {error.strerror or error}; name another folder") from error
    return folder / "index.html"


def _refuse_foreign(folder: Path) -> None:
    if not folder.is_dir():
        return
    foreign = [path.name for path in folder.iterdir() if path.name not in ("index.html", "images")]
    if foreign:
        raise FileProblem(
            f"{folder}: holds other files ({', '.join(sorted(foreign)[:3])}); "
            "name an empty folder, since all of it goes to the raters"
        )


def post_origin(address: str) -> str:
    """Return the origin of the address answers are sent to. Raises for what is no web address."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.username:
        raise LmmscoreError(f"--post: {address!r} is not an http or https address")
    return f"{parts.scheme}://{parts.netloc}"


def one_script(names: Sequence[str]) -> str:
    """Return our modules as one: imports taken out, exports made plain."""
    joined = "\n\n".join(asset(name) for name in names)
    return _EXPORT.sub("", _IMPORT.sub("", joined)).strip()


def _page(instructions: str, data: dict[str, Any], post: str) -> str:
    styles = [asset(name) for name in STYLES]
    script = one_script(SCRIPTS)
    connect = post_origin(post) if post else ""
    inline = {
        # From a disk, `self` is nobody: pictures beside the page are files.
        "policy": inline_policy(styles, [script], "'self' file:", connect),
        "styles": [Markup(code) for code in styles],
        "script": Markup(script),
        "data": data,
    }
    values = {"instructions": markdown(instructions), "base": "", "inline": inline}
    return render("rate.html.j2", values)


def _share(rating: RatingStudy, rater: Rater) -> dict[str, Any]:
    """Return all screens of a rater, given out at once as if every earlier rater finished."""
    given = rating.hand_out(rater, ahead=10**6)
    return {
        "name": rater.id,
        "code": rater.code,
        "screens": [_screen(rating, each) for each in given],
    }


def _screen(rating: RatingStudy, assignment: Assignment) -> dict[str, Any]:
    screen = rating.screen(assignment, [])
    kept = ("id", "practice", "task", "instruction", "given", "slots", "revision")
    made = {name: screen[name] for name in kept}
    return made | _expected(rating, assignment) if screen["practice"] else made


def _expected(rating: RatingStudy, assignment: Assignment) -> dict[str, Any]:
    practice = next(p for p in rating.study.practice if p.item == assignment.subject.item)
    names = letters(len(assignment.shown))
    expect = [
        [letter, key, low, high]
        for letter, shown in zip(names, assignment.shown, strict=True)
        for key, (low, high) in practice.expect.get(shown.method, {}).items()
    ]
    return {"expect": expect, "told": practice.feedback}


def _pictures(share: dict[str, Any]) -> set[str]:
    found = set()
    for screen in share["screens"]:
        found |= {each["picture"] for each in (*screen["given"], *screen["slots"])}
    return found


def _write_picture(rating: RatingStudy, name: str, path: Path) -> None:
    if path.is_file():
        return
    wanted = rating.picture_of(name)
    path.write_bytes(prepared(wanted, rating.study.max_side_px))
