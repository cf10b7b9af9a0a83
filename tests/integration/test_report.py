"""The report page: what is on it, and that nothing in it can break out."""

from __future__ import annotations

import base64
import json
import re
import shutil
import sys
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lmmscore
from lmmscore.agreement import agree
from lmmscore.cli import lmmscore as program
from lmmscore.conversation import Conversation
from lmmscore.errors import FatalJudgeError, FileProblem, LedgerError
from lmmscore.records import Reply, Usage
from lmmscore.report import thumbnails
from lmmscore.report.charts import (
    Axis,
    axis_over,
    distribution_chart,
    interval_bar,
    position_chart,
    rank_strip,
    round_step,
    standings_axis,
)
from lmmscore.report.edits import (
    APART,
    Numbered,
    markup,
    slug,
)
from lmmscore.report.figures import agreement_scatter, fit_line
from lmmscore.report.formats import NONE
from lmmscore.report.leaderboard import RankedMethod
from lmmscore.report.page import PageOptions, write_page
from lmmscore.report.run_data import Piece, RunData
from lmmscore.report.run_view import (
    cost_grid,
    cost_line,
    coverage,
    make_boards,
    make_maps,
    place_means,
    rank_run,
)
from lmmscore.report.thumbnails import CACHE_NAME, ThumbnailMaker, place_pictures, sensible_px
from lmmscore.run_folder import Run, open_run
from lmmscore.score_files import read_ratings
from lmmscore.stats import interval_over
from lmmscore.web import digest_source, inert_json, inline_policy
from tests import hostile
from tests.conftest import ScriptedJudge

DEMO = Path(__file__).parents[2] / "media" / "demo"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A real run of three items, judged twice by the offline judge."""
    items = ["boat", "car", "lake"]
    return lmmscore.run(DEMO, out=tmp_path_factory.mktemp("run") / "demo", items=items, repeats=2)


@pytest.fixture(scope="module")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run in which every text is an attack."""
    folder = tmp_path_factory.mktemp("hostile")
    return lmmscore.run(
        hostile.benchmark(folder / "bench"), judge=hostile.HostileJudge(), out=folder / "run"
    )


