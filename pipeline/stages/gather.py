"""Many tables of one kind as one frame; their places in the tree (experiment, seed ...) become columns."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pyarrow.compute as pc

from pipeline import tables
from pipeline.analysis import limits as imitation_limits
from pipeline.analysis import operator_results, tidy
from pipeline.report.corpus import ingest, verification

PLACES = {
    "history": "models/{experiment}/{dependencies}/{model}/{seed}/history.parquet",
    "weights": "models/{experiment}/{dependencies}/{model}/{seed}/weights.safetensors",
    "sweep": "sweep/{experiment}/{dependencies}/{seed}.parquet",
    "examples": "examples/{experiment}/{dependencies}.parquet",
    "dags": "dags/{dependencies}.parquet",
    "splits": "splits/{dependencies}.parquet",
    "corpus": "statistics/{dependencies}.parquet",
    "imitator_history": "imitations/{experiment}/{model}/{seed}/history.parquet",
    "imitator_weights": "imitations/{experiment}/{model}/{seed}/weights.safetensors",
    "errors": "imitations/{experiment}/errors/{model}/{set}/{seed}.parquet",
    "error_shares": "imitations/{experiment}/error_shares/{model}/{set}/{seed}.parquet",
}


def place(path: Path, kind: str) -> dict[str, str]:
    """What `path` says about a table of `kind`, such as {"experiment": "quick", "seed": "0"}.

    Raises TableError where the path has another form.
    """
    pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(PLACES[kind]))
    match = re.search(rf"(?:^|/){pattern}$", path.as_posix())
    if match is None:
        raise tables.TableError(f"{path}: expected a path that ends in {PLACES[kind]}; keep the pipeline's own layout")
    return match.groupdict()


def gather(
    kind: str, paths: Iterable[Path], columns: list[str] | None = None, filters: pc.Expression | None = None
) -> pd.DataFrame:
    """Rows of all tables of `kind` (those that the filter keeps), with a column for each name in their paths, first.

    Raises TableError for a missing or damaged table, or a path of another form.
    """
    frames = []
    for path in paths:
        frame = tables.read(kind, path, columns, filters)
        names = place(path, kind)
        frames.append(frame.assign(**names)[[*names, *(c for c in frame.columns if c not in names)]])
    if frames:
        return pd.concat(frames, ignore_index=True)
    empty = tables.SCHEMAS[kind].empty_table().to_pandas()[columns or tables.SCHEMAS[kind].names]
    places = {name: pd.Series(dtype="str") for name in re.findall(r"{(\w+)}", PLACES[kind])}
    return pd.DataFrame({**places, **empty})


_ENDINGS = ("history", "sweep", "parts")  # of names of files; the others are results
_TEXT = (
    "experiment", "dependencies", "model", "seed", "split", "scheduler", "decoder", "part", "name", "example",
    "lengths", "detail", "machine", "block_id", "title", "instruction",
    "outcome", "processor",
)  # fmt: skip
FROZEN = {  # files of reports/published whose columns are no table's
    "dag_verification_strata": verification.STRATA,
    "dag_verification_reasons": verification.REASONS,
    "dag_verification_sensitivity": verification.SENSITIVITY,
    "dag_verification_explanations": verification.EXPLANATIONS,
    "ingest_growth": ingest.GROWTH,
    "operator_speed": operator_results.SPEED,
    **imitation_limits.COLUMNS,
    "latency_length": tables.SCHEMAS["cycles_by_length"].names,
    "latency_hardware_outcomes": tables.SCHEMAS["hardware_outcomes"].names,
    "latency_examples": tables.SCHEMAS["scheduling_examples"].names,
}


def published(paths: Iterable[Path]) -> dict[str, pd.DataFrame]:
    """What reports/published/*.csv holds: `results`, `history`, `sweep` and `parts` of all, and each of FROZEN.

    A kind without a file is an empty frame. Raises TableError naming a file whose columns are not those that
    its writer gives it.
    """
    kinds: dict[str, list[pd.DataFrame]] = {kind: [] for kind in ("results", *_ENDINGS, *FROZEN)}
    for path in sorted(paths):
        ending = next((kind for kind in _ENDINGS if path.stem.endswith(f"_{kind}")), "results")
        kind = path.stem if path.stem in FROZEN else ending
        frame = pd.read_csv(path, dtype=dict.fromkeys(_TEXT, str))
        if list(frame.columns) != columns(kind):
            raise tables.TableError(
                f"{path}: its columns are {list(frame.columns)}, not {columns(kind)}; "
                "restore it from git, or publish the experiment again"
            )
        kinds[kind].append(frame)
    return {
        kind: pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns(kind))
        for kind, frames in kinds.items()
    }


def columns(kind: str) -> list[str]:
    """Column names of a published CSV of `kind`: results, history, sweep, parts or one of FROZEN."""
    if kind == "results":
        return tidy.COLUMNS
    if kind in FROZEN:
        return FROZEN[kind]
    names = re.findall(r"{(\w+)}", PLACES.get(kind, ""))
    return [*names, *(name for name in tables.SCHEMAS[kind].names if name not in names)]


def fingerprint(path: Path) -> str:
    """SHA-256 of the file's bytes, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
