"""Write docs/examples/transcript.md: a conversation with the embedded judge about one picture of the demo, verbatim."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import lmmscore
from lmmscore.api import Hooks
from lmmscore.execution.executor import Listeners
from lmmscore.resources import bundled
from lmmscore.session import Exchange

TARGET = Path(__file__).parents[1] / "examples" / "transcript.md"
ITEM = "lamp"


def text() -> str:
    """Play the item and return the conversation in the form transcripts are published in."""
    heard: list[Exchange] = []
    with tempfile.TemporaryDirectory() as folder:
        lmmscore.run(
            bundled("media") / "demo",
            out=Path(folder) / "run",
            items=[ITEM],
            order="given",
            hooks=Hooks(Listeners(on_exchange=heard.append)),
        )
    lines = [
        f"<!-- A conversation with the judge `pixels` about {ITEM} of the demo; docs/scripts/transcript.py. -->",
        "",
    ]
    for exchange in heard:
        question = exchange.question
        shown = [
            f"![]({ITEM}_{_name(kind, path)})"
            for kind, path in ((s.kind, s.path) for s in question.images)
        ]
        lines += ["## Prompt:", "", *shown, *([""] if shown else []), question.text, ""]
        lines += ["## Judge:", "", exchange.reply.text, ""]
    return "\n".join(lines)


def _name(kind: str, path: Path) -> str:
    return f"src{path.suffix}" if kind == "source" else f"{path.parent.name}{path.suffix}"


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
    print(f"wrote {TARGET.name}", file=sys.stderr)
