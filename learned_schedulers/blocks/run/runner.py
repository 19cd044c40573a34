"""Code of the executing child process: the trampoline, pieces of code, and their comparison from equal start states.

This module uses the standard library only, like `worker`.
"""

from __future__ import annotations

import ctypes
import mmap
import signal
import struct
from typing import Any, NamedTuple

from learned_schedulers.blocks.run import layout
from learned_schedulers.blocks.run.layout import PAGE_BYTES

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
_libc.syscall.restype = ctypes.c_long
_ANONYMOUS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
_FIXED_NOREPLACE = 0x100000
_SIGNALS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP)


def _map_memory(address: int, size: int) -> int:
    """Map memory that is readable and writable at an address, or anywhere for address 0."""
    kind = _ANONYMOUS | (_FIXED_NOREPLACE if address else 0)
    mapped = _libc.mmap(address or None, size, mmap.PROT_READ | mmap.PROT_WRITE, kind, -1, 0)
    if mapped in (None, ctypes.c_void_p(-1).value) or (address and mapped != address):
        raise OSError(ctypes.get_errno(), f"cannot map {size} bytes at {address:#x}")
    return int(mapped)


class Machine:
    """The trampoline in this process's memory, and the layout of the processor's XSAVE area."""

    def __init__(self, code: bytes, labels: dict[str, int]) -> None:
        self.base = _map_memory(0, layout.REGION_BYTES)
        ctypes.memmove(self.base, code, len(code))
        _libc.mprotect(self.base, layout.CODE_BYTES, mmap.PROT_READ | mmap.PROT_EXEC)
        region = (ctypes.c_char * layout.REGION_BYTES).from_address(self.base)
        self.bytes = memoryview(region).cast("B")
        self.words = self.bytes.cast("Q")
        self.labels = {name: self.base + offset for name, offset in labels.items()}
        self.run = ctypes.CFUNCTYPE(ctypes.c_uint64)(self.labels["run"])
        self.fill = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64)(self.labels["fill"])
        self._identify = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(
            self.labels["identify"]
        )
        if not self.identify(1)[2] >> 27 & 1:
            raise OSError("the operating system does not offer XSAVE")
        self.features = self.identify(0)[0] & 0xE7
        self.places = {i: self.identify(0xD, i)[:2][::-1] for i in (2, 5, 6, 7) if self.features >> i & 1}
        self.state_bytes = max([576, *(offset + size for offset, size in self.places.values())])
        if self.state_bytes > layout.STATE_BYTES:
            raise OSError(f"the processor's state takes {self.state_bytes} bytes")
        self.words[layout.FEATURES >> 3] = self.features
        for address_slot, arch_prctl_code in ((layout.HOST_FS_BASE, 0x1003), (layout.HOST_GS_BASE, 0x1004)):
            _libc.syscall(
                158, arch_prctl_code, ctypes.c_void_p(self.base + address_slot)
            )  # arch_prctl, ARCH_GET_FS and _GS

    def identify(self, leaf: int, subleaf: int = 0) -> list[int]:
        """eax, ebx, ecx and edx after `cpuid`, or after `xgetbv` for leaf 0."""
        registers = (ctypes.c_uint32 * 4)()
        self._identify(leaf, subleaf, ctypes.addressof(registers))
        return list(registers)

    def catch(self) -> None:
        """Let the trampoline handle the faults of this process, on a separate stack."""
        size = 1 << 16
        stack = struct.pack("<QiiQ", _map_memory(0, size), 0, 0, size)
        _libc.syscall(131, stack, None)  # sigaltstack
        # SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTORER
        action = struct.pack("<QQQQ", self.labels["handler"], 0x4C000004, self.labels["restorer"], 0)
        for number in _SIGNALS:
            _libc.syscall(13, int(number), action, None, 8)  # rt_sigaction

    def load(self, state: bytes) -> None:
        """Make `state` (in the format of layout.STATE_HEAD and STATE_PARTS) the start state of `run`."""
        head = struct.calcsize(layout.STATE_HEAD)
        values = struct.unpack_from(layout.STATE_HEAD, state)
        self.words[layout.IN_REGISTERS >> 3 : (layout.IN_REGISTERS >> 3) + 17] = _words(values[:17])
        for address, value in zip(range(layout.SEED, layout.SEED + 40, 8), values[17:22], strict=True):
            self.words[address >> 3] = value
        self.words[layout.FS_BASE >> 3], self.words[layout.GS_BASE >> 3] = values[22:24]
        x87_control, x87_status, tags, mxcsr = values[24:]
        x87, vectors, masks = (
            state[head + sum(layout.STATE_PARTS[:i]) : head + sum(layout.STATE_PARTS[: i + 1])] for i in range(3)
        )
        area = bytearray(self.state_bytes)
        struct.pack_into("<HHBxHQQI", area, 0, x87_control, x87_status, tags, 0, 0, 0, mxcsr)
        area[32:160] = x87
        area[160:416] = b"".join(vectors[64 * i : 64 * i + 16] for i in range(16))
        struct.pack_into("<Q", area, 512, self.features)
        parts = {
            2: b"".join(vectors[64 * i + 16 : 64 * i + 32] for i in range(16)),
            5: masks,
            6: b"".join(vectors[64 * i + 32 : 64 * i + 64] for i in range(16)),
            7: vectors[1024:],
        }
        for i, (offset, size) in self.places.items():
            area[offset : offset + size] = parts[i][:size]
        self.bytes[layout.IN_STATE : layout.IN_STATE + len(area)] = bytes(area)


