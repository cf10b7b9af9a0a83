"""How it was made: versions, digests, parameters and the exact command to make it again."""

from __future__ import annotations

import hashlib
import json
import platform
import shlex
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from lmmscore import __version__
from lmmscore.report.page.judged import Judged

PACKAGES = ("numpy", "scipy", "pandas", "pillow", "openai")
FILES = ("run.yaml", "sessions.jsonl", "scores.csv", "ledger.sqlite")


def making(judged: Judged) -> list[tuple[str, str]]:
    """Return how a run was made: name and value."""
    settings = judged.settings
    parameters = json.dumps(settings.get("parameters") or {}, sort_keys=True, ensure_ascii=False)
    chosen = ", ".join(
        f"{name}={choice}" for name, choice in (settings.get("settings") or {}).items()
    )
    found = [
        ("Run again with", settings.get("command") or command_of(settings, judged.run.path)),
        ("lmmscore of the run", settings.get("lmmscore", "")),
        ("Judge", settings.get("judge", "")),
        ("Models that answered", ", ".join(settings.get("models") or ())),
        ("Parameters", parameters),
        (
            "Dialog",
            f"{settings.get('dialog')} v{settings.get('dialog_version')}"
            + (f", {chosen}" if chosen else ""),
        ),
        ("Digest of the dialog", settings.get("dialog_digest") or ""),
        ("Pictures as sent", settings.get("image_recipe", "")),
        ("Overall score", overall_rule(settings)),
        *((f"SHA-256 of {name}", digest) for name, digest in _digests(judged).items()),
    ]
    return [(name, str(value)) for name, value in found if value]


def overall_rule(settings: Mapping[str, Any]) -> str:
    """Return how the overall is made, as a formula where it is one."""
    rule, factors = settings.get("overall"), settings.get("factors") or ()
    if rule == "weighted":
        return " + ".join(
            f"{factor['weight']:g} × {factor['key']}" for factor in factors if factor.get("weight")
        )
    return {"mean": "mean of the factors", "geometric": "geometric mean", "none": ""}.get(
        str(rule), ""
    )


def command_of(settings: Mapping[str, Any], out: Path) -> str:
    """Return the command that makes a run like this one, for runs that were started from Python."""
    words = ["lmmscore", "run", settings.get("benchmark_file", "BENCHMARK")]
    words += ["--dialog", settings.get("dialog", ""), "--judge", settings.get("judge", "")]
    words += [
        "--order",
        settings.get("order", "shuffled"),
        "--repeats",
        str(settings.get("repeats", 1)),
    ]
    words += ["--seed", str(settings.get("seed", 0)), "--out", str(out)]
    for name, choice in (settings.get("settings") or {}).items():
        words += ["--setting", f"{name}={choice}"]
    return shlex.join(words)


def _digests(judged: Judged) -> dict[str, str]:
    paths = {name: judged.run.path / name for name in FILES}
    paths["ledger.sqlite"] = judged.run.ledger_path
    found = {}
    for name, path in paths.items():
        if path.is_file():
            with path.open("rb") as file:
                found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def this_page(command: str, thumb_px: int) -> list[tuple[str, str]]:
    """Return how the page itself was made."""
    return [
        *([("Page made with", command)] if command else []),
        ("lmmscore of the page", __version__),
        ("Python", f"{platform.python_version()} on {platform.system()}"),
        (
            "Packages",
            ", ".join(
                f"{name} {installed}" for name in PACKAGES if (installed := _installed(name))
            ),
        ),
        (
            "Thumbnails",
            f"longest side {thumb_px} px, WebP; the judge saw the pictures as sent, not these",
        ),
    ]


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
