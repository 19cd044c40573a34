"""The error of a roofline for each kind of operation, on one core: `python -m benchmarks.cost_model`.

Graphs are placed by run times from a roofline (graphs/corpus/roofline.py): a launch, plus the longer of arithmetic and
memory. Here the operations of our own modules (no optional package is needed) are run one by one on this machine under
torch, on random tensors of their shapes, and compared with the roofline whose three rates explain these times best
(least sum of absolute logarithms). For other devices this shows that a roofline is good for some kinds of operations
and bad for others, and for which.

It publishes by kind: the median of predicted over measured time, the median factor that it is wrong by, and the share
of the time; and the rates.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch
import typer
from scipy.optimize import minimize
from torch import fx
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from pipeline.analysis.rows import Quantity, Row, results, row
from pipeline.graphs.corpus.architectures import ARCHITECTURES
from pipeline.graphs.corpus.export import computes, cost_of, traced

NETWORKS = ("rnnlm_2", "gnmt_4", "wavenet_36", "transformer_xl_8")  # of this repository
ALL = "all"
_LEAST = 1e-3  # seconds that an operation is repeated for, so that the clock's steps do not count


def distinct(network: str) -> dict[tuple[Any, ...], tuple[fx.Node, int]]:
    """One operation of each kind and shape of a network, and the number of such operations."""
    module, inputs = ARCHITECTURES[network].make()
    operations_by_key: dict[tuple[Any, ...], tuple[fx.Node, int]] = {}
    for node in traced(module, inputs, "forward").nodes:
        if computes(node):
            key = (str(node.target), str(fx.map_arg((node.args, node.kwargs), _shape)))
            first, count = operations_by_key.get(key, (node, 0))
            operations_by_key[key] = first, count + 1
    return operations_by_key


def _shape(node: fx.Node) -> object:
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        return (tuple(value.shape), value.stride(), value.dtype)
    return str(value)


def drawn(node: fx.Node, generator: torch.Generator) -> Any:
    """A tensor like the result of the node, with random contents; whole numbers are 0 or 1, valid indices anywhere."""

    def random_like(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        size = 1 + sum((n - 1) * stride for n, stride in zip(value.shape, value.stride(), strict=True) if n)
        if value.dtype.is_floating_point:
            flat = torch.rand(size, generator=generator, dtype=value.dtype)
        else:
            flat = torch.randint(0, 2, (size,), generator=generator).to(value.dtype)
        return flat.as_strided(value.shape, value.stride())

    value = node.meta["val"]
    return [random_like(part) for part in value] if isinstance(value, list | tuple) else random_like(value)


def seconds(node: fx.Node, rounds: int) -> float:
    """The least mean of several rounds of repeated runs."""
    generator = torch.Generator().manual_seed(0)
    target: Any = node.target
    args, kwargs = fx.map_arg((node.args, node.kwargs), lambda parent: drawn(parent, generator))
    if any(key == "device" for key in kwargs):
        kwargs = {**kwargs, "device": torch.device("cpu")}
    target(*args, **kwargs)
    began = time.perf_counter()
    target(*args, **kwargs)
    repeats = max(1, int(_LEAST / max(time.perf_counter() - began, 1e-7)))
    means = []
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(repeats):
            target(*args, **kwargs)
        means.append((time.perf_counter() - began) / repeats)
    return min(means)


def measured(rounds: int) -> pd.DataFrame:
    """One row an operation: network, kind, count, flops, bytes, seconds."""
    rows = []
    with torch.no_grad():
        for network in NETWORKS:
            for node, count in tqdm(distinct(network).values(), desc=network):
                cost = cost_of(node)
                moved = cost.read + cost.written
                duration = seconds(node, rounds)
                rows.append((network, cost.kind, count, cost.flops, float(moved), duration))
    return pd.DataFrame(rows, columns=["network", "kind", "count", "flops", "bytes", "seconds"])


def fitted(operations: pd.DataFrame) -> np.ndarray:
    """Launch in seconds, FLOPs a second, bytes a second: (3,), by the least sum of absolute logarithms."""
    logs = np.log(operations["seconds"])

    def error(rates: np.ndarray) -> float:
        return float(np.abs(np.log(predicted(operations, np.exp(rates))) - logs).sum())

    starts = [np.log([1e-6, flops, moved]) for flops in (1e10, 1e11) for moved in (3e9, 3e10)]
    fits = [minimize(error, start, method="Nelder-Mead", options={"maxiter": 2000}) for start in starts]
    return np.exp(min(fits, key=lambda fit: fit.fun).x)


def predicted(operations: pd.DataFrame, rates: np.ndarray) -> np.ndarray:
    """Seconds by the roofline."""
    launch, flops, moved = rates
    return launch + np.maximum(operations["flops"] / flops, operations["bytes"] / moved).to_numpy()


def rows_of(experiment: str, operations: pd.DataFrame) -> Iterator[Row]:
    """Table `results`: `method` is the kind of operation."""
    rates = fitted(operations)
    ratio = predicted(operations, rates) / operations["seconds"].to_numpy()
    compared = operations.assign(ratio=ratio, wrong=np.exp(np.abs(np.log(ratio))))
    compared["whole"] = compared["seconds"] * compared["count"]
    place = {"experiment": experiment, "set": ALL, "target": "this_machine", "seed": "all"}
    for kind, of_kind in [*compared.groupby("kind"), (ALL, compared)]:
        place_of_kind, n = place | {"method": str(kind)}, len(of_kind)
        for name, column in (("predicted_over_measured", "ratio"), ("wrong_by_factor", "wrong")):
            median, low, high = of_kind[column].quantile([0.5, 0.0, 1.0]).tolist()
            yield row(place_of_kind, Quantity(name, unit="ratio"), median, low, high, n, over="operations")
        yield row(place_of_kind, Quantity("time_share"), float(of_kind["whole"].sum() / compared["whole"].sum()), n=n)
    for name, unit, rate in zip(("launch", "flops", "bytes"), ("seconds", "1/s", "bytes/s"), rates, strict=True):
        yield row(place | {"method": "none"}, Quantity(f"fitted_{name}", unit=unit), float(rate), n=len(compared))


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "cost_model",
    rounds: Annotated[int, typer.Option(help="Times that each operation is timed; the least counts.")] = 5,
) -> None:
    """Time every kind and shape of operation, and publish."""
    torch.set_num_threads(1)
    table = results(rows_of(output.name, measured(rounds)))
    print(table[["method", "metric", "value", "low", "high", "n"]].to_string(index=False))
    publish(output, {"results": table}, {"rounds": rounds, "networks": list(NETWORKS)}, ["benchmarks.cost_model"])


if __name__ == "__main__":
    typer.run(main)
