"""Task `devices`: makespans of methods without a network; what learned policies are compared by, too, is in lab."""

from __future__ import annotations

from pipeline.lab import makespans
from pipeline.lab.evaluation import Evaluation, GraphInputs


def evaluate(inputs: GraphInputs) -> Evaluation:
    """Results and parts of an experiment: see `makespans.evaluate`."""
    return makespans.evaluate(inputs)
