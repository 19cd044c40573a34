"""Instances of others are read as they were written, or refused with file, line and remedy."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.projects.read.best_known import BestKnown, read_best_known
from learned_schedulers.projects.read.lines import Unreadable
from learned_schedulers.projects.read.reading import read_project
from tests.trial import drawn_projects

PROJECT = drawn_projects.project(np.random.default_rng(7), 6, 2)
TEXT = drawn_projects.psplib_text(PROJECT)
SHOP = "# made for a test\n two jobs, two machines\n2 2\n 0 3 1 2\n\n1 2 0 4\n# the end\n"


def written(folder: Path, text: str, name: str = "instance.txt") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(0, 4))
def test_a_project_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, seed: int, n: int, resources: int
) -> None:
    project = drawn_projects.project(np.random.default_rng(seed), n, resources)
    if resources == 0:
        return
    again = read_project(written(tmp_path_factory.mktemp("sm"), drawn_projects.psplib_text(project)))
    for name in ("durations", "offsets", "targets", "demands", "capacities"):
        assert np.array_equal(getattr(again, name), getattr(project, name)), name
    assert again.job_shop is None and again.name_of(0) == "activity 1"


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 5))
def test_a_job_shop_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, seed: int, jobs: int, machines: int
) -> None:
    job_shop = drawn_projects.job_shop(np.random.default_rng(seed), jobs, machines)
    again = read_project(written(tmp_path_factory.mktemp("txt"), drawn_projects.job_shop_text(job_shop))).job_shop
    assert again is not None and again.machines.dtype == np.int32 and again.durations.dtype == np.int64
    assert np.array_equal(again.machines, job_shop.machines) and np.array_equal(again.durations, job_shop.durations)


@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=6), min_size=1))
def test_jobs_may_have_unequal_steps(
    tmp_path_factory: pytest.TempPathFactory, jobs: list[list[tuple[int, int]]]
) -> None:
    text = "\n".join([f"{len(jobs)} 4", *(" ".join(f"{m} {d}" for m, d in job) for job in jobs)])
    project = read_project(written(tmp_path_factory.mktemp("txt"), text))
    steps = [(job, step, *pair) for job, row in enumerate(jobs) for step, pair in enumerate(row)]
    assert project.names == tuple(f"job {job}, step {step}" for job, step, *_ in steps)
    assert project.durations.tolist() == [duration for *_, duration in steps]
    assert project.demands.argmax(1).tolist() == [machine for *_, machine, _ in steps]
    assert (project.demands.sum(1) == 1).all() and project.capacities.tolist() == [1] * 4
    after = [number + 1 for number, (job, step, *_) in enumerate(steps) if step + 1 < len(jobs[job])]
    assert project.targets.tolist() == after and project.sources.tolist() == [target - 1 for target in after]
    equal = all(sorted(machine for machine, _ in job) == [0, 1, 2, 3] for job in jobs)
    assert (project.job_shop is not None) == equal


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(0, 4), st.integers(1, 9))
def test_pattersons_form_is_read_wherever_lines_end(
    tmp_path_factory: pytest.TempPathFactory, seed: int, n: int, resources: int, width: int
) -> None:
    project = drawn_projects.project(np.random.default_rng(seed), n, resources)
    numbers = list(map(str, drawn_projects.patterson(project)[2:]))
    lines = [f"{n} {resources}"] + [" ".join(numbers[k : k + width]) for k in range(0, len(numbers), width)]
    again = read_project(written(tmp_path_factory.mktemp("rcp"), "\n".join(lines), "drawn.RCP"))
    for name in ("durations", "offsets", "targets", "demands", "capacities"):
        assert np.array_equal(getattr(again, name), getattr(project, name)), name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("3 1", "0 1"), r"line 1: 0 activities and 1 resources; give 1 to"),
        (("3 1", "4 1"), r"line 5: the file ends before activity 4 of 4"),
        (("0 0 0", "0 0 0 7"), r"line 5: there is more behind the last of 3 activities"),
        (("0 0 1 2", "0 0 4 2"), r"line 3: activity 1 has 4 successors; there are 3"),
        (("0 0 1 2", "0 0 1 5"), r"line 3: activity 1 precedes 5; there are 1 to 3"),
        (("4 1 1 3", "4 3 1 3"), r"line 4: activity 2 needs 3 units of resource 1"),
        (("4 1 1 3", "4 x 1 3"), r"line 4: 'x' is no integer"),
        (("0 0 0", "0 0 1 1"), r"is in or behind a cycle"),
    ],
)
def test_a_fault_of_pattersons_form_has_its_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    text = "3 1\n2\n0 0 1 2\n4 1 1 3\n0 0 0\n"
    with pytest.raises(Unreadable, match=message):
        read_project(written(tmp_path, text.replace(*change), "made.rcp"))


def test_comments_blank_lines_and_other_ends_of_lines_are_no_fault(tmp_path: Path) -> None:
    for number, text in enumerate((SHOP, SHOP.replace("\n", "\r\n"), "\ufeff" + SHOP.replace(" ", "\t"))):
        job_shop = read_project(written(tmp_path, text, f"{number}.txt")).job_shop
        assert job_shop is not None and job_shop.durations.tolist() == [[3, 2], [2, 4]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("2 2", "3 2"), r"line 6: the file ends after 2 of 3 jobs"),
        (("2 2", "1 2"), r"line 6: there is a line after the last of 1 jobs"),
        (("2 2", "1000000000 2"), r"line 3: 1000000000 jobs and 2 machines; give at least one"),
        (("2 2", "2 -2"), r"line 3: 2 jobs and -2 machines"),
        (("0 3 1 2", "0 3 1"), r"line 4: job 0 has 3 integers, an odd number; write a machine and a duration"),
        (("0 3 1 2", "0 3 2 2"), r"line 4: job 0 has a machine that is not from 0 to 1; number the machines from 0 on"),
        (("1 2 0 4", "1 2 0 4 1 -1"), r"line 6: job 1, step 2: the duration -1 is not from 0"),
        (("0 3 1 2", "0 3 1 -2"), r"line 4: job 0, step 1: the duration -2 is not from 0"),
        (("0 3 1 2", "0 3 1 2.5"), r"line 4: '2.5' is no integer"),
        (("0 3 1 2", "0 3 1 " + "9" * 5000), r"line 4: '9{40}' is no integer"),
        (("2 2", "two"), r"line 1: this is no file .sm of PSPLIB, no .rcp, and not the standard text"),
    ],
)
def test_a_fault_of_a_job_shop_has_its_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    path = written(tmp_path, SHOP.replace(*change))
    with pytest.raises(Unreadable, match=message) as error:
        read_project(path)
    assert str(path) in str(error.value) and "; " in str(error.value)


@pytest.mark.parametrize(
    ("pattern", "replacement", "place", "message"),
    [
        (r"sink \):  6", "sink ):  1000000000", "sink ):", "the number is too large"),
        (r"sink \):  6", "sink ):  999999999", "sink ):", "999999999 activities; give at least 1 and at most 100000"),
        (r"sink \):  6", "sink ):  5", "   6        1", "has more than 5 lines of numbers"),
        (r"sink \):  6", "sink ):  7", "REQUESTS", "PRECEDENCE RELATIONS has 6 lines of numbers, not 7"),
        (
            r"nonrenewable +:  0",
            "nonrenewable : 2",
            "nonrenewable",
            "2 nonrenewable resources",
        ),
        (
            r"(renewable +:  )2   R",
            r"\g<1>3   R",
            "  1      1",
            "activity 1 in mode 1 with 3 resources",
        ),
        (r"   2        1", "   2        3", "   2        3", "activity 2 has 3 modes; give every activity one mode"),
        (r"   2        1", "   3        1", "   3        1", "this is not the line of activity 2"),
        (r"(?m)^(   1        1 +\d+ .*)$", r"\g<1>   9", "   9", "activity 1 has"),
        (r"(?m)^   6        1 .*$", "   6        1   1   1", "   1        1", "is in or behind a cycle"),
        (
            r"(?m)^   6        1 .*$",
            "   6        1   1   7",
            "   6        1   1",
            "activity 6 precedes 7; there",
        ),
        (r"(?m)^  1      1     \d+", "  1      1     -4", "  1      1     -4", "activity 1: the duration -4"),
        (r"(?m)^(  1      1.*) \d+$", r"\g<1> 77", " 77", "activity 1 needs 77 units of resource 2"),
        (r"RESOURCEAVAILABILITIES", "AVAILABILITIES", "", "the part RESOURCEAVAILABILITIES is missing"),
        (r"(?m)^jobs .*$", "", "", "there is no line such as 'jobs "),
    ],
)
def test_a_fault_of_a_project_has_its_line(
    tmp_path: Path, pattern: str, replacement: str, place: str, message: str
) -> None:
    text, changes = re.subn(pattern, replacement, TEXT, count=1)
    assert changes == 1
    path = written(tmp_path, text)
    with pytest.raises(Unreadable) as error:
        read_project(path)
    where = f"{path}, line " if place else f"{path}: "
    assert str(error.value).startswith(where) and message in str(error.value)
    if place:
        number = int(str(error.value).removeprefix(where).split(":")[0])
        assert place in text.split("\n")[number - 1]


@pytest.mark.parametrize("text", ["", "\n \n", "hello\n", '{"nodes": []}', "PK\x03\x04\0\xff"])
def test_what_has_no_form_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(Unreadable, match=r"the file is empty|this is no file"):
        read_project(written(tmp_path, text))


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="name a file"):
        read_project(tmp_path)
    with pytest.raises(ValueError, match=r"missing\.sm: cannot be read"):
        read_project(tmp_path / "missing.sm")


def test_best_known_values_of_both_forms(tmp_path: Path) -> None:
    path = written(tmp_path, "instance,best_known\nj1.sm,43\nj2.sm,82..87\nj3,..83\n", "best_known.csv")
    values = read_best_known(path)
    assert values == {"j1": BestKnown(43, 43), "j2": BestKnown(82, 87), "j3": BestKnown(None, 83)}
    assert [str(value) for value in values.values()] == ["43", "82..87", "..83"]
    assert values["j2"].gap(87) == 0 and values["j1"].gap(86) == 1
    path.write_text("instance,jobs,lower_bound,upper_bound\nta01,15,1231,1231\nta02,15,,9\n")
    assert read_best_known(path) == {"ta01": BestKnown(1231, 1231), "ta02": BestKnown(None, 9)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("instance,makespan\na,1\n", "line 1: the columns are"),
        ("instance,best_known\na,1\nb,x\n", "line 3: 'x' is no makespan"),
        ("instance,best_known\na,9..5\n", "line 2: the lower bound 9 is above 5"),
        ("instance,best_known\na,-5\n", "line 2: '-5' is no makespan"),
        ("instance,best_known\na\n", "line 2: '..' is no makespan"),
        ("instance,best_known\na,5\na.sm,5\na,6\n", "line 4: 'a' has another value above; correct the line"),
        ("instance,best_known\n,5\n", "line 2: there is no name of an instance"),
        ("", "line 1: the columns are"),
    ],
)
def test_a_fault_of_best_known_values_has_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text, "best_known.csv")
    with pytest.raises(Unreadable, match=message):
        read_best_known(path)
