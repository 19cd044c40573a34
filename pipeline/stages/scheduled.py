"""Tables `schedules` of the schedulers on processor models as orders of blocks."""

from __future__ import annotations

from pathlib import Path

from pipeline import tables
from pipeline.analysis.cycles import Scheduled


def scheduled(path: Path) -> list[Scheduled]:
    """One for each decoder of a table .../{scheduler}/{seed}/schedules.parquet, legal orders alone."""
    scheduler, seed = path.parts[-3:-1]
    table = tables.read("schedules", path, ["block_id", "decoder", "order", "status"])
    table = table[table["status"] == "ok"]
    return [
        Scheduled(
            scheduler,
            str(decoder),
            int(seed),
            dict(zip(own["block_id"], (tuple(order.tolist()) for order in own["order"]), strict=True)),
        )
        for decoder, own in table.groupby("decoder", sort=True)
    ]
