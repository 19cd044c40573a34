"""Speeds of stepping environments: by implementation, by many environments and fused steps, by size, by strategy."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from pipeline.lab.page.asked import Question, answered
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import digits
from pipeline.lab.page.names import METRICS, label, natural
from pipeline.lab.page.numbers import Row, count, factor, in_text, spread, times
from pipeline.lab.page.panels import panels
from pipeline.lab.page.panels import styles as styles_of
from pipeline.lab.page.plots import drawings, logarithmic
from pipeline.lab.page.tables import Column, Table, filled, lines, metric, of, table, value

COLLECTION = "data_collection"
_WAYS = (
    *("gymnasium", "gymnasium_vector", "numpy", "torch", "torch_compiled", "numba", "numba_blocks"),
    *("jax_eager", "jax", "jax_scan", "jax_scan_unrolled", "torch_gpu", "torch_compiled_gpu"),
)
_STRATEGIES = ("baseline", "no_concatenation", "random_outside")
_PRODUCT = {
    "vectorised_alone": "4,096 environments",
    "fused_alone": "64 steps fused",
    "together": "Both",
    "fused_when_vectorised": "64 steps fused, 4,096 environments",
    "product_ratio": "Both, over the product",
}
_ONE = "one_environment_one_step"
_KINDS = ("cartpole", "factorial", "sizes", "strategies", "scheduling", "calls")
_SIZES = {"16": "16 B", "64": "64 B", "256": "256 B", "1024": "1 KB", "4096": "4 KB", "16384": "16 KB"}
QUESTIONS = {  # by claim
    "collection_speedup_vectorised": Question(
        "How much faster are 4,096 CartPoles at once than Gymnasium's, one by one?", times, "up to 1,024× (GPU)"
    ),
    "collection_speedup_fused": Question(
        "How much faster are 64 fused steps than one, with 4,096 CartPoles?", times, "up to 11.3× (GPU)"
    ),
    "collection_calls_ratio": Question(
        "How much faster is one call of a compiled step than a call for each operation?", times, "13.4× (GPU)"
    ),
    "xla_best_strategy": Question(
        "How much faster is the best strategy for XLA's fusion than the baseline?", times, "10.56× (GPU)"
    ),
}


def section(evidence: Evidence) -> dict[str, Any]:
    """Tables and the figure of speedups by the size of a state."""
    rows = evidence.of(COLLECTION)
    of_kind = {name: rows[rows["set"] == name] for name in _KINDS}
    sized = of_kind["sizes"]
    return {
        "questions": answered(evidence.claims, QUESTIONS),
        "ways": _ways(of_kind["cartpole"]),
        "factorial": _factorial(of_kind["factorial"]),
        "strategies": _strategies(of_kind["strategies"]),
        "scheduling": _scheduling(of_kind["scheduling"]),
        "calls": _calls(of_kind["calls"]),
        "figures": drawings(collection_sizes=(by_size, sized[sized["metric"] == "speedup"])),
    }


def _ways(rows: pd.DataFrame) -> Table:
    """A line for each implementation, number of environments and steps per call."""
    shown: list[Column] = [
        _WAY,
        ("Environments", of("lengths", _counted)),
        ("Steps per call", of("iterations")),
        ("Unrolled", of("decoder", lambda text: "-" if text == "1" else text)),
        _SPEED,
        _OVER_GYMNASIUM,
        ("Calls per step of all", metric(digits, "calls")),
    ]
    order = {"method": _WAYS}
    return filled(table(shown, lines(rows, ["method", "lengths", "iterations", "decoder"], order), right=1))


def _counted(text: str) -> str:
    return count(float(text)) if text.isdigit() else "-"


def _calls(rows: pd.DataFrame) -> str:
    """Speedup of one call of a compiled step over one call for each operation; empty without the number."""
    speedups = rows[(rows["metric"] == "speedup") & (rows["method"] == "jax") & (rows["baseline"] == "jax_eager")]
    return in_text(speedups.iloc[0].to_dict(), times) if len(speedups) else ""


def _factorial(rows: pd.DataFrame) -> Table:
    """Speedups by many environments and fused steps, over one environment and one step."""
    shown: list[Column] = [_WAY]
    shown += [(text, metric(factor, name, comparison="ratio", baseline=_ONE)) for name, text in _PRODUCT.items()]
    return table(shown, lines(rows, ["method"], {"method": _WAYS}), right=1)


def _strategies(rows: pd.DataFrame) -> Table:
    """A line for each strategy of the paper for XLA's fusion."""
    shown: list[Column] = [
        ("Strategy", of("method", label)),
        (METRICS["kernels"], metric(digits, "kernels")),
        ("MB moved, one iteration", value(lambda size: f"{size / 1e6:.3g}", "moved_bytes")),
        _SPEED,
        ("Over the baseline", metric(factor, "speedup", comparison="ratio", baseline="baseline")),
    ]
    unrolled = sorted({name for name in rows["method"] if name.startswith("unrolled")}, key=natural)
    return filled(table(shown, lines(rows, ["method"], {"method": (*_STRATEGIES, *unrolled, "best")}), right=1))


def _scheduling(rows: pd.DataFrame) -> Table:
    """A line for each implementation of the scheduling environment."""
    return table([_WAY, _SPEED, _OVER_GYMNASIUM], lines(rows, ["method"], {"method": _WAYS}), right=1)


def _millions(row: Row | None) -> str:
    return spread(row, lambda steps: f"{steps / 1e6:.3g}")


_WAY: Column = ("Implementation", of("method", label))
_SPEED: Column = (METRICS["steps_per_second"], metric(_millions, "steps_per_second"))
_OVER_GYMNASIUM: Column = (
    "Over Gymnasium, one by one",
    metric(factor, "speedup", comparison="ratio", baseline="gymnasium"),
)


def by_size(rows: pd.DataFrame) -> Figure:
    """Speedup over one step per call by the size of a state; a line for each number of fused steps."""
    fused = sorted(set(rows["iterations"]), key=int)
    sizes = sorted(set(rows["lengths"]), key=int)
    names = {number: f"{number} steps fused" if number != "1" else "one step" for number in fused}
    style = styles_of(list(names.values()))
    with panels(["all"], 1, 6, 3.4, style, 4, markersize=5) as (figure, (ax,)):
        for number, name in names.items():
            line = rows[rows["iterations"] == number].assign(size=lambda frame: frame["lengths"].astype(int))
            line = line.sort_values("size")
            ax.vlines(line["size"], line["low"], line["high"], color=style[name]["color"], linewidth=1.2)
            ax.plot(line["size"], line["value"], markersize=5, linewidth=1.4, **style[name])
        logarithmic(ax.xaxis, [int(size) for size in sizes])
        ax.xaxis.set_major_locator(FixedLocator([int(size) for size in sizes]))
        ax.xaxis.set_major_formatter(FixedFormatter([_SIZES.get(size, size) for size in sizes]))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set(xlabel="size of a state", ylabel="speedup over one step per call", ylim=(0, None))
    return figure
