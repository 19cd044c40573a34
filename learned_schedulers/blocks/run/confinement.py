"""The confinement of the child process that executes a block: descriptors, resources, and most system calls.

This module uses the standard library only, like `worker`.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct

_libc = ctypes.CDLL(None, use_errno=True)
_libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
_ADDRESS_SPACE = 1 << 30  # bytes that a child may allocate in addition to the worker's memory
_ALLOWED = {  # by number (x86-64): memory, exit, signal returns, FS and GS bases; `write` and `mmap` have conditions
    11: "munmap", 12: "brk", 15: "rt_sigreturn", 25: "mremap", 28: "madvise", 60: "exit", 158: "arch_prctl",
    202: "futex", 231: "exit_group",
}  # fmt: skip
_MMAP, _WRITE, _PRCTL, _PROT_EXEC = 9, 1, 157, 4
_X86_64, _X32 = 0xC000003E, 1 << 30  # AUDIT_ARCH_X86_64; the bit that marks system calls of x32
_SET_NO_NEW_PRIVS, _GET_NO_NEW_PRIVS, _GET_SECCOMP, _SET_SECCOMP, _FILTER_MODE = 38, 39, 21, 22, 2  # of prctl
_NUMBER, _ARCHITECTURE, _FIRST, _THIRD = 0, 4, 16, 32  # offsets in struct seccomp_data
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06  # BPF opcodes
_KILL, _ALLOW, _ERROR = 0x80000000, 0x7FFF0000, 0x00050000  # KILL_PROCESS, ALLOW, ERRNO
_OWN_ERROR = 2832  # an error number that no kernel returns: it proves that this filter is active


class ConfinementError(RuntimeError):
    """This process is not confined: no code of a block may run in it."""


def _filter(descriptor: int) -> bytes:
    """The BPF program: rows of (opcode, jump if true, jump if false, operand), packed."""
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _X86_64),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_ANY_BIT, 0, 1, _X32),
        (_RETURN, 0, 0, _KILL),
        # write: only to the descriptor of the answer
        (_EQUAL, 0, 4, _WRITE),
        (_LOAD, 0, 0, _FIRST),
        (_EQUAL, 0, 1, descriptor),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _KILL),
        # mmap: no executable memory
        (_EQUAL, 0, 4, _MMAP),
        (_LOAD, 0, 0, _THIRD),
        (_ANY_BIT, 1, 0, _PROT_EXEC),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _KILL),
        # prctl(PR_GET_SECCOMP): the filter answers instead of the kernel
        (_EQUAL, 0, 4, _PRCTL),
        (_LOAD, 0, 0, _FIRST),
        (_EQUAL, 0, 1, _GET_SECCOMP),
        (_RETURN, 0, 0, _ERROR | _OWN_ERROR),
        (_RETURN, 0, 0, _KILL),
    ]
    for number in _ALLOWED:
        program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    program.append((_RETURN, 0, 0, _KILL))
    return b"".join(struct.pack("<HBBI", *row) for row in program)


def address_space() -> int:
    """Bytes of virtual memory of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def confine(descriptor: int, seconds: float, room: int) -> None:
    """Keep only `descriptor`, limit life to `seconds` (then SIGALRM) and memory to 1 GiB more than `room` bytes.

    From then on this process gains no privileges, and a system call that is not allowed kills it. Raises
    ConfinementError if the kernel refuses one of these, or accepts it without effect.
    """
    try:
        _limit(descriptor, seconds, room)
    except (OSError, ValueError) as error:
        raise ConfinementError(f"a limit cannot be set ({error})") from error
    _filter_calls(descriptor)


def _limit(descriptor: int, seconds: float, room: int) -> None:
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


def _filter_calls(descriptor: int) -> None:
    """Set no_new_privs and the filter, and check that both are active."""
    if _libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or _libc.prctl(_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1:
        raise ConfinementError("the kernel does not set no_new_privs")
    code = ctypes.create_string_buffer(_filter(descriptor))
    header = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(code) // 8, ctypes.addressof(code)))
    if _libc.prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.addressof(header), 0, 0) != 0:
        raise ConfinementError(f"the kernel refuses a seccomp filter ({os.strerror(ctypes.get_errno())})")
    if _libc.prctl(_GET_SECCOMP, 0, 0, 0, 0) != -1 or ctypes.get_errno() != _OWN_ERROR:
        raise ConfinementError("the kernel accepts a seccomp filter and does not apply it")
