"""Colours and marks of all figures: a method has one colour everywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any
from zlib import crc32

# Colour-blind readers tell them apart: those of Okabe & Ito (2008), then some of Tol's muted ones.
BLUE, VERMILION, GREEN, PINK, AMBER, SKY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"
INDIGO, WINE, OLIVE, PURPLE, GREY, INK = "#332288", "#882255", "#999933", "#aa4499", "#8a8a8a", "#222222"
PALETTE = (BLUE, VERMILION, GREEN, PINK, AMBER, SKY, INDIGO, WINE, OLIVE, PURPLE)
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*", "p", "h")
# Methods, or how the names of several begin: ours are blue, with two further blues for their controls and variants;
# references are grey.
_METHODS = {
    BLUE: "go gflownet popocs nearest first_guess learned attention_pointer job_shop_policy_512",
    SKY: "go_untaught go_fusion_untaught gflownet_larger_drawn popocs_20 popocs_cyclic cyclic policy imitator "
    "attention_pointer_alone unprojected_slots job_shop_policy",
    INDIGO: "go_taught go_fusion_zero_shot gflownet_drawn popocs_extrapolated extrapolated learned_machines fine_tuned "
    "attention_pointer_following projected_slots",
    GREY: "random random_legal random_valid input_order gcc list_scheduling one_device round_robin expert separate "
    "control cvxpylayers_moreau",
    VERMILION: "hdp sinkhorn search evolution",
    GREEN: "heft placed_heft critical_path list priority_fusion shortest_first",
    AMBER: "go_tuned randomised_list randomised_pressure_list randomised_rules xla_2023 cyclic_loop",
    PINK: "annealing decision_annealing placed_annealing fusion_annealing moves gflownet_uniform qpth best_rule",
    WINE: "ppo doppler contiguous",
    OLIVE: "metis placed_metis node_by_node traffic most_work_remaining linsatnet",
    PURPLE: "cp_sat milp",
    INK: "brkga placed_brkga best cvxpylayers",
}
_COLOURS = {name: tint for tint, names in _METHODS.items() for name in names.split()}


def colour(method: str) -> str:
    """The colour of a method or model in all figures: that of the longest beginning of its name that has one."""
    parts = method.split("_")
    beginnings = ("_".join(parts[:length]) for length in range(len(parts), 0, -1))
    other = PALETTE[1 + crc32(method.encode()) % (len(PALETTE) - 1)]  # blue is ours
    return next((_COLOURS[name] for name in beginnings if name in _COLOURS), other)


def styles(names: Sequence[str], methods: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """Colour and mark of every method; each pair is unique. methods: those of the names, where names are others."""
    return _marked({name: colour(method) for name, method in zip(names, methods or names, strict=True)})


def series(names: Iterable[Any]) -> dict[Any, dict[str, Any]]:
    """Colour and mark of lines that are no methods, such as devices and seeds, by their place."""
    return _marked(dict(zip(names, cycle(PALETTE), strict=False)))


def _marked(tints: Mapping[Any, str]) -> dict[Any, dict[str, Any]]:
    marks, every = Counter[str](), {}
    for name, tint in tints.items():
        first = PALETTE.index(tint) if tint in PALETTE else 0
        every[name] = {"color": tint, "marker": _MARKS[(first + marks[tint]) % len(_MARKS)]}
        marks[tint] += 1
    return every
