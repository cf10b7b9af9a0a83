"""Random replies with scores left out: what is read is always what was written, or it is not read."""

from __future__ import annotations

import pytest

from lmmscore.parsing import read_text
from tests.random_replies import FACTORS, RandomReply, wrong_cells


@pytest.mark.parametrize("block", range(4))
def test_no_cell_of_a_random_reply_is_read_wrong(block):
    """Whatever heads the images and joins names to numbers, a missing score is nobody else's."""
    read = 0
    for seed in range(block * 150, block * 150 + 150):
        reply = RandomReply(seed)
        wrong = wrong_cells(reply)
        assert not wrong, f"seed {seed}, {reply.n} images, {wrong}:\n{reply.text}"
        read += len(read_text(reply.text, FACTORS, reply.n).scores)
    assert read > 500
