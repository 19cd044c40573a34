"""A cache of llvm-mca's answers: each sequence of instructions is simulated once per processor model and version.

The cache is an SQLite file. Its keys are hashes of version, model, iterations and sequence. Each answer has a digest of
its own: a damaged one is computed again. The cache is no part of any result: without it, the same numbers are computed
again. A run that was killed continues where it stopped.
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

from learned_schedulers.blocks.processors import llvm_mca
from learned_schedulers.blocks.processors.llvm_mca import Simulation
from learned_schedulers.blocks.processors.settings import Judge

CACHE = Path(".cache/llvm_mca.sqlite")
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS checked_answers "
    "(key BLOB PRIMARY KEY, cycles REAL, status TEXT, message TEXT, digest BLOB) WITHOUT ROWID"
)
_KEYS_PER_QUERY = 500
_SEQUENCES_PER_WRITE = 20_000
_LOCK_SECONDS = 60  # how long to wait while another process writes


def simulate(
    regions: Sequence[Sequence[str]], machine: Judge, binary: str, threads: int = 1, cache: Path = CACHE
) -> list[Simulation]:
    """As `llvm_mca.simulate`, but answers in the file `cache` are reused, and equal regions are simulated once.

    Raises ValueError if the file is not a cache of this module.
    """
    version = _version(binary)
    keys = [_key(region, machine, version) for region in regions]
    distinct = dict(zip(keys, regions, strict=True))
    cache.parent.mkdir(parents=True, exist_ok=True)
    try:
        with closing(sqlite3.connect(cache, timeout=_LOCK_SECONDS)) as file:
            file.execute(_SCHEMA)
            answers = _read(file, list(distinct))
            uncached = [key for key in distinct if key not in answers]
            starts = range(0, len(uncached), _SEQUENCES_PER_WRITE)
            for start in tqdm(
                starts,
                f"{machine.cpu}, new orders",
                unit_scale=_SEQUENCES_PER_WRITE,
                unit="block",
                disable=len(starts) < 2,
            ):
                part = uncached[start : start + _SEQUENCES_PER_WRITE]
                simulations = llvm_mca.simulate([distinct[key] for key in part], machine, binary, threads)
                answers.update(zip(part, simulations, strict=True))
                _write(file, dict(zip(part, simulations, strict=True)))
    except sqlite3.DatabaseError as error:
        raise ValueError(f"{cache} cannot be used ({error}); delete it and run again: it is created again") from error
    return [answers[key] for key in keys]


def _version(binary: str) -> str:
    output = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"LLVM version ([0-9.]+)", output)
    return match[1] if match else output


def _key(region: Sequence[str], machine: Judge, version: str) -> bytes:
    return hashlib.sha256(json.dumps([version, machine.cpu, machine.iterations, *region]).encode()).digest()


def _digest(key: bytes, cycles: float | None, status: str, message: str) -> bytes:
    """Of what a row says; damaged columns may have any type."""
    return hashlib.sha256(json.dumps([key, cycles, status, message], default=repr).encode()).digest()


def _read(file: sqlite3.Connection, keys: list[bytes]) -> dict[bytes, Simulation]:
    answers = {}
    for start in range(0, len(keys), _KEYS_PER_QUERY):
        part = keys[start : start + _KEYS_PER_QUERY]
        query = (
            "SELECT key, cycles, status, message, digest FROM checked_answers "
            f"WHERE key IN ({','.join('?' * len(part))})"
        )
        for key, cycles, status, message, digest in file.execute(query, part):
            if digest == _digest(key, cycles, status, message):
                answers[key] = Simulation(math.nan if cycles is None else cycles, status, message)
    return answers


def _write(file: sqlite3.Connection, answers: dict[bytes, Simulation]) -> None:
    rows = [(key, None if math.isnan(a.cycles) else float(a.cycles), a.status, a.message) for key, a in answers.items()]
    with file:
        file.executemany(
            "INSERT OR REPLACE INTO checked_answers VALUES (?, ?, ?, ?, ?)", [(*row, _digest(*row)) for row in rows]
        )
