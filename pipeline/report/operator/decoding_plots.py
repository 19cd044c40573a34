"""Figure of relaxations and decoders, and their names. Data frame -> matplotlib figure; no file is read or written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pipeline.report.plots import PERCENT, label, subplots

RELAXATIONS = ("none", "sinkhorn", "popocs_cyclic", "popocs_extrapolated", "popocs_nearest", "time_indexed")
DECODERS = {
    "hungarian": "Hungarian",
    "hungarian_scipy": "Hungarian, scipy in a loop",
    "topological": "topological fill",
    "expected_slots": "expected slots",
    "best": "best legal order",
}
_MARKS: dict[str, Any] = {  # Okabe & Ito, 2008
    "hungarian": {"marker": "o", "color": "#d55e00"},
    "topological": {"marker": "s", "color": "#0072b2"},
    "expected_slots": {"marker": "^", "color": "#8a8a8a"},
    "best": {"marker": "D", "color": "#009e73"},
}


def relaxation_label(name: str) -> str:
    """A relaxation's name as the tables write it."""
    return "row softmax" if name == "none" else label(name)


def decoder_label(name: str) -> str:
    """A decoder's name as the tables write it."""
    return DECODERS.get(name, name)


def in_order(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Each name once: the known ones in their order, then the others by name; `none` only where it is known."""
    found, first = set(names), list(known)
    return [name for name in first if name in found] + sorted(found - set(first) - {"none"})


def noise_of(split: str) -> str:
    """The standard deviation that a split names: `noise_1.75` -> `1.75`."""
    return split.removeprefix("noise_")


def levels(rows: pd.DataFrame) -> list[str]:
    """Splits from the least noise to the most."""
    return sorted(set(rows["split"]), key=lambda split: float(noise_of(split)))


def by_length(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with metrics `<name>_<n>` as metric `<name>` and a column n."""
    parts = rows["metric"].str.extract(r"^(?P<metric>.+)_(?P<n>\d+)$")
    return rows.assign(metric=parts["metric"], n=parts["n"].astype(int))


def exact_match(rows: pd.DataFrame) -> Figure:
    """Blocks reproduced exactly, with intervals: a panel for each noise and length, a line for each relaxation."""
    splits, lengths = levels(rows), sorted(set(rows["n"]))
    shown = in_order(rows["scheduler"], RELAXATIONS)
    position = {name: -place for place, name in enumerate(shown)}
    decoders = [name for name in in_order(rows["decoder"], DECODERS) if name in _MARKS]
    with subplots(9, 2.1 * len(splits) + 0.7, len(splits), len(lengths)) as (figure, axes):
        for line, split in zip(axes, splits, strict=True):
            for ax, n in zip(line, lengths, strict=True):
                own = rows[(rows["split"] == split) & (rows["n"] == n) & rows["decoder"].isin(decoders)]
                for row in own.to_dict("records"):
                    mark = _MARKS[row["decoder"]]
                    y = position[row["scheduler"]] + 0.14 * (1.5 - list(_MARKS).index(row["decoder"]))
                    ax.plot([row["ci_low"], row["ci_high"]], [y, y], color=mark["color"], linewidth=1.4)
                    ax.plot(row["value"], y, markersize=4.5, linestyle="", **mark)
                ax.set_title(f"n = {n}, noise {noise_of(split)}", loc="left")
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
