"""Inputs of an ONNX file for a run, from a fixed seed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from learned_schedulers.graphs.plans.pieces.file_units import SHARED_TYPES
from learned_schedulers.graphs.plans.pieces.sessions import RuntimeFault, fault_of, results_of
from learned_schedulers.graphs.read.onnx_model import OnnxError

_SEED = 0


def inputs_that_run(
    path: Path, inputs: Mapping[str, Any], numbers: Mapping[str, float], session: Any
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Inputs that the file can be run with, and its results.

    Floats are drawn around 0. Integers may be indices, lengths or rates, of which the file does not say what fits: they
    are drawn from 0 and 1; if the runtime refuses these, all are 1, and then 0.
    inputs: of the file, with types and sizes; numbers: of all elements of some inputs; session: of the file.
    Raises OnnxError with the first refusal.
    """
    if wrong := [name for name in numbers if name not in inputs]:
        raise OnnxError(f"{path}: --value {wrong[0]}: it has no such input; its inputs are {', '.join(inputs)}")
    first: RuntimeFault | None = None
    for whole in (None, 1, 0):
        drawn = _drawn(path, inputs, numbers, whole)
        try:
            return drawn, results_of(session, drawn)
        except RuntimeFault as error:
            first = first or error
    assert first is not None
    with fault_of(path, "; if it needs certain numbers, give them: --value NAME=16000"):
        raise first


def _drawn(
    path: Path, inputs: Mapping[str, Any], numbers: Mapping[str, float], whole: int | None
) -> dict[str, np.ndarray]:
    """whole: the number that all integers are; None: 0 and 1 by chance."""
    rng = np.random.default_rng(_SEED)
    arrays = {}
    for name, value in inputs.items():
        kind = value.type.tensor_type
        if kind.elem_type not in SHARED_TYPES:
            raise OnnxError(f"{path}: --run: input {name!r} has no type that NumPy has")
        dtype = np.dtype(SHARED_TYPES[kind.elem_type])
        shape = tuple(dimension.dim_value for dimension in kind.shape.dim)
        if name in numbers:
            arrays[name] = np.full(shape, numbers[name]).astype(dtype)
        elif dtype.kind == "f":
            arrays[name] = np.array(rng.standard_normal(shape), dtype)
        elif whole is None:
            arrays[name] = np.array(rng.integers(0, 2, shape), dtype)
        else:
            arrays[name] = np.full(shape, whole, dtype)
    return arrays
