"""Are the seconds right that `graph --device h100` expects? Kernels of ten models on a GPU: alone, fused, on streams.

    python -m benchmarks.gpu_times measure --output gpu_times.json     # five minutes, where there is a GPU
    python -m benchmarks.gpu_times publish gpu_times.json              # in a clone

`measured_on_h100.json` beside this file is what was measured on 2026-11-26, and published.

The models are those of `benchmarks.own_model_times`, with larger batches, float32 without tensor cores; three of them
also in bfloat16. Of each model:

- every operation: expected seconds by the roofline of the data sheet, and those of its kernels (torch's profiler);
- the whole model: torch as it is, as a CUDA graph (no gaps between kernels), and compiled by Inductor (also as a CUDA
  graph), beside the fusions that XLA's rules would choose and the time that our cost model expects of them;
- the best plan for two devices, executed on two streams of the one GPU.

It publishes the experiment `gpu_times`, by model (`set`) and of `all`, there with an interval over the models in
float32. Of `method=graph`: rank_correlation (Spearman's), median_error and total_ratio of expected / measured kernels.
seconds_ratio: seconds over those of `baseline`: of `torch_as_graph` over `torch`, of the plan (`streams`) and of
`inductor` over `torch_as_graph`, and expected ones, of the rules and of the command's `groups`, over `separate`.
agreement (Spearman's, of `all`): inductor's and a rule's seconds_ratio over the models. By kind of operation (`judge`),
of `all`: kind_ratio, the median of measured / expected with its quartiles. Kernels alone are compared with the roofline
without its launch.
"""

from __future__ import annotations

import importlib
import json
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from scipy.stats import spearmanr
from torch import nn

from benchmarks.own_model_times import KIND, MODELS
from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.graphs.compilers.cost import kernel_costs
from learned_schedulers.graphs.compilers.fusion_problem import fusion_problem
from learned_schedulers.graphs.compilers.rates import rates_of as kernel_rates
from learned_schedulers.graphs.devices.number_rates import rates_of
from learned_schedulers.graphs.devices.settings import DEVICES, DeviceName
from learned_schedulers.graphs.methods.fusing import make as make_fusing
from learned_schedulers.graphs.models.fusing.fusing_search import DEFAULTS
from learned_schedulers.graphs.models.fusing.settings import Rule
from learned_schedulers.graphs.plans.best import chosen, trials
from learned_schedulers.graphs.plans.module_export import export_module, source_of, trace_with_weights
from learned_schedulers.graphs.plans.module_operations import Operations
from learned_schedulers.graphs.plans.sources import Source
from learned_schedulers.graphs.plans.stream_run import CAPTURED, EAGER, Capture, timed_on_gpu, timed_on_streams
from learned_schedulers.graphs.plans.turns import PLAN
from learned_schedulers.graphs.read.export import Traced, Way
from learned_schedulers.graphs.read.node_costs import Prices
from learned_schedulers.graphs.read.roofline import problem_of, seconds
from pipeline.lab.rows import Quantity, Row, results, row

_ROUNDS, _WARM, _STREAMS = 5, 3, 2
_DRAWS, _SEED = 1000, 48
_TINY = 1e-12  # seconds; an operation without bytes is expected to take none
_HERE = "benchmarks.gpu_times"
BATCHES = {  # name -> shapes of the inputs
    "resnet18": "64,3,224,224",
    "bert": "int64:32,128",
    "vit_small": "64,3,224,224",
    "efficientnet_b0": "32,3,224,224",
    "swin_t": "32,3,224,224",
    "convnext_tiny": "32,3,224,224",
    "unet": "32,3,128,128",
    "gpt2": "int64:16,128",
    "speech": "32,1,16000",
    "densenet121": "32,3,224,224",
}
BRANCHED = {  # with operations that do not depend on each other
    "googlenet_1": ("torchvision.models:googlenet(init_weights=False)", "1,3,224,224"),
    "nasnet_1": ("timm.models:nasnetalarge", "1,3,331,331"),
}
HALF = ("resnet18", "vit_small", "bert")  # that also run in bfloat16


def half(name: str) -> nn.Module:
    """A model in bfloat16."""
    module, function = MODELS[name][0].split(":")
    network: nn.Module = getattr(importlib.import_module(module), function)()
    return network.to(torch.bfloat16)


