"""Processors that a user may name, and the one that is nearest to the computer at hand."""

from __future__ import annotations

from typing import Literal, get_args

import llvmlite.binding as llvm

Target = Literal["atom", "silvermont", "btver2", "haswell", "skylake", "znver4"]
TARGETS: tuple[Target, ...] = get_args(Target)
FUSING: tuple[Target, ...] = ("haswell", "skylake", "znver4")  # they decode a comparison and its jump as one micro-op
# LLVM's names of processors without a model here -> the model of the nearest relative.
_NEAREST: dict[str, Target] = {
    "bonnell": "atom",
    "slm": "silvermont",
    "goldmont": "silvermont",
    "goldmont-plus": "silvermont",
    "tremont": "silvermont",
    "btver1": "btver2",
    "ivybridge": "haswell",
    "broadwell": "haswell",
    **dict.fromkeys(
        ("skylake-avx512", "cascadelake", "cooperlake", "cannonlake", "icelake-client", "icelake-server"), "skylake"
    ),
    **dict.fromkeys(("rocketlake", "tigerlake", "alderlake", "raptorlake", "meteorlake"), "skylake"),
    **dict.fromkeys(("sapphirerapids", "emeraldrapids", "graniterapids"), "skylake"),
    **dict.fromkeys(("znver1", "znver2", "znver3", "znver5"), "znver4"),
}


def of_host() -> Target:
    """The model of this computer's processor, or of its nearest relative. Raises ValueError if there is none."""
    name = llvm.get_host_cpu_name()
    for target in TARGETS:
        if name == target:
            return target
    if name not in _NEAREST:
        raise ValueError(f"--for host: no model for this processor ({name}); name one of {', '.join(TARGETS)}")
    return _NEAREST[name]
