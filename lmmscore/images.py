"""Pictures: found by path templates inside the benchmark's folder, and prepared for a judge."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import struct
import threading
import unicodedata
import warnings
import zlib
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast
from weakref import WeakValueDictionary

from PIL import Image, ImageOps, UnidentifiedImageError

from lmmscore.errors import FileProblem, ImageProblem, LmmscoreError, nearest

# --------------------------------------------------------------------------------------------------
# Prepare pictures for a judge: upright, stripped to their pixels, no larger than asked.
#
# A picture's identity is the digest of its file and of the recipe by which it is prepared. The
# encoded bytes are not part of it: encoders differ between machines, and a resumed run must not
# have to encode anything.
# --------------------------------------------------------------------------------------------------

# Pillow warns about odd metadata in files that it reads nevertheless.
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
"""What the various readers of Pillow raise on damaged files."""

_ORIENTATION = 0x0112
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_HEAD = _PNG_SIGNATURE + b"\0\0\0\x0dIHDR"
_SHORTEST_PNG = 57
"""Signature, header, an empty chunk of pixels, end."""
_EIGHT_BIT_RGB = [8, 2]
"""Bits per channel and colour type, as in the header of a PNG."""
_PIXEL_CHUNKS = frozenset({b"IHDR", b"IDAT", b"IEND"})
_ALTERING_CHUNKS = frozenset({b"tRNS", b"acTL", b"eXIf"})
_TEXT_CHUNKS = frozenset({b"tEXt", b"zTXt", b"iTXt"})
_TURNING_TEXTS = (b"Raw profile type", b"XML:", b"xmp")
"""The beginnings of text chunks in which programs keep the orientation."""
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
        """Return the recipe that `str` wrote."""
        found = re.fullmatch(r"v1 (png|jpeg|webp) max_side=(\d+)", text)
        if found is None:
            raise FileProblem(f"{text!r} is not a known way to prepare pictures")

        return cls(int(found[2]), cast(ImageFormat, found[1]))


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a picture file, read without decoding the pixels."""

    format: str
    width: int
    height: int
    """Both as displayed, that is after the EXIF orientation."""
    frames: int


def read_header(path: Path) -> Header:
    """Return the header of a file. Raises ImageProblem, with what to do."""
    with _decoding(path) as image:
        width, height = image.size
        if _lies_on_its_side(image):
            width, height = height, width

        return Header(image.format or "", width, height, getattr(image, "n_frames", 1))


def _lies_on_its_side(image: Image.Image) -> bool:
    """Tell whether displaying it swaps width and height.

    Recent versions of Pillow have swapped those of a TIFF already.
    """
    stored = getattr(image, "tag_v2", {}).get(256, image.width)
    return image.getexif().get(_ORIENTATION) in {5, 6, 7, 8} and stored == image.width


def load_rgb(path: Path) -> Image.Image:
    """Return the picture as RGB, upright, transparency on white; the first frame of several."""
    with _decoding(path) as image:
        image.load()
        return _to_rgb(ImageOps.exif_transpose(image))


def refuse_broken(path: Path) -> None:
    """Raise ImageProblem where a file is empty, no picture, or was cut off.

    Quick enough for every picture of a run: only one without the head and the tail of its format is
    decoded. Damage in between shows when it is.
    """
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - Path.open takes longer
            head = file.read(12)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            tail = file.read()
    except OSError as error:
        _refuse_without_files(error)
        raise ImageProblem(f"{path}: cannot be read ({error.strerror})") from error

    is_whole = any(head.startswith(start) and end in tail for start, end in _WHOLE)
    if head.startswith(b"RIFF"):
        is_whole = size >= int.from_bytes(head[4:8], "little") + 8

    if not is_whole:
        load_rgb(path)


_TAIL_BYTES = 1024
_WHOLE = ((b"\x89PNG", b"IEND"), (b"\xff\xd8", b"\xff\xd9"))
"""How files of the usual formats begin, and what stands near their end."""


