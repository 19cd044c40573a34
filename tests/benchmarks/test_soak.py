"""The soak's judges can fail: planted wrong answers are differences, faults of the command are crashes."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.mutated_instances import drawn
from benchmarks.soak import calling, code_cases, judges, project_cases, table
from benchmarks.soak.calling import Crash, Difference, Refused, Tools, Unhelpful
from benchmarks.soak.cases import KINDS, OUTCOMES, TURNS, Record, outcome
from benchmarks.soak.networks import drawn_network
from learned_schedulers.graphs.devices.timeline import timeline
from learned_schedulers.graphs.methods.rules.listing import by_critical_path
from learned_schedulers.graphs.plans.sources import on_devices, read_file
from learned_schedulers.graphs.plans.trace import trace
from learned_schedulers.graphs.read import synthetic
from learned_schedulers.projects.read.reading import read_project
from pipeline.lab.trial import drawn_projects


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    (tmp_path / "case").mkdir()
    return Tools(tmp_path / "case", tmp_path / "cache", is_real=False)


def _as_main(monkeypatch: pytest.MonkeyPatch, main: Callable[[list[str]], None]) -> None:
    """Another command in the place of ours."""
    monkeypatch.setattr(calling.entry, "main", lambda: main(sys.argv[1:]))


def test_every_kind_takes_turns_and_has_a_row() -> None:
    assert set(TURNS) == set(KINDS)
    records = [
        Record(0, "split", "crashes", "", 1.0),
        Record(0, "split", "right", "", 1.0),
        Record(1, "fuse", "refused", "", 1.0),
    ]
    rows = {(row["set"], row["metric"]): row["value"] for row in table.rows("soak", records)}
    assert {name: rows["all", name] for name in OUTCOMES} == Counter(right=1, refused=1) | dict.fromkeys(
        ("unhelpful", "discarded", "crashes", "differences"), 0
    )
    assert rows["all", "cases"] == 2 and rows["split", "right"] == 1


def test_an_illegal_order_is_a_difference(tools: Tools) -> None:
    before, after = tools.folder / "a.csv", tools.folder / "b.csv"
    before.write_text("4889d84801c8,1\n")  # mov rax, rbx; add rax, rcx
    after.write_text("4801c84889d8,1\n")
    code_cases.agree(tools, before, before)
    with pytest.raises(Difference, match="must stay before"):
        code_cases.agree(tools, before, after)


def test_illegal_schedules_are_differences(tmp_path: Path) -> None:
    graph = synthetic.draw("layered", 12, np.random.default_rng(2))
    path, written = tmp_path / "a.json", tmp_path / "trace.json"
    path.write_text(json.dumps({"task_graph": drawn.saga(graph), "network": drawn.network(2)}))
    source = read_file(path, {})
    problem = on_devices(source)
    order, placement = by_critical_path(problem)
    content = json.loads(trace(timeline(problem, order, placement), source.names, source.graph.kinds))
    written.write_text(json.dumps(content))
    assert judges.check_trace(written, problem)[0] == placement.tolist()
    events = [event for event in content["traceEvents"] if event["ph"] == "X" and event["pid"] == 0]
    last = max(events, key=lambda event: event["ts"])
    for key, number, reason in (
        ("ts", 0.0, "before|two operations"),
        ("dur", 1.0, "runs"),
        ("tid", 7, "names devices"),
    ):
        before = last[key]
        last[key] = number
        written.write_text(json.dumps(content))
        with pytest.raises(Difference, match=reason):
            judges.check_trace(written, problem)
        last[key] = before
    content["traceEvents"].remove(last)
    written.write_text(json.dumps(content))
    with pytest.raises(Difference, match="not each"):
        judges.check_trace(written, problem)


def test_illegal_starts_are_a_difference(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command tells starts that begin together."""
    path = tools.folder / "a.sm"
    path.write_text(drawn_projects.psplib_text(drawn_projects.project(np.random.default_rng(3), 12, 2)))
    project = read_project(path)
    with pytest.raises(Difference, match=r"starts at 0|need more"):
        judges.check_starts(project, np.zeros(len(project), np.int64))

    def main(words: list[str]) -> None:
        of_file = read_project(Path(words[1]))
        Path(words[words.index("-o") + 1]).write_text("start\n" + "0\n" * len(of_file))
        print(f"drawn.sm 1 1 {of_file.durations.max(initial=0)} 0")

    _as_main(monkeypatch, main)
    ends = Counter(
        outcome(project_cases.project, np.random.default_rng(seed), tools.folder, tools)[0] for seed in range(6)
    )
    assert ends["differences"] >= 2, ends


