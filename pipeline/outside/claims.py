"""Claims about instances of others."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, row_of


def claims() -> Iterator[Claim]:
    """There are enough instances, no makespan contradicts what is proven, and damaged files are read or refused."""
    for name, target in (("instances", ">= 250"), ("better_than_proven", "== 0"), ("bound_above_best", "== 0")):
        yield Claim(f"outside_{name}", target, row_of("outside_instances", metric=name))
    gap = row_of("outside_instances", set="taillard", metric="gap", baseline="best_known")
    yield Claim("jobshop_gap_greedy", "<= 0.12", gap | {"method": "job_shop_policy"})
    yield Claim("jobshop_gap_512", "<= 0.07", gap | {"method": "job_shop_policy_512"})
    differs = row_of("saga_peers", target="all", method="saga_heft", metric="schedules_differ_unexplained")
    yield Claim("outside_heft_differs_from_saga", "== 0", differs | {"baseline": "heft"})
    for metric, target in (("files", ">= 5000"), ("wrong", "== 0")):
        yield Claim(f"outside_mutated_{metric}", target, row_of("mutated_instances", set="all", metric=metric))
    minutes = row_of("newcomer_trials", method="own_method", target="this_machine", metric="minutes_to_own_method")
    yield Claim("outside_minutes_to_own_method", "<= 20", minutes)
