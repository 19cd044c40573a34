"""Tables, figures and templates of the page `scale`."""

from pipeline.lab.page.numbers import count, two
from pipeline.lab.page.pages import Page, Sentence

PAGE = Page(
    place=12,
    name="scale",
    short="scale",
    title="From one machine to many",
    question=(
        "How do time and memory grow up to 30 million blocks on one machine? "
        "Does a cluster give the same numbers, does a fault change one?"
    ),
    experiments=("blocks_scale", "graphs_stored", "cluster", "faults", "soak"),
    sections=("curve", "cluster", "faults", "soak"),
    answer=(
        Sentence("blocks_30_million_gigabytes", "30 million blocks need {} GB of memory", two),
        Sentence(
            "cluster_different_bytes",
            "On Slurm, two nodes on one machine, {} files of the results differ from a run without it",
            count,
        ),
        Sentence(
            "soak_differences", "In hours of random work of the console command, {} answers are wrong in silence", count
        ),
        Sentence("faults_silent", "Of the faults that were injected, {} change a number in silence", count),
    ),
)
