"""Figures of imitators: exact match by length, reliability, training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.colours import GREY, colour, styles
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import label, set_label
from pipeline.lab.page.plots import Drawing, curve, drawings, logarithmic, panels, shares, thousands, training

_CURVES = [("loss", "Loss, nats per choice"), ("exact_match", "Exact match, development blocks")]
_QUARTERS = [0, 0.25, 0.5, 0.75, 1]


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The figures that have rows; networks with their greedy decoder."""
    parts = evidence.table("parts", "imitation")
    parts = parts[parts["decoder"].isin(("greedy", "none"))]
    lengths = parts[(parts["by"] == "length") & (parts["set"] != "test_5")]
    beliefs = parts[(parts["by"] == "confidence") & (parts["method"] == "attention_pointer")]
    return drawings(
        imitation_length=(_by_length, lengths),
        imitation_reliability=(_reliability, beliefs),
        imitation_training=(training, evidence.table("history", "imitation"), _CURVES),
    )


def _by_length(parts: pd.DataFrame) -> Figure:
    """Exact match with intervals against lengths, a panel for each set."""
    methods, sets = sorted(set(parts["method"])), sorted(set(parts["set"]))
    names = parts.drop_duplicates("part").sort_values("rank")["part"].tolist()
    style = styles(methods)
    with panels(sets, 2, 3.6, 3.1, style, 3, label) as (figure, axes):
        for ax, tested in zip(axes, sets, strict=True):
            for k, name in enumerate(methods):
                rows = parts[(parts["set"] == tested) & (parts["method"] == name)].sort_values("rank")
                aside = 0.06 * (k - (len(methods) - 1) / 2)  # so that intervals do not hide each other
                curve(ax, rows["part"].map(names.index).to_numpy(float) + aside, rows, 1.3, markersize=4, **style[name])
            ax.set_xticks(range(len(names)), names)
            ax.set(title=set_label(tested), xlabel="instructions")
            ax.tick_params(axis="x", labelsize=8.5)
            shares(ax.yaxis, whole=True)
        axes[0].set_ylabel("exact match")
    return figure


def _reliability(parts: pd.DataFrame) -> Figure:
    """Exact match against the network's confidence; the lower panels show the number of blocks.

    `parts`: table `parts`, rows by confidence of one method. On the diagonal, confidence equals the exact match.
    """
    sets, tint = sorted(set(parts["set"])), colour(parts["method"].iloc[0])
    bars: Any = {"align": "edge", "color": tint, "alpha": 0.55, "edgecolor": "white", "linewidth": 0.6}
    with subplots(1.0 + 2.8 * len(sets), 4.6, 2, len(sets)) as (figure, axes):
        axes[0, 0].get_gridspec().set_height_ratios([3, 1.3])
        for (above, below), tested in zip(axes.T, sets, strict=True):
            rows = parts[parts["set"] == tested].sort_values("rank")
            above.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1)
            curve(above, rows["confidence"], rows, 1.3, linestyle="-", marker="o", color=tint, markersize=4.5)
            above.set_title(set_label(tested))
            shares(above.yaxis, whole=True)
            ends = np.array([[float(end) for end in part.split("-")] for part in rows["part"]]).reshape(-1, 2)
            below.bar(ends[:, 0], rows["n"], np.diff(ends)[:, 0], **bars)
            logarithmic(below.yaxis, 5)
            below.set_ylim(bottom=0.8)
            thousands(below.yaxis)
            below.set_xlabel("confidence")
            for ax in (above, below):
                ax.set_xticks(_QUARTERS)
                shares(ax.xaxis, whole=True)
            above.set_xticklabels([])
        axes[0, 0].set_ylabel("exact match")
        axes[1, 0].set_ylabel("blocks")
    return figure
