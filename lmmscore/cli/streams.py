"""Standard output and error that take every character, on any console."""

from __future__ import annotations

import os
from typing import TextIO


def never_fail_to_print(*streams: TextIO) -> None:
    """Make the streams UTF-8, or where someone asked for another encoding, replace what that cannot
    show.

    Python writes to a Windows console in UTF-8 already, but into a file or a pipe in the code page
    of the country, which lacks the lines of our tables; one such character would end the program.
    """
    asked = os.environ.get("PYTHONIOENCODING", "").partition(":")

    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        encoding = (getattr(stream, "encoding", "") or "").lower().replace("-", "")
        if reconfigure is None or encoding == "utf8":
            continue

        if asked[0] or stream.isatty():
            reconfigure(errors=asked[2] or "replace")
        else:
            reconfigure(encoding="utf-8")
