"""Made-up costs of growing corpora: the pipeline's rules at two sizes."""

from __future__ import annotations

import pandas as pd

from tests.report import made


def sizes() -> pd.DataFrame:
    """Table scale_sizes."""
    columns = ["blocks", "instructions", "shards", "partitions", "seconds", "processor_seconds", "peak_memory_gb"]
    rows = [(1_000_000, 7_000_000, 2, 2, 30.0, 20.0, 1.2), (30_000_000, 210_000_000, 12, 12, 700.0, 500.0, 1.8)]
    return pd.DataFrame(rows, columns=columns)


def rules() -> pd.DataFrame:
    """Table scale_rules."""
    columns = "blocks rule jobs seconds processor_seconds serial_seconds peak_memory_gb bytes_read bytes_written"
    rows = [
        (1_000_000, "ingest", 2, 9.0, 8.0, 0.0, 0.5, 60_000_000, 70_000_000),
        (30_000_000, "ingest", 12, 270.0, 240.0, 0.0, 0.6, 1_800_000_000, 2_100_000_000),
        (30_000_000, "deduplicate", 12, 60.0, 50.0, 0.0, 0.3, 2_100_000_000, 2_100_000_000),
        (30_000_000, "dags", 1, 150.0, 210.0, 36.0, 0.5, 2_100_000_000, 1_500_000_000),
    ]
    return pd.DataFrame(rows, columns=columns.split())


def of_blocks() -> pd.DataFrame:
    """Rows of table results of blocks_scale."""
    place = {"experiment": "blocks_scale", "seed": "none"}
    return made.results(
        [
            place | {"set": "blocks_30_million", "metric": "peak_memory_gb", "value": 1.8},
            place | {"set": "all", "metric": "growth_exponent", "value": 0.97},
        ]
    )
