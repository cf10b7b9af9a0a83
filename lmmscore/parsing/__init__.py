"""Reply text → scores, or the reason why there are none."""

from lmmscore.parsing.jsontext import json_values
from lmmscore.parsing.merging import merged
from lmmscore.parsing.overall import read_overall
from lmmscore.parsing.reading import Fault, Reading
from lmmscore.parsing.verdict import read_reply, read_text

__all__ = ["Fault", "Reading", "json_values", "merged", "read_overall", "read_reply", "read_text"]
