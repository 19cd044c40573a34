"""A child process: a module and its export to ONNX, priced on one device.

    python -m benchmarks.own_models.two_forms NAME dynamo|script FOLDER

It prints one line of JSON: `difference`, of the seconds of the file from those of the module, as a share; or `reason`.
"""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import torch

from benchmarks.own_models.modules import MODULES, inputs_of, module
from learned_schedulers.graphs.plans.module_export import export_module
from learned_schedulers.graphs.plans.sources import Source, on_devices, read_file


def main(name: str, exporter: str, folder: Path) -> dict[str, object]:
    """Export the module of a name, and compare."""
    file = folder / f"{name}_{exporter}.onnx"
    positional, keywords = inputs_of(name)
    network = module(name)
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()):
            warnings.simplefilter("ignore")
            torch.onnx.export(network, positional, str(file), kwargs=keywords, dynamo=exporter == "dynamo")
    except Exception as error:  # either exporter may raise anything about a module
        return {"reason": f"torch does not export it: {type(error).__name__}: {' '.join(str(error).split())[:200]}"}
    seconds = _seconds(export_module(MODULES[name]["module"], MODULES[name]["inputs"], False))
    return {"difference": _seconds(read_file(file, {})) / seconds - 1}


def _seconds(source: Source) -> float:
    return float(on_devices(source, 1).seconds.sum())


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))))
