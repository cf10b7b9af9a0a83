"""What CONTRIBUTING.md says about adding things: each is one new file, tried as it is written there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.docs_scripts import shown

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTIONS = re.split(r"^### (.+)\n", GUIDE.partition("\n## Adding things\n")[2], flags=re.MULTILINE)
DRILLS = dict(zip(SECTIONS[1::2], SECTIONS[2::2], strict=True))
FILE = re.compile(r"`([\w./-]+)`:\n\n```(?:python|yaml|csv)\n(.*?)```", re.DOTALL)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the package, with everything it comes with."""
    copy = tmp_path / "project"
    for folder in ("lmmscore", "dialogs"):
        shutil.copytree(ROOT / folder, copy / folder)
    for folder in ("media", "results"):
        (copy / folder).symlink_to(ROOT / folder)
    return copy


SLOW = {"A judge", "An executor", "A layout of pictures"}
"""What is left to the slow tests, for the time it takes."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in DRILLS],
)
def test_adding_one_file_is_enough(name: str, project: Path, tmp_path: Path) -> None:
    """With the file as written, and no other change, the commands print what is shown."""
    folder = tmp_path / "work"
    folder.mkdir()
    shell = shown.Shell(folder)
    shell.environment["PYTHONPATH"] = str(project)

    added = []
    for path, text in FILE.findall(DRILLS[name]):
        inside = Path(path).parts[0] in {"lmmscore", "dialogs"}
        file = (project if inside else folder) / path
        assert not file.exists(), f"{path} is there already"
        file.write_text(text, encoding="utf-8")
        added += [path] if inside else []
    assert len(added) == 1

    blocks = list(shown.blocks(DRILLS[name]))
    assert blocks, "a drill shows how to see that it worked"
    for command in (command for block in blocks for command in block.commands):
        lines, code = shell.run(command.text)
        assert code == 0, f"{command.text}\n" + "\n".join(lines)
        assert shown.matches(command.shown, lines), "\n".join([command.text, *lines])
