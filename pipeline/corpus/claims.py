"""Claims about dependencies and about reading machine code."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, row_of

_RAN = (  # metric, target, question, how it is printed
    ("different", "== 0", "How many runs of orders that the dependencies allow end in another state?", "count"),
    ("state_runs", ">= 1000000", "How many runs were there?", "count"),
    ("runnable_share", ">= 0.9", "What share of blocks could be run?", "percent"),
    ("sensitivity", ">= 0.95", "Of the forbidden swaps that can show: what share was detected?", "hundredths"),
)
_INGESTED = (
    ("wall_over_objdump", "<= 1.5", "How long does ingestion take, relative to objdump?", "percent"),
    ("peak_memory_gb", "<= 2", "How many GB does it need?", "two"),
    ("program_over_allowed", "<= 1", "The slowest single program, relative to the time allowed?", "percent"),
)


def claims() -> Iterator[Claim]:
    """Dependencies that are tested by running the code, and the speed of ingestion."""
    for metric, target, question, write in _RAN:
        row = row_of("dag_verification", set="all", dependencies="full", metric=metric)
        yield Claim(f"dag_verification_{metric}", target, row).asked(question, write)
    for metric, target, question, write in _INGESTED:
        row = row_of("ingest", metric=metric, seed="none")
        yield Claim(f"ingest_{metric}", target, row).asked(question, write)
