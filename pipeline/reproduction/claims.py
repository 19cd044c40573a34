"""Claims of the paper's tables."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab import paper
from pipeline.lab.claims import Claim, row_of


def claims() -> Iterator[Claim]:
    """The paper's tables 1 and 2: its differences between POPOCS and Sinkhorn, as signs and as sizes."""
    better = {"exact_match": ">", "valid_share": ">", "kendall_tau_distance": "<", "violations_per_block": "<"}
    more_iterations = ("popocs_40", "popocs_60", "popocs_150")
    for experiment, tested in (("quick", "test_5"), ("quick", "test_5_paper"), ("paper", "test_5_paper")):
        comparisons = [(metric, method, "sinkhorn") for metric in better for method in ("popocs_20", *more_iterations)]
        comparisons += [("valid_share", method, "popocs_20") for method in more_iterations]
        place = {"set": tested, "decoder": "hungarian"}
        for metric, method, baseline in comparisons:
            row = row_of(experiment, **place, method=method, metric=metric) | {"comparison": "difference"}
            name = f"{experiment}_{tested}_{method}_{metric}_minus_{baseline}"
            yield Claim(name, f"{better[metric]} 0", row | {"baseline": baseline})
            size = f"{better[metric]}= {paper.difference(method, baseline, metric):.4g}"
            yield Claim(f"{name}_as_in_paper", size, row | {"baseline": baseline})
        for judge in ("haswell_100", "atom"):  # of the paper: the former
            cost = {"metric": "cycles", "judge": judge}
            row = row_of(experiment, **place, method="popocs_20", **cost) | {
                "comparison": "difference",
                "baseline": "gcc",
            }
            gcc = row_of(experiment, set=tested, method="gcc", **cost)
            target = f"< {paper.ON_PAR_SHARE:.4g}"
            yield Claim(f"{experiment}_{tested}_gap_to_gcc_{judge}", target, row, "share", gcc)
        for decoder in ("topological", "expected_slots", "best"):
            row = row_of(experiment, set=tested, decoder=decoder, metric="valid_share")
            yield Claim(f"{experiment}_{tested}_valid_share_{decoder}", "== 1", row)
    # The kind of processor, and the table that it made otherwise, are in the source.
    differing = {"experiment": "processor_kinds", "metric": "values_that_differ"}
    yield Claim("values_that_differ_between_processors", "== 0", differing)
