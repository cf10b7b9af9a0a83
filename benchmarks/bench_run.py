"""What a whole run costs beside a plain client, and how many short sessions it plays a second.

The first line is `lmmscore.run` with everything it does, from the ledger to the tables, over a loop
around AsyncOpenAI that says the same words and shows the same pictures and keeps nothing: 64
sessions of 14 turns about one source and 8 edits of 260 to 410 KB, all at once. The second is the
same for sessions of one short turn. Ways take turns, each in a process of its own against a server
of its own, and the best of each counts.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

SESSIONS, ROUNDS, METHODS = 64, 3, 8
SHORT_SESSIONS, SHORT_AT_ONCE = 3000, 256
FOLDER = Path(tempfile.gettempdir()) / "lmmscore-bench-run"


def make_benchmark() -> None:
    """Write one item with pictures that are as long as photographs once they are encoded."""
    import numpy as np
    from PIL import Image

    FOLDER.mkdir(exist_ok=True)
    for number in range(METHODS + 1):
        grain = np.random.default_rng(number).integers(0, 14, (512, 512, 3), dtype=np.uint8)
        slope = np.linspace(0, 220, 512, dtype=np.uint8)[None, :, None]
        name = f"m{number}.png" if number else "source.png"
        Image.fromarray(grain + slope).save(FOLDER / name)
    methods = ", ".join(f"m{number}" for number in range(1, METHODS + 1))
    (FOLDER / "items.csv").write_text("id,task,instruction\nfox,background,Make it a beach\n")
    (FOLDER / "benchmark.yaml").write_text(
        f"name: bench\nitems: items.csv\nmethods: [{methods}]\n"
        'images: {source: "source.png", edit: "{method}.png"}\n'
    )
    (FOLDER / "short.yaml").write_text(SHORT_DIALOG)
