"""Scores in running text and lists: under images, under factors, in sentences, in stated order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise

from lmmscore.parsing.lexicon import NO_SCORE
from lmmscore.parsing.names import UNKNOWN, FactorName, ImageName
from lmmscore.parsing.numbers import (
    SCORE_LABEL,
    Number,
    Pair,
    competitors,
    counts,
    entry_fault,
    is_hedged,
    number_at,
    numbers_in,
    outside,
    pairs,
    worth,
)
from lmmscore.parsing.page import Line, Page, Part, followed_by_a_score, lay_out
from lmmscore.parsing.remarks import (
    announces,
    commands,
    gives,
    grounds,
    is_final,
    is_neutral,
    is_no_verdict,
    kind_ahead,
    kind_of,
    leads_astray,
    makes_up,
    opens_plainly,
    sees_nothing,
    takes_back,
    tells_of_the_picture,
)
from lmmscore.parsing.sequences import (
    CONDITION,
    SENTENCE_STOP,
    Listed,
    Sequences,
    undisputed,
    whole_lists,
)
from lmmscore.parsing.text import lowered
from lmmscore.parsing.verdict import QUANTITIES, Cell, FaultKind, Kind, Mark, Said
from lmmscore.scales import Scale

# --- Names and their numbers ---

# In lower case.
_NONE_FOR_ANY = re.compile(r"(?:-|–|—|\?|n/?a|none)[ ]+(?:for|in|on)[ ]")
_NONE_FOR = re.compile(
    r"(?:^|[ ,;:(])(?:an?[ ])?(?:[-–—?]|n/?a|none|nothing|no[ ]score)[ ]+"
    r"(?:for|in|on)[ ]+(?:the[ ])?\Z",
    re.IGNORECASE,
)
# "S_acc took 8 seconds, S_pre …": a verb of its own, and a number.
_OTHER_VERB = re.compile(
    r"[ ]+[^\W\d_][^.;!?\n]{0,40}?[0-9][0-9.]*[^.;!?\n]{0,30},[ ]*(?:and[ ])?\Z"
)
_DIFFERS = re.compile(
    r"(?:[ ](?:points?|marks?))?"
    r"[ ](?:lower|higher|less|more|below|above|better|worse|behind|ahead)\b"
)
# A second number right behind the first: "1 7", "(1) 7", "1: 7".
_ANOTHER_BEHIND = re.compile(r"[ )\]]*[ :=→–—-][ ]*[(\[]?[0-9]")
_DOTTED = re.compile(r"(?P<whole>[0-9]{1,2})\.(?P<part>[0-9]{1,2})\.?[ )]")
_ONLY_SIGNS = re.compile(r"[\W_]*")
_COUNTED_FOR = re.compile(r"[0-9][ ]+[^\W\d_]+[ ]+(?:for|in|on|of)[ ]+(?:the[ ])?\Z")
_GOES_ON = re.compile(r"[\"'”’]?[ ]*(?:[–—-][ ]*)?[^\W\d_]")
_OUT_OF_ITS_TOP = re.compile(r"\A[ ]*(?:/|out[ ]of)[ ]*[0-9]{1,3}")
# Behind an image of which something is told.
_TOLD_OF = re.compile(r"(?:['’]s)?,?[ ]+[a-z]")
_COMPARED = re.compile(
    r"\b(?:than|as|like|unlike|with|to|vs|versus|from|in|of|over|see|tie[ds]?|and|beside)\b"
    r"[\s(]*$",
    re.IGNORECASE,
)
# Behind an image: its score, and what begins an explanation.
_SCORED_ITEM = re.compile(
    r"[ ]*[:=–—-][ ]*[0-9]{1,3}(?:\.[0-9]+)?(?:[ ]*/[ ]*[0-9]+)?(?:[ ]*points?)?[ ]*"
    r"(?:[–—(,;.]|-[ ])[ ]*"
)
_LEADS_TO_A_SUBJECT = re.compile(
    r"\W*(?:(?:the|its|for|on|in|as[ ]for|regarding|concerning|and|here|now|terms[ ]of)\W+)*",
    re.IGNORECASE,
)
_RELATIVE = re.compile(r",?[ ](?:which|who|that)\b")
_SET_AGAINST = re.compile(
    r"\b(?:than|like|unlike|which|as|in|from|with|to|of|over|beside|vs\.?|versus)[ ]"
    r"(?:that[ ]of[ ])?(?:the[ ])?(?:[^\W\d_]+[ ])?\Z",
    re.IGNORECASE,
)
_ITEM_JOINT = re.compile(r"[ ]*(?:[:=→–—(|]|-[ ]|gets\b|[0-9])")
_WORDS = re.compile(r"[^\W\d_]+[ ][^\W\d_]+")
_GOES_ON_IN_WORDS = re.compile(r"[ ](?!cannot\b|could\b|can\b|not\b|was\b|and\b)[a-z]{3,}[ ][a-z]")
_ONE_TO_TEN = "one|two|three|four|five|six|seven|eight|nine|ten"
# "(7)", "two": all that a line has behind a name.
_SCORE_AT_END = re.compile(
    r"(?:[(\[][0-9]{1,3}(?:\.[0-9])?(?:[ ]?/[ ]?[0-9]{1,3})?[)\]]"
    rf"|\b(?:{_ONE_TO_TEN}))\W*\Z",
    re.IGNORECASE,
)
_LISTS_MORE = re.compile(r"[ ]*[,;/|][ ]*(?:and[ ])?(?:the[ ])?(?=.)")
_WORD_AT_END = re.compile(rf"\b(?:{_ONE_TO_TEN})\W*\Z", re.IGNORECASE)
_PASSED_OVER = re.compile(rf"(?:^|\W){NO_SCORE}", re.IGNORECASE)
_LEFT_OUT = re.compile(rf"\W*{NO_SCORE}\W*\Z", re.IGNORECASE)
_LONGEST_NUMBER = 16
_LONGEST_HEADING = 60
_MANY_NAMES = 3
_OWN_NUMBER = re.compile(r"(?P<sign>[:=][ ])?(?<![\w.])(?P<number>[0-9]{1,2})[.)][ ]*\Z")
_HEAD_OF_FACTOR = re.compile(
    r"\W*(?:factor|criterion|metric|aspect|dimension)?\W*(?:\d*|(?:[a-l]|[ivx]{1,4})(?=[).]))\W*",
    re.IGNORECASE,
)

# --- Lists under images, and sentences ---

_FULL_STOP = re.compile(r"[.!?][ ]+")
_NUMBER_IN_BRACKETS = re.compile(r"[(\[][ ]*[0-9]{1,2}[ ]*[)\]]\W{0,4}\Z")
_IN_BRACKETS = re.compile(r"[ ]*[(\[][^()\[\]\n]{1,120}[)\]]")
# "(ranks)", "(weighted parts)"; not "(average)", which says how good it is, nor "(ranked first)".
_ONLY_A_BRACKET = re.compile(
    r"[ ]*[(\[](?P<words>[^\W\d_]+s|(?:\w+[ ])?weighted(?:[ ][^\W\d_]+){0,2})[)\]]", re.IGNORECASE
)
# Behind an image, up to its number.
_GIVEN_TO_IMAGE = re.compile(
    r"[ ]*(?:[:=–—-]|(?:gets?|got|has|had|scored?|received)\b)[ ]*(?:an?[ ])?|['’]s[ ]"
)
_LABEL_ENDS = re.compile(r"(?::|[–—]|\s-)\s*$")
# "Image 3 loses 4 points in realism": how many are missing, not how many there are.
_LOST = re.compile(
    r"\b(?:los(?:es?|ing|t)|costs?|gain\w*|deduct\w*|drop\w*)[ ](?:it[ ])?\Z", re.IGNORECASE
)
_BEFORE_A_LABEL = re.compile(r"[0-9](?:[ ]?/[ ]?[0-9]+)?[)\]]?[ ]+(?:for|of|in)[ ]+(?:the[ ]+)?\Z")
_BEFORE_A_COLON = re.compile(r"[0-9](?:[ ]?/[ ]?[0-9]+)?[ ]*(?::|=|→)[ ]*\Z")
# The name of an image may take in the bracket that closes behind it.
_CLOSED_BEHIND = re.compile(r".?[ ]*[)\]]")
_BEFORE_A_BRACKET = re.compile(
    rf"(?:[0-9](?:[ ]?/[ ]?[0-9]+)?[)\]]?|\b(?:{_ONE_TO_TEN}))"
    r"[ ]*[(\[][ ]*\Z",
    re.IGNORECASE,
)
# "With 9 for quality, Image 3 is done."
_OPENS_A_PHRASE = re.compile(
    r"(?:and[ ]|but[ ])?(?:with|at|having|scoring|earning|receiving|getting|given|despite|mit|bei"
    r"|avec|con|com|met|med|su?|с)[ ]",
    re.IGNORECASE,
)
_COMPARED_BEHIND = re.compile(
    r"\b(?:than|like|unlike|compar\w+|versus|vs|see|cf|as|match\w*|similar|same|better|worse)\b",
    re.IGNORECASE,
)
_GIVEN_BELOW = re.compile(
    r"[(\[]?(?:or|penalty|deduction|bonus|adjust(?:ed|ment)?|minus|plus|correction|update[d]?"
    r"|final(?:ly)?|now|revised(?:[ ]to)?|raised[ ]to|lowered[ ]to"
    r"|changed[ ]to|corrected(?:[ ]to)?|rather|actually|no|better|score|rating)?[ ]*[:,]?[ ]*"
    r"(?P<value>[0-9]{1,3}(?:\.[0-9]{1,3})?)(?:[ ]*/[ ]*[0-9]{1,3})?[)\].]?[ ]*",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(r"(?:so|therefore|thus|hence)\b", re.IGNORECASE)
_LEADS = re.compile(
    r"""
    (?:[\s\W_]|\b(?:i|we|give|gives|gave|given|it|its|an?|the|this|would|assign|assigned|rate
      |rated|with
      |and|scores?|scored|rating|ratings|has|gets|receives|as|for|of|is|are|my|so|therefore|thus
      |hence
      |but|still|earns|only|just|strong|solid|clear|firm|fair|good|weak|middling|mediocre|decent|poor
      |low|high|perfect|excellent|full|(?<=,[ ])by[ ]contrast(?=,)
      |overall|here|breakdown|sub|evaluation|factors?|also|then|finally|its|n/?a|none|null)(?![\w]))*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CLAUSE_BEFORE = re.compile(r"[.;!?]\s+|,\s+(?=[^,]*$)")
