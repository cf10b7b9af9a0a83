"""Folders as people have them become benchmarks: a folder a method, and ID_METHOD beside ID_src."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from lmmscore.benchmark import Benchmark, load_benchmark, read_benchmark
from lmmscore.cli.init import command as init
from lmmscore.errors import BenchmarkError
from lmmscore.importers.layouts import all_layouts, layout_names
from tests.command_line import lmm
from tests.painting import paint

SHARED = Path(__file__).parents[2].parent / "shared"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(init, [str(argument) for argument in arguments])


def made(folder: Path, *arguments: object) -> Benchmark:
    """Return the benchmark `init` writes for a folder, with the same instruction for all."""
    result = run(folder, "--instruction", "Do it", *arguments)
    assert result.exit_code == 0, result.exception
    return loaded_as_told(result)


def loaded_as_told(result: Result) -> Benchmark:
    """Return the benchmark by the command that `init` prints, with its --root if it names one."""
    told = result.stderr.rpartition("next: lmmscore check ")[2]
    root = re.search(r"--root (\S+)", told)
    return load_benchmark(Path(result.stdout.strip()), Path(root[1]) if root else None)


def edits(benchmark: Benchmark) -> dict[str, set[str]]:
    return {item.id: set(item.edits) for item in benchmark.items}


def test_the_command_line_knows_every_layout() -> None:
    """`--layout` offers exactly the layouts there are."""
    assert list(all_layouts()) == layout_names()


# A folder a method


def test_a_folder_a_method(tmp_path: Path) -> None:
    """Folders that repeat the sources' names are methods, whatever the image types."""
    paint(
        tmp_path, "source/1.jpg", "source/2.jpg", "A/1.png", "A/2.png", "B b/1.webp", "B b/2.webp"
    )
    benchmark = made(tmp_path)
    assert benchmark.methods == ("A", "B b")
    assert edits(benchmark) == {"1": {"A", "B b"}, "2": {"A", "B b"}}
    assert benchmark.items[0].images["source"].name == "1.jpg"


def test_a_method_without_an_edit_is_missing_there(tmp_path: Path) -> None:
    """An edit that is not there is left out, the item is not."""
    paint(tmp_path, "src/a.png", "src/b.png", "A/a.png", "A/b.png", "B/a.png")
    assert edits(made(tmp_path)) == {"a": {"A", "B"}, "b": {"A"}}


@pytest.mark.parametrize(
    "name", ["source", "src", "input", "original", "Originals", "inputs", "source_images", "before"]
)
def test_sources_go_by_many_names(tmp_path: Path, name: str) -> None:
    """The folder of sources is known by its name."""
    paint(tmp_path, f"{name}/1.png", "A/1.png", "B/1.png")
    assert made(tmp_path).methods == ("A", "B")


def test_references_and_marked_pictures_are_no_methods(tmp_path: Path) -> None:
    """Ground truth and marked sources take their places beside the source."""
    paint(tmp_path, "source/1.png", "ground_truth/1.png", "visual/1.png", "A/1.png")
    benchmark = made(tmp_path)
    assert benchmark.methods == ("A",)
    assert set(benchmark.items[0].images) == {"source", "reference", "marked"}


def test_sources_beside_the_folders(tmp_path: Path) -> None:
    """Pictures at the top are the sources of the folders that repeat their names."""
    paint(tmp_path, "1.jpg", "2.jpg", "A/1.png", "B/2.png")
    assert edits(made(tmp_path)) == {"1": {"A"}, "2": {"B"}}


def test_methods_inside_a_folder_of_edits(tmp_path: Path) -> None:
    """edits/METHOD/ID.png, as in the bundled benchmark."""
    paint(tmp_path, "source/1.png", "outputs/A/1.png", "outputs/B/1.png", "extra/1.png")
    result = run(tmp_path, "--instruction", "Do it")
    assert load_benchmark(tmp_path).methods == ("A", "B")
    assert "ignored extra/" in result.stderr