@pytest.fixture(scope="module")
def page(run: Run, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page about the real run, with ratings."""
    human = hostile.ratings(
        tmp_path_factory.mktemp("human") / "human.csv",
        ["boat", "car", "lake"],
        run.manifest.methods,
    )
    done = CliRunner().invoke(
        program,
        ["report", str(run.path), "--human", str(human), "--resamples", "100"],
        catch_exceptions=False,
    )
    assert done.exit_code == 0, done.output
    assert done.stdout.strip() == str(run.path / "report.html")
    return (run.path / "report.html").read_text(encoding="utf-8")


class Reader(HTMLParser):
    """Gathers what a browser would see in the static page: elements, texts, and the inert data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.data: dict[str, object] = {}
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = (
            dict(attrs).get("id") or "script"
            if tag == "script"
            else "style"
            if tag == "style"
            else ""
        )

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside.startswith("data-"):
            self.data[self._inside] = json.loads(data)
        elif not self._inside:
            self.words.append(data)

    @property
    def text(self) -> str:
        """All words, white space made single."""
        return " ".join(" ".join(self.words).split())


def test_the_page_says_what_was_judged_and_what_to_be_careful_about(page: str) -> None:
    """Judge, dialog, methods, cost and coverage stand in the summary, with the cautions in plain words."""
    text = Reader(page).text
    for expected in (
        "demo: 3 items in 3 task categories",
        "pixels",
        "lmm-score, version 2",
        "Coverage: 36 scored",
    ):
        assert expected in text
    assert "pixels is a baseline that cannot read instructions" in text
    assert "3 items: one odd picture can move every mean" in text


def test_every_section_is_there_with_real_headings(page: str) -> None:
    """Result, agreement, edits, conversations and about are headed sections, one h1 above them."""
    reader = Reader(page)
    headings = [attrs.get("id") for tag, attrs in reader.tags if tag == "h2"]
    for section in ("result", "agreement", "gallery", "conversations", "about"):
        assert f"{section}-title" in headings
    assert sum(tag == "h1" for tag, _ in reader.tags) == 1


def test_every_task_and_factor_has_a_table_with_drawn_intervals_and_ranks(
    page: str, run: Run
) -> None:
    """There is a table for each category and factor; means, intervals and ranks are the leaderboard's."""
    reader = Reader(page)
    tables = [
        attrs
        for tag, attrs in reader.tags
        if tag == "section" and "board" in str(attrs.get("class")).split()
    ]
    assert len(tables) == 4 * 5
    titles = reader.text
    for row in run.leaderboard().table(None).rows:
        low, high = row.mean_interval or (0, 0)
        assert f"{row.method}: mean {row.mean:.2f}, 95% interval {low:.2f}–{high:.2f}" in titles
        assert f"{row.method}: rank {row.rank}, rank interval" in titles


def test_the_verdict_comes_before_everything_else(page: str) -> None:
    """The first thing said after the title is who is ahead, and whether that is significant."""
    text = Reader(page).text
    verdict = text.index("has the highest mean; 3 items are too few")
    assert text.index("6 editing methods on 3 items") < verdict < text.index("95% interval")
    assert verdict < text.index("What to be careful about") < text.index("Coverage: 36 scored")


def test_tables_can_be_copied_as_latex_and_markdown(page: str) -> None:
    """Each table comes as text in both forms, with the caution in it."""
    copies = Reader(page).data["data-core"]["copies"]  # type: ignore[index]
    assert len(copies) == 20
    whole = next(iter(copies.values()))
    assert r"\begin{tabular}" in whole["latex"] and "CleanEdit" in whole["latex"]
    assert r"\documentclass" not in whole["latex"]
    assert "| CleanEdit |" in whole["markdown"] and "cannot read instructions" in whole["markdown"]


def test_the_gallery_has_every_edit_with_its_scores_and_what_people_said(
    page: str, run: Run
) -> None:
    """Scores are the run's own, averaged over repeats; the raters' means stand beside them."""
    core = Reader(page).data["data-core"]
    items = core["items"][0]  # type: ignore[index]
    assert [item["id"] for item in items] == ["boat", "lake", "car"]
    scores = run.scores()
    for item in items:
        assert [kind for kind, _ in item["pictures"]] == ["source", "reference", "marked"]
        for edit in item["edits"]:
            method = core["runs"][0]["methods"][edit["method"]]  # type: ignore[index]
            chosen = scores[(scores["item"] == item["id"]) & (scores["method"] == method)]
            expected = chosen[chosen["factor"] == "overall"]["score"].mean()
            assert edit["scores"][0] == pytest.approx(expected, abs=0.001)
            assert len(edit["seen"]) == 2 and len(edit["spread"]) == 5
            assert all(1 <= rating <= 9 for rating in edit["people"])


def _said(node: object) -> str:
    """Return the words of a tree."""
    return node if isinstance(node, str) else "".join(_said(child) for child in node[2:])  # type: ignore[index]


def _marked(node: object) -> list[tuple[str, str]]:
    """Return every marked score of a tree: its words, and what it was read as."""
    if isinstance(node, str):
        return []
    own = [(_said(node), node[1]["title"])] if node[0] == "mark" else []  # type: ignore[index]
    return own + [found for child in node[2:] for found in _marked(child)]  # type: ignore[index]


def test_every_turn_of_every_conversation_is_on_the_page(page: str, run: Run) -> None:
    """Question and reply are there word for word, and scores are marked in the judge's words."""
    data = Reader(page).data
    talks = data["data-talks-0"]
    questions = data["data-texts"]
    records = list(run.records())
    assert len(talks) == len(records) == 6  # type: ignore[arg-type]
    from lmmscore.ledger import Ledger

    with Ledger(run.ledger_path, read_only=True) as ledger:
        for talk, record in zip(talks, records, strict=True):  # type: ignore[call-overload]
            for turn, exchange in zip(talk["turns"], record.exchanges, strict=True):
                entry = ledger.entry(exchange.key)
                assert entry is not None
                assert questions[turn["question"]] == entry.question  # type: ignore[index]
                written = turn.get("raw") or "".join(_said(node) for node in turn["reply"])
                assert "".join(written.split()) == "".join(entry.reply.text.split())
            marked = [
                found for turn in talk["turns"] for node in turn["reply"] for found in _marked(node)
            ]
            assert len(marked) == 6 * 4
            assert all(float(text) == float(read.split("= ")[1]) for text, read in marked)


def test_links_to_turns_are_stable_and_unique(page: str, run: Run, tmp_path: Path) -> None:
    """The names of turns are made of item, repeat and turn, differ, and stay when the page is made again."""
    first = _turn_ids(page)
    again = write_page([RunData("other", run)], PageOptions(out=tmp_path / "again.html")).read_text(
        encoding="utf-8"
    )
    assert first == _turn_ids(again)
    assert len(first) == len(set(first))
    assert f"boat{APART}1{APART}edit{APART}3" in first


def _turn_ids(page: str) -> list[str]:
    data = Reader(page).data
    bundles = [value for name, value in data.items() if name.startswith("data-talks-")]
    return [turn["id"] for bundle in bundles for talk in bundle for turn in talk["turns"]]  # type: ignore[attr-defined]


def test_agreement_is_shown_factor_by_factor(page: str) -> None:
    """With ratings there are a table, a scatter and a Bland–Altman plot per factor, dots linked."""
    reader = Reader(page)
    labels = [str(attrs.get("aria-label")) for tag, attrs in reader.tags if tag == "svg"]
    names = ("Editing Accuracy", "Visual Quality", "Logical Realism", "Overall")
    for factor in names:
        assert any(label.startswith(f"{factor}: Spearman ρ") for label in labels)
        assert any(label.startswith(f"{factor}: bias") for label in labels)
    charts = reader.data["data-core"]["charts"]  # type: ignore[index]
    assert len(charts["scatter-0-0"]["points"]) == 18
    assert charts["scatter-0-0"]["points"][0][4:] == ["boat", "CleanEdit"]


def test_how_it_was_made_names_versions_digests_and_the_command(page: str, run: Run) -> None:
    """The page gives the command to make the run again, the digests of its files and the versions."""
    text = Reader(page).text
    assert "lmmscore run" in text and "--repeats 2" in text
    assert run.manifest.dialog_digest in text
    assert re.search(r"SHA-256 of scores.csv [0-9a-f]{64}", text)
    assert "0.4 × acc + 0.3 × pre + 0.2 × qua + 0.1 × real" in text


def test_the_policy_allows_nothing_but_the_page_itself(page: str) -> None:
    """No address is allowed but data:, code only by digest, and nothing in the page names a host to fetch from."""
    reader = Reader(page)
    said = next(
        attrs["content"]
        for tag, attrs in reader.tags
        if attrs.get("http-equiv") == "Content-Security-Policy"
    )
    assert said is not None and said.startswith("default-src 'none'; img-src data:; ")
    assert "unsafe" not in said and "http" not in said
    for tag, attrs in reader.tags:
        for name in ("src", "href", "action", "srcset", "data", "poster"):
            address = attrs.get(name)
            assert address is None or address.startswith("#"), (tag, attrs)
        assert not any(name.startswith("on") or name == "style" for name in attrs), (tag, attrs)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert scripts and all(digest_source(code) in said for code in scripts)


def test_hostile_texts_stay_texts(hostile_run: Run) -> None:
    """No element, attribute or script comes from an instruction, a reply, a name or a parameter."""
    out = write_page(
        [RunData("<b>run</b>", hostile_run)], PageOptions(out=hostile_run.path / "report.html")
    )
    text = out.read_text(encoding="utf-8")
    reader = Reader(text)
    own = {"broken", "evil.example"}
    for tag, attrs in reader.tags:
        assert tag not in {"iframe", "object", "embed", "link", "base", "b", "i"}
        assert not any(name.startswith("on") for name in attrs), (tag, attrs)
        if tag == "script":
            assert set(attrs) <= {"type", "id"}
        if tag in {"img", "a"}:
            assert not any(word in str(value) for word in own for value in attrs.values())
    inert = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL)
    assert inert and not any(set("<>&\u2028\u2029") & set(body) for body in inert)
    talks = reader.data["data-talks-0"]
    said = "".join(_said(node) for node in talks[0]["turns"][0]["reply"])  # type: ignore[index]
    for attack in hostile.ATTACKS[:6]:
        assert attack in said


