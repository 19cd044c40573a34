"""Execute legal orders of blocks, and swaps that break an edge, and compare the machine's states."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from learned_schedulers.blocks.run import strata
from learned_schedulers.blocks.run.verification_settings import Verification
from learned_schedulers.section import section
from pipeline.corpus import verification_batch as batch
from pipeline.corpus.tables import BLOCKS, DAGS, SENSITIVITY, VERIFICATION
from pipeline.lab import tables
from pipeline.lab.stages import options

_CHECKPOINTS = Path(".cache/checkpoints")


def main(
    settings: options.Settings,
    blocks: options.Blocks,
    dags: options.Dags,
    verification: options.Out,
    sensitivity: options.Out,
    cores: options.Cores = 1,
) -> None:
    """Run machine code of the corpus: a legal order must leave the same state as the original order.

    The code runs in child processes without descriptors, under limits and a seccomp filter; the pipeline never runs it
    by default. The sample has equal shares of each source, instruction class and length, of blocks with more than one
    legal order. An interrupted run continues after its last 512 blocks, whose results lie in .cache/checkpoints under
    the hash of settings, blocks and code.
    """
    chosen = section(Verification, settings)
    counts = tables.read(DAGS, dags, ["block_id", "n_legal_orders"])
    several = counts.loc[counts["n_legal_orders"] > 1, "block_id"]
    columns = ["block_id", "source", "n_instructions", "code", "address", "relocatable"]
    candidates = tables.read(BLOCKS, blocks, columns)
    candidates = candidates[candidates["block_id"].isin(set(several))]
    if candidates.empty:
        raise ValueError(f"{blocks}: no block has more than one legal order: there is nothing to verify")
    work = batch.plan(strata.choose(candidates, chosen.blocks, chosen.seed), chosen)
    checkpoint = _CHECKPOINTS / batch.digest(work, chosen)
    verdicts, swaps = batch.execute(work, chosen, cores, checkpoint)
    tables.write(verdicts, VERIFICATION, verification)
    tables.write(swaps, SENSITIVITY, sensitivity)
    shutil.rmtree(checkpoint)
    for mode, rows in verdicts.groupby("dependencies", sort=True):
        print(
            f"{mode}: {rows['state_runs'].sum()} state-runs of {len(rows)} blocks, {rows['different'].sum()} different,"
            f" {(rows['outcome'] == 'not runnable').sum()} blocks not runnable",
            file=sys.stderr,
        )