def test_plans_that_cannot_run_are_differences(tmp_path: Path) -> None:
    graph = synthetic.draw("layered", 6, np.random.default_rng(2))
    path, plan = tmp_path / "a.stg", tmp_path / "plan.json"
    path.write_text(drawn.standard(graph))
    source = read_file(path, {})
    order, _ = by_critical_path(on_devices(source, 1))
    kernels = [{"computes": [{"operation": i}], "writes": [{"operation": i}], "seconds": 1.0} for i in order.tolist()]
    for listed, seconds, reason in (
        (kernels[::-1], 99.0, "nothing has written"),
        (kernels, 1.0, "apart 1.0"),
        (kernels[:-1], 99.0, "lacks operations"),
    ):
        plan.write_text(json.dumps({"kernels": listed, "seconds": float(len(listed))}))
        with pytest.raises(Difference, match=reason):
            judges.check_plan(plan, source, seconds)
    plan.write_text(json.dumps({"kernels": kernels, "seconds": float(len(kernels))}))
    judges.check_plan(plan, source, 99.0)


def _says(message: str, code: int = 1) -> Callable[[], None]:
    def end() -> None:
        print(message, file=sys.stderr)
        sys.exit(code)

    return end


def _leaves(code: int) -> None:
    Path("left").touch()
    _says("error: a.s: no; correct it", code)()


@pytest.mark.parametrize(
    ("end", "finding"),
    [
        (_says("error: a.s: line 3: no; correct it"), Refused),
        (_says("error: line 3: no; correct it"), Unhelpful),
        (_says("error: a.s: no"), Unhelpful),
        (_says("Usage: ...", 2), Crash),
        (lambda: {}["nothing"], Crash),
        (lambda: os.kill(os.getpid(), signal.SIGBUS), Crash),
        (lambda: time.sleep(60), Crash),
        (lambda: _leaves(0), Difference),
        (lambda: _leaves(1), Difference),
        (lambda: bytearray(20 << 30), Crash),
    ],
)
def test_ends_of_calls(
    end: Callable[[], None], finding: type[Exception], tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    _as_main(monkeypatch, lambda words: end())
    with pytest.raises(finding) as caught:
        tools.answered(Path("a.s"), "order", "a.s", seconds=2)
    assert type(caught.value) is finding


def test_a_fault_of_a_case_is_a_crash(tools: Tools) -> None:
    name, detail = outcome(lambda *_: {}["nothing"], np.random.default_rng(0), tools.folder, tools)
    assert name == "crashes" and "KeyError: 'nothing'" in detail


def test_networks_are_drawn_alike_again(tmp_path: Path) -> None:
    texts = []
    for name in ("a.py", "b.py"):
        drawn_network(np.random.default_rng(4), tmp_path / name)
        texts.append((tmp_path / name).read_text())
    assert texts[0] == texts[1] and "class Network" in texts[0]


def test_damage_is_drawn_alike_again(tools: Tools) -> None:
    ends = []
    for _ in range(2):
        ends.append(outcome(KINDS["project"], np.random.default_rng(9), tools.folder, tools))
        for path in tools.folder.iterdir():
            path.unlink()
    assert ends[0] == ends[1]
