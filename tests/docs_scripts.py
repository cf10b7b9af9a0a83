"""The scripts of docs/scripts, as modules, and the commands of the documentation without waiting for their imports."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

from tests.command_line import fork

ROOT = Path(__file__).parents[1]


def script(name: str) -> ModuleType:
    """Import a script of docs/scripts."""
    sys.path.insert(0, str(ROOT / "docs" / "scripts"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


shown = script("shown")
PAGES = shown.pages()
WITH_COMMANDS = [
    page
    for page in PAGES
    if any(not block.not_run for block in shown.blocks(page.read_text(encoding="utf-8")))
]


class QuickShell(shown.Shell):  # type: ignore[misc]
    """Forks plain commands; whatever needs a shell gets one."""

    def printed(self, command: str) -> tuple[str, int]:
        """Return all that a command prints, and its exit code."""
        if not re.fullmatch(r"lmmscore [\w ./:,=-]+", command):
            return super().printed(command)
        output = self.folder / ".bin" / "output"
        output.unlink(missing_ok=True)
        code = fork(command.split(), output, output, self.folder, self.environment)
        return output.read_text(encoding="utf-8"), code


def play(page: Path, shell: shown.Shell) -> None:
    """Run the commands of a page one after the other; each must end and print as the page shows."""
    for block in shown.blocks(page.read_text(encoding="utf-8")):
        if block.not_run:
            continue
        for command in block.before:
            lines, code = shell.run(command)
            assert code == 0, f"{command}\n" + "\n".join(lines)
        for command in block.commands:
            lines, code = shell.run(command.text)
            wanted = block.exit if command is block.commands[-1] else 0
            assert code == wanted, f"{command.text} ended with {code}\n" + "\n".join(lines)
            if block.kind == "console":
                assert shown.matches(command.shown, lines), "\n".join(
                    [f"{page.name}: {command.text}", *lines]
                )
