"""The order in which the edits of an item are shown."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

Order = Literal["given", "shuffled", "balanced"]


def order_of(
    kind: Order,
    methods: Sequence[str],
    *,
    item: str,
    item_number: int,
    repeat: int,
    repeats: int,
    seed: int,
) -> tuple[str, ...]:
    """Return the methods in the order their edits are shown.

    It depends on the item and the repeat alone, so that judging a part of a benchmark first changes nothing for
    the rest. `item_number` counts all items of the benchmark from 0.
    """
    if kind == "given":
        return tuple(methods)
    if kind == "shuffled":
        shuffled = list(methods)
        random.Random(f"{seed} {item} {repeat}").shuffle(shuffled)
        return tuple(shuffled)
    start = list(methods)
    random.Random(f"{seed}").shuffle(start)
    return _row_of_square(start, item_number * repeats + repeat - 1)


def _row_of_square(methods: list[str], row: int) -> tuple[str, ...]:
    """Return one row of a Williams square: over n rows each method stands in each place once.

    For an even number of methods each also follows each other one equally often, so that an edit is not always
    seen after the same one.
    """
    n = len(methods)
    zigzag = [(place + 1) // 2 if place % 2 else n - place // 2 for place in range(n)]
    return tuple(methods[(step + row) % n] for step in zigzag)
