"""Execution and timing of computation graphs on two cores of the machine at hand."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from learned_schedulers.section import Positive, Section

_Rate = Annotated[float, Field(gt=0)]


class Machine(Section):
    """Rates of one core: measured by an earlier run (table machine_rates), rounded, and then fixed.

    They are fixed so that all machines execute the same graphs, with the same tables of schedules.
    """

    flops_per_second: _Rate  # of products of matrices in float32
    bytes_per_second: _Rate  # read and written by a sweep over memory
    copied_bytes_per_second: _Rate  # of a result that the other core wrote
    operation_seconds: Annotated[float, Field(ge=0)] = 0.0  # of the start and end of any operation


class Coarsening(Section):
    """The executed form of a graph."""

    machine: Machine
    graph_seconds: _Rate  # all operations one after the other, without writing their results
    least_seconds: _Rate = 1e-4  # of an operation; smaller ones are merged
    # A core computes so slowly that copies would take only 1% to 2% of the work. So results are scaled: a copy of a
    # result of mean size takes this number of mean run times (on the target `bandwidth`: 6.3).
    copy_run_times: Annotated[float, Field(ge=0)] = 0.25
    least_headroom: Annotated[float, Field(ge=1)] = 1.5  # one device's seconds over max(critical path, total / 2)


class ExecutionSettings(Section):
    """Numbers of executed schedules, processes and repeats."""

    schedules: Positive = 10  # of each graph, method and seed: the best by proxy
    processes: Annotated[int, Field(ge=2)] = 3  # pairs of processes, one after the other; two at least for the control
    repeats: Positive = 5  # of each schedule in each pair, all schedules of a graph in shuffled sequence
    seed: int = 0  # of the sequences
    limit_seconds: _Rate = 60.0  # without progress; then the processes count as lost
