"""Is a function in its new order faster? Measured again, longer, in processes of its own, beside the default twice.

A search that measures quickly flatters the order that it chose, and the same code differs by where it lies. So every
process has forms in another sequence, thus at other addresses; the second default, the control, says how much equal
code differs.
"""

from __future__ import annotations

import numpy as np

from learned_schedulers.blocks.before_allocation.conditions import Conditions
from learned_schedulers.blocks.before_allocation.image import Image
from learned_schedulers.blocks.before_allocation.measured import Effort
from learned_schedulers.blocks.before_allocation.searched import Cycles
from learned_schedulers.blocks.before_allocation.stand import mean_cycles
from learned_schedulers.blocks.before_allocation.subject import Subject
from learned_schedulers.blocks.run.native import Native

LONG = Effort(rounds=50, trials=40, displacements=4)
_PROCESSES = 4


def confirmed(of: Subject, new: Image, default: Image, where: Conditions, rng: np.random.Generator) -> Cycles:
    """Cycles of two forms of a subject. Raises NotMeasured, and OracleError if no process can be confined."""
    rows = []
    for _ in range(_PROCESSES):
        sequence = rng.permutation(3)
        with Native() as native:
            means = mean_cycles(of, native, [(default, new, default)[i] for i in sequence], where, LONG, rng)
        rows.append(means[np.argsort(sequence)])
    cycles = np.array(rows)  # (processes, 3)
    ratios, controls = cycles[:, 1] / cycles[:, 0], cycles[:, 2] / cycles[:, 0]
    first, second, _ = cycles.mean(0).tolist()
    return Cycles(
        first,
        second,
        float(ratios.mean()),
        float(ratios.min()),
        float(ratios.max()),
        float(np.abs(controls - 1).max()),
    )
