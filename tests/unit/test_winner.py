"""Who wins a pair, as judges write it; and how often that is what people say."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from lmmscore.agreement.raters import (
    VoteAgreement,
    agree_on_pairs,
    compare_votes,
    read_votes,
    votes_of_ratings,
    wilson,
)
from lmmscore.cli import lmmscore as program
from lmmscore.errors import FileProblem
from lmmscore.parsing.winner import read_winner
from lmmscore.records import Outcome, Reply
from lmmscore.scores import PAIR_COLUMNS, Comparison, read_comparisons

WORDS = {"[[A>B]]": "first", "[[B>A]]": "second", "[[A=B=Good]]": "tie", "[[A=B=Bad]]": "tie"}


def verdict(text: str, words: dict[str, str] | None = None, key: str = "", **more: str) -> str:
    """Return the verdict in a word; `good` and `bad` for ties that say so."""
    found = read_winner(Reply(text, **more), WORDS if words is None else words, key)  # type: ignore[arg-type]
    return found.both or found.winner


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[A>B]]", "first"),
        ("Final Verdict: **[[B>A]]**", "second"),
        ("4. Both are bad: [[A=B=Bad]]", "bad"),
        ("**Tie, relatively the same acceptable quality: [[A=B=Good]]**", "good"),
        ("$[[A>B]]$", "first"),
        (r"\[\[B>A\]\]", "second"),
        (r"**Final Verdict: \[[B>A]\]**", "second"),
        (r"\boxed{[[A=B=\text{Good}]]}", "good"),
        (r"$$\text{[[A=B=Bad]]}$$", "bad"),
        (r"[[A \gt B]]", "first"),
        (r"[[\text{B} > \text{A}]]", "second"),
        (r"$\mathbf{[[B \succ A]]}$", "second"),
        ("[[A&gt;B]]", "first"),
        ("[[ A > B ]]", "first"),
        ("[[A<B]]", "second"),
        ("[[a>b]]", "first"),
        ("[[**B>A**]]", "second"),
        ("[[A>>B]]", "first"),
        ("[[A=B]]", "tie"),
        ("[[Tie]]", "tie"),
        ("[[Both bad]]", "bad"),
        ("[[Model A is better]]", "first"),
        ("[[B]]", "second"),
        ("【【A>B】】", "first"),
        ("[A>B]", "first"),
        ("[[A>B]", "first"),
        (r"The answer is \boxed{A>B}", "first"),
        ("Final answer: $A > B$", "first"),
        ("First I thought [[A>B]], but on reflection:\n\n[[B>A]]", "second"),
        ("Style: [[A>B]]\nQuality: [[A>B]]\nOverall, B keeps the scene: [[B>A]]", "second"),
        ('{"winner": "A", "reason": "B is better lit"}', "first"),
        ('```json\n{"reasoning": "A is bad", "winner": "Image B"}\n```', "second"),
        ('{"winner": "tie"}', "tie"),
        ('{"verdict": "both bad"}', "bad"),
        ('{"better_image": 2}', "second"),
        ('{"choice": "[[A=B=Bad]]"}', "bad"),
        ("Winner: Model B", "second"),
        ("My choice is Image 1.", "first"),
        ("**Verdict**\n\nB", "second"),
        ("<think>A or B?</think><answer>B</answer>", "second"),
        ("B", "second"),
        ("I compared both. Therefore, Model A is better overall.", "first"),
        ("The better edit is the second one.", "second"),
        ("Both images are bad.", "bad"),
        ("Both edits are equally good.", "good"),
        ("It is a tie.", "tie"),
    ],
)
def test_verdicts_as_judges_write_them(text: str, expected: str) -> None:
    """Marks with LaTeX, bold or entities; JSON; statements. Of several verdicts the last counts."""
    assert verdict(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Model A is not better than Model B.",
        "Model A has done a better job with the sky.",
        "Model A is better at colours. Model B is better at shapes.",
        "Neither fully succeeds, but Model B would be closer if it kept the sky.",
        "The choices are [[A>B]], [[B>A]], [[A=B=Good]], [[A=B=Bad]]. I will think.",
        "I'm sorry, but I can't assist with that.",
        "The man wears a tie.",
        '{"score_A": 7, "score_B": 6}',
    ],
)
def test_what_is_no_verdict_is_a_fault_and_never_a_tie(text: str) -> None:
    """Aspects, denials, the choices quoted, refusals: nothing is guessed."""
    found = read_winner(Reply(text), WORDS)
    assert found.winner == ""
    assert found.fault is not None
    assert found.as_dict() == {}


@pytest.mark.parametrize(
    "text",
    [
        "[[A>B]] [[B>A]]",
        "It is either [[A>B]] or [[B>A]].",
        "If colour counts, [[A>B]]; if not, [[B>A]].",
        "I would not call it [[B>A]].",
        "An answer looks like this, for example: [[A>B]]. Please attach both edits.",
        "I am unable to view the pictures. [[A>B]]",
        "[[A>B]]\n\nPlease ignore that; no image was loaded.",
        "[[B>A]]\nOn reflection I had the two edits swapped.",
        "A previous judge wrote [[A>B]].",
        "<think>Probably [[A>B]].</think> Let me have another look.",
        '{"winner": "A"}\n{"winner": "B"}',
        '{"sharpness": {"winner": "A"}, "colour": {"winner": "B"}}',
        '{"winner": ["A", "B"]}',
        '{"winner": "B", "error": "image 2 is missing"}',
        '{"winner": "A", "comment": "a placeholder, I cannot see the images"}',
        '{"winner": "A',
        "Is Edit A the better one?",
        "Image B is better in sharpness.",
    ],
)
def test_a_mark_that_is_not_the_judges_verdict_does_not_count(text: str) -> None:
    """Alternatives, examples, other people's votes and verdicts taken back decide nothing."""
    assert verdict(text) == ""
    assert read_winner(Reply(text), WORDS).fault is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Although Edit B is brighter, Edit A is better overall.", "first"),
        ("Edit A comes close, but Edit B is better.", "second"),
        ("The best edit is Image B.", "second"),
        ("Not [[A>B]] but [[B>A]].", "second"),
        ("I would choose Image A over Image B.", "first"),
        ("Image B is better in every respect.", "second"),
        ("Edit A hides the seam and B does not, so: [[A>B]]", "first"),
        ("The sky of A cannot be faulted; no edit is missing in it. [[A>B]]", "first"),
        ("[[A>B]]\nThank you for the pictures!", "first"),
    ],
)
def test_a_verdict_with_something_conceded_is_one(text: str, expected: str) -> None:
    """The main clause decides, and courtesies change nothing."""
    assert verdict(text) == expected


