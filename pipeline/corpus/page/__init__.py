"""Tables, figures and templates of the page `corpus`."""

from pipeline.lab.page.pages import Page

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
)
