"""Order of memory: what must stay in order besides the dependencies of one thread, as other observers see it.

The DAGs of `dependencies.py` are those of one thread. Another thread, a device or a signal handler also sees the order
of a block's loads and stores. C11's acquire and release and C's `volatile` compile to plain `mov`, so machine code does
not show which accesses are observed. Models of memory:

- `tso`: the order that x86 itself guarantees to other threads (total store order; Intel's manual, volume 3, section
  8.2.2). No load passes a load, no store passes a load or a store; a load may pass an earlier store to an address that
  is provably different, as in the processor. Fences, locked instructions, rdtsc, syscall, string instructions with a
  repeat prefix and the like are barriers. Slots of a frame that provably does not escape are exempt (`frames.py`). No
  access that may be to the frame crosses a change of rsp: a signal handler overwrites what lies below it, beyond the
  128 bytes of the red zone. A limit: a load that passes a store is invisible to other threads, but a signal handler of
  the same thread, a device behind both addresses, or another thread with an asymmetric fence (Linux's membarrier) can
  tell (`tests/blocks/order/test_litmus.py`, "store buffering" of HANDLERS). So can the handler of a fault. When a
  load faults, all loads before it have happened, no store after it has, and stores before it may still be missing.
  When a store faults, all loads and stores before it have happened, and no store after it has. A division may fault
  before or after any of them. Registers that no access needs may have been written or not.
- `precise`: `tso`, and no instruction that may trap (an access to memory, a division) crosses a store or another one
  that may trap. At a fault, exactly the accesses before it have happened, as code needs it that resumes in a handler:
  JITs, garbage collectors with guard pages. Slots of a frame do not trap, but stores to them count, because a handler
  may leave by `siglongjmp`. Floating-point operations count as not trapping: their exceptions are masked unless a
  program asks for them. Which registers have been written is as open as under `tso`.
- `single_thread`: the dependencies of one thread alone, mode `full` of `dependencies.py`.

Differences from the DAGs of the experiments: addresses are followed in blocks of every kind, but an operand whose
displacement the linker fills in may be anywhere, and so may one at an absolute address, because the address of the
block is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntFlag
from typing import Literal, NamedTuple

import numpy as np
from iced_x86 import Decoder, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind
from numba import njit

from learned_schedulers.blocks.dag import conflicts as columns
from learned_schedulers.blocks.dag.dependencies import Conflicts, EffectsTable, find_conflicts
from learned_schedulers.blocks.dag.encodings import Encodings
from learned_schedulers.blocks.read.forms import Decoded, Forms
from learned_schedulers.kernel_arrays import read_only

MemoryOrder = Literal["tso", "precise", "single_thread"]


class Mark(IntFlag):
    """What the surroundings of an instruction tell of it, which its bytes do not."""

    NONE = 0
    LINKED = 1  # the linker fills in its displacement: its memory operand may be anywhere
    FIXED = 2  # nothing moves across it
    PRIVATE = 4  # its memory operands are slots of its function's frame, whose address is never taken
    CLOSED = 8  # its function never takes the address of its frame: only rsp (and rbp, where PRIVATE) leads there
    FUSED = 16  # it and the conditional jump right behind it become one micro-op; no matter of what is legal


class BlockConflicts(NamedTuple):
    """The conflicts of B blocks of N instructions."""

    forms: np.ndarray  # (N,) int32, rows of `MemoryDags.forms.facts`
    effects: np.ndarray  # (N,) int32, rows of `MemoryDags.table`
    first: np.ndarray  # (B + 1,) int64: instructions of block b are first[b] : first[b + 1]
    conflicts: Conflicts  # kinds of what only the order of memory demands: MEMORY_WAR, nothing has to be waited for


_BARRIERS = {
    Mnemonic.MFENCE, Mnemonic.LFENCE, Mnemonic.SFENCE, Mnemonic.SERIALIZE, Mnemonic.CPUID, Mnemonic.PAUSE,
    Mnemonic.RDTSC, Mnemonic.RDTSCP, Mnemonic.RDPMC, Mnemonic.RDPID, Mnemonic.SYSCALL, Mnemonic.SYSENTER,
    Mnemonic.CLFLUSH, Mnemonic.CLFLUSHOPT, Mnemonic.CLWB, Mnemonic.CLDEMOTE, Mnemonic.XGETBV, Mnemonic.XSETBV,
    Mnemonic.MONITOR, Mnemonic.MWAIT, Mnemonic.UMONITOR, Mnemonic.UMWAIT, Mnemonic.TPAUSE, Mnemonic.MOVDIRI,
    Mnemonic.MOVDIR64B, Mnemonic.ENQCMD, Mnemonic.RDFSBASE, Mnemonic.RDGSBASE, Mnemonic.WRFSBASE, Mnemonic.WRGSBASE,
    Mnemonic.WAIT, Mnemonic.EMMS, Mnemonic.VZEROALL,
}  # fmt: skip

# These are numbers and not imports, because numba keeps compiled code until *this* file changes. A test compares them
# with `conflicts.py`, `Mark` and iced-x86.
_LINKED, _FIXED, _PRIVATE, _CLOSED = 1, 2, 4, 8
_NONE, _RSP, _RBP, _RIP, _FS, _GS = 0, 57, 58, 70, 75, 76
_RSP_LANES = np.uint64(7 << 12)
_BASE, _INDEX, _SEGMENT, _DIRECTION = 0, 1, 2, 7
_READS, _WRITES, _ORDER_ONLY, _LONGEST = 1, 2, 128, 64
_BIT = np.uint64(1)


def may_trap(instruction: Instruction) -> bool:
    """Whether the processor may stop at this instruction, in a program that masks floating-point exceptions."""
    if instruction.mnemonic in (Mnemonic.DIV, Mnemonic.IDIV):
        return True
    accesses = _info_factory.info(instruction).used_memory()
    return any(used.access != OpAccess.NO_MEM_ACCESS for used in accesses)


def is_barrier(instruction: Instruction) -> bool:
    """Whether no instruction moves across this one under `tso`.

    Fences, locked instructions, exchanges with memory, which the processor locks by itself, string instructions with a
    repeat prefix, accesses weaker than `tso` (non-temporal stores), and what reads clocks or enters the system.
    """
    return (
        instruction.has_lock_prefix
        or instruction.mnemonic in _BARRIERS
        or (instruction.is_string_instruction and (instruction.has_rep_prefix or instruction.has_repne_prefix))
        or (instruction.mnemonic == Mnemonic.XCHG and OpKind.MEMORY in (instruction.op0_kind, instruction.op1_kind))
        or instruction.mnemonic in _NON_TEMPORAL
        or instruction.is_privileged
    )


_info_factory = InstructionInfoFactory()
_NON_TEMPORAL = {
    mnemonic
    for name, mnemonic in vars(Mnemonic).items()
    if name.removeprefix("V").startswith(("MOVNT", "MASKMOVQ", "MASKMOVDQU"))
}


class MemoryDags:
    """Finds conflicts of users' blocks under a model of memory; computes the effects of a form once. No threads."""

    def __init__(self, memory: MemoryOrder, forms: Forms | None = None) -> None:
        """`forms`: an object that may be shared with other users; by default a new one."""
        self.memory: MemoryOrder = memory
        self.forms = forms or Forms()
        self._encodings = Encodings(self.forms)
        self._barriers, self._divisions = np.zeros((2, 0), np.bool_)

    def conflicts(self, codes: Sequence[bytes], marks: Sequence[bytes] | None = None) -> BlockConflicts:
        """Conflicts of B blocks. marks: `Mark` of each instruction; None: nothing is known of the surroundings.

        Without marks, operands whose displacement of four bytes or more is zero, as it is before linking, count as
        LINKED. Raises ValueError for a block that does not consist of whole instructions, of more than 64, or
        whose marks are not one for each instruction.
        """
        bounds = np.cumsum([0, *map(len, codes)])
        code = np.frombuffer(b"".join(codes), np.uint8)
        encoded = self._encodings.encode(code, bounds, np.zeros(len(codes), np.int64))
        decoded = self.forms.decode(code, bounds[:-1], bounds[1:])
        first = encoded.block_offsets
        if marks is None:
            bits = linked_by_form(code, bounds[:-1], decoded, self.forms.facts)
        else:
            bits = np.frombuffer(b"".join(marks), np.uint8)
            if [len(mark) for mark in marks] != np.diff(first).tolist():
                raise ValueError("a block has another number of marks than instructions")
        size = len(encoded.table.latency)
        is_absolute = _absolute(encoded.table)[encoded.encoding]
        anywhere = ((bits & _LINKED) > 0) | is_absolute
        table = _with_forgotten(encoded.table)
        direct = find_conflicts(
            table,
            (encoded.encoding + size * anywhere).astype(np.int32),
            encoded.displacement,
            first,
            np.ones(len(codes), bool),
            "full",
        )
        fixed = (bits & _FIXED) > 0
        divides = np.zeros(len(fixed), np.bool_)
        if self.memory != "single_thread":
            self._learn()
            fixed |= self._barriers[decoded.form]
            divides = self._divisions[decoded.form]
        ordered = _ordered(direct, encoded.table, encoded.encoding, first, bits, fixed, divides, self.memory)
        return BlockConflicts(decoded.form, encoded.encoding, first, ordered)

    @property
    def table(self) -> EffectsTable:
        """Effects of the forms so far."""
        return self._encodings.encode(np.zeros(0, np.uint8), np.zeros(1, np.int64), np.zeros(0, np.int64)).table

    def _learn(self) -> None:
        """Which of the new forms are barriers and divisions."""
        new = [Decoder(64, code).decode() for code in self.forms.examples[len(self._barriers) :]]
        if new:
            divisions = [instruction.mnemonic in (Mnemonic.DIV, Mnemonic.IDIV) for instruction in new]
            self._barriers = np.r_[self._barriers, np.array([is_barrier(instruction) for instruction in new], np.bool_)]
            self._divisions = np.r_[self._divisions, np.array(divisions, np.bool_)]


