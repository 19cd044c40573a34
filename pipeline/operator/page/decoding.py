"""Relaxations and decoders that turn soft assignments into orders (published, frozen)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import DECODERS, decoder_label, in_order, label, natural
from pipeline.lab.page.numbers import Row, count, percent, spread
from pipeline.lab.page.plots import downwards, drawings, key, legend, point, shares
from pipeline.lab.page.tables import Cell, Column, Line, Table, lines, metric, of, table, value

EXPERIMENT = "operator_decoding"
RELAXATIONS = ("none", "sinkhorn", "popocs_cyclic", "popocs_extrapolated", "popocs_nearest", "time_indexed")
_COMPARED = ("hungarian", "topological", "best")  # the decoders with which relaxations are compared
_MARKS: dict[str, Any] = {  # Okabe & Ito, 2008
    "hungarian": {"marker": "o", "color": "#d55e00"},
    "topological": {"marker": "s", "color": "#0072b2"},
    "expected_slots": {"marker": "^", "color": "#8a8a8a"},
    "best": {"marker": "D", "color": "#009e73"},
}
Places = list[dict[str, str]]  # a noise and a length each


def relaxation_label(name: str) -> str:
    """A relaxation's name in tables."""
    return "row softmax" if name == "none" else label(name)


def noise_of(noise: str) -> str:
    """The standard deviation in a set's name: `noise_1.75` -> `1.75`."""
    return noise.removeprefix("noise_")


_PAIR: list[Column] = [("Relaxation", of("method", relaxation_label)), ("Decoder", of("decoder", decoder_label))]
CONVERGED: list[Column] = [
    ("Noise", of("set", noise_of)),
    ("n", of("lengths")),
    ("At or below 1e-5", value(percent, "converged_share", method="time_indexed", decoder="none")),
    ("Largest", value(lambda residual: f"{residual:.1e}", "residual_max", method="time_indexed", decoder="none")),
]


