"""Outputs of published benchmarks, laid out as the evaluation code of each reads them.

GEdit-Bench, ImgEdit-Bench, KRIS-Bench, RISEBench and VIBE. All but the first say in JSON files what
was asked of whom; pictures are found by the keys, categories and paths that stand there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from lmmscore.errors import ImageProblem, counted, listed
from lmmscore.images import draw_over
from lmmscore.importers.layouts import (
    Choices,
    FolderTree,
    Found,
    FoundItem,
    Guess,
    LayoutError,
    ending,
    file_inside,
    folder_asked_for,
    in_natural_order,
    is_container,
    json_if_valid,
    largest_listing,
    layout,
    methods_of,
    name_items,
    natural,
    notes_on_gaps,
    pictures_of,
    role_of,
)

_Entries = dict[str, dict[str, Any]]
"""What a JSON file says of each item, by key or id."""

_Keyed = dict[str, dict[str, Path]]
"""Pictures by method, then by key."""

_ByCategory = dict[str, dict[tuple[str, str], Path]]
"""Pictures by model, then by category and id."""


def _all_have(keys: set[str], entries: Iterable[Any]) -> bool:
    """Whether every entry of a JSON file is an object with these keys, and perhaps others."""
    return all(isinstance(entry, dict) and keys <= set(entry) for entry in entries)


def _pictures_named(folder: Path, names: Mapping[str, object]) -> dict[str, Path]:
    """Return by kind the pictures that an entry names, as far as they are in the folder."""
    found = {kind: file_inside(folder, name) for kind, name in names.items()}
    return {kind: path for kind, path in found.items() if path is not None}


def _by_category(
    tree: FolderTree, depth: int, belongs: Callable[[PurePosixPath], bool]
) -> _ByCategory:
    """Return the pictures that lie as MODEL/…/CATEGORY/ID.png, with the model `depth` from the end.

    Where the model's own folder is the one that is read, it has the name of the tree.
    """
    methods: _ByCategory = {}
    for path in tree.images:
        if belongs(path):
            model = path.parts[-depth] if len(path.parts) >= depth else tree.name
            methods.setdefault(model, {})[path.parts[-2], path.stem] = tree.real(path)

    return in_natural_order(methods)


# --------------------------------------------------------------------------------------------------
# GEdit-Bench: METHOD/fullset/TASK/LANGUAGE/KEY.png, the source beside as KEY_SRCIMG.png.
#
# https://github.com/stepfun-ai/Step1X-Edit, folder GEdit-Bench.
# Instructions are not among the outputs; they are in the data set stepfun-ai/GEdit-Bench.
# --------------------------------------------------------------------------------------------------

_TaskKey = tuple[str, str]
"""Task and key."""

_LANGUAGES = ("en", "cn")
_GEDIT_TASKS = frozenset(
    "background_change color_alter material_alter motion_change ps_human style_change subject-add "
    "subject-remove subject-replace text_change tone_transfer".split()
)
_GEDIT_SOURCE = re.compile(r"(?P<key>.+)_SRCIMG", re.IGNORECASE)


@dataclass(slots=True)
class _GeditOutputs:
    """Pictures by language, then by task and key."""

    edits: dict[str, dict[_TaskKey, dict[str, Path]]] = field(default_factory=dict)
    sources: dict[str, dict[_TaskKey, Path]] = field(default_factory=dict)
    methods: set[str] = field(default_factory=set)
    prefix: str = "fullset/"


@layout("gedit", "METHOD/fullset/TASK/en/KEY.png with KEY_SRCIMG.png beside (GEdit-Bench outputs)")
def look_for_gedit(tree: FolderTree, choices: Choices) -> Guess | None:
    """Guess from folders fullset/TASK/en or fullset/TASK/cn."""
    outputs = _gedit_outputs(tree, choices)
    if not outputs.edits:
        return None

    methods = listed(sorted(outputs.methods))
    languages = " and ".join(sorted(outputs.edits))
    why = f"{methods} hold fullset/TASK/{languages}/KEY, as GEdit-Bench asks"
    return Guess(0.97, why, lambda: _found_gedit(tree, choices, outputs))


def _found_gedit(tree: FolderTree, choices: Choices, outputs: _GeditOutputs) -> Found:
    """Read one language's items; sources from beside the edits or from a folder of their own."""
    language = _gedit_language(outputs, choices)
    edits = outputs.edits[language]
    sources = outputs.sources.get(language, {})
    items = []
    # An item that no method edited is still an item, and its edits are missing.
    for key in sorted({*edits, *sources}, key=lambda each: natural("/".join(each))):
        item = FoundItem(*key, fields={"language": language})
        if key in sources:
            item.images["source"] = sources[key]

        item.edits = dict(sorted(edits.get(key, {}).items()))
        items.append(item)

    slot = name_items(items)
    methods = methods_of(items)
    templates = _gedit_templates(tree, items, outputs.prefix, slot)
    notes = [
        *_other_languages(outputs, language, choices),
        *notes_on_gaps(items, "METHOD/fullset/TASK/LANGUAGE/KEY.png"),
    ]
    return Found(items, methods, tree.root, templates, notes)


