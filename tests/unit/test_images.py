from __future__ import annotations

import gc
import io
import weakref
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from lmmscore.errors import ImageProblem
from lmmscore.images import Pictures, Recipe, load_rgb
from tests.conftest import picture


def shown(path: Path, recipe: Recipe | None = None) -> Image.Image:
    """Return the picture as a judge would see it."""
    return Image.open(io.BytesIO(Pictures(recipe or Recipe()).get(path).data()))


def test_nothing_but_pixels_reaches_a_judge(tmp_path: Path) -> None:
    """Names, comments and EXIF stay behind."""
    path = tmp_path / "6_SINE.png"
    info = PngImagePlugin.PngInfo()
    info.add_text("Software", "SINE")
    exif = Image.Exif()
    exif[0x010E] = "SINE"
    Image.new("RGB", (8, 8)).save(path, pnginfo=info, exif=exif)
    data = Pictures(Recipe()).get(path).data()
    assert b"SINE" not in data
    assert not Image.open(io.BytesIO(data)).info


@pytest.mark.parametrize("form", ["png", "jpeg", "webp"])
def test_no_more_pixels_than_the_longest_side_allows(tmp_path: Path, form: str) -> None:
    """A large picture is fitted, a small one never enlarged."""
    picture(tmp_path / "l.png", size=(400, 100))
    picture(tmp_path / "s.png", size=(40, 10))
    recipe = Recipe(100, form)  # type: ignore[arg-type]
    assert shown(tmp_path / "l.png", recipe).size == (100, 25)
    assert shown(tmp_path / "s.png", recipe).size == (40, 10)


def test_the_orientation_flag_is_applied(tmp_path: Path) -> None:
    """A photo taken sideways is shown upright."""
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (40, 20)).save(tmp_path / "p.jpg", exif=exif)
    assert shown(tmp_path / "p.jpg").size == (20, 40)


def test_sixteen_bits_are_scaled_not_clipped(tmp_path: Path) -> None:
    """A mid-grey of 16 bits stays a mid-grey."""
    Image.fromarray(np.full((4, 4), 32768, dtype=np.uint16)).save(tmp_path / "g.png")
    assert shown(tmp_path / "g.png").getpixel((0, 0)) == (127, 127, 127)


def test_transparency_is_laid_on_white(tmp_path: Path) -> None:
    """A palette with a transparent colour is not shown black."""
    image = Image.new("P", (4, 4), 0)
    image.putpalette([0, 0, 0, 255, 0, 0])
    image.save(tmp_path / "p.png", transparency=0)
    assert shown(tmp_path / "p.png").getpixel((0, 0)) == (255, 255, 255)


@pytest.mark.parametrize(
    "mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "LAB", "I;16"]
)
def test_every_mode_becomes_rgb(tmp_path: Path, mode: str) -> None:
    """CMYK, palettes, greys: all are shown as RGB."""
    suffix = "jpg" if mode in {"CMYK", "YCbCr"} else "tif"
    Image.new(mode, (6, 4)).save(tmp_path / f"m.{suffix}")
    assert load_rgb(tmp_path / f"m.{suffix}").mode == "RGB"


@pytest.mark.parametrize("mode", ["I", "F"])
def test_values_without_a_known_white_are_refused(tmp_path: Path, mode: str) -> None:
    """Floats from 0 to 1 would be shown, and judged, as black."""
    Image.new(mode, (6, 4), 1).save(tmp_path / "m.tif")
    with pytest.raises(ImageProblem, match="export it with 8 or 16 bits"):
        load_rgb(tmp_path / "m.tif")


def test_a_picture_that_changes_under_way_is_not_sent(tmp_path: Path) -> None:
    """The answer would be on record as one about the picture that was there before."""
    known = Pictures(Recipe()).get(picture(tmp_path / "p.png", (1, 2, 3)))
    picture(tmp_path / "p.png", (3, 2, 1))
    with pytest.raises(ImageProblem, match="was changed while the run was under way"):
        known.data()


