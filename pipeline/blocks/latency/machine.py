"""What llvm-mca's model of a processor says of single instructions: micro-ops, latency, units held, registers.

Two readings of each instruction say which units it holds. Simulated by itself, on units that are all free, it
holds definite ones; llvm-mca's instruction table instead shares the cycles evenly among the units that would do.
Where the two are equal no other unit would do (`divq` on atom: both ports for 130 cycles); where the table has 1/2
cycle on each of two ports and the simulation 1 cycle on one, either port does (`addq` on atom).

Instructions of out-of-order models hold several such groups: `decomposition` finds which. Where it fails, the units
of the simulation are taken as definite, and the row's message says so (of 4,080 encodings of development blocks 5 on
haswell and skylake).

llvm-mca prints no registers: those come from `registers`, and for out-of-order models are corrected by what the
timeline shows (`operands`). On in-order models the time at which an operand beside one in memory is wanted is the same
for all instructions, and is measured once (`read_advance`).
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import pandas as pd
from iced_x86 import Decoder

from pipeline.blocks.corpus.assembly import AssemblyError, gas
from pipeline.blocks.dag.resources import words
from pipeline.blocks.latency import llvm_mca, operands, statistics
from pipeline.blocks.latency.decomposition import Use, candidates, uses
from pipeline.blocks.latency.llvm_mca import LlvmMcaError
from pipeline.blocks.latency.registers import RegisterAccess, double_reads, register_access
from pipeline.config.processors import Judge

_OPTIONS = ["-mtriple=x86_64-unknown-unknown", "-iterations=1", "-json"]
_TIMELINE = ["-timeline", "-timeline-max-cycles=0"]
_NOTHING = RegisterAccess(0, 0, 0)
T = TypeVar("T")
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
    alone: dict[int, float] = field(default_factory=dict)  # unit -> cycles, simulated alone
    shared: dict[int, float] = field(default_factory=dict)  # unit -> cycles, in the instruction table
    memory: str = ""  # none | load | store
    kept: tuple[int, ...] = ()  # entries of each pool
    buffers: dict[str, tuple[int, int]] = field(default_factory=dict)  # size, and entries that it takes
    message: str = ""


_NOT_WANTED = Facts(message="not asked for: it is in no block of the sets that are scheduled")


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
    machine: Judge,
    binary: str,
    threads: int = 1,
    batch: int = llvm_mca.BATCH,
    wanted: np.ndarray | None = None,
) -> pd.DataFrame:
    """Table `machine_instructions` of the processor model `machine`, called `name`: a row per encoding, in their order.

    Bytes that are not one instruction, and instructions that llvm-mca or its model does not know, have status
    `unsupported`, a message and zeros; so have those that are not wanted. wanted: (U,) bool, all by default. Raises
    LlvmMcaError where llvm-mca cannot be used.
    """
    machine = machine.model_copy(update={"iterations": 1})
    asked = np.ones(len(encodings), bool) if wanted is None else wanted
    texts = [_text(code) if one else _NOT_WANTED for code, one in zip(encodings, asked.tolist(), strict=True)]
    # Some encodings share a text.
    distinct = {text: code for code, text in zip(encodings, texts, strict=True) if not isinstance(text, Facts)}
    retire_width = statistics.retire_width(machine, binary)
    found = _facts(sorted(distinct), machine, binary, threads, batch)
    buffers = {name: size for facts in found.values() for name, (size, _) in sorted(facts.buffers.items())}
    if retire_width:
        rows = _out_of_order(found, distinct, list(buffers), machine, binary, threads, batch)
    else:
        late = read_advance(machine, binary)
        rows = {text: _in_order(facts, distinct[text], late) for text, facts in found.items()}
    [none] = statistics.read([["nop"]], machine, binary)
    constants = {
        "machine": name,
        "issue_width": issue_width(machine, binary),
        "retire_width": retire_width,
        "pools": list(none.pools) if retire_width else [],
        "buffers": list(buffers.values()) if retire_width else [],
    }
    found_rows = [
        {"code": code} | (_row(text) if isinstance(text, Facts) else rows[text]) | constants
        for code, text in zip(encodings, texts, strict=True)
    ]
    return pd.DataFrame(found_rows, columns=None if found_rows else list({"code": b""} | _row(Facts()) | constants))


def _text(code: bytes) -> str | Facts:
    try:
        found = gas(code)
    except AssemblyError as error:
        return Facts(message=str(error))
    return found[0] if len(found) == 1 else Facts(message=f"{code.hex()} is {len(found)} instructions")


def _row(
    facts: Facts,
    used: Sequence[Use] | None = None,
    access: RegisterAccess = _NOTHING,
    twice: int = 0,
    read_advance: int = 0,
    queued: Sequence[int] = (),
    message: str = "",
) -> dict[str, object]:
    """What the table has of one instruction; used: None where it is unsupported."""
    return {
        "micro_ops": facts.micro_ops,
        "latency": facts.latency,
        "units": [group[0] for group, _ in used or () if len(group) == 1],
        "unit_cycles": [cycles for group, cycles in used or () if len(group) == 1],
        "choices": [list(group) for group, _ in used or () if len(group) > 1],
        "choice_cycles": [cycles for group, cycles in used or () if len(group) > 1],
        "reads": list(words(access.reads)),
        "late_reads": list(words(access.late_reads)),
        "writes": list(words(access.writes)),
        "double_reads": list(words(twice)),
        "read_advance": read_advance,
        "memory": facts.memory,
        "kept": list(facts.kept),
        "queued": list(queued),
        "status": "unsupported" if used is None else "ok",
        "message": message or facts.message,
    }


def _in_order(facts: Facts, code: bytes, read_advance: int) -> dict[str, object]:
    if facts.message:
        return _row(facts)
    try:
        held = units(facts.alone, facts.shared)
    except ValueError as error:
        return _row(Facts(message=str(error)))
    chosen = [(held.choice, held.choice_cycles)] if held.choice else []
    used = [*(((unit,), cycles) for unit, cycles in held.held.items()), *chosen]
    access = register_access(Decoder(64, code).decode())
    return _row(replace(facts, kept=()), used, access, read_advance=read_advance)


def _out_of_order(
    found: dict[str, Facts],
    codes: dict[str, bytes],
    buffers: list[str],
    machine: Judge,
    binary: str,
    threads: int,
    batch: int,
) -> dict[str, dict[str, object]]:
    known = {text: register_access(Decoder(64, codes[text]).decode()) for text in found if not found[text].message}
    probes = {
        (text, register): probe for text in known for register, probe in operands.probes(text, known[text]).items()
    }
    seen = _batches(list(probes.values()), threads, batch, lambda part: _regions(part, machine, binary, _TIMELINE))
    advances: dict[str, dict[int, int | None]] = {text: {} for text in known}
    for (text, register), region in zip(probes, seen, strict=True):
        advances[text][register] = operands.advance(region["TimelineView"]["TimelineInfo"])
    readings = [(found[text].alone, found[text].shared) for text in known]
    groups = candidates([group for reading in readings if (group := _choice(*reading))], readings)
    rows = {text: _row(facts) for text, facts in found.items() if facts.message}
    cached: dict[tuple, list[Use] | None] = {}
    for text, access in known.items():
        facts = found[text]
        key = tuple(facts.alone.items()), tuple(facts.shared.items())
        if key not in cached:
            cached[key] = uses(facts.alone, facts.shared, groups)
        used = cached[key]
        queued = [facts.buffers.get(name, (0, 0))[1] for name in buffers]
        message = ""
        if used is None:
            used = [((unit,), round(cycles)) for unit, cycles in sorted(facts.alone.items()) if round(cycles)]
            message = f"units taken as simulated alone: {facts.alone}, in the instruction table {facts.shared}"
        corrected, late_by = operands.corrected(access, advances[text])
        twice = double_reads(Decoder(64, codes[text]).decode())
        rows[text] = _row(facts, used, corrected, twice, late_by, queued, message)
    return rows


def _choice(alone: dict[int, float], shared: dict[int, float]) -> tuple[int, ...]:
    """The group of units of which an instruction takes any one, if it has one such."""
    try:
        return units(alone, shared).choice
    except ValueError:
        return ()


def _batches(parts: list[list[str]], threads: int, batch: int, read: Callable[[list[list[str]]], list[T]]) -> list[T]:
    with ThreadPoolExecutor(threads) as pool:
        return [
            x for found in pool.map(read, (parts[s : s + batch] for s in range(0, len(parts), batch))) for x in found
        ]


def _facts(texts: Sequence[str], machine: Judge, binary: str, threads: int, batch: int) -> dict[str, Facts]:
    # JSON comes whole or not at all, so what llvm-mca refuses is found out before.
    checked = llvm_mca.simulate([[text] for text in texts], machine, binary, threads, batch)
    facts = {text: Facts(message=found.message) for text, found in zip(texts, checked, strict=True)}
    known = [text for text, found in zip(texts, checked, strict=True) if found.status == "ok"]
    described = _batches([[text] for text in known], threads, batch, lambda part: _described(part, machine, binary))
    return facts | dict(zip(known, described, strict=True))


def _described(regions: list[list[str]], machine: Judge, binary: str) -> list[Facts]:
    """Facts of instructions that llvm-mca takes."""
    simulated, tables = (_regions(regions, machine, binary, more) for more in (_TIMELINE, ["-instruction-tables"]))
    facts = []
    for alone, shared, kept in zip(simulated, tables, statistics.read(regions, machine, binary), strict=True):
        [info] = alone["InstructionInfoView"]["InstructionList"]
        memory = "store" if info["mayStore"] else "load" if info["mayLoad"] else "none"
        # The latency told beside the micro-ops has the delays of forwarding paths in it.
        [times] = alone["TimelineView"]["TimelineInfo"]
        latency = times["CycleExecuted"] - times["CycleIssued"]
        facts.append(
            Facts(info["NumMicroOpcodes"], latency, _cycles(alone), _cycles(shared), memory, kept.kept, kept.buffers)
        )
    return facts


def _cycles(region: dict) -> dict[int, float]:
    """Cycles that the first instruction holds each unit."""
    uses = region["ResourcePressureView"]["ResourcePressureInfo"]
    return {use["ResourceIndex"]: use["ResourceUsage"] for use in uses if use["InstructionIndex"] == 0}


def _regions(regions: Sequence[Sequence[str]], machine: Judge, binary: str, options: Sequence[str] = ()) -> list[dict]:
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


def issue_width(machine: Judge, binary: str) -> int:
    """Micro-ops that the processor issues in a cycle at most."""
    [region] = _regions([["nop"]], machine, binary)
    return int(region["SummaryView"]["DispatchWidth"])


def read_advance(machine: Judge, binary: str) -> int:
    """Cycles by which an operand may come later where the instruction has to load another one first (`ReadAfterLd`).

    Seen in the simulation of two that take a result of several cycles: an upper bound is that result's latency.
    """
    early, late = _regions([[_PRODUCER, _CONSUMER], [_PRODUCER, _LATE_CONSUMER]], machine, binary)
    return int(early["SummaryView"]["TotalCycles"] - late["SummaryView"]["TotalCycles"])