def test_tasks_are_folders_inside(tmp_path: Path) -> None:
    """METHOD/TASK/ID.png with the same numbers in two tasks gives ids TASK/ID and keeps templates."""
    paint(
        tmp_path,
        *(
            f"{top}/{task}/{n}.png"
            for top in ("source", "A")
            for task in ("sky", "sea")
            for n in (1, 2)
        ),
    )
    benchmark = made(tmp_path)
    assert edits(benchmark) == {f"{task}/{n}": {"A"} for task in ("sea", "sky") for n in (1, 2)}
    assert benchmark.tasks == ("sea", "sky")
    assert "{method}/{task}/{number}.png" in (tmp_path / "benchmark.yaml").read_text()


def test_tasks_may_be_the_outer_folders(tmp_path: Path) -> None:
    """TASK/METHOD/ID.png with TASK/source/ID.png is read the same way."""
    paint(
        tmp_path,
        *(
            f"{task}/{who}/{n}.png"
            for who in ("source", "A", "B")
            for task in ("sky", "sea")
            for n in (1, 2)
        ),
    )
    benchmark = made(tmp_path)
    assert benchmark.tasks == ("sea", "sky")
    assert edits(benchmark)["sky/2"] == {"A", "B"}


def test_without_a_source_folder_it_asks(tmp_path: Path) -> None:
    """Folders that share names but none of which is called a source: one line says what to type."""
    paint(tmp_path, "shots/1.png", "A/1.png", "B/1.png")
    result = run(tmp_path)
    assert "--source FOLDER" in str(result.exception)
    assert "A, B, shots" in str(result.exception)
    benchmark = made(tmp_path, "--source", "shots")
    assert benchmark.methods == ("A", "B")


# A folder an item


@pytest.mark.parametrize(
    ("above", "template", "tasks"),
    [("", "{id}/{method}.png", ("all",)), ("sea/", "{task}/{id}/{method}.png", ("sea",))],
)
def test_a_folder_an_item(
    tmp_path: Path, above: str, template: str, tasks: tuple[str, ...]
) -> None:
    """Folders with a source in each are items, and the files beside it are named by method."""
    paint(tmp_path, *(f"{above}{name}/{file}.png" for name in ("cat", "dog")
                      for file in ("source", "gt", "A", "B b")))  # fmt: skip
    paint(tmp_path, f"{above}fox/source.png", f"{above}fox/gt.png")
    result = run(tmp_path, "--instruction", "x")
    assert "one folder per item" in result.stderr
    assert f"wrote {tmp_path / 'items.csv'}" in result.stderr
    assert template in (tmp_path / "benchmark.yaml").read_text()
    benchmark = load_benchmark(tmp_path)
    assert edits(benchmark) == {"cat": {"A", "B b"}, "dog": {"A", "B b"}, "fox": set()}
    assert set(benchmark.items[0].images) == {"source", "reference"}
    assert benchmark.tasks == tasks


# ID_METHOD beside ID_src


def test_suffixes_with_underscores_in_ids_and_methods(tmp_path: Path) -> None:
    """A name that fits two ids belongs to the longer one; the rest is the method."""
    paint(
        tmp_path,
        "a_src.jpg",
        "a_b_src.jpg",
        "a_X.png",
        "a_b_X.png",
        "a_b_null_text.png",
        "a_null_text.png",
    )
    assert edits(made(tmp_path)) == {"a": {"X", "null_text"}, "a_b": {"X", "null_text"}}


@pytest.mark.parametrize(
    "suffix", ["_src", "_source", "_input", "_original", "_SRC", "-src", "_orig"]
)
def test_sources_go_by_many_suffixes(tmp_path: Path, suffix: str) -> None:
    """The source is known by what follows its id."""
    paint(tmp_path, f"6{suffix}.jpg", "6_A.png", "6_B.png")
    assert edits(made(tmp_path)) == {"6": {"A", "B"}}


