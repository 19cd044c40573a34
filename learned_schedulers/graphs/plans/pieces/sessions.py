"""Sessions of ONNX Runtime whose inputs and results are arrays that stay in place from run to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from learned_schedulers.graphs.read.onnx_model import OnnxError

RUNTIME = "onnxruntime"
_QUIET = 4  # only fatal errors are logged; the others are raised
_REMEDY = "pip install 'learned-schedulers[runtime]' brings it"


class RuntimeFault(RuntimeError):
    """ONNX Runtime cannot load or run a model."""


@contextmanager
def fault_of(path: Path, remedy: str = "") -> Iterator[None]:
    """Errors of the runtime become OnnxError, which names the file. remedy: what helps."""
    try:
        yield
    except RuntimeFault as error:
        raise OnnxError(f"{path}: --run: {RUNTIME} cannot run it: {error}{remedy}") from error


def check_installed() -> None:
    """Raises ValueError with a remedy if ONNX Runtime is not installed."""
    if find_spec("onnxruntime") is None:
        raise ValueError(f"--run: ONNX files are run by onnxruntime, which is not installed: {_REMEDY}")


def session_of(path: Path, threads: int, sizes: Mapping[str, int] | None = None) -> Any:
    """A session on so many threads. sizes: of named dimensions that the file leaves open. Raises RuntimeFault."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = _QUIET
    for name, size in (sizes or {}).items():
        options.add_free_dimension_override_by_name(name, size)
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime raises errors of many classes without a common base
        raise RuntimeFault(_cause(error)) from error


def results_of(session: Any, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All results of a model, by name. Raises RuntimeFault."""
    names = [value.name for value in session.get_outputs()]
    try:
        results = session.run(names, {value.name: inputs[value.name] for value in session.get_inputs()})
    except Exception as error:
        raise RuntimeFault(_cause(error)) from error
    return dict(zip(names, results, strict=True))


class Bound:
    """A session that reads and writes the same arrays in each run."""

    def __init__(self, session: Any, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> None:
        """inputs, outputs: arrays without gaps, which stay alive as long as this object does."""
        self._session, self._arrays = session, (dict(inputs), dict(outputs))
        self._binding = session.io_binding()
        read = {value.name for value in session.get_inputs()}
        for arrays, bind in ((inputs, self._binding.bind_input), (outputs, self._binding.bind_output)):
            for name, array in arrays.items():
                if arrays is outputs or name in read:
                    bind(name, "cpu", 0, array.dtype.type, list(array.shape), array.ctypes.data)

    def run(self) -> None:
        """Raises RuntimeFault."""
        try:
            self._session.run_with_iobinding(self._binding)
        except Exception as error:
            raise RuntimeFault(_cause(error)) from error


def _cause(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
