"""Recipes of published protocols: the words of a clone, judged over HTTP, aggregated as published."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import random
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lmmscore.api import run
from lmmscore.cli import lmmscore as command_line
from lmmscore.importers.document import follow, load_recipe, recipe_names
from lmmscore.scores import matches, read_comparisons
from tests.conftest import picture
from tests.loopback import Server, serving
from tests.published_clones import MAKERS, make_clone

Scores = dict[str, float | None]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nothing")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@dataclass
class PublishedJudge:
    """Answers each published prompt in its published form, and remembers what it said of each edit."""

    answer: Callable[[str, random.Random], tuple[str, Scores]]
    said: dict[str, Scores] = field(default_factory=lambda: defaultdict(dict))
    """By the edit's picture: every score given."""
    orders: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """By turn: how words and pictures followed each other, as T and I."""

    def reply(self, messages: list[dict[str, Any]]) -> str:
        assert len(messages) == 1, "every published call is a conversation of its own"
        content = messages[0]["content"]
        words = "".join(part["text"] for part in content if part["type"] == "text")
        pictures = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
        edit = hashlib.sha256(pictures[-1].encode()).hexdigest()
        if "This is the ground truth image:" in words:
            edit = hashlib.sha256(pictures[-2].encode()).hexdigest()
        text, scores = self.answer(words, random.Random(edit + words[:200] + words[-200:]))
        self.said[edit] |= scores
        order = "".join("T" if part["type"] == "text" else "I" for part in content)
        self.orders["+".join(scores)].add(order)
        return text


