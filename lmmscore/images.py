"""Prepare pictures for a judge: upright, stripped to their pixels, no larger than asked.

A picture's identity is the digest of its file and of the recipe by which it is prepared. The
encoded bytes are not part of it: encoders differ between machines, and a resumed run must not have
to encode anything.
"""

from __future__ import annotations

import hashlib
import io
import re
import struct
import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, cast
from weakref import WeakValueDictionary

from PIL import Image, ImageOps, UnidentifiedImageError

from lmmscore.errors import FileProblem, ImageProblem

# Pillow remarks on odd metadata of files it reads all the same.
warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")

ImageFormat = Literal["png", "jpeg", "webp"]

MAX_PIXELS = 64_000_000
"""More than any picture one would judge; a few-KB file that unpacks to gigabytes stops here."""

SUFFIXES = {
    "PNG": {".png"},
    "JPEG": {".jpg", ".jpeg", ".jpe", ".jfif"},
    "WEBP": {".webp"},
    "GIF": {".gif"},
    "BMP": {".bmp"},
    "TIFF": {".tif", ".tiff"},
    "AVIF": {".avif"},
}
"""The file names each format goes by. A file named otherwise is reported by `lmmscore check`."""

_BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    LookupError,
    RuntimeError,
    EOFError,
    struct.error,
)
"""What Pillow's readers raise on damaged files, each its own."""

_ORIENTATION = 0x0112
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PIXEL_CHUNKS = frozenset({b"IHDR", b"IDAT", b"IEND"})
_PACKED = 0.75
"""A photograph as PNG is about half as long as its pixels."""

IMAGE_SUFFIXES = frozenset().union(*SUFFIXES.values())


@dataclass(frozen=True, slots=True)
class Recipe:
    """How pictures are prepared before a judge sees them."""

    max_side_px: int = 1024
    format: ImageFormat = "png"

    def __str__(self) -> str:
        return f"v1 {self.format} max_side={self.max_side_px}"

    @property
    def mime(self) -> str:
        """The media type of the encoded picture."""
        return f"image/{self.format}"

    @classmethod
    def parse(cls, text: str) -> Recipe:
        """Return the recipe that is written so."""
        found = re.fullmatch(r"v1 (png|jpeg|webp) max_side=(\d+)", text)
        if found is None:
            raise FileProblem(f"{text!r} is no recipe for pictures that is known here")

        return cls(int(found[2]), cast(ImageFormat, found[1]))


@dataclass(frozen=True, slots=True)
class Header:
    """What a picture's file says of itself, read without unpacking it."""

    format: str
    width: int
    height: int
    """Both as displayed, that is after the EXIF orientation."""
    frames: int


def read_header(path: Path) -> Header:
    """Return what the file says of itself. Raises ImageProblem, with what to do."""
    with _opened(path) as image:
        try:
            width, height = image.size
            if _lies_on_its_side(image):
                width, height = height, width

            return Header(image.format or "", width, height, getattr(image, "n_frames", 1))
        except _BROKEN as error:
            raise ImageProblem(f"{path}: broken picture ({error}); export it again") from error


def _lies_on_its_side(image: Image.Image) -> bool:
    """Tell whether displaying it swaps width and height.

    Recent versions of Pillow have swapped those of a TIFF already.
    """
    stored = getattr(image, "tag_v2", {}).get(256, image.width)
    return image.getexif().get(_ORIENTATION) in {5, 6, 7, 8} and stored == image.width


def load_rgb(path: Path) -> Image.Image:
    """Return the picture as RGB, upright, transparency on white; the first frame of several."""
    with _opened(path) as image:
        try:
            image.load()
            return _to_rgb(ImageOps.exif_transpose(image))
        except _BROKEN as error:
            raise ImageProblem(f"{path}: broken picture ({error}); export it again") from error


@cache
def _formats() -> list[str]:
    """The formats that are read. Pillow knows more, and for some of them starts other programs."""
    Image.init()
    return [name for name in (*SUFFIXES, "MPO") if name in Image.OPEN]


