"""Each order is simulated once, and the cache of llvm-mca's answers gives the same as fresh ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.blocks.processors import answers, llvm_mca
from learned_schedulers.blocks.processors import simulation as orders
from learned_schedulers.blocks.processors.llvm_mca import Simulation
from learned_schedulers.blocks.processors.settings import Judge

ATOM = Judge(cpu="atom", iterations=1)
REGIONS = [
    ["addq %rax, %rbx"],
    ["vaddps %ymm0, %ymm1, %ymm2"],
    ["imulq %rax, %rbx", "addq %rbx, %rcx"],
    ["addq %rax, %rbx"],
]


def test_cached_answers_are_those_of_llvm_mca(binary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = llvm_mca.simulate(REGIONS, ATOM, binary)
    cache = tmp_path / "answers.sqlite"
    simulated: list[list[str]] = []
    simulate = llvm_mca.simulate

    def counted(regions, *rest):  # type: ignore[no-untyped-def]
        simulated.extend(regions)
        return simulate(regions, *rest)

    monkeypatch.setattr(llvm_mca, "simulate", counted)
    for _ in range(2):
        cached = answers.simulate(REGIONS, ATOM, binary, cache=cache)
        assert [(a.status, a.message) for a in cached] == [(a.status, a.message) for a in fresh]
        assert [a.cycles for a in cached if a.status == "ok"] == [a.cycles for a in fresh if a.status == "ok"]
    assert simulated == REGIONS[:3]
    answers.simulate(REGIONS[:1], ATOM.model_copy(update={"iterations": 100}), binary, cache=cache)
    answers.simulate(REGIONS[:1], ATOM.model_copy(update={"cpu": "haswell"}), binary, cache=cache)
    assert simulated[3:] == [REGIONS[0], REGIONS[0]]


def test_a_killed_run_continues_where_it_stopped(binary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "answers.sqlite"
    monkeypatch.setattr(answers, "_SEQUENCES_PER_WRITE", 1)
    simulate, n_calls = llvm_mca.simulate, 0

    def dying(regions, *rest):  # type: ignore[no-untyped-def]
        nonlocal n_calls
        n_calls += 1
        if n_calls == 3:
            raise KeyboardInterrupt
        return simulate(regions, *rest)

    monkeypatch.setattr(llvm_mca, "simulate", dying)
    with pytest.raises(KeyboardInterrupt):
        answers.simulate(REGIONS, ATOM, binary, cache=cache)
    answers.simulate(REGIONS, ATOM, binary, cache=cache)
    assert n_calls == 4


def test_another_file_is_named_with_the_remedy(binary: str, tmp_path: Path) -> None:
    cache = tmp_path / "answers.sqlite"
    cache.write_bytes(b"no database at all" * 100)
    with pytest.raises(ValueError, match=r"answers\.sqlite cannot be used .* delete it"):
        answers.simulate(REGIONS, ATOM, binary, cache=cache)


def test_a_damaged_answer_is_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, sound = tmp_path / "answers.sqlite", [Simulation(3.25, "ok"), Simulation(2.0, "ok")]
    monkeypatch.setattr(answers, "_version", lambda binary: "19")
    monkeypatch.setattr(llvm_mca, "simulate", lambda regions, *rest: [sound[len(region) - 1] for region in regions])
    regions = REGIONS[1:3]
    assert answers.simulate(regions, ATOM, "", cache=cache) == sound
    whole, refused = cache.read_bytes(), 0
    occupied = [place for place, byte in enumerate(whole) if byte]  # pages are mostly empty
    for place in occupied[::2]:
        for bit in (0, 6):
            cache.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
            try:
                assert answers.simulate(regions, ATOM, "", cache=cache) == sound, (place, bit)
            except ValueError as error:
                assert "delete it" in str(error)
                refused += 1
    assert refused < 0.75 * len(occupied)  # most of so small a file is its schema


def schedules(*rows: tuple[str, list[int], str]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["block_id", "order", "status"])
    return frame.assign(order=[np.array(order, np.int16) for order in frame["order"]])


def test_distinct_keeps_valid_orders_once_and_adds_gcc() -> None:
    lengths = pd.Series({"a": 3, "b": 2, "c": 2, "unscheduled": 4})
    first = schedules(("b", [1, 0], "ok"), ("a", [2, 0, 1], "ok"), ("c", [1, 0], "violates"))
    second = schedules(("a", [2, 0, 1], "ok"), ("a", [0, 1, 2], "ok"), ("c", [], "timed out"))
    frame = orders.distinct([first, second], lengths)
    assert frame.values.tolist() == [
        ["a", (0, 1, 2)],
        ["a", (2, 0, 1)],
        ["b", (0, 1)],
        ["b", (1, 0)],
        ["c", (0, 1)],
    ]


def test_distinct_names_a_block_without_a_dag() -> None:
    with pytest.raises(ValueError, match="stranger"):
        orders.distinct([schedules(("stranger", [0, 1], "ok"))], pd.Series({"a": 2}))


def test_simulate_permutes_the_code_and_reports_what_fails(
    binary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # no cached answers
    # multiply, add, multiply (as in test_llvm_mca): on atom the addition is better last.
    code = bytes.fromhex("f20f59c8 4883c201 f20f59e3")
    proposed = pd.DataFrame(
        {
            "block_id": ["broken", "good", "good", "new"],
            "order": [(0,), (0, 1, 2), (0, 2, 1), (0,)],
        }
    )
    masked = {"good": code, "broken": b"\x0f", "new": bytes.fromhex("c5f458d0")}  # vaddps ymm: not in atom
    table = orders.simulate(proposed, masked, "atom", ATOM, binary, threads=1)
    assert table["block_id"].tolist() == proposed["block_id"].tolist()
    assert table["status"].tolist() == ["unsupported", "ok", "ok", "unsupported"]
    assert table["cycles"].isna().tolist() == [True, False, False, True]
    assert table["cycles"][2] < table["cycles"][1]
    assert "0f" in table["message"][0] and "vaddps" in table["message"][3]


def test_simulate_names_a_block_without_code() -> None:
    with pytest.raises(ValueError, match="stranger"):
        orders.simulate(pd.DataFrame({"block_id": ["stranger"], "order": [(0,)]}), {}, "atom", ATOM, "", 1)