def test_repairs_refusals_and_replaced_scores_are_marked(hostile_run: Run) -> None:
    """A repair turn says so, a refusal is shown as one, and an outcome other than scored carries its reason."""
    judged = RunData("run", hostile_run)
    marks = {
        talk.item: [mark for turn in talk.turns for mark in turn.marks] for talk in judged.talks
    }
    assert "refused" in marks["refused"]
    (repaired,) = (talk for talk in judged.talks if talk.item.startswith("b "))
    assert "repair 1" in marks[repaired.item]
    first = next(piece for turn in repaired.turns for piece in turn.pieces if piece.read)
    assert (first.text, first.counts) == ("9", False)
    assert judged.edits[repaired.item, "Plain"].scores["acc"] in ([2.0], [3.0])
    assert judged.edits["refused", "Plain"].outcome == "refused"
    assert {share.outcome: share.count for share in coverage(judged)} == {"scored": 4, "refused": 2}


_TWO_FACTORS = """
dialog: two
version: 1
title: Two factors
covers: edit
factors:
  - {{key: acc, name: Accuracy, scale: {{min: 1, max: 10}}}}
  - {{key: qua, name: Quality, scale: {{min: 1, max: 10}}}}
overall: {overall}
turns:
  - {{name: judge, show: [source, edit], read: scores, say: "Score it."}}
repair: {{say: "{{{{problems}}}}", at_most: 0}}
"""


