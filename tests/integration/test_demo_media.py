"""The drawn benchmark: complete, and open about being constructed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from lmmscore.benchmark import Benchmark, check_benchmark, load_benchmark
from lmmscore.resources import bundled

MEDIA = bundled("media")


@pytest.fixture(scope="module")
def demo() -> Benchmark:
    """The benchmark as a user would load it."""
    return load_benchmark(MEDIA / "demo")


def test_three_tasks_of_four_items_by_six_methods(demo: Benchmark) -> None:
    """The demo has at least three task categories with four items each, and six methods edit every one."""
    assert len(demo.tasks) == 3
    assert all(sum(item.task == task for item in demo.items) == 4 for task in demo.tasks)
    assert len(demo.methods) == 6
    assert all(set(item.edits) == set(demo.methods) for item in demo.items)


def test_checking_it_finds_no_problem(demo: Benchmark) -> None:
    """Every picture opens, has the frame of its source and differs from every other edit byte for byte."""
    assert check_benchmark(demo) == []


def test_every_item_has_a_reference_and_marks_of_its_own(demo: Benchmark) -> None:
    """Dialogs that need a ground truth or a marked image can be tried; no method hands in the reference."""
    for item in demo.items:
        assert {"source", "reference", "marked"} <= set(item.images)
        files = [*item.images.values(), *item.edits.values()]
        assert len({hashlib.sha256(path.read_bytes()).digest() for path in files}) == 9


def test_the_order_is_said_to_be_constructed(demo: Benchmark) -> None:
    """The truth file orders exactly the methods there are, with fault and size, and claims no humans."""
    truth = yaml.safe_load((MEDIA / "demo" / "constructed.yaml").read_text(encoding="utf-8"))
    assert sorted(truth["order"]) == sorted(demo.methods)
    assert [fault["method"] for fault in truth["faults"]] == truth["order"]
    assert all(fault["fault"] and fault["size"] and fault["hurts"] for fault in truth["faults"])
    assert "not human ratings" in truth["about"]


def test_the_best_method_is_nearest_to_the_reference(demo: Benchmark) -> None:
    """By construction the first method comes closer to the perfect edit than any other, for every item."""
    best = yaml.safe_load((MEDIA / "demo" / "constructed.yaml").read_text(encoding="utf-8"))[
        "order"
    ][0]
    for item in demo.items:
        truth = pixels(item.images["reference"])
        miss = {method: np.abs(pixels(path) - truth).mean() for method, path in item.edits.items()}
        assert min(miss, key=lambda method: miss[method]) == best


def test_it_stays_small() -> None:
    """The whole benchmark weighs less than four megabytes, since every installation carries it."""
    assert (
        sum(path.stat().st_size for path in (MEDIA / "demo").rglob("*") if path.is_file())
        < 4_000_000
    )


def pixels(path: Path) -> np.ndarray:
    """The picture as numbers."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"), dtype=float)
