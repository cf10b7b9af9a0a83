"""`lmmscore plan`: what a run would take, before a cent is spent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from lmmscore.cli.options import (
    RUN_GROUPS,
    GroupedCommand,
    json_flag,
    judge_options,
    pairs,
    plan_options,
    take_judge_options,
)

if TYPE_CHECKING:
    from lmmscore.forecast import Forecast
    from lmmscore.judges.config import Prices


@click.command("plan", cls=GroupedCommand, groups=RUN_GROUPS)
@plan_options
@judge_options
@json_flag
def command(as_json: bool, **given: Any) -> None:
    """Say what a run would take: calls, images, bytes, tokens and price.

    Takes what `lmmscore run` takes, and asks no one. Repair turns and retries are not in it; replies are taken to be
    about 300 tokens a turn.
    """
    from lmmscore.forecast import forecast
    from lmmscore.judges.config import JudgeOptions, find_judge, parse_address
    from lmmscore.request import Request, plan_of

    judge_given = take_judge_options(given)
    given["settings"] = pairs(given["settings"], "--setting")
    request = Request(**given)
    plan = plan_of(request)
    judge = str(given["judge"])
    model, options = judge, JudgeOptions()
    if not _is_local(judge):
        named = find_judge(judge, **judge_given)
        model, options = parse_address(named.spec).model, named.options
    made = forecast(plan, model, options, request.recipe)
    figures = _figures(made, None if _is_local(judge) else options.prices)
    if as_json:
        click.echo(json.dumps({"judge": model, **figures}, indent=2))
        return
    for line in _lines(made, options.prices, local=_is_local(judge)):
        click.echo(line)
    _warn_of_budget(figures, options.budget_usd)


def _is_local(judge: str) -> bool:
    return judge == "pixels" or judge.startswith("replay:")


def _figures(made: Forecast, prices: Prices | None) -> dict[str, Any]:
    return {
        "sessions": made.sessions,
        "calls": made.calls,
        "images": len(made.pictures),
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


def _lines(made: Forecast, prices: Prices | None, *, local: bool) -> list[str]:
    lines = [
        f"{'sessions':<14} {made.sessions:,}",
        f"{'calls':<14} {made.calls:,}",
        f"{'images':<14} {len(made.pictures):,}",
    ]
    if local:
        return [*lines, f"{'price':<14} nothing: this judge runs here"]
    source = (
        "a guess: no public formula for this model"
        if made.image_tokens_guessed
        else made.image_formula
    )
    lines += [
        f"{'bytes':<14} {_size(made.bytes_chat)} by Chat Completions ({made.pictures_sent:,} images sent), "
        f"{_size(made.bytes_responses)} by Responses",
        f"{'tokens':<14} {made.prompt_tokens:,} in, of which {made.cached_tokens:,} a repeated prefix; "
        f"about {made.completion_tokens:,} out",
        f"{'image tokens':<14} {source}",
    ]
    if prices is None:
        return [*lines, f"{'price':<14} unknown: add prices for this model to judges.yaml"]
    return [
        *lines,
        f"{'price':<14} {made.price_usd(prices, cached=False):.2f} USD, or "
        f"{made.price_usd(prices, cached=True):.2f} USD if every turn hits the prefix cache "
        f"(prices as of {prices.as_of})",
    ]


def _size(count: int) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def _warn_of_budget(figures: dict[str, Any], budget_usd: float | None) -> None:
    least = figures["price_usd_cached"]
    if budget_usd is not None and least is not None and least > budget_usd:
        click.echo(f"warning: a budget of {budget_usd:.2f} USD will not do", err=True)