def test_without_an_overall_every_edit_tells_what_became_of_it(
    tmp_path: Path, make_benchmark: Any
) -> None:
    """Not only one that is missing, whose lines name an overall that no other edit has."""
    replies = [
        Reply("acc: 5\nqua: 6", finish="length"),
        Reply("I'm sorry, but I can't assist with that."),
        Reply("acc: 5\nqua: hard to say"),
        Reply("acc: 5\nqua: 6"),
        Reply("acc: 7\nqua: 6"),
    ]

    def answer(conversation: Conversation) -> str | Reply:
        # The reader is shown no picture.
        return replies.pop(0) if conversation.messages[0].images else "{}"

    judge = ScriptedJudge(answer)
    (tmp_path / "two.yaml").write_text(_TWO_FACTORS.format(overall="none"))
    options: Any = {"dialog": str(tmp_path / "two.yaml"), "concurrency": 1}
    bench = make_benchmark(absent=((1, "gamma"),))
    data = RunData("run", lmmscore.run(bench, judge=judge, out=tmp_path / "run", **options))

    told = {place: (str(edit.outcome), edit.reason) for place, edit in data.edits.items()}
    outcomes = Counter(outcome for outcome, _ in told.values())
    assert outcomes == Counter(
        ("truncated", "refused", "unreadable", "missing", "scored", "scored")
    )
    assert {share.outcome: share.count for share in coverage(data)} == outcomes
    assert ("missing", "the method made no edit of this item") in told.values()
    assert any(reason.startswith("qua: ") for outcome, reason in told.values())
    assert data.factors == ["acc", "qua"]
    by_factor = make_maps(data, rank_run(data), "")[0]
    assert by_factor.columns == ("Accuracy", "Quality")


@pytest.mark.parametrize(("overall", "title"), [("mean", "Overall"), ("none", "Accuracy")])
def test_a_run_without_any_score_is_ranked_by_what_it_was_to_be_ranked_by(
    tmp_path: Path, make_benchmark: Any, overall: str, title: str
) -> None:
    """The overall where the dialog has one, not the first factor."""
    (tmp_path / "two.yaml").write_text(_TWO_FACTORS.format(overall=overall))

    def stop(_: Conversation) -> str:
        raise FatalJudgeError("no credit is left")

    with pytest.raises(FatalJudgeError):
        lmmscore.run(
            make_benchmark(items=1, absent=((0, "gamma"),)),
            judge=ScriptedJudge(stop),
            dialog=str(tmp_path / "two.yaml"),
            out=tmp_path / "run",
        )

    data = RunData("run", open_run(tmp_path / "run"))
    boards = make_boards(data, rank_run(data), "")
    assert boards[0].factor_title == title


def test_cost_counts_every_reply_once(hostile_run: Run) -> None:
    """Conversations that open with the same words share their first replies, paid for once."""
    keys = {exchange.key for record in hostile_run.records() for exchange in record.exchanges}
    data = RunData("run", hostile_run)
    line = cost_line(data)
    assert line.startswith(f"{len(keys)} replies, ")
    assert line.endswith(f"${0.01 * len(keys):.2f}")
    [grid] = cost_grid(data)
    *by_method, mean = grid.rows
    assert sum(int(calls.text) for _, calls, *_ in by_method) == len(keys)
    assert float(mean[-1].text) == pytest.approx(0.01 * len(keys) / len(data.talks), abs=1e-4)


def test_an_unknown_price_is_not_nothing(tmp_path: Path, make_benchmark: Any) -> None:
    """Replies without a price leave the dollars open, and the line says how many have one.

    Less than a cent is not nothing either.
    """
    prices = iter([0.004, *[None] * 1000])
    reply = "a: 7"
    dialog = tmp_path / "small.yaml"
    dialog.write_text(
        "dialog: small\nformat: 2\nversion: 1\ntitle: Small\ncovers: edit\noverall: mean\n"
        "factors: [{key: a, name: A, scale: {min: 1, max: 10}}]\n"
        'turns: [{name: t, read: scores, say: "Score it. {{show.source}}{{show.edit}}"}]\n'
        'repair: {say: "Again, please. {{problems}}"}\n'
    )
    judge = ScriptedJudge(lambda _: Reply(reply, usage=Usage(100, 20), cost_usd=next(prices)))
    judged = lmmscore.run(make_benchmark(items=2), str(dialog), judge, out=tmp_path / "run")
    data = RunData("run", judged)
    [grid] = cost_grid(data)
    dollars = {row[0].text: row[-1].text for row in grid.rows}
    assert dollars["mean per session"] == NONE and "0.0000" not in dollars.values()
    line = cost_line(data)
    assert line.endswith("$0.0040 for 1 of them; the others have no price on record")


@pytest.mark.parametrize("repeats", [1, 5])
def test_an_interval_by_position_needs_two_scores(run: Run, repeats: int) -> None:
    """Half an interval is Student's; one score at a position has none, rather than one of no width.

    An item that was judged again and again is still one item.
    """
    data = RunData("demo", run)
    rows = [("i1", 1, 5.0), ("i2", 1, 7.0), ("i3", 2, 6.0)] * repeats
    data.__dict__["scores"] = pd.DataFrame(
        [(item, "m", place, "overall", score) for item, place, score in rows],
        columns=["item", "method", "position", "factor", "score"],
    )
    found = place_means(data, "overall")
    assert found[1] == pytest.approx((0.0, 12.706 * 1.0), rel=1e-3)
    assert found[2] == (0.0, None)
    assert "±" not in str(position_chart("p", {1: (0.5, None)}, "Overall").drawing)


