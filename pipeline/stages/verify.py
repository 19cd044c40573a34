"""Execute legal orders of blocks, and swaps that break an edge, and compare the machine's states."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from pipeline import tables
from pipeline.blocks.execution import batch, strata
from pipeline.config.section import section
from pipeline.config.verification import Verification
from pipeline.stages import options

_KEPT = Path(".cache/checkpoints")


def main(
    settings: options.Settings,
    blocks: options.Blocks,
    dags: options.Dags,
    verification: options.Out,
    sensitivity: options.Out,
    cores: options.Cores = 1,
) -> None:
    """Run machine code of the corpus: legal orders must leave the state that the original order leaves.

    It runs in child processes without descriptors, under limits and a seccomp filter; never run by default.
    Of the blocks that have more than one legal order, an equal share of each source, instruction class and length.
    An interrupted run goes on from its last 512 blocks, which lie in .cache/checkpoints under the hash of settings,
    blocks and code.
    """
    wanted = section(Verification, settings)
    loose = tables.read("dags", dags, ["block_id", "n_legal_orders"])
    loose = loose[loose["n_legal_orders"] > 1]
    columns = ["block_id", "source", "n_instructions", "code", "address", "relocatable"]
    found = tables.read("blocks", blocks, columns)
    found = found[found["block_id"].isin(set(loose["block_id"]))]
    if found.empty:
        raise ValueError(f"{blocks}: no block has more than one legal order: there is nothing to verify")
    chosen = strata.choose(found, wanted.blocks, wanted.seed)
    work = batch.plan(chosen, wanted)
    kept = _KEPT / batch.digest(work, wanted)
    verdicts, swaps = batch.execute(work, wanted, cores, kept)
    tables.write(verdicts, "verification", verification)
    tables.write(swaps, "sensitivity", sensitivity)
    shutil.rmtree(kept)
    for mode, rows in verdicts.groupby("dependencies", sort=True):
        print(
            f"{mode}: {rows['state_runs'].sum()} state-runs of {len(rows)} blocks, {rows['different'].sum()} different,"
            f" {(rows['outcome'] == 'not runnable').sum()} blocks not runnable",
            file=sys.stderr,
        )
