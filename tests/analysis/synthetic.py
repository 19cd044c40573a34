"""Synthetic blocks and DAGs of a corpus, as tables and in pieces."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa

from pipeline.lab import chapters


def corpus(n: int = 600) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Blocks and DAGs of `n` blocks."""
    rng = np.random.default_rng(1)
    ids = [f"{i:032x}" for i in range(n)]
    code = [bytes([i % 256]) for i in range(n)]
    blocks = pd.DataFrame(
        {
            "block_id": ids,
            "source": np.where(np.arange(n) % 20 < 19, "qt56", "ffprobe"),
            "program": [f"PyQt5/Qt/lib/libQt5Part{i % 20}.so.5" for i in range(n)],
            "compiler": "GCC: (GNU) 4.9.1 20140922 (Red Hat 4.9.1-10)",
            "section": ".text",
            "relocatable": False,
            "address": np.arange(n, dtype=np.uint64),
            "n_instructions": rng.geometric(0.2, n).clip(2, 60),
            "occurrences": rng.geometric(0.5, n),
            "code": code,
            "masked_code": code,
        }
    )
    dags = pd.DataFrame(
        {
            "block_id": ids,
            "n_instructions": 5,
            "before": [[0]] * n,
            "after": [[1]] * n,
            "kinds": [[1]] * n,
            "implied_before": [[]] * n,
            "implied_after": [[]] * n,
            "implied_kinds": [[]] * n,
            "latencies": [[1] * 5] * n,
            "orders_exact": True,
            "n_legal_orders": rng.choice([1.0, 2, 3, 5, 8, 20, 60, 120], n),
        }
    )
    return blocks, dags


def pieces(blocks: pd.DataFrame, dags: pd.DataFrame, size: int = 100) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Arrow tables of pieces of `blocks` and `dags`."""
    for at in range(0, len(blocks), size):
        blocks_piece, dags_piece = (
            pa.Table.from_pandas(frame[at : at + size], schema=chapters.tables()[name].schema, preserve_index=False)
            for frame, name in ((blocks, "blocks"), (dags, "dags"))
        )
        yield blocks_piece, dags_piece
