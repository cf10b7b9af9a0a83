"""The drawn benchmark comes out of its script alike, however often it is drawn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from lmmscore.resources import bundled

MEDIA = bundled("media")


def pixels(path: Path) -> np.ndarray:
    """The picture as numbers."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"), dtype=float)


def test_the_script_draws_the_same_again(tmp_path: Path) -> None:
    """Running the script anew gives the same files with the same pixels."""
    subprocess.run([sys.executable, MEDIA / "draw.py", tmp_path], check=True)
    kept = {
        path.relative_to(MEDIA / "demo") for path in (MEDIA / "demo").rglob("*") if path.is_file()
    }
    assert {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()} == kept
    for path in sorted(kept):
        if path.suffix == ".jpg":
            # Another JPEG library may round otherwise here and there; a changed drawing differs by far more.
            difference = np.abs(pixels(tmp_path / path) - pixels(MEDIA / "demo" / path))
            assert difference.mean() < 0.05, path
        else:
            assert (tmp_path / path).read_text("utf-8") == (MEDIA / "demo" / path).read_text(
                "utf-8"
            )
