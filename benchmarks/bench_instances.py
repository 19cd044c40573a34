"""The frozen instances of the library's benchmark, copied from the pipeline's sets of graphs.

    snakemake data/graphs/sets/{unseen_real,...}.parquet && python -m benchmarks.bench_instances

Numbers that others have handed in are of these instances: a set that has to change gets a new name.
"""

from __future__ import annotations

from pathlib import Path

from learned_schedulers.bench.frozen_files import FOLDER, write_digests
from learned_schedulers.bench.graphs import SETS
from learned_schedulers.files import replacing
from pipeline.graph_sets.tables import GRAPHS
from pipeline.lab import places, tables


def main() -> None:
    """Copy the sets, and write the SHA-256 of every copy."""
    for frozen in SETS:
        path = Path(places.path(GRAPHS.name, graph_set=frozen.name))
        tables.read(GRAPHS, path)
        with replacing(FOLDER / frozen.file) as temporary:
            temporary.write_bytes(path.read_bytes())
    write_digests()


if __name__ == "__main__":
    main()
