"""Can a judge be steered? The probe changes what should not matter, and says what it did."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from PIL import Image
from scipy import stats

from lmmscore.api import AGAIN, probe
from lmmscore.benchmark import has_border, load_benchmark
from lmmscore.cli import lmmscore as main
from lmmscore.judges.trials import ALTERATIONS
from tests.loopback import Server, playing, serving


def benchmark(folder: Path, items: int = 2) -> Path:
    """Two methods' edits of drawn pictures."""
    rng = np.random.default_rng(0)
    lines = []
    for number in range(items):
        for kind in ("source", "edit/A", "edit/B"):
            path = folder / kind / f"i{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = rng.integers(0, 255, (64, 64, 3), dtype=np.uint8)
            Image.fromarray(pixels).resize((96, 96)).save(path)
        lines.append(f"i{number},colour,Make it blue")
    (folder / "items.csv").write_text("id,task,instruction\n" + "\n".join(lines), encoding="utf-8")
    path = folder / "benchmark.yaml"
    path.write_text(
        "name: probe\nitems: items.csv\n"
        'images: {source: "source/{id}.png", edit: "edit/{method}/{id}.png"}\n',
        encoding="utf-8",
    )
    return path


def test_every_change_is_reported_with_its_size(tmp_path: Path) -> None:
    """A judge that measures pixels gives the same to the same pictures, and is moved by others."""
    found = probe("pixels", benchmark(tmp_path / "bench"), items=2, out=tmp_path / "out")
    overall = {one.alteration: one for one in found if one.factor == "overall"}
    assert list(overall) == [AGAIN, *ALTERATIONS]
    assert overall[AGAIN].change == 0
    assert all(one.items == 2 and one.unscored == 0 for one in overall.values())
    assert any(one.change for one in overall.values())
    assert (tmp_path / "out" / "praise" / "run" / "scores.csv").is_file()


def test_an_api_judge_is_probed_with_intervals_over_items(tmp_path: Path) -> None:
    """Through a real HTTP server: each change is the mean over items, its interval Student's t."""
    bench, out = benchmark(tmp_path / "bench", items=5), tmp_path / "out"
    with serving(Server(reply=playing)) as server:
        words = ["judge", "probe", f"openai/tiny@{server.url}", str(bench), "--items", "5"]
        done = CliRunner(env={"OPENAI_API_KEY": "k"}).invoke(
            main, [*words, "-o", str(out), "--json"]
        )
    assert done.exit_code == 0, done.output
    found = {
        one["alteration"]: one
        for one in json.loads(done.stdout)["changes"]
        if one["factor"] == "overall"
    }
    assert (found[AGAIN]["change"], found[AGAIN]["low"], found[AGAIN]["items"]) == (0, None, 5)

    before = overall_of(out / "unaltered")
    for name in ALTERATIONS:
        after = overall_of(out / name)
        altered = [
            key for key in before if picture(out / name, key) != picture(out / "unaltered", key)
        ]
        assert sorted(item for item, _ in altered) == [f"i{k}" for k in range(5)]
        gaps = np.array([after[key] - before[key] for key in altered])
        limits = stats.t.interval(0.95, 4, gaps.mean(), stats.sem(gaps))
        assert found[name]["change"] == pytest.approx(gaps.mean())
        assert (found[name]["low"], found[name]["high"]) == pytest.approx(limits)


def overall_of(folder: Path) -> dict[tuple[str, str], float]:
    table = pd.read_csv(folder / "run" / "scores.csv")
    rows = table[(table["factor"] == "overall") & (table["repeat"] == 1)]
    return {(row.item, row.method): row.score for row in rows.itertuples()}


def picture(folder: Path, edit: tuple[str, str]) -> bytes:
    item, method = edit
    items = {each.id: each for each in load_benchmark(folder).items}
    return items[item].edits[method].read_bytes()


def test_the_names_of_a_benchmark_lead_nowhere(tmp_path: Path) -> None:
    """An item may be called anything: its pictures are copied into the folder of the probe."""
    bench = benchmark(tmp_path / "bench", items=1)
    item = {"id": "../../../i0", "instruction": "Make it blue", "source": "source/i0.png"}
    item |= {"edits": {"../A": "edit/A/i0.png"}, "task": "colour"}
    bench.write_text(json.dumps({"name": "probe", "items": [item]}))
    found = probe("pixels", bench, items=1, out=tmp_path / "out" / "deep")
    assert found[0].items == 1 and found[0].change == 0
    assert {path.name for path in tmp_path.iterdir()} == {"bench", "out"}
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["deep"]


@pytest.mark.parametrize("name", list(ALTERATIONS))
def test_a_change_keeps_the_size_and_most_of_the_picture(name: str) -> None:
    """Each alteration gives a picture of the same size that differs, and not by much."""
    pixels = np.random.default_rng(0).integers(60, 190, (120, 160, 3), dtype=np.uint8)
    picture = Image.fromarray(pixels).resize((320, 240))
    changed = ALTERATIONS[name][1](picture)
    assert changed.size == picture.size
    gap = np.abs(np.asarray(changed, dtype=float) - np.asarray(picture, dtype=float))
    assert 0 < gap.mean() < 20


def test_a_border_is_seen_and_a_plain_sky_is_none() -> None:
    """A strip of one colour on opposite sides is a border; a picture that is plain there is not."""
    pixels = np.random.default_rng(0).integers(0, 255, (200, 200, 3), dtype=np.uint8)
    assert not has_border(pixels)
    framed = np.asarray(ALTERATIONS["border"][1](Image.fromarray(pixels)))
    assert has_border(framed)
    sky = pixels.copy()
    sky[:80] = sky[120:] = 200
    assert not has_border(sky)