_OTHER_NAME = re.compile(r"[ ]*[^\W\d_][^\d:;.!?()\n]{0,50}[ ]?\(")
# "You said S_acc should be 8", "the source photo has", 'e.g. "': not what this judge gives.
_SOMEONE_SAID = re.compile(
    r"\b(?:some|many|most|few|other)[ ](?:\w+[ ]){1,2}(?:would|might|may|could)[ ]"
    r"(?:rate|give|score|say|put|assign)\b"
    r"|\b(?:you|they|he|she|someone)[ ](?:said|say|wrote|claim\w*|suggest\w*|gave|asked)\b"
    r"|\b(?:source|original|input|unedited|originalbild|ausgangsbild)"
    r"(?:[ ](?:image|photo(?:graph)?|picture)\b[^.\n]{0,20})?[ ]"
    r"(?:has|gets?|scores?|receives?|earns?|erhält|bekommt|obtient|reçoit|recibe|obtiene)\b"
    r"|^[ ]*def[ ]\w+\("
    r"|\be\.g\.[ ]*[\"“(]*\Z",
    re.IGNORECASE,
)
# "Of the 40 points, 10 go to accuracy, …"
_SHARED_OUT = re.compile(
    r"\b(?:of|from)[ ](?:(?:the|all|these|a|my)[ ])?(?:total[ ](?:of[ ])?)?"
    r"(?:[0-9]{1,3}|hundred|forty)[ ](?:points|marks)\b",
    re.IGNORECASE,
)
_WOULD_GET = re.compile(
    r"\bwould(?:[ ]have)?[ ](?:merit|deserve|earn|get|receive|be|score)\w*\b[^.;!?\n]*\Z",
    re.IGNORECASE,
)
_IF_BEHIND = re.compile(r"[ ,]*(?:if|had|were|unless)\b", re.IGNORECASE)
# "the previous picture", "the one above": another image than the one that is spoken of.
_ANOTHER_ONE = re.compile(
    r"""
    (?P<compared>\b(?:than|with|to|from|like|unlike|as[ ]in|as|vs\.?|versus|als|wie|que|comme|beats
      |matches|equals|surpass(?:es)?|exceeds|outdoes|outperforms|over|against|above)[ ])?
    (?:\b(?:the|its|that|this)[ ])?
    (?:\b(?:previous|preceding|prior|earlier|other|next|neighbou?ring|adjacent)[ ]
        (?:edited[ ])?(?:picture|image|photo|edit|one|candidate|result|version|method|entry)\b
      |\b(?:one|image|picture|photo|edit)[ ](?:above|before|below)\b|\bpredecessor\b
      |\bfirst[ ]of[ ]the[ ](?:two|three|pair)\b
      |\b(?:vorige|vorherige|vorangehende|andere|obige|nächste)[nrs]?[ ]
        (?:Bild|Variante|Ergebnis|Bearbeitung|afbeelding)\b
      |\b(?:image|photo|édition|retouche|version)[ ](?:précédente|d['’]avant|suivante)\b
      |\b(?:imagen|edición|imagem|edição)[ ](?:anterior|previa|prévia)\b|\bla[ ](?:anterior|otra)\b
      |\bl['’]autre\b|\bla[ ]précédente\b|\bimmagine[ ]precedente\b|\bl['’]altra\b|\ba[ ]outra\b
      |\bпредыдущ\w+|\bдруг(?:ое|ая|ом)[ ]|\bpoprzedni\w*|\bönceki\b|\bföregående\b
      |[上前另]一[张幅]|上图|[前他上]の画像|もう一方|이전[ ]이미지|다른[ ]이미지|앞의)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ASKS = re.compile(
    r"(?:would|shall|should|do|does|could|can|may|is|are|what|which|how|why|did)\b", re.IGNORECASE
)
# "Editing accuracy confidence: 5/10" is no score of the accuracy.
_OTHER_LABEL = re.compile(
    r"[ ]+(?!(?:sub-?)?(?:scores?|ratings?|grades?|marks?|values?|points?|verdict)\b)"
    r"[^\W\d_]+(?:[ ][^\W\d_]+){0,2}[ ]*[:=][ ]*",
    re.IGNORECASE,
)
_STRANGE_LABEL = re.compile(r"[^\W\d_][^\d\n]{0,40}?(?:[:=|→]|[ ][–—-])[ ]*\Z")
# "Therefore, the score would be 8 for …": nothing else has to be so for that.
_WOULD_BE = re.compile(
    r"(?:(?:so|thus|therefore|hence|overall|consequently|accordingly|in[ ]summary|in[ ]conclusion"
    r"|(?:given|considering|based[ ]on)[ ](?:this|that|these|all[ ](?:this|these|that)))[ ,]*)?"
    r"(?:(?:the|its|my)[ ])?(?:overall[ ]|final[ ]|output[ ])?(?:scores?|ratings?)"
    r"(?:[ ]for[ ](?:this|the)[ ]image)?[ ](?:would|could)[ ]be",
    re.IGNORECASE,
)
_ON_CONDITION = re.compile(
    r"\b(?:if|unless|without|were|had|otherwise|but[ ]for|instead|except|provided|as[ ]long)\b",
    re.IGNORECASE,
)
# "With S_acc = 10 … the overall score would be 10."
_RESULTS_IN = re.compile(
    r"[^.\n]{0,60}\b(?:overall|total|sum|score|result|S_all)\b[^.\n]{0,20}\bwould\b", re.IGNORECASE
)
_REACHES = re.compile(
    r"[^.\n]{0,20}\b(?:it|S_all|the[ ](?:overall|total|sum))\b[^.\n]{0,20}"
    r"\b(?:reaches|gives|yields|becomes|equals|is)\b",
    re.IGNORECASE,
)
_ORNATE_NUMBER = re.compile(r"(?<!\w)[—–=*~#-]{1,3}[ ]?[0-9]{1,2}[ ]?[—–=*~#-]{1,3}(?!\w)")
_NUMBERED = re.compile(r"[,;.|][ ]*\(?[0-9]{1,2}[.)][ ]*\Z")
# A sentence between a name and its symbol.
_REASONS = re.compile(r"[ ]*:(?:[ ]+[^\s:;]+){1,80}(?<=[.!])[ ]+")
_CLAUSE_ENDS = re.compile(r"[,;:.)]")
_LABEL_AMID = re.compile(
    r"[.;!?][ ]+(?=[^.;:\n]{0,60}(?:[A-Za-z]|[=#~–—-]{2}))[^.;:\n]{1,60}:(?=[ ])"
)
_ITS = re.compile(r"[ ]*[,;–—-]?[ ]*(?:and[ ]|but[ ]|while[ ]|whereas[ ]|yet[ ])?its[ ]+")
# A bracket that is still open, and words in it.
_UNCLOSED = re.compile(r"\([^()]*[^\W\d_]{2,}[^()]*\Z")
# What leads to an image that another is compared with.
_PASSING = re.compile(
    r"\b(?:but|than|unlike|as[ ](?:in|with|for)|like|contrast[ ]to|compared[ ](?:to|with)|while"
    r"|whereas|although|though|and|of|to|with|from|over)[ ](?:the[ ])?\Z",
    re.IGNORECASE,
)
_OPENS_SENTENCE = re.compile(r"[.;!?][ ]+(?:\w+[ ]+)?$")
_BEFORE_LABEL = re.compile(r"[ ]*(?:for|of|to|goes[ ]to)?[ ]*[(\[]?[ ]*")
_FOR_ONE = re.compile(r"[ ]*(?:for|of|to)[ ]+(?:the[ ]+)?(?P<label>\w{1,12})[ ]*(?:[,;.)]|$)")
# Between a factor with its number before it, and the image that both are of.
_NAMES_ITS_IMAGE = re.compile(
    r"[ ]*[)\]]?[ ]*[,(–—-]?[ ]*(?:(?:of|for|in|on)[ ]+(?:the[ ])?)?", re.IGNORECASE
)
# What ends an entry: then an image right behind a number is its label.
_LABELLED = re.compile(r"[ ]*[)\]]?[ ]*(?:[,;|/.]|and\b|$)")
_BARE_LABEL = re.compile(r"[(\[]?[0-9]{1,2}[)\]]?[ ]*(?:[–—:=*-]+[ ]*)?\Z")
_NUMBER_FOR = re.compile(r"[0-9]\s*(?:for|in|on)\s*\Z")
_IN_VAIN = re.compile(
    rf"[ ]*\([ ]*(?:[-–—?]|{NO_SCORE})?[ ]*\)|[ ]*(?:\.{{2,}}|…)|[ ]{NO_SCORE}"
    r"|[ )]*(?:\([^()\n]{0,30}\)[ ]*)?(?:[:=|→–—0-9]|-[ ]|(?:is|gets|of|as|at|scores?|rated)\b[ ]*"
    rf"(?:[-–—?]|not\b|{NO_SCORE}|\W*\Z))",
    re.IGNORECASE,
)

# --- A number below the name it belongs to ---

_ONE_AND_A_SCORE = re.compile(r"1[ ]*[ :=→–—-][ ]*[0-9]{1,3}(?:\.[0-9]+)?[ ]*")
# Behind a factor that an explanation mentions; not "S_pre...7", "S_pre (max. 10); score: 7".
_AMID_WORDS = re.compile(rf"[\"'”’)]?(?!,[ ](?:{SCORE_LABEL})[ ]*[:=])(?:,?[ ]+[a-z]|[.,;][ ])")
_LABEL_END = re.compile(rf"[)\]*_ ]*(?:(?:{SCORE_LABEL})s?[ ]*)?:[ ]*", re.IGNORECASE)
_LABEL_IN_WORDS = re.compile(r"[ ]*(?:\([^()\n]{0,40}\)[ ]*)?:[ ]+[^\W\d_]+[ ][^\W\d_]")
_TWO_WORDS = re.compile(
    r"[^\W\d_]{2,}\W+[^\W\d_]{2,}\W|[\u3040-\u30ff\u4e00-\u9fff]{2,}[「『“《\"]"
)
_CLAUSE_END = re.compile(r"[.;!?][ ]")
# "quality: First: 10/10": whose number it is, the label says.
_LABEL_BEFORE = re.compile(r"[\w)][ ]*[:=][ ]*\Z")
# Where there is only one image, a label may be the score's own, but not this one.
_LABEL_OF_OTHERS = re.compile(
    r"\b(?:overall|total|average|mean|combined|human|previous|source|original)\b[^.:=\n]{0,20}"
    r"[:=][ ]*\Z",
    re.IGNORECASE,
)
_AT_THE_END = re.compile(
    r"(?:^|[.!?:;,=→(\[–—-]|\b(?:scor\w*|rat(?:e|ed|ing)|give[sn]?|deserves|earns|gets|receives)\b"
    r"[^.\n0-9]{0,30})[ ]*(?P<value>[0-9]{1,3}(?:\.[0-9]{1,3})?)[ ]*(?:/|out[ ]+of)[ ]*"
    r"(?P<top>[0-9]{1,3})[ ]*[)\].!]*$",
    re.IGNORECASE,
)
_I_GIVE = (
    r"(?:I|we)(?:[ ]would|['’]d)?[ ](?:(?:give|rate|score|assign|award)(?:[ ](?:it|this))?"
    r"|(?:settled?|decided?)[ ](?:on|for)|went[ ]with|arrived?[ ]at)(?:[ ]an?)?"
)
# "… Score: 8/10.", "… Therefore I give 7.": but not "Overall score: 8."
_GIVEN_AT_THE_END = re.compile(
    rf"(?:(?:^|[.,!?;:(–—→-][ ]*|\b(?:my|the|sub-?|this)[ ])(?:{SCORE_LABEL})"
    r"[ ]*(?:[:=–—-]|(?<=[ ])(?:of|is|von|de|di)\b|(?<=[ ])(?=[0-9]))"
    rf"|\b{_I_GIVE}|\b(?:so|hence|thus|therefore)[ ]*[:,]?(?:[ ]*{_I_GIVE})?)"
    r"[ ]*(?P<value>[0-9]{1,3}(?:\.[0-9]{1,3})?)(?:[ ]*(?:/|out[ ]of)[ ]*[0-9]{1,3})?[ ]*[)\].!]*$",
    re.IGNORECASE,
)
# "… I settled on 6.", a sentence of its own.
_I_GIVE_AT_THE_END = re.compile(
    rf"(?:^|[.!?][ ]){_I_GIVE}[ ](?P<value>[0-9]{{1,3}}(?:\.[0-9]{{1,3}})?)"
    r"(?:[ ]*(?:/|out[ ]of)[ ]*[0-9]{1,3})?[ ]*[)\].!]*$",
    re.IGNORECASE,
)
_ARROW = r"(?:→|⇒|➜|➔|➡|->|=>)"
# "… The suit matches. 9", "… The rug is gone. → 4", "… It floats → 4": not "see fig. 9".
_CLOSING = re.compile(
    r"(?:(?:\b(?!(?:abb|approx|art|ca|cf|ex|fig|figs|img|max|min|no|nos|nr|num|pos|pp|ref|sec|tab"
    r"|vol|vs)\.)[^\W\d_]{2,20}[)\"'”’]{0,2}[.!?][)\"'”’]?[ ]+|[。！？][ ]*)"
    rf"(?:{_ARROW}[ ]*|[–—-][ ]+|\()?|(?P<arrow>{_ARROW})[ ]*)"
    r"(?P<value>[0-9]{1,3}(?:\.[0-9]{1,3})?)[ ]*[).!。]*$",
    re.IGNORECASE,
)
_LONGEST_CLOSING = 32
_FEW_WORDS = 2
_SUPPOSES = re.compile(r"\b(?:would|could|should|might|may|perhaps|maybe)\b", re.IGNORECASE)
# "S_acc: not scored vs. 3/10", "S_acc: – vs. 3/10", "S_acc   —   3/10"
_DENIED = re.compile(
    rf"\W*{NO_SCORE}|[ :]*[-–—?]+[ ]*(?:vs\b|versus\b|and\b|[/,;&])|[ )\]]*[ ]{{2}}[-–—?]+[ ]{{2}}",
    re.IGNORECASE,
)
# Not "Overall score:", nor "Final score:", which may be the sum of all factors.
_OWN_LABEL = re.compile(
    r"(?:my|sub-?|the)?[ ]*"
    r"(?:scores?|ratings?|grade|points|marks?|value|hence|therefore|thus|评分|得分|分数)"
    r"[ ]*(?:\([^()\n]{0,40}\)[ ]*)?(?:[:=]|\bis\b|[–—-](?=[ ]))[ ]*",
    re.IGNORECASE,
)

# --- Lists under factors ---

_SAID_TO_BE_MISSING = re.compile(rf"\b{NO_SCORE}", re.IGNORECASE)


@dataclass(slots=True)
class _Section:
    """What has been said in a section so far."""

    given: dict[tuple[str, int | None], int] = field(default_factory=dict)
    """The line on which each factor was named."""
    closed: bool = False
    certain: int | None = None
    """The last line of which it is certain that it belongs here, once the section is closed."""

    def close(self, certain: int) -> None:
        """End the section: nothing behind that line is certain."""
        self.closed = True
        if self.certain is None or certain < self.certain:
            self.certain = certain


@dataclass(slots=True)
class _SectionContents:
    """Where the lines of a section begin that name each factor, and those that score one."""

    named: dict[str, set[int]] = field(default_factory=dict)
    scored: set[int] = field(default_factory=set)
    """Two at most: it matters only whether there is another."""


class Prose:
    """Reads a page's lines."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.text = page.text
        self.names = page.names
        self.n = page.n
        self.only = page.names.only
        self.unplaced = False
        """Whether scores were found that are said of no image in particular."""
        self.mentioned: list[tuple[Cell, Fraction]] = []
        """Numbers that are said of an image, but not as a verdict."""
        self.drafts: set[Kind] = set()
        """The kinds of what was found and is no verdict."""
        self._pairs = [self._factor_pairs(line) for line in page.lines]
        self._drop_section_numbers()
        self._drop_counts()
        self._drop_labels()
        self._closings = self._closing_numbers()
        """Where bare numbers stand that close the entries they are the scores of, by line."""
        self._above: list[str | None] = []
        """For each line, the last factor above that stands alone, as a heading does."""
        self._asides: set[int] = set()
        """Lines under a factor that only mention another: "Visual quality is another matter."."""
        self._unowned: set[int] = set()
        """Lines under a factor without a score that may mention another, or be its entry."""
        self._heads = self._heading_factors()
        self._images = [self._image_pairs(line, index) for index, line in enumerate(page.lines)]
        self._sequences = Sequences(page, self._pairs)
        self._tuples = self._sequences.by_line()
        for index in self._tuples:
            self._pairs[index] = []

        scores = [
            len(found) or len(images) or int(index in self._tuples)
            for index, (found, images) in enumerate(zip(self._pairs, self._images, strict=True))
        ]
        lay_out(page, scores)
        self.entries = [count > 0 for count in scores]
        self._sections: dict[int, _Section] = {}
        self._contents: dict[int, _SectionContents] = {}

    def _drop_section_numbers(self) -> None:
        """Drop numbers that may only label the names behind them: `3.1 Accuracy`, "1 – Accuracy".

        A bare number before a name is its score where all lines go that way, and not where another
        has its number behind the name, or where the numbers count.
        """
        leading = [
            index
            for index, line in enumerate(self.page.lines)
            if self._leads_with_a_number(line, index)
        ]
        if not leading:
            return

        outline = self._outline()
        for index in leading:
            if self._pairs[index][0].mark.span[0] in outline:
                self._pairs[index] = self._pairs[index][1:]
        if outline:
            return

        labels = [self._pairs[index][0] for index in leading]
        counted = _counts_up([pair.value for pair in labels]) or all(
            self.names.number_of(pair.name.key) == pair.value for pair in labels
        )
        if counted or any(map(self._has_its_number_behind, range(len(self._pairs)))):
            for index in leading:
                self._pairs[index] = self._pairs[index][1:]

    def _outline(self) -> set[int]:
        """Return where numbers stand that count what an outline has under each of its numbers:
        `1.1 Accuracy`, `1.2 Realism`, whatever comes second elsewhere."""
        dotted = [_DOTTED.match(self.text, line.head, line.end) for line in self.page.lines]
        found = [match for match in dotted if match is not None]
        parts: dict[str, list[int]] = {}
        for match in found:
            parts.setdefault(match["whole"], []).append(int(match["part"]))

        counts = any(len(part) > 1 and part == sorted(set(part)) for part in parts.values())
        return {match.start() for match in found} if counts else set()

    def _leads_with_a_number(self, line: Line, index: int) -> bool:
        """Tell whether a bare number stands before the first name of a line, with nothing but
        signs between them."""
        found = self._pairs[index][:1]
        if not found or not found[0].backward or found[0].name != (line.named or line.factors)[0]:
            return False
        joint = self.text[found[0].mark.span[1] : found[0].name.start]
        return _ONLY_SIGNS.fullmatch(joint) is not None

    def _has_its_number_behind(self, index: int) -> bool:
        """Tell whether a line is that of one name, with its number behind it."""
        found = self._pairs[index]
        return len(found) == 1 and not found[0].backward

    def _drop_counts(self) -> None:
        """Drop numbers that only count something where the score has a line of its own below:
        "Preservation: 1 of the 3 boats was lost.", and there "Score: 6"."""
        for index, (line, below) in enumerate(pairwise(self.page.lines)):
            found = self._pairs[index]
            if len(found) != 1 or found[0].mark.kind is not FaultKind.AMBIGUOUS:
                continue

            number = number_at(self.text, found[0].mark.span[0], line.end)
            label = _OWN_LABEL.match(self.text, below.head, below.end)
            scored = label is not None and number_at(self.text, label.end(), below.end) is not None
            if scored and number is not None and counts(self.text, number, line.end):
                self._pairs[index] = []

    def _drop_labels(self) -> None:
        """Drop the number of the only image where it stands before the scores, and one is missing:
        "Accuracy – 1", "Quality – 1 7", "Realism – 1 3"."""
        labelled = [
            (index, pair)
            for index, found in enumerate(self._pairs)
            for pair in found
            if self.n == 1 and pair.value == 1 and not pair.backward
        ]
        behind = [_ANOTHER_BEHIND.match(self.text, pair.mark.span[1]) for _, pair in labelled]
        fewest = 1 if len(labelled) == sum(map(len, self._pairs)) else 2
        if sum(each is not None for each in behind) >= fewest:
            for index, _ in labelled:
                self._pairs[index] = [pair for pair in self._pairs[index] if pair.value != 1]

    def _closing_numbers(self) -> dict[int, int]:
        """Return where entries end in a bare number, where they usually do: "Quality: Good fluff on
        the trim. → 8". Numbers that may count something are none."""
        opened = [
            line
            for line, found in zip(self.page.lines, self._pairs, strict=True)
            if line.factors and line.factors[0].start - line.head < 3 and not found
        ]
        closed: dict[int, re.Match[str]] = {}
        keys: set[str] = set()
        for line in opened:
            tail = max(line.factors[-1].end, line.end - _LONGEST_CLOSING)
            closing = _CLOSING.search(self.text, tail, line.end)
            if closing is not None and self._may_close(line, closing):
                closed[line.start] = closing
                keys.add(line.factors[0].key)

        if len(keys) < 2 or 2 * len(closed) < len(opened):
            return {}
        if _counts_up([Fraction(closing["value"]) for closing in closed.values()]):
            return {}
        return {start: closing.start("value") for start, closing in closed.items()}

    def _may_close(self, line: Line, closing: re.Match[str]) -> bool:
        """Tell whether a bare number is a sentence of its own, or an arrow leads to it from one:
        not "Rank → 4", "could be → 4"."""
        if closing["arrow"] is None:
            return True

        place = closing.start("arrow")
        words = self.text[line.factors[0].end : place]
        if len(words.split()) <= _FEW_WORDS or _SUPPOSES.search(words):
            return False
        return not (is_no_verdict(words) or is_hedged(self.text, line.head, place))

    def _begins(self, line: Line, image: ImageName) -> int:
        """Return where the name of an image begins, with its own number before it: "4. Image 4"."""
        number = _OWN_NUMBER.search(self.text, max(line.head, image.start - 8), image.start)
        own = number is not None and (int(number["number"]),) == image.positions
        if number and number["sign"] and _TOLD_OF.match(self.text, image.end, line.end):
            # "S_acc: 3. Image 3 does it better": that is a score.
            return image.start
        return number.start() if number is not None and own else image.start

    def _scale(self, name: FactorName) -> Scale:
        return self.names.factor(name.key).scale

    def _factor_pairs(self, line: Line) -> list[Pair[FactorName]]:
        if not line.factors or self.page.in_table(line):
            return []

        named = [(self._begins(line, image), image.end) for image in line.images]
        taken = [*named, *self.page.numbering]
        found = pairs(
            self.text, line.head, line.end, line.named or line.factors, self._scale, taken
        )
        denied = _NONE_FOR_ANY.search(lowered(self.text), line.head, line.end)
        if denied and any(self._is_denied_before(line, factor) for factor in line.factors):
            return []

        own = [
            pair for pair in found if not pair.name.modified and not self._is_supposed(line, pair)
        ]
        left = self._leaning_on_none(line, own)
        return [self._of_image_behind(line, left[0])] if len(left) == 1 else left

    def _of_image_behind(self, line: Line, pair: Pair[FactorName]) -> Pair[FactorName]:
        """Return a pair as one of the image that is named right behind it: "7 — S_acc, Image 2"."""
        if self.n == 1 or not pair.backward or any(i.start < pair.start for i in line.images):
            return pair

        behind = next((image for image in line.images if image.start >= pair.name.end), None)
        if behind is None or not _NAMES_ITS_IMAGE.fullmatch(self.text, pair.name.end, behind.start):
            return pair

        whole = len(behind.positions) == 1 and _LABELLED.match(self.text, behind.end, line.end)
        name = replace(pair.name, position=behind.positions[0] if whole else UNKNOWN)
        return replace(pair, name=name)

    def _is_supposed(self, line: Line, pair: Pair[FactorName]) -> bool:
        """Tell whether a number is what would be given: "It would merit a judgement of 4 if …"."""
        if pair.mark.kind is not FaultKind.AMBIGUOUS:
            return False

        if not _IF_BEHIND.match(self.text, pair.end, line.end):
            return False
        return _WOULD_GET.search(self.text, line.head, pair.start) is not None

    def _is_denied_before(self, line: Line, factor: FactorName) -> bool:
        """Tell whether a name has no number where its number stands: "— for S_acc, 5 for S_pre"."""
        before = max(line.head, factor.start - 16)
        return _NONE_FOR.search(self.text, before, factor.start) is not None

    def _leaning_on_none(self, line: Line, found: list[Pair[FactorName]]) -> list[Pair[FactorName]]:
        """Return the pairs without those that lean on the verb or the unit of what is no score.

        No number is one in "S_acc takes 4 parts, S_pre 3", in "8 minutes for S_acc, 7 for S_pre",
        and in "S_acc 8, S_pre 7, S_qua 9 are the weights".
        """
        found = [pair for pair in found if not self._tells_a_difference(line, pair, found)]
        if len(found) > 2 and self._goes_on_otherwise(line, found[-1]):
            return []

        paired = {pair.name.start for pair in found}
        for factor, following in pairwise(line.factors):
            if factor.start in paired:
                continue
            if _OTHER_VERB.match(self.text[factor.end : following.start]):
                return self._not_bare_from(factor.start, found)

        if found and self._goes_on_otherwise(line, found[0]):
            return self._not_bare_from(found[0].end, found)

        if found and found[0].backward and line.factors[0].start < found[0].start:
            before = max(line.head, line.factors[0].start - 40)
            if _COUNTED_FOR.search(self.text, before, line.factors[0].start):
                return []

        return found

    def _tells_a_difference(
        self, line: Line, pair: Pair[FactorName], found: Sequence[Pair[FactorName]]
    ) -> bool:
        """Tell whether a sentence behind a score only says by how much it differs: "S_real 4. Its
        realism is two points lower"."""
        if pair.mark.value is not None or not _DIFFERS.match(self.text, pair.mark.span[1]):
            return False

        return any(
            each.name.key == pair.name.key
            and each.end <= pair.start
            and SENTENCE_STOP.search(self.text, each.mark.span[1], pair.start)
            for each in found
        )

    def _goes_on_otherwise(self, line: Line, pair: Pair[FactorName]) -> bool:
        """Tell whether words that make its number no score follow a pair."""
        refused = pair.mark.kind is FaultKind.AMBIGUOUS
        return refused and _GOES_ON.match(self.text, pair.end, line.end) is not None

    def _not_bare_from(
        self, place: int, found: Sequence[Pair[FactorName]]
    ) -> list[Pair[FactorName]]:
        return [pair for pair in found if pair.start < place or not self._is_bare(pair)]

    def _is_bare(self, pair: Pair[FactorName]) -> bool:
        """Tell whether nothing but a space joins a name to the number behind it."""
        if pair.backward or pair.bracketed:
            return False
        return self.text[pair.name.end : pair.mark.span[0]].isspace()

    def _image_pairs(self, line: Line, index: int) -> list[Pair[ImageName]]:
        """Return the images that are given a number, where that can be of one factor only."""
        if not line.images or self.page.in_table(line):
            return []

        factor = self._factor_of_images(line, index)
        if factor is None:
            return []

        if self.only is None and not line.factors and line.images[0].start > line.head + 6:
            return []

        lead = self.text[line.head : line.images[0].start]
        if self.n == 1 and (lead.strip(" (*[") or _COMPARED.search(lead)):
            # Where one image was shown, another that is mentioned is not scored.
            return []

        scale = self.names.factor(factor).scale
        mentioned = not line.factors or self._only_mentions(line)
        start = line.start if mentioned else line.factors[0].end
        images = [image for image in line.images if image.start >= start]
        found = pairs(self.text, start, line.end, images, lambda _: scale)
        return [
            pair
            for pair in found
            if not self._is_of_another(line, pair, factor)
            and not self._begins_a_reason(pair)
            and not self._is_compared_with(line, pair)
        ]

    def _is_compared_with(self, line: Line, pair: Pair[ImageName]) -> bool:
        """Tell whether an item only sets its image against the one before a number: "Image 1 –
        closer to the source than Image 2: 6"."""
        first = line.images[0]
        if pair.backward or pair.name.start == first.start or first.start > line.head + 6:
            return False
        return _SET_AGAINST.search(self.text, first.end, pair.name.start) is not None

    def _begins_a_reason(self, pair: Pair[ImageName]) -> bool:
        """Tell whether what stands behind a number explains it, and an image is named there: "5:
        Image 3 shows the same seam"."""
        if not pair.backward:
            return False
        joint = _OUT_OF_ITS_TOP.sub("", self.text[pair.mark.span[1] : pair.name.start])
        parted = _ONLY_SIGNS.fullmatch(joint) is not None
        return parted and _TOLD_OF.match(self.text, pair.name.end) is not None

    def _is_of_another(self, line: Line, pair: Pair[ImageName], key: str) -> bool:
        """Tell whether a number before an image is another factor's: "realism 10 for Image 2"."""
        if not pair.backward:
            return False

        before = [name.key for name in line.named if name.end <= pair.start]
        return bool(before) and before[-1] != key

    def _factor_of_images(self, line: Line, index: int) -> str | None:
        """Return the factor a list of images is about: named before it on its line, or above it."""
        if self.only is not None:
            return self.only.key
        if len(line.keys) > 1:
            return None

        if line.factors:
            first = line.factors[0]
            lead = self.text[line.head : first.start].strip().lower()
            opens = first.start <= line.head + 2 or lead in {"for", "on", "in", "regarding"}
            if opens and first.start < line.images[0].start:
                return first.key
            return self._heads[index] if self._only_mentions(line) else None

        return self._heads[index]

    def _only_mentions(self, line: Line) -> bool:
        """Tell whether an item of a list under a factor names another in its explanation:
        "Image 2: 7 – realism suffers, too"."""
        item = _SCORED_ITEM.match(self.text, line.images[0].end, line.end)
        factor = line.factors[0]
        if item is None or line.images[0].start > line.head + 2 or factor.start < item.end():
            return False

        between = self.text[item.end() : factor.start]
        return bool(_WORDS.search(between) or _GOES_ON_IN_WORDS.match(self.text, factor.end))

    def _heading_factors(self) -> list[str | None]:
        """Return for each line the factor that heads the list in which it stands."""
        heads: list[str | None] = []
        current: str | None = None
        above: str | None = None
        alone: str | None = None
        """The last factor above with nothing else on its line."""
        waits = False
        """Whether it has no score yet."""
        told: str | None = None
        """The last factor above that a sentence follows, on its line …"""
        indent = 0
        """… and how far that line is indented."""
        numbered = False
        """Whether the last heading of a factor has a number: then a line with one is the next."""
        listed: set[tuple[int, ...]] = set()
        """The images of the list below it so far."""

        for index, line in enumerate(self.page.lines):
            item = self._item_of(line)
            if item in listed:
                # An image that comes again is of another factor, whose name was not understood.
                current = None
            elif item:
                listed.add(item)

            heads.append(current)
            self._above.append(above)
            if not line.factors:
                waits = waits and not _OWN_LABEL.match(self.text, line.head, line.end)
                short = line.heading or line.gap or len(self.page.words(line)) < 40
                current = None if short and not line.images else current
                continue

            if current is not None and line.images and self._only_mentions(line):
                continue

            sibling = numbered and line.number is not None
            if alone is not None and not sibling and self._is_an_aside(line, index, alone):
                self._asides.add(index)
                continue

            deeper = line.head - line.start > indent
            if told is not None and deeper and self._is_an_aside(line, index, told):
                self._asides.add(index)
                continue

            if alone is not None and waits and self._explains_itself(line, index, alone):
                # "Quality: see above.", under "Realism": nobody knows whose a score below it is.
                self._unowned.add(index)

            current = line.factors[0].key if self._is_factor_heading(line) else None
            listed = set()
            if current is not None or any(not pair.backward for pair in self._pairs[index]):
                above = current
                behind = self.text[line.factors[-1].end : line.end]
                more = current is None or re.search(r"\w", _IN_BRACKETS.sub("", behind))
                alone, told = (None, current) if more else (current, None)
                waits = alone is not None
                indent = line.head - line.start
                numbered = line.number is not None

        return heads

    def _item_of(self, line: Line) -> tuple[int, ...]:
        """Return the image of an item in a list under a factor, with a score or without one:
        "Image 2: 7", "img_2 → –"."""
        if line.factors or not line.images or line.images[0].start > line.head + 2:
            return ()
        joined = _ITEM_JOINT.match(self.text, line.images[0].end, line.end) is not None
        return line.images[0].positions if joined else ()

    def _explains_itself(self, line: Line, index: int, head: str) -> bool:
        """Tell whether a line names another factor than the one above it, and goes on in words
        behind a colon."""
        if self._pairs[index] or line.heading or head in line.keys:
            return False
        return _LABEL_IN_WORDS.match(self.text, line.factors[0].end, line.end) is not None

    def _is_an_aside(self, line: Line, index: int, head: str) -> bool:
        """Tell whether a line under a factor explains it, and mentions another amid its words."""
        if self._pairs[index] or line.heading or head in line.keys:
            return False
        titled = line.gap and not self.page.words(line).rstrip(" *_").endswith((".", "!", "?"))
        if titled or _LABEL_END.fullmatch(self.text, line.factors[-1].end, line.end):
            return False

        def amid_words(factor: FactorName) -> bool:
            sentence = SENTENCE_STOP.split(self.text[line.head : factor.start])[-1]
            goes_on = _AMID_WORDS.match(self.text, factor.end, line.end)
            return goes_on is not None or _WORDS.search(sentence) is not None

        return all(map(amid_words, line.factors))

    def _is_factor_heading(self, line: Line) -> bool:
        """Tell whether a line names one factor, at its head, and no number: "Factor 2: Realism"."""
        if line.images or len(line.keys) > 1:
            return False

        lead = self.text[line.head : line.factors[0].start]
        return _HEAD_OF_FACTOR.fullmatch(lead) is not None and not self._says_a_number(line)

    def _says_a_number(self, line: Line) -> bool:
        taken = [(factor.start, factor.end) for factor in line.factors]
        scale = self.names.factor(line.factors[0].key).scale
        for number in numbers_in(self.text, line.head, line.end):
            inside = any(first <= number.start < last for first, last in taken)
            bracketed = self.text.rfind("(", line.start, number.start) > self.text.rfind(
                ")", line.start, number.start
            )
            if not inside and not bracketed and not scale.fault(number.value):
                return True

        tail = max(line.factors[-1].end, line.end - _LONGEST_NUMBER)
        if _SCORE_AT_END.search(self.text, tail, line.end):
            return True
        # Where it is left out, its turn is over, too.
        return _LEFT_OUT.match(self.text, line.factors[-1].end, line.end) is not None

    def _heads_may_stand_below(self) -> bool:
        """Tell whether a whole block of scores stands before the first image that is named.

        Then names may stand below the blocks they belong to, and nothing can be said.
        """
        if self.n == 1:
            return False

        keys: set[str] = set()

        for index, line in enumerate(self.page.lines):
            if line.images or line.positions is not None or self.page.in_table(line):
                break

            found = self._pairs[index]
            if not found or line.kind is not Kind.VERDICT:
                continue

            lead = self.text[line.head : found[0].start]
            if not any(map(str.isalpha, lead)):
                keys |= {pair.name.key for pair in found if pair.name.position is None}

        # All but one: that one may be missing.
        return len(keys) >= max(2, len(self.names.factors) - 1)

    def said(self) -> list[Said]:
        """Return everything that is said of an image on a factor, verdicts only."""
        found = list(self._placed())
        every = self.n * len(self.names.factors)
        if self.page.tables or Kind.OTHERS in self.drafts:
            return found

        if len({each.cell for each in found}) == every:
            return found
        if self.drafts - {Kind.RANKS, Kind.UNKNOWN}:
            # Of what was found to be no verdict, no label makes one.
            return found

        headed = not self.drafts
        whole = [
            Said(position, pair.name.key, self._in_reply(pair.mark), "prose", -3 - position)
            for _, position, pair in whole_lists(self.page, self._pairs, headed=headed)
        ]
        return whole or found

    def _in_reply(self, mark: Mark) -> Mark:
        return Mark(mark.value, self.page.span(*mark.span), mark.kind, mark.says)

    def _placed(self) -> Iterator[Said]:
        """Yield what is said of images that are named, as far as it is certain which."""
        if self._heads_may_stand_below():
            self.unplaced = True
            return

        found = [
            (index, said)
            for index in range(len(self.page.lines))
            for said in self._line_says(index)
        ]
        doubted = self._doubted_together()
        loose = self._loose_from()
        for index, said in found:
            section = self._sections.get(said.unit)
            if said.unit in doubted:
                self.unplaced = True
                continue

            # From where a section may have ended unannounced, nothing of it is certain.
            if section is not None and section.certain is not None and index > section.certain:
                self.unplaced = True
                continue

            if index > loose.get(said.unit, index):
                self.unplaced = True
                continue

            yield said

        for position, key, mark in self._sequences.of_only_factor():
            yield Said(position, key, self._in_reply(mark), "prose", -2)

    def _loose_from(self) -> dict[int, int]:
        """Return for each section the first line that may head an image nobody has named.

        Where every image heads a section, no short line among scores hides another; where one is
        missing, any may: "Right, number six."
        """
        headed = {
            position
            for line in self.page.lines
            if line.parts and line.parts[0].named
            for position in line.parts[0].positions or ()
        }
        if self.n == 1 or headed >= set(range(1, self.n + 1)):
            return {}

        loose: dict[int, int] = {}
        for index, (line, below) in enumerate(pairwise(self.page.lines)):
            named = line.factors or line.images or line.heads or self.entries[index]
            leads = self.entries[index + 1] and below.section == line.section
            if leads and not named and len(self.page.words(line)) < _LONGEST_HEADING:
                loose.setdefault(line.section, index)

        return loose

    def _doubted_together(self) -> set[int]:
        """Return the sections under a heading of several images whose scores may be one image's.

        "Results for Image 1 to Image 3:" may be a caption, with images under headings that are not
        understood. It heads one list only where all others are of known images, and not of these.
        """
        doubted: set[int] = set()
        parts = list(self._listing_parts())
        together = {part.section: part.positions for part in parts if part.positions}

        for section, positions in together.items():
            if len(positions) < 2:
                continue

            ended = self._sections.get(section)
            others = [part.positions for part in parts if part.section != section]
            apart = all(each and not {UNKNOWN, *positions} & {*each} for each in others)
            apart = apart and not self._names_apart(positions)
            if not apart or self.page.tables or (ended is not None and ended.closed):
                doubted.add(section)

        return doubted

    def _names_apart(self, positions: tuple[int, ...]) -> bool:
        """Tell whether a line without scores names one of several images by itself, as a heading
        would: "- name: Image 1", below "Images 1 and 2:"."""
        lines = zip(self.page.lines, self.entries, strict=True)
        return any(
            len(image.positions) == 1 and image.positions[0] in positions
            for line, scored in lines
            if not scored
            for image in line.images
        )

    def _listing_parts(self) -> Iterator[Part]:
        """Yield the parts of all lines that give scores, or name factors as if they did."""
        for line, scored in zip(self.page.lines, self.entries, strict=True):
            if scored or len(line.keys) > 1:
                yield from line.parts

    def _line_says(self, index: int) -> Iterator[Said]:
        line = self.page.lines[index]
        if self.page.in_table(line):
            return

        if index in self._tuples:
            yield from self._tuple_says(line, self._tuples[index])
        elif self._is_by_factor(line, index):
            yield from self._images_say(line, index)
        else:
            yield from self._factors_say(line, index)
            if self.only is not None and not self._pairs[index]:
                yield from self._images_say(line, index)

    # --- Lists under images, and sentences ---

    def _factors_say(self, line: Line, index: int) -> Iterator[Said]:
        found = self._pairs[index]
        if self._is_labelled_behind(line, found) or self._is_a_remark(index):
            self.unplaced = True
            self._close(line.section, index - 1)
            return

        refused = 0
        """Where the sentence ends that makes the scores of an image no verdict."""
        for part in line.parts:
            inside = _pairs_inside(found, part)
            if not inside or part.start < refused:
                continue

            before = len(self.drafts)
            yield from self._part_says(line, part, inside, index)
            if len(self.drafts) > before:
                stop = _FULL_STOP.search(self.text, inside[-1].end, line.end)
                refused = stop.start() if stop else line.end

        if index in self._asides or index in self._unowned:
            return
        if self.n > 1 and len(line.parts) == 1 and line.factors:
            self._names_in_vain(line, index)

        bare = None if self._is_an_item(line, index) else self._left_bare(line, found)
        if bare is not None:
            yield from self._below(line, index, bare)

    def _is_amid_a_sentence(self, line: Line, factor: FactorName) -> bool:
        """Tell whether a sentence about an image mentions a factor, and is not about it: "Image 4:
        Only accuracy suffers more. Score: 8"."""
        begins = max((image.end for image in line.images if image.end <= factor.start), default=0)
        if not begins or not _AMID_WORDS.match(self.text, factor.end, line.end):
            return False
        sentence = SENTENCE_STOP.split(self.text[begins : factor.start].lstrip(" :–—-*"))[-1]
        return _LEADS_TO_A_SUBJECT.fullmatch(sentence) is None

    def _is_an_item(self, line: Line, index: int) -> bool:
        """Tell whether a line is that of an image under a factor, and only mentions another factor:
        "Image 4: Only accuracy suffers more. Score: 8"."""
        head = self._heads[index]
        if head is None or head in line.keys or not line.images or not line.factors:
            return False
        return line.images[0].start <= line.head + 2 and line.images[0].end < line.factors[0].start

    def _left_bare(self, line: Line, found: Sequence[Pair[FactorName]]) -> FactorName | None:
        """Return the factor that ends a line without a number: it may have one below."""
        paired = {pair.name.start for pair in found}
        bare = [factor for factor in line.factors if factor.start not in paired]
        if not bare or bare[-1] is not line.factors[-1]:
            return None

        if _BEFORE_A_BRACKET.search(self.text, line.head, bare[-1].start):
            # "Score: 3 (realism)": its number stands before it.
            return None
        if self.n > 1 and len(bare) == 1 and self._is_amid_a_sentence(line, bare[0]):
            return None

        opening = number_at(self.text, line.head, line.end) if not found else None
        if opening is not None and opening.top is not None and opening.start <= line.head + 2:
            # "7/10 towards S_acc": whoever begins with a score has none below.
            return None

        if bare != line.factors:
            return bare[-1]

        # "S_acc: The realism suffers, … Score: 7."
        others = any(
            self._opens_an_entry(line, factor) or not _AMID_WORDS.match(self.text, factor.end)
            for factor in bare[1:]
        )
        ended = not others and self._ending_score(line, bare[0]) is not None
        return bare[0] if ended else bare[-1]

    def _part_says(
        self, line: Line, part: Part, found: Sequence[Pair[FactorName]], index: int
    ) -> Iterator[Said]:
        """Yield what a stretch of a line says of the images it is about."""
        lead = self.text[part.start : found[0].start]
        kind, own = self._lead(line, lead, found)
        kind = self._kind_beside_image(line, part) or kind
        if kind is not Kind.VERDICT:
            self.drafts.add(kind)
            return

        if self._may_be_numbering(line, part, found, index):
            return

        if self._is_named_in_passing(line, part):
            self.unplaced = True
            return

        if self._is_refused(line, part, found, index) or self._leaves_some_out(line, part, found):
            return

        cut = self._taken_over(line, part, found)
        if cut is not None and any(pair.end > cut for pair in found):
            self._close(part.section, index)
            found = [pair for pair in found if pair.end <= cut]

        stray = self.n > 1 and not part.named and self._strays(line, lead, own, found)
        stray = stray and not self._ends_in_its_symbol(line, found)
        if stray:
            self._close(part.section, index - 1)

        if part.positions == (UNKNOWN,):
            self._mention(line, found)

        label = own or line.caption
        for pair in self._own_pairs(line, part, found, index):
            astray = stray or self._opens_what_is_said(line, pair)
            where = (UNKNOWN,) if astray else part.positions
            if pair.name.position is not None:
                where = (pair.name.position,)

            yield from self._say(part.section, where, pair.name.key, pair.mark, index, label)

    def _kind_beside_image(self, line: Line, part: Part) -> Kind | None:
        """Return what the words around the image that opens a line say its numbers are, where these
        are no scores: "Ranks of Image 1: …", "Image 1 (weighted): …"."""
        if not part.named or part is not line.parts[0] or not line.images:
            return None

        image = line.images[0]
        bracket = _ONLY_A_BRACKET.match(self.text, image.end, part.start)
        if bracket is not None and kind_of(bracket["words"]) in QUANTITIES:
            return kind_of(bracket["words"])
        return kind_ahead(self.text[line.head : image.start])

    def _is_named_in_passing(self, line: Line, part: Part) -> bool:
        """Tell whether an image is only mentioned in a sentence about the one that heads it, whose
        score comes then: "Good, but Image 1 has the cleaner edges, so quality gets 2"; or in
        brackets: "S_qua: 3 (Image 1 is sharper, as is Image 2), S_real: 4"."""
        named = [image for image in line.images if image.end <= part.start]
        if self.n == 1 or not part.named or part is line.parts[0] or not named:
            return False

        lead = self.text[line.head : named[-1].start]
        if _UNCLOSED.search(lead):
            return True
        if self._heads_of(line) in (None, part.positions):
            return False
        return _PASSING.search(SENTENCE_STOP.split(lead)[-1]) is not None

    def _heads_of(self, line: Line) -> tuple[int, ...] | None:
        """Return the images that head a line: those it begins with, or those above it."""
        first = line.parts[0]
        if not first.named or line.images[0].start <= line.head + 2:
            return first.positions

        above = self.page.line_at(line.start - 1)
        if above is None or not above.heads or not above.images:
            return None
        return above.images[-1].positions

    def _opens_what_is_said(self, line: Line, pair: Pair[FactorName]) -> bool:
        """Tell whether a score stands in a phrase before the image that it is of: "With 9 for
        quality, Image 3 is done."."""
        if self.n == 1 or not line.images or line.images[-1].start < pair.end:
            return False

        following = next(image for image in line.images if image.start >= pair.end)
        if SENTENCE_STOP.search(self.text, pair.end, following.start):
            return False

        stops = [stop.end() for stop in SENTENCE_STOP.finditer(self.text, line.head, pair.start)]
        begins = stops[-1] if stops else line.head
        named = any(begins <= image.start < pair.start for image in line.images)
        return not named and _OPENS_A_PHRASE.match(self.text, begins, pair.start) is not None

    def _leaves_some_out(self, line: Line, part: Part, found: Sequence[Pair[FactorName]]) -> bool:
        """Tell whether what is said of several images may not be said of all: "All images get 8 for
        accuracy, except Image 2", "quality: 6 for Images 1 and 3 only", "Images 1–2: 6, –"."""
        positions = part.positions or ()
        listed = any(self._goes_on_as_a_list(line, pair) for pair in found)
        apart = listed or any(image.positions != positions for image in line.images)
        if self.n > 1 and len(positions) > 1 and apart:
            self.unplaced = True
            return True
        return False

    def _goes_on_as_a_list(self, line: Line, pair: Pair[FactorName] | Pair[ImageName]) -> bool:
        """Tell whether a list goes on behind a number with anything but the next factor."""
        more = _LISTS_MORE.match(self.text, pair.mark.span[1], line.end)
        return more is not None and all(factor.start != more.end() for factor in line.factors)

    def _is_refused(
        self, line: Line, part: Part, found: Sequence[Pair[FactorName]], index: int
    ) -> bool:
        """Tell whether the scores of a part are somebody else's or may be of two images, and end
        its section if so."""
        between = [image for image in line.images if part.start <= image.start < found[0].start]
        if between and _PASSED_OVER.search(self.text, part.start, between[0].start):
            # "Image 1: N/A; Image 2, the one in red: S_acc 8"
            self.unplaced = True
            self._close(part.section, index - 1)
            return True

        others = bool(between)
        if not (others and self.n > 1) and not self._is_said_outright(line, part, found):
            self.drafts.add(Kind.UNKNOWN)
            self._close(part.section, index - 1)
            self._mention(line, found)
            return True

        if self._comes_twice(line, part, found) or self._leaves_numbers(line, part, found):
            self.unplaced = True
            self._close(part.section, index)
            return True

        return False

    def _close(self, section: int, certain: int) -> None:
        """End a section: nothing behind that line is certain to belong to it."""
        if self.n == 1:
            # All that is scored is of the only image.
            return

        self._sections.setdefault(section, _Section()).close(certain)

    def _voids_itself(self, found: Sequence[Pair[FactorName]]) -> bool:
        """Tell whether what voids the last of several scores voids all: "Accuracy [8], Quality [7]
        and Realism [6] are defined …"."""
        bracketed = all(pair.bracketed for pair in found)
        return len(found) > 1 and found[-1].mark.value is None and bracketed

    def _may_be_numbering(
        self, line: Line, part: Part, found: Sequence[Pair[FactorName]], index: int
    ) -> bool:
        """Tell whether numbers may count the names, or stand before names that are not theirs."""
        return (
            _enumerates(found)
            or self._leans_on_the_next(line, found)
            or self._may_subtract(found)
            or self._is_shifted(line, found, index)
            or self._follows_a_name(line, part, found[0])
            or self._follows_a_numbered_image(line, part)
        )

    def _follows_a_numbered_image(self, line: Line, part: Part) -> bool:
        """Tell whether a number in brackets stands between an image and what is said of it:
        "Image 4 (1): S_acc (2): S_pre"."""
        if not part.named or all(image.end > part.start for image in line.images):
            return False

        before = max(line.start, part.start - 12)
        return _NUMBER_IN_BRACKETS.search(self.text, before, part.start) is not None

    def _own_pairs(
        self, line: Line, part: Part, found: Sequence[Pair[FactorName]], index: int
    ) -> Iterator[Pair[FactorName]]:
        """Yield the pairs of a part that no label gives to something else."""
        since = part.start
        for pair in found:
            between = self.text[since : pair.start]
            opens = since == part.start
            another = self._speaks_of_another(line, since, pair, part.positions)
            since = pair.end
            # "S_real: 6 (source: S_qua: 9)"
            labelled = not opens and _LABEL_ENDS.search(between) and is_no_verdict(between)
            if another or labelled:
                continue

            pair = self._beside_another(line, pair, part.positions)

            if self._is_labelled_otherwise(line, pair, part.positions):
                self.unplaced = True
                self._close(part.section, index - 1)
                continue

            if pair is found[-1] and pair.mark.value is not None and self._competes(index, pair):
                says = "another number stands below it"
                pair = replace(pair, mark=Mark(None, pair.mark.span, FaultKind.AMBIGUOUS, says))

            yield pair

    def _beside_another(
        self, line: Line, pair: Pair[FactorName], positions: tuple[int, ...] | None
    ) -> Pair[FactorName]:
        """Return a pair with its score where what stands beside it is said of another image:
        "S_acc: 9 (Image 2: 3)", "S_acc: 9. Better than Image 2's 3."."""
        if self.n == 1 or pair.mark.kind is not FaultKind.AMBIGUOUS or pair.backward:
            return pair
        if positions is None:
            return pair

        bracket = _IN_BRACKETS.match(self.text, pair.end, line.end)
        bracketed = bracket.end() if bracket else pair.end
        others: set[int] = set()
        for image in line.images:
            owns = self.text.startswith(("'s ", "’s "), image.end)
            beside = pair.end <= image.start < (line.end if owns else bracketed)
            if beside and image.positions != positions:
                given = _GIVEN_TO_IMAGE.match(self.text, image.end, line.end)
                others |= {each.start for each in numbers_in(self.text, image.start, image.end)}
                others |= {given.end()} if given else set()

        number = number_at(self.text, pair.mark.span[0], line.end)
        if not others or number is None:
            return pair

        scale = self._scale(pair.name)
        limit = min([each.start for each in line.factors if each.start > pair.end] or [line.end])
        fault = entry_fault(self.text, number, limit, scale, others)
        return pair if fault else replace(pair, mark=number.mark(scale))

    def _is_labelled_behind(self, line: Line, found: Sequence[Pair[FactorName]]) -> bool:
        """Tell whether images stand behind their scores: "S_acc 8 for Image 1, S_acc 5 for …"."""
        if self.n == 1 or not found or not line.images:
            return False

        behind = [image for image in line.images if image.start > found[-1].end]
        if len(found) > 1 and not line.parts[0].named and behind and len(line.parts) == 1:
            # "S_acc 8, S_pre 7, all of Image 1": unless it only is compared with that one.
            tail = self.text[found[-1].end : behind[0].start]
            if not (_COMPARED_BEHIND.search(tail) or behind[0].positions == line.positions):
                return True

        others = [image for image in line.images if image.positions != line.positions]
        if not line.parts[0].named and any(self._labels_a_score(line, image) for image in others):
            return True

        if len({image.positions for image in line.images}) < 2:
            return False

        return any(
            _BEFORE_A_LABEL.search(self.text, max(line.start, image.start - 24), image.start)
            for image in line.images
            if image.start > found[0].end
        )

    def _labels_a_score(self, line: Line, image: ImageName) -> bool:
        """Tell whether an image is named right behind a score to say whose it is: "S_acc: 5: Image
        1; (without Image 2)", "S_acc: 5 (Image 3) (a seam is left)"."""
        near = max(line.start, image.start - 12)
        if _BEFORE_A_COLON.search(self.text, near, image.start):
            return _LABELLED.match(self.text, image.end, line.end) is not None
        if _BEFORE_A_BRACKET.search(self.text, near, image.start):
            return _CLOSED_BEHIND.match(self.text, image.end - 1, line.end) is not None
        return False

    def _is_a_remark(self, index: int) -> bool:
        """Tell whether a line of a list under one factor only mentions another: "Edit 2: 7 –
        quality suffers"."""
        head, found = self._above[index], self._pairs[index]
        if head is None or not found:
            return False
        return all(pair.backward and pair.name.key != head for pair in found)

    def _mention(self, line: Line, found: Sequence[Pair[FactorName]]) -> None:
        """Take down the numbers of a sentence that is no verdict, but names one image."""
        if not found:
            return

        named = line.images[0].positions if len(line.images) == 1 else ()
        if named and leads_astray(self.text[line.head : line.images[0].start]):
            return
        if kind_of(self.text[line.head : found[0].start]) in QUANTITIES:
            return

        if not named and self._is_labelled_whole(line, found):
            # "Strictly judged: …", "Leniently judged: …": neither of them is the verdict.
            named = (1,)

        for position in named:
            for pair in found:
                lost = _LOST.search(self.text, line.start, pair.mark.span[0])
                if pair.mark.value is not None and lost is None:
                    self.mentioned.append(((position, pair.name.key), pair.mark.value))

    def _is_labelled_whole(self, line: Line, found: Sequence[Pair[FactorName]]) -> bool:
        """Tell whether a line scores the only image on every factor, behind a label, and nothing
        below is called final, or the judge's own."""
        if self.n > 1 or len({pair.name.key for pair in found}) < len(self.names.factors):
            return False
        if any(map(_is_the_judges_own, self.text[line.end :].splitlines())):
            return False
        return _LABEL_ENDS.search(self.text, line.head, found[0].start) is not None

    def _follows_a_name(self, line: Line, part: Part, pair: Pair[FactorName]) -> bool:
        """Tell whether a number before a name stands right behind another: "accuracy 4 quality"."""
        if not pair.backward:
            return False

        return any(
            part.start <= factor.start
            and factor.end <= pair.start
            and not self.text[factor.end : pair.start].strip(" :=–—-")
            for factor in line.factors
        )

    def _competes(self, index: int, pair: Pair[FactorName]) -> bool:
        """Tell whether the lines below an entry give it another number: a bare one, "or 8"."""
        scale = self._scale(pair.name)

        for below in self.page.lines[index + 1 : index + 4]:
            if below.factors or below.images or below.heads or below.gap:
                return False

            whole = _GIVEN_BELOW.fullmatch(self.text, below.start, below.end)
            given = whole or _GIVEN_BELOW.fullmatch(self.page.words(below))
            if given is None:
                continue

            value = Fraction(given["value"])
            differs = value != pair.mark.value
            if differs and not scale.fault(value):
                return True

        return False

    def _is_said_outright(self, line: Line, part: Part, found: Sequence[Pair[FactorName]]) -> bool:
        """Tell whether the words before scores give them: "I rate it", not "The paper reports"."""
        place, lead = part.start, ""
        for factor in line.factors:
            if part.start <= factor.start < found[0].start:
                lead += self.text[place : factor.start]
                place = factor.end

        lead += self.text[place : found[0].start]
        clause = _CLAUSE_BEFORE.split(lead)[-1]
        opening = re.split(r"[.;!?]\s+", lead)[-1].removesuffix(clause)
        concluded = _CONCLUDES.match(clause) is not None
        if opening.strip() and not (opens_plainly(opening) or (concluded and grounds(opening))):
            return False

        if _LEADS.fullmatch(clause) or self._names_it_otherwise(clause, found[0].name):
            return True
        if _LABEL_ENDS.search(lead):
            reasoned = concluded and grounds(clause) and opens_plainly(clause)
            return reasoned or announces(clause) or is_neutral(clause) or is_final(clause)

        label, colon, rest = clause.rpartition(":")
        if colon and _LEADS.fullmatch(rest):
            # "A convincing edit: its accuracy is 9"
            return announces(label) and not is_no_verdict(label)
        return (
            gives(clause)
            or _WOULD_BE.fullmatch(clause.strip()) is not None
            or self._is_told_of_the_picture(clause, found)
        )

    def _concludes(self, line: Line, lead: str, found: Sequence[Pair[FactorName]]) -> bool:
        """Tell whether scores are concluded with, politely: "Thus the score would be 8 for …"."""
        if _WOULD_BE.fullmatch(lead.strip()) is None:
            return False

        tail = SENTENCE_STOP.split(self.text[found[0].start : line.end])[0]
        return _ON_CONDITION.search(tail) is None

    def _is_told_of_the_picture(self, clause: str, found: Sequence[Pair[FactorName]]) -> bool:
        """Tell whether the only image is described, and its score called one: "The picture has a
        high level of naturalness with a score of 9", "… scene with a naturalness score of 8"."""
        if self.n > 1 or not tells_of_the_picture(clause):
            return False

        first = found[0]
        said = self.text[first.start : max(first.end, first.name.end)]
        behind = self.text[first.name.end : first.mark.span[0]] if not first.backward else ""
        called = re.search(r"\bscore[ds]?\b|\brating\b|\brated\b", said + behind + clause[-12:])
        return called is not None

    def _names_it_otherwise(self, clause: str, name: FactorName) -> bool:
        """Tell whether words are a factor's name in another language: `Bildqualität (S_qua)`."""
        return not name.in_words and _OTHER_NAME.fullmatch(clause) is not None

    def _may_subtract(self, found: Sequence[Pair[FactorName]]) -> bool:
        """Tell whether `10 - naturalness, 8 - artifacts` may be sums:
        two of them prove no pattern."""
        if len(found) != 2 or not all(pair.backward for pair in found):
            return False
        joints = [self.text[pair.start : pair.name.start] for pair in found]
        dashed = all(re.search(r"\d[ ]+-[ ]*$", joint) for joint in joints)
        return dashed and "," in self.text[found[0].end : found[1].start]

    def _leans_on_the_next(self, line: Line, found: Sequence[Pair[FactorName]]) -> bool:
        """Tell whether a sign or a word joins a number to the name behind it, and only a space to
        the one before: "S_pre 6/10.: S_qua 2/10.: S_real", "accuracy 6/10. for quality"."""
        starts = {factor.start for factor in line.factors}
        for pair in found:
            joint = _JOINT_BEHIND.match(self.text, pair.end, line.end)
            before = self.text[pair.name.end : pair.mark.span[0]]
            bare = not pair.backward and not before.strip(" ()[]{}$*")
            if joint and joint.end() in starts and bare:
                return True

        return False

    def _is_shifted(self, line: Line, found: Sequence[Pair[FactorName]], index: int) -> bool:
        """Tell whether a number at the head of a line may belong to the name that ends the last."""
        if not found[0].backward:
            return False

        ends = len(found) == 1 and found[0].name.end >= line.end - 2
        if (ends or found[0].start <= line.head + 2) and self._number_is_left(index):
            return True

        if not index or found[0].start > line.head + 2:
            return False

        above = self.page.lines[index - 1]
        last = above.factors[-1] if above.factors else None
        if last is None or last.end < above.end - 2 or self._is_denied_before(above, last):
            return False

        before = self._pairs[index - 1]
        if not before or before[-1].name.start != last.start:
            return True

        return before[-1].backward and self._is_shifted(above, before, index - 1)

    def _number_is_left(self, index: int) -> bool:
        """Tell whether a list of numbers before names ends in a number: then it is shifted."""
        for place in range(index + 1, len(self.page.lines)):
            below = self.page.lines[place]
            if not below.factors:
                words = self.page.words(below).strip("[]()\"'*. ")
                return re.fullmatch(r"[0-9]{1,3}(?:[./][0-9]{1,3})?", words) is not None

            found = self._pairs[place]
            if len(found) == 1 and found[0].backward:
                continue

            opens = number_at(self.text, below.head, below.end)
            return opens is not None and opens.start <= below.head + 2 and not found

        return False

    def _lead(self, line: Line, lead: str, found: Sequence[Pair[FactorName]]) -> tuple[Kind, str]:
        """Return what the words before the first score say it is, and the label they are,
        if one."""
        labels = _LABEL_ENDS.search(lead) is not None
        if line.kind is not Kind.VERDICT and not (labels and kind_of(lead) is Kind.VERDICT):
            return line.kind, ""

        words = lead.strip()
        sentence = re.split(r"[.!?]\s+", words)[-1]
        stated = self._kind_of_sentence(line, sentence, found)
        if stated is not None:
            return stated, ""

        kind = kind_of(sentence) if any(map(str.isalpha, sentence)) else None
        if kind is not None and self._concludes(line, sentence, found):
            kind = None
        if kind is Kind.DIFFERENCE and not labels:
            kind = None

        if kind is not None and kind is not Kind.VERDICT:
            return kind, ""

        if self._voids_itself(found):
            return Kind.UNKNOWN, ""

        is_label = labels and kind is None and any(map(str.isalpha, lead))
        return Kind.VERDICT, words if is_label and not is_neutral(words) else ""

    def _kind_of_sentence(
        self, line: Line, lead: str, found: Sequence[Pair[FactorName]]
    ) -> Kind | None:
        """Return what a sentence makes of the scores in it, whose first words are `lead`."""
        tail = self.text[found[-1].end : line.end]
        if self._is_hypothetical(line, lead, tail, found):
            return Kind.HYPOTHESIS

        if commands(lead):
            # "Add 1 to S_acc, 2 to S_pre"
            return Kind.DIFFERENCE

        if lead and _SHARED_OUT.search(self.text, line.head, found[0].end):
            return Kind.WEIGHTS

        if _shares_out(lead, found):
            return Kind.UNKNOWN

        if len(found) > 1 and _takes_all_back(tail):
            return Kind.UNKNOWN

        if _SOMEONE_SAID.search(self.text, line.head, found[0].start):
            return Kind.OTHERS

        return Kind.OTHERS if self.n > 1 and _is_of_another(lead) else None

    def _is_hypothetical(
        self, line: Line, lead: str, tail: str, found: Sequence[Pair[FactorName]]
    ) -> bool:
        """Tell whether scores are asked for or supposed: "Is S_acc 8?", "If S_acc were 8", "With
        S_acc at 10, the total would be …"."""
        asked = tail.partition(".")[0].rstrip().endswith("?") and _ASKS.match(lead)
        if asked or CONDITION.search(self.text[line.head : found[0].start]):
            return True

        if "would" in tail.lower() and _RESULTS_IN.match(tail):
            return True

        return lead.endswith("with") and _REACHES.match(tail) is not None

    def _taken_over(self, line: Line, part: Part, found: Sequence[Pair[FactorName]]) -> int | None:
        """Return where another image may take over in the middle of a part, if one does."""
        if self.n == 1:
            return None
        return min(self._may_take_over(line, part, found), default=None)

    def _may_take_over(
        self, line: Line, part: Part, found: Sequence[Pair[FactorName]]
    ) -> Iterator[int]:
        """Yield the places in a part from which on another image may be spoken of."""
        # Where no score is missing, none can be another image's.
        whole = len({pair.name.key for pair in found}) == len(self.names.factors)
        for pair, following in pairwise(found):
            between = self.text[pair.end : following.start]
            turns = pair.backward != following.backward and not whole
            if turns and not _ITS.fullmatch(between):
                # "S_acc 7 … 2, 4 (S_pre)": another list has begun.
                yield pair.end

            if _ORNATE_NUMBER.search(between):
                # "S_real 2. — 3 — S_acc 10"
                yield pair.end

            sentences = SENTENCE_STOP.split(between)
            if len(sentences) > 1 and not _LEADS.fullmatch(sentences[-1]):
                yield pair.end

        inside = [factor for factor in line.factors if part.start <= factor.start < part.end]
        numbered = [
            factor
            for factor in inside[1:]
            if _NUMBERED.search(self.text, max(part.start, factor.start - 8), factor.start)
        ]
        if numbered and len(numbered) < len(inside) - 1:
            # "1) accuracy 5, realism 1. 2. accuracy 3": numbers that count images, not factors.
            yield numbered[0].start

        first = inside[0].end if inside else part.end
        label = self._label_amid(line, first, part.end)
        if label is not None:
            yield label

        for image in line.images:
            within = part.start <= image.start < part.end
            if not within or image.positions == part.positions:
                continue

            behind = image.start > found[0].end and self._has_a_factor(line, image)
            if behind or self._image_takes_over(line, part, image, first):
                yield image.start

    def _has_a_factor(self, line: Line, image: ImageName) -> bool:
        """Tell whether a factor is named in an image's clause: "with Image 2 it is S_acc"."""
        behind = next((name for name in line.factors if name.start >= image.end), None)
        if behind is None:
            return False
        return _CLAUSE_ENDS.search(self.text, image.end, behind.start) is None

    def _label_amid(self, line: Line, start: int, end: int) -> int | None:
        """Return where a label begins amid scores, if it is not that of a factor."""
        label = _LABEL_AMID.search(self.text, start, end)
        if label is None:
            return None

        of_factor = any(label.start() < name.start < label.end() for name in line.named)
        return None if of_factor else label.start()

    def _image_takes_over(self, line: Line, part: Part, image: ImageName, first: int) -> bool:
        """Tell whether what follows an image's name may be said of it; `first` is where the
        part's first factor ends."""
        lead = self.text[part.start : image.start]
        if image.start < first and not re.search(r"[.;!?]\s", lead):
            return False

        before = lead[-40:]
        behind = any(factor.start >= image.end for factor in line.factors)
        opens = _OPENS_SENTENCE.search(before) is not None
        if behind and (opens or not _COMPARED.search(before)):
            return True

        return image.start > first and followed_by_a_score(self.page, line, image.end)

    def _speaks_of_another(
        self,
        line: Line,
        since: int,
        pair: Pair[FactorName],
        positions: tuple[int, ...] | None,
    ) -> bool:
        """Tell whether the clause in which a score stands names another image."""
        for image in line.images:
            if not since <= image.start < pair.start or image.positions == positions:
                continue

            # "Unlike Image 1, which got 8 for quality, …"
            relative = _RELATIVE.match(self.text, image.end, pair.start)
            begins = relative.end() if relative else image.end
            if not _CLAUSE_ENDS.search(self.text, begins, pair.start):
                return positions is not None or self.n > 1

        return False

    def _is_labelled_otherwise(
        self, line: Line, pair: Pair[FactorName], positions: tuple[int, ...] | None
    ) -> bool:
        """Tell whether another image is the label of a score: `S_pre: 3 (Image 2)`,
        "the quality of Image 2 is 3", "S_pre: 3 for the second"."""
        if self.n == 1:
            return False

        for image in line.images:
            if image.positions == positions or image.end <= pair.start:
                continue

            if image.start < pair.end:
                return True

            joint = _BEFORE_LABEL.fullmatch(self.text, pair.end, image.start)
            return joint is not None and _LABELLED.match(self.text, image.end, line.end) is not None

        named = _FOR_ONE.match(self.text, pair.end, line.end)
        if named is None or pair.backward:
            return False

        position = self.names.image_labelled(named["label"])
        return position is not None and (position,) != positions

    def _strays(self, line: Line, lead: str, own: str, found: Sequence[Pair[FactorName]]) -> bool:
        """Tell whether what opens a line may take its scores away from the image of its section."""
        opens = _BARE_LABEL.match(self.text, line.head, line.factors[0].start)
        if opens is not None and not all(pair.backward for pair in found):
            # "(2) S_acc: 7" may be of the second image.
            return True

        if (own and is_final(own)) or _OTHER_NAME.fullmatch(lead):
            return False

        if line.gap and _LABEL_ENDS.search(lead) and re.search(r"\w", lead):
            # "Then:", behind a blank line.
            return not is_neutral(lead.strip())

        return not _LEADS.fullmatch(lead)

    def _say(
        self,
        section: int,
        positions: tuple[int, ...] | None,
        key: str,
        mark: Mark,
        index: int,
        label: str,
    ) -> Iterator[Said]:
        if self.n > 1 and (positions is None or UNKNOWN in positions):
            self.unplaced = True
            return

        placed = self._in_reply(mark)
        for position in positions or (None,):
            if self._recurs(section, key, position, index):
                self.unplaced = True
                continue

            yield Said(position, key, placed, "prose", section, label)

    def _recurs(self, number: int, key: str, position: int | None, index: int) -> bool:
        """Tell whether a section has ended unannounced: a factor comes again on a later line.

        On the very next line, it is a second thought about the same image.
        """
        if self.n == 1:
            return False

        section = self._sections.setdefault(number, _Section())
        if section.closed:
            return True

        earlier = section.given.setdefault((key, position), index)
        if earlier == index:
            return False

        section.close(earlier)
        again = (
            earlier == index - 1
            and not self.page.lines[index].gap
            and len(self._pairs[earlier]) == len(self._pairs[index]) == 1
        )
        section.certain = index if again else earlier
        return not again

    def _names_in_vain(self, line: Line, index: int) -> None:
        """Take down the factors that a line names without a number: their turn is over, too."""
        section = self._sections.setdefault(line.section, _Section())
        for factor in line.factors:
            if not _IN_VAIN.match(self.text, factor.end, line.end):
                before = self.text[line.head : factor.start]
                if before.strip() and not _NUMBER_FOR.search(before):
                    continue

            for position in line.positions or ():
                earlier = section.given.setdefault((factor.key, position), index)
                if earlier < index - 1:
                    section.close(earlier)

    def _opens_an_entry(self, line: Line, factor: FactorName) -> bool:
        """Tell whether a factor is named to be scored, not in an explanation."""
        before = self.text[line.head : factor.start]
        if _IN_VAIN.match(self.text, factor.end, line.end):
            return True
        if before.strip() and not re.search(r"[,;:|/.–—]\s*(?:and\s+)?$", before[-8:]):
            return False
        # "Preservation suffers from the same problem." is no entry.
        return _GOES_ON_IN_WORDS.match(self.text, factor.end, line.end) is None

    def _comes_twice(self, line: Line, part: Part, found: Sequence[Pair[FactorName]]) -> bool:
        """Tell whether a part names a factor twice: another image may have begun unannounced."""
        if self.n == 1 or self._ends_in_its_symbol(line, found):
            return False

        entered: set[str] = set()
        scored_at = {pair.name.start for pair in found}
        for factor in line.named or line.factors:
            if not part.start <= factor.start < part.end:
                continue

            if any(image.end <= factor.start for image in line.images if image.start >= part.start):
                mention = max(
                    image.end
                    for image in line.images
                    if part.start <= image.start and image.end <= factor.start
                )
                if not _CLAUSE_ENDS.search(self.text, mention, factor.start):
                    continue

            # What an explanation mentions, "Good overall quality", is no entry.
            if factor.start not in scored_at and not self._opens_an_entry(line, factor):
                continue

            if factor.key in entered:
                return True
            entered.add(factor.key)

        return False

    def _leaves_numbers(self, line: Line, part: Part, found: Sequence[Pair[FactorName]]) -> bool:
        """Tell whether a list of names and numbers is not understood: most of its names get none,
        though numbers are left. "- S_acc, 9 S_pre, - S_qua, - S_real Also: 6 - S_acc, …"."""
        named = [each for each in line.named if part.start <= each.start < part.end]
        if 2 * len(found) >= len(named) or len(line.keys) < _MANY_NAMES:
            return False

        inside = [(name.start, name.end) for name in line.named]
        inside += [(image.start, image.end) for image in line.images]
        inside += [pair.mark.span for pair in found]
        left = outside(numbers_in(self.text, part.start, part.end), sorted(inside))
        free = [number for number in left if not counts(self.text, number, part.end)]
        return len(free) > 1

    def _ends_in_its_symbol(self, line: Line, found: Sequence[Pair[FactorName]]) -> bool:
        """Tell whether a line is one entry, its name first and its score behind the reasons:
        "Accuracy: The sofa is leather. S_acc = 6"."""
        if len(line.keys) != 1 or len(found) != 1:
            return False

        first, last = line.factors[0], found[0]
        if last.backward or last.name is first:
            return False

        opens = first.in_words and first.start <= line.head + 2 and not last.name.in_words
        ends = not self.text[last.end : line.end].strip(" .*)")
        return opens and ends and _REASONS.fullmatch(self.text, first.end, last.start) is not None

    # --- A number below the name it belongs to ---

    def _below(self, line: Line, index: int, last: FactorName) -> Iterator[Said]:
        """Read `S_acc:` with its score on a line below, or at the end of what explains it."""
        opens = _TWO_WORDS.search(self.text, line.head, last.start) is None
        several = len(line.keys) > 1
        ended = last is line.factors[0] and len(line.factors) > 1
        if (several and not ended) or not opens:
            return

        if _WORD_AT_END.search(self.text, max(last.end, line.end - _LONGEST_NUMBER), line.end):
            # "S_pre | eight": whatever joins them, it has no number below.
            return

        lead = self.text[line.head : line.factors[0].start]
        if line.kind is not Kind.VERDICT or kind_of(lead) not in {None, Kind.VERDICT}:
            self.drafts.add(line.kind)
            return

        scale = self.names.factor(last.key).scale
        found = self._numbers_below(line, index, last, scale)
        if not found or self._numbers_stand_above(index):
            return

        if len({mark.value for mark in found}) > 1:
            says = "it is given two different numbers"
            mark = Mark(None, found[-1].span, FaultKind.CONTRADICTION, says)
        else:
            mark = found[-1]

        if self._is_the_only_one(line, last.key):
            return

        section = self._sections.setdefault(line.section, _Section())
        if not section.closed:
            section.given.pop((last.key, (line.positions or (None,))[0]), None)

        yield from self._say(line.section, line.positions, last.key, mark, index, line.caption)

    def _is_the_only_one(self, line: Line, key: str) -> bool:
        """Tell whether no other factor of a section has a number: this one may be the overall."""
        if line.section not in self._contents:
            self._contents[line.section] = self._contents_of(line.section)

        contents = self._contents[line.section]
        if contents.scored - {line.start}:
            return False

        return any(
            other != key and places - {line.start} for other, places in contents.named.items()
        )

    def _contents_of(self, section: int) -> _SectionContents:
        contents = _SectionContents()

        for index, line in enumerate(self.page.lines):
            if line.section != section:
                continue

            for factor in line.factors:
                contents.named.setdefault(factor.key, set()).add(line.start)

            if self._pairs[index] or self._says_below(line, index):
                contents.scored.add(line.start)

            if len(contents.scored) > 1:
                break

        return contents

    def _says_below(self, line: Line, index: int) -> bool:
        if not line.factors or index in self._asides or index in self._unowned:
            return False
        last = line.factors[-1]
        scale = self.names.factor(last.key).scale
        return bool(self._numbers_below(line, index, last, scale))

    def _numbers_below(self, line: Line, index: int, name: FactorName, scale: Scale) -> list[Mark]:
        found: list[Mark] = []
        ending = self._ending_score(line, name)
        if ending is not None:
            found += self._last_number(ending, name.end, line.end, scale)
        elif self._gives_in_strange_words(line, name, scale):
            return []

        far = False

        for at, below in enumerate(self.page.lines[index + 1 : index + 9], index + 1):
            if at in self._asides:
                continue
            if self._begins_something_else(below) or (self.n > 1 and self._may_head_more(below)):
                break

            far = far or below.gap
            found += self._number_of_line(below, scale, far=far, empty=name.end + 2 >= line.end)

        return found

    def _gives_in_strange_words(self, line: Line, name: FactorName, scale: Scale) -> bool:
        """Tell whether a number may be what a factor gets in words that are not known: "S_acc takes
        a 2". Then one on the line below is not it."""
        taken = [(image.start, image.end) for image in line.images]
        return any(
            not scale.fault(number.value) and not counts(self.text, number, line.end)
            for number in outside(numbers_in(self.text, name.end, line.end), taken)
        )

    def _begins_something_else(self, line: Line) -> bool:
        """Tell whether a line says nothing more of the factor above it: another name, a heading."""
        if line.factors or line.heads or self.page.in_table(line):
            return True
        if line.images and not self._is_of_both(line):
            return True
        if line.heading and line.gap and self._is_bare_number(line):
            # "### 6/10" heads what stands under it.
            return True

        first = re.match(r"\w+", self.page.words(line))
        return first is not None and self.only is None and self.names.is_name(first[0])

    def _may_head_more(self, line: Line) -> bool:
        """Tell whether a line may head the scores of another of several images."""
        # "# 6" heads image 6.
        hashed = "#" in self.text[line.start : line.head]
        if hashed or self._may_be_a_label(line):
            return True

        bare = self._is_bare_number(line)
        return self._may_number_an_image(line) if bare else not self._has_letters(line)

    def _may_number_an_image(self, line: Line) -> bool:
        """Tell whether a number on a line of its own may head the next image: other factors of its
        section have theirs on their own lines."""
        if not self._is_bare_number(line):
            return False

        number = self._opening_number(line)
        if number is None or number.top is not None or not 1 <= number.value <= self.n:
            return False

        return any(
            pairs and other.section == line.section and not pairs[0].backward
            for other, pairs in zip(self.page.lines, self._pairs, strict=True)
        )

    def _is_of_both(self, line: Line) -> bool:
        """Tell whether a line only compares the one image with its source: "uniform in both"."""
        together = all(image.positions == (UNKNOWN,) for image in line.images)
        words = self.page.words(line)
        return self.n == 1 and together and not re.search(r"[0-9:]", words)

    def _ending_score(self, line: Line, name: FactorName) -> int | None:
        """Return where the score stands that ends what explains it: "… 8/10", "… Score: 8." """
        rest = self.text[name.end : line.end]
        if _DENIED.match(rest):
            return None

        given = _GIVEN_AT_THE_END.search(rest)
        closing = self._closings.get(line.start)
        if given is not None or closing is not None:
            place = name.end + given.start("value") if given else closing or name.end
            sentence = SENTENCE_STOP.split(self.text[name.end : place].lstrip(" :"))[-1]
            begins = min(place - len(sentence), name.end + given.start() if given else place)
            another = self.n > 1 and any(begins <= image.end <= place for image in line.images)
            return None if another or CONDITION.search(sentence) else place

        ended = _AT_THE_END.search(rest)
        if ended is None or Fraction(ended["top"]) != self._scale(name).high:
            return None

        place = name.end + ended.start("value")
        if _OTHER_LABEL.fullmatch(self.text, name.end, place):
            return None

        label = _LABEL_BEFORE if self.n > 1 else _LABEL_OF_OTHERS
        labelled = label.search(self.text, max(name.end, place - 60), place)
        return None if labelled or self._is_of_a_named(line, place) else place

    def _is_of_a_named(self, line: Line, place: int) -> bool:
        """Tell whether the clause that leads to a number names an image: "Image 3 gets 8/10"."""
        if self.n == 1:
            return False

        clauses = list(_CLAUSE_END.finditer(self.text, line.head, place))
        clause = clauses[-1].end() if clauses else line.head
        return any(clause <= image.start < place for image in line.images)

    def _numbers_stand_above(self, index: int) -> bool:
        """Tell whether names and numbers take turns on lines, a number first: they are shifted."""
        lines = self.page.lines
        top = index

        below = lines[index + 1 : index + _FEW_LINES]
        for number, name in pairwise(below):
            # A blank line parts it from this name, and none from the next.
            parted = number.gap and not name.gap
            if parted and self._is_bare_number(number) and self._opens_with_a_name(name):
                return True

        while top:
            above = lines[top - 1]
            if not self._is_only_a_score(above) and not self._opens_with_a_name(above):
                break
            top -= 1

        above = lines[top - 1]
        captioned = self.page.words(above).rstrip().endswith(":") and not above.factors
        opens = top == 0 or captioned or bool(above.images)
        return self._is_only_a_score(lines[top]) and (opens or self._ends_with_a_name(top))

    def _ends_with_a_name(self, index: int) -> bool:
        """Tell whether scores and names take turns on lines from here, and a name is last."""
        lines = self.page.lines[index:]
        turns = 0
        for number, name in zip(lines[::2], lines[1::2], strict=False):
            if not self._is_only_a_score(number) or not self._opens_with_a_name(name):
                break
            turns += 1

        below = lines[2 * turns : 2 * turns + 1]
        parted = all(line.gap or line.heading or line.images for line in below)
        return turns > 1 and parted and not any(map(self._is_only_a_score, below))

    def _opens_with_a_name(self, line: Line) -> bool:
        """Tell whether a line begins with a factor, and names no other: "Factor: Realism"."""
        if len(line.factors) != 1:
            return False
        return _HEAD_OF_FACTOR.fullmatch(self.text, line.head, line.factors[0].start) is not None

    def _is_only_a_score(self, line: Line) -> bool:
        """Tell whether a line is a number, behind a label of its own or not: "Score: 7"."""
        label = _OWN_LABEL.match(self.text, line.head, line.end)
        if label is None or line.factors:
            return self._is_bare_number(line)
        number = number_at(self.text, label.end(), line.end)
        return number is not None and not self.text[number.end : line.end].strip(" .*)]>")

    def _has_letters(self, line: Line) -> bool:
        return any(each.isalpha() for each in self.page.words(line))

    def _is_bare_number(self, line: Line) -> bool:
        words = self.page.words(line).strip("[]()\"'*. ")
        plain = re.fullmatch(
            r"[0-9]{1,3}(?:[.,][0-9]{1,3})?(?:[ ]*(?:/|out of)[ ]*[0-9]{1,3})?", words
        )
        return plain is not None and line.number is None

    def _may_be_a_label(self, line: Line) -> bool:
        """Tell whether a line may name something that the number below it is of."""
        words = self.page.words(line)
        if not any(each.isalpha() for each in words) or _OWN_LABEL.match(words):
            return False

        # What defines a name in a list of definitions is none itself.
        if self.text.startswith("::", line.start):
            return False

        if is_neutral(words):
            return False

        return len(words.split()) <= 6 or words.rstrip().endswith(":")

    def _last_number(self, place: int, start: int, end: int, scale: Scale) -> list[Mark]:
        """Return the score at the end of a line of explanation, if nothing else there can be it."""
        number = number_at(self.text, place, end)
        if number is None:
            return []

        mark = number.mark(scale)
        if any(competitors(self.text, start, place, scale, number.value)):
            fault = "other numbers that may be its score stand before it"
            return [Mark(None, mark.span, FaultKind.AMBIGUOUS, fault)]
        return [mark]

    def _number_of_line(self, line: Line, scale: Scale, *, far: bool, empty: bool) -> list[Mark]:
        """Return the score that a line below a name gives: alone, behind a label of its own, or at
        the end of its words. `empty` says that nothing else stands behind the name."""
        label = _OWN_LABEL.match(self.text, line.head, line.end)
        if label is not None:
            number = number_at(self.text, label.end(), line.end)
            if number is not None:
                return [undisputed(self.text, number, line.end, scale)]
        elif line.number is not None:
            return []

        number = None if label else self._opening_number(line)
        if number is not None and self._numbers_the_only_image(number):
            return []
        if number is not None and not self.text[number.end : line.end].strip(" .)]\"'"):
            return [number.mark(scale)] if empty or number.top == scale.high else []

        if far:
            return []

        defined = self.text[line.start : line.head].lstrip().startswith(":")
        told = number is not None and (defined or number.top == scale.high)
        explained = number if told else None
        if explained and empty and not entry_fault(self.text, explained, line.end, scale):
            # "8/10, since …"
            return [explained.mark(scale)]

        return self._number_at_the_end(line, scale)

    def _numbers_the_only_image(self, number: Number) -> bool:
        """Tell whether a 1 may be the number of the only image, with its score left blank: on
        another line it has one, "1 7"."""
        if self.n > 1 or number.value != 1 or number.top is not None:
            return False
        return any(
            _ONE_AND_A_SCORE.fullmatch(self.text, line.head, line.end) for line in self.page.lines
        )

    def _opening_number(self, line: Line) -> Number | None:
        """Return the number that a line begins with; in a definition list, behind a colon."""
        head = line.head + 1 if self.text.startswith(":", line.head) else line.head
        number = number_at(self.text, head, line.end)
        return number if number is not None and number.start <= line.head + 2 else None

    def _number_at_the_end(self, line: Line, scale: Scale) -> list[Mark]:
        """Return the score that ends a line of explanation, "… 8/10", unless it has a label."""
        words = self.text[line.head : line.end]
        given = _I_GIVE_AT_THE_END.search(words)
        if given is not None and not line.images and not CONDITION.search(words):
            return self._last_number(line.head + given.start("value"), line.head, line.end, scale)

        ended = _AT_THE_END.search(words)
        if ended is None or Fraction(ended["top"]) != scale.high:
            return []

        place = line.head + ended.start("value")
        before = self.text[line.head : place].rstrip()
        if before.endswith((":", "=", "→")):
            return []

        if self.n > 1 and not before.endswith((".", "!", "?", "(", "–", "—", "-")):
            return []

        return self._last_number(place, line.head, line.end, scale)

    # --- Lists under factors ---

    def _is_by_factor(self, line: Line, index: int) -> bool:
        """Tell whether the numbers of a line are those of images on one factor."""
        found = self._images[index]
        if self.only is not None:
            return bool(line.factors) and len(found) > 1

        if not found:
            return False

        if not line.factors or len(found) > 1:
            return True

        return self._only_mentions(line) or self._image_first(line, found)

    def _image_first(self, line: Line, found: Sequence[Pair[ImageName]]) -> bool:
        """Tell `S_acc: Image 1: 8` from `S_acc: 8 (Image 1 …)`."""
        start, end = line.factors[0].end, found[0].name.start
        between = self.text[start:end]
        for image in line.images:
            if start <= image.start and image.end <= end:
                between = between.replace(self.text[image.start : image.end], "")

        return not re.search(r"\w", _SAID_TO_BE_MISSING.sub("", between))

    def _images_say(self, line: Line, index: int) -> Iterator[Said]:
        found = self._images[index]
        if not found:
            return

        key = self._factor_of_images(line, index)
        if key is None:
            return

        lead = self.text[line.head : found[0].start]
        kind = kind_of(lead)
        if not line.factors and self.only is None and _STRANGE_LABEL.match(lead):
            # "ACC:" and its list, and below it "PRE — Image 1: 9".
            self.unplaced = True
            return

        if line.kind is not Kind.VERDICT or kind not in {None, Kind.VERDICT}:
            self.drafts.add(line.kind if line.kind is not Kind.VERDICT else kind or Kind.DRAFT)
            return

        for pair in found:
            if self._only_counts(pair) or self._is_loose(line, pair):
                continue

            if len(pair.name.positions) > 1 and self._goes_on_as_a_list(line, pair):
                self.unplaced = True
                continue

            for position in pair.name.positions:
                if position == UNKNOWN:
                    self.unplaced = True
                    continue

                mark = self._in_reply(pair.mark)
                unit = -1 - line.section
                yield Said(position, key, mark, "prose by factor", unit, line.caption)

    def _is_loose(self, line: Line, pair: Pair[ImageName]) -> bool:
        """Tell whether only a space joins an image under a factor's heading
        to a number amid words."""
        if line.factors or self.only is not None:
            return False

        between = self.text[pair.name.end : pair.mark.span[0]].strip("[(\"' ")
        if pair.backward:
            joint = self.text[pair.mark.span[1] : pair.name.start]
            return not re.search(r"[a-z(:=]", joint)

        rest = self.text[pair.end : line.end].strip("])\"'. ")
        return not between and not pair.bracketed and bool(rest)

    def _only_counts(self, pair: Pair[ImageName]) -> bool:
        """Tell whether a sentence counts something in an image: "Image 3 has 2 dogs"."""
        behind = self.text[pair.name.end : pair.name.end + 2].strip()
        return pair.mark.kind is FaultKind.AMBIGUOUS and behind[:1] not in {":", "=", "("}

    # --- Numbers in a stated order ---

    def _tuple_says(self, line: Line, values: Sequence[Listed]) -> Iterator[Said]:
        if line.kind is not Kind.VERDICT:
            self.drafts.add(line.kind)
            return

        for image, key, mark in values:
            positions = (image,) if image is not None else line.positions
            if self.n > 1 and (positions is None or UNKNOWN in positions):
                self.unplaced = True
                continue

            placed = self._in_reply(mark)

            for position in positions or (None,):
                by_order = not line.images and image is not None
                yield Said(position, key, placed, "prose", -1, line.caption, by_order=by_order)


_JOINT_BEHIND = re.compile(
    r"[.)\]*]{0,2}[ ]?(?:[:=→]|\b(?:for|in|on|für|pour|para|per)\b(?:[ ]+(?:the|its)\b)?)[ ]*",
    re.IGNORECASE,
)

_FEW_LINES = 6
"""How far below its name a number may stand that is the next name's."""

_NO_IMAGE = re.compile(r"\W*(?:no|without)[ ](?:\w+[ ])?(?:image|picture|photo)s?\b", re.IGNORECASE)


def _is_the_judges_own(line: str) -> bool:
    """Tell whether a line is called final, or begins as the judge's own: "My scores: …"."""
    return is_final(line) or _MINE.match(line) is not None


_MINE = re.compile(r"\W*(?:my|mine|meine?|mes|mis|mi|miei|minhas?|我的|私の)\b", re.IGNORECASE)


def _takes_all_back(tail: str) -> bool:
    """Tell whether what follows a list of scores in its sentence makes them none."""
    tail = tail.partition(". ")[0]
    if not any(map(str.isalpha, tail)):
        return False

    if sees_nothing(tail) or _NO_IMAGE.match(tail) or takes_back(tail):
        return True

    return len(tail) < 60 and makes_up(f"scores: {tail}")


def _is_of_another(lead: str) -> bool:
    """Tell whether a sentence, up to its first score, speaks of another image by its place; one
    that is only compared with it goes on with its scores."""
    other = _ANOTHER_ONE.search(lead)
    if other is None:
        return False
    return not other["compared"] or any(map(str.isalpha, lead[other.end() :]))


def _shares_out(lead: str, found: Sequence[Pair[FactorName]]) -> bool:
    """Tell whether numbers before names are the parts of a number of things that was named before:
    "There are ten questions, six for accuracy and four for quality"."""
    if len(found) < _SEVERAL or not all(pair.backward for pair in found):
        return False

    total = sum(pair.value or 0 for pair in found)
    return any(worth(each["number"]) == total for each in _SO_MANY.finditer(lead))


_SEVERAL = 2
_SO_MANY = re.compile(
    rf"(?<![\w.])(?P<number>[0-9]{{1,3}}|{_ONE_TO_TEN})[ ][^\W\d_]{{3,}}s\b", re.IGNORECASE
)


def _enumerates(found: Sequence[Pair[FactorName]]) -> bool:
    """Tell whether numbers only number the factors: `(1), (2), (3)`;
    `1 – Accuracy, 2 – Quality`."""
    values = [pair.value for pair in found]
    counted = values == [*range(1, len(values) + 1)]
    several = len(values) > 2

    if not all(pair.backward for pair in found):
        return counted and several and all(pair.bracketed for pair in found)

    if counted:
        # "1 – Accuracy" alone may be a score.
        return len(values) > 1

    return several and _steps(values) == {Fraction(1, 10)}


def _steps(values: Sequence[Fraction | None]) -> set[Fraction]:
    """Return the differences between numbers in a row: those of `3.1, 3.2, 3.3` number sections."""
    return {later - former for former, later in pairwise(values) if former and later}


def _counts_up(values: Sequence[Fraction | None]) -> bool:
    """Tell whether numbers may count something, 1, 2, 3 or 2.1, 2.2, with or without gaps; for each
    image they may begin anew, and all may be the number of the only one."""
    first = values[0] or Fraction(0)
    below = Fraction(first.__floor__())
    begins = first == 1 or (below > 0 and first - below == Fraction(1, 10))
    return begins and all(
        later == first or (former or 0) < (later or 0) for former, later in pairwise(values)
    )


def _pairs_inside(found: Sequence[Pair[FactorName]], part: Part) -> list[Pair[FactorName]]:
    """Return the pairs named in a part; those whose number is there too, where there are any."""
    named = [pair for pair in found if part.start <= pair.name.start < part.end]
    whole = [pair for pair in named if pair.start >= part.start]
    return whole or named
