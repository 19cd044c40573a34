"""Processes of LLVM, some for each of its settings, which serve threads beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from queue import LifoQueue
from threading import Lock
from types import TracebackType
from typing import TypeVar

from learned_schedulers.blocks.before_allocation.llvm import Emitter, LlvmError

T = TypeVar("T")
U = TypeVar("U")


class Emitters:
    """Processes of LLVM by their settings, which begin when they are needed."""

    def __init__(self, cores: int) -> None:
        self._stack, self._cores, self._lock = ExitStack(), cores, Lock()
        self._free: dict[str, LifoQueue[Emitter]] = {}  # by setting; the last one used comes first

    def __enter__(self) -> Emitters:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def object_file(self, scheduler: str, text: str, name: str) -> bytes:
        """The object of a text. Raises LlvmError."""
        with self._lock:
            if scheduler not in self._free:
                self._free[scheduler] = LifoQueue()
                for _ in range(self._cores):
                    self._free[scheduler].put(self._stack.enter_context(Emitter(scheduler, "x86-64")))
        emitter = self._free[scheduler].get()
        try:
            return emitter.object_file(text, name)
        finally:
            self._free[scheduler].put(emitter)

    def all(self, scheduler: str, texts: Sequence[str], name: str) -> list[bytes | None]:
        """The objects of texts, compiled beside each other; None for one that LLVM refuses."""

        def compiled(text: str) -> bytes | None:
            with suppress(LlvmError):
                return self.object_file(scheduler, text, name)
            return None

        return self.beside(compiled, texts)

    def beside(self, function: Callable[[T], U], arguments: Iterable[T]) -> list[U]:
        """The results of a function that waits for other processes, called in threads beside each other."""
        with ThreadPoolExecutor(self._cores) as threads:
            return list(threads.map(function, arguments))
