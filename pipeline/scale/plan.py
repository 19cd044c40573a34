"""What larger corpora would take: costs that were measured, multiplied. Nothing here was run at these sizes.

Blocks: every rule of the largest measured corpus (table scale_rules) grows in proportion to the blocks. What one thread
has to do stays so however many nodes there are; the rest is shared by the cores of the nodes that may take part: of all
nodes where a rule has many jobs, of one node where it has a single one. Waiting for disks and for the network is not in
the seconds of the processor.
"""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from learned_schedulers.graphs.models.whole_graph.settings import WholeGraph

BLOCKS, GRAPHS = 10**9, 10**6
CORES = 64  # of a node
NODES = (1, 4, 16)
EVALUATIONS = 2000  # of a graph's search; the budget of the experiments on placement
SNAKEMAKE = "snakemake"
_HOUR = 3600


class Work(NamedTuple):
    """What a rule takes on a number of blocks."""

    rule: str
    jobs: int
    processor_hours: float
    serial_hours: float  # of them, in one thread
    bytes_read: float
    bytes_written: float
    gigabytes_of_memory: float  # of a job


def of_blocks(rules: pd.DataFrame, sizes: pd.DataFrame, blocks: int = BLOCKS) -> list[Work]:
    """The rules' work on `blocks` blocks, in their order, then that of Snakemake itself.

    rules: table scale_rules, sizes: table scale_sizes; the largest corpus counts. Jobs of a rule with many grow with
    the blocks, so that each has as much memory as it was measured to need.
    """
    if rules.empty:
        return []
    largest = rules["blocks"].max()
    times = blocks / largest
    everything = sizes.loc[sizes["blocks"] == largest, "processor_seconds"].sum()
    between_jobs = everything - rules.loc[rules["blocks"] == largest, "processor_seconds"].sum()
    work = [
        Work(
            rule["rule"],
            1 if rule["jobs"] == 1 else round(rule["jobs"] * times),
            rule["processor_seconds"] * times / _HOUR,
            rule["serial_seconds"] * times / _HOUR,
            rule["bytes_read"] * times,
            rule["bytes_written"] * times,
            rule["peak_memory_gb"],
        )
        for rule in rules[rules["blocks"] == largest].to_dict("records")
    ]
    hours_between = between_jobs * times / _HOUR  # among them those to check the digests of what jobs read
    return [*work, Work(SNAKEMAKE, 1, hours_between, hours_between, 0, 0, 0)]


def hours(work: Work, nodes: int, cores: int = CORES) -> float:
    """Hours of a rule on nodes of so many cores each."""
    taking_part = cores if work.jobs == 1 else min(nodes * cores, work.jobs)
    return work.serial_hours + (work.processor_hours - work.serial_hours) / taking_part


class GraphWork(NamedTuple):
    """What graphs of one size take."""

    operations: int
    core_seconds: float  # of a graph's search
    core_hours: float  # of all graphs
    node_gigabytes: float  # of memory, with a search on each core
    bytes_stored: float  # of all graphs; NaN if not measured


def of_graphs(costs: pd.DataFrame, stored: pd.DataFrame, graphs: int = GRAPHS) -> list[GraphWork]:
    """GO's search on `graphs` graphs, a row for each measured size.

    costs: rows of results of whole_graph_scale; an update of the network evaluates `samples` schedules. stored: rows of
    graphs_stored, bytes of a graph by its operations.
    """
    updates = EVALUATIONS / WholeGraph().samples
    by_size = costs[costs["metric"].isin(["update_seconds", "update_gigabytes"])].pivot_table(
        index="lengths", columns="metric", values="value"
    )
    bytes_of = stored[stored["metric"] == "graph_bytes"].set_index("lengths")["value"]
    work = []
    for operations in sorted(by_size.index, key=int):
        seconds = by_size.loc[operations, "update_seconds"] * updates
        work.append(
            GraphWork(
                int(operations),
                seconds,
                seconds * graphs / _HOUR,
                by_size.loc[operations, "update_gigabytes"] * CORES,
                bytes_of.get(operations, float("nan")) * graphs,
            )
        )
    return work