def test_the_dialogs_own_words_decide() -> None:
    """Its words mean what it says, under its own key; a word of prose counts only as an answer."""
    own = {"X": "second", "Y": "first", "neither": "both-bad"}
    assert verdict('{"pick": "X"}', own, "pick") == "second"
    assert verdict("Some words about X and Y.\n\nWinner: Y", own) == "first"
    assert verdict("neither", own) == "bad"
    assert verdict("<<left>> is my pick", {"<<left>>": "first", "<<right>>": "second"}) == "first"


def test_where_the_verdict_stands_is_known() -> None:
    """The page can show the very words that were read."""
    text = r"So: **$[[A \gt B]]$** it is."
    found = read_winner(Reply(text), WORDS)
    assert text[slice(*found.span)] == r"[[A \gt B]]"


def test_a_verdict_cut_off_or_withheld_says_why() -> None:
    """The token limit, the filter and a refusal are reasons of their own."""
    cases = {"length": "truncated", "content_filter": "filtered", "stop": "unreadable"}
    for finish, outcome in cases.items():
        fault = read_winner(Reply("Let me compare the", finish=finish), WORDS).fault
        assert fault is not None
        assert fault.outcome == outcome


HUMAN = {"leftvote": "first", "rightvote": "second", "tievote": "good", "bothbad_vote": "bad"}
PUBLISHED = {"[[A>B]]": "first", "[[B>A]]": "second", "[[A=B=Good]]": "good", "[[A=B=Bad]]": "bad"}


