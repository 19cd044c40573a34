"""How well the models of pipeline/blocks/latency/model.py agree with llvm-mca, and how much faster they are.

    python -m benchmarks.machine_agreement --machine haswell --machine btver2

Blocks: a seeded draw of those of a set that have several legal orders, of the given lengths and without an instruction
that the processor model does not know; of each, random legal orders (dag/sampling.py, `random_ready`). Compared are
the cycles of a single pass. Printed:

- share of orders with equal cycles, and mean absolute difference in cycles;
- Spearman's and Kendall's (tau-b) rank correlation within blocks, means over blocks to which llvm-mca gives different
  cycles (0 where the model gives equal ones);
- share of those blocks whose best order by the model (the first, of equals) is a best one by llvm-mca;
- orders per second of both, on one core, the model compiled before; llvm-mca with starting processes and reading text.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numba
import numpy as np
import pyarrow as pa
import typer
from scipy.stats import kendalltau, spearmanr

from pipeline import tables
from pipeline.blocks.corpus.assembly import gas
from pipeline.blocks.dag.sampling import random_ready
from pipeline.blocks.latency import llvm_mca, model
from pipeline.blocks.latency import machine as machines
from pipeline.blocks.latency.costs import Processor, processor_of
from pipeline.blocks.problems import sample, store
from pipeline.blocks.problems.store import BlockStore
from pipeline.config.params import load
from pipeline.config.processors import Judge


@dataclass(frozen=True)
class Group:
    """Blocks of one length and what both say of their orders."""

    modelled: np.ndarray  # (B, K) cycles
    llvm_mca: np.ndarray  # (B, K) cycles
    model_seconds: float
    llvm_mca_seconds: float


def draw(held: BlockStore, rows: np.ndarray, shortest: int, longest: int, blocks: int, seed: int) -> np.ndarray:
    """Up to `blocks` of these rows, sorted."""
    lengths = held.lengths[rows]
    rows = rows[(lengths >= shortest) & (lengths <= longest)]
    rows = rows[held.has_choice(rows)]
    return np.sort(np.random.default_rng(seed).choice(rows, min(blocks, len(rows)), replace=False))


def known(held: BlockStore, rows: np.ndarray, instructions: np.ndarray, chip: Processor) -> np.ndarray:
    """Those of the blocks whose instructions the processor model knows."""
    return np.array(
        [row for row in rows if chip.known[np.searchsorted(instructions, held.instructions_of(np.array([row])))].all()],
        np.int64,
    )


def compare(
    numbers: np.ndarray, orders: np.ndarray, texts: list[str], chip: Processor, machine: Judge, binary: str
) -> Group:
    """Cycles of orders (B, K, n) of blocks of instructions (B, n), rows of the processor's table."""
    model.makespans(model.costs(chip, numbers[:1]), orders[:1])  # compile
    start = time.perf_counter()
    modelled = model.makespans(model.costs(chip, numbers), orders)
    middle = time.perf_counter()
    shown = np.take_along_axis(numbers[:, None], orders.astype(np.int64), 2).reshape(-1, orders.shape[2])
    simulated = llvm_mca.simulate([[texts[i] for i in order] for order in shown.tolist()], machine, binary)
    cycles = np.array([simulation.cycles for simulation in simulated]).reshape(modelled.shape)
    return Group(modelled, cycles, middle - start, time.perf_counter() - middle)


