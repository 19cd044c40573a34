"""The verb `graph` as a user types it: printed text, written files, and bad input."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner, Result

from learned_schedulers.command import planned
from learned_schedulers.command.main import app
from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.plans.model_files import read_graph
from learned_schedulers.graphs.plans.sources import on_devices
from learned_schedulers.graphs.read.workloads import read_split, read_workload
from tests.graphs.read.test_workloads import FILES, content, edge, node

RESNET = FILES / "resnet50_inference.json"


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["graph", *map(str, words)])


def refused(*words: str | Path, code: int = 1) -> str:
    """The message about bad input: one line, no traceback."""
    result = run(*words)
    assert result.exit_code == code and isinstance(result.exception, SystemExit), result.output
    lines = result.stderr.splitlines()
    assert lines[-1].lower().startswith("error: ") and "Traceback" not in result.stderr
    return lines[-1]


def written(folder: Path, nodes: list, edges: list, **changes: object) -> Path:
    (folder / "mine.json").write_text(json.dumps(content(nodes, edges, **{"maxSizePerFPGA": 1e9, **changes})))
    return folder / "mine.json"


def test_operators_without_a_formula_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [
        "import torch",
        "class Exponential(torch.nn.Module):",
        "    def forward(self, x):",
        "        return torch.linalg.matrix_exp(x).relu()",
    ]
    (tmp_path / "exponentials.py").write_text("\n".join(lines))
    result = run("exponentials:Exponential", "--input", "8,8", "--moves", "0")
    assert result.exit_code == 0, result.output
    assert "operators without a formula for their cost: linalg_matrix_exp (1);" in result.stdout.splitlines()[0]
    assert "priced without a formula: linalg_matrix_exp 64 FLOPs in all; --costs FILE" in result.stdout
    assert "without a formula" not in run(RESNET, "--moves", "0").stdout


MODULES = """
import torch

@torch.library.custom_op("of_graph::product", mutates_args=())
def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x @ y

@product.register_fake
def _(x, y):
    return x.new_empty(x.shape[0], y.shape[1])

class Network(torch.nn.Module):
    def __init__(self, width=8, kind="float32"):
        super().__init__()
        self.layer = torch.nn.Linear(width, width, dtype=getattr(torch, kind))
    def forward(self, x):
        return self.layer(x)

class Own(Network):
    def forward(self, x):
        return product(x, self.layer.weight)

class Attention(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.scaled_dot_product_attention(x, x, x)
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "of_graph.py").write_text(MODULES)
    return tmp_path


def seconds(result: Result) -> float:
    assert result.exit_code == 0, result.output
    (line,) = (line for line in result.stdout.splitlines() if line.startswith("one_device"))
    return 1e-3 * float(line.split()[1].replace(",", ""))


@pytest.mark.parametrize(
    ("kind", "words", "rate"),
    [
        ("bfloat16", ("--device", "a100"), "bfloat16 312"),
        ("float16", ("--device", "v100"), "float16 125"),
        ("float32", ("--device", "a100", "--tf32"), "tf32 156"),
        ("float32", ("--device", "a100"), "float32 19.5"),
        ("bfloat16", ("--device", "t4"), "bfloat16, which its data sheet does not list, 8.1"),
    ],
)
def test_the_type_of_numbers_has_its_rate(kind: str, words: tuple[str, ...], rate: str, modules: Path) -> None:
    named = f"of_graph:Network(width=4096, kind='{kind}')"
    result = run(named, "--input", f"{kind}:4096,4096", "--devices", "1", "--moves", "0", *words)
    assert seconds(result) == pytest.approx(5e-6 + 2 * 4096**3 / (1e12 * float(rate.split()[-1])), rel=1e-3)
    assert f"{rate} TFLOP/s" in result.stdout


def test_costs_of_your_own(modules: Path) -> None:
    words = ("of_graph:Own(1024)", "--input", "1024,1024", "--devices", "1", "--moves", "0")
    without = run(*words)
    assert "of_graph::product (1)" in without.stdout and "of_graph::product 1,048,576 FLOPs" in without.stdout
    (modules / "costs.json").write_text('{"of_graph::product": {"flops": "2 * in0 * in1[1]"}}')
    priced = run(*words, "--costs", "costs.json")
    assert seconds(priced) == pytest.approx(5e-6 + 2 * 1024**3 / 15.7e12, rel=1e-3)
    assert seconds(priced) > 2 * seconds(without)
    assert "without a formula" not in priced.stdout
    (modules / "costs.json").write_text('{"of_graph::product": {"flops": "x"}}')
    assert "costs.json: of_graph::product: flops: the name x is unknown" in refused(*words, "--costs", "costs.json")