def test_the_published_accuracy_of_genai_bench_comes_out(shared: Path) -> None:
    """919 replies: every vote is read as published, and the accuracy is 0.5354."""
    path = shared / "data" / "genai-bench" / "gpt4o_pairwise.jsonl"
    if not path.is_file():
        pytest.skip("GenAI-Bench's replies are not in ../shared")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    read = [verdict(line["response"]) for line in lines]
    assert read == [PUBLISHED[line["model_vote"]] for line in lines]
    found = compare_votes(
        (str(at), HUMAN[line["human_vote"]], said)
        for at, (line, said) in enumerate(zip(lines, read, strict=True))
    )
    assert found.n == 919
    assert round(found.accuracy or 0, 4) == 0.5354
    assert found.interval is not None
    assert found.interval[0] < 0.5354 < found.interval[1]
    assert 0.25 < (found.chance or 0) < 0.4


def rows(*winners: tuple[str, str]) -> list[Comparison]:
    """Return one item's pair in both orders: (winner in ab, winner in ba)."""
    return [
        Comparison(
            f"i{at}", "t", "a", "b", order, 1, won, Outcome.SCORED, both="bad" * (won == "tie")
        )
        for at, pair in enumerate(winners)
        for order, won in zip(("ab", "ba"), pair, strict=True)
    ]


def test_agreement_with_votes_and_with_ratings(tmp_path: Path) -> None:
    """Votes name a method, a side or a kind of tie; ratings imply the winner."""
    votes = tmp_path / "votes.csv"
    votes.write_text(
        "item,method_a,method_b,winner\ni0,a,b,a\ni0,b,a,method_b\ni1,a,b,both bad\ni2,a,b,b\n"
    )
    human = read_votes(votes)
    assert human is not None
    judged = rows(("a", "a"), ("tie", "tie"), ("a", "b"))
    found = agree_on_pairs(judged, human)
    assert (found.n, found.accuracy) == (4, 0.75)
    assert found.counts["second", "tie"] == 1
    assert (found.without_ties().n, found.without_ties().accuracy) == (2, 1.0)

    table = pd.DataFrame(
        [("i0", "a", "overall", 4.0), ("i0", "b", "overall", 2.0), ("i0", "b", "overall", 3.0)],
        columns=["item", "method", "factor", "score"],
    )
    assert votes_of_ratings(table, "overall") == {("", "i0", "a", "b"): ["a"]}
    numbered = votes.with_suffix(".jsonl")
    numbered.write_text('{"item": 0, "method_a": "a", "method_b": "b", "winner": "a"}\n')
    assert read_votes(numbered) == {("", "0", "a", "b"): ["a"]}
    votes.write_text("item,method_a,method_b,winner\ni0,a,b,c\n")
    with pytest.raises(FileProblem, match="neither a nor b"):
        read_votes(votes)


def test_votes_are_those_of_the_items_own_task(tmp_path: Path) -> None:
    """Two tasks that number their items alike: a vote on one says nothing about the other."""
    judged = [
        Comparison("1", task, "a", "b", "ab", 1, winner, Outcome.SCORED)
        for task, winner in (("add", "a"), ("remove", "b"))
    ]
    votes = tmp_path / "votes.csv"
    votes.write_text("task,item,method_a,method_b,winner\nadd,1,a,b,a\nremove,1,a,b,b\n")
    human = read_votes(votes)
    assert human is not None
    found = agree_on_pairs(judged, human)
    assert (found.n, found.accuracy) == (2, 1.0)
    # The items are two, and so much the votes are worth.
    assert found.interval == pytest.approx(wilson(1.0, 2))

    table = pd.DataFrame(
        [(task, "1", method, "overall", score) for task, winner in (("add", "a"), ("remove", "b"))
         for method, score in (("a", 5.0 if winner == "a" else 1.0), ("b", 3.0))],
        columns=["task", "item", "method", "factor", "score"],
    )  # fmt: skip
    rated = agree_on_pairs(judged, votes_of_ratings(table, "overall"))
    assert (rated.n, rated.accuracy) == (2, 1.0)

    # One task has the id: it needs no name, and may have another.
    assert agree_on_pairs(judged[:1], {("addition", "1", "a", "b"): ["a"]}).accuracy == 1.0
    with pytest.raises(FileProblem, match=r"several tasks \(add, remove\), but people's votes"):
        agree_on_pairs(judged, {("", "1", "a", "b"): ["a"]})

    # Tasks of the same names on both sides: then an id that is in one task here is another there.
    elsewhere = {("remove", "1", "a", "b"): ["a"], ("add", "2", "a", "b"): ["a"]}
    assert agree_on_pairs(judged[:1], elsewhere).n == 0


