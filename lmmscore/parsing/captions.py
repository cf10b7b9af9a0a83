"""Labels and captions under which numbers stand that are no verdict on the edit: weights, maxima, the source, ranks."""

from __future__ import annotations

import re

from lmmscore.parsing.labels import normal

_LONGEST_CAPTION = 100
_LABEL = re.compile(
    r"""
    (?:the|factor|image|scores?|per|of)*
    (?:weight(?:s|ing|ings|ed)?|contributions?|importance|max(?:imum)?|min(?:imum)?|outof|scale|range
      |source|originals?|reference|groundtruth|input|before|baseline|unedited|rank(?:s|ing|ings)?|mean|average
      |examples?|template|format)
    (?:images?|img|picture|photo|scores?|rating|points?|values?|possible|factors?|each|per|for|of|the)*
    """,
    re.VERBOSE,
)
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_CAPTION = re.compile(
    r"""
    (?:(?:now|next|and|then)[ ,]+)?(?:(?:here|these|below)[ ](?:are|is)[ ])?(?:(?:the|per[- ]factor|factor)[ ])*
    (?:ranks?|rankings?|weights?|weighted|contributions?|max(?:imum)?)\b(?!.*(?:\b(?:and|with)\b|&))
    """,
    re.VERBOSE | re.IGNORECASE,
)
# At the beginning of a sentence: "the scores in the required format:" introduces a verdict.
_EXAMPLE = re.compile(
    r"""
    (?:^|[.!?;][ ]+)[ #*_>-]*
    (?: (?:(?:the|an?|my|expected|required|output|answer|response|reply|json)[ ])*
        (?:format|template|example)
        (?:[ ](?:is|would[ ]be|looks[ ]like|this|output|answer|reply|response|format))*[*_ ]*:
      | (?:for[ ]example|for[ ]instance|e\.g\.)[ ,:] )
    [^\n]*$
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?][ ]+(?=[A-Z])")
_FENCE = re.compile(r"(?:^|\n)[ ]*```[a-z0-9]{0,10}[ ]*$", re.IGNORECASE)


def is_no_verdict(label: str) -> bool:
    """Tell whether a row, a column or a JSON key of that name holds something else than scores of the edit."""
    return _LABEL.fullmatch(normal(_BRACKETS.sub("", label[:_LONGEST_CAPTION]))) is not None


def captioned_otherwise(text: str, place: int) -> bool:
    """Tell whether the words before a table or a JSON text announce an example, weights, ranks or the source."""
    before = text[max(0, place - 3 * _LONGEST_CAPTION) : place].rstrip()
    before = _FENCE.sub("", before).rstrip()
    line = before[before.rfind("\n") + 1 :]
    caption = line.strip(" #*_:>-•")
    if len(caption) > _LONGEST_CAPTION:
        return False
    return is_no_verdict(caption) or _CAPTION.match(caption) is not None or gives_an_example(line)


def gives_an_example(line: str) -> bool:
    """Tell whether the sentence in which a line ends is introduced as an example, or as the format of an answer."""
    ends = [0, *(match.end() for match in _SENTENCE_END.finditer(line))]
    return _EXAMPLE.match(line[ends[-1] :]) is not None
