"""Relaxations and decoders that turn soft assignments into orders (published, frozen)."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import DECODERS, decoder_label, in_order, label, natural
from pipeline.lab.page.numbers import count, percent, spread
from pipeline.lab.page.plots import downwards, drawings, key, legend, point, shares
from pipeline.lab.page.tables import Column, Line, Table, lines, of, table, value

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


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables by name and its figure; they are empty if nothing was published."""
    every = evidence.results[evidence.results["experiment"] == EXPERIMENT]
    rows = every[every["set"] != "speed"]
    if rows.empty:
        return {"exact": Table()}
    lengths = _lengths(rows)
    places = [{"set": noise} | n for noise in _levels(rows) for n in lengths]
    sizes = {n["lengths"]: rows.loc[rows["lengths"] == n["lengths"], "n"].max() for n in lengths}
    exact = rows[(rows["metric"] == "exact_match") & (rows["comparison"] == "value")]
    shown = [*_PAIR, *((_heading(place), value(percent, "exact_match", **place)) for place in places)]
    return {
        "n_blocks": ", ".join(f"{count(size)} of n = {n}" for n, size in sizes.items()),
        "best": _winners(rows, places),
        "exact": table(shown, _pairs(rows, "exact_match"), right=2),
        "figures": drawings(decoding=(exact_match, exact)),
    }


def _levels(rows: pd.DataFrame) -> list[str]:
    """Sets from the least noise to the most."""
    return sorted(set(rows["set"]), key=lambda noise: float(noise_of(noise)))


def _lengths(rows: pd.DataFrame) -> Places:
    return [{"lengths": n} for n in sorted(set(rows["lengths"]), key=natural)]


def _heading(place: dict[str, str]) -> str:
    return f"n = {place['lengths']}" + (f", noise {noise_of(place['set'])}" if "set" in place else "")


def _pairs(rows: pd.DataFrame, name: str) -> list[Line]:
    """A line for each relaxation and decoder that has the metric."""
    pairs = lines(rows[rows["decoder"] != "none"], ["method", "decoder"], {"method": RELAXATIONS, "decoder": DECODERS})
    return [line for line in pairs if any(row["metric"] == name for row in line.rows)]


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
