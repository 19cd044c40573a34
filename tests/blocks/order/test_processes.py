"""Results come in the sequence of the pieces, whatever the number of processes, and pieces are taken as needed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from learned_schedulers.blocks.order.processes import mapped


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_results_are_in_sequence(cores: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    assert list(mapped(lambda piece: piece * piece, range(count), 0)) == [piece * piece for piece in range(count)]


def test_few_pieces_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    n_begun = 0

    def pieces() -> Iterator[int]:
        nonlocal n_begun
        for number in range(100):
            n_begun += 1
            yield number

    for count, _ in enumerate(mapped(lambda piece: piece, pieces(), 0), 1):
        assert n_begun <= count + 10


def test_a_killed_process_is_an_error_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    parent = os.getpid()

    def fatal(piece: int) -> int:
        if os.getpid() != parent and piece == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return piece

    with pytest.raises(ValueError, match="give fewer files"):
        list(mapped(fatal, range(20), 0))
