"""Claims about data collection."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, Row, row_of


def claims() -> Iterator[Claim]:
    """Many environments stepped at once, steps fused: numbers of papers on simulators and on XLA's fusion."""

    def speedup(set: str, method: str, baseline: str, metric: str = "speedup", **columns: str) -> Row:
        row = row_of("data_collection", set=set, method=method, metric=metric, comparison="ratio", baseline=baseline)
        return row | columns

    many = {"lengths": "4096", "iterations": "1"}
    vectorised = speedup("cartpole", "numba_blocks", "gymnasium", **many)
    yield Claim("collection_speedup_vectorised", ">= 1024", vectorised)
    for name, metric, target in (
        ("speedup_fused", "fused_when_vectorised", ">= 11.3"),
        ("product_ratio", "product_ratio", ">= 1"),
    ):
        factor = speedup("factorial", "jax_scan", "one_environment_one_step", metric)
        yield Claim(f"collection_{name}", target, factor)
    yield Claim("collection_calls_ratio", ">= 13.4", speedup("calls", "jax", "jax_eager", **many))
    yield Claim("xla_best_strategy", ">= 10.56", speedup("strategies", "best", "baseline"))
