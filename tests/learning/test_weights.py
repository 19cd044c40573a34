"""A file of weights gives the same network back; a file that is missing, damaged, another's or older is named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from safetensors import safe_open
from torch import nn

from learned_schedulers.blocks.models.inputs import Vocabulary
from learned_schedulers.blocks.models.ordering_network import OrderingNetwork
from learned_schedulers.blocks.models.pocsnet import POCSNet
from learned_schedulers.graphs.models import policy
from learned_schedulers.graphs.models.fusing import fusing_network
from learned_schedulers.graphs.models.whole_graph import network as whole_graph
from learned_schedulers.graphs.models.whole_graph import published
from learned_schedulers.graphs.models.whole_graph.settings import Published
from learned_schedulers.graphs.models.whole_graph.settings import WholeGraph as Settings
from learned_schedulers.learning import weights
from tests.blocks.models import imitated, made
from tests.graphs.models import small_policies

ROOT = Path(__file__).parents[2]


class File(NamedTuple):
    """How a kind of network is made, written and read."""

    make: Callable[[], Any]
    save: Callable[[Any, Path], None]
    load: Callable[[Path], Any]
    kind: str


def ordering(**encoder: object) -> OrderingNetwork:
    settings = imitated.settings()
    changed = settings.encoder.model_copy(update=encoder)
    return OrderingNetwork(Vocabulary(["mov", "add"]), settings.model_copy(update={"encoder": changed}))


SMALL = Settings(width=16, heads=2, segment=8, samples=10)
ORDERING = (OrderingNetwork.save, OrderingNetwork.load, "imitator")
POLICY = (policy.save, policy.load, "policy")
FILES = {
    "pocsnet": File(lambda: POCSNet(5, 20, made.SETTINGS), POCSNet.save, POCSNet.load, "pocsnet"),
    "ordering": File(ordering, *ORDERING),
    "following": File(lambda: ordering(following=True), *ORDERING),
    "policy": File(lambda: small_policies.policy(sequence="by_start"), *POLICY),
    "whole_graph": File(lambda: whole_graph.WholeGraph(SMALL), whole_graph.save, whole_graph.load, "whole_graph"),
    "published": File(
        lambda: published.initial(Published(width=16, heads=2), ["conv"], 3, 0),
        published.save,
        published.load,
        "published_go",
    ),
    "fusing": File(lambda: fusing_network.Fusing(SMALL), fusing_network.save, fusing_network.load, "fusing"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_network_comes_back_with_its_settings(name: str, tmp_path: Path) -> None:
    of, path, again = FILES[name], tmp_path / "weights.safetensors", tmp_path / "again.safetensors"
    network: nn.Module = of.make()
    of.save(network, path)
    loaded = of.load(path)
    assert type(loaded) is type(network) and loaded.settings == network.settings and not loaded.training
    for key, weight in network.state_dict().items():
        stored = weight.half().float() if of.kind == "imitator" else weight
        assert torch.equal(loaded.state_dict()[key], stored), key
    of.save(loaded, again)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", ["pocsnet", "ordering", "policy", "whole_graph", "published", "fusing"])
def test_what_is_no_such_file_is_named(name: str, tmp_path: Path) -> None:
    of, path = FILES[name], tmp_path / "weights.safetensors"
    with pytest.raises(ValueError, match=re.escape(f"{path} is not a file of weights") + ".*train it again"):
        of.load(path)
    of.save(of.make(), path)
    content = path.read_bytes()
    for damaged in (b"nothing", content[:-10], content[:40]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=re.escape(f"{path} is not a file of weights")):
            of.load(path)
    weights.write(path, "another", "{}", {"weight": np.zeros(1)})
    with pytest.raises(ValueError, match=re.escape(f"{path} has weights of another, not of {of.kind}")):
        of.load(path)


@pytest.mark.parametrize("name", ["pocsnet", "ordering", "policy", "whole_graph", "published", "fusing"])
def test_a_file_of_another_version_is_named(name: str, tmp_path: Path) -> None:
    of, path = FILES[name], tmp_path / "weights.safetensors"
    of.save(of.make(), path)
    with safe_open(path, "numpy") as file:
        described = json.loads(file.metadata()[of.kind])
    _, arrays = weights.read(path, of.kind)
    nested = described.get("settings", described)  # of a POCSNet and of an imitator
    nested["unheard_of"] = 16
    weights.write(path, of.kind, json.dumps(described), arrays)
    with pytest.raises(ValueError, match=re.escape(f"{path} was trained by another version") + "[^~]*unheard_of"):
        of.load(path)
    del nested["unheard_of"]
    first, *rest = sorted(arrays)
    weights.write(path, of.kind, json.dumps(described), {key: arrays[key] for key in rest})
    with pytest.raises(ValueError, match=re.escape(f"{path} was trained by another version") + f"[^~]*{first}"):
        of.load(path)


SHIPPED = sorted((ROOT / "learned_schedulers").rglob("*.safetensors"))


def test_every_shipped_file_has_its_digest() -> None:
    of_folder = {folder: sorted(folder.glob("*.safetensors")) for folder in {path.parent for path in SHIPPED}}
    assert len(SHIPPED) >= 6 and len(of_folder) >= 5
    for folder, paths in of_folder.items():
        expected = weights.digests({path.name: path.read_bytes() for path in paths})
        assert (folder / weights.DIGESTS).read_text() == expected, folder


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_file_with_a_changed_byte_is_refused(path: Path, tmp_path: Path) -> None:
    """Whichever byte it is: also one of a weight, which would be read as another number."""
    copy, listed, content = tmp_path / path.name, tmp_path / weights.DIGESTS, path.read_bytes()
    with safe_open(path, "numpy") as file:
        (kind,) = file.metadata()
    copy.write_bytes(content)
    listed.write_text(path.with_name(weights.DIGESTS).read_text())
    weights.read(copy, kind)
    refused = re.escape(f"{copy} is not the file that was shipped") + ".*sha256; install this package anew"
    for place in (0, len(content) // 2, len(content) - 1):
        copy.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(ValueError, match=refused):
            weights.read(copy, kind)
    listed.unlink()
    weights.read(copy, kind)  # weights of a user's own have no digests
    copy.unlink()
    listed.write_text("")
    with pytest.raises(ValueError, match=r"is not a file of weights.*install this package anew"):
        weights.read(copy, kind)
