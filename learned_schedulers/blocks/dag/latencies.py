"""Nominal latencies for list scheduling: Haswell, rounded (Intel optimisation manual, appendix C)."""

from __future__ import annotations

from functools import cache

from iced_x86 import Mnemonic, Mnemonic_

_LOAD = 4
_BY_NAME = (  # the first match counts; the suffixes pd, ps, sd and ss distinguish floating point from integer vectors
    (("DIVSD", "DIVPD", "SQRTSD", "SQRTPD"), 20),
    (("DIVSS", "DIVPS", "SQRTSS", "SQRTPS"), 13),
    (("FDIV", "FSQRT", "DIV", "IDIV"), 24),
    (("MULSD", "MULPD", "MULSS", "MULPS", "FMADD", "FMSUB", "FNMADD", "FNMSUB", "FMUL", "PMUL", "PMADD"), 5),
    (("ADDSD", "ADDPD", "ADDSS", "ADDPS", "SUBSD", "SUBPD", "SUBSS", "SUBPS", "MINS", "MAXS", "CVT"), 3),
    (("FADD", "FSUB"), 3),
    (("COMIS", "UCOMIS", "CMPSD", "CMPSS", "CMPPD", "CMPPS", "IMUL", "MUL"), 3),
    (("BSF", "BSR", "POPCNT", "LZCNT", "TZCNT", "PHADD", "PSADBW", "PMOVMSK", "MOVMSK"), 3),
)  # fmt: skip
_NAMES = {value: name for name, value in vars(Mnemonic).items() if isinstance(value, int) and name.isupper()}


@cache
def nominal_latency(mnemonic: Mnemonic_, loads: bool) -> int:
    """Cycles from an instruction's issue to its result; `loads`: it reads memory (that hits the first-level cache)."""
    name = _NAMES[mnemonic].removeprefix("V")
    cycles = next((value for prefixes, value in _BY_NAME if name.startswith(prefixes)), 1)
    return cycles + _LOAD if loads and cycles > 1 else _LOAD if loads else cycles
