"""Paths of all tables, and the names in a path; rules, stages, DVC and benchmarks use no other place for paths.

The pattern of a table's path is beside its columns, in the chapter's `tables.py`: a new table changes no other file. A
name in braces is a name of params.yaml, never an encoded option. All experiments have the same folders.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pipeline.lab import chapters

_NO_TABLES = {  # other files, and second places of tables
    "raw": "data/raw/{source}",
    "shards": "data/corpus/shards/{shard}.parquet",
    "skipped_shards": "data/corpus/skipped/{shard}.parquet",
    "weights": "data/experiments/{experiment}/models/{dependencies}/{model}/{seed}/weights.safetensors",
    "network_weights": "data/experiments/{experiment}/networks/{model}/{seed}/weights.safetensors",
    "published": "reports/published/{experiment}",
    "tracked": "data/tracked.json",
}


def pattern(kind: str) -> str:
    """Pattern of the paths of a kind. Raises KeyError for a kind without one."""
    if kind in _NO_TABLES:
        return _NO_TABLES[kind]
    if kind not in chapters.tables():
        raise KeyError(f"no kind {kind!r}; there are {sorted(_NO_TABLES)} and the tables of the chapters")
    place = chapters.tables()[kind].place
    if place is None:
        raise KeyError(f"table {kind} has no path under data/: it is only published")
    return place


def path(kind: str, **names: object) -> str:
    """The path of a `kind` with these names; other names stay as wildcards: `data/sets/{set}.parquet`.

    Raises KeyError for a kind or a name that does not exist.
    """
    filled = pattern(kind)
    for name, value in names.items():
        if f"{{{name}}}" not in filled:
            raise KeyError(f"{kind} lies in {pattern(kind)}, which has no {name!r}")
        filled = filled.replace(f"{{{name}}}", str(value))
    return filled


def names(kind: str) -> list[str]:
    """Names in braces in the pattern of `kind`, in sequence."""
    return re.findall(r"{(\w+)}", pattern(kind))


def place(path: Path, kind: str) -> dict[str, str]:
    """Names in the path of a `kind`, such as {"experiment": "quick", "seed": "0"}.

    Raises ValueError for a path of another form.
    """
    form = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(pattern(kind)))
    match = re.search(rf"(?:^|/){form}$", path.as_posix())
    if match is None:
        raise ValueError(f"{path}: expected a path that ends in {pattern(kind)}; keep the pipeline's own layout")
    return match.groupdict()


def by_kind(paths: Iterable[Path], kinds: Iterable[str]) -> dict[str, list[Path]]:
    """Each of the kinds that has some of these paths -> its paths, in their sequence.

    Kinds without a path under data/ have none. Raises ValueError for a path that lies where none of the kinds does.
    """
    tables = chapters.tables()
    placed = [kind for kind in kinds if kind in tables and tables[kind].place]
    sorted_paths: dict[str, list[Path]] = {}
    for path in paths:
        for kind in placed:
            with suppress(ValueError):
                place(path, kind)
                sorted_paths.setdefault(kind, []).append(path)
                break
        else:
            raise ValueError(f"{path} lies where no table of {', '.join(placed)} does; see pipeline/lab/places.py")
    return sorted_paths