def _gedit_outputs(tree: FolderTree, choices: Choices) -> _GeditOutputs:
    """Return the pictures that lie as GEdit-Bench asks, with or without `fullset`."""
    found = _GeditOutputs()
    for path in tree.images:
        parts = path.parts
        if len(parts) < 3 or parts[-2] not in _LANGUAGES:
            continue

        within = len(parts) > 3 and parts[-4] == "fullset"
        if within or parts[-3] in _GEDIT_TASKS:
            found.prefix = "fullset/" if within else ""
            above = parts[: -4 if within else -3]
            method = above[-1] if above else tree.name
            _place_output(found, method, path, tree, choices)

    return found


def _place_output(
    found: _GeditOutputs, method: str, path: PurePosixPath, tree: FolderTree, choices: Choices
) -> None:
    """Add a picture as a source or as the edit of a method."""
    task, language = path.parts[-3], path.parts[-2]
    source = _GEDIT_SOURCE.fullmatch(path.stem)
    only_sources = method == choices.source if choices.source else role_of(method) == "source"
    if source or only_sources:
        key = (task, source["key"] if source else path.stem)
        found.sources.setdefault(language, {}).setdefault(key, tree.real(path))
        return

    found.methods.add(method)
    edits = found.edits.setdefault(language, {})
    edits.setdefault((task, path.stem), {}).setdefault(method, tree.real(path))


def _gedit_language(outputs: _GeditOutputs, choices: Choices) -> str:
    """Return the language asked for; English, if nothing is said and there is any."""
    if choices.language is None:
        return "en" if "en" in outputs.edits else min(outputs.edits)

    if choices.language not in outputs.edits:
        known = ", ".join(sorted(outputs.edits))
        raise LayoutError(f"no edits for the language {choices.language!r}; there are: {known}")

    return choices.language


def _other_languages(outputs: _GeditOutputs, language: str, choices: Choices) -> list[str]:
    others = sorted(set(outputs.edits) - {language})
    if not others or choices.language is not None:
        return []

    return [
        f"took the instructions in {language}; --language {others[0]} takes the others, as another "
        "benchmark"
    ]


def _gedit_templates(
    tree: FolderTree, items: list[FoundItem], prefix: str, slot: str
) -> dict[str, str]:
    """Return templates from the first pictures; the writer checks that they fit all the others."""
    edits = [path for item in items for path in item.edits.values()]
    if not edits or any(len(item.images) != len(items[0].images) for item in items):
        return {}

    depth = -4 if prefix else -3  # KEY.png, language, task and perhaps fullset
    above = edits[0].relative_to(tree.root).parts[:depth]
    if not above:
        return {}

    tail = f"{prefix}{{task}}/{{language}}/{slot}"
    templates = {"edit": "/".join([*above[:-1], "{method}", tail + ending(edits)])}
    if items[0].images:
        source = items[0].images["source"].relative_to(tree.root)
        holder = "/".join(source.parts[:depth])
        suffix = source.stem.removeprefix(items[0].number) + source.suffix
        templates["source"] = f"{holder}/{tail}{suffix}"

    return templates


