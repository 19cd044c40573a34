"""The page `fusion`: its tables, figures and template."""

from pipeline.lab.page.pages import Page

PAGE = Page(
    place=10,
    name="fusion",
    short="fusion",
    title="Operations fused: GO's third task, and a real compiler",
    question=(
        "Does a network that chooses which operations run as one kernel beat the rules of compilers, and does this "
        "hold if a real compiler runs its choices?"
    ),
    experiments=(
        "fusion",
        "fusion_accelerators",
        "fusion_on_gpu",
        "fusion_joint",
        "fusion_development",
        "inductor",
        "xla_fusions",
    ),
    sections=(
        "pictures",
        "answers",
        "plans",
        "gpu",
        "learning",
        "compiler",
    ),
)
