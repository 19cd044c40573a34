"""The report's pages: each is a folder of its name beside this file, and becomes Markdown and HTML."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """A page; links to it say its title, and the first page's contents also the question that it answers."""

    name: str
    title: str
    question: str
    experiments: tuple[str, ...]  # shown there; run only when asked for, but those of the report itself


PAGES = (  # the first lists the others
    Page(
        "index",
        "Learned schedules of real GCC 4.9 code: POCSNet's tables, reproduced",
        "Do the paper's Table 1, Table 2 and Figure 3 hold on real machine code?",
        ("quick", "paper", "trials", "processor_kinds"),
    ),
    Page(
        "operator",
        "Projecting onto the dependencies",
        "Does a network learn better with the projection, what does each way of projecting cost, and how does a soft "
        "assignment best become an order?",
        ("operator_learning", "operator_learning_attribution", "operator_speed", "operator_decoding", "baseline_price"),
    ),
    Page(
        "imitation",
        "Imitating GCC on blocks of any length",
        "How often does a network give GCC's order of 2 to 64 instructions, what helped and what did not, how far can "
        "any network come, and what do its wrong orders have in common?",
        (
            *(
                "imitation",
                "imitation_shipped",
                "imitation_speed",
                "imitation_ablation",
                "imitation_scaling",
                "imitation_transfer",
            ),
            *("imitation_ideas", "imitation_evidence", "imitation_input"),
        ),
    ),
    Page(
        "processors",
        "Orders for a processor",
        "Which scheduler needs the fewest cycles by a model of the processor, in how much time, how well do the fast "
        "models agree with llvm-mca, and does it hold on real hardware?",
        (
            *("processors", "processors_speed", "processors_speed_zen4", "schedulers", "processor_agreement"),
            *("hardware", "hardware_znver4", "hardware_zen4"),
        ),
    ),
    Page(
        "devices",
        "Computation graphs on several devices",
        "Which method schedules the operations of neural networks on several devices best, on what it sees and on "
        "targets that differ from it, how near the optimum is it, and does it hold on a real machine?",
        (
            *("devices", "devices_quick", "device_trials", "slot_trials"),
            *("this_machine", "graph_method_speed", "simulator_speed"),
        ),
    ),
    Page(
        "policies",
        "Policies that build schedules: GFlowNets",
        "Does a GFlowNet find better schedules than simple methods with the same budget where the target differs from "
        "what it sees, are its schedules more diverse, does it draw what it promises, and does it carry over to graphs "
        "that it has not seen?",
        (
            *("gflownet", "gflownet_uniform", "gflownet_large", "gflownet_one_graph", "gflownet_small_graph"),
            *("policy_trials", "exact_flow", "environment_speed", "sampling_speed"),
        ),
    ),
    Page(
        "placement",
        "Whole graphs placed and ordered: GO",
        "Does one network that places and orders whole graphs beat experts, peers and random moves, what does it "
        "learn, does it carry over to graphs that it has not seen, and how large may a graph be?",
        (
            *("placement", "placement_two", "placement_eight", "placement_ablations", "placement_transfer"),
            *("placement_node_by_node", "this_machine_placed", "placing_speed", "whole_graph_scale", "cost_model"),
            "workload_splits",
        ),
    ),
    Page(
        "fusion",
        "Operations fused: GO's third task, a real compiler, data collection",
        "Does a network that chooses which operations run as one kernel beat the rules of compilers, does that hold "
        "where a real compiler runs its choices, and what are many environments at once and fused steps worth?",
        ("fusion", "fusion_joint", "fusion_development", "inductor", "xla_fusions", "data_collection", "fusion_cost"),
    ),
    Page(
        "corpus",
        "The code and its dependencies",
        "Which blocks were learned from, do all orders that the dependencies allow compute the same, and how fast is "
        "machine code read?",
        ("dag_verification", "ingest"),
    ),
)
FILES = tuple(f"{page.name}.{kind}" for page in PAGES for kind in ("html", "md"))
