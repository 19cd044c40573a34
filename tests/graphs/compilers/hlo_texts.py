"""HLO texts, written by hand, and the decisions of our rule of XLA's fusion on them."""

from __future__ import annotations

from learned_schedulers.graphs.compilers.hlo import Computation, parse
from learned_schedulers.graphs.compilers.xla_cpu import fusions
from learned_schedulers.graphs.compilers.xla_decisions import Answer, answers

FUSED, SEPARATE, BOTH = "fused", "separate", "both"
ADDITION = "sum {\n  l = f32[] parameter(0)\n  r = f32[] parameter(1)\n  ROOT s = f32[] add(l, r)\n}\n"


def text(*lines: str) -> str:
    """A module with a computation that adds, and these lines as its entry."""
    return f"HloModule written\n\n{ADDITION}\nENTRY main {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def entry(*lines: str) -> Computation:
    return parse(text(*lines)).computations["main"]


def decided(*lines: str) -> dict[str, Answer]:
    """`operand reader` -> decision of our rule."""
    return {f"{operand} {reader}": answer for (operand, reader), answer in answers(fusions(entry(*lines))).items()}


def refused(*lines: str) -> dict[str, str]:
    return {f"{operand} {reader}": why for (operand, reader), why in fusions(entry(*lines)).refusals.items()}
