"""Tables of this chapter: models that are refused, with the reasons, searches, and times of pipelines."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lab.table import Table

# Models that `graph` refuses, and those that their runtime does not run (frozen).
REFUSALS = Table(
    "refusals",
    pa.schema(
        [
            ("model", pa.string()),
            ("set", pa.string()),  # files | modules
            ("by", pa.string()),  # graph | runtime: who refuses the model
            ("message", pa.string()),  # of the command with its remedy, or of the runtime
        ]
    ),
)

# Seconds of a step of a pipeline in two stages, by the layer that the second one begins with (benchmarks/pipelines.py).
PIPELINE_TIMES = Table(
    "pipeline_times",
    pa.schema(
        [
            ("network", pa.string()),
            ("step", pa.string()),  # training | inference
            ("place", pa.string()),  # the layer; empty: the whole network on one core
            ("ways", pa.string()),  # planned | equal_layers | equal_weights: those that choose this layer
            ("expected", pa.float64()),
            *((name, pa.float64()) for name in ("measured", "low", "high")),  # median and quartiles of the rounds
        ]
    ),
)

# One row per search of a graph with a seed (benchmarks/graph_search.py).
GRAPH_SEARCHES = Table(
    "graph_searches",
    pa.schema(
        [
            *((name, pa.string()) for name in ("set", "graph", "family")),
            ("starts", pa.string()),  # heuristics, or a network, whose schedule is among the starts
            ("operations", pa.int64()),
            ("moves", pa.float64()),  # times the default number
            ("seed", pa.int64()),
            *((name, pa.float64()) for name in ("took", "bound", "heuristic", "makespan")),  # seconds
            *((name, pa.float64()) for name in ("gap", "heuristic_gap")),  # above the best known
            ("spread", pa.float64()),  # of the seeds' makespans: standard deviation, as a share
        ]
    ),
)
