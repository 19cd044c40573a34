"""Rows of table `blocks` -> rows of table `dags`."""

from __future__ import annotations

from threading import Lock

import numpy as np
import pyarrow as pa

from learned_schedulers.blocks.dag.columns import DAGS
from learned_schedulers.blocks.dag.counting import count_orders
from learned_schedulers.blocks.dag.dependencies import find_conflicts
from learned_schedulers.blocks.dag.encodings import Encodings
from learned_schedulers.blocks.dag.settings import Dependencies

COLUMNS = ["block_id", "address", "relocatable", "code"]  # the columns of table `blocks` that `Builder` needs


def _lists(offsets: np.ndarray, values: np.ndarray, selected: np.ndarray | None = None) -> pa.ListArray:
    """values[offsets[b] : offsets[b + 1]] as Arrow lists; only those values that are `selected`, if it is given."""
    if selected is not None:
        offsets, values = np.r_[0, np.cumsum(selected)][offsets], values[selected]
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values))


class Builder:
    """Builds DAGs in one mode of dependencies. Several threads may use it: compiled code runs without the GIL."""

    def __init__(self, mode: Dependencies) -> None:
        self._mode = mode
        self._encodings = Encodings()
        self._learning = Lock()

    def build(self, blocks: pa.Table) -> pa.Table:
        """The DAGs of blocks, in their order. Raises ValueError for a block that is not made of whole instructions."""
        column = blocks["code"].combine_chunks()
        _, bounds, values = column.buffers()
        offsets = np.frombuffer(bounds, np.int32)[column.offset : column.offset + len(column) + 1].astype(np.int64)
        code = np.frombuffer(values, np.uint8) if values is not None else np.zeros(0, np.uint8)
        addresses = blocks["address"].to_numpy().view(np.int64)
        with self._learning:
            table, encoding, displacement, block_offsets = self._encodings.encode(code, offsets, addresses)
        addresses_known = ~blocks["relocatable"].to_numpy()
        conflicts = find_conflicts(table, encoding, displacement, block_offsets, addresses_known, self._mode)
        n_instructions = np.diff(block_offsets)
        counts, exact = count_orders(conflicts.offsets, conflicts.before, conflicts.after, n_instructions)
        columns = {
            "block_id": blocks["block_id"].combine_chunks(),
            "n_instructions": pa.array(n_instructions, pa.int16()),
            "latencies": _lists(block_offsets, table.latency[encoding]),
            "n_legal_orders": counts,
            "orders_exact": exact,
        }
        for prefix, selected in (("", conflicts.reduced), ("implied_", ~conflicts.reduced)):
            for name in ("before", "after", "kinds"):
                columns[prefix + name] = _lists(conflicts.offsets, getattr(conflicts, name), selected)
        schema = DAGS
        return pa.table([columns[name] for name in schema.names], schema=schema)
