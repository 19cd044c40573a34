"""Tables, figures and templates of the page `operator`."""

from pipeline.lab.page.pages import Page

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
)
