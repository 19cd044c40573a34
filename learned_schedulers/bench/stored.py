"""Runs of peers in a folder, each by what it follows from, so that a second comparison takes seconds."""

from __future__ import annotations

import datetime as dates
import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from learned_schedulers import outside_methods
from learned_schedulers.bench.budgets import Limit
from learned_schedulers.bench.instances import digest
from learned_schedulers.bench.kinds import Entrant, Instance
from learned_schedulers.bench.provenance import PACKAGES, processor, provenance
from learned_schedulers.bench.running import Progress, Run, of_method, run, seeds_of, silent, warm_up
from learned_schedulers.files import replacing
from learned_schedulers.section import Section


class Stored(Section):
    """Content of a file."""

    date: dates.date  # of the run
    run: Run


class Timed(NamedTuple):
    """A run, and when it was."""

    run: Run
    earlier: dates.date | None  # it is a stored one; None: it has just been made


def run_of(
    entrant: Entrant,
    instances: tuple[Instance, ...],
    target: str,
    limit: Limit,
    seeds: list[int],
    folder: Path | None = None,
    progress: Progress = silent,
) -> Timed:
    """The run of a method: the stored one if there is one of the same content, else a new one, which is stored.

    folder: None: nothing is read or written. Nor is it for a method of another package, whose sources are not known to
    be the same. A stored file that is damaged is made anew.
    """
    of_method_seeds = seeds_of(entrant, seeds)
    if outside_methods.is_outside(entrant.method):
        folder = None
    path = None if folder is None else folder / f"{_key(entrant, instances, target, limit, of_method_seeds)}.json"
    if path is not None and path.is_file():
        try:
            stored = Stored.model_validate_json(path.read_text())
            return Timed(stored.run, stored.date)
        except (ValidationError, UnicodeDecodeError):
            pass
    warm_up(entrant, instances, target)
    result = run(of_method(entrant, limit), instances, target, of_method_seeds, progress)
    if path is not None:
        with replacing(path) as temporary:
            temporary.write_text(Stored(date=dates.datetime.now(dates.UTC).date(), run=result).model_dump_json())
    return Timed(result, None)


def _key(entrant: Entrant, instances: tuple[Instance, ...], target: str, limit: Limit, seeds: list[int]) -> str:
    """A digest of all that a run follows from: also of the sources, the packages and the processor."""
    made_by = provenance(entrant.method)  # of ours: `sources` are those of the method, too
    weights = entrant.weights_for(target)
    content = {
        "instances": digest(instances),
        "target": target,
        "settings": entrant.keys,
        "weights": "" if weights is None else hashlib.sha256(weights.read_bytes()).hexdigest(),
        "limit": str(limit),
        "seeds": seeds,
        "sources": made_by.sources,
        "packages": [made_by.python, *(made_by.packages[name] for name in PACKAGES)],
        "processor": processor(),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
