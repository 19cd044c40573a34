"""Tables, figures and templates of the page `imitation`."""

from pipeline.lab.page.pages import Page

PAGE = Page(
    place=3,
    name="imitation",
    short="imitation",
    title="Imitating GCC on blocks of any length",
    question=(
        "How often does a network give GCC's order of 2 to 64 instructions, which changes helped, which bounds "
        "hold for any network, and what do its wrong orders have in common?"
    ),
    experiments=(
        "imitation",
        "imitation_second",
        "imitation_shipped",
        "imitation_speed",
        "imitation_ablation",
        "imitation_scaling",
        "imitation_transfer",
        "imitation_evidence",
        "imitation_input",
    ),
    sections=("comparison", "limits", "input"),
)
