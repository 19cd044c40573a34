"""Our rule of XLA's CPU fusion compared with jax's compilation, pair by pair: `python -m benchmarks.xla_fusions`.

Small functions are compiled by jax for the CPU, which writes their HLO text right before and right after its pass
`fusion`. Our rule (graphs/compilers/xla_cpu.py) decides on the text before; a pair is an instruction and one of
its operands, and agrees where both compute the operand in the same of the instruction's kernels. What differs is
printed, with our reason. Needs jax: `pip install -e '.[collection]' -c constraints.txt`. Seconds of one core.

It publishes, by function and over all of them: the share of pairs that agree; the share that XLA fuses; and the share
that simpler rules get right: no fusion, every loop into every loop, and the rule that graphs are fused by
(learned_schedulers/graphs/compilers/loop_fusion.py). Intervals are over functions, whose pairs resemble each other.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from benchmarks.data_collection import cartpole
from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.graphs.compilers import loop_fusion
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.hlo import Computation, Instruction, parse
from learned_schedulers.graphs.compilers.kinds import Loop
from learned_schedulers.graphs.compilers.xla_decisions import Compared, compare, fused_computations
from learned_schedulers.graphs.compilers.xla_instructions import is_elementwise, is_expensive, is_loop
from learned_schedulers.graphs.compilers.xla_kernels import Pair
from learned_schedulers.statistics.clusters import ClusterBootstrap
from pipeline.lab.rows import Quantity, Row, once, results, row

SAMPLES, CONFIDENCE = 1000, 0.95
PEERS = ("separate", "every_loop", "loop_fusion")
Case = tuple[Callable[..., Any], tuple[Any, ...]]  # a function, shapes and types of what it is given


def cases() -> dict[str, Case]:
    """The functions. Raises ImportError where jax is not installed."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import jax.numpy as jnp
    from jax import lax, nn

    def of(*shape: int, kind: Any = jnp.float32) -> Any:
        return jax.ShapeDtypeStruct(shape, kind)

    def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * scale + shift

    def attention(q: Any, k: Any, v: Any) -> Any:
        scores = jnp.einsum("hqd,hkd->hqk", q, k) / np.sqrt(q.shape[-1])
        visible = jnp.tril(jnp.ones(scores.shape[-2:], bool))
        return jnp.einsum("hqk,hkd->hqd", nn.softmax(jnp.where(visible, scores, -1e9), -1), v)

    def mlp(x: Any, first: Any, bias: Any, second: Any) -> Any:
        return nn.gelu(x @ first + bias) @ second

    def loss(weights: Any, x: Any, labels: Any) -> Any:
        scores = nn.log_softmax(jnp.tanh(x @ weights[0]) @ weights[1])
        return -jnp.take_along_axis(scores, labels[:, None], 1).mean()

    def lstm(x: Any, hidden: Any, cell: Any, weights: Any) -> Any:
        i, f, g, o = jnp.split(jnp.concatenate([x, hidden], 1) @ weights, 4, 1)
        cell = nn.sigmoid(f) * cell + nn.sigmoid(i) * jnp.tanh(g)
        return nn.sigmoid(o) * jnp.tanh(cell), cell

    def adam(weights: Any, gradient: Any, mean: Any, square: Any, step: Any) -> Any:
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        corrected = mean / (1 - 0.9**step), square / (1 - 0.999**step)
        return weights - 1e-3 * corrected[0] / (jnp.sqrt(corrected[1]) + 1e-8), mean, square

    def step(state: cartpole.State, environment: Any, pushed: Any) -> Any:
        return cartpole.step(jnp, state, environment, pushed, jnp.float32)

    def rotary(x: Any) -> Any:
        angles = jnp.arange(x.shape[0])[:, None] / 1e4 ** (jnp.arange(x.shape[1] // 2) / x.shape[1])
        low, high = jnp.split(x, 2, 1)
        cos, sin = jnp.cos(angles), jnp.sin(angles)
        return jnp.concatenate([low * cos - high * sin, low * sin + high * cos], 1)

    def convolution(x: Any, kernel: Any, scale: Any) -> Any:
        return nn.relu(lax.conv(x, kernel, (1, 1), "SAME") * scale[:, None, None] + 1)

    def remembered(cache: Any, rows: Any) -> Any:
        def write(cache: Any, row: tuple[Any, Any]) -> tuple[Any, Any]:
            cache = lax.dynamic_update_slice(cache, jnp.exp(row[1])[None] + cache[:1], (row[0], 0))
            return cache, cache.sum()

        return lax.scan(write, cache, (jnp.arange(len(rows)), rows))

    def moved(x: Any, y: Any) -> Any:
        padded = jnp.pad(x * 2, ((1, 1), (0, 0)))[:-2]
        nine = jnp.concatenate([x * factor for factor in range(9)])
        return jnp.concatenate([padded.T, y.T + 1])[::-1] * 3, jnp.concatenate([x, y], 1) + 1, nine * y[:1]

    def reduced(x: Any) -> Any:
        seven = sum(jnp.exp(x[:8] * factor).sum(1) for factor in range(7))
        return x.std(0), jnp.argmax(x, 1), jnp.exp(x).sum() * 2, x.max(), seven

    def chosen(x: Any) -> Any:
        return jnp.sort(x * 2), lax.top_k(x, 3), x[jnp.argsort(x)[:8]] + 1

    def mixed(x: Any, weights: Any) -> Any:
        product = (x.astype(jnp.bfloat16) @ weights).astype(jnp.float32)
        return (jnp.tanh(product) * x).astype(jnp.bfloat16), product.sum(0)

    state = cartpole.State(*[of(256)] * 4, *[of(256, kind=jnp.int32)] * 2)
    square, row = of(128, 128), of(128)
    return {
        "chain": (lambda a, b: nn.relu((a + b) * 0.5) + a, (square, square)),
        "shared_cheap": (lambda a, b: ((a + b) * 2, (a + b) @ a, (a + b).sum(0)), (square, square)),
        "shared_expensive": (lambda a, b: (jnp.exp(a) * 2, jnp.exp(a) + b, (jnp.exp(a) - b).T), (square, square)),
        "softmax": (lambda x: nn.softmax(x, -1), (square,)),
        "layer_norm": (layer_norm, (square, row, row)),
        "gelu": (lambda x: nn.gelu(x, approximate=False), (square,)),
        "mlp": (mlp, (square, of(128, 256), of(256), of(256, 128))),
        "training_step": (jax.value_and_grad(loss), ([square, of(128, 10)], square, of(128, kind=jnp.int32))),
        "attention": (attention, (of(4, 64, 32),) * 3),
        "lstm_step": (lstm, (of(16, 64), of(16, 64), of(16, 64), of(128, 256))),
        "adam_step": (adam, (square, square, square, square, of())),
        "cartpole_step": (step, (state, of(256, kind=jnp.int32), of(256, kind=jnp.int32))),
        "rotary": (rotary, (of(64, 32),)),
        "convolution": (convolution, (of(2, 8, 16, 16), of(8, 8, 3, 3), of(8))),
        "reductions": (reduced, (square,)),
        "selections": (chosen, (row,)),
        "matrix_vector": (lambda a, v, b: jnp.tanh(a * 2) @ v + b, (square, row, row)),
        "movements": (moved, (of(64, 96), of(64, 96))),
        "cache_update": (remembered, (of(32, 64), of(8, 64))),
        "mixed_precision": (mixed, (square, of(128, 128, kind=jnp.bfloat16))),
    }


def texts(case: Case) -> tuple[str, str]:
    """HLO text of a compiled function right before and right after XLA's pass `fusion`."""
    import jax

    function, inputs = case
    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, str | bool] = {"xla_dump_to": folder, "xla_dump_hlo_pass_re": "^fusion$"}
        jax.jit(function).lower(*inputs).compile(compiler_options=options)
        before, after = (sorted(Path(folder).glob(name)) for name in ("*.before_fusion.txt", "*.after_fusion.*.txt"))
        if (len(before), len(after)) != (1, 1):
            raise ValueError(f"XLA's pass `fusion` wrote {len(before)} and {len(after)} texts, not one: another jax?")
        return before[0].read_text(), after[0].read_text()


def peers(computation: Computation) -> dict[str, set[Pair]]:
    """Simpler rules, and the pairs that they fuse."""
    pairs = {(operand, reader.name) for reader in computation.instructions.values() for operand in reader.operands}
    loops = {name for name, instruction in computation.instructions.items() if is_loop(computation, instruction)}
    plan = loop_fusion.plan_of(_problem(computation))
    into_all = {name for name, fused in zip(computation.instructions, plan.fused, strict=True) if fused}
    return {
        "separate": set(),
        "every_loop": {(operand, reader) for operand, reader in pairs if {operand, reader} <= loops},
        "loop_fusion": {(operand, reader) for operand, reader in pairs if operand in into_all},
    }


def _problem(computation: Computation) -> FusionProblem:
    """Instructions as `loop_fusion` sees operations: their kinds and their readers, but no sizes."""
    instructions = list(computation.instructions.values())
    n = len(instructions)
    numbers = {instruction.name: number for number, instruction in enumerate(instructions)}
    edges = np.array(sorted({(numbers[o], numbers[i.name]) for i in instructions for o in i.operands}), np.int32)
    offsets = np.searchsorted(edges[:, 0], np.arange(n + 1)).astype(np.int32)
    no_numbers, no_edges = np.zeros(n), np.zeros(n + 1, np.int32)
    return FusionProblem(
        np.array([_loop(computation, instruction) for instruction in instructions], np.int8),
        np.array([is_expensive(computation, instruction) for instruction in instructions]),
        np.zeros(n, bool),
        no_numbers,
        no_numbers,
        no_numbers,
        no_numbers,
        no_edges,
        no_edges[:0],
        no_numbers[:0],
        offsets,
        np.ascontiguousarray(edges[:, 1]),
        np.zeros(4),
    )


def _loop(computation: Computation, instruction: Instruction) -> Loop:
    if instruction.opcode in ("reduce", "reduce-window"):
        return Loop.REDUCTION
    if instruction.opcode == "constant" and not instruction.shape.is_scalar:
        return Loop.OPAQUE
    if is_elementwise(computation, instruction):
        return Loop.ELEMENTWISE
    return Loop.MOVEMENT if is_loop(computation, instruction) else Loop.OPAQUE


def agreement(case: Case) -> tuple[list[Compared], pd.DataFrame]:
    """The pairs of a function; for each (rows), whether our rule and each simpler one agree with XLA; its decision."""
    before, after = map(parse, texts(case))
    compared = compare(before, after)
    simpler = {computation.name: peers(computation) for computation in fused_computations(before)}
    agreements = pd.DataFrame({"xla_cpu": [pair.agrees for pair in compared], "xla": [pair.xla for pair in compared]})
    for name in PEERS:
        fused = [(pair.operand.name, pair.reader.name) in simpler[pair.computation.name][name] for pair in compared]
        agreements[name] = np.where(fused, "fused", "separate") == agreements["xla"]
    return compared, agreements


def rows_of(experiment: str, agreements: pd.DataFrame) -> Iterator[Row]:
    """Table `results`, of the pairs of all functions: `set` is a function, or all of them."""
    bootstrap = ClusterBootstrap(agreements["function"].to_numpy(), SAMPLES, CONFIDENCE)
    values = {("agreeing_share", "xla_cpu"): agreements["xla_cpu"]}
    values |= {("peer_agreeing_share", name): agreements[name] for name in PEERS}
    values |= {("fused_share", "xla"): agreements["xla"] != "separate"}
    for (metric, method), of_metric in values.items():
        place = {"experiment": experiment, "target": "cpu", "method": method, "seed": "all"}
        whole = once(place, Quantity(metric), of_metric.to_numpy(np.float64), bootstrap)
        yield whole | {"interval_of": "pairs, clustered by function"}
        for function, pairs in of_metric.groupby(agreements["function"]):
            yield row(place | {"set": str(function)}, Quantity(metric), float(pairs.mean()), n=len(pairs))


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "xla_fusions",
) -> None:
    """Compile, decide, compare, print what differs, and publish."""
    parts = []
    for name, case in cases().items():
        compared, agreements = agreement(case)
        parts.append(agreements.assign(function=name))
        print(f"{name}: {sum(pair.agrees for pair in compared)} of {len(compared)} pairs")
        for pair in compared:
            if not pair.agrees:
                ends = f"{pair.operand.name} ({pair.operand.opcode}) -> {pair.reader.name} ({pair.reader.opcode})"
                print(f"  {ends}: ours {pair.ours}, XLA's {pair.xla}" + (f"; {pair.why}" if pair.why else ""))
    table = results(rows_of(output.name, pd.concat(parts, ignore_index=True)))
    shown = table[table["set"] == "all"][["method", "metric", "value", "low", "high", "n"]]
    print(shown.to_string(index=False))
    settings: dict[str, Any] = {"functions": list(cases()), "samples": SAMPLES, "confidence": CONFIDENCE}
    settings |= {package: version(package) for package in ("jax", "jaxlib")}
    publish(output, {"results": table}, settings)


if __name__ == "__main__":
    typer.run(main)