def _absolute(table: EffectsTable) -> np.ndarray:
    """Whether each row accesses an address without registers, outside of the segments with a base; (E,) bool."""
    none = (
        (table.accesses[..., columns.BASE] == columns.NONE)
        & (table.accesses[..., columns.INDEX] == columns.NONE)
        & (table.accesses[..., columns.SEGMENT] == columns.NONE)
    )
    used = np.arange(table.accesses.shape[1]) < table.n_accesses[:, None]
    is_absolute: np.ndarray = (none & used).any(1)
    return is_absolute


def _with_forgotten(table: EffectsTable) -> EffectsTable:
    """The rows of a table, then the same rows with memory operands that may be anywhere."""
    forgotten = table.accesses.copy()
    forgotten[..., columns.SIZE] = 0
    return EffectsTable(
        reads=np.concatenate([table.reads] * 2),
        writes=np.concatenate([table.writes] * 2),
        kills=np.concatenate([table.kills] * 2),
        accesses=np.concatenate([table.accesses, forgotten]),
        n_accesses=np.concatenate([table.n_accesses] * 2),
        latency=np.concatenate([table.latency] * 2),
    )


@njit(cache=True, nogil=True)
def linked_by_form(code: np.ndarray, begin: np.ndarray, decoded: Decoded, facts: np.ndarray) -> np.ndarray:
    """Mark.LINKED for each instruction whose displacement may come from a linker, judged by its bytes; (N,) uint8."""
    marks = np.zeros(len(decoded.form), np.uint8)
    for block in range(len(begin)):
        offset = begin[block]
        for i in range(decoded.first[block], decoded.first[block + 1]):
            fact = facts[decoded.form[i]]
            zero = fact.displacement_bytes >= 4
            for byte in range(fact.displacement_bytes):
                zero &= code[offset + fact.displacement_at + byte] == 0
            if zero:
                marks[i] = _LINKED
            offset += fact.length
    return marks


