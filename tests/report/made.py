"""Made-up evidence of the report: rows of table `results`, other tables, and an Evidence of them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.shared_tables import KEY, RESULTS
from pipeline.operator.tables import RESIDUALS
from tests.report.shown import params

PLAIN = dict.fromkeys(KEY, "none") | {"seed": "all", "comparison": "value", "lengths": "all", "dependencies": "full"}


def results(rows: list[dict]) -> pd.DataFrame:
    """Rows of table `results`; missing columns are as in PLAIN, intervals reach 0.01 to either side."""
    full = [
        PLAIN | {"interval_of": "none", "low": row["value"] - 0.01, "high": row["value"] + 0.01, "n": 100} | row
        for row in rows
    ]
    return pd.DataFrame(full, columns=RESULTS.schema.names)


def evidence(*rows: pd.DataFrame, **more: Any) -> Evidence:
    """Evidence of these rows of results; `more`: tables by their stems, and fields of Evidence by name."""
    fields = {name: more.pop(name) for name in list(more) if name in Evidence.__dataclass_fields__}
    rows_shown = pd.concat([results([])[:0], *rows], ignore_index=True) if rows else results([])
    default: dict[str, Any] = {"params": params(), "results": rows_shown, "tables": {"corpus": statistics()} | more}
    return Evidence(**(default | fields))


def examples(experiment: str = "quick") -> pd.DataFrame:
    """Two blocks of five instructions; the first has four dependencies, the second none."""
    text = ["movsd xmm5,[rsp+0x20]", "movsd xmm3,[r13+0xa0]", "subsd xmm3,xmm5", "divsd xmm3,xmm8", "ucomisd xmm2,xmm3"]
    rng, rows = np.random.default_rng(0), []
    for block, method in product(range(2), ("sinkhorn", "popocs_20")):
        logits = rng.normal(0, 2, (5, 5)) + 3 * np.eye(5)
        soft = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        orders = {"order": [0, 1, 2, 4, 3], "gcc_order": [1, 0, 2, 3, 4]}
        edges = {"before": [0, 1, 2, 3], "after": [2, 2, 3, 4]} if block == 0 else {"before": [], "after": []}
        matrices = {"instructions": text, "proposal": logits.ravel(), "projected": soft.ravel()}
        place = {"experiment": experiment, "dependencies": "full", "block_id": f"{block:032x}", "method": method}
        rows.append(place | matrices | orders | edges)
    return pd.DataFrame(rows)


def residuals() -> pd.DataFrame:
    """Table `residuals`: the loop converges slowly, the rest at once; `extrapolated` has early stragglers."""
    rows: list[tuple] = []
    for n, kind, k in product((5, 10), ("softmax", "logits"), (1, 20, 60)):
        worst, late = (4.0, 0.25) if k == 1 else (1e-5, 0.0)
        rows += [
            (n, kind, "cyclic", k, k == 20, 900, 8.9, n / k, 2 * n / k, 3 * n / k, 0.0, np.nan),
            (n, kind, "extrapolated_alone", k, k == 60, 900, 8.9, 3e-8, worst, 2 * worst, 1 - late, late),
            (n, kind, "extrapolated", k, k == 60, 900, 8.9, 3e-8, 9e-6, 1e-5, 1.0, late),
        ]
    rows += [
        (n, kind, "nearest", 0, True, 900, 8.9, 0.0, 1e-7, 4e-7, 1.0, np.nan)
        for n, kind in product((5, 10), ("softmax", "logits"))
    ]
    return pd.DataFrame(rows, columns=RESIDUALS.schema.names)


def statistics() -> pd.DataFrame:
    """Table `corpus` of twenty programs of thirty blocks, with its dependencies."""
    rows: list[tuple] = []
    for k in range(20):
        source, program = ("ffprobe" if k == 19 else "qt56"), f"lib{k:02}.so"
        numbers = {"blocks": 30, "occurrences": 60, "instructions": 150, "single_order": 6, "reduction_edges": 30}
        rows += [(source, program, name, "", value) for name, value in (numbers | {"inexact_orders": 0}).items()]
    for source, blocks in (("qt56", 570), ("ffprobe", 30), ("", 600)):
        rows.append((source, "", "blocks", "", blocks))
        rows += [(source, "", name, place, blocks / 2) for name in ("length", "log10_orders") for place in ("2", "40")]
    rows += [("", "", name, place, 600) for name in _PAIRS for place in ("", "register RAW")]
    rows.append(("", "", "single_order", "", 120))
    rows += [("", "", f"ready_{name}", n, 0.25) for name in _READY for n in ("3", "12")]
    frame = pd.DataFrame(rows, columns=["source", "program", "statistic", "bin", "value"])
    return frame.assign(value=frame["value"].astype(float), dependencies="full")


_PAIRS = ("direct_conflicts", "reduction_edges")
_READY = ("blocks", "dags", "mean", "median", "largest", "divergence")
