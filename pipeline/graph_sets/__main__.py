"""Write the cached graphs in `exported/` anew: `python -m pipeline.graph_sets [NAME...]`.

It needs an extra: `pip install -c constraints.txt -e '.[pipeline,models]'`. All other code reads the cached graphs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import torch
import typer
from tqdm import tqdm

from learned_schedulers.graphs.read.export import graph_of_module
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.onnx_files import read_onnx
from pipeline.graph_sets.architectures import ARCHITECTURES
from pipeline.graph_sets.exported import FOLDER
from pipeline.lab.graph_table import write_graphs

# The models without weights in the package `onnx` -> their families.
LIGHT = {
    "light_bvlc_alexnet": "alexnet",
    "light_densenet121": "densenet",
    "light_inception_v1": "inception",
    "light_inception_v2": "inception",
    "light_resnet50": "resnet",
    "light_shufflenet": "shufflenet",
    "light_squeezenet": "squeezenet",
    "light_vgg19": "vgg",
    "light_zfnet512": "alexnet",  # AlexNet with other kernels (Zeiler & Fergus 2014)
}


def graphs_of(name: str) -> list[Graph]:
    """The graphs of a network: forward, training and, if it is recurrent, one cell; of an ONNX model only forward."""
    if name in LIGHT:
        import onnx

        folder = Path(onnx.__file__).parent / "backend/test/data/light"
        return [read_onnx(folder / f"{name}.onnx", LIGHT[name])]
    architecture = ARCHITECTURES[name]
    graphs = []
    for variant in ("forward", "training"):
        with torch.device("meta"):
            module, inputs = architecture.make()
            graphs.append(graph_of_module(module, inputs, name, architecture.family, variant, in_parts=True))
    if architecture.step is not None:
        with torch.device("meta"):
            step, inputs, states = architecture.step()
            graphs.append(graph_of_module(step, inputs, name, architecture.family, "cell", states, in_parts=True))
    return graphs


def main(names: Annotated[list[str] | None, typer.Argument(help="all by default")] = None) -> None:
    """Write one table per network, as a whole or not at all."""
    for name in tqdm(names or [*ARCHITECTURES, *LIGHT]):
        if name not in ARCHITECTURES and name not in LIGHT:
            raise typer.BadParameter(f"no network {name!r}; the networks are {', '.join([*ARCHITECTURES, *LIGHT])}")
        write_graphs(FOLDER / f"{name}.parquet", graphs_of(name))


if __name__ == "__main__":
    typer.run(main)