@pytest.mark.parametrize("length", [100, 260, 5000])
def test_a_constructor_may_be_longer_than_the_name_of_a_file(length: int, modules: Path) -> None:
    words = (f"of_graph:Own({' ' * length}1024)", "--input", "1024,1024", "--devices", "1", "--moves", "0")
    assert run(*words, "--split", "split.json").exit_code == 0 and (modules / "split.json").exists()


def test_attention_is_fused_unless_told_otherwise(modules: Path) -> None:
    words = ("of_graph:Attention", "--input", "1,4,512,64", "--devices", "1", "--moves", "0")
    fused, parts = run(*words), run(*words, "--attention", "parts")
    assert "1 operations" in fused.stdout and "5 operations" in parts.stdout
    assert seconds(fused) < seconds(parts)


def test_options_of_modules_alone(modules: Path) -> None:
    words = ("of_graph:Network", "--input", "8,8", "--moves", "0")
    assert "loss of the training step: cross-entropy of the last dimension of output output" in (
        run(*words, "--training").stdout
    )
    assert "--loss sum: only a training step has a loss and an optimizer; add --training" in refused(
        *words, "--loss", "sum"
    )
    assert "mine.onnx: --costs: for module:Class alone" in refused("mine.onnx", "--costs", "costs.json")
    assert "--tf32: the data sheet of the v100 has no tf32" in refused(*words, "--tf32")


def test_what_one_device_cannot_hold_is_refused_before_any_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned, "trials", lambda *_: pytest.fail("a search"))
    assert "needs 0.750378 GB for its inputs, result and weights" in refused(FILES / "bert_l-3_inference.json")


def test_a_workload_is_scheduled_and_written(tmp_path: Path) -> None:
    split, trace, gantt = tmp_path / "new/split.json", tmp_path / "trace.json", tmp_path / "gantt.png"
    words = ("--devices", "5", "--link", "nvlink", "--moves", "200", "--memory", "8")
    result = run(RESNET, *words, "--split", split, "--trace", trace, "--gantt", gantt)
    assert result.exit_code == 0, result.output
    source = read_graph(RESNET, {})
    problem = on_devices(source, 5, link="nvlink", memory=8)
    placement = read_split(split, read_workload(RESNET))
    assert placement.min() >= 0 and placement.max() < 5
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
    operations = [event for event in events if event["cat"] != "transfer"]
    order = np.array([event["args"]["operation"] for event in operations], np.int32)
    assert [event["tid"] for event in operations] == placement[order].tolist()
    milliseconds = 1e3 * makespans(problem, order[None], placement[None])[0]
    assert f"{milliseconds:,.4g} ms" in next(line for line in result.stdout.splitlines() if "<- chosen" in line)
    assert max(event["ts"] + event["dur"] for event in operations) == pytest.approx(1e3 * milliseconds)
    assert gantt.read_bytes().startswith(b"\x89PNG")
    assert f"{1e3 * problem.bound:,.4g} ms" in result.stdout and "177 operations, 193 edges" in result.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gantt.png", "new", "trace.json"]


@pytest.mark.slow
def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        assert run(RESNET, "--moves", "100", "--seed", "3", "--trace", tmp_path / name).exit_code == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


@pytest.mark.parametrize("count", [0, 1])
def test_none_and_one_operation(count: int, tmp_path: Path) -> None:
    path = written(tmp_path, [node(7 + i, size=1e6) for i in range(count)], [])
    out = {name: tmp_path / f"{name}.png" for name in ("split", "trace", "gantt")}
    result = run(path, *(word for name, file in out.items() for word in (f"--{name}", file)))
    assert result.exit_code == 0, result.output
    assert f"{count} operations, 0 edges" in result.stdout
    assert json.loads(out["split"].read_text())["fpgas"][0]["nodes"] == [7][:count]


def test_a_link_of_your_own_has_its_speed(tmp_path: Path) -> None:
    path = written(tmp_path, [node(i) for i in range(3)], [edge(0, 2), edge(1, 2)])
    named, typed = (run(path, "--moves", "5", "--link", link).stdout.splitlines() for link in ("nvlink", "100,10"))
    assert "link 100,10 (100 GB/s, 10 us)" in typed[0]
    assert typed[1:] == named[1:]
    assert "link 25,5 (25 GB/s, 5 us)" in run(path, "--moves", "5", "--link", "25,5").stdout


@pytest.mark.parametrize(("typed", "remedy"), [("mine.Net", "write mine:Net,"), ("mine.py", "write mine:Class,")])
def test_a_class_behind_a_dot_is_told_of_the_colon(typed: str, remedy: str) -> None:
    assert remedy in refused(typed, "--input", "int64:3,5")


