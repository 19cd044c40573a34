"""Blocks of all lengths, each with the order in which it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # the console command starts without it
    import pyarrow as pa


@dataclass(frozen=True)
class Sample:
    """B blocks of a store."""

    block_ids: pa.StringArray
    rows: np.ndarray  # (B,) int64, of the store
    orders: list[np.ndarray]  # for each block (n,) int16: GCC's index of the instruction in slot t
