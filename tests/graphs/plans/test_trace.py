"""A trace, read as plain JSON by the rules of the Trace Event Format."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.devices.timeline import timeline
from learned_schedulers.graphs.plans.trace import trace
from tests.graphs.problems import drawn


@given(st.integers(0, 2**32 - 1), st.integers(0, 25), st.integers(1, 4))
def test_tracks_do_not_overlap_and_add_up(seed: int, n: int, devices: int) -> None:
    rng = np.random.default_rng(seed)
    problem = drawn.problem(rng, n, devices)
    orders, placements = drawn.schedules(problem, rng, 1)
    names, kinds = [f"name {i}" for i in range(n)], [f"kind {i}" for i in range(n)]
    content = json.loads(trace(timeline(problem, orders[0], placements[0]), names, kinds))
    called, tracks = {}, defaultdict(list)
    for event in content["traceEvents"]:
        assert event["ph"] in ("M", "X") and isinstance(event["pid"], int)
        if event["ph"] == "M":
            called[event["pid"], event.get("tid")] = event["args"]["name"]
        else:
            assert event["ts"] >= 0 and event["dur"] >= 0
            tracks[event["pid"], event["tid"]].append(event)
    for events in tracks.values():
        for event, following in pairwise(sorted(events, key=lambda event: (event["ts"], event["dur"]))):
            # Sums of microseconds as floating-point numbers: a viewer counts whole nanoseconds.
            assert round(1000 * (event["ts"] + event["dur"])) <= round(1000 * following["ts"])
    by_name = {name: track for track, name in called.items()}
    assert len(by_name) == len(called)
    for device in range(devices):
        events = tracks[by_name[f"device {device}"]]
        operations = np.flatnonzero(placements[0] == device).tolist()
        assert sorted(event["args"]["operation"] for event in events) == operations
        assert sorted(event["name"] for event in events) == sorted(f"name {i}" for i in operations)
        busy = sum(event["dur"] for event in events)
        assert busy == pytest.approx(1e6 * problem.seconds[operations].sum(), abs=1e-3 * (len(operations) + 1))
    ends = [event["ts"] + event["dur"] for (process, _), events in tracks.items() if process == 0 for event in events]
    assert max(ends, default=0.0) == pytest.approx(1e6 * makespans(problem, orders, placements)[0], abs=1e-3)


def test_each_result_is_sent_once_to_each_device_that_reads_it() -> None:
    rng = np.random.default_rng(7)
    problem = drawn.problem(rng, 20, 3, 0.4)
    orders, placements = drawn.schedules(problem, rng, 1)
    placement = placements[0].tolist()
    content = json.loads(trace(timeline(problem, orders[0], placements[0]), ["name"] * 20, ["kind"] * 20))
    sent = [event["args"] for event in content["traceEvents"] if event.get("cat") == "transfer"]
    edges = zip(problem.children.sources.tolist(), problem.children.targets.tolist(), strict=True)
    needed = {(i, placement[i], placement[j]) for i, j in edges if placement[i] != placement[j]}
    assert sorted((about["operation"], about["from"], about["to"]) for about in sent) == sorted(needed)
    assert len(needed) > 10