@cache
def _formats() -> list[str]:
    """The formats that are read. Pillow knows more, and runs other programs for some of them."""
    Image.init()
    return [name for name in (*SUFFIXES, "MPO") if name in Image.OPEN]


def _refuse_without_files(error: Exception) -> None:
    """Raise where the process may open no more files: nothing is wrong with the picture."""
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        raise LmmscoreError(
            "the system lets this process open no more files; `ulimit -n 256` allows more, and "
            "a lower --concurrency needs fewer"
        ) from error


@contextmanager
def _decoding(path: Path) -> Iterator[Image.Image]:
    """Open a picture; whatever Pillow raises on its pixels becomes an ImageProblem.

    Opening reads the header only: most damage shows when the pixels are decoded.
    """
    with _opened(path) as image:
        try:
            yield image
        except _BROKEN as error:
            raise ImageProblem(f"{path}: broken picture ({error}); export it again") from error


def _opened(path: Path) -> Image.Image:
    """Open a picture without decoding it. Raises ImageProblem, with what to do.

    Every limit is checked here, against the header: decoding may take gigabytes.
    """
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
        _refuse_without_files(error)
        raise ImageProblem(f"{path}: cannot be opened ({error})") from error

    if image.width * image.height > MAX_PIXELS:
        size = f"{image.width}×{image.height}"
        image.close()
        raise ImageProblem(
            f"{path}: {size} is more than {MAX_PIXELS // 1_000_000} megapixels; scale it down"
        )

    # As 16-bit PNGs are in older versions of Pillow.
    is_png = image.format == "PNG"
    if image.mode == "F" or (image.mode == "I" and not is_png):
        image.close()
        raise ImageProblem(
            f"{path}: 32-bit values, whose white is not known; export it with 8 or 16 bits"
        )

    return image


def _to_rgb(image: Image.Image) -> Image.Image:
    """Return the picture in plain RGB; what is transparent becomes white, as on a page."""
    if image.mode in {"I;16", "I;16B", "I;16L", "I"}:
        # 16-bit greys: Pillow would clip at 255 instead of scaling.
        image = image.convert("I").point(lambda value: value / 257, "L")

    if image.mode in {"RGBA", "LA", "PA", "La", "RGBa"} or "transparency" in image.info:
        rgba = image.convert("RGBA")
        canvas = Image.new("RGBA", rgba.size, "white")
        canvas.alpha_composite(rgba)
        image = canvas

    return image.convert("RGB")


def fitted_size(width: int, height: int, max_side_px: int) -> tuple[int, int]:
    """Return width and height with the longest side at most `max_side_px`; never enlarged."""
    scale = min(1.0, max_side_px / max(width, height))
    return max(1, round(width * scale)), max(1, round(height * scale))


def draw_over(source: Path, layer: Path, out: Path) -> None:
    """Write the source with a transparent layer of marks laid over it, as PNG."""
    base = load_rgb(source).convert("RGBA")
    with _decoding(layer) as image:
        marks = ImageOps.exif_transpose(image).convert("RGBA")

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
    # Built again from the pixels: Pillow would save what it knows of the file along with them.
    bare = Image.frombytes(image.mode, image.size, image.tobytes())
    out = io.BytesIO()
    bare.save(out, image_format, **_ENCODING[image_format])
    return out.getvalue()


_ENCODING: dict[ImageFormat, dict[str, Any]] = {
    "png": {"compress_level": 6},
    "jpeg": {"quality": 95, "subsampling": 0},
    "webp": {"lossless": True, "quality": 50, "method": 3},
}
"""No loss that a judge could see; for lossless WebP `quality` is how hard it tries."""


