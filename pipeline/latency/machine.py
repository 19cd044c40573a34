"""What llvm-mca's model of a processor says of single instructions: micro-ops, latency, units held, registers.

Two readings of each instruction say which units it holds. Simulated by itself, on units that are all free, it
holds definite ones; llvm-mca's instruction table instead shares the cycles evenly among the units that would do.
Where the two are equal no other unit would do (`divq` on atom: both ports for 130 cycles); where the table has 1/2
cycle on each of two ports and the simulation 1 cycle on one, either port does (`addq` on atom).

llvm-mca prints no registers: those come from `registers`. When an operand beside one in memory is wanted is the same
for all instructions of a model, and is measured once (`read_advance`).
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pandas as pd
from iced_x86 import Decoder

from pipeline.config import Machine
from pipeline.corpus.assembly import AssemblyError, gas
from pipeline.dag.resources import words
from pipeline.latency import llvm_mca
from pipeline.latency.llvm_mca import LlvmMcaError
from pipeline.latency.registers import RegisterAccess, register_access

_OPTIONS = ["-mtriple=x86_64-unknown-unknown", "-iterations=1", "-json"]
# A result that takes long and holds no unit of the second, which takes it from a register or beside a load.
_PRODUCER, _CONSUMER, _LATE_CONSUMER = "addsd %xmm0, %xmm1", "mulsd %xmm1, %xmm2", "mulsd (%rcx), %xmm1"


@dataclass(frozen=True)
class Units:
    """What one instruction holds from the cycle of its issue on."""

    held: dict[int, int]  # unit -> cycles
    choice: tuple[int, ...] = ()  # units of which any one is held besides
    choice_cycles: int = 0


@dataclass(frozen=True)
class Facts:
    """What the model says of one instruction, or why it says nothing."""

    micro_ops: int = 0
    latency: int = 0
    units: Units | None = None
    message: str = ""


def units(alone: dict[int, float], shared: dict[int, float]) -> Units:
    """The units of an instruction from its cycles per unit, simulated alone and shared out in the instruction table.

    Raises ValueError where the two leave open which units would do: where it holds one of several units more than
    once, or definite units and one of several that include them. No instruction of llvm-mca 19's atom does.
    """
    either = [unit for unit in sorted(alone | shared) if alone.get(unit, 0) != shared.get(unit, 0)]
    held = {unit: int(cycles) for unit, cycles in sorted(alone.items()) if unit not in either}
    if not either:
        return Units(held)
    chosen = [unit for unit in either if unit in alone]
    total = sum(alone[unit] for unit in chosen)
    if len(chosen) != 1 or not all(math.isclose(shared.get(u, 0), total / len(either), abs_tol=0.01) for u in either):
        raise ValueError(f"its units are open: alone it holds {alone}, in the instruction table {shared}")
    return Units(held, tuple(either), int(total))


def read(
    encodings: Sequence[bytes],
    name: str,
    machine: Machine,
    binary: str,
    threads: int = 1,
    batch: int = llvm_mca.BATCH,
) -> pd.DataFrame:
    """Table `machine_instructions` of the processor model `machine`, called `name`: a row per encoding, in their order.

    Bytes that are not one instruction, and instructions that llvm-mca or its model does not know, have status
    `unsupported`, a message and zeros. Raises LlvmMcaError where llvm-mca cannot be used.
    """
    machine = machine.model_copy(update={"iterations": 1})
    texts = [_text(code) for code in encodings]
    distinct = sorted({text for text in texts if not isinstance(text, Facts)})  # some encodings share a text
    found = dict(zip(distinct, _facts(distinct, machine, binary, threads, batch), strict=True))
    constants = {
        "machine": name,
        "issue_width": issue_width(machine, binary),
        "read_advance": read_advance(machine, binary),
    }
    rows = [
        _row(code, text if isinstance(text, Facts) else found[text]) | constants
        for code, text in zip(encodings, texts, strict=True)
    ]
    return pd.DataFrame(rows, columns=None if rows else list(_row(b"", Facts()) | constants))


def _text(code: bytes) -> str | Facts:
    try:
        found = gas(code)
    except AssemblyError as error:
        return Facts(message=str(error))
    return found[0] if len(found) == 1 else Facts(message=f"{code.hex()} is {len(found)} instructions")


def _row(code: bytes, facts: Facts) -> dict[str, object]:
    known = facts.units is not None
    access = register_access(Decoder(64, code).decode()) if known else RegisterAccess(0, 0, 0)
    held = facts.units or Units({})
    return {
        "code": code,
        "micro_ops": facts.micro_ops,
        "latency": facts.latency,
        "units": list(held.held),
        "unit_cycles": list(held.held.values()),
        "choice": list(held.choice),
        "choice_cycles": held.choice_cycles,
        "reads": list(words(access.reads)),
        "late_reads": list(words(access.late_reads)),
        "writes": list(words(access.writes)),
        "status": "ok" if known else "unsupported",
        "message": facts.message,
    }


def _facts(texts: Sequence[str], machine: Machine, binary: str, threads: int, batch: int) -> list[Facts]:
    # JSON comes whole or not at all, so what llvm-mca refuses is found out before.
    checked = llvm_mca.simulate([[text] for text in texts], machine, binary, threads, batch)
    facts = [Facts(message=simulation.message) for simulation in checked]
    known = [i for i, simulation in enumerate(checked) if simulation.status == "ok"]
    parts = [known[start : start + batch] for start in range(0, len(known), batch)]
    with ThreadPoolExecutor(threads) as pool:
        described = pool.map(lambda part: _described([texts[i] for i in part], machine, binary), parts)
        for part, found in zip(parts, described, strict=True):
            for i, fact in zip(part, found, strict=True):
                facts[i] = fact
    return facts


def _described(texts: Sequence[str], machine: Machine, binary: str) -> list[Facts]:
    """Facts of instructions that llvm-mca takes."""
    regions = [[text] for text in texts]
    simulated, tables = (_regions(regions, machine, binary, more) for more in ([], ["-instruction-tables"]))
    facts = []
    for text, alone, shared in zip(texts, simulated, tables, strict=True):
        [info] = alone["InstructionInfoView"]["InstructionList"]
        try:
            held = units(_cycles(alone), _cycles(shared))
        except ValueError as error:
            facts.append(Facts(message=f"{text}: {error}"))
        else:
            facts.append(Facts(info["NumMicroOpcodes"], info["Latency"], held))
    return facts


def _cycles(region: dict) -> dict[int, float]:
    """Cycles that the first instruction holds each unit."""
    uses = region["ResourcePressureView"]["ResourcePressureInfo"]
    return {use["ResourceIndex"]: use["ResourceUsage"] for use in uses if use["InstructionIndex"] == 0}


def _regions(
    regions: Sequence[Sequence[str]], machine: Machine, binary: str, options: Sequence[str] = ()
) -> list[dict]:
    lines = [line for region in regions for line in ("# LLVM-MCA-BEGIN", *region, "# LLVM-MCA-END")]
    process = subprocess.run(
        [binary, f"-mcpu={machine.cpu}", *_OPTIONS, *options],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode != 0:
        raise LlvmMcaError(f"{binary} ended with code {process.returncode}: {process.stderr.strip()[-2000:]}")
    found = json.loads(process.stdout)["CodeRegions"]
    if len(found) != len(regions):
        raise LlvmMcaError(f"{binary} described {len(found)} of {len(regions)} regions")
    return found


def issue_width(machine: Machine, binary: str) -> int:
    """Micro-ops that the processor issues in a cycle at most."""
    [region] = _regions([["nop"]], machine, binary)
    return int(region["SummaryView"]["DispatchWidth"])


def read_advance(machine: Machine, binary: str) -> int:
    """Cycles by which an operand may come later where the instruction has to load another one first (`ReadAfterLd`).

    Seen in the simulation of two that take a result of several cycles: an upper bound is that result's latency.
    """
    early, late = _regions([[_PRODUCER, _CONSUMER], [_PRODUCER, _LATE_CONSUMER]], machine, binary)
    return int(early["SummaryView"]["TotalCycles"] - late["SummaryView"]["TotalCycles"])
