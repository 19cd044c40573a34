"""Tables, figures and templates of the page `before_allocation`."""

from pipeline.lab.page.pages import Page, Sentence

PAGE = Page(
    place=13,
    name="before_allocation",
    short="before allocation",
    title="Orders that pay on hardware: scheduling before registers are allocated",
    question=(
        "Before registers are allocated, an order decides what is spilled. How many cycles does a good order save on "
        "this processor, beside what compilers do, and does the code still compute the same?"
    ),
    experiments=("before_allocation", "before_allocation_states"),
    sections=("gains", "functions", "states"),
    answer=(
        Sentence(
            "before_allocation_gain_search",
            "In functions that spill, a thousand measured orders save {} of the cycles of LLVM's default",
        ),
        Sentence(
            "before_allocation_gain_first_guess",
            "The learned order alone, at once, saves {}",
        ),
        Sentence(
            "before_allocation_learned_over_search_100",
            "Of a hundred measured orders, those of learned weights save {} over those without learning",
        ),
    ),
)
