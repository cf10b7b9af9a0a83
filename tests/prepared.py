"""What a forked command finds done: the imports, and the demo's pictures measured."""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path

import lmmscore
from lmmscore.resources import bundled

PACKAGE = Path(lmmscore.__file__).parent

for path in sorted(PACKAGE.rglob("*.py")):
    if path.stem != "__main__":
        importlib.import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))

with tempfile.TemporaryDirectory() as folder:
    lmmscore.run(bundled("media") / "demo", out=Path(folder) / "run")
