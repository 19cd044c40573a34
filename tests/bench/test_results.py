"""A result is read as it was written; other instances, costs below the bound, and damaged files are refused by name."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from learned_schedulers.bench import results
from learned_schedulers.bench.budgets import Limit
from learned_schedulers.bench.graphs import entrant
from learned_schedulers.bench.instances import digest, instances
from learned_schedulers.bench.provenance import provenance
from learned_schedulers.bench.results import HandIn, read, standing, write
from learned_schedulers.bench.running import of_method, run
from tests import damaged

SET, TARGET, LIMIT = "unseen_synthetic", "bandwidth", Limit("evaluations", 1000)


@cache
def result() -> HandIn:
    every = instances(SET)
    of_heft = run(of_method(entrant("heft"), LIMIT), every, TARGET, [0])
    return HandIn(
        set=SET,
        target=TARGET,
        instances=digest(every),
        graph_ids=[instance.graph_id for instance in every],
        method="heft",
        settings={},
        sees="target",
        budget=str(LIMIT),
        date=datetime.date(2026, 11, 27),
        stands=standing(SET, TARGET, of_heft),
        provenance=provenance("heft"),
        run=of_heft,
    )


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


def better(content: dict[str, Any]) -> None:
    content["stands"]["value"] *= 0.99


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
        (
            cheaper,
            "takes .* s with seed 0, and no schedule takes less than .* the costs are not those of the judge",
        ),
        (better, "its `stands` says .*, and from its costs follows"),
        (lambda content: content["run"]["costs"][0].pop(), "must have 50 numbers for each of 1 to 100 seeds"),
        (lambda content: content["run"]["seeds"].append(1), "must have 50 numbers"),
        (lambda content: content["run"]["costs"][0].__setitem__(0, float("inf")), "infinite|finite"),
        (lambda content: content["run"]["costs"][0].__setitem__(0, None), "from its costs follows"),
        (lambda content: content.pop("provenance"), "provenance: Field required"),
    ],
)
def test_what_is_wrong_is_named(change: Callable[[dict[str, Any]], object], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"(?s)mine\.json.*({message})"):
        read(changed(change, tmp_path))


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(result(), tmp_path / "heft.json")
    monkeypatch.setattr(results, "_LARGEST", 1000)
    with pytest.raises(ValueError, match=r"heft\.json: .* bytes; a result has at most 1000"):
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
