"""A batch shared among threads: compiled kernels let go of Python's lock, so no second kind of thread is needed."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numba
import numpy as np

_LARGE = 10_000  # entries of a batch: below, waking another thread takes as long as the work


def share(kernel: Callable[..., None], batch: np.ndarray, *arguments: Any) -> None:
    """Run kernel(start, stride, batch, ...) on the threads that numba may use: items start, start + stride ..."""
    threads = min(len(batch), numba.get_num_threads())
    if threads <= 1 or batch.size < _LARGE:
        return kernel(0, 1, batch, *arguments)
    pool = _pool(os.getpid(), threads - 1)
    others = [pool.submit(kernel, start, threads, batch, *arguments) for start in range(1, threads)]
    kernel(0, threads, batch, *arguments)
    for other in others:
        other.result()


@lru_cache(maxsize=1)
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Threads beside the caller's; a forked process does not inherit them and makes its own."""
    return ThreadPoolExecutor(threads, "operators")
