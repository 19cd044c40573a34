"""Rows of tables `results` and `parts`, with defaults for columns that do not apply, and units by metric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from learned_schedulers.statistics.bootstrap import Bootstrap, Estimate
from pipeline.lab.shared_tables import KEY, PARTS, RESULTS

Row = dict[str, Any]
Place = Mapping[str, str]  # columns of table `results` that say what a number is of
Transform = Callable[[Any], Any]  # of numbers or arrays
_DEFAULTS = dict.fromkeys(KEY, "none") | {"set": "all", "dependencies": "full", "lengths": "all", "comparison": "value"}
_OF_PART = dict.fromkeys(("target", "method", "decoder", "baseline", "judge"), "none") | {
    "seed": "all",
    "comparison": "value",
    "confidence": np.nan,
}
_UNITS = {  # of metrics that are no shares
    "cycles": "cycles",
    "violations_per_block": "dependencies",
    "microseconds_per_block": "microseconds",
    "seconds_per_batch": "seconds",
    "peak_memory_mb": "MB",
    "peak_memory_gb": "GB",
    "weights_bytes": "bytes",
    "program_bytes": "bytes",
    "blocks_per_second": "blocks/s",
    "instructions_per_second": "instructions/s",
    "wall_over_objdump": "ratio",
    **dict.fromkeys(["program_over_allowed", "processor_time_over_objdump"], "ratio"),
    **dict.fromkeys(["program_seconds", "program_objdump_seconds"], "seconds"),
    **dict.fromkeys(["parameters", "train_blocks", "blocks", "series", "orders", "states", "aliased_states"], "count"),
    **dict.fromkeys(["members_placed"], "count"),
    **dict.fromkeys(["state_runs", "swaps", "different", "undefined_flags_differ"], "count"),
    **dict.fromkeys(["residual_median", "residual_max", "residual_p99", "growth_exponent", "gap"], "1"),
    **dict.fromkeys(["benchmark_residual_median", "benchmark_residual_max"], "1"),
    **dict.fromkeys(["repeat_cv_median", "repeat_cv_mean", "rank_correlation", "rank_correlation_ceiling"], "1"),
    **dict.fromkeys(["gcc_cycles_median", "fence_cycles_median"], "cycles"),
}


class Quantity(NamedTuple):
    """A measured quantity: columns of table `results`."""

    metric: str
    comparison: str = "value"
    baseline: str = "none"
    judge: str = "none"
    lengths: str = "all"
    unit: str = ""  # empty: the unit of the metric (_UNITS)


def row(
    place: Place,
    quantity: Quantity | str,
    value: float,
    low: float = np.nan,
    high: float = np.nan,
    n: int = 0,
    over: str = "blocks",
    **columns: str,
) -> Row:
    """A row of table `results`.

    place, columns: any of its columns; over: what the interval is over, if there is one.
    """
    quantity = Quantity(quantity) if isinstance(quantity, str) else quantity
    filled = _DEFAULTS | quantity._asdict() | dict(place) | columns
    if not filled["unit"]:
        filled["unit"] = "ratio" if filled["comparison"] == "ratio" else _UNITS.get(filled["metric"], "share")
    numbers = {"value": value, "low": low, "high": high, "n": n}
    return filled | numbers | {"interval_of": "none" if np.isnan(low) else over}


def estimated(
    place: Place, quantity: Quantity, by_seed: Mapping[Any, np.ndarray], bootstrap: Bootstrap, back: Transform = float
) -> list[Row]:
    """A row of the mean over blocks for each seed, and one over the seeds.

    by_seed: seed -> a number for each block, NaN if the block does not enter; back: transforms means and intervals.
    """
    each, over_seeds = bootstrap.estimates(np.stack(list(by_seed.values())))
    rows = [_estimate(place, quantity, numbers, back, seed=str(s)) for s, numbers in zip(by_seed, each, strict=True)]
    over = "blocks and seeds" if len(rows) > 1 else "blocks"
    return [*rows, _estimate(place, quantity, over_seeds, back, over)]


def over_families(
    place: Place, quantity: Quantity, by_seed: Mapping[Any, np.ndarray], bootstrap: Bootstrap, back: Transform = float
) -> Row:
    """The row over the seeds alone, with an interval over families of graphs, and over seeds if there are several."""
    result = estimated(place, quantity, by_seed, bootstrap, back)[-1]
    if result["unit"] == "share" and result["comparison"] == "value":  # an interval over few families may leave 0 to 1
        result |= {end: float(np.clip(result[end], 0, 1)) for end in ("low", "high")}
    return result | {"interval_of": families(result["low"], len(by_seed))}


def families(low: float, n_seeds: int) -> str:
    """What an interval over families of graphs is of; `low` is NaN without an interval."""
    return "none" if np.isnan(low) else "families and seeds" if n_seeds > 1 else "families"


def of_seed(by_seed: Mapping[int, Any], seed: int) -> Any:
    """The entry of this seed; the first one of a method that does not have it."""
    return by_seed[seed] if seed in by_seed else next(iter(by_seed.values()))


def once(place: Place, quantity: Quantity, values: np.ndarray, bootstrap: Bootstrap, back: Transform = float) -> Row:
    """The row of seed `all`, of numbers without seeds, one for each block."""
    return _estimate(place, quantity, bootstrap.estimates(values[None])[1], back)


def _estimate(
    place: Place, quantity: Quantity, estimate: Estimate, back: Transform, over: str = "blocks", seed: str = "all"
) -> Row:
    value, low, high = (float(back(number)) for number in (estimate.value, estimate.low, estimate.high))
    return row(place, quantity, value, low, high, estimate.n, over, seed=seed)


def results(rows: Iterable[Row]) -> pd.DataFrame:
    """Table `results` of rows, sorted by their key."""
    table = pd.DataFrame(list(rows), columns=RESULTS.schema.names)
    return table.sort_values(KEY, ignore_index=True)


def ranges(values: np.ndarray, ends: Sequence[float]) -> Iterator[tuple[int, str, np.ndarray]]:
    """Rank, name and members of the ranges that begin at `ends`: `2-3`, `4`, `1e+03+`; a range may be empty."""
    number = np.searchsorted(ends, values, "right") - 1
    for rank, low in enumerate(ends):
        high = ends[rank + 1] - 1 if rank + 1 < len(ends) else None
        name = f"{low:.3g}+" if high is None else f"{low}" if high == low else f"{low:.3g}-{high:.3g}"
        yield rank, name, np.flatnonzero(number == rank)


def part(
    place: Mapping[str, Any], by: str, name: str, rank: int, numbers: tuple[float, float, float], n: int, **columns: Any
) -> dict[str, Any]:
    """A row of table `parts`; numbers: value, low, high; place, columns: any other of its columns."""
    value, low, high = numbers
    whole = {**_OF_PART, **place, **columns, "by": by, "part": name, "rank": rank, "n": n}
    return whole | {"value": value, "low": low, "high": high}


def parts(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Table `parts` of rows."""
    return pd.DataFrame(list(rows), columns=PARTS.schema.names)
