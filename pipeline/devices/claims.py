"""Claims about schedules of computation graphs by methods without a network."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, row_of


def claims() -> Iterator[Claim]:
    """Schedules of computation graphs on several devices, by methods without a network; the speed of the simulator."""
    unseen = row_of("devices", set="unseen_real", metric="makespan", judge="simulator", comparison="ratio")
    randomised = unseen | {"method": "randomised_list", "baseline": "list_scheduling"}
    for target in ("proxy", "noisy", "bandwidth", "latency"):
        for rule, name in (("best", ""), ("spread", "_spread")):
            row = randomised | {"target": target, "decoder": rule}
            addition = "; schedules on few devices are kept, too" if name else ""
            claim = Claim(f"devices_gain_randomised_list{name}_over_list_{target}", "> 0", row, "gain")
            yield claim.as_question(f"Do random priorities save time over list scheduling on `{target}`{addition}?")
    listed = unseen | {"method": "list_scheduling", "baseline": "best", "target": "proxy", "decoder": "best"}
    question = "How far is list scheduling above the best known, on the proxy?"
    yield Claim("devices_gap_list_to_best_proxy", "<= 0.05", listed, "gap").as_question(question)
    proven = row_of(
        "devices", set="unseen_small", target="proxy", method="cp_sat", metric="proven_optimal_share", judge="simulator"
    )
    question = "Of which share of graphs of up to 50 operations does CP-SAT prove the optimum?"
    yield Claim("devices_share_proven_optimal_50", ">= 0.9", proven).as_question(question)
    excluded = row_of("excluded_optimum", set="unseen_small", target="proxy", metric="excluded_share")
    claim = Claim("devices_optimum_excluded_share", "<= 0.05", excluded | {"method": "list_scheduling"})
    yield claim.as_question("Of which share of graphs does no list of priorities make the shortest schedule?")
    small = {"set": "unseen_small"}  # the operator's networks are for up to 50 operations
    learned = unseen | small | {"method": "projected_slots", "baseline": "list_scheduling", "target": "proxy"}
    claim = Claim("devices_gain_operator_over_list", "> 0", learned | {"decoder": "best"}, "gain")
    yield claim.as_question("Does a network with the projection save time over list scheduling, on the proxy?")
    for name, lengths, goal, write, question in (
        ("schedules_per_second", "50", ">= 200000", "count", "Simulated schedules of 50 operations per second?"),
        ("growth_exponent", "50-80000", "<= 1.1", "two", "With which power of the operations does its time grow?"),
    ):
        row = row_of("simulator_speed", metric=name, lengths=lengths)
        yield Claim(f"simulator_{name}", goal, row).as_question(question, write)
    # Schedules that two cores executed.
    for target in ("proxy", "noisy", "bandwidth", "latency"):
        measured = row_of("this_machine", target=target, metric="rank_correlation")
        claim = Claim(f"devices_rank_correlation_{target}_this_machine", "> 0.5", measured)
        yield claim.as_question(f"Two cores: does `{target}` rank schedules as they run? Rank correlation", "two")
    executed = row_of("this_machine", set="executed_real", target="this_machine", judge="this_machine")
    executed |= {"metric": "makespan", "comparison": "ratio", "baseline": "list_scheduling"}
    for method, name, text in (
        ("randomised_list", "randomised_list_over_list_this_machine", "Randomised lists"),
        ("gflownet_drawn", "over_list_this_machine", "A GFlowNet that is told drawn links"),
        ("gflownet", "over_list_this_machine_as_in_paper", "A GFlowNet as in the paper"),
    ):
        claim = Claim(f"devices_gain_{name}", "> 0", executed | {"method": method}, "gain")
        yield claim.as_question(f"{text}, executed on two cores: how much of list scheduling's time is saved?")
