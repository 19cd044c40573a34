"""The executor that this machine allows."""

from __future__ import annotations

import sys

from pipeline.blocks.execution.emulated import Emulated
from pipeline.blocks.execution.native import Native
from pipeline.blocks.execution.oracle import Executor, OracleError


def open_executor() -> Executor:
    """The native executor where this machine has one, else the emulator."""
    try:
        return Native()
    except OracleError as error:
        print(f"blocks are emulated, not run: {error}", file=sys.stderr)
        return Emulated()
