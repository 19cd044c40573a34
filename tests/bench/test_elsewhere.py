"""A program that knows only the files computes schedules, and the judge finds the costs that this program says."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from learned_schedulers.bench import elsewhere
from learned_schedulers.bench.elsewhere import of_schedules, read_schedules, write_instances
from learned_schedulers.bench.instances import instances
from learned_schedulers.bench.running import run
from tests import damaged

SMALL = tuple(sorted(instances("unseen_small"), key=len)[:5])
PLACED = tuple(sorted(instances("placement_unseen"), key=len)[:1])


def simulated(graph: dict[str, Any], order: list[int], placement: list[int]) -> float:
    """The makespan, from BENCHMARK.md alone."""
    parents: dict[int, list[int]] = {}
    for source, target in graph["edges"]:
        parents.setdefault(target, []).append(source)
    end, free = {}, [0.0] * graph["devices"]
    for i in order:
        start = free[placement[i]]
        for parent in parents.get(i, []):
            away = placement[parent] != placement[i]
            size = graph["operations"][parent]["bytes"]
            arrival = graph["seconds_per_byte"] * size + graph["seconds_per_transfer"] if away else 0.0
            start = max(start, end[parent] + arrival)
        end[i] = free[placement[i]] = start + graph["operations"][i]["seconds"]
    return max(end.values())


@pytest.mark.parametrize("target", ["bandwidth", "latency", "pcie"])
def test_costs_are_those_that_the_files_say(target: str, tmp_path: Path) -> None:
    write_instances(SMALL, target, tmp_path)
    draws, schedules, expected = random.Random(0), {}, []
    for instance in SMALL:
        graph = json.loads((tmp_path / f"{instance.graph_id}.json").read_text())
        n = len(graph["operations"])
        rows = [[draws.randrange(graph["devices"]) for _ in range(n)] for _ in range(3)]
        schedules[graph["graph_id"]] = [{"order": list(range(n)), "placement": row} for row in rows]
        expected.append(min(simulated(graph, list(range(n)), row) for row in rows))
    path = tmp_path / "schedules.json"
    path.write_text(json.dumps({"name": "drawn", "schedules": schedules}))
    name, proposals = read_schedules(path, SMALL)
    result = run([of_schedules(proposals)], SMALL, target, [0])
    assert name == "drawn" and result.costs[0] == pytest.approx(expected, rel=1e-12) and not result.failures


def test_the_memory_of_a_placement_set_is_written_and_counts(tmp_path: Path) -> None:
    write_instances(PLACED, "pcie", tmp_path)
    graph = json.loads((tmp_path / f"{PLACED[0].graph_id}.json").read_text())
    n = len(graph["operations"])
    assert graph["memory"] == PLACED[0].problem.memory
    path = tmp_path / "schedules.json"
    row = {"order": list(range(n)), "placement": [0] * n}
    path.write_text(json.dumps({"name": "one device", "schedules": {graph["graph_id"]: [row]}}))
    result = run([of_schedules(read_schedules(path, PLACED)[1])], PLACED, "pcie", [0])
    assert result.costs == [[None]] and result.failures[0].status == "no schedule fits"


def schedule_file(path: Path, **changes: Any) -> Path:
    n = len(SMALL[0].problem)
    row = {"order": list(range(n)), "placement": [0] * n} | changes
    path.write_text(json.dumps({"name": "mine", "schedules": {SMALL[0].graph_id: [row]}}))
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"order": [0]}, "schedule 0: 'order' must have .* whole numbers"),
        ({"placement": "0"}, "'placement' must have"),
        ({"placement": [9] * len(SMALL[0].problem)}, "is on device 9; there are 4 devices"),
        ({"order": list(range(len(SMALL[0].problem)))[::-1]}, "comes before operation"),
        ({"order": [0] * len(SMALL[0].problem)}, "operation 0 appears for the second time"),
        ({"order": [0.5] * len(SMALL[0].problem)}, "whole numbers"),
        ({"order": [True] * len(SMALL[0].problem)}, "whole numbers"),
        ({"order": [2**40] * len(SMALL[0].problem)}, "whole numbers"),
        ({"cost": 1}, "write 'order' and 'placement', nothing else"),
    ],
)
def test_a_wrong_schedule_is_the_result_of_its_graph(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    _, proposals = read_schedules(schedule_file(tmp_path / "mine.json", **changes), SMALL)
    result = run([of_schedules(proposals)], SMALL, "pcie", [0])
    assert result.costs == [[None] * len(SMALL)] and result.failures[0].status == "failed"
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(result.failures[0].message)
    assert {failure.message for failure in result.failures[1:]} == {"the file has no schedule of this graph"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "this is no JSON"),
        ("[" * 100_000, "this is no JSON"),
        ("[]", "write an object with the keys 'name', a text, and 'schedules'"),
        ('{"name": "a", "schedules": []}', "'schedules' must be an object"),
        ('{"name": "a", "schedules": {"0": []}}', "1 graphs, the first '0', are not in this set"),
        ("\udcff", "this is no JSON"),
    ],
)
def test_a_file_of_another_form_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=rf"mine\.json: {message}"):
        read_schedules(tmp_path / "mine.json", SMALL)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elsewhere, "LARGEST", 10)
    with pytest.raises(ValueError, match="at most 10"):
        read_schedules(schedule_file(tmp_path / "mine.json"), SMALL)


def test_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    content, draws, path = schedule_file(tmp_path / "mine.json").read_bytes(), random.Random(0), tmp_path / "mine.json"
    for _ in range(damaged.count(300)):
        copy = bytearray(content)
        place = draws.randrange(len(copy))
        new = bytes(draws.choices(b'0123456789-.,[]{}":e', k=draws.randint(0, 3)))
        copy[place : place + draws.randint(0, 3)] = new
        path.write_bytes(copy)
        with damaged.watched(), damaged.limited_memory():
            try:
                _, proposals = read_schedules(path, SMALL)
            except ValueError as error:
                assert "mine.json: " in str(error)
            else:
                run([of_schedules(proposals)], SMALL[:1], "pcie", [0])
