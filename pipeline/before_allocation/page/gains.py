"""Cycles of every method over those of LLVM's default, by the number of candidates that it measures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.numbers import count, number, spread
from pipeline.lab.page.panels import panels
from pipeline.lab.page.panels import styles as styles_of
from pipeline.lab.page.plots import drawings, logarithmic
from pipeline.lab.page.tables import Column, lines, metric, of, table, value

EXPERIMENT = "before_allocation"
DEFAULT = "llvm default"
METHODS = {  # in the table's sequence
    "learned": "**the learned order**",
    "learned_unscheduled": "the learned order, and nothing else schedules",
    "llvm unscheduled": "the source's order, and nothing else schedules",
    "llvm source": "LLVM, `source` and the machine scheduler",
    "llvm list-burr": "LLVM, `list-burr`",
    "llvm list-hybrid": "LLVM, `list-hybrid`",
    "llvm list-ilp": "LLVM, `list-ilp`",
    "llvm list-burr-machine": "LLVM, `list-burr` and the machine scheduler",
    "llvm list-hybrid-machine": "LLVM, `list-hybrid` and the machine scheduler",
    "llvm list-ilp-machine": "LLVM, `list-ilp` and the machine scheduler",
    "pressure_list": "list scheduling by pressure (Goodman and Hsu)",
    "randomised_pressure_list": "the same, randomised",
    "sethi_ullman": "Sethi-Ullman numbers",
    "recursive_halves": "recursive halves (Frigo)",
    "least_pressure": "least pressure (proven for small blocks)",
    "random_legal": "random legal order",
    "moves": "search by moves from the source's order",
    "evolution": "evolution of the policy's weights, not learned",
    "learned_evolution": "**evolution from learned weights**",
    "learned_by_counts": "the same search by counts alone: `order`",
    "learned_evolution_or_default": "the same, or LLVM's default where that is not slower",
    "gcc": "GCC, where its function is shown to be the same",
    "gcc schedule-insns": "GCC with `-fschedule-insns -fsched-pressure`, likewise",
    "control": "control: LLVM's default again",
}
_SEARCHES = {
    "random_legal": "random legal orders",
    "randomised_pressure_list": "pressure lists, randomised",
    "moves": "moves from the source's order",
    "evolution": "evolution, not learned",
    "learned_evolution": "evolution from learned weights",
}
_three = partial(number, digits=3)
_ratio = partial(spread, write=_three)
_SPILLING = "test"
_TIME = "microseconds_per_instruction"
_OF_DEFAULT = {"comparison": "ratio", "baseline": DEFAULT}


def section(evidence: Evidence) -> dict[str, Any]:
    """Tables and the figure of the test functions; empty if they were not measured."""
    rows = evidence.of(EXPERIMENT)
    cycles = rows[(rows["metric"] == "cycles") & (rows["seed"] == "all")]
    shown = cycles[cycles["baseline"] == DEFAULT]
    columns: list[Column] = [
        ("Method", of("method", METHODS.__getitem__)),
        ("Candidates", of("decoder", lambda name: name.removeprefix("candidates_"))),
        ("Functions that spill", metric(_ratio, "cycles", set=_SPILLING, **_OF_DEFAULT)),
        ("Others", metric(_ratio, "cycles", set="test_fitting", **_OF_DEFAULT)),
    ]
    spilling = shown[shown["set"] == _SPILLING]
    every = lines(shown[shown["method"].isin(METHODS)], ["method", "decoder"], {"method": list(METHODS)})
    return {
        "spilling": int(spilling["n"].max()) if len(spilling) else 0,
        "others": int(others["n"].max()) if len(others := shown[shown["set"] == "test_fitting"]) else 0,
        "table": table(columns, sorted(every, key=lambda line: _place(line.place)), right=1),
        "gcc": int(spilling.loc[spilling["method"] == "gcc", "n"].max()) if "gcc" in set(spilling["method"]) else 0,
        "learning": _learning(cycles),
        "judges": _judges(rows),
        "shares": _shares(rows),
        "time": rows.loc[(rows["metric"] == _TIME) & (rows["set"] == _SPILLING), "value"].mean(),
        "figures": drawings(before_allocation_candidates=(by_candidates, spilling)),
    }


def _place(place: Mapping[str, Any]) -> tuple[int, int]:
    return list(METHODS).index(place["method"]), int(place["decoder"].removeprefix("candidates_"))


def _learning(cycles: pd.DataFrame) -> Any:
    """The learned search over the same search without learning."""
    rows = cycles[(cycles["baseline"] == "evolution") & (cycles["set"] == _SPILLING)]
    columns: list[Column] = [
        ("Candidates", of("decoder", lambda name: name.removeprefix("candidates_"))),
        ("Learned over not learned", metric(_ratio, "cycles", comparison="ratio", baseline="evolution")),
    ]
    return table(columns, lines(rows, ["decoder"]), right=1)


def _judges(rows: pd.DataFrame) -> Any:
    """Rank correlations within functions."""
    names = {
        "itself": "cycles, measured again (the ceiling)",
        "cost": "instructions + spills + reloads",
        "instructions": "instructions",
        "spills_and_reloads": "spills + reloads",
    }
    columns: list[Column] = [
        ("Judge", of("judge", names.__getitem__)),
        ("Rank correlation with cycles", metric(partial(spread, write=partial(number, digits=2)), "rank_correlation")),
        ("Functions", value(count, "rank_correlation", column="n")),
    ]
    judged = rows[(rows["metric"] == "rank_correlation") & (rows["set"] == _SPILLING)]
    return table(columns, lines(judged, ["judge"], {"judge": list(names)}), right=1)


def _shares(rows: pd.DataFrame) -> Any:
    """Parts of what the longest search saves."""
    names = {
        "spills_and_reloads": "spills and reloads",
        "other_instructions": "other instructions: copies, addresses, constants",
        "rest": "the rest: latency, front end, places in memory",
    }
    columns: list[Column] = [
        ("Explained by", of("judge", names.__getitem__)),
        ("Cycles over LLVM's default", metric(_ratio, "cycles_explained", **_OF_DEFAULT)),
    ]
    explained = rows[rows["metric"] == "cycles_explained"]
    return table(columns, lines(explained, ["judge"], {"judge": list(names)}), right=1)


def by_candidates(rows: pd.DataFrame) -> Figure:
    """Cycles over the default's by measured candidates; a line for each search, a point for a method without one."""
    style = styles_of(list(_SEARCHES.values()))
    with panels(["all"], 1, 5.4, 3.2, style, 2, markersize=5) as (figure, (ax,)):
        for method, name in _SEARCHES.items():
            single = "learned" if method == "learned_evolution" else method
            line = rows[(rows["method"] == method) | ((rows["method"] == single) & (rows["decoder"] == "candidates_1"))]
            line = line.assign(count=line["decoder"].str.removeprefix("candidates_").astype(int)).sort_values("count")
            ax.vlines(line["count"], line["low"], line["high"], color=style[name]["color"], linewidth=1.2)
            ax.plot(line["count"], line["value"], markersize=5, linewidth=1.4, **style[name])
        ax.axhline(1.0, color="#555555", linewidth=1)
        logarithmic(ax.xaxis, [1, 10, 100, 1000])
        ax.xaxis.set_major_locator(FixedLocator([1, 10, 100, 1000]))
        ax.xaxis.set_major_formatter(FixedFormatter(["1", "10", "100", "1,000"]))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set(xlabel="candidates that are compiled and measured", ylabel="cycles over LLVM's default")
    return figure
