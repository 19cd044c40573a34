"""Agreement of the models of learned_schedulers/blocks/processors/model.py with llvm-mca.

    python -m benchmarks.machine_agreement

Compared are the cycles of a single pass over 4 to 40 instructions:

- blocks of a set that have several legal orders and no instruction that the processor's model does not know, a seeded
  draw; of each, random legal orders;
- random sequences of instructions of these blocks, every form as likely as any other; of each, random permutations.

It publishes the experiment `processor_agreement`: the rows of `agreement.rows`; seed `all`. The causes of differences
were sorted once (reports/published/processor_deviations).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numba
import numpy as np
import typer

from benchmarks.machine_agreement import agreement, cases
from benchmarks.machine_agreement.agreement import BASELINE, JUDGE
from benchmarks.machine_agreement.table import read
from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.blocks.processors import llvm_mca
from pipeline.corpus.tables import ENCODINGS
from pipeline.lab import tables
from pipeline.lab.config import params
from pipeline.lab.places import path
from pipeline.lab.rows import Quantity, results
from pipeline.lab.stored_blocks import load_sample, load_store

RANDOM = "random_sequences"
_LENGTHS = (4, 40)  # of random sequences, as of blocks of the set


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "processor_agreement",
    chosen: Annotated[str, typer.Option("--set", help="Set of blocks, not one for tests.")] = "latency_development",
    names: Annotated[
        list[str] | None, typer.Option("--machine", help="Processor of params.yaml; otherwise all of them.")
    ] = None,
    blocks: Annotated[int, typer.Option(min=1, help="Blocks drawn, and sequences.")] = 6000,
    orders: Annotated[int, typer.Option(min=2, help="Orders of each.")] = 5,
    seed: Annotated[int, typer.Option(help="Of blocks, sequences and orders.")] = 0,
) -> None:
    """Compare the fast models with llvm-mca."""
    binary = llvm_mca.find()
    if binary is None:
        raise typer.BadParameter(f"llvm-mca {llvm_mca.VERSION} is not installed: {llvm_mca.INSTALL}")
    numba.set_num_threads(1)
    settings = params.load()
    dags, instructions = path("dags", corpus="released", dependencies="full"), path("instructions", corpus="released")
    encodings, members = path("encodings", corpus="released"), path("sets", set=chosen)
    corpus = load_store(Path(instructions), Path(dags))
    drawn = cases.draw(corpus, load_sample(Path(members), corpus).rows, blocks, seed)
    numbers = np.unique(corpus.instructions_of(drawn))
    codes = tables.arrow(ENCODINGS, Path(encodings), ["code"])["code"].take(numbers)
    rows = []
    for name in names or list(settings.processors):
        table = read(codes, name, settings.processors[name].judge, binary)
        usable = cases.modelled(corpus, drawn, numbers, table.chip.is_supported)
        place = {"experiment": output.name, "set": chosen, "target": name}
        covered = Quantity("modelled_share", judge=JUDGE)
        rows.append(agreement.share(place, covered, len(usable), len(drawn), settings.evaluation.confidence))
        for kind, parts in {
            chosen: cases.of_blocks(corpus, usable, numbers, orders, seed),
            RANDOM: cases.at_random(table.forms, table.chip.is_supported, blocks, _LENGTHS, orders, seed),
        }.items():
            measured = [agreement.cycles(part, table, binary) for part in parts]
            rows += agreement.rows(place | {"set": kind}, measured, settings.evaluation)
    measurements = results(rows)
    shown = measurements.pivot_table(index=["target", "set"], columns="metric", values="value", sort=False)
    print(shown.drop(columns="orders_per_second").to_string())
    options = {"set": chosen, "processors": names or list(settings.processors), "blocks": blocks, "orders": orders}
    options |= {"lengths": list(_LENGTHS), "seed": seed, "llvm_mca": llvm_mca.VERSION, "baseline": BASELINE}
    publish(output, {"results": measurements}, options, [dags, instructions, encodings, members])


if __name__ == "__main__":
    typer.run(main)
