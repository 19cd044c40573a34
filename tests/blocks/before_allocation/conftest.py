"""Processes that compile, and one that runs compiled code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.oracle import OracleError


@pytest.fixture(scope="session")
def emitter() -> Iterator[llvm.Emitter]:
    """Compiles in the order in which instructions stand, for the least processor of x86-64."""
    with llvm.Emitter("kept", "x86-64") as process:
        yield process


@pytest.fixture(scope="session")
def native() -> Iterator[Native]:
    """The confined process. Without it, the tests that run code are skipped."""
    try:
        executor = Native()
    except OracleError as error:
        pytest.skip(f"this machine has no native oracle: {error}")
    with executor:
        yield executor
