"""The documentation as a reader follows it: every command typed into a shell, every program started anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs_scripts import WITH_COMMANDS, play, shown


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_every_command_runs_in_a_shell(page: Path, tmp_path: Path) -> None:
    """No command leans on what another process has imported or measured."""
    play(page, shown.Shell(tmp_path))
