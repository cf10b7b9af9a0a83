"""What a block of text is: a verdict, or a draft, an example, weights, ranks, somebody else's."""

from __future__ import annotations

import re
from enum import StrEnum

LONGEST_CAPTION = 160


class Kind(StrEnum):
    """What the numbers under a caption, in a row or behind a key are."""

    VERDICT = "verdict"
    DRAFT = "draft"
    EXAMPLE = "example"
    HYPOTHESIS = "hypothesis"
    WEIGHTS = "weights"
    RANKS = "ranks"
    AVERAGE = "average"
    LEGEND = "legend"
    SOURCE = "source"
    OTHERS = "somebody else's"
    DIFFERENCE = "difference"


LASTING = frozenset((Kind.DRAFT, Kind.EXAMPLE, Kind.HYPOTHESIS, Kind.RANKS, Kind.OTHERS))
"""Kinds whose blocks have sections for each image: a heading that names one does not end them."""

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
      | ^(?:published|reported|official|reference|ground[- ]truth|gold|paper[’']?s?)[ ](?:\w+[ ])?
          (?:scores?|ratings?|values|numbers)
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
        r"\brank(?:s|ed|ing|ings)?\b|\bplacings?\b|\bstandings?\b|排名|\bPlatz\b|\bRang\w*",
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
        if not (pattern.search(words) or pattern.search(bare)):
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


# --- Disclaimers: the judge saw nothing, made the numbers up, or takes them back. ---

_PICTURES = (
    r"(?:images?|pictures?|photos?|photographs?|attachments?|files?|uploads?|visuals?|edits?)"
)
_THE = (
    r"(?:(?:the|any|these|those|your|this|that|either|both|all|actual|actually|edited|source"
    r"|original"
    r"|attached|uploaded|provided|of|two|three|four|[0-9]{1,2}|an?|such|shared|input|first|second"
    r"|third|last|other|remaining|resulting|generated)[ ]){0,4}"
)
_NOT = (
    r"(?:can(?:no|['’])t|cannot|can[ ]not|could(?:n['’]?t|[ ]not)|(?:not|un)[ ]?able[ ]to"
    r"|was[ ]not[ ]able[ ]to"
    r"|(?:do|did|does|have|has|had)(?:n['’]?t|[ ]not)|never|no[ ]way[ ]to|no[ ]ability[ ]to|without"
    r"|no[ ]access[ ]to|lack[ ]the[ ]ability[ ]to|lacks?[ ]access[ ]to|fail(?:ed)?[ ]to)"
)
_SEE = (
    r"(?:view|see|seen|seeing|saw|access|open|load|receive|received|receiving|process|look[ ]at"
    r"|looked[ ]at|inspect|inspected|display|perceive|have|having|get|got|examine|examined|viewed"
    r"|viewing|observe|observed|analy[sz]e|evaluate|assess|accessing|opened|loaded|find)"
)
_BLIND = re.compile(
    rf"""
      \b(?:was|were|am|are|been)(?:n['’]?t|[ ]not)?[ ](?:not[ ]|never[ ])(?:given|shown|sent
        |provided[ ]with)[ ]
      {_THE}{_PICTURES}\b |
      \b{_NOT}(?:[ ](?:actually|directly|really|truly|physically|currently|yet|been|be|able[ ]to
        |ever|have|having|even|properly|to|the[ ]ability[ ]to|access[ ]to))*[ ]
      (?:{_SEE}[ ])(?:to[ ])?{_THE}{_PICTURES}\b
      (?!['’]s|[ ](?:at|in)[ ](?:full|high|higher|original)|[ ]?-|[ ](?:border|quality|content|has
        |is))
    | \b(?:no|without|lack)[ ](?:access[ ]to[ ])?{_THE}{_PICTURES}[ ]
      (?:was|were|is|are|has|have|came|attached|provided|visible|available|received|uploaded|shown
        |to[ ](?:evaluate|look|see|judge|score)|included|reached)\b
    | \b(?:(?:no|lack)[ ]access[ ]to|without(?:[ ]access[ ]to|[ ]having
    |[ ]seeing)?)[ ]{_THE}{_PICTURES}\b
    | \b{_PICTURES}[ ](?:itself[ ]|themselves[ ])?
      (?:(?:was|were|is|are|has|have|did|does|do|could|can)(?:n['’]?t|[ ]not)|failed[ ]to|never
        |cannot)[ ]
      (?:been[ ]|be[ ]|actually[ ]|yet[ ]|properly[ ]|correctly[ ])*
      (?:load|loaded|come|came|provided|attached|visible|available|received|shown|included|uploaded
        |accessible|display|displayed|arrive|arrived|open|opened|reach|render|seen|viewed|found)\b
    | \b{_PICTURES}[ ](?:is|are|was|were|seems?[ ]to[ ]be|appears?[ ]to[ ]be)[ ]
      (?:missing|unavailable|inaccessible|blank|corrupted|broken|unreadable|empty)\b
    | \b{_PICTURES}[ ](?:not|un)[ ]?(?:available|provided|visible|accessible|loaded|received
    |found)\b
    | \bplease[ ](?:\w+[ ]){{0,2}}?(?:provide|upload|attach|send|share|show|re-?upload|resend
    |supply|give)[ ]
      (?:me[ ]|us[ ]|them[ ])?(?:with[ ])?{_THE}{_PICTURES}\b
    | \b(?:text|language)[- ]only[ ](?:model|assistant|ai)\b|\btext-based[ ](?:model|assistant|ai)\b
    | kann[ ](?:die|das|keine)[ ]Bild\w*[ ](?:leider[ ])?nicht[ ](?:sehen|öffnen|anzeigen|bewerten)
    | (?:无法|不能|没有)(?:直接)?(?:查看|看到|访问|打开|收到|接收)(?:到)?(?:任何)?(?:图|照片|影像)
    | 画像を(?:見る|表示|確認|閲覧)(?:する)?ことができ(?:ない|ません)
    | 画像が(?:見え|表示され)(?:ない|ません)
    | no[ ]puedo[ ]ver[ ](?:las[ ]|la[ ])?im[aá]gen|ne[ ]peux[ ]pas[ ]voir[ ](?:les[ ]|l['’])image
    | 이미지를[ ]?(?:볼|확인할)[ ]?수[ ]?없
    """,
    re.VERBOSE | re.IGNORECASE,
)
_UNREAL = re.compile(
    r"""
    \b(?:placeholders?|hypothetical\w*|made[- ]up|make[ ]up|fictional|fictitious|invented|imaginary
      |imagined|illustrati(?:ve|on)s?|demonstration|dummy|random(?:ly)?|arbitrar\w+|simulat\w+
      |fabricat\w+
      |guess(?:ed|es|work|ing)?|speculat\w+|mock|fake|pretend\w*|not[ ](?:real|actual|genuine|based)
      |sample[ ](?:output|scores?|answer|response|evaluation|ratings?)
      |example[ ](?:of[ ]how|output|scores?|answer|response|ratings?|evaluation)
      |(?:might|could|would|may)[ ]look[ ]like|expliz?it[ ]erfunden|erfunden|Platzhalter
      |Beispielwerte
      |only[ ]an[ ]example|just[ ]an[ ]example|not[ ]an[ ](?:actual|real)|inventad\w+|ejemplo)\b
    | 示例|假设|虚构|随机|占位
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ABOUT_SCORES = re.compile(
    r"""
    \b(?:scores?|ratings?|values?|numbers?|evaluations?|assessments?|output|figures|following
      |below|above
      |verdicts?|grades?|marks|these|this[ ]is|Werte|Zahlen|Bewertung\w*|puntuaciones|valores)\b
    | 分数|评分|数字|数值
    """,
    re.VERBOSE | re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"""
      \b(?:disregard|ignore|scrap|discard|forget|withdraw|retract|take[ ]back|throw[ ](?:out|away)
        |void
        |invalidate|don['’]?t[ ]use|do[ ]not[ ](?:use|count|trust|rely[ ]on)|cancel|strike|redo)\b
      [^.\n]{0,40}?
      \b(?:above|previous|earlier|preceding|scores?|ratings?|numbers?|values?|everything|list|table
        |verdict|evaluation|answer|figures|all[ ](?:of[ ])?(?:this|that|it)|that[ ]all
        |what[ ]I[ ](?:said|wrote))\b
    | \b(?:scores?|ratings?|numbers|values|above|answer|verdict|list|table
    |evaluation)[ ](?:\w+[ ]){0,5}?
      (?:are|is|were|was|have[ ]been|has[ ]been)[ ](?:\w+[ ]){0,2}?
      (?:wrong|invalid|incorrect|void|mistaken|meaningless|unreliable|withdrawn|swapped|reversed
        |mixed[ ]up|shifted|off[ ]by[ ]one|not[ ](?:valid|final|reliable|correct|mine|meant))\b
    | \b(?:I[ ](?:have[ ]|must[ ]have[ ]|may[ ]have[ ]|seem[ ]to[ ]have[ ])?
        (?:swapped|mixed|confused|mislabel\w+|interchanged|switched|reversed|exchanged
          |transposed))\b
    | \b(?:must|should|need[ ]to|have[ ]to|has[ ]to|ought[ ]to)[ ]be[ ]
      (?:swapped|switched|interchanged|exchanged|reversed|shifted)\b
    | \b(?:scores?|ratings?|labels?|order|numbering|images)\b[^.\n]{0,60}
      \b(?:swap(?:ped)?|switch(?:ed)?|mixed[ ]up|mix-up|interchanged|exchanged|mislabel\w+
        |transposed
        |reversed|backwards
        |wrong[ ]order|the[ ]other[ ]way[ ](?:a)?round|vertauscht|verwechselt)\b
    | \b(?:swap|switch|interchange|exchange|vertausch\w*|verwechsel\w*)\b[^.\n]{0,40}
      \b(?:scores?|ratings?|images?|numbers|labels|rows|columns|them|Bilder)\b
    | (?:忽略|无视|作废|撤回)[^。\n]{0,12}(?:上述|以上|前面|分数|评分)|(?:调换|互换|弄反|搞混)
    """,
    re.VERBOSE | re.IGNORECASE,
)


def sees_nothing(sentence: str) -> bool:
    """Tell whether a sentence says that the judge has no image before it."""
    return _BLIND.search(sentence) is not None


def makes_up(sentence: str) -> bool:
    """Tell whether a sentence says that scores are no judgement of these images."""
    return _UNREAL.search(sentence) is not None and _ABOUT_SCORES.search(sentence) is not None


def takes_back(sentence: str) -> bool:
    """Tell whether a sentence withdraws what was said before it, or gives it to other images."""
    return _TAKEN_BACK.search(sentence) is not None
