"""Opcodes as small numbers, and cycles to their results."""

from __future__ import annotations

import re

import numpy as np

from learned_schedulers.blocks.before_allocation.functions import Item

_CYCLES = {  # Haswell, rounded (Intel optimisation manual, appendix C); what is not listed takes one
    4: "load fadd fsub fptrunc fpext fptoui fptosi uitofp sitofp",
    3: "mul extractelement insertelement",
    5: "fmul fma fmuladd",
    13: "fdiv sqrt",
    24: "udiv sdiv urem srem frem",
}
_INTRINSICS = """
    abs bswap ctlz ctpop cttz fabs fma fmuladd fshl fshr masked sadd smax smin smul sqrt ssub uadd umax umin umul usub
    vector x86
""".split()  # noqa: SIM905
_INSTRUCTIONS = """
    fneg add fadd sub fsub mul fmul udiv sdiv fdiv urem srem frem shl lshr ashr and or xor extractelement insertelement
    shufflevector extractvalue insertvalue alloca load store fence cmpxchg atomicrmw getelementptr trunc zext sext
    fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint ptrtoaddr inttoptr bitcast addrspacecast icmp fcmp select freeze
    call va_arg
""".split()  # noqa: SIM905
OPCODES = ("other", *_INSTRUCTIONS, *(f"llvm.{name}" for name in _INTRINSICS))
_NUMBERS = {name: i for i, name in enumerate(OPCODES)}
_CYCLES_OF = {name: cycles for cycles, names in _CYCLES.items() for name in names.split()}
_INTRINSIC = re.compile(r" @llvm\.(\w+)[\w.]*\(")
CYCLES = np.array([_CYCLES_OF.get(name.removeprefix("llvm."), 1) for name in OPCODES])  # of each number


def number(item: Item) -> int:
    """The number of an instruction's opcode; that of an intrinsic function with a number of its own, 0 for others."""
    if item.opcode == "call" and (intrinsic := _INTRINSIC.search(item.lines[-1])):
        return _NUMBERS.get(f"llvm.{intrinsic[1]}", _NUMBERS["call"])
    return _NUMBERS.get(item.opcode, 0)
