"""The frozen instances of the library's benchmark, copied from the pipeline's sets of graphs.

    snakemake data/graphs/sets/{unseen_real,...}.parquet && python -m benchmarks.bench_instances

Numbers that others have handed in are of these instances: a set that has to change gets a new name.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from learned_schedulers.bench.instances import DIGESTS, FOLDER, SETS
from learned_schedulers.files import replacing
from pipeline.graph_sets.tables import GRAPHS
from pipeline.lab import places, tables


def main() -> None:
    """Copy the sets, and write the SHA-256 of every copy."""
    lines = []
    for name in sorted(SETS):
        path = Path(places.path(GRAPHS.name, graph_set=name))
        tables.read(GRAPHS, path)
        with replacing(FOLDER / path.name) as temporary:
            temporary.write_bytes(path.read_bytes())
        lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")
    with replacing(DIGESTS) as temporary:
        temporary.write_text("".join(lines))


if __name__ == "__main__":
    main()
