"""`lmmscore plan`: what a run would take, before a cent is spent."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lmmscore.api import Prepared, Request, prepare
from lmmscore.cli.command_line import GroupedCommand, json_flag, put_json
from lmmscore.cli.run import request_of, run_groups, run_options
from lmmscore.errors import counted
from lmmscore.judges.config import JudgeOptions
from lmmscore.judges.judge import kind_of, open_judge, spending_of
from lmmscore.judges.limits import Prices
from lmmscore.ledger import Asker, Ledger

if TYPE_CHECKING:
    from lmmscore.forecast import Forecast, Record


@click.command("plan", cls=GroupedCommand, groups=run_groups())
@run_options
@click.option("--batch", is_flag=True, help="Say what it would take by batches as well.")
@json_flag
def command(as_json: bool, batch: bool, **given: Any) -> None:
    """Say what a run would take: calls, images, bytes, tokens and price.

    Takes the options of `lmmscore run`, and asks no judge. Repair turns and retries are not
    counted; a reply is assumed to be about 300 tokens.
    """
    from lmmscore.forecast import forecast
    from lmmscore.judges.openai import parameters_of

    request = request_of(given)
    judge = str(request.judge)
    model, options = judge, JudgeOptions()
    kind = kind_of(judge)
    local = kind.answers_here
    if kind.configure is not None:
        named = kind.configure(judge, request.all_judge_options)
        model, options = named.address.model, named.options
        asker = Asker.of(named.address.name, parameters_of(options))
    else:
        asker = _local_identity(judge, request.judge_options)

    prepared = prepare(request, asker.judge)
    ledger_path = prepared.ledger_path(request)
    with contextlib.ExitStack() as stack:
        record = _record(stack, ledger_path, request, asker)
        made = forecast(prepared.plan, model, options, request.recipe, record)

    figures = _figures(made, None if local else options.prices)
    why = list(_what_is_new(prepared, made))
    if as_json:
        by_batch = _batch_figures(made, options.prices) if batch else {}
        put_json({"judge": model, **figures, **by_batch, "new": why})
        return

    lines = _lines(made, options.prices, judge=model, local=local)
    if batch:
        lines += _batch_lines(made, options.prices, local=local)

    for label, text in [*lines, *(("new", line) for line in why)]:
        click.echo(f"{label:<14} {text}")

    if options.budget_usd is not None:
        spent_usd = spending_of(prepared.folder, ledger_path).total_usd
        _warn_of_budget(figures["price_usd_cached"], options.budget_usd, spent_usd)


def _local_identity(judge: str, options: Mapping[str, Any]) -> Asker:
    """Return the name and parameters under which a judge that runs here is on record."""
    bench = open_judge(judge, options)
    if bench.answers is not None:
        bench.answers.close()

    return Asker.of(bench.judge.name, bench.judge.parameters)


def _record(
    stack: contextlib.ExitStack, path: Path, request: Request, asker: Asker
) -> Record | None:
    """Return what is on record for this plan, in the folder's ledger or in the one named."""
    from lmmscore.forecast import Record

    if not path.is_file():
        return None

    ledger = stack.enter_context(Ledger(path, read_only=True))
    return Record(ledger, asker, request.recipe)


def _what_is_new(prepared: Prepared, made: Forecast) -> Iterator[str]:
    """Yield what the run in the folder does not have yet, and what follows from it."""
    if prepared.resumed is None or not made.calls:
        return

    before, plan = prepared.resumed.manifest, prepared.plan
    methods = [name for name in plan.benchmark.methods if name not in before.methods]
    if methods and not plan.protocol.covers_edits and not plan.beside:
        yield (
            f"{', '.join(methods)}: {plan.protocol.name} shows all edits of an item side by side, "
            f"so all items are judged again; --method {methods[0]} --beside METHOD judges it among "
            "stated others only"
        )
    elif methods:
        yield f"methods: {', '.join(methods)}"

    items = {item.id for item in plan.benchmark.items} - set(prepared.resumed.item_ids())
    if items:
        yield counted(len(items), "item")

    if plan.repeats > before.repeats:
        yield f"{plan.repeats - before.repeats} more of {plan.repeats} repeats"

    if before.state != "finished":
        yield f"what an interrupted run left ({prepared.resumed.progress()})"


