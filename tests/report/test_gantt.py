"""A Gantt chart shows each operation of a schedule as a bar on its device, from its start to its end."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from learned_schedulers.figures import render
from learned_schedulers.graphs.devices.timeline import Timeline, timeline
from learned_schedulers.graphs.plans.gantt import gantt
from tests.graphs.problems import drawn


def drawn_schedule(seed: int, n: int = 12, devices: int = 3) -> Timeline:
    rng = np.random.default_rng(seed)
    problem = drawn.problem(rng, n, devices)
    orders, placements = drawn.schedules(problem, rng, 1)
    return timeline(problem, orders[0], placements[0])


def test_bars_are_operations() -> None:
    schedules = {"list": drawn_schedule(0), "optimum": drawn_schedule(1, 9, 2)}
    figure = gantt(schedules, bound=1.0)
    for ax, (title, schedule) in zip(figure.axes, schedules.items(), strict=False):
        assert ax.get_title(loc="left").startswith(f"{title}: ")
        bars = []
        for collection in ax.collections:
            assert isinstance(collection, PolyCollection)
            for path in collection.get_paths():
                low, high = path.get_extents().get_points()
                bars.append((round(-(low[1] + high[1]) / 2), low[0], high[0]))
        expected = sorted(zip(schedule.placement, schedule.begins, schedule.ends, strict=True))
        assert sorted(bars) == [pytest.approx(bar) for bar in expected]
    assert figure.axes[0].get_xlim() == figure.axes[1].get_xlim()


def test_equal_schedules_give_equal_bytes_and_none_an_empty_chart() -> None:
    assert render(gantt({"a": drawn_schedule(3)})) == render(gantt({"a": drawn_schedule(3)}))
    assert render(gantt({"a": drawn_schedule(0, 0)}, bound=0.0)).startswith(b"\x89PNG")


def test_a_wide_bar_has_its_name_and_the_chart_its_heading_and_a_legend_of_transfers() -> None:
    schedule = drawn_schedule(0)
    names = [f"layer.{i} (addmm)" for i in range(12)]
    figure = gantt({"best": schedule}, 1.0, "mine:Network on 3 v100", names)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts and set(texts) <= {name.removesuffix(" (addmm)") for name in names}
    assert figure.get_suptitle() == "mine:Network on 3 v100"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["transfer, until it arrives", "lower bound"]
    longest = gantt({"best": schedule}, 1.0, "", ["n" * 200] * 12)
    assert not longest.axes[0].texts
