"""Downloaded data cannot make lmmscore upload local files, and mistakes in a benchmark are said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from lmmscore.benchmark import Benchmark, check_benchmark, load_benchmark, read_benchmark
from lmmscore.cli import lmmscore as command_line
from lmmscore.errors import BenchmarkError, LmmscoreError
from lmmscore.importers.benchmark_writer import read_table
from lmmscore.importers.document import import_document
from lmmscore.records import Item
from tests.conftest import picture
from tests.painting import paint


def lmmscore(*arguments: object) -> Result:
    return CliRunner().invoke(command_line, [str(argument) for argument in arguments])


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A picture of the user's own, outside of anything that was downloaded."""
    path = tmp_path / "home" / "passport.png"
    picture(path, (1, 2, 3))
    return path


# Nothing outside the folder is read


@pytest.mark.parametrize("way", ["absolute", "dots", "link"])
def test_a_parquet_path_that_leads_outside_is_not_followed(
    tmp_path: Path, private: Path, way: str
) -> None:
    """A data set with a path column cannot name a private picture; the path is left out, and said."""
    folder = tmp_path / "downloads" / "data"
    picture(folder / "mine.png", (9, 9, 9))
    if way == "link":
        (folder / "evil.png").symlink_to(private)
    evil = {"absolute": str(private), "dots": "../../home/passport.png", "link": "evil.png"}[way]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    rows = {
        "id": ["a"],
        "instruction": ["Do"],
        "source": pa.array([{"bytes": None, "path": evil}], kind),
        "edit_m": pa.array([{"bytes": None, "path": "mine.png"}], kind),
    }
    pq.write_table(pa.table(rows), folder / "part.parquet")
    made = lmmscore("init", folder, "--layout", "dataset")
    assert made.exit_code == 0, made.exception
    assert "lead outside" in made.stderr and evil in made.stderr
    benchmark = read_benchmark(folder)
    assert "source" not in benchmark.items[0].images
    assert benchmark.items[0].edits["m"].name == "mine.png"
    assert ".." not in (folder / "benchmark.yaml").read_text()


@pytest.mark.parametrize("evil", ["absolute", "../../home/passport.png"])
def test_a_listing_in_json_cannot_name_a_private_picture(
    tmp_path: Path, private: Path, evil: str
) -> None:
    """ImgEdit's basic_edit.json names originals by path; one that leads outside is not taken."""
    folder = tmp_path / "downloads" / "set"
    paint(folder, "animal/1.png", "m/1.png", "m/2.png")
    named = str(private) if evil == "absolute" else evil
    entries = {
        "1": {"id": "animal/1.png", "prompt": "Do", "edit_type": "add"},
        "2": {"id": named, "prompt": "Do", "edit_type": "add"},
    }
    (folder / "basic_edit.json").write_text(json.dumps(entries))
    made = lmmscore("init", folder)
    assert made.exit_code == 0, made.exception
    items = {item.id: item for item in read_benchmark(folder).items}
    assert set(items["1"].images) == {"source"}
    assert "source" not in items["2"].images
    assert "not found" in made.stderr


def test_the_vibe_data_set_cannot_name_a_private_picture(tmp_path: Path, private: Path) -> None:
    """Paths in the data set's JSON stay inside the data set that --source names."""
    task = tmp_path / "VIBE" / "Tasks" / "Level-1" / "Addition"
    task.mkdir(parents=True)
    rows = [
        {
            "id": "1",
            "file_paths": {"source": str(private), "target": "../../../../home/passport.png"},
        }
    ]
    (task / "Addition.json").write_text(json.dumps(rows))
    results = tmp_path / "results" / "m" / "Level-1" / "Addition"
    paint(results / "imgs", "1.png")
    entry = {"id": "1", "prompt": "Do", "saved_image_path": "imgs/1.png", "status": "success"}
    (results / "Addition_results.json").write_text(json.dumps([entry]))
    made = lmmscore("init", tmp_path / "results", "--source", tmp_path / "VIBE")
    assert made.exit_code == 0, made.exception
    assert "1 item not found" in made.stderr
    assert "passport" not in (tmp_path / "results" / "benchmark.yaml").read_text()


