"""Scores in JSON of any shape: by image or by factor, nested, as a list, one object or many."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from lmmscore.parsing.captions import captioned_otherwise, is_no_verdict
from lmmscore.parsing.jsontext import JsonText, Leaf, Node, Tree, json_texts
from lmmscore.parsing.labels import Page, image_in, image_named, normal
from lmmscore.parsing.numbers import number_in
from lmmscore.parsing.said import TWO_NUMBERS, UNKNOWN_IMAGE, Mark, Said
from lmmscore.scales import Factor

_SCORE_KEYS = ("score", "rating", "value", "points", "grade")
_NAME_KEYS = frozenset(
    ("factor", "name", "metric", "criterion", "criteria", "dimension", "aspect", "key")
)
_IMAGE_KEYS = frozenset(
    ("image", "imageid", "imagenumber", "imageindex", "edit", "editedimage", "img", "picture")
)
_WEAK_IMAGE_KEYS = frozenset(("id", "index", "position", "number"))
"""They number images, unless the object is about a factor: then they may number anything."""
_LABEL_KEYS = frozenset(
    """name label title file filename path which candidate method option output version sample result type kind key
    imagename imagefile imagelabel""".split()
)
"""What stands there may name an image, "Image 2", or something that is no edit."""

Claim = tuple[int | None, str, Mark]
"""An image, a factor, and the number said of them."""


def json_says(text: str, page: Page) -> tuple[list[Said], list[tuple[int, int]], bool]:
    """Return what the JSON in a reply says, the stretches that are JSON, and whether the reply ends inside some."""
    found, cut = json_texts(text, lambda key: _matters(key, page))
    verdicts = [each for each in found if not captioned_otherwise(text, each.start)]
    said = [each for json_text in verdicts for each in _said(json_text, page)]
    stretches = [(each.start, each.end) for each in found if _has_keys(each.tree)]
    return said, stretches, cut


def _matters(key: str, page: Page) -> bool:
    return normal(key) in _SCORE_KEYS or page.factor_named(key) is not None


def _has_keys(tree: Tree) -> bool:
    return any(key or (isinstance(node, Tree) and _has_keys(node)) for key, node in tree.pairs)


def _said(found: JsonText, page: Page) -> Iterator[Said]:
    claims = list(_claims(found.tree, None, page))
    notes: tuple[str, ...] = ("JSON mended: " + ", ".join(found.mended),) if found.mended else ()
    # n images numbered from 0 to n-1 can only be meant one way.
    if page.n > 1 and {position for position, _, _ in claims} == set(range(page.n)):
        claims = [((position or 0) + 1, key, mark) for position, key, mark in claims]
        notes += ("images counted from 0",)
    above = _image_above(found, page)
    for position, key, mark in claims:
        position = above if position is None else position
        if position is not None or page.n == 1:
            yield Said(position, key, mark, "json", (found.start, found.end), notes)


def _image_above(found: JsonText, page: Page) -> int | None:
    """Return the image that was named last before a JSON text."""
    index = bisect_right(
        page.images, found.start, key=lambda each: page.plain.span(each.start, each.end)[1]
    )
    return page.images[index - 1].position if index and page.n > 1 else None


def _claims(node: Node, image: int | None, page: Page) -> Iterator[Claim]:
    """Yield what a value says of an image (None where none has been named on the way to it)."""
    if isinstance(node, Leaf):
        return
    if node.is_list:
        yield from _of_list(node, image, page)
        return
    factor = _factor_of(node, page)
    if factor is None and _is_labelled_otherwise(node):
        return
    if image is None:
        image = _image_of(node, page.n, weak=factor is None)
    if factor is not None:
        yield image, factor.key, _mark(node, factor)
        return
    yield from _of_pairs(node, image, page)


def _factor_of(node: Tree, page: Page) -> Factor | None:
    named = _leaf_of(node, _NAME_KEYS)
    return page.factor_named(named.text) if named else None


def _is_labelled_otherwise(node: Tree) -> bool:
    keys = _LABEL_KEYS | _IMAGE_KEYS
    return any(
        normal(key) in keys and isinstance(v, Leaf) and is_no_verdict(v.text)
        for key, v in node.pairs
    )


def _of_pairs(node: Tree, image: int | None, page: Page) -> Iterator[Claim]:
    only = page.factors[0] if len(page.factors) == 1 else None
    score = _score_of(node)
    if only and score is not None and not any(page.factor_named(key) for key, _ in node.pairs):
        # {"reason": …, "score": 1} where there is only one thing to score.
        yield image, only.key, _mark(node, only)
        return
    twice = _given_twice(node, page)
    for key, inner in node.pairs:
        factor = page.factor_named(key)
        position = image_in(re.sub(r"[_-]", " ", key), page.n)
        if factor is not None:
            for at, name, mark in _of_factor(inner, factor, image, page):
                yield at, name, Mark(None, TWO_NUMBERS, mark.span) if name in twice else mark
        elif is_no_verdict(key) and not _is_ranked_list(key, inner):
            continue
        elif only and position is not None and isinstance(inner, Leaf):
            yield position, only.key, _mark(inner, only)
        else:
            yield from _claims(inner, image if position is None else position, page)


def _given_twice(node: Tree, page: Page) -> set[str]:
    """Return the factors that an object gives two different values."""
    given: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for key, inner in node.pairs:
        if (factor := page.factor_named(key)) is not None:
            given[factor.key].add(tuple(leaf.text for leaf in _leaves(inner)))
    return {key for key, values in given.items() if len(values) > 1}


def _is_ranked_list(key: str, node: Node) -> bool:
    """Tell whether this is `"ranking": [{"image": 2, "S_acc": 6, …}, …]`: scores in the order of rank."""
    return normal(key).startswith("rank") and isinstance(node, Tree) and node.is_list


def _of_list(node: Tree, image: int | None, page: Page) -> Iterator[Claim]:
    by_entry = [list(_claims(entry, image, page)) for entry in node.nodes]
    unplaced = all(position is None for claims in by_entry for position, _, _ in claims)
    labelled = [
        page.n > 1 < len(by_entry) and _may_name_an_image(entry, page) for entry in node.nodes
    ]
    # As many entries as images, none of them named: they are in the order in which the images were shown.
    if unplaced and all(by_entry) and len(by_entry) == page.n and page.n > 1 and not any(labelled):
        by_entry = [
            [(i, key, mark) for _, key, mark in claims] for i, claims in enumerate(by_entry, 1)
        ]
    for claims, has_label in zip(by_entry, labelled, strict=True):
        # A name that is not understood may be that of any image.
        unnamed = UNKNOWN_IMAGE if has_label else None
        yield from ((unnamed if at is None else at, key, mark) for at, key, mark in claims)


def _may_name_an_image(node: Node, page: Page) -> bool:
    """Tell whether an object has a key that images are named by, and is not about a factor."""
    if isinstance(node, Leaf) or node.is_list or _factor_of(node, page) is not None:
        return False
    return _leaf_of(node, _IMAGE_KEYS | _WEAK_IMAGE_KEYS | _LABEL_KEYS) is not None


def _of_factor(node: Node, factor: Factor, image: int | None, page: Page) -> Iterator[Claim]:
    """Read `"S_acc": 6`, `{"score": 6}`, `{"Image 1": 6, …}`, `[6, 7, …]` or `[{"image": 1, "score": 6}, …]`."""
    if isinstance(node, Tree) and image is None and _score_of(node) is None:
        placed = [(image_in(re.sub(r"[_-]", " ", key), page.n), inner) for key, inner in node.pairs]
        if node.is_list:
            placed = [(_image_of(each, page.n, weak=True), each) for each in node.nodes]
            labelled = page.n > 1 and any(_may_name_an_image(each, page) for each in node.nodes)
            if (
                all(position is None for position, _ in placed)
                and len(placed) == page.n
                and not labelled
            ):
                placed = list(enumerate(node.nodes, 1))
        if placed and all(position is not None for position, _ in placed):
            yield from ((position, factor.key, _mark(inner, factor)) for position, inner in placed)
            return
    yield image, factor.key, _mark(node, factor)


def _mark(node: Node, factor: Factor) -> Mark:
    if isinstance(node, Leaf):
        return number_in(node.text, factor.scale, node.start)
    score = _score_of(node)
    if score is None:
        place = next(_leaves(node), Leaf("", 0))
        return Mark(None, "it holds no score", (place.start, place.start + len(place.text)))
    return _mark(score, factor)


def _score_of(node: Tree) -> Node | None:
    """Return the value of `score` or of a like key; of two that differ, one that is no number."""
    for wanted in _SCORE_KEYS:
        scores = [inner for key, inner in node.pairs if normal(key) == wanted]
        texts = {inner.text for inner in scores if isinstance(inner, Leaf)}
        if len(texts) > 1 and isinstance(scores[0], Leaf):
            return replace(scores[0], text=" and ".join(sorted(texts)))
        if scores:
            return scores[0]
    return None


def _leaves(node: Node) -> Iterator[Leaf]:
    if isinstance(node, Leaf):
        yield node
    else:
        for inner in node.nodes:
            yield from _leaves(inner)


def _leaf_of(node: Tree, keys: frozenset[str]) -> Leaf | None:
    return next((v for key, v in node.pairs if normal(key) in keys and isinstance(v, Leaf)), None)


def _image_of(node: Node, n: int, *, weak: bool) -> int | None:
    """Return the image an object names; what says "Image 2" counts before what merely numbers."""
    if isinstance(node, Leaf):
        return None
    leaves = [
        (normal(key), v.text.replace("_", " ")) for key, v in node.pairs if isinstance(v, Leaf)
    ]
    headed = {image_in(text, n) for key, text in leaves if key in _IMAGE_KEYS}
    spoken = {image_named(text, n) for key, text in leaves if key in _LABEL_KEYS | _WEAK_IMAGE_KEYS}
    named = (headed | spoken) - {None}
    if len(named) > 1:
        return UNKNOWN_IMAGE if n > 1 else None
    if named or headed or not weak:
        return next(iter(named), None)
    return next((image_in(text, n) for key, text in leaves if key in _WEAK_IMAGE_KEYS), None)
