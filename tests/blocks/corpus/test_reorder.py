"""Machine code in another order: the same instructions, the same targets."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from iced_x86 import Decoder

from pipeline.blocks.corpus.forms import Forms
from pipeline.blocks.corpus.reorder import reordered
from tests.blocks import real
from tests.blocks.corpus import reordering

# add rax, 1; mov rcx, [rip+0x10]; lea rdx, [rip-4]; mov rbp, rsp
CODE = bytes.fromhex("4883c001488b0d10000000488d15fcffffff4889e5")
FAR = bytes.fromhex("4889e5488b0dffffff7f")  # mov rbp, rsp; mov rcx, [rip+0x7fffffff]


def reordered_together(codes: list[bytes], orders: list[list[int]]) -> tuple[list[bytes], list[bool]]:
    bounds, forms = np.cumsum([0, *map(len, codes)]), Forms()
    code = np.frombuffer(b"".join(codes), np.uint8)
    decoded = forms.decode(code, bounds[:-1], bounds[1:])
    reordered_code, fits = reordered(code, bounds[:-1], decoded, forms.facts, np.concatenate(orders))
    return [reordered_code[begin:end].tobytes() for begin, end in pairwise(bounds)], fits.tolist()


def texts(code: bytes) -> list[str]:
    return [str(instruction) for instruction in Decoder(64, code, ip=0x1000)]


def test_operands_keep_their_targets() -> None:
    orders = [[3, 2, 1, 0], [1, 0, 3, 2], [0, 1, 2, 3]]
    for order, code in zip(orders, reordered_together([CODE] * 3, orders)[0], strict=True):
        assert texts(code) == [texts(CODE)[i] for i in order]
        assert len(code) == len(CODE)


def test_real_blocks_agree_with_the_reference() -> None:
    rows, rng = real.table().to_pylist()[::7], np.random.default_rng(0)
    orders = [rng.permutation(row["n_instructions"]).tolist() for row in rows]
    codes = [row["code"] for row in rows]
    expected = [reordering.reordered(code, order) for code, order in zip(codes, orders, strict=True)]
    assert reordered_together(codes, orders) == (expected, [True] * len(codes))


def test_a_block_whose_target_is_too_far_keeps_its_order() -> None:
    codes, fits = reordered_together([FAR, FAR, CODE], [[1, 0], [0, 1], [1, 0, 2, 3]])
    assert codes[:2] == [FAR, FAR] and codes[2] == reordering.reordered(CODE, [1, 0, 2, 3])
    assert fits == [False, True, True]
