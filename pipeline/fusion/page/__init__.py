"""The page `fusion`: its tables, figures and template."""

from pipeline.lab.page.pages import Page

PAGE = Page(
    place=9,
    name="fusion",
    short="fusion",
    title="Operations fused: GO's third task, a real compiler, data collection",
    question=(
        "Does a network that chooses which operations run as one kernel beat the rules of compilers, does this "
        "hold if a real compiler runs its choices, and what are many simultaneous environments and fused steps "
        "worth?"
    ),
    experiments=(
        "fusion",
        "fusion_joint",
        "fusion_development",
        "inductor",
        "xla_fusions",
    ),
    sections=(
        "pictures",
        "answers",
        "plans",
        "learning",
        "compiler",
    ),
)
