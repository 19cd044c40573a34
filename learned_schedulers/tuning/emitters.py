"""Processes of LLVM, one for each of its settings, some beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from queue import SimpleQueue
from types import TracebackType

from learned_schedulers.blocks.before_allocation.llvm import Emitter, LlvmError


class Emitters:
    """Processes of LLVM by their settings, which begin when they are needed."""

    def __init__(self, cores: int) -> None:
        self._stack, self._cores = ExitStack(), cores
        self._by_setting: dict[str, Emitter] = {}
        self._pools: dict[str, SimpleQueue[Emitter]] = {}

    def __enter__(self) -> Emitters:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def __getitem__(self, scheduler: str) -> Emitter:
        if scheduler not in self._by_setting:
            self._by_setting[scheduler] = self._stack.enter_context(Emitter(scheduler, "x86-64"))
        return self._by_setting[scheduler]

    def all(self, scheduler: str, texts: Sequence[str], name: str) -> list[bytes | None]:
        """The objects of texts, compiled beside each other; None for one that LLVM refuses."""
        if scheduler not in self._pools:
            pool: SimpleQueue[Emitter] = SimpleQueue()
            for _ in range(self._cores):
                pool.put(self._stack.enter_context(Emitter(scheduler, "x86-64")))
            self._pools[scheduler] = pool
        pool = self._pools[scheduler]

        def compiled(text: str) -> bytes | None:
            emitter = pool.get()
            try:
                return emitter.object_file(text, name)
            except LlvmError:
                return None
            finally:
                pool.put(emitter)

        with ThreadPoolExecutor(self._cores) as threads:
            return list(threads.map(compiled, texts))
