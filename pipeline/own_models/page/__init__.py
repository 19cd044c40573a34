"""Tables, figures and templates of the page `own_models`."""

from pipeline.lab.page.pages import Page

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
)
