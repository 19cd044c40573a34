"""Claims about dependencies and about reading machine code."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, row_of


def claims() -> Iterator[Claim]:
    """Dependencies that are tested by running the code, and the speed of ingestion."""
    ran = {"different": "== 0", "state_runs": ">= 1000000", "runnable_share": ">= 0.9", "sensitivity": ">= 0.95"}
    for metric, target in ran.items():
        row = row_of("dag_verification", set="all", dependencies="full", metric=metric)
        yield Claim(f"dag_verification_{metric}", target, row)
    ingested = {"wall_over_objdump": "<= 1.5", "peak_memory_gb": "<= 2", "program_over_allowed": "<= 1"}
    for metric, target in ingested.items():
        yield Claim(f"ingest_{metric}", target, row_of("ingest", metric=metric, seed="none"))
