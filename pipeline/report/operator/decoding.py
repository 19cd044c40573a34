"""From soft assignments to orders: relaxations and decoders side by side (benchmarks/decoding.py, frozen)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pandas as pd
from matplotlib.figure import Figure

from pipeline.report.numbers import count, number, percent
from pipeline.report.operator import decoding_plots
from pipeline.report.operator.decoding_plots import (
    by_length,
    decoder_label,
    in_order,
    levels,
    noise_of,
    relaxation_label,
)

EXPERIMENT = "operator_decoding"
Write = Callable[[dict], str]  # a row of the results -> a cell
Keys = list[tuple[str, int]]  # splits and lengths
_COMPARED = ("hungarian", "topological", "best")  # with these the relaxations are compared; all are in the first table


@dataclass(frozen=True)
class Section:
    """Heads and rows of the section's tables, as text; without rows where the benchmark has not been run."""

    columns: list[str] = field(default_factory=list)  # a noise and a length each
    lengths: list[str] = field(default_factory=list)
    proven: list[str] = field(default_factory=list)  # the lengths once more
    hardest: str = ""  # the largest noise
    n_blocks: str = ""  # of each length
    best: list[list[str]] = field(default_factory=list)
    exact: list[list[str]] = field(default_factory=list)
    valid: list[list[str]] = field(default_factory=list)
    added: list[list[str]] = field(default_factory=list)
    distance: list[list[str]] = field(default_factory=list)
    gap: list[list[str]] = field(default_factory=list)
    converged: list[list[str]] = field(default_factory=list)
    speed: list[list[str]] = field(default_factory=list)


def section(results: pd.DataFrame) -> Section:
    """`results`: the report's, of all experiments."""
    rows = by_length(results[results["experiment"] == EXPERIMENT])
    measured = rows[rows["split"] != "speed"]
    if measured.empty:
        return Section(speed=_speed(rows), lengths=_lengths(rows))
    splits, lengths = levels(measured), sorted(set(measured["n"]))
    keys = [(split, n) for split in splits for n in lengths]
    hardest = measured[measured["split"] == splits[-1]]
    return Section(
        columns=[f"n = {n}, noise {noise_of(split)}" for split, n in keys],
        lengths=_lengths(rows),
        proven=[f"proven, n = {n}" for n in lengths],
        hardest=noise_of(splits[-1]),
        n_blocks=", ".join(f"{count(own.max())} of n = {n}" for n, own in measured.groupby("n")["n_blocks"]),
        best=_winners(measured, keys),
        exact=_each(measured, "exact_match", keys, _share),
        valid=_valid(measured, keys),
        added=[
            row
            for other in ("none", "popocs_extrapolated")
            for row in _each(measured, f"exact_match_minus_{other}", keys, _points, f"less {relaxation_label(other)}")
            if row[2] in map(decoder_label, _COMPARED)
        ],
        distance=_each(hardest, "kendall_tau_distance", [(splits[-1], n) for n in lengths], _plain),
        gap=_gaps(hardest, [(splits[-1], n) for n in lengths]),
        converged=[
            [noise_of(split), f"{n}", *_first(measured, split, n, "converged_share", _share)]
            + _first(measured, split, n, "residual_max", lambda row: f"{row['value']:.1e}")
            for split, n in keys
            if _first(measured, split, n, "converged_share", _share)
        ],
        speed=_speed(rows),
    )


def figures(results: pd.DataFrame) -> dict[str, Figure]:
    """The section's figure, where the benchmark was run."""
    rows = by_length(results[results["experiment"] == EXPERIMENT])
    exact = rows[rows["metric"] == "exact_match"]
    return {"decoding": decoding_plots.exact_match(exact)} if len(exact) else {}


def _lengths(rows: pd.DataFrame) -> list[str]:
    return [f"n = {n}" for n in sorted(set(rows["n"]))]


