"""Figures of the projections: violations against iterations, seconds and memory against size. No file is touched."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from pipeline.analysis.operator_results import ALONE
from pipeline.report.plots import subplots

# Okabe & Ito, 2008, as everywhere: ours blue and green, the paper's loop orange, others apart.
_COLOURS = {
    "cyclic": "#d55e00",
    "extrapolated": "#0072b2",
    ALONE: "#0072b2",
    "nearest": "#009e73",
    "cyclic_loop": "#e69f00",
    "qpth": "#cc79a7",
    "cvxpylayers": "#222222",
    "cvxpylayers_moreau": "#8a8a8a",
    "linsatnet": "#56b4e9",
}
_NAMES = {
    ALONE: "extrapolated",
    "cyclic_loop": "cyclic loop in PyTorch",
    "cvxpylayers_moreau": "cvxpylayers, Moreau",
    "linsatnet": "LinSATNet",
}
_FLOOR = 1e-9  # of the logarithmic axis: residuals of exactly 0 stand here


def name(peer: str) -> str:
    """A method's or peer's name as people write it."""
    return _NAMES.get(peer, peer)


def residuals(table: pd.DataFrame, tolerance: float) -> Figure:
    """Violations left against iterations, a panel for each length; softmax proposals.

    `table`: table `residuals`. Solid: the median block, dashed: the worst; `nearest` has no iterations.
    `extrapolated` without its fall-back, so that stragglers show. Dotted: the tolerance.
    """
    table = table[table["proposal"] == "softmax"]
    lengths = sorted(set(table["n_instructions"]))
    with subplots(8, 3.4, 1, max(len(lengths), 1)) as (figure, axes):
        for ax, n in zip(axes[0], lengths, strict=False):
            own = table[table["n_instructions"] == n]
            last = own["iterations"].max()
            for method in ("cyclic", ALONE, "nearest"):
                rows = own[own["method"] == method].sort_values("iterations")
                for column, line in (("residual_median", "-"), ("residual_max", "--")):
                    style: Any = {"color": _COLOURS[method], "linestyle": line, "linewidth": 1.5}
                    left = rows[column].clip(lower=_FLOOR)
                    if method == "nearest":
                        ax.axhline(left.iloc[0], **style)
                    else:
                        ax.plot(rows["iterations"], left, marker="o", markersize=2.5, **style)
            ax.axhline(tolerance, color="#666666", linestyle=":", linewidth=1)
            ax.set_xscale("log")
            ax.xaxis.set_major_locator(FixedLocator([1, 5, 20, 60]))
            ax.xaxis.set_minor_locator(NullLocator())
            ax.xaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))
            ax.set_xlim(0.9, 1.1 * max(last, 1))
            ax.set_yscale("log")
            ax.set_ylim(_FLOOR, 100)
            ax.set_title(f"{n} instructions", loc="left")
            ax.set_xlabel("iterations")
        for ax in axes[0, 1:]:
            ax.set_yticklabels([])
        axes[0, 0].set_ylabel("largest violation of a block")
        keys = [Line2D([], [], color=_COLOURS[each], label=name(each)) for each in ("cyclic", ALONE, "nearest")]
        keys += [
            Line2D([], [], color="#444444", label="median block"),
            Line2D([], [], color="#444444", linestyle="--", label="worst block"),
            Line2D([], [], color="#666666", linestyle=":", label="tolerance"),
        ]
        figure.legend(handles=keys, loc="outside lower center", ncols=6)
    return figure


def speed(table: pd.DataFrame) -> Figure:
    """Seconds and memory of a batch against the length of its blocks, a line for each peer.

    `table`: table `peers`. Solid: DAGs of the corpus; dotted: random DAGs, scaled to the
    same batch.
    """
    timed = table.dropna(subset=["seconds_per_batch"])
    batch = timed.loc[timed["dags"] == "corpus", "batch"].max()
    with subplots(8, 4.2, 1, 2) as (figure, axes):
        for ax, column, title in zip(
            axes[0],
            ("seconds_per_batch", "peak_memory_mb"),
            (f"Seconds per batch of {batch:.0f}, forward + backward", "Peak memory of the items measured, MB"),
            strict=True,
        ):
            for (peer, dags), rows in timed.groupby(["peer", "dags"], sort=False):
                random = dags == "random"
                if random and column == "peak_memory_mb":
                    continue  # of another batch
                rows = rows.sort_values("n_instructions")
                values = rows[column] * (batch / rows["batch"] if random else 1)
                style: Any = {"color": _COLOURS.get(str(peer), "#999999"), "linestyle": ":" if random else "-"}
                ax.plot(rows["n_instructions"], values.clip(lower=1e-4), marker="o", markersize=3, **style)
            ax.set_xscale("log")
            ax.set_yscale("log")
            sizes = sorted(set(timed["n_instructions"])) if column == "seconds_per_batch" else [5, 10, 20, 40, 64]
            ax.xaxis.set_major_locator(FixedLocator([n for n in sizes if n in (5, 10, 20, 40, 64, 128, 256)]))
            ax.xaxis.set_minor_locator(NullLocator())
            ax.xaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))
            ax.set_title(title, loc="left")
            ax.set_xlabel("instructions")
        keys = [
            Line2D([], [], color=_COLOURS.get(str(peer), "#999999"), label=name(str(peer)))
            for peer in dict.fromkeys(timed["peer"])
        ]
        if (timed["dags"] == "random").any():
            keys.append(Line2D([], [], color="#444444", linestyle=":", label="random DAGs"))
        figure.legend(handles=keys, loc="outside lower center", ncols=4)
    return figure
