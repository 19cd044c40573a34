"""Tables, figures and templates of the page `imitation`."""

from pipeline.lab.page.pages import Page, Sentence

PAGE = Page(
    place=3,
    name="imitation",
    short="imitation",
    title="Imitating GCC on blocks of any length",
    question=("How often does a network give GCC's order of 2 to 64 instructions, and which changes helped?"),
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
    sections=("comparison",),
    answer=(
        Sentence(
            "imitation_5_exact",
            "On fresh blocks of five instructions, the network gives exactly GCC's order in {} of the cases",
        ),
        Sentence(
            "imitation_4_40_exact",
            "On 4 to 40 instructions, it does so in {}",
        ),
        Sentence(
            "imitation_programs_exact",
            "In other programs, it does so in {}",
        ),
    ),
)
