"""The page `policies`: its tables, figures and templates."""

from pipeline.lab.page.numbers import points
from pipeline.lab.page.pages import Page, Sentence

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
        "paper_sizes",
        "answers",
        "paper_tables",
        "gains",
        "temperature",
        "generalisation",
        "training",
        "exactness",
    ),
    answer=(
        Sentence(
            "brkga_paper_sizes_gain_over_list_bandwidth",
            "In the paper GFlowNets and BRKGA beat list scheduling on slow links; here neither does, BRKGA saves {} of "
            "its time: so this is not yet the paper's test bed",
        ),
        Sentence(
            "gflownet_paper_sizes_gain_over_list_bandwidth_as_in_paper",
            "Trained as in the paper, on graphs of its sizes and slow links, it saves {} of list scheduling's time",
        ),
        Sentence(
            "gflownet_paper_sizes_gain_over_randomised_list_latency",
            "Told drawn links, with equal transfers, it saves {} of the time of randomised list scheduling",
        ),
        Sentence(
            "gflownet_diversity_over_ppo",
            "The share of chain edges in which its schedules differ is, beside PPO's, {}",
            points,
        ),
    ),
)