def outside_benchmark(tmp_path: Path) -> Path:
    """Write a benchmark.yaml whose root leads out of its folder."""
    picture(tmp_path / "home" / "s.png", (1, 1, 1))
    picture(tmp_path / "home" / "e.png", (2, 2, 2))
    folder = tmp_path / "downloads"
    folder.mkdir(exist_ok=True)
    item = {"id": "a", "instruction": "Do", "source": "s.png", "edits": {"m": "e.png"}}
    body = {"name": "b", "root": "../home", "items": [item]}
    (folder / "benchmark.yaml").write_text(json.dumps(body))
    return folder


@pytest.mark.parametrize("command", [("run",), ("plan",), ("check",)])
def test_a_root_that_leaves_the_folder_counts_only_when_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """A downloaded benchmark.yaml with `root: ../home` reads nothing until --root names it."""
    monkeypatch.chdir(tmp_path)
    folder = outside_benchmark(tmp_path)
    refused = lmmscore(*command, folder)
    said = f"{refused.output}{refused.exception}"
    assert refused.exit_code == 1
    assert f"--root {tmp_path / 'home'}" in said
    allowed = lmmscore(*command, folder, "--root", tmp_path / "home")
    assert allowed.exit_code == 0, f"{allowed.output}{allowed.exception}"


def test_init_elsewhere_prints_the_command_that_works(tmp_path: Path) -> None:
    """`init --out` elsewhere says that --root is needed, and the printed command finds no problem."""
    paint(tmp_path / "pictures", "source/1.png", "A/1.png")
    made = lmmscore(
        "init", tmp_path / "pictures", "--out", tmp_path / "b" / "b.yaml", "--instruction", "Do"
    )
    following = made.stderr.rpartition("next: lmmscore ")[2].split()
    assert following[:1] == ["check"] and "--root" in following
    checked = lmmscore(*following)
    assert checked.exit_code == 0, checked.output


# Mistakes that passed


def benchmark_of(root: Path, methods: str, *names: str) -> Path:
    paint(root, *names)
    (root / "items.csv").write_text("id,instruction\n1,Do\n2,Do\n")
    (root / "benchmark.yaml").write_text(
        f"name: b\nitems: items.csv\nmethods: [{methods}]\n"
        'images: {source: "source/{id}.png", edit: "{method}/{id}.png"}\n'
    )
    return root


def test_a_mistyped_method_is_a_problem_and_its_folder_is_named(tmp_path: Path) -> None:
    """`alpa` has no edit at all, and the folder alpha/ is used by nothing: both are said."""
    names = [f"{top}/{n}.png" for top in ("source", "alpha", "beta") for n in (1, 2)]
    root = benchmark_of(tmp_path, "alpa, beta", *names)
    checked = lmmscore("check", root)
    assert checked.exit_code == 1
    assert "no edit of 'alpa' was found, for any item (did you mean alpha?" in checked.stdout
    assert f"{root / 'alpha'}: 2 pictures that nothing uses: 1.png, 2.png" in checked.stdout
    assert "1 problem, 1 warning" in checked.stderr


