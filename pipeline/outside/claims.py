"""Claims about instances of others."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, row_of


def claims() -> Iterator[Claim]:
    """There are enough instances, no makespan contradicts what is proven, and damaged files are read or refused."""
    for name, target, question in (
        ("instances", ">= 250", "How many instances of others have a makespan of every method?"),
        ("better_than_proven", "== 0", "How many makespans are below a bound that others have proven?"),
        ("bound_above_best", "== 0", "How many bounds of ours are above a makespan of others?"),
    ):
        claim = Claim(f"outside_{name}", target, row_of("outside_instances", metric=name))
        yield claim.asked(question, "count")
    gap = row_of("outside_instances", set="taillard", metric="gap", baseline="best_known")
    question = "How far above Taillard's best known is the policy's greedy schedule?"
    yield Claim("jobshop_gap_greedy", "<= 0.12", gap | {"method": "job_shop_policy"}).asked(question)
    question = "How far is the best of its 512 schedules?"
    yield Claim("jobshop_gap_512", "<= 0.07", gap | {"method": "job_shop_policy_512"}).asked(question)
    differs = row_of("saga_peers", target="all", method="saga_heft", metric="schedules_differ_unexplained")
    question = "How many of SAGA's HEFT's schedules differ, unexplained?"
    yield Claim("outside_heft_differs_from_saga", "== 0", differs | {"baseline": "heft"}).asked(question, "count")
    for metric, target, question in (
        ("files", ">= 5000", "How many damaged files were tried?"),
        ("wrong", "== 0", "How many were neither read as a problem nor refused with place and remedy?"),
    ):
        row = row_of("mutated_instances", set="all", metric=metric)
        yield Claim(f"outside_mutated_{metric}", target, row).asked(question, "count")
    minutes = row_of("newcomer_trials", method="own_method", target="this_machine", metric="minutes_to_own_method")
    question = "After how many minutes had a newcomer a method beside ours?"
    yield Claim("outside_minutes_to_own_method", "<= 20", minutes).asked(question, "two")
