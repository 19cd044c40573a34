"""Figures of the projection: what it leaves, what it takes, and what decoders make of it."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.colours import colour, series
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import DECODERS, decoder_label, in_order, label, set_label
from pipeline.lab.page.plots import Drawing, downwards, drawings, key, legend, logarithmic, point, shares
from pipeline.operator.tables import ALONE

_METHODS = ("cyclic", ALONE, "nearest")
_RELAXATIONS = ("none", "sinkhorn", "popocs_cyclic", "popocs_extrapolated", "popocs_nearest", "time_indexed")
_MARKS = series(("hungarian", "topological", "expected_slots", "best"))
_NAMES = {ALONE: "extrapolated", "cyclic_loop": "cyclic loop in PyTorch", "linsatnet": "LinSATNet"}
_SIZES = (5, 10, 20, 40, 64, 128, 256)  # ticks
_FLOOR = 1e-9  # lower end of the logarithmic axis, where residuals of exactly 0 are drawn


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The figures that have rows."""
    peers, decoded = evidence.table("peers"), evidence.of("operator_decoding")
    exact = decoded[(decoded["metric"] == "exact_match") & (decoded["comparison"] == "value")]
    return drawings(
        operator_residuals=(_violations, evidence.table("residuals"), evidence.params["residuals"]["tolerance"]),
        operator_speed=(_speed, peers[peers["seconds_per_batch"].notna()]),
        decoding=(_exact_match, exact),
    )


def _name(peer: str) -> str:
    return _NAMES.get(peer, peer)


def _relaxation(name: str) -> str:
    return "row softmax" if name == "none" else label(name)


def _violations(table: pd.DataFrame, tolerance: float) -> Figure:
    """Remaining violations of softmax proposals against iterations, a panel for each length.

    `table`: table `residuals`. Solid: the median block; dashed: the worst block; dotted: the tolerance. `nearest` has
    no iterations. `extrapolated` is drawn without its fall-back, so that stragglers are visible.
    """
    table = table[table["proposal"] == "softmax"]
    lengths = sorted(set(table["n_instructions"]))
    with subplots(8, 3.4, 1, max(len(lengths), 1)) as (figure, axes):
        for ax, n in zip(axes[0], lengths, strict=False):
            drawn = table[table["n_instructions"] == n]
            for method in _METHODS:
                rows = drawn[drawn["method"] == method].sort_values("iterations")
                for column, line in (("residual_median", "-"), ("residual_max", "--")):
                    style: Any = {"color": colour(method), "linestyle": line, "linewidth": 1.5}
                    residuals = rows[column].clip(lower=_FLOOR)
                    if method == "nearest":
                        ax.axhline(residuals.iloc[0], **style)
                    else:
                        ax.plot(rows["iterations"], residuals, marker="o", markersize=2.5, **style)
            ax.axhline(tolerance, color="#666666", linestyle=":", linewidth=1)
            logarithmic(ax.xaxis, [1, 5, 20, 60])
            ax.set(xlim=(0.9, 1.1 * max(drawn["iterations"].max(), 1)), yscale="log", ylim=(_FLOOR, 100))
            ax.set(title=f"{n} instructions", xlabel="iterations")
        for ax in axes[0, 1:]:
            ax.set_yticklabels([])
        axes[0, 0].set_ylabel("largest violation of a block")
        keys = [key(_name(method), color=colour(method)) for method in _METHODS]
        keys += [key("median block", color="#444444"), key("worst block", color="#444444", linestyle="--")]
        legend(figure, [*keys, key("tolerance", color="#666666", linestyle=":")], 6)
    return figure


def _speed(timed: pd.DataFrame) -> Figure:
    """Seconds and memory of a batch against the length of its blocks, a line for each peer.

    `timed`: rows of table `peers` with seconds. Solid: DAGs of the corpus; dotted: random DAGs, scaled to that batch.
    """
    batch = timed.loc[timed["dags"] == "corpus", "batch"].max()
    sizes = [n for n in _SIZES if n in set(timed["n_instructions"])]
    with subplots(8, 4.2, 1, 2) as (figure, axes):
        for (peer, dags), rows in timed.groupby(["peer", "dags"], sort=False):
            rows = rows.sort_values("n_instructions")
            style: Any = {"color": colour(str(peer)), "linestyle": "-" if dags == "corpus" else ":"}
            for ax, column in zip(axes[0], ("seconds_per_batch", "peak_memory_mb"), strict=True):
                if dags == "corpus" or column == "seconds_per_batch":  # memory of random DAGs is of another batch
                    values = rows[column] * (1 if dags == "corpus" else batch / rows["batch"])
                    ax.plot(rows["n_instructions"], values.clip(lower=1e-4), marker="o", markersize=3, **style)
        titles = (f"Seconds per batch of {batch:.0f}, forward + backward", "Peak memory of the items measured, MB")
        for ax, title, ticks in zip(axes[0], titles, (sizes, _SIZES[:5]), strict=True):
            ax.set(yscale="log", title=title, xlabel="instructions")
            logarithmic(ax.xaxis, ticks)
        keys = [key(_name(peer), color=colour(peer)) for peer in dict.fromkeys(timed["peer"])]
        if (timed["dags"] == "random").any():
            keys.append(key("random DAGs", color="#444444", linestyle=":"))
        legend(figure, keys, 4)
    return figure


def _exact_match(rows: pd.DataFrame) -> Figure:
    """Exact matches with intervals: a panel for each noise and length, a line for each relaxation."""
    noises, lengths = in_order(rows["set"], ()), in_order(rows["lengths"], ())
    shown = in_order(rows["method"], _RELAXATIONS)
    decoders = [name for name in in_order(rows["decoder"], DECODERS) if name in _MARKS]
    with subplots(9, 2.1 * len(noises) + 0.7, len(noises), len(lengths)) as (figure, axes):
        for panels, noise in zip(axes, noises, strict=True):
            for ax, n in zip(panels, lengths, strict=True):
                chosen = (rows["set"] == noise) & (rows["lengths"] == n) & rows["decoder"].isin(decoders)
                for row in rows[chosen].to_dict("records"):
                    y = -shown.index(row["method"]) + 0.14 * (1.5 - list(_MARKS).index(row["decoder"]))
                    point(ax, row, y, 1.4, markersize=4.5, **_MARKS[row["decoder"]])
                ax.set(title=f"n = {n}, {set_label(noise)}", xticks=[0, 0.5, 1])
                shares(ax.xaxis, whole=True)
                downwards(ax, [_relaxation(name) if ax is panels[0] else "" for name in shown])
        keys = [key(decoder_label(name), linestyle="", **_MARKS[name]) for name in decoders]
        legend(figure, keys, len(keys))
    return figure