def _opened(path: Path) -> Image.Image:
    try:
        if path.stat().st_size == 0:
            raise ImageProblem(f"{path}: the file is empty; export the picture again")

        with warnings.catch_warnings():
            # Pillow warns of large pictures at half its own limit; ours is checked just below.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(path, formats=_formats())
    except FileNotFoundError as error:
        raise ImageProblem(f"{path}: no such file") from error
    except UnidentifiedImageError as error:
        raise ImageProblem(
            f"{path}: not a picture that can be read; PNG, JPEG and WebP are"
        ) from error
    except Image.DecompressionBombError as error:
        raise ImageProblem(f"{path}: far too many pixels; scale it down") from error
    except _BROKEN as error:
        raise ImageProblem(f"{path}: cannot be opened ({error})") from error

    if image.width * image.height > MAX_PIXELS:
        size = f"{image.width}×{image.height}"
        image.close()
        raise ImageProblem(
            f"{path}: {size} is more than {MAX_PIXELS // 1_000_000} megapixels; scale it down"
        )

    return image


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode in {"I;16", "I;16B", "I;16L", "I"}:
        # 16-bit greys: Pillow would clip at 255 instead of scaling.
        image = (
            image.point(lambda value: value / 257, "L")
            if image.mode == "I"
            else _scaled_16_bit(image)
        )

    if image.mode in {"RGBA", "LA", "PA", "La", "RGBa"} or "transparency" in image.info:
        rgba = image.convert("RGBA")
        canvas = Image.new("RGBA", rgba.size, "white")
        canvas.alpha_composite(rgba)
        image = canvas

    return image.convert("RGB")


def _scaled_16_bit(image: Image.Image) -> Image.Image:
    return image.convert("I").point(lambda value: value / 257, "L")


def fitted_size(width: int, height: int, max_side_px: int) -> tuple[int, int]:
    """Return width and height with the longest side at most `max_side_px`; never enlarged."""
    scale = min(1.0, max_side_px / max(width, height))
    return max(1, round(width * scale)), max(1, round(height * scale))


def draw_over(source: Path, layer: Path, out: Path) -> None:
    """Write the source with a transparent layer of marks laid over it, as PNG."""
    base = load_rgb(source).convert("RGBA")
    with _opened(layer) as image:
        try:
            marks = ImageOps.exif_transpose(image).convert("RGBA")
        except _BROKEN as error:
            raise ImageProblem(f"{layer}: broken picture ({error}); export it again") from error

    if marks.size != base.size:
        marks = marks.resize(base.size, Image.Resampling.BICUBIC)

    base.alpha_composite(marks)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        base.convert("RGB").save(out, "PNG")
    except OSError as error:
        raise ImageProblem(f"{out}: {error.strerror or error}") from error


def fit(image: Image.Image, max_side_px: int) -> Image.Image:
    """Return the picture with its longest side at most `max_side_px`; never enlarged."""
    size = fitted_size(image.width, image.height, max_side_px)
    return image if size == image.size else image.resize(size, Image.Resampling.LANCZOS)


def encode(image: Image.Image, image_format: ImageFormat) -> bytes:
    """Return the pixels as a file, with nothing but the pixels in it."""
    bare = Image.frombytes(image.mode, image.size, image.tobytes())
    out = io.BytesIO()
    if image_format == "png":
        bare.save(out, "PNG", compress_level=6)
    elif image_format == "jpeg":
        bare.save(out, "JPEG", quality=95, subsampling=0)
    else:
        bare.save(out, "WEBP", lossless=True, quality=50, method=3)

    return out.getvalue()


