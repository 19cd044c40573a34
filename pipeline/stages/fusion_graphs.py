"""Read the graphs of a set for fusion."""

from __future__ import annotations

from pipeline.config.fusion import FusionSet
from pipeline.config.section import section
from pipeline.graphs.compilers.fusion_problem import fusion_problem
from pipeline.graphs.compilers.optimum import choices, with_head_room
from pipeline.graphs.compilers.rates import frozen_rates
from pipeline.graphs.corpus.fusion_sets import fusion_graphs
from pipeline.graphs.corpus.graph_table import write_graphs
from pipeline.stages import options


def main(name: options.Name, settings: options.Settings, graphs: options.Out) -> None:
    """Write the graphs of a set, one row each."""
    rates, chosen = frozen_rates(), section(FusionSet, settings)
    members = fusion_graphs(chosen, lambda graph: len(choices(fusion_problem(graph, rates))))
    if chosen.head_room:
        members = with_head_room(members)
    if not members:
        raise ValueError(f"fusion_sets.{name}: no graph counts; change `operations`, `part_operations` or `networks`")
    write_graphs(graphs, members)