def models() -> dict[str, tuple[str, str]]:
    """Name -> module:Class and the shapes of its inputs."""
    full = {name: (MODELS[name][0], shapes) for name, shapes in BATCHES.items()}
    typed = {name: shapes if ":" in shapes else f"bfloat16:{shapes}" for name, shapes in BATCHES.items()}
    halves = {f"{name}_bfloat16": (f"{_HERE}:half('{name}')", typed[name]) for name in HALF}
    return full | BRANCHED | halves | {f"{name}_1": MODELS[name] for name in ("resnet18", "efficientnet_b0", "bert")}


app = typer.Typer(help=__doc__, rich_markup_mode=None)


@app.command()
def measure(
    output: Annotated[Path, typer.Option(help="JSON file to write; it grows by model.")],
    only: Annotated[list[str] | None, typer.Option(help="These models alone.")] = None,
    compile_: Annotated[bool, typer.Option("--compile/--no-compile", help="Also by Inductor.")] = True,
    budget: Annotated[float, typer.Option(help="Seconds after which no further model begins.")] = 1e9,
) -> None:
    """Measure on this machine's GPU."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    gpu = torch.cuda.get_device_name()
    device: DeviceName = next((name for name in DEVICES if name.upper() in gpu), "h100")
    document: dict[str, Any] = {"gpu": gpu, "device": device, "torch": torch.__version__, "models": {}}
    began = time.perf_counter()
    for name, (module, shapes) in models().items():
        if (only and name not in only) or time.perf_counter() - began > budget:
            continue
        try:
            with torch.cuda.stream(torch.cuda.Stream()):  # the default one cannot be captured
                document["models"][name] = of_model(module, shapes, device, compile_)
        except Exception:  # one model that a GPU does not take shall not end the others
            document["models"][name] = {"error": traceback.format_exc()[-2000:]}
        output.write_text(json.dumps(document))
        summary = {key: value for key, value in document["models"][name].items() if not isinstance(value, list)}
        print(f"{time.perf_counter() - began:.0f} s", name, json.dumps(summary), flush=True)


def of_model(module: str, shapes: str, device: DeviceName, compiled: bool) -> dict[str, Any]:
    """Expected and measured seconds of a model."""
    trace = trace_with_weights(module, [shapes], False, Way(), "cuda")
    source = source_of(module, trace, Prices())
    operations = Operations(trace)
    rates = rates_of(source.types or ("float32",) * len(source.graph), device, False)
    measured, kernels = kernel_seconds(operations)
    result: dict[str, Any] = {
        "kinds": list(operations.kinds),
        "expected": (seconds(source.graph, DEVICES[device], rates) - DEVICES[device].launch_seconds).tolist(),
        "measured": measured.tolist(),
        "kernels": kernels.tolist(),
        "moved_bytes": (source.graph.bytes_read + source.graph.bytes_written).tolist(),
        "flops": source.graph.flops.tolist(),
        "types": list(source.types),
    }
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "fused": lambda: fused(source, device),
        "streams": lambda: on_streams(trace, operations, source, device, rates),
        "whole": lambda: whole(trace),
        "compiled": lambda: inductor(trace) if compiled else {},
    }
    for name, part in parts.items():
        try:
            result |= part()
        except Exception:  # what cannot be captured or compiled shall not end the others
            result[f"error: {name}"] = traceback.format_exc()[-1500:]
    return result


def on_streams(
    trace: Traced, operations: Operations, source: Source, device: DeviceName, rates: np.ndarray
) -> dict[str, Any]:
    """The best plan for two such devices without transfers, on two streams."""
    problem = problem_of(source.graph, _STREAMS, DEVICES[device], None, rates, *source.in_memory)
    best = chosen(trials(problem, 0))
    assert best.order is not None and best.placement is not None
    turns = timed_on_streams(trace, operations, problem.parents, best.order, best.placement, lambda _: None)
    result: dict[str, Any] = {"plan_expected": best.seconds, "difference": turns.difference}
    return result | {f"turns: {kind}": of_kind.tolist() for kind, of_kind in turns.seconds.items()}


def kernel_seconds(operations: Operations) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of the kernels of each operation, (n,), the median over the rounds, and their number, (n,)."""
    from torch.profiler import ProfilerActivity, profile, record_function

    instructions = [operations.instructions[node] for node in operations.nodes if node in operations.owners]
    owner = {operations.number[node]: i for node, i in operations.owners.items()}
    rounds, counts = np.zeros((_ROUNDS, len(operations.computed))), np.zeros(len(operations.computed))

    def run(prefix: str) -> None:
        values = list(operations.fixed)
        with torch.no_grad():
            for instruction in instructions:
                with record_function(f"{prefix} {owner[instruction.node]}"):
                    instruction.run(values)
        torch.cuda.synchronize()

    for _ in range(_WARM):
        run("warm")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for number in range(_ROUNDS):
            run(f"operation {number}")
    for event in profiler.events():
        words = event.name.split()
        if words[:1] == ["operation"] and event.device_type == torch.autograd.DeviceType.CPU:
            rounds[int(words[1]), int(words[2])] += 1e-6 * event.device_time_total
            counts[int(words[2])] += _kernels(event) / _ROUNDS
    return np.median(rounds, axis=0), counts


