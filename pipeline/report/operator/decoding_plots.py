"""Figure of relaxations and decoders, and their names. Data frame -> matplotlib figure; no file is read or written."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pipeline.report.names import DECODERS, decoder_label, in_order, label, natural
from pipeline.report.plots import PERCENT, subplots

RELAXATIONS = ("none", "sinkhorn", "popocs_cyclic", "popocs_extrapolated", "popocs_nearest", "time_indexed")
_MARKS: dict[str, Any] = {  # Okabe & Ito, 2008
    "hungarian": {"marker": "o", "color": "#d55e00"},
    "topological": {"marker": "s", "color": "#0072b2"},
    "expected_slots": {"marker": "^", "color": "#8a8a8a"},
    "best": {"marker": "D", "color": "#009e73"},
}


def relaxation_label(name: str) -> str:
    """A relaxation's name as the tables write it."""
    return "row softmax" if name == "none" else label(name)


def noise_of(noise: str) -> str:
    """The standard deviation that a set names: `noise_1.75` -> `1.75`."""
    return noise.removeprefix("noise_")


def levels(rows: pd.DataFrame) -> list[str]:
    """Sets from the least noise to the most."""
    return sorted(set(rows["set"]), key=lambda noise: float(noise_of(noise)))


def exact_match(rows: pd.DataFrame) -> Figure:
    """Blocks reproduced exactly, with intervals: a panel for each noise and length, a line for each relaxation."""
    noises, lengths = levels(rows), sorted(set(rows["lengths"]), key=natural)
    shown = in_order(rows["method"], RELAXATIONS)
    position = {name: -place for place, name in enumerate(shown)}
    decoders = [name for name in in_order(rows["decoder"], DECODERS) if name in _MARKS]
    with subplots(9, 2.1 * len(noises) + 0.7, len(noises), len(lengths)) as (figure, axes):
        for line, noise in zip(axes, noises, strict=True):
            for ax, n in zip(line, lengths, strict=True):
                own = rows[(rows["set"] == noise) & (rows["lengths"] == n) & rows["decoder"].isin(decoders)]
                for row in own.to_dict("records"):
                    mark = _MARKS[row["decoder"]]
                    y = position[row["method"]] + 0.14 * (1.5 - list(_MARKS).index(row["decoder"]))
                    ax.plot([row["low"], row["high"]], [y, y], color=mark["color"], linewidth=1.4)
                    ax.plot(row["value"], y, markersize=4.5, linestyle="", **mark)
                ax.set_title(f"n = {n}, noise {noise_of(noise)}", loc="left")
                ax.set_xlim(-0.03, 1.03)
                ax.set_xticks([0, 0.5, 1])
                ax.xaxis.set_major_formatter(PERCENT)
                names = [relaxation_label(name) for name in shown] if ax is line[0] else [""] * len(shown)
                ax.set_yticks(list(position.values()), names)
                ax.set_ylim(-len(shown) + 0.5, 0.5)
                ax.grid(axis="y", visible=False)
        keys = [Line2D([], [], linestyle="", label=decoder_label(name), **_MARKS[name]) for name in decoders]
        figure.legend(handles=keys, loc="outside lower center", ncols=len(keys))
    return figure
