"""Which blocks are run: an equal share of every source, instruction class and length, as far as there are enough."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from iced_x86 import Code_, Decoder, EncodingKind, Instruction, OpCodeInfo, RflagsBits

from pipeline.blocks.dag.opcodes import opcode

# From the most common to the rarest; a block belongs to the last that one of its instructions belongs to.
CLASSES = ("integer", "flags", "SSE", "AVX", "x87/MMX", "string")
LENGTHS = ("2-4", "5-8", "9-16", "17-32", "33-64")
_LENGTH_ENDS = (4, 8, 16, 32)
_VECTOR_ENCODINGS = (EncodingKind.VEX, EncodingKind.EVEX, EncodingKind.XOP)


@cache
def _class(code: Code_) -> int:
    template = Instruction()
    template.code = code
    info, found = OpCodeInfo(code), opcode(code)
    if template.is_string_instruction:
        return CLASSES.index("string")
    if found.is_x87 or " mm" in found.text or ",mm" in found.text.replace(" ", ""):
        return CLASSES.index("x87/MMX")
    if info.encoding in _VECTOR_ENCODINGS and found.is_vector:
        return CLASSES.index("AVX")
    if found.is_vector:
        return CLASSES.index("SSE")
    return CLASSES.index("flags") if template.rflags_read & ~RflagsBits.DF else CLASSES.index("integer")


def instruction_class(code: bytes) -> str:
    """The class of a block's rarest instruction, in the sequence of CLASSES."""
    return CLASSES[max((_class(instruction.code) for instruction in Decoder(64, code)), default=0)]


def length_class(n_instructions: int) -> str:
    """The bin of LENGTHS that a number of instructions falls into."""
    return LENGTHS[int(np.searchsorted(_LENGTH_ENDS, n_instructions))]


def fill(sizes: list[int], total: int) -> list[int]:
    """Shares of at most `sizes`, as equal as possible, that add up to `total` (or to all there is)."""
    shares = [0] * len(sizes)
    left = min(total, sum(sizes))
    while left:
        open_ = [i for i, size in enumerate(sizes) if shares[i] < size]
        each = max(left // len(open_), 1)
        for i in open_:
            taken = min(each, sizes[i] - shares[i], left)
            shares[i] += taken
            left -= taken
    return shares


def choose(blocks: pd.DataFrame, total: int, seed: int) -> pd.DataFrame:
    """`total` rows of `blocks`, an equal share of each stratum; same rows, same seed: same choice, same sequence.

    blocks: columns block_id, source, n_instructions and code. Added: instruction_class, length_class, and
    `turn`, the row's number within its stratum; rows are sorted by it, so that the first rows are a smaller choice.
    """
    blocks = blocks.sort_values("block_id", ignore_index=True)
    blocks = blocks.iloc[np.random.default_rng(seed).permutation(len(blocks))].assign(
        instruction_class=lambda frame: [instruction_class(code) for code in frame["code"]],
        length_class=lambda frame: [length_class(n) for n in frame["n_instructions"]],
    )
    strata = blocks.groupby(["source", "instruction_class", "length_class"], sort=True)
    blocks["turn"], stratum, sizes = strata.cumcount(), strata.ngroup(), strata.size().tolist()
    shares = np.array(fill(sizes, total), int)
    kept = blocks[blocks["turn"].to_numpy() < shares[stratum]].assign(stratum=stratum)
    return kept.sort_values(["turn", "stratum"], ignore_index=True).drop(columns="stratum")
