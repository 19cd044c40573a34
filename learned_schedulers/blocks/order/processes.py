"""A function over pieces of work by one process per core, with results in sequence and few pieces in memory."""

from __future__ import annotations

import gc
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context
from typing import Any, TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")
_AHEAD = 3  # pieces that wait for each process


def mapped(
    function: Callable[[Piece], Result], pieces: Iterable[Piece], warm_up: Piece, processes: int | None = None
) -> Iterator[Result]:
    """`function` of each piece, in the sequence of the pieces. The number of processes changes no result.

    A process inherits the function with all that it has learned, and keeps what it learns. `warm_up`: a small piece
    that loads compiled code before the processes begin. processes: None for one per core. Raises ValueError if a
    process was killed.
    """
    waiting = iter(pieces)
    first = list(islice(waiting, 2))
    processes = processes or len(os.sched_getaffinity(0))
    if len(first) < 2 or processes == 1:
        yield from map(function, first)
        yield from map(function, waiting)
        return
    function(warm_up)
    gc.freeze()  # imported objects are no garbage, and scanning them takes a twentieth of the time
    futures: deque[Future[Result]] = deque()
    try:
        with ProcessPoolExecutor(processes, get_context("fork"), _begin, (function,)) as pool:
            for piece in (*first, *islice(waiting, processes * _AHEAD)):
                futures.append(pool.submit(_call, piece))
            while futures:
                yield futures.popleft().result()
                for piece in islice(waiting, 1):
                    futures.append(pool.submit(_call, piece))
    except BrokenProcessPool as error:
        raise ValueError("a process was killed, perhaps because memory ran out; give fewer files at a time") from error


def _begin(function: Callable[[Any], Any]) -> None:
    """Set the function of a process, which inherits the parent's memory."""
    global _function
    _function = function


def _call(piece: Any) -> Any:
    return _function(piece)


_function: Callable[[Any], Any]
