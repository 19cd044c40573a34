"""From soft assignments to orders: relaxations and decoders side by side (benchmarks/decoding.py, published)."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from pipeline.report.evidence import Evidence
from pipeline.report.names import DECODERS, decoder_label, in_order, natural
from pipeline.report.numbers import Row, count, number, percent, spread
from pipeline.report.operator import decoding_plots as plots
from pipeline.report.operator.decoding_plots import RELAXATIONS, levels, noise_of, relaxation_label
from pipeline.report.plots import Drawing
from pipeline.report.tables import Column, Line, Table, lines, metric, of, table, value

EXPERIMENT = "operator_decoding"
_COMPARED = ("hungarian", "topological", "best")  # with these the relaxations are compared; all are in the first table
_PAIR: list[Column] = [("Relaxation", of("method", relaxation_label)), ("Decoder", of("decoder", decoder_label))]


def points(row: Row | None) -> str:
    """A difference of shares in points of a hundred, with its interval."""
    return spread(row, lambda share: f"{100 * share:+.1f}")


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables by name, without lines where the benchmark has not been run."""
    rows = _rows(evidence)
    measured = rows[rows["set"] != "speed"]
    lengths = sorted(set(rows["lengths"]), key=natural)
    every: list[Column] = [
        (f"n = {n}", metric(lambda row: spread(row, count), "blocks_per_second", lengths=n)) for n in lengths
    ]
    speed = table([_PAIR[1], *every], lines(rows[rows["set"] == "speed"], ["decoder"], {"decoder": DECODERS}), right=1)
    return {"speed": speed, "exact": Table(), "converged": Table()} | (_measured(measured) if len(measured) else {})


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The section's figure, where the benchmark was run."""
    rows = _rows(evidence)
    exact = rows[(rows["metric"] == "exact_match") & (rows["comparison"] == "value")]
    return {"decoding": partial(plots.exact_match, exact)} if len(exact) else {}


def _rows(evidence: Evidence) -> pd.DataFrame:
    return evidence.results[evidence.results["experiment"] == EXPERIMENT]


def _measured(rows: pd.DataFrame) -> dict[str, Any]:
    noises, lengths = levels(rows), sorted(set(rows["lengths"]), key=natural)
    places = [{"set": noise, "lengths": n} for noise in noises for n in lengths]
    hardest = noises[-1]
    exact = [(_heading(place), value(percent, "exact_match", **place)) for place in places]
    valid = [(_heading(place), value(percent, "valid_share", **place)) for place in places]
    distance = [(f"n = {n}", value(_four, "kendall_tau_distance", set=hardest, lengths=n)) for n in lengths]
    gap = [(f"n = {n}", value(lambda lost: percent(lost, 2), "gap", set=hardest, lengths=n)) for n in lengths]
    proven = [(f"proven, n = {n}", value(percent, "optimal_share", set=hardest, lengths=n)) for n in lengths]
    converged: list[Column] = [
        ("Noise", of("set", noise_of)),
        ("n", of("lengths")),
        ("At or below 1e-5", value(percent, "converged_share", method="time_indexed", decoder="none")),
        ("Largest", value(lambda left: f"{left:.1e}", "residual_max", method="time_indexed", decoder="none")),
    ]
    return {
        "hardest": noise_of(hardest),
        "n_blocks": ", ".join(f"{count(rows.loc[rows['lengths'] == n, 'n'].max())} of n = {n}" for n in lengths),
        "best": _winners(rows, places),
        "exact": table([*_PAIR, *exact], _pairs(rows, "exact_match"), right=2),
        "valid": _valid(table([*_PAIR, *valid], _pairs(rows, "valid_share", "hungarian"), right=2), rows, places),
        "added": _added(rows, places),
        "distance": table([*_PAIR, *distance], _pairs(rows[rows["set"] == hardest], "kendall_tau_distance"), right=2),
        "gap": table([*_PAIR, *gap, *proven], _pairs(rows[rows["set"] == hardest], "gap"), right=2),
        "converged": table(
            converged,
            lines(rows[rows["metric"].isin(["converged_share", "residual_max"])], ["set", "lengths"], {"set": noises}),
            right=1,
        ),
    }


def _heading(place: dict[str, str]) -> str:
    return f"n = {place['lengths']}, noise {noise_of(place['set'])}"


def _four(number_: float) -> str:
    return number(number_, 4)


def _pairs(rows: pd.DataFrame, name: str, *decoders: str) -> list[Line]:
    """A line for each relaxation and decoder that has the metric: of all decoders, or of some."""
    known = in_order(set(rows.loc[rows["metric"] == name, "decoder"]) - {"none"}, DECODERS)
    chosen = rows[rows["decoder"].isin(decoders or known)]
    found = lines(chosen, ["method", "decoder"], {"method": RELAXATIONS, "decoder": DECODERS})
    return [line for line in found if any(row["metric"] == name for row in line.rows)]


def _added(rows: pd.DataFrame, places: list[dict[str, str]]) -> Table:
    """What a relaxation adds to another, with the decoders that are compared."""
    chosen, found = rows[(rows["comparison"] == "difference") & rows["decoder"].isin(_COMPARED)], []
    for other in ("none", "popocs_extrapolated"):
        less = {"comparison": "difference", "baseline": other}
        columns: list[Column] = [("Points", lambda _, other=other: f"less {relaxation_label(other)}"), *_PAIR]  # type: ignore[misc]
        columns += [(_heading(place), metric(points, "exact_match", **less, **place)) for place in places]
        found.append(table(columns, _pairs(chosen[chosen["baseline"] == other], "exact_match"), right=3))
    return Table(found[0].head, [line for part in found for line in part.lines], right=3)


def _winners(rows: pd.DataFrame, places: list[dict[str, str]]) -> Table:
    """What reproduces most blocks, at each noise and length; the first in order where several are equal."""
    pairs, found = _pairs(rows, "exact_match"), []
    for place in places:
        exact = [row for line in pairs if (row := line.find(metric="exact_match", **place))]
        for row in sorted(exact, key=lambda row: -float(row["value"]))[:1]:
            within = [other for other in exact if other is not row and other["high"] >= row["low"]]
            cells = [place["lengths"], noise_of(place["set"]), relaxation_label(row["method"])]
            cells += [decoder_label(row["decoder"]), spread(row, percent), f"{len(within)} of {len(exact) - 1}"]
            found.append(cells)
    return Table(["n", "Noise", "Relaxation", "Decoder", "Exact match", "As good"], found, right=4)


def _valid(hungarian: Table, rows: pd.DataFrame, places: list[dict[str, str]]) -> Table:
    """Hungarian's valid share for each relaxation, and the smallest of all other decoders together."""
    others = rows[(rows["metric"] == "valid_share") & (rows["decoder"] != "hungarian")]
    least = others.groupby(["set", "lengths"])["value"].min().to_dict()
    cells = [percent(least.get((place["set"], place["lengths"]), float("nan"))) for place in places]
    return Table(hungarian.head, [*hungarian.lines, ["all", "the others, least", *cells]], right=2)
