"""Tables that several chapters write or read: columns, types and units."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lab.table import Table

# One row per claim: its target, its measured value, and whether it holds (reports/claims.csv).
CLAIMS = Table(
    "claims",
    pa.schema(
        [
            ("claim", pa.string()),
            ("target", pa.string()),  # such as `>= 0.2`; shares and gains as fractions
            ("value", pa.float64()),  # NaN if it was not measured
            ("low", pa.float64()),  # of the interval; NaN without one
            ("high", pa.float64()),
            ("holds", pa.string()),  # yes | no | uncertain: the interval spans the target | out of reach | not measured
            ("source", pa.string()),  # experiment, table, and the columns that identify the row
            ("state", pa.string()),  # of the numbers: current | changed | measured (a time) | frozen; - if not measured
        ]
    ),
)

# An imitator's confidence in its own orders: one row per block.
CONFIDENCE = Table(
    "confidence",
    pa.schema(
        [
            ("block_id", pa.string()),
            ("confidence", pa.float64()),  # probability that the network gives to the order of its first decoder
            ("exact_match", pa.float64()),  # 1 if that order is GCC's
        ]
    ),
    "data/experiments/{experiment}/confidence/{set}/{target}/{method}/{seed}.parquet",
)

# One row per (example graph, method, operation): time and device of an operation in the method's best schedule.
GANTTS = Table(
    "gantts",
    pa.schema(
        [
            ("rank", pa.int32()),  # of the example graph
            ("graph", pa.string()),
            ("method", pa.string()),
            ("place", pa.int32()),  # of the method, from left to right
            ("operation", pa.int32()),
            ("kind", pa.string()),
            ("device", pa.int32()),
            ("begin", pa.float64()),  # seconds, without transfers
            ("end", pa.float64()),
            ("bound", pa.float64()),  # seconds; no schedule ends earlier
        ]
    ),
    "data/experiments/{experiment}/gantts.parquet",
)

# One row per (graph, target that the method sees, rule of keeping): the schedules of a method that are judged.
GRAPH_SCHEDULES = Table(
    "graph_schedules",
    pa.schema(
        [
            ("graph_id", pa.string()),
            ("sees", pa.string()),  # proxy, or the target that the method was told
            ("kept_by", pa.string()),  # best | spread: learned_schedulers/graphs/methods/rules/keeping.py
            ("status", pa.string()),  # ok | timed out | unsupported
            ("message", pa.string()),
            ("operations", pa.int32()),  # n
            ("orders", pa.list_(pa.int32())),  # K x n, one schedule after the other, best first: operation in each slot
            ("placements", pa.list_(pa.int16())),  # K x n: device of each operation
            ("seen_seconds", pa.list_(pa.float64())),  # (K,) on the target that the method sees
            ("evaluations", pa.list_(pa.int64())),  # (C,) the anytime curve: numbers of evaluated schedules ...
            (
                "best_seconds",
                pa.list_(pa.float64()),
            ),  # ... and the least cost by then, on the target that the method sees
            ("bound", pa.float64()),  # no schedule takes less on the proxy, by the method's own proof; NaN without one
        ]
    ),
    "data/experiments/{experiment}/graph_schedules/{graph_set}/{method}/{seed}.parquet",
)

# Ingestion of growing numbers of files (benchmarks/ingest.py): one row per share of the corpus.
GROWTH = Table(
    "growth",
    pa.schema(
        [
            ("share_of_corpus", pa.float64()),  # of its bytes, smallest files first
            ("instructions", pa.int64()),  # of all blocks, repeated ones included
            ("seconds", pa.float64()),
            ("peak_memory_gb", pa.float64()),
        ]
    ),
)

# One row per (step, split) at which a training was measured.
HISTORY = Table(
    "history",
    pa.schema(
        [
            ("step", pa.int32()),
            ("split", pa.string()),
            ("loss", pa.float64()),  # mean cross-entropy per instruction, nats
            ("exact_match", pa.float64()),  # after Hungarian decoding
            ("valid_share", pa.float64()),
            ("learning_rate", pa.float64()),
        ]
    ),
    "data/experiments/{experiment}/models/{dependencies}/{model}/{seed}/history.parquet",
)

# One row per (method, target, kept schedule) of one example graph: its speedup on the proxy and on the target.
KEPT_POINTS = Table(
    "kept_points",
    pa.schema(
        [
            ("graph", pa.string()),
            ("method", pa.string()),
            ("kept_by", pa.string()),  # best | spread
            ("target", pa.string()),
            ("proxy_speedup", pa.float64()),
            ("speedup", pa.float64()),
        ]
    ),
    "data/experiments/{experiment}/kept_points.parquet",
)

# One row per (block, legal order, judge).
LATENCY = Table(
    "latency",
    pa.schema(
        [
            ("block_id", pa.string()),
            ("order", pa.list_(pa.int16())),
            ("machine", pa.string()),  # name of the judge
            ("cycles", pa.float64()),  # per iteration; NaN if the model does not know an instruction
            ("status", pa.string()),  # ok | unsupported
            ("message", pa.string()),
        ]
    ),
    "data/experiments/{experiment}/judged/{set}/{judge}.parquet",
)

# One row per (graph, target, method, seed, rule of keeping): makespans of a method's schedules on a target.
MAKESPANS = Table(
    "makespans",
    pa.schema(
        [
            ("graph_id", pa.string()),
            ("target", pa.string()),  # proxy | noisy | bandwidth | latency | a link
            ("method", pa.string()),
            ("seed", pa.int32()),
            ("kept_by", pa.string()),  # best | spread
            ("status", pa.string()),  # ok | timed out | unsupported | no schedule fits
            ("message", pa.string()),
            (
                "seconds",
                pa.list_(pa.float64()),
            ),  # (K,) on the target, by the simulator, in the sequence of graph_schedules
            ("proxy_seconds", pa.list_(pa.float64())),  # (K,) without transfers
            ("diversity", pa.float64()),  # of the K schedules: graphs/devices/distances.py
            ("evaluations", pa.list_(pa.int64())),  # the anytime curve, on the target that the method sees
            ("best_seconds", pa.list_(pa.float64())),
            ("work", pa.float64()),  # seconds of all operations on the target, the mean over its draws
            ("exact", pa.bool_()),  # the method gives bounds
            (
                "proven",
                pa.bool_(),
            ),  # the method has proven that no schedule is shorter on the proxy, up to its rounding
            ("bound", pa.float64()),  # no schedule takes less on the target: critical path, balance, a proof of CP-SAT
        ]
    ),
    "data/experiments/{experiment}/makespans/{graph_set}.parquet",
)

# One row per (example graph, method, device, change): bytes in a device's memory from that second on.
MEMORY_CURVES = Table(
    "memory_curves",
    pa.schema(
        [
            ("rank", pa.int32()),  # of the example graph
            ("graph", pa.string()),
            ("method", pa.string()),
            ("place", pa.int32()),  # of the method, from left to right
            ("device", pa.int32()),
            ("seconds", pa.float64()),
            ("bytes", pa.float64()),  # weights and results
        ]
    ),
    "data/experiments/{experiment}/memory_curves.parquet",
)

# One row per (set, outcome): numbers of blocks that were timed on hardware, and reasons for the others, frozen.
OUTCOMES = Table(
    "outcomes",
    pa.schema(
        [
            ("set", pa.string()),
            ("outcome", pa.string()),  # timed, or the reason
            ("blocks", pa.int64()),
            ("example", pa.string()),  # the instruction that is the reason, in the first such block
            ("processor", pa.string()),
        ]
    ),
)

# Numbers of parts of a set: one row per (method, decoder, seed, metric, part).
PARTS = Table(
    "parts",
    pa.schema(
        [
            ("experiment", pa.string()),
            ("set", pa.string()),
            ("target", pa.string()),  # these columns are as in table `results`
            ("method", pa.string()),
            ("decoder", pa.string()),
            ("seed", pa.string()),
            ("metric", pa.string()),
            ("comparison", pa.string()),
            ("baseline", pa.string()),
            ("judge", pa.string()),
            ("by", pa.string()),  # length | legal_orders | instruction_class | confidence
            ("part", pa.string()),
            ("rank", pa.int32()),  # of the part among its kind
            ("value", pa.float64()),
            ("low", pa.float64()),
            ("high", pa.float64()),
            ("confidence", pa.float64()),  # mean; NaN if unknown
            ("n", pa.int64()),  # blocks
        ]
    ),
    "data/experiments/{experiment}/parts.parquet",
)

# One row per (graph, link): the best schedule of a method on that link, and its anytime curve.
PLACEMENTS = Table(
    "placements",
    pa.schema(
        [
            ("graph_id", pa.string()),
            ("link", pa.string()),  # between any two devices: section `links`
            ("status", pa.string()),  # ok | timed out | unsupported | no schedule fits
            ("message", pa.string()),
            ("order", pa.list_(pa.int32())),  # (n,) operation in each slot; empty without a schedule
            ("placement", pa.list_(pa.int16())),  # (n,) device of each operation
            ("evaluations", pa.list_(pa.int64())),  # (C,) the anytime curve: numbers of simulated schedules ...
            ("best_seconds", pa.list_(pa.float64())),  # ... and the least cost by then, as the method computes it
        ]
    ),
    "data/experiments/{experiment}/placements/{graph_set}/{method}/{seed}.parquet",
)

# One row per (step, split) at which the training of a policy that builds schedules was measured.
POLICY_HISTORY = Table(
    "policy_history",
    pa.schema(
        [
            ("step", pa.int32()),
            ("split", pa.string()),
            ("loss", pa.float64()),  # of the objective; on development graphs at the lowest sigma
            ("gradient", pa.float64()),  # norm before clipping; not on development graphs
            (
                "mean",
                pa.float64(),
            ),  # speedup of a step's schedules; on development graphs as a share of the bound's
            ("best", pa.float64()),  # the same of the best schedule; only on development graphs
            ("learning_rate", pa.float64()),
        ]
    ),
    "data/experiments/{experiment}/networks/{model}/{seed}/policy_history.parquet",
)

# Trainings of policies in published form: table policy_history of every model and seed of an experiment.
POLICY_TRAININGS = Table(
    "policy_trainings",
    pa.schema([("experiment", pa.string()), ("model", pa.string()), ("seed", pa.string()), *POLICY_HISTORY.schema]),
)

# Every number: one row each. A column that does not apply is `none`; reports/results.csv has the same columns.
RESULTS = Table(
    "results",
    pa.schema(
        [
            ("experiment", pa.string()),
            ("set", pa.string()),  # of blocks, of params.yaml; all: of the whole corpus
            ("dependencies", pa.string()),  # full | conservative | paper
            ("target", pa.string()),  # of the orders: gcc, or a processor
            ("method", pa.string()),
            ("decoder", pa.string()),
            ("seed", pa.string()),  # all: over the seeds
            ("metric", pa.string()),
            ("comparison", pa.string()),  # value | difference | ratio: to the baseline, paired by block and seed
            ("baseline", pa.string()),  # a method, gcc, or best: the best order of all methods
            ("judge", pa.string()),  # of the cost: a processor model, hardware
            ("lengths", pa.string()),  # instructions of the blocks that count: all, 5, 2-20
            ("iterations", pa.string()),  # of an operator
            ("unit", pa.string()),  # share | cycles | ratio | seconds ...
            ("value", pa.float64()),
            ("low", pa.float64()),  # of the interval
            ("high", pa.float64()),
            ("interval_of", pa.string()),  # resampled or repeated units: blocks | blocks and seeds | rounds | runs
            ("n", pa.int64()),  # blocks, or repetitions, behind the value
        ]
    ),
    "data/experiments/{experiment}/results.parquet",
)
KEY = RESULTS.schema.names[: RESULTS.schema.names.index("value")]  # identifies a number

# One row per (block, decoder).
SCHEDULES = Table(
    "schedules",
    pa.schema(
        [
            ("block_id", pa.string()),
            ("decoder", pa.string()),  # hungarian | topological | expected_slots | best | none
            (
                "order",
                pa.list_(pa.int16()),
            ),  # order[t]: GCC's index of the instruction in slot t; GCC's order is 0..n-1
            ("status", pa.string()),  # ok | violates | timed out | unsupported
            ("message", pa.string()),
        ]
    ),
    "data/experiments/{experiment}/schedules/{set}/{target}/{method}/{seed}.parquet",
)

# One row per (update, split) at which the training of a network for whole graphs was measured.
WHOLE_GRAPH_HISTORY = Table(
    "whole_graph_history",
    pa.schema(
        [
            ("update", pa.int32()),
            ("split", pa.string()),  # training | development
            # training: decrease of the loss by a round, as a share, mean since the last row (the published policy:
            # minus the mean reward); development: seconds of the best schedule after 200 evaluations without learning,
            # over those of one device, a geometric mean
            ("value", pa.float64()),
        ]
    ),
    "data/experiments/{experiment}/networks/{model}/{seed}/whole_graph_history.parquet",
)

# Trainings of networks for whole graphs in published form: every model and seed of an experiment.
WHOLE_GRAPH_TRAININGS = Table(
    "whole_graph_trainings",
    pa.schema([*((name, pa.string()) for name in ("experiment", "model", "seed")), *WHOLE_GRAPH_HISTORY.schema]),
)
