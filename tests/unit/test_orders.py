from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lmmscore.plan import Order, order_of


def order(
    kind: Order, n: int, item: int = 0, repeat: int = 1, repeats: int = 1, seed: int = 0
) -> tuple[str, ...]:
    methods = [f"m{i}" for i in range(n)]
    return order_of(
        kind, methods, item=f"i{item}", item_number=item, repeat=repeat, repeats=repeats, seed=seed
    )


@given(st.integers(1, 20), st.integers(0, 50))
def test_balanced_puts_each_method_in_each_place_equally_often(n: int, item: int) -> None:
    """Over n repeats of an item every method stands in every place exactly once."""
    rows = [order("balanced", n, item, repeat, repeats=n) for repeat in range(1, n + 1)]
    assert set(Counter((place, m) for row in rows for place, m in enumerate(row)).values()) == {1}


@given(st.integers(1, 12))
def test_balanced_also_balances_over_items(n: int) -> None:
    """With one repeat, n items balance the places between them."""
    rows = [order("balanced", n, item) for item in range(n)]
    assert set(Counter((place, m) for row in rows for place, m in enumerate(row)).values()) == {1}


def test_in_an_even_square_each_follows_each_other_once() -> None:
    """No method is always seen after the same one."""
    rows = [order("balanced", 6, repeat=repeat, repeats=6) for repeat in range(1, 7)]
    follows = Counter(pair for row in rows for pair in pairwise(row))
    assert set(follows.values()) == {1}


def test_shuffled_depends_on_seed_item_and_repeat_alone() -> None:
    """The order of an item does not change when other items are judged first."""
    assert order("shuffled", 8, item=3) == order("shuffled", 8, item=3)
    variants = {
        order("shuffled", 8, item, repeat, 5, seed)
        for item in (1, 2)
        for repeat in (1, 2)
        for seed in (1, 2)
    }
    assert len(variants) == 8


def test_given_keeps_the_benchmarks_order() -> None:
    """Nothing is moved."""
    assert order("given", 4) == ("m0", "m1", "m2", "m3")
