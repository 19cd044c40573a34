"""How wrong the cost of fusion is for each kind of operation, and the constants that it is made of."""

from __future__ import annotations

from typing import Any

from pipeline.report.evidence import Evidence
from pipeline.report.fusion.shared import COST, digits
from pipeline.report.names import label, spelt
from pipeline.report.numbers import Row, count, spread
from pipeline.report.tables import Column, lines, metric, of, table, value

_ALL = "all"
_KINDS = ("elementwise, cheap", "elementwise, expensive", "chain", "reduction", "movement", "library", _ALL)
_WRONG = ("predicted_over_measured", "factor_wrong")


def section(evidence: Evidence) -> dict[str, Any]:
    """A line for each kind, all last; a line for each constant; how well the cost ranks all cases."""
    rows = evidence.results[evidence.results["experiment"] == COST]  # one fit: its rows are of one seed
    wrong, rates = (rows[rows["metric"].isin(names)] for names in (_WRONG, ("rate",)))
    shown: list[Column] = [
        ("Kind", of("method", lambda kind: label(_ALL) if kind == _ALL else kind)),
        ("Predicted over measured", metric(digits, "predicted_over_measured")),
        ("Wrong by a factor of", metric(digits, "factor_wrong")),
        ("Cases", value(count, "factor_wrong", "n")),
    ]
    constants: list[Column] = [("Constant", of("method", spelt)), ("Fitted", metric(_constant, "rate"))]
    ranked = rows[rows["metric"] == "rank_correlation"]["value"]
    return {
        "kinds": table(shown, lines(wrong, ["method"], {"method": _KINDS}), right=1),
        "constants": table(constants, lines(rates, ["method"]), right=1),
        "rank_correlation": "" if ranked.empty else f"{ranked.iloc[0]:.3f}",
    }


def _constant(row: Row | None) -> str:
    return spread(row, lambda number: f"{number:.3g}")
