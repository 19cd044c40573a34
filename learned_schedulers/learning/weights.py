"""Files of weights, of all kinds: safetensors with a description, from which the network is made again.

The metadata has one entry, kind -> description, because safetensors writes several in an arbitrary sequence. Arrays of
NumPy are read without torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from learned_schedulers.files import replacing

if TYPE_CHECKING:
    from torch import nn

Network = TypeVar("Network", bound="nn.Module")


def write(path: Path, kind: str, description: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays; the file appears whole."""
    contiguous = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    with replacing(path) as temporary:
        save_file(contiguous, temporary, {kind: description})


def read(path: Path, kind: str) -> tuple[str, dict[str, np.ndarray]]:
    """The description and the arrays. Raises ValueError for a file that is missing, damaged, or of another kind."""
    try:
        with safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in list(file.keys())}
    except (SafetensorError, FileNotFoundError) as error:
        raise ValueError(f"{path} is not a file of weights ({error}); train it again") from error
    if kind not in metadata:
        kinds = ", ".join(metadata) or "no kind"
        raise ValueError(f"{path} has weights of {kinds}, not of {kind}; train it again")
    return metadata[kind], arrays


def save(network: nn.Module, path: Path, kind: str, description: str) -> None:
    """Write the weights of a network; the description has all that `load` needs to make it again."""
    write(path, kind, description, {name: weight.cpu().numpy() for name, weight in network.state_dict().items()})


def load(path: Path, kind: str, make: Callable[[str], Network]) -> Network:
    """The network that `make` gives for the file's description, with the file's weights, ready for use.

    Raises ValueError as `read` does, and where description and weights do not fit this version of the network.
    """
    import torch

    description, arrays = read(path, kind)
    try:
        network = make(description)
        network.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    except (ValueError, KeyError, RuntimeError) as error:
        raise ValueError(f"{path} was trained by another version of this program; train it again ({error})") from error
    return network.eval()
