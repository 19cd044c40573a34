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
            yield Claim(f"devices_gain_randomised_list{name}_over_list_{target}", "> 0", row, "gain")
    listed = unseen | {"method": "list_scheduling", "baseline": "best", "target": "proxy", "decoder": "best"}
    yield Claim("devices_gap_list_to_best_proxy", "<= 0.05", listed, "gap")
    proven = row_of(
        "devices", set="unseen_small", target="proxy", method="cp_sat", metric="proven_optimal_share", judge="simulator"
    )
    yield Claim("devices_share_proven_optimal_50", ">= 0.9", proven)
    excluded = row_of("excluded_optimum", set="unseen_small", target="proxy", metric="excluded_share")
    yield Claim("devices_optimum_excluded_share", "<= 0.05", excluded | {"method": "list_scheduling"})
    small = {"set": "unseen_small"}  # the operator's networks are for up to 50 operations
    learned = unseen | small | {"method": "projected_slots", "baseline": "list_scheduling", "target": "proxy"}
    yield Claim("devices_gain_operator_over_list", "> 0", learned | {"decoder": "best"}, "gain")
    for name, metric, lengths, goal in (
        ("schedules_per_second", "schedules_per_second", "50", ">= 200000"),
        ("growth_exponent", "growth_exponent", "50-80000", "<= 1.1"),
    ):
        yield Claim(f"simulator_{name}", goal, row_of("simulator_speed", metric=metric, lengths=lengths))
