"""Public functions refuse arguments that are not theirs with a sentence, and leave all others as they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from learned_schedulers import blocks, graphs
from learned_schedulers.graphs.problems.problem import Edges, Problem
from learned_schedulers.public import checked


def problem() -> Problem:
    return Problem(np.ones(2), np.ones(2), Edges(np.array([0, 1, 1], np.int32), np.array([1], np.int32)), 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: graphs.export_module(3, ["2,8"], False),
            "export_module does not .* named: Input should be a valid str",
        ),
        (lambda: graphs.export_module("mine:Net", [(2, 8)], False), r"inputs\.0: Input should be a valid string"),
        (lambda: graphs.export_module("mine:Net", ["2,8"], True, optimizer="x"), "optimizer: Input should be 'sgd'"),
        (lambda: graphs.export_module(*["mine:Net"]), "inputs: Missing required argument; training: Missing"),
        (lambda: graphs.on_devices(problem(), 2), "source: .* instance of Source"),
        (lambda: graphs.trials(problem(), 0, by="x"), "by: Input should be 'classical'"),
        (lambda: graphs.timeline(problem(), [0, 1], [0, 0]), "order: .* instance of ndarray; placement: .* ndarray"),
        (lambda: graphs.PlacedModule(len, (), np.zeros(1, int), ["cpu"]), "__init__ does not .* module: .* Module"),
        (lambda: graphs.PlacedModule.of_split(len, (), {}, []), "of_split does not take"),
        (lambda: blocks.Orderer("x", "atom", "tso"), "Orderer.__init__ does not .* by: Input should be 'search'"),
        (lambda: blocks.Orderer("list", "atom", "tso").order(["4889d8"]), "blocks are a list of bytes"),
        (lambda: list(blocks.propose(b"", "list")), "document: .* instance of Blocks"),
    ],
)
def test_other_arguments_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        call()
    assert "\n" not in str(refusal.value)


def test_a_path_may_be_text_and_arguments_stay_the_same_objects(tmp_path: Path) -> None:
    (tmp_path / "two.stg").write_text("2\n0 0 0\n1 3 1 0\n2 4 1 0\n3 0 2 1 2\n")
    assert len(graphs.read_graph(str(tmp_path / "two.stg")).graph) == len(graphs.read_graph(tmp_path / "two.stg").graph)
    array = np.arange(2)
    assert checked(_same)(array) is array


def test_an_error_within_stays_the_same() -> None:
    def nested() -> None:
        checked(_same)([1])

    with pytest.raises(ValueError, match="_same does not take these arguments: array"):
        checked(nested)()


def _same(array: np.ndarray) -> np.ndarray:
    return array
