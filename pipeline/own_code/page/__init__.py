"""Tables, figures and templates of the page `own_code`."""

from pipeline.lab.page.pages import Page

PAGE = Page(
    place=5,
    name="own_code",
    short="own code",
    title="Ordering your own code: what it is worth, and what the order of memory costs",
    question=(
        "Is a user's file still right after its blocks were ordered, how many cycles do the orders save by models "
        "of processors, what does the order of memory cost that other threads see, and how fast is the command?"
    ),
    experiments=(
        "own_cycles",
        "own_gains",
        "own_speed",
        "own_blocks",
        "own_assembly",
        "own_mutations",
        "own_generated",
        "own_projects",
        "own_wrapper",
        "own_run_times",
    ),
    sections=("answers", "gains", "worth", "proof", "generated", "projects", "pace"),
)
