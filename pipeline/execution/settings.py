"""Settings of schedules of computation graphs that two cores of the machine at hand execute."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from learned_schedulers.graphs.run.settings import ExecutionSettings
from pipeline.lab.config.experiments import OnGraphs, check_names

if TYPE_CHECKING:
    from pipeline.lab.config.params import Params


class Execution(OnGraphs):
    """Schedules of computation graphs, executed on two cores of the machine at hand, and simulated on the targets."""

    results: ClassVar[tuple[str, ...]] = ("results", "parts", "executed_points")
    measured: ClassVar[bool] = True
    reads: ClassVar[tuple[str, ...]] = ("graphs", "graph_timings", "machine_rates", "simulated_timings")
    key_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("makespan", "list_scheduling"),)

    task: Literal["execution"]
    execution: ExecutionSettings

    def check(self, key: str, name: str, params: Params) -> None:
        """See Experiment.check."""
        super().check(key, name, params)
        executed = [set for set, chosen in self.sections(params)[0].items() if getattr(chosen, "executes", None)]
        check_names(f"{key}.sets", self.sets, executed)