def _words(values: tuple[int, ...]) -> memoryview:
    return memoryview(struct.pack(f"<{len(values)}Q", *values)).cast("Q")


class _PageCopy(NamedTuple):
    """Addresses of a page, of its initial content, and of its content after the first piece."""

    page: int
    initial: int
    expected: int


class Job:
    """Pieces of code, which run from the same start states; each is compared with the first one."""

    def __init__(self, machine: Machine, header: dict[str, Any], blob: bytes) -> None:
        self.machine = machine
        jump_to_leave = layout.JUMP + machine.labels["leave"].to_bytes(8, "little")
        parts, offset = [], 0
        for size in [*header["code"], *header["states"]]:
            parts.append(blob[offset : offset + size])
            offset += size
        pieces = [part + jump_to_leave for part in parts[: len(header["code"])]]
        self.states = parts[len(header["code"]) :]
        start: int = header["address"]
        slot = layout.slot_bytes(max(header["code"]))
        self.entries = [start + i * slot for i in range(len(pieces))]
        image = b"".join(piece.ljust(slot, b"\0") for piece in pieces)
        _map_memory(start, room := -(-len(image) // PAGE_BYTES) * PAGE_BYTES)
        ctypes.memmove(start, image, len(image))
        _libc.mprotect(start, room, mmap.PROT_READ | mmap.PROT_EXEC)
        machine.words[layout.SEGMENTS >> 3] = header["segments"]
        self.undefined: int = header["undefined"]
        self.report_registers: bool = header["registers"]
        self.initial = _map_memory(0, layout.MAX_PAGES * PAGE_BYTES)
        self.expected = _map_memory(0, layout.MAX_PAGES * PAGE_BYTES)
        self.difference: tuple[int, str] = (-1, "")

    def run(self, entry: int) -> int:
        self.machine.words[layout.ENTRY >> 3] = entry
        return int(self.machine.run())

    def pages(self) -> list[int]:
        words = self.machine.words
        return list(words[layout.PAGES >> 3 : (layout.PAGES >> 3) + words[layout.N_PAGES >> 3]])

    def unmap(self, first: int) -> None:
        """Unmap the pages from number `first` on."""
        for page in self.pages()[first:]:
            _libc.munmap(page, PAGE_BYTES)
        self.machine.words[layout.N_PAGES >> 3] = first

    def registers(self) -> tuple[int, ...]:
        return struct.unpack_from("<17Q", self.machine.bytes, layout.OUT_REGISTERS)

    def fault(self, entry: int) -> list[int]:
        """Signal, its code, address, and the offset of the instruction in its piece of code."""
        number, code, address, rip = self.machine.words[layout.SIGNAL >> 3 : (layout.FAULT_RIP >> 3) + 1]
        return [number, code, address, rip - entry]

    def changed_pages(self) -> list[tuple[int, int]]:
        """(page, copy) of every page that differs from its initial content; `copy` is the address of that content."""
        copies = [(page, self.initial + i * PAGE_BYTES) for i, page in enumerate(self.pages())]
        for page, initial in copies:
            self.machine.fill(initial, page)
        return [pair for pair in copies if _libc.memcmp(*pair, PAGE_BYTES)]

    @staticmethod
    def restore(pages: list[tuple[int, int]]) -> None:
        """Restore the initial content of pages."""
        for page, initial in pages:
            ctypes.memmove(page, initial, PAGE_BYTES)

    def from_state(self, state: bytes) -> dict[str, Any]:
        """Outcome of every piece from one state."""
        machine, words = self.machine, self.machine.words
        self.unmap(0)
        machine.load(state)
        if self.run(self.entries[0]):
            return {"fault": self.fault(self.entries[0]), "codes": []}
        pages = self.pages()
        changed_pages = self.changed_pages()
        copies = [
            _PageCopy(page, self.initial + i * PAGE_BYTES, self.expected + i * PAGE_BYTES)
            for i, page in enumerate(pages)
        ]
        for copy in copies:
            ctypes.memmove(copy.expected, copy.page, PAGE_BYTES)
        registers = self.registers()
        state_address, size = machine.base + layout.OUT_STATE, machine.state_bytes
        expected_state = machine.bytes[layout.OUT_STATE : layout.OUT_STATE + size].tobytes()
        codes, reported_registers = [], [list(registers)]
        dirty = changed_pages
        for number, entry in enumerate(self.entries[1:], 1):
            self.restore(dirty)
            dirty = changed_pages
            code = layout.EQUAL
            if self.run(entry):
                code = layout.FAULTED
                self.note(number, f"fault {self.fault(entry)}")
            else:
                final_registers = self.registers()
                flags = (final_registers[16] ^ registers[16]) & layout.FLAGS
                same = (
                    final_registers[:16] == registers[:16]
                    and words[layout.N_PAGES >> 3] == len(pages)
                    and not _libc.memcmp(state_address, expected_state, size)
                    and not any(_libc.memcmp(copy.page, copy.expected, PAGE_BYTES) for copy in copies)
                )
                if not same or flags & ~self.undefined:
                    code = layout.DIFFERENT
                    self.note(number, self.describe(registers, final_registers, expected_state, copies))
                elif flags:
                    code = layout.UNDEFINED_FLAGS
                reported_registers.append(list(final_registers))
            if code >= layout.DIFFERENT:
                self.unmap(len(pages))
                dirty = [(copy.page, copy.initial) for copy in copies]
            codes.append(code)
        return {"fault": None, "codes": codes, "registers": reported_registers if self.report_registers else []}

    def note(self, number: int, text: str) -> None:
        if not self.difference[1]:
            self.difference = (number, text)

    def describe(
        self, before: tuple[int, ...], after: tuple[int, ...], expected_state: bytes, copies: list[_PageCopy]
    ) -> str:
        """A text of the differences."""
        names = ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{i}" for i in range(8, 16)), "flags"]
        mask = [~0] * 16 + [layout.FLAGS]
        differences = [
            f"{name} {old & bits:#x} -> {new & bits:#x}"
            for name, old, new, bits in zip(names, before, after, mask, strict=True)
            if (old ^ new) & bits
        ]
        area = self.machine.bytes[layout.OUT_STATE : layout.OUT_STATE + len(expected_state)].tobytes()
        if area != expected_state:
            different_bytes = [i for i in range(len(expected_state)) if area[i] != expected_state[i]]
            differences.append(f"x87/vector state at bytes {different_bytes[:8]}")
        for copy in copies:
            expected, actual = ctypes.string_at(copy.expected, PAGE_BYTES), ctypes.string_at(copy.page, PAGE_BYTES)
            differences += [f"memory {copy.page + i:#x}" for i in range(PAGE_BYTES) if expected[i] != actual[i]][:2]
        if self.machine.words[layout.N_PAGES >> 3] != len(copies):
            differences.append(f"touches page {self.pages()[-1]:#x}")
        return ", ".join(differences)

    def answer(self) -> dict[str, Any]:
        """The results, for `native`."""
        return {"states": [self.from_state(state) for state in self.states], "difference": self.difference}
