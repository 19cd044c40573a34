"""Machine code to dependency DAGs, beside `objdump -d` on the same files: `python benchmarks/ingest.py`.

Both on two cores in one run, in turn: objdump over the files two at a time, then the pipeline's own stages as
processes (manifest; ingest, two shards at a time; deduplicate, two partitions at a time; join_partitions; dags with
two threads), as Snakemake runs them, without Snakemake's own start. Then the same of single programs, each as a corpus
of its own: a large one, one of half its size, one of a tenth. The files are those that ingestion accepts: a first run,
not timed, finds them and fills numba's cache on disk.
"""

from __future__ import annotations

import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Annotated

import pandas as pd
import typer

from benchmarks.publishing import PUBLISHED, publish
from benchmarks.watching import Cost, run, watched
from learned_schedulers.blocks.read.source_settings import BhiveSource, Corpus, FilesSource
from learned_schedulers.blocks.read.sources import distributed, read_program
from pipeline.corpus.fetch import fetch
from pipeline.corpus.tables import BLOCKS, MANIFEST, SKIPPED
from pipeline.lab import rows, tables
from pipeline.lab.config.params import load

CORES = 2
MODE = "full"
SHARES = (0.25, 0.5, 1.0)
PROGRAM_SIZES = (1.0, 0.5, 0.1)  # of the largest file
# What a single program may take: so many times objdump, and the stages' interpreters and imports.
ALLOWED_TIMES, ALLOWED_START_SECONDS = 1.5, 4.0


def _two_at_a_time(commands: list[list[str]]) -> None:
    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(run, commands))


def _stage(name: str, **options: object) -> list[str]:
    words = [sys.executable, "-m", "pipeline", name]
    for option, value in options.items():
        words += [f"--{option.replace('_', '-')}", *map(str, value if isinstance(value, list) else [value])]
    return words


class Pipeline:
    """The stages from artifacts to DAGs, in a scratch folder."""

    def __init__(self, corpus: Corpus, artifacts: dict[str, Path], folder: Path) -> None:
        self._settings = corpus.model_dump_json()
        self._artifacts = [artifacts[name] for name in sorted(artifacts)]
        self._shards = range(corpus.shards)
        self.manifest, self.blocks = folder / "manifest.parquet", folder / "blocks.parquet"
        self.skipped, self._dags = folder / "skipped.parquet", folder / "dags.parquet"
        self._pieces = [[folder / f"blocks{s}_{number}.parquet" for number in range(CORES)] for s in self._shards]
        self._skipped_shards = [folder / f"skipped{s}.parquet" for s in self._shards]
        self._partitions = [folder / f"partition{number}.parquet" for number in range(CORES)]

    def list_files(self) -> None:
        run(_stage("manifest", settings=self._settings, artifacts=self._artifacts, out=self.manifest))

    def run(self) -> None:
        """From the manifest on."""
        common = {"settings": self._settings, "manifest": self.manifest}
        _two_at_a_time(
            [
                _stage("ingest", **common, shard=shard, blocks=self._pieces[shard], skipped=skipped)
                for shard, skipped in zip(self._shards, self._skipped_shards, strict=True)
            ]
        )
        _two_at_a_time(
            [
                _stage("deduplicate", shards=list(pieces), partitions=CORES, blocks=partition)
                for pieces, partition in zip(zip(*self._pieces, strict=True), self._partitions, strict=True)
            ]
        )
        outputs = {"blocks": self.blocks, "skipped": self.skipped}
        run(_stage("join_partitions", partitions=self._partitions, skipped_shards=self._skipped_shards, **outputs))
        run(_stage("dags", dependencies=MODE, blocks=self.blocks, out=self._dags, cores=CORES))

    def all(self) -> None:
        self.list_files()
        self.run()


def _share(files: pd.DataFrame, share: float) -> pd.DataFrame:
    """The smallest files, up to a share of all bytes."""
    ascending = files.sort_values(["size_bytes", "program"])
    return ascending[ascending["size_bytes"].cumsum() <= share * files["size_bytes"].sum()]


def _unpacked(corpus: Corpus, files: pd.DataFrame, folder: Path) -> list[Path]:
    """The programs as files of their own, largest first."""
    folder.mkdir()
    paths = []
    for number, row in enumerate(files.sort_values("size_bytes", ascending=False).itertuples()):
        path = folder / str(number)
        path.write_bytes(read_program(corpus.sources[row.source], Path(row.artifact), row.program))
        paths.append(path)
    return paths


def _of_sizes(files: pd.DataFrame, shares: tuple[float, ...]) -> pd.DataFrame:
    """The files whose sizes are nearest to these shares of the largest one, each once."""
    sizes = [share * files["size_bytes"].max() for share in shares]
    nearest = [(files["size_bytes"] - size).abs().idxmin() for size in sizes]
    return files.loc[list(dict.fromkeys(nearest))]


def _alone(corpus: Corpus, source: str, path: Path) -> Corpus:
    """The corpus of a single program, as a user writes it; `source`: where it came from."""
    read = corpus.sources[source]
    text_share = 1.0 if isinstance(read, BhiveSource) else read.text_share
    only = FilesSource(kind="files", include=[str(path)], text_share=text_share)
    return corpus.model_copy(update={"sources": {source: only}})


