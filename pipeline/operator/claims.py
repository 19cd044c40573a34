"""Claims about the projection."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab import paper
from pipeline.lab.claims import Claim, row_of


def claims() -> Iterator[Claim]:
    """The operator beside its peers, each at the size where it is least ahead; and what a network learns with it."""
    for method in ("extrapolated", "nearest"):
        for peer, times in (("cyclic_loop", 20), ("qpth", 100), ("cvxpylayers", 100), ("linsatnet", 10)):
            row = {"experiment": "operator_speed", "method": method, "metric": "speedup", "baseline": peer}
            yield Claim(f"operator_speed_{method}_over_{peer}", f">= {times}", row)
    size = paper.difference("popocs_20", "sinkhorn", "exact_match")
    for tested in ("test_5", "test_5_paper"):
        for method in ("popocs_20", "popocs_extrapolated", "popocs_nearest"):
            row = row_of("operator_learning", set=tested, method=method, decoder="hungarian", metric="exact_match")
            row |= {"comparison": "difference", "baseline": "sinkhorn"}
            yield Claim(f"operator_learning_{tested}_{method}_exact_match_minus_sinkhorn", f">= {size:.4g}", row)