def points(row: Row | None) -> str:
    """A difference of shares in percentage points, with its interval."""
    return spread(row, lambda share: f"{100 * share:+.1f}")


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables by name and its figure; they are empty if the benchmark was not run."""
    every = evidence.results[evidence.results["experiment"] == EXPERIMENT]
    fast, rows = every[every["set"] == "speed"], every[every["set"] != "speed"]
    speed = [_PAIR[1], *_columns(_lengths(every), metric, partial(spread, write=count), "blocks_per_second")]
    shown = {"speed": table(speed, lines(fast, ["decoder"], {"decoder": DECODERS}), right=1)}
    return shown | (_measured(rows) if len(rows) else {"exact": Table(), "converged": Table()})


def _measured(rows: pd.DataFrame) -> dict[str, Any]:
    noises, lengths = _levels(rows), _lengths(rows)
    places = [{"set": noise} | n for noise in noises for n in lengths]
    hardest = rows[rows["set"] == noises[-1]]
    gap = _columns(lengths, value, lambda lost: percent(lost, 2), "gap")
    gap += [(f"proven, {heading}", cell) for heading, cell in _columns(lengths, value, percent, "optimal_share")]
    sizes = {n["lengths"]: rows.loc[rows["lengths"] == n["lengths"], "n"].max() for n in lengths}
    ended = rows[rows["metric"].isin(["converged_share", "residual_max"])]
    exact = rows[(rows["metric"] == "exact_match") & (rows["comparison"] == "value")]
    return {
        "hardest": noise_of(noises[-1]),
        "n_blocks": ", ".join(f"{count(size)} of n = {n}" for n, size in sizes.items()),
        "best": _winners(rows, places),
        "exact": _of_pairs(rows, "exact_match", _columns(places, value, percent, "exact_match")),
        "valid": _valid(rows, places),
        "added": _added(rows, places),
        "gap": _of_pairs(hardest, "gap", gap),
        "converged": table(CONVERGED, lines(ended, ["set", "lengths"], {"set": noises}), right=1),
        "figures": drawings(decoding=(exact_match, exact)),
    }


def _levels(rows: pd.DataFrame) -> list[str]:
    """Sets from the least noise to the most."""
    return sorted(set(rows["set"]), key=lambda noise: float(noise_of(noise)))


def _lengths(rows: pd.DataFrame) -> Places:
    return [{"lengths": n} for n in sorted(set(rows["lengths"]), key=natural)]


def _heading(place: dict[str, str]) -> str:
    return f"n = {place['lengths']}" + (f", noise {noise_of(place['set'])}" if "set" in place else "")


def _columns(places: Places, cell: Callable[..., Cell], *query: Any, **more: str) -> list[Column]:
    """A column for each place; `cell` is `metric` or `value`."""
    return [(_heading(place), cell(*query, **more, **place)) for place in places]


def _pairs(rows: pd.DataFrame, name: str) -> list[Line]:
    """A line for each relaxation and decoder that has the metric."""
    pairs = lines(rows[rows["decoder"] != "none"], ["method", "decoder"], {"method": RELAXATIONS, "decoder": DECODERS})
    return [line for line in pairs if any(row["metric"] == name for row in line.rows)]


def _of_pairs(rows: pd.DataFrame, name: str, columns: list[Column]) -> Table:
    return table([*_PAIR, *columns], _pairs(rows, name), right=2)


def _added(rows: pd.DataFrame, places: Places) -> Table:
    """What a relaxation adds to a reference, with the compared decoders."""
    chosen = rows[(rows["comparison"] == "difference") & rows["decoder"].isin(_COMPARED)]
    parts = []
    for reference in ("none", "popocs_extrapolated"):
        columns = _columns(places, metric, points, "exact_match", comparison="difference", baseline=reference)
        part = _of_pairs(chosen[chosen["baseline"] == reference], "exact_match", columns)
        parts.append(
            Table(["Points", *part.head], [[f"less {relaxation_label(reference)}", *line] for line in part.lines])
        )
    return Table(parts[0].head, [line for part in parts for line in part.lines], right=3)


def _winners(rows: pd.DataFrame, places: Places) -> Table:
    """The pair that reproduces most blocks at each noise and length; the first of several equal pairs."""
    pairs, cells = _pairs(rows, "exact_match"), []
    for place in places:
        exact = [row for line in pairs if (row := line.find(metric="exact_match", **place))]
        for row in sorted(exact, key=lambda row: -float(row["value"]))[:1]:
            within = [pair for pair in exact if pair is not row and pair["high"] >= row["low"]]
            names = [noise_of(place["set"]), relaxation_label(row["method"]), decoder_label(row["decoder"])]
            cells.append([place["lengths"], *names, spread(row, percent), f"{len(within)} of {len(exact) - 1}"])
    return Table(["n", "Noise", "Relaxation", "Decoder", "Exact match", "As good"], cells, right=4)


def _valid(rows: pd.DataFrame, places: Places) -> Table:
    """Hungarian's valid share for each relaxation, and the smallest valid share of all further decoders."""
    of_hungarian = rows["decoder"] == "hungarian"
    hungarian = _of_pairs(rows[of_hungarian], "valid_share", _columns(places, value, percent, "valid_share"))
    legal_decoders = rows[(rows["metric"] == "valid_share") & ~of_hungarian]
    least = legal_decoders.groupby(["set", "lengths"])["value"].min().to_dict()
    cells = [percent(least.get((place["set"], place["lengths"]), float("nan"))) for place in places]
    return Table(hungarian.head, [*hungarian.lines, ["all", "smallest of the legal decoders", *cells]], right=2)


def exact_match(rows: pd.DataFrame) -> Figure:
    """Exact matches with intervals: a panel for each noise and length, a line for each relaxation."""
    noises, lengths = _levels(rows), _lengths(rows)
    shown = in_order(rows["method"], RELAXATIONS)
    decoders = [name for name in in_order(rows["decoder"], DECODERS) if name in _MARKS]
    with subplots(9, 2.1 * len(noises) + 0.7, len(noises), len(lengths)) as (figure, axes):
        for panels, noise in zip(axes, noises, strict=True):
            for ax, n in zip(panels, lengths, strict=True):
                chosen = (rows["set"] == noise) & (rows["lengths"] == n["lengths"]) & rows["decoder"].isin(decoders)
                for row in rows[chosen].to_dict("records"):
                    y = -shown.index(row["method"]) + 0.14 * (1.5 - list(_MARKS).index(row["decoder"]))
                    point(ax, row, y, 1.4, markersize=4.5, **_MARKS[row["decoder"]])
                ax.set(title=_heading({"set": noise} | n), xticks=[0, 0.5, 1])
                shares(ax.xaxis, whole=True)
                downwards(ax, [relaxation_label(name) if ax is panels[0] else "" for name in shown])
        keys = [key(decoder_label(name), linestyle="", **_MARKS[name]) for name in decoders]
        legend(figure, keys, len(keys))
    return figure
