"""Bring the graphs of a set into the form in which two cores of a machine can execute them."""

from __future__ import annotations

import sys

from pipeline.config.execution import Coarsening
from pipeline.config.section import section
from pipeline.graphs.corpus.graph_table import read_graphs, write_graphs
from pipeline.graphs.execution.executable import executable, problem
from pipeline.stages import options


def main(settings: options.Settings, graphs: options.Table, out: options.Out) -> None:
    """Merge small operations of every graph, and make products, sweeps and results of what is left.

    Only graphs in which two devices have something to win stay: one takes at least `least_headroom` times
    max(critical path, total / 2). Merging takes some of it away, which is said for each graph.
    """
    wanted = section(Coarsening, settings)
    kept = []
    for original in read_graphs(graphs):
        executed = executable(original, wanted)
        of = problem(executed)
        headroom = float(of.seconds.sum()) / of.bound
        stays = headroom >= wanted.least_headroom
        print(
            f"{original.name}, {original.variant}: {len(original)} operations are {len(executed)}; one device takes "
            f"{headroom:.2f} times the bound{'' if stays else ', too little: left out'}",
            file=sys.stderr,
        )
        kept += [executed] if stays else []
    if not kept:
        raise ValueError(f"{graphs}: in no graph two devices have anything to win; lower least_headroom")
    write_graphs(out, kept)
