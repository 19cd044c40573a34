"""Claims about data collection."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, row_of


def claims() -> Iterator[Claim]:
    """Many environments stepped at once, steps fused, on a CPU: faster at all?

    The papers' factors are of GPUs: they stand beside ours on the page, and are no targets here.
    """
    many = {"lengths": "4096", "iterations": "1"}
    for name, set, method, baseline, columns, paper, question in (
        (
            *("collection_speedup_vectorised", "cartpole", "numba_blocks", "gymnasium", many, "up to 1,024× (GPU)"),
            "How much faster are 4,096 CartPoles at once than Gymnasium's, one by one?",
        ),
        (
            *("collection_speedup_fused", "factorial", "jax_scan", "one_environment_one_step"),
            *({"metric": "fused_when_vectorised"}, "up to 11.3× (GPU)"),
            "How much faster are 64 fused steps than one, with 4,096 CartPoles?",
        ),
        (
            *("collection_calls_ratio", "calls", "jax", "jax_eager", many, "13.4× (GPU)"),
            "How much faster is one call of a compiled step than a call for each operation?",
        ),
        (
            *("xla_best_strategy", "strategies", "best", "baseline", {}, "10.56× (GPU)"),
            "How much faster is the best strategy for XLA's fusion than the baseline?",
        ),
    ):
        row = row_of("data_collection", set=set, method=method, comparison="ratio", baseline=baseline)
        yield Claim(name, "> 1", row | {"metric": "speedup"} | columns).asked(question, "times", paper)
