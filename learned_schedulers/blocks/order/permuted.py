"""A block's bytes in another order, as a file holds them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learned_schedulers.blocks.dag.memory_order import Mark
from learned_schedulers.blocks.read.document import CodeBlock
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.reorder import reordered


def permuted(block: CodeBlock, order: Sequence[int], forms: Forms) -> bytes | None:
    """The bytes; rip-relative operands keep their targets, and what the linker fills in stays as it is.

    None if a displacement does not fit.
    """
    read = forms.read([block.code])
    facts = forms.facts[read.decoded.form]
    moved, fits = reordered(read.code, read.begin, read.decoded, forms.facts, np.asarray(order))
    starts = np.r_[0, np.cumsum(facts["length"].astype(np.int64))].tolist()
    written, position = bytearray(moved.tobytes()), 0
    for i in order:
        length = int(facts["length"][i])
        if block.marks[i] & Mark.LINKED:
            written[position : position + length] = block.code[starts[i] : starts[i] + length]
        position += length
    return bytes(written) if fits[0] else None
