"""Programs by Csmith (Yang, Chen, Eide, Regehr, 2011), which computes and prints a checksum of all its variables."""

from __future__ import annotations

from pathlib import Path

from benchmarks.own_generated.building import Program, tool
from benchmarks.own_generated.compiling import compiled, options, position
from benchmarks.own_generated.straight import Draw
from learned_schedulers.blocks.dag.memory_order import MemoryOrder

_FEATURES = ("packed-struct", "volatiles", "unions", "math64", "jumps", "inline-function", "bitfields", "divs", "float",
             "builtins", "arrays", "structs", "volatile-pointers", "consts")  # fmt: skip
_USUAL = {"float": 0.3, "builtins": 0.3, "arrays": 0.95, "structs": 0.9}  # probability that a feature is on


def generate(draw: Draw, folder: Path, memory: MemoryOrder) -> Program:
    """A program. Raises Unbuilt if Csmith or the compiler fails."""
    switched = {name: draw.chance(_USUAL.get(name, 0.8)) for name in _FEATURES}
    words = [f"--{'' if on else 'no-'}{name}" for name, on in switched.items()]
    words += ["--max-funcs", str(draw.number(5, 16)), "--max-block-depth", str(draw.number(2, 5))]
    words += ["--seed", str(draw.number(0, 1 << 31)), "--concise", "-o", "source.c"]
    tool(["csmith", *words], folder, "csmith")
    linked = position(draw)
    result = compiled(folder / "source.c", options(draw, linked), ["-I/usr/include/csmith"])
    constructs = result.constructs | {f"csmith_{name.replace('-', '_')}" for name, on in switched.items() if on}
    text = (folder / "source.c").read_text()
    described = " ".join(["csmith", *words, ";", *result.words])
    return Program("csmith", result.text, ("gcc", linked, "-lm"), memory, constructs, described, {"source.c": text})
