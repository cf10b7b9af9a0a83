from __future__ import annotations

import contextlib
import json
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

from lmmscore.benchmark import (
    BenchmarkProblem,
    check_benchmark,
    names_given_away,
    read_benchmark,
)
from lmmscore.errors import BenchmarkError
from lmmscore.plan import Plan, load_protocol, refuse_broken_pictures
from tests.conftest import picture


def bench(root: Path, edits: dict[str, str]) -> list[BenchmarkProblem]:
    item = {"id": "a", "instruction": "Do", "source": "s.png", "edits": edits}
    (root / "benchmark.yaml").write_text(json.dumps({"name": "b", "items": [item]}))
    return check_benchmark(read_benchmark(root))


def bomb(path: Path, side: int = 20_000) -> None:
    """Write a PNG of a few KB that unpacks to a gigabyte."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    packer = zlib.compressobj(9)
    row = b"\0" + bytes(side // 8)
    pixels = b"".join(packer.compress(row) for _ in range(side)) + packer.flush()
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    data = chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + data)


def break_file(kind: str, path: Path) -> None:
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "text":
        path.write_text("not a picture")
    elif kind == "bomb":
        bomb(path)
    elif kind == "truncated":
        Image.effect_noise((200, 200), 90).convert("RGB").save(path, "JPEG")
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("kind", ["empty", "text", "bomb", "truncated"])
def test_an_unreadable_picture_is_reported_with_its_place(tmp_path: Path, kind: str) -> None:
    """A picture that cannot be opened is named, with the item and the method."""
    picture(tmp_path / "s.png")
    break_file(kind, tmp_path / "e.jpg")
    problem = next(p for p in bench(tmp_path, {"m": "e.jpg"}) if p.kind == "unreadable-image")
    assert problem.place == "item 'a', edit of m"
    assert "e.jpg" in problem.says

    # A bomb begins and ends as it should.
    plan = Plan(read_benchmark(tmp_path), load_protocol("lmm-score", {}))
    refused = pytest.raises(BenchmarkError, match=r"e\.jpg.*\n1 picture is broken")
    with contextlib.nullcontext() if kind == "bomb" else refused:
        refuse_broken_pictures(plan)


def test_a_missing_picture_is_reported(tmp_path: Path) -> None:
    """A source that is not there is named."""
    picture(tmp_path / "e.png")
    assert [p.kind for p in bench(tmp_path, {"m": "e.png"})] == ["missing-image"]


def test_a_file_of_another_type_than_its_name_is_reported(tmp_path: Path) -> None:
    """A JPEG called .png is found."""
    picture(tmp_path / "s.png")
    Image.new("RGB", (32, 24)).save(tmp_path / "e.png", "JPEG")
    problems = bench(tmp_path, {"m": "e.png"})
    assert [p.kind for p in problems] == ["wrong-type"]
    assert "JPEG" in problems[0].says


def test_another_aspect_ratio_is_reported(tmp_path: Path) -> None:
    """An edit with another frame than its source is found, and one of another size."""
    picture(tmp_path / "s.png", size=(32, 24))
    picture(tmp_path / "wide.png", size=(64, 24))
    picture(tmp_path / "large.png", size=(64, 48))
    problems = bench(tmp_path, {"wide": "wide.png", "large": "large.png"})
    found = [(p.kind, "wide" in p.place, p.fatal) for p in problems]
    assert found == [("aspect-ratio", True, False), ("size", False, False)]


def test_byte_identical_edits_are_reported(tmp_path: Path) -> None:
    """Two methods with the same file were probably mixed up."""
    picture(tmp_path / "s.png")
    picture(tmp_path / "one.png", (1, 2, 3))
    picture(tmp_path / "two.png", (1, 2, 3))
    problems = bench(tmp_path, {"one": "one.png", "two": "two.png"})
    assert [p.kind for p in problems] == ["identical-edits"]
    assert "one and two" in problems[0].says


def test_an_animation_is_reported(tmp_path: Path) -> None:
    """Of an animated GIF only the first frame would be judged."""
    picture(tmp_path / "s.png")
    frames = [Image.new("RGB", (32, 24), (i * 80, 0, 0)) for i in range(3)]
    frames[0].save(tmp_path / "e.gif", save_all=True, append_images=frames[1:])
    assert [p.kind for p in bench(tmp_path, {"m": "e.gif"})] == ["animated"]


def test_an_instruction_that_names_a_method_is_reported(tmp_path: Path) -> None:
    """The judge must not learn who made an edit, from the instruction either."""
    picture(tmp_path / "s.png")
    picture(tmp_path / "e.png", (9, 9, 9))
    item = {
        "id": "a",
        "instruction": "Do it like null-text would",
        "source": "s.png",
        "edits": {"null_text": "e.png"},
    }
    (tmp_path / "benchmark.yaml").write_text(json.dumps({"name": "b", "items": [item]}))
    assert "names-a-method" not in [p.kind for p in check_benchmark(read_benchmark(tmp_path))]
    item["edits"] = {"null-text": "e.png"}
    (tmp_path / "benchmark.yaml").write_text(json.dumps({"name": "b", "items": [item]}))
    assert "names-a-method" in [p.kind for p in check_benchmark(read_benchmark(tmp_path))]

    item |= {"instruction": "Do it", "fields": {"caption": "by null-text", "note": "null-text"}}
    (tmp_path / "benchmark.yaml").write_text(json.dumps({"name": "b", "items": [item]}))
    (told,) = names_given_away(read_benchmark(tmp_path), ["caption"])
    assert "the column caption contains the method name 'null-text'" in str(told)