# --------------------------------------------------------------------------------------------------
# ImgEdit-Bench: basic_edit.json, the originals it names, and one folder per method.
#
# https://github.com/PKU-YuanGroup/ImgEdit, folder Benchmark. The keys of the JSON name the edits
# (METHOD/KEY.png); `id` is the path of the original, `edit_type` the task, `prompt` the
# instruction.
# --------------------------------------------------------------------------------------------------


@layout(
    "imgedit",
    'basic_edit.json ({"KEY": {"id": "animal/1.jpg", "prompt": …, "edit_type": …}}), '
    "originals, METHOD/KEY.png",
)
def look_for_imgedit(tree: FolderTree, choices: Choices) -> Guess | None:
    """Guess from a JSON file of ImgEdit's form."""
    listing = largest_listing(tree, choices, _imgedit_entries)
    if listing is None:
        return None

    path, entries = listing
    originals = _originals(tree, entries, choices)
    methods = _imgedit_methods(tree, entries, originals)
    count = counted(len(entries), "entry", "entries")
    why = (
        f"{path.name} has {count} with id, prompt and edit_type, as ImgEdit's; edits named by its "
        f"keys in {listed([*methods]) or 'no folder'}"
    )
    return Guess(0.96, why, lambda: _found_imgedit(tree, path, entries, originals, methods))


def _found_imgedit(
    tree: FolderTree, path: Path, entries: _Entries, originals: Path | None, methods: _Keyed
) -> Found:
    """Read the items from the JSON, the originals by their paths and the edits by their keys."""
    items = []
    for key in sorted(entries, key=natural):
        entry = entries[key]
        item = FoundItem(str(entry.get("edit_type") or "all"), key)
        item.instruction = str(entry["prompt"])
        item.fields["original"] = str(entry["id"])
        if originals is not None:
            item.images = _pictures_named(originals, {"source": entry["id"]})

        item.edits = pictures_of(key, methods)
        items.append(item)

    name_items(items)
    templates = _imgedit_templates(tree.root, items, originals, methods)
    notes = notes_on_gaps(items, "METHOD/KEY.png")
    return Found(items, list(methods), tree.root, templates, notes, [path])


def _imgedit_entries(data: Any) -> _Entries:
    """Return the entries of a JSON file of ImgEdit's form; none for any other."""
    fits = isinstance(data, dict) and _all_have({"id", "prompt"}, data.values())
    return data if fits else {}


def _originals(tree: FolderTree, entries: _Entries, choices: Choices) -> Path | None:
    """Return the folder under which the paths in the JSON are found."""
    if choices.source:
        return folder_asked_for(tree, choices.source)

    wanted = [PurePosixPath(str(entry["id"])) for entry in entries.values()]
    known = set(tree.files)
    folders = {PurePosixPath()}
    for path in tree.images:
        folders.update(path.parents)

    # The JSON has paths below a folder that it does not name: the one that fits most of them.
    best, most = PurePosixPath(), 0
    for folder in sorted(folders):
        hits = sum(folder / path in known for path in wanted)
        if hits > most:
            best, most = folder, hits

    return tree.real(best) if most else None


def _imgedit_methods(tree: FolderTree, entries: _Entries, originals: Path | None) -> _Keyed:
    """Return the pictures of every folder whose pictures are named by keys."""
    methods: _Keyed = {}
    for folder, paths in tree.folders.items():
        if _holds_originals(tree, folder, originals):
            continue

        # Several folders may belong to one method: A/images and A/outputs.
        keyed = {path.stem: tree.real(path) for path in paths if path.stem in entries}
        if keyed:
            methods.setdefault(_method_name(tree, folder), {}).update(keyed)

    return in_natural_order(methods)


def _holds_originals(tree: FolderTree, folder: PurePosixPath, originals: Path | None) -> bool:
    if originals is None or originals == tree.root:
        return False

    return tree.real(folder).is_relative_to(originals)


def _method_name(tree: FolderTree, folder: PurePosixPath) -> str:
    """Return the folder that names a method, past those that only hold pictures."""
    for part in reversed(folder.parts):
        if not is_container(part) and part.lower() != "imgedit":
            return part

    return folder.name or tree.name


