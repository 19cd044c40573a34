"""Equality of the tiny corpus's values on other kinds of processor: natively and emulated, side by side.

    python -m benchmarks.processor_kinds

The pipeline runs natively to the tables of TARGETS: from ELF files over blocks, DAGs, sets and tokens to trained
networks (POCSNet with Sinkhorn and with POPOCS), residuals of the projections, and schedules of these networks and of a
search by a processor's model. Then every stage runs again below qemu, as each kind of KINDS, and all values are
compared. Programs that the stages start are native: llvm-mca. Kernels that numba compiled natively are loaded, not
compiled again.

An emulator is not a processor: it computes as the instructions are specified. The comparison shows that no library
picks other instructions for another kind. qemu 7.2 sorts wrongly by NumPy's AVX2 kernels, so NumPy has none of them
there.

It publishes the experiment `processor_kinds`: values_that_differ of n values, for each kind (`judge`) and table
(`method`). It needs `qemu-x86_64` (on Debian: apt-get install qemu-user), and half an hour on one core.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from safetensors.numpy import load_file

from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers import LEVEL_3
from pipeline.lab.places import path
from pipeline.lab.rows import Quantity, Row, results, row
from tests.trial.copies import changed, copy_of_repository, run

KINDS = ("EPYC-Milan", "Haswell")  # as qemu calls them
_OF = {"experiment": "quick", "dependencies": "full", "seed": "0"}
TARGETS = [
    *(path("weights", model=model, **_OF) for model in ("sinkhorn", "popocs")),
    *(
        path("schedules", experiment=experiment, set=tested, target=target, method=method, seed="0")
        for experiment, tested, target, methods in (
            ("quick", "test_5", "gcc", ("sinkhorn", "popocs_20")),
            ("schedulers", "fresh_10_40", "atom", ("search",)),
        )
        for method in methods
    ),
    path("residuals"),
]
_NUMPY = {"NPY_DISABLE_CPU_FEATURES": f"X86_V3 {LEVEL_3['NPY_DISABLE_CPU_FEATURES']}"}  # below qemu
_STAGES = "{{resources.launcher}} -m pipeline"  # how rules start a stage; Snakemake puts its own Python first in PATH
_KIND = "from llvmlite.binding import get_host_cpu_name as name; print(name())"


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "processor_kinds",
    kinds: Annotated[list[str] | None, typer.Option("--kind", help="Kinds that qemu has; otherwise KINDS.")] = None,
) -> None:
    """Make the tiny corpus's tables natively and below qemu, and compare them."""
    kind_names, emulator = kinds or [*KINDS], shutil.which("qemu-x86_64")
    if emulator is None:
        sys.exit("error: qemu-x86_64 is missing; on Debian: apt-get install qemu-user")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        copy, shims = Path(name) / "copy", Path(name) / "shims"
        run(copy_of_repository(copy), "snakemake", "-c1", *TARGETS)
        native = (copy / "data").rename(Path(name) / "native")
        for kind_name in kind_names:
            shim(shims, emulator, kind_name)
            kind = run(copy, str(shims / "python"), "-c", _KIND).split()[-1]
            shutil.rmtree(copy / "data", ignore_errors=True)
            shutil.rmtree(copy / ".snakemake")
            shutil.rmtree(copy / "benchmarks/rules")
            with changed(copy / "pipeline/lab/rules/common.smk", _STAGES, f"{shims / 'python'} -m pipeline"):
                run(copy, "snakemake", "-c1", *TARGETS)
            stages = len([*(copy / "benchmarks/rules").rglob("*.tsv")])
            if emulated_stages(shims) < stages:
                raise RuntimeError(f"{emulated_stages(shims)} of {stages} stages were emulated")
            for table, (different, n) in differing(native, copy / "data").items():
                print(f"{kind}: {table}: {different} of {n:,} values differ")
                place = {"experiment": output.name, "set": "tiny", "method": table, "judge": kind}
                rows.append(row(place, Quantity("values_that_differ", unit="count"), float(different), n=n, seed="all"))
    publish(output, {"results": results(rows)}, {"kinds": kind_names, "targets": TARGETS})


def shim(folder: Path, emulator: str, kind: str) -> None:
    """A folder with a `python` that runs this one below the emulator, and a line for each stage that it has run."""
    folder.mkdir(exist_ok=True)
    (folder / "stages").write_text("")
    environment = " ".join(f"{name}='{value}'" for name, value in _NUMPY.items())
    noted = f'[ "$2" = pipeline ] && echo "$3" >> {folder}/stages\n'
    script = f'#!/bin/sh\n{noted}{environment} exec {emulator} -cpu {kind} {sys.executable} "$@"\n'
    (folder / "python").write_text(script)
    (folder / "python").chmod(0o755)


def emulated_stages(shims: Path) -> int:
    """Number of stages that the emulator has run."""
    return len((shims / "stages").read_text().splitlines())


def differing(left_folder: Path, right_folder: Path) -> dict[str, tuple[int, int]]:
    """Number of differing values, and of all values, by table: a folder of `data`, or a part of an experiment.

    A file that is in one of the folders alone raises ValueError: then the runs made different tables.
    """
    names = [
        {path.relative_to(folder) for kind in ("parquet", "safetensors") for path in folder.rglob(f"*.{kind}")}
        for folder in (left_folder, right_folder)
    ]
    if names[0] != names[1]:
        raise ValueError(f"other files: {sorted(map(str, names[0] ^ names[1]))}; the stages made different tables")
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name in sorted(names[0]):
        table = name.parts[2] if name.parts[0] == "experiments" else name.parts[0].removesuffix(".parquet")
        a, b = _values(left_folder / name), _values(right_folder / name)
        counts[table][0] += sum(_different(a[key], b[key]) if key in b else len(a[key]) for key in a)
        counts[table][1] += sum(map(len, a.values()))
    return {table: (different, n) for table, (different, n) in counts.items()}


def _values(file: Path) -> dict[str, Any]:
    """Flat arrays of a table's columns, or of a network's weights, by name; of lists also their lengths."""
    if file.suffix == ".safetensors":
        return {name: weights.ravel() for name, weights in load_file(file).items()}
    arrays = {}
    for name, column in zip((table := pq.read_table(file)).column_names, table.columns, strict=True):
        values = column.combine_chunks()
        while pa.types.is_list(values.type):
            arrays[name] = np.diff(values.offsets)
            name, values = f"{name}[]", values.flatten()
        arrays[name] = values.to_pandas().to_numpy()
    return arrays


def _different(a: np.ndarray, b: np.ndarray) -> int:
    """Number of values that differ; two missing values do not differ."""
    if len(a) != len(b):
        return max(len(a), len(b))
    return int(((a != b) & ~(pd.isna(a) & pd.isna(b))).sum())


if __name__ == "__main__":
    typer.run(main)
