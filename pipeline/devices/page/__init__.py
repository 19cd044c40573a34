"""The page `devices`: its tables, figures and templates."""

from pipeline.lab.page.pages import Page, Sentence

PAGE = Page(
    place=7,
    name="devices",
    short="devices",
    title="Computation graphs on several devices",
    question=(
        "Which method schedules the operations of neural networks on several devices best, on the proxy and on "
        "targets that differ from it, how near is it to the optimum, and do the results hold on a real machine?"
    ),
    experiments=(
        "devices",
        "devices_quick",
        "excluded_optimum",
        "simulator_speed",
    ),
    sections=("comparison", "reach"),
    answer=(
        Sentence(
            "devices_gap_list_to_best_proxy",
            "Where transfers take no time, list scheduling is {} above the best known",
        ),
        Sentence(
            "devices_gain_randomised_list_over_list_bandwidth",
            "Where links are slow, random priorities save {} of its time",
        ),
        Sentence(
            "devices_share_proven_optimal_50",
            "Of graphs of up to 50 operations, CP-SAT proves {} optimal",
        ),
    ),
)
