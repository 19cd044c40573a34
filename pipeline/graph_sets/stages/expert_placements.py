"""Place the graphs of a set as human experts do, where no expert placement is frozen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from learned_schedulers.graphs.read.roofline import problem_of
from pipeline.graph_sets.placed import EXPERTS, expert_placement
from pipeline.graph_sets.tables import EXPERT_PLACEMENTS
from pipeline.lab import tables
from pipeline.lab.graph_table import read_graphs
from pipeline.lab.stages import options


def main(
    devices: Annotated[int, typer.Option(min=1, help="How many devices there are.")],
    graphs: options.Table,
    expert_placements: Annotated[Path, typer.Option(help="Table to write.")],
) -> None:
    """Write every expert's placement of every graph that brings its run times along; an expert may have none."""
    rows = []
    for graph in read_graphs(graphs):
        seconds = problem_of(graph, devices).seconds
        for expert in EXPERTS:
            placement = expert_placement(graph, seconds, devices, expert)
            if placement is not None:
                row = {"graph_id": graph.graph_id, "devices": devices, "expert": expert, "placement": placement}
                rows.append(row)
    names = EXPERT_PLACEMENTS.schema.names
    tables.write(pd.DataFrame(rows, columns=names), EXPERT_PLACEMENTS, expert_placements)
