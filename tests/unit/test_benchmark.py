from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lmmscore.benchmark import load_benchmark, read_benchmark
from lmmscore.errors import BenchmarkError, FileProblem
from tests.conftest import picture

Maker = Callable[..., Path]


def kinds(path: Path) -> list[str]:
    return [problem.kind for problem in read_benchmark(path).problems]


def inline(root: Path, *items: dict[str, object], **more: object) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    (root / "benchmark.yaml").write_text(
        json.dumps({"name": "b", "items": list(items), **more}, ensure_ascii=False),
        encoding="utf-8",
    )
    return root


def test_templates_over_a_csv_give_items_and_edits(make_benchmark: Maker) -> None:
    """Path templates with {id}, {task} and {method} find every picture."""
    benchmark = load_benchmark(make_benchmark(items=2))
    assert [item.id for item in benchmark.items] == ["i0", "i1"]
    assert set(benchmark.items[0].edits) == {"alpha", "beta", "gamma"}
    assert benchmark.items[0].images["source"].is_file()


@pytest.mark.parametrize("form", ["jsonl", "yaml", "tsv"])
def test_items_come_from_jsonl_yaml_and_tsv_too(make_benchmark: Maker, form: str) -> None:
    """The items file may have any of the usual formats."""
    root = make_benchmark(items=1)
    text = {
        "jsonl": '{"id": "i0", "task": "t", "instruction": "Do"}\n',
        "yaml": "- {id: i0, task: t, instruction: Do}\n",
        "tsv": "id\ttask\tinstruction\ni0\tt\tDo\n",
    }[form]
    (root / f"items.{form}").write_text(text, encoding="utf-8")
    settings_file = root / "benchmark.yaml"
    settings_file.write_text(settings_file.read_text().replace("items.csv", f"items.{form}"))
    item = load_benchmark(root).items[0]
    assert (item.id, item.task, item.instruction) == ("i0", "t", "Do")


@pytest.mark.parametrize(("task", "named"), [("0", "0"), ("null", "all"), ('""', "all")])
def test_a_task_called_zero_keeps_its_name(make_benchmark: Maker, task: str, named: str) -> None:
    """Only an item without a task belongs to all of them."""
    root = make_benchmark(items=1)
    (root / "items.yaml").write_text(
        f"- {{id: i0, task: {task}, instruction: Do}}\n", encoding="utf-8"
    )
    settings_file = root / "benchmark.yaml"
    settings_file.write_text(settings_file.read_text().replace("items.csv", "items.yaml"))
    assert read_benchmark(root).items[0].task == named


def test_methods_are_found_from_the_files(make_benchmark: Maker) -> None:
    """Without a methods key the files say who took part; the source beside them is no method."""
    root = make_benchmark(items=2, methods=("alpha", "null_text"))
    for number in range(2):
        (root / "source" / f"i{number}.png").rename(root / "edits" / f"i{number}_src.png")
    (root / "benchmark.yaml").write_text(
        'name: b\nitems: items.csv\nimages: {source: "edits/{id}_src.png", edit: "edits/{id}_{method}.png"}\n'
    )
    assert load_benchmark(root).methods == ("alpha", "null_text")


def test_a_file_that_fits_two_ids_belongs_to_the_longer_one(tmp_path: Path) -> None:
    """With ids `6` and `6_b`, the file 6_b_SINE.png is SINE's edit of 6_b."""
    for name in ("6_src", "6_SINE", "6_b_src", "6_b_SINE"):
        picture(tmp_path / f"{name}.png", (len(name), 0, 0))
    (tmp_path / "items.csv").write_text("id,instruction\n6,Do\n6_b,Do\n")
    (tmp_path / "benchmark.yaml").write_text(
        'name: b\nitems: items.csv\nimages: {source: "{id}_src.png", edit: "{id}_{method}.png"}\n'
    )
    benchmark = load_benchmark(tmp_path)
    assert benchmark.methods == ("SINE",)
    assert benchmark.items[1].edits["SINE"].name == "6_b_SINE.png"