def make_benchmark(root: Path, items: list[dict[str, Any]], methods: int = 3) -> Path:
    """Draw the pictures that items name by kind, and an edit by each method."""
    rows = []
    shade = 0
    for number, item in enumerate(items):
        row = {"id": f"i{number}", "instruction": f"Make it number {number}", **item}
        for kind in row.pop("kinds", ["source"]):
            shade += 1
            picture(root / kind / f"i{number}.png", (shade % 256, shade // 256, 9))
            row[kind] = f"{kind}/i{number}.png"
        row["edits"] = {}
        for method in range(methods):
            shade += 1
            picture(root / f"m{method}" / f"i{number}.png", (shade % 256, shade // 256, 200))
            row["edits"][f"m{method}"] = f"m{method}/i{number}.png"
        rows.append(row)
    (root / "benchmark.yaml").write_text(json.dumps({"name": "b", "items": rows}))
    return root


def overalls(folder: Path) -> list[float]:
    with (folder / "scores.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["factor"] == "overall"]
    assert all(row["outcome"] == "scored" for row in rows), rows
    return sorted(float(row["score"]) for row in rows)


def judged(
    recipe: str, shared: Path, tmp_path: Path, items: list[dict[str, Any]], judge: PublishedJudge
) -> list[float]:
    """Import the recipe from the command line, run it over HTTP, and return the overalls."""
    clone = make_clone(recipe, shared, tmp_path)
    dialog = tmp_path / f"{recipe}.yaml"
    arguments = ["dialogs", "import", "--recipe", recipe, str(clone), "--out", str(dialog)]
    made = CliRunner().invoke(command_line, arguments)
    assert made.exit_code == 0, made.output
    checked = CliRunner().invoke(command_line, ["dialogs", "check", str(dialog)])
    assert checked.exit_code == 0, checked.output
    bench = make_benchmark(tmp_path / "bench", items)
    with serving(Server(reply=judge.reply)) as server:
        run(bench, dialog=str(dialog), judge=f"openai/tiny@{server.url}", out=tmp_path / "run")
    return overalls(tmp_path / "run")


def same(ours: list[float], published: list[float]) -> None:
    assert len(ours) == len(published)
    assert ours == pytest.approx(sorted(published), abs=1e-6)


# VIEScore and GEdit-Bench: two lists, the geometric mean of their minima


def viescore_answer(words: str, rng: random.Random) -> tuple[str, Scores]:
    keys = ("success", "overediting") if "Editing instruction" in words else ("natural", "clean")
    if "Subject:" in words:
        keys = ("resemblance", "overediting")
    scores = {key: float(rng.randint(0, 10)) for key in keys}
    values = [int(value) for value in scores.values() if value is not None]
    body = {"score": values, "reasoning": "Two things were looked at, 3 of them well."}
    return f"||V^=^V||\n{json.dumps(body)}\n||V^=^V||", {**scores}


def viescore_published(said: Scores) -> float:
    quality = min(
        value for key, value in said.items() if key in {"natural", "clean"} and value is not None
    )
    semantics = min(
        value
        for key, value in said.items()
        if key not in {"natural", "clean"} and value is not None
    )
    return math.sqrt(semantics * quality)


@pytest.mark.parametrize("recipe", ["viescore", "gedit-bench", "viescore-subject"])
def test_viescore_is_the_root_of_two_minima(recipe: str, shared: Path, tmp_path: Path) -> None:
    """O = √(min(SC)·min(PQ)), each call apart, words first, the edit alone for quality."""
    judge = PublishedJudge(viescore_answer)
    item: dict[str, Any] = {"task": "replace"}
    if recipe == "viescore-subject":
        item |= {"kinds": ["source", "subject"], "fields": {"subject": "a red lamp"}}
    ours = judged(recipe, shared, tmp_path, [item] * 6, judge)
    same(ours, [viescore_published(said) for said in judge.said.values()])
    shown = "TIII" if recipe == "viescore-subject" else "TII"
    assert {order for orders in judge.orders.values() for order in orders} == {shown, "TI"}


# ImgEdit: three lines by edit type, their mean

IMGEDIT_TYPES = "replace add adjust remove style action extract background compose".split()


def lines_answer(words: str, rng: random.Random) -> tuple[str, Scores]:
    names = re.findall(r"^(.+?): A number from 1 to 5", words, re.MULTILINE)
    if not names:
        names = ["Score"]
    scores: Scores = {name: float(rng.randint(1, 5)) for name in names}
    lines = [f"{name}: {value:.0f}" for name, value in scores.items()]
    return "Brief reasoning: the 2 parts fit.\n" + "\n".join(lines), scores


@pytest.mark.parametrize("recipe", ["imgedit", "imgedit-uge"])
def test_imgedit_is_the_mean_of_its_lines(recipe: str, shared: Path, tmp_path: Path) -> None:
    """Each edit type has a prompt of its own; the numbers of its lines are averaged."""
    judge = PublishedJudge(lines_answer)
    items = [{"task": task} for task in IMGEDIT_TYPES]
    ours = judged(recipe, shared, tmp_path, items, judge)
    expected = []
    for said in judge.said.values():
        values = [value for value in said.values() if value is not None]
        assert len(values) == (3 if recipe == "imgedit" else 1)
        expected.append(sum(values) / len(values))
    same(ours, expected)
    assert {order for orders in judge.orders.values() for order in orders} == {"TII"}


# RISEBench


def rise_answer(words: str, rng: random.Random) -> tuple[str, Scores]:
    binary = "0 or 1" in words or "(0/1)" in words or "**0**" in words or "Give 1 when" in words
    if ("onsistency" in words[:1200] and "appearance consistency" in words.lower()) or re.search(
        r"consistency evaluator|maintain consistency|Compare Image 2 against", words
    ):
        kind = "consistency"
    elif re.search(r"Generation Quality|clarity and distortion", words):
        kind = "quality"
    else:
        kind = "reasoning"
    score = rng.randint(0, 1) if binary else rng.choice([1, 1, 2, 3, 4, 5])
    counted = 4 * score + 1 if binary else score
    text = f"Step 1: two parts match.\n\n**Final Score:** **{score}**"
    return text, {kind: float(counted), f"{kind}:binary": float(binary)}


def rise_published(said: Scores) -> float:
    reasoning = said["reasoning"]
    consistency = said["consistency"]
    assert reasoning is not None and consistency is not None
    if said["reasoning:binary"]:
        assert "quality" not in said
        score = 0.3 * consistency + 0.7 * reasoning
    else:
        quality = said["quality"]
        assert quality is not None
        score = 0.3 * consistency + 0.5 * reasoning + 0.2 * quality
    if reasoning == 1:
        score = max(score * 0.5, 1)
    return score


def test_risebench_is_weighted_halved_and_never_below_one(shared: Path, tmp_path: Path) -> None:
    """.3/.5/.2, for logic .3/.7; halved where reasoning is 1; logical answers count 1 or 5."""
    both = ["source", "reference"]
    plain = {"reference": "It is black."}
    items: list[dict[str, Any]] = []
    for task in ("temporal_reasoning", "causal_reasoning", "spatial_reasoning"):
        items += [
            {"task": task, "fields": plain},
            {"task": task, "fields": {**plain, "reasoning_img": "1"}},
        ]
    items += [
        {"task": "spatial_reasoning", "kinds": both},
        {"task": "logical_reasoning", "fields": {"reference_txt": "A square."}},
        {"task": "logical_reasoning", "kinds": both},
        {"task": "logical_reasoning", "kinds": both, "fields": {"reasoning_wo_ins": "1"}},
    ]
    judge = PublishedJudge(rise_answer)
    ours = judged("risebench", shared, tmp_path, items * 3, judge)
    published = [rise_published(said) for said in judge.said.values()]
    same(ours, published)
    assert 1.0 in published, "no score was low enough to meet the floor"


# KRIS-Bench: flat JSON, plain means


def kris_answer(words: str, rng: random.Random) -> tuple[str, Scores]:
    tail = words[words.rfind("{") :]
    keys = dict.fromkeys(re.findall(r'"(\w+_score)"', tail))
    scores: Scores = {key: float(rng.randint(1, 5)) for key in keys}
    body: dict[str, Any] = {}
    for key, value in scores.items():
        body[key] = int(value or 0)
        body[key.replace("_score", "_reasoning")] = "1. Detect Difference 2. Decision"
    return f"Two elements differ.\n{json.dumps(body, indent=1)}", scores


def test_kris_bench_is_the_plain_mean_by_category(shared: Path, tmp_path: Path) -> None:
    """Which factors are asked depends on the category; none is published, so the mean is plain."""
    several = ["source", "source2", "source3"]
    items: list[dict[str, Any]] = [
        {"task": "count_change"},
        {"task": "anomaly_correction", "fields": {"explain_en": "Holes are symmetric."}},
        {"task": "abnormality_correction", "fields": {"explain_en": "Holes are symmetric."}},
        {"task": "physics", "fields": {"explain_en": "It tilts to the left."}},
        {"task": "viewpoint_change", "kinds": ["source", "reference"]},
        {"task": "temporal_prediction", "kinds": several},
        {"task": "multi-element_composition", "kinds": several[:2]},
        {"task": "multi-element_composition", "kinds": several},
        {"task": "multi-element_composition", "kinds": [*several, "source4"]},
        {"task": "multi-element_composition", "kinds": [*several, "source4", "source5"]},
    ]
    judge = PublishedJudge(kris_answer)
    ours = judged("kris-bench", shared, tmp_path, items, judge)
    expected = []
    for said in judge.said.values():
        values = [value for value in said.values() if value is not None]
        expected.append(sum(values) / len(values))
    same(ours, expected)
    asked = {frozenset(said) for said in judge.said.values()}
    common = {"consistency_score", "instruction_score", "quality_score"}
    assert asked == {frozenset(common), frozenset(common | {"knowledge_score"})}
    assert "TITIT" not in judge.orders["consistency_score"]
    assert "TITITI" in judge.orders["instruction_score"], "the ground truth stands last"


# VIBE: a geometric mean of means, billiards apart

VIBE_TASKS = (
    "Addition Removal Draft_Instantiation Reorientation Pose_Control Light_Control "
    "Flow_Simulation Billiards"
).split()


def vibe_answer(words: str, rng: random.Random) -> tuple[str, Scores]:
    tail = words[words.rfind("FINAL JSON") if "FINAL JSON" in words else -1500 :]
    if '"Left_Arm"' in words:
        options = {"MATCH": 1.0, "MISMATCH": 0.0, "N/A": None}
        limbs = ["Left_Arm", "Right_Arm", "Left_Leg", "Right_Leg"]
        said = {limb: rng.choice(list(options)) for limb in limbs}
        said["Left_Arm"] = "MATCH"
        body = {"Pose_Consistency": said}
        return f"## JSON\n{json.dumps(body)}", {limb: options[word] for limb, word in said.items()}
    keys = list(dict.fromkeys(re.findall(r'"([A-Z][\w -]+)":\s*\{', tail)))
    scores: Scores = {key: float(rng.choice([0, 1, 1, 1, 1, 1])) for key in keys}
    form = {key: {"reason": "One fact.", "score": int(value or 0)} for key, value in scores.items()}
    return f"## Decision\nIt fits.\n```json\n{json.dumps(form, indent=2)}\n```", scores


VIBE_METRICS = [
    ["Visual_Instruction_Localization_Correctness", "Visual_Operator_Type_Compliance",
     "Textual_Action_Semantic_Compliance"],
    ["Contextual_Preservation"],
    ["Style_Consistency", "Visual_Seamlessness", "Artifact-Free_Generation"],
    ["Direction_Matching_Consistency", "Physical_Lighting_Consistency"],
    ["Wind_Direction_Consistency"],
    ["Wind-Identity_Preservation", "Wind-Other_Preservation"],
    ["Yaw", "Pitch", "Roll"],
    ["Identity_Consistency", "Visual_Integrity"],
    ["Left_Arm", "Right_Arm", "Left_Leg", "Right_Leg"],
    ["Body Instance Integrity", "Character Identity Consistency", "Context Preservation"],
]  # fmt: skip


def vibe_published(said: Scores) -> float:
    metrics = []
    for keys in VIBE_METRICS:
        values = [said[key] for key in keys if said.get(key) is not None]
        numbers = [value for value in values if value is not None]
        if numbers:
            metrics.append(sum(numbers) / len(numbers))
    if "Path_Correctness" in said:
        context, path, collision = (
            said[key] or 0.0
            for key in ("Context_Preservation", "Path_Correctness", "Collision_Correctness")
        )
        metrics.append(context * (path + collision) / 2)
    return math.prod(metrics) ** (1 / len(metrics))


def test_vibe_is_the_geometric_mean_of_its_metrics(shared: Path, tmp_path: Path) -> None:
    """Each metric is the mean of its keys, billiards a product; limbs that are N/A do not count."""
    items = [{"task": task, "kinds": ["source", "marked", "reference"]} for task in VIBE_TASKS]
    judge = PublishedJudge(vibe_answer)
    ours = judged("vibe", shared, tmp_path, items * 2, judge)
    same(ours, [vibe_published(said) for said in judge.said.values()])


# Pairs


@dataclass
class PairJudge:
    """Says who wins, with a leaning to what is shown first, and remembers it."""

    form: Callable[[str], str]
    ties: bool
    said: dict[tuple[str, str], str] = field(default_factory=dict)
    """By the two pictures in the order shown: A, B or tie."""
    shapes: set[str] = field(default_factory=set)

    def reply(self, messages: list[dict[str, Any]]) -> str:
        content = messages[-1]["content"]
        roles = "".join(message["role"][0] for message in messages)
        order = "".join("T" if part["type"] == "text" else "I" for part in content)
        self.shapes.add(f"{roles}:{order}")
        pictures = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
        shown = (pictures[-2], pictures[-1])
        rng = random.Random("".join(shown))
        self.said[shown] = rng.choice(["A", "A", "B", "tie"] if self.ties else ["A", "A", "B"])
        return self.form(self.said[shown])


PAIR_RECIPES: dict[str, tuple[Callable[[str], str], bool, str]] = {
    "genai-bench": (
        lambda won: {"A": "So [[A>B]]", "B": "[[B>A]]", "tie": "Not [[A>B]]: [[A=B=Bad]]"}[won],
        True,
        "u:TITITIT",
    ),
    "genarena": (
        lambda won: json.dumps({"better_response": won, "score": 6 if won == "B" else 1}),
        False,
        "u:TITITI",
    ),
    "geditbench-v2-instruction": (
        lambda won: json.dumps({"winner": "Tie" if won == "tie" else f"Image {won}"}),
        True,
        "su:TITITI",
    ),
    "geditbench-v2-quality": (
        lambda won: json.dumps({"winner": "Tie" if won == "tie" else f"image_{won.lower()}"}),
        True,
        "su:TITI",
    ),
}
"""By recipe: the published form of a reply, whether it may be a tie, and the shape of the call."""


def published_match(verdicts: list[str]) -> str:
    """Return who won a pair: the one all its orders name; orders that disagree are a tie."""
    return verdicts[0] if len(set(verdicts)) == 1 else "tie"


@pytest.mark.parametrize("recipe", sorted(PAIR_RECIPES))
def test_pairs_are_won_as_published(recipe: str, shared: Path, tmp_path: Path) -> None:
    """Every verdict is read; where both orders are asked, only those that agree win."""
    form, ties, shape = PAIR_RECIPES[recipe]
    judge = PairJudge(form, ties)
    dialog = tmp_path / "pairs.yaml"
    dialog.write_text(follow(load_recipe(recipe), make_clone(recipe, shared, tmp_path)).text)
    fields = {"source_prompt": "a cat", "target_prompt": "a dog"}
    bench = make_benchmark(tmp_path / "bench", [{"task": "t", "fields": fields}] * 4)
    with serving(Server(reply=judge.reply)) as server:
        run(bench, dialog=str(dialog), judge=f"openai/tiny@{server.url}", out=tmp_path / "run")
    rows = read_comparisons(tmp_path / "run" / "pairs.csv")
    both = recipe == "genarena"
    assert judge.shapes == {shape} and len(rows) == len(judge.said) == 4 * 3 * (2 if both else 1)

    verdicts: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    counted: Counter[str] = Counter()
    for row in rows:
        won = {row.shown[0]: "A", row.shown[1]: "B"}.get(row.winner, row.winner)
        counted[won] += 1
        verdicts[row.item, row.method_a, row.method_b].append(row.winner)
    assert counted == Counter(judge.said.values())
    ours = {(m.item, m.method_a, m.method_b): m.winner for m in matches(rows)}
    assert ours == {pair: published_match(each) for pair, each in verdicts.items()}


# Recipes and clones


def test_every_recipe_is_tested_and_documented() -> None:
    """Each recipe has a clone here, a line in the list, and a page."""
    assert set(recipe_names()) == set(MAKERS)
    listed = CliRunner().invoke(command_line, ["dialogs", "recipes"])
    assert listed.exit_code == 0
    folder = Path(__file__).parents[2] / "docs" / "protocols"
    text = "".join(page.read_text(encoding="utf-8") for page in sorted(folder.glob("*.md")))
    for name in recipe_names():
        recipe = load_recipe(name)
        assert f"{name}: {recipe.title}" in listed.stdout
        assert f"--recipe {name} " in text, f"no page says how to use {name}"


@pytest.mark.parametrize("recipe", sorted(MAKERS))
def test_the_words_of_the_clone_are_said_to_the_letter(
    recipe: str, shared: Path, tmp_path: Path
) -> None:
    """Nothing is left of a placeholder, and everything else is as published."""
    made = follow(load_recipe(recipe), make_clone(recipe, shared, tmp_path))
    for placeholder in ("{instruct}", "{reference}", "{explanation}", "{prompt}", "<edit_prompt>"):
        assert placeholder not in made.text
    assert "<instruction>" not in made.text and "<subject>" not in made.text
    assert "say: |" in made.text, "words are written in blocks that people can read"


def test_a_clone_whose_files_moved_is_told_which(shared: Path, tmp_path: Path) -> None:
    """The missing file is named, and where the clone should have come from."""
    clone = make_clone("viescore", shared, tmp_path)
    (clone / "viescore/prompts_raw/prompts_0shot/rule_PQ.txt").unlink()
    arguments = ["dialogs", "import", "--recipe", "viescore", str(clone), "-o", "x.yaml"]
    failed = CliRunner().invoke(command_line, arguments)
    assert failed.exit_code != 0
    message = str(failed.exception)
    assert "prompts_0shot/rule_PQ.txt" in message and "TIGER-AI-Lab/VIEScore" in message


def test_a_constant_that_was_renamed_is_named(shared: Path, tmp_path: Path) -> None:
    """A Python file without the constant says which one, and what it has."""
    clone = make_clone("risebench", shared, tmp_path)
    path = clone / "utils.py"
    path.write_text(path.read_text().replace("prompt_consist =", "prompt_consistency ="))
    arguments = ["dialogs", "import", "--recipe", "rise", str(clone), "-o", "x.yaml"]
    message = str(CliRunner().invoke(command_line, arguments).exception)
    assert "no text 'prompt_consist'" in message and "prompt_consistency" in message


def test_a_clone_cannot_have_other_files_read(shared: Path, tmp_path: Path) -> None:
    """A link in a clone that leads outside is refused: its text would be sent to the judge."""
    clone = make_clone("vibe", shared, tmp_path)
    (tmp_path / "secret.txt").write_text("a private letter about the score")
    target = clone / "prompt" / "Visual_Coherence.txt"
    target.unlink()
    target.symlink_to(tmp_path / "secret.txt")
    arguments = ["dialogs", "import", "--recipe", "vibe", str(clone), "-o", "x.yaml"]
    assert "leads out of" in str(CliRunner().invoke(command_line, arguments).exception)


def test_an_unknown_recipe_suggests_one(tmp_path: Path) -> None:
    """A mistyped name is answered with the nearest; capitals and hyphens do not matter."""
    arguments = ["dialogs", "import", "--recipe", "vieskore", str(tmp_path)]
    assert "did you mean viescore" in str(CliRunner().invoke(command_line, arguments).exception)
    assert load_recipe("VIEScore").recipe == "viescore"
    assert load_recipe("GEdit-Bench").recipe == load_recipe("gedit").recipe == "gedit-bench"
    shutil.rmtree(tmp_path)
    arguments = ["dialogs", "import", "--recipe", "viescore", str(tmp_path)]
    assert "clone https://github.com" in str(CliRunner().invoke(command_line, arguments).exception)
