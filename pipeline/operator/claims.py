"""Claims about the projection."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab import paper
from pipeline.lab.claims import Claim, row_of
from pipeline.lab.page.numbers import more

_PEERS = (("cyclic_loop", 20), ("qpth", 100), ("cvxpylayers", 100), ("linsatnet", 10))
_METHODS = {
    "popocs_20": "With the paper's twenty iterations",
    "popocs_extrapolated": "With `extrapolated`",
    "popocs_nearest": "With an exact projection",
}


def claims() -> Iterator[Claim]:
    """The operator beside its peers, each at the size where it is least ahead; and what a network learns with it."""
    for method in ("extrapolated", "nearest"):
        for peer, times in _PEERS:
            row = {"experiment": "operator_speed", "method": method, "metric": "speedup", "baseline": peer}
            question = f"How many times as fast is `{method}` as `{peer}`, at the size where it is least ahead?"
            yield Claim(f"operator_speed_{method}_over_{peer}", f">= {times}", row).asked(question, "times")
    size = paper.difference("popocs_20", "sinkhorn", "exact_match")
    for tested, dependencies in (("test_5", ""), ("test_5_paper", ", on the paper's dependencies")):
        for method, text in _METHODS.items():
            row = row_of("operator_learning", set=tested, method=method, decoder="hungarian", metric="exact_match")
            row |= {"comparison": "difference", "baseline": "sinkhorn"}
            name = f"operator_learning_{tested}_{method}_exact_match_minus_sinkhorn"
            question = f"{text}: are as many more orders exact than with Sinkhorn{dependencies}?"
            front = "reproduction" if (tested, method) == ("test_5", "popocs_nearest") else ""
            yield Claim(name, f">= {size:.4g}", row).asked(question, "more", more(size), front)
