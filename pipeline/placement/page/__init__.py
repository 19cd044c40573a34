"""The page `placement`: its tables, figures and templates."""

from functools import partial

from pipeline.lab.page.numbers import percent
from pipeline.lab.page.pages import Page, Sentence

PAGE = Page(
    place=9,
    name="placement",
    short="GO's placement",
    title="Whole graphs placed and ordered: GO",
    question=(
        "Does one network that places and orders whole graphs beat experts, peers and random moves, what does it "
        "learn, does it work on unseen graphs, and how large may a graph be?"
    ),
    experiments=(
        "placement",
        "placement_few",
        "placement_two",
        "placement_eight",
        "placement_ablations",
        "placement_transfer",
        "placement_node_by_node",
        "this_machine_placed",
        "placing_speed",
        "decision_speed",
        "whole_graph_scale",
        "workload_splits",
    ),
    sections=(
        "answers",
        "few",
        "gains",
        "pictures",
        "learning",
        "scale",
        "executed",
    ),
    answer=(
        Sentence(
            "go_gain_over_expert",
            "Against the best placement that experts would make, GO saves {} of the time, over all 28 pairs of graph "
            "and link",
        ),
        Sentence(
            "go_gain_over_hdp",
            "Against HDP, another learned method, it saves {}",
        ),
        Sentence(
            "go_untaught_gain_over_hdp",
            "The same search with random moves saves {} against HDP",
        ),
        Sentence(
            "go_gain_over_untaught",
            "So learning saves {}",
        ),
        Sentence(
            "go_placed_share",
            "GO itself places {} of the pairs, HEFT and the expert's layers all; one that a method does not place "
            "counts with HEFT's schedule",
            partial(percent, digits=0),
        ),
    ),
)
