"""Results in a folder, each by what it follows from: peers are there already, and a stopped comparison goes on."""

from __future__ import annotations

import datetime as dates
import hashlib
import json
from pathlib import Path
from threading import Lock

from pydantic import ValidationError

from learned_schedulers.bench.budgets import Limit
from learned_schedulers.bench.instances import digest
from learned_schedulers.bench.kinds import Instance, Result
from learned_schedulers.bench.provenance import PACKAGES, processor, provenance
from learned_schedulers.bench.tasks import Introduction
from learned_schedulers.section import Section


class _Line(Section):
    """A line of a file."""

    graph_id: str
    seed: int
    date: dates.date
    result: Result


class Stored:
    """The results of a method on instances, in a file to which each new one is added."""

    def __init__(
        self, folder: Path, method: Introduction, instances: tuple[Instance, ...], target: str, limit: Limit
    ) -> None:
        self.path = folder / f"{_key(method, instances, target, limit)}.jsonl"
        self.earlier: dates.date | None = None  # the day of the first of the results that were there
        self._target, self._results, self._lock = target, dict[tuple[str, int], Result](), Lock()
        by_id = {instance.graph_id: instance for instance in instances}
        for text in self.path.read_bytes().splitlines() if self.path.is_file() else ():
            try:
                line = _Line.model_validate_json(text)
                result = line.result
                if result.schedule is not None:  # other processes can write the file; the judge believes schedules only
                    cost = by_id[line.graph_id].cost(result.schedule, target)
                    result = result.model_copy(update={"cost": cost})
            except (ValidationError, ValueError, KeyError):
                continue  # it was damaged, or cut when the comparison was stopped
            self._results[line.graph_id, line.seed] = result
            self.earlier = min(line.date, self.earlier or line.date)

    def of(self, instance: Instance, seed: int) -> Result | None:
        return self._results.get((instance.graph_id, seed))

    def add(self, instance: Instance, seed: int, result: Result) -> None:
        today = dates.datetime.now(dates.UTC).date()
        line = _Line(graph_id=instance.graph_id, seed=seed, date=today, result=result)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._lock, self.path.open("a") as file:
            file.write(f"\n{line.model_dump_json()}")  # behind a line that was cut, too


def _key(method: Introduction, instances: tuple[Instance, ...], target: str, limit: Limit) -> str:
    """A digest of all that results follow from: also of the sources, the packages and the processor."""
    judged_by = provenance(method.package, method.source)
    content = {
        "instances": digest(instances),
        "target": target,
        "method": method.model_dump(mode="json"),
        "limit": str(limit),
        "sources": judged_by.sources,
        "packages": [judged_by.python, *(judged_by.packages[name] for name in PACKAGES)],
        "processor": processor(),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
