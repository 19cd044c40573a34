"""Names in tables and figures, and their sequence.

The name of a method of ours stands with its settings (`title`), those of variants, sets and others' methods in the
chapters' pages (`names`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from learned_schedulers.blocks import method_settings as block_settings
from learned_schedulers.graphs import method_settings as graph_settings
from learned_schedulers.graphs.models.fusing import settings as fusion_settings
from learned_schedulers.projects import method_settings as project_settings
from pipeline.lab.page.pages import declared_names

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


@cache
def _titles() -> dict[str, str]:
    """Method -> its name for people: that of the class of its settings.

    Those of fusion are called by their files, because graphs have methods of the same names.
    """
    return {
        (settings.file or method) if module is fusion_settings else method: settings.title
        for module in (block_settings, graph_settings, fusion_settings, project_settings)
        for method, settings in module.CLASSES.items()
        if settings.title
    }


def label(method: str) -> str:
    """A method's or model's name in the paper's form: `popocs_20` -> `POPOCS @20`, `heft_long` -> `HEFT, long`."""
    titles = _titles() | declared_names()
    if method in titles:
        return titles[method]
    for suffix, text in _SUFFIXES.items():
        if method.endswith(suffix):
            return label(method.removesuffix(suffix)) + text
    return spelt(method).capitalize()


def set_label(name: str) -> str:
    """A set's name: `only_qtgui` -> `qtgui alone`."""
    if name.startswith("only_"):
        return f"{name.removeprefix('only_')} alone"
    return declared_names().get(name, spelt(name))


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
