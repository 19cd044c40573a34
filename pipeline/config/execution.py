"""How computation graphs are executed and timed on two cores of the machine at hand (graphs/execution)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pipeline.config.section import Positive, Section

_Rate = Annotated[float, Field(gt=0)]


class Machine(Section):
    """What one core does in a second: as measured by an earlier run (table machine_rates), rounded, and then fixed.

    Fixed, so that the graphs that are executed are the same ones everywhere and schedules of them have tables to keep.
    """

    flops_per_second: _Rate  # of products of matrices in float32
    bytes_per_second: _Rate  # read and written by a sweep over memory
    copied_bytes_per_second: _Rate  # of a result that the other core wrote
    operation_seconds: Annotated[float, Field(ge=0)] = 0.0  # of starting and ending an operation, whatever it does


class Coarsening(Section):
    """Which form of a graph is executed."""

    machine: Machine
    graph_seconds: _Rate  # all operations one after the other, without writing their results
    least_seconds: _Rate = 1e-4  # of an operation; smaller ones are merged
    # A core computes so slowly that copies would take 1% of the work or 2%. Results are scaled instead: copying one of
    # mean size takes so many mean run times (on the target `bandwidth`: 6.3).
    copy_run_times: Annotated[float, Field(ge=0)] = 0.25
    least_headroom: Annotated[float, Field(ge=1)] = 1.5  # one device's seconds over max(critical path, total / 2)


class ExecutionSettings(Section):
    """How often schedules are executed."""

    schedules: Positive = 10  # of each graph, method and seed: the best by proxy
    processes: Annotated[int, Field(ge=2)] = 3  # pairs of processes, one after the other; two at least for the control
    repeats: Positive = 5  # of each schedule in each pair, all schedules of a graph in shuffled sequence
    seed: int = 0  # of the sequences
    limit_seconds: _Rate = 60.0  # without progress, after which the processes count as lost
