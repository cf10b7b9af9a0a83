"""Judges by name: kinds that register themselves, options declared once, records of several judges."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import lmmscore
from lmmscore.cli import lmmscore as command_line
from lmmscore.conversation import Conversation
from lmmscore.errors import JudgeFileError, LedgerError, LmmscoreError
from lmmscore.judges import JudgeBase, open_judge
from lmmscore.judges.config import JudgeOptions, find_judge, judges_file
from lmmscore.judges.judge import JudgeKind, Silent, adapted, register
from lmmscore.judges.pixels import Pixels
from lmmscore.ledger import Ledger
from lmmscore.options import Registry, declared
from lmmscore.records import Reply
from tests.command_line import lmm, started
from tests.conftest import ScriptedJudge, fair_answer
from tests.loopback import Server, playing, serving

Maker = Callable[..., Path]
FIXTURES = Path(__file__).parents[1] / "fixtures" / "v0.1.0"
MEDIA = Path(__file__).parents[2] / "media" / "demo"

PLUGIN = '''
from lmmscore.judges import JudgeBase, register
from lmmscore.judges.judge import JudgeKind
from lmmscore.records import Reply


class Constant(JudgeBase):
    """Says what its name says."""

    def __init__(self, name, temperature):
        self._name, self._temperature = name, temperature

    @property
    def name(self):
        return self._name

    @property
    def parameters(self):
        return {"temperature": self._temperature}

    async def ask(self, conversation):
        return Reply(self._name.partition("/")[2])


def open_constant(spec, options):
    return Constant(spec, options.get("temperature"))


KIND = JudgeKind("constant/WORDS", open_constant)


@register("registered", form="registered/WORDS")
def open_registered(spec, options):
    return Constant(spec, options.get("temperature"))
'''


# Kinds.


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder on the path with a package that brings a judge, as pip would have installed it."""
    folder = tmp_path / "site"
    about = folder / "lmmscore_constant-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: lmmscore-constant\nVersion: 1.0\n"
    )
    (about / "entry_points.txt").write_text(
        "[lmmscore.judges]\nconstant = constant_judge:KIND\nbroken = no_such_module:KIND\n"
        "registered = constant_judge:open_registered\n"
    )
    (folder / "constant_judge.py").write_text(PLUGIN)
    return folder


@pytest.mark.parametrize(
    ("judge", "options", "named"),
    [
        ("pixels", {"temperature": 0.5}, "--temperature"),
        ("pixels", {"rpm": 60, "api": "chat"}, "--api, --rpm"),
        ("openai/tiny@http://127.0.0.1:9/v1", {"judge_name": "x"}, "--judge-name"),
        ("replay:nowhere", {"seed": 0}, "--judge-seed"),
        (Pixels(), {"headers": {"a": "b"}}, "headers"),
    ],
)
def test_an_option_that_a_judge_does_not_take_is_refused(
    judge: Any, options: dict[str, Any], named: str
) -> None:
    """Nobody believes in a temperature that nobody heard of."""
    with pytest.raises(JudgeFileError, match=f"takes no {named};"):
        open_judge(judge, options)


def test_a_judge_that_costs_nothing_keeps_within_any_budget() -> None:
    """A command with a budget can be tried out with the embedded judge."""
    assert open_judge("pixels", {"budget_usd": 0.0, "temperature": None}).judge.name == "pixels"


def test_another_package_brings_a_judge_by_an_entry_point(
    installed: Path, make_benchmark: Maker, tmp_path: Path
) -> None:
    """It is named, asked, recorded and given its options like any other."""
    root, out = make_benchmark(items=1), tmp_path / "run"
    words = ("run", root, "-o", out, "-j", "constant/no-score", "--temperature", "0.5")
    done = started(*words, PYTHONPATH=str(installed))
    assert done.returncode == 3, done.stderr
    with Ledger(out / "ledger.sqlite", read_only=True) as ledger:
        (asker,) = ledger.askers()
    assert (asker.judge, json.loads(asker.parameters)) == (
        "constant/no-score",
        {"temperature": 0.5},
    )


def test_a_judge_of_another_package_is_planned_for(installed: Path, make_benchmark: Maker) -> None:
    """Its calls are counted; its price is unknown, not nothing. It may register itself, too."""
    done = started("plan", make_benchmark(items=1), "-j", "constant/x", PYTHONPATH=str(installed))
    assert done.returncode == 0, done.stderr
    assert "unknown" in done.stdout and "runs here" not in done.stdout
    checked = started("judge", "check", "registered/x", PYTHONPATH=str(installed))
    assert checked.returncode == 1 and "OpenAI-compatible" in checked.stderr


def test_a_judge_of_another_package_that_does_not_load_is_named(
    installed: Path, make_benchmark: Maker
) -> None:
    """One line, no traceback."""
    done = started("run", make_benchmark(items=1), "-j", "broken/x", PYTHONPATH=str(installed))
    assert done.returncode == 1
    assert "the judge broken of no_such_module:KIND cannot be loaded" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_judge_is_answered_with_every_form_there_is(installed: Path) -> None:
    """Those of other packages too."""
    done = started("judge", "check", "pixles", PYTHONPATH=f"{installed}")
    assert done.returncode == 1
    assert "did you mean pixels" in done.stderr
    for form in ("pixels", "openai/MODEL[@URL[,URL…]]", "replay:PATH[#NUMBER]", "constant/WORDS"):
        assert form in done.stderr


