"""In the executing child: pieces of code that time themselves, run round-robin in shuffled order.

All stand at the same address when they run, in the same memory: on a Zen 4, ratios of two equal pieces at different
places had a standard deviation of 1% over blocks, and at one place of 0.1%.

Standard library only, as `worker` is.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import random
from typing import Any

from pipeline.blocks.execution import layout
from pipeline.blocks.execution.runner import Machine, Pieces, map_memory


class Stopwatch(Pieces):
    """Pieces of timed_code.py; the first `compared` of them are orders of one block and must leave equal registers."""

    def __init__(self, machine: Machine, header: dict[str, Any], blob: bytes) -> None:
        super().__init__(machine, header, blob)
        self.compared: int = header["compared"]
        self.trials: int = header["trials"]
        self.seed: int = header["seed"]
        room = -(-max(map(len, self.pieces)) // layout.PAGE_BYTES) * layout.PAGE_BYTES
        file = os.memfd_create("pieces")
        os.ftruncate(file, room)
        map_memory(self.start, room, mmap.PROT_READ | mmap.PROT_EXEC, file)
        self.window = map_memory(0, room, file=file)  # the same memory, to be written
        os.close(file)
        notes = map_memory(self.start - layout.NOTES_BELOW, layout.PAGE_BYTES)
        self.first_registers = notes + layout.FIRST_REGISTERS
        self.begin, self.end = (ctypes.c_uint64.from_address(notes + place) for place in (layout.BEGIN, layout.END))

    def _run(self, number: int) -> int:
        ctypes.memmove(self.window, self.pieces[number], len(self.pieces[number]))
        self.machine.identify(1)  # `cpuid`: whatever was fetched of the piece before is given up
        return self.run(self.start)

    def _warm(self) -> tuple[dict[str, Any], list[tuple[int, int]]]:
        """Run every piece once. What speaks against timing them, and the pages that they write."""
        written: list[tuple[int, int]] = []
        first: tuple[int, ...] = ()
        n_pages = 0
        for number in range(len(self.pieces)):
            self.restore(written)
            if self._run(number):
                return {"fault": self.fault(self.start), "piece": number}, []
            if number == 0:
                written, first, n_pages = self.written(), self.registers()[:16], len(self.pages())
            elif number < self.compared and (self.registers()[:16] != first or len(self.pages()) != n_pages):
                return {"different": number}, []
        return {}, written

    def _trial(self, sequence: list[int], written: list[tuple[int, int]]) -> list[int]:
        """Ticks of every piece, run in this sequence, each from the same state of registers and memory."""
        ticks = [0] * len(sequence)
        for number in sequence:
            self.restore(written)
            if self._run(number):
                raise RuntimeError("a piece that came to its end before has faulted")
            ticks[number] = self.end.value - self.begin.value
        return ticks

    def answer(self) -> dict[str, Any]:
        """Ticks per trial and piece, from the first state from which every piece comes to its end."""
        against: dict[str, Any] = {}
        for state in self.states:
            self.unmap(0)
            self.machine.load(state)
            ctypes.memmove(self.first_registers, self.machine.base + layout.IN_REGISTERS, 16 * 8)
            found, written = self._warm()
            if not found:
                # In a fixed sequence, some orders looked 4.5% slower than others that they equal.
                rng, sequence, ticks = random.Random(self.seed), list(range(len(self.pieces))), []
                for _ in range(self.trials):
                    rng.shuffle(sequence)
                    ticks.append(self._trial(sequence, written))
                return {"ticks": ticks, "pages": len(self.pages())}
            against = against or found
        return against
