"""What a task evaluates, and the result; a task is a chapter whose numbers.py has `evaluate(inputs) -> Evaluation`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module

import numpy as np
import pandas as pd

from pipeline.lab.config.intervals import Intervals
from pipeline.lab.inputs import Inputs
from pipeline.lab.ratios import RatioBootstrap
from pipeline.lab.shared_tables import PARTS


@dataclass(frozen=True)
class Evaluation:
    """Tables of an experiment's numbers."""

    results: pd.DataFrame
    parts: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=PARTS.schema.names))
    further: Mapping[str, pd.DataFrame] = field(default_factory=dict)  # name of a table that the task alone has


@dataclass(frozen=True)
class GraphInputs:
    """Settings and tables of an experiment on computation graphs."""

    experiment: str
    intervals: Intervals
    frames: Mapping[str, pd.DataFrame]  # name of a table -> its rows of all sets, with a column `graph_set`
    peers: Sequence[str] = ()  # methods that all others are compared with
    experts: Sequence[str] = ()  # methods that place as people do
    methods: str = "{}"  # JSON: settings of every method by its name
    strengths: Mapping[str, float] = field(default_factory=dict)  # of the frozen targets

    def place(self, name: object, **columns: str) -> dict[str, str]:
        """Columns of table `results`: the experiment, a set, and more."""
        return {"experiment": self.experiment, "set": str(name), "dependencies": "none"} | columns

    def bootstrap(self, families: pd.Series | np.ndarray) -> RatioBootstrap:
        """Bootstrap for the experiment's intervals, for numbers of members of these families."""
        return RatioBootstrap(np.asarray(families), self.intervals.bootstrap_samples, self.intervals.confidence)


def task(name: str) -> Callable[[Inputs], Evaluation]:
    """The function of a task of params.yaml: reproduction, imitation or processors."""
    evaluate: Callable[[Inputs], Evaluation] = import_module(f"pipeline.{name}.numbers").evaluate
    return evaluate


def task_on_graphs(name: str) -> Callable[[GraphInputs], Evaluation]:
    """The same of a task on computation graphs."""
    evaluate: Callable[[GraphInputs], Evaluation] = import_module(f"pipeline.{name}.numbers").evaluate
    return evaluate
