"""What became of each block: GCC's order, another legal one, or neither."""

from __future__ import annotations

import numpy as np

from pipeline.lab import tables
from pipeline.lab.shared_tables import SCHEDULES
from pipeline.lab.stages import options
from pipeline.reproduction.tables import BLOCK_OUTCOMES


def main(schedules: options.Table, block_outcomes: options.Out) -> None:
    """Write one digit for each block of a schedule, for each decoder."""
    frame = tables.read(SCHEDULES, schedules).sort_values("block_id")
    rows = []
    for decoder, of_decoder in frame.groupby("decoder", sort=True):
        is_exact = [np.array_equal(order, np.arange(len(order))) for order in of_decoder["order"]]
        digits = (of_decoder["status"] == "ok").to_numpy(int) + is_exact
        rows.append((decoder, "".join(map(str, digits))))
    tables.write_rows(rows, BLOCK_OUTCOMES, block_outcomes)
