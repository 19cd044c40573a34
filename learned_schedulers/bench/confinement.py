"""What a process that runs a stranger's method may not do: start others, reach them or the network, take all memory.

It is no sandbox: files can be read and written as its user may. So whoever does not trust a method at all runs the
comparison in a container; who judges its result runs nothing of it (`leaderboard`).
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import struct

from learned_schedulers.seccomp import ALLOW, ANY_BIT, ERROR, ConfinementError, If, install, libc, program

MEMORY = 8 << 30  # bytes
_FILE_BYTES = 1 << 30  # of a file that it writes
_THREAD = 0x10000  # flag of clone
_CLONE, _CLONE3 = 56, 435
_REFUSED = {  # by number (x86-64)
    57: "fork", 58: "vfork", 59: "execve", 322: "execveat", 41: "socket", 425: "io_uring_setup", 272: "unshare",
    62: "kill", 200: "tkill", 434: "pidfd_open", 101: "ptrace", 310: "process_vm_readv", 311: "process_vm_writev",
}  # fmt: skip
_SET_PARENTS_END, _SET_DUMPABLE = 1, 4  # of prctl
_CAPABILITIES = struct.pack("<Ii", 0x20080522, 0)  # version 3, of this process


def confine(memory: int = MEMORY) -> str:
    """Limit this process, for good; empty, or why it may still start processes and use the network.

    memory: bytes that it may allocate. As root it has root's files, and none of the other rights of root.
    """
    for name, most in (
        (resource.RLIMIT_DATA, memory),  # not RLIMIT_AS: CUDA reserves far more addresses than it uses
        (resource.RLIMIT_FSIZE, _FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(name)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(name, (least, least))
    libc.capset(_CAPABILITIES, bytes(24))
    libc.prctl(_SET_PARENTS_END, signal.SIGKILL, 0, 0, 0)
    if (machine := os.uname().machine) != "x86_64":
        return f"the filter of system calls is for x86-64, and this machine is {machine}"
    refused = ERROR | errno.EPERM
    # The C library takes clone, whose flags a filter can read, where there is no clone3.
    calls: dict[int, int | If] = dict.fromkeys(_REFUSED, refused)
    calls |= {_CLONE: If(0, ANY_BIT, _THREAD, ALLOW, refused), _CLONE3: ERROR | errno.ENOSYS}
    try:
        install(program(calls, ALLOW))
    except ConfinementError as error:
        return str(error)
    return ""


def close_memory() -> None:
    """From now on no process without root's rights reads or writes the memory of this one by /proc."""
    libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
