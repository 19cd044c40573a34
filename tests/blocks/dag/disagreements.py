"""Differences between our effects and a second decoder's claims, for each kind of resource."""

from __future__ import annotations

from dataclasses import dataclass

from iced_x86 import Decoder, Instruction

from learned_schedulers.blocks.dag import resources
from learned_schedulers.blocks.dag.effects import Effects, effects
from tests.blocks.dag.named import bits
from tests.blocks.dag.second_decoder import Claims, UnknownToCapstone, claims

_GENERAL = (1 << resources.GENERAL_LANES * resources.N_GENERAL) - 1
_VECTOR = ((1 << resources.WORD_BITS) - 1) << resources.WORD_BITS
_MASKS = sum(bits(f"K{i}") for i in range(8))
_KINDS = {name: bits(name) for name in resources.FLAG_NAMES} | {
    "general": _GENERAL,
    "vector": _VECTOR,
    "mask": _MASKS,
    "MMX": resources.MMX_REGISTERS,
    "x87": resources.X87,
    # MXCSR and the x87 control word: capstone has no register for the former and seldom names the latter.
}


@dataclass(frozen=True)
class Disagreement:
    """One side claims an effect that the other side does not claim."""

    field: str  # reads | writes | undefined | loads | stores | size | decodes
    side: str  # the side that claims it: ours | theirs
    kind: str  # a flag, general, vector, mask, MMX, x87, or memory
    resources: int  # the claimed resources; 0 for memory


def _of_masks(field: str, ours: int, theirs: int) -> list[Disagreement]:
    return [
        Disagreement(field, side, kind, only & members)
        for side, only in (("ours", ours & ~theirs), ("theirs", theirs & ~ours))
        for kind, members in _KINDS.items()
        if only & members
    ]


def compare(ours: Effects, theirs: Claims) -> list[Disagreement]:
    """All disagreements on one instruction."""
    differences = [
        *_of_masks("reads", ours.reads, theirs.reads),
        *_of_masks("writes", ours.writes, theirs.writes),
        *_of_masks("undefined", ours.undefined, theirs.undefined),
    ]
    loads, stores = (any(getattr(access, name) for access in ours.accesses) for name in ("reads", "writes"))
    for field, ours_claims, theirs_claims in (("loads", loads, theirs.loads), ("stores", stores, theirs.stores)):
        if ours_claims != theirs_claims:
            differences.append(Disagreement(field, "ours" if ours_claims else "theirs", "memory", 0))
    size = next((access.size for access in ours.accesses if access.explicit), theirs.size)
    if size != theirs.size:
        differences.append(Disagreement("size", "ours" if size else "theirs", "memory", 0))
    return differences


def disagreements(code: bytes) -> tuple[Instruction, list[Disagreement]]:
    """Decode one instruction twice and compare."""
    instruction = Decoder(64, code).decode()
    try:
        return instruction, compare(effects(instruction), claims(code, instruction))
    except UnknownToCapstone:
        return instruction, [Disagreement("decodes", "ours", "", 0)]
