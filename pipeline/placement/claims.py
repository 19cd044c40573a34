"""Claims about GO's placements."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, Row, row_of


def claims() -> Iterator[Claim]:
    """GO on whole graphs (Zhou et al., 2020): four devices, both links; it learns from the graph itself."""

    def ratio(baseline: str, method: str = "go", experiment: str = "placement", **columns: str) -> Row:
        row = row_of(experiment, set="all", target="all", metric="makespan", judge="simulator", comparison="ratio")
        return row | {"method": method, "baseline": baseline, "iterations": "none"} | columns

    yield Claim("go_gain_placement_default", "> 0", ratio("default"), "gain")
    yield Claim("go_gain_over_expert", ">= 0.2", ratio("expert", lengths="head_room"), "gain")
    share = {"metric": "share_of_head_room", "comparison": "value"}
    yield Claim("go_share_of_head_room_over_expert", ">= 0.9", ratio("expert") | share)
    yield Claim("go_gap_to_best_known", "<= 0.02", ratio("best"), "gap")
    yield Claim("go_gain_over_hdp", ">= 0.18", ratio("hdp", lengths="head_room"), "gain")
    needed = {"metric": "evaluations"}
    yield Claim("go_evaluations_of_hdp", "<= 0.0667", ratio("hdp") | needed)
    tuned = ratio("hdp", "go_fine_tuned", "placement_transfer")
    yield Claim("go_evaluations_of_hdp_fine_tuned", "<= 0.0667", tuned | needed)
    few = {"experiment": "placement_few", "method": "go_taught"}
    for name, count, goal in (("first_decision_gap", "1", 0.10), ("gap_10", "10", 0.05), ("gap_100", "100", 0.03)):
        yield Claim(f"go_{name}", f"<= {goal}", ratio("best") | few | {"iterations": count}, "gap")
    yield Claim("go_gain_over_doppler", "> 0", ratio("doppler") | few, "gain")
    placed = row_of("placement_few", set="all", target="all", metric="members_placed", judge="simulator")
    yield Claim("go_members_placed_or_proven", "== 28", placed | {"method": "all"})
    for name, peer in (
        ("annealing", "placed_annealing"),
        ("annealing_of_decisions", "decision_annealing"),
        ("brkga", "placed_brkga"),
    ):
        yield Claim(f"go_gap_to_{name}", "<= 0", ratio(peer), "gap")
    for name, peer in (("heft", "placed_heft"), ("metis", "placed_metis"), ("untaught", "go_untaught")):
        yield Claim(f"go_gain_over_{name}", "> 0", ratio(peer), "gain")
    # No schedule of a whole graph is proven; the largest loads of two profiled workloads are.
    proven = row_of("workload_splits", set="all", target="load", metric="objective", judge="simulator", lengths="all")
    proven |= {"comparison": "ratio", "baseline": "optimum"}
    yield Claim("go_gap_to_optimum", "<= 0.05", proven | {"method": "go"}, "gap")
    yield Claim("go_gap_to_optimum_from_nothing", "<= 0.05", proven | {"method": "go_open"}, "gap")
    yield Claim("go_gap_zero_shot", "<= 0.1", ratio("go", "go_zero_shot", "placement_transfer"), "gap")
    yield Claim("go_gap_fine_tuned", "<= 0.02", ratio("go", "go_fine_tuned", "placement_transfer"), "gap")
    yield Claim("go_gain_scheduling", "> 0", ratio("expert_graph_order", "go_priority"), "gain")
    yield Claim("go_gain_joint", "> 0", ratio("go_separate"), "gain")
    timed = row_of("placing_speed", method="go", metric="search_seconds", comparison="ratio", baseline="node_by_node")
    yield Claim("go_search_time_ratio_to_node_by_node", "<= 1", timed)
    place = {"set": "executed_real", "target": "this_machine", "judge": "this_machine"}
    executed = row_of("this_machine_placed", **place, metric="makespan")
    executed |= {"method": "go", "baseline": "expert_layers", "comparison": "ratio"}
    yield Claim("go_gain_this_machine", "> 0", executed, "gain")
    largest = row_of("whole_graph_scale", set="rnnlm_8", method="go", lengths="80068")
    yield Claim("go_seconds_80000", "<= 10", largest | {"metric": "decision_seconds"})
    yield Claim("go_gigabytes_80000", "<= 4", largest | {"metric": "decision_gigabytes"})
    yield Claim("go_update_seconds_80000", "<= 60", largest | {"metric": "update_seconds"})
    yield Claim("go_update_gigabytes_80000", "<= 8", largest | {"metric": "update_gigabytes"})
    placed = {"metric": "makespan", "comparison": "ratio", "baseline": "placed_heft", "target": "all"}
    yield Claim("go_gain_80000_over_heft", "> 0", largest | placed | {"judge": "simulator"}, "gain")
