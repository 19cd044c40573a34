"""Claims about orders that were timed on processors."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, row_of


def claims() -> Iterator[Claim]:
    """Orders that need less time than GCC's by the hardware's clock, blocks of 10 to 40 instructions."""
    ratio = {"set": "test_10_40", "metric": "cycles", "comparison": "ratio", "baseline": "gcc", "judge": "hardware"}
    for experiment, method, decoder, target in (
        ("hardware_zen4", "learned_machines", "timed", "atom"),
        ("hardware", "search", "none", "atom"),
        ("hardware", "search", "none", "skylake"),
        ("hardware", "policy_refined", "none", "atom"),
        ("hardware_znver4", "search", "none", "znver4"),
        ("hardware", "best_of_random_orders", "none", "none"),
    ):
        row = row_of(experiment) | ratio | {"method": method, "decoder": decoder, "target": target}
        yield Claim(f"hardware_{method}_{target}_gain", "> 0", row, "gain")
    yield Claim("hardware_series", ">= 3", row_of("hardware", method="none", judge="hardware", metric="series"))
