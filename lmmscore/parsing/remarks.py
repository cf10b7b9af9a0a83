"""What words say of scores: of what kind they are, that nothing was seen, that they are made up."""

from __future__ import annotations

import re
from functools import lru_cache

from lmmscore.parsing.text import lowered
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


# --------------------------------------------------------------------------------------------------
# What a judge says of its own scores: that it saw nothing, made them up, or takes them back.
#
# Phrases that void scores are listed, in several languages, but no such list ends. So what is
# said of the scores as a whole must also be of a form that is known to be harmless; any other
# words about them are a reason not to read them.
# --------------------------------------------------------------------------------------------------

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
    | \b{_PICTURES}[ ](?:itself[ ]|themselves[ ]|\#?[0-9]{{1,2}}[ ])?
      (?:(?:was|were|is|are|has|have|did|does|do|could|can)(?:n['’]?t|[ ]not)|failed[ ]to|never
        |cannot)[ ]
      (?:been[ ]|be[ ]|actually[ ]|yet[ ]|properly[ ]|correctly[ ])*
      (?:load|loaded|come|came|provided|attached|visible|available|received|shown|included|uploaded
        |accessible|decoded|retrieved|parsed|rendered|fetched|displayed?|arrive|arrived|open|opened
        |reach|render|seen|viewed|found)\b
    | \b{_PICTURES}[ ](?:is|are|was|were|seems?[ ]to[ ]be|appears?[ ]to[ ]be)[ ]
      (?:missing|unavailable|inaccessible|blank|corrupted|broken|unreadable|empty)\b
    | \b(?:corrupt(?:ed)?|unreadable|broken|unavailable)[ ]
      (?:files?|attachments?|uploads?|inputs?)\b
    | [(;,–—-][ ]*(?:could|can|did|does|was|were|is)(?:n['’]?t|[ ]?not)[ ](?:be[ ])?
      (?:load|loaded|opened|shown|decoded|displayed|rendered|received|viewed|seen|accessible
        |available)\b
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
      |(?:neutral|default)[ ](?:scores?|values?|ratings?|priors?|numbers?)
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
    | \b(?:take|taking|took)[ ](?:that|this|it|them|these|those|everything|all[ ]\w+)[ ]
      (?:all[ ])?back\b
    | \b(?:can(?:no|['’])t|cannot|can[ ]not|unable[ ]to|not[ ]able[ ]to|won['’]t|will[ ]not)[ ]
      (?:really[ ]|actually[ ]|reliably[ ]|properly[ ]|honestly[ ]|fairly[ ])?
      (?:scor|rat|judg|evaluat|assess)e?[ ](?:these|the|any|them|those|this|your|either|both)\b
    | \b(?:in|the)[ ](?:reverse|reversed|wrong|opposite|inverse)[ ](?:order|way[ ](?:a)?round)\b
    | \b(?:sorry|I[ ]mean|I[ ]meant)\b[^.\n]{0,30}\bother[ ]way[ ]a?round\b
    | \b(?:scratch|strike|forget|undo|cancel)[ ](?:that|this|it|all)\b
    | \bnever[ ]?mind\b|\bmy[ ]bad\b
    | \bI[ ](?:\w+[ ])?made[ ](?:an?|some|several)[ ](?:\w+[ ])?(?:mistakes?|errors?|mix-up|slip)\b
    | \b(?:accidentally|mistakenly|by[ ](?:mistake|accident)|inadvertently)\b
    | \b(?:subtract|add|deduct|multiply|divide|halve|double|lower|raise|increase|decrease|reduce)[ ]
      (?:[^.\n]{0,40}?)\b(?:every|all|each|the)[ ](?:\w+[ ])?(?:scores?|ratings?|values?|numbers?)\b
    | \b(?:scores|values|ratings|numbers)[ ](?:should|must|need[ ]to|ought[ ]to|have[ ]to)[ ]be\b
    | \b(?:numbered|counted|listed|ordered|labell?ed)[ ](?:from[ ])?(?:right[ ]to[ ]left|bottom
      |backwards?|from[ ](?:right|the[ ](?:right|last|end|bottom)))
    | \b(?:only|just|merely)[ ](?:an?[ ])?(?:tests?|demos?|examples?|samples?|drafts?)\b
    | \b(?:can(?:no|['’])t|cannot|can[ ]not|not)[ ](?:\w+[ ])?
      (?:guarantee|vouch|confirm|verify|be[ ]sure)\b
    | \bbelongs?[ ]to[ ](?:the[ ]|an?[ ])?(?:previous|other|another|different|next|wrong)\b
    | \bwithout[ ](?:vision|eyes|sight|image[ ]input)\b
    | \bvision[ ](?:\w+[ ])?(?:is|was)[ ](?:off|not|un)
    | \b(?:ignor(?:ieren?|iert|er|ez|ar|are|ate|e)|negeer|disregard)\b[^.\n]{0,40}
      \b(?:obigen?|diese[nr]?|Werte\w*|Bewertung\w*|ces|cette|notes?|estas?|estos|puntuaci\w+|queste
        |punteggi|deze|scores?|above|valores)\b
    | (?:上記|以上|前述|これら|위|앞의|이)[^.\n]{0,14}(?:無視|忽略|作废|무시)|не[ ]учитыва|игнорир
    | (?:分数|评分|打分|数字)[^.\n]{0,8}(?:编的|瞎编|乱写|捏造|虚构)
    | \bwhat[ ]I[ ](?:called|labell?ed|named|numbered)\b
    | \b(?:hallucinated|confabulated)\b|\bmade[ ](?:it|them|these|those|that|this)[ ](?:all[ ])?up\b
    | (?:忽略|无视|作废|撤回)[^。\n]{0,12}(?:上述|以上|前面|分数|评分)|(?:调换|互换|弄反|搞混)
    """,
    re.VERBOSE | re.IGNORECASE,
)

# In other languages words stand in any order: pictures, a verb of seeing, and a "not".
_FOREIGN_PICTURES = re.compile(
    r"\b(?:images|im[aá]genes|imagens|immagini|Bilder[ns]?|Fotos|afbeeldingen|obraz[óo]w"
    r"|resimler\w*)\b"
    r"|\bизображени|\bкартин|\bфото|图片|图像|图|照片|圖|画像|写真|이미지|사진|그림",
    re.IGNORECASE,
)
_FOREIGN_SEEING = re.compile(
    r"\b(?:voir|vois|vu|vues|re[çc]u\w*|acc[éeè]d\w*|ver|veo|visto|visualiz\w+|recib\w+|acced\w+"
    r"|vejo|receb\w+"
    r"|vedere|vedo|ricevut\w*|visualizzare|sehe|sehen|gesehen|vorlieg\w*|erhalten|anzeigen|öffnen"
    r"|ansehen|zien|zie|gezien|ontvangen|widz\w*|göre\w*)\b"
    r"|виж|вид|получ|откры|查看|看到|看见|看不|收到|接收|访问|打开|見|確認|表示|閲覧|受け取|볼|보이|확인|받",
    re.IGNORECASE,
)
_FOREIGN_NOT = re.compile(
    r"\b(?:pas|jamais|aucune?|no|nunca|ninguna?|sin|não|nenhuma?|sem|non|nessuna?|senza|nicht"
    r"|keine?n?"
    r"|ohne|niet|geen|nie|yok)\b|\bне\b|\bнет\b|\bбез\b|无|沒|没|不能|不到|未|ない|ませ|なかっ|できず|없|않|못",
    re.IGNORECASE,
)
_FOREIGN_UNREAL = re.compile(
    r"\b(?:fictiv\w*|fictif\w*|invent[ée]e?s?|exemples?|imaginaires?|hypoth[ée]ti\w+|al[ée]atoires?"
    r"|ficticios?|ficticias?|inventad[oa]s?|ejemplos?|ilustrativ[oa]s?|hipot[ée]tic[oa]s?"
    r"|aleatori[oa]s?"
    r"|fict[íi]ci[oa]s|exemplos?|esempio|esempi|inventat[ie]|fittizi[eo]?|ipotetic\w+|puramente"
    r"|Beispiel\w*|erfunden\w*|fiktiv\w*|Platzhalter\w*|hypothetisch\w*|willkürlich\w*|voorbeeld\w*"
    r"|verzonnen|przykład\w*|örnek)\b"
    r"|пример|вымышлен|выдум|придум|гипотетич|случайн|условн|示例|样例|举例|假设|虚构|随机|占位|编造|例です|例として|架空|仮の|サンプル"
    r"|ダミー|仮定|適当|예시|가상|임의|예를",
    re.IGNORECASE,
)
_FOREIGN_SCORES = re.compile(
    r"\b(?:notes?|scores?|puntuaci\w+|puntajes?|valores|calificaci\w+|pontuaç\w+|notas?|punteggi\w*"
    r"|voti|valori|Werte\w*|Noten|Punkte\w*|Bewertung\w*|Zahlen|cijfers|oceny|puanlar\w*)\b"
    r"|оцен|балл|分数|评分|得分|打分|スコア|点数|評価|採点|점수|평가",
    re.IGNORECASE,
)


# One of these is in whatever `_BLIND` matches. Most sentences hold none, and need no closer look.
_BLIND_CUES = (
    *("not", "nt ", "'t ", "’t ", "no ", "never", "without", "lack", "fail", "unable", "un able"),
    *(" un", "missing", "inaccessible", "blank", "corrupted", "broken", "empty", "please "),
    *("only ", "-based", "nicht", "ne peux", "无法", "不能", "没有", "画像", "이미지"),
)
# The same for `_FOREIGN_PICTURES` in a text of ASCII.
_PICTURE_CUES = (
    *("images", "imagenes", "imagens", "immagini", "bilder", "fotos", "afbeeldingen", "obrazow"),
    "resimler",
)


def _is_blind_abroad(text: str) -> bool:
    if text.isascii() and not _has_any(text, _PICTURE_CUES):
        return False

    if not _FOREIGN_PICTURES.search(text):
        return False

    found = (_FOREIGN_PICTURES, _FOREIGN_SEEING, _FOREIGN_NOT)
    sentences = re.split(r"[.!?。！？]\s*|\n", text)
    return any(all(pattern.search(each) for pattern in found) for each in sentences)


def sees_nothing(sentence: str) -> bool:
    """Tell whether a sentence says that the judge has no image before it."""
    if _has_any(sentence, _BLIND_CUES) and _BLIND.search(sentence):
        return True

    return _is_blind_abroad(sentence)


def _has_any(text: str, cues: tuple[str, ...]) -> bool:
    lower = lowered(text)
    return any(cue in lower for cue in cues)


def cannot_tell(justification: str) -> bool:
    """Tell whether a justification says that there was nothing to judge: no image was seen."""
    return _NOT_TOLD.search(justification) is not None and sees_nothing(justification)


_NOT_TOLD = re.compile(
    r"\b(?:can(?:no|['’])t|cannot|can[ ]not|could[ ]not|couldn['’]t|unable|impossible"
    r"|not[ ]possible"
    r"|neutral|default|unknown|n/a)\b",
    re.IGNORECASE,
)


def makes_up(sentence: str) -> bool:
    """Tell whether a sentence says that scores are no judgement of these images."""
    if _UNREAL.search(sentence) and _ABOUT_SCORES.search(sentence):
        return True
    return bool(_FOREIGN_UNREAL.search(sentence) and _FOREIGN_SCORES.search(sentence))


def takes_back(sentence: str) -> bool:
    """Tell whether a sentence withdraws what was said before it, or gives it to other images."""
    return _TAKEN_BACK.search(sentence) is not None


# --- Words about the scores as a whole ---

_OF_THE_WHOLE = re.compile(
    r"""
    \b(?:scores|ratings|verdicts?|evaluations?|assessments?|judge?ments?|scored|scoring|rated
      |the[ ](?:above|below|following|foregoing)|rating[ ]scale|-point[ ]scale
      |my[ ](?:answers?|respons\w+|repl(?:y|ies)|output|numbering)
      |(?:these|those|my|such|all|above|following|preceding)[ ](?:\w+[ ]){0,2}
        (?:numbers|values|figures|grades|marks|points)
      |(?:numbers|values|figures|grades|marks|points)[ ](?:above|below|given|here)
      |scale[ ](?:where|in[ ]which|from|of[ ][0-9]|with[ ][0-9]|goes|runs|is|was)
      |everything[ ](?:above|i|here|before|said))\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_HARMLESS_WORDS = frozenset(
    """
    a about above absolutely accompanied according account across after again against aligned
    all along alright also am an analyses analysing analysis analyze analyzed analyzing and any
    are as aspect aspects assess assessed assessing assessment assessments assign assigned
    assigning at awarded balanced based be been being below best better between both breakdown
    brief briefly by can candidate candidates capture captures careful carefully categories
    category certainly clear clearly close closely comments compare compared compares comparing
    comparison complete comprehensive concise conclusion consider considered considering
    considers consistent consistently corresponding course criteria criterion csv decimal
    decision defined definition definitions degree describe described detail detailed details
    determine determined dimension dimensions done each edit edited editing edits effectiveness
    eight eighteen eleven evaluate evaluated evaluates evaluating evaluation evaluations every
    examination examine examined examining explain explained explaining explanation explanations
    extent factor factors fair fairly fifteen final finally findings five focus follow followed
    following follows for form format four fourteen from fulfil fulfill fulfills full fully
    generated gets give given gives giving go going grade grades grading great guidelines has
    have having he her here here's hereby high higher highest how i i'd i'll i'm i've image
    images impartial impression in independent independently indicate indicates individual
    individually inspecting inspection instruction instructions integer integers into is it its
    json judge judged judgement judgements judging judgment judgments just justification
    justifications justified keeping let let's list listed look looked looking low lower lowest
    make makes making mark markdown marks maximum me meets mentioned method methods metric
    metrics mind minimum my nine nineteen noted notes now number numbers numeric numerical
    objective objectively observation observations observed of ok okay on once one opinion or
    order ordered our out overall own per perform performance performed performs picture
    pictures please point points possible present presented proceed proceeding professional
    prompt protocol provide provided providing question rank ranked ranking rankings ranks rate
    rated rates rating ratings read reason reasoning reasons receive received receives reflect
    reflected reflecting reflects regarding relative relevant report represent represents
    request requested required requirement requirements respect respective respectively response
    result resulting results review reviewed reviewing right rubric rules scale scaled score
    scored scores scoring second section see seen separate separately set seven seventeen shall
    short shown side six sixteen so stage stated step strengths strictly structured sub
    subjective subscores success successful successfully such sum summarise summarised
    summarising summarize summarized summarizing summary sums sure table tabular take taken
    takes taking task ten terms than thank thanks that the their them then there therefore these
    they third thirteen this thorough thoroughly those three through thus to together total turn
    twelve twenty two under understood up upon us using valid value values various verdict
    verdicts version versions very view visual visually was way we weaknesses weight weighted
    weighting weights well were what which while whole will with within work would yaml yes your
    """.split()
)
# How harmless remarks begin that then speak of the pictures in any words.
_HARMLESS_OPENING = re.compile(
    r"""
    ^\W*(?:(?:please|kindly|also|so|overall|thus|finally|in[ ]summary|to[ ]summari[sz]e|and|now
      |then|understood|sure(?:[ ]thing)?|certainly|of[ ]course|ok(?:ay)?|alright|all[ ]right|great
      |absolutely|gladly|noted|yes|thank[ ]you|thanks|got[ ]it|perfect)[ ,.!:–—-]+)*
    (?:(?:note|notes?)\b\W*(?:that[ ])?)?
    (?:
      (?:these|those|the|my|all|above|following|final|overall|sub-?|individual|provided|given|of)?
      (?:[ ]?(?:these|the|my|all|above|following|final|overall|sub-?|individual|provided|of))*[ ]?
      (?:scores|ratings|evaluations?|assessments?|judge?ments?|verdicts?|numbers|values)
      (?:[ ](?:above|below|given|provided))?[ ]
      (?:(?:are|is|were|was|have[ ]been|has[ ]been)[ ](?:\w+ly[ ])?
          (?:based|assigned|given|determined|derived|meant|intended|made|calculated|subjective
          |awarded|according|relative)
        |reflects?|represents?|takes?|considers?|captures?|indicates?|shows?|summari[sz]es?|focus
        |prioriti[sz]es?|account|balances?|range|vary|depend)
      | (?:this|these|it|they)[ ](?:reflects?|represents?|takes?|considers?|indicates?|shows?
        |means|ensures?|allows?|gives?|helps?|makes?)
      | (?:here|below|these|following)['’]?s?[ ](?:are|is|you|come|follow)?
      | (?:i|we|let)(?:['’](?:ll|d|s|m|ve))?[ ]
        (?:me[ ]|us[ ]|will[ ]|would[ ]|now[ ]|am[ ]|have[ ]|can[ ])*
        (?:provid\w+|giv\w+|scor\w+|rat(?:e|ed|ing)|evaluat\w+|assess\w*|assign\w*|go|proceed
        |present|compar\w+|summari[sz]\w+|analy[sz]\w+|break|walk|explain|list|judg\w+|look)
      | (?:if[ ]you|feel[ ]free|do[ ]you|would[ ]you|let[ ]me[ ]know|should[ ]you|i[ ]can[ ]also
        |i['’]m[ ]happy|i[ ]hope|hope[ ]this|happy[ ]to)
      | (?:based[ ]on|after|having|considering|given|looking|comparing|with|for|in|among|when
        |taking|judging|evaluating|assessing|examining|reviewing|from)[ ]
      | (?:i|we)[ ](?:have[ ]|will[ ]|['’]ll[ ]|now[ ]|also[ ]|carefully[ ]|would[ ])*
        (?:evaluated?|assess(?:ed)?|compared?|examined?|looked|reviewed?|scored?|rated?|judged?
        |considered?|inspected?|focus(?:ed)?|took|weighed)
      | (?:image|edit|the[ ](?:first|second|third|last|best|worst|highest|lowest|edits?|images?
        |edited|results?|methods?|instruction|source|original))
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Words that may make of numbers something else than the verdict of this judge on these images.
_DOUBTFUL = re.compile(
    r"""
    另一|其他|别人|評者|评审|他の|別の|다른 |
    \b(?:offline|pipeline|par[ ]défaut|por[ ]defecto|otr[oa]s?
      |autres?|anderen?|altr[oi]|inny)\b|друг |
    \b(?:if(?![ ]you)|unless|suppos\w+|assum\w+|imagin\w+|pretend\w*|hypothe\w+|could|might
      |ideal(?:ly)?|perfect[ ](?:edit|image|score|result)\w*|examples?|instance|illustrat\w+
      |demonstrat\w+|demo|samples?|templates?|format|placeholders?|dummy|mock|fake|random\w*
      |arbitrar\w+|made[ -]up|inven\w+|fiction\w*|fictiti\w*|fabricat\w+|hallucinat\w+
      |guess\w*|speculat\w+|estimat\w+|approximat\w+|rough(?:ly)?|expected|expect|target
      |ground[ -]truth|gold|human|raters?|annotators?|reviewers?|graders?|experts?|participants?
      |colleagues?|crowd\w*|people|users?|persons?|gpt[\w.-]*|gemini|claude|llava|qwen\S*|chatgpt
      |llama|previous|earlier|yesterday|ago|week|month|prior|old|initial(?:ly)?|draft|tentative\w*
      |preliminar\w+|provisional\w*|temporar\w+|you[ ](?:sent|gave|provided|said|wrote
      |quoted|listed)|swap\w*|switch\w*|revers\w+|interchang\w+|exchang\w+|mix(?:ed)?[ -]up
      |wrong\w*|mistak\w+|errors?|incorrect\w*|invalid|void|ignor\w+|disregard\w*|discard\w*
      |retract\w*|withdr\w+|back|redo|not|no|never|none|without|cannot|unable|fail\w*|blank|missing
      |another|different|else\w*|other[ ](?:judges?|models?|images?|pictures?|set)|someone|somebody
      |for[ ]reference|reference[ ](?:scores?|ratings?|values)|baseline|paper|published|reported
      |quoted?|cited?|copied|test|filler|default
      |reminder|fill|captions?|vision|example's|typical(?:ly)?|instead|rather|untrust\w*|unreliab\w*|meaningless
      |inverted?|backwards?|opposite|worst|lost|guarantee\w*|verif\w+|confirm\w*|uncertain\w*
      |doubt\w*|unsure|unknown)\b
    | n['’]t\b
    """,
    re.VERBOSE | re.IGNORECASE,
)


def is_doubtful(words: str) -> bool:
    """Tell whether words may make of numbers something else than this judge's own verdict."""
    return _DOUBTFUL.search(words) is not None or _FOREIGN_UNREAL.search(words) is not None


_GIVING_WORDS = (
    _HARMLESS_WORDS | {"had", "output", "only", "earns", "q", "ai", "x", "deserves", "achieves"}
) - set(
    """let let's to can than against from possible previously maximum minimum set through low high
    lower higher best better highest lowest compared comparing relative""".split()
)
_GIVING = re.compile(
    r"\b(?:has|have|gets|receives?|give|gives|gave|giving|assign|assigned|earns?|deserves?)"
    r"[ ](?:it[ ]|this[ ]|an?[ ]|the[ ]|image[ ])*(?:(?:score|rating)s?[ ]of[ ]?|an?[ ]?)?$"
    r"|\ban?[ ](?:score|rating)[ ]of[ ]?$"
    r"|\b(?:rate|score)[ ](?:it|this|the)?[^.;]{0,30}$",
    re.IGNORECASE,
)


_COURTESY = re.compile(
    r"""
    ^\W*(?:(?:please|kindly|and|also|so|next|then|now)[ ,]+)*
    (?:let[ ]me[ ]know|feel[ ]free|thank|thanks|hope|i[ ]hope|ready|done|looking[ ]forward
      |happy[ ]to
      |i['’](?:m|d)[ ](?:be[ ])?(?:happy|glad)|if[ ]you|should[ ]you|would[ ]you|do[ ]you|shall[ ]i
      |could[ ]you
      |you[ ]can|you[ ]may|next|end[ ]of|that['’]?s[ ](?:all|it|my)|that[ ]concludes
      |this[ ]concludes|i[ ]can[ ](?:now[ ]|also[ ])?(?:compute|explain|provide|calculate|continue)
      |(?:upload|send|share|show|provide)[ ](?:me[ ])?(?:the[ ])?(?:next|more)|i[ ]am[ ]ready|how)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ALARMING = re.compile(
    r"""
    \b(?:guess\w*|joke|jok(?:ed|ing)|lied|lying|don['’]?t[ ](?:use|rely|trust|count)
      |do[ ]not[ ](?:use|rely|trust|count)|copied|taken[ ]from[ ](?:the|your|a)[ ](?:paper|prompt
      |example)
      |none[ ]of[ ](?:this|that|these|those)|mean[ ]nothing|grain[ ]of[ ]salt|with[ ]caution
      |blind[ ]to|blind[ ]scor\w+|dummy|fake|random(?:ly)?|arbitrar\w+
      |invented|made[ ](?:\w+[ ])?up[ ](?:the|my|these|numbers|scores)|fallback|placeholder\w*
      |hallucinat\w+|nothing[ ](?:was|to[ ](?:look|see))|captions?[ ](?:only|to[ ]go)
      |only[ ](?:have|received|got|see|saw)[ ](?:the|text|a|broken)|see[ ]only[ ]|thumbnails?
      |filled[ ]in|extrapolat\w+|only[ ][^.\n]{0,30}\barrived|(?:attachments?|uploads?|files?)
        [^.\n]{0,40}\b(?:blank|empty|black|gr[ae]y)
      |(?:to[ ]show|shows?)[ ](?:only[ ])?(?:the|you[ ]the|my)[ ](?:layout|format|form|structure)
      |upload[ ](?:\w+[ ]){0,4}fail\w*|(?:image|vision|visual)[ ]input)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SECOND_THOUGHTS = re.compile(
    r"""
    \b(?:strike|delete|drop|remove)[ ]the[ ](?:last|first|second|third|previous)[ ]
      (?:line|row|entry|score|image)|
    \b(?:oops|ouch|whoops|sorry|apolog\w+|correction|erratum|errata|deduct|subtract|redo|re-do
      |restart
      |start[ ](?:over|again)|wait|hold[ ]on|hmm+|mix(?:ed)?[ -]up|got[ ]mixed|trade[ ]places
      |vice[ ]versa
      |swapp?\w*|exchang\w+|interchang\w+|wrong[ ](?:items?|images?|pictures?|order|set|ones?|way
      |rows?
      |columns?)|order[ ]wrong|too[ ](?:generous|harsh|lenient|strict|high|low)\b|not[ ]right
      |n['’]t[ ](?:look[ ])?right|different[ ](?:picture|image|set|item)s?|should[ ]be[ ]image
      |(?:small|low)(?:er)?[ ](?:numbers?|scores?|values?)[ ]are[ ](?:good|better)
      |refers?[ ]to[ ]the[ ]source|across[ ]the[ ]board|repeated[ ]the[ ]example
      |in[ ]fact[ ]image)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_OF_NUMBERS = re.compile(
    r"\b(?:numbers|values|scores|ratings|points|rows?|columns?|labels?|order)\b"
    r"|^\W*(?:each|every|any)[ ](?:number|value)\b|\bthe[ ](?:list|table)[ ](?:above|below)\b",
    re.IGNORECASE,
)
_VOIDING = re.compile(
    r"\b(?:samples?|filler|fiction\w*|fictitious|void|invalid|null|moot|worthless|meaningless"
    r"|examples?"
    r"|tests?|demos?|drafts?|hypothetical\w*|imaginary|mock|illustrat\w+|template|simulated"
    r"|nothing)\b",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(
    r"\W*(?:(?:all|none|most|nothing|much)[ ]of[ ])?(?:this|that|these|those|they|them|it[ ]all"
    r"|everything)\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:I|me|my|mine|we|our)\b|\bI['’]", re.IGNORECASE)
_OWN_WAYS = re.compile(
    r"\b(?:penali[sz]|ignor|prefer|round|tried|focus|strict|avoid|weigh|consider|review|evaluat"
    r"|assess|judg|compar|examin|inspect)\w*",
    re.IGNORECASE,
)


def speaks_of_numbers(sentence: str) -> bool:
    """Tell whether a sentence speaks of the numbers, the list or the table."""
    return _OF_NUMBERS.search(sentence) is not None


def is_alarming(sentence: str) -> bool:
    """Tell whether a sentence outside all entries may undo them, whatever it speaks of."""
    return _ALARMING.search(sentence) is not None and _COURTESY.match(sentence) is None


_COMMANDS = re.compile(
    r"""
    \W*(?:please[ ]|now[ ]|just[ ]|so[ ])*
    (?:add|take|subtract|deduct|divide|multiply|halve|double|read|swap|exchange|switch|invert|shift
      |reverse|flip|replace|move|treat|count|lower|raise|reduce|increase|strike
      |delete|drop|remove|discard|change|correct)[ ]
    """,
    re.VERBOSE | re.IGNORECASE,
)


def commands(sentence: str) -> bool:
    """Tell whether a sentence tells the reader to do something to the scores."""
    return _COMMANDS.match(sentence) is not None


def is_made_up_by(words: str, *, given: str) -> bool:
    """Tell whether a flag beside scores says they are no verdict: `is_placeholder: true`."""
    denied = given in _DENIED
    if given not in {"0", "1"} and given.replace(".", "", 1).isdigit():
        return False

    if _UNREAL.search(words) or _FLAGGED.search(words):
        return not denied

    if _RECEIVED.search(words):
        return denied

    if given in _FLAGS:
        # Whatever else a flag beside scores says, it may say that they are none.
        return _HARMLESS_FLAG.search(words) is None

    if len(given.split()) > 4:
        return False

    return _FLAGGED.search(given) is not None or (
        _PLAIN_KEY.search(words) is None and is_doubtful(given)
    )


_PLAIN_KEY = re.compile(
    r"\b(?:model|judge|task|category|instruction|prompt|best|worst|winner|rank(?:ing)?|title|name"
    r"|label|id|image|edit|file|path|notes?|status|errors?|message|warning|summary|verdict|method"
    r"|source|answer|response)\b",
    re.IGNORECASE,
)
_FLAGS = frozenset(("true", "false", "yes", "no"))
_HARMLESS_FLAG = re.compile(
    r"\b(?:ties?|tied|winner|best|same|identical|normali[sz]ed|weighted|json|success|done|complete"
    r"|errors?|pass(?:ed)?|changed|edited|followed|compliant|correct|match(?:es)?)\b",
    re.IGNORECASE,
)
_DENIED = frozenset(("false", "no", "0", "none", "null", ""))
_FLAGGED = re.compile(
    r"\b(?:simulated|synthetic|dry[ ]run|demo|sample|example|draft|preliminary|default|template"
    r"|test[ ](?:run|data|mode)|not[ ]final|is[ ]test)\b",
    re.IGNORECASE,
)
_RECEIVED = re.compile(
    r"\b(?:valid|real|genuine|final|success|ok|(?:images?|pictures?|files?)[ ]"
    r"(?:received|seen|visible|viewed|loaded|available|accessible|present|shown|provided)"
    r"|(?:saw|can[ ]see|received|viewed)[ ](?:the[ ])?(?:images?|pictures?|files?))\b",
    re.IGNORECASE,
)


def is_a_guess(remark: str) -> bool:
    """Tell whether a remark beside an image's scores says that they are none."""
    return sees_nothing(remark) or _UNREAL.match(remark.lstrip(" ([")) is not None


def has_second_thoughts(sentence: str) -> bool:
    """Tell whether a sentence behind scores may change them: "Oops, wrong order." """
    return _SECOND_THOUGHTS.search(sentence) is not None and _COURTESY.match(sentence) is None


def closes_well(sentence: str) -> bool:
    """Tell whether a sentence behind the last score leaves the scores as they are.

    It thanks, offers or asks, is about pictures only, or is of a form known to be harmless.
    """
    if is_alarming(sentence) or has_second_thoughts(sentence):
        return False

    words = _WORD.findall(sentence)
    if _POINTS_BACK.match(sentence) and kind_of(sentence) not in {None, Kind.VERDICT}:
        return False

    if max(map(len, words), default=0) < 2 or is_harmless(sentence):
        return True

    if _EXPLAINS.match(sentence) or _OF_NO_IMAGE.match(sentence):
        return not _OF_NUMBERS.search(sentence)

    if is_foreign(sentence):
        return _FOREIGN_COURTESY.search(sentence) is not None

    short = len(words) <= 6
    if _OF_NUMBERS.search(sentence) or (short and _VOIDING.search(sentence)):
        return False

    if _POINTS_BACK.match(sentence):
        return not short and not is_doubtful(sentence) and shows_something(sentence)

    if _FIRST_PERSON.search(sentence):
        return len(words) > 3 and _tells_how(sentence)

    if is_doubtful(sentence):
        return shows_something(sentence)

    return shows_something(sentence) or _NAMES_SOMETHING.match(sentence) is not None


_EXPLAINS = re.compile(
    r"\W*(?:explanation|reason(?:ing)?|rationale|justification|comments?)\W*:", re.IGNORECASE
)


def opens_well(sentence: str) -> bool:
    """Tell whether a sentence ahead of all scores leaves them a verdict on the images shown.

    It announces them, is about what can be seen, or at least neither about the judge nor about
    what it was sent.
    """
    if is_harmless(sentence) or announces(sentence) or shows_something(sentence):
        return True

    if _FIRST_PERSON.search(sentence):
        return _OWN_WAYS.search(sentence) is not None and not is_doubtful(sentence)

    return _OF_INPUT.search(sentence) is None


_OF_INPUT = re.compile(
    r"\b(?:images|pictures|photos|attachments?|files?|messages?|uploads?|links?|pixels|thumbnails?"
    r"|numbers|values|scores|ratings|captions?|vision|arrived|follows|below)\b",
    re.IGNORECASE,
)


def is_foreign(sentence: str) -> bool:
    """Tell whether a sentence may be in another language than English."""
    words = {word.lower() for word in _WORD.findall(sentence)}
    return not words & _ENGLISH or any(not word.isascii() for word in words)


def doubts_one(sentence: str) -> bool:
    """Tell whether a remark on one image may say that its numbers are none: "Skipped." """
    if shows_something(sentence) or is_harmless(sentence):
        return False

    if _FIRST_PERSON.search(sentence) and is_doubtful(sentence):
        return True

    return _OF_NUMBERS.search(sentence) is not None or _OF_FILES.search(sentence) is not None


_OF_FILES = re.compile(
    r"\b(?:files?|upload\w*|attach\w+|load(?:ed|s)?(?![ ]with)|display(?:ed)?|damaged|corrupt\w*"
    r"|thumbnails?|duplicates?|skipped|void|strike|ignore[ds]?|guess\w*|placeholders?|assum\w+"
    r"|provisional\w*|tentative\w*|unseen|cop(?:y|ied))\b",
    re.IGNORECASE,
)


def shows_something(sentence: str) -> bool:
    """Tell whether a sentence names what can be seen in a picture: "halo", "sky"."""
    return _SEEN.search(sentence) is not None


# Words that hardly any sentence in English does without, and that no other language has.
_ENGLISH = frozenset(
    """the of and is are has have with to but by its it this that these those at from there an be
    been were which their they you your thank thanks done best both one two some other than as
    i'm my looks look""".split()
)
_FOREIGN_COURTESY = re.compile(
    r"""
    \b(?:hoffe\w*|danke|Bescheid|gern[e]?|Fragen|espero|gracias|pregunt\w+|ayuda\w*|espère|merci
      |questions|hésitez|spero|grazie|domande|obrigad[oa]|ajud\w+|perguntas|hoop|bedankt|vragen
      |nadziej\w*|dziękuj\w*|pytania|umarım|teşekkür\w*)\b
    | надеюсь|спасибо|вопрос|希望|谢谢|如需|如有|如果您|请告诉|有帮助
    | ありがとう|ご不明|お知らせ|幸いです|감사|도움이|궁금|질문
    | 以上(?:是|为|が|就是)?(?:我|私)?(?:的|の)?(?:评价|评分|打分|評価|採点)(?:です|结果)?[。.]?$
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SEEN = re.compile(
    r"""
    \b(?:(?:back|fore)?grounds?|halos?|colou?r\w*|light\w*|shad\w+|edges?|textur\w+|details?|sharp\w*
      |blur\w*|nois[ey]\w*|artifacts?|artefacts?|sk(?:y|ies)|objects?|the[ ]subjects?|faces?|hands?
      |fingers?|paws?|eyes?|ears?|hair|fur|person|scenes?|regions?|areas?|corners?|pixel\w*|contours?
      |blend\w*|seams?|seamless\w*|styl\w+|composition|poses?|reflect\w+|proportions?|perspective
      |instructions?|clouds?|trees?|water|snow|sand|animals?|dogs?|cats?|fox\w*|birds?|hills?|walls?
      |borders?|patch\w*|shapes?|glow|bright\w*|dark\w*|saturat\w+|contrast|realis\w+|natural\w*|view(?:er)?s?
      |answers?|steps?|facts?)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_OF_NO_IMAGE = re.compile(
    r"\W*(?:no|neither|none[ ]of[ ]the)[ ](?:edited[ ])?(?:image|edit|result)s?[ ]"
    r"(?:gets?|got|is|was|has|achieve[sd]?|reache[sd]|earn(?:s|ed)|deserve[sd]?|follow\w*|keeps?)\b",
    re.IGNORECASE,
)
_NAMES_SOMETHING = re.compile(
    r"\W*(?:the|its|one|two|three|four|some|no|both|several|few|there)[ ]", re.IGNORECASE
)


def _tells_how(sentence: str) -> bool:
    """Tell whether a judge that speaks of itself says at most how it went about it."""
    if not is_doubtful(sentence) or shows_something(sentence):
        return True
    return _OWN_WAYS.search(sentence) is not None


def announces(words: str) -> bool:
    """Tell whether words above scores are known to announce them, and them only."""
    found = [word.lower() for word in _WORD.findall(words)]
    if not _ANNOUNCING_WORDS.issuperset(found):
        return _announces_in_a_form(words) and not is_doubtful(words)

    if _SUPPOSES.match(words):
        return False

    # A few words must say that scores follow; more can only be of them.
    return len(found) > 3 or _HEADS_SCORES.search(words) is not None


def _announces_in_a_form(words: str) -> bool:
    found = _ANNOUNCING.match(words) or _FOREIGN_HEADS.search(words) or _AFRESH.search(words)
    return found is not None


_ANNOUNCING_WORDS = _HARMLESS_WORDS | {"output", "answer", "answers", "suggested", "propose"}
# "Picture this:", "Let S_acc be": harmless words, but not of this verdict.
_SUPPOSES = re.compile(
    r"\W*(?:picture|let)\b(?!['’]s|[ ]me)"
    r"|\W*how[ ](?:sure|certain|confident|likely|many|much|long)\b",
    re.IGNORECASE,
)
_HEADS_SCORES = re.compile(
    r"""
    \b(?:scor\w+|ratings?|rated?|evaluat\w+|assess\w*|judge?ments?|judging|verdicts?|results?
      |breakdown|summary|answers?|output|response|analysis|here|below|follow\w*|images?|edit\w*
      |final\w*|overall|my|i|step|stage|table|json|then|now|so|first|second|third|review|factors?
      |criteria|metrics?|after|sub|conclusion|opinion|decision|grad\w+|report|details|feedback)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_FOREIGN_HEADS = re.compile(
    r"\b(?:puntuaci\w+|puntajes?|calificaci\w+|pontuaç\w+|punteggi\w*|valutazion\w+|Bewertung\w*"
    r"|Punkte"
    r"|Noten|Ergebnis\w*|évaluation\w*|cijfers|oceny|puanlar\w*)\b"
    r"|оцен|балл|分数|评分|得分|打分|スコア|点数|評価|採点|점수|평가",
    re.IGNORECASE,
)


_AFRESH = re.compile(
    r"\b(?:reflection|second[ ](?:thoughts?|look)|reconsider\w*|revis\w+|updated?|correct(?:ed"
    r"|ions?)|adjusted"
    r"|final\w*|review)\b",
    re.IGNORECASE,
)
_ANNOUNCING = re.compile(
    r"""
    ^\W*(?:(?:[^.:;]{0,60}[,.!][ ]+)?)(?:so[ ]|then[ ]|now[ ]|and[ ])*
    (?:here|below|these|the[ ]following|as[ ]follows|(?:i|we)(?:['’](?:ll|d|ve))?[ ]|let(?:['’]s
      |[ ]me)[ ]
      |my[ ]|(?:final|overall|detailed)[ ]|based|after|considering|given|using|in[ ]the[ ]requested
      |as[ ]per|评分|得分|打分|スコア|評価|점수|평가
      |Bewertung\w*|Hier|Punktzahl\w*|voici|aquí|ecco|puntuaci\w+|оценк)
    """,
    re.VERBOSE | re.IGNORECASE,
)


_BEFORE_IMAGES = _HARMLESS_WORDS | set(
    """moving move onto turning turn next regarding concerning last but not least coming come comes
    ahead meanwhile similarly likewise however whereas finally lastly secondly thirdly firstly
    lets time""".split()
)
_AVERAGED = re.compile(r"\b(?:over|total|sums?|weights?|mean|best|highest|lowest)\b", re.IGNORECASE)


def heads_plainly(lead: str) -> bool:
    """Tell whether words before an image's name leave it a heading: "Scores of", "Moving on to"."""
    words = {word.lower() for word in _WORD.findall(lead) if word.isascii()}
    return words <= _BEFORE_IMAGES and not _AVERAGED.search(lead)


def gives(words: str) -> bool:
    """Tell whether words that lead up to a score within a sentence leave it a score."""
    return all(word.lower() in _GIVING_WORDS for word in _WORD.findall(words)) or (
        not is_doubtful(words) and _GIVING.search(words) is not None
    )


def opens_plainly(words: str) -> bool:
    """Tell whether the words before a comma leave what follows a verdict: not "In the tutorial"."""
    found = {word.lower() for word in _WORD.findall(words)}
    if found <= _HARMLESS_WORDS or shows_something(words):
        return True

    return _ELSEWHERE.match(words) is None and not is_doubtful(words)


_ELSEWHERE = re.compile(
    r"\W*(?:in|on|at|from|per|according|under|to|like|as|by|among|of|within|for)[ ]", re.IGNORECASE
)


def speaks_of_scores(sentence: str) -> bool:
    """Tell whether a sentence speaks of the scores as a whole, or of the scoring."""
    return _OF_THE_WHOLE.search(sentence) is not None


def is_harmless(sentence: str) -> bool:
    """Tell whether a sentence about the scores is of a form that leaves them as they are."""
    words = {word.lower() for word in _WORD.findall(sentence)}
    if words <= _HARMLESS_WORDS or _COURTESY.match(sentence):
        return True
    return _HARMLESS_OPENING.match(sentence) is not None and not is_doubtful(sentence)
