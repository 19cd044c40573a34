"""Properties of single instructions in llvm-mca's model of a processor: micro-ops, latency, units, registers.

Two readings of each instruction show which units it occupies. In a simulation of the instruction alone, all units are
free, and it occupies definite ones. llvm-mca's instruction table instead shares the cycles evenly among all units that
would be suitable. If the two are equal, no other unit is suitable (`divq` on atom: both ports for 130 cycles). If the
table has 1/2 cycle on each of two ports and the simulation 1 cycle on one, either port is suitable (`addq` on atom).

On out-of-order models, instructions use several such groups: `decomposition` finds them. If it fails, the units of the
simulation are taken as definite, and the message of the row says so (5 of 4,080 encodings of development blocks on
haswell and skylake).

llvm-mca prints no registers. They come from `registers`; for out-of-order models, the timeline corrects them
(`operands`). On in-order models, all instructions read an operand beside one in memory at the same time; this time is
measured once (`read_advance`).
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

from learned_schedulers.blocks.dag.resources import words
from learned_schedulers.blocks.processors import llvm_mca, operands, statistics
from learned_schedulers.blocks.processors.decomposition import Use, candidates, uses
from learned_schedulers.blocks.processors.llvm_mca import LlvmMcaError
from learned_schedulers.blocks.processors.registers import RegisterAccess, double_reads, register_access
from learned_schedulers.blocks.processors.settings import Judge
from learned_schedulers.blocks.read.assembly import AssemblyError, gas

_OPTIONS = ["-mtriple=x86_64-unknown-unknown", "-iterations=1", "-json"]
_TIMELINE = ["-timeline", "-timeline-max-cycles=0"]
_NOTHING = RegisterAccess(0, 0, 0)
T = TypeVar("T")
# The producer has a long latency and no unit of the consumer, which reads the result early, or late beside a load.
_PRODUCER, _CONSUMER, _LATE_CONSUMER = "addsd %xmm0, %xmm1", "mulsd %xmm1, %xmm2", "mulsd (%rcx), %xmm1"


@dataclass(frozen=True)
class Units:
    """Units that one instruction occupies from the cycle of its issue on."""

    unit_cycles: dict[int, int]  # unit -> cycles
    choice: tuple[int, ...] = ()  # units of which it occupies any one besides
    choice_cycles: int = 0


@dataclass(frozen=True)
class Facts:
    """Properties of one instruction in the model, or a message why there are none."""

    micro_ops: int = 0
    latency: int = 0
    alone: dict[int, float] = field(default_factory=dict)  # unit -> cycles, simulated alone
    shared: dict[int, float] = field(default_factory=dict)  # unit -> cycles, in the instruction table
    memory: str = ""  # none | load | store
    pool_entries: tuple[int, ...] = ()  # that it occupies
    buffers: dict[str, tuple[int, int]] = field(default_factory=dict)  # size, and entries that it occupies
    message: str = ""


_NOT_REQUESTED = Facts(message="not asked for: it is in no block of the sets that are scheduled")


def units(alone: dict[int, float], shared: dict[int, float]) -> Units:
    """The units of an instruction from its cycles per unit, simulated alone and shared in the instruction table.

    Raises ValueError if the two do not determine the units: if it occupies one of several units more than once, or
    definite units and one of several that include them. No instruction of llvm-mca 19's atom does so.
    """
    either = [unit for unit in sorted(alone | shared) if alone.get(unit, 0) != shared.get(unit, 0)]
    unit_cycles = {unit: int(cycles) for unit, cycles in sorted(alone.items()) if unit not in either}
    if not either:
        return Units(unit_cycles)
    occupied = [unit for unit in either if unit in alone]
    total = sum(alone[unit] for unit in occupied)
    if len(occupied) != 1 or not all(math.isclose(shared.get(u, 0), total / len(either), abs_tol=0.01) for u in either):
        raise ValueError(f"its units are open: alone it holds {alone}, in the instruction table {shared}")
    return Units(unit_cycles, tuple(either), int(total))


def read(
    encodings: Sequence[bytes],
    name: str,
    machine: Judge,
    binary: str,
    threads: int = 1,
    batch: int = llvm_mca.BATCH,
    requested: np.ndarray | None = None,
) -> pd.DataFrame:
    """Table `machine_instructions` of the processor model `machine`, called `name`: a row for each encoding, in order.

    Bytes that are not one instruction, and instructions that llvm-mca or its model does not know, have status
    `unsupported`, a message and zeros; so have those that are not requested. requested: (U,) bool, all by default.
    Raises LlvmMcaError if llvm-mca cannot be used.
    """
    machine = machine.model_copy(update={"iterations": 1})
    is_requested = np.ones(len(encodings), bool) if requested is None else requested
    texts = [
        _text(code) if flag else _NOT_REQUESTED for code, flag in zip(encodings, is_requested.tolist(), strict=True)
    ]
    # Several encodings may have the same text.
    distinct = {text: code for code, text in zip(encodings, texts, strict=True) if not isinstance(text, Facts)}
    retire_width = statistics.retire_width(machine, binary)
    facts_of = _facts(sorted(distinct), machine, binary, threads, batch)
    buffers = {name: size for facts in facts_of.values() for name, (size, _) in sorted(facts.buffers.items())}
    if retire_width:
        rows = _out_of_order(facts_of, distinct, list(buffers), machine, binary, threads, batch)
    else:
        late = read_advance(machine, binary)
        rows = {text: _in_order(facts, distinct[text], late) for text, facts in facts_of.items()}
    [idle] = statistics.read([["nop"]], machine, binary)
    constants = {
        "machine": name,
        "issue_width": issue_width(machine, binary),
        "retire_width": retire_width,
        "pools": list(idle.pools) if retire_width else [],
        "buffers": list(buffers.values()) if retire_width else [],
    }
    table_rows = [
        {"code": code} | (_row(text) if isinstance(text, Facts) else rows[text]) | constants
        for code, text in zip(encodings, texts, strict=True)
    ]
    return pd.DataFrame(table_rows, columns=None if table_rows else list({"code": b""} | _row(Facts()) | constants))


def _text(code: bytes) -> str | Facts:
    try:
        texts = gas(code)
    except AssemblyError as error:
        return Facts(message=str(error))
    return texts[0] if len(texts) == 1 else Facts(message=f"{code.hex()} is {len(texts)} instructions")


def _row(
    facts: Facts,
    uses: Sequence[Use] | None = None,
    access: RegisterAccess = _NOTHING,
    twice: int = 0,
    read_advance: int = 0,
    buffer_entries: Sequence[int] = (),
    message: str = "",
) -> dict[str, object]:
    """The row of one instruction in the table. uses: None if it is unsupported."""
    return {
        "micro_ops": facts.micro_ops,
        "latency": facts.latency,
        "units": [group[0] for group, _ in uses or () if len(group) == 1],
        "unit_cycles": [cycles for group, cycles in uses or () if len(group) == 1],
        "choices": [list(group) for group, _ in uses or () if len(group) > 1],
        "choice_cycles": [cycles for group, cycles in uses or () if len(group) > 1],
        "reads": list(words(access.reads)),
        "late_reads": list(words(access.late_reads)),
        "writes": list(words(access.writes)),
        "double_reads": list(words(twice)),
        "read_advance": read_advance,
        "memory": facts.memory,
        "kept": list(facts.pool_entries),
        "queued": list(buffer_entries),
        "status": "unsupported" if uses is None else "ok",
        "message": message or facts.message,
    }


def _in_order(facts: Facts, code: bytes, read_advance: int) -> dict[str, object]:
    if facts.message:
        return _row(facts)
    try:
        instruction_units = units(facts.alone, facts.shared)
    except ValueError as error:
        return _row(Facts(message=str(error)))
    chosen = [(instruction_units.choice, instruction_units.choice_cycles)] if instruction_units.choice else []
    instruction_uses = [*(((unit,), cycles) for unit, cycles in instruction_units.unit_cycles.items()), *chosen]
    access = register_access(Decoder(64, code).decode())
    return _row(replace(facts, pool_entries=()), instruction_uses, access, read_advance=read_advance)


def _out_of_order(
    facts_of: dict[str, Facts],
    codes: dict[str, bytes],
    buffers: list[str],
    machine: Judge,
    binary: str,
    threads: int,
    batch: int,
) -> dict[str, dict[str, object]]:
    accesses = {
        text: register_access(Decoder(64, codes[text]).decode()) for text in facts_of if not facts_of[text].message
    }
    probes = {
        (text, register): probe
        for text in accesses
        for register, probe in operands.probes(text, accesses[text]).items()
    }
    regions = _batches(list(probes.values()), threads, batch, lambda part: _regions(part, machine, binary, _TIMELINE))
    advances: dict[str, dict[int, int | None]] = {text: {} for text in accesses}
    for (text, register), region in zip(probes, regions, strict=True):
        advances[text][register] = operands.advance(region["TimelineView"]["TimelineInfo"])
    readings = [(facts_of[text].alone, facts_of[text].shared) for text in accesses]
    groups = candidates([group for reading in readings if (group := _choice(*reading))], readings)
    rows = {text: _row(facts) for text, facts in facts_of.items() if facts.message}
    cached: dict[tuple, list[Use] | None] = {}
    for text, access in accesses.items():
        facts = facts_of[text]
        key = tuple(facts.alone.items()), tuple(facts.shared.items())
        if key not in cached:
            cached[key] = uses(facts.alone, facts.shared, groups)
        instruction_uses = cached[key]
        buffer_entries = [facts.buffers.get(name, (0, 0))[1] for name in buffers]
        message = ""
        if instruction_uses is None:
            instruction_uses = [
                ((unit,), round(cycles)) for unit, cycles in sorted(facts.alone.items()) if round(cycles)
            ]
            message = f"units taken as simulated alone: {facts.alone}, in the instruction table {facts.shared}"
        corrected, late_by = operands.corrected(access, advances[text])
        twice = double_reads(Decoder(64, codes[text]).decode())
        rows[text] = _row(facts, instruction_uses, corrected, twice, late_by, buffer_entries, message)
    return rows


def _choice(alone: dict[int, float], shared: dict[int, float]) -> tuple[int, ...]:
    """The group of units of which an instruction occupies any one; empty if it has none, or if its units are open."""
    try:
        return units(alone, shared).choice
    except ValueError:
        return ()


def _batches(parts: list[list[str]], threads: int, batch: int, read: Callable[[list[list[str]]], list[T]]) -> list[T]:
    with ThreadPoolExecutor(threads) as pool:
        return [
            result
            for results in pool.map(read, (parts[s : s + batch] for s in range(0, len(parts), batch)))
            for result in results
        ]


def _facts(texts: Sequence[str], machine: Judge, binary: str, threads: int, batch: int) -> dict[str, Facts]:
    # llvm-mca prints its JSON for all regions or for none, so regions that it refuses are excluded first.
    checked = llvm_mca.simulate([[text] for text in texts], machine, binary, threads, batch)
    facts = {text: Facts(message=simulation.message) for text, simulation in zip(texts, checked, strict=True)}
    supported = [text for text, simulation in zip(texts, checked, strict=True) if simulation.status == "ok"]
    described = _batches([[text] for text in supported], threads, batch, lambda part: _described(part, machine, binary))
    return facts | dict(zip(supported, described, strict=True))


def _described(regions: list[list[str]], machine: Judge, binary: str) -> list[Facts]:
    """Facts of instructions that llvm-mca supports."""
    simulated, tables = (
        _regions(regions, machine, binary, options) for options in (_TIMELINE, ["-instruction-tables"])
    )
    facts = []
    for alone, shared, usage in zip(simulated, tables, statistics.read(regions, machine, binary), strict=True):
        [description] = alone["InstructionInfoView"]["InstructionList"]
        memory = "store" if description["mayStore"] else "load" if description["mayLoad"] else "none"
        # The latency that llvm-mca prints beside the micro-ops includes delays of forwarding paths.
        [times] = alone["TimelineView"]["TimelineInfo"]
        latency = times["CycleExecuted"] - times["CycleIssued"]
        facts.append(
            Facts(
                description["NumMicroOpcodes"],
                latency,
                _cycles(alone),
                _cycles(shared),
                memory,
                usage.pool_entries,
                usage.buffers,
            )
        )
    return facts


def _cycles(region: dict) -> dict[int, float]:
    """Cycles for which the first instruction occupies each unit."""
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
    described = json.loads(process.stdout)["CodeRegions"]
    if len(described) != len(regions):
        raise LlvmMcaError(f"{binary} described {len(described)} of {len(regions)} regions")
    return described


def issue_width(machine: Judge, binary: str) -> int:
    """Most micro-ops that the processor issues in a cycle."""
    [region] = _regions([["nop"]], machine, binary)
    return int(region["SummaryView"]["DispatchWidth"])


def read_advance(machine: Judge, binary: str) -> int:
    """Cycles by which an operand may come later if the instruction has to load another operand first (`ReadAfterLd`).

    It is measured with two instructions that read a slow result: one early, one late. The latency of that result is its
    upper bound.
    """
    early, late = _regions([[_PRODUCER, _CONSUMER], [_PRODUCER, _LATE_CONSUMER]], machine, binary)
    return int(early["SummaryView"]["TotalCycles"] - late["SummaryView"]["TotalCycles"])