@pytest.mark.slow
@pytest.mark.parametrize(("ending", "begin"), [(".svg", b"<?xml"), (".PDF", b"%PDF")])
def test_a_chart_has_the_form_of_its_ending(ending: str, begin: bytes, tmp_path: Path) -> None:
    path = written(tmp_path, [node(1), node(2)], [edge(1, 2)])
    charts = [tmp_path / f"{name}{ending}" for name in "ab"]
    for chart in charts:
        assert run(path, "--gantt", chart, "--moves", "5").exit_code == 0
    assert charts[0].read_bytes().startswith(begin) and charts[0].read_bytes() == charts[1].read_bytes()
    assert "one of .png, .svg, .pdf" in refused(path, "--gantt", tmp_path / "chart.jpeg")


def test_it_says_which_operations_a_device_has_and_which_devices_are_idle(tmp_path: Path) -> None:
    path = written(tmp_path, [node(i) for i in range(3)], [edge(0, 1), edge(1, 2)])
    lines = run(path, "--devices", "3", "--moves", "5").stdout.splitlines()
    assert "device 0 has 0 to 2" in lines
    assert any(line.startswith("devices 1, 2 are idle: --devices 1 ") for line in lines)


def test_a_speedup_over_one_device_that_is_too_small_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, [node(1, size=6e8), node(2, size=6e8)], [edge(1, 2)])
    [line] = (line for line in run(path, "--moves", "5").stdout.splitlines() if line.startswith("one_device"))
    assert "it needs 1.2 GB, but a device has 1 GB; speedups are over" in line


