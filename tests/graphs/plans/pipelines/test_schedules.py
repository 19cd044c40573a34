"""Schedules of pipelines: the published bubbles and micro-batches in flight, and times against plain Python."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from learned_schedulers.graphs.plans.pipelines.schedules import Kind, Pass, Pipeline, most_in_flight, orders
from learned_schedulers.graphs.plans.pipelines.simulator import peaks, simulated, timeline_of
from learned_schedulers.graphs.plans.pipelines.stages import Stages


def chain(forward: list[float], backward: list[float], sent: float = 0.0) -> Stages:
    """Stages that each read the result of the one before; without backward times there is no backward pass."""
    k, training = len(forward), bool(backward)
    feeds = np.eye(k, k, 1, dtype=bool) | (np.eye(k, k, -1, dtype=bool) & training)
    none = np.zeros(k)
    return Stages(
        np.array(forward), np.array(backward or none), feeds, sent * feeds, none, none, none, none, none, none, training
    )


def homes(*copies: int) -> tuple[tuple[int, ...], ...]:
    ends = np.cumsum(copies).tolist()
    return tuple(tuple(range(end - count, end)) for end, count in zip(ends, copies, strict=True))


@pytest.mark.parametrize("kind", ["gpipe", "1f1b"])
@pytest.mark.parametrize(("p", "m"), [(1, 3), (2, 1), (3, 2), (4, 8), (5, 7)])
def test_bubbles_of_equal_stages(kind: Kind, p: int, m: int) -> None:
    """(p - 1) / (m + p - 1): Huang et al. 2019, section 2.3; Narayanan et al. 2021, section 2.2."""
    for backward in ([2.0] * p, []):
        pipeline = Pipeline(homes(*[1] * p), kind, m)
        stages = chain([1.0] * p, backward)
        times = simulated(stages, pipeline, orders(pipeline, stages.training), 0, 0)
        assert times.bubbles == pytest.approx((p - 1) / (m + p - 1))
        assert times.seconds == pytest.approx((m + p - 1) * (3 if backward else 1))


@pytest.mark.parametrize(("p", "v", "m"), [(2, 2, 2), (2, 3, 8), (3, 2, 3), (4, 2, 8), (4, 4, 16), (3, 1, 6)])
def test_interleaving_divides_the_bubble(p: int, v: int, m: int) -> None:
    """Narayanan et al. 2021, section 2.2: (p - 1) / (v m) of the ideal time."""
    for backward in ([2 / v] * p * v, []):
        pipeline = Pipeline(homes(*[1] * p) * v, "interleaved", m)
        stages = chain([1 / v] * p * v, backward)
        times = simulated(stages, pipeline, orders(pipeline, stages.training), 0, 0)
        assert times.bubbles == pytest.approx((p - 1) / (v * m + p - 1))


def test_an_interleaved_schedule_needs_a_multiple_of_the_devices() -> None:
    with pytest.raises(ValueError, match="5 micro-batches: an interleaved schedule on 2 x 1 devices needs a multiple"):
        orders(Pipeline(homes(1, 1) * 2, "interleaved", 5), True)


@pytest.mark.parametrize(("p", "m"), [(1, 4), (3, 2), (4, 8)])
def test_micro_batches_in_flight(p: int, m: int) -> None:
    """GPipe holds all of them, 1F1B at most as many as there are stages from its own on."""
    for kind, expected in (("gpipe", [m] * p), ("1f1b", [min(m, p - stage) for stage in range(p)])):
        listed = orders(Pipeline(homes(*[1] * p), kind, m), True)
        assert [most_in_flight(order, p)[stage] for stage, order in enumerate(listed)] == expected


def relaxed(stages: Stages, pipeline: Pipeline, listed: list[list[Pass]], slope: float, delay: float) -> float:
    """Seconds of a step: begins grow until nothing waits any more. A message waits for those before it on its link."""
    passes = [step for order in listed for step in order]
    length = {step: float((stages.backward if step.backward else stages.forward)[step.stage]) for step in passes}
    begins = dict.fromkeys(length, 0.0)
    arrivals: dict[tuple[Pass, Pass], float] = {}
    home = {step: device for device, order in enumerate(listed) for step in order}
    while True:
        before = dict(begins), dict(arrivals)
        for device, order in enumerate(listed):
            links: dict[int, float] = {}
            for step in order:
                stage, number, backward = step
                for reader in range(len(stages)):
                    other = Pass(reader, number, backward)
                    if not stages.feeds[stage, reader] or (reader < stage) != backward or home[other] == device:
                        continue
                    departs = max(begins[step] + length[step], links.get(home[other], 0.0))
                    links[home[other]] = departs + slope * stages.sent[stage, reader]
                    arrivals[step, other] = links[home[other]] + delay
            end = 0.0
            for step in order:
                stage, number, backward = step
                waits = [end, *(time for (_, other), time in arrivals.items() if other == step)]
                for feeder in range(len(stages)):
                    other = Pass(feeder, number, backward)
                    if stages.feeds[feeder, stage] and (feeder > stage) == backward and home[other] == device:
                        waits.append(begins[other] + length[other])
                if backward:
                    waits.append(begins[Pass(stage, number, False)] + length[Pass(stage, number, False)])
                begins[step] = max(waits)
                end = begins[step] + length[step]
        if before == (begins, arrivals):
            return max(begins[step] + length[step] for step in length)


@pytest.mark.parametrize("seed", range(30))
def test_times_against_plain_python(seed: int) -> None:
    """Stages of any length, with copies, results for stages behind the next one, and links that are slow."""
    rng = np.random.default_rng(seed)
    k, m = int(rng.integers(2, 5)), int(rng.integers(1, 7))
    kind: Kind = rng.choice(["gpipe", "1f1b", "interleaved"])
    places = homes(*rng.integers(1, 4, k).tolist()) if kind != "interleaved" else homes(1, 1) * 2
    pipeline = Pipeline(places, kind, m * 2)
    stages = chain(rng.random(len(places)).tolist(), rng.random(len(places)).tolist())
    skips = np.triu(rng.random(stages.feeds.shape) < 0.3, 1)
    feeds = stages.feeds | skips | skips.T
    stages = replace(stages, feeds=feeds, sent=feeds * rng.random(feeds.shape))
    listed = orders(pipeline, True)
    times = simulated(stages, pipeline, listed, 0.7, 0.1)
    assert max(times.ends.values()) == pytest.approx(relaxed(stages, pipeline, listed, 0.7, 0.1))
    timeline, names = timeline_of(times, pipeline, list("abcdefghijkl"))
    assert timeline.makespan == times.seconds and len(names) == len(timeline.begins)
    for device in range(timeline.devices):
        inside = np.argsort(timeline.begins[timeline.placement == device])
        begins, ends = (part[timeline.placement == device][inside] for part in (timeline.begins, timeline.ends))
        assert (begins[1:] >= ends[:-1] - 1e-12).all(), "a device runs one pass at a time"


def test_copies_take_turns_and_sum_their_gradients() -> None:
    """Three devices, 100 bytes a second, 60 bytes of gradients: each sends 2/3 of them twice, in 4 messages of 1 s."""
    stages = replace(chain([1.0], [2.0]), gradients=np.array([60.0]))
    pipeline = Pipeline(homes(3), "1f1b", 6)
    times = simulated(stages, pipeline, orders(pipeline, True), 1 / 100, 1.0)
    assert times.seconds == pytest.approx(2 * 3 + 2 * 2 / 3 * 60 / 100 + 4)
    assert times.sums == {0: (pytest.approx(6.0), pytest.approx(10.8))}


def test_memory_of_a_schedule() -> None:
    """Stage 0 of two: weights 10, gradients 5, buffers 0, 3 saved; 7 during forward, 8 during backward with the 3."""
    stages = replace(
        chain([1.0, 1.0], [1.0, 1.0]),
        weights=np.array([10.0, 0.0]),
        gradients=np.array([5.0, 0.0]),
        inputs=np.array([1.0, 0.0]),
        saved=np.array([3.0, 0.0]),
        forward_peak=np.array([7.0, 0.0]),
        backward_peak=np.array([8.0, 0.0]),
    )
    for kind, m, others in (("gpipe", 6, 5), ("1f1b", 6, 1)):
        pipeline = Pipeline(homes(1, 1), kind, m)
        assert peaks(stages, pipeline, orders(pipeline, True))[0] == 15 + 3 * others + 8
        anew = stages.recomputed(np.array([True, False]))
        assert peaks(anew, pipeline, orders(pipeline, True))[0] == 15 + 1 * others + 8
        assert anew.backward.tolist() == [2.0, 1.0]