def test_any_image_type_fits_a_template_ending_in_a_star(tmp_path: Path) -> None:
    """`{id}.*` finds a JPEG as well as a PNG."""
    picture(tmp_path / "src" / "a.jpg")
    picture(tmp_path / "m" / "a.webp")
    (tmp_path / "items.csv").write_text("id,instruction\na,Do\n")
    (tmp_path / "benchmark.yaml").write_text(
        'name: b\nitems: items.csv\nimages: {source: "src/{id}.*", edit: "{method}/{id}.*"}\nmethods: [m]\n'
    )
    item = load_benchmark(tmp_path).items[0]
    assert (item.images["source"].suffix, item.edits["m"].suffix) == (".jpg", ".webp")


def test_a_method_may_lack_an_edit(make_benchmark: Maker) -> None:
    """A missing edit is an outcome of the method, not an error of the benchmark."""
    benchmark = load_benchmark(make_benchmark(items=2, absent=((1, "beta"),)))
    assert "beta" not in benchmark.items[1].edits
    assert "beta" in benchmark.methods


def test_every_problem_is_listed_at_once(tmp_path: Path) -> None:
    """A file with several faults shows them all in one reading."""
    root = inline(
        tmp_path / "b",
        {"id": "a", "instruction": "Do", "source": "a.png", "edits": {"m": "../../etc/x.png"}},
        {"id": "a", "instruction": "Do", "source": "a.png", "edits": {}},
        {"id": "c", "instrution": "Do", "source": "c.png", "edits": {"m": "c_m.png"}},
    )
    assert sorted(kinds(root)) == ["duplicate-id", "missing-key", "path-outside", "unknown-key"]
    with pytest.raises(BenchmarkError, match="did you mean instruction"):
        load_benchmark(root)


def test_unknown_key_in_benchmark_yaml_names_the_nearest(tmp_path: Path) -> None:
    """A mistyped key is answered with the one that was meant."""
    root = inline(tmp_path / "b", {"id": "a", "instruction": "Do"}, metods=["x"])
    with pytest.raises(BenchmarkError, match=r"metods: unknown key \(did you mean methods"):
        load_benchmark(root)


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    """A symbolic link must not smuggle in a file from elsewhere."""
    picture(tmp_path / "secret.png")
    root = tmp_path / "b"
    root.mkdir()
    (root / "a.png").symlink_to(tmp_path / "secret.png")
    inline(root, {"id": "a", "instruction": "Do", "source": "a.png", "edits": {}})
    assert "path-outside" in kinds(root)


def test_absolute_paths_are_refused(tmp_path: Path) -> None:
    """A path from the root of the file system leaves the folder, too."""
    root = inline(
        tmp_path / "b", {"id": "a", "instruction": "Do", "source": "/etc/hostname", "edits": {}}
    )
    assert "path-outside" in kinds(root)


@pytest.mark.parametrize(
    "name",
    [
        "a b",
        "a/b",
        "it's",
        'say "x"',
        "a,b",
        "🦊",
        "x" * 300,
        "=1+1",
        "..",
        "a\\b",
        "ü.png",
        "NA",
        "007",
        "[x]*?",
    ],
)
def test_wild_ids_are_taken_as_they_are(tmp_path: Path, name: str) -> None:
    """Spaces, slashes, quotes, commas, emoji, 300 characters: an id is just a name."""
    picture(tmp_path / "s.png")
    root = inline(
        tmp_path, {"id": name, "instruction": "Do", "source": "s.png", "edits": {"m": "s.png"}}
    )
    assert load_benchmark(root).items[0].id == name


def test_an_id_too_long_for_a_file_name_is_just_missing(tmp_path: Path) -> None:
    """A template filled with 300 characters names a file that cannot be: its edits are missing, nothing crashes."""
    picture(tmp_path / "s.png")
    (tmp_path / "items.csv").write_text(f"id,instruction\n{'x' * 300},Do\n")
    (tmp_path / "benchmark.yaml").write_text(
        'name: b\nitems: items.csv\nmethods: [m]\nimages: {source: "s.png", edit: "{id}_{method}.png"}\n'
    )
    assert load_benchmark(tmp_path).items[0].edits == {}


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None
)
@given(st.text(alphabet=st.sampled_from("ab./\\~ \0"), min_size=1, max_size=20))
def test_no_path_leaves_the_folder(tmp_path: Path, name: str) -> None:
    """Whatever a path is made of, a file outside the folder is never taken."""
    root = inline(tmp_path / "b", {"id": "a", "instruction": "Do", "source": name, "edits": {}})
    for item in read_benchmark(root).items:
        for path in item.images.values():
            assert Path(os.path.realpath(path)).is_relative_to(root.resolve())


