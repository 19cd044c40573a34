"""Do other orders of a function leave the same as LLVM's own? Executed, from many states and several arguments.

Drawn arguments may ask for what is undefined, such as an index outside of a table. So states are left out from which
LLVM's own schedulers differ from each other.
"""

from __future__ import annotations

import re
from functools import partial

import numpy as np

from learned_schedulers.blocks.before_allocation.calls import drawn
from learned_schedulers.blocks.before_allocation.conditions import INTEGERS
from learned_schedulers.blocks.before_allocation.executed import CONTENTS, MIXED, Executed, executed
from learned_schedulers.blocks.before_allocation.image import Image
from learned_schedulers.blocks.before_allocation.subject import Subject
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.states import DOUBLES, FLOATS, POINTERS

REFERENCES = ("source", "list-burr", "list-ilp", "list-ilp-machine")  # LLVM's own schedulers, beside the default
_SECONDS = 5.0  # for a draw
_DRAWN = (*INTEGERS[:3], (0, 2))  # ranges of integer arguments, in turn


def compared(
    of: Subject, native: Native, references: list[Image], forms: list[Image], states: int, draws: int, seed: int
) -> Executed:
    """Sums over draws of arguments, each from `states` states; the reason is that of the first difference.

    references: of the subject as it stands, by the default and by other schedulers of LLVM; forms: to compare with it.
    """
    contents = CONTENTS + MIXED
    for name, masks in (("double", DOUBLES), ("float", FLOATS)):
        if re.search(rf"\b{name}\b", of.text):
            # As numbers, pointers are zero: divided by each other they give a NaN, whose sign LLVM leaves open.
            contents = (masks + masks,) if "fdiv" in of.text else (masks + masks, POINTERS + masks)
    total = Executed(0, 0, 0, 0, "")
    for number in range(draws):
        rng = np.random.default_rng([seed, number])
        values = drawn(of.signature, rng, _DRAWN[number % len(_DRAWN)])
        every = [*references, *forms]
        run = partial(executed, native, every, of.signature, values, contents, states, rng, _SECONDS)
        ran = run(len(references) - 1)
        total = Executed(
            total.ran + ran.ran,
            total.undefined + ran.undefined,
            total.different + ran.different,
            total.equal + ran.equal,
            total.reason or (ran.reason if ran.different else ""),
        )
    return total
