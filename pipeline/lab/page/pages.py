"""The report's pages. Each has a folder of its name beside this file, and becomes Markdown and HTML."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """A page. Links to it show its title or short name; the front page also shows the question that it answers."""

    name: str
    short: str
    title: str
    question: str
    experiments: tuple[str, ...]  # shown on the page; only those in params.yaml's `report` run by default


PAGES = (  # the first one links to all further pages
    Page(
        "index",
        "front page",
        "Learned schedulers: three papers, built again and measured",
        "What does each of three published schedulers reach if it is built again and measured beside simple methods?",
        (),  # it has the experiments of all further pages
    ),
    Page(
        "reproduction",
        "reproduction",
        "POCSNet's tables, reproduced on real GCC 4.9 code",
        "Do the paper's Table 1, Table 2 and Figure 3 hold on real machine code?",
        ("quick", "paper", "trials", "processor_kinds"),
    ),
    Page(
        "operator",
        "projection",
        "Projecting onto the dependencies",
        "Does a network learn better with the projection, what does each method of projection cost, and which decoder "
        "makes the best order of a soft permutation?",
        ("operator_learning", "operator_learning_attribution", "operator_speed", "operator_decoding", "baseline_price"),
    ),
    Page(
        "imitation",
        "imitation",
        "Imitating GCC on blocks of any length",
        "How often does a network give GCC's order of 2 to 64 instructions, which changes helped, which bounds hold "
        "for any network, and what do its wrong orders have in common?",
        (
            *("imitation", "imitation_shipped", "imitation_speed", "imitation_ablation", "imitation_scaling"),
            *("imitation_transfer", "imitation_ideas", "imitation_evidence", "imitation_input"),
        ),
    ),
    Page(
        "processors",
        "processors",
        "Orders for a processor",
        "Which scheduler needs the fewest cycles by a processor model, how long does it take, how well do the fast "
        "models agree with llvm-mca, and do the results hold on real hardware?",
        (
            *(
                "processors",
                "processors_speed",
                "processors_speed_zen4",
                "schedulers",
                "processor_agreement",
                "processor_deviations",
            ),
            *("hardware", "hardware_znver4", "hardware_zen4"),
        ),
    ),
    Page(
        "own_code",
        "own code",
        "Ordering your own code: what it is worth, and what the order of memory costs",
        "Is a user's file still right after its blocks were ordered, how many cycles do the orders save by models of "
        "processors, what does the order of memory cost that other threads see, and how fast is the command?",
        ("own_cycles", "own_speed", "own_blocks", "own_assembly", "own_mutations", "own_generated"),
    ),
    Page(
        "devices",
        "devices",
        "Computation graphs on several devices",
        "Which method schedules the operations of neural networks on several devices best, on the proxy and on targets "
        "that differ from it, how near is it to the optimum, and do the results hold on a real machine?",
        (
            *("devices", "devices_quick", "device_trials", "slot_trials"),
            *("this_machine", "graph_method_speed", "simulator_speed"),
        ),
    ),
    Page(
        "policies",
        "GFlowNets",
        "Policies that build schedules: GFlowNets",
        "Does a GFlowNet find better schedules than simple methods with the same budget if the target differs from the "
        "proxy, are its schedules more diverse, does it draw them in proportion to their reward, and does it work on "
        "unseen graphs?",
        (
            *("gflownet", "gflownet_uniform", "gflownet_large", "gflownet_one_graph", "gflownet_small_graph"),
            *("policy_trials", "exact_flow", "environment_speed", "sampling_speed"),
        ),
    ),
    Page(
        "placement",
        "GO's placement",
        "Whole graphs placed and ordered: GO",
        "Does one network that places and orders whole graphs beat experts, peers and random moves, what does it "
        "learn, does it work on unseen graphs, and how large may a graph be?",
        (
            *("placement", "placement_two", "placement_eight", "placement_ablations", "placement_transfer"),
            *("placement_node_by_node", "this_machine_placed", "placing_speed", "whole_graph_scale", "cost_model"),
            "workload_splits",
        ),
    ),
    Page(
        "fusion",
        "fusion",
        "Operations fused: GO's third task, a real compiler, data collection",
        "Does a network that chooses which operations run as one kernel beat the rules of compilers, does this hold "
        "if a real compiler runs its choices, and what are many simultaneous environments and fused steps worth?",
        ("fusion", "fusion_joint", "fusion_development", "inductor", "xla_fusions", "data_collection", "fusion_cost"),
    ),
    Page(
        "corpus",
        "corpus",
        "The code and its dependencies",
        "Which blocks do the networks learn from, do all orders that the dependencies allow compute the same, and "
        "how fast is machine code read?",
        ("dag_verification", "ingest"),
    ),
    Page(
        "scale",
        "scale",
        "From one machine to many",
        "How do time and memory grow up to 30 million blocks on one machine, and what would a billion blocks and a "
        "million graphs take on how many nodes? Does a cluster give the same numbers, does a fault change one?",
        ("blocks_scale", "graphs_stored", "cluster", "faults"),
    ),
)
FILES = tuple(f"{page.name}.{kind}" for page in PAGES for kind in ("html", "md"))
EXPERIMENTS = (
    *(name for page in PAGES for name in page.experiments),
    "newcomer",
    "start_up",
)  # the last two have claims alone
