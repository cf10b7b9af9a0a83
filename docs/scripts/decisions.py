"""Add to docs/decisions/README.md the decisions it does not list yet: `python docs/scripts/decisions.py`."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

DECISIONS = Path(__file__).parents[1] / "decisions"
INDEX = DECISIONS / "README.md"
ROW = re.compile(r"^\| \[(\d{4})\]\((\S+\.md)\) \| (.+) \| (.+) \| (\d{4}-\d\d-\d\d) \|$")


def listed() -> dict[str, re.Match[str]]:
    """Return the rows of the index by the name of their file."""
    rows = map(ROW.match, INDEX.read_text(encoding="utf-8").splitlines())
    return {row[2]: row for row in rows if row}


def title(page: Path) -> str:
    """Return the heading of a page without its number."""
    heading = page.read_text(encoding="utf-8").splitlines()[0]
    return re.sub(r"^#\s*(\d{4}\s*[·:.–-]\s*)?", "", heading).strip()


def main() -> None:
    """Rewrite the index: the rows it has, and one for each page that has none."""
    known = listed()
    text = INDEX.read_text(encoding="utf-8")
    head = "\n".join(line for line in text.splitlines() if not ROW.match(line))
    today = datetime.now(UTC).date().isoformat()

    rows = []
    for page in sorted(DECISIONS.glob("[0-9]*.md")):
        if page.name in known:
            rows.append(known[page.name][0])
        else:
            rows.append(f"| [{page.name[:4]}]({page.name}) | {title(page)} | accepted | {today} |")

    INDEX.write_text("\n".join([head.rstrip(), *rows, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
