"""Relations with the instructions behind a block, against a slow definition that decodes both instructions."""

from __future__ import annotations

import numpy as np
from iced_x86 import Decoder, Instruction, OpKind, Register, RegisterExt

from learned_schedulers.blocks.problems.outside import N_OUTSIDE, OUTSIDE, outside_relations
from learned_schedulers.blocks.problems.relations import address_category, same_category
from tests.blocks.models import imitated

STORE, ENCODINGS, _ = imitated.corpus(120, shortest=6, longest=6, behind=True)
SHOWN = STORE.as_emitted(np.arange(120))
CODES = sorted({*imitated.INSTRUCTIONS, *imitated.FOLLOWING})
FEATURES = list(OUTSIDE)


def register(instruction: Instruction) -> int:
    """Operand 0, whole; 0 for none."""
    if not instruction.op_count or instruction.op_kind(0) != OpKind.REGISTER:
        return 0
    return RegisterExt.full_register(instruction.op_register(0))


def address(instruction: Instruction) -> tuple[int, int]:
    """Base and index; 0 for none."""
    if instruction.is_ip_rel_memory_operand:
        return 0, 0
    return instruction.memory_base, instruction.memory_index


def uses(first: Instruction, second: Instruction) -> int:
    bits = [
        register(writer) != Register.NONE and register(writer) == part
        for writer, reader in ((first, second), (second, first))
        for part in address(reader)
    ]
    return int(np.dot(bits, [1, 2, 4, 8]))


def test_every_category() -> None:
    behind = SHOWN.following
    assert behind is not None
    starts = np.cumsum(list(OUTSIDE.values())) - list(OUTSIDE.values())
    categories = outside_relations(SHOWN.instructions, behind, ENCODINGS.compared) - starts
    assert categories.shape == (120, 6, behind.shape[1], len(OUTSIDE))
    decoded = [Decoder(64, code).decode() for code in CODES]
    number_of_uses = 0
    for b, i, c in np.ndindex(*categories.shape[:3]):
        inside, outside = SHOWN.instructions[b, i], behind[b, c]
        expected = {"place": c, "address": 0, "same": 0, "uses": 0}
        if outside >= 0:
            expected["address"] = address_category(ENCODINGS.compared, inside, outside)
            expected["same"] = same_category(ENCODINGS.compared, inside, outside)
            expected["uses"] = uses(decoded[inside], decoded[outside])
            number_of_uses += expected["uses"] > 0
        assert dict(zip(FEATURES, categories[b, i, c].tolist(), strict=True)) == expected
    assert number_of_uses > 20


def test_categories_of_features_are_distinct() -> None:
    ends = np.cumsum(list(OUTSIDE.values()))
    categories = outside_relations(SHOWN.instructions, STORE.following, ENCODINGS.compared)
    assert (categories < ends).all() and (categories >= ends - list(OUTSIDE.values())).all() and ends[-1] == N_OUTSIDE
