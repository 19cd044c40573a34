"""What the child that executes a block gives up: descriptors, resources, and most system calls.

Standard library only, as `worker` is.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct

_libc = ctypes.CDLL(None, use_errno=True)
_ADDRESS_SPACE = 1 << 30  # bytes a child may have beyond what the worker has
_ALLOWED = {  # by number (x86-64): memory, the end, signal returns, FS and GS bases; `write` and `mmap` with conditions
    11: "munmap", 12: "brk", 15: "rt_sigreturn", 25: "mremap", 28: "madvise", 60: "exit", 158: "arch_prctl",
    202: "futex", 231: "exit_group",
}  # fmt: skip
_MMAP, _WRITE, _PROT_EXEC, _X86_64 = 9, 1, 4, 0xC000003E
_NUMBER, _ARCHITECTURE, _FIRST, _THIRD = 0, 4, 16, 32  # offsets in struct seccomp_data
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06  # BPF opcodes
_KILL, _ALLOW = 0x80000000, 0x7FFF0000


def _filter(descriptor: int) -> bytes:
    """BPF program: (opcode, jump if true, jump if false, operand) each."""
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _X86_64),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        # write: to the answer's descriptor alone
        (_EQUAL, 0, 4, _WRITE),
        (_LOAD, 0, 0, _FIRST),
        (_EQUAL, 0, 1, descriptor),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _KILL),
        # mmap: nothing executable
        (_EQUAL, 0, 4, _MMAP),
        (_LOAD, 0, 0, _THIRD),
        (_ANY_BIT, 1, 0, _PROT_EXEC),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _KILL),
    ]
    for number in _ALLOWED:
        program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    program.append((_RETURN, 0, 0, _KILL))
    return b"".join(struct.pack("<HBBI", *row) for row in program)


def address_space() -> int:
    """Bytes of virtual memory that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def confine(descriptor: int, seconds: float, room: int) -> bool:
    """From now on: no descriptor but `descriptor`, `seconds` to live (then SIGALRM), 1 GB of memory beside `room`.

    Returns whether the kernel accepted the seccomp filter as well.
    """
    os.closerange(0, descriptor)
    os.closerange(descriptor + 1, 1024)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    for name, value in (
        (resource.RLIMIT_CPU, int(seconds) + 1),
        (resource.RLIMIT_AS, room + _ADDRESS_SPACE),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_NOFILE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(name, (value, value))
    code = ctypes.create_string_buffer(_filter(descriptor))
    size = ctypes.sizeof(code) // 8
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", size, ctypes.addressof(code)))
    # PR_SET_NO_NEW_PRIVS, then PR_SET_SECCOMP with SECCOMP_MODE_FILTER
    return _libc.prctl(38, 1, 0, 0, 0) == 0 and _libc.prctl(22, 2, program, 0, 0) == 0
