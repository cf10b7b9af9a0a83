"""`lmmscore leaderboard --by` with keys that give plain means, and which of its options go with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from lmmscore.cli.inputs import Source
    from lmmscore.leaderboard.ranking import Scales


def plain_groups(by: str) -> bool:
    """Tell whether `--by` asks for plain means: anything but methods ranked, within tasks or over all."""
    from lmmscore.leaderboard.groups import parse_by

    return parse_by(by) not in (
        ["task", "method"],
        ["method"],
        ["factor", "method"],
        ["task", "factor", "method"],
    )


def grouped(source: Source, form: str, options: dict[str, Any], scales: Scales) -> str:
    """Return the means by any keys, in any format. Raises a usage error for options that do not go with them."""
    from lmmscore.leaderboard.groups import group_means, parse_by
    from lmmscore.leaderboard.weights import parse_weights, reweigh
    from lmmscore.report.leaderboard import render_groups

    _refuse(options)
    by, weights = parse_by(options["by"]), options["weights"]
    scores = source.scores if weights is None else reweigh(source.scores, parse_weights(weights))
    found = group_means(
        scores,
        by,
        factor=list(options["factor"]) or ("all" if "factor" in by else "overall"),
        task=options["task"] or None,
        missing=options["missing"],
        scales=scales,
    )
    return render_groups(found, form, caution=source.caution, decimals=options["decimals"])


def _refuse(options: dict[str, Any]) -> None:
    """Refuse what only a ranking has: an option that changes nothing would be taken for one that did."""
    given = click.get_current_context().get_parameter_source
    ranked = {
        "--average tasks": options["average"] == "tasks",
        "--show": bool(options["show"]),
        "--against": options["against"] is not None,
        "--resamples": options["resamples"] and given("resamples") is ParameterSource.COMMANDLINE,
        "--seed": given("seed") is ParameterSource.COMMANDLINE,
    }
    for name, used in ranked.items():
        if used:
            raise click.UsageError(
                f"{name} goes with ranked methods; --by {options['by']} gives plain means over edits"
            )
    if options["scale"] is not None and options["missing"] != "worst":
        raise click.UsageError(f"with --by {options['by']}, --scale goes with --missing worst only")
