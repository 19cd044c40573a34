"""When the instructions of an out-of-order processor want their registers, seen by llvm-mca's timeline.

Each register that an instruction may wait for is made to come late by an instruction of long latency before it: the
cycle in which it then is ready says by how much that register may come after the result is there, or that nobody
waits for it (`xor eax, eax` where the model knows idioms), or that a register which it only writes in part is waited
for (`sete al` where the register file keeps whole registers).
"""

from __future__ import annotations

from collections.abc import Sequence

from iced_x86 import Register, RflagsBits

from pipeline.blocks.dag.resources import FLAGS, LANES, flags
from pipeline.blocks.latency.registers import RegisterAccess

_NAMES = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{k}" for k in range(8, 16)))
STATUS = FLAGS & ~flags(RflagsBits.DF)
# Registers that can be made late, and what makes them so: it reads none but rsp, at its own issue.
PRODUCERS = {
    **{LANES[getattr(Register, name.upper())]: f"cvttsd2si (%rsp), %{name}" for name in _NAMES},
    **{LANES[getattr(Register, f"XMM{k}")]: f"sqrtpd (%rsp), %xmm{k}" for k in range(16)},
    STATUS: "ucomisd (%rsp), %xmm15",
}


def probes(text: str, access: RegisterAccess) -> dict[int, list[str]]:
    """Regions that show when it wants each register: register -> region."""
    touched = access.reads | access.late_reads | access.writes
    return {register: [producer, text] for register, producer in PRODUCERS.items() if register & touched}


def advance(timeline: Sequence[dict[str, int]]) -> int | None:
    """Cycles by which the register of a probe may come late, from its timeline; None: it is not waited for."""
    producer, consumer = timeline
    if consumer["CycleReady"] <= max(producer["CycleIssued"], consumer["CycleDispatched"]):
        return None
    return producer["CycleExecuted"] - consumer["CycleReady"]


def corrected(access: RegisterAccess, advances: dict[int, int | None]) -> tuple[RegisterAccess, int]:
    """Registers as the processor has them, and the cycles by which its late reads may come late.

    Where several reads may come late by different counts, all are taken to come as the one that may least.
    """
    reads, late, writes = access.reads | access.late_reads, 0, access.writes
    late_by = [cycles for cycles in advances.values() if cycles]
    for register, cycles in advances.items():
        if cycles is None:
            reads &= ~register
            continue
        if not register & reads:  # written in part: the rest of it is kept, and written anew
            reads |= register
            writes |= register
        if cycles:
            late |= register & reads
    return RegisterAccess(reads & ~late, late, writes), min(late_by, default=0)
