"""Names in the package: one word, one meaning."""

from __future__ import annotations

import ast
from collections import Counter

from tests.sources import FILES, PACKAGE, trees

RIDDLES = set(
    """affording counted building powered within said deciding harmless inert making gathering album
    whiskers itemrows factorcolumns extras habits interactive replaying playing grouping judging
    asking reading writing sending waiting csvsafe scorefiles scorelayouts utils helpers misc
    common""".split()
)
"""What no module is called: not nouns, or nouns that do not say what is inside."""


def class_names(tree: ast.Module) -> list[str]:
    return [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def test_a_class_name_occurs_once() -> None:
    """Whoever searches for a class finds one, private ones included."""
    counts = Counter(name for tree in trees().values() for name in class_names(tree))
    assert [name for name, count in counts.items() if count > 1] == []


def test_a_file_name_occurs_once_in_its_package() -> None:
    """No package has a module and a folder of one name, or a file of the same name further down."""
    for package in (each for each in PACKAGE.iterdir() if each.is_dir() and each.name != "_data"):
        below = [path for path in package.rglob("*") if path.suffix == ".py" or path.is_dir()]
        names = Counter(
            path.stem for path in below if path.stem not in {"__init__", "__pycache__", "static"}
        )
        assert [name for name, count in names.items() if count > 1] == [], package.name


def test_a_module_is_named_by_a_noun() -> None:
    """A module's name says what is inside, without having to be solved."""
    assert [path.name for path in FILES if path.stem in RIDDLES] == []
