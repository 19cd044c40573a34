"""A schedule of one graph: by a method, or one's own; judged by the one simulator, with its times and its chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from learned_schedulers.files import replacing
from learned_schedulers.graphs.devices.settings import DeviceName, Link, LinkName
from learned_schedulers.graphs.devices.simulator import peaks
from learned_schedulers.graphs.devices.timeline import Timeline, timeline
from learned_schedulers.graphs.plans.best import check_fits, trial_of
from learned_schedulers.graphs.plans.sources import Source, on_devices
from learned_schedulers.graphs.problems.problem import Problem

if TYPE_CHECKING:  # slow to import
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Schedule:
    """n operations of a problem, each on a device, in an order. A notebook shows its chart."""

    problem: Problem
    order: np.ndarray  # (n,) int32, order[t] = operation in slot t
    placement: np.ndarray  # (n,) int32, device of each operation
    method: str = ""  # that proposed it
    names: tuple[str, ...] = ()  # n, of the operations; empty: they have none

    def __repr__(self) -> str:
        size = f"{len(self.problem)} operations on {self.problem.devices} devices"
        return f"<Schedule{self.method and f' by {self.method}'}: {size}, makespan {self.makespan:.6g} s>"

    @cached_property
    def timeline(self) -> Timeline:
        """When operations run, and results arrive. Raises ValueError as `judge` if the schedule is not valid."""
        return timeline(self.problem, self.order, self.placement)

    @property
    def makespan(self) -> float:
        """Seconds until the last operation ends."""
        return self.timeline.makespan

    @cached_property
    def peaks(self) -> np.ndarray:
        """(m,) most bytes that each device holds at a time."""
        return peaks(self.problem, self.order, self.placement)

    @property
    def fits(self) -> bool:
        """Whether no device ever holds more than its memory."""
        return bool((self.peaks <= self.problem.memory).all())

    def gantt(self, path: str | Path | None = None) -> Figure:
        """Devices against time, with the lower bound. path: a file that it is also written to, .png, .svg or .pdf.

        Raises ValueError for another ending.
        """
        from learned_schedulers import figures
        from learned_schedulers.graphs.plans.gantt import gantt

        figure = gantt({self.method or "schedule": self.timeline}, self.problem.bound, names=self.names)
        if path is not None:
            drawn = figures.content(figure, Path(path).suffix)
            with replacing(Path(path), follow=True) as temporary:
                temporary.write_bytes(drawn)
        return figure

    def _repr_png_(self) -> bytes:
        from learned_schedulers.figures import render

        return render(self.gantt())


def schedule(
    graph: Source,
    method: str = "heft",
    devices: int | str | Sequence[str] | None = None,
    device: DeviceName = "v100",
    link: LinkName | Link = "pcie",
    memory: float | None = None,
    seed: int = 0,
    links: Mapping[str, LinkName | Link] | None = None,
    **settings: Any,
) -> Schedule:
    """The best schedule that one method proposes, which fits the memory; the same seed gives the same one.

    method: a file of graphs/methods, or `package:Class` of another package, which is imported; settings: its own, as
    `evaluations=20000`. devices, device, link, memory, links: as of `on_devices`. Raises ValueError for a method or a
    setting that does not exist, and if there is no schedule, with the reason.
    """
    problem = on_devices(graph, devices, device, link, memory, links=links)
    check_fits(problem, graph.names, graph.groups)
    trial = trial_of(problem, method, np.random.default_rng(seed), graph.groups, settings=settings)
    if trial.order is None or trial.placement is None:
        raise ValueError(f"{method} has no schedule: {trial.message}; name another method, or give more memory")
    return Schedule(problem, trial.order, trial.placement, method, graph.names)


def judge(problem: Problem, order: ArrayLike, placement: ArrayLike) -> Schedule:
    """A schedule of one's own. order, placement: (n,) whole numbers, as of `Schedule`.

    It may exceed the memory, which `fits` says. Raises ValueError that names slot and operation of what is not valid.
    """
    rows = {name: np.asarray(values) for name, values in (("order", order), ("placement", placement))}
    for name, values in rows.items():
        if values.dtype.kind not in "iu" or values.shape != (len(problem),):
            form = f"{values.dtype} {values.shape}"
            raise ValueError(f"{name} is {form}; it must be whole numbers of shape ({len(problem)},)")
    judged = Schedule(problem, rows["order"].astype(np.int32), rows["placement"].astype(np.int32))
    _ = judged.timeline  # raises what is not valid
    return judged
