"""llvm-mca's answers, kept: a sequence of instructions is simulated once per processor model and version.

They lie in an SQLite file under the hash of version, model, iterations and the sequence, and are no part of any
result: without the file the same numbers are computed again. A run that was killed goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from tqdm import tqdm

from pipeline.blocks.latency import llvm_mca
from pipeline.blocks.latency.llvm_mca import Simulation
from pipeline.config.processors import Judge

CACHE = Path(".cache/llvm_mca.sqlite")
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, cycles REAL, status TEXT, message TEXT) WITHOUT ROWID"
)
_ASKED = 500  # keys in one query
_PORTION = 20_000  # sequences simulated between two writes
_PATIENCE = 60  # seconds for which another process may write


def simulate(
    regions: Sequence[Sequence[str]], machine: Judge, binary: str, threads: int = 1, cache: Path = CACHE
) -> list[Simulation]:
    """As `llvm_mca.simulate`; what the file `cache` holds is not simulated again, nor what occurs twice.

    Raises ValueError where the file is none of this module's.
    """
    version = _version(binary)
    keys = [_key(region, machine, version) for region in regions]
    distinct = dict(zip(keys, regions, strict=True))
    cache.parent.mkdir(parents=True, exist_ok=True)
    try:
        with closing(sqlite3.connect(cache, timeout=_PATIENCE)) as file:
            file.execute(_SCHEMA)
            known = _read(file, list(distinct))
            new = [key for key in distinct if key not in known]
            starts = range(0, len(new), _PORTION)
            for start in tqdm(
                starts, f"{machine.cpu}, new orders", unit_scale=_PORTION, unit="block", disable=len(starts) < 2
            ):
                part = new[start : start + _PORTION]
                found = llvm_mca.simulate([distinct[key] for key in part], machine, binary, threads)
                known.update(zip(part, found, strict=True))
                _write(file, dict(zip(part, found, strict=True)))
    except sqlite3.DatabaseError as error:
        raise ValueError(f"{cache} cannot be used ({error}); delete it and run again: it is made anew") from error
    return [known[key] for key in keys]


def _version(binary: str) -> str:
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"LLVM version ([0-9.]+)", said)
    return found[1] if found else said


def _key(region: Sequence[str], machine: Judge, version: str) -> bytes:
    return hashlib.sha256(json.dumps([version, machine.cpu, machine.iterations, *region]).encode()).digest()


def _read(file: sqlite3.Connection, keys: list[bytes]) -> dict[bytes, Simulation]:
    known = {}
    for start in range(0, len(keys), _ASKED):
        part = keys[start : start + _ASKED]
        query = f"SELECT key, cycles, status, message FROM answers WHERE key IN ({','.join('?' * len(part))})"
        for key, cycles, status, message in file.execute(query, part):
            known[key] = Simulation(math.nan if cycles is None else cycles, status, message)
    return known


def _write(file: sqlite3.Connection, answers: dict[bytes, Simulation]) -> None:
    rows = [(key, None if math.isnan(a.cycles) else a.cycles, a.status, a.message) for key, a in answers.items()]
    with file:
        file.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", rows)
