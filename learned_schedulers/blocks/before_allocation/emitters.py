"""Processes of LLVM, some for each of its settings, which serve threads beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from queue import LifoQueue
from threading import Lock
from types import TracebackType
from typing import TypeVar

from learned_schedulers.blocks.before_allocation.llvm import Emitter, LlvmError

T = TypeVar("T")
U = TypeVar("U")


class Emitters:
    """Processes of LLVM by their settings, which begin when they are needed."""

    def __init__(self, cores: int, processor: str = "x86-64") -> None:
        """cores: processes of each setting; processor: for code that names none."""
        self._stack, self._cores, self._processor, self._lock = ExitStack(), cores, processor, Lock()
        self._free: dict[str, LifoQueue[Emitter]] = {}  # by setting; the last one used comes first

    def __enter__(self) -> Emitters:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @contextmanager
    def lent(self, scheduler: str = "default") -> Iterator[Emitter]:
        """A process of a setting, as soon as one is free."""
        with self._lock:
            if scheduler not in self._free:
                self._free[scheduler] = LifoQueue()
                for _ in range(self._cores):
                    self._free[scheduler].put(self._stack.enter_context(Emitter(scheduler, self._processor)))
        emitter = self._free[scheduler].get()
        try:
            yield emitter
        finally:
            self._free[scheduler].put(emitter)

    def object_file(self, scheduler: str, text: str, name: str) -> bytes:
        """The object of a text. Raises LlvmError."""
        with self.lent(scheduler) as emitter:
            return emitter.object_file(text, name)

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
