"""The choice of the executor that this machine supports."""

from __future__ import annotations

import sys

from pipeline.blocks.execution.emulated import Emulated
from pipeline.blocks.execution.native import Native
from pipeline.blocks.execution.oracle import Executor, OracleError


def open_executor() -> Executor:
    """The native executor if this machine supports it, else the emulator."""
    try:
        return Native()
    except OracleError as error:
        print(f"blocks are emulated, not run: {error}", file=sys.stderr)
        return Emulated()
