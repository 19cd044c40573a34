"""Small processors for any instructions: two ports, as atom; in order, and not."""

from __future__ import annotations

import pandas as pd
from iced_x86 import Decoder, Instruction, Mnemonic, OpKind, RegisterExt

from learned_schedulers.blocks.dag.resources import words
from learned_schedulers.blocks.processors.costs import Processor, processor_of
from learned_schedulers.blocks.processors.registers import register_access
from tests.blocks.models.imitated import INSTRUCTIONS

MULTIPLY = "480fafca"  # imul rcx, rdx, one of imitated.INSTRUCTIONS
RETIRED, POOL, BUFFER = 2, 6, 3  # of the out-of-order processor: few enough to limit it


def table(codes: list[bytes] | None = None, unknown: str = "", retire_width: int = 0) -> pd.DataFrame:
    """Table `machine_instructions` of these instructions, those of imitated.corpus by default; one may be unknown."""
    chosen = codes or sorted(set(INSTRUCTIONS))
    return pd.DataFrame([_row(code, code.hex() != unknown, retire_width) for code in chosen])


def machine(unknown: str = "", in_order: bool = True, codes: list[bytes] | None = None) -> Processor:
    return processor_of(table(codes, unknown, 0 if in_order else RETIRED))


def _row(code: bytes, is_supported: bool, retire_width: int) -> dict[str, object]:
    decoded = Decoder(64, code).decode()
    kind = _kind(decoded)
    units, choice, latency = {}, [0, 1], 1
    if kind == "load":
        units, choice, latency = {0: 1}, [], 3
    elif kind == "store":
        units, choice, latency = {0: 1}, [], 1
    elif kind == "multiply":
        units, choice, latency = {0: 2, 1: 1}, [], 9
    elif kind == "float":
        units, choice, latency = {1: 1}, [], 5
    access = register_access(decoded)
    return {
        "code": code,
        "machine": "small",
        "issue_width": 2,
        "retire_width": retire_width,
        "pools": [POOL] if retire_width else [],
        "buffers": [BUFFER] if retire_width else [],
        "micro_ops": 3 if kind == "multiply" else 1,
        "latency": latency,
        "units": list(units),
        "unit_cycles": list(units.values()),
        "choices": [choice] if choice else [],
        "choice_cycles": [1] if choice else [],
        "reads": list(words(access.reads)),
        "late_reads": list(words(access.late_reads)),
        "writes": list(words(access.writes)),
        "double_reads": [0, 0, 0],
        "read_advance": 2,
        "memory": kind if kind in ("load", "store") else "none",
        "kept": [1] if retire_width else [],
        "queued": [1] if retire_width else [],
        "status": "ok" if is_supported else "unsupported",
        "message": "" if is_supported else "not known",
    }


def _kind(instruction: Instruction) -> str:
    """load | store | multiply | float | other"""
    kinds = [instruction.op_kind(k) for k in range(instruction.op_count)]
    if OpKind.MEMORY in kinds and instruction.mnemonic != Mnemonic.LEA:
        return "store" if kinds[0] == OpKind.MEMORY else "load"
    if instruction.mnemonic in (Mnemonic.IMUL, Mnemonic.MUL, Mnemonic.DIV, Mnemonic.IDIV):
        return "multiply"
    first = instruction.op_register(0) if kinds and kinds[0] == OpKind.REGISTER else 0
    return "float" if RegisterExt.is_xmm(first) else "other"
