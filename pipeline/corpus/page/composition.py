"""The corpus: sources, programs, kinds of dependencies, uniformity of the input orders."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from learned_schedulers.blocks.dag.dependencies import Kind
from learned_schedulers.figures import subplots
from pipeline.corpus.composition import words
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import mode
from pipeline.lab.page.numbers import cell, count, number, percent, two
from pipeline.lab.page.plots import drawings, shares
from pipeline.lab.page.tables import Column, Line, columns, lines, of, ordered, records, table

_LARGEST = 15  # number of programs shown
_NAMED = 3  # names shown of compilers, and of the files that were left out
_TINTS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a8a8a"]  # Okabe & Ito, 2008
_SPREAD = {"ready_largest": "largest", "ready_mean": "mean", "ready_median": "median"}
_LONG, _MANY = 30, 20  # ends of the axes of lengths and of decades of orders
_PAIRS = ["reduction_edges", "direct_conflicts"]
_NUMBERS = ["programs", "blocks", "occurrences", "instructions", "single_order", "inexact_orders", "reduction_edges"]
COUNTED: list[Column] = [
    *columns(
        count, programs="Programs", occurrences="Blocks found", blocks="Unique blocks", instructions="Instructions"
    ),
    ("Instructions per block", lambda line: number(line["instructions"] / line["blocks"], 1)),
    ("Edges per block", lambda line: number(line["reduction_edges"] / line["blocks"], 2)),
    ("With a single legal order", lambda line: percent(line["single_order"] / line["blocks"])),
    ("Orders counted exactly", lambda line: percent(1 - line["inexact_orders"] / line["blocks"], 2)),
]
SOURCES = [*columns(cell, source="Source", compiler="Compiler"), *COUNTED]
PROGRAMS = [*columns(cell, source="Source", program="Program"), *COUNTED[1:]]
MODES = [
    *columns(mode, dependencies="Dependencies"),
    *columns(two, direct_conflicts="Direct conflicts per block", reduction_edges="Edges per block"),
    *columns(percent, single_order="With a single legal order"),
]
KINDS = [
    *columns(kind="Kind"),
    *columns(count, reduction_edges="In the reduction"),
    *columns(percent, of_reduction_edges="of its edges"),
    *columns(count, direct_conflicts="Direct conflicts"),
    *columns(percent, of_direct_conflicts="of all conflicts"),
]
SPLITS = [
    *columns(dependencies="Dependencies", split="Split"),
    *columns(count, blocks="Blocks"),
    *columns(percent, several="With several legal orders"),
    ("Legal orders, mean", of("mean", lambda mean: number(mean, 1))),
    *columns(percent, chance="Random legal order is GCC's"),
]
SKIPPED = columns(cell, source="Source", reason="Reason", files="Files", which="Which", remedy="Remedy")


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables by name, and its figure."""
    statistics = evidence.table("corpus")
    modes = sorted(set(statistics["dependencies"]))
    chosen = "full" if "full" in modes else modes[0]
    shown = statistics[statistics["dependencies"] == chosen]
    programs = _totals(shown)
    every = programs[_NUMBERS].sum()
    totals = shown[shown["source"] == ""].pivot(index="bin", columns="statistic", values="value")
    return {
        "mode": chosen,
        "n_blocks": int(every["blocks"]),
        "n_occurrences": int(every["occurrences"]),
        "sources": table(SOURCES, _sources(programs, evidence.table("compilers")), right=2),
        "programs": table(PROGRAMS, _programs(programs), right=2),
        "modes": table(MODES, _modes(statistics) if len(modes) > 1 else [], right=1),
        "kinds": table(KINDS, _kinds(totals), right=1),
        "splits": table(SPLITS, _splits(evidence.table("splits")), right=2),
        "skipped": table(SKIPPED, _skipped(evidence.table("skipped"))),
        "figures": drawings(corpus=(corpus, shown)),
    }


def _totals(statistics: pd.DataFrame) -> pd.DataFrame:
    """One row per program: source, program and _NUMBERS."""
    singles = statistics[(statistics["bin"] == "") & (statistics["program"] != "")]
    table = singles.pivot(index=["source", "program"], columns="statistic", values="value")
    return table.assign(programs=1).reindex(columns=_NUMBERS).fillna(0).reset_index()


def _sources(programs: pd.DataFrame, compilers: pd.DataFrame) -> list[Line]:
    """Each source; if there are several, also all together."""
    sources = programs.groupby("source", sort=True)[_NUMBERS].sum().reset_index()
    named = {
        line["source"]: _first(sorted({name for row in line.rows for name in row["compiler"].split("; ")}), "; ")
        for line in lines(compilers, ["source"])
    }
    sources = sources.assign(compiler=[named.get(name, "") for name in sources["source"]])
    total = Line({"source": "**all**", "compiler": ""} | programs[_NUMBERS].sum().to_dict())
    return [*records(sources), *([total] if len(sources) > 1 else [])]


