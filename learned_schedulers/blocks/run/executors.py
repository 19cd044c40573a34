"""The choice of the executor that this machine supports."""

from __future__ import annotations

import sys

from learned_schedulers.blocks.run.emulated import Emulated
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.oracle import Executor, OracleError


def open_executor() -> Executor:
    """The native executor if this machine supports it, else the emulator."""
    try:
        return Native()
    except OracleError as error:
        print(f"blocks are emulated, not run: {error}", file=sys.stderr)
        return Emulated()
