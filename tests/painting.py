"""Small pictures for tests of folders full of them."""

from __future__ import annotations

import io
import zlib
from pathlib import Path

from PIL import Image

_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".gif": "GIF"}


def picture(name: str, suffix: str = ".png", mode: str = "RGB") -> bytes:
    """Return a picture of 16×16 whose colour depends on the name, so that no two are alike."""
    seed = zlib.crc32(name.encode())
    colour = (seed & 255, seed >> 8 & 255, seed >> 16 & 255)
    buffer = io.BytesIO()
    image = Image.new("RGB", (16, 16), colour).convert(mode)
    image.save(buffer, _FORMATS[suffix])
    return buffer.getvalue()


def paint(folder: Path, *names: str) -> Path:
    """Write a picture under each name and return the folder."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(name, path.suffix.lower()))
    return folder
