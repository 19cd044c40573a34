"""Cases of computation graphs: files of all forms and torch modules, sound and damaged, placed, split, fused."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.mutated_instances import drawn, mutations
from benchmarks.soak import judges
from benchmarks.soak.calling import Difference, Discarded, Tools, refusal
from benchmarks.soak.code_cases import same
from benchmarks.soak.networks import drawn_network
from benchmarks.split_modules.__main__ import CASES
from benchmarks.split_modules.comparing import DIFFERENT, REFUSED, compared
from learned_schedulers.graphs.plans.placed_module import PlacedModule
from learned_schedulers.graphs.plans.sources import Source, on_devices, read_file
from learned_schedulers.graphs.read import synthetic
from pipeline.lab.trial import damaged_models

_DAMAGED = 0.5  # share of the files
_GO_MOST = 60  # operations of a graph for GO, which takes seconds


@cache
def models() -> list[bytes]:
    """ONNX files of the package `onnx`, and one with weights."""
    return damaged_models.whole_models()


def graph_files(rng: np.random.Generator, folder: Path, tools: Tools) -> None:
    """A task graph, a workload or an ONNX file, half of them damaged: refused, or its schedule is legal."""
    if rng.random() < 0.25:
        path = folder / "model.onnx"
        content = models()[int(rng.integers(len(models())))]
        if rng.random() < 0.8:
            content = _damaged(models(), rng)
        path.write_bytes(content)
    else:
        path = _task_graph(rng, folder)
        if rng.random() < _DAMAGED:
            path.write_bytes(mutations.mutated(path.read_bytes(), rng))
    scheduled(rng, folder, tools, path, [path], lambda: read_file(path, {}))


def _damaged(files: list[bytes], rng: np.random.Generator) -> bytes:
    """A damaged copy of one of some ONNX files."""
    _, (suffix, _, content) = damaged_models.inputs(int(rng.integers(1 << 31)), 2, files)
    assert suffix == ".onnx"
    return content


def _task_graph(rng: np.random.Generator, folder: Path) -> Path:
    """A sound file of one of the forms."""
    if rng.random() < 0.2:
        origin = rng.choice(sorted(map(str, drawn.WORKLOADS.glob("*.json"))))
        path = folder / "workload.json"
        path.write_bytes(Path(origin).read_bytes())
        return path
    size = int(rng.choice([2, 5, 12, 30, 100]))
    graph = synthetic.draw(str(rng.choice(list(synthetic.FAMILIES))), size, rng)
    texts = dict(drawn.texts(graph))
    name = str(rng.choice(list(texts)))
    (folder / name).write_text(texts[name])
    return folder / name


def scheduled(
    rng: np.random.Generator, folder: Path, tools: Tools, path: Path, model: list[Any], read: Callable[[], Source]
) -> list[int]:
    """`graph` schedules a model: the trace is judged, the split beside it, and the trace again has the same bytes.

    Returns the device of each operation.
    """
    devices, link = int(rng.integers(1, 7)), str(rng.choice(["pcie", "nvlink"]))
    by = str(rng.choice(["classical", "classical", "classical", "gflownet", "go"]))
    memory = ["--memory", float(rng.choice([1e-6, 1e-3, 0.1]))] if rng.random() < 0.15 else []
    words = [*model, "--devices", devices, "--link", link, "--seed", int(rng.integers(1000)), *memory, "--moves", 100]
    source = None
    if by == "go":  # only of small graphs
        source = _read(read)
        by = by if source is not None and len(source.graph) <= _GO_MOST else "classical"
    words += ["--by", by]
    trace, split = folder / "trace.json", folder / "split.json"
    tools.answered(path, "graph", *words, "--split", split, output=split)
    tools.answered(path, "graph", *words, "--trace", trace, output=trace)
    source = source or read()
    problem = on_devices(source, devices, "v100", link, memory[1] if memory else None)
    placed, makespan = judges.check_trace(trace, problem)
    judges.check_split(split, source, placed)
    if makespan < problem.bound * (1 - 1e-9) - 1e-8:
        raise Difference(f"the makespan {makespan} is below the bound {problem.bound}")
    if rng.random() < 0.3:
        again = folder / "again.json"
        tools.answered(
            path, "graph", *words, "--trace", again, output=again, real=True, threads=int(rng.integers(1, 3))
        )
        same(trace, again)
    return placed


def _read(read: Callable[[], Source]) -> Source | None:
    try:
        return read()
    except ValueError:
        return None


def graph_module(rng: np.random.Generator, folder: Path, tools: Tools) -> None:
    """A drawn torch module is scheduled; in half of the cases, its split computes what the module computes."""
    from learned_schedulers.graphs.plans.module_export import export_module

    shape = drawn_network(rng, folder / "drawn.py")
    text = ",".join(map(str, shape))
    is_training = rng.random() < 0.3
    words = ["drawn:Network", "--input", text, *(["--training"] if is_training else [])]
    sys.path.insert(0, str(folder))
    module = folder / "drawn:Network"
    placed = scheduled(rng, folder, tools, module, words, lambda: export_module("drawn:Network", [text], is_training))
    if is_training:
        return
    torch.manual_seed(int(rng.integers(1000)))
    network = importlib.import_module("drawn").Network().eval()
    example, other = torch.randn(shape), torch.randn(shape)
    expected = network(other)
    devices = ["cpu"] * (1 + max(placed, default=0))
    count = len((folder / "split.json").read_text().split('"nodes"')) - 2  # its list of CPUs is empty
    placed_network = PlacedModule.of_split(
        network, (example,), folder / "split.json", [*devices, *["cpu"] * count][:count]
    )
    if not torch.allclose(placed_network(other), expected, rtol=1e-4, atol=1e-5):
        raise Difference("the split computes something else than the module")


def split_modules(rng: np.random.Generator, folder: Path, tools: Tools) -> None:
    """A module of the benchmark `split_modules` by a random split: all tensors are equal, or it has to be refused."""
    case = CASES[int(rng.integers(len(CASES)))]
    verdict = compared(case, int(rng.integers(1000, 1 << 31)), 2 + int(rng.integers(3)))
    expected = re.search(case.refusal, verdict.detail) if case.refusal else verdict.name != REFUSED
    if verdict.name == DIFFERENT or not expected:
        raise Difference(f"{case.name}: {verdict.name}: {verdict.detail}")


def fuse(rng: np.random.Generator, folder: Path, tools: Tools) -> None:
    """A drawn network as an ONNX file: the plan of kernels can run, and costs no more than the operations apart."""
    shape = drawn_network(rng, folder / "drawn.py")
    sys.path.insert(0, str(folder))
    path, plan = folder / "drawn.onnx", folder / "plan.json"
    torch.onnx.export(importlib.import_module("drawn").Network(), (torch.zeros(shape),), str(path), dynamo=False)
    if rng.random() < 0.2:
        path.write_bytes(_damaged([path.read_bytes()], rng))
    words = ["graph", path, "--fuse", "--seed", int(rng.integers(1000)), "--plan", plan]
    ended = tools.answered(path, *words, output=plan)
    match = re.search(r"^separate +[\d,]+ +([\d,.e+-]+) ms", ended.out, re.MULTILINE)
    if match is None:
        raise Discarded(f"no line of `separate`: {ended.out[:300]}")
    judges.check_plan(plan, read_file(path, {}, eager=True), float(match[1].replace(",", "")) / 1e3)


def split(rng: np.random.Generator, folder: Path, tools: Tools) -> None:
    """A workload, damaged or not, is split: `--judge` agrees, and the same seed gives the same bytes."""
    path, out, again = folder / "workload.json", folder / "split.json", folder / "again.json"
    path.write_bytes(Path(rng.choice(sorted(map(str, drawn.WORKLOADS.glob("*.json"))))).read_bytes())
    if rng.random() < 0.3:
        path.write_bytes(mutations.mutated(path.read_bytes(), rng))
    objective, by = (str(rng.choice(names)) for names in (["load", "latency"], ["programme", "go", "untaught"]))
    words = [
        "split",
        path,
        "--objective",
        objective,
        "--by",
        by,
        "--evaluations",
        40,
        "--seed",
        int(rng.integers(1000)),
    ]
    words += ["--seconds", 20]
    ended = tools.answered(path, *words, "--out", out, output=out)
    judged = tools.call("split", path, "--objective", objective, "--judge", out)
    if judged.code:
        raise Difference(f"--judge refuses the split: {judged.err}")
    costs = [re.findall(r"^(?:largest load|latency): .*", text, re.MULTILINE) for text in (ended.out, judged.out)]
    if costs[0] != costs[1]:
        raise Difference(f"the split costs {costs[0]}, by --judge {costs[1]}")
    if by != "programme" or "exact" in ended.out:
        tools.answered(path, *words, "--out", again, output=again)
        same(out, again)
    if rng.random() < 0.5:
        out.write_bytes(mutations.mutated(out.read_bytes(), rng))
        judged = tools.call("split", path, "--objective", objective, "--judge", out)
        if judged.code and not re.search("^largest load", judged.out, re.MULTILINE):  # neither judged
            raise refusal(out, judged)


KINDS = {case.__name__: case for case in (graph_files, graph_module, split_modules, fuse, split)}