def _bare_png(data: bytes, max_side_px: int) -> bytes:
    """Return a PNG that already holds exactly the pixels to send, stripped of everything else.

    Empty for any other file, and for a damaged one: those are decoded and encoded again, which
    also shows what is wrong. The checksum of every chunk is verified, which takes a seventh of the
    time of decoding.
    """
    if not data.startswith(_PNG_HEAD) or len(data) < _SHORTEST_PNG:
        return b""

    width, height, *kind = struct.unpack_from(">IIBB", data, len(_PNG_HEAD))
    if kind != _EIGHT_BIT_RGB or max(width, height) > max_side_px or width * height > MAX_PIXELS:
        return b""

    kept: list[bytes] = [_PNG_SIGNATURE]
    name = b""
    for name, chunk in _png_chunks(data):
        if zlib.crc32(chunk[4:-4]) != int.from_bytes(chunk[-4:], "big") or _alters(name, chunk):
            return b""

        if name in _PIXEL_CHUNKS:
            kept.append(chunk)

    bare = b"".join(kept)
    raw_bytes = 3 * width * height
    # Some programs hardly compress, and every turn sends the picture again.
    is_packed = len(bare) < _PACKED * raw_bytes or raw_bytes < 4096
    is_whole = name == b"IEND" and len(kept) > 3
    return bare if is_whole and is_packed else b""


def _alters(name: bytes, chunk: bytes) -> bool:
    """Tell whether a chunk changes how the pixels are shown: transparency, animation, rotation."""
    if name in _TEXT_CHUNKS:
        return chunk[8:].startswith(_TURNING_TEXTS)
    return name in _ALTERING_CHUNKS


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the whole chunks of a PNG with their names, up to its end."""
    at = len(_PNG_SIGNATURE)
    while at + 12 <= len(data):
        name = data[at + 4 : at + 8]
        end = at + 12 + int.from_bytes(data[at : at + 4], "big")
        if end > len(data):
            return

        yield name, data[at:end]
        if name == b"IEND":
            return
        at = end


def thumbnail(path: Path, max_side_px: int) -> bytes:
    """Return the picture as a small WebP, with nothing but the pixels in it.

    Raises ImageProblem.
    """
    with _decoding(path) as image:
        # A JPEG can be decoded at a half or a quarter of its size, which is all that is needed.
        image.draft("RGB", (max_side_px, max_side_px))
        image.load()
        small = _to_rgb(ImageOps.exif_transpose(image))

    small.thumbnail((max_side_px, max_side_px), Image.Resampling.BILINEAR, reducing_gap=2.0)
    small.info.clear()
    out = io.BytesIO()
    # Method 0 at 70 takes four fifths of the time of method 1 at 75, for 5% more bytes and 0.2 dB.
    small.save(out, "WEBP", quality=70, method=0)
    return out.getvalue()


def plain_picture(path: Path, colour: tuple[int, int, int], side_px: int) -> None:
    """Write a square of one colour, about which no two judges can disagree."""
    Image.new("RGB", (side_px, side_px), colour).save(path)


def ruined(image: Image.Image) -> Image.Image:
    """Return the picture as no editing method would leave it: a few coarse blocks,
    colours inverted."""
    coarse = image.resize((9, 9), Image.Resampling.BOX)
    return ImageOps.invert(coarse).resize(image.size, Image.Resampling.NEAREST)


@dataclass(slots=True, eq=False, repr=False, weakref_slot=True)
class Picture:
    """One picture as a judge sees it. Holds no bytes: a caller that needs them twice keeps them."""

    path: Path
    recipe: Recipe
    digest: str
    """Identifies file and recipe; holds no name."""

    def __repr__(self) -> str:
        return f"Picture({self.digest[:12]})"

    @property
    def mime(self) -> str:
        """The media type of the encoded bytes."""
        return self.recipe.mime

    def data(self) -> bytes:
        """Return the picture stripped, fitted and encoded. Slow: call it in a thread, and once.

        Raises ImageProblem, also where the file was changed since its digest was taken: the answer
        would be on record as one about another picture.
        """
        content = _read(self.path)
        if _digest(content, self.recipe) != self.digest:
            raise ImageProblem(
                f"{self.path}: was changed while the run was under way; run the same command again"
            )

        if self.recipe.format == "png":
            bare = _bare_png(content, self.recipe.max_side_px)
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

        # Outside the lock: the digest reads the whole file, and other threads need not wait for it.
        picture = known or Picture(path, self.recipe, picture_digest(path, self.recipe))
        with self._lock:
            picture = self._in_use.setdefault(path, picture)
            self._recent[path] = picture
            self._recent.move_to_end(path)
            while len(self._recent) > self._keep:
                self._recent.popitem(last=False)

        return picture


def _read(path: Path) -> bytes:
    """Return the bytes of a picture. Raises ImageProblem."""
    try:
        # Unbuffered, as it is read once from end to end; Path.open takes three times as long.
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            return file.readall()
    except OSError as error:
        _refuse_without_files(error)
        raise ImageProblem(f"{path}: cannot be read ({error.strerror})") from error


def picture_digest(path: Path, recipe: Recipe) -> str:
    """Return what identifies a picture, prepared by a recipe. Raises ImageProblem."""
    return _digest(_read(path), recipe)


def _digest(content: bytes, recipe: Recipe) -> str:
    file_digest = hashlib.sha256(content)
    return hashlib.sha256(file_digest.digest() + str(recipe).encode()).hexdigest()


# --------------------------------------------------------------------------------------------------
# From path templates to picture files, none of which may lie outside the benchmark's folder.
# --------------------------------------------------------------------------------------------------

Rows = list[tuple[str, dict[str, Any]]]
"""Each item's place in its file, and its fields."""