def report(groups: list[Group]) -> None:
    difference = np.concatenate([np.abs(group.modelled - group.llvm_mca).ravel() for group in groups])
    pairs = [pair for group in groups for pair in zip(group.modelled, group.llvm_mca, strict=True)]
    spread = [(modelled, cycles) for modelled, cycles in pairs if np.ptp(cycles)]
    ranked = [(modelled, cycles) for modelled, cycles in spread if np.ptp(modelled)]
    spearman = sum(spearmanr(*pair).statistic for pair in ranked) / max(len(spread), 1)
    kendall = sum(kendalltau(*pair).statistic for pair in ranked) / max(len(spread), 1)
    best = sum(cycles[modelled.argmin()] == cycles.min() for modelled, cycles in spread) / max(len(spread), 1)
    model_speed = len(difference) / sum(group.model_seconds for group in groups)
    llvm_mca_speed = len(difference) / sum(group.llvm_mca_seconds for group in groups)
    for name, value in {
        "blocks": f"{len(pairs):,}",
        "blocks with spread": f"{len(spread):,}",
        "orders": f"{len(difference):,}",
        "equal cycles": f"{100 * np.mean(difference == 0):.3f}%",
        "mean absolute difference": f"{difference.mean():.4f} cycles",
        "Spearman within blocks": f"{spearman:.4f}",
        "Kendall within blocks": f"{kendall:.4f}",
        "best is best": f"{100 * best:.2f}%",
        "model": f"{model_speed:,.0f} orders/s",
        "llvm-mca": f"{llvm_mca_speed:,.0f} orders/s",
        "ratio": f"{model_speed / llvm_mca_speed:,.0f}",
    }.items():
        print(f"{name:26}{value:>18}")


def agreement(
    held: BlockStore,
    rows: np.ndarray,
    codes: pa.ChunkedArray,
    name: str,
    machine: Judge,
    orders: int,
    binary: str,
    seed: int,
) -> list[Group]:
    """Groups of the blocks `rows` that the machine knows."""
    instructions = np.unique(held.instructions_of(rows))
    table = machines.read(codes.take(instructions).to_pylist(), name, machine, binary)
    chip, texts = processor_of(table), ["".join(gas(code)) for code in table.code]
    usable = known(held, rows, instructions, chip)
    print(f"{len(rows) - len(usable)} of {len(rows)} blocks left out: {name} does not know an instruction of theirs")
    rng = np.random.default_rng(seed)
    groups = []
    for n in np.unique(held.lengths[usable]):
        problems = held.as_emitted(usable[held.lengths[usable] == n])
        drawn = np.stack([random_ready(problems.precedes, rng) for _ in range(orders)], axis=1)
        numbers = np.searchsorted(instructions, problems.instructions)
        groups.append(compare(numbers, drawn, texts, chip, machine, binary))
    return groups


def main(
    data: Annotated[Path, typer.Option(help="Folder of the pipeline's tables.")] = Path("data"),
    instructions: Annotated[
        Path | None,
        typer.Option(help="Folder of tables `blocks` and `encodings`; by default that of the released corpus."),
    ] = None,
    chosen: Annotated[Literal["development", "training"], typer.Option("--set", help="Set of blocks.")] = "development",
    names: Annotated[
        list[str] | None, typer.Option("--machine", help="Of params.yaml, judges, or of llvm-mca.")
    ] = None,
    blocks: Annotated[int, typer.Option(min=1, help="Blocks drawn.")] = 1000,
    orders: Annotated[int, typer.Option(min=2, help="Orders of each.")] = 20,
    shortest: Annotated[int, typer.Option(min=1, help="Instructions of a block, at least.")] = 10,
    longest: Annotated[int, typer.Option(max=64, help="At most.")] = 40,
    seed: Annotated[int, typer.Option(help="Of blocks and orders.")] = 0,
) -> None:
    """Compare the models with llvm-mca on real blocks."""
    binary = llvm_mca.find()
    if binary is None:
        raise typer.BadParameter(f"llvm-mca {llvm_mca.VERSION} is not installed: {llvm_mca.INSTALL}")
    numba.set_num_threads(1)
    folder = instructions or data / "instructions/released"
    held = store.load(folder / "blocks.parquet", data / "dags/released/full.parquet")
    codes = tables.arrow("encodings", folder / "encodings.parquet", ["code"])["code"]
    rows = draw(held, sample.load(data / f"sets/{chosen}.parquet", held).rows, shortest, longest, blocks, seed)
    settings = load().judges
    for name in names or ["atom"]:
        machine = settings.get(name, Judge(cpu=name, iterations=1))
        print(f"\n{name}")
        machine = machine.model_copy(update={"iterations": 1})
        report(agreement(held, rows, codes, name, machine, orders, binary, seed))


if __name__ == "__main__":
    typer.run(main)
