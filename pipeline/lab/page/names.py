"""Names in tables and figures, and their sequence."""

from __future__ import annotations

import re
from collections.abc import Iterable

_METHODS = {
    "gcc": "GCC",
    "cp_sat": "CP-SAT",
    "cp_sat_alone": "CP-SAT alone",
    "milp": "MILP",
    "search_mcmc": "Search MCMC",
    "heft": "HEFT",
    "metis": "METIS",
    "brkga": "BRKGA",
    "brkga_on_target": "BRKGA on target",
    "ppo": "PPO",
    "gflownet": "GFlowNet",
    "gflownet_cold": "GFlowNet, colder",
    "gflownet_warm": "GFlowNet, warmer",
    "gflownet_hot": "GFlowNet, hot",
    "gflownet_uniform": "GFlowNet, uniform P_B",
    "gflownet_drawn": "GFlowNet, told drawn targets",
    "gflownet_larger_drawn": "GFlowNet, larger graphs",
    "gflownet_on_target": "GFlowNet on target",
    "gflownet_every_step": "GFlowNet, reads every step",
    "cp_sat_quick": "CP-SAT, a tenth of the time",
    "expert_layers": "Expert, equal layers",
    "expert_balanced": "Expert, equal compute time",
    "expert_published": "Expert, as published",
    "expert_graph_order": "Expert, equal layers, order of the graph",
    "placed_list": "List scheduling, repaired",
    "decision_annealing": "Annealing of GO's decisions",
    "hdp": "HDP",
    "doppler": "DOPPLER",
    "go_taught": "GO, taught",
    "go_tuned": "GO, tuned",
    "go": "GO",
    "go_open": "GO, from nothing decided",
    "go_untaught_open": "GO untaught, from nothing decided",
    "programme": "Dynamic programming",
    "go_separate": "GO, first placement, then priorities",
    "go_priority": "GO, priorities alone",
    "go_no_attention": "GO without attention",
    "go_no_modulation": "GO without modulation",
    "go_no_recurrent_layers": "GO without recurrent layers",
    "go_no_rounds": "GO without rounds of refinement",
    "separate": "No fusion",
    "loop_fusion": "XLA's loop fusion (CPU)",
    "xla_2023": "XLA's passes of 2023",
    "priority_fusion": "Priority fusion (XLA today)",
    "xla_cpu": "Our rule of XLA's fusion",
    "every_loop": "Every loop into every loop",
    "fusion_climbing": "Hill climbing of levels",
    "fusion_annealing": "Annealing of levels",
    "go_fusion": "GO's fusion",
    "go_joint": "GO, all three tasks together",
    "go_joint_separate": "GO, one task after the other",
    "go_joint_placement": "GO, fusion of the best default",
    "go_joint_untaught": "GO untaught, together",
    "control": "Default again (control)",
    "eager": "Eager, not compiled",
    "forbid_all": "Fusion forbidden",
    "traffic": "Largest shared results first",
    "gymnasium": "Gymnasium, one by one",
    "gymnasium_vector": "Gymnasium, its vector entry point",
    "numpy": "NumPy",
    "numba": "numba",
    "numba_blocks": "numba, blocks of environments",
    "torch": "torch, eager",
    "torch_compiled": "torch.compile",
    "torch_gpu": "torch, eager, on a GPU",
    "torch_compiled_gpu": "torch.compile, on a GPU",
    "jax": "jax.jit",
    "jax_eager": "jax, eager",
    "jax_scan": "jax.jit, scan",
    "jax_scan_unrolled": "jax.jit, scan unrolled",
    "shortest_first": "Shortest processing time",
    "best_rule": "Best of eight rules",
    "randomised_rules": "Best rule, randomised, 512 schedules",
    "job_shop_policy": "Policy, one greedy schedule",
    "job_shop_policy_512": "Policy, 512 schedules",
    "baseline": "One array, actions drawn in the loop (baseline)",
    "no_concatenation": "Separate arrays",
    "random_outside": "Separate arrays, actions drawn outside",
}
_PLACED = "placed_"  # methods whose placements are repaired
_SAGA = "saga_"  # schedulers of SAGA
_SUFFIXES = {  # of methods that differ in one thing from the method without it
    "_long": ", long",
    "_short": ", short",
    "_zero_shot": ", zero shot",
    "_fine_tuned": ", fine tuned",
    "_untaught": " untaught",
}
DECODERS = {  # from simple to thorough
    "greedy": "greedy",
    "beam": "beam search",
    "hungarian": "Hungarian",
    "hungarian_scipy": "Hungarian, scipy in a loop",
    "topological": "topological fill",
    "expected_slots": "expected slots",
    "best": "best legal order",
    "sample": "one sample",
    "timed": "fastest drawn",
    "none": "-",
}
METRICS = {  # headings
    "exact_match": "Exact match",
    "exact_match_multi_order": "Exact, multi-order",
    "slot_accuracy": "Slot accuracy",
    "kendall_tau_distance": "Kendall tau distance",
    "violations_per_block": "Violations per block",
    "valid_share": "Valid",
    "loop_time": "Time without library calls",
    "kernels": "Kernels",
    "moved_bytes": "Bytes moved",
    "steps_per_second": "Million steps per second",
}
SETS = {
    "test_5": "5 instructions",
    "test_10_40": "10 to 40 instructions",
    "development_10_40": "development, 10 to 40 instructions",
    "fresh_10_40": "fresh, 10 to 40 instructions",
    "fresh_5": "fresh, 5 instructions",
    "fresh_4_40": "fresh, 4 to 40 instructions",
    "fresh_imitated_programs_4_40": "fresh, 4 to 40 instructions, other programs",
    "fresh_guess_10_40": "fresh blocks of 10 to 40 instructions",
    "fresh_programs_10_40": "fresh, 10 to 40 instructions, other programs",
    "test_4_40": "4 to 40, same programs",
    "test_programs_4_40": "4 to 40, other programs",
    "latency_development": "development, 4 to 40, Qt 5.6",
    "development": "development, Qt 5.6",
    "development_programs": "development, ffprobe",
    "compiled_test": "GCC 7.3, order before scheduling",
    "shuffled_test": "GCC 7.3, random order",
    "unseen_real": "unseen real graphs, 25 to 1,000 operations",
    "paper_sizes": "unseen real graphs, 12 to 128 operations",
    "unseen_small": "unseen graphs of up to 50 operations",
    "unseen_synthetic": "unseen synthetic graphs, 50 operations",
    "unseen_large": "unseen synthetic graphs, 1,000 operations",
    "one_graph": "one part of NASNet, 76 to 80 operations",
    "one_small_graph": "one part of NASNet, 20 to 25 operations",
    "profiled_bert": "profiled BERT, four devices of 0.63 GB",
    "profiled_resnet": "profiled ResNet-50, fourteen devices of 2.1 GB",
    "placement_unseen": "unseen graphs of up to 2,000 operations",
    "placement_unseen_larger": "unseen graphs of more than 2,000 operations",
    "placement_small": "graphs of 100 to 500 operations",
    "fusion_unseen": "whole unseen graphs",
    "fusion_unseen_parts": "small parts of unseen graphs",
    "fusion_development": "whole development graphs",
    "psplib_j30": "PSPLIB, 30 activities",
    "psplib_j60": "PSPLIB, 60 activities",
    "classical": "classical job-shops",
    "taillard": "Taillard's job-shops",
    "all": "all",
    "quick_real": "real development graphs, a few",
    "quick_synthetic": "synthetic graphs, a few",
}