def _imgedit_templates(
    root: Path, items: list[FoundItem], originals: Path | None, methods: _Keyed
) -> dict[str, str]:
    """Return templates; none where a source is missing or something lies outside the root."""
    # A template would report the sources that are missing one by one.
    complete = all(item.images for item in items)
    if not methods or originals is None or not complete:
        return {}

    name, keyed = next(iter(methods.items()))
    folder = next(iter(keyed.values())).parent
    inside = folder.is_relative_to(root) and originals.is_relative_to(root)
    if not inside or name not in folder.parts:
        return {}

    spelt = ["{method}" if part == name else part for part in folder.relative_to(root).parts]
    above = "/".join(spelt)
    origin = originals.relative_to(root).as_posix()
    source = "{original}" if origin == "." else f"{origin}/{{original}}"

    edits: list[Path] = []
    for by_key in methods.values():
        edits += by_key.values()

    return {"source": source, "edit": f"{above}/{{id}}{ending(edits)}"}


# --------------------------------------------------------------------------------------------------
# KRIS-Bench: KRIS_Bench/CATEGORY/annotation.json and results/MODEL/CATEGORY/ID.jpg.
#
# https://github.com/mercurystraw/Kris_Bench. The category is the
# task; an item with several inputs has the images source, source2, source3 …
# --------------------------------------------------------------------------------------------------


@layout(
    "kris",
    "KRIS_Bench/CATEGORY/annotation.json with ori_img and ins_en, results/MODEL/CATEGORY/ID.jpg",
)
def look_for_kris(tree: FolderTree, choices: Choices) -> Guess | None:
    """Guess from annotation files of KRIS-Bench's form."""
    annotations = _annotations(tree, choices)
    if not annotations:
        return None

    methods = _kris_methods(tree, annotations)
    categories = listed([folder.name for folder in annotations])
    why = (
        f"annotation.json of {categories}; edits by category in {listed([*methods]) or 'no folder'}"
    )
    return Guess(0.97, why, lambda: _found_kris(tree, annotations, methods))


def _found_kris(tree: FolderTree, annotations: dict[Path, _Entries], methods: _ByCategory) -> Found:
    """Read the items of every category, their inputs, and the edits of every model."""
    items: list[FoundItem] = []
    for folder, entries in sorted(annotations.items()):
        for name in sorted(entries, key=natural):
            item = _kris_item(folder, name, entries[name])
            item.edits = pictures_of((folder.name, name), methods)
            items.append(item)

    notes = notes_on_gaps(items, "results/MODEL/CATEGORY/ID.jpg")
    return Found(items, list(methods), tree.root, {}, notes)


def _kris_item(folder: Path, name: str, entry: dict[str, Any]) -> FoundItem:
    """Return an item of a category with its inputs and its reference."""
    item = FoundItem(folder.name, name, id=f"{folder.name}/{name}")
    item.instruction = str(entry.get("ins_en") or "")
    inputs = entry.get("ori_img")
    # Most items have one input, some a list of them.
    named = inputs if isinstance(inputs, list) else [inputs]
    images = {f"source{number}": each for number, each in enumerate(named, 1)}
    first = {"source": images.pop("source1", None)}
    item.images = _pictures_named(folder, first | images | {"reference": entry.get("gt_img")})
    if entry.get("explain_en"):
        item.fields["explain_en"] = str(entry["explain_en"])

    return item


def _annotations(tree: FolderTree, choices: Choices) -> dict[Path, _Entries]:
    """Return the entries of each category's folder; with --source, from the data set there."""
    paths = [tree.real(path) for path in tree.named("annotation.json")]
    if choices.source:
        paths = sorted(folder_asked_for(tree, choices.source).rglob("annotation.json"))

    found = {}
    for path in paths:
        entries = _kris_entries(json_if_valid(path))
        if entries:
            found[path.parent] = entries

    return found


def _kris_entries(data: Any) -> _Entries:
    """Return the entries of an annotation file; none where it is of another form."""
    fits = isinstance(data, dict) and _all_have({"ori_img", "ins_en"}, data.values())
    return data if fits else {}