@pytest.mark.parametrize(
    ("spec", "recipe"),
    [
        ("anthropic/claude-sonnet-4", "https://api.anthropic.com/v1"),
        ("gemini/gemini-2.5-pro", "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("ollama/llava", "http://127.0.0.1:11434/v1"),
    ],
)
def test_a_provider_asked_for_by_name_is_answered_with_its_recipe(spec: str, recipe: str) -> None:
    """There is no such kind, but there is a way, and the message has it."""
    with pytest.raises(JudgeFileError, match=r"docs/judges\.md") as caught:
        open_judge(spec)
    assert f"openai/MODEL@{recipe}" in str(caught.value)


def test_an_unknown_judge_is_answered_with_the_nearest() -> None:
    """A typing error costs no search."""
    with pytest.raises(JudgeFileError, match="did you mean pixels"):
        open_judge("pixel")


# Objects.


def test_a_judge_object_of_version_0_1_still_judges(make_benchmark: Maker, tmp_path: Path) -> None:
    """Name, parameters, caution, ask and close were all that was asked of one."""
    judge = ScriptedJudge(fair_answer)
    assert not hasattr(judge, "stop") and not hasattr(judge, "keep")
    run = lmmscore.run(make_benchmark(items=1), judge=judge, out=tmp_path / "run")
    assert run.manifest.state == "finished" and judge.asked


def test_a_judge_derived_from_the_base_needs_a_name_and_an_answer() -> None:
    """Everything else has a default."""

    class Echo(JudgeBase):
        """Says what it was told."""

        @property
        def name(self) -> str:
            return "echo"

        async def ask(self, conversation: Conversation) -> Reply:
            assert conversation.message is not None
            return Reply(conversation.message.text)

    judge = adapted(Echo())
    assert (judge.name, dict(judge.parameters), judge.caution, judge.meter) == (
        "echo",
        {},
        "",
        None,
    )


def test_what_is_no_judge_is_refused_by_what_it_lacks() -> None:
    """A class in place of an object, or half a judge, is said at once."""
    with pytest.raises(LmmscoreError, match="lacks name, parameters, caution, ask, close"):
        open_judge(object())  # type: ignore[arg-type]


# Options.


def test_every_option_is_declared_once_and_found_everywhere() -> None:
    """A flag of the declaration is a flag of run, plan and judge check; a key is a key of
    judges.yaml.
    """
    schema = json.dumps(judges_file().model_json_schema())
    helps = [
        CliRunner().invoke(command_line, [*command, "--help"]).output
        for command in (["run"], ["plan"], ["judge", "check"])
    ]
    for each in declared(JudgeOptions):
        assert all(f"{each.about.flag} " in text for text in helps if each.about.flag), each.name
        if each.about.section is not None:
            assert f'"{each.name}"' in schema
            assert each.about.help in json.loads(f'"{each.about.help}"')


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"temprature": 0}, "temprature: unknown key (did you mean temperature"),
        ({"temperature": -1}, "temperature: "),
        ({"temperature": "hot"}, "temperature: "),
        ({"rpm": 0}, "rpm: "),
        ({"api": "completions"}, "api: "),
    ],
)
def test_python_is_held_to_the_same_rules_as_the_file(given: Mapping[str, Any], says: str) -> None:
    """`judge_options` with a wrong name or value is refused, with the name that was meant."""
    with pytest.raises(JudgeFileError, match=re.escape(says)):
        find_judge("openai/tiny@http://127.0.0.1:1/v1", **given)


def test_judge_options_of_python_reach_the_server(make_benchmark: Maker, tmp_path: Path) -> None:
    """The same names as in judges.yaml, whatever section they stand in there."""
    with serving(Server(reply=playing)) as server:
        lmmscore.run(
            make_benchmark(items=1),
            judge=f"openai/tiny@{server.url}",
            out=tmp_path / "run",
            judge_options={"temperature": 0.25, "headers": {"X-Team": "vision"}, "attempts": 2},
        )
    assert {one.body["temperature"] for one in server.served} == {0.25}
    assert {one.headers["X-Team"] for one in server.served} == {"vision"}


# Records of several judges.


@pytest.fixture
def two_judges(make_benchmark: Maker, tmp_path: Path) -> tuple[Path, Path]:
    """A benchmark, and a run whose shared ledger holds the answers of two judges."""
    root, ledger = make_benchmark(items=1), tmp_path / "shared.sqlite"
    with serving(Server(reply=playing)) as server:
        judge = f"openai/tiny@{server.url}"
        lmmscore.run(root, judge=judge, out=tmp_path / "one", ledger=ledger)
        lmmscore.run(
            root,
            judge=judge,
            out=tmp_path / "two",
            ledger=ledger,
            judge_options={"temperature": 0.5},
        )
    return root, ledger


