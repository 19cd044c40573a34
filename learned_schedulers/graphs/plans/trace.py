"""A schedule in the Trace Event Format, a JSON object of events that Perfetto and chrome://tracing show.

One process has a track for each device. A second process has the transfers: a track for each pair of devices, and
further tracks for simultaneous transfers, because the events of a track must not overlap. Times are microseconds,
rounded to nanoseconds.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from learned_schedulers.graphs.devices.timeline import Timeline

_DEVICES, _TRANSFERS = 0, 1  # processes of the trace


def trace(schedule: Timeline, names: Sequence[str], kinds: Sequence[str]) -> str:
    """The trace as JSON. names, kinds: (n,) of the operations."""
    events: list[dict[str, Any]] = [
        _name_event(_DEVICES, None, "devices"),
        _name_event(_TRANSFERS, None, "transfers"),
        *(_name_event(_DEVICES, device, f"device {name}") for device, name in enumerate(schedule.names)),
    ]
    begins, ends = _nanoseconds(schedule.begins), _nanoseconds(schedule.ends)
    for i in np.argsort(begins, kind="stable").tolist():
        track = int(schedule.placement[i])
        events.append(_event(_DEVICES, track, names[i], kinds[i], begins[i], ends[i], {"operation": i}))
    departures, arrivals = _nanoseconds(schedule.departures), _nanoseconds(schedule.arrivals)
    lanes = _lanes(schedule, departures, arrivals)
    tracks = {lane: track for track, lane in enumerate(sorted(set(lanes)))}
    for sender, receiver, number in tracks:
        label = f"device {schedule.names[sender]} to {schedule.names[receiver]}" + (f", {number + 1}" if number else "")
        events.append(_name_event(_TRANSFERS, tracks[sender, receiver, number], label))
    for k in np.argsort(departures, kind="stable").tolist():
        sender, receiver, _ = lanes[k]
        details = {"operation": int(schedule.results[k]), "from": sender, "to": receiver}
        name = names[int(schedule.results[k])]
        events.append(_event(_TRANSFERS, tracks[lanes[k]], name, "transfer", departures[k], arrivals[k], details))
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}) + "\n"


def _lanes(schedule: Timeline, departures: np.ndarray, arrivals: np.ndarray) -> list[tuple[int, int, int]]:
    """Sender, receiver and lane of each transfer: the first lane of the pair that is free at its departure."""
    free: dict[tuple[int, int], list[int]] = {}  # for each pair: lanes whose transfers have arrived
    busy: dict[tuple[int, int], list[tuple[int, int]]] = {}  # for each pair: arrival and lane
    lanes = [(0, 0, 0)] * len(departures)
    for k in np.lexsort((arrivals, departures)).tolist():
        pair = int(schedule.senders[k]), int(schedule.receivers[k])
        ready, travelling = free.setdefault(pair, []), busy.setdefault(pair, [])
        while travelling and travelling[0][0] <= departures[k]:
            heapq.heappush(ready, heapq.heappop(travelling)[1])
        lane = heapq.heappop(ready) if ready else len(travelling)
        heapq.heappush(travelling, (int(arrivals[k]), lane))
        lanes[k] = (*pair, lane)
    return lanes


def _nanoseconds(seconds: np.ndarray) -> np.ndarray:
    """Integer nanoseconds: rounding preserves the order of times, so that successive events do not overlap."""
    return np.rint(seconds * 1e9).astype(np.int64)


def _name_event(process: int, track: int | None, name: str) -> dict[str, Any]:
    """The event that names a process, or one of its tracks."""
    thread = {} if track is None else {"tid": track}
    kind = "process_name" if track is None else "thread_name"
    return {"ph": "M", "name": kind, "pid": process, **thread, "args": {"name": name}}


def _event(
    process: int, track: int, name: str, category: str, begin: int, end: int, details: dict[str, int]
) -> dict[str, Any]:
    times = {"ts": int(begin) / 1000, "dur": int(end - begin) / 1000}
    return {"ph": "X", "name": name, "cat": category, "pid": process, "tid": track, **times, "args": details}
