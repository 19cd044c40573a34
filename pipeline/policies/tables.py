"""Tables of this chapter: columns, types and units."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lab.table import Table

# One row per (graph, method, seed, rule of keeping): distances of the kept schedules by their start times.
SCHEDULE_DISTANCES = Table(
    "schedule_distances",
    pa.schema(
        [
            ("graph_id", pa.string()),
            ("method", pa.string()),
            ("seed", pa.int32()),
            ("kept_by", pa.string()),  # best | spread
            ("start_distance", pa.float64()),  # mean run times; on the proxy
            ("placed_start_distance", pa.float64()),  # the same, with devices
        ]
    ),
    "data/experiments/{experiment}/distances/{graph_set}.parquet",
)

# One row per (graph, sigma, schedule): its probability by a policy, and its target probability.
SCHEDULE_PROBABILITIES = Table(
    "schedule_probabilities",
    pa.schema(
        [
            ("graph", pa.string()),
            ("sigma", pa.float64()),  # temperature of the reward, in speedups
            ("makespan", pa.float64()),  # seconds
            ("target", pa.float64()),  # R / Z
            ("probability", pa.float64()),
        ]
    ),
)

# One row per setting of the test bed: speedups of list scheduling and of BRKGA on each target (frozen).
TEST_BED = Table(
    "test_bed",
    pa.schema(
        [
            *((name, pa.string()) for name in ("ties", "decoder")),  # of list scheduling, and of BRKGA's keys
            ("population", pa.int64()),
            ("keeps", pa.string()),  # best: of all; last: of the last population
            ("busy", pa.string()),  # during a transfer: none | sender | receiver | both | link, one of all devices
            ("each_child", pa.bool_()),
            ("sizes", pa.string()),  # what transfers of `bandwidth` are in proportion to
            *(
                (f"{name}_{target}", pa.float64())
                for target in ("proxy", "bandwidth", "latency")
                for name in ("list", "brkga", "strength")
            ),
            ("difference", pa.float64()),  # sum over the targets of |log(BRKGA's over list's) - log(the paper's)|
        ]
    ),
)