def test_pictures_can_lie_beside_the_page(run: Run, tmp_path: Path) -> None:
    """With assets, thumbnails are files in a folder named after the page, and the page holds only their names."""
    wish = PageOptions(out=tmp_path / "my report.html", assets=True, thumb_px=64)
    page = write_page([RunData("demo", run)], wish).read_text(encoding="utf-8")
    bundle = Reader(page).data["data-pictures-0"]
    files = list((tmp_path / "my report_assets").iterdir())
    assert files and all(address.startswith("my%20report_assets/") for address in bundle)  # type: ignore[attr-defined]
    assert "img-src data: 'self'" in unescape(page)
    full = Reader(page).data["data-full"]
    assert len(full) == len(bundle) and all(name.endswith(".jpg") for name in full)  # type: ignore[arg-type,union-attr]
    from lmmscore.images import read_header

    headers = [read_header(file) for file in files if file.suffix == ".webp"]
    assert headers and all(max(header.width, header.height) <= 64 for header in headers)


def test_full_pictures_can_be_inside_the_page(run: Run, tmp_path: Path) -> None:
    """With full images every picture is in the page as it lies on disk; without, none is."""
    options = PageOptions(out=tmp_path / "full.html", full_images=True, thumb_px=32)
    data = Reader(write_page([RunData("demo", run)], options).read_text(encoding="utf-8")).data
    addresses = [value for name, value in data.items() if name.startswith("data-full-")]
    boat = base64.b64encode((DEMO / "source" / "boat.jpg").read_bytes()).decode()
    assert f"data:image/jpeg;base64,{boat}" in addresses


def test_thumbnails_are_kept_beside_the_run(run: Run, tmp_path: Path) -> None:
    """A second report reads its thumbnails from the run's folder, by the digest of the picture."""
    copied = tmp_path / "run"
    shutil.copytree(run.path, copied)
    (copied / CACHE_NAME).unlink(missing_ok=True)
    first = write_page([RunData("demo", open_run(copied))], PageOptions(out=tmp_path / "a.html"))
    assert (copied / CACHE_NAME).stat().st_size > 10_000
    gone = tmp_path / "elsewhere"
    shutil.copytree(DEMO, gone)
    moved = RunData("demo", open_run(copied), images=gone)
    second = write_page([moved], PageOptions(out=tmp_path / "b.html"))
    pictures = [
        Reader(page.read_text(encoding="utf-8")).data["data-pictures-0"] for page in (first, second)
    ]
    assert pictures[0] == pictures[1]


def test_a_page_without_its_pictures_or_its_ledger_still_says_what_it_can(
    run: Run, tmp_path: Path
) -> None:
    """A run that was mailed without pictures and ledger gives tables, and says once what is missing."""
    mailed = tmp_path / "mailed"
    shutil.copytree(run.path, mailed)
    (mailed / "ledger.sqlite").unlink()
    judged = RunData("mailed", open_run(mailed), images=tmp_path / "nowhere")
    page = write_page([judged], PageOptions(out=tmp_path / "page.html")).read_text(encoding="utf-8")
    data = Reader(page).data
    assert "CleanEdit" in Reader(page).text
    assert data["data-talks-0"][0]["turns"][0]["marks"] == []  # type: ignore[index]
    assert Reader(page).text.count("ledger.sqlite is not here") == 1
    assert Reader(page).text.count("pictures is here. ") == 1
    assert set(data["data-pictures-0"]) == {""}  # type: ignore[arg-type]
    (mailed / "sessions.jsonl").unlink()
    bare = write_page(
        [RunData("mailed", open_run(mailed))], PageOptions(out=tmp_path / "bare.html")
    )
    core = Reader(bare.read_text(encoding="utf-8")).data["data-core"]
    assert core["talks"] == [] and len(core["items"][0]) == 3  # type: ignore[index]


@pytest.mark.parametrize("start", [0, 2 * 4096])
def test_a_damaged_ledger_is_no_missing_one(run: Run, tmp_path: Path, start: int) -> None:
    """Flipped bits, in the head of the file or behind it, end the report with what to do."""
    copied = tmp_path / "run"
    shutil.copytree(run.path, copied)
    ledger = copied / "ledger.sqlite"
    data = bytearray(ledger.read_bytes())
    for place in range(start, len(data), 997):
        data[place] ^= 0x15
    ledger.write_bytes(data)

    told = CliRunner().invoke(program, ["report", str(copied), "--out", f"{tmp_path}/page"])
    assert told.exit_code == 1 and isinstance(told.exception, LedgerError)
    assert "put back a copy, or move it away" in str(told.exception)
    assert not (tmp_path / "page").exists()


