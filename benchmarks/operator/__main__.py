"""Command line of the operator's benchmark."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

from pipeline.operator.tables import PEERS

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "2")  # before torch and numba are imported

import numpy as np
import pandas as pd
import typer

from benchmarks.operator.cases import Case, apart
from benchmarks.operator.dags import SEED, corpus_dags, random_dags
from benchmarks.operator.peers import NAMES
from benchmarks.publishing import publish
from pipeline.lab.places import path
from pipeline.operator import results as operator_results

DAGS = Path(path("dags", dependencies="full"))
BATCH = 256
SIZES = "5,10,20,40,64"
GROWTH, GROWTH_BATCH, GROWTH_PEERS = (16, 32, 64, 128, 256), 32, ("cyclic", "extrapolated", "nearest")


def main(
    output_folder: Annotated[
        Path,
        typer.Option(help="Where results.csv and peers.csv go; the report reads reports/published/operator_speed."),
    ],
    sizes: Annotated[str, typer.Option(help="Instructions of the blocks, separated by commas.")] = SIZES,
    peers: Annotated[str, typer.Option(help=f"Of {', '.join(NAMES)}.")] = ",".join(NAMES),
    growth: Annotated[bool, typer.Option(help="Also ours on random DAGs of 16 to 256 instructions.")] = True,
    batch: Annotated[int, typer.Option(min=1, help="Items of a batch.")] = BATCH,
    dags: Annotated[Path, typer.Option(help="Table dags of the corpus.")] = DAGS,
) -> None:
    """Time the projection onto the dependencies of real blocks, forward and backward, ours and its peers.

    Run it on a machine that does nothing else: about ten minutes on two cores. Every case (a peer at a
    size) has a process of its own, two threads, the same blocks and the same softmax proposals; the fastest of its
    repetitions counts. A peer too slow for the whole batch is measured on fewer items and scaled; one that fails
    has its reason in peers.csv. Which settings were tried for each peer stands in
    benchmarks/operator/peers.py.

    It needs the corpus (make reproduce) and, for the peers, the environment of benchmarks/operator/requirements.txt.
    """
    names = peers.split(",")
    if unknown := sorted(set(names) - set(NAMES)):
        sys.exit(f"error: --peers has {', '.join(unknown)}; there are {', '.join(NAMES)}")
    rows = []
    try:
        for n in map(int, sizes.split(",")):
            precedes = corpus_dags(dags, n, batch)
            rows += [shown(Case(name, "corpus", precedes)) for name in names]
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    if growth:
        for n in GROWTH:
            precedes = random_dags(GROWTH_BATCH, n, np.random.default_rng([SEED, n]))
            rows += [shown(Case(name, "random", precedes)) for name in GROWTH_PEERS if name in names]
    table = pd.DataFrame(rows, columns=PEERS.schema.names)
    frames = {"results": operator_results.speed_rows(table), "peers": table}
    publish(output_folder, frames, {"sizes": sizes, "peers": peers, "growth": growth, "batch": batch}, [dags])
    for peer, slope in operator_results.exponents(table[table["dags"] == "random"]).items():
        print(f"{peer}: seconds grow as n^{slope:.2f}")


def shown(case: Case) -> dict:
    """The case's row, printed as soon as it is there."""
    row = apart(case)
    print("  ".join(f"{value:.3g}" if isinstance(value, float) else str(value) for value in row.values()), flush=True)
    return row


if __name__ == "__main__":
    typer.run(main)