def _programs(programs: pd.DataFrame) -> list[Line]:
    """The largest programs, then all further programs together."""
    ordered = programs.sort_values(["blocks", "source", "program"], ascending=[False, True, True], kind="stable")
    rest = ordered.iloc[_LARGEST:]
    remaining = {"source": "", "program": f"{len(rest)} more"} | rest[_NUMBERS].sum().to_dict()
    return [*records(ordered.head(_LARGEST)), *([Line(remaining)] if len(rest) else [])]


def _modes(statistics: pd.DataFrame) -> list[Line]:
    """Means over the blocks, for each kind of dependencies."""
    whole = statistics[(statistics["source"] == "") & (statistics["bin"] == "")]
    wide = whole.pivot(index="dependencies", columns="statistic", values="value").fillna(0)
    means = wide.reindex(columns=[*_PAIRS, "single_order"], fill_value=0).div(wide["blocks"], axis=0)
    return records(means.sort_index().reset_index())


def _kinds(totals: pd.DataFrame) -> list[Line]:
    """Pairs of each kind, and their share of all pairs."""
    pairs = totals.reindex(index=["", *map(words, Kind)], columns=_PAIRS).fillna(0)
    shares = pairs / pairs.loc[""].clip(lower=1)
    return records(pairs.join(shares.add_prefix("of_")).drop(index="").rename_axis("kind").reset_index())


def _splits(blocks: pd.DataFrame) -> list[Line]:
    """Each split of each kind of dependencies; `chance`: the probability that a uniform legal order is GCC's."""
    if blocks.empty:
        return []
    n = blocks["n_legal_orders"]
    groups = blocks.assign(several=n > 1, mean=n, chance=1 / n).groupby(["dependencies", "split"])
    splits = groups[["several", "mean", "chance"]].mean().assign(blocks=groups.size()).reset_index()
    return ordered(splits, {"dependencies": (), "split": ("training", "development", "test")})


def _skipped(files: pd.DataFrame) -> list[Line]:
    """Files that were left out, by reason; the first files are named."""
    groups = []
    for line in lines(files, ["source", "reason", "remedy"]):
        names = sorted(row["program"] for row in line.rows)
        groups.append(Line({**line.place, "files": len(names), "which": _first(names, ", ")}))
    return groups


def _first(names: list[str], between: str) -> str:
    """The first names, and how many more there are."""
    more = len(names) - _NAMED
    return between.join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def corpus(statistics: pd.DataFrame) -> Figure:
    """Lengths, numbers of legal orders, and the distance of ready orders from uniform; `statistics`: table `corpus`."""
    with subplots(11, 3.3, 1, 3) as (figure, axes):
        lengths, orders, ready = axes[0]
        whole = statistics[(statistics["program"] == "") & (statistics["source"] != "")]
        for tint, (source, rows) in zip(_TINTS, whole.groupby("source", sort=True), strict=False):
            blocks = rows.loc[rows["statistic"] == "blocks", "value"].iloc[0]
            style: Any = {"color": tint, "markersize": 3, "linewidth": 1.4, "label": str(source)}
            for ax, statistic, last in ((lengths, "length", _LONG), (orders, "log10_orders", _MANY)):
                counts = rows[rows["statistic"] == statistic]
                counts = counts["value"].groupby(counts["bin"].astype(int).clip(upper=last).to_numpy()).sum() / blocks
                ax.plot(counts.index, counts, "-o", **style)
        lengths.set(title="Instructions in a block", xlabel=f"instructions ({_LONG}: or more)")
        lengths.set_ylim(bottom=0)
        orders.set(title="Legal orders of a block", xlabel=f"log10 of their number ({_MANY}: or more)", yscale="log")
        shares(lengths.yaxis, orders.yaxis)
        if lengths.lines:
            lengths.legend(title="unique blocks of", title_fontsize=9)
        _draw_ready(ready, statistics[statistics["source"] == ""])
    return figure


def _draw_ready(ax: Axes, every: pd.DataFrame) -> None:
    for (statistic, label), line in zip(_SPREAD.items(), ("--", "-", ":"), strict=True):
        rows = every[every["statistic"] == statistic]
        ax.plot(rows["bin"].astype(int), rows["value"], line, color="#222222", marker="o", markersize=3, label=label)
    ax.set(title="Ready orders: distance from uniform", xlabel="instructions (blocks with several orders)")
    ax.set_ylabel("total variation")
    ax.set_ylim(bottom=0)
    ax.legend()
