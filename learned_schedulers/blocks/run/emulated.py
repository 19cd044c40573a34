"""The portable executor: unicorn emulates the code. It is slow, and it refuses VEX, EVEX and XOP vector code.

(unicorn executes VEX.128 code without an error, but it leaves the upper half of the register unchanged.) Every task
gets a new emulator, so that no translated code outlives the bytes from which it was translated.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple, Self

import numpy as np
import unicorn
from iced_x86 import Decoder, EncodingKind
from unicorn import x86_const as x86

from learned_schedulers.blocks.run import layout
from learned_schedulers.blocks.run.oracle import Execution, Fault, Run, Task
from learned_schedulers.blocks.run.states import FS_BASE, GS_BASE, State, content

_GENERAL = [
    getattr(x86, f"UC_X86_REG_{name}")
    for name in ("RAX", "RCX", "RDX", "RBX", "RSP", "RBP", "RSI", "RDI", *(f"R{i}" for i in range(8, 16)))
]
_VECTORS = [getattr(x86, f"UC_X86_REG_XMM{i}") for i in range(16)]
_X87 = [getattr(x86, f"UC_X86_REG_FP{i}") for i in range(8)]  # physical registers
_CONTROL = [x86.UC_X86_REG_FPCW, x86.UC_X86_REG_FPSW, x86.UC_X86_REG_FPTAG, x86.UC_X86_REG_MXCSR]
_PAGE = layout.PAGE_BYTES
_REASONS = {
    unicorn.UC_ERR_INSN_INVALID: "instruction that the emulator does not know",
    unicorn.UC_ERR_EXCEPTION: "processor exception",
    unicorn.UC_ERR_WRITE_PROT: "address that the code may not write",
}


class Emulated:
    """Executes tasks by emulation, without a risk for the host."""

    def execute(self, task: Task) -> Execution:
        for instruction in Decoder(64, task.pieces[0]):
            if instruction.encoding not in (EncodingKind.LEGACY, EncodingKind.D3NOW):
                return Execution([], "vector code that the emulator gets wrong (VEX, EVEX or XOP)")
        machine = _Machine(task)
        runs = [machine.from_state(state) for state in task.states]
        return Execution(runs, "", machine.different, "the emulated states differ" if machine.different >= 0 else "")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class _FinalState(NamedTuple):
    registers: tuple[int, ...]  # general
    flags: int
    other_state: tuple[object, ...]  # vector, x87 and control registers, and pages of memory


class _Machine:
    def __init__(self, task: Task) -> None:
        self.task, self.different = task, -1
        self.uc = unicorn.Uc(unicorn.UC_ARCH_X86, unicorn.UC_MODE_64)
        slot = layout.slot_bytes(max(map(len, task.pieces)))
        self.entries = [task.address + i * slot for i in range(len(task.pieces))]
        begin = task.address // _PAGE * _PAGE
        end = -(-(task.address + slot * len(task.pieces)) // _PAGE) * _PAGE
        self.uc.mem_map(begin, end - begin, unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC)
        for entry, piece in zip(self.entries, task.pieces, strict=True):
            self.uc.mem_write(entry, piece)
        self.uc.hook_add(unicorn.UC_HOOK_MEM_READ_UNMAPPED | unicorn.UC_HOOK_MEM_WRITE_UNMAPPED, self._touch)
        self.pages: dict[int, bytes] = {}  # address -> initial content
        self.state: State

    def _touch(self, uc: Any, _access: int, address: int, size: int, *_: object) -> bool:
        for page in range(address // _PAGE * _PAGE, address + size, _PAGE):
            if page in self.pages:
                continue
            if not layout.LOWEST <= page < layout.HIGHEST or len(self.pages) >= layout.MAX_PAGES:
                return False
            words = np.arange(page, page + _PAGE, 8, dtype=np.uint64)
            self.pages[page] = content(words, self.state.seed, self.state.masks).tobytes()
            uc.mem_map(page, _PAGE, unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE)
            uc.mem_write(page, self.pages[page])
        return True

    def _load(self) -> None:
        uc, state = self.uc, self.state
        for page, initial in self.pages.items():
            uc.mem_write(page, initial)
        for register, value in zip(_GENERAL, state.registers, strict=True):
            uc.reg_write(register, value)
        uc.reg_write(x86.UC_X86_REG_RFLAGS, state.flags)
        uc.reg_write(x86.UC_X86_REG_FS_BASE, FS_BASE)
        uc.reg_write(x86.UC_X86_REG_GS_BASE, GS_BASE)
        for i, register in enumerate(_VECTORS):
            uc.reg_write(register, int.from_bytes(state.vectors[64 * i : 64 * i + 16], "little"))
        top = state.x87_status >> 11 & 7
        for i in range(8):
            mantissa, exponent = struct.unpack_from("<QH", state.x87, 16 * i)
            uc.reg_write(_X87[(top + i) % 8], (mantissa, exponent))
        tags = sum(3 << 2 * i for i in range(8) if not state.x87_tags >> i & 1)
        for register, value in zip(_CONTROL, (state.x87_control, state.x87_status, tags, state.mxcsr), strict=True):
            uc.reg_write(register, value)

    def _final(self) -> _FinalState:
        uc = self.uc
        special = [uc.reg_read(register) for register in (*_VECTORS, *_X87, *_CONTROL)]
        memory = [(page, bytes(uc.mem_read(page, _PAGE))) for page in sorted(self.pages)]
        registers = tuple(uc.reg_read(register) for register in _GENERAL)
        return _FinalState(registers, uc.reg_read(x86.UC_X86_REG_RFLAGS) & layout.FLAGS, (*special, *memory))

    def _run(self, number: int) -> Fault | None:
        entry, piece = self.entries[number], self.task.pieces[number]
        self._load()
        try:
            self.uc.emu_start(entry, entry + len(piece), timeout=int(self.task.seconds * 1e6))
        except unicorn.UcError as error:
            offset = self.uc.reg_read(x86.UC_X86_REG_RIP) - entry
            return Fault(_REASONS.get(error.errno, "address where no page can be made"), offset)
        if self.uc.reg_read(x86.UC_X86_REG_RIP) != entry + len(piece):
            return Fault("time limit", -1)
        return None

    def _unmap(self, first: int) -> None:
        """Unmap the pages from number `first` on."""
        for page in list(self.pages)[first:]:
            self.uc.mem_unmap(page, _PAGE)
            del self.pages[page]

    def from_state(self, state: State) -> Run:
        self.state = state
        self._unmap(0)
        fault = self._run(0)
        if fault is not None:
            return Run(fault)
        expected, n_pages = self._final(), len(self.pages)
        codes, registers = [], [(*expected.registers, expected.flags)]
        for number in range(1, len(self.entries)):
            code = layout.FAULTED
            if self._run(number) is None:
                final = self._final()
                registers.append((*final.registers, final.flags))
                flags = final.flags ^ expected.flags
                same = (
                    final.registers == expected.registers
                    and final.other_state == expected.other_state
                    and len(self.pages) == n_pages
                )
                code = layout.UNDEFINED_FLAGS if flags else layout.EQUAL
                if not same or flags & ~self.task.undefined:
                    code = layout.DIFFERENT
            if code >= layout.DIFFERENT:
                self._unmap(n_pages)
                self.different = number if self.different < 0 else self.different
            codes.append(code)
        return Run(None, tuple(codes), tuple(registers) if self.task.registers else ())