def _ordered(
    direct: Conflicts,
    table: EffectsTable,
    rows: np.ndarray,
    first: np.ndarray,
    marks: np.ndarray,
    fixed: np.ndarray,
    divides: np.ndarray,
    memory: MemoryOrder,
) -> Conflicts:
    """Conflicts with those that the order of memory and what does not move add."""
    if memory == "single_thread" and not fixed.any():
        return direct
    blocks = (
        direct.offsets, direct.before, direct.after, direct.kinds, table.writes, table.accesses, table.n_accesses,
        rows, first, marks, fixed, divides,
    )  # fmt: skip
    arrays = _add(*read_only(blocks), memory != "single_thread", memory == "precise")
    return Conflicts(*arrays)


@njit(cache=True, nogil=True)
def _traits(
    writes: np.ndarray, accesses: np.ndarray, n_accesses: np.ndarray, row: int, mark: int
) -> tuple[bool, bool, bool, bool, bool]:
    """Whether it reads or writes memory that others may observe, may access the frame, changes rsp, and stores."""
    reads_memory, writes_memory, frame = False, False, False
    for x in range(n_accesses[row]):
        access = accesses[row, x]
        direction, base, index = access[_DIRECTION], access[_BASE], access[_INDEX]
        reads_memory |= (direction & _READS) != 0
        writes_memory |= (direction & _WRITES) != 0
        if access[_SEGMENT] in (_FS, _GS):
            continue
        by_stack = base in (_RSP, _RBP) or index in (_RSP, _RBP)
        by_register = (base != _NONE and base != _RIP) or index != _NONE
        frame |= by_stack or (by_register and mark & _CLOSED == 0)
    stores = writes_memory
    if mark & _PRIVATE:
        reads_memory, writes_memory = False, False
    return reads_memory, writes_memory, frame, (writes[row, 0] & _RSP_LANES) != 0, stores