ProblemSink = Callable[[str, str, str], None]
"""Receives a problem: its place, its kind and its message."""

SLOT = re.compile(r"\{(\w+)\}")


class PathMap(Mapping[str, Path]):
    """Paths by name, kept as short text: a benchmark holds hundreds of thousands of them."""

    __slots__ = ("_keys", "_names", "_root")

    def __init__(self, root: Path, names: Mapping[str, str], keys: tuple[str, ...] = ()) -> None:
        self._root = root
        # Most items have an edit of every method: they share one tuple of names.
        same = len(keys) == len(names) and all(key in names for key in keys)
        self._keys = keys if same else tuple(names)
        self._names = tuple(names[key] for key in self._keys)

    def __getitem__(self, key: str) -> Path:
        try:
            return self._root / self._names[self._keys.index(key)]
        except ValueError:
            raise KeyError(key) from None

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return repr(dict(self))


class FolderListing:
    """What is in the folders below a root. Each is read once: benchmarks ask for every edit."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._sorted: dict[str, list[str]] = {}
        self._links: dict[str, dict[str, bool]] = {}
        self._stems: dict[str, dict[str, list[str]]] = {}

    def _entries(self, folder: str) -> dict[str, bool]:
        """Return what is in a folder, and of each whether it is a link."""
        if folder not in self._links:
            try:
                with os.scandir(self._root / folder) as entries:
                    self._links[folder] = {entry.name: entry.is_symlink() for entry in entries}
            except (OSError, ValueError):
                self._links[folder] = {}

        return self._links[folder]

    def names(self, folder: str) -> list[str]:
        """Return what is in a folder, sorted; nothing where there is no such folder."""
        if folder not in self._sorted:
            self._sorted[folder] = sorted(self._entries(folder))

        return self._sorted[folder]

    def holds(self, path: str) -> bool:
        """Whether there is a file or folder of exactly this name."""
        folder, _, name = path.rpartition("/")
        return name in self._entries(folder)

    def is_link(self, path: str) -> bool:
        """Whether what is there is a link."""
        folder, _, name = path.rpartition("/")
        return self._entries(folder).get(name, False)

    def pictures(self, path: str) -> list[str]:
        """Return the pictures of this name and any type: `1_sd1` has 1_sd1.png, not 1_sd1.5.png."""
        folder, _, stem = path.rpartition("/")
        if folder not in self._stems:
            self._stems[folder] = self._by_stem(folder)

        found = self._stems[folder].get(_composed(stem), [])
        return [f"{folder}/{name}" if folder else name for name in found]

    def _by_stem(self, folder: str) -> dict[str, list[str]]:
        """Return the pictures of a folder by their names without file type."""
        stems: dict[str, list[str]] = {}
        for name in self.names(folder):
            stem, dot, suffix = name.rpartition(".")
            if dot + suffix.lower() in IMAGE_SUFFIXES:
                stems.setdefault(_composed(stem), []).append(name)

        return stems

    def candidates(self, pattern: str) -> Iterator[str]:
        """Yield the paths a pattern may mean: NUL is a method, a final `.*` any image type."""
        before, _, after = pattern.partition("\0")
        folder, _, start = before.rpartition("/")
        rest, slash, below = after.partition("/")
        names = self.names(folder)
        for name in names[bisect_left(names, start) :]:
            if not name.startswith(start):
                break

            if name.startswith(".") and not start:
                continue  # .git, .cache: not a method

            path = f"{folder}/{name}" if folder else name
            if not slash:
                yield path
            elif name.endswith(rest):
                method = name[len(start) : len(name) - len(rest)]
                yield from self._files(f"{path}/{below}".replace("\0", method))

    def _files(self, path: str) -> list[str]:
        if path.endswith(".*"):
            return self.pictures(path[:-2])

        return [path] if self.holds(path) else []


class PictureFiles:
    """The pictures below a folder, as paths relative to it. What has a problem is reported."""

    def __init__(self, root: Path, report: ProblemSink) -> None:
        self.root = root
        self._report = report
        self._listing = FolderListing(root)
        self._inside: dict[str, bool] = {}

    def silent(self) -> PictureFiles:
        """Return the same files, looked at again without reporting the same problems again."""
        files = PictureFiles(self.root, lambda *_: None)
        files._listing = self._listing
        files._inside = self._inside
        return files

    def edits(
        self,
        template: str,
        methods: Sequence[str],
        rows: Rows,
        others: Mapping[str, str],
    ) -> dict[str, PathMap]:
        """Return each item's edits by method; without methods, by those found on disk.

        `others` are the templates of other pictures, none of which is an edit.
        """
        if "{method}" not in template:
            self._report("images.edit", "bad-value", "must contain {method}")
            return {str(row["id"]): PathMap(self.root, {}) for _, row in rows}

        # No methods are listed: whatever stands in the place of {method} is one.
        if not methods:
            found = self.discovered(template, rows, others)
            every = tuple(dict.fromkeys(method for edits in found.values() for method in edits))
            return {name: PathMap(self.root, edits, every) for name, edits in found.items()}

        listed = tuple(methods)
        edits: dict[str, PathMap] = {}
        for place, row in rows:
            names: dict[str, str] = {}
            for method in methods:
                name = self.file(template, {**row, "method": method}, place, absent_ok=True)
                if name is not None:
                    names[method] = name

            edits[str(row["id"])] = PathMap(self.root, names, listed)

        return edits

    def discovered(
        self, template: str, rows: Rows, others: Mapping[str, str]
    ) -> dict[str, dict[str, str]]:
        """Return the edits of all methods on disk; a file that fits two ids is the longer's."""
        edits: dict[str, dict[str, str]] = {str(row["id"]): {} for _, row in rows}
        taken: dict[str, str] = {}
        for place, row in rows:
            for other in others.values():
                name = self.file(other, row, place, absent_ok=True)
                if name is not None:
                    taken[name] = ""

        # The longest id first: 1_2_sine.png belongs to the item 1_2, and not to the item 1.
        for place, row in sorted(rows, key=lambda entry: -len(str(entry[1]["id"]))):
            pattern = self._fill(template, {**row, "method": "\0"}, place)
            if pattern is None:
                continue

            for method, name in self._matches(pattern, place):
                # Items whose patterns are the same share their edits.
                if taken.setdefault(name, pattern) == pattern:
                    edits[str(row["id"])].setdefault(method, name)

        return edits

    def _matches(self, pattern: str, place: str) -> Iterator[tuple[str, str]]:
        """Yield the methods whose edits a pattern finds, with their files."""
        # Thousands of items make as many patterns; compiling each would take most of the time.
        first, *rest = pattern.split("\0")
        for name in self._listing.candidates(pattern):
            method = _method_in(name, first, rest)
            if method is None or Path(name).suffix.lower() not in IMAGE_SUFFIXES:
                continue

            if self.inside(name, place) is not None:
                yield method, name

    def _fill(self, template: str, row: Mapping[str, Any], place: str) -> str | None:
        """Return a template with its slots filled; None, with a report, for an unknown name."""
        try:
            return SLOT.sub(lambda match: str(row[match[1]]), template)
        except KeyError as error:
            unknown = str(error.args[0])
            says = f"unknown name {{{unknown}}} in {template!r}{nearest(unknown, row)}"
            self._report(place, "unknown-name", says)
            return None

    def file(
        self, template: str, row: Mapping[str, Any], place: str, *, absent_ok: bool = False
    ) -> str | None:
        """Return the file a template names; with `.*` at its end, the first picture of any type."""
        name = self._fill(template, row, place)
        if name is None:
            return None

        if name.endswith(".*"):
            name = next(iter(self._listing.pictures(name[:-2])), name)

        if self.inside(name, place) is None:
            return None

        if absent_ok and not self._listing.holds(name) and not _exists(self.root / name):
            return None

        return name

    def inside(self, name: str, place: str) -> str | None:
        """Return the path; None, with a report, where it or a link on the way leads outside."""
        if self._stays_inside(name):
            return name

        says = (
            f"{name!r} leaves the folder {self.root}; move the file inside "
            "(links out of it count too)"
        )
        self._report(place, "path-outside", says)
        return None

    def _stays_inside(self, name: str) -> bool:
        """Tell whether a file is below the root, links followed. Called for every picture."""
        folder, _, file = name.rpartition("/")
        plain = file not in {"", ".", ".."} and not ("\0" in name or name.startswith("/"))
        if not plain:
            return is_inside(self.root, name)

        # Folders are resolved once each: most files share a few.
        if folder not in self._inside:
            self._inside[folder] = is_inside(self.root, folder)

        if not self._inside[folder]:
            return False

        return not self._listing.is_link(name) or is_inside(self.root, name)


