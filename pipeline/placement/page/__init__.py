"""The page `placement`: its tables, figures and templates."""

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
            "Against the best placement that experts would make, GO saves {} of the time, where a fifth can be won",
        ),
        Sentence(
            "go_gain_over_hdp",
            "Against HDP, another learned method, it saves {}",
        ),
        Sentence(
            "go_gain_over_untaught",
            "Against the same search with random moves, which shows what learning is worth, it saves {}",
        ),
    ),
)
