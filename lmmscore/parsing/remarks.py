"""What captions and remarks say of numbers: what they are, and whether they count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from lmmscore.parsing.lexicon import COMMANDS, ENGLISH, NO_SCORE, any_of, row_of, rule
from lmmscore.parsing.verdict import QUANTITIES, Kind

# --------------------------------------------------------------------------------------------------
# What a heading, a label or a key says that the numbers under it are.
# --------------------------------------------------------------------------------------------------

LONGEST_CAPTION = 160
_OTHER_JUDGE = (
    r"(?:annotators?|raters?|reviewers?|assessors?|evaluators?|jurors?|critics?|colleagues?"
    r"|experts?"
    r"|participants?|observers?|graders?|crowd(?:workers?)?|humans?|another[ ]\w+|other[ ]models?"
    r"|judges?|people|users?[’']?s?|gpt[-\w.]*|claude|gemini|chatgpt|qwen)"
)
_KINDS: tuple[tuple[Kind, str], ...] = (
    (
        # "Remarks per factor (counts, not scores)"
        Kind.UNKNOWN,
        r"""
        \b(?:not|rather[ ]than|nicht|keine|pas[ ]des|no[ ]son|non)[ ]
          (?:the[ ]|my[ ]|yet[ ]|any[ ])?
          (?:scores|ratings|grades|Noten|Bewertungen|puntuaciones|punteggi)\b
      | (?:不是|并非|ではなく)[^。]{0,4}(?:分数|评分|得分|スコア|点数)
        """,
    ),
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
          |critics?|graders?|people)[ ](?:before[ ]me[ ])?
          (?:has[ ]|have[ ]|had[ ]|might[ ]|may[ ]|would[ ]|could[ ])?
          (?:gave|given|give|rated?|scored?|assigned?|said|put|awarded?|judged?|returned|answered
            |wrote|reported|proposed|suggested|submitted|produced|chose|listed|came[ ]up)
      | \b(?:gpt[-\w.]*|claude|gemini|chatgpt|qwen|llava)[ ](?:[0-9.]+[ ])?
          (?:gave|returned|answered|wrote|said|scored|rated|assigned|put)\b
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
          (?:\w+[ ]){0,2}(?:would|might|could|gets?|scores?|receives?|should|has|deserves?|looks
          |(?:one[ ])?expects?)\b
      | ^(?:ideal|perfect|flawless|best[ ]possible|best[ -]case|worst[ -]case|target|desired
      |expected)
          (?:[ ](?:\w+[ ]?){0,2})?$
      | \b(?:it|this|they|image[ ]\w+|edit[ ]\w+)[ ](?:would|could|might)[ ](?:have|be|get|score
      |receive)
      | (?<!\bI[ ])\b(?:would|could|might)[ ](?:have|be|get|score|receive|earn|deserve)$
      | \b(?:ought[ ]to|should)[ ](?:stand|land|end[ ]up|arrive|reach|get[ ]to)\b
      | \b(?:has|have|needs?|must)[ ](?:to[ ])?(?:reach|achieve|attain|exceed)\b
      | ^(?:if|when|unless|assuming|provided|were|had|suppose|in[ ]case)\b
      | ^for[ ]an?[ ](?:ideal|perfect|flawless|good|bad|poor|typical|average|failed)[ ]\w+$
      | \botherwise[ ,:]*$
      | \b(?:would|could|might|may|will|should|must)[ ](?:then[ ])?(?:look[ ]like|read)\b
      | \b(?:would|could|might|may)[ ](?:then[ ])?be[ ]as[ ]follows\b
      | \b(?:would|could|might)[ ](?:have|take|use|follow)[ ](?:this|that|the[ ]following)[ ]
          (?:form|format|shape|structure|layout)\b
        """,
    ),
    (
        Kind.EXAMPLE,
        r"""
        ^(?:(?:here[ ]is|this[ ]is|see)[ ])?(?:(?:the|an?|my|your|expected|required|requested
          |output|answer
          |response|reply|json|sample|possible|for)[ ])*
          (?:format|template|example|sample|schema|instance|illustration|structure|skeleton)
          (?:[ ](?:of|for|is|(?:would|will|shall|should|must)[ ]be|looks?[ ]like|this|output|answer
            |reply|response|format|follows|scores?
          |how|evaluation|here|below|as)\b.*)?$
      | \b(?:will|shall|would|should|must|please|going[ ]to)\b.*\b(?:format|structure|schema
          |template|form|layout|pattern|shape|style)$
      | \b(?:will|shall|going[ ]to|plan[ ]to|intend[ ]to)\b.*\blike[ ](?:this|so|that)$
      | ^(?:an?[ ]|the[ ])?(?:model|specimen|practice|training)[ ]
          (?:answers?|solutions?|evaluations?|repl(?:y|ies)|responses?|sheet|material)\b
      | \b(?:form|layout|pattern|shape|style)[ ](?:(?:that[ ])?I(?:['’]ll)?\b
          |of[ ](?:my|the)[ ](?:answers?|repl(?:y|ies)|scores?|output|responses?)\b).*$
      | ^(?:(?:the|my|your|expected|required|requested|answer|output|reply|blank|empty)[ ])*
          form(?:[ ]is)?$
      | ^(?:this|that)[ ]is[ ]how[ ].*\b(?:will|shall|going[ ]to|would)\b
      | \b(?:for[ ]illustration|illustration[ ]only|for[ ]example|for[ ]instance|e\.g\b\.?
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
      | \bcoefficients?\b|\bGewicht\w*|\bpes[oi]s?\b|\bpoids\b|\bwagi\b|\bвеса\b|权重|重み
      | ^products?[ ](?:of|for|per)\b|\bpond[eé]r\w*|\bgewogen\w*|\bważon\w*|\bвзвеш\w*
      | 加[权重]|가중
        """,
    ),
    (
        Kind.DIFFERENCE,
        r"""
        \b(?:differences?|deltas?|gaps?|margins?|improvements?|deductions?
          |points?[ ](?:apart|taken[ ]off|off|lost|deducted|docked|subtracted|removed)
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
        \b(?:averages?|averaged|mean|means|medians?|aggregate[ds]?|totals?
          |(?<!\bto[ ])sums?|subtotals?|so[ ]far|Durchschnitt\w*|Mittelwert\w*|promedio|moyenne
          |standard[ ]deviation|std|variance)\b|平均
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
    \b(?:scores?|ratings?|evaluations?|assessments?|verdicts?|decisions?|grades?|results?|marks?
      |breakdown
      |sub-?scores?|Bewertung\w*|Noten?|Punkte|oceny|voti|cijfers|puntuacion\w*|puntuaciones|notes?|judge?ments?)\b
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
    spaced = _COMPARED_FIRST.sub("", " ".join(caption[-LONGEST_CAPTION:].split()))
    words = spaced.strip(_STRIPPED)
    if not words:
        return None

    bare = _INTRODUCED.sub("", _BRACKETS.sub("", spaced).strip(_STRIPPED)).strip(_STRIPPED) or words
    scores = _OF_SCORES.search(words) is not None

    if is_of_the_source(words):
        return Kind.SOURCE

    for kind, pattern in _COMPILED:
        named = pattern.search(words) or (bare != words and pattern.search(bare))
        if named and not _heads_scores_all_the_same(kind, words, scores=scores):
            return kind

    return Kind.VERDICT if scores or is_final(words) else None


# "Compared to the source image, I rate the edit as follows": what is judged comes then.
_COMPARED_FIRST = re.compile(
    r"^\W*(?:when[ ])?(?:compared|relative)[ ](?:to|with)[ ]the[ ]"
    r"(?:source|original|input|unedited)(?:[ ](?:image|picture|photo))?,[ ](?=\w+[ ]\w+)",
    re.IGNORECASE,
)


def _heads_scores_all_the_same(kind: Kind, words: str, *, scores: bool) -> bool:
    """Tell whether a caption names something else and scores: "Ranks and ratings", "Score gaps";
    or, in one breath, the draft and what became of it: "Initial and final scores"."""
    if kind is Kind.DRAFT:
        return _CALLED_FINAL.search(words) is not None

    if kind is Kind.LEGEND:
        # "Scale 1–10:" says all there is to say of the scale; what follows is on it.
        return _names_a_scale(row_of(words))

    if not scores:
        return False

    if kind in {Kind.RANKS, Kind.WEIGHTS, Kind.AVERAGE}:
        return _MIXED.search(_PRODUCT.sub("", words)) is not None
    return kind is Kind.DIFFERENCE


def is_of_the_source(label: str) -> bool:
    """Tell whether a label names the source image and nothing else: "The original, for comparison",
    but neither "Compared to the original" nor "Original and edit"."""
    row = row_of(_BEFORE_EDITING.sub("source", label))
    if _WITH_THE_SOURCE.search(row):
        return False
    return _SOURCE_LABEL.fullmatch(row) is not None


_BEFORE_EDITING = re.compile(
    r"\b(?:the[ ])?(?:(?:image|picture|photo|state|version|look)[ ])?before[ ](?:the[ ]|any[ ])?"
    r"(?:edit(?:s|ing)?|change|retouching)\b|\bground[ -]?truth\b"
    r"|\b(?:input|starting|unretouched|unaltered|unmodified|initial)[ ]"
    r"(?:image|picture|photo(?:graph)?)\b|\bquellbild\b|\boryginał\w*|\bисходн\w+|\bоригинал\w*"
    r"|\borigineel\b|\bl['’]origin(?:al|e)\b",
    re.IGNORECASE,
)
_SOURCE_LABEL = rule(
    "(LINK|COMMA|COLON|THE|ANNOUNCE|JUDGE|TOWARD|THIS|SCALE|LAYOUT|SCORE)*"
    " SOURCE (SOURCE|PICTURE|FILE|THING|COMMA|LINK|THE|JUDGE|WILL|BE|HAVE|ARRIVE|ANNOUNCE"
    "|TOWARD|SCALE|UNKNOWN)*"
)
# "Compared to the original", "vs. the source", "relative to the source"
_WITH_THE_SOURCE = rule(
    "(JUDGE|GRADE|COMMON|UNKNOWN|CONTENT) (TOWARD|LINK) THE* SOURCE",
    # "Evaluation against the original"
    "SCORE TOWARD THE* SOURCE",
    "(TOWARD|LINK) THE* SOURCE COMMA? (THE|SELF)* (SCORE|THING|FACTOR)",
    "THING",
)
_CALLED_FINAL = re.compile(r"\bfinal\b", re.IGNORECASE)
_MIXED = re.compile(r"\b(?:and|with|including|plus)\b|&|\+", re.IGNORECASE)
_PRODUCT = re.compile(r"\bproducts?[ ]of[ ](?:\w+[ ]){1,2}and\b", re.IGNORECASE)


def kind_ahead(lead: str) -> Kind | None:
    """Return what the words that lead up to an image's name say that its numbers are, where these
    are no scores: "Ranks of", "Points lost by". None where it is named beside: "Rank 1:"."""
    kind = kind_of(lead)
    if kind is Kind.WEIGHTS:
        return kind
    return kind if kind in QUANTITIES and _ENDS_OPEN.search(row_of(lead)) else None


_ENDS_OPEN = rule("(LINK|TOWARD|SCALE) THE* $")


def is_no_verdict(label: str) -> bool:
    """Tell whether a row, a column or a JSON key of that name holds something else than scores."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]+", " ", label[:LONGEST_CAPTION])
    if _OWN_SCALE.search(_BRACKETS.sub("", spaced)) and not _MIXED.search(spaced):
        return True

    kind = kind_of(spaced)
    return kind is not None and kind is not Kind.VERDICT


