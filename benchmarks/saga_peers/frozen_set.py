"""The frozen set `adversarial_small`: for each of our methods, the graphs that a search showed to be worst for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from benchmarks.saga_peers.adversarial import COLD, COOLING, DEVICES, HOT, LINK, worst
from benchmarks.saga_peers.peers import FEW, OURS, SEVERAL, seconds_of
from learned_schedulers.files import replacing
from learned_schedulers.graphs.devices.judging import FROZEN
from learned_schedulers.graphs.devices.settings import LINKS
from learned_schedulers.graphs.devices.targets import Target, linked
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.graphs.read.workloads import read_workload

SET = "adversarial_small"
FOLDER = FROZEN / SET
MEMBERS = FROZEN / "graph_members.csv"
SEED, WALKS = 0, 4  # walks of the search for each method


def search(methods: Sequence[str]) -> None:
    """Write the worst graph of every walk for these methods, `<method>_<walk>.json`; then freeze the whole folder."""
    for method in methods:
        number = list(OURS).index(method)
        for walk in tqdm(range(WALKS), desc=method):
            seed = [SEED, number, walk]
            ratio, instance = worst(
                lambda target, method=method, seed=seed: seconds_of(method, target, seed, SEVERAL),
                np.random.default_rng(seed),
            )
            searched: dict[str, Any] = {"method": method, "seed": seed, "schedules": FEW, "ratio": round(ratio, 6)}
            searched |= {"hot": HOT, "cold": COLD, "cooling": COOLING, "link": LINK}
            with replacing(FOLDER / f"{method}_{walk}.json") as temporary:
                temporary.write_text(instance.workload(searched))
    freeze()


def freeze() -> None:
    """Put the graphs of the folder among the members of frozen sets, instead of those that are there.

    The copy that strangers compare on follows by `snakemake data/graphs/sets/adversarial_small.parquet` and
    `python -m benchmarks.bench_instances`.
    """
    members = pd.read_csv(MEMBERS, dtype=str)
    rows = [
        {"set": SET, "graph_id": graph.graph_id, "name": graph.name, "family": graph.family, "variant": graph.variant}
        | {"operations": str(len(graph)), "edges": str(len(graph.children.targets))}
        for graph in graphs()
    ]
    others = members[members["set"] != SET]
    table = pd.concat([others, pd.DataFrame(rows, columns=members.columns)])
    with replacing(MEMBERS) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")


def graphs(folder: Path = FOLDER) -> list[Graph]:
    """The graphs of the set, by name. Raises WorkloadError for a damaged file, ValueError if there is none."""
    if not (paths := sorted(folder.glob("*.json"))):
        raise ValueError(f"{folder}: no graphs; restore them from git, or run `python -m benchmarks.saga_peers search`")
    return [read_workload(path).graph for path in paths]


def searched_for(graph: Graph) -> str:
    """The method that the graph is worst for."""
    return re.sub(r"_\d+$", "", graph.name)


def targets() -> Iterator[tuple[Graph, Target]]:
    """Every graph, and its target."""
    for graph in graphs():
        yield graph, linked(problem_of(graph, DEVICES), LINKS[LINK])
