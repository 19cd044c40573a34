"""Constants that trampoline, worker and clients share. Nothing is imported, so that the worker stays small."""

from __future__ import annotations

# Offsets from the trampoline's start: code first (readable, executable), then data (readable, writable).
CODE_BYTES = 0x1000
HOST_STACK = 0x1000  # the host's stack pointer while a block runs
ENTRY = 0x1008  # address of the block
RUNNING = 0x1010  # 1 while a block runs
SIGNAL = 0x1018  # the signal that ended the block, or 0; then the signal's code, address, instruction
SIGNAL_CODE = 0x1020
FAULT_ADDRESS = 0x1028
FAULT_RIP = 0x1030
N_PAGES = 0x1038  # pages that the block has touched so far
SEED = 0x1048  # of the content of fresh pages
MASKS = 0x1050  # and, or; and, or: see states.content
SEGMENTS = 0x1070  # 1: FS and GS get separate bases
FS_BASE = 0x1078
GS_BASE = 0x1080
HOST_FS_BASE = 0x1088
HOST_GS_BASE = 0x1090
FEATURES = 0x1098  # XSAVE's mask: x87, SSE, AVX, AVX-512
HOST_MXCSR = 0x10A0
IN_REGISTERS = 0x1100  # rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 .. r15, rflags
OUT_REGISTERS = 0x1200
PAGES = 0x1400  # addresses, uint64
IN_STATE = 0x2000  # XSAVE areas, standard form
OUT_STATE = 0x3000
REGION_BYTES = 0x4000

PAGE_BYTES = 4096
MAX_PAGES = 256
STATE_BYTES = REGION_BYTES - OUT_STATE  # the maximum for an XSAVE area
LOWEST, HIGHEST = 0x10000, 1 << 46  # range of addresses at which pages are created; the host's pages are above
FLAGS = 0xCD5  # carry, parity, adjust, zero, sign, direction, overflow: the bits of rflags that a block can change

# The format of a start state that is sent to the worker: registers (17 uint64), seed, masks (4), FS and GS bases, then
# control words (FCW, FSW, abridged tags, MXCSR), x87/MMX registers (8 x 16 bytes), zmm0 .. zmm31, k0 .. k7.
STATE_HEAD = "<17Q Q 4Q 2Q HHHxxI"
STATE_PARTS = (8 * 16, 32 * 64, 8 * 8)
JUMP = b"\xff\x25\x00\x00\x00\x00"  # jmp *0(%rip), followed by its target: the end of every piece of code

EQUAL, UNDEFINED_FLAGS, DIFFERENT, FAULTED = range(4)  # how a run compares with that of the original order


def slot_bytes(longest: int) -> int:
    """Distance in bytes between the pieces of code of one job, if the longest has `longest` bytes."""
    return -(-(longest + len(JUMP) + 8) // 16) * 16
