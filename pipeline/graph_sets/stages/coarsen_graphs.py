"""Bring the graphs of a set into the form in which two cores of a machine can execute them."""

from __future__ import annotations

import sys

from learned_schedulers.graphs.run.executable import executable, problem
from learned_schedulers.graphs.run.settings import Coarsening
from learned_schedulers.section import section
from pipeline.lab.graph_table import read_graphs, write_graphs
from pipeline.lab.stages import options


def main(settings: options.Settings, graphs: options.Table, out: options.Out) -> None:
    """Merge small operations of every graph, and make products, sweeps and results of what is left.

    A graph stays only if two devices can win something: one device takes at least `least_headroom` times
    max(critical path, total / 2). Merging takes some of this away; the stage prints it for each graph.
    """
    chosen = section(Coarsening, settings)
    coarsened = []
    for original in read_graphs(graphs):
        executed = executable(original, chosen)
        merged = problem(executed)
        headroom = float(merged.seconds.sum()) / merged.bound
        stays = headroom >= chosen.least_headroom
        print(
            f"{original.name}, {original.variant}: {len(original)} operations are {len(executed)}; one device takes "
            f"{headroom:.2f} times the bound{'' if stays else ', too little: left out'}",
            file=sys.stderr,
        )
        coarsened += [executed] if stays else []
    if not coarsened:
        raise ValueError(f"{graphs}: two devices can win nothing in any graph; lower least_headroom")
    write_graphs(out, coarsened)