BAD = {
    "cyclic": ([node(1), node(2)], [edge(1, 2), edge(2, 1)], {}, r"operation 1 needs its own result: .*remove one of"),
    "negative": ([node(4, fpgaLatency=-3)], [], {}, r"\(id 4\): .*greater than or equal to 0; correct it"),
    "NaN": ([node(4, cpuLatency=float("nan"))], [], {}, r"\(id 4\): .*finite number; correct it"),
    "no such node": ([node(4)], [edge(4, 5)], {}, r"edge 4 -> 5: there is no node 5; correct the edge"),
    "too large": ([node(4, size=2e9)], [], {}, r"operation 4 needs 2 GB for .*a device has 1 GB; give more --memory"),
    "too many": (
        [node(i, size=6e8) for i in range(9)],
        [],
        {},
        r"its weights and inputs are 5.4 GB.* more --devices",
    ),
    "for CPUs": ([node(4, supportedOnFpga=False)], [], {}, r"node 4 only runs on CPUs"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_workloads_name_file_and_node_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    nodes, edges, changes, pattern = BAD[name]
    path = written(tmp_path, nodes, edges, **changes)
    message = refused(path, "--split", tmp_path / "split.json", "--gantt", tmp_path / "gantt.png", "--moves", "5")
    assert str(path) in message and re.search(pattern, message), message
    assert [path.name for path in tmp_path.iterdir()] == ["mine.json"]


def test_bad_files(tmp_path: Path) -> None:
    (tmp_path / "cut.json").write_bytes(RESNET.read_bytes()[:999])
    assert "cut.json: this is not complete JSON" in refused(tmp_path / "cut.json")
    (tmp_path / "model.pt").write_bytes(b"PK")
    assert "model.pt: this is not a model that can be read" in refused(tmp_path / "model.pt")
    assert "nothing.json: cannot be read: No such file" in refused(tmp_path / "nothing.json")
    os.mkfifo(tmp_path / "pipe.json")
    assert "pipe.json: cannot be read: this is a folder, a pipe or a device" in refused(tmp_path / "pipe.json")


def test_devices_of_several_kinds(modules: Path) -> None:
    words = ("of_graph:Network(width=4096)", "--input", "512,4096", "--moves", "0", "--trace", "trace.json")
    result = run(
        *words, "--devices", "t4,h100:2", "--link", "nvlink:h100-h100", "--link", "25,5", "--split", "split.json"
    )
    head = result.stdout.splitlines()[0]
    assert "1 device of 16 GB, t4 (float32 8.1 TFLOP/s, 320 GB/s); 2 devices of 80 GB, h100 (float32 67 TFLOP/s" in head
    assert head.endswith("link 25,5 (25 GB/s, 5 us), 100 GB/s, 10 us between h100-h100")
    assert seconds(result) == pytest.approx(5e-6 + 2 * 512 * 4096**2 / 67e12, rel=1e-3), "the fastest device"
    assert "device h100.0 has layer (addmm)" in result.stdout
    assert "devices t4.0, h100.1 are idle: --devices h100 has room for the same schedule" in result.stdout
    parts = json.loads((modules / "split.json").read_text())["fpgas"]
    assert [(part["device"], len(part["nodes"])) for part in parts] == [("t4.0", 0), ("h100.0", 1), ("h100.1", 0)]
    assert '"device h100.1"' in (modules / "trace.json").read_text()
    tight = run(*words, "--devices", "h100,cpu", "--memory", "0.05")
    assert "the largest device has 0.05 GB" in tight.stderr
    assert "GO knows equal ones alone: leave out --by go" in refused(*words, "--devices", "h100,cpu", "--by", "go")
    both = refused(*words, "--devices", "h100,cpu", "--device", "t4")
    assert "--device t4: --devices h100,cpu says which kinds they are; leave out --device" in both
    assert "--tf32: the data sheet of the t4 has no tf32" in refused(*words, "--devices", "t4,cpu", "--tf32")


def test_profiled_times_are_of_one_kind_of_device() -> None:
    assert "run times are profiled, on devices of one kind; list one kind, not h100 and t4" in (
        refused(RESNET, "--devices", "h100,t4")
    )
    result = run(RESNET, "--devices", "h100:3", "--link", "nvlink:h100.0-h100.1", "--moves", "10")
    assert result.exit_code == 0 and "h100.2" in result.stdout, result.output


def test_bad_options(tmp_path: Path) -> None:
    assert "'t4', 'v100', 'a100'" in refused(RESNET, "--device", "h9000", code=2)
    for link in ("string", "25", "25,5,1", "0,5", "nan,5", "inf,5", "25,-1"):
        assert "'pcie', 'nvlink'" in refused(RESNET, "--link", link, code=2)
    for devices in ("0", "4097", "h100:0", "h9000"):
        assert f"--devices {devices}" in refused(RESNET, "--devices", devices, code=2)
    assert "is for the same devices" in refused(RESNET, "--link", "pcie", "--link", "25,5", code=2)
    assert "there is no device 'h100.0'; there are v100.0, v100.1" in refused(RESNET, "--link", "pcie:h100.0-v100.1")
    assert "--size batch: write the dimension's name" in refused(RESNET, "--size", "batch")
    assert "--training: for module:Class alone" in refused(RESNET, "--training")
    assert "write NAME=1,3,48,320" in refused(RESNET, "--input", "3,4")
    assert "--size and --input are for ONNX files" in refused(RESNET, "--input", "x=3,4")
    assert "no_such_module" in refused("no_such_module:Class", "--input", "3,4")
    assert "another file has this name" in refused(RESNET, "--trace", RESNET)
    assert "another file has this name" in refused(
        RESNET, "--trace", tmp_path / "same", "--split", tmp_path / "." / "same"
    )
    assert "this is a folder" in refused(RESNET, "--trace", tmp_path)
    assert not list(tmp_path.iterdir())


def test_onnx_names_and_open_sizes(tmp_path: Path) -> None:
    folder = Path(onnx.__file__).parent / "backend/test/data/light"
    result = run(folder / "light_squeezenet.onnx", "--moves", "100", "--split", tmp_path / "split.json")
    assert result.exit_code == 0, result.output
    parts = json.loads((tmp_path / "split.json").read_text())["fpgas"]
    assert len(parts) == 4 and sum(len(part["nodes"]) for part in parts) == 65
    assert {name for part in parts for name in part["names"]} >= {"n0 (Conv)", "n1 (Relu)"}
    model = onnx.load(folder / "light_squeezenet.onnx")
    image = next(value for value in model.graph.input if len(value.type.tensor_type.shape.dim) == 4)
    image.type.tensor_type.shape.dim[0].dim_param = "batch"
    onnx.save(model, tmp_path / "open.onnx")
    assert "leaves dimension 'batch' open; give its size: --size batch=8" in refused(tmp_path / "open.onnx")


def test_help_teaches_by_examples() -> None:
    help_text = run("--help").stdout
    assert help_text.count("learned-schedulers graph ") >= 4 and "pip install 'learned-schedulers[models]'" in help_text
    assert "RUN" in help_text  # module:Class is code


def test_what_is_slow_to_import_is_not_imported() -> None:
    code = (
        "import sys; from learned_schedulers.command.main import app; app(standalone_mode=False);"
        "print(sorted({'pandas', 'matplotlib', 'ortools', 'onnx', 'torch._dynamo'} & set(sys.modules)))"
    )
    words = [sys.executable, "-c", code, "graph", RESNET, "--moves", "10"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[-1] == "[]"


def test_a_torchvision_that_does_not_fit_torch_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "unfit_vision.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')\n")
    monkeypatch.chdir(tmp_path)
    message = refused("unfit_vision:Network", "--input", "3,4")
    assert "torchvision::nms does not exist" in message and "install both from one place" in message
