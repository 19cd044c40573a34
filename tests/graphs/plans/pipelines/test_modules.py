"""Plans in the forms of other tools, which load them and run them."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from typer.testing import CliRunner

from learned_schedulers.command.main import app
from learned_schedulers.graphs.plans.module_export import read_module
from learned_schedulers.graphs.plans.pipelines.modules import device_map, first_operations, whole_modules
from learned_schedulers.graphs.plans.sources import Source

NETWORK = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.wide, self.narrow, self.norm = nn.Linear(width, 64), nn.Linear(64, width), nn.LayerNorm(width)

    def forward(self, x):
        return x + self.narrow(torch.relu(self.wide(self.norm(x))))

class Encoder(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.places = nn.Parameter(torch.ones(width))
        self.layers = nn.Sequential(*(Block(width) for _ in range(depth)))

    def forward(self, x):
        return self.layers(x + self.places)

class Network(nn.Module):
    def __init__(self, width=4096, depth=4):
        super().__init__()
        self.first, self.encoder, self.unused = nn.Linear(width, 16), Encoder(16, depth), nn.Linear(2, 2)
        self.last = nn.Linear(16, 3)

    def forward(self, x):
        first = self.first(x)
        return self.last(self.encoder(first) * 2)
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    (tmp_path / "mine.py").write_text(NETWORK)
    return tmp_path


def source_of(mine: Path, training: bool = False) -> Source:
    names: dict[str, type[nn.Module]] = {}
    exec((mine / "mine.py").read_text(), names)  # noqa: S102
    return read_module(names["Network"](), (torch.empty(8, 4096),), training, "sum")


def written(form: str, *words: str) -> dict[str, int | str]:
    call = ["graph", "mine:Network(64, 8)", "--input", "2,64", *words, "--write", f"{form}=out.json"]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, result.output
    entries: dict[str, int | str] = json.loads(Path("out.json").read_text())
    return entries


@pytest.mark.parametrize("training", [False, True])
def test_a_residual_block_is_whole_and_an_encoder_is_not(training: bool, mine: Path) -> None:
    source = source_of(mine, training)
    classes, layers = whole_modules(source), np.array(source.graph.layers)
    blocks = [np.flatnonzero(np.char.startswith(layers, f"encoder.layers.{k}")) for k in range(4)]
    assert all(len(set(classes[block])) == 1 for block in blocks)
    assert len({classes[block[0]] for block in blocks}) == 4
    of_encoder = classes[layers == "encoder"][0]
    assert of_encoder == classes[layers == "first"][0], "what it adds to its input is where the input is"
    if source.passes is not None:
        assert (classes == classes[source.passes.classes]).all()


def test_entries_cover_every_weight_once(mine: Path) -> None:
    source = source_of(mine)
    classes = whole_modules(source)
    later = classes[np.array(source.graph.layers) == "encoder.layers.2.norm"][0]
    placement = (np.arange(len(classes)) >= np.flatnonzero(classes == later)[0]).astype(np.int64)
    entries = device_map(source, placement, [0, "cpu"])
    assert entries["encoder.places"] == entries["first"] == entries["encoder.layers.1"] == 0
    assert entries["encoder.layers.2"] == entries["last"] == "cpu" and "unused" in entries
    assert "encoder" not in entries and "" not in entries
    names: dict[str, type[nn.Module]] = {}
    exec(NETWORK, names)  # noqa: S102
    for weight in names["Network"]().state_dict():
        assert sum(weight == entry or weight.startswith(f"{entry}.") for entry in entries) == 1, weight
    assert device_map(source, placement * 0, [0]) == {"": 0}


class Calls(nn.Module):
    """One module that is called twice in a row, and one that is called at both ends."""

    def __init__(self) -> None:
        super().__init__()
        self.ends, self.twice, self.once = nn.Linear(4, 4), nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        x = self.twice(self.twice(self.ends(x)))
        return self.ends(self.once(x))


def test_a_stage_begins_where_a_module_is_called_once() -> None:
    source = read_module(Calls(), (torch.empty(2, 4),))
    assert list(first_operations(source).values()) == ["once", "once.1"]


@pytest.mark.slow
def test_the_lines_of_the_docs_run_two_stages_as_the_whole(mine: Path) -> None:
    page = (Path(__file__).parents[4] / "docs/own_model.md").read_text()
    [line] = re.findall(r"<!-- typed by tests/graphs/plans/pipelines/test_modules.py -->\n```sh\n(.*?)\n```", page)
    result = CliRunner().invoke(app, line.split()[1:])
    assert result.exit_code == 0, result.output
    [point] = json.loads((mine / "stages.json").read_text())
    assert re.search(r"split_spec: stages.json; pipeline, stages: 2, devices: 2, .* the chosen plan", result.stdout)
    assert point in ("encoder", "encoder.layers.0") or point.startswith("encoder.layers.")
    [code] = re.findall(r"```python\n(import json\n.*?)```", page, re.DOTALL)
    check = """
if rank == 1:
    with torch.no_grad():
        whole = torch.cat([network(part) for part in batch.chunk(8)])
    assert torch.equal(scores, whole) and scores.shape == (2048, 3), (scores - whole).abs().max()
    assert len(list(stages.get_stage_module(0).parameters())) > 0
    print("equal")
"""
    (mine / "pipe.py").write_text(code + check)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    ranks = []
    for rank in range(2):
        place = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        environment = {**os.environ, **place, "OMP_NUM_THREADS": "1"}
        words = [sys.executable, "pipe.py"]
        pipe = subprocess.PIPE
        ranks.append(subprocess.Popen(words, env=environment, stdout=pipe, stderr=subprocess.STDOUT, text=True))
    outputs = [process.communicate(timeout=300)[0] for process in ranks]
    assert [process.returncode for process in ranks] == [0, 0], "\n".join(outputs)
    assert outputs[1].endswith("equal\n")


@pytest.mark.slow
@pytest.mark.parametrize("words", [("--moves", "50"), ("--for", "throughput")])
def test_accelerate_loads_a_device_map_and_runs_it(words: tuple[str, ...], mine: Path) -> None:
    """On this machine device 0 is the processor, and other devices are its disk."""
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed: pip install accelerate")
    entries = written("device_map", *words, "--devices", "2", "--memory", "0.00007")
    assert set(entries.values()) == {0, 1}
    names: dict[str, type[nn.Module]] = {}
    exec(NETWORK, names)  # noqa: S102
    network, batch = names["Network"](64, 8).eval(), torch.rand(4, 64)
    with torch.no_grad():
        expected = network(batch)
        places = {name: "cpu" if device == 0 else "disk" for name, device in entries.items()}
        accelerate.utils.check_device_map(network, places)
        placed = accelerate.dispatch_model(network, places, main_device="cpu", offload_dir=str(mine / "disk"))
        assert torch.equal(placed(batch), expected)
