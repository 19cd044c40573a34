"""The choice of blocks to run: equal shares of every source, instruction class and length, if there are enough."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from iced_x86 import Code_, Decoder, EncodingKind, Instruction, OpCodeInfo, RflagsBits

from learned_schedulers.blocks.dag.opcodes import opcode

# From the most common to the rarest. The class of a block is the last one among its instructions' classes.
CLASSES = ("integer", "flags", "SSE", "AVX", "x87/MMX", "string")
LENGTHS = ("2-4", "5-8", "9-16", "17-32", "33-64")
_LENGTH_ENDS = (4, 8, 16, 32)
_VECTOR_ENCODINGS = (EncodingKind.VEX, EncodingKind.EVEX, EncodingKind.XOP)


@cache
def _class(code: Code_) -> int:
    template = Instruction()
    template.code = code
    opcode_info, properties = OpCodeInfo(code), opcode(code)
    if template.is_string_instruction:
        return CLASSES.index("string")
    if properties.is_x87 or " mm" in properties.text or ",mm" in properties.text.replace(" ", ""):
        return CLASSES.index("x87/MMX")
    if opcode_info.encoding in _VECTOR_ENCODINGS and properties.is_vector:
        return CLASSES.index("AVX")
    if properties.is_vector:
        return CLASSES.index("SSE")
    return CLASSES.index("flags") if template.rflags_read & ~RflagsBits.DF else CLASSES.index("integer")


def instruction_class(code: bytes) -> str:
    """The class of a block's rarest instruction, in the sequence of CLASSES."""
    return CLASSES[max((_class(instruction.code) for instruction in Decoder(64, code)), default=0)]


def length_class(n_instructions: int) -> str:
    """The bin of LENGTHS that a number of instructions falls into."""
    return LENGTHS[int(np.searchsorted(_LENGTH_ENDS, n_instructions))]


def equal_shares(sizes: list[int], total: int) -> list[int]:
    """Shares of at most `sizes`, as equal as possible, with the sum `total` (or the sum of sizes, if that is less)."""
    shares = [0] * len(sizes)
    remaining = min(total, sum(sizes))
    while remaining:
        not_full = [i for i, size in enumerate(sizes) if shares[i] < size]
        per_stratum = max(remaining // len(not_full), 1)
        for i in not_full:
            share = min(per_stratum, sizes[i] - shares[i], remaining)
            shares[i] += share
            remaining -= share
    return shares


def choose(blocks: pd.DataFrame, total: int, seed: int) -> pd.DataFrame:
    """`total` rows of `blocks`, an equal share of each stratum. Rows and seed determine choice and sequence.

    blocks: columns block_id, source, n_instructions and code. The result also has instruction_class, length_class and
    `turn`, the row's number within its stratum; rows are sorted by it, so that the first rows are a smaller choice.
    """
    blocks = blocks.sort_values("block_id", ignore_index=True)
    blocks = blocks.iloc[np.random.default_rng(seed).permutation(len(blocks))].assign(
        instruction_class=lambda frame: [instruction_class(code) for code in frame["code"]],
        length_class=lambda frame: [length_class(n) for n in frame["n_instructions"]],
    )
    strata = blocks.groupby(["source", "instruction_class", "length_class"], sort=True)
    blocks["turn"], stratum, sizes = strata.cumcount(), strata.ngroup(), strata.size().tolist()
    shares = np.array(equal_shares(sizes, total), int)
    selected = blocks[blocks["turn"].to_numpy() < shares[stratum]].assign(stratum=stratum)
    return selected.sort_values(["turn", "stratum"], ignore_index=True).drop(columns="stratum")
