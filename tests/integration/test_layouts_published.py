"""Benchmarks as they are published become ours: EditEval, VIBE, GEdit-Bench and ImgEdit."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from PIL import Image

from lmmscore.benchmark import Benchmark, check_benchmark, load_benchmark
from tests.integration.test_layouts import edits, loaded_as_told, run
from tests.painting import paint

SHARED = Path(__file__).parents[2].parent / "shared"


def made(folder: Path, *arguments: object) -> Benchmark:
    """Return the benchmark `init` writes for a folder."""
    result = run(folder, *arguments)
    assert result.exit_code == 0, result.exception
    return loaded_as_told(result)


# EditEval

HEADER = ["Image", "Source Prompt", "Target Prompt", "Instruction"]


def editeval(folder: Path) -> Path:
    """Draw the sources of two tasks, one folder spelt as it was published."""
    sources = (
        "object_addition/1.jpg",
        "object_addition/2.jpg",
        "object_removel/1.jpeg",
        "object_removel/2.jpg",
    )
    return paint(folder, *sources)


def spreadsheet(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


TABLES = {
    "task in the picture's name": {
        "Sheet1": [
            HEADER,
            ["object_addition/1.jpg", "a", "b", "Add one"],
            ["object_addition/2.jpg", "a", "b", "Add two"],
            ["object_removal/1.jpg", "a", "b", "Remove one"],
            ["object_removal/2.jpg", "a", "b", "Remove two"],
        ]
    },
    "a line for each task": {
        "Sheet1": [
            HEADER,
            ["Object Addition", None, None, None],
            [1, "a", "b", "Add one"],
            [2, "a", "b", "Add two"],
            ["Object Removal"],
            [1, "a", "b", "Remove one"],
            [2, "a", "b", "Remove two"],
        ]
    },
    "a sheet a task": {
        "object_addition": [HEADER, [1, "a", "b", "Add one"], [2, "a", "b", "Add two"]],
        "object_removal": [HEADER, [1.0, "a", "b", "Remove one"], [2.0, "a", "b", "Remove two"]],
    },
    "the task alone, in order": {
        "Sheet1": [
            ["Task", "Source prompt", "Target prompt", "Editing instruction"],
            ["object addition", "a", "b", "Add one"],
            ["object addition", "a", "b", "Add two"],
            ["object removal", "a", "b", "Remove one"],
            ["object removal", "a", "b", "Remove two"],
        ]
    },
    "no header": {
        "Sheet1": [
            ["object_addition_1", "a", "b", "Add one"],
            ["object_addition_2", "a", "b", "Add two"],
            ["object_removal_1", "a", "b", "Remove one"],
            ["object_removal_2", "a", "b", "Remove two"],
        ]
    },
}
WANTED = {
    "object_addition/1": "Add one",
    "object_addition/2": "Add two",
    "object_removal/1": "Remove one",
    "object_removal/2": "Remove two",
}


@pytest.mark.parametrize("kind", TABLES)
def test_editeval_prompts_are_read_however_they_are_laid_out(tmp_path: Path, kind: str) -> None:
    """The four columns of the spreadsheet give each numbered source its instruction."""
    folder = paint(editeval(tmp_path), "object_addition/1_SINE.png")
    spreadsheet(folder / "editing_prompts_collection.xlsx", TABLES[kind])
    result = run(folder)
    assert "recognised the layout editeval" in result.stderr
    benchmark = load_benchmark(folder)
    assert {item.id: item.instruction for item in benchmark.items} == WANTED
    assert benchmark.tasks == ("object_addition", "object_removal")
    assert benchmark.items[0].fields["target_prompt"] == "b"


def test_editeval_prompts_as_csv(tmp_path: Path) -> None:
    """A CSV of the spreadsheet does as well, commas in prompts and all."""
    folder = paint(editeval(tmp_path), "object_addition/1_SINE.png")
    with (folder / "prompts.csv").open("w", newline="", encoding="utf-8") as file:
        rows = TABLES["task in the picture's name"]["Sheet1"]
        csv.writer(file).writerows([[*row[:3], row[3] + ", please"] for row in rows])
    benchmark = made(folder)
    assert {item.id: item.instruction for item in benchmark.items} == {
        k: f"{v}, please" for k, v in WANTED.items()
    }


@pytest.mark.parametrize(
    "edit",
    [
        "{folder}/{n}_{method}.png",
        "{folder}/{method}/{n}.png",
        "{method}/{task}/{n}.png",
        "outputs/{method}/{task}/{n}.png",
    ],
)
def test_editeval_edits_are_found_where_people_put_them(tmp_path: Path, edit: str) -> None:
    """Beside the sources, in a folder a method inside the task, or the other way round."""
    folder = editeval(tmp_path)
    tasks = {"object_addition": "object_addition", "object_removal": "object_removel"}
    for task, spelt in tasks.items():
        names = [
            edit.format(folder=spelt, task=task, n=n, method=m)
            for n in (1, 2)
            for m in ("SINE", "null_text")
        ]
        paint(folder, *names)
    spreadsheet(folder / "p.xlsx", TABLES["a sheet a task"])
    benchmark = made(folder)
    assert edits(benchmark) == {name: {"SINE", "null_text"} for name in WANTED}
    assert not check_benchmark(benchmark)


def test_editeval_without_edits_says_where_to_put_them(tmp_path: Path) -> None:
    """The data set alone is a benchmark to be filled; `check` says that there are no edits."""
    folder = editeval(tmp_path / "EditEval_v1" / "Dataset").parent
    spreadsheet(folder / "Dataset" / "p.xlsx", TABLES["a sheet a task"])
    result = run(folder)
    assert "no edits yet" in result.stderr
    assert "Dataset/{folder}/{number}" in (folder / "benchmark.yaml").read_text()


def test_editeval_prompts_of_the_real_table(tmp_path: Path) -> None:
    """The published prompts of 50 pictures, from the table as we have it."""
    table = SHARED / "data/editeval/items.csv"
    if not table.is_file():
        pytest.skip("the shared research data are not here")
    with table.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    paint(
        tmp_path,
        *(f"{row['task']}/{row['id']}{end}" for row in rows for end in (".jpg", "_SINE.png")),
    )
    benchmark = made(tmp_path, "--instructions", table)
    assert {item.id: item.instruction for item in benchmark.items} == {
        f"{row['task']}/{row['id']}": row["instruction"] for row in rows
    }


# VIBE


def vibe(folder: Path, model: str, entries: list[dict[str, Any]], task: str = "Addition") -> Path:
    """Write the results of a model; a picture for every entry that names one under imgs/."""
    place = folder / model / "Level-1-Deictic" / task
    place.mkdir(parents=True)
    (place / f"{task}_results.json").write_text(json.dumps(entries))
    paint(
        place,
        *(
            e["saved_image_path"]
            for e in entries
            if str(e.get("saved_image_path")).startswith("imgs/")
        ),
    )
    return folder


def entry(name: str, status: str | None = "success", **more: Any) -> dict[str, Any]:
    fields = {"id": name, "prompt": f"Do {name}", "saved_image_path": f"imgs/{name}.png", **more}
    return fields if status is None else {**fields, "status": status}


def test_vibe_entries_that_failed_are_missing_edits(tmp_path: Path) -> None:
    """What did not succeed counts against the model: the item stays, the edit is missing, even if a file lies about."""
    vibe(
        tmp_path,
        "gpt",
        [entry("A_1"), entry("A_2", "failed"), entry("A_3", "error", saved_image_path=None)],
    )
    vibe(tmp_path, "banana", [entry("A_1"), entry("A_2"), entry("A_3", None)])
    result = run(tmp_path)
    assert "recognised the layout vibe" in result.stderr
    assert "2 entries did not succeed" in result.stderr
    benchmark = load_benchmark(tmp_path)
    assert benchmark.methods == ("banana", "gpt")
    assert edits(benchmark) == {"A_1": {"banana", "gpt"}, "A_2": {"banana"}, "A_3": {"banana"}}
    assert {item.task for item in benchmark.items} == {"Addition"}
    assert benchmark.items[0].instruction == "Do A_1"


def test_a_vibe_item_nobody_managed_is_still_an_item(tmp_path: Path) -> None:
    """An item that failed for every model is not skipped."""
    vibe(tmp_path, "gpt", [entry("A_1"), entry("A_2", "failed")])
    vibe(tmp_path, "banana", [entry("A_1")])
    assert edits(made(tmp_path)) == {"A_1": {"banana", "gpt"}, "A_2": set()}


def test_vibe_paths_as_different_programs_write_them(tmp_path: Path) -> None:
    """Relative to the task, relative to imgs/, or absolute on another machine."""
    entries = [
        entry("1"),
        entry("2", saved_image_path="2.png"),
        entry("3", saved_image_path="/home/x/imgs/3.png"),
    ]
    vibe(tmp_path, "m", entries)
    paint(tmp_path / "m/Level-1-Deictic/Addition/imgs", "2.png", "3.png")
    assert edits(made(tmp_path)) == {"1": {"m"}, "2": {"m"}, "3": {"m"}}


def test_a_vibe_path_cannot_leave_its_folder(tmp_path: Path) -> None:
    """A results file cannot point at other files of the machine."""
    paint(tmp_path, "secret.png")
    vibe(tmp_path / "r", "m", [entry("1"), entry("2", saved_image_path="../../../../secret.png")])
    result = run(tmp_path / "r")
    assert edits(load_benchmark(tmp_path / "r")) == {"1": {"m"}, "2": set()}
    assert "name a picture that is not there" in result.stderr


def test_the_same_vibe_id_in_two_tasks(tmp_path: Path) -> None:
    """Ids that repeat from task to task are told apart."""
    vibe(tmp_path, "m", [entry("0001")])
    vibe(tmp_path, "n", [entry("0001")], task="Removal")
    assert set(edits(made(tmp_path))) == {"Addition/0001", "Removal/0001"}


def test_one_vibe_model_alone(tmp_path: Path) -> None:
    """The folder of one model is read too; the model is called after it."""
    vibe(tmp_path, "only", [entry("1")])
    assert made(tmp_path / "only").methods == ("only",)


def test_vibe_sources_come_from_the_data_set(tmp_path: Path) -> None:
    """With the data set at hand an item has its source, its target, and the source with the marks drawn on it."""
    vibe(tmp_path / "results", "m", [entry("1"), entry("2"), entry("3")])
    task = tmp_path / "VIBE" / "Tasks" / "Level-1-Deictic" / "Addition"
    paint(tmp_path / "VIBE", "Common_Corpus/a.png", "Common_Corpus/b.png")
    paint(task, "target/1.png")
    layer = Image.new("RGBA", (16, 16), (0, 0, 0, 0))
    layer.putpixel((3, 3), (255, 0, 0, 255))
    (task / "marks").mkdir()
    layer.save(task / "marks" / "1.png")
    layer.putpixel((3, 3), (0, 255, 0, 255))
    (task / "more").mkdir()
    layer.save(task / "more" / "1.png")
    first = {
        "source": "Common_Corpus/a.png",
        "visual_instruction": "marks/1.png",
        "target": "target/1.png",
    }
    rows = [
        {"id": "1", "file_paths": first},
        {"id": "2", "file_paths": {"source": "Common_Corpus/b.png"}},
        {"id": "3", "file_paths": {**first, "visual_instruction": "more/1.png"}},
    ]
    (task / "Addition.json").write_text(json.dumps(rows))
    benchmark = made(
        tmp_path / "results", "--source", tmp_path / "VIBE", "--out", tmp_path / "out" / "b.yaml"
    )
    one, two, three = benchmark.items
    assert set(one.images) == {"source", "marked", "reference"} and set(two.images) == {"source"}
    with Image.open(one.images["marked"]) as marked, Image.open(one.images["source"]) as source:
        assert marked.getpixel((3, 3)) == (255, 0, 0)
        assert marked.getpixel((8, 8)) == source.getpixel((8, 8))
    with Image.open(three.images["marked"]) as marked:
        assert marked.getpixel((3, 3)) == (0, 255, 0), "another layer of the same name"
    # The layer of marks was drawn over the source; by itself nothing uses it.
    assert {problem.kind for problem in check_benchmark(benchmark)} == {"unused-pictures"}


# GEdit-Bench


def gedit(
    folder: Path, methods: tuple[str, ...] = ("Step1X", "Other"), source: bool = True
) -> Path:
    for method in methods:
        for language, key in (("en", "k1"), ("en", "k2"), ("cn", "k3")):
            base = f"{method}/fullset/background_change/{language}/{key}"
            paint(folder, f"{base}.png", *([f"{base}_SRCIMG.png"] if source else []))
    return folder


def test_gedit_outputs(tmp_path: Path) -> None:
    """METHOD/fullset/TASK/en/KEY.png with its source beside; the other language is a benchmark of its own."""
    result = run(gedit(tmp_path), "--instruction", "x")
    benchmark = load_benchmark(tmp_path)
    assert "recognised the layout gedit" in result.stderr and "--language cn" in result.stderr
    assert edits(benchmark) == {"k1": {"Other", "Step1X"}, "k2": {"Other", "Step1X"}}
    assert benchmark.tasks == ("background_change",)
    assert benchmark.items[0].images["source"].name == "k1_SRCIMG.png"
    assert set(edits(made(tmp_path, "--language", "cn", "--instruction", "x", "--force"))) == {"k3"}


def test_gedit_instructions_from_the_data_set(tmp_path: Path) -> None:
    """A table with GEdit-Bench's column names gives the instructions, by key."""
    gedit(tmp_path)
    rows = [
        {
            "key": "k1",
            "task_type": "background_change",
            "instruction": "One",
            "instruction_language": "en",
        },
        {
            "key": "k2",
            "task_type": "background_change",
            "instruction": "Two",
            "instruction_language": "en",
        },
    ]
    (tmp_path / "gedit.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert [item.instruction for item in made(tmp_path).items] == ["One", "Two"]


def test_gedit_sources_in_a_folder_of_their_own(tmp_path: Path) -> None:
    """Originals laid out like a method's outputs are named with --source; an edit that is not there is missing."""
    gedit(tmp_path, ("Step1X", "originals"), source=False)
    (tmp_path / "Step1X/fullset/background_change/en/k2.png").unlink()
    benchmark = made(tmp_path, "--instruction", "x")
    assert benchmark.methods == ("Step1X",)
    assert edits(benchmark) == {"k1": {"Step1X"}, "k2": set()}


# ImgEdit

ENTRIES = {
    "1082": {"id": "animal/342.jpg", "prompt": "Smooth the shell", "edit_type": "adjust"},
    "673": {"id": "style/278.jpg", "prompt": "Make it a woodcut", "edit_type": "style"},
}


@pytest.mark.parametrize(
    "place", ["{m}/{key}.png", "edited_images/{m}/{key}.png", "output/{m}/imgedit/images/{key}.png"]
)
def test_imgedit_outputs(tmp_path: Path, place: str) -> None:
    """The keys name the edits, `id` the original, `edit_type` the task, `prompt` the instruction."""
    paint(tmp_path, "original_images/animal/342.jpg", "original_images/style/278.jpg")
    paint(
        tmp_path,
        *(
            place.format(m=m, key=key)
            for m in ("flux", "qwen")
            for key in ENTRIES
            if (m, key) != ("qwen", "673")
        ),
    )
    (tmp_path / "basic_edit.json").write_text(json.dumps(ENTRIES))
    result = run(tmp_path)
    assert "recognised the layout imgedit" in result.stderr
    benchmark = load_benchmark(tmp_path)
    assert edits(benchmark) == {"673": {"flux"}, "1082": {"flux", "qwen"}}
    assert [(i.task, i.instruction) for i in benchmark.items] == [
        ("style", "Make it a woodcut"),
        ("adjust", "Smooth the shell"),
    ]
    assert benchmark.items[0].images["source"].name == "278.jpg"


def test_several_folders_of_one_method_are_all_its_edits(tmp_path: Path) -> None:
    """The edits in A/images are not lost because of those in A/outputs."""
    paint(tmp_path, "originals/animal/1.jpg", "A/images/1.png", "A/outputs/2.png")
    entry = {"id": "animal/1.jpg", "prompt": "Paint it", "edit_type": "add"}
    (tmp_path / "basic_edit.json").write_text(json.dumps({"1": entry, "2": entry}))
    assert edits(made(tmp_path)) == {"1": {"A"}, "2": {"A"}}


def test_edits_that_two_folders_of_one_name_have_are_noted(tmp_path: Path) -> None:
    """Which of run1/M and run2/M is judged is said."""
    paint(tmp_path, "KRIS_Bench/cat/1.jpg", "run1/M/cat/1.jpg", "run2/M/cat/1.jpg")
    annotations = tmp_path / "KRIS_Bench/cat/annotation.json"
    annotations.write_text(json.dumps({"1": {"ori_img": "1.jpg", "ins_en": "Paint it"}}))
    said = run(tmp_path).stderr
    assert "M: 1 picture ignored: run1/M/cat/1.jpg; another folder of this name has them" in said


def test_imgedit_with_everything_elsewhere(tmp_path: Path) -> None:
    """The listing and the originals may be in other folders."""
    paint(tmp_path, "bench/singleturn/animal/342.jpg", "bench/singleturn/style/278.jpg")
    paint(tmp_path, "out/flux/1082.png", "out/flux/673.png")
    listing = tmp_path / "bench" / "basic_edit.json"
    listing.write_text(json.dumps(ENTRIES))
    result = run(
        tmp_path / "out", "--instructions", listing, "--source", tmp_path / "bench/singleturn"
    )
    assert result.exit_code == 0, result.exception
    benchmark = loaded_as_told(result)
    assert edits(benchmark) == {"673": {"flux"}, "1082": {"flux"}}
    assert not check_benchmark(benchmark)


def test_gedit_outputs_without_fullset(tmp_path: Path) -> None:
    """METHOD/TASK/en/KEY.png is known by GEdit-Bench's task names."""
    for method in ("A", "B"):
        paint(tmp_path, f"{method}/color_alter/en/k.png", f"{method}/color_alter/en/k_SRCIMG.png")
    benchmark = made(tmp_path, "--instruction", "x")
    assert benchmark.tasks == ("color_alter",)
    assert edits(benchmark) == {"k": {"A", "B"}}


def test_a_vibe_entry_that_says_nothing_is_missing(tmp_path: Path) -> None:
    """An entry with an error instead of a picture does not keep the file from being read."""
    vibe(tmp_path, "m", [entry("1"), {"id": "2", "prompt": "Do 2", "error": "timeout"}])
    assert edits(made(tmp_path)) == {"1": {"m"}, "2": set()}


# RISEBench and KRIS-Bench


def test_risebench_outputs(tmp_path: Path) -> None:
    """data_total.json gives tasks, references and inputs; edits are found by category and index."""
    paint(tmp_path, "data/temporal_images/1.png", "data/logic/1.png", "data/logic/1_ref.png")
    paint(tmp_path, "outputs/m/images/temporal_reasoning/t_1.png")
    paint(tmp_path, "outputs/m/images/logical_reasoning/l_1.jpg")
    common = {"instruction": "Draw it later"}
    entries = [
        {"index": "t_1", "category": "temporal_reasoning", "image": "temporal_images/1.png",
         "reference": "It is black.", **common},
        {"index": "l_1", "category": "logical_reasoning", "image": "logic/1.png",
         "reference_img": "logic/1_ref.png", **common},
    ]  # fmt: skip
    (tmp_path / "data" / "data_total.json").write_text(json.dumps(entries))
    logic, time = made(tmp_path).items
    assert (time.task, time.fields) == ("temporal_reasoning", {"reference": "It is black."})
    assert set(logic.images) == {"source", "reference"}
    assert set(logic.edits) == set(time.edits) == {"m"}


def test_kris_bench_outputs(tmp_path: Path) -> None:
    """Several inputs become source, source2 …; explanations become a field."""
    paint(tmp_path, "KRIS_Bench/physics/1.png", "KRIS_Bench/several/1-1.jpg")
    paint(tmp_path, "KRIS_Bench/several/1-2.jpg", "results/gpt/physics/1.jpg")
    paint(tmp_path, "results/gpt/several/1.jpg")
    entry = {"gt_img": "", "ins_en": "Do it", "explain_en": ""}
    listings = {
        "physics": {"1": {**entry, "ori_img": "1.png", "explain_en": "It tilts."}},
        "several": {"1": {**entry, "ori_img": ["1-1.jpg", "1-2.jpg"]}},
    }
    for category, entries in listings.items():
        (tmp_path / "KRIS_Bench" / category / "annotation.json").write_text(json.dumps(entries))
    one, two = made(tmp_path).items
    assert (one.id, one.task, one.fields) == ("physics/1", "physics", {"explain_en": "It tilts."})
    assert set(two.images) == {"source", "source2"}
    assert one.edits["gpt"].is_file() and two.edits["gpt"].is_file()
