"""Claims about schedules that ran on this machine."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, row_of


def claims() -> Iterator[Claim]:
    """Schedules of computation graphs that ran here, by all methods; how well the links predict their times."""
    for target in ("proxy", "noisy", "bandwidth", "latency"):
        measured = row_of("this_machine", target=target, metric="rank_correlation")
        claim = Claim(f"devices_rank_correlation_{target}_this_machine", "> 0.5", measured)
        yield claim.asked(f"Two cores: does `{target}` rank schedules as they run? Rank correlation", "two")
    executed = row_of("this_machine", set="executed_real", target="this_machine", judge="this_machine")
    executed |= {"metric": "makespan", "comparison": "ratio", "baseline": "list_scheduling"}
    for method, name, text in (
        ("randomised_list", "randomised_list_over_list_this_machine", "Randomised lists"),
        ("gflownet_drawn", "over_list_this_machine", "A GFlowNet that is told drawn links"),
        ("gflownet", "over_list_this_machine_as_in_paper", "A GFlowNet as in the paper"),
    ):
        claim = Claim(f"devices_gain_{name}", "> 0", executed | {"method": method}, "gain")
        yield claim.asked(f"{text}, executed on two cores: how much of list scheduling's time is saved?")
