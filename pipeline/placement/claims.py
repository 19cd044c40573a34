"""Claims about GO's placements."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, Row, row_of


def claims() -> Iterator[Claim]:
    """GO on whole graphs (Zhou et al., 2020): four devices, both links; it learns from the graph itself.

    A ratio counts every pair of graph and link; one that a method does not place counts with HEFT's schedule.
    """

    def ratio(baseline: str, method: str = "go", experiment: str = "placement_few", **columns: str) -> Row:
        row = row_of(experiment, set="all", target="all", metric="makespan", judge="simulator", comparison="ratio")
        return row | {"method": method, "baseline": baseline, "iterations": "none", "lengths": "every"} | columns

    def of_both(baseline: str, method: str = "go", experiment: str = "placement_few", **columns: str) -> Row:
        return ratio(baseline, method, experiment, lengths="all", **columns)

    placed = {"metric": "placed_share", "comparison": "value", "baseline": "none", "lengths": "all"}
    yield Claim("go_placed_share", "== 1", ratio("none") | placed)
    for name, peer, target in (
        ("placement_default", "default", "> 0"),
        ("over_expert", "expert", ">= 0.2"),
        ("over_hdp", "hdp", ">= 0.18"),
        ("over_heft", "placed_heft", "> 0"),
        ("over_metis", "placed_metis", "> 0"),
        ("over_doppler", "doppler", "> 0"),
    ):
        yield Claim(f"go_gain_{name}", target, ratio(peer), "gain")
    for variant in ("", "_taught", "_tuned"):
        yield Claim(f"go_gain_over_untaught{variant}", "> 0", ratio("go_untaught", f"go{variant}"), "gain")
    yield Claim("go_untaught_gain_over_hdp", ">= 0.18", ratio("hdp", "go_untaught"), "gain")
    share = {"metric": "share_of_head_room", "comparison": "value"}
    yield Claim("go_share_of_head_room_over_expert", ">= 0.9", of_both("expert") | share)
    yield Claim("go_gap_to_best_known", "<= 0.02", ratio("best"), "gap")
    for variant in ("", "_untaught"):
        yield Claim(
            f"go_evaluations_of_hdp{variant}", "<= 0.0667", of_both("hdp", f"go{variant}") | {"metric": "evaluations"}
        )
    tuned = of_both("hdp", "go_fine_tuned", "placement_transfer")
    yield Claim("go_evaluations_of_hdp_fine_tuned", "<= 0.0667", tuned | {"metric": "evaluations"})
    for name, count, goal in (("first_decision_gap", "1", 0.10), ("gap_10", "10", 0.05), ("gap_100", "100", 0.03)):
        yield Claim(f"go_{name}", f"<= {goal}", of_both("best", "go_taught", iterations=count), "gap")
    yield Claim("go_gap_to_annealing_of_decisions", "<= 0", ratio("decision_annealing"), "gap")
    for name in ("annealing", "brkga"):
        yield Claim(f"go_gap_to_{name}", "<= 0", of_both(f"placed_{name}", experiment="placement"), "gap")
    # No schedule of a whole graph is proven; the largest loads of two profiled workloads are.
    proven = row_of("workload_splits", set="all", target="load", metric="objective", judge="simulator", lengths="all")
    proven |= {"comparison": "ratio", "baseline": "optimum"}
    yield Claim("go_gap_to_optimum_from_nothing", "<= 0.05", proven | {"method": "go_open"}, "gap")
    yield Claim("go_gap_zero_shot", "<= 0.1", of_both("go", "go_zero_shot", "placement_transfer"), "gap")
    yield Claim("go_gap_fine_tuned", "<= 0.02", of_both("go", "go_fine_tuned", "placement_transfer"), "gap")
    yield Claim("go_gain_scheduling", "> 0", of_both("expert_graph_order", "go_priority", "placement"), "gain")
    yield Claim("go_gain_joint", "> 0", of_both("go_separate", experiment="placement"), "gain")
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
