"""Peak memory of training steps beside torch's own account (published by benchmarks/own_model_memory.py)."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import mode
from pipeline.lab.page.numbers import count, percent
from pipeline.lab.page.tables import Column, lines, of, table, value

EXPERIMENT, ALL, ERROR = "own_model_memory", "all", "memory_error"
OPTIMISERS = ("sgd", "momentum", "adam", "fused")


def _signed(share: float) -> str:
    text = percent(abs(share), 2)
    return text if text == percent(0, 2) else f"{'+' if share > 0 else '-'}{text}"


def _megabytes(size: float) -> str:
    return count(size / 1e6)


_MEMORY: list[Column] = [
    ("Model", of("set", mode)),
    ("Measured, `sgd`, MB", value(_megabytes, "measured_bytes", method="sgd")),
    *((f"Error, {mode(name)}", value(_signed, ERROR, method=name)) for name in OPTIMISERS),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's table, and the largest and the median error; they are empty if the benchmark was not run."""
    rows = evidence.of(EXPERIMENT)
    of_models = rows[rows["set"] != ALL]
    errors = of_models[of_models["metric"] == ERROR].set_index("set")["value"].abs()
    return {
        "table": table(_MEMORY, lines(of_models, ["set"]), right=1),
        "median": percent(float(errors.median()), 2),
        "largest": f"{percent(float(errors.max()), 2)} ({mode(str(errors.idxmax()))})" if len(errors) else "",
    }
