"""Which blocks a processor's model supports: the first instruction that it does not know is named."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.problems.processors import supported, unknown_instructions
from tests.blocks.models import imitated

STORE, ENCODINGS, SAMPLE = imitated.corpus(40, shortest=2, longest=6)
U = len(ENCODINGS.compared)


@given(st.lists(st.booleans(), min_size=U, max_size=U), st.lists(st.integers(0, 39), max_size=9))
def test_the_first_unknown_instruction_of_a_block_is_named(is_supported: list[bool], rows: list[int]) -> None:
    """Compared with a look at one instruction after the other; any blocks of the store, in any sequence."""
    chip: Any = SimpleNamespace(is_supported=np.array(is_supported))
    chosen = np.array(rows, np.int64)
    expected = []
    for row in rows:
        block = STORE.instructions[STORE.first[row] : STORE.first[row + 1]].tolist()
        expected.append(next((u for u in block if not is_supported[u]), -1))
    assert unknown_instructions(STORE, chosen, chip).tolist() == expected
    assert supported(STORE, chosen, chip).tolist() == [first < 0 for first in expected]
