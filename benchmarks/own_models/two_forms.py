"""A child process: a module and its export to ONNX, priced on one device.

    python -m benchmarks.own_models.two_forms NAME dynamo|script FOLDER

It prints the seconds of both by kind of operation, and one line of JSON: `flops` and `seconds`, how far those of the
file are from the module's, as shares; or `reason`.
"""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import torch

from benchmarks.own_models.modules import MODULES, inputs_of, module
from learned_schedulers.graphs.plans.module_export import export_module
from learned_schedulers.graphs.plans.sources import Source, on_devices, read_file


def main(name: str, exporter: str, folder: Path) -> dict[str, object]:
    """Export the module of a name, and compare."""
    file = folder / f"{name}_{exporter}.onnx"
    positional, keywords = inputs_of(name, "form")
    network = module(name)
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()):
            warnings.simplefilter("ignore")
            torch.onnx.export(network, positional, str(file), kwargs=keywords, dynamo=exporter == "dynamo")
    except Exception as error:  # either exporter may raise anything about a module
        return {"reason": f"torch does not export it: {type(error).__name__}: {' '.join(str(error).split())[:200]}"}
    shapes = MODULES[name].get("form", MODULES[name]["inputs"])
    first, second = export_module(MODULES[name]["module"], shapes, False), read_file(file, {})
    for form, source in (("module", first), (file.name, second)):
        print(f"{form}:\n{by_kind(source)}")
    flops = [float(source.graph.flops.sum()) for source in (first, second)]
    seconds = [float(on_devices(source, 1).seconds.sum()) for source in (first, second)]
    return {"flops": flops[1] / flops[0] - 1, "seconds": seconds[1] / seconds[0] - 1}


def by_kind(source: Source) -> str:
    """A table: operations of each kind, their seconds, FLOPs and bytes; the dearest kind comes first."""
    graph = source.graph
    seconds = on_devices(source, 1).seconds
    moved = graph.bytes_read + graph.bytes_written
    rows: list[tuple] = []
    for kind in set(graph.kinds):
        chosen = np.array([kind == other for other in graph.kinds])
        rows.append(
            (*(float(values[chosen].sum()) / 1e6 for values in (seconds * 1e12, graph.flops, moved)), kind, chosen)
        )
    return "\n".join(
        f"  {kind:<32} {chosen.sum():4} {microseconds:9.1f} us {flops:9.1f} MFLOP {size:7.1f} MB"
        for microseconds, flops, size, kind, chosen in sorted(rows, key=lambda row: -row[0])
    )


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))))