def test_a_source_may_have_no_suffix(tmp_path: Path) -> None:
    """cat.jpg beside cat_A.png is its source."""
    paint(tmp_path, "cat.jpg", "cat_A.png", "cat_B.png", "dog.jpg", "dog_A.png")
    assert edits(made(tmp_path)) == {"cat": {"A", "B"}, "dog": {"A"}}


def test_references_beside(tmp_path: Path) -> None:
    """ID_gt and ID_ground_truth are references, not methods."""
    paint(
        tmp_path,
        "1_src.png",
        "1_ground_truth.png",
        "1_A.png",
        "2_src.png",
        "2_ground_truth.png",
        "2_A.png",
    )
    benchmark = made(tmp_path)
    assert benchmark.methods == ("A",)
    assert benchmark.items[1].images["reference"].name == "2_ground_truth.png"


def test_suffixes_in_task_folders(tmp_path: Path) -> None:
    """A folder a task with the same numbers inside: ids become TASK/ID."""
    paint(
        tmp_path,
        *(
            f"{task}/{n}_{who}.png"
            for task in ("x", "y")
            for n in (1, 2, 10)
            for who in ("src", "A")
        ),
    )
    benchmark = made(tmp_path)
    assert [item.id for item in benchmark.items] == ["x/1", "x/2", "x/10", "y/1", "y/2", "y/10"]
    assert "{task}/{number}_{method}.png" in (tmp_path / "benchmark.yaml").read_text()


def test_methods_with_dots_keep_their_edits_apart(tmp_path: Path) -> None:
    """sd1 and sd1.5 are two methods even where file types are mixed."""
    paint(tmp_path, "1_src.jpg", "1_sd1.png", "1_sd1.5.jpg", "2_src.jpg", "2_sd1.5.jpg")
    benchmark = made(tmp_path)
    assert edits(benchmark) == {"1": {"sd1", "sd1.5"}, "2": {"sd1.5"}}
    assert benchmark.items[0].edits["sd1"].name == "1_sd1.png"


def test_templates_that_would_lead_astray_are_not_written(tmp_path: Path) -> None:
    """Where naming is mixed the paths are written out, item by item."""
    paint(tmp_path, "x/1_src.png", "x/1_A.png", "y/1_source.png", "y/1-A.png")
    benchmark = made(tmp_path)
    assert edits(benchmark) == {"x/1": {"A"}, "y/1": {"A"}}
    assert "y/1-A.png" in (tmp_path / "benchmark.yaml").read_text()


names = st.text("ab_-. é", min_size=1, max_size=6).filter(
    lambda t: t.strip(" .") == t and not t.startswith(("-", "_"))
)


@settings(max_examples=40, deadline=None)
@given(
    st.sets(names, min_size=1, max_size=3),
    st.sets(st.sampled_from(["A", "B_2", "null_text", "v1.5"]), min_size=1),
)
def test_what_is_found_is_what_is_loaded(
    tmp_path_factory: pytest.TempPathFactory, ids: set[str], methods: set[str]
) -> None:
    """Whatever the ids, the loader finds each source with the edits that begin with its whole id."""
    folder = tmp_path_factory.mktemp("any")
    paint(
        folder,
        *(f"{name}_src.png" for name in ids),
        *(f"{name}_{m}.png" for name in ids for m in methods),
    )
    benchmark = made(folder)
    assert {item.id for item in benchmark.items} == ids
    assert sum(len(item.edits) for item in benchmark.items) == len(ids) * len(methods)


def test_the_real_fox(tmp_path: Path) -> None:
    """Eight methods beside 6_src.jpg, written elsewhere since the folder is not ours."""
    fox = SHARED / "data/editeval/fox"
    if not fox.is_dir():
        pytest.skip("the shared research data are not here")
    benchmark = made(fox, "--out", tmp_path / "here.yaml", "--task", "background_change")
    assert len(benchmark.items[0].edits) == 8
    assert "LEDITS_PLUSPLUS" in benchmark.methods and "null_text" in benchmark.methods


# What it says and what it writes


