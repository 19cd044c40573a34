"""Rows of table `blocks` -> rows of table `dags`."""

from __future__ import annotations

from threading import Lock

import numpy as np
import pyarrow as pa

from pipeline.blocks.dag.counting import count_orders
from pipeline.blocks.dag.dependencies import find_conflicts
from pipeline.blocks.dag.encodings import Encodings
from pipeline.config.dags import Dependencies
from pipeline.tables import SCHEMAS

COLUMNS = ["block_id", "address", "relocatable", "code"]  # of table `blocks`, that are needed


def _lists(offsets: np.ndarray, values: np.ndarray, wanted: np.ndarray | None = None) -> pa.ListArray:
    """values[offsets[b] : offsets[b + 1]] as Arrow lists, or those of them that are `wanted`."""
    if wanted is not None:
        offsets, values = np.r_[0, np.cumsum(wanted)][offsets], values[wanted]
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values))


class Builder:
    """Builds DAGs in one mode of dependencies. May be used by several threads: compiled code runs beside other."""

    def __init__(self, mode: Dependencies) -> None:
        self._mode = mode
        self._encodings = Encodings()
        self._learning = Lock()

    def build(self, blocks: pa.Table) -> pa.Table:
        """The DAGs of blocks, in their order. Raises ValueError for one that is not made of whole instructions."""
        column = blocks["code"].combine_chunks()
        _, bounds, values = column.buffers()
        offsets = np.frombuffer(bounds, np.int32)[column.offset : column.offset + len(column) + 1].astype(np.int64)
        code = np.frombuffer(values, np.uint8) if values is not None else np.zeros(0, np.uint8)
        addresses = blocks["address"].to_numpy().view(np.int64)
        with self._learning:
            table, encoding, displacement, block_offsets = self._encodings.encode(code, offsets, addresses)
        known = ~blocks["relocatable"].to_numpy()
        found = find_conflicts(table, encoding, displacement, block_offsets, known, self._mode)
        n_instructions = np.diff(block_offsets)
        counts, exact = count_orders(found.offsets, found.before, found.after, n_instructions)
        columns = {
            "block_id": blocks["block_id"].combine_chunks(),
            "n_instructions": pa.array(n_instructions, pa.int16()),
            "latencies": _lists(block_offsets, table.latency[encoding]),
            "n_legal_orders": counts,
            "orders_exact": exact,
        }
        for prefix, wanted in (("", found.reduced), ("implied_", ~found.reduced)):
            for name in ("before", "after", "kinds"):
                columns[prefix + name] = _lists(found.offsets, getattr(found, name), wanted)
        schema = SCHEMAS["dags"]
        return pa.table([columns[name] for name in schema.names], schema=schema)
