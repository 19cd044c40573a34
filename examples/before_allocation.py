"""A transform in LLVM's intermediate code, whose values need more registers than there are, in a better order.

    python examples/before_allocation.py             # some seconds; Linux on x86-64

A Walsh-Hadamard transform of 64 doubles with a factor in each butterfly, as generators of code write it: straight, one
stage behind the other. In that order all 64 values are alive at once, and LLVM's default spills many. The command
compiles 300 other orders, and prints instructions, spills and reloads before and after.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path

HEAD = 'target triple = "x86_64-pc-linux-gnu"\ndefine void @transform(ptr noalias %in, ptr noalias %out) {\n'


def transform(size: int) -> str:
    """Intermediate code of the transform of so many doubles, a power of two."""
    lines: list[str] = []

    def value(text: str) -> str:
        lines.append(f"  %v{len(lines)} = {text}")
        return f"%v{len(lines) - 1}"

    def place(array: str, i: int) -> str:
        return value(f"getelementptr inbounds double, ptr %{array}, i64 {i}")

    values = [value(f"load double, ptr {place('in', i)}, align 8") for i in range(size)]
    distance = size // 2
    while distance:
        for i in (i for i in range(size) if not i & distance):
            first, second = values[i], value(f"fmul double {values[i + distance]}, {1 + (i + 1) / 64:.6e}")
            values[i] = value(f"fadd double {first}, {second}")
            values[i + distance] = value(f"fsub double {first}, {second}")
        distance //= 2
    stores = [f"  store double {each}, ptr {place('out', i)}, align 8" for i, each in enumerate(values)]
    return HEAD + "\n".join([*lines, *stores, "  ret void\n}\n"])


def main() -> None:
    """Write the transform, order it, and show what the command says."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=64, help="doubles, a power of two")
    parser.add_argument("--evaluations", type=int, default=300, help="orders that are compiled")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "transform.ll"
        source.write_text(transform(options.size))
        words = ["order", "transform.ll", "-o", "transform.o", "--evaluations", str(options.evaluations)]
        command = [sys.executable, "-m", "learned_schedulers.command.main", *words]
        sys.exit(subprocess.run(command, cwd=folder, check=False).returncode)


if __name__ == "__main__":
    main()
