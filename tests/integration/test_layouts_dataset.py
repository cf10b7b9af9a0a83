"""Data sets with pictures inside: Parquet, and what Hugging Face `datasets` saves to disk."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lmmscore.benchmark import check_benchmark, load_benchmark
from tests.integration.test_layouts import edits, run
from tests.painting import picture

IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def image(name: str, suffix: str = ".png") -> dict[str, Any]:
    """Return a picture as `datasets` stores it."""
    return {"bytes": picture(name, suffix), "path": None}


def table(**columns: list[Any]) -> pa.Table:
    """Return a table in which lists of dicts are image columns, with the note `datasets` leaves in the schema."""
    arrays = {
        n: pa.array(c, IMAGE) if isinstance(c[0], dict) else pa.array(c) for n, c in columns.items()
    }
    made = pa.table(arrays)
    features = {n: {"_type": "Image"} for n, c in columns.items() if isinstance(c[0], dict)}
    return made.replace_schema_metadata(
        {"huggingface": json.dumps({"info": {"features": features}})}
    )


def wide() -> pa.Table:
    """Return a row an item, with a column a method."""
    return table(
        id=["cat", "dog/2"],
        edit_type=["add", "add"],
        instruction=["Add a hat", "Add a tie"],
        source_image=[image("s1", ".jpg"), image("s2", ".jpg")],
        SINE=[image("e1"), image("e2")],
        null_text_image=[image("e3"), None],
    )


def save_stream(made: pa.Table, path: Path) -> None:
    """Write Arrow's streaming form, as save_to_disk does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, made.schema) as writer:
        writer.write_table(made, max_chunksize=1)


def test_parquet_with_a_column_a_method(tmp_path: Path) -> None:
    """Image columns are told by type; the source by its name; a null is a missing edit."""
    pq.write_table(wide(), tmp_path / "train-00000-of-00001.parquet")
    result = run(tmp_path)
    assert "recognised the layout dataset" in result.stderr
    benchmark = load_benchmark(tmp_path)
    assert edits(benchmark) == {"cat": {"SINE", "null_text"}, "dog/2": {"SINE"}}
    assert [(i.task, i.instruction) for i in benchmark.items] == [
        ("add", "Add a hat"),
        ("add", "Add a tie"),
    ]
    assert benchmark.items[0].images["source"].read_bytes() == picture("s1", ".jpg")
    assert not check_benchmark(benchmark)


def test_a_saved_data_set(tmp_path: Path) -> None:
    """The folder save_to_disk writes, in the streaming form of Arrow."""
    save_stream(wide(), tmp_path / "d" / "data-00000-of-00001.arrow")
    for name in ("dataset_info.json", "state.json"):
        (tmp_path / "d" / name).write_text("{}")
    assert run(tmp_path / "d").exit_code == 0
    assert edits(load_benchmark(tmp_path / "d"))["cat"] == {"SINE", "null_text"}


def test_several_splits_are_asked_for(tmp_path: Path) -> None:
    """A DatasetDict has splits; one is chosen by name."""
    for split in ("test", "train"):
        save_stream(wide(), tmp_path / split / "data-00000-of-00001.arrow")
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    assert "several splits (test, train); choose one with --split" in str(run(tmp_path).exception)
    assert "no split 'dev'" in str(run(tmp_path, "--split", "dev").exception)
    assert run(tmp_path, "--split", "test").exit_code == 0


def test_a_row_an_edit(tmp_path: Path) -> None:
    """Where a column names the method, rows with the same id are one item."""
    made = table(
        key=["1", "1", "2"],
        model=["A", "B", "A"],
        prompt=["x", "x", "y"],
        input_image=[image("s1"), image("s1"), image("s2")],
        output_image=[image("a1"), image("b1"), image("a2")],
    )
    pq.write_table(made, tmp_path / "all.parquet")
    assert run(tmp_path / "all.parquet").exit_code == 0
    assert edits(load_benchmark(tmp_path)) == {"1": {"A", "B"}, "2": {"A"}}


