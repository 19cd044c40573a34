"""When the instructions of an out-of-order processor need their registers, measured in llvm-mca's timeline.

For each register that an instruction may wait for, a probe puts an instruction of long latency before it, which writes
that register. The cycle in which the instruction then is ready shows one of three facts: by how many cycles it may read
the register before the result is available; that it does not wait for the register (`xor eax, eax` if the model has
idioms); or that it waits for a register of which it writes a part only (`sete al` if the register file has whole
registers only).
"""

from __future__ import annotations

from collections.abc import Sequence

from iced_x86 import Register, RflagsBits

from learned_schedulers.blocks.dag.resources import FLAGS, LANES, flags
from learned_schedulers.blocks.processors.registers import RegisterAccess

_NAMES = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{k}" for k in range(8, 16)))
STATUS = FLAGS & ~flags(RflagsBits.DF)
# Register -> an instruction of long latency that writes it; the instruction reads rsp alone, when it issues.
PRODUCERS = {
    **{LANES[getattr(Register, name.upper())]: f"cvttsd2si (%rsp), %{name}" for name in _NAMES},
    **{LANES[getattr(Register, f"XMM{k}")]: f"sqrtpd (%rsp), %xmm{k}" for k in range(16)},
    STATUS: "ucomisd (%rsp), %xmm15",
}


def probes(text: str, access: RegisterAccess) -> dict[int, list[str]]:
    """Regions that show when an instruction needs each of its registers: register -> region."""
    touched = access.reads | access.late_reads | access.writes
    return {register: [producer, text] for register, producer in PRODUCERS.items() if register & touched}


def advance(timeline: Sequence[dict[str, int]]) -> int | None:
    """Cycles by which the register of a probe may come late, from its timeline; None: no instruction waits for it."""
    producer, consumer = timeline
    if consumer["CycleReady"] <= max(producer["CycleIssued"], consumer["CycleDispatched"]):
        return None
    return producer["CycleExecuted"] - consumer["CycleReady"]


def corrected(access: RegisterAccess, advances: dict[int, int | None]) -> tuple[RegisterAccess, int]:
    """Registers of the instruction on this processor, and the cycles by which its late reads may come late.

    If its reads may come late by different numbers of cycles, the least of them is used for all.
    """
    reads, late, writes = access.reads | access.late_reads, 0, access.writes
    late_by = [cycles for cycles in advances.values() if cycles]
    for register, cycles in advances.items():
        if cycles is None:
            reads &= ~register
            continue
        if not register & reads:  # written in part: the instruction reads the other part and writes the whole register
            reads |= register
            writes |= register
        if cycles:
            late |= register & reads
    return RegisterAccess(reads & ~late, late, writes), min(late_by, default=0)