def test_it_says_what_it_recognised_and_why(tmp_path: Path) -> None:
    """The layout, the reason and the next command go to standard error; the path alone to standard output."""
    paint(tmp_path, "1_src.jpg", "1_A.png")
    result = run(tmp_path)
    assert result.stdout == f"{tmp_path / 'benchmark.yaml'}\n"
    assert "recognised the layout suffixes: 1 source named ID_src" in result.stderr
    assert f"lmmscore check {tmp_path / 'benchmark.yaml'}" in result.stderr


def test_paths_are_named_as_the_user_wrote_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative paths stay relative in everything that is printed; what is loaded is the same."""
    paint(tmp_path, "pics/source/1.png", "pics/A/1.png")
    monkeypatch.chdir(tmp_path)
    result = run("pics")
    assert result.stdout == "pics/benchmark.yaml\n"
    again = run("pics", "--out", "elsewhere", "--instruction", "Do it")
    assert again.stdout == "elsewhere/benchmark.yaml\n"
    assert "check elsewhere/benchmark.yaml --root pics\n" in again.stderr
    refused = run("pics")
    printed = result.stderr + again.stderr + str(refused.exception)
    assert str(tmp_path) not in printed
    assert edits(loaded_as_told(again)) == {"1": {"A"}}
    # The same folder, named in two ways: its own items file is known for what it is.
    mixed = run("pics", "--out", tmp_path / "pics", "--force", "--task", "new")
    assert mixed.exit_code == 0, mixed.exception
    assert "--task new replaces all" in mixed.stderr


def test_sources_and_edits_in_two_folders_are_joined_above_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--source may be written as a relative path while the folder is absolute, and the reverse."""
    paint(tmp_path, "originals/1.png", "outputs/A/k.png")
    listing = tmp_path / "outputs/basic_edit.json"
    listing.write_text('{"k": {"id": "1.png", "prompt": "Do it", "edit_type": "add"}}')
    (tmp_path / "inside").mkdir()
    monkeypatch.chdir(tmp_path / "inside")
    for folder, source in (
        ("../outputs", tmp_path / "originals"),
        (tmp_path / "outputs", "../originals"),
    ):
        result = run(folder, "--source", source, "--out", "b.yaml", "--force")
        assert result.exit_code == 0, result.exception
        item = loaded_as_told(result).items[0]
        assert item.images["source"].samefile("../originals/1.png")
        assert item.edits["A"].samefile("../outputs/A/k.png")


def test_rows_without_an_instruction_are_not_counted_as_having_one(tmp_path: Path) -> None:
    """The items file that an earlier init left to be filled in holds no instructions."""
    paint(tmp_path, "source/1.png", "source/2.png", "A/1.png", "A/2.png")
    items = tmp_path / "items.csv"
    items.write_text("id,task,instruction\n1,all,\n2,all,Do it\n")
    assert "instructions of 1 of 2 items from" in run(tmp_path).stderr


def test_an_instruction_that_is_nowhere_is_never_made_up(tmp_path: Path) -> None:
    """Empty instructions are reported by the loader one by one, whichever way the items are written."""
    paint(tmp_path / "t", "1_src.jpg", "1_A.png", "2_src.jpg", "2_A.png")
    assert "2 instructions could not be found" in run(tmp_path / "t").stderr
    assert [p.says for p in read_benchmark(tmp_path / "t").problems][:2] == [
        "no instruction; fill it in",
        "no instruction; fill it in",
    ]
    paint(tmp_path / "i", "x/1_src.png", "x/1_A.png", "y/1_source.png", "y/1-A.png")
    run(tmp_path / "i")
    assert [p.says for p in read_benchmark(tmp_path / "i").problems][:2] == [
        "no instruction; fill it in",
        "no instruction; fill it in",
    ]


def test_a_table_beside_gives_the_instructions(tmp_path: Path) -> None:
    """A CSV in the folder with ids and prompts is found, and its further columns are kept."""
    paint(tmp_path, "source/1.png", "source/2.png", "A/1.png", "A/2.png")
    (tmp_path / "prompts.csv").write_text(
        "image,prompt,category,note\n1.png,Add a hat,add,x\n2.png,Remove it,remove,y\n"
    )
    result = run(tmp_path)
    benchmark = load_benchmark(tmp_path)
    assert "instructions of 2 of 2 items" in result.stderr
    assert [(i.instruction, i.task, i.fields["note"]) for i in benchmark.items] == [
        ("Add a hat", "add", "x"),
        ("Remove it", "remove", "y"),
    ]


