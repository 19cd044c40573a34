"""The page `policies`: its tables, figures and templates."""

from pipeline.lab.page.pages import Page

PAGE = Page(
    place=8,
    name="policies",
    short="GFlowNets",
    title="Policies that build schedules: GFlowNets",
    question=(
        "Does a GFlowNet find better schedules than simple methods with the same budget if the target differs "
        "from the proxy, are its schedules more diverse, does it draw them in proportion to their reward, and "
        "does it work on unseen graphs?"
    ),
    experiments=(
        "gflownet",
        "gflownet_paper_sizes",
        "gflownet_uniform",
        "gflownet_large",
        "gflownet_one_graph",
        "gflownet_small_graph",
        "exact_flow",
        "environment_speed",
        "sampling_speed",
    ),
    sections=(
        "answers",
        "paper_sizes",
        "paper_tables",
        "gains",
        "temperature",
        "generalisation",
        "training",
        "exactness",
    ),
)
