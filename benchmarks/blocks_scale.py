"""From blocks in files to dependency DAGs and splits, 1 to 30 million of them: `python -m benchmarks.blocks_scale`.

Each corpus is a source of kind `bhive`: real blocks of the pinned sources, and variants of them that stay different
after masking (benchmarks/made_blocks.py); the number of distinct blocks is counted in the table that is made. What is
measured is what a user types, `snakemake data/splits/full.parquet`, on two cores, in a copy of this repository:
fetch, manifest, ingest, deduplicate, join_partitions, dags, split, with Snakemake's own checksums. There is one shard
and one partition for each 2.5 million blocks, but at least two, as many as cores.

Memory is that of Snakemake and of all processes below it. Seconds of the processor are the better measure where others
use the machine.
The exponent of growth is the slope of a least-squares line through the logarithms of seconds and blocks of all sizes;
its interval are the slopes with one of the sizes left out.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
import yaml

from benchmarks import made_blocks
from benchmarks.publishing import PUBLISHED, publish
from benchmarks.watching import Cost, run, watched
from pipeline.corpus.tables import BLOCKS, DAGS
from pipeline.lab import tables
from pipeline.lab.config import files
from pipeline.lab.growth import exponent
from pipeline.lab.places import path
from pipeline.lab.rows import Quantity, Row, results, row
from pipeline.lab.stages.numba_files import kernels
from pipeline.lab.table import Table

ROOT = Path(__file__).parents[1]
MILLIONS = (1, 3, 10, 30)
BLOCKS_A_JOB = 2_500_000
CORES = 2
SEED = 20190623
TARGET = path("splits", dependencies="full")
_UNITS = {"blocks": "count", "peak_memory_gb": "GB", "seconds": "seconds", "processor_seconds": "seconds"}
# Rule -> patterns of the files that its jobs read and write.
_FILES = {
    "fetch": (["made/*.csv"], ["data/raw/made"]),
    "manifest": (["data/raw/made"], ["data/corpus/manifest.parquet"]),
    "ingest": (["made/*.csv"], ["data/corpus/shards/*/*.parquet"]),
    "deduplicate": (["data/corpus/shards/*/*.parquet"], ["data/corpus/partitions/*.parquet"]),
    "join_partitions": (["data/corpus/partitions/*.parquet"], ["data/corpus/released/blocks.parquet"]),
    "dags": (["data/corpus/released/blocks.parquet"], ["data/dags/released/full.parquet"]),
    "split": (["data/corpus/released/blocks.parquet", "data/dags/released/full.parquet"], [TARGET]),
}


def copy_of_repository(folder: Path) -> None:
    """The files that git knows, without pages, and numba's compiled code, which knows its sources by time and size."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    compiled = [str(file.relative_to(ROOT)) for file in kernels(ROOT)]
    for name in [*filter(None, listed.split("\0")), *compiled]:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def settings_of(params: Path, jobs: int) -> dict[str, Any]:
    """Parameters whose only source is the made corpus."""
    contents = files.read(params)
    contents["corpus"] |= {"sources": {"made": {"kind": "bhive", "include": ["made/*.csv"]}}, "shards": jobs}
    contents["split"]["sources"] = ["made"]
    return contents


def size_of(folder: Path, patterns: list[str]) -> int:
    """Bytes of all files of these patterns."""
    return sum(file.stat().st_size for pattern in patterns for file in folder.glob(pattern))


def _seconds_to_write(table: Table, file: Path) -> float:
    """Seconds of the processor, in the one thread that writes a table row group by row group."""
    groups = tables.RowGroups(table, file)
    before = time.thread_time()
    with tables.writing(table, file.with_suffix(".copy")) as append:
        for group in groups:
            append(group)
    file.with_suffix(".copy").unlink()
    return time.thread_time() - before


def _rule_rows(folder: Path, blocks: int, cost: Cost) -> list[dict[str, Any]]:
    """Rows of table scale_rules. Wall seconds are those of Snakemake's own benchmark files."""
    rule_rows = []
    dags = folder / path("dags", dependencies="full")
    shared_out = {"ingest": 0.0, "deduplicate": 0.0, "dags": _seconds_to_write(DAGS, dags)}
    for rule, (read, written) in _FILES.items():
        benchmark = folder / "benchmarks/rules" / rule
        reports = sorted(benchmark.rglob("*.tsv")) or [benchmark.with_suffix(".tsv")]
        seconds = sum(float(pd.read_csv(report, sep="\t")["s"].iloc[0]) for report in reports)
        processes = cost.of_stage.get(rule, [])
        processor_seconds = sum(process.processor_seconds for process in processes)
        rule_rows.append(
            {
                "blocks": blocks,
                "rule": rule,
                "jobs": len(reports),
                "seconds": seconds,
                "processor_seconds": processor_seconds,
                "serial_seconds": shared_out.get(rule, processor_seconds),
                "peak_memory_gb": max((process.resident for process in processes), default=0) / 1e9,
                "bytes_read": size_of(folder, read),
                "bytes_written": size_of(folder, written),
            }
        )
    return rule_rows


