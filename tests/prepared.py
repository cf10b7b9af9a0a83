"""What a forked command finds done: the imports, of the package and of what it needs when it runs."""

from __future__ import annotations

import gc
import importlib
import tempfile
from pathlib import Path

import lmmscore
from lmmscore.judges import pixels
from lmmscore.resources import bundled
from tests.measured import share_facts

PACKAGE = Path(lmmscore.__file__).parent

for path in sorted(PACKAGE.rglob("*.py")):
    if path.stem != "__main__":
        importlib.import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))

share_facts()
pixels._tools()
with tempfile.TemporaryDirectory() as folder:
    lmmscore.run(bundled("media") / "demo", out=Path(folder) / "run", items=["boat"])

# Garbage is not looked for among all this in every command again.
gc.collect()
gc.freeze()