def _bare_png(path: Path, max_side_px: int) -> bytes:
    """Return a PNG that already holds the very pixels to send, stripped of everything else.

    Nothing where the file is of another kind: then it has to be encoded, which takes ten times as
    long as unpacking it once to see that it is sound.
    """
    with _opened(path) as image:
        if image.format != "PNG" or image.mode != "RGB" or max(image.size) > max_side_px:
            return b""
        try:
            image.load()
            turned = image.getexif().get(_ORIENTATION) in range(2, 9)
        except _BROKEN as error:
            raise ImageProblem(f"{path}: broken picture ({error}); export it again") from error
        animated = getattr(image, "is_animated", False)
        if "transparency" in image.info or animated or turned:
            return b""
        raw_bytes = 3 * image.width * image.height

    data = path.read_bytes()
    kept = [part for name, part in _png_chunks(data) if name in _PIXEL_CHUNKS]
    bare = _PNG_SIGNATURE + b"".join(kept)
    has_8_bits = data[24] == 8
    is_whole = b"IEND" in kept[-1]
    # Some programs hardly compress, and every turn sends the picture again.
    is_packed = len(bare) < _PACKED * raw_bytes or raw_bytes < 4096
    return bare if has_8_bits and is_whole and is_packed else b""


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the chunks of a sound PNG with their names, up to its end."""
    at = len(_PNG_SIGNATURE)
    while at + 12 <= len(data):
        name = data[at + 4 : at + 8]
        end = at + 12 + int.from_bytes(data[at : at + 4], "big")
        yield name, data[at:end]
        if name == b"IEND":
            return
        at = end


def thumbnail(path: Path, max_side_px: int) -> bytes:
    """Return the picture as a small WebP, with nothing but the pixels in it.

    Raises ImageProblem.
    """
    with _opened(path) as image:
        try:
            # A JPEG can be unpacked at a half or a quarter of its size, which is all that is
            # needed.
            image.draft("RGB", (max_side_px, max_side_px))
            image.load()
            small = _to_rgb(ImageOps.exif_transpose(image))
        except _BROKEN as error:
            raise ImageProblem(f"{path}: broken picture ({error}); export it again") from error

    small.thumbnail((max_side_px, max_side_px), Image.Resampling.BILINEAR, reducing_gap=2.0)
    out = io.BytesIO()
    # Method 1 costs 60% of the time of method 2 for a fifth more bytes; at 75 no loss is seen.
    Image.frombytes(small.mode, small.size, small.tobytes()).save(out, "WEBP", quality=75, method=1)
    return out.getvalue()


def plain_picture(path: Path, colour: tuple[int, int, int], side_px: int) -> None:
    """Write a square of one colour: a picture about which there can be no two opinions."""
    Image.new("RGB", (side_px, side_px), colour).save(path)


def ruined(image: Image.Image) -> Image.Image:
    """Return the picture as no editing method would leave it: a few coarse blocks,
    colours inverted."""
    coarse = image.resize((9, 9), Image.Resampling.BOX)
    return ImageOps.invert(coarse).resize(image.size, Image.Resampling.NEAREST)


class Picture:
    """One picture as a judge is to see it. Holds no bytes: who needs them twice keeps them."""

    __slots__ = ("__weakref__", "digest", "path", "recipe")

    def __init__(self, path: Path, recipe: Recipe, digest: str) -> None:
        self.path = path
        self.recipe = recipe
        self.digest = digest
        """Identifies file and recipe; holds no name."""

    def __repr__(self) -> str:
        return f"Picture({self.digest[:12]})"

    @property
    def mime(self) -> str:
        """The media type of the encoded bytes."""
        return self.recipe.mime

    def data(self) -> bytes:
        """Return the picture stripped, fitted and encoded. Work for a thread, once per run."""
        if self.recipe.format == "png":
            bare = _bare_png(self.path, self.recipe.max_side_px)
            if bare:
                return bare
        return encode(fit(load_rgb(self.path), self.recipe.max_side_px), self.recipe.format)


class Pictures:
    """The pictures of a run: one object per file while in use, so none is encoded twice.

    The last few stay a little longer, for the next session about the same item.
    """

    def __init__(self, recipe: Recipe, keep: int = 64) -> None:
        self.recipe = recipe
        self._keep = keep
        self._in_use: WeakValueDictionary[Path, Picture] = WeakValueDictionary()
        self._recent: OrderedDict[Path, Picture] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, path: Path) -> Picture:
        """Return the picture at `path`; the same object as long as anyone holds it."""
        with self._lock:
            known = self._in_use.get(path)

        picture = known or Picture(path, self.recipe, _digest(path, self.recipe))
        with self._lock:
            picture = self._in_use.setdefault(path, picture)
            self._recent[path] = picture
            self._recent.move_to_end(path)
            while len(self._recent) > self._keep:
                self._recent.popitem(last=False)

        return picture


def _digest(path: Path, recipe: Recipe) -> str:
    try:
        # Unbuffered, as it is read once from end to end; Path.open takes three times as long.
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            file_digest = hashlib.file_digest(file, "sha256")
    except OSError as error:
        raise ImageProblem(f"{path}: cannot be read ({error.strerror})") from error

    return hashlib.sha256(file_digest.digest() + str(recipe).encode()).hexdigest()
