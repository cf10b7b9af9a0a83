"""Random replies with scores left out: what is read is always what was written, or it is not read."""

from __future__ import annotations

import pytest

from tests.random_replies import RandomReply, scores_read, wrong_cells


@pytest.mark.parametrize("block", range(4))
def test_no_cell_of_a_random_reply_is_read_wrong(block):
    """Whatever heads the images and joins names to numbers, a missing score is nobody else's."""
    read = 0
    for seed in range(block * 150, block * 150 + 150):
        reply = RandomReply(seed)
        found = scores_read(reply)
        wrong = wrong_cells(reply, found)
        assert not wrong, f"seed {seed}, {reply.n} images, {wrong}:\n{reply.text}"
        read += len(found)
    assert read > 500
