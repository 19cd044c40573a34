"""Claims about growth, faults, clusters, and hours of random work."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, row_of


def claims() -> Iterator[Claim]:
    """The pipeline to DAGs and splits on 30 million blocks, and how its seconds of the processor grow."""
    memory = row_of("blocks_scale", set="blocks_30_million", metric="peak_memory_gb", seed="none")
    yield Claim("blocks_30_million_gigabytes", "<= 2.5", memory)
    growth = row_of("blocks_scale", set="all", metric="growth_exponent", seed="none")
    yield Claim("blocks_growth_exponent", "<= 1.05", growth)
    for metric, target in (("injected", ">= 300"), ("silent", "== 0")):
        yield Claim(f"faults_{metric}", target, row_of("faults", set="all", method="all", metric=metric))
    for metric, target in (("cases", ">= 1000"), ("differences", "== 0"), ("crashes", "== 0")):
        yield Claim(f"soak_{metric}", target, row_of("soak", set="all", metric=metric))
    yield Claim(
        "cluster_different_bytes", "== 0", row_of("cluster", set="all", method="slurm", metric="different_bytes")
    )
