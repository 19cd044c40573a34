"""The file of a network that reads whole graphs: its weights together with its settings."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from pipeline import tables
from pipeline.config.whole_graph import WholeGraph as Settings
from pipeline.graphs.models.whole_graph.network import WholeGraph

SHIPPED = Path(__file__).parent / "shipped/whole_graph.safetensors"  # in the package; README.md beside it describes it
_DESCRIPTION = "whole_graph"  # key in a file's metadata


def save(network: WholeGraph, path: Path) -> None:
    """Write the weights with the settings, as safetensors."""
    with tables.replacing(path) as temporary:
        save_file(network.state_dict(), temporary, {_DESCRIPTION: network.settings.model_dump_json()})


def load(path: Path) -> WholeGraph:
    """A trained network from its file. Raises ValueError if the file holds no such network."""
    try:
        with safe_open(path, "pt") as file:
            described = (file.metadata() or {}).get(_DESCRIPTION)
            weights = {name: file.get_tensor(name) for name in list(file.keys())}
    except (SafetensorError, FileNotFoundError) as error:
        raise ValueError(f"{path} is not a file of weights ({error}); train it again") from error
    if described is None:
        raise ValueError(f"{path} is not a network for whole graphs: it has no settings; train it by train_whole_graph")
    try:
        network = WholeGraph(Settings.model_validate_json(described))
        network.load_state_dict(weights)
    except (ValidationError, RuntimeError) as error:
        raise ValueError(f"{path} was trained by another version of this program; train it again ({error})") from error
    return network
