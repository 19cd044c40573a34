"""Damaged instances of others are read or refused with file, place and remedy; what is wrong is counted as wrong.

`DAMAGED=5000 pytest tests/benchmarks/test_mutated_instances.py` tries as many files.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.mutated_instances import drawn as drawn_graphs
from benchmarks.mutated_instances.__main__ import by_form, outcomes, rows_of, sound_files
from benchmarks.mutated_instances.mutations import mutated
from benchmarks.mutated_instances.outcomes import (
    AS_A_WHOLE,
    FORMS,
    READ,
    WITH_LINE,
    WITH_NAME,
    WRONG,
    Outcome,
    outcome,
    refusal,
)
from benchmarks.mutated_instances.watched import Watched
from pipeline.lab.trial import drawn_projects
from tests import damaged

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Sound files of every form, all of them drawn."""
    folder, rng = tmp_path_factory.mktemp("sound"), np.random.default_rng(11)
    for n, resources in ((3, 1), (8, 2), (20, 4)):
        (folder / f"p{n}.sm").write_text(drawn_projects.psplib_text(drawn_projects.project(rng, n, resources)))
    for jobs, machines in ((1, 1), (3, 2), (6, 6)):
        text = drawn_projects.job_shop_text(drawn_projects.job_shop(rng, jobs, machines))
        (folder / f"j{jobs}.txt").write_text(f"name\n# comment\n{text}")
    (folder / "a.csv").write_text("instance,best_known\na,43\nb,82..87\n")
    (folder / "b.csv").write_text("instance,lower_bound,upper_bound\nta01,3,5\nta02,,9\n")
    drawn_graphs.write(folder, rng)
    return by_form(sound_files(sorted(folder.iterdir())))


def test_damaged_instances_are_read_or_refused(files: dict[str, list[Path]], tmp_path: Path) -> None:
    counts = Counter(outcomes(files, damaged.count(140), tmp_path / "wrong"))
    wrong = [answer.message for (_, answer) in counts if answer.kind == WRONG]
    assert not wrong and not (tmp_path / "wrong").exists()
    kinds = Counter(answer.kind for _, answer in counts.elements())
    assert min(kinds[kind] for kind in (READ, WITH_LINE, WITH_NAME, AS_A_WHOLE)) > 3, kinds
    rows = {(row["set"], row["metric"]): row["value"] for row in rows_of(_kinds(counts))}
    assert rows["all", "files"] == damaged.count(140) and rows["all", "wrong"] == 0
    assert sum(rows[form, "read"] for form in FORMS) == rows["all", "read"] == kinds[READ]


def _kinds(counts: Counter[tuple[str, Outcome]]) -> Counter[tuple[str, str]]:
    return Counter((form, answer.kind) for form, answer in counts.elements())


def test_every_sound_file_has_its_form_and_is_read(files: dict[str, list[Path]]) -> None:
    assert {form: len(paths) for form, paths in files.items() if form not in ("workload",)} == {
        "psplib": 3, "job_shop": 3, "best_known": 2, "stg": 20, "wfcommons": 40, "saga": 40
    }  # fmt: skip
    assert {outcome(path).kind for paths in files.values() for path in paths} == {READ}


def test_a_form_without_files_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("instance,best_known\na,43\n")
    with pytest.raises(ValueError, match="there is no file of the form psplib; name folders"):
        by_form(sound_files([tmp_path / "a.csv"]))


@given(
    st.binary(max_size=60) | st.sampled_from([b"", b"{}", b'{"a": [1, {"b": []}]}', b"{", b"1\n2 3\n"]),
    st.integers(0, 99),
)
@settings(max_examples=60, deadline=None)
def test_any_bytes_can_be_damaged_and_alike_again(content: bytes, seed: int) -> None:
    copies = {mutated(content, np.random.default_rng(seed)) for _ in range(2)}
    assert len(copies) == 1


def _faulty(path: Path) -> Outcome:
    """A reader with the fault that its file names."""
    match path.name:
        case "loops":
            while True:
                pass
        case "crashes":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "fills the memory":
            try:
                return Outcome(READ, str(len(bytearray(1 << 31))))
            except MemoryError:
                return Outcome(WRONG, "MemoryError")
    return Outcome(READ, path.name)


def test_a_reader_that_hangs_crashes_or_fills_the_memory_is_wrong(tmp_path: Path) -> None:
    with Watched([tmp_path], 0.2, _faulty) as watched:
        began = time.process_time()
        answers = [watched.outcome(Path(name)) for name in ("a", "loops", "b", "crashes", "fills the memory", "c")]
    assert [answer.kind for answer in answers] == [READ, WRONG, READ, WRONG, WRONG, READ]
    assert "took more than 0.2 s of the processor" in answers[1].message and "ended (-11)" in answers[3].message
    assert answers[2].message == "b" and time.process_time() - began < 60


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("/a.sm, line 3: this is no number; correct it", WITH_LINE),
        ("/a.sm: edges.3.cost: Input should be a number; correct it", WITH_NAME),
        ("/a.sm: the file is empty; name another", AS_A_WHOLE),
        ("/a.sm: something is wrong; correct it", WRONG),
        ("/a.sm, line 3: this is no number", WRONG),
        ("/b.sm, line 3: this is no number; correct it", WRONG),
        ("/a.sm, line 3: this is no number;\n correct it", WRONG),
        ("/a.sm, line 3: \x1b[31m is no number; correct it", WRONG),
    ],
)
def test_a_refusal_needs_file_place_and_remedy(message: str, kind: str) -> None:
    assert refusal(Path("/a.sm"), message).kind == kind


def test_other_errors_and_what_is_no_problem_are_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "benchmarks.mutated_instances.outcomes"
    (tmp_path / "a.csv").write_text("instance,best_known\na,43\n")
    monkeypatch.setattr(f"{module}.read_best_known", lambda path: {"a": {}["nothing"]})
    assert outcome(tmp_path / "a.csv") == (WRONG, "KeyError: 'nothing'")
    monkeypatch.undo()
    (tmp_path / "j.txt").write_text(
        drawn_projects.job_shop_text(drawn_projects.job_shop(np.random.default_rng(0), 3, 3))
    )
    monkeypatch.setattr("learned_schedulers.projects.problem.Project.bound", 10**6)
    assert outcome(tmp_path / "j.txt").message.startswith("read, but no problem: AssertionError")
