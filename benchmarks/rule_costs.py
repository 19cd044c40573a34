"""Memory and time of every rule's jobs -> pipeline/lab/rules/resources.csv: `python -m benchmarks.rule_costs`.

Snakemake measures each job (benchmarks/rules/<rule>/). A rule is declared with 1.5 times the largest memory that one of
its jobs had, in steps of 500 MB, and four times the longest of their times, at least 15 minutes: other machines are
slower, other corpora larger. A rule that has no measurement in the folder keeps its line; a new one gets a line with
DEFAULT, to be measured. `--of` names what was run: `reproduce`, or an experiment. With `--tiny`, of the tests' corpus,
rules that were measured elsewhere keep their lines, and the others are declared with DEFAULT at least.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from learned_schedulers.files import replacing

TABLE = Path("pipeline/lab/rules/resources.csv")
COLUMNS = ["rule", "mem_mb", "minutes", "gpus", "jobs", "measured_mb", "measured_seconds", "run"]
DEFAULT: dict[str, Any] = {
    "mem_mb": 4000,
    "minutes": 12 * 60,
    "gpus": 0,
    "jobs": 0,
    "measured_mb": 0,
    "measured_seconds": 0,
    "run": "",
}
_MORE_MEMORY, _STEP_MB = 1.5, 500
_MORE_TIME, _LEAST_MINUTES = 4, 15


def measured(folder: Path) -> pd.DataFrame:
    """Jobs, largest memory (MB, resident) and longest time (s) of every rule that has measurements in `folder`."""
    jobs = [
        {"rule": rule.name.removesuffix(".tsv"), "seconds": row.s, "mb": row.max_rss}
        for rule in sorted(folder.iterdir())
        for path in ([rule] if rule.is_file() else sorted(rule.rglob("*.tsv")))
        for row in pd.read_csv(path, sep="\t").itertuples()
    ]
    frame = pd.DataFrame(jobs, columns=["rule", "seconds", "mb"])
    frame["mb"] = pd.to_numeric(frame["mb"], errors="coerce").fillna(0)  # a job of milliseconds has none
    return frame.groupby("rule").agg(
        jobs=("mb", "size"), measured_mb=("mb", "max"), measured_seconds=("seconds", "max")
    )


def declared(rule: str, costs: Any, run: str, tiny: bool = False) -> dict[str, Any]:
    """The line of a rule with these measurements, a row of `measured`."""
    least_mb, least_minutes = (DEFAULT["mem_mb"], DEFAULT["minutes"]) if tiny else (_STEP_MB, _LEAST_MINUTES)
    return {
        "rule": rule,
        "mem_mb": max(least_mb, math.ceil(costs.measured_mb * _MORE_MEMORY / _STEP_MB) * _STEP_MB),
        "minutes": max(least_minutes, math.ceil(costs.measured_seconds * _MORE_TIME / 60)),
        "gpus": 0,
        "jobs": int(costs.jobs),
        "measured_mb": round(costs.measured_mb),
        "measured_seconds": round(costs.measured_seconds),
        "run": run,
    }


def lines(
    rules: list[str], earlier: pd.DataFrame, costs: pd.DataFrame, run: str, tiny: bool = False
) -> Iterator[dict[str, Any]]:
    """A line for each rule, in their sequence. The more demanding of an earlier line and a measured one stays."""
    present = {
        str(line["rule"]): {str(key): value for key, value in line.items()} for line in earlier.to_dict("records")
    }
    for rule in rules:
        line = present.get(rule, {"rule": rule, **DEFAULT})
        for row in costs[costs.index == rule].itertuples():
            now = declared(rule, row, run, tiny)
            if line["run"] in ("", run) or (not tiny and now["mem_mb"] > line["mem_mb"]):
                line = now
        yield line


def rules() -> list[str]:
    """Names of the rules of all chapters, those that vary another's among them."""
    pattern = re.compile(r"^(?:use rule \w+ as|rule) (\w+)", re.MULTILINE)
    return sorted(name for path in Path("pipeline").rglob("*.smk") for name in pattern.findall(path.read_text()))


def main(
    of: Annotated[str, typer.Option(help="What was run: reproduce, or an experiment.")],
    tiny: Annotated[bool, typer.Option(help="The tests' corpus was run, not a real one.")] = False,
    folder: Annotated[Path, typer.Option(help="Snakemake's measurements.")] = Path("benchmarks/rules"),
    table: Annotated[Path, typer.Option(help="Table to renew.")] = TABLE,
) -> None:
    """Renew the declared memory and time of the rules that were measured."""
    earlier = pd.read_csv(table, keep_default_na=False) if table.exists() else pd.DataFrame(columns=COLUMNS)
    renewed = pd.DataFrame(lines(rules(), earlier, measured(folder), of, tiny), columns=COLUMNS)
    with replacing(table) as temporary:
        renewed.to_csv(temporary, index=False)
    print(renewed.to_string(index=False))


if __name__ == "__main__":
    typer.run(main)
