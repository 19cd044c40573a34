"""Figures of instances of others: gaps to the best known, and the graphs that are worst for our methods."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from pipeline.lab.page.colours import styles
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import in_order, label, set_label
from pipeline.lab.page.plots import Drawing, curve, drawings, panels, saving, shares

_METHODS = ("shortest_first", "most_work_remaining", "best_rule", "randomised_rules")
_SETS = ("psplib_j30", "psplib_j60", "classical", "taillard")


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """The figures that have rows."""
    rows, parts = evidence.of("outside_instances"), evidence.table("parts", "saga_peers")
    ours = parts[(parts["by"] == "searched_for") & ~parts["method"].str.startswith("saga_")]
    return drawings(
        outside_gaps=(_gaps, rows[rows["metric"] == "gap"]),
        outside_worst_graphs=(_worst_graphs, ours),
    )


def _gaps(rows: pd.DataFrame) -> Figure:
    """A panel for each set, a mark for each method with its interval."""
    sets, names = in_order(rows["set"], _SETS), in_order(rows["method"], _METHODS)
    style = styles(names)
    with panels(sets, 2, 2.7, 1.9, style, 2, linestyle="") as (figure, axes):
        for ax, of_set in zip(axes, sets, strict=True):
            for method, line in rows[rows["set"] == of_set].groupby("method"):
                curve(ax, names.index(str(method)), line, 1.2, markersize=6, linestyle="", **style[str(method)])
            ax.set(title=set_label(of_set), xticks=[], xlim=(-0.5, len(names) - 0.5), ylim=(0, None))
            shares(ax.yaxis)
        for ax in axes[::2]:
            ax.set_ylabel("above the best known")
    return figure


def _worst_graphs(parts: pd.DataFrame) -> Figure:
    """A panel for each method that graphs were searched for: what every method of ours takes on them."""
    searched = parts.sort_values("rank")["part"].drop_duplicates().tolist()
    names = in_order(parts["method"], searched)
    style = styles(names)
    with panels(searched, 5, 1.7, 2.4, style, 5, linestyle="") as (figure, axes):
        for ax, of_method in zip(axes, searched, strict=True):
            for method, line in parts[parts["part"] == of_method].groupby("method"):
                curve(ax, names.index(str(method)), line, 1.2, markersize=6, linestyle="", **style[str(method)])
            ax.set(title=f"worst for\n{label(of_method)}", xticks=[], xlim=(-0.5, len(names) - 0.5))
            ax.set_ylim(0.95, 1.05 * parts["high"].max())
            saving(ax.yaxis, "takes longer than the optimum" if ax is axes[0] else "")
        for ax in axes[1:]:
            ax.set_yticklabels([])
    return figure
