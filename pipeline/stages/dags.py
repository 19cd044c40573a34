"""Dependency DAGs of the blocks of one length."""

from __future__ import annotations

import sys
from typing import Annotated

import pandas as pd
import typer
from tqdm import tqdm

from pipeline import tables
from pipeline.config import Dependencies
from pipeline.dag.dependencies import dependency_dag
from pipeline.dag.effects import block_effects
from pipeline.dag.topology import count_legal_orders
from pipeline.stages import options
from pipeline.stages.command import run


def main(
    dependencies: options.DependencyMode,
    n_instructions: Annotated[int, typer.Option(help="Length of the blocks wanted.")],
    blocks: options.Blocks,
    out: options.Out,
) -> None:
    """Build the dependency DAG of every block of N instructions.

    DEPENDENCIES is `full` (registers, flags, memory) or `paper` (without flags, as POCSNet).
    """
    mode: Dependencies = "paper" if dependencies == "paper" else "full"
    found = tables.read("blocks", blocks, ["block_id", "n_instructions", "masked_code"])
    found = found[found.n_instructions == n_instructions]
    if found.empty:
        raise ValueError(
            f"{blocks}: no block of {n_instructions} instructions; "
            "name more files under corpus.sources or change split.n_instructions"
        )
    rows = []
    columns = zip(found.block_id, found.masked_code, strict=True)
    for block_id, code in tqdm(columns, "DAGs", len(found), unit="block", file=sys.stderr):
        effects = block_effects(code)
        dag = dependency_dag(effects, mode)
        before, after, kinds = zip(*dag.edges, strict=True) if dag.edges else ((), (), ())
        latencies = [effect.latency for effect in effects]
        count = float(count_legal_orders(dag.predecessors()))
        rows.append((block_id, dag.n, before, after, [int(kind) for kind in kinds], latencies, count))
    tables.write(pd.DataFrame(rows, columns=tables.SCHEMAS["dags"].names), "dags", out)


if __name__ == "__main__":
    run(main)
