"""Finding pictures without looking into a folder twice."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from lmmscore.images import FolderListing
from tests.painting import paint


def test_a_name_finds_its_pictures_and_no_others(tmp_path: Path) -> None:
    """1_sd1 is not 1_sd1.5, and a text file is no picture."""
    paint(tmp_path, "a/1_sd1.png", "a/1_sd1.5.png", "a/1_sd1.jpg")
    (tmp_path / "a" / "1_sd1.txt").write_text("x", encoding="utf-8")
    assert FolderListing(tmp_path).pictures("a/1_sd1") == ["a/1_sd1.jpg", "a/1_sd1.png"]
    assert FolderListing(tmp_path).pictures("nowhere/1") == []


def test_accents_are_found_however_they_are_stored(tmp_path: Path) -> None:
    """A table's é finds the file of a macOS disk, which stores it as two characters."""
    stored = unicodedata.normalize("NFD", "é")
    paint(tmp_path, f"{stored}.png")
    assert FolderListing(tmp_path).pictures("é") == [f"{stored}.png"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("\0/1.*", ["A/1.png", "B b/1.jpg"]),
        ("1_\0.png", ["1_X.png", "1_X_Y.png"]),
        ("out/m-\0/x/\0-1.png", ["out/m-C/x/C-1.png"]),
    ],
)
def test_methods_are_found_in_folders_and_in_names(
    tmp_path: Path, pattern: str, found: list[str]
) -> None:
    """Wherever a template puts the method, every file it may mean is offered; hidden folders are none."""
    paint(
        tmp_path,
        "A/1.png",
        "B b/1.jpg",
        ".cache/1.png",
        "1_X.png",
        "1_X_Y.png",
        "2_X.png",
        "out/m-C/x/C-1.png",
    )
    assert list(FolderListing(tmp_path).candidates(pattern)) == found
