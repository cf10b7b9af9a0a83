"""Small drawings for notebooks."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from hypothesis import given
from hypothesis import strategies as st

from lmmscore.leaderboard.ranking import Whisker, draw

SPACE = "{http://www.w3.org/2000/svg}"
numbers = st.floats(-1e6, 1e6)


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=40), numbers
        ),
        min_size=1,
    )
)
def test_every_value_is_a_dot_inside_the_drawing(values: list[tuple[str, float]]) -> None:
    """Whatever the names and values, the drawing is valid and nothing lies outside it."""
    svg = ElementTree.fromstring(
        draw([Whisker(name, value, value - 1, value + 1) for name, value in values], "t")
    )
    dots = svg.findall(f"{SPACE}circle")
    assert len(dots) == len(values)
    assert all(0 <= float(dot.attrib["cx"]) <= float(svg.attrib["width"]) for dot in dots)


def test_what_does_not_exist_is_not_drawn() -> None:
    """A method without a score has its name and no dot; with no score at all there is no drawing."""
    assert draw([Whisker("a", 1.0), Whisker("b", None)], "t").count("<circle") == 1
    assert draw([Whisker("a", None)], "t") == ""
