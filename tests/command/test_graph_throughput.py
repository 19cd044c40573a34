"""`graph --for throughput` and `--write` as a user types them: printed text, written files, and bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.command.test_graph import RESNET, refused, run

MODULES = """
import torch

class Network(torch.nn.Sequential):
    def __init__(self, depth=8, width=1024):
        super().__init__(*(torch.nn.Linear(width, width) for _ in range(depth)))
"""
THROUGHPUT = ("--for", "throughput")


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "of_pipelines.py").write_text(MODULES)
    return "of_pipelines:Network", "--input", "512,1024", "--link", "nvlink"


def rows(output: str, first: str) -> dict[str, list[str]]:
    """The lines of the table whose head begins with a word, by their first column."""
    lines = output.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith(first))
    table = [re.split(r" {2,}", line) for line in lines[begin:]]
    return {row[0]: row[1:] for row in table[: next((k for k, row in enumerate(table) if len(row) < 3), len(table))]}


def test_a_pipeline_of_a_training_step(network: tuple[str, ...], tmp_path: Path) -> None:
    files = ("--gantt", "g.png", "--trace", "t.json", "--split", "s.json")
    words = ("--training", "--loss", "sum", "--devices", "4", "--memory", "0.06", "--optimizer", "adam", *files)
    result = run(*network, *words, *THROUGHPUT)
    assert result.exit_code == 0, result.output
    assert (
        "8 micro-batches, each of the model's own batch; a step runs all of them forward and backward" in result.stdout
    )
    schedules, stages = rows(result.stdout, "schedule"), rows(result.stdout, "stage ")
    assert [*schedules] == ["schedule", "one device", "copies", "gpipe", "1f1b", "interleaved", "lower bound"]
    assert schedules["copies"][2:4] == ["-", "-"] and schedules["copies"][-1] == "a device has 0.06 GB"
    [chosen] = (name for name, row in schedules.items() if "<- chosen" in row[-1])
    assert float(schedules[chosen][4]) > 2, "speedup"
    assert [*stages] == ["stage", *map(str, range(len(stages) - 1))] and len(stages) == int(schedules[chosen][0]) + 1
    assert all(re.search(r"\d x [\d.]+ MB", " ".join(row)) for name, row in stages.items() if name != "stage")
    assert "stage 0 has 0 (addmm) to " in result.stdout
    passes = [event for event in json.loads((tmp_path / "t.json").read_text())["traceEvents"] if event["ph"] == "X"]
    named = {event["name"] for event in passes if event["cat"] != "transfer"}
    assert {"F0.0", "B0.0", f"F{len(stages) - 2}.7"} <= named
    assert (tmp_path / "g.png").read_bytes().startswith(b"\x89PNG")
    parts = json.loads((tmp_path / "s.json").read_text())["fpgas"]
    assert sum(len(part["nodes"]) for part in parts) == int(re.search(r"(\d+) operations", result.stdout)[1])


def test_requests_have_copies_where_memory_allows(network: tuple[str, ...]) -> None:
    result = run(*network, "--devices", "3", "--micro-batches", "6", *THROUGHPUT)
    schedules = rows(result.stdout, "schedule")
    assert [*schedules][1:-1] == ["one device", "copies", "pipeline", "interleaved"]
    assert "<- chosen" in schedules["copies"] and schedules["copies"][4] == "3.000"
    assert "backward" not in result.stdout and "0 to 2" in result.stdout
    assert run(*network, "--devices", "3", "--micro-batches", "6", *THROUGHPUT).stdout == result.stdout
    few = run(*network, "--devices", "3", "--micro-batches", "2", *THROUGHPUT).stdout
    assert "idle devices: 1; --devices 2 has room for the same pipeline" in few


def test_files_of_others_have_pipelines_too(tmp_path: Path) -> None:
    workload = run(RESNET, "--devices", "4", *THROUGHPUT)
    assert workload.exit_code == 0 and "<- chosen" in workload.stdout, workload.output
    model = Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx"
    for words in (THROUGHPUT, ("--moves", "50")):
        result = run(
            model,
            "--devices",
            "cpu,t4:2" if words[0] != "--for" else "2",
            *words,
            "--write",
            f"affinities={tmp_path}/a",
        )
        assert result.exit_code == 0, result.output
        places = json.loads((tmp_path / "a").read_text())
        assert len(places) == 65 and places.keys() >= {"n0", "n1"}
        assert set(places.values()) <= {"CPU", "GPU.0", "GPU.1"}


@pytest.mark.slow
def test_the_lines_of_the_docs_give_openvino_every_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is one device here: what is compiled has all operations on the processor."""
    pytest.importorskip("openvino", reason="openvino is not installed: pip install openvino")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)  # of torch's kernels; OpenVINO's need more
    networks = Path(onnx.__file__).parent / "backend/test/data/light"
    (tmp_path / "model.onnx").write_bytes((networks / "light_squeezenet.onnx").read_bytes())
    result = run("model.onnx", "--devices", "cpu,t4:2", "--moves", "50", "--write", "affinities=affinities.json")
    assert result.exit_code == 0, result.output
    drawn = dict.fromkeys(json.loads(Path("affinities.json").read_text()), "GPU.0")
    drawn |= dict.fromkeys(list(drawn)[::2], "CPU")
    Path("affinities.json").write_text(json.dumps(drawn))
    page = (Path(__file__).parents[2] / "docs/own_model.md").read_text()
    [code] = re.findall(r"```python\n(import json\nimport openvino\n.*?)compiled = ", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102
    places, model, core = names["places"], names["model"], names["core"]
    ordered = [each.get_friendly_name() for each in names["operations"]]
    assert set(places.values()) == {"CPU", "GPU.0"} and places.keys() >= {*ordered}
    in_both = drawn.keys() & {*ordered}
    assert len(in_both) >= len(drawn) - 2 and all(places[name] == drawn[name] for name in in_both)
    assert places["n3/WithoutBiases"] == drawn["n3"] != places["n0/WithoutBiases"] == drawn["n0"]
    batch = np.random.default_rng(0).random((1, 3, 224, 224), np.float32)
    expected = core.compile_model("model.onnx", "CPU")(batch)[0]
    for operation in names["operations"]:
        operation.get_rt_info()["affinity"] = "CPU"
    assert np.array_equal(core.compile_model(model, "HETERO:CPU")(batch)[0], expected)


def test_a_device_map_says_what_whole_modules_cost(network: tuple[str, ...]) -> None:
    tight = (*network, "--devices", "2", "--memory", "0.03", "--write", "device_map=m.json")
    for words in (("--moves", "50"), THROUGHPUT):
        result = run(*tight, *words)
        assert result.exit_code == 0, result.output
        entries = json.loads(Path("m.json").read_text())
        assert sorted(entries) == list("01234567") and set(entries.values()) == {0, 1}
        assert re.search(r"device_map: m.json; .*, [\d.]+ ms, [\d.]+% above the chosen plan", result.stdout)
    mixed = run(*network, "--devices", "cpu,h100", "--moves", "9", "--write", "device_map=m.json")
    assert mixed.exit_code == 0 and json.loads(Path("m.json").read_text()) == {"": 0}, "of the devices without the cpu"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--micro-batches", "4"), "--micro-batches 4: --for latency has no such option; add --for throughput"),
        ((*THROUGHPUT, "--by", "go"), "--by go: --for throughput has no such option; leave it out"),
        ((*THROUGHPUT, "--devices", "h100,t4"), "devices or links differ, but stages are planned on equal ones"),
        ((*THROUGHPUT, "--devices", "h100:3", "--link", "nvlink:h100.0-h100.1"), "devices or links differ"),
        ((*THROUGHPUT, "--training", "--optimizer", "fused"), "choose sgd, or --micro-batches 1"),
        ((*THROUGHPUT, "--memory", "0.001"), "no pipeline was found that fits the memory: the least needs 0.0"),
        (("--write", "split_spec=x.json"), "only a pipeline has stages; add --for throughput"),
        (("--write", "affinities=x.json"), "OpenVINO reads ONNX files; name one, or write device_map=x.json"),
        (("--write", "map.json"), "--write map.json: write a form and a file, each form once: device_map=FILE, split"),
        (("--write", "device_map=x.json", "--split", "x.json"), "x.json: another file has this name"),
    ],
)
def test_bad_options(words: tuple[str, ...], message: str, network: tuple[str, ...]) -> None:
    link = network[3:] if "--link" not in words else ()
    assert message in refused(*network[:3], *link, *words)
    assert [path.name for path in Path().iterdir() if path.suffix] == ["of_pipelines.py"]


def test_forms_of_modules_alone() -> None:
    assert "a file has no modules; name module:Class, or write affinities=m" in refused(
        RESNET, "--write", "device_map=m"
    )