def test_two_edits_by_one_method_are_mentioned(tmp_path: Path) -> None:
    """An item is judged by one of them, and the user is told of which items that is so."""
    made = table(
        key=["1", "1", "2"],
        model=["A", "A", "A"],
        prompt=["x", "x", "y"],
        input_image=[image("s1"), image("s1"), image("s2")],
        output_image=[image("first"), image("second"), image("a2")],
    )
    pq.write_table(made, tmp_path / "all.parquet")
    result = run(tmp_path / "all.parquet")
    assert "more than one edit, the first was taken: 1 (A)" in result.stderr
    item = load_benchmark(tmp_path).items[0]
    assert item.edits["A"].read_bytes() == picture("first", ".png")


def test_columns_by_option(tmp_path: Path) -> None:
    """Names nothing can be guessed from are given; a wrong one is refused with the nearest."""
    made = table(nr=[7], wish=["Go"], p=[image("p")], q=[image("q")], r=[image("r")])
    pq.write_table(made, tmp_path / "x.parquet")
    given = ["--id-column", "nr", "--instruction-column", "wish", "--source-column", "p"]
    result = run(tmp_path, *given, "--reference-column", "r", "--edit-column", "Mine=q")
    assert result.exit_code == 0, result.exception
    item = load_benchmark(tmp_path).items[0]
    assert (item.id, item.instruction, set(item.edits), set(item.images)) == (
        "7",
        "Go",
        {"Mine"},
        {"source", "reference"},
    )
    refused = run(tmp_path, *given[:-1], "pp", "--force")
    assert "no image column 'pp' (did you mean p?" in str(refused.exception)


def test_pictures_are_written_once(tmp_path: Path) -> None:
    """A second init leaves pictures alone that are there already."""
    pq.write_table(wide(), tmp_path / "x.parquet")
    run(tmp_path)
    written = tmp_path / "benchmark-images" / "source" / "cat.jpg"
    before = written.stat().st_mtime_ns
    assert run(tmp_path, "--force").exit_code == 0
    assert written.stat().st_mtime_ns == before


def test_a_picture_that_changed_is_written_again(tmp_path: Path) -> None:
    """Also where it is as long as the one before: nobody may judge last month's pictures."""
    written = tmp_path / "benchmark-images" / "source" / "cat.bmp"
    for shade in (b"\x00", b"\xff"):
        raw = {"bytes": b"BM" + shade * 100, "path": None}
        made = table(id=["cat"], source_image=[raw], A=[image("a")])
        pq.write_table(made, tmp_path / "x.parquet")
        assert run(tmp_path, "--force").exit_code == 0
        assert written.read_bytes() == raw["bytes"]


def test_ids_that_no_file_can_be_called(tmp_path: Path) -> None:
    """Slashes, dots and long ids get file names of their own; two ids never share one."""
    ids = ["a/b", "a\\b", "../..", "A_B", "x" * 300]
    made = table(
        id=ids, text=["t"] * 5, source=[image(n) for n in ids], M=[image("e" + n) for n in ids]
    )
    pq.write_table(made, tmp_path / "x.parquet")
    assert run(tmp_path).exit_code == 0
    benchmark = load_benchmark(tmp_path)
    assert [item.id for item in benchmark.items] == ids
    assert [item.images["source"].read_bytes() for item in benchmark.items] == [
        picture(n) for n in ids
    ]


def test_a_data_set_of_sources_says_where_edits_go(tmp_path: Path) -> None:
    """Without a column of edits the benchmark waits for pictures in edits/METHOD/."""
    made = table(
        key=["k1"], instruction=["Go"], input_image=[image("a")], input_image_raw=[image("b")]
    )
    pq.write_table(made, tmp_path / "x.parquet")
    result = run(tmp_path)
    assert "benchmark-images/edits/METHOD/" in result.stderr
    assert "ignored the image column input_image_raw" in result.stderr


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    """A file that is no Parquet gets one line."""
    (tmp_path / "x.parquet").write_bytes(b"PAR1 nonsense")
    assert "x.parquet: cannot be read" in str(run(tmp_path).exception)


def test_without_pyarrow_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra is named."""
    (tmp_path / "x.parquet").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'lmmscore[parquet]'" in str(run(tmp_path).exception)
