"""Machine code in another order: the same instructions, the same targets."""

from __future__ import annotations

import pytest
from iced_x86 import Decoder

from pipeline.blocks.corpus.reorder import reordered

# add rax, 1; mov rcx, [rip+0x10]; lea rdx, [rip-4]; mov rbp, rsp
CODE = bytes.fromhex("4883c001488b0d10000000488d15fcffffff4889e5")


def texts(code: bytes) -> list[str]:
    return [str(instruction) for instruction in Decoder(64, code, ip=0x1000)]


def test_operands_keep_their_targets() -> None:
    for order in ([3, 2, 1, 0], [1, 0, 3, 2], [0, 1, 2, 3]):
        found = reordered(CODE, order)
        assert texts(found) == [texts(CODE)[i] for i in order]
        assert len(found) == len(CODE)
    assert reordered(CODE, [0, 1, 2, 3]) == CODE


@pytest.mark.parametrize("order", [[0, 1], [0, 0, 1, 2], [1, 2, 3, 4]])
def test_what_is_no_order_is_refused(order: list[int]) -> None:
    with pytest.raises(ValueError, match="is no order of 4 instructions"):
        reordered(CODE, order)