def measured(real: made_blocks.Real, n_blocks: int, scratch: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A row of table scale_sizes and the rows of table scale_rules, of a corpus that is made and removed again."""
    folder, jobs = scratch / f"corpus_{n_blocks}", max(CORES, round(n_blocks / BLOCKS_A_JOB))
    copy_of_repository(folder)
    made_blocks.write(real, n_blocks, folder / "made")
    (folder / "made.yaml").write_text(yaml.safe_dump(settings_of(ROOT / "params.yaml", jobs), sort_keys=False))
    command = ["snakemake", f"-c{CORES}", "--configfile", "made.yaml", "--set-scatter", f"partitions={jobs}"]
    cost = watched(lambda: run([*command, "--", TARGET], folder))
    groups = tables.RowGroups(BLOCKS, folder / path("blocks"), ["n_instructions"])
    instructions = sum(int(group["n_instructions"].to_numpy().sum(dtype=np.int64)) for group in groups)
    size = {
        "blocks": groups.n_rows,
        "instructions": instructions,
        "shards": jobs,
        "partitions": jobs,
        "seconds": cost.seconds,
        "processor_seconds": cost.processor_seconds,
        "peak_memory_gb": cost.peak_bytes / 1e9,
    }
    rule_rows = _rule_rows(folder, groups.n_rows, cost)
    shutil.rmtree(folder)
    return size, rule_rows


def _rows(sizes: list[dict[str, Any]]) -> list[Row]:
    """Rows of table results, from those of table scale_sizes: each corpus, and the exponents of growth."""
    result_rows = []
    for size in sizes:
        place = {"experiment": "blocks_scale", "set": f"blocks_{round(size['blocks'] / 1e6)}_million"}
        for metric, unit in _UNITS.items():
            result_rows.append(row(place, Quantity(metric, unit=unit), size[metric], n=size["blocks"]))
    place = {"experiment": "blocks_scale"}
    for metric, column in (("growth_exponent", "processor_seconds"), ("growth_exponent_of_wall_time", "seconds")):
        blocks, costs = (np.array([size[name] for size in sizes], float) for name in ("blocks", column))
        slope = exponent(blocks, costs)
        quantity = Quantity(metric, unit="1")
        result_rows.append(row(place, quantity, slope.value, slope.low, slope.high, slope.n, "sizes left out"))
    return result_rows


def main(
    blocks: Annotated[Path, typer.Option(help="Table blocks of the pinned sources.")] = Path(path("blocks")),
    millions: Annotated[list[int], typer.Option(help="Sizes, in millions of blocks.")] = list(MILLIONS),  # noqa: B006 - typer copies it
    scratch: Annotated[Path | None, typer.Option(help="Folder for the corpora; some 12 GB for 30 million.")] = None,
    out: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "blocks_scale",
) -> None:
    """Measure the pipeline up to DAGs and splits on growing corpora."""
    real = made_blocks.read(blocks, SEED)
    sizes, rule_rows = list[dict[str, Any]](), list[dict[str, Any]]()
    with tempfile.TemporaryDirectory(dir=scratch) as temporary:
        for number in sorted(millions):
            size, of_rules = measured(real, number * 1_000_000, Path(temporary))
            sizes.append(size)
            rule_rows += of_rules
            print(json.dumps(size), flush=True)
            print(pd.DataFrame(of_rules).drop(columns="blocks").to_string(), flush=True)
    frames = {"scale_sizes": pd.DataFrame(sizes), "scale_rules": pd.DataFrame(rule_rows)}
    frames["results"] = results(_rows(sizes))
    settings = {"millions": sorted(millions), "cores": CORES, "blocks_a_job": BLOCKS_A_JOB, "seed": SEED}
    settings |= {"real_share": made_blocks.REAL_SHARE, "lines": made_blocks.LINES}
    publish(out, frames, settings, [blocks])
    print(frames["results"][["set", "metric", "value", "low", "high"]].to_string())


if __name__ == "__main__":
    typer.run(main)
