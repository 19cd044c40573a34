"""The fast processor models beside llvm-mca: how often their cycles are equal, and the causes of differences."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import in_order, set_label, spelt
from pipeline.lab.page.numbers import Row, code, count, percent, ratio, spread
from pipeline.lab.page.tables import Column, Table, columns, lines, metric, ordered, table, value
from pipeline.processors.page.cycles import EXPERIMENT as MODELLED

EXPERIMENT = "processor_agreement"
RANDOM = "random_sequences"
_OF = {"judge": "model", "baseline": "llvm_mca"}
MEANINGS = {  # of the classes in reports/published/processor_deviations
    "memory_barrier": "a load or store waits for a fence",
    "removed_move": "an operand is ready later than in the model, after a move that register renaming removes",
    "late_operand": "an operand is ready later than in the model",
    "early_operand": "an operand is ready earlier: in the model every result takes its instruction's full latency",
    "dispatch": "an instruction is dispatched later",
    "guessed_units": "the units of an instruction could not be identified; the model uses those that it occupies alone",
    "ambiguous_units": "an instruction occupies units of overlapping groups, and different groups are equally possible",
    "selection": "several instructions are ready, and a different one issues",
    "units": "a unit is idle in one of the two and busy in the other",
    "retirement": "all instructions issue in the same cycles but retire in different cycles",
    "other": "none of these, on a processor that issues in order",
}
_thousandths = partial(percent, digits=3)


def _share(row: Row | None) -> str:
    """A share near 1 with its interval."""
    return spread(row, _thousandths, lambda end: _thousandths(end).rstrip("%"))


AGREEMENT: list[Column] = [
    *columns(target="Processor"),
    ("Orders equal", metric(_share, "equal_cycles_share", **_OF)),
    ("Blocks with all orders equal", metric(_share, "equal_blocks_share", **_OF)),
    ("Mean difference, cycles", metric(ratio, "absolute_cycles_difference", **_OF)),
    ("Largest", value(count, "largest_cycles_difference", **_OF)),
    ("Spearman", metric(ratio, "rank_correlation", **_OF)),
    ("Kendall", metric(ratio, "kendall_correlation", **_OF)),
    ("Best order is a best one", metric(_share, "best_order_share", **_OF)),
    ("Blocks", value(count, "equal_blocks_share", "n", **_OF)),
    ("Orders", value(count, "orders", **_OF)),
]
DEVIATIONS = [
    *columns(target="Processor"),
    *columns(set_label, set="Blocks"),
    *columns(spelt, deviation="First difference"),
    *columns(count, blocks="Number"),
    *columns(code, example="Shortest example"),
    *columns(count, model_cycles="Cycles, model", llvm_mca_cycles="llvm-mca"),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables by name; they are empty if nothing was published."""
    rows, deviations = evidence.of(EXPERIMENT), evidence.table("deviations")
    compared = rows[rows["metric"] == "equal_cycles_share"]
    targets = in_order(rows["target"], evidence.settings(MODELLED).get("targets", ()))
    sets = sorted(set(compared["set"]), key=lambda name: (name == RANDOM, name))
    order = {"target": targets, "set": sets, "deviation": MEANINGS}
    return {
        "agreement": {
            set_label(name): table(AGREEMENT, lines(rows[rows["set"] == name], ["target"], order), right=1)
            for name in sets
        },
        "equal": _equal(compared),
        "deviations": _deviations(deviations, order),
        "meanings": {spelt(name): MEANINGS.get(name, "") for name in in_order(deviations["deviation"], MEANINGS)},
    }


def _deviations(deviations: pd.DataFrame, order: dict[str, Any]) -> Table:
    """Deviations by processor, blocks before random sequences, the most frequent class first."""
    ranked = deviations.sort_values("blocks", ascending=False, kind="stable")
    return table(DEVIATIONS, ordered(ranked, {name: order[name] for name in ("target", "set")}), right=0)


def _equal(compared: pd.DataFrame) -> list[str]:
    """Processors on which all compared orders are equal."""
    lowest = compared.groupby("target", sort=True)["value"].min()
    return lowest.index[lowest == 1].tolist()
