"""Read the whole graphs of a set for placement."""

from __future__ import annotations

from learned_schedulers.section import section
from pipeline.graph_sets.placed import chosen
from pipeline.graph_sets.settings import PlacedSet
from pipeline.lab.graph_table import write_graphs
from pipeline.lab.stages import options


def main(name: options.Name, settings: options.Settings, graphs: options.Out) -> None:
    """Write the graphs of a set, one row each."""
    members = chosen(section(PlacedSet, settings))
    if not members:
        raise ValueError(f"placement_sets.{name}: no graph has so many operations; change `operations` or `networks`")
    write_graphs(graphs, members)
