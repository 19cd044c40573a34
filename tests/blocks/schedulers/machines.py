"""Small processors for the instructions of tests/blocks/models/imitated.py: two ports, as atom; in order, and not."""

from __future__ import annotations

import pandas as pd
from iced_x86 import Decoder

from pipeline.blocks.dag.resources import words
from pipeline.blocks.latency.costs import Processor, processor_of
from pipeline.blocks.latency.registers import register_access
from tests.blocks.models.imitated import INSTRUCTIONS

LOADS, STORES = {"488b4f08", "488b5710", "488b0500000000"}, {"48894e08", "48895610"}
MULTIPLY, ADD_FLOAT = "480fafca", "f30f58c1"
RETIRED, POOL, BUFFER = 2, 6, 3  # of the out-of-order one: few enough to matter


def table(codes: list[bytes] | None = None, unknown: str = "", retire_width: int = 0) -> pd.DataFrame:
    """Table `machine_instructions` of these instructions, those of imitated.corpus by default; one may be unknown."""
    chosen = codes or sorted(set(INSTRUCTIONS))
    return pd.DataFrame([_row(code, code.hex() != unknown, retire_width) for code in chosen])


def machine(unknown: str = "", in_order: bool = True) -> Processor:
    return processor_of(table(unknown=unknown, retire_width=0 if in_order else RETIRED))


def _row(code: bytes, known: bool, retire_width: int) -> dict[str, object]:
    text = code.hex()
    units, choice, latency = {}, [0, 1], 1
    if text in LOADS:
        units, choice, latency = {0: 1}, [], 3
    elif text in STORES:
        units, choice, latency = {0: 1}, [], 1
    elif text == MULTIPLY:
        units, choice, latency = {0: 2, 1: 1}, [], 9
    elif text == ADD_FLOAT:
        units, choice, latency = {1: 1}, [], 5
    access = register_access(Decoder(64, code).decode())
    return {
        "code": code,
        "machine": "small",
        "issue_width": 2,
        "retire_width": retire_width,
        "pools": [POOL] if retire_width else [],
        "buffers": [BUFFER] if retire_width else [],
        "micro_ops": 3 if text == MULTIPLY else 1,
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
        "memory": "load" if text in LOADS else "store" if text in STORES else "none",
        "kept": [1] if retire_width else [],
        "queued": [1] if retire_width else [],
        "status": "ok" if known else "unsupported",
        "message": "" if known else "not known",
    }
