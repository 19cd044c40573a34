"""Files of weights, of all kinds: safetensors with a description, from which the network is made again.

The metadata has one entry, kind -> description, because safetensors writes several in an arbitrary sequence. Arrays of
NumPy are read without torch. Beside the weights of the package, a file DIGESTS has their SHA-256: a damaged file is
refused, also where it can be read.
"""

from __future__ import annotations

import hashlib
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
DIGESTS = "digests.txt"  # lines as `sha256sum` writes and checks them


def write(path: Path, kind: str, description: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays; the file appears whole."""
    contiguous = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    with replacing(path) as temporary:
        save_file(contiguous, temporary, {kind: description})


def read(path: Path, kind: str) -> tuple[str, dict[str, np.ndarray]]:
    """The description and the arrays. Raises ValueError for a file that is missing, damaged, or of another kind."""
    listed = path.with_name(DIGESTS)
    shipped = listed.is_file()
    remedy = "install this package anew" if shipped else "train it again"
    try:
        if shipped and digests({path.name: path.read_bytes()}) not in listed.read_text(errors="replace"):
            raise ValueError(f"{path} is not the file that was shipped: {DIGESTS} has another sha256; {remedy}")
        with safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in list(file.keys())}
    except (SafetensorError, FileNotFoundError) as error:
        raise ValueError(f"{path} is not a file of weights ({error}); {remedy}") from error
    if kind not in metadata:
        kinds = ", ".join(metadata) or "no kind"
        raise ValueError(f"{path} has weights of {kinds}, not of {kind}; {remedy}")
    return metadata[kind], arrays


def digests(contents: Mapping[str, bytes]) -> str:
    """Text of a file DIGESTS. contents: name of a file beside it -> its bytes."""
    lines = (f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(contents.items()))
    return "".join(lines)


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
