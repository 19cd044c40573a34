"""The cards of the front page: for each of the three systems its questions, by claim, and its picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.lab import paper, paper_devices
from pipeline.lab.page.asked import Question
from pipeline.lab.page.numbers import number, percent, points


@dataclass(frozen=True)
class Picture:
    """Methods compared in one number, with intervals; `rows`: column of table `results` -> its value."""

    name: str
    alt: str
    title: str
    methods: tuple[str, ...]  # from top to bottom; the system's methods are first
    leading: int  # number of the system's methods
    rows: Mapping[str, str]
    papers: Mapping[str, float] | None = None  # the paper's numbers by method
    level: float | None = None  # a line across all methods


@dataclass(frozen=True)
class Card:
    """One system: what it does, a picture, and its questions by claim."""

    title: str
    text: str
    picture: Picture
    questions: Mapping[str, Question]


def brief(share: float) -> str:
    """A percentage that is short enough for a card."""
    return percent(share, 0 if abs(share) >= 0.1 else 1)


def more(share: float | None) -> str:
    """A difference of shares that is short enough for a card."""
    return points(share, 0 if abs(share or 0) >= 0.1 else 1)


_EXACT = more(paper.difference("popocs_20", "sinkhorn", "exact_match"))
_VALID = more(paper.difference("popocs_150", "sinkhorn", "valid_share"))
_ON_BANDWIDTH = {method: speedups["bandwidth"] for method, speedups in paper_devices.TABLE_3.items()}
_SAVED = brief(1 - _ON_BANDWIDTH["list_scheduling"] / _ON_BANDWIDTH["gflownet"])
_DIVERSE = more(paper_devices.TABLE_2["gflownet"][2] - paper_devices.TABLE_2["ppo"][2])
_CLAIMS, _PROJECTED = "reproduction.md#the-papers-claims-one-by-one", "operator.md#does-the-projection-learn-better"
_GFLOWNETS = "policies.md#is-it-better-than-other-methods"
_PROPORTION = "policies.md#are-schedules-drawn-in-proportion-to-their-reward"
_PLACED, _FUSED = "placement.md#is-it-better", "fusion.md#which-claims-hold"
_MAKESPANS = {"metric": "makespan", "comparison": "ratio", "judge": "simulator", "lengths": "all"}

POCSNET = Card(
    "[POCSNet, 2019](reproduction.md)",
    "A network puts the instructions of a basic block into GCC's order. POPOCS projects its output onto the block's "
    "dependencies. By Jain and Amarasinghe.",
    Picture(
        "front_pocsnet",
        "Exact match of the paper's methods and of simple schedulers on blocks of five instructions",
        "Blocks of 5 in GCC's exact order (experiment quick)",
        ("sinkhorn", "popocs_20", "popocs_150", "critical_path", "random_legal"),
        3,
        {"experiment": "quick", "set": "test_5", "metric": "exact_match", "comparison": "value"},
        {name: row["exact_match"] for name, row in paper.TABLE_1.items()},
    ),
    {
        "paper_test_5_paper_popocs_20_exact_match_minus_sinkhorn": Question(
            "Are more orders exact than with Sinkhorn, with the paper's settings?", more, _EXACT, _CLAIMS
        ),
        "quick_test_5_popocs_20_exact_match_minus_sinkhorn": Question(
            "Is it the same with settings with which both learn well?", more, _EXACT, _CLAIMS
        ),
        "quick_test_5_popocs_150_valid_share_minus_sinkhorn_as_in_paper": Question(
            "Are as many more orders legal as in the paper?", more, _VALID, _CLAIMS
        ),
        "operator_learning_test_5_popocs_nearest_exact_match_minus_sinkhorn": Question(
            "Are as many more orders exact with an exact projection?", more, _EXACT, _PROJECTED
        ),
        "imitation_attention_pointer_following_greedy_test_5_exact_match": Question(
            "Does a larger network reach the goal for 5 instructions?", percent, "", "imitation.md#goals"
        ),
    },
)
GFLOWNET = Card(
    "[GFlowNet scheduling, 2023](policies.md)",
    "A policy builds many different schedules of a computation graph with a cheap model. The best of them on the real "
    "target counts. By Zhang et al.",
    Picture(
        "front_gflownet",
        "Makespan over list scheduling's on the target bandwidth, GFlowNets beside other methods",
        "Makespan over list scheduling's, slow links",
        ("gflownet", "gflownet_drawn", "ppo", "brkga", "randomised_list", "heft"),
        2,
        {"experiment": "gflownet", "set": "unseen_real", "target": "bandwidth", "baseline": "list_scheduling"}
        | _MAKESPANS,
        level=1.0,
    ),
    {
        "devices_gain_over_list_bandwidth_as_in_paper": Question(
            "Does it save time over list scheduling on slow links?", brief, _SAVED, _GFLOWNETS
        ),
        "devices_gain_over_randomised_list_bandwidth": Question(
            "Does ours, told drawn links, save time over randomised list scheduling?", brief, "", _GFLOWNETS
        ),
        "devices_gain_over_randomised_list_proxy": Question(
            "Does it also save time on the cheap model itself?", brief, "", _GFLOWNETS
        ),
        "gflownet_diversity_over_ppo": Question(
            "Are its schedules more different than PPO's?", more, _DIVERSE, _GFLOWNETS
        ),
        "gflownet_total_variation": Question(
            "Is the total variation from its target distribution small?", number, "", _PROPORTION
        ),
    },
)
GO = Card(
    "[GO, 2020](placement.md)",
    "One network places, orders and [fuses](fusion.md) the operations of whole graphs on several devices. By Zhou et "
    "al.",
    Picture(
        "front_go",
        "Makespan over the best expert's, GO beside other methods",
        "Makespan over the best expert's, 4 devices",
        ("go", "go_untaught", "decision_annealing", "hdp", "placed_heft", "placed_metis"),
        2,
        {"experiment": "placement", "set": "all", "target": "all", "baseline": "expert"} | _MAKESPANS,
        level=1.0,
    ),
    {
        "go_gain_over_expert": Question("Does it save time over the best expert, where possible?", brief, "", _PLACED),
        "go_gain_over_hdp": Question("Does it save time over HDP, another learned method?", brief, "", _PLACED),
        "go_evaluations_of_hdp": Question("Does it need a small share of HDP's evaluations?", brief, "", _PLACED),
        "go_gain_over_untaught": Question(
            "Does learning save time over the same search without it?", brief, "", _PLACED
        ),
        "go_gain_fusion": Question("Does its fusion save time over the compilers' rules?", brief, "", _FUSED),
    },
)
CARDS = (POCSNET, GFLOWNET, GO)