def _kris_methods(tree: FolderTree, annotations: dict[Path, _Entries]) -> _ByCategory:
    """Return the pictures that lie as MODEL/CATEGORY/ID.jpg."""
    categories = {folder.name for folder in annotations}

    def belongs(path: PurePosixPath) -> bool:
        # The inputs lie in folders named after categories too, beside their annotations.
        is_input = tree.real(path).parent in annotations
        return len(path.parts) > 1 and path.parts[-2] in categories and not is_input

    return _by_category(tree, 3, belongs)


# --------------------------------------------------------------------------------------------------
# RISEBench: data_total.json, the inputs it names, and MODEL/images/CATEGORY/INDEX.png.
#
# https://github.com/PhoenixZ810/RISEBench. The category is the
# task; reference texts become fields, a reference image the kind `reference`.
# --------------------------------------------------------------------------------------------------

_RISE_FIELDS = ("reference", "reference_txt", "reasoning_img", "reasoning_wo_ins", "subtask")
"""What dialogs may say of an item or ask about it."""

_RISE_KEYS = {"index", "category", "instruction", "image"}

_RiseEntries = list[dict[str, Any]]


@layout(
    "risebench",
    "data_total.json ([{index, category, instruction, image, reference …}]), the inputs it names, "
    "MODEL/images/CATEGORY/INDEX.png (RISEBench outputs)",
)
def look_for_risebench(tree: FolderTree, choices: Choices) -> Guess | None:
    """Guess from a JSON list of RISEBench's form."""
    listing = largest_listing(tree, choices, _rise_entries)
    if listing is None:
        return None

    path, entries = listing
    count = counted(len(entries), "entry", "entries")
    methods = listed([*_rise_methods(tree)]) or "no folder"
    why = f"{path.name} has {count} of RISEBench's form; edits in {methods}"
    return Guess(0.97, why, lambda: _found_risebench(tree, choices, path, entries))


def _found_risebench(
    tree: FolderTree, choices: Choices, path: Path, entries: _RiseEntries
) -> Found:
    """Read the items from the JSON, the inputs by their paths, the edits by category and index."""
    inputs = folder_asked_for(tree, choices.source) if choices.source else path.parent
    methods = _rise_methods(tree)
    items = [_rise_item(entry, inputs) for entry in entries]
    items.sort(key=lambda item: natural(item.id))
    for item in items:
        item.edits = pictures_of((item.task, item.id), methods)

    notes = notes_on_gaps(items, "MODEL/images/CATEGORY/INDEX.png")
    return Found(items, list(methods), tree.root, {}, notes, [path])


def _rise_item(entry: dict[str, Any], inputs: Path) -> FoundItem:
    """Return the item of an entry, with those of its pictures that are there."""
    name = str(entry["index"])
    item = FoundItem(str(entry["category"]), name, id=name)
    item.instruction = str(entry["instruction"])
    images = {"source": entry["image"], "reference": entry.get("reference_img")}
    item.images = _pictures_named(inputs, images)
    for column in _RISE_FIELDS:
        if entry.get(column) not in (None, ""):
            item.fields[column] = str(entry[column])

    return item


def _rise_entries(data: Any) -> _RiseEntries:
    """Return the entries of a JSON file of RISEBench's form; none for any other."""
    return data if isinstance(data, list) and _all_have(_RISE_KEYS, data) else []


def _rise_methods(tree: FolderTree) -> _ByCategory:
    """Return pictures by model, then by category and index: …/MODEL/images/CATEGORY/INDEX.png."""
    return _by_category(tree, 4, lambda path: path.parts[-3:-2] == ("images",))


# --------------------------------------------------------------------------------------------------
# VIBE: MODEL/LEVEL/TASK/TASK_results.json, pictures under imgs/.
#
# https://github.com/hwanyu112/VIBE-Benchmark. An entry that did not succeed is a missing edit.
# Sources are not among the results; with the data set (--source) they are taken from there, with
# the target and the marks drawn on the source.
# --------------------------------------------------------------------------------------------------

_SUCCEEDED = frozenset(
    ["", *"success succeeded successful ok done completed complete finished true".split()]
)


