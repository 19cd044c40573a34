"""The confinement of the child process that executes a block: descriptors, resources, and most system calls.

This module uses the standard library only, like `worker`.
"""

from __future__ import annotations

import os
import resource
import signal

from learned_schedulers.seccomp import ALLOW, ANY_BIT, EQUAL, KILL, ConfinementError, If, install, program

_ADDRESS_SPACE = 1 << 30  # bytes that a child may allocate in addition to the worker's memory
_ALLOWED = {  # by number (x86-64): memory, exit, signal returns, FS and GS bases; `write` and `mmap` have conditions
    11: "munmap", 12: "brk", 15: "rt_sigreturn", 25: "mremap", 28: "madvise", 60: "exit", 158: "arch_prctl",
    202: "futex", 231: "exit_group",
}  # fmt: skip
_MMAP, _WRITE, _PROT_EXEC = 9, 1, 4


def _filter(descriptor: int) -> bytes:
    """The BPF program: `write` to the descriptor of the answer alone, and no executable memory."""
    conditions = {
        _WRITE: If(0, EQUAL, descriptor, ALLOW, KILL),
        _MMAP: If(2, ANY_BIT, _PROT_EXEC, KILL, ALLOW),
    }
    return program(conditions | dict.fromkeys(_ALLOWED, ALLOW), KILL)


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
    install(_filter(descriptor))


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
