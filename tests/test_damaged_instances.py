"""Damaged instances of others are read as a problem, or refused in one line with file and remedy.

`DAMAGED=5000 pytest tests/test_damaged_instances.py` tries as many files.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.methods.rules.listing import by_critical_path
from learned_schedulers.graphs.plans.model_files import read_graph
from learned_schedulers.graphs.plans.sources import on_devices
from learned_schedulers.method_settings import entry
from learned_schedulers.projects import methods
from learned_schedulers.projects.read.best_known import read_best_known
from learned_schedulers.projects.read.reading import read_project
from tests import damaged
from tests.graphs.read import test_task_graphs as task_graphs
from tests.trial import damage, damaged_models, drawn_projects

_RNG = np.random.default_rng(11)
SOUND = {
    "project.sm": drawn_projects.psplib_text(drawn_projects.project(_RNG, 8, 2)),
    "job_shop.txt": "# comment\n" + drawn_projects.job_shop_text(drawn_projects.job_shop(_RNG, 3, 2)),
    "one.csv": "instance,best_known\na,43\nb,82..87\n",
    "bounds.csv": "instance,lower_bound,upper_bound\nta01,3,5\nta02,,9\n",
    "standard.stg": task_graphs.STG,
    "workflow_1_5.json": json.dumps(task_graphs.SPECIFIED, indent=1),
    "workflow_1_4.json": json.dumps(task_graphs.FLAT),
    "saga.json": json.dumps(task_graphs.SAGA),
    "saga_tasks.json": json.dumps(task_graphs.SAGA["task_graph"]),
}
_NUMBERS = (b"0", b"-1", b"2", b"99999", b"18446744073709551616", b"9" * 5000, b"1e999", b"1.5", b"nan", b"x", b"")


def judged(path: Path) -> None:
    """Read an instance as the console command does; what is read is a problem that a simple rule solves."""
    if path.suffix == ".csv":
        assert all(0 <= (value.lower or 0) <= value.upper for value in read_best_known(path).values())
    elif path.suffix in (".json", ".stg"):
        problem = on_devices(read_graph(path, {}))
        order, placement = by_critical_path(problem)
        seconds = float(makespans(problem, order[None], placement[None])[0])
        assert np.isfinite(seconds) and seconds >= problem.bound * (1 - 1e-9)
    else:
        project = read_project(path)
        rule = methods.make(entry("project", "priority_rules"))
        schedules = rule.schedule(project, np.random.default_rng(0), methods.Budget())
        assert methods.best(project, schedules).makespan >= project.bound


def outcome(path: Path) -> str:
    """`read` or `refused`. Raises AssertionError for a message without file and remedy, and any other exception."""
    try:
        judged(path)
    except ValueError as error:
        message = str(error)
        is_whole = message.startswith(str(path)) and "; " in message and message.isprintable()
        assert is_whole, f"the message lacks file or remedy, or is not a printable line: {message!r}"
        return "refused"
    return "read"


def test_sound_instances_are_read(tmp_path: Path) -> None:
    for name, text in SOUND.items():
        (tmp_path / name).write_text(text)
        assert outcome(tmp_path / name) == "read", name


def test_damaged_instances_are_read_or_refused(tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    with damaged.limited_memory():
        for number in range(damaged.count(180)):
            rng = np.random.default_rng([5, number])
            name = list(SOUND)[number % len(SOUND)]
            path = tmp_path / name
            path.write_bytes(mutated(SOUND[name].encode(), rng))
            with damaged.watched():
                outcomes[outcome(path)] += 1
    assert min(outcomes["read"], outcomes["refused"]) > 10, outcomes


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """A damaged copy: bytes are others, missing or moved; or numbers; or values of JSON."""
    kinds = [damage.truncated, damage.flipped, damage.spliced, damage.noise]
    kinds += [numbered] * 4 + [revalued] * (6 if content.startswith(b"{") else 0)
    return kinds[int(rng.integers(len(kinds)))](content, rng)


def numbered(content: bytes, rng: np.random.Generator) -> bytes:
    """A number is another one, or none."""
    numbers = list(re.finditer(rb"\d+", content))
    place = numbers[int(rng.integers(len(numbers)))]
    return content[: place.start()] + _NUMBERS[int(rng.integers(len(_NUMBERS)))] + content[place.end() :]


def revalued(content: bytes, rng: np.random.Generator) -> bytes:
    """A value of JSON is an odd one, or a copy of another one, or missing."""
    whole = json.loads(content)
    places = list(_places(whole))
    (part, key), (other, other_key) = (places[int(k)] for k in rng.integers(0, len(places), 2))
    match int(rng.integers(3)):
        case 0:
            part[key] = damaged_models.ODD[int(rng.integers(len(damaged_models.ODD)))]
        case 1:
            part[key] = json.loads(json.dumps(other[other_key]))
        case _:
            del part[key]
    return json.dumps(whole).encode("utf-8", "surrogatepass")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every part, and each of its keys or numbers."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    for key in keys:
        yield value, key
        yield from _places(value[key])
