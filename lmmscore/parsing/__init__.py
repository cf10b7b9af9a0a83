"""Reply text → scores, or the reason why there are none."""

from lmmscore.parsing.decide import merged
from lmmscore.parsing.json_text import json_values
from lmmscore.parsing.overall import read_overall
from lmmscore.parsing.read import read_reply, read_text
from lmmscore.parsing.verdict import Fault, FaultKind, Reading

__all__ = [
    "Fault",
    "FaultKind",
    "Reading",
    "json_values",
    "merged",
    "read_overall",
    "read_reply",
    "read_text",
]
