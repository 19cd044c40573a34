"""Choose the computation graphs of a set, and record every candidate with the reason if it does not count."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from learned_schedulers.graphs.devices import worth
from learned_schedulers.graphs.devices.settings import Device
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.section import section
from pipeline.graph_sets.sets import Candidate, candidates
from pipeline.graph_sets.settings import GraphSet
from pipeline.graph_sets.tables import GRAPH_CANDIDATES
from pipeline.lab import tables
from pipeline.lab.graph_table import write_graphs
from pipeline.lab.stages import options


def main(
    name: options.Name,
    settings: options.Settings,
    graphs: options.Out,
    looked_at: Annotated[Path, typer.Option(help="Table graph_candidates to write.")],
    device: options.SetDevice = "null",
) -> None:
    """Write the graphs that count, one row each, and all candidates.

    A problem counts if a schedule can win something: one device takes at least 1.5 times the larger of the critical
    path and an equal share of the work, or it has not enough memory.
    """
    chosen, kind = section(GraphSet, settings), section(Device | None, device)  # type: ignore[arg-type]
    examined = candidates(chosen, lambda graph: worth.refusal_of(_problem(graph, chosen, kind)))
    counted = [candidate.graph for candidate in examined if not candidate.refused]
    if not counted:
        raise ValueError(f"graph_sets.{name}: none of {len(examined)} graphs counts; choose others")
    rows = [_row(candidate, chosen, kind) for candidate in examined]
    tables.write_rows(rows, GRAPH_CANDIDATES, looked_at)
    write_graphs(graphs, counted)
    print(f"{name}: {len(counted)} of {len(examined)} graphs count", file=sys.stderr)


def _problem(graph: Graph, settings: GraphSet, device: Device | None) -> Problem:
    return problem_of(graph, settings.devices, device, settings.memory_bytes)


def _row(candidate: Candidate, settings: GraphSet, device: Device | None) -> dict[str, object]:
    graph, problem = candidate.graph, _problem(candidate.graph, settings, device)
    return {
        "graph_id": graph.graph_id,
        "name": graph.name,
        "family": graph.family,
        "variant": graph.variant,
        "extent": candidate.extent,
        "operations": len(graph),
        "edges": len(graph.children.targets),
        "headroom": worth.headroom(problem),
        "fits_one_device": worth.fits_one_device(problem),
        "counts": not candidate.refused,
        "refused": candidate.refused,
    }
