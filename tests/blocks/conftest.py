"""The confined process that runs code, for the rooms that need it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.oracle import OracleError


@pytest.fixture(scope="session")
def native() -> Iterator[Native]:
    """Without it, the tests that run code are skipped."""
    try:
        executor = Native()
    except OracleError as error:
        pytest.skip(f"this machine has no native oracle: {error}")
    with executor:
        yield executor
