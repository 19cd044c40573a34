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
        yield claim.as_question(question, "count")
    gap = row_of("outside_instances", set="taillard", metric="gap", baseline="best_known")
    question = "How far above Taillard's best known is the policy's greedy schedule?"
    yield Claim("jobshop_gap_greedy", "<= 0.12", gap | {"method": "job_shop_policy"}).as_question(question)
    question = "How far is the best of its 512 schedules?"
    yield Claim("jobshop_gap_512", "<= 0.07", gap | {"method": "job_shop_policy_512"}).as_question(question)
    searched = row_of("job_shop_search", metric="gap", baseline="best_known")
    for name, target, which, method, question in (
        ("gap_30_seconds", "<= 0.03", "taillard", "tabu_search_30", "How far is tabu search after 30 seconds?"),
        ("demirkol_greedy", "<= 0.18", "demirkol", "job_shop_policy", "On Demirkol's, the greedy schedule?"),
        ("demirkol_512", "<= 0.12", "demirkol", "job_shop_policy_512", "The best of its 512 schedules there?"),
        ("demirkol_30_seconds", "<= 0.03", "demirkol", "tabu_search_30", "Tabu search after 30 seconds there?"),
    ):
        yield Claim(f"jobshop_{name}", target, searched | {"set": which, "method": method}).as_question(question)
    differs = row_of("saga_peers", target="all", method="saga_heft", metric="schedules_differ_unexplained")
    question = "How many of SAGA's HEFT's schedules differ, unexplained?"
    yield Claim("outside_heft_differs_from_saga", "== 0", differs | {"baseline": "heft"}).as_question(question, "count")
    for metric, target, question in (
        ("files", ">= 5000", "How many damaged files were tried?"),
        ("wrong", "== 0", "How many were neither read as a problem nor refused with place and remedy?"),
    ):
        row = row_of("mutated_instances", set="all", metric=metric)
        yield Claim(f"outside_mutated_{metric}", target, row).as_question(question, "count")
    minutes = row_of("newcomer_trials", method="own_method", target="this_machine", metric="minutes_to_own_method")
    question = "After how many minutes had a newcomer a method beside ours?"
    yield Claim("outside_minutes_to_own_method", "<= 20", minutes).as_question(question, "two")
    cheats = row_of("cheats", set="adversarial_small", target="pcie", metric="cheats_unnoticed")
    question = "How many methods that cheat or break are not noticed?"
    yield Claim("bench_cheats_unnoticed", "== 0", cheats).as_question(question, "count")