def test_edits_are_shown_without_the_ledger(run: Run, tmp_path: Path) -> None:
    """The benchmark lists them; that they cannot be compared with those judged is said."""
    copied = tmp_path / "run"
    shutil.copytree(run.path, copied)
    (copied / "ledger.sqlite").unlink()
    data = RunData("run", open_run(copied))
    shown = [path for talk in data.talks for turn in talk.turns for _, path in turn.images]
    assert shown and all(path.is_file() for path in shown)
    (said,) = data.lacking(data.talks)
    assert "no picture compared" in said


def test_pictures_are_found_where_they_are_now(run: Run, tmp_path: Path) -> None:
    """--images says where the benchmark's pictures lie today."""
    shutil.copytree(DEMO, tmp_path / "moved")
    judged = RunData("demo", run, images=tmp_path / "moved")
    page = write_page([judged], PageOptions(out=tmp_path / "page.html")).read_text(encoding="utf-8")
    assert "" not in Reader(page).data["data-pictures-0"]  # type: ignore[operator]


def test_two_runs_stand_side_by_side(run: Run, hostile_run: Run, tmp_path: Path) -> None:
    """Several runs share a page: each has its tables and conversations, and ranks are compared."""
    runs = [RunData("first", run), RunData("second", run)]
    page = write_page(runs, PageOptions(out=tmp_path / "page.html")).read_text(encoding="utf-8")
    reader = Reader(page)
    assert "Runs side by side" in reader.text
    names = [talk["id"] for talk in reader.data["data-core"]["talks"]]  # type: ignore[index]
    assert len(names) == len(set(names)) == 12
    ids = [attrs["id"] for _, attrs in reader.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_the_same_run_gives_the_same_figures(run: Run, tmp_path: Path) -> None:
    """Two pages of one run differ in nothing but the time they were made."""
    first, second = (
        write_page([RunData("demo", run)], PageOptions(out=tmp_path / "page.html")).read_text(
            encoding="utf-8"
        )
        for _ in range(2)
    )
    made = re.compile(r"Made by lmmscore on [^.]*\.")
    assert made.sub("", first) == made.sub("", second)


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    """The error says what was expected."""
    done = CliRunner().invoke(program, ["report", str(tmp_path)])
    assert isinstance(done.exception, FileProblem)
    assert "no run here" in str(done.exception)


_DATA = st.recursive(
    st.text() | st.none() | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


@settings(max_examples=50, deadline=None)
@given(_DATA)
def test_inert_data_comes_back_as_it_was_and_holds_nothing_active(data: object) -> None:
    """Whatever the texts, the JSON parses to the same data and cannot end or open an element."""
    text = str(inert_json(data))
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == data


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(), unique=True))
@example(["0" * 39 + ":0"])
def test_names_for_links_are_plain_and_differ(texts: list[str]) -> None:
    """Different items never share a link, whatever they are called, and a link needs no escaping."""
    names = [slug(text) for text in texts]
    assert len(set(names)) == len(texts)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]*", name) and APART not in name for name in names)


