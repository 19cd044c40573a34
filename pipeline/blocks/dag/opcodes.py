"""What iced-x86's codes (an opcode with its operand sizes) say, instructions apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from iced_x86 import Code_, CpuidFeature, FlowControl, Instruction, OpCodeInfo


def features(*names: str) -> frozenset[int]:
    return frozenset(getattr(CpuidFeature, name) for name in names)


_VECTOR = features(
    *("SSE", "SSE2", "SSE3", "SSSE3", "SSE4_1", "SSE4_2", "SSE4A", "AES", "PCLMULQDQ", "SHA", "GFNI"),
    *("AVX", "AVX2", "FMA", "FMA4", "F16C", "XOP", "VAES", "VPCLMULQDQ", "AVX_VNNI", "AVX_IFMA"),
    *("AVX512F", "AVX512BW", "AVX512CD", "AVX512DQ", "AVX512VL", "AVX512_IFMA", "AVX512_VBMI", "AVX512_VBMI2"),
    *("AVX512_VNNI", "AVX512_BITALG", "AVX512_VPOPCNTDQ", "AVX512_BF16", "AVX512_FP16"),
)
_X87 = features("FPU", "FPU287", "FPU387")
# What `dag/resources.py` models; an instruction of any other extension is a barrier.
_MODELLED = (
    features(
        *("INTEL8086", "INTEL186", "INTEL286", "INTEL386", "INTEL486", "X64", "CMOV", "CX8", "CMPXCHG16B"),
        *("MULTIBYTENOP", "MMX", "D3NOW", "D3NOWEXT", "PREFETCHW", "CET_IBT"),
        *("POPCNT", "LZCNT", "BMI1", "BMI2", "TBM", "ADX", "MOVBE", "MOVDIRI"),
    )
    | _VECTOR
    | _X87
)
# Beside those that iced-x86 knows as privileged, as input and output or as saving the state.
_BARRIERS = (
    *("LFENCE", "MFENCE", "SFENCE"),
    *("LAR", "LSL", "SGDT", "SIDT", "SLDT", "SMSW", "STR", "VERR", "VERW"),  # read what no resource stands for
    *("MOV Sreg", "POP FS", "POP GS", "LFS", "LGS", "LSS", "POPF", "POPFQ"),  # write it
)


@dataclass(frozen=True)
class Opcode:
    code: Code_
    name: str  # in capitals, as in the manual
    text: str  # with its operands, such as "MOV Sreg, r/m16"
    is_barrier: bool
    is_x87: bool
    is_vector: bool  # of one of the SSE and AVX families


def _is_barrier(info: OpCodeInfo, text: str, needed: frozenset[int]) -> bool:
    template = Instruction()
    template.code = info.code
    return (
        template.flow_control != FlowControl.NEXT
        or not needed <= _MODELLED
        or info.is_privileged
        or info.is_input_output
        or info.is_save_restore
        or f"{text} ".replace(",", " ").startswith(tuple(f"{name} " for name in _BARRIERS))
    )


@cache
def opcode(code: Code_) -> Opcode:
    """What iced-x86 knows of a code."""
    info = OpCodeInfo(code)
    template = Instruction()
    template.code = code
    needed = frozenset(template.cpuid_features())
    text = info.instruction_string
    return Opcode(
        code=code,
        name=text.split(" ")[0],
        text=text,
        is_barrier=_is_barrier(info, text, needed),
        is_x87=not needed.isdisjoint(_X87),
        is_vector=not needed.isdisjoint(_VECTOR),
    )