def test_unreadable_items_file_says_where(make_benchmark: Maker) -> None:
    """A broken line of the items file is named."""
    root = make_benchmark(items=1)
    (root / "items.jsonl").write_text('{"id": "a"}\n{oops\n')
    settings_file = root / "benchmark.yaml"
    settings_file.write_text(settings_file.read_text().replace("items.csv", "items.jsonl"))
    with pytest.raises(BenchmarkError, match=r"items\.jsonl, line 2"):
        load_benchmark(root)


def test_selecting_an_unknown_method_suggests_one(make_benchmark: Maker) -> None:
    """A mistyped --method is answered with the nearest."""
    with pytest.raises(BenchmarkError, match="did you mean alpha"):
        load_benchmark(make_benchmark()).select(methods=["alhpa"])


def test_a_folder_without_benchmark_yaml_says_how_to_get_one(tmp_path: Path) -> None:
    """Newcomers are told about `lmmscore init`."""
    with pytest.raises(BenchmarkError, match="lmmscore init"):
        load_benchmark(tmp_path)
    with pytest.raises(FileProblem, match="not valid YAML"):
        (tmp_path / "benchmark.yaml").write_text("name: [")
        load_benchmark(tmp_path)


def test_a_folder_of_pictures_that_is_not_there_is_one_problem(make_benchmark: Maker) -> None:
    """A mistyped --root or `root:` is named, rather than every picture as missing."""
    root = make_benchmark(items=2)
    with pytest.raises(BenchmarkError, match="nowhere: no such folder"):
        read_benchmark(root, root / "nowhere")
    settings_file = root / "benchmark.yaml"
    settings_file.write_text(settings_file.read_text() + "root: nowhere\n")
    assert [str(problem) for problem in read_benchmark(root).problems] == [
        f"{settings_file}, root: no folder 'nowhere' here"
    ]


@pytest.mark.parametrize("lacking", ["id", "instruction"])
def test_an_item_that_is_written_out_needs_an_id_and_an_instruction(
    tmp_path: Path, lacking: str
) -> None:
    """An id of blanks identifies no scores: two such items would share theirs."""
    item = {"id": "a", "instruction": "Do", "edits": {}} | {lacking: " "}
    root = inline(tmp_path / "b", item)
    assert kinds(root) == ["missing-column"]


def test_templates_find_what_an_item_that_is_written_out_does_not_give(tmp_path: Path) -> None:
    """`images` holds for items in benchmark.yaml, too; what an item gives itself comes first."""
    for name in ("a/src", "a/X", "b/src", "b/X", "b/Y", "own"):
        picture(tmp_path / "b" / f"{name}.png")
    items = [{"id": name, "instruction": "Do"} for name in "ab"]
    items.append({"id": "c", "instruction": "Do", "source": "own.png", "edits": {"X": "b/X.png"}})
    images = {"source": "{id}/src.png", "edit": "{id}/{method}.*"}
    a, b, c = load_benchmark(inline(tmp_path / "b", *items, images=images)).items
    assert [set(item.edits) for item in (a, b, c)] == [{"X"}, {"X", "Y"}, {"X"}]
    assert [item.images["source"].name for item in (a, c)] == ["src.png", "own.png"]

    listed = inline(tmp_path / "b", *items, images=images, methods=["X"])
    (problem,) = read_benchmark(listed).problems
    assert problem.level == "warning" and "'Y'" in problem.says and "add its name" in problem.says


@pytest.mark.parametrize(
    ("names", "kind", "says"),
    [
        ({"x": "Ours", "y": "Ours"}, "duplicate", "x and y are all called"),
        ({"x": "y", "y": "y"}, "duplicate", "x and y are all called"),
        ({"x": "Ours", "y": "ours"}, "similar-names", "Ours and ours differ in capitals"),
    ],
)
def test_two_methods_of_one_name_are_reported(
    tmp_path: Path, names: dict[str, str], kind: str, says: str
) -> None:
    """Nobody could tell their rows in a table apart."""
    for name in "axy":
        picture(tmp_path / "b" / f"{name}.png")
    item = {"id": "a", "instruction": "Do", "edits": {"x": "x.png", "y": "y.png"}}
    (problem,) = read_benchmark(inline(tmp_path / "b", item, methods=names)).problems
    assert problem.kind == kind and says in problem.says
    assert not problem.fatal