@dataclass(slots=True)
class _VibeResults:
    """What the results files of all models say."""

    items: dict[tuple[str, str, str], FoundItem] = field(default_factory=dict)
    """By level, task and id."""

    models: list[str] = field(default_factory=list)
    failed: int = 0
    absent: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _VibeFolder:
    """A folder with a results file: whose results, of what."""

    model: str
    level: str
    task: str
    folder: Path
    entries: list[dict[str, Any]]


@layout(
    "vibe",
    "MODEL/LEVEL/TASK/TASK_results.json with id, prompt, saved_image_path, status; pictures under "
    "imgs/",
)
def look_for_vibe(tree: FolderTree, choices: Choices) -> Guess | None:
    """Guess from the names of results files and the keys of their entries."""
    places = list(_vibe_places(tree))
    if not places:
        return None

    models = listed([*dict.fromkeys(place.model for place in places)])
    why = f"{counted(len(places), 'file')} TASK/TASK_results.json, of {models}"
    return Guess(0.98, why, lambda: _found_vibe(tree, choices, places))


def _found_vibe(tree: FolderTree, choices: Choices, places: list[_VibeFolder]) -> Found:
    """Read the items of all models' results; an item is what any model was asked."""
    results = _VibeResults()
    for place in places:
        if place.model not in results.models:
            results.models.append(place.model)

        for entry in place.entries:
            _take_entry(results, place, entry)

    keys = sorted(results.items, key=lambda key: natural("/".join(key)))
    items = [results.items[key] for key in keys]
    name_items(items)
    notes = [*_vibe_notes(results), *_add_sources(items, tree, choices)]
    return Found(items, sorted(results.models, key=natural), tree.root, {}, notes)


# Results


def _vibe_places(tree: FolderTree) -> Iterator[_VibeFolder]:
    """Yield every results file."""
    for path in tree.named("_results.json"):
        parts = path.parts
        task = path.name[: -len("_results.json")]
        if len(parts) < 2 or parts[-2] != task:
            continue

        entries = _vibe_entries(json_if_valid(tree.real(path)))
        if entries:
            level = parts[-3] if len(parts) > 2 else ""
            model = parts[-4] if len(parts) > 3 else tree.name
            yield _VibeFolder(model, level, task, tree.real(path).parent, entries)


def _vibe_entries(data: Any) -> list[dict[str, Any]]:
    """Return the entries of a results file, which tell of pictures or how it went; else none."""
    if not isinstance(data, list) or not _all_have({"id"}, data):
        return []

    tells = any("saved_image_path" in entry or "status" in entry for entry in data)
    return data if tells else []


def _take_entry(results: _VibeResults, place: _VibeFolder, entry: dict[str, Any]) -> None:
    """Take one model's result of an item: its edit, or that there is none."""
    name = str(entry["id"])
    prompt = str(entry.get("prompt") or entry.get("input_prompt") or "").strip()
    key = (place.level, place.task, name)
    item = results.items.setdefault(key, FoundItem(place.task, name, fields={"level": place.level}))
    if prompt and item.instruction and prompt != item.instruction:
        results.differing.append(name)

    item.instruction = item.instruction or prompt

    status = entry.get("status")
    if status is not None and str(status).strip().lower() not in _SUCCEEDED:
        results.failed += 1
        return

    picture = _vibe_picture(place.folder, entry.get("saved_image_path"))
    if picture is None:
        results.absent.append(f"{place.model} {name}")
    else:
        item.edits[place.model] = picture


def _vibe_picture(folder: Path, saved: object) -> Path | None:
    """Return the picture an entry means.

    Paths are relative to the task, to imgs/, or those of another machine.
    """
    if not saved:
        return None

    given = PurePosixPath(str(saved).replace("\\", "/"))
    for name in (given, PurePosixPath("imgs") / given, PurePosixPath("imgs") / given.name):
        path = file_inside(folder, name)
        if path is not None:
            return path

    return None


def _vibe_notes(results: _VibeResults) -> list[str]:
    notes = []
    if results.failed:
        count = counted(results.failed, "entry", "entries")
        notes.append(f"{count} did not succeed: these edits are missing, and count as such")

    if results.absent:
        count = counted(len(results.absent), "entry", "entries")
        names = listed(results.absent)
        notes.append(f"{count} name a picture that is not there, so the edit is missing: {names}")

    if results.differing:
        count = counted(len(results.differing), "item")
        names = listed(results.differing)
        notes.append(
            f"{count} have different prompts for different models; the first was taken: {names}"
        )

    return notes


