"""The page `fusion`: its tables, figures and template."""

from pipeline.lab.page.pages import Page, Sentence

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
    answer=(
        Sentence(
            "go_gain_fusion_v100",
            "On a V100's roofline, learned fusion saves {} of the time without fusion",
        ),
        Sentence(
            "go_gain_fusion_v100_over_priority",
            "Against priority fusion, XLA's rule on GPUs, it saves {}",
        ),
        Sentence(
            "go_gain_all_tasks",
            "Placement, order and fusion together save {} against HEFT without fusion on four V100",
        ),
        Sentence(
            "go_gain_fusion",
            "On this CPU, where no fusion at all costs 1.6%, it saves {} of the time of the best rules of compilers",
        ),
        Sentence(
            "go_gain_fusion_over_untaught",
            "Against the same search without learning, it saves {}",
        ),
        Sentence(
            "inductor_gain_learned",
            "In a real compiler, TorchInductor, what was learned saves {} of the default's run time",
        ),
    ),
)
