"""A result is read as it was written; other instances, costs below the bound, and damaged files are refused by name."""

from __future__ import annotations

import json
import random
import zlib
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from learned_schedulers.bench import results
from learned_schedulers.bench.budgets import Limit
from learned_schedulers.bench.graphs import entrant
from learned_schedulers.bench.instances import instances
from learned_schedulers.bench.results import HandIn, hand_in, read, write
from learned_schedulers.bench.running import of_method, run
from tests import damaged

BOMB = b64encode(zlib.compress(bytes(10**7))).decode()
SET, TARGET, LIMIT = "unseen_synthetic", "bandwidth", Limit("evaluations", 1000)


@cache
def result() -> HandIn:
    method = entrant("heft")
    source = of_method(method, LIMIT, "target")
    return hand_in(SET, TARGET, method.introduction, LIMIT, run([source], instances(SET), TARGET, [0]), [])


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    write(result(), tmp_path / "heft.json")
    assert read(tmp_path / "heft.json") == result()


def changed(change: Callable[[dict[str, Any]], object], folder: Path) -> Path:
    content = json.loads(result().model_dump_json())
    change(content)
    (folder / "mine.json").write_text(json.dumps(content))
    return folder / "mine.json"


def set_in(key: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda content: content.update({key: value})


def cheaper(content: dict[str, Any]) -> None:
    content["run"]["costs"][0][7] /= 100


def another(content: dict[str, Any]) -> None:
    schedules = content["run"]["schedules"][0]
    schedules[3] = schedules[4]


def without(content: dict[str, Any]) -> None:
    content["run"]["schedules"][0][7] = None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_in("instances", "0" * 64), "heft is refused: it was computed on other instances than the frozen ones"),
        (set_in("set", "unseen"), "is refused: no set 'unseen'; the sets are"),
        (set_in("target", "pcie"), "has no target 'pcie'"),
        (set_in("budget", "all"), "write evaluations=1000 or"),
        (set_in("graph_ids", []), "other instances"),
        (set_in("method", "<script>"), "method: String should match pattern"),
        (set_in("form", "result 2"), "form: Input should be"),
        (set_in("more", 1), "more: unknown key"),
        (cheaper, "with seed 0: its cost is .* s, and its schedule takes"),
        (another, "with seed 0: "),
        (without, "a cost without a schedule"),
        (lambda content: content["run"]["schedules"][0].__setitem__(0, BOMB), "this is no schedule of 50 operations"),
        (lambda content: content["run"]["evaluations"][0].__setitem__(0, 1001), "more than evaluations=1000 on 1"),
        (set_in("draws", True), "1 seeds; a method that draws at random has 5"),
        (set_in("differing", ["0"]), "a second run with the same seed differs"),
        (lambda content: content["run"]["costs"][0].pop(), "must have 50 entries for 1 to 100 seeds"),
        (lambda content: content["run"]["seeds"].append(1), "must have 50 entries"),
        (lambda content: content["run"]["costs"][0].__setitem__(0, float("inf")), "finite|its cost is inf"),
        (lambda content: content["run"]["costs"][0].__setitem__(0, None), "without a cost"),
        (lambda content: content.pop("provenance"), "provenance: Field required"),
    ],
)
def test_what_is_wrong_is_named(change: Callable[[dict[str, Any]], object], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"(?s)mine\.json.*({message})"):
        read(changed(change, tmp_path))


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(result(), tmp_path / "heft.json")
    monkeypatch.setattr(results, "_LARGEST", 1000)
    with pytest.raises(ValueError, match=r"heft\.json: .* bytes; it must have less than 1000"):
        read(tmp_path / "heft.json")


def test_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    content, draws, path = result().model_dump_json().encode(), random.Random(0), tmp_path / "mine.json"
    refused = 0
    for _ in range(damaged.count(150)):
        copy = bytearray(content)
        for _ in range(draws.randint(1, 3)):
            place = draws.randrange(len(copy))
            if draws.random() < 0.5:
                copy[place] = draws.randrange(256)
            else:
                del copy[place : place + draws.randint(1, 200)]
        path.write_bytes(copy)
        try:
            with damaged.watched(), damaged.limited_memory():
                read(path)
        except ValueError as error:
            refused += 1
            assert "mine.json" in str(error)
    assert refused > 50