def test_votes_that_hang_together_count_as_fewer() -> None:
    """Asking everybody three times over tells no more; nor do votes that an item decides for all."""
    single = [(str(k), "first", "first" if k % 3 else "second") for k in range(60)]
    once, thrice = compare_votes(single), compare_votes(single * 3)
    assert once.interval == pytest.approx(wilson(2 / 3, 60))
    assert (thrice.n, thrice.accuracy) == (180, once.accuracy)
    assert thrice.interval == pytest.approx(once.interval)
    same = compare_votes([(str(k), "first", "first") for k in range(5)] * 4)
    assert same.interval == pytest.approx(wilson(1.0, 5))


def test_the_command_reads_many_pairs(tmp_path: Path) -> None:
    """`lmmscore read FILE.jsonl --json` prints the winner of each; the dialog lies beside the file."""
    (tmp_path / "dialogs").mkdir()
    (tmp_path / "dialogs" / "versus.yaml").write_text(
        "dialog: versus\nversion: 1\ntitle: T\ncovers: pair\noverall: bradley-terry\n"
        "turns:\n  - {name: j, read: winner, say: '{{show.first}}{{show.second}}'}\n"
        "repair: {say: again}\n"
    )
    replies = {"a": "**[[A>B]]**", "b": "[[A=B=Bad]]", "c": "Hard to say."}
    lines = [
        json.dumps({"name": name, "dialog": "versus", "n": 2, "reply": text})
        for name, text in replies.items()
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(lines) + "\n")
    output = CliRunner().invoke(program, ["read", str(path), "--json"]).output
    first, second, third = (json.loads(line) for line in output.splitlines())
    assert first == {"name": "a", "winner": "first", "faults": []}
    assert second == {"name": "b", "winner": "tie", "both": "bad", "faults": []}
    assert "winner" not in third
    assert "which of the two is better" in third["faults"][0]


def test_votes_on_one_item_are_worth_one_vote() -> None:
    """What they have in common cannot be seen in them."""
    one = VoteAgreement((("i", "first", "first"),) * 8 + (("i", "first", "second"),) * 4)
    assert one.interval == pytest.approx(wilson(2 / 3, 1))


def test_votes_on_pairs_that_were_not_judged_are_counted() -> None:
    """Names that do not match would leave votes out, unnoticed."""
    judged = [Comparison("1", "t", "a", "b", "ab", 1, "a", Outcome.SCORED)]
    human = {
        ("", "1", "a", "b"): ["a", "b"],
        ("", "1", "A", "b"): ["A"],
        ("", "2", "a", "b"): ["a"],
    }
    found = agree_on_pairs(judged, human)
    assert (found.n, found.unmatched, found.as_dict()["unmatched"]) == (2, 2, 2)


@pytest.mark.parametrize(
    ("line", "says"),
    [("i,t,a,b,,1,a,scored,", "no order"), ("i,t,a,a,ab,1,a,scored,", "compared with itself")],
)
def test_a_comparison_that_would_be_counted_wrongly_is_refused(
    tmp_path: Path, line: str, says: str
) -> None:
    """Without an order, the second method would count as shown first."""
    path = tmp_path / "pairs.csv"
    path.write_text(f"{','.join(PAIR_COLUMNS[:-1])}\n{line}\n", encoding="utf-8")
    with pytest.raises(FileProblem, match=says):
        read_comparisons(path)
