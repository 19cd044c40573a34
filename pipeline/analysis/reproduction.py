"""Schedules, DAGs, splits and latencies -> the tidy table of every number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import astuple, dataclass

import numpy as np
import pandas as pd

from pipeline.analysis.metrics import per_block
from pipeline.analysis.statistics import Bootstrap
from pipeline.config.dags import Dependencies
from pipeline.config.evidence import Intervals
from pipeline.config.machines import Machine
from pipeline.tables import SCHEMAS

SPLIT = "test"
# Which schedulers are compared in what, block by block, with which other one.
COMPARISONS: list[tuple[str, list[str], list[str]]] = [
    (
        "sinkhorn",
        ["popocs_20", "popocs_40", "popocs_60", "popocs_150", "popocs_extrapolated", "popocs_nearest"],
        ["exact_match", "kendall_tau_distance", "violations_per_block", "valid_share"],
    ),
    ("popocs_20", ["popocs_40", "popocs_60", "popocs_150"], ["valid_share"]),
]

Cycles = dict[tuple[str, bytes], float]  # (block_id, int16 bytes of the order) -> cycles, NaN where unsupported
Values = dict[int, np.ndarray]  # seed -> one number per test block, NaN where the block does not enter


@dataclass(frozen=True)
class Schedules:
    """One table `schedules` and what its place says of it."""

    dependencies: Dependencies
    scheduler: str
    seed: int
    table: pd.DataFrame


def evaluate(
    experiment: str,
    dags: dict[Dependencies, pd.DataFrame],
    splits: dict[Dependencies, pd.DataFrame],
    schedules: Iterable[Schedules],
    latency: dict[str, pd.DataFrame],
    machines: dict[str, Machine],
    settings: Intervals,
) -> pd.DataFrame:
    """Table `results` of one experiment: every metric of every scheduler, decoder and seed, sorted.

    Seed `all` is the mean over seeds (see `statistics`). `<metric>_minus_gcc` is the mean difference to GCC's
    own order, block by block, over the blocks that enter `<metric>`; `<metric>_minus_<scheduler>` the same to
    another scheduler with the same decoder and seed. Cycles are of blocks whose schedule is valid and known to
    the machine's model; a machine whose table is empty has no rows. `train_blocks` counts the training blocks of
    schedulers that have a decoder, that is, of the trained ones.
    Raises ValueError for schedules, DAGs and latencies that do not belong together.
    """
    tests = {mode: _test_blocks(dags[mode], splits[mode]) for mode in sorted(dags)}
    cycles = {machines[name].metric: _cycles(table) for name, table in sorted(latency.items()) if len(table)}
    values: dict[tuple[Dependencies, str, str], dict[str, Values]] = defaultdict(lambda: defaultdict(dict))
    for part in schedules:
        for decoder, found in _by_decoder(part, tests[part.dependencies]).items():
            numbers_of = per_block(found, tests[part.dependencies])
            for metric, known in cycles.items():
                numbers_of |= _latencies(metric, found, tests[part.dependencies], known)
            for metric, numbers in numbers_of.items():
                values[part.dependencies, part.scheduler, decoder][metric][part.seed] = numbers

    rows: list[tuple] = []
    bootstraps = {mode: Bootstrap(len(t), settings.bootstrap_samples, settings.confidence) for mode, t in tests.items()}
    for (mode, scheduler, decoder), measured in values.items():
        baselines = {name: values[mode, name, decoder] for name, *_ in COMPARISONS if (mode, name, decoder) in values}
        for metric, by_seed in (measured | _differences(scheduler, measured, baselines)).items():
            each, over_seeds = bootstraps[mode].estimates(np.stack(list(by_seed.values())))
            for seed, estimate in zip([*by_seed, "all"], [*each, over_seeds], strict=True):
                rows.append((experiment, mode, SPLIT, scheduler, decoder, str(seed), metric, *astuple(estimate)))
    for mode, scheduler in sorted({(mode, scheduler) for mode, scheduler, decoder in values if decoder != "none"}):
        n = int((splits[mode]["split"] == "training").sum())
        rows.append((experiment, mode, SPLIT, scheduler, "none", "all", "train_blocks", n, np.nan, np.nan, n))
    table = pd.DataFrame(rows, columns=SCHEMAS["results"].names)
    return table.sort_values(table.columns[:7].tolist()).reset_index(drop=True)


def _test_blocks(dags: pd.DataFrame, splits: pd.DataFrame) -> pd.DataFrame:
    """DAGs of the test blocks, indexed and sorted by block_id."""
    wanted = splits.loc[splits["split"] == SPLIT, "block_id"].sort_values()
    if wanted.empty:
        raise ValueError(f"there is no block in split {SPLIT}; make the splits anew")
    missing = sorted(set(wanted) - set(dags["block_id"]))
    if missing:
        raise ValueError(f"{len(missing)} test blocks have no DAG, {missing[0]} first; make DAGs and splits anew")
    return dags.set_index("block_id").loc[wanted]


def _by_decoder(part: Schedules, blocks: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Orders and status of every decoder, in the rows of `blocks`; each must have each block once."""
    found = {}
    for decoder, rows in part.table.groupby("decoder"):
        ids = rows["block_id"]
        if len(ids) != len(blocks) or ids.duplicated().any() or not ids.isin(blocks.index).all():
            raise ValueError(
                f"schedules of {part.scheduler} (dependencies {part.dependencies}, decoder {decoder}, seed {part.seed})"
                f" are of other blocks than the {len(blocks)} of split {SPLIT}; schedule again"
            )
        found[str(decoder)] = rows.set_index("block_id")[["order", "status"]].loc[blocks.index]
    return found


def _key(order: np.ndarray) -> bytes:
    return np.asarray(order, np.int16).tobytes()


def _cycles(table: pd.DataFrame) -> Cycles:
    keys = zip(table["block_id"], map(_key, table["order"]), strict=True)
    return dict(zip(keys, table["cycles"].where(table["status"] == "ok"), strict=True))


def _latencies(metric: str, found: pd.DataFrame, blocks: pd.DataFrame, known: Cycles) -> dict[str, np.ndarray]:
    """Cycles of the valid schedules, and their difference to GCC's order, each (B,) with NaN for the others."""
    own, gcc = np.full(len(found), np.nan), np.full(len(found), np.nan)
    columns = zip(found.index, found["order"], found["status"], blocks["n_instructions"], strict=True)
    for row, (block, order, status, n) in enumerate(columns):
        if status == "ok":
            try:
                own[row] = known[block, _key(order)]
                gcc[row] = known[block, _key(np.arange(n))]
            except KeyError:
                raise ValueError(f"block {block} has an order whose {metric} is not known; simulate again") from None
    return {metric: own, f"{metric}_minus_gcc": own - gcc}


def _differences(
    scheduler: str, measured: dict[str, Values], baselines: dict[str, dict[str, Values]]
) -> dict[str, Values]:
    """Metric less the baseline's, block by block and seed by seed, for the COMPARISONS of `scheduler`."""
    found: dict[str, Values] = {}
    for baseline, schedulers, metrics in COMPARISONS:
        if scheduler in schedulers and baseline in baselines:
            for metric in metrics:
                other = baselines[baseline][metric]
                seeds = [seed for seed in measured[metric] if seed in other]
                if seeds:
                    found[f"{metric}_minus_{baseline}"] = {seed: measured[metric][seed] - other[seed] for seed in seeds}
    return found
