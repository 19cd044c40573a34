"""What the pipeline does on the tiny corpus: a digest of every table, with which published numbers are compared.

`reports/behaviour.json` is made by `python -m tests.behaviour`, and a test holds that it is what the code does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

RECORD = Path("reports/behaviour.json")
_DIGITS = 12  # of 64 hexadecimal ones


def read(path: Path = RECORD) -> dict[str, str]:
    """Name of each table of the tiny corpus -> its digest, as recorded."""
    return dict(json.loads(path.read_text())["tables"])


def digests(data: Path) -> dict[str, str]:
    """The same of the tables and weights below `data`, a folder that the pipeline has filled.

    A table with a column `method` has a digest for each method, `experiments/quick/results#sinkhorn`, so that a further
    method changes none.
    """
    by_name: dict[str, str] = {}
    for path in sorted(data.rglob("*")):
        name = path.relative_to(data).with_suffix("").as_posix()
        if path.suffix == ".safetensors":
            by_name[name] = _digest(path.read_bytes())
        elif path.suffix == ".parquet":
            by_name |= _of_table(name, path)
    return by_name


def _of_table(name: str, path: Path) -> dict[str, str]:
    frame = pd.read_parquet(path)
    if "method" not in frame:
        return {name: _digest(path.read_bytes())}
    rows = frame.groupby("method", sort=True)
    return {f"{name}#{method}": _digest(of_method.to_csv(index=False).encode()) for method, of_method in rows}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGITS]


def below(tables: Mapping[str, str], folders: Iterable[str]) -> dict[str, str]:
    """The tables in these folders below data/, such as `experiments/quick`."""
    begins = tuple(f"{folder}/" for folder in folders)
    return {name: digest for name, digest in tables.items() if name.startswith(begins)}
