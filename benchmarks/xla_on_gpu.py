"""Does fusion save on a GPU what our cost expects? XLA with and without its fusion, kernel by kernel.

    python -m benchmarks.xla_on_gpu measure --output measured.json     # seven minutes, where there is a GPU and jax
    python -m benchmarks.xla_on_gpu publish measured.json              # in a clone

`measured_on_h200.json` beside this file is what was measured on 2026-11-27, and published.

Networks in jax (`xla_networks`) are compiled twice, as XLA does by itself and without its passes of fusion, and run
from a stream (a launch for every kernel) and as a CUDA graph. Matrix products and convolutions are library calls in
both, and are left out. Our cost is that of graphs/compilers/cost.py: for every kernel a launch, and the longer of its
arithmetic and its traffic by the data sheet. It is computed for exactly the kernels that XLA made. Without fusion these
also write broadcast numbers to memory, which other frameworks do not.

It publishes the experiment `fusion_on_gpu`, by network (`set`) and of `all`, there with an interval over networks.
kernels: their number, of `fused` and `separate`. seconds_ratio: seconds of `fused` over `separate`: expected (`judge`
fusion_cost); of the kernels alone (`target` kernels) and of whole runs (`stream`, `graph`). agreement (Spearman's, over
networks): of the cost's ratio with each. Of all kernels of a method: rank_correlation (Spearman's) and total_ratio of
expected / measured, without launches; least_seconds and slope: measured = least_seconds + slope * expected, by least
squares of relative errors; launch_seconds: the median over networks of the seconds between two kernels.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from scipy.optimize import nnls
from scipy.stats import spearmanr

from benchmarks.publishing import PUBLISHED, publish
from benchmarks.xla_networks import SIZES, Case, networks
from learned_schedulers.graphs.compilers.hlo import Computation, Instruction, Module, parse
from learned_schedulers.graphs.compilers.rates import rates_of
from learned_schedulers.graphs.compilers.xla_instructions import is_expensive
from learned_schedulers.graphs.devices.settings import DEVICES
from pipeline.lab.rows import Quantity, Row, results, row

RUNS, THREADS, SAMPLES = 5, 12, 1000
_LIBRARY = "--xla_gpu_enable_triton_gemm=false"  # products are library calls whether XLA fuses or not
_STREAM = "--xla_gpu_enable_command_buffer="
_PASSES = (
    *("priority-fusion", "multi_output_fusion", "fusion_merger", "instruction-fusion", "triton-softmax-rewriter"),
    *("softmax-rewriter-triton", "horizontal_loop_fusion", "horizontal_input_fusion", "gpu_horizontal_loop_fusion"),
    *("gpu_horizontal_input_fusion", "cudnn-fused-conv-rewriter", "cudnn_norm_rewriter"),
)
_SEPARATE = "--xla_disable_hlo_passes=" + ",".join(_PASSES)
MODES = {
    "fused stream": [_LIBRARY, _STREAM],
    "separate stream": [_LIBRARY, _STREAM, _SEPARATE],
    "fused graph": [_LIBRARY],
    "separate graph": [_LIBRARY, _SEPARATE],
}
_NO_KERNEL = {"parameter", "constant", "bitcast", "tuple", "get-tuple-element", "custom-call"}  # or a library's
_PARTIAL = {"slice", "dynamic-slice", "gather"}  # they read what they write

app = typer.Typer(help=__doc__, rich_markup_mode=None)


@app.command()
def measure(output: Annotated[Path, typer.Option(help="JSON file to write.")]) -> None:
    """Compile, run and profile every network on this machine's GPU, in a process of each mode."""
    document: dict[str, Any] = {"modes": {}}
    for mode, flags in MODES.items():
        environment = os.environ | {"XLA_FLAGS": " ".join(flags), "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "profile.json"
            command = [sys.executable, "-m", "benchmarks.xla_on_gpu", "profile", str(path)]
            subprocess.run(command, env=environment, check=True)
            of_mode = json.loads(path.read_text())
        document |= {key: of_mode[key] for key in ("gpu", "jax")}
        document["modes"][mode] = of_mode["networks"]
        output.write_text(json.dumps(document))


@app.command()
def profile(output: Annotated[Path, typer.Argument(help="JSON file to write.")]) -> None:
    """Every network in this process, as the variable XLA_FLAGS says."""
    import jax

    began = time.perf_counter()
    cases = {f"{name} {size}": case for size in SIZES for name, case in networks(size).items()}
    with ThreadPoolExecutor(THREADS) as pool:
        compiled = {name: pool.submit(_compiled, case) for name, case in cases.items()}
    document: dict[str, Any] = {"gpu": jax.devices()[0].device_kind, "jax": jax.__version__, "networks": {}}
    for name, case in cases.items():
        try:
            run = compiled[name].result()
            document["networks"][name] = summary(parse(_without_notes(run.as_text())), _events(run, case))
        except Exception:  # one network that a GPU does not take shall not end the others
            document["networks"][name] = {"error": traceback.format_exc()[-2000:]}
        print(f"{time.perf_counter() - began:.0f} s", name, str(document["networks"][name])[:200], flush=True)
    output.write_text(json.dumps(document))


def _compiled(case: Case) -> Any:
    import jax

    function, inputs = case
    return jax.jit(function).lower(*inputs).compile()


def _without_notes(text: str) -> str:
    return re.sub(r"\n(FileNames|FunctionNames|FileLocations|StackFrames)\n(.+\n)*", "\n", text)


def _events(run: Any, case: Case) -> list[list[Any]]:
    """Of every kernel of RUNS runs: its name, its HLO instruction, nanoseconds of its begin and length."""
    import jax

    rng = np.random.default_rng(0)
    inputs = jax.tree.map(lambda of: jax.device_put(_drawn(rng, of)), case[1])
    for _ in range(2):
        jax.block_until_ready(run(*inputs))
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for _ in range(RUNS):
                jax.block_until_ready(run(*inputs))
        (path,) = Path(folder).rglob("*.xplane.pb")
        planes = jax.profiler.ProfileData.from_file(str(path)).planes
        events = []
        for plane in planes:
            for line in plane.lines if plane.name.startswith("/device:GPU") else ():
                for event in line.events if line.name.startswith("Stream") else ():
                    instruction = str(dict(event.stats).get("hlo_op", ""))
                    events.append([event.name, instruction, float(event.start_ns), float(event.duration_ns)])
    return sorted(events, key=lambda event: event[2])


def _drawn(rng: np.random.Generator, of: Any) -> np.ndarray:
    """Small numbers, so that no network overflows."""
    if np.issubdtype(of.dtype, np.integer):
        return rng.integers(0, 2, of.shape).astype(of.dtype)
    return (0.02 * rng.standard_normal(of.shape) + 0.01).astype(of.dtype)


def summary(module: Module, events: list[list[Any]]) -> dict[str, Any]:
    """Of each run, (RUNS,): its seconds from the first kernel to the last, those of library calls, those between
    kernels, and the number of kernels. Of each kernel that XLA made: opcode, bytes, FLOPs and seconds (the median over
    runs; 0 in a CUDA graph, whose kernels do not name their instruction). Raises ValueError if the runs differ.
    """
    entry = module.computations[module.entry]
    generated = {name: of for name, of in entry.instructions.items() if of.opcode not in _NO_KERNEL}
    names = {re.sub(r"[.\-]", "_", name) for name in generated}
    if len(events) % RUNS:
        raise ValueError(f"{len(events)} kernels in {RUNS} runs: they do not all run the same kernels")
    count = len(events) // RUNS
    runs = [events[run * count : (run + 1) * count] for run in range(RUNS)]
    result: dict[str, Any] = {"seconds": [], "library": [], "between": [], "kernels": count}
    seconds = defaultdict(list)
    for run in runs:
        whole = max(begin + length for _, _, begin, length in run) - run[0][2]
        busy = sum(length for *_, length in run)
        library = sum(length for name, _, _, length in run if name not in names and not name.lower().startswith("mem"))
        for key, value in {"seconds": whole, "library": library, "between": whole - busy}.items():
            result[key].append(round(1e-9 * value, 9))
        of_run = defaultdict(float)
        for _, instruction, _, length in run:
            of_run[instruction] += 1e-9 * length
        for instruction in of_run:
            seconds[instruction].append(of_run[instruction])
    times = {name: round(float(np.median(seconds[name])), 9) if name in seconds else 0.0 for name in generated}
    return result | {"generated": [[*work(module, entry, of), times[name]] for name, of in generated.items()]}


def work(module: Module, computation: Computation, kernel: Instruction) -> tuple[str, int, int]:
    """Opcode, bytes read and written, and FLOPs of a kernel. An operand that is only read in parts counts by them."""
    if kernel.opcode != "fusion":
        operands = computation.operands(kernel)
        return kernel.opcode, sum(of.shape.bytes for of in operands) + kernel.shape.bytes, kernel.shape.elements
    inside = module.computations[kernel.attributes["calls"].removeprefix("%")]
    readers = defaultdict(list)
    for instruction in inside.instructions.values():
        for operand in instruction.operands:
            readers[operand].append(instruction)
    moved, flops, opcodes = kernel.shape.bytes, 0.0, []
    for name, instruction in inside.instructions.items():
        if instruction.opcode == "parameter":
            whole, parts = instruction.shape.bytes, [reader.shape.bytes for reader in readers[name]]
            partial = parts and all(reader.opcode in _PARTIAL for reader in readers[name])
            moved += min(whole, sum(parts)) if partial else whole
        elif instruction.opcode not in _NO_KERNEL:
            opcodes.append(instruction.opcode)
            flops += _flops(inside, instruction)
    return opcodes[0] if len(opcodes) == 1 else "fusion", moved, int(flops)


def _flops(computation: Computation, instruction: Instruction) -> float:
    if instruction.opcode == "reduce":
        return computation.operands(instruction)[0].shape.elements
    rates = rates_of(DEVICES["h200"])
    expensive = rates.simple_per_second / rates.expensive_per_second
    return instruction.shape.elements * (expensive if is_expensive(computation, instruction) else 1)


Networks = dict[str, dict[str, Any]]  # summaries by network


@app.command(name="publish")
def publish_measured(
    measured: Annotated[Path, typer.Argument(help="File of `measure`.")],
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "fusion_on_gpu",
) -> None:
    """Publish what was measured on a machine with a GPU."""
    document = json.loads(measured.read_text())
    modes: dict[str, Networks] = document["modes"]
    names = [name for name in modes["fused graph"] if not any("error" in of[name] for of in modes.values())]
    ratios = {name: _ratios({mode: of[name] for mode, of in modes.items()}) for name in names}
    rows: list[Row] = []
    for name in names:
        for method in ("fused", "separate"):
            generated = modes[f"{method} stream"][name]["generated"]
            rows.append(row(_place(name, method), Quantity("kernels", unit="count"), len(generated), seed="all"))
        rows += [row(_place(name, target=key), _ratio(key), value, seed="all") for key, value in ratios[name].items()]
    rows += list(_together(ratios))
    for method in ("fused", "separate"):
        rows += list(_of_kernels(method, [modes[f"{method} stream"][name]["generated"] for name in names]))
        for target in ("stream", "graph"):
            gaps = [_gap(modes[f"{method} {target}"][name]) for name in names]
            rows.append(_median(_place("all", method, target), Quantity("launch_seconds", unit="seconds"), gaps))
    table = results(rows)
    print(table[table["set"] == "all"][["method", "target", "metric", "judge", "value", "low", "high"]].to_string())
    publish(output, {"results": table}, {key: document[key] for key in ("gpu", "jax")} | {"networks": names})


def _expected(generated: list[list[Any]], launch: float) -> float:
    """Seconds by our cost."""
    device = DEVICES["h200"]
    parts = [max(moved / device.bytes_per_second, flops / device.flops_per_second) for _, moved, flops, _ in generated]
    return sum(parts) + launch * len(parts)


def _ratios(modes: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Seconds of `fused` over `separate`: expected, of kernels, and of whole runs without library calls."""
    generated = [modes[f"{method} stream"]["generated"] for method in ("fused", "separate")]
    fused, separate = (
        [_expected(of, DEVICES["h200"].launch_seconds), sum(kernel[-1] for kernel in of)] for of in generated
    )
    ratios = {"expected": fused[0] / separate[0], "kernels": fused[1] / separate[1]}
    for target in ("stream", "graph"):
        fused, separate = (
            np.median(np.subtract(modes[f"{method} {target}"]["seconds"], modes[f"{method} {target}"]["library"]))
            for method in ("fused", "separate")
        )
        ratios[target] = float(fused / separate)
    return ratios


def _together(ratios: dict[str, dict[str, float]]) -> Iterable[Row]:
    """Geometric means and rank correlations, with intervals over networks (of two sizes each) that are drawn anew."""
    rng, networks = np.random.default_rng(0), sorted({name.split()[0] for name in ratios})
    draws = [[networks[i] for i in rng.integers(0, len(networks), len(networks))] for _ in range(SAMPLES)]
    again = [[f"{name} {size}" for name in drawn for size in SIZES if f"{name} {size}" in ratios] for drawn in draws]

    def of(names: Iterable[str], key: str) -> np.ndarray:
        return np.array([ratios[name][key] for name in names])

    for key in ("expected", "kernels", "stream", "graph"):
        value = float(np.exp(np.log(of(ratios, key)).mean()))
        drawn = [float(np.exp(np.log(of(names, key)).mean())) for names in again]
        low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
        yield row(_place("all", target=key), _ratio(key), value, low, high, len(ratios), "networks", seed="all")
        if key != "expected":
            value = float(spearmanr(of(ratios, key), of(ratios, "expected")).statistic)
            drawn = [float(spearmanr(of(names, key), of(names, "expected")).statistic) for names in again]
            low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
            quantity = Quantity("agreement", judge="fusion_cost", unit="1")
            yield row(_place("all", target=key), quantity, value, low, high, len(ratios), "networks", seed="all")


def _of_kernels(method: str, parts: list[list[list[Any]]]) -> Iterable[Row]:
    """How well the roofline says the seconds of kernels, without a launch."""
    generated = [kernel for part in parts for kernel in part if kernel[-1] > 0]
    expected = np.array([_expected([kernel], 0.0) for kernel in generated])
    seconds = np.array([kernel[-1] for kernel in generated])
    weighted = np.stack([np.ones_like(expected), expected], 1) / seconds[:, None]
    (least, slope), _ = nnls(weighted, np.ones_like(seconds))
    for quantity, value in {
        Quantity("rank_correlation"): float(spearmanr(expected, seconds).statistic),
        Quantity("total_ratio", unit="ratio"): float(expected.sum() / seconds.sum()),
        Quantity("least_seconds", unit="seconds"): least,
        Quantity("slope", unit="ratio"): slope,
    }.items():
        yield row(_place("all", method, "kernels"), quantity, value, n=len(generated), seed="all")


def _gap(network: dict[str, Any]) -> float:
    return float(np.median(network["between"])) / max(network["kernels"] - 1, 1)


def _median(place: dict[str, str], quantity: Quantity, values: list[float]) -> Row:
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
    return row(place, quantity, middle, low, high, len(values), "networks", seed="all")


def _ratio(key: str) -> Quantity:
    judge = "fusion_cost" if key == "expected" else "hardware"
    return Quantity("seconds_ratio", "ratio", "separate", judge, unit="ratio")


def _place(name: str, method: str = "fused", target: str = "kernels") -> dict[str, str]:
    return {"experiment": "fusion_on_gpu", "set": name, "method": method, "target": target}


if __name__ == "__main__":
    app()
