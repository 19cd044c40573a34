"""Figures of what bounds imitators: shares of wrong blocks, features that sort as GCC did. No file is touched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from pipeline.report.plots import PERCENT, subplots

_FIRST, _ALSO = "#0072b2", "#cfe3f1"
_COLOURS = ("#0072b2", "#009e73", "#cc79a7", "#e69f00", "#8a8a8a", "#222222")  # Okabe & Ito, 2008; greys not seen


def errors(shares: pd.DataFrame) -> Figure:
    """Bars of the share of wrong blocks that count for a category, with intervals, the largest on top, `other` last.

    `shares`: table `error_shares`, rows of categories. Pale: the share of which the category is true.
    """
    total = max(shares["n_blocks"].sum(), 1)
    rows = shares.assign(last=shares["name"] == "other").sort_values(
        ["last", "share", "name"], ascending=[True, False, True]
    )
    y = -np.arange(len(rows))
    with subplots(8, 0.36 * len(rows) + 1.5) as (figure, axes):
        ax = axes[0, 0]
        also = rows["n_holds"].where(~rows["last"], 0) / total  # `other` is true of all
        ax.barh(y, also, 0.72, color=_ALSO)
        ax.barh(y, rows["share"], 0.72, color=_FIRST)
        ax.hlines(y, rows["low"], rows["high"], color="#222222", linewidth=1.3)
        ax.set_yticks(y, rows["name"])
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(y.min(initial=0) - 0.6, 0.6)
        ax.set_xlim(left=0)
        ax.xaxis.set_major_formatter(PERCENT)
        ax.set_xlabel("wrong blocks")
        ax.grid(axis="y", visible=False)
        keys: list[Any] = [
            Patch(color=_FIRST, label="counts for the category"),
            Patch(color=_ALSO, label="the category is true of it"),
            Line2D([], [], color="#222222", linewidth=1.3, label="interval"),
        ]
        figure.legend(handles=keys, loc="outside lower center", ncols=3)
    return figure


def audit(features: pd.DataFrame, kinds: list[str]) -> Figure:
    """How often GCC left independent instructions in ascending order of a feature, with intervals, from top to bottom.

    `features`: rows of table `audit`, `group` one of `kinds`. On the dashed line a feature says nothing.
    """
    y = -np.arange(len(features))
    tints = dict(zip(kinds, _COLOURS, strict=True))
    with subplots(8, 0.3 * len(features) + 1.6) as (figure, axes):
        ax = axes[0, 0]
        ax.axvline(0.5, color="#8a8a8a", linestyle="--", linewidth=1)
        colours = features["group"].map(tints).tolist()
        ax.hlines(y, features["low"], features["high"], color=colours, linewidth=1.8)
        ax.scatter(features["agreement"], y, s=28, color=colours, zorder=3)
        ax.set_yticks(y, features["feature"])
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(y.min(initial=0) - 0.6, 0.6)
        ax.set_xlim(-0.03, 1.03)
        ax.xaxis.set_major_formatter(PERCENT)
        ax.set_xlabel("pairs that GCC left in ascending order")
        ax.grid(axis="y", visible=False)
        shown = [kind for kind in kinds if kind in set(features["group"])]
        keys = [Line2D([], [], marker="o", color=tints[kind], label=kind) for kind in shown]
        figure.legend(handles=keys, loc="outside lower center", ncols=3)
    return figure
