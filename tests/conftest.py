"""Small benchmarks, scripted judges, and the published data where it is at hand."""

from __future__ import annotations

import csv
import gc
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from PIL import Image

from lmmscore.conversation import Conversation
from lmmscore.records import Reply
from tests import measured

# How long one example takes says more about the machine than about the code.
settings.register_profile("lmmscore", deadline=None)
settings.load_profile("lmmscore")

SHARED = Path(__file__).resolve().parents[1].parent / "shared"
SLOW = Path(__file__).parent / "slow"

PAIR_DIALOG = """
dialog: pairwise
version: 1
title: Which is better?
covers: pair
turns:
  - name: judge
    read: winner
    form: {words: {"[[A>B]]": first, "[[B>A]]": second, "[[A=B=Good]]": tie, "[[A=B=Bad]]": tie}}
    say: "Which? {{show.source}} A: {{show.first}} B: {{show.second}} {{instruction}}"
overall: bradley-terry
repair: {say: "Please give a verdict. {{problems}}"}
"""
"""A dialog that compares two edits, with ties."""


def pytest_configure(config: pytest.Config) -> None:
    """Share what is measured; the process that starts the workers has the folder for it."""
    if not hasattr(config, "workerinput"):
        folder = tempfile.TemporaryDirectory(prefix="measured-")
        config.add_cleanup(folder.cleanup)
        os.environ[measured.FOLDER] = folder.name
        # No test talks to a stranger; the certificates of all authorities take longer to load than most tests.
        os.environ.pop("SSL_CERT_FILE", None)
        os.environ["SSL_CERT_DIR"] = folder.name
    measured.share_facts()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is in tests/slow, before `-m` chooses by marks."""
    for item in items:
        if SLOW in item.path.parents:
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: nobody need look for garbage among them again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def shared() -> Path:
    """The folder of published data beside the project; tests that need it skip where it is not."""
    if not (SHARED / "seeds").is_dir():
        pytest.skip("the published documents are not beside this checkout (../shared)")
    return SHARED


@pytest.fixture
def published_transcript(shared: Path) -> Path:
    """The published staged dialogue."""
    return next((shared / "seeds").glob("004_*.txt"))


def picture(
    path: Path, colour: tuple[int, int, int] = (200, 30, 30), size: tuple[int, int] = (32, 24)
) -> Path:
    """Draw a plain picture."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)
    return path


@pytest.fixture
def make_benchmark(tmp_path: Path) -> Callable[..., Path]:
    """Return a maker of benchmarks: `make_benchmark(items=3, methods=[…])` returns the folder."""

    def make(
        items: int = 2,
        methods: tuple[str, ...] = ("alpha", "beta", "gamma"),
        tasks: tuple[str, ...] = ("colour",),
        absent: tuple[tuple[int, str], ...] = (),
        kinds: tuple[str, ...] = ("source",),
        folder: str = "bench",
    ) -> Path:
        root = tmp_path / folder
        rows = []
        for number in range(items):
            task = tasks[number % len(tasks)]
            rows.append([f"i{number}", task, f"Make it blue, number {number}"])
            for shade, kind in enumerate(kinds):
                picture(root / kind / f"i{number}.png", (10 * shade, number % 250, 5))
            for shade, method in enumerate(methods):
                if (number, method) not in absent:
                    picture(
                        root / "edits" / f"i{number}_{method}.png",
                        (number % 250, 20 * shade + 5, 200),
                    )
        with (root / "items.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["id", "task", "instruction"], *rows])
        images = "".join(f'  {kind}: "{kind}/{{id}}.png"\n' for kind in kinds)
        listed = ", ".join(methods)
        (root / "benchmark.yaml").write_text(
            f"name: tiny\nitems: items.csv\nmethods: [{listed}]\n"
            f'images:\n{images}  edit: "edits/{{id}}_{{method}}.png"\n',
            encoding="utf-8",
        )
        return root

    return make


Answer = Callable[[Conversation], str | Reply]


class ScriptedJudge:
    """A stand-in for a judge that costs money: answers by a function and counts what it was asked."""

    caution = ""

    def __init__(
        self, answer: Answer, name: str = "scripted", parameters: dict[str, Any] | None = None
    ) -> None:
        self.name = name
        self.parameters = parameters or {}
        self._answer = answer
        self.asked: list[Conversation] = []

    async def ask(self, conversation: Conversation) -> Reply:
        """Answer as scripted."""
        self.asked.append(conversation)
        answer = self._answer(conversation)
        return answer if isinstance(answer, Reply) else Reply(answer, model=f"{self.name}-1")

    async def close(self) -> None:
        """Nothing to let go of."""


def images_seen(conversation: Conversation) -> int:
    """How many edits were shown: every image but the source."""
    return sum(len(message.images) for message in conversation.messages) - 1


def bulleted(scores: list[tuple[float, ...]]) -> str:
    """Return scores as a chat model writes them."""
    blocks = []
    for number, (acc, pre, qua, real) in enumerate(scores, 1):
        blocks.append(
            f"**Image {number}:**\n* $S_{{acc}}$: {acc} Fine.\n* $S_{{pre}}$: {pre} Fine.\n"
            f"* $S_{{qua}}$: {qua} Fine.\n* $S_{{real}}$: {real} Fine."
        )
    return "\n\n".join(blocks)


def fair_answer(conversation: Conversation) -> str:
    """Answer every turn of lmm-score; the scores depend on the pictures alone, so they follow the method."""
    assert conversation.message is not None
    text = conversation.message.text
    edits = [message.images[0] for message in conversation.messages if message.images][1:]
    if "0.4 S_acc" in text:
        return "Here are my sums."
    if "Now give your scores" in text or "could not read" in text:
        return bulleted([tuple(1 + int(p.digest[i], 16) % 10 for i in range(4)) for p in edits])  # type: ignore[misc]
    return "I see."
