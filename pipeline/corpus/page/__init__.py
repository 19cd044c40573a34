"""Tables, figures and templates of the page `corpus`."""

from pipeline.lab.page.numbers import count
from pipeline.lab.page.pages import Page, Sentence

PAGE = Page(
    place=11,
    name="corpus",
    short="corpus",
    title="The code and its dependencies",
    question=(
        "Which blocks do the networks learn from, do all orders that the dependencies allow compute the same, and "
        "how fast is machine code read?"
    ),
    experiments=("dag_verification", "ingest"),
    sections=("composition", "verification", "ingest"),
    fresh=("blocks", "skipped", "corpus", "dags", "splits"),
    answer=(
        Sentence(
            "dag_verification_state_runs",
            "To test the dependencies, blocks were run {} times in other legal orders",
            count,
        ),
        Sentence("dag_verification_different", "Of these orders, {} compute something else", count),
        Sentence(
            "ingest_wall_over_objdump",
            "Reading machine code takes {} of the time of objdump",
        ),
    ),
)
