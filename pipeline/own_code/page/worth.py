"""What the orders are worth by llvm-mca, and what the order of memory costs (frozen)."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from learned_schedulers.figures import subplots
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import in_order, mode, set_label
from pipeline.lab.page.numbers import count, percent, points, ratio
from pipeline.lab.page.plots import downwards, drawings, key, legend, point
from pipeline.lab.page.tables import Cell, Column, Line, Table, lines, of, table, value
from pipeline.own_code.claims import PROCESSORS

EXPERIMENT, SHOWN, BEST = "own_cycles", "test_10_40", "best"
MEMORIES = ("tso", "single_thread")
METHODS = ("search", "cp_sat", "policy", "learned", "list", "imitator")  # as in `--by`
_STYLES: dict[str, Any] = {  # Okabe & Ito, 2008
    "tso": {"color": "#0072b2", "marker": "o"},
    "single_thread": {"color": "#d55e00", "marker": "D"},
}
_APART = 0.13  # between the two models of memory of a processor


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables and figure; they are empty if the benchmark was not run."""
    rows = evidence.of(EXPERIMENT)
    rows = rows[rows["set"] == SHOWN]
    ratios = rows[(rows["metric"] == "cycles") & (rows["comparison"] == "ratio") & (rows["baseline"] == "gcc")]
    return {
        "blocks": set_label(SHOWN),
        "price": _price(rows),
        "ratios": {mode(memory): _ratios(ratios[ratios["dependencies"] == memory]) for memory in MEMORIES},
        "figures": drawings(own_code_memory=(by_memory, ratios[ratios["method"] == BEST])),
    }


def _to_gcc(line: Line, **query: str) -> Any:
    return line.find(metric="cycles", comparison="ratio", baseline="gcc", judge=line["target"], **query)


def _cell(**query: str) -> Cell:
    return lambda line: ratio(_to_gcc(line, **query))


def _processors(rows: pd.DataFrame) -> list[Line]:
    return lines(rows, ["target"], {"target": PROCESSORS})


def _ratios(rows: pd.DataFrame) -> Table:
    """The ratio of each method on each processor, and the number of blocks."""
    shown: list[Column] = [("Processor", of("target"))]
    shown += [(mode(name), _cell(method=name)) for name in in_order(set(rows["method"]) - {BEST}, METHODS)]
    shown.append(("Blocks", lambda line: "-" if (row := _to_gcc(line, method=BEST)) is None else count(row["n"])))
    return table(shown, _processors(rows), right=1)


def _price(rows: pd.DataFrame) -> Table:
    """The best method of each processor under each model of memory, and the difference between the models."""
    shown: list[Column] = [("Processor", of("target"))]
    for memory in MEMORIES:
        shown.append((f"Best, {mode(memory)}", _best(memory)))
        shown.append((f"Its cycles, {mode(memory)}", _cell(method=BEST, dependencies=memory)))
    shown.append(("Price of safety", _difference))
    for memory in MEMORIES:
        cell = value(percent, "choice_share", method="none", dependencies=memory)
        shown.append((f"Blocks with several orders, {mode(memory)}", cell))
    return table(shown, [line for line in _processors(rows) if _to_gcc(line, method=BEST)], right=1)


def _best(memory: str) -> Cell:
    """The method with the smallest ratio; of equal ones, the first of METHODS."""

    def write(line: Line) -> str:
        rows = [_to_gcc(line, method=name, dependencies=memory) for name in METHODS]
        present = [row for row in rows if row is not None]
        return mode(min(present, key=lambda row: row["value"])["method"]) if present else "-"

    return write


def _difference(line: Line) -> str:
    """What `tso` costs: the difference of the two best ratios, in percentage points of the cycles of GCC's order."""
    safe, free = (_to_gcc(line, method=BEST, dependencies=memory) for memory in MEMORIES)
    return "-" if safe is None or free is None else points(safe["value"] - free["value"], 2)


def by_memory(rows: pd.DataFrame) -> Figure:
    """The best method's cycles over GCC's on each processor, under both models of memory.

    `rows`: rows of table `results` of method `best`.
    """
    names = in_order(rows["target"], PROCESSORS)
    with subplots(7, 0.9 + 0.5 * len(names)) as (figure, axes):
        ax = axes[0, 0]
        for row in rows.to_dict("records"):
            height = -names.index(row["target"]) + (_APART if row["dependencies"] == "tso" else -_APART)
            point(ax, row, height, 1.6, markersize=6, **_STYLES[row["dependencies"]])
        ax.axvline(1, color="#222222", linewidth=0.8)
        downwards(ax, names)
        ax.set_xlabel("cycles over those of GCC's order, best method")
        legend(figure, [key(name, **style) for name, style in _STYLES.items()], 2)
    return figure
