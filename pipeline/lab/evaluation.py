"""The result of an evaluation; a task is a file `<task>_task.py` with `evaluate(inputs) -> Evaluation`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module

import pandas as pd

from pipeline.lab.inputs import Inputs
from pipeline.lab.shared_tables import OUTCOMES, PARTS


@dataclass(frozen=True)
class Evaluation:
    """Tables of an experiment's numbers."""

    results: pd.DataFrame
    parts: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=PARTS.schema.names))
    outcomes: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=OUTCOMES.schema.names))


def task(name: str) -> Callable[[Inputs], Evaluation]:
    """The function of a task of params.yaml: reproduction, imitation, processors or hardware."""
    evaluate: Callable[[Inputs], Evaluation] = import_module(f"pipeline.{name}.numbers").evaluate
    return evaluate
