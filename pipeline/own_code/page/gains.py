"""Whether the gains of orders are true, once and in a loop, by llvm-mca (frozen)."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import mode
from pipeline.lab.page.numbers import count, ratio, share, two
from pipeline.lab.page.tables import Cell, Column, Line, lines, metric, of, table, value
from pipeline.own_code.claims import PROCESSORS

EXPERIMENT = "own_gains"
ASKED = {"proposed": "no", "confirmed": "yes"}  # is llvm-mca asked, by `decoder`


def _to_before(name: str) -> Cell:
    def write(line: Line) -> str:
        return ratio(line.find(metric=name, comparison="ratio", baseline="before", judge=line["target"]))

    return write


def _worst(line: Line) -> str:
    place = {"comparison": "ratio", "baseline": "before", "judge": line["target"]}
    row = line.find(metric="worst_loop_cycles", **place)
    return "-" if row is None else two(row["value"])


GAINS: list[Column] = [
    ("Processor", of("target")),
    ("Method", of("method", mode)),
    ("llvm-mca is asked", of("decoder", lambda name: ASKED[name])),
    ("Changed blocks", value(count, "changed")),
    ("Gains that llvm-mca sees", metric(share, "gains_confirmed")),
    ("Cycles, a single pass", _to_before("cycles")),
    ("Cycles, in a loop", _to_before("loop_cycles")),
    ("Worst block in a loop", _worst),
    ("Comparisons that left their jump", value(count, "pairs_split")),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's table; it is empty if the benchmark was not run."""
    rows = evidence.of(EXPERIMENT)
    by = ["target", "method", "decoder"]
    places = {"target": PROCESSORS, "method": ["search", "policy"], "decoder": list(ASKED)}
    return {
        "table": table(GAINS, lines(rows, by, places), right=3),
        "blocks": int(rows.loc[rows["metric"] == "changed", "n"].max()) if len(rows) else 0,
    }
