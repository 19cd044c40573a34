"""A child process: run an ONNX file by ONNX Runtime. It stands alone, for the runtime's own environment has no more.

    python file_run.py FILE.onnx '{"sizes": {"batch": 2}, "shapes": {"x": [1, 3, 48]}, "values": {"sr": 16000}}'

sizes: of dimensions that the file leaves open, by name; shapes: of inputs; values: of inputs whose number matters. All
other inputs are drawn around 0, integers are 1. It prints one line of JSON: `runs`, `reason`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import onnxruntime

_TYPES = {
    "float": np.float32,
    "float16": np.float16,
    "double": np.float64,
    "int64": np.int64,
    "int32": np.int32,
    "uint8": np.uint8,
    "int8": np.int8,
    "bool": np.bool_,
}


def main(file: str, settings: dict[str, Any]) -> dict[str, object]:
    """Whether the runtime runs the file."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    rng = np.random.default_rng(0)
    try:
        session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        session.run(None, {entry.name: _drawn(entry, settings, rng) for entry in session.get_inputs()})
    except Exception as error:  # the runtime raises errors of many classes
        return {"runs": False, "reason": " ".join(str(error).split())[:300]}
    return {"runs": True, "reason": ""}


def _drawn(entry: Any, settings: dict[str, Any], rng: np.random.Generator) -> np.ndarray:
    kind = entry.type.removeprefix("tensor(").removesuffix(")")
    shape = settings["shapes"].get(entry.name) or [
        size if isinstance(size, int) and size >= 0 else settings["sizes"].get(size, 1) for size in entry.shape
    ]
    if entry.name in settings["values"]:
        return np.full(shape, settings["values"][entry.name], _TYPES[kind])
    if kind == "string":
        return np.full(shape, "word", object)
    if kind.startswith(("int", "uint", "bool")):
        return np.ones(shape, _TYPES[kind])
    return rng.standard_normal(shape).astype(_TYPES[kind])


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], json.loads(sys.argv[2]))))