def _pairs(rows: pd.DataFrame) -> Iterable[tuple[str, str]]:
    """Relaxations and decoders that were measured, in their order."""
    for relaxation in in_order(rows["scheduler"], decoding_plots.RELAXATIONS):
        for decoder in in_order(rows.loc[rows["scheduler"] == relaxation, "decoder"], decoding_plots.DECODERS):
            yield relaxation, decoder


def _each(rows: pd.DataFrame, metric: str, keys: Keys, write: Write, *more: str) -> list[list[str]]:
    """One row for each relaxation and decoder that has the metric, one cell for each (split, n)."""
    own = rows[rows["metric"] == metric]
    found = {(r["scheduler"], r["decoder"], r["split"], r["n"]): r for r in own.to_dict("records")}
    return [
        [
            *more,
            relaxation_label(relaxation),
            decoder_label(decoder),
            *(write(found[relaxation, decoder, *key]) if (relaxation, decoder, *key) in found else "-" for key in keys),
        ]
        for relaxation, decoder in _pairs(own)
    ]


def _first(rows: pd.DataFrame, split: str, n: int, metric: str, write: Write) -> list[str]:
    own = rows[(rows["split"] == split) & (rows["n"] == n) & (rows["metric"] == metric)]
    return [write(row) for row in own.to_dict("records")[:1]]


def _winners(rows: pd.DataFrame, keys: Keys) -> list[list[str]]:
    """What reproduces most blocks, at each noise and length; the first in order where several are equal."""
    exact = rows[rows["metric"] == "exact_match"]
    order = {pair: place for place, pair in enumerate(_pairs(exact))}
    table = []
    for split, n in keys:
        own = exact[(exact["split"] == split) & (exact["n"] == n)].to_dict("records")
        ranked = sorted(own, key=lambda row: (-row["value"], order[row["scheduler"], row["decoder"]]))
        for row in ranked[:1]:
            within = [other for other in own if other is not row and other["ci_high"] >= row["ci_low"]]
            table.append(
                [
                    f"{n}", noise_of(split), relaxation_label(row["scheduler"]), decoder_label(row["decoder"]),
                    _with_range(row, percent), f"{len(within)} of {len(own) - 1}",
                ]
            )  # fmt: skip
    return table


def _valid(rows: pd.DataFrame, keys: Keys) -> list[list[str]]:
    """Hungarian's valid share for each relaxation, and the smallest of all other decoders together."""
    own = rows[rows["metric"] == "valid_share"]
    table = _each(own[own["decoder"] == "hungarian"], "valid_share", keys, _share)
    others = own[own["decoder"] != "hungarian"].groupby(["split", "n"])["value"].min()
    least = [percent(others[key]) if key in others.index else "-" for key in keys]
    return [*table, ["all", "the others, least", *least]]


def _gaps(rows: pd.DataFrame, keys: Keys) -> list[list[str]]:
    """Gap of each relaxation and decoder, then, for `best`, the share proven best."""
    proven = {tuple(row[:2]): row[2:] for row in _each(rows, "optimal_share", keys, _share)}
    return [
        [*row, *proven.get(tuple(row[:2]), ["-"] * len(keys))]
        for row in _each(rows, "gap", keys, lambda row: percent(row["value"], 2))
    ]


def _speed(rows: pd.DataFrame) -> list[list[str]]:
    own = rows[rows["metric"] == "blocks_per_second"]
    found = {(row["decoder"], row["n"]): row for row in own.to_dict("records")}
    return [
        [
            decoder_label(decoder),
            *(_with_range(found[decoder, n], count) if (decoder, n) in found else "-" for n in sorted(set(rows["n"]))),
        ]
        for decoder in in_order(own["decoder"], decoding_plots.DECODERS)
    ]


def _share(row: dict) -> str:
    return percent(row["value"])


def _plain(row: dict) -> str:
    return number(row["value"], 4)


def _points(row: dict) -> str:
    """A difference of shares in points of a hundred, with its interval."""
    return _with_range(row, lambda value: f"{100 * value:+.1f}")


def _with_range(row: dict, write: Callable[[float], str]) -> str:
    return f"{write(row['value'])}<br><small>{write(row['ci_low'])} to {write(row['ci_high'])}</small>"