def test_a_run_warns_of_a_method_without_any_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run goes on, its edits are recorded as missing, and nobody is left to wonder why."""
    monkeypatch.chdir(tmp_path)
    names = [f"{top}/{n}.png" for top in ("source", "alpha", "beta") for n in (1, 2)]
    root = benchmark_of(tmp_path / "b", "alpa, beta", *names)
    ran = lmmscore("run", root, "--out", tmp_path / "run")
    assert "warning: " in ran.stderr and "no edit of 'alpa' was found" in ran.stderr


def test_files_that_belong_to_no_item_are_named(tmp_path: Path) -> None:
    """A picture no item speaks of is worth a warning, not an error."""
    names = [f"{top}/{n}.png" for top in ("source", "alpha") for n in (1, 2)]
    root = benchmark_of(tmp_path, "alpha", *names, "alpha/17.png")
    checked = lmmscore("check", root)
    assert checked.exit_code == 0
    assert "1 picture that nothing uses: 17.png" in checked.stdout


def test_a_method_that_lacks_one_edit_is_no_problem(tmp_path: Path) -> None:
    """Missing edits are outcomes of the method."""
    root = benchmark_of(tmp_path, "alpha", "source/1.png", "source/2.png", "alpha/1.png")
    assert [problem.kind for problem in check_benchmark(read_benchmark(root))] == ["no-edits"]


def test_an_aspect_ratio_is_a_warning_and_exits_0(tmp_path: Path) -> None:
    """A method that reframes on purpose does not make `check` fail."""
    root = benchmark_of(tmp_path, "alpha", "source/1.png", "source/2.png")
    for number in (1, 2):
        picture(root / "alpha" / f"{number}.png", (number, 1, 1), size=(90, 20))
    checked = lmmscore("check", root)
    assert checked.exit_code == 0
    assert checked.stdout.count("warning: ") == 2
    assert "no problems, 2 warnings" in checked.stderr
    rows = json.loads(lmmscore("check", root, "--json").stdout)["problems"]
    assert {(row["level"], row["fatal"]) for row in rows} == {("warning", False)}


def test_force_takes_a_new_task_and_a_new_instruction(tmp_path: Path) -> None:
    """What `init` wrote for all items before is replaced by what is now said for all items."""
    paint(tmp_path, "source/1.png", "source/2.png", "A/1.png", "A/2.png")
    lmmscore("init", tmp_path, "--task", "first", "--instruction", "Old words")
    again = lmmscore("init", tmp_path, "--force", "--task", "second", "--instruction", "New words")
    assert again.exit_code == 0, again.exception
    items = load_benchmark(tmp_path).items
    assert {(item.task, item.instruction) for item in items} == {("second", "New words")}


def test_a_new_task_is_for_all_items_and_says_what_it_replaces(tmp_path: Path) -> None:
    """Whatever tasks the items file has: an explicit flag wins, and nothing is lost unsaid."""
    paint(tmp_path, "source/1.png", "source/2.png", "A/1.png", "A/2.png")
    lmmscore("init", tmp_path, "--instruction", "Paint it")
    (tmp_path / "items.csv").write_text("id,task,instruction\n1,sky,Paint it\n2,sea,Cut it\n")
    again = lmmscore("init", tmp_path, "--force", "--task", "style")
    assert load_benchmark(tmp_path).tasks == ("style",)
    assert "--task style replaces sea, sky" in again.stderr


def test_force_keeps_what_was_filled_in_by_hand(tmp_path: Path) -> None:
    """Instructions that differ from row to row are the user's work and stay."""
    paint(tmp_path, "source/1.png", "source/2.png", "A/1.png", "A/2.png")
    lmmscore("init", tmp_path)
    (tmp_path / "items.csv").write_text("id,task,instruction\n1,all,Paint it\n2,all,Cut it\n")
    paint(tmp_path, "B/1.png")
    again = lmmscore("init", tmp_path, "--force", "--task", "style", "--instruction", "Anything")
    assert again.exit_code == 0, again.exception
    benchmark = load_benchmark(tmp_path)
    assert [item.instruction for item in benchmark.items] == ["Paint it", "Cut it"]
    assert benchmark.tasks == ("style",)
    assert benchmark.methods == ("A", "B")


def test_a_linked_method_folder_is_named_not_skipped_in_silence(tmp_path: Path) -> None:
    """A folder that is a link is not entered, and `init` says so."""
    paint(tmp_path / "elsewhere", "1.png")
    paint(tmp_path / "b", "source/1.png", "A/1.png")
    (tmp_path / "b" / "B").symlink_to(tmp_path / "elsewhere")
    made = lmmscore("init", tmp_path / "b", "--instruction", "Do")
    assert "ignored folders that are links: B" in made.stderr
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "B").symlink_to(tmp_path / "elsewhere")
    assert "not entered: B" in str(lmmscore("init", tmp_path / "c").exception)


# Cost


class CountedText(str):
    """A text that counts how often it is looked up."""

    __slots__ = ()
    hashed = 0

    def __hash__(self) -> int:
        CountedText.hashed += 1
        return super().__hash__()


