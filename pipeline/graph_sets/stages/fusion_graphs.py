"""Read the graphs of a set for fusion."""

from __future__ import annotations

from learned_schedulers.graphs.compilers.fusion_problem import fusion_problem
from learned_schedulers.graphs.compilers.optimum import choices, with_head_room
from learned_schedulers.graphs.compilers.rates import frozen_rates
from learned_schedulers.graphs.models.fusing.settings import FusionSet
from learned_schedulers.section import section
from pipeline.graph_sets.fusion_sets import fusion_graphs
from pipeline.lab.graph_table import write_graphs
from pipeline.lab.stages import options


def main(name: options.Name, settings: options.Settings, graphs: options.Out) -> None:
    """Write the graphs of a set, one row each."""
    rates, chosen = frozen_rates(), section(FusionSet, settings)
    members = fusion_graphs(chosen, lambda graph: len(choices(fusion_problem(graph, rates))))
    if chosen.head_room:
        members = with_head_room(members)
    if not members:
        raise ValueError(f"fusion_sets.{name}: no graph counts; change `operations`, `part_operations` or `networks`")
    write_graphs(graphs, members)
