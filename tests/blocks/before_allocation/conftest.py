"""A process that compiles."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from learned_schedulers.blocks.before_allocation import llvm


@pytest.fixture(scope="session")
def emitter() -> Iterator[llvm.Emitter]:
    """Compiles by LLVM's default scheduling, for the least processor of x86-64."""
    with llvm.Emitter(processor="x86-64") as process:
        yield process
