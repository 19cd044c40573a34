"""Filters of a process's own system calls (seccomp): a table of calls, written as BPF, and proven to be active.

This module uses the standard library only, as does the worker that executes blocks. Numbers are those of x86-64.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Mapping
from typing import NamedTuple

libc = ctypes.CDLL(None, use_errno=True)
libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
_LOAD, EQUAL, ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06  # BPF opcodes
KILL, ALLOW, ERROR = 0x80000000, 0x7FFF0000, 0x00050000  # KILL_PROCESS, ALLOW, ERRNO, to which the error is added
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_X86_64, _X32 = 0xC000003E, 1 << 30  # AUDIT_ARCH_X86_64; the bit that marks system calls of x32
_PRCTL = 157
_SET_NO_NEW_PRIVS, _GET_NO_NEW_PRIVS, _GET_SECCOMP, _SET_SECCOMP, _FILTER_MODE = 38, 39, 21, 22, 2  # of prctl
_PROOF = 2832  # an error number that no kernel returns: it proves that this filter is active


class ConfinementError(RuntimeError):
    """This process is not confined: no code of a block may run in it."""


class If(NamedTuple):
    """What becomes of a call by the lower half of one of its arguments."""

    argument: int  # its number, from 0 on
    test: int  # EQUAL or ANY_BIT
    operand: int
    met: int
    otherwise: int


def program(calls: Mapping[int, int | If], otherwise: int) -> bytes:
    """The filter as BPF. calls: what becomes of each by its number; otherwise: of all others, prctl among them.

    prctl(PR_GET_SECCOMP) is answered by the filter instead of the kernel.
    """
    rows = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (EQUAL, 1, 0, _X86_64),
        (_RETURN, 0, 0, KILL),
        (_LOAD, 0, 0, _NUMBER),
        (ANY_BIT, 0, 1, _X32),
        (_RETURN, 0, 0, KILL),
    ]
    for number, result in {**calls, _PRCTL: If(0, EQUAL, _GET_SECCOMP, ERROR | _PROOF, otherwise)}.items():
        if isinstance(result, If):
            rows += [
                (EQUAL, 0, 4, number),
                (_LOAD, 0, 0, _ARGUMENTS + 8 * result.argument),
                (result.test, 0, 1, result.operand),
                (_RETURN, 0, 0, result.met),
                (_RETURN, 0, 0, result.otherwise),
            ]
        else:
            rows += [(EQUAL, 0, 1, number), (_RETURN, 0, 0, result)]
    return b"".join(struct.pack("<HBBI", *row) for row in [*rows, (_RETURN, 0, 0, otherwise)])


def install(code: bytes) -> None:
    """Set no_new_privs and the filter, and check that both are active. Raises ConfinementError if one is not."""
    if libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.prctl(_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1:
        raise ConfinementError("the kernel does not set no_new_privs")
    buffer = ctypes.create_string_buffer(code)
    header = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer)))
    if libc.prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.addressof(header), 0, 0) != 0:
        raise ConfinementError(f"the kernel refuses a seccomp filter ({os.strerror(ctypes.get_errno())})")
    if libc.prctl(_GET_SECCOMP, 0, 0, 0, 0) != -1 or ctypes.get_errno() != _PROOF:
        raise ConfinementError("the kernel accepts a seccomp filter and does not apply it")
