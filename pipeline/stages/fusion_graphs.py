"""Read the graphs of a set that is to be fused."""

from __future__ import annotations

from pipeline.config.fusion import FusionSet
from pipeline.config.section import section
from pipeline.graphs.compilers.frozen_parts import with_head_room
from pipeline.graphs.compilers.fusion_problem import fusion_problem
from pipeline.graphs.compilers.optimum import choices
from pipeline.graphs.compilers.rates import frozen_rates
from pipeline.graphs.corpus.fusion_sets import fusion_graphs
from pipeline.graphs.corpus.graph_table import write_graphs
from pipeline.stages import options


def main(name: options.Name, settings: options.Settings, graphs: options.Out) -> None:
    """Write the graphs of a set, one row each."""
    rates, asked = frozen_rates(), section(FusionSet, settings)
    chosen = fusion_graphs(asked, lambda graph: len(choices(fusion_problem(graph, rates))))
    if asked.head_room:
        chosen = with_head_room(chosen)
    if not chosen:
        raise ValueError(f"fusion_sets.{name}: no graph counts; change `operations`, `part_operations` or `networks`")
    write_graphs(graphs, chosen)
