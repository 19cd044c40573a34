"""A control: a program in the place of the assembler that breaks one dependency of a kind in each block that has one.

    python -m benchmarks.own_projects.broken memory|flags ARGUMENT...

It shows whether a project's suite sees a wrong order. Apart from the broken dependency, a block gets a random order
that is legal for one thread. A block without such a dependency stays as it is.
"""

from __future__ import annotations

import sys

from benchmarks.own_blocks import Control
from learned_schedulers.blocks.dag.dependencies import Kind
from learned_schedulers.blocks.read import assembly_file
from learned_schedulers.blocks.read.unreadable import Unreadable
from learned_schedulers.wrapper import assembler

KINDS = {
    "memory": Kind.MEMORY_RAW | Kind.MEMORY_WAR | Kind.MEMORY_WAW,
    "flags": Kind.FLAG_RAW,
}


def broken(text: bytes, kinds: Kind) -> bytes:
    """A text with one dependency of these kinds reversed in each block that has one."""
    try:
        document = assembly_file.read(text, "the compiler's text")
    except Unreadable:
        return text
    return document.rewritten(Control().orders("broken", document.blocks, 0, kinds))


if __name__ == "__main__":
    sys.exit(assembler.main(sys.argv[1:], lambda text, kind, _: broken(text, KINDS[kind])))
