"""Check that every number keeps its value under its new key: results with the old columns against those with the new.

Metric names used to encode the judge, the baseline, lengths and iterations (`cycles_ratio_to_gcc_haswell_100`); now
columns do. `python -m benchmarks.renamed_results old/results.csv new/results.csv` translates the old keys and lists
every number that has another value or is on one side alone.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

KEY = [
    "experiment", "set", "dependencies", "target", "method", "decoder", "seed", "metric", "comparison", "baseline",
    "judge", "lengths", "iterations", "unit",
]  # fmt: skip
COLUMNS = [*KEY, "value", "low", "high", "interval_of", "n"]

_JUDGES = r"(?P<judge>atom|silvermont|btver2|haswell_100|haswell|skylake|znver4|haswell_5)"
_RULES: list[tuple[str, dict[str, str]]] = [  # pattern of an old metric -> columns; named groups fill columns, too
    (
        r"cycles_per_iteration_haswell_minus_(?P<baseline>\w+)",
        {"metric": "cycles", "judge": "haswell_100", "comparison": "difference"},
    ),
    (
        r"single_pass_cycles_atom_minus_(?P<baseline>\w+)",
        {"metric": "cycles", "judge": "atom", "comparison": "difference"},
    ),
    (r"cycles_per_iteration_haswell", {"metric": "cycles", "judge": "haswell_100"}),
    (r"single_pass_cycles_atom", {"metric": "cycles", "judge": "atom"}),
    (r"rank_correlation_with_hardware_(?P<judge>\w+)", {"metric": "rank_correlation", "baseline": "hardware"}),
    (r"hardware_(?P<metric>\w+)", {"judge": "hardware"}),
    (
        r"cycles_ratio_to_gcc_hardware(_(?P<target>\w+))?",
        {"metric": "cycles", "comparison": "ratio", "baseline": "gcc", "judge": "hardware"},
    ),
    (rf"cycles_ratio_to_(?P<baseline>gcc|best)_{_JUDGES}", {"metric": "cycles", "comparison": "ratio"}),
    (rf"mean_cycles_ratio_to_gcc_{_JUDGES}", {"metric": "mean_cycles", "comparison": "ratio", "baseline": "gcc"}),
    (rf"fewer_cycles_than_gcc_share_{_JUDGES}", {"metric": "fewer_cycles_share", "baseline": "gcc"}),
    (rf"as_many_cycles_as_gcc_share_{_JUDGES}", {"metric": "equal_cycles_share", "baseline": "gcc"}),
    (rf"more_cycles_than_gcc_share_{_JUDGES}", {"metric": "more_cycles_share", "baseline": "gcc"}),
    (rf"gcc_order_share_{_JUDGES}", {"metric": "same_order_share", "baseline": "gcc"}),
    (r"proven_optimal_share_up_to_20", {"metric": "proven_optimal_share", "lengths": "2-20"}),
    (r"speedup_over_(?P<baseline>\w+?)_(?P<lengths>\d+)", {"metric": "speedup", "comparison": "ratio"}),
    (r"(?P<metric>\w+?)_(?P<lengths>\d+)_after_(?P<iterations>\d+)", {}),
    (r"(?P<metric>\w+)_minus_(?P<baseline>none|popocs_extrapolated)_(?P<lengths>\d+)", {"comparison": "difference"}),
    (r"(?P<metric>\w+)_minus_(?P<baseline>\w+)", {"comparison": "difference"}),
]
_OF_LENGTH = r"(?P<metric>\w+?)_(?P<lengths>5|6|10|20|40|63|64)"  # of the experiments on operators alone
_UNITS = {
    "violations_per_block": "dependencies",
    "microseconds_per_block": "microseconds",
    "seconds_per_batch": "seconds",
    "peak_memory_mb": "MB",
    "peak_memory_gb": "GB",
    "weights_bytes": "bytes",
    "blocks_per_second": "blocks/s",
    "instructions_per_second": "instructions/s",
    "wall_over_objdump": "ratio",
    **dict.fromkeys(["parameters", "train_blocks", "blocks", "orders", "states", "aliased_states"], "count"),
    **dict.fromkeys(["state_runs", "swaps", "different", "undefined_flags_differ"], "count"),
    **dict.fromkeys(["residual_median", "residual_max", "residual_p99", "growth_exponent", "gap"], "1"),
    **dict.fromkeys(["benchmark_residual_median", "benchmark_residual_max"], "1"),
    **dict.fromkeys(["repeat_cv_median", "repeat_cv_mean", "rank_correlation"], "1"),
    **dict.fromkeys(["gcc_cycles_median", "fence_cycles_median"], "cycles"),
}


def renamed(old: pd.DataFrame) -> pd.DataFrame:
    """Rows of the old table `results` under their new keys; all columns but numbers are strings."""
    rows = [_row(row) for row in old.to_dict("records")]
    table = pd.DataFrame(rows)
    seeds = table[table["seed"] != "all"].groupby([c for c in KEY if c != "seed"])["seed"].nunique()
    several = table.set_index([c for c in KEY if c != "seed"]).index.map(seeds).to_numpy()
    both = (table["seed"] == "all") & (pd.Series(several).fillna(1).to_numpy() > 1)
    over = pd.Series("blocks", table.index).mask(both, "blocks and seeds")
    over = over.mask(table["experiment"].isin(["processors_speed", "imitation_speed"]), "rounds")
    over = over.mask(table["experiment"] == "ingest", "runs")
    table["interval_of"] = over.where(table["low"].notna(), "none")
    return table[COLUMNS]


def _row(old: dict) -> dict:
    columns = dict.fromkeys(KEY, "none") | {"lengths": "all", "comparison": "value"}
    metric, experiment, of = str(old["metric"]), str(old["experiment"]), str(old["split"])
    columns["metric"] = metric
    rules = [*_RULES, (_OF_LENGTH, {})] if experiment in ("operator", "operator_decoding") else _RULES
    for pattern, fixed in rules:
        if match := re.fullmatch(pattern, metric):
            columns |= fixed | {name: text for name, text in match.groupdict().items() if text is not None}
            break
    columns |= {name: str(old[name]) for name in ("dependencies", "decoder", "seed")}
    columns |= {"experiment": experiment, "set": of, "method": str(old["scheduler"])}
    if experiment == "latency":
        columns["experiment"] = "processors"
        if columns["judge"] == "hardware" or columns["metric"] == "rank_correlation":
            columns["experiment"] = "hardware"
        elif metric == "microseconds_per_block":
            columns |= {"experiment": "processors_speed", "target": "atom"}
        elif columns["metric"] == "proven_optimal_share":
            columns |= {"judge": "atom", "target": "atom"}
        else:
            columns["target"] = columns["judge"].split("_")[0]
    elif experiment == "operator":
        columns["experiment"] = "residuals" if columns["iterations"] != "none" or _fresh(metric) else "operator_speed"
    elif experiment == "imitation" and metric == "blocks_per_second":
        columns["experiment"] = "imitation_speed"
    elif experiment == "operator_learning" and of == "development":
        columns["experiment"] = "operator_learning_attribution"
    if of in ("test", "development") and experiment in ("quick", "paper", "operator_learning"):
        columns["set"] = f"{of}_5" + ("_paper" if columns["dependencies"] == "paper" else "")
    if experiment.startswith("imitation") or experiment in ("quick", "paper", "operator_learning"):
        columns["target"] = "gcc"
    columns["unit"] = _unit(columns)
    number = {name: float(old[key]) for name, key in (("value", "value"), ("low", "ci_low"), ("high", "ci_high"))}
    return columns | number | {"n": int(old["n_blocks"])}


def _fresh(metric: str) -> bool:
    return metric.startswith(("residual_", "within_share_", "straggler_share_"))


def _unit(columns: dict[str, str]) -> str:
    if columns["comparison"] == "ratio":
        return "ratio"
    if columns["metric"] in ("cycles", "mean_cycles"):
        return "cycles per iteration" if columns["judge"].endswith("_100") else "cycles"
    return _UNITS.get(columns["metric"], "share")


def read(path: Path) -> pd.DataFrame:
    """A table of results, old or new, numbers as numbers and all else as strings."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    numbers = [name for name in ("value", "low", "high", "ci_low", "ci_high") if name in table]
    return table.assign(**{name: pd.to_numeric(table[name].replace("", None)) for name in numbers})


def differences(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Rows of either table whose key is missing in the other table, or whose numbers differ."""
    both = renamed(old).merge(new, "outer", on=KEY, suffixes=("_before", "_now"), indicator=True)
    wrong = both["_merge"] != "both"
    for name in ("value", "low", "high"):
        before, now = both[f"{name}_before"], both[f"{name}_now"]
        wrong |= (before != now) & ~(before.isna() & now.isna())
    return both[wrong]


def main(
    old: Annotated[Path, typer.Argument(help="results.csv with the columns of before.")],
    new: Annotated[Path, typer.Argument(help="results.csv with the columns of now.")],
    experiments: Annotated[str, typer.Option(help="Only these, by commas; all by default.")] = "",
) -> None:
    """List all differences; the exit code is 1 if there are any."""
    before, now = read(old), read(new)
    if experiments:
        selected = experiments.split(",")
        keys = renamed(before)["experiment"]
        before, now = before[keys.isin(selected).to_numpy()], now[now["experiment"].isin(selected)]
    differing = differences(before, now)
    print(f"{len(before)} numbers before, {len(now)} now, {len(differing)} that differ")
    if len(differing):
        print(differing.to_csv(index=False))
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
