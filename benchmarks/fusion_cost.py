"""The constants of the cost of fusion, fitted to this machine: `python -m benchmarks.fusion_cost`.

Small functions are compiled by TorchInductor for one core and timed: loops, chains of loops in one kernel, reductions,
moves, products, on four sizes, as four independent copies that may not be fused. The constants of
`pipeline/graphs/compilers/rates.py`, and the seconds of a call, are those that explain the times best (least sum of
absolute logarithms). `--freeze` writes them to pipeline/graphs/compilers/frozen/rates.json: before a network is
trained, never after. Ten minutes of one core; needs g++ (`make g++`). Measurements are stored, and a second call
continues.

It publishes, by kind of operation, the median of predicted over measured time and the median factor of the error; the
constants; and the rank correlation of prediction and measurement over all cases.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import torch
import typer
from scipy.optimize import minimize
from scipy.stats import spearmanr
from torch import Tensor, nn
from torch.nn import functional as F
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from pipeline.analysis.rows import Quantity, Row, results, row
from pipeline.graphs.compilers.cost import seconds
from pipeline.graphs.compilers.fusion_problem import fusion_problem
from pipeline.graphs.compilers.levels import LEVELS, plan_of
from pipeline.graphs.compilers.rates import FROZEN, Rates
from pipeline.graphs.corpus.export import graph_of_module
from pipeline.graphs.corpus.graph import Graph
from pipeline.tables import replacing

ROWS = (16, 128, 1024, 8192)  # of 256 elements: 16 KB to 8 MB a tensor
COLUMNS = 256
COPIES = 4
_LEAST = 2e-3  # seconds that a call is repeated for
_START = Rates(2e-6, 1e6, 40e9, 10e9, 2e9, 2e8, 1.5e9, 1e9, 8e10)
_CALL_START = 2e-5  # seconds of a call of a compiled function


@dataclass(frozen=True)
class Case:
    """A function of one or more (rows, COLUMNS) tensors, compiled to one kernel."""

    kind: str
    function: Callable[..., Tensor]
    inputs: int = 1


CASES = {
    "add": Case("elementwise, cheap", torch.add, 2),
    "relu": Case("elementwise, cheap", torch.relu),
    "mul": Case("elementwise, cheap", lambda a: a * 1.5),
    "tanh": Case("elementwise, expensive", torch.tanh),
    "sigmoid": Case("elementwise, expensive", torch.sigmoid),
    "exp": Case("elementwise, expensive", torch.exp),
    "div": Case("elementwise, expensive", torch.div, 2),
    "gelu": Case("elementwise, expensive", F.gelu),
    "chain_of_4": Case("chain", lambda a, b: torch.relu((a + b) * 0.5) + a, 2),
    "chain_of_8": Case("chain", lambda a, b: torch.relu((torch.relu((a + b) * 0.5) + a) * b - a) * 0.3, 2),
    "gates": Case("chain", lambda a, b, c, d: torch.sigmoid(a) * b + torch.sigmoid(c) * torch.tanh(d), 4),
    "five_inputs": Case("chain", lambda a, b, c, d, e: a + b * c + d * e, 5),
    "sum": Case("reduction", lambda a: a.sum(-1)),
    "mean": Case("reduction", lambda a: a.mean(-1)),
    "softmax": Case("reduction", lambda a: torch.softmax(a, -1)),
    "layer_norm": Case("reduction", lambda a: F.layer_norm(a, (COLUMNS,))),
    "relu_sum": Case("reduction", lambda a, b: torch.relu(a + b).sum(-1), 2),
    "transpose": Case("movement", lambda a: a.t().contiguous()),
    "cat": Case("movement", lambda a, b: torch.cat([a, b], 1), 2),
    "pad": Case("movement", lambda a: F.pad(a, (8, 8))),
    "product": Case("library", lambda a: a @ a[:COLUMNS].t() if len(a) > COLUMNS else a @ a.t()),
    "convolution": Case("library", lambda a: F.conv2d(a.view(1, 16, -1, 16), a[:16, :144].reshape(16, 16, 3, 3))),
}


class Copies(nn.Module):
    """A case several times, each copy on inputs of its own."""

    def __init__(self, case: Case, copies: int) -> None:
        super().__init__()
        self.case, self.copies = case, copies

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        count = self.case.inputs
        return tuple(self.case.function(*inputs[k * count : (k + 1) * count]) for k in range(self.copies))


def variants() -> Iterator[tuple[str, int, int]]:
    """Name of a case, rows, copies."""
    for name in CASES:
        yield name, ROWS[0], 1
        for rows in ROWS:
            yield name, rows, COPIES


def measured_seconds(name: str, rows: int, copies: int, rounds: int) -> float:
    """Seconds of one call, the least of some rounds."""
    case = CASES[name]
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(rows, COLUMNS, generator=generator) for _ in range(case.inputs * copies)]
    torch._dynamo.reset()
    compiled = torch.compile(Copies(case, copies), fullgraph=True, options={"max_fusion_size": 1})
    with torch.no_grad():
        compiled(*inputs)
        began = time.perf_counter()
        compiled(*inputs)
        calls = max(1, int(_LEAST / (time.perf_counter() - began)))
        least = np.inf
        for _ in range(rounds):
            began = time.perf_counter()
            for _ in range(calls):
                compiled(*inputs)
            least = min(least, (time.perf_counter() - began) / calls)
    return float(least)


def measure(path: Path, rounds: int) -> pd.DataFrame:
    """Columns case, rows, copies, seconds; cases that the file contains are not measured again."""
    measurements = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=["case", "rows", "copies", "seconds"])
    measured_cases = set(zip(measurements["case"], measurements["rows"], measurements["copies"], strict=True))
    for name, rows, copies in tqdm([*variants()], desc="cases"):
        if (name, rows, copies) not in measured_cases:
            duration = measured_seconds(name, rows, copies, rounds)
            measurements.loc[len(measurements)] = [name, rows, copies, duration]
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as temporary:
                measurements.to_csv(temporary, index=False)
    return measurements


def graph_of(name: str, rows: int, copies: int) -> Graph:
    """A case as the cost model sees it: its copies as operations."""
    case = CASES[name]
    inputs = tuple(torch.empty(rows, COLUMNS, device="meta") for _ in range(case.inputs * copies))
    return graph_of_module(Copies(case, copies), inputs, name, "fusion_cost", "forward")


def predicted_seconds(graphs: list[Graph], rates: Rates, call: float) -> np.ndarray:
    """Predicted seconds of every case: the call, and its kernels, with everything fused that can be."""
    predicted = []
    for graph in graphs:
        problem = fusion_problem(graph, rates)
        predicted.append(call + seconds(problem, plan_of(problem, np.full(problem.n, LEVELS - 1, np.int8))))
    return np.array(predicted)


def fit(graphs: list[Graph], measured: np.ndarray) -> tuple[Rates, float]:
    """The rates, and the seconds of a call, with the least sum of absolute logarithms of predicted over measured."""

    def wrong(logarithms: np.ndarray) -> float:
        *rates, call = np.exp(logarithms)
        return float(np.abs(np.log(predicted_seconds(graphs, Rates(*rates), call) / measured)).mean())

    start = np.log([*asdict(_START).values(), _CALL_START])
    for _ in tqdm(range(4), desc="fits"):  # again from where it stopped, with a new simplex
        start = minimize(wrong, start, method="Nelder-Mead", options={"maxiter": 1500, "xatol": 1e-3, "fatol": 1e-5}).x
    *rates, call = map(float, np.exp(start))
    return Rates(*rates), call


def rows_of(experiment: str, measured: pd.DataFrame, predicted: np.ndarray, rates: Rates, call: float) -> Iterator[Row]:
    """Table `results`."""
    place = {"experiment": experiment, "set": "functions", "target": "this machine", "seed": "0"}
    logarithms = np.log(predicted / measured["seconds"].to_numpy())
    kinds = measured["case"].map({name: case.kind for name, case in CASES.items()}).to_numpy()
    for kind in ("all", *dict.fromkeys(kinds)):
        of_kind = logarithms[(kinds == kind) | (kind == "all")]
        place_of_kind = place | {"method": kind}
        spread = np.exp(np.quantile(of_kind, [0.1, 0.9]))
        yield row(
            place_of_kind,
            Quantity("predicted_over_measured"),
            float(np.exp(np.median(of_kind))),
            *spread,
            len(of_kind),
            over="cases",
        )
        factors = np.exp(np.abs(of_kind))
        numbers = (float(np.median(factors)), *np.quantile(factors, [0.1, 0.9]), len(of_kind))
        yield row(place_of_kind, Quantity("factor_wrong"), *numbers, over="cases")
    rank = float(spearmanr(predicted, measured["seconds"]).statistic)
    yield row(
        place | {"method": "all"}, Quantity("rank_correlation"), rank, np.nan, np.nan, len(measured), over="cases"
    )
    for name, value in {**asdict(rates), "call_seconds": call}.items():
        yield row(place | {"method": name}, Quantity("rate"), value, np.nan, np.nan, len(measured), over="cases")


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "fusion_cost",
    measured: Annotated[Path, typer.Option(help="Table of what was measured.")] = Path("data/fusion_cost/measured.csv"),
    rounds: Annotated[int, typer.Option(help="Of which the fastest counts.")] = 15,
    freeze: Annotated[bool, typer.Option(help="Write the constants that plans of fusion are judged by.")] = False,
) -> None:
    """Measure, fit, publish, and with --freeze write the constants."""
    torch.set_num_threads(1)
    times = measure(measured, rounds)
    graphs = [graph_of(*variant) for variant in zip(times["case"], times["rows"], times["copies"], strict=True)]
    rates, call = fit(graphs, times["seconds"].to_numpy(np.float64))
    table = results(rows_of(output.name, times, predicted_seconds(graphs, rates, call), rates, call))
    print(table[["method", "metric", "value", "low", "high"]].to_string(index=False))
    publish(output, {"results": table}, {"rounds": rounds}, ["benchmarks.fusion_cost"])
    if freeze:
        FROZEN.write_text(json.dumps(asdict(rates), indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
