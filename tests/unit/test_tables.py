"""Cells that a spreadsheet would run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmmscore.tables import defuse, restore


@pytest.mark.parametrize("cell", ["=1+1", "+A1", "-2+3", "@SUM(A1)", "\t=1", "\r=1"])
def test_formulas_are_defused(cell: str) -> None:
    """Text that a spreadsheet would run gets a quote before it."""
    assert defuse(cell) == "'" + cell


@pytest.mark.parametrize("cell", ["SINE", "6_SINE", "a=b", "", "'quoted'", "007"])
def test_plain_text_stays_as_it_is(cell: str) -> None:
    """Names that no spreadsheet would run are not touched."""
    assert defuse(cell) == cell


@given(st.text(alphabet="=+-@'\t\rab"))
def test_restoring_undoes_defusing(cell: str) -> None:
    """Every text comes back exactly, also one that begins with quotes of its own."""
    assert restore(defuse(cell)) == cell
    assert not defuse(cell).startswith(("=", "+", "-", "@", "\t", "\r"))
