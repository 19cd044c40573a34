"""Code of the executing child process: pieces of code that time themselves, run in turn, in shuffled sequences.

All pieces run at the same address, in the same memory. On a Zen 4, the ratio of two equal pieces at different addresses
had a standard deviation of 1% over blocks, and of 0.1% at the same address.

This module uses the standard library only, like `worker`.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import random
from typing import Any

from learned_schedulers.blocks.run import layout
from learned_schedulers.blocks.run.runner import Machine, Pieces, map_memory


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
        self.window = map_memory(0, room, file=file)  # the same memory, writable
        os.close(file)
        notes = map_memory(self.start - layout.NOTES_BELOW, layout.PAGE_BYTES)
        self.begin, self.end = (ctypes.c_uint64.from_address(notes + place) for place in (layout.BEGIN, layout.END))

    def _run(self, number: int) -> int:
        ctypes.memmove(self.window, self.pieces[number], len(self.pieces[number]))
        self.machine.identify(1)  # `cpuid` discards instructions that were fetched from the previous piece
        return self.run(self.start)

    def _warm(self) -> tuple[dict[str, Any], list[tuple[int, int]]]:
        """Run every piece once; return an obstacle to timing them, or {}, and the pages that they write."""
        changed_pages: list[tuple[int, int]] = []
        first_registers: tuple[int, ...] = ()
        n_pages = 0
        for number in range(len(self.pieces)):
            self.restore(changed_pages)
            if self._run(number):
                return {"fault": self.fault(self.start), "piece": number}, []
            if number == 0:
                changed_pages, first_registers, n_pages = self.changed_pages(), self.registers()[:16], len(self.pages())
            elif number < self.compared and (self.registers()[:16] != first_registers or len(self.pages()) != n_pages):
                return {"different": number}, []
        return {}, changed_pages

    def _trial(self, sequence: list[int], changed_pages: list[tuple[int, int]]) -> list[int]:
        """Ticks of every piece. The pieces run in this sequence, each from the same state of registers and memory."""
        ticks = [0] * len(sequence)
        for number in sequence:
            self.restore(changed_pages)
            if self._run(number):
                raise RuntimeError("a piece that reached its end before has faulted")
            ticks[number] = self.end.value - self.begin.value
        return ticks

    def answer(self) -> dict[str, Any]:
        """Ticks per trial and piece, from the first state from which every piece reaches its end."""
        first_obstacle: dict[str, Any] = {}
        for state in self.states:
            self.unmap(0)
            self.machine.load(state)
            obstacle, changed_pages = self._warm()
            if not obstacle:
                # In a fixed sequence, some orders seemed 4.5% slower than equal ones.
                rng, sequence, ticks = random.Random(self.seed), list(range(len(self.pieces))), []
                for _ in range(self.trials):
                    rng.shuffle(sequence)
                    ticks.append(self._trial(sequence, changed_pages))
                return {"ticks": ticks, "pages": len(self.pages())}
            first_obstacle = first_obstacle or obstacle
        return first_obstacle
