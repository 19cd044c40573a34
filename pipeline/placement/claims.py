"""Claims about GO's placements."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, Row, row_of

_PAIRS = "14 unseen graphs on 2 links, 28 pairs, 3 seeds (large graphs: 1)"
_GAINS = (  # name, baseline, target, question
    ("placement_default", "default", "> 0", "How much time is saved against one device without its memory limit?"),
    ("over_heft", "placed_heft", "> 0", "Are its schedules shorter than HEFT's?"),
    ("over_metis", "placed_metis", "> 0", "Are its schedules shorter than METIS's?"),
    ("over_doppler", "doppler", "> 0", "Are its schedules shorter than DOPPLER's, with equal evaluations?"),
)
_EARLY = (  # name, evaluations, target, question
    (
        "first_decision_gap",
        "1",
        0.10,
        "Its first schedule, of the pairs that it places at once: how far above the best?",
    ),
    ("gap_10", "10", 0.05, "The same after 10 evaluations?"),
    ("gap_100", "100", 0.03, "The same after 100 evaluations?"),
)
_LARGEST = (  # metric of 80,000 operations, target, question
    ("seconds", "decision_seconds", "<= 10", "How many seconds does a decision about 80,000 operations take?"),
    ("gigabytes", "decision_gigabytes", "<= 4", "How many gigabytes does this decision need?"),
    ("update_seconds", "update_seconds", "<= 60", "How many seconds does an update of 20 schedules take?"),
    ("update_gigabytes", "update_gigabytes", "<= 8", "How many gigabytes does this update need?"),
)


def claims() -> Iterator[Claim]:
    """GO on whole graphs (Zhou et al., 2020): four devices, both links; it learns from the graph itself.

    A ratio counts every pair of graph and link; one that a method does not place counts with HEFT's schedule.
    """

    def ratio(baseline: str, method: str = "go", experiment: str = "placement_few", **columns: str) -> Row:
        row = row_of(experiment, set="all", target="all", metric="makespan", judge="simulator", comparison="ratio")
        return row | {"method": method, "baseline": baseline, "iterations": "none", "lengths": "every"} | columns

    def of_both(baseline: str, method: str = "go", experiment: str = "placement_few", **columns: str) -> Row:
        return ratio(baseline, method, experiment, lengths="all", **columns)

    question = "What share of the 28 pairs of graph and link does it place? HEFT places all"
    placed = {"metric": "placed_share", "comparison": "value", "baseline": "none", "lengths": "all"}
    yield Claim("go_placed_share", "== 1", ratio("none") | placed).as_question(question)
    for name, peer, target, paper, question in (
        ("expert", "expert", ">= 0.2", "20%", "does it save time over the best of two experts and of one device?"),
        ("hdp", "hdp", ">= 0.18", "18%", "does it save time over HDP, another learned method?"),
        ("untaught", "go_untaught", "> 0", "", "does learning save time over the same search with random moves?"),
    ):
        claim = Claim(f"go_gain_over_{name}", target, ratio(peer), "gain")
        yield claim.as_question(f"{_PAIRS}: {question}", "brief", paper, "placement")
    for variant, question in (
        ("taught", "Does it, for a network that was trained on other families?"),
        ("tuned", "Does it, for such a network that learns on?"),
    ):
        row = ratio("go_untaught", f"go_{variant}")
        yield Claim(f"go_gain_over_untaught_{variant}", "> 0", row, "gain").as_question(question)
    question = "How much does the search with random moves save over HDP?"
    yield Claim("go_untaught_gain_over_hdp", ">= 0.18", ratio("hdp", "go_untaught"), "gain").as_question(question)
    for name, peer, target, question in _GAINS:
        yield Claim(f"go_gain_{name}", target, ratio(peer), "gain").as_question(question)
    question = "Of the pairs that it places: what share of the head room over the experts is won?"
    share = {"metric": "share_of_head_room", "comparison": "value"}
    yield Claim("go_share_of_head_room_over_expert", ">= 0.9", of_both("expert") | share).as_question(question)
    question = "How much longer are its schedules than the best known of any method?"
    yield Claim("go_gap_to_best_known", "<= 0.02", ratio("best"), "gap").as_question(question)
    for name, method, experiment, question in (
        ("", "go", "placement_few", "What share of HDP's evaluations does it need to come within 1% of HDP?"),
        ("_untaught", "go_untaught", "placement_few", "The same, untaught?"),
        ("_fine_tuned", "go_fine_tuned", "placement_transfer", "The same, trained on other graphs before?"),
    ):
        row = of_both("hdp", method, experiment, metric="evaluations")
        yield Claim(f"go_evaluations_of_hdp{name}", "<= 0.0667", row).as_question(question)
    for name, count, goal, question in _EARLY:
        row = of_both("best", "go_taught", iterations=count)
        yield Claim(f"go_{name}", f"<= {goal}", row, "gap").as_question(question)
    question = "Is it at least as good as annealing of the same decisions?"
    yield Claim("go_gap_to_annealing_of_decisions", "<= 0", ratio("decision_annealing"), "gap").as_question(question)
    for name, text in (("annealing", "annealing"), ("brkga", "BRKGA")):
        row, question = of_both(f"placed_{name}", experiment="placement"), f"Is it at least as good as {text}?"
        yield Claim(f"go_gap_to_{name}", "<= 0", row, "gap").as_question(question)
    # No schedule of a whole graph is proven; the largest loads of two profiled workloads are.
    proven = row_of("workload_splits", set="all", target="load", metric="objective", judge="simulator", lengths="all")
    proven |= {"comparison": "ratio", "baseline": "optimum", "method": "go_open"}
    question = "Split workloads, from nothing decided: how far is the largest load above the proven least?"
    yield Claim("go_gap_to_optimum_from_nothing", "<= 0.05", proven, "gap").as_question(question)
    for name, target, question in (
        ("zero_shot", "<= 0.1", "Trained on other families, 100 evaluations: how far above 2,000 from scratch?"),
        ("fine_tuned", "<= 0.02", "The same, with at most 50 updates?"),
    ):
        row = of_both("go", f"go_{name}", "placement_transfer")
        yield Claim(f"go_gap_{name}", target, row, "gap").as_question(question)
    # The paper's own policy and PPO, 100,000 evaluations of each graph; trained on other families, 2,000.
    published, transfer = ({"experiment": f"placement_published{each}"} for each in ("", "_transfer"))
    for name, peer, target, paper, question in (
        ("expert", "expert", ">= 0.2", "20%", "does it save time over the best of two experts and of one device?"),
        ("hdp", "hdp_longest", ">= 0.18", "18%", "does it save time over HDP?"),
        ("annealing", "decision_annealing_longest", "> 0", "", "does it save time over annealing?"),
    ):
        claim = Claim(f"go_published_gain_over_{name}", target, ratio(peer, "go_published", **published), "gain")
        yield claim.as_question(f"GO's own policy, 100,000 evaluations of each graph: {question}", "brief", paper)
    row = ratio("go_published_untaught", "go_published", **published)
    question = "Does PPO save time over as many draws of the same network, untrained?"
    yield Claim("go_policy_over_untrained", "> 0", row, "gain").as_question(question)
    row = ratio("go_published_short", "go_published_tuned", **transfer)
    question = "Trained on other families: does it save time over the same 2,000 evaluations from scratch?"
    yield Claim("go_policy_transfer_gain", "> 0", row, "gain").as_question(question)
    row = ratio("decision_annealing", "annealing_from_policy", **transfer)
    question = "Annealing from the best of 100 draws of the trained policy: does it save time over annealing alone?"
    yield Claim("go_search_with_policy_over_without", "> 0", row, "gain").as_question(question)
    question = "Priorities on the expert's placement: are they better than the graph's order?"
    row = of_both("expert_graph_order", "go_priority", "placement")
    yield Claim("go_gain_scheduling", "> 0", row, "gain").as_question(question)
    question = "Are placement and priorities together better than one after the other?"
    yield Claim("go_gain_joint", "> 0", of_both("go_separate", experiment="placement"), "gain").as_question(question)
    question = "How long does the search take, relative to node by node?"
    timed = row_of("placing_speed", method="go", metric="search_seconds", comparison="ratio", baseline="node_by_node")
    yield Claim("go_search_time_ratio_to_node_by_node", "<= 1", timed).as_question(question, "two")
    question = "Executed on two cores, are its schedules shorter than the expert's?"
    place = {"set": "executed_real", "target": "this_machine", "judge": "this_machine"}
    executed = row_of("this_machine_placed", **place, metric="makespan")
    executed |= {"method": "go", "baseline": "expert_layers", "comparison": "ratio"}
    yield Claim("go_gain_this_machine", "> 0", executed, "gain").as_question(question)
    largest = row_of("whole_graph_scale", set="rnnlm_8", method="go", lengths="80068")
    for name, metric, target, question in _LARGEST:
        yield Claim(f"go_{name}_80000", target, largest | {"metric": metric}).as_question(question, "two")
    question = "Is its schedule of 80,000 operations shorter than HEFT's?"
    row = {
        "metric": "makespan",
        "comparison": "ratio",
        "baseline": "placed_heft",
        "target": "all",
        "judge": "simulator",
    }
    yield Claim("go_gain_80000_over_heft", "> 0", largest | row, "gain").as_question(question)
