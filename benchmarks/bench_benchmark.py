"""Loading, selecting from and planning large benchmarks: time and memory per item as their number grows."""

from __future__ import annotations

import tempfile
import time
import tracemalloc
from dataclasses import dataclass
from pathlib import Path

from lmmscore.benchmark import Benchmark, load_benchmark
from lmmscore.plan import Plan, Protocol, load_protocol, make_plan

METHODS, SMALL, LARGE = 4, 5_000, 20_000


def write(root: Path, items: int) -> Path:
    """Write a benchmark of so many items whose pictures are never opened."""
    folders = ["source", *(f"m{number}" for number in range(METHODS))]
    rows = ["id,task,instruction"]
    for folder in folders:
        (root / folder).mkdir(parents=True)
        for number in range(items):
            (root / folder / f"i{number}.png").touch()
    rows += [f"i{number},t{number % 7},Make it number {number}" for number in range(items)]
    (root / "items.csv").write_text("\n".join(rows) + "\n")
    (root / "benchmark.yaml").write_text(
        'name: b\nitems: items.csv\nimages: {source: "source/{id}.*", edit: "{method}/{id}.*"}\n'
    )
    return root


@dataclass(frozen=True)
class Measured:
    """What one benchmark takes."""

    load_s: float
    select_s: float
    plan_s: float
    """To make the plan and to walk through all its sessions."""
    kept_bytes: float
    """Per item, by the benchmark."""
    plan_bytes: float
    """Per item, at most, beyond the benchmark while it is planned and walked through."""


def measured(items: int) -> Measured:
    """Load, select and plan a benchmark of so many items; then once more for the memory."""
    protocol = load_protocol("lmm-score", {})
    with tempfile.TemporaryDirectory() as folder:
        root = write(Path(folder) / "b", items)
        start = time.process_time()
        benchmark: Benchmark = load_benchmark(root)
        load_s = time.process_time() - start

        names = [item.id for item in benchmark.items]
        start = time.process_time()
        benchmark.select(items=names)
        select_s = time.process_time() - start

        start = time.process_time()
        walk(benchmark, protocol)
        plan_s = time.process_time() - start
        del benchmark, names

        tracemalloc.start()
        benchmark = load_benchmark(root)
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        walk(benchmark, protocol)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return Measured(load_s, select_s, plan_s, kept / items, (peak - kept) / items)


def walk(benchmark: Benchmark, protocol: Protocol) -> None:
    """Make the plan, and look at every session as a run does."""
    plan = make_plan(benchmark, Plan(benchmark, protocol))
    assert sum(1 for _ in plan) == len(benchmark.items)


def main() -> None:
    small, large = measured(SMALL), measured(LARGE)
    factor = LARGE / SMALL
    print(f"{SMALL:,} → {LARGE:,} items with {METHODS} methods ({factor:.0f} times as many)")
    print(f"load    {large.load_s / small.load_s:5.1f} times as long")
    print(f"select  {large.select_s / small.select_s:5.1f} times as long")
    print(f"plan    {large.plan_s / small.plan_s:5.1f} times as long")
    for name, one, other in (
        ("benchmark", small.kept_bytes, large.kept_bytes),
        ("plan", small.plan_bytes, large.plan_bytes),
    ):
        print(f"memory  {other / one:5.2f} times as much per item, {name} ({other:,.0f} bytes)")