# Quantities that every score may have beside it: how sure the judge is, how bad a fault.
_OWN_SCALE = re.compile(
    r"\b(?:confiden(?:ce|t)|(?:un)?certainty|severity|priority|difficulty)\b", re.IGNORECASE
)


def is_final(caption: str) -> bool:
    """Tell whether words announce what replaces an earlier verdict."""
    return _FINAL.search(caption) is not None


_NEUTRAL = re.compile(
    r"""
    (?:brief[ ]|short[ ]|my[ ]|the[ ]|overall[ ]|key[ ]|some[ ])*
    (?:analysis|descriptions?|observations?|summary|strengths?|weaknesses|comments?|justifications?
      |reasons?|reasoning|rationales?|notes?|remarks?|explanations?|details?|assessments?
      |evaluations?|recap
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


# --------------------------------------------------------------------------------------------------
# What a judge says of its own scores: that it saw nothing, made them up, or takes them back.
#
# A sentence is read as the row of the classes of its words (lexicon.py). Rules that void scores
# are looked for everywhere. No list of them ends, so what stands apart from entries must also be
# known to be harmless: it announces scores, says how they were given, thanks, or tells what can
# be seen.
# --------------------------------------------------------------------------------------------------

_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+")
_UNSEEN = rule(
    # "did not see any of the images", "could not open the attached files"
    "(NOT|FAIL) (HAVE|HAD|BE|REAL|TOWARD|SELF|LIMIT|WILL|NOT|THE)* (SEE|ARRIVE|JUDGE)"
    " (TOWARD|THE|THIS|YOU|NUMBER|REAL|SOURCE|THING|ARRIVE|OTHER)* (PICTURE|FILE)"
    " (?!LINK (THE|SOURCE)* (CONTENT|UNKNOWN))",
    # "no pictures were attached", "without images", "in the absence of the pictures"
    "NOT (LINK|THE|THIS|YOU|REAL|NUMBER|SOURCE|THING|ARRIVE|SEE|TOWARD)* (PICTURE|FILE)"
    " ((BE|HAVE|HAD|MIGHT|WILL)* (ARRIVE|SEE) (?!THE|GRADE|GOOD|NUMBER)"
    "|TOWARD (SEE|JUDGE)|LINK (THIS|YOU|THE|SELF)+ (TIME|FILE)|COMMA|COLON|$)",
    # "the images did not load", "Image 2 was never shown to me"
    "(PICTURE|FILE|THING) (THIS|NUMBER)* (BE|HAVE|WILL|MIGHT|TOWARD)* (NOT|FAIL)"
    " (BE|HAVE|REAL|TOWARD|LIMIT)* (ARRIVE|SEE) (?!THE|CONTENT|NUMBER|QUANTITY)",
    # "the pictures are missing", "a corrupt file"
    "(?<!CONTENT LINK) (PICTURE|FILE) (NUMBER|LINK|ANNOUNCE)* (BE|HAVE|SEE|TOWARD)* BROKEN",
    "BROKEN (FILE|PICTURE ARRIVE)",
    # "since it did not load", "did not load", "nothing was attached"
    "^ (HAVE|BE|MIGHT)* NOT (BE|HAVE)* (ARRIVE|SEE) (COMMA|$)",
    "IT HAVE NOT (ARRIVE|SEE) (LINK|COMMA|$)",
    "NOTHING (BE|HAVE|HAD|TOWARD)+ (ARRIVE|SEE) [^CONTENT]* $",
)
_SEEING = any_of("SEE", "ARRIVE")
_PICTURES = any_of("PICTURE", "FILE")
_NEGATION = any_of("NOT", "NOTHING", "FAIL", "BROKEN")
# One of these is in whatever `_UNSEEN` finds. Most sentences hold none, and need no closer look.
_CUES = (
    *("not", "n't", "n’t", "no ", "never", "without", "lack", "fail", "unable", " un", "miss"),
    *("blank", "corrupt", "broke", "empty", "damag", "inac", "incompl", "expir", "strip"),
    *("offline", "disab", "switched", "absence", "none", "neither", "hardly"),
    *(" alone", " by the file", "inferred", "deduced", "wording"),
    *("nie", "nicht", "kein", "ohne", " pas", "geen", "inte ", "ikke", " sin ", " sem ", "sans "),
)


def _sentences(text: str) -> list[str]:
    return _SENTENCE.split(text)


def sees_nothing(text: str) -> bool:
    """Tell whether a text says that the judge has no image before it."""
    return may_be_unseen(text) and any(map(_is_unseen, _sentences(text)))


def may_be_unseen(text: str) -> bool:
    """Tell whether a text is worth a closer look: it has a word without which nothing is unseen."""
    return not text.isascii() or any(map(text.lower().__contains__, _CUES))


def _is_unseen(sentence: str) -> bool:
    row = row_of(sentence)
    if _UNSEEN.search(row) or _is_from_words(sentence):
        return not _comes_after_all(sentence)

    # In other languages words stand in any order: pictures, a verb of seeing, and a "not".
    told = all(held.intersection(row) for held in (_PICTURES, _SEEING, _NEGATION))
    return told and is_foreign(sentence)


def _is_from_words(sentence: str) -> bool:
    hinted = not sentence.isascii() or any(map(sentence.lower().__contains__, _HINTS))
    return hinted and _FROM_WORDS.search(sentence) is not None


_HINTS = (" alone", " by the file", "inferred", "deduced", "wording", "empty", "blank", "without e")
# "I work from text alone", "the image box stayed empty": whatever was described was not seen.
_FROM_WORDS = re.compile(
    r"""
    \b(?:from|on|by)[ ](?:the[ ])?(?:text|words|wording|prompt|instructions?)[ ]alone\b
    | \b(?:going|went|go)[ ]by[ ](?:the[ ])?(?:file[ ]?names?|descriptions?|captions?|wording)\b
    | \b(?:inferred|deduced|derived|guessed)[ ]from[ ](?:the[ ])?
      (?:wording|text|prompt|instructions?|file[ ]?names?|task)\b
    | \bimage[ ](?:box|slot|area|frame|field|preview|pane|window)(?:es|s)?[ ]
      (?:stayed|remained|was|were|is|are)[ ](?:empty|blank)\b
    | \b(?:language[ ]model|I|me)\b[^.]{0,20}\bwithout[ ]eyes\b
    | 图[片像]?(?:并|都|根本)?没有?(?:显示|出现|加载|载入)
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _comes_after_all(sentence: str) -> bool:
    """Tell whether what was not seen at first was seen then: "… failed to load at first, but it
    opened when I tried again"."""
    return _AT_LAST.search(sentence) is not None


_AT_LAST = re.compile(
    r"\b(?:at[ ]first|initially|(?:on|at)[ ](?:my|the)[ ]first[ ](?:try|attempt)"
    r"|the[ ]first[ ]time)"
    r",?[ ](?:but|until)[ ](?:it|they|both|all|the[ ]\w+)[ ](?:(?:then|finally|have|has)[ ])?"
    r"(?:opened|loaded|worked|displayed|rendered|arrived|came[ ]through|appeared)"
    r"(?:[ ](?:fine|correctly|properly|later|eventually|in[ ]the[ ]end))?"
    r"(?:[ ](?:when|after|on|at)[ ][^.;,]{0,40})?[.!]*\s*$",
    re.IGNORECASE,
)


def asks_for_pictures(sentence: str) -> bool:
    """Tell whether a sentence asks for the pictures to be judged, which have not come, then."""
    asked = _ASKED_FOR.search(sentence)
    return asked is not None and not _FURTHER.search(sentence)


_ASKED_FOR = re.compile(
    r"""
    (?:^\W*(?:(?:now|so|then|first)[ ,]+)?
      |\b(?:please|kindly|(?:could|can|would|will)[ ]you|go[ ]ahead[ ]and|feel[ ]free[ ]to|just
        |(?:once|when|after|until|as[ ]soon[ ]as)[ ]you(?:[ ]have|['’]ve)?)[ ]
        (?:(?:please|now|first|kindly)[ ])?)
    (?:(?:send|sent|share|provide|show|give|supply|submit|post|paste)[de]?|(?:re-?)?upload(?:ed)?
      |attach(?:ed)?)[ ](?:me[ ])?(?:(?:the|your|all|both|any|of|two|three|four|first|edited|source
      |original|actual|generated|result(?:ing)?|input)[ ]){0,4}(?:images?|pictures?|photos?|edits?
      |files?|attachments?)\b
    | \b(?:(?:waiting|ready)[ ](?:for|to[ ](?:see|receive|get))|await\w*)[ ](?:(?:the|your|first
      |edited)[ ]){0,3}
      (?:images?|pictures?|photos?|edits?)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_FURTHER = re.compile(
    r"\b(?:next|more|another|others?|further|additional|new|remaining|rest)\b", re.IGNORECASE
)


def sees_part(sentence: str) -> bool:
    """Tell whether a sentence says that only some images were seen: "Only one arrived." """
    return _says(_PARTLY, sentence)


_PARTLY = rule(
    # "There is only one edited image": so it is where one is asked for, which is looked at first.
    "IT BE LIMIT (THE|NUMBER|THING|ANNOUNCE)+ PICTURE",
    "LIMIT (THE|NUMBER|SOURCE|THIS|THING|PICTURE)+ (BE|HAVE|MIGHT)* (SEE|ARRIVE)",
    "SELF (HAVE|BE|MIGHT|TOWARD)* (LIMIT (SEE|ARRIVE)|(SEE|ARRIVE|HAVE) LIMIT)",
    "^ (SEE LIMIT|LIMIT SEE)",
    # "I scored only the first image", "solo hay una imagen"
    "SELF (HAVE|LINK)* (SCORE|JUDGE) LIMIT THE NUMBER PICTURE",
    "LIMIT IT (THE|NUMBER|THING|ANNOUNCE)+ PICTURE",
)


def cannot_tell(justification: str) -> bool:
    """Tell whether a justification says that there was nothing to judge: no image was seen."""
    return _NOT_TOLD.search(row_of(justification)) is not None and sees_nothing(justification)


_NOT_TOLD = rule("NOT", "UNREAL", "BROKEN")
_ANSWERED = rule("(?<!SELF) ANSWER")
_CONTENT = any_of("CONTENT", "STAND")
_UNREAL = any_of("UNREAL")
_MADE_UP = rule(
    # "dummy scores", "guesses for the values"
    "UNREAL (THE|LINK|THIS|REAL)* SCORE",
    # "these numbers are not real", "not based on the pictures"
    "NOT (THE|LINK|SELF)* REAL (THE|LINK)* (SCORE|$)",
    "(SCORE|THIS) (THIS|BE|HAVE|LINK|ARRIVE)* NOT (THE|BE)* (JUDGE|UNKNOWN) LINK"
    " (THE|REAL|THIS)* PICTURE",
)


# "what the others presumably look like", "This is what they would come to, were it cropped"
_SUPPOSES = re.compile(
    r"\b(?:presumably|probably|supposedly|might|may|would|must)[ ]look[ ]like\b(?=[^,]*$)"
    r"|\bwhat[ ](?:they|it|these|those|the[ ](?:scores|edits|images))[ ]would[ ]"
    r"(?:come[ ]to|be|get|amount[ ]to|earn|reach)\b",
    re.IGNORECASE,
)
# "I made these numbers up", "scores that I thought up"
_THOUGHT_UP = re.compile(
    r"\b(?:I|we)(?:['’]ve|[ ]have)?(?:[ ]just|[ ]simply)?[ ]"
    r"(?:ma[dk]e|think|thought|dream(?:ed|t)?|cook(?:ed)?|conjured?)[ ]"
    r"(?:(?:all|both|of|the|these|those|them|this|that|it|my|every|whole|thing|scores?|numbers?"
    r"|values?|ratings?|figures?|grades?|marks?)[ ]){0,5}up\b",
    re.IGNORECASE,
)


def makes_up(text: str) -> bool:
    """Tell whether a text says that scores are no judgement of these images."""
    return any(map(_is_made_up, _sentences(text)))


def _is_made_up(sentence: str) -> bool:
    if _SUPPOSES.search(sentence) or _THOUGHT_UP.search(sentence):
        return True

    row = row_of(sentence)
    if _ANSWERED.search(row):
        return False

    if _MADE_UP.search(row):
        return True

    return bool(_UNREAL.intersection(row) and _TOPIC.intersection(row)) and not shows(row)


_UNDONE = rule(
    # "ignore the above", "the scores are void", "I take that back"
    "WITHDRAW (UNKNOWN|LINK|THE|SELF|HAVE|TOWARD|IT|NUMBER|COMMA|FINAL)*"
    " (THIS|SCORE|LAYOUT|FACTOR|THE$)",
    "(THIS|SCORE|LAYOUT) .* WITHDRAW",
    "^ (COURTESY|LINK|COMMA)* WITHDRAW (COMMA|.? $)",
    "^ LINK WRONG $",
    "(THIS|IT|SELF|THE) (BE|HAVE|SEE|JUDGE)* THE? WRONG PICTURE",
    # "swap the rows", "the labels are mixed up", "subtract 1 from every score"
    "ALTER .* (SCORE|LAYOUT|THIS|IT$)",
    "(SCORE|LAYOUT|THIS) .* ALTER",
    "SELF (HAVE|MUST|MIGHT|BE)* ALTER",
    "MUST BE ALTER",
    # "the scores are wrong", "these numbers are weights", "I made a mistake"
    "(SCORE|LAYOUT|THIS) (THIS|LINK|IT|SELF)* (BE|HAVE|MIGHT|MUST)+ (THE|LINK|REAL|LIMIT)*"
    " (WRONG|QUANTITY|BOUND|NOT (FINAL|SELF|JUDGE|HEDGE|REAL))",
    "SELF (HAVE|JUDGE|MIGHT|THE|ARRIVE|LINK|SELF)* WRONG",
    "MIGHT? NOT (REAL|BE|TOWARD)* HEDGE",
    # "I did not look closely at the second one"
    "SELF (HAVE|BE|MIGHT)* NOT (HAVE|BE|REAL|TOWARD)* SEE [^CONTENT]* $",
    # "That was the first reviewer's opinion"
    "^ (THIS|IT) (BE|HAVE)* (THE|NUMBER|OTHER)* (RATER|MODEL|YOU)",
    "(SCORE|THIS) .* MUST BE",
    # "That number is the crowd's", "No, that is too generous"
    "^ (THIS|IT|THE)* SCORE BE (THE|LINK|OTHER)* RATER",
    "^ (NOT|COURTESY) COMMA (THIS|IT) BE? TOO",
)


def takes_back(text: str) -> bool:
    """Tell whether a text withdraws what was said before it, or gives it to other images."""
    return any(_says(_UNDONE, sentence) for sentence in _sentences(text))


def recants(sentence: str) -> bool:
    """Tell whether a sentence takes something back before it says why, whatever the reason speaks
    of: "I take back S_pre: the background is another one"."""
    told = _REASON.split(sentence, maxsplit=1)[0]
    own = _OWN.intersection(row_of(told))
    return bool(own) and takes_back(told) and not is_courteous(told)


_REASON = re.compile(
    r"[:;]\s|\s[–—-]\s|,?\s(?:because|since|as|for(?=[ ](?:the|it|there)\b)|given|so)\s"
    r"|,\s(?=(?:the|its?|there|their)\s)",
    re.IGNORECASE,
)
_OWN = any_of("SELF", "SCORE", "FACTOR")


def is_unsettling_note(note: str) -> bool:
    """Tell whether a footnote makes of the scores that it is of no verdict."""
    if any(map(unsettles, _CLAUSE.split(note))):
        return True
    doubtful = _DOUBT.intersection(_PART_MISSING.sub("", row_of(note)))
    return bool(doubtful) and not is_harmless(note)


_CLAUSE = re.compile(r"[:;,.]\s")


def _says(form: re.Pattern[str], sentence: str) -> bool:
    """Tell whether a sentence has a form, and is not about what can be seen in a picture."""
    row = row_of(sentence)
    return form.search(row) is not None and not shows(row)


def shows(row: str) -> bool:
    """Tell whether a row has a word for what can be seen in a picture: "halo", "sky"."""
    return bool(_CONTENT.intersection(row)) or _ANSWERED.search(row) is not None


# --- What is known to be harmless ---

_PLAIN = any_of(
    *("SELF", "YOU", "THE", "BE", "HAVE", "HAD", "WILL", "LINK", "TOWARD", "FROM", "IT", "THIS"),
    *("PICTURE", "THING", "SEE", "ARRIVE", "SCORE", "LAYOUT", "JUDGE", "FACTOR", "INSTRUCTION"),
    *("ANSWER", "SOURCE", "GRADE", "LOW", "GOOD", "NUMBER", "SCALE", "FINAL", "ANNOUNCE"),
    *("REASON", "NEXT", "CONTENT", "STAND", "MEANS", "WISH", "COMMA", "COLON", "ASKED"),
)
# What sentences and captions may hold besides; names of columns and keys may not.
_SAID = _PLAIN | any_of("COMMON", "SOON", "COURTESY")
_ALARM = any_of(
    *("UNREAL", "WITHDRAW", "ALTER", "QUANTITY", "RATER", "MODEL", "FILE", "BROKEN", "TIME"),
    *("DRAFT", "OTHER", "WRONG", "BOUND", "TAKEN", "USUAL"),
)
_DOUBT = _ALARM | any_of("NOT", "NOTHING", "TOTAL", "MIGHT", "IF", "HEDGE", "LIMIT", "TOO")
_UNSETTLED = any_of("NOT", "NOTHING", "TIME", "LIMIT", "MUST", "IF", "HEDGE")
_WRONG = any_of("WRONG")
_UNFIXED = any_of("NOT", "NOTHING", "TIME", "MUST", "HEDGE")
_LEADING = rule("^ (COURTESY|COMMA|COLON|HEDGE (?=COMMA|COLON|$)|OFFER (?=COMMA))+")
# "Thank you", "let me know", "please upload the next images"
_OFFER = rule("^ (LINK|ANNOUNCE|NEXT|COMMA|COURTESY|SELF|BE|WILL|HAVE|FACTOR|ARRIVE)* OFFER")
_ASKING = rule("^ (LINK|COMMA|SELF|BE)* COURTESY .* NEXT")
# Plain words, but somebody else's scores, or none: "the scores you sent", "were I able to see".
_NOT_OWN = rule(
    "YOU (THE|FINAL|REAL|SELF|ANNOUNCE)* SCORE",
    "SCORE (THIS|IT)* YOU",
    "YOU (HAVE|HAD)* (JUDGE|ARRIVE) (SELF|THE|THIS|LINK)* SCORE",
    "SCORE IT* SELF (HAVE|HAD|BE)* (ARRIVE|SEE)",
    "(SCORE|THIS|IT) (BE|HAVE)* (ARRIVE|JUDGE) (LINK|COMMON)* FROM",
    # "That is what a lenient judge would give"
    "^ (THIS|IT) BE? LINK (THE|GRADE|GOOD|LOW|OTHER)+ (JUDGE|UNKNOWN|RATER) (WILL|MIGHT)",
    # "I have yet to see them", "still to be received"
    "SELF (HAVE|WILL) LINK* TOWARD (SEE|ARRIVE)",
    "TOWARD BE (SEE|ARRIVE|JUDGE|SCORE)",
    "^PICTURE (THE|THIS) (?!CONTENT)",
    # "原图的评分", "the scores for the source", "those of the unedited one", "I judged the source"
    "^ (THE|LINK)* SOURCE PICTURE? LINK? SCORE",
    "(SCORE|THIS) (BE|THIS)* LINK THE* SOURCE",
    "SELF HAVE* JUDGE THE* SOURCE PICTURE? $",
    # "the bold ones are yours"
    "(SCORE|THIS|IT) BE YOU (LINK|COMMA|$)",
    # "handed to me", "took the numbers from the corner", "those of the first set"
    "(SCORE|THIS|IT) (IT|BE|HAVE|THIS){0,4} [^PICTURE SELF COMMA] LINK? TOWARD SELF",
    "(SCORE|THIS|IT) FROM (?!NUMBER)",
    "(THIS|BE IT) LINK (THE|NUMBER)+ THING",
    "SCORE STAND LINK (THE|NUMBER)* (THING|PICTURE|UNKNOWN)",
    # "high is bad", "large means poor"
    "^ (GRADE|LOW|COMMON) (MEANS|BE) THE* (GRADE|LOW|GOOD) (COMMA|$)",
    # "scores for two similar images", "the images I saw last"
    "SCORE LINK (THE|NUMBER)* (GRADE|GOOD) (PICTURE|THING)",
    "PICTURE SELF HAVE* (SEE|JUDGE) NUMBER",
    # "scores that I will change", "for the images you will send next", "from the next step"
    "SCORE COMMA? (IT|THIS)* SELF WILL (?!BE? (JUDGE|ARRIVE|HAVE))",
    "PICTURE IT? YOU (WILL|REASON)",
    # "I tried to open the images"
    "CARE TOWARD? SEE (?!GRADE|COMMON|CONTENT) LINK? THE* (PICTURE|FILE) $",
    "PICTURE (FROM|LINK) THE NEXT",
    "(WILL|TOWARD) BE (JUDGE|COMMON|SEE|ARRIVE|REASON) (LINK ANNOUNCE|COMMA|$)",
    # "scores to please you"
    "TOWARD COURTESY",
    # "my assistant gave these", "the first is the second", "I had to give something"
    "SELF ANSWER HAVE* (JUDGE|SCORE|ARRIVE)",
    "THE NUMBER (LAYOUT|PICTURE)? BE THE NUMBER (LINK|COMMA|LAYOUT|PICTURE|$)",
    "SELF HAD TOWARD (JUDGE|ARRIVE)",
    "^ THE SELF HAVE* (ARRIVE|SEE)",
    "BE SELF (HAVE|TOWARD)",
)
# "No further remarks", "nothing else to add"
_NO_MORE = rule("^ (NOT|NOTHING) (NEXT|OTHER|ANNOUNCE|TOWARD)* $", "^ NOTHING (BE|HAVE)* BROKEN $")
# "None of the edits is perfect", "no image got a 10"
_NONE_OF = rule(
    "^ NOT (LINK|THE|THIS|NUMBER)* PICTURE?"
    " (BE|HAVE|ARRIVE|JUDGE|UNKNOWN) .* (GRADE|LOW|GOOD|NUMBER|SCORE|FACTOR)"
)
# "Some factors could not be judged and are left out"
_LEFT_OUT = rule(
    "^ (THE|NUMBER|OTHER)* FACTOR (HAVE|MIGHT|BE)* NOT BE* JUDGE"
    " (LINK|BE|UNKNOWN|COMMA|TOWARD|THE|THIS|PICTURE)* $",
    # "Cells I could not judge are left blank"
    "^ (THE|LINK|IT|FACTOR|SCORE|LAYOUT|THING|UNKNOWN)+ SELF MIGHT? NOT (JUDGE|SCORE) BE"
    " (UNKNOWN|JUDGE|ARRIVE) (SEE|BROKEN|LINK|UNKNOWN)* $",
    # "S_qua was left empty because …"
    "^ THE? FACTOR (BE|HAVE)+ UNKNOWN? BROKEN (LINK|COMMA) [^SCORE LAYOUT THIS UNREAL WITHDRAW]* $",
)
# "The prompt asks to …", "the user drew …": what was to be done to the picture.
_OF_THE_TASK = rule(
    "^ (LINK|ANNOUNCE|COMMA|COLON)* THE (FILE|RATER) (HAVE|BE|LINK)* WISH (?!.* (SELF|YOU|SCORE"
    "|LAYOUT|SCALE|THIS|UNREAL|WITHDRAW|DRAFT|HEDGE|MIGHT|IF|MODEL|RATER|FILE|JUDGE|FACTOR))"
    " ([^NUMBER PICTURE]* $|[^PICTURE]* CONTENT [^PICTURE]* $)",
    # "Differences: The bench was moved; …"
    "^ (THE|GRADE|SEE|ANNOUNCE)* QUANTITY COLON (THE|NUMBER|LINK)* CONTENT"
    " [^SCORE LAYOUT SELF YOU ALTER QUANTITY]* $",
)
# "Such scores are subjective, and other evaluators may come to different conclusions."
_SUBJECTIVE = rule(
    "^ (COURTESY|ANNOUNCE|COMMON|IT|LINK|COMMA|COLON)*"
    " ((THE|THIS|SELF|LINK)+ SCORE? (BE|JUDGE) (THE|GRADE|LINK|JUDGE|SELF|SEE|ANNOUNCE|PICTURE)*"
    " (COMMA|LINK)+)?"
    " THE? (OTHER|OTHER? (RATER|CONTENT|ANNOUNCE|JUDGE|COMMON)+) (MIGHT|WILL|TOWARD)+"
    " [^OTHER UNREAL WITHDRAW ALTER SELF YOU]*"
    " (DIFFER|OTHER) (THE|LINK|FINAL|SCORE|NUMBER|SCALE|ANNOUNCE|THIS|IT)* $"
)
_OF_THE_SCORES = rule(
    "^ (LINK|COURTESY|ANNOUNCE|COMMA|COLON)* (THE|SELF|THIS|LINK|FINAL)* (SCORE|LAYOUT|THIS)"
)
_ASSIGNED = rule(
    "^ (LINK|ANNOUNCE|COMMA|COLON)* (THE|SELF|THIS|FINAL)* SCORE THIS? (BE|HAVE|WILL)* GRADE* JUDGE"
    " .* (PICTURE|CONTENT|FACTOR|INSTRUCTION)"
)
_EXPLAINS = rule("^ (LINK|GRADE|ANNOUNCE)* REASON COLON")
# "The sum is 15", "weighted sums follow in the next step"
_TOTALS = rule(
    "^ (LINK|THE|JUDGE|GRADE)* TOTAL (SCORE|BE)* (NUMBER|ANNOUNCE)",
    # "The result earns a mean of 5.0 out of 7"
    "^ (THE|SCORE|PICTURE|NUMBER|IT)+ JUDGE THE TOTAL LINK NUMBER (SCALE NUMBER)? $",
    # "With weights of 0.4, 0.3, 0.2 and 0.1 the totals are 6.5 and 5.5"
    "^ (LINK|THE|JUDGE|NUMBER|COMMA|QUANTITY)+ THE TOTAL (SCORE|BE)* NUMBER",
)
# "It does not say anything about the year on the banner", of an answer.
_LEFT_UNSAID = rule("^ (LINK|COMMA)* (IT|THE ANSWER) HAVE NOT RATER [^SCORE LAYOUT SELF YOU]* $")
# "Confidence: high", "A difference of 1 point is barely visible"
_BESIDES = rule(
    "^ (SELF|THE|GRADE)* QUANTITY (LINK (THE|THIS|SELF|SCORE)+)?"
    " (BE GRADE|COLON (GRADE|NUMBER NUMBER?)) $",
    "^ (ANNOUNCE|IT|COLON)* THE (GRADE|LOW)? QUANTITY LINK LIMIT? (THE|NUMBER)+ SCALE"
    " (BE|MEANS|WILL)+ (NOT|LINK|COMMON)* (ARRIVE|COMMON|GRADE|LOW|CONTENT) $",
)
_STANDS = rule(
    # "The other scores stay as they are", "the rest holds"
    "^ (THE|LINK|SELF)* (OTHER|THIS) (LINK|THE|SELF|ANNOUNCE|SCORE|FACTOR|PICTURE)*"
    " BE? STAND (THE|LINK|STAND|THIS|IT BE|BE|ARRIVE|TIME)* $",
    # "It was there before, so all of the above stands"; "if you weigh …, but the scores stand"
    "^ ([^UNREAL WITHDRAW ALTER QUANTITY RATER MODEL FILE BROKEN DRAFT OTHER WRONG BOUND TAKEN"
    " USUAL]* COMMA LINK)? (THE|LINK|SELF)* (THIS|SCORE)+ LINK* STAND $",
    "^ OFFER .* COMMA LINK (THE|SELF|THIS|ANNOUNCE)* SCORE LINK* STAND $",
)
# What may be said of pictures, and of how they were looked at.
_MINDED = (
    "UNKNOWN COMMON TOWARD LINK THE IT BE HAVE GRADE LOW GOOD GAP CONTENT STAND PICTURE THING"
    " FACTOR INSTRUCTION SEE JUDGE LIMIT MIGHT ARRIVE NUMBER SOURCE ANNOUNCE SCALE"
)
# "Decimals are used only where two images are hard to tell apart"
_STRANGE = "".join(any_of("UNKNOWN"))
_FINE_STEPS = rule(
    f"^ (LINK|THE|COMMON)* DECIMAL SCORE? (BE|HAVE)* JUDGE ([{_MINDED} SCORE](?!{_STRANGE})"
    f"|(PICTURE|BE|THING|SCORE) {_STRANGE})+ $",
    # "These are minor differences."
    "^ (LINK|COMMA)* (THIS|IT) BE THE* (COMMON|LOW|GRADE) (COMMA|NOT|UNKNOWN|GRADE|LOW)* GAP $",
)
# "Higher is better"
_HIGH_IS_GOOD = rule("^ (THE|LINK)* GRADE (SCORE|NUMBER)* (BE|MEANS) THE* GOOD $")
_KNOWN_FORMS = (
    *(_EXPLAINS, _TOTALS, _NO_MORE, _LEFT_OUT, _OF_THE_TASK, _SUBJECTIVE, _LEFT_UNSAID, _BESIDES),
    *(_STANDS, _FINE_STEPS, _HIGH_IS_GOOD),
)
_SELF = any_of("SELF")
_QUANTITY = any_of("QUANTITY")
_BOUND = any_of("BOUND")
_NUMBER = any_of("NUMBER")
_HOW = any_of("JUDGE", "SEE")
_NAMED_SCORES = any_of("SCORE", "LAYOUT")
_TOPIC = _NAMED_SCORES | any_of("THIS")
_LIMITS = any_of("BOUND", "UNREAL", "CONTENT")


def is_doubtful(words: str) -> bool:
    """Tell whether words may make of numbers something else than this judge's own verdict."""
    return bool(_DOUBT.intersection(row_of(words)))


def is_a_quality(word: str) -> bool:
    """Tell whether a word says how something is, and nothing else: "sharp", "poor"."""
    return _QUALITY.issuperset(row_of(word))


_QUALITY = any_of("GRADE", "GOOD", "LOW", "CONTENT")


def is_courteous(sentence: str) -> bool:
    """Tell whether a sentence greets, thanks, offers or asks, and does nothing else."""
    row = row_of(sentence)
    if _GREETING.fullmatch(row):
        return True

    if _NOT_OWN.search(row):
        return False

    if _OFFERED.intersection(row) and is_foreign(sentence):
        return not ((_ALARM | _UNFIXED).intersection(row) and _TOPIC.intersection(row))
    if _OFFER.match(row):
        return not (_ALARM.intersection(row) and _TOPIC.intersection(row))
    if _ASKING.match(row):
        return not _TOPIC.intersection(row)
    return not _LEADING.sub("", row)


_OFFERED = any_of("OFFER")
# "Great, let's dive in!", "Understood, I am ready."
_GREETING = rule(
    "(LINK|ANNOUNCE|COMMA|SELF|BE|HAVE|WILL|THE|GRADE)* COURTESY (COURTESY|COMMA|LINK|YOU)*",
    # "Ready for Step 3 whenever you are!"
    "(SELF|BE|COMMA)* COURTESY LINK (THE|NEXT|ANNOUNCE NUMBER?)+ (LINK YOU BE)?",
)


def _told(words: str) -> str:
    """Return the row of words without a courtesy at its beginning and what can say nothing of whose
    scores they are: grounds, what was taken care of, how far images are apart."""
    words = _NO_TASTE.sub("", _NO_NAMES.sub("", words))
    row = _LEADING.sub("", row_of(_PLUS_TOTALS.sub("", words)))
    for aside in (_ONLY_ONE, _FAR_APART, _GROUNDS, _CARED_FOR, _WITH_REMARKS):
        row = aside.sub("", row)
    return row


# "I can't identify the people in these photos, but …", "While I can't say who this is, …": who is
# shown is not asked for.
_NO_NAMES = re.compile(
    r"""
    ^\W*(?:(?:while|although|though)[ ])?
    (?:(?:I['’]m[ ]sorry|sorry|I[ ]apologi[sz]e),?[ ](?:but[ ])?)?
    I[ ]*(?:can['’]t|cannot|won['’]t|will[ ]not|do[ ]not|don['’]t
      |(?:am|['’]m)[ ](?:unable|not[ ]able)[ ]to)[ ]
    (?:(?:help|assist)[ ](?:with[ ])?)?
    (?:(?:identify|recogni[sz]e|name|verify|confirm|determine|tell|say|know)
      |(?:identify|recogni[sz]|nam|verify|confirm|determin)ing)[ ]
    (?:(?:the|any|real)[ ])*
    (?:(?:[0-9]+[ ])?(?:people|persons?|individuals?|faces?|identit(?:y|ies))(?:[ ]\w+){0,5}
      |who(?:[ ]\w+){1,4}[ ](?:is|are))
    (?:,?[ ]but[ ](?:I[ ]can[ ](?:(?:still|certainly)[ ])?
        (?:evaluate|rate|score|assess|judge|compare|analy[sz]e)[ ]
        (?:the|these|your|all)(?:[ ]\w+){1,3}(?=\W*$))?
      |[.;][ ]*|,[ ]|$)
    """,
    re.IGNORECASE | re.VERBOSE,
)


# "As an AI, I have no personal taste, but …": it is criteria that are asked for.
_NO_TASTE = re.compile(
    r"^\W*(?:as[ ]an[ ]AI(?:[ ]\w+){0,3},?[ ])?I[ ]"
    r"(?:have[ ]no|do(?:[ ]not|n['’]t)[ ]have(?:[ ]any)?|lack)[ ]"
    r"(?:personal|subjective|human|aesthetic)[ ]"
    r"(?:(?:tastes?|preferences?|opinions?|feelings|emotions|experiences?|views)"
    r"(?:,?[ ]or[ ]|,[ ](?!but))?){1,4}(?:,?[ ]but[ ]|[.;,][ ]*|$)",
    re.IGNORECASE,
)
# "The only edited image gets …"
_ONLY_ONE = rule(
    "(?<=THE) LIMIT (?=THING? PICTURE)",
    "(?<=IT BE) LIMIT (?=(THE|NUMBER|THING|ANNOUNCE)+ PICTURE)",
    "LIMIT (?=IT (THE|NUMBER|THING|ANNOUNCE)+ PICTURE)",
)
# "Scores, including the weighted totals": what comes on top of the scores.
_PLUS_TOTALS = re.compile(
    r",?[ ](?:including|plus|with|and)[ ](?:(?:the|their|my|weighted|overall)[ ]){0,3}"
    r"(?:totals?|sums?|averages?)\b"
    # "the overall scores with the weights 0.4, 0.3, 0.2 and 0.1"
    r"|(?:(?<=\boverall[ ]scores)|(?<=\boverall[ ]score)|(?<=\btotals)|(?<=\btotal)|(?<=\bS_all))"
    r"[ ](?:with|using|by|from)[ ](?:(?:the|given|stated|these|those|your)[ ]){0,2}weights?"
    r"(?:[ ]of)?(?:[ ,/]+(?:and[ ])?[0-9.]+%?(?=[ ,/.;]|$))*",
    re.IGNORECASE,
)
# "since the differences are small"
_FAR_APART = rule(
    "THE QUANTITY (LINK (THE|THIS|NUMBER|PICTURE)+)? BE (GRADE|LOW|COMMON)",
    # "looking carefully at the subtle differences"
    "COMMA? SEE (GRADE|COMMON|LINK|THE|LOW)* GAP",
)
# "I aimed to keep subtle differences between the edits visible": what a judge takes care of in the
# pictures does not touch its scores, in whatever words; but these must not be of scores, of who
# gave them, or of nothing that is in a picture.
_CARED_FOR = rule(
    "(^|SELF|TOWARD|COMMA|COLON|LINK) (HAVE|HAD|BE|WILL|COMMON|GRADE)* CARE (?!TOWARD? SEE)"
    f" [{_MINDED}]{{0,30}}? (PICTURE|CONTENT|GAP|FACTOR|THING|INSTRUCTION|SOURCE|DECIMAL)"
    f" (?!{_STRANGE}) [{_MINDED}]{{0,40}}"
    " (?=COMMA|COLON|$|SELF)"
)
# "… , with the observations that led to them"
_WITH_REMARKS = rule(
    "COMMA? LINK+ (THE|GRADE|LOW|COMMON|SELF|ANNOUNCE)* (ANNOUNCE|REASON)"
    " (IT|LINK)* COMMON (IT|THE|NUMBER|SCORE|PICTURE)* (?=COMMA|COLON|$)"
)
# "from measured facts only": what can be seen is what scores should rest on.
_GROUNDS = rule(
    "COMMA? (JUDGE|LIMIT)* (FROM|TOWARD|LINK) (THE|LIMIT|SELF ANNOUNCE?)* GROUND LIMIT?"
)


def is_plain(words: str) -> bool:
    """Tell whether words are all of classes that leave scores what they are."""
    return _is_all_of(_PLAIN, words)


def is_said_plainly(sentence: str) -> bool:
    """Tell whether a sentence is all of such words and of everyday ones: "I looked closely"."""
    return _is_all_of(_SAID, sentence)


def _is_all_of(known: frozenset[str], words: str) -> bool:
    row = _told(words)
    if _NUMBER.intersection(row):
        # "Each out of a maximum of 10": which number it is is looked at elsewhere.
        known |= _BOUND
    return known.issuperset(row) and _NOT_OWN.search(row) is None


def describes(sentence: str) -> bool:
    """Tell whether a sentence is about what can be seen in pictures, and not about the scores."""
    row = _MEANING.sub("", row_of(sentence))
    if _ANSWERED.search(row) and not (_ALARM - _WRONG).intersection(row):
        return True

    if _NOT_OWN.search(row) or _TURNS.match(row) or not (shows(row) or _OF_THE_EDIT.search(row)):
        return False

    if _OF_THE_SCORES.match(row) and (_ALARM | _UNFIXED).intersection(row):
        return False

    if _SELF.intersection(row) and _UNTOLD.search(row):
        return False

    if _REAL_ONES.search(row) or _LEGEND.match(row):
        return False

    return not (_ALARM.intersection(row) and _TOPIC.intersection(row))


# "Wait, the lamp is missing": whatever was said before is about to change.
_TURNS = rule("^ LINK* WITHDRAW COMMA")
# "This means that the image is natural": what follows says what of.
_MEANING = rule("^ (LINK|COMMA)* (THIS|IT) MEANS IT? (?=THE|PICTURE)")
# "Replace with real scores": whoever speaks of real ones has given others.
_REAL_ONES = rule("REAL (SCORE|THIS)")
# "1 means …", "1 is the top of the range"
_LEGEND = rule("^ NUMBER MEANS", "^ NUMBER BE (THE|GOOD|GRADE|LOW|BOUND|UNKNOWN)+ LINK THE SCALE")
# "So it should be 0."
_MUST_BE = rule("(IT|THIS) (MUST|MIGHT|WILL) BE (THE|LINK)* NUMBER $")
# The instruction was followed, answers are right: that, too, can be seen.
_OF_THE_EDIT = rule("^ [^SELF]* (INSTRUCTION|ANSWER)")
_UNTOLD = rule(
    "LIMIT",
    "ARRIVE (NOT|NOTHING)",
    "FILE",
    "NOT (HAVE|BE|REAL)* (SEE|ARRIVE) [^CONTENT]* $",
)


def is_harmless(sentence: str) -> bool:
    """Tell whether a sentence apart from all entries is known to leave scores as they are."""
    sentence = _PLUS_TOTALS.sub("", sentence)
    return any(tells(sentence) for tells in _HARMLESS)


def _is_of_a_known_form(sentence: str) -> bool:
    """Tell whether a sentence explains, sums up, ends, or leaves factors out, and no more."""
    return _has_a_known_form(sentence) or all(map(_has_a_known_form, sentence.split("; ")))


def _has_a_known_form(part: str) -> bool:
    row = row_of(part)
    if not row or is_said_plainly(part) or _NO_IDENTIFIER.match(part):
        return True
    return any(form.match(row) for form in _KNOWN_FORMS)


def _is_of_gaps(sentence: str) -> bool:
    """Tell whether a sentence only says that scores are left out, and perhaps why: "I left out what
    I could not judge.", "S_all: not computed (incomplete)". The others stand."""
    return _GAPS.fullmatch(sentence) is not None


_GAPS = re.compile(
    rf"""
    \W*(?:(?:note[ ]that|please[ ]note[ ]that|note:)[ ])?
    (?:
      (?:some|several|a[ ]few|certain|the[ ]missing|any[ ]missing)[ ](?:of[ ](?:the|these|my)[ ])?
        (?:scores?|cells?|factors?|entries|numbers?|values?|ratings?)[ ]
        (?:(?:could|can)(?:not|[ ]not|n['’]t)[ ]be[ ](?:given|judged|scored|rated|assessed)
          |(?:are|were|have[ ]been)[ ](?:missing|omitted|left[ ](?:out|open|blank|unscored)))
      | I(?:['’]ve|[ ]have)?[ ](?:left[ ](?:out|open|blank)|skipped|omitted)[ ]
        (?:what|whatever|anything|everything|(?:the[ ])?(?:scores?|factors?|cells?))[ ]
        (?:that[ ]|which[ ])?I[ ](?:could|can)(?:not|[ ]not|n['’]t)[ ]
        (?:judge|assess|score|rate|tell)
      | (?:anything|everything|whatever|what)[ ](?:has[ ]no|is[ ]without[ ]a|without[ ]a)[ ]
        (?:number|score|rating)[ ](?:was|is)[ ](?:left[ ](?:out|open|blank)|omitted|skipped)
      | (?:S_all|(?:the[ ])?(?:overall|total)(?:[ ]score)?)[ ]*(?:[:=–—-]|is|was|are)[ ]*
        (?:not[ ](?:computed|calculated)|incomplete|{NO_SCORE})
      | (?:一部|部分)(?:分数|评分|得分)[^.。]{{0,6}}(?:无法|没有|未)(?:给出|评定|评分)
    )
    (?:[ ](?:on[ ]purpose|deliberately|here))?
    (?:[ ]\([^()\d]{{0,60}}\)|,?[ ](?:because|since|as|where|for)[ ][^\d]{{0,80}})?\W*
    """,
    re.IGNORECASE | re.VERBOSE,
)


# "Please note that the image identifier was not visible to me, so I filled in a generic one."
_NO_IDENTIFIER = re.compile(
    r"\W*(?:please[ ])?(?:note[ ]that[ ])?the[ ](?:image|edit)(?:['’]s)?[ ]"
    r"(?:id|identifier|name|file[ ]?name)[ ](?:was|is)[ ]not[ ](?:visible|given|provided|shown"
    r"|known)(?:[ ]to[ ]me)?(?:,[ ]so[ ]I(?:['’]ve|[ ]have)?[ ](?:used|filled[ ]in|put|entered)[ ]"
    r"an?[ ](?:generic|default|neutral)[ ](?:one|id|identifier|name))?\W*$",
    re.IGNORECASE,
)


def _is_of_something_else(sentence: str) -> bool:
    """Tell whether a whole sentence speaks neither of scores nor of who gave them: "The bridge lost
    one arch", in whatever language."""
    row = row_of(sentence)
    if len(row) < _SHORTEST_SENTENCE or not _WHOLE.search(sentence):
        return False

    if _REFERRING.intersection(row) or _NOT_OWN.search(row) or _MUST_BE.search(row):
        return False

    if _TAKEN_FROM.match(row):
        return False

    return not (_is_hardly_known(sentence) or _is_unseen(sentence))


def _is_hardly_known(sentence: str) -> bool:
    """Tell whether a sentence is in a language of which hardly a word is known: in that, anything
    may be said."""
    if not is_foreign(sentence):
        return False

    words = [word for word in _WORD.findall(sentence.lower()) if len(word) > 1]
    strange = sum(_SAYING_NOTHING.issuperset(row_of(word)) for word in words)
    return 4 * strange > 3 * len(words)


_SAYING_NOTHING = any_of("UNKNOWN", "COMMON")
_SHORTEST_SENTENCE = 4
_WHOLE = re.compile(r"[.!。！][\"'”’)]*\s*$")
_REFERRING = any_of(
    *("SELF", "YOU", "THIS", "SCORE", "LAYOUT", "SCALE", "IF", "HEDGE", "MIGHT", "UNREAL", "DRAFT"),
    *("WITHDRAW", "ALTER", "RATER", "MODEL", "FILE", "BOUND", "TIME", "MEANS"),
    *("TAKEN", "USUAL"),
)
# "Taken from …", "straight out of …", "they are from …": whose the scores are.
_TAKEN_FROM = rule(
    "^ (JUDGE|ARRIVE|FROM|UNKNOWN FROM|THE? UNKNOWN? FROM|IT (BE|HAVE|ARRIVE)* FROM)",
    # "please do not use"
    ".* COURTESY .* NOT",
)


def _is_of_how_it_went(sentence: str) -> bool:
    """Tell whether the judge says how it came to its scores, or how they came out: "in case of
    doubt I rounded down", "none of the edits is perfect"."""
    row = row_of(sentence)
    if (_ALARM - _QUANTITY).intersection(row):
        return False

    settled = not _UNSETTLED.intersection(row)
    if settled and _ASSIGNED.match(row):
        # "These scores are assigned with careful consideration of how the images …"
        return True

    if _QUANTITY.intersection(row):
        return False

    if _NONE_OF.match(row):
        return True

    tells = _SELF.intersection(row) and _HOW.intersection(row) and not _OF_THE_SCORES.match(row)
    known = not _UNLISTED.intersection(row) and not _NOT_OWN.search(row)
    return bool(tells) and settled and known


_UNLISTED = any_of("UNKNOWN")
# The quickest first: most sentences are of one of the first kinds.
_HARMLESS = (
    _is_of_a_known_form,
    _is_of_gaps,
    describes,
    is_courteous,
    _is_of_something_else,
    _is_of_how_it_went,
)


def puts_off(sentence: str) -> bool:
    """Tell whether a sentence behind scores says that looking or judging is still to come: "Now I
    will look at the images", "the careful scores follow"."""
    row = row_of(_OF_THE_WHOLE.sub("total", _WOULD.sub("", sentence)))
    if _TO_COME.search(row):
        return True

    if not all(held.intersection(row) for held in (_PICTURES, _HOW)) or _ELSE.intersection(row):
        return False
    return bool(_SOON.intersection(row) or (_OFFERED.intersection(row) and is_foreign(sentence)))


# Sums may well come later; "I would" puts nothing off.
_OF_THE_WHOLE = re.compile(
    r"\b(?:overall|total|combined|weighted)[ ](?:score|rating|result)s?\b|\bS_all\b"
    r"|\b(?:comput|calcul)\w*[ ](?:\w+[ ]){0,2}(?:score|not[ea]|punt|pont)\w*",
    re.IGNORECASE,
)
_WOULD = re.compile(r"\bwould\b(?![ ]you)", re.IGNORECASE)
_SOON = any_of("SOON")
_ELSE = any_of("NEXT", "OTHER", "TOTAL", "FACTOR")
_TO_COME = rule(
    # "I will look at the images", "let me rate the two images", "would you like me to score them"
    "(WILL|MUST|TOWARD SELF|^ (LINK|COMMA|ANNOUNCE|SELF)* OFFER)"
    " (SELF|LINK|ANNOUNCE|TOWARD|COMMON|YOU|IF|HAVE|WISH|WILL){0,8}"
    " (SEE|SCORE|JUDGE) (LINK|THE|THIS|NUMBER|THING|COMMON|TOWARD){0,8} (PICTURE|IT)",
    "^ (LINK|COMMA)* COURTESY (SEE|JUDGE|ARRIVE) (SELF|LINK|THE|THIS|NUMBER)* (PICTURE|SCORE)",
    "SELF (LINK|HAVE)* TOWARD (SEE|JUDGE) (LINK|THE|THIS)* PICTURE",
    # "I'll look again", "ready to score", "a second look is needed", "this is how I will score"
    "(SELF WILL|^ (LINK|ANNOUNCE)* WILL|TOWARD SELF) (LINK|ANNOUNCE|COMMON|TOWARD){0,8} SEE",
    "COURTESY TOWARD (SCORE|SEE|JUDGE) (?!NEXT|OTHER)",
    "SEE BE MUST",
    "THIS BE LINK SELF? WILL (SCORE|JUDGE)",
    "(ANNOUNCE|WILL ARRIVE) LINK? TOWARD THE* SCORE $",
    "SCORE WILL BE (ARRIVE|JUDGE|SCORE|ANNOUNCE)",
    # "I can give precise scores in the next step", "the careful scores follow", "more to come"
    "(WILL|MUST|TOWARD SELF|^ (LINK|COMMA|ANNOUNCE)* OFFER) (LINK|ANNOUNCE|TOWARD|COMMON){0,8}"
    " (JUDGE|ARRIVE) (THE|THIS|FINAL|GRADE|COMMON|SELF|NEXT)* SCORE",
    "SCORE (WILL|LINK|UNKNOWN|GRADE){0,8} (ANNOUNCE|ARRIVE) (NEXT|LINK|THE|THIS|ANNOUNCE)* $",
    "(SCORE|FINAL|IT|(?<!ANNOUNCE) NUMBER) ARRIVE NEXT",
    "NEXT TOWARD ARRIVE",
    # "I will come back to them", "when I should start with the images"
    "WILL ARRIVE LINK (IT|THIS|SCORE|THE|YOU)",
    "MUST UNKNOWN LINK THE* PICTURE",
)


def is_anothers(sentence: str) -> bool:
    """Tell whether a sentence gives scores to another than the judge, or to other pictures."""
    return _NOT_OWN.search(row_of(sentence)) is not None


def is_of_other_work(sentence: str) -> bool:
    """Tell whether a sentence behind scores says that they were given before, or for others."""
    return _OTHER_WORK.search(sentence) is not None


_OTHER_WORK = re.compile(
    r"\bwhat[ ]you[ ](?:have[ ]|['’]ve[ ]|just[ ])*read\b[^.]*\b(?:goes|dates|was|is|were|had)\b"
    r"|\b(?:numbers|scores|ratings|figures|values|this|these|they)\b[^.]{0,20}"
    r"\b(?:go(?:es)?|dates?)[ ]back[ ]to\b"
    r"|\b(?:I|me|my)\b[^.]{0,60}\b(?:of|from|for)[ ](?:another|a[ ]different|some[ ]other)[ ]"
    r"(?:job|order|task|project|batch|set|session|item|photograph)\b",
    re.IGNORECASE,
)


def is_innocent(sentence: str) -> bool:
    """Tell whether a sentence at least says nothing of scores that may undo them.

    Of a judge that gives one or two numbers and then its reasons, more cannot be asked.
    """
    row = _MEANING.sub("", row_of(sentence))
    if _OF_THE_SCORES.match(row) and (_DOUBT | _UNSETTLED).intersection(row):
        return False
    return (
        bool(_SUBJECT.match(row))
        and not (_LEGEND.match(row) or _MUST_BE.search(row))
        and not (_ALARM - _WRONG - _QUANTITY).intersection(row)
    )


_SUBJECT = rule(
    "^ (LINK|ANNOUNCE|COMMA)* (THE|IT|THIS|PICTURE|ANSWER|NUMBER|SELF)",
    "^ (NOT|NOTHING) [^SCORE LAYOUT THIS PICTURE FILE]* $",
)


def unsettles(aside: str) -> bool:
    """Tell whether words beside scores, in a label or in brackets, make them no verdict."""
    row = row_of(aside)
    if shows(row) or _FINAL_WORD.intersection(row):
        return sees_nothing(aside)
    row = _PART_MISSING.sub("", row)
    mistaken = _SELF.intersection(row) and _WRONG.intersection(row)
    return bool(_NO_VERDICT.intersection(row) or mistaken) or sees_nothing(aside)


# "Two tourists are missing": what is not in the picture, where neither it nor a file is named.
_PART_MISSING = rule(
    "^ ((THE|NUMBER|LOW|GRADE|LINK|OTHER)+|UNKNOWN) UNKNOWN+ (BE|HAVE|LINK)* BROKEN $",
    # "despite the missing lace"
    "(?<=THE) BROKEN (?=UNKNOWN+ $)",
    # "Nothing missing", "no parts are missing"
    "(NOTHING|NOT) (UNKNOWN|BE|HAVE|LINK|THE)* BROKEN",
)
_NO_VERDICT = any_of("UNREAL", "DRAFT", "WITHDRAW", "RATER", "BROKEN")


def doubts_one(sentence: str) -> bool:
    """Tell whether a remark on one image may say that its numbers are none: "Skipped." """
    if is_harmless(sentence) or _ANSWERED.search(row_of(sentence)):
        return False
    row = row_of(sentence)
    taken_over = _SELF.intersection(row) and _BY_OTHERS.intersection(row)
    return bool(_OF_ONE.intersection(row) or taken_over) or takes_back(sentence)


def is_known_to_void(sentence: str, *, behind: bool) -> bool:
    """Tell whether a sentence is of a form that voids scores: "I take it back", "I only saw the
    file names". Only what stands `behind` all scores can put them off."""
    known = (sees_nothing, sees_part, asks_for_pictures, is_anothers, commands, recants)
    if any(voids(sentence) for voids in known) or is_of_other_work(sentence):
        return True
    if _THOUGHT_UP.search(sentence):
        return True

    if not behind:
        return False
    taken_back = _TAKES_BACK.intersection(row_of(sentence)) and not describes(sentence)
    return bool(taken_back) or puts_off(sentence)


def puts_in_doubt(sentence: str, *, behind: bool) -> bool:
    """Tell whether a sentence is known to void scores, or a clause of it speaks of them or of the
    judge and raises doubts; what is merely unknown does not."""
    if is_known_to_void(sentence, behind=behind):
        return True

    row = row_of(sentence)
    if len(sentence.split()) <= _SHORT or sentence.rstrip().endswith(":"):
        return bool(_ALARM.intersection(row))
    if _ITS_OWN.search(row) and _UNLISTED.intersection(row):
        # Who speaks of itself or to the reader may say anything, unless it announces scores.
        announced = not behind and len(sentence.split()) <= _LONGEST_ANNOUNCEMENT
        return not (announced and _NAMED_SCORES.intersection(row) and not _DOUBT.intersection(row))
    return any(map(_raises_doubts, _CLAUSES.split(sentence)))


def _raises_doubts(clause: str) -> bool:
    row = row_of(clause)
    # Not of tables and columns: these are in pictures as well.
    if _SCORES.intersection(row) and (_ALARM - _QUANTITY - _IN_TIME).intersection(row):
        return True
    if not _ITS_OWN.search(row):
        return False
    return bool(_DISOWNS.intersection(row)) or takes_back(clause) or makes_up(clause)


_TAKES_BACK = any_of("WITHDRAW")
_LONGEST_ANNOUNCEMENT = 14
_CLAUSES = re.compile(r"[,;:]\s|\s[–—-]\s|\s(?:but|because|since|while|although|though)\s")
_SCORES = any_of("SCORE")
_IN_TIME = any_of("TIME")
# "that is supposed to be farther away", of a cloud, is not said of scores.
_ITS_OWN = rule("SELF", "YOU", "^ (LINK|COMMA|COURTESY)* THIS")
_DISOWNS = any_of("UNREAL", "WITHDRAW", "DRAFT", "RATER", "MODEL", "TAKEN")


def tells_of_pictures(sentence: str) -> bool:
    """Tell whether a whole sentence of some length speaks neither of scores nor of who gives or
    reads them, and raises no doubts: it tells of what can be seen."""
    if (len(sentence.split()) <= _SHORT and sentence.isascii()) or not _WHOLE.search(sentence):
        return False
    if len(sentence) < _SHORTEST_TOLD:
        return False

    row = row_of(sentence)
    if _TOLD_TO_SOMEBODY.intersection(row) or _ITS_OWN.search(row):
        return False
    return not (is_anothers(sentence) or puts_off(sentence))


_SHORTEST_TOLD = 12
_TOLD_TO_SOMEBODY = any_of(
    *("SCORE", "LAYOUT", "SCALE", "RATER", "MODEL", "FILE", "COURTESY", "OFFER"),
)
_SHORT = 6


_BY_OTHERS = any_of("RATER", "TAKEN")
_OF_ONE = any_of("UNREAL", "WITHDRAW", "FILE", "BROKEN", "DRAFT")


def is_alarming(sentence: str) -> bool:
    """Tell whether a sentence outside all entries may undo them, whatever it speaks of."""
    if describes(sentence) or is_courteous(sentence):
        return False
    return bool(_ALARM.intersection(row_of(sentence)))


def reorders(sentence: str) -> bool:
    """Tell whether a sentence says that images or scores stand in another order or place."""
    row = row_of(sentence)
    if _OF_ONE_IMAGE.match(row):
        # "Image 3: I can't score this one."
        row = _THIS_ONE.sub("", row)
    return _MOVED.search(row) is not None


_OF_ONE_IMAGE = rule("^ PICTURE NUMBER COLON")
_THIS_ONE = rule("THIS (NUMBER|PICTURE)")


def lists_several(sentence: str) -> bool:
    """Tell whether a sentence counts several things up: "the second and third picture"."""
    return _SEVERAL.search(row_of(sentence)) is not None


_SEVERAL = rule("NUMBER (LINK|COMMA) (THE)? NUMBER")
_MOVED = rule("ALTER", "LAYOUT", "YOU", "THIS", "NUMBER LINK NUMBER", "MUST .* PICTURE .* PICTURE")


def commands(sentence: str) -> bool:
    """Tell whether a sentence tells the reader to do something to the scores."""
    words = sentence.lower().split()
    opening = next((word for word in words if word not in _BEFORE_COMMANDS), "")
    return opening.strip(".,:;!") in COMMANDS


_BEFORE_COMMANDS = frozenset(("please", "now", "just", "so", "kindly", "then"))


def is_foreign(sentence: str) -> bool:
    """Tell whether a sentence may be in another language than English."""
    words = _WORD.findall(sentence.lower())
    return not ENGLISH.intersection(words) or not all(map(str.isascii, words))


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def speaks_of_scores(sentence: str) -> bool:
    """Tell whether a sentence speaks of the scores, the list or the table."""
    return bool(_NAMED_SCORES.intersection(row_of(sentence)))


def sets_bounds(caption: str) -> bool:
    """Tell whether a caption heads what scores may be, not what they are: "Minimum scores:"."""
    row = row_of(caption)
    return bool(_LIMITS.intersection(row)) and not _NUMBER.intersection(row)


def is_total(sentence: str) -> bool:
    """Tell whether a sentence gives a sum or a mean of scores: "The sum is 15 out of 20." """
    return _TOTALS.match(row_of(sentence)) is not None


def is_about_a_scale(sentence: str) -> bool:
    """Tell whether a sentence names a scale, in whatever language: "su 20", "from 0 to 20"."""
    return _says(_SCALED, sentence)


_SCALED = rule("SCALE", "NUMBER TOWARD NUMBER")


def prefers_low(sentence: str) -> bool:
    """Tell whether a sentence says that low numbers are the good ones."""
    if _says(_LOW_IS_GOOD, sentence) or _THE_LOWER_THE_BETTER.search(sentence):
        return True
    return any(_is_a_wrong_end(number, end) for number, end in _ends_named(sentence))


# In other languages: "je niedriger, desto besser", "plus la note est basse, mieux c'est"; and the
# other way round: "the more an image collects, the worse it is".
_THE_LOWER_THE_BETTER = re.compile(
    r"""
    \bthe[ ](?:higher|more|larger|bigger|greater)\b[^.!?]{0,50},[ ]the[ ](?:worse|poorer|weaker)\b
    | \bje[ ](?:höher|mehr|größer)\b[^.!?]{0,40}\b(?:desto|umso)[ ]schlechter
    | \bplus\b[^.!?]{0,40}\b(?:élevée?|haute?|grande?)\b[^.!?]{0,40}
        \b(?:pire|moins[ ]bonne?|mauvaise?)\b
    | \b(?:cuanto|quanto)[ ](?:más|mais|più)[ ]?(?:alt[oa]|elevad[oa]|grande)\b[^.!?]{0,40}
        \b(?:peor|pior|peggio(?:re)?)\b
    | \bhoe[ ]hoger\b[^.!?]{0,40}\bhoe[ ]slechter|\bчем[ ](?:выше|больше)\b[^.!?]{0,40}\bтем[ ]хуже
    | 越[高大多][^。]{0,6}越[差糟坏]|[高大多](?:さ|な)?いほど[^。]{0,6}悪
    | (?:높|많)을수록[^.]{0,6}(?:나쁘|나쁜)
    |
    \bje[ ](?:niedriger|kleiner|geringer|tiefer)\b[^.!?\d]{0,40}\b(?:desto|umso|je)[ ]besser
    | \bplus[ ](?:[^\W\d]+[ ]){0,4}(?:bass?e?|petite?|faible)s?\b[^.!?\d]{0,40}
        \b(?:mieux|meilleure?)\b
    | \b(?:cuanto|quanto|mientras)[ ](?:(?:más|mais|più)[ ])?
        (?:baj[oa]|menor|baix[oa]|bass[oa]|piccol[oa]|pequeñ[oa])\b[^.!?\d]{0,40}
        \b(?:mejor|melhor|meglio|migliore)\b
    | \bpiù[ ]bass[oa]\b[^.!?\d]{0,20}\b(?:meglio|migliore)\b
    | \bhoe[ ](?:lager|kleiner)\b[^.!?\d]{0,40}\bhoe[ ]beter
    | \bчем[ ](?:ниже|меньше)\b[^.!?\d]{0,40}\bтем[ ]лучше
    | 越[小低少][^。\d]{0,6}越[好佳优]|[小低少](?:さ|な)?いほど[^。\d]{0,6}[良高優い]
    | (?:낮|작|적)을수록
    """,
    re.VERBOSE | re.IGNORECASE,
)
# A number, the end of a scale that it is said to be, or what may stand between the two.
_END = re.compile(
    r"""
    (?P<number>(?<![A-Za-z0-9_.])(?:[0-9]{1,3}(?:\.0)?(?!\.?\d)
      |(?:one|ten|zero)\b(?=[ ](?:is|=|for|means|stands|being|marks|denotes|to))))
    | (?P<best>\b(?:best(?:e|er|es|en)?|excellent|perfect(?:ion)?|flawless|outstanding|ideal
      |sehr[ ]gut|très[ ]bien|meilleure?s?|mejor(?:es)?|migliore?|melhor(?:es)?|лучш\w*|parfaite?)\b
      |最[好佳高良優优]|完美|完璧|최고|최상)
    | (?P<worst>\b(?:worst|poorest|terrible|unusable|useless|failures?|weakest|bad|poor|insufficient
      |schlecht\w*|ungenügend|mauvaise?s?|pires?
      |peor(?:es)?|peggior[ei]|pior(?:es)?|худш\w*)\b|最[差低悪坏]|최악|최하)
    | (?P<between>\b(?:is|are|for|the|an?|being|means?|stands?|marks?|denotes?|to|what|as|possible
      |value|score|rating|number|note|result|grade|complete|total|ist|die|der|das|bedeutet
      |heißt|entspricht|steht|für|est|la|le|les|el|es|un|una|é|è|il|nota|punteggio|это|оценка
      |gives?|gave|get|gets|goes|signifies?|significa|lo|oznacza|означает)\b
      |[为是が는은이分点점:=()"'“”‘’ ])
    | (?P<end>.)
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def _ends_named(sentence: str) -> Iterator[tuple[Fraction, str]]:
    """Yield the numbers that a sentence says are the best or the worst: "1 for the best", "the best
    value is 1". What stands first of the two is said of what stands next."""
    held: str = ""
    number: Fraction | None = None
    for match in _END.finditer(sentence):
        kind = match.lastgroup or ""
        if kind == "between":
            continue

        if kind == "number":
            number = _worth(match[0])
            if held:
                yield number, held
                held, number = "", None
        elif kind == "end":
            held, number = "", None
        elif number is not None:
            yield number, kind
            number = None
        else:
            held = kind


def _worth(number: str) -> Fraction:
    return Fraction(_IN_WORDS.get(number.lower(), number))


_IN_WORDS = {"zero": "0", "one": "1", "ten": "10"}


def _is_a_wrong_end(number: Fraction, end: str) -> bool:
    """Tell whether the best is said to be the lowest number there is, or the worst a high one."""
    return number <= 1 if end == "best" else number >= _HIGH


_HIGH = 5


def asks(sentence: str) -> bool:
    """Tell whether a sentence is a question, and no score in it is given."""
    return _QUESTION.search(row_of(sentence)) is not None


_QUESTION = rule("^ (MUST|WILL|MIGHT|BE|HAVE) .* ASKED $", "(YOU|OFFER) .* ASKED $")
_LOW_IS_GOOD = rule(
    "LOW (SCORE|NUMBER|SCALE)* (BE|JUDGE|ANNOUNCE|COMMA)+ (THE|LINK)* GOOD",
    "LOW (SCORE|SCALE)+ (THE|LINK)* GOOD",
    "^ THE? LOW (COMMA|THE)* GOOD",
)


def is_of_the_picture(sentence: str) -> bool:
    """Tell whether a sentence says how something is, not scores: "It fits", "Two parts differ"."""
    return _OF_IT.match(row_of(sentence)) is not None


_OF_IT = rule(
    "^ (LINK|ANNOUNCE|COMMA|COLON|NUMBER)* (IT|NUMBER|THE? PICTURE NUMBER?)"
    " (UNKNOWN|BE|THE|LINK|GRADE|GOOD|LOW|CONTENT|INSTRUCTION|SOURCE|COMMA)+ $"
)


def is_of_an_answer(sentence: str, line: str) -> bool:
    """Tell whether a sentence of a word or two calls an answer wrong that its line speaks of:
    "Method B's answer: 7. Incorrect."."""
    wrong = _CALLED_WRONG.match(row_of(sentence)) is not None
    return wrong and _ANSWERED.search(row_of(line)) is not None


_CALLED_WRONG = rule("^ (LINK|GRADE|COMMON|BE|IT)? WRONG $")


def is_of_lettering(sentence: str) -> bool:
    """Tell whether a sentence says that what follows it stands in the picture: on a screen, a sign,
    a sheet of paper."""
    return _SURFACE.search(sentence) is not None and _POINTS_ON.search(sentence) is not None


_SURFACE = re.compile(
    r"""
    \b(?:screens?|monitors?|display|posters?|signs?|signboards?|billboards?|(?:white|black)?boards?
      |chalkboards?|banners?|placards?|plaques?|t-?shirts?|paper|post-it|sticker|laptops?
      |tablets?|phones?|walls?|notebooks?|receipt|scoreboards?
      |Bildschirm\w*|Schild\w*|Plakat\w*|Tafel|Zettel|l['’]écran|écrans?|affiches?|panneaux?
      |pantallas?|carte(?:l|les)|pizarra|letreros?|scherm[oi]?|cartell[oi]|lavagna|manifest[oi]
      |tela|cartaz(?:es)?|placas?|het[ ]bord|bordje|ekran\w*|tablic[ay]\w*|plakat\w*
      |tahta\w*|afiş\w*|skärm\w*|skylt\w*|tavla\w*|экран\w*|монитор\w*|плакат\w*|доск[аеу]
      |табличк\w*|вывеск\w*|màn[ ]hình|biển
      |(?:read|written|printed)[ ](?:in|on|inside|within)[ ]the[ ](?:image|picture|photo))\b
    | 画面|モニター|看板|ポスター|黒板|貼り紙|屏幕|显示器|海报|白板|黑板|牌子
    | 화면|모니터|포스터|간판|칠판|الشاشة|لوحة
    """,
    re.VERBOSE | re.IGNORECASE,
)
_POINTS_ON = re.compile(
    r"""
    \b(?:following|follows|below|these|here[ ]is|this[.:]|folgend\w*|siguiente\w*|suivant\w*|ceci
      |segu(?:e|ente)|seguinte\w*|volgende|następując\w*|şun(?:lar|u)|şöyle|aşağıda\w*|följande
      |следующ\w*|như[ ]sau|estas?[ ]l[ií]neas?)(?:\b|(?<=[.:]))
    | :\s*$|次のよう|以下|下記|如下|下面|다음과|التالي
    """,
    re.VERBOSE | re.IGNORECASE,
)


def explains(sentence: str) -> bool:
    """Tell whether a sentence is headed as a reason for a score: "Justification: …"."""
    return _EXPLAINS.match(row_of(sentence)) is not None


# --- Words that lead up to scores ---

_HEADS = any_of(
    *("SCORE", "JUDGE", "ANNOUNCE", "SELF", "FACTOR", "FINAL", "PICTURE", "ANSWER", "SEE", "THIS"),
    "THING",
)
_GIVING = any_of(
    *("SELF", "THE", "BE", "HAVE", "HAD", "WILL", "LINK", "IT", "THIS", "PICTURE", "THING"),
    *("ARRIVE", "SCORE", "JUDGE", "FACTOR", "NUMBER", "FINAL", "ANNOUNCE", "SOURCE", "LAYOUT"),
    *("SCALE", "INSTRUCTION", "COMMA", "COLON"),
)
_GIVES = rule(
    "^ [^TOWARD]* (HAVE|ARRIVE|JUDGE) (IT|THIS|THE|PICTURE|NUMBER)* (SCORE LINK)? THE? $",
    "THE SCORE LINK $",
    "(JUDGE|SCORE) (IT|THIS|THE) .{0,6} $",
)
_BEFORE_IMAGES = _PLAIN - any_of("GRADE", "LOW", "GOOD", "SCALE", "CONTENT", "BE", "YOU")


# "(1–10分)", "(de 1 à 10)": which scale it is is looked at elsewhere.
_SCALE_IN_BRACKETS = re.compile(
    r"[(\[][^()\[\]\d]{0,12}[0-9]{1,3}[ ]?(?:[-–—~/]|to|bis|à|a|至|到|до|から)[ ]?[0-9]{1,3}"
    r"[^()\[\]\d]{0,8}[)\]]",
    re.IGNORECASE,
)


# 'My scores for the "turn the lawn into a pond" task:'
_QUOTED = re.compile(r"[\"“„«][^\"“”„«»\n]{2,30}(?:[ ][^\s\"“”„«»]{1,20}){2,12}[\"”“»]")
_SHORT_BRACKET = re.compile(r"[(\[][^()\[\]]{3,80}[)\]]")


def _unless_a_scale(bracket: re.Match[str]) -> str:
    """Return a bracket, or nothing of it where it says what the ends of a scale mean."""
    row = row_of(bracket[0])
    ends = sum(code in _NUMBER for code in row)
    return " " if ends > 1 and _OF_A_SCALE.issuperset(row) else bracket[0]


def announces(words: str) -> bool:
    """Tell whether words above scores are known to announce them, and them only."""
    words = _QUOTED.sub(
        " ", _SHORT_BRACKET.sub(_unless_a_scale, _SCALE_IN_BRACKETS.sub(" ", words))
    )
    row = _told(words)
    if not row:
        return True

    if _NOT_OWN.search(row) or _BY_YOU.search(row):
        return False

    if _FINAL_WORD.intersection(row) and not (_DOUBT - _DRAFT | _UNLISTED).intersection(row):
        return True

    if _OWN_SCORES.search(row) and not _DOUBT.intersection(row):
        return True

    if _names_a_scale(row):
        return True

    if _CONTENT.intersection(row) and not _INSTRUCTION.intersection(row):
        return False

    if not is_said_plainly(words):
        return False

    if _OF_THE_SOURCE.search(row) or (len(row) <= 3 and _SOURCE.intersection(row)):
        return False

    # A few words must say that scores follow; more can only be of them.
    return len(row) > 4 or bool(_HEADS.intersection(row))


# "Voici mes notes après …", "… , I would rate it as follows:", "only the numbers:"
_OWN_SCORES = rule(
    "^ [^FROM]* SELF (FINAL|GRADE|REAL)* SCORE"
    " (BE|ANNOUNCE|LINK|THIS|THE|PICTURE|NUMBER)* COLON? $",
    "^ [^FROM]* (SELF|WILL)+ JUDGE (IT|THIS|THE|PICTURE|ANSWER)* LINK ANNOUNCE COLON? $",
    "^ (COURTESY|COMMA|LINK)* THE? REAL SCORE COLON? $",
    # "Sure, as JSON:"
    "^ (COURTESY|COMMA)* LINK THE? LAYOUT COLON? $",
)


# "What you suggested:"
_BY_YOU = rule(
    "^ (LINK|COURTESY|THIS|IT|BE|THE|COMMA)* YOU (HAVE|HAD|WILL)* (JUDGE|ARRIVE|SCORE)"
    " (SELF|LINK|IT|TIME|THIS)* COLON? $"
)


def _names_a_scale(row: str) -> bool:
    """Tell whether words only name a scale: "On a scale from 1 to 10". Which it is, and which end
    of it is the good one, is looked at elsewhere."""
    return _OF_A_SCALE.issuperset(row) and all(held.intersection(row) for held in (_SCALE, _NUMBER))


_OF_A_SCALE = any_of(
    *("LINK", "THE", "FROM", "TOWARD", "SCALE", "NUMBER", "SCORE", "JUDGE", "COLON", "COMMA", "BE"),
    *("GOOD", "GRADE", "LOW", "ANNOUNCE", "IT", "FACTOR", "PICTURE", "SELF", "THING", "MEANS"),
)
_SCALE = any_of("SCALE")
_SOURCE = any_of("SOURCE")
_OF_THE_SOURCE = rule("(SCORE|ANNOUNCE) (LINK|THE)* PICTURE? SOURCE PICTURE? COLON? $")
_FINAL_WORD = any_of("FINAL")
_DRAFT = any_of("DRAFT")
_INSTRUCTION = any_of("INSTRUCTION")


def heads_plainly(lead: str) -> bool:
    """Tell whether words before an image's name leave it a heading: "Scores of", "Moving on to"."""
    return _BEFORE_IMAGES.issuperset(row_of("".join(filter(str.isascii, lead))))


def heads_scores(words: str) -> bool:
    """Tell whether words speak of scores, or of judging: "Scores of", "My verdict on"."""
    return bool(_HEADS_SCORES.intersection(row_of(words)))


_HEADS_SCORES = any_of("SCORE", "JUDGE")


def tells_of_the_picture(words: str) -> bool:
    """Tell whether words tell what the one picture is like, whatever is to be seen in it: "The
    image shows a wedding cake with a"."""
    row = row_of(words)
    return _TELLS.match(row) is not None and not (_DOUBT | _NOT_THE_EDIT).intersection(row)


_TELLS = rule("^ (LINK|COMMA)* (THE|THIS)? PICTURE (HAVE|BE|SEE|COMMON|UNKNOWN|TOWARD)")
_NOT_THE_EDIT = any_of("SOURCE", "YOU", "WILL", "HAD")


def gives(words: str) -> bool:
    """Tell whether words that lead up to a score within a sentence leave it a score."""
    row = _ONLY_ONE.sub("", row_of(words))
    if _GIVING.issuperset(row):
        return True
    if _SOMEBODY_ELSE.search(row) or _NOT_QUITE.search(row):
        return False
    return not _DOUBT.intersection(row) and _GIVES.search(row) is not None


# "You proposed", "a lenient judge gives"
_SOMEBODY_ELSE = rule(
    "^ (LINK|COURTESY|COMMA|TIME|ANNOUNCE|THIS|BE)* YOU (HAVE|HAD|WILL|LINK|UNKNOWN)*"
    " (JUDGE|ARRIVE|SCORE|SEE|BE|WISH|$)",
    "THE (GRADE|GOOD|LOW|OTHER|NUMBER|UNKNOWN)+ JUDGE (WILL|MIGHT|HAVE)* (JUDGE|ARRIVE|SCORE)",
)
# "I almost gave", "I hardly rate"
_NOT_QUITE = rule(
    f"SELF (HAVE|HAD|WILL)* {_STRANGE}+ (HAVE|HAD)* (JUDGE|ARRIVE)",
    # "I would have given", "At first I had"
    "SELF WILL HAVE (JUDGE|ARRIVE)",
    "SELF HAD COLON? $",
)
# "The guidelines suggest", "the last edit got"
_ELSEWHERE_SAID = re.compile(
    r"\b(?:(?:guidelines?|rubric|protocol|rules|instructions?|task|prompt|template|manual)[ ]"
    r"(?:suggests?|gives?|proposes?|requires?|mentions?|lists?|says?|states?|asks?|demands?)"
    r"|(?:last|next|previous|preceding|earlier|former|other)[ ]"
    r"(?:edit|image|picture|photo|one|result|candidate))(?:[ ]\w+){0,3}\W*$",
    re.IGNORECASE,
)


def is_said_by_another(lead: str) -> bool:
    """Tell whether words before scores on their line make them what somebody else said, what the
    judge did not quite say, or the source's."""
    row = row_of(lead)
    if any(form.search(row) for form in (_SOMEBODY_ELSE, _NOT_QUITE, _NOT_OWN)):
        return True
    return _ELSEWHERE_SAID.search(lead) is not None or is_of_the_source(lead)


def supposes(sentence: str) -> bool:
    """Tell whether a sentence says what scores would be if the picture were another: "If the halo
    were retouched, S_qua would rise to 9". Who speaks of itself or of its scores may mean it."""
    match = _SUPPOSED.match(sentence) or _SUPPOSED_BEHIND.search(sentence)
    if match is None:
        return False
    return not _OF_THE_JUDGE.intersection(row_of(match["clause"]))


_SUPPOSED = re.compile(
    r"\W*(?P<clause>(?:if|had|were|without|with|once)[ ][^,;.!?]{4,80}),[^.!?]*"
    r"\b(?:would|could|might)\b(?![^.!?]*\b(?:but|so)\b)",
    re.IGNORECASE,
)
_SUPPOSED_BEHIND = re.compile(
    r"^[^.!?]*\b(?:would|could|might)\b[^.!?]*[0-9][ ,]+"
    r"(?P<clause>(?:if|had|were|without)[ ][^,;.!?]{4,80})[.!?]?\s*$",
    re.IGNORECASE,
)
_OF_THE_JUDGE = any_of("SELF", "YOU", "SCORE", "FACTOR", "SCALE", "JUDGE", "SEE", "LAYOUT", "THIS")


_SENTENCES_BEFORE = re.compile(r"^.*[.!?。！？]\s+(?=\S|$)", re.DOTALL)


def leads_astray(lead: str) -> bool:
    """Tell whether words that lead up to an image's name make what follows no verdict on it:
    "I will answer in the form", "If I were lenient I'd give"."""
    row = row_of(lead)
    # "You are right. Image 2: …": what was said before is another sentence.
    last = row_of(_SENTENCES_BEFORE.sub("", lead))
    if _CONDITION.match(row) or _SOMEBODY_ELSE.search(last):
        return True

    return kind_of(lead.rstrip(_QUOTES)) in _NOT_IN_EARNEST and not _FINAL_WORD.intersection(row)


_CONDITION = rule("^ (COURTESY|COMMA|LINK)* IF (SELF|IT|THIS|THE) .* (SELF|WILL|JUDGE)")
_QUOTES = " \t\"'“”„«‘’`"
_NOT_IN_EARNEST = frozenset((Kind.EXAMPLE, Kind.HYPOTHESIS, Kind.OTHERS))


def opens_plainly(words: str) -> bool:
    """Tell whether the words before a comma leave what follows a verdict: not "In the tutorial"."""
    if is_plain(words) or describes(words):
        return True
    row = row_of(words)
    return _ELSEWHERE.match(words) is None and not (_DOUBT - _QUANTITY).intersection(row)


def grounds(words: str) -> bool:
    """Tell whether words before "so" give reasons: "No other differences exist"."""
    return not (_ALARM - _WRONG - _QUANTITY - _OTHER).intersection(row_of(words))


_OTHER = any_of("OTHER")
_ELSEWHERE = re.compile(
    r"\W*(?:in|on|at|from|per|according|under|to|like|as|by|among|of|within|for)[ ]", re.IGNORECASE
)