def is_inside(root: Path, name: str) -> bool:
    """Whether a path below a folder, links followed, stays there."""
    if "\0" in name:
        return False

    path = root / name
    try:
        real = Path(os.path.realpath(path))
    except (OSError, ValueError):
        real = path

    return real.is_relative_to(root)


def _composed(name: str) -> str:
    # macOS stores é as two characters, a table holds it as one; both mean the same file.
    return unicodedata.normalize("NFC", name)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name longer than the file system allows
        return False


def _method_in(name: str, first: str, rest: list[str]) -> str | None:
    """Return what stands where the pattern has the method; None where the path does not fit.

    The pattern is given in parts, around every place of the method; a final `.*` is any file type.
    """
    if not name.startswith(first):
        return None

    tail = rest[-1]
    if tail.endswith(".*"):
        tail = tail[:-2]
        stem, dot, suffix = name.rpartition(".")
        if not dot or "/" in suffix:
            return None

        name = stem

    if len(rest) == 1:
        method = name[len(first) : len(name) - len(tail)] if name.endswith(tail) else ""
    else:
        # The first part after the method ends it; a method has no slash in it.
        method = name[len(first) :].partition(rest[0])[0] if rest[0] else ""

    if not method or "/" in method or first + method.join(["", *rest[:-1], tail]) != name:
        return None

    return method
