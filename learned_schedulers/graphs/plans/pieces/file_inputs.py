"""Inputs of an ONNX file for a run, from a fixed seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from learned_schedulers.graphs.plans.pieces.file_units import SHARED_TYPES
from learned_schedulers.graphs.plans.pieces.sessions import RuntimeFault
from learned_schedulers.graphs.read.onnx_model import OnnxError

_SEED = 0


def inputs_that_run(
    inputs: Mapping[str, Any], run: Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Inputs that the file can be run with, and its results.

    Floats are drawn around 0. Integers may be indices, lengths or rates, of which the file does not say what fits: they
    are drawn from 0 and 1; if the runtime refuses these, all are 1, and then 0.
    inputs: of the file, with types and sizes; run: runs the file. Raises RuntimeFault with the first refusal.
    """
    first: RuntimeFault | None = None
    for whole in (None, 1, 0):
        drawn = _drawn(inputs, whole)
        try:
            return drawn, run(drawn)
        except RuntimeFault as error:
            first = first or error
    assert first is not None
    raise first


def _drawn(inputs: Mapping[str, Any], whole: int | None) -> dict[str, np.ndarray]:
    """whole: the number that all integers are; None: 0 and 1 by chance."""
    rng = np.random.default_rng(_SEED)
    arrays = {}
    for name, value in inputs.items():
        kind = value.type.tensor_type
        if kind.elem_type not in SHARED_TYPES:
            raise OnnxError(f"input {name!r} has no type that NumPy has")
        dtype = np.dtype(SHARED_TYPES[kind.elem_type])
        shape = tuple(dimension.dim_value for dimension in kind.shape.dim)
        if dtype.kind == "f":
            arrays[name] = np.array(rng.standard_normal(shape), dtype)
        elif whole is None:
            arrays[name] = np.array(rng.integers(0, 2, shape), dtype)
        else:
            arrays[name] = np.full(shape, whole, dtype)
    return arrays
