"""Lower bounds: no legal order is below them, and they are reached where nothing else is scarce."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from learned_schedulers.blocks.order.lower_bounds import lower_bounds
from learned_schedulers.blocks.processors import model
from learned_schedulers.blocks.processors.costs import Processor
from learned_schedulers.blocks.processors.renaming import RegisterWords
from tests.blocks.order.drawn_processors import UNITS, legal_orders, plain, processors


@given(processors(most=5))
def test_no_legal_order_is_below_a_bound(chip: Processor) -> None:
    n = len(chip.latencies)
    makespans = model.makespans(model.costs(chip, np.arange(n)[None]), np.array([legal_orders(chip)]))[0]
    bounds = lower_bounds(chip, range(n))
    assert bounds.binding.cycles <= makespans.min()
    assert bounds.binding.cycles == max(bound.cycles for bound in bounds)


def makespan(processor: Processor) -> int:
    n = len(processor.latencies)
    return int(model.makespans(model.costs(processor, np.arange(n)[None]), np.arange(n)[None, None])[0, 0])


@pytest.mark.parametrize(("retire_width", "overhead"), [(0, 1), (9, 3)])
class TestReached:
    """On a processor in order, and one out of order that needs two cycles more."""

    def test_by_a_path(self, retire_width: int, overhead: int) -> None:
        n = 4
        bits = np.zeros((n, 3), np.uint64)
        bits[:, 1] = 1 << np.arange(n, dtype=np.uint64)
        reads = np.roll(bits, 1, axis=0) * (np.arange(n) > 0)[:, None].astype(np.uint64)
        late = np.zeros_like(bits)
        late[2], reads[2] = reads[2], 0
        words = RegisterWords(reads, late, bits, np.zeros_like(bits))
        path = plain(n, retire_width, registers=words, read_advance=np.array([0, 0, 2, 0], np.int32))
        bounds = lower_bounds(path, range(n))
        assert bounds.binding is bounds.path and bounds.path.instructions == (0, 1, 2, 3)
        assert bounds.path.work == 3 + 1 + 3 + 3  # the third reads two cycles late
        assert bounds.path.cycles == bounds.path.work + overhead == makespan(path)

    def test_by_units(self, retire_width: int, overhead: int) -> None:
        busy = plain(9, retire_width)
        bounds = lower_bounds(busy, range(9))
        assert bounds.binding is bounds.units and (bounds.units.units, bounds.units.work) == (0b1100, 9)
        assert bounds.units.cycles == 5 - 1 + 3 + overhead == makespan(busy)

    def test_by_the_width(self, retire_width: int, overhead: int) -> None:
        n = 9
        unlimited = plain(
            n, retire_width, choices=np.full((n, 1), -1, np.int32), choice_cycles=np.zeros((n, 1), np.int32)
        )
        bounds = lower_bounds(unlimited, range(n))
        assert bounds.binding is bounds.width and (bounds.width.work, bounds.width.width) == (9, 4)
        assert bounds.width.cycles == 3 - 1 + 3 + overhead == makespan(unlimited)


def test_units_of_one_instruction_bind_before_a_group_of_many() -> None:
    """Eight instructions on unit 0 alone bind; the group has little work."""
    definite = np.zeros((8, UNITS), np.int32)
    definite[:, 0] = 2
    bounds = lower_bounds(plain(8, 9, unit_cycles=definite), range(8))
    assert (bounds.units.units, bounds.units.work, len(bounds.units.instructions)) == (0b1, 16, 8)