def test_a_record_of_several_lists_them_and_takes_a_number(
    two_judges: tuple[Path, Path], tmp_path: Path
) -> None:
    """`replay:PATH#2` is the second of those that the message lists."""
    _, ledger = two_judges
    with pytest.raises(LedgerError, match="several judges or parameters") as caught:
        open_judge(f"replay:{ledger}")
    assert '#2 openai/tiny {"temperature": 0.5}' in str(caught.value)
    bench = open_judge(f"replay:{ledger}#2")
    assert bench.answers is not None
    bench.answers.close()
    assert bench.judge.parameters == {"temperature": 0.5}
    with pytest.raises(LedgerError, match="no judge #3"):
        open_judge(f"replay:{ledger}#3")


def test_a_record_of_several_models_takes_a_name(make_benchmark: Maker, tmp_path: Path) -> None:
    """`--judge-name` says whose answers are meant, with or without the kind."""
    root, ledger = make_benchmark(items=1), tmp_path / "shared.sqlite"
    with serving(Server(reply=playing)) as server:
        for model in ("tiny", "large"):
            judge = f"openai/{model}@{server.url}"
            lmmscore.run(root, judge=judge, out=tmp_path / model, ledger=ledger)
    for name in ("large", "openai/large"):
        bench = open_judge(f"replay:{ledger}", {"judge_name": name})
        assert bench.judge.name == "openai/large" and bench.answers is not None
        bench.answers.close()
    with pytest.raises(LedgerError, match="no answers of 'huge'"):
        open_judge(f"replay:{ledger}", {"judge_name": "huge"})
    words = (
        "run",
        root,
        "-j",
        f"replay:{ledger}",
        "--judge-name",
        "tiny",
        "-o",
        tmp_path / "again",
    )
    assert lmm(*words).returncode == 0
    assert (tmp_path / "again" / "scores.csv").read_bytes() == (
        tmp_path / "tiny" / "scores.csv"
    ).read_bytes()


def test_a_run_whose_ledger_lies_elsewhere_is_replayed(
    make_benchmark: Maker, tmp_path: Path
) -> None:
    """run.yaml says where."""
    root, out = make_benchmark(items=1), tmp_path / "run"
    with serving(Server(reply=playing)) as server:
        lmmscore.run(
            root, judge=f"openai/tiny@{server.url}", out=out, ledger=tmp_path / "shared.sqlite"
        )
    bench = open_judge(f"replay:{out}")
    assert bench.judge.name == "openai/tiny" and bench.answers is not None
    bench.answers.close()


# Records of version 0.1, whose keys hold the server's address.


@pytest.fixture
def older(tmp_path: Path) -> tuple[Path, Path]:
    """The benchmark and the run that version 0.1.0 judged at a server."""
    pictures, out = tmp_path / "pictures", tmp_path / "served"
    shutil.copytree(MEDIA, pictures)
    shutil.copy(FIXTURES / "benchmark.yaml", pictures / "benchmark.yaml")
    shutil.copytree(FIXTURES / "served", out)
    return pictures, out


def resume(older: tuple[Path, Path], server: Server, out: Path, **given: Any) -> lmmscore.Run:
    """Go on with the older run, with the words it was judged with, at another server."""
    pictures, recorded = older
    manifest = lmmscore.open_run(recorded).manifest
    dialog = out.parent / "then.yaml"
    dialog.write_text(json.dumps(manifest.dialogs[0]))
    return lmmscore.run(
        pictures,
        str(dialog),
        f"openai/tiny@{server.url}",
        methods=manifest.methods,
        items=[record.item for record in lmmscore.open_run(recorded).records()],
        max_side_px=96,
        judge_options={"temperature": 0.0},
        out=out,
        **given,
    )


def test_an_older_ledger_is_gone_on_with_at_another_server(older: tuple[Path, Path]) -> None:
    """Its keys hold an address that is gone; its answers are found all the same, and nothing is
    asked.
    """
    recorded = older[1]
    scores = (recorded / "scores.csv").read_bytes()
    with serving(Server(reply=playing)) as server:
        run = resume(older, server, recorded)
    assert not server.served
    assert (recorded / "scores.csv").read_bytes() == scores
    assert run.manifest.judge == "openai/tiny"


def test_a_replayed_judge_keeps_the_caution_of_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables made of recorded answers say what those made at the time said; a broken package is no obstacle."""
    kinds: Registry[JudgeKind] = Registry("judge", "lmmscore.judges")
    monkeypatch.setattr("lmmscore.judges.judge._KINDS", kinds)
    register("oracle", form="oracle", caution="An oracle guesses.")(lambda *_: Pixels())
    assert Silent("oracle", {}).caution == "An oracle guesses."
    assert Silent("openai/tiny", {}).caution == ""

    def broken(_name: str) -> None:
        raise LmmscoreError("cannot be loaded")

    monkeypatch.setattr(kinds, "find", broken)
    assert Silent("oracle", {}).caution == ""
