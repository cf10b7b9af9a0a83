"""What a heading, a label or a key says that the numbers under it are."""

from __future__ import annotations

import re
from functools import lru_cache

from lmmscore.parsing.verdict import Kind

LONGEST_CAPTION = 160
_OTHER_JUDGE = (
    r"(?:annotators?|raters?|reviewers?|assessors?|evaluators?|jurors?|critics?|colleagues?"
    r"|experts?"
    r"|participants?|observers?|graders?|crowd(?:workers?)?|humans?|another[ ]\w+|other[ ]models?"
    r"|judges?|people|users?[’']?s?|gpt[-\w.]*|claude|gemini|chatgpt|qwen)"
)
_KINDS: tuple[tuple[Kind, str], ...] = (
    (
        Kind.OTHERS,
        rf"""
        ^(?:the[ ]|an?[ ]|my[ ]|our[ ]|a[ ]second[ ])?(?:(?:first|second|third|other|another|human
          |previous
          |earlier|expert)[ ])*{_OTHER_JUDGE}(?:[ ]?(?:\#|no\.?[ ])?(?:[0-9]{{1,2}}
          |[A-Z]))?(?:[’']s?)?
          (?:[ ](?:scores?|ratings?|verdict|opinion|gave|rated|scored|says?|said|would|assessment
            |view
          |were|are|was|these|the|as|follows|following|them|it))*$
      | \b(?:scores?|ratings?)[ ](?:from|by)[ ](?:the[ ]|an?[ ]|another[ ]|some[ ])?
          (?:papers?|articles?|authors?|raters?|annotators?|humans?|others?|users?|publication
            |literature
          |reviewers?|experts?|people)\b
      | \b(?:another|a[ ]second|some[ ]other|a[ ]different|a[ ]human|the[ ]human|the[ ]other
      |an[ ]earlier
          |a[ ]previous|one|other|most|human|the)[ ]
          (?:annotators?|raters?|reviewers?|assessors?|evaluators?|experts?|judges?|models?
            |colleagues?
          |critics?|graders?|people)[ ]
          (?:has[ ]|have[ ]|had[ ]|might[ ]|may[ ]|would[ ]|could[ ])?
          (?:gave|given|give|rated?|scored?|assigned?|said|put|awarded?|judged?)
      | ^(?:published|reported|official|baseline|reference|ground[- ]truth|gold|paper[’']?s?)[ ]
          (?:\w+[ ])?(?:scores?|ratings?|values|numbers)
        """,
    ),
    (
        Kind.HYPOTHESIS,
        r"""
        \b(?:hypothetical\w*|imagin\w+|suppos\w+|placeholders?|made[- ]up|fictional|fictitious
          |invented
          |dummy|pretend|simulated|fabricated|speculative|guess(?:es|work)|arbitrary|mock|fake
          |random[ ](?:scores?|numbers?|values?))\b
      | \b(?:an?|the)[ ](?:ideal|perfect|flawless|better|good|bad|poor|successful|typical|average
          |failed|best[ ]possible|worst[ ]possible)[ ]
          (?:\w+[ ]){0,2}(?:would|might|could|gets?|scores?|receives?|should|has|deserves?|looks)\b
      | ^(?:ideal|perfect|flawless|best[ ]possible|best[ -]case|worst[ -]case|target|desired
      |expected)
          (?:[ ](?:\w+[ ]?){0,2})?$
      | \b(?:it|this|they|image[ ]\w+|edit[ ]\w+)[ ](?:would|could|might)[ ](?:have|be|get|score
      |receive)
      | ^(?:if|when|unless|assuming|provided|were|had|suppose|in[ ]case)\b
      | \botherwise[ ,:]*$
      | \b(?:would|could|might|may)[ ](?:then[ ])?(?:look[ ]like|be[ ]as[ ]follows|read)\b
        """,
    ),
    (
        Kind.EXAMPLE,
        r"""
        ^(?:(?:here[ ]is|this[ ]is|see)[ ])?(?:(?:the|an?|my|your|expected|required|requested
          |output|answer
          |response|reply|json|sample|possible|for)[ ])*
          (?:format|template|example|sample|schema|instance|illustration|structure|skeleton)
          (?:[ ](?:of|for|is|would[ ]be|looks?[ ]like|this|output|answer|reply|response|format
            |follows|scores?
          |how|evaluation|here|below|as)\b.*)?$
      | \b(?:for[ ]illustration|illustration[ ]only|for[ ]example|for[ ]instance|e\.g\.
      |zum[ ]Beispiel|z\.[ ]?B\.|por[ ]ejemplo|par[ ]exemple
          |sample[ ](?:output|answer|scores?|response|ratings?)|example[ ](?:output|answer|scores?
          |response)
          |as[ ]an[ ](?:example|illustration)|by[ ]way[ ]of[ ](?:example|illustration))[ ,:]*
        """,
    ),
    (
        Kind.DRAFT,
        r"""
        ^(?:(?:my|the|a|some|our)[ ])*(?:very[ ])?(?:draft|initial|preliminary|provisional
          |tentative(?:ly)?
          |rough|previous|earlier|old|prior|former|original[ ](?:scores?|ratings?|verdict)|unrevised
          |uncalibrated|first[ -](?:pass|impressions?|thoughts?|draft|guess|round|look|attempt)
          |thinking|reasoning|scratch\w*|thoughts?|before[ ](?:revision|calibration|review
          |adjust\w*)
          |working[ ]notes?|brainstorm\w*)\b
      | \b(?:tentatively|provisionally|for[ ]now|at[ ]first|initially|my[ ]first[ ](?:thought
      |impression))
          [ ,:]*$
      | (?:^|[ _])(?:draft|initial|preliminary|provisional|tentative|previous|prior|former
      |superseded)
          (?:[ _](?:scores?|ratings?|verdict|version|evaluation|results?|values?|pass|list
            |numbers?))?$
        """,
    ),
    (
        Kind.WEIGHTS,
        r"""
        \bweight(?:s|ing|ings|ed)?\b|\bcontributions?\b|\bimportance\b|\bmultiplied[ ]by\b
      | ^max(?:imum)?[ ](?:possible[ ])?(?:scores|points|marks)$
      | \bcoefficients?\b|\bGewicht\w*|\bpesos?\b|权重|重み
        """,
    ),
    (
        Kind.DIFFERENCE,
        r"""
        \b(?:differences?|deltas?|gaps?|margins?|points[ ]apart|improvements?|deductions?
          |penalt(?:y|ies)
          |deviations?|changes?[ ](?:from|in|to|since)|compared[ ](?:to|with)|relative[ ]to)\b|Δ
        """,
    ),
    (
        Kind.RANKS,
        r"\brank(?:s|ed|ing|ings)?\b|\bplacings?\b|\bstandings?\b|排名|\bPlatz\b|\bRang(?:liste|folge)?\b",
    ),
    (
        Kind.AVERAGE,
        r"""
        \b(?:averages?|averaged|mean|means|median|aggregate[ds]?|totals?|sums?|subtotals?|so[ ]far
          |Durchschnitt\w*|Mittelwert\w*|promedio|moyenne|standard[ ]deviation|std|variance)\b|平均
        """,
    ),
    (
        Kind.LEGEND,
        r"""
        ^(?:(?:the|my|our|rating|scoring|score|grading|a|each|per|possible|allowed|valid)[ ])*
          (?:scales?|legends?|rubrics?|criteria|definitions?|thresholds?|maxim(?:um|a)|max
            |minim(?:um|a)|min
          |ranges?|keys?|anchors?|meanings?|out[ ]of|cut-?offs?|limits?)\b
      | \bthresholds?\b|\bmaximum[ ](?:scores?|points|possible)|\bmax[ ](?:scores?|points)
      | \bmeans?[ ]that\b
        """,
    ),
    (
        Kind.SOURCE,
        r"""
        ^(?:the[ ])?(?:source|original|originals|reference|ground[ -]?truth|input|unedited|before
          |baseline
          |Originalbild|Ausgangsbild|Quellbild|imagen[ ]original|原图|原始图像|元画像|원본)
          (?:[ ](?:images?|img|pictures?|photos?|files?|scores?|이미지|itself|\(.*\)))*$
        """,
    ),
)
_COMPILED = tuple(
    (kind, re.compile(pattern, re.VERBOSE | re.IGNORECASE)) for kind, pattern in _KINDS
)
_OF_SCORES = re.compile(
    r"""
    \b(?:scores?|ratings?|evaluations?|assessments?|verdicts?|grades?|results?|breakdown|marks?
      |sub-?scores?|Bewertung\w*|Noten?|Punkte|puntuacion\w*|puntuaciones|notes?|judge?ments?)\b
    | 评分|得分|打分|分数|採点|評価|スコア|점수|평가
    """,
    re.VERBOSE | re.IGNORECASE,
)
_FINAL = re.compile(
    r"""
    \b(?:final(?:ly)?|revised|updated|corrected|actual|amended|adjusted|definitive|settled
      |reconsider\w*
      |on[ ](?:reflection|second[ ]thoughts?)|after[ ](?:review|reflection|reconsideration
      |revision|all)
      |official|corrections?|now|new)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_MIXED = re.compile(r"\b(?:and|with)\b|&|\+", re.IGNORECASE)
_STRIPPED = " #*_:>-•–—=|.,[]()\t"
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_INTRODUCED = re.compile(
    r"^(?:ok(?:ay)?|now|next|and|then|so|here|these|below|first|finally|note|sure)?[ ,]*"
    r"(?:(?:here|these|below|following|this|that)[ ])?(?:(?:are|is|come|follow|comes)[ ])?",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def kind_of(caption: str) -> Kind | None:
    """Return what a heading, a label, or the words that lead up to numbers say these are.

    None where they say nothing of it. "Ranking with scores" heads scores.
    """
    spaced = " ".join(caption[-LONGEST_CAPTION:].split())
    words = spaced.strip(_STRIPPED)
    if not words:
        return None

    bare = _INTRODUCED.sub("", _BRACKETS.sub("", spaced).strip(_STRIPPED)).strip(_STRIPPED) or words
    scores = _OF_SCORES.search(words) is not None
    final = _FINAL.search(words) is not None

    for kind, pattern in _COMPILED:
        named = pattern.search(words) or (bare != words and pattern.search(bare))
        if not named:
            continue

        mixed = scores and _MIXED.search(words) is not None
        if kind in {Kind.RANKS, Kind.WEIGHTS, Kind.AVERAGE} and mixed:
            continue

        if kind is Kind.DIFFERENCE and scores:
            continue

        if kind is Kind.DRAFT and final and re.search(r"\bfinal\b", words, re.IGNORECASE):
            continue

        return kind

    return Kind.VERDICT if scores or final else None


def is_no_verdict(label: str) -> bool:
    """Tell whether a row, a column or a JSON key of that name holds something else than scores."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]+", " ", label[:LONGEST_CAPTION])
    kind = kind_of(spaced)
    return kind is not None and kind is not Kind.VERDICT


