"""The card of GFlowNet scheduling on the front page."""

from __future__ import annotations

from pipeline.lab import paper_devices as paper
from pipeline.lab.page.asked import Question
from pipeline.lab.page.cards import MAKESPANS, Card, Picture, brief, more

_SAVED = brief(1 - paper.TABLE_3["list_scheduling"]["bandwidth"] / paper.TABLE_3["gflownet"]["bandwidth"])
_DIVERSE = more(paper.TABLE_2["gflownet"][2] - paper.TABLE_2["ppo"][2])
CARD = Card(
    "[GFlowNet scheduling, 2023](policies.md)",
    "A policy builds many different schedules of a computation graph with a cheap model. The best of them on the real "
    "target counts. By Zhang et al.",
    Picture(
        "front_gflownet",
        "Makespan over list scheduling's on the target bandwidth, GFlowNets beside other methods",
        "Makespan over list scheduling's, slow links",
        ("gflownet", "gflownet_drawn", "ppo", "brkga", "randomised_list", "heft"),
        2,
        {"experiment": "gflownet_paper_sizes", "set": "paper_sizes", "target": "bandwidth"}
        | {"baseline": "list_scheduling"}
        | MAKESPANS,
        level=1.0,
    ),
    {
        "gflownet_saves_as_much_as_in_paper": Question(
            "81 graphs of the paper's sizes: does it save as much time over list scheduling on slow links?",
            brief,
            _SAVED,
        ),
        "gflownet_paper_sizes_gain_over_randomised_list_bandwidth": Question(
            "Told drawn links, does it save time over randomised list scheduling there?", brief
        ),
        "gflownet_paper_sizes_gain_over_randomised_list_latency": Question(
            "Does it where every transfer takes as long?", brief
        ),
        "gflownet_diversity_over_ppo_as_in_paper": Question(
            "50 graphs of 50 operations: are its schedules as much more different than PPO's?", more, _DIVERSE
        ),
    },
)
