"""Tables, figures and templates of the page `scale`."""

from pipeline.lab.page.pages import Page

PAGE = Page(
    place=12,
    name="scale",
    short="scale",
    title="From one machine to many",
    question=(
        "How do time and memory grow up to 30 million blocks on one machine? "
        "Does a cluster give the same numbers, does a fault change one?"
    ),
    experiments=("blocks_scale", "graphs_stored", "cluster", "faults"),
    sections=("curve", "cluster", "faults"),
)