def test_a_table_that_can_serve_as_it_is_is_used_as_it_is(tmp_path: Path) -> None:
    """items.csv with id, task and instruction is not written anew."""
    paint(tmp_path, "source/1.png", "source/2.png", "A/1.png", "A/2.png")
    own = "id,task,instruction\n2,add,Two\n1,add,One\n"
    (tmp_path / "items.csv").write_text(own)
    assert run(tmp_path).exit_code == 0
    assert [item.id for item in load_benchmark(tmp_path).items] == ["2", "1"]
    assert (tmp_path / "items.csv").read_text() == own


def test_instructions_from_a_file_named(tmp_path: Path) -> None:
    """--instructions takes a table from anywhere, with columns named by option."""
    paint(tmp_path / "f", "1_src.jpg", "1_A.png", "2_src.jpg", "2_A.png")
    table = tmp_path / "t.jsonl"
    table.write_text('{"nr": "1", "what": "One"}\n{"nr": 2, "what": "Two"}\n')
    refused = run(tmp_path / "f", "--instructions", table)
    assert "name the columns with --id-column" in str(refused.exception)
    assert (
        run(
            tmp_path / "f",
            "--instructions",
            table,
            "--id-column",
            "nr",
            "--instruction-column",
            "what",
        ).exit_code
        == 0
    )
    assert [item.instruction for item in load_benchmark(tmp_path / "f").items] == ["One", "Two"]
    unknown = run(tmp_path / "f", "--instructions", table, "--id-column", "nrr", "--force")
    assert "did you mean nr?" in str(unknown.exception)


def test_nothing_is_overwritten_without_force(tmp_path: Path) -> None:
    """A second init refuses; with --force what was filled in is carried over."""
    paint(tmp_path, "1_src.jpg", "1_A.png")
    run(tmp_path)
    items = tmp_path / "items.csv"
    items.write_text(items.read_text().replace("1,all,", "1,all,Filled in"))
    before = (tmp_path / "benchmark.yaml").read_bytes()
    assert "--force" in str(run(tmp_path).exception)
    assert (tmp_path / "benchmark.yaml").read_bytes() == before
    paint(tmp_path, "2_src.jpg", "2_A.png")
    assert run(tmp_path, "--force").exit_code == 0
    assert "Filled in" in items.read_text() and "\n2,all," in items.read_text()


def test_a_cell_that_a_spreadsheet_would_run_goes_to_json_lines(tmp_path: Path) -> None:
    """items.csv never holds a formula: such items are written as items.jsonl instead."""
    paint(tmp_path, "1_src.jpg", "1_A.png")
    run(tmp_path, "--instruction", "=1+1")
    assert load_benchmark(tmp_path).items[0].instruction == "=1+1"
    assert (tmp_path / "items.jsonl").exists()


def test_written_elsewhere_it_points_back(tmp_path: Path) -> None:
    """--out writes into another folder, with root leading to the pictures."""
    paint(tmp_path / "pictures", "1_src.jpg", "1_A.png")
    benchmark = made(
        tmp_path / "pictures", "--out", tmp_path / "new" / "mine.yaml", "--name", "Mine"
    )
    assert benchmark.name == "Mine"
    assert benchmark.items[0].edits["A"].read_bytes()
    assert sorted(p.name for p in (tmp_path / "pictures").iterdir()) == ["1_A.png", "1_src.jpg"]
    with pytest.raises(BenchmarkError, match=f"--root {tmp_path / 'pictures'}"):
        load_benchmark(tmp_path / "new" / "mine.yaml")


