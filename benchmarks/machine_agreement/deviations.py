"""The class of the first difference between a model and llvm-mca: table `deviations`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from benchmarks.machine_agreement import timelines
from benchmarks.machine_agreement.reduction import Instructions as Part
from benchmarks.machine_agreement.reduction import reduced
from benchmarks.machine_agreement.table import Instructions, simulated
from benchmarks.machine_agreement.timelines import Simulated, Timeline
from pipeline.blocks.latency import model
from pipeline.schemas.deviations import SCHEMA

_BARRIER = re.compile("[lms]fence")
_COPY = re.compile(r"mov\w* +%\w+, *%\w+$")  # of a register to another


def deviation(model: Timeline, llvm_mca: Simulated, barriers: np.ndarray, moves: np.ndarray, doubt: str) -> str:
    """The class of a sequence of n instructions, by the first cycle in which only one of the two issues something.

    The instructions that only one of them issues in that cycle are examined; everything earlier is equal. The first
    rule that holds:

    - `retirement`: there is no such cycle; what differs is when instructions leave the processor.
    - `other`: on a processor that issues in order, unless a memory barrier stands before one (`memory_barrier`).
    - llvm-mca has one of them ready later than the model: `memory_barrier` where one stands before it, `removed_move`
      where a move that renaming removes does, else `late_operand`.
    - `early_operand`: llvm-mca has one of them ready earlier.
    - `dispatch`: llvm-mca has not dispatched one when the model issues it.
    - `doubt`, unless it is empty: which units an instruction of the sequence holds is in doubt.
    - `selection`: each issues one that the other does not.
    - `units`: one of them has a unit idle that the other has not.

    barriers, moves: (n,) bool, such an instruction; doubt: `doubt` of the instructions.
    """
    differ = np.flatnonzero(model.issued != llvm_mca.issued)
    if not len(differ):
        return "retirement"
    cycle = np.minimum(model.issued, llvm_mca.issued)[differ].min()
    by_model, by_llvm_mca = (differ[timeline.issued[differ] == cycle] for timeline in (model, llvm_mca))
    issued = np.r_[by_model, by_llvm_mca]
    if model.ready is None:
        return "memory_barrier" if barriers[: issued.max()].any() else "other"
    due = np.maximum(model.ready, llvm_mca.dispatched)[issued]
    late = issued[llvm_mca.ready[issued] > due]
    if len(late):
        before = slice(None, late.max())
        return "memory_barrier" if barriers[before].any() else "removed_move" if moves[before].any() else "late_operand"
    if (llvm_mca.ready[issued] < due).any():
        return "early_operand"
    if (llvm_mca.dispatched[by_model] >= cycle).any():
        return "dispatch"
    return doubt or ("selection" if len(by_model) and len(by_llvm_mca) else "units")


def doubt(guessed: np.ndarray, choices: np.ndarray, groups: np.ndarray) -> str:
    """The reason why the units that n instructions hold are in doubt, or an empty string.

    - `guessed_units`: of one of them no groups were found that say what llvm-mca's instruction table says.
    - `ambiguous_units`: one holds units of two groups that overlap, neither being part of the other. Other groups say
      the same: one of {0, 1} and one of {2, 3} and one of {4, 5} have the same shares of cycles as
      one of {0, 1, 2, 3}, one of {0, 1, 4, 5} and one of {2, 3, 4, 5}.

    guessed: (n,) bool; choices: (n, C) int, numbers of groups, -1 for no more; groups: (G,) bit sets of units.
    """
    if guessed.any():
        return "guessed_units"
    sets = np.where(choices >= 0, np.r_[groups, 0][choices], 0)  # (n, C)
    first, second = sets[:, :, None], sets[:, None, :]
    crossing = (first & second != 0) & (first & ~second != 0) & (second & ~first != 0)
    return "ambiguous_units" if crossing.any() else ""


def table(place: Mapping[str, str], sequences: Sequence[Part], instructions: Instructions, binary: str) -> pd.DataFrame:
    """Rows of table `deviations` of sequences in which the model and llvm-mca differ, most frequent class first.

    Each is reduced to a part of it that still differs; the class is that of the part, the example a shortest one.
    """
    parts = reduced(
        sequences,
        lambda sequences_of_round: (
            _modelled(sequences_of_round, instructions) != _simulated(sequences_of_round, instructions, binary)
        ),
    )
    judged = zip(_modelled(parts, instructions).tolist(), _simulated(parts, instructions, binary).tolist(), strict=True)
    shown = timelines.simulated([_texts(part, instructions) for part in parts], instructions.judge, binary)
    lines = [
        (
            _class(part, timeline, instructions),
            len(part),
            "; ".join(" ".join(t.split()) for t in _texts(part, instructions)),
            *cycles_of_both,
        )
        for part, timeline, cycles_of_both in zip(parts, shown, judged, strict=True)
    ]
    frame = pd.DataFrame(lines, columns=["deviation", "instructions", "example", "model_cycles", "llvm_mca_cycles"])
    frame = frame.astype({"instructions": "int64", "model_cycles": float, "llvm_mca_cycles": float})
    frame = frame.sort_values(["instructions", "example"])
    counted = frame.groupby("deviation", as_index=False).agg(
        blocks=("example", "size"),
        **{name: (name, "first") for name in ("instructions", "example", "model_cycles", "llvm_mca_cycles")},
    )
    counted = counted.assign(**place).sort_values(["blocks", "deviation"], ascending=[False, True])
    return counted[SCHEMA.names]


def _class(part: Part, llvm_mca: Simulated, instructions: Instructions) -> str:
    rows = np.array(part)
    barriers = np.array([bool(_BARRIER.match(instructions.texts[i])) for i in part])
    chip = instructions.chip
    free = (chip.latencies[rows] == 0) & ~(chip.unit_cycles[rows] > 0).any(1) & (chip.choices[rows, 0] < 0)
    moves = free & np.array([bool(_COPY.match(instructions.texts[i])) for i in part])
    units = doubt(instructions.guessed_units[rows], chip.choices[rows], chip.groups)
    return deviation(timelines.modelled(chip, rows), llvm_mca, barriers, moves, units)


def _texts(part: Part, instructions: Instructions) -> list[str]:
    return [instructions.texts[i] for i in part]


def _simulated(parts: Sequence[Part], instructions: Instructions, binary: str) -> np.ndarray:
    return simulated([_texts(part, instructions) for part in parts], instructions.judge, binary)


def _modelled(parts: Sequence[Part], instructions: Instructions) -> np.ndarray:
    """Cycles of sequences of any lengths, (S,)."""
    lengths = np.array([len(part) for part in parts])
    cycles = np.empty(len(parts), np.int64)
    for n in np.unique(lengths):
        places = np.flatnonzero(lengths == n)
        costs = model.costs(instructions.chip, np.array([parts[k] for k in places.tolist()]))
        cycles[places] = model.makespans(costs, np.broadcast_to(np.arange(n), (len(places), 1, n)))[:, 0]
    return cycles
