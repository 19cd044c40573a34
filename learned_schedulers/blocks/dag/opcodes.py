"""Properties of iced-x86's codes (a code is an opcode with its operand sizes)."""

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
# The extensions that `dag/resources.py` models; an instruction of any other extension is a barrier.
_MODELLED = (
    features(
        *("INTEL8086", "INTEL186", "INTEL286", "INTEL386", "INTEL486", "X64", "CMOV", "CX8", "CMPXCHG16B"),
        *("MULTIBYTENOP", "MMX", "D3NOW", "D3NOWEXT", "PREFETCHW", "CET_IBT"),
        *("POPCNT", "LZCNT", "BMI1", "BMI2", "TBM", "ADX", "MOVBE", "MOVDIRI"),
    )
    | _VECTOR
    | _X87
)
# These are barriers in addition to instructions that iced-x86 reports as privileged, as I/O or as saving the state.
_BARRIERS = (
    *("LFENCE", "MFENCE", "SFENCE"),
    *("LAR", "LSL", "SGDT", "SIDT", "SLDT", "SMSW", "STR", "VERR", "VERW"),  # they read state that no resource models
    *("MOV Sreg", "POP FS", "POP GS", "LFS", "LGS", "LSS", "POPF", "POPFQ"),  # they write such state
)


@dataclass(frozen=True)
class Opcode:
    code: Code_
    name: str  # in capitals, as in the manual
    text: str  # with its operands, such as "MOV Sreg, r/m16"
    is_barrier: bool
    is_x87: bool
    is_vector: bool  # of one of the SSE and AVX families


def _is_barrier(opcode_info: OpCodeInfo, text: str, extensions: frozenset[int]) -> bool:
    template = Instruction()
    template.code = opcode_info.code
    return (
        template.flow_control != FlowControl.NEXT
        or not extensions <= _MODELLED
        or opcode_info.is_privileged
        or opcode_info.is_input_output
        or opcode_info.is_save_restore
        or f"{text} ".replace(",", " ").startswith(tuple(f"{name} " for name in _BARRIERS))
    )


@cache
def opcode(code: Code_) -> Opcode:
    """The properties of a code, from iced-x86."""
    opcode_info = OpCodeInfo(code)
    template = Instruction()
    template.code = code
    extensions = frozenset(template.cpuid_features())
    text = opcode_info.instruction_string
    return Opcode(
        code=code,
        name=text.split(" ")[0],
        text=text,
        is_barrier=_is_barrier(opcode_info, text, extensions),
        is_x87=not extensions.isdisjoint(_X87),
        is_vector=not extensions.isdisjoint(_VECTOR),
    )
