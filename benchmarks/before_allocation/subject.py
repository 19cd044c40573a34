"""A function of the sets, ready to be compiled in other orders, compared and measured."""

from __future__ import annotations

from pathlib import Path

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.dependencies import precedes
from learned_schedulers.blocks.before_allocation.effects import Effects
from learned_schedulers.blocks.before_allocation.functions import functions
from learned_schedulers.blocks.before_allocation.subject import Subject


def subject(path: Path) -> Subject:
    """The subject in a file of a single function: its largest block is ordered. Raises LlvmError."""
    code = llvm.read(path.read_bytes(), path.name)
    (function,) = functions(code.text)
    block = max((each for each in function.blocks if not each.left_alone), key=lambda each: len(each.items))
    before = precedes(block, Effects(code.text), function.name, code.apart)
    return Subject(path.stem, code.text, function, block, before)