@njit(cache=True, nogil=True)
def _add(
    offsets: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    kinds: np.ndarray,
    writes: np.ndarray,
    accesses: np.ndarray,
    n_accesses: np.ndarray,
    rows: np.ndarray,
    first: np.ndarray,
    marks: np.ndarray,
    fixed: np.ndarray,
    divides: np.ndarray,
    observed: bool,
    precise: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    n_blocks = len(first) - 1
    lengths = first[1:] - first[:-1]
    room = int((lengths * (lengths - 1) // 2).sum())
    new_offsets = np.zeros(n_blocks + 1, np.int64)
    new_before, new_after = np.empty(room, np.uint8), np.empty(room, np.uint8)
    new_kinds, reduced = np.empty(room, np.uint16), np.empty(room, np.bool_)
    pair = np.zeros((_LONGEST, _LONGEST), np.uint16)
    implied = np.zeros((_LONGEST, _LONGEST), np.bool_)
    reach = np.zeros(_LONGEST, np.uint64)
    traits = np.zeros((_LONGEST, 6), np.bool_)
    count = 0
    for block in range(n_blocks):
        start, n = first[block], lengths[block]
        pair[:n, :n] = 0
        for e in range(offsets[block], offsets[block + 1]):
            pair[before[e], after[e]] = kinds[e]
        for i in range(n):
            loads, stores, frame, moves, any_store = _traits(
                writes, accesses, n_accesses, rows[start + i], marks[start + i]
            )
            traits[i, 0], traits[i, 1], traits[i, 2], traits[i, 3] = loads, stores, frame, moves
            traits[i, 4], traits[i, 5] = any_store, loads or stores or divides[start + i]  # the last may trap
        for j in range(n):
            for i in range(j):
                if pair[i, j] != 0:
                    continue
                stays = fixed[start + i] or fixed[start + j]
                if observed:
                    stays |= (traits[i, 3] and traits[j, 2]) or (traits[i, 2] and traits[j, 3])
                    both = (traits[i, 0] or traits[i, 1]) and (traits[j, 0] or traits[j, 1])
                    # A load that stores nothing may pass a store that loads nothing.
                    stays |= both and (traits[i, 0] or traits[j, 1])
                if precise:
                    stays |= (traits[i, 5] and (traits[j, 4] or traits[j, 5])) or (traits[i, 4] and traits[j, 5])
                if stays:
                    pair[i, j] = _ORDER_ONLY
        for j in range(n):
            reach[j] = 0
            for i in range(j - 1, -1, -1):
                if pair[i, j] != 0:
                    implied[i, j] = (reach[j] >> np.uint64(i) & _BIT) != 0
                    reach[j] |= reach[i] | _BIT << np.uint64(i)
        for i in range(n):
            for j in range(i + 1, n):
                if pair[i, j] != 0:
                    new_before[count], new_after[count] = i, j
                    new_kinds[count], reduced[count] = pair[i, j], not implied[i, j]
                    count += 1
        new_offsets[block + 1] = count
    return (
        new_offsets,
        new_before[:count].copy(),
        new_after[:count].copy(),
        new_kinds[:count].copy(),
        reduced[:count].copy(),
    )
