"""Tables of this chapter: columns, types and units. Each is published beside the results (benchmarks/tuning.py)."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lab.table import Table

_PROGRAM = ("program", pa.string())  # benchmarks/tuning_programs.yaml

# One row per run of a way's build, at the same time as one of GCC's on the same processor.
TUNING_RUNS = Table(
    "tuning_runs",
    pa.schema(
        [
            _PROGRAM,
            ("process", pa.string()),  # date and time of the call of the benchmark
            ("round", pa.int64()),
            ("way", pa.string()),
            ("time", pa.float64()),  # per work done: seconds, or one over the geometric mean of the program's rates
            ("time_of_gcc", pa.float64()),
        ]
    ),
)

# One row per build.
TUNING_NOTES = Table(
    "tuning_notes",
    pa.schema(
        [
            _PROGRAM,
            ("way", pa.string()),
            ("seconds", pa.int64()),  # that `tune` took
            ("tests_failed", pa.bool_()),  # of versions that it left out for that
            ("result", pa.string()),  # as `tune` said it
        ]
    ),
)

# One row per hot function whose random orders the judge saw twice.
TUNING_JUDGE = Table(
    "tuning_judge",
    pa.schema(
        [
            _PROGRAM,
            ("function", pa.string()),
            ("instructions", pa.int64()),  # of LLVM, before registers are allocated
            ("share", pa.float64()),  # of the benchmark's time
            ("orders", pa.int64()),
            ("rank_correlation", pa.float64()),  # Spearman's, between the two runs
            ("spread", pa.float64()),  # of the orders' times, a standard deviation: both runs' mean, as a share
            ("noise", pa.float64()),  # of the same, by how the two runs differ
            ("candidates_per_minute", pa.float64()),  # compiled and judged
        ]
    ),
)

# One row per program whose tests ran with random legal orders everywhere.
TUNING_STRESS = Table(
    "tuning_stress",
    pa.schema([_PROGRAM, *((name, pa.int64()) for name in ("files", "functions", "blocks")), ("failed", pa.bool_())]),
)

# One row per search of the hottest function.
TUNING_LEARNING = Table(
    "tuning_learning",
    pa.schema(
        [
            _PROGRAM,
            ("way", pa.string()),  # learned | unlearned | random
            ("seed", pa.int64()),
            ("seconds", pa.float64()),
            ("function", pa.string()),
            ("ratio", pa.float64()),  # of LLVM's time, by the best order
            ("judged", pa.int64()),  # versions
        ]
    ),
)