def is_final(caption: str) -> bool:
    """Tell whether words announce what replaces an earlier verdict."""
    return _FINAL.search(caption) is not None


_NEUTRAL = re.compile(
    r"""
    (?:brief[ ]|short[ ]|my[ ]|the[ ]|overall[ ]|key[ ]|some[ ])*
    (?:analysis|descriptions?|observations?|summary|strengths?|weaknesses|comments?|justifications?
      |reasons?|reasoning|rationales?|notes?|remarks?|explanations?|details?|assessments?
      |evaluations?
      |pros|cons|issues|scores?|ratings?|sub-?scores?|breakdown|factors?|verdict|impressions?
      |overview
      |positives?|negatives?|feedback|why|overall|S_all|total|critique|discussion|thoughts|findings
      |Begründung|Bewertung\w*|Kommentar|评分|得分|理由|说明|分数|スコア|評価|점수|평가|puntuaciones|scoring)
    (?:[ ]*[(\[][^()\[\]\n]{0,60}[)\]])?[ ]*(?:[:–—-].*)?$
    """,
    re.VERBOSE | re.IGNORECASE,
)


def is_neutral(caption: str) -> bool:
    """Tell whether words head a part of what is said of an image, and nothing else: "Comments"."""
    return _NEUTRAL.match(caption.strip(" :*#")) is not None
