"""Print the first YAML block of a page that names a dialog: `python extract.py PAGE NAME`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

if __name__ == "__main__":
    page, name = sys.argv[1:]
    blocks = re.findall(r"```yaml\n(.*?)```", Path(page).read_text(encoding="utf-8"), re.DOTALL)
    sys.stdout.write(next(block for block in blocks if f"dialog: {name}\n" in block))