# The data set: source, target, and the marks drawn on the source


@dataclass(frozen=True, slots=True)
class _DatasetEntry:
    """An entry of the data set and the folder of its JSON file."""

    folder: Path
    paths: dict[str, Any]


def _add_sources(items: list[FoundItem], tree: FolderTree, choices: Choices) -> list[str]:
    """Give items their pictures from the data set, if there is one; return what to note."""
    dataset = _vibe_dataset(tree, choices)
    if dataset is None:
        return ["no sources; download the VIBE data set and name its folder with --source FOLDER"]

    by_name: dict[str, list[_DatasetEntry]] = {}
    for path in sorted(dataset.rglob("*.json")):
        for name, entry in _dataset_entries(path).items():
            by_name.setdefault(name, []).append(entry)

    for done, item in enumerate(items):
        choices.progress("drawing marks", done, len(items))
        entries = by_name.get(item.number, [])
        # Ids may repeat from task to task; then the folder tells which entry is meant.
        if len(entries) > 1:
            entries = [each for each in entries if _same_task(each, item)]

        if entries:
            _add_pictures(item, entries[0], dataset, choices)

    bare = sum("source" not in item.images for item in items)
    return [f"{counted(bare, 'item')} not found in {dataset}"] if bare else []


def _vibe_dataset(tree: FolderTree, choices: Choices) -> Path | None:
    """Return the folder of the data set: the one named, or the results folder; None without."""
    if choices.source is None:
        return tree.root if (tree.root / "Tasks").is_dir() else None

    folder = folder_asked_for(tree, choices.source)
    if folder.is_dir():
        return folder

    raise LayoutError(
        f"{choices.source}: no such folder; --source names the VIBE data set, "
        "the folder with Tasks/"
    )


def _dataset_entries(path: Path) -> dict[str, _DatasetEntry]:
    """Return the entries of a JSON file that name pictures, by id; none for any other file."""
    data = json_if_valid(path)
    if not isinstance(data, list):
        return {}

    entries = {}
    for row in data:
        paths = row.get("file_paths") if isinstance(row, dict) else None
        if isinstance(paths, dict) and "id" in row:
            entries[str(row["id"])] = _DatasetEntry(path.parent, paths)

    return entries


def _same_task(entry: _DatasetEntry, item: FoundItem) -> bool:
    task = item.task.lower()
    return entry.folder.name.lower() in {task, task.partition("_")[0]}


def _add_pictures(item: FoundItem, entry: _DatasetEntry, dataset: Path, choices: Choices) -> None:
    """Find the files an entry names: relative to its task's folder or to the whole data set."""

    def find(what: str) -> Path | None:
        name = entry.paths.get(what)
        below = file_inside(entry.folder, name)
        return below or file_inside(dataset, name)

    source, target, layer = find("source"), find("target"), find("visual_instruction")
    if source is not None:
        item.images["source"] = source

    if target is not None:
        item.images["reference"] = target

    if source is not None and layer is not None and choices.pictures is not None:
        _mark(item, source, layer, choices.pictures)


def _mark(item: FoundItem, source: Path, layer: Path, pictures: Path) -> None:
    """Give an item its marked source, drawn once and kept."""
    if item.task == "Pose_Control":
        # Shown as it is: it is a picture of its own, not marks on the source.
        item.images["marked"] = layer
        return

    try:
        # By what it is drawn from: layers of one name in two folders, or changed since, are others.
        drawn_from = hashlib.sha256(source.read_bytes() + layer.read_bytes()).hexdigest()[:12]
        marked = pictures / "marked" / item.task / f"{layer.stem}-{drawn_from}.png"
        if not marked.exists():
            part = marked.with_suffix(".part")
            draw_over(source, layer, part)
            part.replace(marked)

        item.images["marked"] = marked
    except (ImageProblem, OSError):
        # `lmmscore check` says what is wrong with the source; the layer is no reason to stop.
        return
