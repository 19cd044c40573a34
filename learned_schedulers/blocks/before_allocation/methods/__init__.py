"""Methods that order a block before registers are allocated, each a file with a function `order`, by name.

`order(problem, rng)` gives a legal order (n,) int64: order[t] is the instruction in slot t. Equal problems and
generator states give equal orders.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from learned_schedulers.blocks.before_allocation.methods import (
    input_order,
    least_pressure,
    pressure_list,
    random_legal,
    randomised_pressure_list,
    recursive_halves,
    sethi_ullman,
)
from learned_schedulers.blocks.before_allocation.problem import Problem

Method = Callable[[Problem, np.random.Generator], np.ndarray]
METHODS: dict[str, Method] = {
    "input_order": input_order.order,
    "random_legal": random_legal.order,
    "pressure_list": pressure_list.order,
    "randomised_pressure_list": randomised_pressure_list.order,
    "sethi_ullman": sethi_ullman.order,
    "recursive_halves": recursive_halves.order,
    "least_pressure": least_pressure.order,
}