def test_selecting_items_is_linear(tmp_path: Path) -> None:
    """Each id is looked up a few times, however many items there are."""
    ids = [CountedText(f"i{number}") for number in range(3000)]
    items = tuple(Item(name, "t", "Do", {}, {}) for name in ids)
    benchmark = Benchmark("b", tmp_path, tmp_path, ("m",), items)
    CountedText.hashed = 0
    assert len(benchmark.select(items=ids).items) == 3000
    assert CountedText.hashed < 10 * len(ids)


# Any kind of image


@pytest.mark.parametrize("inline", [False, True])
def test_a_benchmark_may_name_any_kind_of_image(tmp_path: Path, inline: bool) -> None:
    """`mask` and `subject2` are kinds like `source`; a mistyped `refrence` is none."""
    paint(tmp_path, "s/1.png", "mask/1.png", "two/1.png", "m/1.png")
    body: dict[str, Any] = {"name": "b"}
    if inline:
        pictures = {"source": "s/1.png", "mask": "mask/1.png", "subject2": "two/1.png"}
        body["items"] = [{"id": "1", "instruction": "Do", **pictures, "edits": {"m": "m/1.png"}}]
    else:
        (tmp_path / "items.csv").write_text("id,instruction\n1,Do\n")
        body |= {"items": "items.csv", "images": {"source": "s/{id}.png", "mask": "mask/{id}.png"}}
        body["images"] |= {"subject2": "two/{id}.png", "edit": "{method}/{id}.png"}
        body["methods"] = ["m"]
    (tmp_path / "benchmark.yaml").write_text(json.dumps(body))
    assert set(load_benchmark(tmp_path).items[0].images) == {"source", "mask", "subject2"}

    where = body["items"][0] if inline else body["images"]
    where["refrence"] = "s/1.png"
    (tmp_path / "benchmark.yaml").write_text(json.dumps(body))
    with pytest.raises(BenchmarkError, match=r"refrence: unknown key \(did you mean reference"):
        load_benchmark(tmp_path)


# Bytes that are not text


@pytest.mark.parametrize("name", ["benchmark.yaml", "items.csv", "items.jsonl", "items.tsv"])
def test_bytes_that_are_not_utf_8_are_said_in_one_line(tmp_path: Path, name: str) -> None:
    """A file saved in another encoding is named, with what to do."""
    root = benchmark_of(tmp_path, "A", "source/1.png", "A/1.png")
    if name != "benchmark.yaml":
        text = (root / "benchmark.yaml").read_text().replace("items.csv", name)
        (root / "benchmark.yaml").write_text(text)
    content = {"items.jsonl": '{"id": "1", "instruction": "Züge"}\n'}.get(name, "id,Züge\n")
    (root / name).write_bytes(content.encode("latin-1"))
    checked = lmmscore("check", root)
    said = f"{checked.output}{checked.exception}"
    assert "UTF-8" in said and name in said
    assert isinstance(checked.exception, LmmscoreError | SystemExit)


def test_half_a_surrogate_pair_in_json_is_refused(tmp_path: Path) -> None:
    """JSON can spell what no file can hold; it is refused before a run is written halfway."""
    root = benchmark_of(tmp_path, "A", "source/1.png", "A/1.png")
    text = (root / "benchmark.yaml").read_text().replace("items.csv", "items.jsonl")
    (root / "benchmark.yaml").write_text(text)
    (root / "items.jsonl").write_text('{"id": "1", "instruction": "Make \\ud83d"}\n')
    with pytest.raises(BenchmarkError, match="not valid Unicode"):
        load_benchmark(root)


def test_prompts_and_tables_in_another_encoding_are_said(tmp_path: Path) -> None:
    """What is imported is held to UTF-8 as well."""
    (tmp_path / "p.txt").write_bytes("Score: Züge from 1 to 5".encode("latin-1"))
    (tmp_path / "t.csv").write_bytes("id,instruction\n1,Züge\n".encode("latin-1"))
    with pytest.raises(LmmscoreError, match=r"p\.txt.*UTF-8"):
        import_document(tmp_path / "p.txt")
    with pytest.raises(LmmscoreError, match=r"t\.csv.*UTF-8"):
        read_table(tmp_path / "t.csv")
