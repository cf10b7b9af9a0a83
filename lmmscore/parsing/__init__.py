"""Reply text → scores, or the reason why there are none."""

from lmmscore.parsing.decide import merged
from lmmscore.parsing.json import json_values
from lmmscore.parsing.read import read_overall, read_reply, read_text
from lmmscore.parsing.verdict import Cell, Fault, FaultKind, Reading

__all__ = [
    "Cell",
    "Fault",
    "FaultKind",
    "Reading",
    "json_values",
    "merged",
    "read_overall",
    "read_reply",
    "read_text",
]
