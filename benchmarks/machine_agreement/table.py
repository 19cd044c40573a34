"""A processor's instructions, in the form of its fast model and as text for llvm-mca."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from iced_x86 import Decoder

from learned_schedulers.blocks.processors import llvm_mca, machine
from learned_schedulers.blocks.processors.costs import Processor, processor_of
from learned_schedulers.blocks.processors.settings import Judge
from learned_schedulers.blocks.read.assembly import gas


@dataclass(frozen=True)
class Instructions:
    """U instructions of a processor."""

    judge: Judge  # a single pass by llvm-mca's model of it
    chip: Processor
    texts: list[str]  # GAS syntax
    forms: np.ndarray  # (U,) int: of iced-x86, such as `add r32, r/m32`
    guessed_units: np.ndarray  # (U,) bool: no decomposition of its units was found, so those it holds alone are taken


def read(codes: pa.ChunkedArray, name: str, judge: Judge, binary: str) -> Instructions:
    """The instructions with these bytes, one each, on the processor `name`."""
    encodings = codes.to_pylist()
    frame = machine.read(encodings, name, judge, binary)
    return Instructions(
        judge,
        processor_of(frame),
        ["".join(gas(code)) for code in encodings],
        np.array([Decoder(64, code).decode().code for code in encodings]),
        ((frame["status"] == "ok") & (frame["message"] != "")).to_numpy(),
    )


def simulated(regions: list[list[str]], judge: Judge, binary: str) -> np.ndarray:
    """Cycles by llvm-mca, one of each region.

    Raises ValueError if llvm-mca refuses a region, although it accepts each instruction alone.
    """
    answers = llvm_mca.simulate(regions, judge, binary)
    for answer in answers:
        if answer.status != "ok":
            raise ValueError(f"llvm-mca refuses a sequence of instructions that it takes one by one: {answer.message}")
    return np.array([answer.cycles for answer in answers])
