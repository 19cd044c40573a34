"""What LLVM calls the units of each processor."""

from __future__ import annotations

from learned_schedulers.blocks.order.targets import Target

UNIT_NAMES: dict[Target, tuple[str, ...]] = {
    "atom": ("AtomPort0", "AtomPort1"),
    "silvermont": (
        *("SLMDivider", "SLMFPDivider", "SLMFPMultiplier", "SLM_FPC_RSV0", "SLM_FPC_RSV1", "SLM_IEC_RSV0"),
        *("SLM_IEC_RSV1", "SLM_MEC_RSV"),
    ),
    "btver2": (
        *("JALU0", "JALU1", "JDiv", "JFPA", "JFPM", "JFPU0", "JFPU1", "JLAGU", "JMul", "JSAGU", "JSTC", "JVALU0"),
        *("JVALU1", "JVIMUL"),
    ),
    "haswell": ("HWDivider", "HWFPDivider", *(f"HWPort{number}" for number in range(8))),
    "skylake": ("SKLDivider", "SKLFPDivider", *(f"SKLPort{number}" for number in range(8))),
    "znver4": (
        *("Zn4AGU0", "Zn4AGU1", "Zn4AGU2", "Zn4ALU0", "Zn4ALU1", "Zn4ALU2", "Zn4ALU3", "Zn4BRU1", "Zn4FP0", "Zn4FP1"),
        *("Zn4FP2", "Zn4FP3", "Zn4FP45.0", "Zn4FP45.1", "Zn4FPSt", "Zn4LSU.0", "Zn4LSU.1", "Zn4LSU.2", "Zn4Load.0"),
        *("Zn4Load.1", "Zn4Load.2", "Zn4Store.0", "Zn4Store.1"),
    ),
}


def unit_names(target: Target, units: int) -> str:
    """Names of a set of units, given as bits, in short: HWPort0 and HWPort1 become HWPort{0,1}."""
    numbers: dict[str, list[str]] = {}
    for place, name in enumerate(UNIT_NAMES[target]):
        if units >> place & 1:
            stem = name.rstrip("0123456789")
            numbers.setdefault(stem, []).append(name.removeprefix(stem))
    return ", ".join(
        f"{stem}{{{','.join(several)}}}" if len(several) > 1 else stem + several[0] for stem, several in numbers.items()
    )