def test_nothing_known_lists_what_is_expected(tmp_path: Path) -> None:
    """The error says what was seen, what is expected, and how to choose."""
    paint(tmp_path, "one.png", "other.png")
    message = str(run(tmp_path).exception)
    assert "2 pictures; files such as one.png, other.png" in message
    assert all(f"--layout {name}:" in message for name in all_layouts())
    (tmp_path / "empty").mkdir()
    assert "seen: no pictures" in str(run(tmp_path / "empty").exception)


def test_two_layouts_that_fit_equally_are_named(tmp_path: Path) -> None:
    """Nothing is taken by chance: the user chooses."""
    paint(
        tmp_path,
        *(f"{folder}/1{suffix}.png" for folder in ("source", "A") for suffix in ("_src", "_B")),
    )
    message = str(run(tmp_path).exception)
    assert "several layouts fit equally" in message
    assert "--layout folders" in message and "--layout suffixes" in message
    assert made(tmp_path, "--layout", "folders").methods == ("A",)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """A mistyped path is said to be one."""
    assert "no such folder" in str(run(tmp_path / "nowhere").exception)


def test_the_demo_is_recognised_from_the_command_line(tmp_path: Path) -> None:
    """The bundled benchmark without its benchmark.yaml comes out as it went in."""
    demo = Path(__file__).parents[2] / "media/demo"
    folder = tmp_path / "demo"
    shutil.copytree(demo, folder, ignore=shutil.ignore_patterns("*.yaml"))
    done = lmm("init", folder)
    again, original = load_benchmark(Path(done.stdout.strip())), load_benchmark(demo)
    assert [(i.id, i.task, i.instruction) for i in again.items] == [
        (i.id, i.task, i.instruction) for i in original.items
    ]
    assert set(again.methods) == set(original.methods)
    assert all(set(i.images) == {"source", "reference", "marked"} for i in again.items)


def test_plain_images_beside_methods_are_the_sources(tmp_path: Path) -> None:
    """images/ beside SINE/ and P2P/ holds the sources, though its name does not say so."""
    paint(tmp_path, "images/1.jpg", "SINE/1.png", "P2P/1.png")
    assert made(tmp_path).methods == ("P2P", "SINE")


def test_many_pictures_are_looked_at_once(tmp_path: Path) -> None:
    """Two thousand edits of mixed types are a matter of a second, not of listing a folder two thousand times."""
    names = [
        f"{who}/{n}{'.png' if n % 2 else '.jpg'}" for who in ("source", "A") for n in range(1000)
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"not looked into")
    listed = 0
    original = os.listdir

    def counted(path: Path) -> list[str]:
        nonlocal listed
        listed += 1
        return original(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "listdir", counted)
        assert len(made(tmp_path).items) == 1000
    assert listed < 50  # the layouts themselves are listed, too


def test_a_table_in_utf_16_is_read_and_one_in_another_encoding_is_named(tmp_path: Path) -> None:
    """Excel writes UTF-16; a table that cannot be read is said, and never written over."""
    table = "id\tinstruction\n1\tMach es größer\n"
    paint(tmp_path, "source/1.png", "a/1.png", "b/1.png")
    (tmp_path / "items.csv").write_bytes(table.encode("utf-16"))
    result = run(tmp_path)
    assert result.exit_code == 0, result.output
    assert "instructions of 1 of 1 item" in result.stderr
    assert load_benchmark(tmp_path).items[0].instruction == "Mach es größer"

    (tmp_path / "benchmark.yaml").unlink()
    (tmp_path / "benchmark-items.csv").unlink()
    foreign = table.encode("latin-1")
    (tmp_path / "items.csv").write_bytes(foreign)
    for arguments in ([], ["--force"]):
        result = run(tmp_path, *arguments)
        assert result.exit_code == 0, result.output
        assert "not used for instructions" in result.stderr and "save it as UTF-8" in result.stderr
        assert (tmp_path / "items.csv").read_bytes() == foreign
    # The edits are there; only the instruction is not.
    assert [each.says for each in read_benchmark(tmp_path).problems] == [
        "no instruction; fill it in"
    ]
