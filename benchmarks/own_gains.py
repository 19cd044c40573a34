"""Are the gains of new orders true? llvm-mca is asked about the files that the command writes, block by block.

    python -m benchmarks.own_gains FILE...

The files are programs, shared objects or objects. Each is ordered by the code of `learned-schedulers order` under `tso`
for every processor, once as the method proposes (`decoder` proposed: --no-confirm) and once with llvm-mca's word on
every order (`decoder` confirmed: --confirm). The written file is read again, and the text of each block that has
changed is simulated as it was and as it is, with the jump behind it: a single pass, and 100 in sequence.

It publishes the experiment `own_gains`, over the distinct changed blocks of all files:

- gains_confirmed: share of the blocks that take fewer cycles (those that are their own loop: of 100 passes; others: of
  a single pass), and not more of the other;
- cycles, loop_cycles: ratio to the block as it was, of a single pass and of 100; geometric mean;
- worst_loop_cycles: the largest of the ratios of 100 passes;
- pairs_split: on processors that fuse, comparisons that no longer stand at their conditional jump; n: such pairs;
- changed: blocks that have a new order; n: all blocks.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from iced_x86 import Decoder
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.blocks.dag.memory_order import Mark
from learned_schedulers.blocks.order.confirmation import PASSES
from learned_schedulers.blocks.order.methods import By, policy_file
from learned_schedulers.blocks.order.targets import FUSING, TARGETS, Target
from learned_schedulers.blocks.processors import answers, llvm_mca
from learned_schedulers.blocks.processors.settings import Judge
from learned_schedulers.blocks.read import reading
from learned_schedulers.blocks.read.assembly import gas
from learned_schedulers.blocks.read.elf_file import ElfDocument
from learned_schedulers.command.ordered_file import Job, orders_of
from learned_schedulers.statistics.bootstrap import Bootstrap
from pipeline.lab.rows import Quantity, Row, results, row

_METHODS: tuple[By, ...] = ("policy", "search")
_SAMPLES, _CONFIDENCE = 1000, 0.95


class Pair(NamedTuple):
    """A changed block: its text with the jump behind it, before and after."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    repeats: bool  # it is its own loop


class Written(NamedTuple):
    """What has become of a file's blocks."""

    pairs: list[Pair]
    blocks: int
    fused: int  # blocks whose last instruction fuses with the jump behind it
    split: int  # of which it is no longer the last


def main(
    files: Annotated[list[Path], typer.Argument(help="Programs, shared objects, objects.")],
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "own_gains",
    chosen: Annotated[list[str] | None, typer.Option("--for", help="Processors; otherwise all.")] = None,
) -> None:
    """Order the files, and ask llvm-mca about every changed block."""
    binary = llvm_mca.find()
    if binary is None:
        raise ValueError(f"llvm-mca is needed: {llvm_mca.INSTALL}")
    rows: list[Row] = []
    for target in (name for name in TARGETS if not chosen or name in chosen):
        for by in _METHODS:
            for confirm in (False, True):
                written = [_written(file, target, by, confirm) for file in tqdm(files, f"{target}, {by}", leave=False)]
                of_files = _rows(written, target, by, "confirmed" if confirm else "proposed", binary)
                rows += of_files
                for shown in of_files:
                    numbers = f"{shown['value']:.4f} [{shown['low']:.4f}, {shown['high']:.4f}] of {shown['n']}"
                    tqdm.write(f"{target:<11} {by:<7} {shown['decoder']:<10} {shown['metric']:<18} {numbers}")
    settings = {"files": [file.name for file in files], "samples": _SAMPLES, "confidence": _CONFIDENCE}
    publish(output, {"results": results(rows)}, settings, files, [policy_file(target) for target in TARGETS])


def _written(file: Path, target: Target, by: By, confirm: bool) -> Written:
    """Order a file, write it, and read it again."""
    name, content = reading.format_of(file), file.read_bytes()
    before = reading.document(name, content, file)
    job = Job(target, by, "tso", "dag", [], None, None, seed=0, diff=False, quiet=True, confirm=confirm)
    orders = orders_of(before, job, file.name)
    after = reading.document(name, before.rewritten(orders.as_mapping()), file)
    if not isinstance(before, ElfDocument) or not isinstance(after, ElfDocument):
        raise ValueError(f"{file}: give programs, shared objects or objects (ELF)")
    pairs: list[Pair] = []
    fused, split = 0, 0
    for block, code in zip(before.blocks, before.codes_in(after), strict=True):
        is_pair = bool(block.marks[-1] & Mark.FUSED)
        fused += is_pair
        split += is_pair and _last(block.code) != _last(code)
        if block.code != code:
            jump = gas(block.end.code)
            pairs.append(Pair((*gas(block.code), *jump), (*gas(code), *jump), block.end.repeats))
    return Written(pairs, len(before.blocks), fused, split)


def _last(code: bytes) -> str:
    return str(list(Decoder(64, code))[-1])


def _rows(written: Sequence[Written], target: Target, by: By, decoder: str, binary: str) -> list[Row]:
    place = {"experiment": "own_gains", "dependencies": "tso", "target": target, "seed": "all"}
    place |= {"method": by, "decoder": decoder}
    blocks, fused, split = (sum(getattr(part, name) for part in written) for name in ("blocks", "fused", "split"))
    pairs = list(dict.fromkeys(pair for part in written for pair in part.pairs))
    rows = [row(place, Quantity("changed", unit="count"), sum(len(part.pairs) for part in written), n=blocks)]
    if target in FUSING:
        rows.append(row(place, Quantity("pairs_split", unit="count"), split, n=fused))
    if not pairs:
        return rows
    once, often = (_cycles(pairs, Judge(cpu=target, iterations=passes), binary) for passes in (1, PASSES))
    repeats = np.array([pair.repeats for pair in pairs])
    counts = np.where(repeats[:, None], often, once)
    confirmed = (counts[:, 1] < counts[:, 0]) & (once[:, 1] <= once[:, 0]) & (often[:, 1] <= often[:, 0])
    bootstrap = Bootstrap(len(pairs), _SAMPLES, _CONFIDENCE)
    logs = np.log([once[:, 1] / once[:, 0], often[:, 1] / often[:, 0]])
    [share, single, loop], _ = bootstrap.estimates(np.array([confirmed.astype(float), *logs]))
    rows.append(row(place, Quantity("gains_confirmed"), share.value, share.low, share.high, share.n))
    for metric, estimate in (("cycles", single), ("loop_cycles", loop)):
        numbers = np.exp([estimate.value, estimate.low, estimate.high]).tolist()
        rows.append(row(place, Quantity(metric, "ratio", "before", target), *numbers, estimate.n))
    worst = float(np.exp(logs[1].max()))
    rows.append(row(place, Quantity("worst_loop_cycles", "ratio", "before", target), worst, n=len(pairs)))
    return rows


def _cycles(pairs: Sequence[Pair], judge: Judge, binary: str) -> np.ndarray:
    """Cycles of each block before and after, (B, 2); a block that llvm-mca does not know counts as unchanged."""
    regions = [list(text) for pair in pairs for text in (pair.before, pair.after)]
    simulated = answers.simulate(regions, judge, binary, len(os.sched_getaffinity(0)))
    cycles = np.array([simulation.cycles for simulation in simulated]).reshape(-1, 2)
    cycles[np.isnan(cycles).any(1)] = 1
    return cycles


if __name__ == "__main__":
    typer.run(main)
