"""Tables, figures and templates of the page `own_models`."""

from pipeline.lab.page.numbers import count, two
from pipeline.lab.page.pages import Page, Sentence

PAGE = Page(
    place=6,
    name="own_models",
    short="own models",
    title="Scheduling your own model: what is read, what it costs, and whether the split is right",
    question=(
        "Which files and modules of other people does `graph` read, how true are the FLOPs, seconds and bytes that it "
        "expects, does a split module still compute the same, and how long does an answer take?"
    ),
    experiments=(
        "own_models",
        "own_model_times",
        "gpu_times",
        "own_model_memory",
        "own_split",
        "own_split_networks",
        "own_split_answer",
        "own_graph_answer",
    ),
    sections=("answers", "reading", "costs", "gpu", "memory", "splits", "pace"),
    answer=(
        Sentence(
            "own_models_refused_share",
            "Of other people's files and modules, {} are refused",
        ),
        Sentence(
            "own_model_time_rank_correlation",
            "Expected seconds are ranked as the measured ones with a correlation of {}",
            two,
        ),
        Sentence("own_split_modules_different", "Of the modules that were split, {} compute something else", count),
    ),
)
