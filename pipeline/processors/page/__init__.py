"""Tables, figures and templates of the page `processors`."""

from pipeline.lab.page.numbers import hundredths
from pipeline.lab.page.pages import Page, Sentence

PAGE = Page(
    place=4,
    name="processors",
    short="processors",
    title="Orders for a processor",
    question=(
        "Which scheduler needs the fewest cycles by a processor model, how long does it take, how well do the "
        "fast models agree with llvm-mca, and did the results hold on real hardware?"
    ),
    experiments=(
        "first_guess",
        "guess_ablation",
        "time_against_quality",
        "equal_calls",
        "processors",
        "processors_speed",
        "processors_speed_zen4",
        "schedulers",
        "processor_agreement",
        "processor_deviations",
        "hardware",
        "hardware_znver4",
        "hardware_zen4",
    ),
    sections=("guess", "cycles", "fresh", "agreement"),
    answer=(
        Sentence(
            "first_guess_gap_atom",
            "On the in-order Atom, the first guess of a small network is {} above the fewest cycles known",
            hundredths,
        ),
        Sentence("first_guess_gap_silvermont", "On Silvermont, it is {} above", hundredths),
        Sentence(
            "learned_over_search_at_equal_calls_10",
            "With ten calls of a dear judge, learning saves {} of the cycles of a search",
            hundredths,
        ),
    ),
)
