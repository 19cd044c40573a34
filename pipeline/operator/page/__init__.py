"""Tables, figures and templates of the page `operator`."""

from pipeline.lab.page.numbers import points, times
from pipeline.lab.page.pages import Page, Sentence

PAGE = Page(
    place=2,
    name="operator",
    short="projection",
    title="Projecting onto the dependencies",
    question=(
        "Does a network learn better with the projection, what does each method of projection cost, and which "
        "decoder makes the best order of a soft permutation?"
    ),
    experiments=(
        "operator_learning",
        "operator_speed",
        "operator_decoding",
    ),
    sections=(
        "learning",
        "projection",
        "decoding",
    ),
    fresh=("residuals",),
    answer=(
        Sentence(
            "operator_learning_test_5_popocs_nearest_exact_match_minus_sinkhorn",
            "With the exact projection, the share of orders that are exactly GCC's is, beside Sinkhorn's, {}",
            points,
        ),
        Sentence(
            "operator_learning_test_5_popocs_20_exact_match_minus_sinkhorn",
            "With the paper's twenty iterations, it is {}",
            points,
        ),
        Sentence("operator_speed_nearest_over_cvxpylayers", "The exact projection is {} as fast as cvxpylayers", times),
    ),
)
