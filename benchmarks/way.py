"""Which files of lmmscore one item's way enters: `python -m benchmarks.way [--list]`.

One item of the bundled benchmark is judged by `pixels` and ranked, as `lmmscore run` and `lmmscore
leaderboard` do it, twice in this process. The first time imports what is needed; the second time
every file is counted in which a function, method or comprehension begins.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from click.testing import CliRunner

import lmmscore
from lmmscore.cli import lmmscore as command
from lmmscore.resources import bundled

PACKAGE = Path(lmmscore.__file__).parent


def entered(work: Callable[[], object]) -> Counter[str]:
    """Return how often a function of each of our files was called, in this thread and in those
    it starts."""
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            calls[frame.f_code.co_filename] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    ours = {name: count for name, count in calls.items() if Path(name).is_relative_to(PACKAGE)}
    return Counter({str(Path(name).relative_to(PACKAGE)): ours[name] for name in ours})


def judge(out: Path) -> None:
    """Judge one item as the command does."""
    words = ["run", str(bundled("media") / "demo"), "--limit", "1", "--out", str(out)]
    _succeeds(words)


def rank(out: Path) -> None:
    """Rank it as the command does."""
    _succeeds(["leaderboard", str(out)])


def _succeeds(words: list[str]) -> None:
    result = CliRunner().invoke(command, words)
    if result.exit_code:
        raise SystemExit(f"lmmscore {' '.join(words)}: {result.output}{result.exception}")


def main() -> None:
    """Print the figures, and with --list every file with its calls."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "first", Path(folder) / "second"
        judge(first)
        rank(first)
        run = entered(lambda: judge(second))
        board = entered(lambda: rank(second))
    both = run + board
    modules = sum(1 for _ in PACKAGE.rglob("*.py"))
    print(f"run {len(run)}, leaderboard {len(board)}, both {len(both)} of {modules} files")
    if "--list" in sys.argv:
        for name in sorted(both):
            print(f"{run[name]:8} {board[name]:8}  {name}")


if __name__ == "__main__":
    main()