def _figures(made: Forecast, prices: Prices | None) -> dict[str, Any]:
    return {
        "sessions": made.sessions,
        "sessions_recorded": made.sessions_recorded,
        "calls": made.calls,
        "calls_recorded": made.calls_recorded,
        "images": made.pictures,
        "images_sent": made.pictures_sent,
        "bytes_chat": made.bytes_chat,
        "bytes_responses": made.bytes_responses,
        "prompt_tokens": made.prompt_tokens,
        "cached_tokens": made.cached_tokens,
        "completion_tokens": made.completion_tokens,
        "image_tokens": "guess" if made.image_tokens_guessed else made.image_formula,
        "price_usd": made.price_usd(prices, cached=False),
        "price_usd_cached": made.price_usd(prices, cached=True),
        "prices_as_of": prices.as_of.isoformat() if prices and prices.as_of else None,
    }


def _lines(
    made: Forecast, prices: Prices | None, *, judge: str, local: bool
) -> list[tuple[str, str]]:
    """Return each figure with its label."""
    recorded = f", {made.sessions_recorded:,} of them on record" if made.sessions_recorded else ""
    beside = f" still to be made; {made.calls_recorded:,} more are on record"
    lines = [
        ("sessions", f"{made.sessions:,}{recorded}"),
        ("calls", f"{made.calls:,}{beside if made.calls_recorded else ''}"),
        ("images", f"{made.pictures:,}"),
    ]
    if local:
        return [*lines, ("price", f"nothing: the judge, {judge}, runs here")]

    chat, responses = _size(made.bytes_chat), _size(made.bytes_responses)
    sent = f"{made.pictures_sent:,} images sent"
    tokens_in = f"{made.prompt_tokens:,} in, of which {made.cached_tokens:,} a repeated prefix"
    formula = f"by the formula {made.image_formula}"
    if made.image_tokens_guessed:
        formula = "a guess: no public formula for this model"

    return [
        *lines,
        ("bytes", f"{chat} by Chat Completions ({sent}), {responses} by Responses"),
        ("tokens", f"{tokens_in}; about {made.completion_tokens:,} out"),
        ("image tokens", formula),
        ("price", _price(made, prices)),
    ]


def _price(made: Forecast, prices: Prices | None) -> str:
    if prices is None:
        return "unknown: add prices for this model to judges.yaml"

    whole, cached = made.price_usd(prices, cached=False), made.price_usd(prices, cached=True)
    hit = f"{cached:.2f} USD if every turn hits the prefix cache"
    return f"{whole:.2f} USD, or {hit} (prices as of {prices.as_of})"


def _batch_figures(made: Forecast, prices: Prices | None) -> dict[str, Any]:
    from lmmscore.judges.openai import BATCH_PRICE

    whole = made.price_usd(prices, cached=False)
    return {
        "waves": made.waves,
        "worst_hours": 24 * made.waves,
        "price_usd_batch": None if whole is None else whole * BATCH_PRICE,
    }


def _batch_lines(made: Forecast, prices: Prices | None, *, local: bool) -> list[tuple[str, str]]:
    """Return what batches would take; prefixes are not cached from one wave to the next."""
    if local:
        return [("batches", "none: this judge runs here")]

    worst = counted(made.waves, "day")
    waves = counted(made.waves, "wave")
    lines = [("batches", f"{waves}, each within 24 hours: at worst {worst}")]
    price = _batch_figures(made, prices)["price_usd_batch"]
    if price is not None:
        cached = made.price_usd(prices, cached=True) or 0.0
        than = "less" if price < cached else "no less"
        direct = f"asking directly with the prefix cache ({cached:.2f} USD)"
        lines.append(("", f"{price:.2f} USD at half price, {than} than {direct}"))

    return lines


def _size(count: int) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def _warn_of_budget(least_usd: float | None, budget_usd: float, spent_usd: float) -> None:
    """Say so where a budget, which covers all parts of a run, does not cover what is left."""
    if least_usd is not None and spent_usd + least_usd > budget_usd:
        gone = f", of which {spent_usd:.2f} are spent," if spent_usd else ""
        click.echo(f"warning: a budget of {budget_usd:.2f} USD{gone} is not enough", err=True)
