"""Freeze the small graphs for which all plans of fusion are evaluated: `python -m benchmarks.frozen_fusions`, minutes.

Committed before any network is trained: the parts of the unseen families, by hash, and for each the cost of the best of
the compilers' rules and the cost of the best of all plans, whose difference is the head room of fusion.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from tqdm import tqdm

from pipeline.config.params import load
from pipeline.graphs.compilers.cost import seconds
from pipeline.graphs.compilers.frozen_parts import PARTS
from pipeline.graphs.compilers.fusion_problem import fusion_problem
from pipeline.graphs.compilers.optimum import choices, optimum
from pipeline.graphs.compilers.rates import frozen_rates
from pipeline.graphs.corpus.fusion_sets import fusion_graphs
from pipeline.graphs.models.fusing.fusing_search import DEFAULTS
from pipeline.tables import replacing

SET = "fusion_unseen_parts"


def frozen_parts() -> pd.DataFrame:
    """One row a part: graph_id, name, family, operations, choices, default and optimum in seconds."""
    rates, rows = frozen_rates(), []
    settings = load().fusion_sets[SET].model_copy(update={"head_room": False})
    for graph in tqdm(fusion_graphs(settings, lambda graph: len(choices(fusion_problem(graph, rates)))), desc="parts"):
        problem = fusion_problem(graph, rates)
        rows.append(
            {
                "graph_id": graph.graph_id,
                "name": graph.name,
                "family": graph.family,
                "operations": len(graph),
                "choices": len(choices(problem)),
                "default_seconds": min(seconds(problem, rule(problem)) for rule in DEFAULTS.values()),
                "optimum_seconds": seconds(problem, optimum(problem)),
            }
        )
    return pd.DataFrame(rows)


def main(output: Annotated[Path, typer.Option(help="Table to write.")] = PARTS) -> None:
    """Write the table."""
    parts = frozen_parts()
    with replacing(output) as temporary:
        parts.to_csv(temporary, index=False, float_format="%.9g")
    room = 1 - parts["optimum_seconds"] / parts["default_seconds"]
    print(f"{len(parts)} parts; head room above 0.01% on {int((room > 1e-4).sum())}, at most {room.max():.1%}")


if __name__ == "__main__":
    typer.run(main)
