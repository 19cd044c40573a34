"""Errors of the cost of fusion for each kind of operation, and its constants."""

from __future__ import annotations

from typing import Any

from pipeline.fusion.page.shared import COST
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import digits, short
from pipeline.lab.page.names import label, spelt
from pipeline.lab.page.numbers import count
from pipeline.lab.page.tables import Column, lines, metric, of, table, value

_ALL = "all"
_KINDS = ("elementwise, cheap", "elementwise, expensive", "chain", "reduction", "movement", "library", _ALL)
_WRONG = ("predicted_over_measured", "factor_wrong")


def section(evidence: Evidence) -> dict[str, Any]:
    """A line for each kind, the last for all; a line for each constant; rank correlation over all cases."""
    rows = evidence.results[evidence.results["experiment"] == COST]  # the one fit has one seed
    wrong, rates = (rows[rows["metric"].isin(names)] for names in (_WRONG, ("rate",)))
    shown: list[Column] = [
        ("Kind", of("method", lambda kind: label(_ALL) if kind == _ALL else kind)),
        ("Predicted over measured", metric(digits, "predicted_over_measured")),
        ("Wrong by a factor of", metric(digits, "factor_wrong")),
        ("Cases", value(count, "factor_wrong", "n")),
    ]
    constants: list[Column] = [("Constant", of("method", spelt)), ("Fitted", metric(short, "rate"))]
    ranked = rows[rows["metric"] == "rank_correlation"]["value"]
    return {
        "kinds": table(shown, lines(wrong, ["method"], {"method": _KINDS}), right=1),
        "constants": table(constants, lines(rates, ["method"]), right=1),
        "rank_correlation": "" if ranked.empty else f"{ranked.iloc[0]:.3f}",
    }
