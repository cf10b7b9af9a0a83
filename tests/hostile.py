"""A benchmark and a judge whose every text tries to break out of whatever shows it."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmmscore.conversation import Conversation
from lmmscore.records import Reply, Usage

MEDIA = Path(__file__).parents[1] / "media" / "demo"

ATTACKS = (
    "<script>window.broken='script'</script>",
    "<img src=x onerror=\"window.broken='onerror'\">",
    "[a](javascript:window.broken='link') ![x](https://evil.example/pixel.png)",
    "</script><script>window.broken='json'</script>",
    "\"'><svg onload=window.broken='svg'>",
    "{{ 7 * 7 }} {% raw %} <!-- <script>",
    "\u2028window.broken='line'\u2029 \x1b[31m \u202e",
)
ITEMS = {
    "one": ATTACKS[0] + ATTACKS[3],
    "b <&\"'> </script>": ATTACKS[1] + ATTACKS[2],
    "refused": ATTACKS[4],
}
# Tags would be taken for what is said of the scores, and void them.
SEEN = f"## Analysis\n\n{ATTACKS[2]}\n\n## Scores\n\n"
METHODS = ("Plain", "<b onclick=alert(1)>&amp;")


def benchmark(folder: Path) -> Path:
    """Lay out three items with hostile instructions and a method with a hostile name."""
    lines = []
    for number, (item, instruction) in enumerate(ITEMS.items()):
        pictures = folder / "pictures"
        pictures.mkdir(parents=True, exist_ok=True)
        names = ("source/boat.jpg", "edits/CleanEdit/boat.jpg", "edits/TintLeak/boat.jpg")
        for kind, name in zip(("source", "edit0", "edit1"), names, strict=True):
            shutil.copy(MEDIA / name, pictures / f"{number}_{kind}.jpg")
        lines.append(
            {
                "id": item,
                "task": "<i>task</i>",
                "instruction": instruction + ATTACKS[5] + ATTACKS[6],
            }
        )
    import yaml

    items = [
        {
            **line,
            "source": f"pictures/{number}_source.jpg",
            "edits": {method: f"pictures/{number}_edit{k}.jpg" for k, method in enumerate(METHODS)},
        }
        for number, line in enumerate(lines)
    ]
    file = folder / "benchmark.yaml"
    file.write_text(
        yaml.safe_dump({"name": "<script>hostile</script>", "items": items}), encoding="utf-8"
    )
    return file


class HostileJudge:
    """Says hostile things in every reply; refuses one item and needs a repair for another."""

    name = "openai/<script>judge</script>"
    parameters: Mapping[str, Any] = {"note": "</script><script>window.broken='parameters'</script>"}
    caution = ATTACKS[0] + " stand-in for tests"

    async def ask(self, conversation: Conversation) -> Reply:
        """Answer with attacks, and with scores where they are asked for."""
        text = conversation.message.text if conversation.message else ""
        usage = Usage(100, 20)
        asked = " ".join(
            message.text for message in conversation.messages if message.role == "user"
        )
        scores = "give your scores" in text or "could not read" in text
        if scores and ATTACKS[4] in asked:
            return Reply(
                "", refusal="I'm sorry, I can't help. " + ATTACKS[3], usage=usage, cost_usd=0.01
            )
        if "give your scores" in text and ATTACKS[1] in asked:
            return Reply(SEEN + "Image 1:\n- S_acc: 9\n", usage=usage, cost_usd=0.01)
        if scores:
            return Reply(SEEN + _scores(), usage=usage, cost_usd=0.01)
        return Reply(" ".join(ATTACKS), usage=usage, cost_usd=0.01, reasoning=ATTACKS[1], model="m")

    async def close(self) -> None:
        """Do nothing."""


def _scores() -> str:
    names = ("S_acc", "S_pre", "S_qua", "S_real")
    return "\n\n".join(
        f"Image {k}:\n" + "\n".join(f"- {name}: {place + k}" for place, name in enumerate(names, 1))
        for k in (1, 2)
    )


def ratings(path: Path, items: list[str], methods: list[str]) -> Path:
    """Write ratings made up for tests: three people, every edit."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "method", "rater", "acc", "pre", "qua", "real"])
        for i, item in enumerate(items):
            for m, method in enumerate(methods):
                for rater in range(3):
                    writer.writerow(
                        [
                            item,
                            method,
                            f"r{rater}",
                            *(1 + (i + 2 * m + rater + f) % 9 for f in range(4)),
                        ]
                    )
    return path
