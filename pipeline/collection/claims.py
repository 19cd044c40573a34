"""Claims about data collection."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, Row, row_of


def claims() -> Iterator[Claim]:
    """Many environments stepped at once, steps fused, on a CPU: faster at all?

    The papers' factors are of GPUs: they stand beside ours on the page, and are no targets here.
    """

    def speedup(set: str, method: str, baseline: str, metric: str = "speedup", **columns: str) -> Row:
        row = row_of("data_collection", set=set, method=method, metric=metric, comparison="ratio", baseline=baseline)
        return row | columns

    many = {"lengths": "4096", "iterations": "1"}
    vectorised = speedup("cartpole", "numba_blocks", "gymnasium", **many)
    yield Claim("collection_speedup_vectorised", "> 1", vectorised)
    fused = speedup("factorial", "jax_scan", "one_environment_one_step", "fused_when_vectorised")
    yield Claim("collection_speedup_fused", "> 1", fused)
    yield Claim("collection_calls_ratio", "> 1", speedup("calls", "jax", "jax_eager", **many))
    yield Claim("xla_best_strategy", "> 1", speedup("strategies", "best", "baseline"))