@settings(max_examples=50, deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_round_and_within_the_axis(low: float, size: float) -> None:
    """Every tick lies on the axis, at a multiple of 1, 2 or 5 times a power of ten."""
    axis = Axis(low, low + size, 0, 200)
    ticks = axis.ticks(4)
    assert 1 <= len(ticks) <= 6
    assert all(-0.2 <= x <= 200.2 for x, _ in ticks)


@pytest.mark.parametrize(
    "text",
    [
        "The sky is blue. It was grey.",
        "First paragraph.\n\nSecond one, 8.5 of 10.",
        "a - b + c = d: 1) no list (yet).",
        " indented",
        "trailing ",
        "one\nline",
        "1. a list",
        "- a list",
        "Title\n=====",
        "three\n\n\nlines",
        "\u00a0wide space",
        "a *b* `c`",
    ],
)
def test_plain_words_look_the_same_without_the_parser(text: str) -> None:
    """What skips the Markdown parser becomes the tree that the parser would have made."""
    from lmmscore.report import edits as module

    parsed = module._Builder(()).blocks(module._parser().parse(text))
    assert markup([Piece(text)]) == parsed


@pytest.mark.parametrize("items", [4, 5])
def test_a_line_has_a_band_where_a_table_has_an_interval(items: int) -> None:
    """Of four items no table gives an interval; neither does a chart."""
    item = np.repeat(np.arange(items), 3)
    rng = np.random.default_rng(0)
    x = rng.normal(size=len(item))
    line, band = fit_line(x, 2 * x + 1, item, np.array([0.0, 1.0]), rng)
    assert line == pytest.approx([1.0, 3.0])
    interval = interval_over(items, 0.5, lambda: np.linspace(0.4, 0.6, items), "none")
    assert (band is None) == bool(interval.why)


def test_drawn_intervals_keep_their_order() -> None:
    """A mean lies between the ends of its interval on paper as in numbers."""
    row = RankedMethod("A", 6.0, (5.5, 6.6), 2, (1, 3), (1, 4))
    axis = standings_axis([row])
    assert 0 < axis.at(5.5) < axis.at(6.0) < axis.at(6.6)
    drawn = str(interval_bar(row, axis, "A"))
    assert f'cx="{axis.at(6.0):g}"' in drawn and f'x1="{axis.at(5.5):g}"' in drawn
    strip = str(rank_strip(row, 5, "A"))
    assert 'class="band"' in strip and 'class="allowed"' in strip
    unscored = RankedMethod("A", None, None, None, None)
    assert "circle" not in str(interval_bar(unscored, axis, "B"))
    assert "circle" not in str(rank_strip(unscored, 5, "B"))


def test_the_ends_of_a_column_are_whole_numbers_on_a_scale_to_100() -> None:
    """What a column of the distribution stands for is said exactly, and not as 1e+02."""
    drawn = distribution_chart("d", {"A": [97.0, 12.0]}, (0.0, 100.0), "Overall").drawing
    assert "A: 1 from 95 to 100" in drawn and "A: 1 from 10 to 15" in drawn


def test_one_value_still_has_an_axis() -> None:
    """Equal means do not divide by zero."""
    assert axis_over([5.0, 5.0], 0, 100).at(5.0) == 50
    assert round_step(0.03) == pytest.approx(0.05)


def test_thumbnails_shrink_as_pictures_grow_many(tmp_path: Path) -> None:
    """Few pictures are shown large; of many, each is small; one that is gone is no error."""
    sizes = [sensible_px(count) for count in (10, 1000, 9000)]
    assert sizes == sorted(sizes, reverse=True) and len(set(sizes)) == 3
    pictures: Numbered[Path] = Numbered()
    boat, gone = DEMO / "source/boat.jpg", tmp_path / "gone.png"
    assert [pictures.add(path) for path in (boat, gone, boat)] == [0, 1, 0]
    with ThumbnailMaker(None) as maker:
        maker.begin(list(pictures), 32)
        made = maker.finish(list(pictures))
    placed = place_pictures(pictures, made, assets=None, full=False)
    (bundle,) = placed.thumbnails
    assert bundle[0].startswith("UklGR") and bundle[1] == ""


def test_thumbnails_of_many_pictures_come_from_other_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are the same as those made here, and none is missing where a process has died."""
    paths = [*sorted((DEMO / "source").iterdir()), tmp_path / "gone.png"]
    expected = _thumbnails(paths)
    made_here: list[Path] = []
    make_here = thumbnails._made

    def noted(path: Path, side_px: int, known: frozenset[str]) -> thumbnails.Made:
        made_here.append(path)
        return make_here(path, side_px, known)

    monkeypatch.setattr(thumbnails, "_made", noted)
    monkeypatch.setattr(thumbnails, "_ENOUGH", 1)
    monkeypatch.setattr(thumbnails, "_BATCH", 5)
    assert _thumbnails(paths) == expected
    assert not made_here

    monkeypatch.setattr(sys, "executable", shutil.which("true"))
    assert _thumbnails(paths) == expected
    assert sorted(made_here) == sorted(paths)


def _thumbnails(paths: list[Path]) -> list[bytes]:
    with ThumbnailMaker(None) as maker:
        maker.begin(paths, 32)
        return maker.finish(paths)


def test_markdown_becomes_elements_and_nothing_else() -> None:
    """Tables, lists and formulas are shown; HTML, links and pictures stay the words they are."""
    text = "| a |\n|--:|\n| 1 |\n\n- **x** $S_{all} = \\frac{1}{2}$\n\n<b>y</b> [l](http://e.x) ![p](http://e.x/p)"
    tree = json.dumps(markup([Piece(text)]))
    for element in ('["table"', '["li"', '["strong"', '["math"', '["mfrac"'):
        assert element in tree
    words = "".join(_said(node) for node in markup([Piece(text)]))
    assert "<b>y</b> [l](http://e.x) ![p](http://e.x/p)" in words


def test_prices_are_no_formulas() -> None:
    """Dollar signs in prose stay dollar signs."""
    tree = json.dumps(markup([Piece("It costs $5 here and $6 there.")]))
    assert "math" not in tree and "$5 here and $6" in tree


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=30), st.booleans()), max_size=6))
def test_no_text_makes_an_element_of_its_own(parts: list[tuple[str, bool]]) -> None:
    """Whatever the judge writes, the tree holds only elements the page knows, and every score read."""
    pieces = [Piece(text, "acc = 1" if read and text.strip() else "") for text, read in parts]
    known = set(
        "p h5 ul ol li blockquote table thead tbody tr th td strong em s pre code br hr mark span".split()
    )

    def check(node: object) -> None:
        if not isinstance(node, str):
            assert node[0] in known or node[0].startswith("m")  # type: ignore[index]
            for child in node[2:]:  # type: ignore[index]
                check(child)

    for node in markup(pieces):
        check(node)


@pytest.mark.parametrize(
    "around",
    [
        "**{}**",
        "| a | {} |\n|---|---|\n| x | y |",
        "- score: {}/10",
        "`{}`",
        "# {}",
        "```\n{}\n```",
    ],
)
def test_a_score_stays_marked_in_any_structure(around: str) -> None:
    """Inside emphasis, tables, lists, code or headings the number that was read is marked."""
    before, after = around.split("{}")
    tree = markup([Piece(before), Piece("8.5", "acc = 8.5"), Piece(after)])
    assert [found for node in tree for found in _marked(node)] == [("8.5", "acc = 8.5")]


def test_a_run_that_is_still_going_is_shown_as_far_as_it_is(run: Run, tmp_path: Path) -> None:
    """While scores.csv is being written, the report takes the part there is, and says so."""
    going = tmp_path / "going"
    shutil.copytree(run.path, going)
    for name in ("scores.csv", "sessions.jsonl"):
        text = (going / name).read_text(encoding="utf-8")
        (going / name).unlink()
        (going / f"{name}.part").write_text(text[: int(len(text) * 0.7)], encoding="utf-8")
    manifest = (going / "run.yaml").read_text(encoding="utf-8")
    (going / "run.yaml").write_text(
        manifest.replace("state: finished", "state: running"), encoding="utf-8"
    )
    done = CliRunner().invoke(program, ["report", str(going)], catch_exceptions=False)
    assert done.exit_code == 0
    text = Reader((going / "report.html").read_text(encoding="utf-8")).text
    assert "This run is not finished" in text and "CleanEdit" in text


def test_a_page_about_two_runs_leaves_their_own_pages_alone(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`report A B` writes a page of its own beside the first run, without this machine's folders."""
    for name in ("a", "b"):
        shutil.copytree(run.path, tmp_path / name)
        (tmp_path / name / "report.html").write_text("own", encoding="utf-8")
    paths = [str(tmp_path / name) for name in ("a", "b")]
    monkeypatch.setattr(sys, "argv", ["lmmscore", "report", *paths])
    done = CliRunner().invoke(program, ["report", *paths], catch_exceptions=False)
    assert done.stdout.strip() == str(tmp_path / "report-a-b.html")
    page = (tmp_path / "report-a-b.html").read_text(encoding="utf-8")
    assert "lmmscore report a b" in page and str(tmp_path) not in page
    assert (tmp_path / "a" / "report.html").read_text(encoding="utf-8") == "own"


def test_the_policy_names_each_script() -> None:
    """Code that is not ours has another digest, and so does not run."""
    said = inline_policy(["a{}"], ["x()"], img_src="data:")
    assert digest_source("x()") in said and digest_source("y()") not in said


@pytest.mark.parametrize("out", [".", "folder"])
def test_a_folder_is_no_page(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    """Told to write to a folder, the report names the file that was probably meant, before it begins."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(
        FileProblem, match=r"is a folder; name the page, for example (folder/)?report\.html"
    ):
        write_page([RunData("demo", run)], PageOptions(out=Path(out), assets=True))
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


@pytest.mark.parametrize("said", ["I would rather not say.", "Image 1:\n- S_acc: 9"])
def test_a_run_without_an_overall_has_a_page(tmp_path: Path, said: str) -> None:
    """Where no edit was scored on all factors, or none at all, the page says so and is made."""
    judge = ScriptedJudge(lambda *_: said)
    run = lmmscore.run(hostile.benchmark(tmp_path / "bench"), judge=judge, out=tmp_path / "run")
    page = write_page([RunData("run", run)], PageOptions(out=tmp_path / "page.html"))
    assert "judgements gave no score" in Reader(page.read_text(encoding="utf-8")).text


@pytest.mark.parametrize("scale", [(1.0, 10.0), (1.0, 20.0)], ids=["one-scale", "two-scales"])
def test_points_are_compared_on_one_scale_only(
    run: Run, tmp_path: Path, scale: tuple[float, float]
) -> None:
    """Where raters used another scale than the judge, nothing is said about the difference."""
    data = RunData("demo", run)
    items = [item for item, _ in data.items]
    table = read_ratings([hostile.ratings(tmp_path / "human.csv", items, data.methods)]).table
    scales = {"demo": data.scales}
    found = agree({"demo": data.scores}, table, scales=scales, scale=scale, resamples=20)
    options = PageOptions(out=tmp_path / "page.html", agreement=found)
    text = write_page([data], options).read_text(encoding="utf-8")
    alike = {factor["alike"] for factor in Reader(text).data["data-core"]["runs"][0]["factors"]}  # type: ignore[index]
    assert alike == {scale[1] == 10}
    assert ("less raters (Bland–Altman)" in text) == (scale[1] == 10)
    assert text.count('class="quiet"') == (len(found.factors) * 2 + 1 if scale[1] == 10 else 1)
    panels = agreement_scatter(found, "demo", {}, 6.75).axes
    assert {axis.get_aspect() for axis in panels if axis.axison} == {
        1.0 if scale[1] == 10 else "auto"
    }