def test_identity_follows_the_file_and_the_recipe(tmp_path: Path) -> None:
    """Another picture or another size is another question; another name is not."""
    one, copy, other = (
        picture(tmp_path / n, c)
        for n, c in [("a.png", (1, 1, 1)), ("b.png", (1, 1, 1)), ("c.png", (2, 1, 1))]
    )
    digest = Pictures(Recipe()).get(one).digest
    assert Pictures(Recipe()).get(copy).digest == digest
    assert Pictures(Recipe()).get(other).digest != digest
    assert Pictures(Recipe(max_side_px=512)).get(one).digest != digest


def test_sessions_about_one_item_share_its_pictures(tmp_path: Path) -> None:
    """The same file is the same object as long as anyone holds it."""
    pictures = Pictures(Recipe())
    path = picture(tmp_path / "a.png")
    assert pictures.get(path) is pictures.get(path)


def test_pictures_are_let_go(tmp_path: Path) -> None:
    """A run keeps a bounded number of pictures, however many it shows."""
    pictures = Pictures(Recipe(), keep=2)
    first = weakref.ref(pictures.get(picture(tmp_path / "0.png")))
    assert first() is not None
    for number in range(1, 4):
        pictures.get(picture(tmp_path / f"{number}.png"))
    gc.collect()
    assert first() is None


def test_a_missing_picture_says_so(tmp_path: Path) -> None:
    """The path is in the message."""
    with pytest.raises(ImageProblem, match=r"gone\.png"):
        Pictures(Recipe()).get(tmp_path / "gone.png")


def png(path: Path, **save: object) -> bytes:
    """Write a small photograph-like PNG and return what a judge is sent of it."""
    grain = np.random.default_rng(0).integers(0, 9, (40, 60, 3), dtype=np.uint8)
    slope = np.linspace(0, 200, 60, dtype=np.uint8)[None, :, None]
    Image.fromarray(grain + slope).save(path, "PNG", **save)
    return Pictures(Recipe()).get(path).data()


def test_a_plain_png_is_sent_as_it_was_packed(tmp_path: Path) -> None:
    """Packing it again would cost more than all the rest of a session; nothing but pixels goes."""
    info = PngImagePlugin.PngInfo()
    info.add_text("method", "SINE")
    path = tmp_path / "a.png"
    png(path, pnginfo=info, icc_profile=b"SINE", compress_level=1)
    path.write_bytes(path.read_bytes() + b"SINE")
    data = Pictures(Recipe()).get(path).data()
    packed = path.read_bytes().split(b"IDAT")[1]
    assert packed[:1000] in data
    assert b"SINE" not in data
    np.testing.assert_array_equal(np.asarray(shown(path)), np.asarray(load_rgb(path)))


def test_a_png_that_is_not_plain_is_packed_again(tmp_path: Path) -> None:
    """Hardly packed, lying on its side, partly transparent, animated: pixels are as they look."""
    loose = tmp_path / "loose.png"
    assert len(png(loose, compress_level=0)) < loose.stat().st_size / 2

    turned = Image.Exif()
    turned[0x0112] = 6
    png(tmp_path / "turned.png", exif=turned)
    assert shown(tmp_path / "turned.png").size == (40, 60)

    noted = PngImagePlugin.PngInfo()
    noted.add_itxt("XML:com.adobe.xmp", '<x tiff:Orientation="6"/>')
    png(tmp_path / "noted.png", pnginfo=noted)
    assert shown(tmp_path / "noted.png").size == (40, 60)

    Image.new("RGB", (4, 4), "red").save(tmp_path / "keyed.png", transparency=(255, 0, 0))
    assert shown(tmp_path / "keyed.png").getpixel((0, 0)) == (255, 255, 255)

    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    frames[0].save(tmp_path / "moving.png", save_all=True, append_images=frames[1:])
    assert not getattr(shown(tmp_path / "moving.png"), "is_animated", False)


def test_a_broken_png_is_not_sent(tmp_path: Path) -> None:
    """A file cut in half, or with a few bytes of another, is named, whatever its head promises."""
    path = tmp_path / "cut.png"
    png(path)
    whole = path.read_bytes()
    middle = len(whole) // 2
    for broken in (whole[:-2000], whole[:middle] + bytes(64) + whole[middle + 64 :]):
        path.write_bytes(broken)
        with pytest.raises(ImageProblem, match="broken"):
            Pictures(Recipe()).get(path).data()
