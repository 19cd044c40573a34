"""Share a batch among Python threads, which run at the same time because compiled kernels release Python's lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numba
import numpy as np

_LARGE = 10_000  # entries of a batch; for smaller ones, to wake another thread takes as long as the work


def share(kernel: Callable[..., None], batch: np.ndarray, *arguments: Any) -> None:
    """Run kernel(start, stride, batch, ...) on the threads that numba may use, for items start, start + stride, ..."""
    threads = min(len(batch), numba.get_num_threads())
    if threads <= 1 or batch.size < _LARGE:
        return kernel(0, 1, batch, *arguments)
    pool = _pool(os.getpid(), threads - 1)
    futures = [pool.submit(kernel, start, threads, batch, *arguments) for start in range(1, threads)]
    kernel(0, threads, batch, *arguments)
    for future in futures:
        future.result()


@lru_cache(maxsize=1)
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Threads beside that of the caller; a forked process does not inherit them, so it creates its own."""
    return ThreadPoolExecutor(threads, "operators")