def label(method: str) -> str:
    """A method's or model's name in the paper's form: `popocs_20` -> `POPOCS @20`."""
    head, _, tail = method.partition("_")
    if head == "popocs":
        return f"POPOCS @{tail}" if tail.isdigit() else f"POPOCS {tail}".rstrip()
    if method in _METHODS:
        return _METHODS[method]
    for suffix, text in _SUFFIXES.items():
        if method.endswith(suffix):
            return label(method.removesuffix(suffix)) + text
    if method.startswith(_SAGA):
        words = method.removeprefix(_SAGA)
        return f"SAGA, {words.upper() if len(words) <= 4 else spelt(words)}"  # the short ones are abbreviations
    if method.startswith(_PLACED):
        return f"{label(method.removeprefix(_PLACED))}, repaired"
    return spelt(method).capitalize()


def set_label(name: str) -> str:
    """A set's name: `only_qtgui` -> `qtgui alone`."""
    if name.startswith("only_"):
        return f"{name.removeprefix('only_')} alone"
    return SETS.get(name, spelt(name))


def decoder_label(name: str) -> str:
    """A decoder's name: `timed` -> `fastest drawn`."""
    return DECODERS.get(name, spelt(name))


def with_decoder(method: str, decoder: str) -> str:
    """A method's name, with its decoder if it has one."""
    return label(method) + (f", {decoder_label(decoder)}" if decoder != "none" else "")


def spelt(name: str) -> str:
    """The name with spaces: `cross_block` -> `cross block`."""
    return name.replace("_", " ")


def mode(name: str) -> str:
    """A kind of dependencies, as code."""
    return f"`{name}`"


def natural(name: object) -> list[tuple[int, int | str]]:
    """Sort key that puts 2 before 10."""
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", str(name)) if part]


def in_order(names: Iterable[str], first: Iterable[str]) -> list[str]:
    """Each name once: first those of `first` in their sequence, then others by name, 2 before 10 and `all` last."""
    present, before = set(names), list(dict.fromkeys(first))
    rest = sorted(present - set(before), key=lambda name: (name == "all", natural(name)))
    return [name for name in before if name in present] + rest
