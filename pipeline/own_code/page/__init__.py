"""Tables, figures and templates of the page `own_code`."""

from pipeline.lab.page.numbers import count
from pipeline.lab.page.pages import Page, Sentence

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
    answer=(
        Sentence(
            "own_blocks_that_differ", "Of the blocks that were run in both orders, {} compute something else", count
        ),
        Sentence(
            "own_cycles_tso_atom",
            "Cycles on the in-order Atom, by its model, are {} of GCC's",
        ),
        Sentence(
            "own_cycles_tso_skylake",
            "On Skylake, they are {}",
        ),
    ),
)