def _program_rows(corpus: Corpus, files: pd.DataFrame, folder: Path, pairs: int) -> list[rows.Row]:
    """Rows of table `results`: single programs, from ELF file to DAGs, beside objdump on the same file."""
    measured_rows = []
    for number, file in enumerate(_of_sizes(files, PROGRAM_SIZES).itertuples()):
        scratch = folder / f"program{number}"
        (path,) = _unpacked(corpus, files[files["program"] == file.program], scratch)
        only, listing = _alone(corpus, file.source, path), scratch / file.source
        fetch(only.sources[file.source], listing)
        pipeline = Pipeline(only, {file.source: listing}, scratch)
        objdump, ours = [], []
        for _ in range(pairs):
            objdump.append(watched(lambda path=path: run(["objdump", "-d", str(path)])))
            ours.append(watched(pipeline.all))
            print(f"{file.program}: objdump {objdump[-1]}\n        pipeline {ours[-1]}", flush=True)
        seconds, of_objdump = ([cost.seconds for cost in costs] for costs in (ours, objdump))
        allowed = [ALLOWED_TIMES * took + ALLOWED_START_SECONDS for took in of_objdump]
        figures = {
            "program_bytes": [float(file.size_bytes)],
            "program_seconds": seconds,
            "program_objdump_seconds": of_objdump,
            "program_over_allowed": [took / may for took, may in zip(seconds, allowed, strict=True)],
            "processor_time_over_objdump": _processor_times(ours, objdump),
        }
        place = {"experiment": "ingest", "dependencies": MODE, "set": Path(file.program).name}
        measured_rows += [_row(place, metric, values, pairs) for metric, values in figures.items()]
    return measured_rows


def _processor_times(ours: list[Cost], objdump: list[Cost]) -> list[float]:
    """Ratios of processor seconds: unlike wall time hardly changed by what else the machine does."""
    return [
        cost.processor_seconds / objdump_cost.processor_seconds
        for cost, objdump_cost in zip(ours, objdump, strict=True)
    ]


def _row(place: dict[str, str], metric: str, values: list[float], n: int) -> rows.Row:
    """A row of table `results`: the median of repeats, the smallest and the largest."""
    return rows.row(place, metric, median(values), min(values), max(values), n, over="runs")


def main(
    params: Annotated[Path, typer.Option(help="Settings; section corpus names the sources.")] = Path("params.yaml"),
    artifacts: Annotated[Path | None, typer.Option(help="Folder of files named as the sources; else fetched.")] = None,
    pairs: Annotated[int, typer.Option(help="How often both are run.", min=1)] = 3,
    out: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "ingest",
) -> None:
    """Time the way from ELF files to dependency DAGs against objdump, and its growth with the corpus."""
    corpus = load(params).corpus
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        sources = {name: (artifacts or folder) / name for name in corpus.sources}
        for name, source in corpus.sources.items():
            if artifacts is None:
                print(f"fetching {name}", flush=True)
                fetch(source, sources[name])
        pipeline = Pipeline(corpus, sources, folder)
        print("first run: which files are eligible; compiling", flush=True)
        first = watched(pipeline.all)
        print(f"  {first.seconds:.1f} s, a cold start where numba's cache was empty", flush=True)
        files = tables.read(MANIFEST, pipeline.manifest)
        left_out = tables.read(SKIPPED, pipeline.skipped)
        files = files[~files["program"].isin(left_out["program"])]
        programs = _unpacked(corpus, files, folder / "elf")
        print(f"{len(files)} eligible files, {files['size_bytes'].sum() / 1e6:.0f} MB", flush=True)

        objdump, ours = [], []
        for pair in range(pairs):
            objdump.append(watched(lambda: _two_at_a_time([["objdump", "-d", str(path)] for path in programs])))
            ours.append(watched(pipeline.all))
            print(f"pair {pair + 1}: objdump {objdump[-1]}\n        pipeline {ours[-1]}", flush=True)
        of_programs = _program_rows(corpus, files, folder, pairs)

        growth = []
        for share in SHARES:
            tables.write(
                distributed(_share(files, share).drop(columns="shard"), corpus.shards), MANIFEST, pipeline.manifest
            )
            cost = watched(pipeline.run)
            blocks = tables.read(BLOCKS, pipeline.blocks, ["n_instructions", "occurrences"])
            instructions = int((blocks["n_instructions"].astype(int) * blocks["occurrences"]).sum())
            growth.append((share, instructions, cost.seconds, cost.peak_bytes / 1e9))
            print(f"share {share}: {instructions} instructions, {cost}", flush=True)

    # Of the last share: all files. Instructions are those of all blocks found, repeated ones included.
    walls = [cost.seconds for cost in ours]
    figures = {
        "blocks": [float(len(blocks))],
        "wall_over_objdump": [wall / objdump_cost.seconds for wall, objdump_cost in zip(walls, objdump, strict=True)],
        "processor_time_over_objdump": _processor_times(ours, objdump),
        "peak_memory_gb": [cost.peak_bytes / 1e9 for cost in ours],
        "instructions_per_second": [instructions / wall for wall in walls],
    }
    place = {"experiment": "ingest", "dependencies": MODE}
    of_corpus = [_row(place, metric, values, len(blocks)) for metric, values in figures.items()]
    results = rows.results(of_corpus + of_programs)
    names = ["share_of_corpus", "instructions", "seconds", "peak_memory_gb"]
    frames = {"results": results, "growth": pd.DataFrame(growth, columns=names)}
    settings = {"corpus": corpus.model_dump(mode="json"), "pairs": pairs, "cores": CORES}
    settings |= {"allowed_times_objdump": ALLOWED_TIMES, "allowed_start_seconds": ALLOWED_START_SECONDS}
    publish(out, frames, settings)
    print(
        json.dumps(
            {f"{row.set} {row.metric}": [row.low, row.value, row.high] for row in results.itertuples()}, indent=1
        )
    )


if __name__ == "__main__":
    typer.run(main)