def _kernels(event: Any) -> int:
    return len(event.kernels) + sum(map(_kernels, event.cpu_children))


def whole(trace: Traced) -> dict[str, Any]:
    """Seconds of the model as torch runs it, and without gaps."""
    run = _call(trace.module, trace)
    with torch.no_grad():
        result = {"eager": _seconds(run)}
        return result | {"captured": _seconds(Capture(run).replay)}


def inductor(trace: Traced) -> dict[str, Any]:
    """Seconds of the compiled model without gaps, and its kernels."""
    began = time.perf_counter()
    torch._dynamo.reset()
    run = _call(torch.compile(trace.module, dynamic=False), trace)
    with torch.no_grad():
        capture = Capture(run)
        result: dict[str, Any] = {"compiling": time.perf_counter() - began, "compiled": _seconds(capture.replay)}
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
            run()
            torch.cuda.synchronize()
    kernels = [event for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    result["compiled_kernels"] = [[event.name[:80], 1e-6 * event.device_time_total] for event in kernels]
    return result


def _seconds(run: Callable[[], object]) -> float:
    return float(np.median(timed_on_gpu(run)[1:]))


def _call(module: Any, trace: Traced) -> Callable[[], object]:
    return lambda: module(*trace.inputs, **trace.keywords)


def fused(source: Source, device: DeviceName) -> dict[str, Any]:
    """Expected seconds and kernels of fusion plans, by the rules of compilers."""
    problem = fusion_problem(source.graph, kernel_rates(DEVICES[device]))
    result: dict[str, Any] = {}
    for rule in ("separate", *DEFAULTS):
        plan = make_fusing(Rule.model_validate({"method": rule})).fuse(problem, np.random.default_rng(0)).plan
        times, _, moved = kernel_costs(problem, plan)
        result[f"rule: {rule}"] = [float(times.sum()), int(plan.kernels), float(moved.sum())]
    return result


@app.command(name="publish")
def publish_measured(
    measured: Annotated[list[Path], typer.Argument(help="Files of `measure`; of a later one, what is new counts.")],
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "gpu_times",
) -> None:
    """Publish what was measured on a machine with a GPU."""
    documents = [json.loads(path.read_text()) for path in measured]
    by_model: dict[str, dict[str, Any]] = {}
    for document in documents:
        for name, numbers in document["models"].items():
            by_model.setdefault(name, {}).update(numbers)
    for name, numbers in by_model.items():
        numbers["groups"] = grouped(*models()[name], documents[0]["device"])
    rows = [line for name, numbers in by_model.items() for line in _rows(name, numbers)]
    rows += _together({name: numbers for name, numbers in by_model.items() if name in BATCHES})
    machines = [{key: document[key] for key in ("gpu", "device", "torch")} for document in documents]
    chosen_models = {name: models()[name] for name in by_model}
    publish(output, {"results": results(rows)}, {"machines": machines, "models": chosen_models})


def grouped(module: str, shapes: str, device: DeviceName) -> float:
    """Expected seconds if groups that runtimes compute as one are one operation, over those of all operations."""
    totals = []
    for eager in (False, True):
        source = export_module(module, [shapes], False, eager=eager)
        rates = rates_of(source.types or ("float32",) * len(source.graph), device, False)
        totals.append(float(seconds(source.graph, DEVICES[device], rates).sum()))
    return totals[0] / totals[1]


def _accuracy(parts: list[dict[str, Any]]) -> dict[Quantity, float]:
    """How well the expected seconds of all operations with a kernel agree with their kernels."""
    expected, kernels = (np.concatenate([part[key] for part in parts]) for key in ("expected", "measured"))
    runs = kernels > 0
    error = float(np.median(np.abs(expected[runs] / kernels[runs] - 1)))
    return {
        Quantity("rank_correlation"): float(spearmanr(expected[runs], kernels[runs]).statistic),
        Quantity("median_error"): error,
        Quantity("total_ratio", unit="ratio"): float(expected.sum() / kernels.sum()),
    }


def _ratios(numbers: dict[str, Any]) -> dict[tuple[str, str], float]:
    """(method, baseline) -> ratio of seconds."""
    turns = {key.removeprefix("turns: "): np.median(of_kind) for key, of_kind in numbers.items() if "turns: " in key}
    separate_seconds = numbers["rule: separate"][0]
    ratios = {(rule, "separate"): numbers[f"rule: {rule}"][0] / separate_seconds for rule in DEFAULTS}
    ratios["groups", "separate"] = numbers["groups"]
    ratios["torch_as_graph", "torch"] = turns[CAPTURED] / turns[EAGER]
    ratios["streams", "torch_as_graph"] = turns[PLAN] / turns[CAPTURED]
    if "compiled" in numbers:
        ratios["inductor", "torch_as_graph"] = numbers["compiled"] / numbers["captured"]
    return ratios


def _rows(name: str, numbers: dict[str, Any]) -> list[Row]:
    n = len(numbers["kinds"])
    rows = [row(_place(name), quantity, value, n=n, seed="all") for quantity, value in _accuracy([numbers]).items()]
    for (method, baseline), value in _ratios(numbers).items():
        quantity = Quantity("seconds_ratio", "ratio", baseline, unit="ratio")
        rows.append(row(_place(name, method), quantity, value, n=n, seed="all"))
    return rows


def _together(by_model: dict[str, dict[str, Any]]) -> list[Row]:
    """Numbers over the models, with intervals over models that are drawn anew; ratios by kind."""
    parts = list(by_model.values())
    rng = np.random.default_rng(_SEED)
    draws = [rng.integers(0, len(parts), len(parts)) for _ in range(_DRAWS)]
    again = [_accuracy([parts[i] for i in drawn]) for drawn in draws]
    rows: list[Row] = []

    def add(quantity: Quantity, value: float, of_draws: list[float], method: str) -> None:
        low, high = np.nanquantile(of_draws, (0.025, 0.975)).tolist()
        rows.append(row(_place("all", method), quantity, value, low, high, len(parts), "models", seed="all"))
        print(f"all: {method} {quantity.metric} {quantity.baseline} {value:.3f} ({low:.3f} to {high:.3f})")

    for quantity, value in _accuracy(parts).items():
        add(quantity, value, [numbers[quantity] for numbers in again], "graph")
    ratios = {key: np.array([_ratios(part)[key] for part in parts]) for key in _ratios(parts[0])}
    for (method, baseline), values in ratios.items():
        means = [float(np.exp(np.log(values[drawn]).mean())) for drawn in draws]
        mean = float(np.exp(np.log(values).mean()))
        add(Quantity("seconds_ratio", "ratio", baseline, unit="ratio"), mean, means, method)
    compiled = ratios["inductor", "torch_as_graph"]
    for rule in ("groups", *DEFAULTS):
        of_rule = ratios[rule, "separate"]
        value = float(spearmanr(compiled, of_rule).statistic)
        drawn_values = [float(spearmanr(compiled[drawn], of_rule[drawn]).statistic) for drawn in draws]
        add(Quantity("agreement", baseline="inductor"), value, drawn_values, rule)
    kinds = np.array([kind for part in parts for kind in part["kinds"]])
    over = np.concatenate([np.array(part["measured"]) / np.maximum(part["expected"], _TINY) for part in parts])
    for kind in sorted(set(kinds)):
        of_kind = over[(kinds == kind) & (over > 0)]
        if len(of_kind) >= KIND:
            low, middle, high = np.quantile(of_kind, (0.25, 0.5, 0.75)).tolist()
            quantity = Quantity("kind_ratio", judge=kind, unit="ratio")
            rows.append(row(_place("all"), quantity, middle, low, high, len(of_kind), "operations", seed="all"))
    return rows


def _place(name: str, method: str = "graph") -> dict[str, str]:
    return {"experiment": "gpu_times", "set": name, "method": method, "target": "h100"}


if __name__ == "__main__":
    app()
