"""Whether a reply without scores declines to give any."""

from __future__ import annotations

import re

_CANNOT = r"(?:can(?:['’]?t|not|\s+not)|won['’]?t|will\s+not|(?:(?:am|['’]m)\s+)?(?:unable|not\s+able)\s+to)"
_TASK = (
    r"(?:assist|help|provide|evaluat|scor|rat(?:e|ing)|judg|assess|comply|do\s+(?:that|this)|fulfil|analy[sz]|continue"
    r"|compar|complete|engage|participate|(?:view|see|access|process|open)\s+(?:the\s+|any\s+|these\s+|your\s+)?(?:image|picture|photo|attach|file))"
)
_REFUSAL = re.compile(
    rf"""
      \b(?:i\s*(?:am|['’]m)\s+(?:(?:very|really|so)\s+)?(?:sorry|afraid)|i\s+apologi[sz]e|sorry\b)[^.!\n]{{0,80}}\b{_CANNOT}
    | \bi\s*{_CANNOT}\b[^.!\n]{{0,60}}\b{_TASK}
    | \bi\s+(?:must|have\s+to)?\s*(?:decline|refuse)\b
    | \bi['’]d\s+(?:rather|prefer)\s+not\b
    | \bas\s+an\s+ai\b[^.!\n]{{0,80}}\b{_CANNOT}
    | \b(?:against|violates?)\s+(?:my|our|the)\s+(?:\w+\s+)?(?:polic|guideline)
    | \bi\s+(?:do\s+not|don['’]t)\s+feel\s+comfortable\b
    """,
    re.VERBOSE | re.IGNORECASE,
)


def refuses(text: str) -> bool:
    """Tell whether a text declines; "I cannot see any seams" does not."""
    return _REFUSAL.search(text) is not None
