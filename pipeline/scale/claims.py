"""Claims about growth, faults, clusters, and hours of random work."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, row_of


def claims() -> Iterator[Claim]:
    """The pipeline to DAGs and splits on 30 million blocks, and how its seconds of the processor grow."""
    memory = row_of("blocks_scale", set="blocks_30_million", metric="peak_memory_gb", seed="none")
    question = "How many gigabytes do 30 million blocks need?"
    yield Claim("blocks_30_million_gigabytes", "<= 2.5", memory).asked(question, "two")
    growth = row_of("blocks_scale", set="all", metric="growth_exponent", seed="none")
    question = "With which power of the blocks do the processor's seconds grow?"
    yield Claim("blocks_growth_exponent", "<= 1.05", growth).asked(question, "two")
    for metric, target, question in (
        ("injected", ">= 300", "How many faults were injected into runs of the pipeline?"),
        ("silent", "== 0", "How many of these runs ended well with other bytes?"),
    ):
        row = row_of("faults", set="all", method="all", metric=metric)
        yield Claim(f"faults_{metric}", target, row).asked(question, "count")
    for metric, target, question in (
        ("cases", ">= 1000", "How many cases of random work did the console command get?"),
        ("differences", "== 0", "How many of its answers were wrong in silence?"),
        ("crashes", "== 0", "How many cases ended by a crash, or by no documented exit code?"),
    ):
        yield Claim(f"soak_{metric}", target, row_of("soak", set="all", metric=metric)).asked(question, "count")
    differ = row_of("cluster", set="all", method="slurm", metric="different_bytes")
    question = "How many files differ between a run on Slurm, two nodes on one machine, and one without?"
    yield Claim("cluster_different_bytes", "== 0", differ).asked(question, "count")
