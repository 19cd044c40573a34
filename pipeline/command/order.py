"""Schedule your own blocks with a trained imitator: no training, no corpus."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
import typer
from tqdm import tqdm

from pipeline import tables
from pipeline.blocks.corpus import bhive
from pipeline.blocks.corpus.cut import Blocks
from pipeline.blocks.corpus.distinct import distinct_instructions
from pipeline.blocks.corpus.forms import Forms
from pipeline.blocks.corpus.reorder import reordered
from pipeline.blocks.dag.bulk import Builder
from pipeline.blocks.models.ordering_network import SHIPPED, OrderingNetwork
from pipeline.blocks.problems.batches import by_length
from pipeline.blocks.problems.instructions import encoded, tabulate
from pipeline.blocks.problems.store import numbered, of_tables
from pipeline.stages.command import run

_LONGEST = 64  # instructions
_INSTRUCTIONS = 8192  # of a batch


def main(
    blocks: Annotated[Path, typer.Option(help="Blocks as lines of CSV: machine code in hexadecimal first, as BHive.")],
    out: Annotated[Path, typer.Option(help="CSV to write: a row for each line, in the lines' order.")],
    weights: Annotated[Path, typer.Option(help="A trained imitator; by default the one in the package.")] = SHIPPED,
) -> None:
    """Order the instructions of each block as GCC 4.9 would, legally: every dependency of the block holds.

    Columns: line, status (ok | bad), hex as it came, ordered_hex, order (index of the instruction in each slot),
    confidence (the network's probability of its order), message. Blocks have 1 to 64 instructions and no control
    transfer. Rip-relative operands keep their targets if the block keeps its place.
    """
    torch.set_num_threads(1)
    network = OrderingNetwork.load(weights)
    found, bad = bhive.blocks(blocks.read_bytes(), 1, _LONGEST, Forms())
    rows = [{"line": int(r.split(":")[0].split()[1]), "status": "bad", "message": f"{r}; {m}"} for r, m in bad]
    if len(found.begin):
        rows += _ordered(network, found)
    print(f"{len(rows) - len(bad)} blocks ordered, {len(bad)} lines refused: see {out}", file=sys.stderr)
    columns = ["line", "status", "hex", "ordered_hex", "order", "confidence", "message"]
    table = pd.DataFrame(rows, columns=columns).sort_values("line")
    with tables.replacing(out) as temporary:
        table.to_csv(temporary, index=False, float_format="%.4f", lineterminator="\n")


def _ordered(network: OrderingNetwork, found: Blocks) -> list[dict[str, object]]:
    lines = found.address.tolist()  # bhive's stand-in
    code, masked = (
        [part[begin:end].tobytes() for begin, end in zip(found.begin, found.end, strict=True)]
        for part in (found.code, found.masked)
    )
    distinct, numbers = distinct_instructions(pa.array(masked, pa.binary()))
    encodings = encoded(tabulate(distinct))
    bags = network.vocabulary.bags(encodings)
    ids = pa.array(map(str, lines))
    unknown = {"address": pa.array(np.zeros(len(ids), np.uint64)), "relocatable": pa.array(np.ones(len(ids), bool))}
    dags = Builder("full").build(pa.table({"block_id": ids, **unknown, "code": pa.array(code, pa.binary())}))
    store = of_tables(numbered(ids, numbers), dags)
    rows: list[dict[str, object]] = []
    for items in tqdm(by_length(store.lengths, _INSTRUCTIONS), "scheduling", unit="batch", file=sys.stderr):
        problems = store.as_emitted(items)
        orders = network.schedule(problems, encodings, bags)
        confidence = network.confidence(problems, encodings, bags, orders)
        for item, order, belief in zip(items.tolist(), orders.tolist(), confidence, strict=True):
            row: dict[str, object] = {"line": lines[item], "status": "ok", "hex": code[item].hex(), "message": ""}
            row |= {"ordered_hex": reordered(code[item], order).hex(), "confidence": belief}
            rows.append(row | {"order": " ".join(map(str, order))})
    return rows


if __name__ == "__main__":
    run(main)
