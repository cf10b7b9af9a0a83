"""Finding the data that comes with lmmscore."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmmscore import resources as module
from lmmscore.errors import LmmscoreError
from lmmscore.resources import bundled


def test_media_are_found_in_a_checkout() -> None:
    """The demo benchmark is where `bundled` says."""
    assert (bundled("media") / "demo" / "benchmark.yaml").is_file()


def test_an_installed_package_uses_its_own_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy inside the package wins over a folder of the same name beside it."""
    for folder in ("lmmscore/_data/dialogs", "dialogs"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setattr(module, "_PACKAGE", tmp_path / "lmmscore")
    assert bundled("dialogs") == tmp_path / "lmmscore" / "_data" / "dialogs"


def test_an_unknown_kind_gets_the_nearest_known_one() -> None:
    """A misspelt kind is refused with a suggestion."""
    with pytest.raises(LmmscoreError, match="did you mean dialogs"):
        bundled("dialog")


def test_missing_data_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken installation is named as such."""
    monkeypatch.setattr(module, "_PACKAGE", tmp_path / "lmmscore")
    with pytest.raises(LmmscoreError, match="install lmmscore again"):
        bundled("media")
