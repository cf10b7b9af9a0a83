"""Loading and selecting from large benchmarks: time and memory per item as their number grows."""

from __future__ import annotations

import tempfile
import time
import tracemalloc
from pathlib import Path

from lmmscore.benchmark import Benchmark, load_benchmark

METHODS, SMALL, LARGE = 4, 2_000, 8_000


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


def measured(items: int) -> tuple[float, float, float]:
    """Return seconds to load, seconds to select every item by name, and bytes kept per item."""
    with tempfile.TemporaryDirectory() as folder:
        root = write(Path(folder) / "b", items)
        start = time.perf_counter()
        benchmark: Benchmark = load_benchmark(root)
        loaded = time.perf_counter() - start

        names = [item.id for item in benchmark.items]
        start = time.perf_counter()
        benchmark.select(items=names)
        selected = time.perf_counter() - start
        del benchmark, names

        tracemalloc.start()
        benchmark = load_benchmark(root)
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return loaded, selected, kept / len(benchmark.items)


def main() -> None:
    small, large = measured(SMALL), measured(LARGE)
    factor = LARGE / SMALL
    print(f"{SMALL:,} → {LARGE:,} items with {METHODS} methods ({factor:.0f} times as many)")
    print(f"load    {large[0] / small[0]:5.1f} times as long")
    print(f"select  {large[1] / small[1]:5.1f} times as long")
    print(f"memory  {large[2] / small[2]:5.2f} times as much per item ({large[2]:,.0f} bytes)")
