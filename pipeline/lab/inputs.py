"""The tables of an experiment, which a task evaluates, with the names in their paths (places.py)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from learned_schedulers.blocks.processors.settings import Judge
from learned_schedulers.statistics.bootstrap import Bootstrap
from pipeline.corpus.tables import SETS
from pipeline.lab import chapters, tables
from pipeline.lab.config.intervals import Intervals
from pipeline.lab.places import place
from pipeline.lab.shared_tables import LATENCY, SCHEDULES

Order = tuple[int, ...]
Cycles = dict[tuple[str, Order], float]  # block_id, order -> cycles


@dataclass(frozen=True)
class Scheduled:
    """One table `schedules` and the names in its path."""

    set: str
    target: str
    method: str
    seed: int
    path: Path

    def orders(self) -> dict[str, dict[str, Order]]:
        """Decoder -> block_id -> legal order."""
        table = tables.read(SCHEDULES, self.path, ["block_id", "decoder", "order", "status"])
        table = table[table["status"] == "ok"]
        return {str(decoder): dict(_pairs(rows)) for decoder, rows in table.groupby("decoder", sort=True)}


def _pairs(table: pd.DataFrame) -> Iterator[tuple[str, Order]]:
    """block_id and order of each row."""
    return zip(table["block_id"], (tuple(order.tolist()) for order in table["order"]), strict=True)


class Inputs:
    """Settings and tables of an experiment."""

    def __init__(
        self,
        experiment: str,
        intervals: Intervals,
        judges: Mapping[str, Judge] | None = None,
        dependencies: Mapping[str, str] | None = None,
        **paths: list[Path] | None,
    ) -> None:
        """dependencies: set -> its mode, full without an entry; paths: name of a table -> its files."""
        self.experiment, self.intervals = experiment, intervals
        self.judges, self._dependencies = judges or {}, dependencies or {}
        self._paths = paths

    def paths(self, name: str, **fields: str) -> list[Path]:
        """Sorted paths of the tables of a name, only those with these names in their paths."""
        paths = sorted(self._paths.get(name) or [])
        return [path for path in paths if not fields or fields.items() <= place(path, name).items()]

    def mode(self, name: str) -> str:
        """Dependencies of a set."""
        return self._dependencies.get(name, "full")

    def place(self, name: str, **columns: str) -> dict[str, str]:
        """Columns of table `results`: the experiment, a set with its dependencies, and more."""
        return {"experiment": self.experiment, "set": name, "dependencies": self.mode(name)} | columns

    def bootstrap(self, n_blocks: int) -> Bootstrap:
        """Bootstrap for the experiment's intervals, for numbers of `n_blocks` blocks."""
        return Bootstrap(n_blocks, self.intervals.bootstrap_samples, self.intervals.confidence)

    def every(self, name: str, columns: list[str], block_ids: Iterable[str], **fields: str) -> pd.DataFrame:
        """Rows of these blocks in the tables `name` of all corpora, each block once, indexed by block_id."""
        paths = self.paths(name, **fields)
        if not paths:
            raise ValueError(f"no table {name} is among the inputs; the experiment's task needs one")
        of_blocks = tables.of_blocks(block_ids)
        frames = [tables.read(chapters.tables()[name], path, ["block_id", *columns], of_blocks) for path in paths]
        return pd.concat(frames).drop_duplicates("block_id").set_index("block_id")

    @cached_property
    def members(self) -> dict[str, list[str]]:
        """Set -> its block_ids, ascending: the sequence in which blocks are resampled."""
        by_set = {}
        for path in self.paths("sets"):
            ids = tables.read(SETS, path, ["block_id"])["block_id"]
            if ids.empty:
                raise ValueError(f"{path}: the set has no block; make it anew")
            by_set[place(path, "sets")["set"]] = sorted(ids)
        return by_set

    @cached_property
    def graphs(self) -> dict[str, pd.DataFrame]:
        """Set -> rows of table `dags`, indexed by block_id, in the sequence of `members`.

        Raises ValueError for a block without a DAG.
        """
        columns = ["n_instructions", "before", "after", "n_legal_orders"]
        by_set: dict[str, pd.DataFrame] = {}
        for mode in sorted({self.mode(name) for name in self.members}):
            ids = {name: blocks for name, blocks in self.members.items() if self.mode(name) == mode}
            graphs = self.every("dags", columns, chain(*ids.values()), dependencies=mode)
            for name, blocks in ids.items():
                if missing := sorted(set(blocks) - set(graphs.index)):
                    raise ValueError(
                        f"{len(missing)} blocks of {name} have no DAG, {missing[0]} first; make DAGs and sets anew"
                    )
                by_set[name] = graphs.loc[blocks]
        return by_set

    def lengths(self, name: str) -> pd.Series:
        """block_id -> instructions, of the blocks of a set."""
        return self.graphs[name]["n_instructions"]

    def scheduled(self) -> list[Scheduled]:
        """Tables `schedules`, sorted by set, target, method and seed."""
        schedules = []
        for path in self.paths("schedules"):
            names = place(path, "schedules")
            schedules.append(Scheduled(names["set"], names["target"], names["method"], int(names["seed"]), path))
        return sorted(schedules, key=lambda schedule: (schedule.set, schedule.target, schedule.method, schedule.seed))

    def judged(self) -> Iterator[tuple[str, str, Cycles]]:
        """Set, judge and cycles of orders (NaN: unknown to the judge), for each table `latency` with rows."""
        for path in tqdm(self.paths("latency"), "judged", unit="table", file=sys.stderr):
            names = place(path, "latency")
            table = tables.read(LATENCY, path, ["block_id", "order", "cycles", "status"])
            if len(table):
                cycles = table["cycles"].where(table["status"] == "ok", np.nan)
                yield names["set"], names["judge"], dict(zip(_pairs(table), cycles, strict=True))
