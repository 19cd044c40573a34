"""Settings of whole graphs that are placed on devices with little memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from learned_schedulers.graphs.models.whole_graph.settings import Generalised
from learned_schedulers.section import Positive, Section
from pipeline.lab.config.experiments import OnGraphs, Seeds, check_names

if TYPE_CHECKING:
    from pipeline.lab.config.params import Params


class ShownPlacement(Section):
    """Set, graph and methods of the placed schedules that the page draws."""

    set: str
    graph: str  # name and variant: `gnmt_8 forward`
    link: str
    methods: Annotated[list[str], Field(min_length=1)]


class Placement(OnGraphs):
    """Whole graphs on devices with little memory; `sets` are of section `placement_sets`, `targets` are links."""

    section_of_sets: ClassVar[str] = "placement_sets"
    simulated_targets: ClassVar[list[str]] = []
    frozen_table: ClassVar[str | None] = "learned_schedulers/graphs/devices/frozen/expert_placements.parquet"
    drawn: ClassVar[tuple[str, ...]] = ("placed_operations", "memory_curves")
    history: ClassVar[str | None] = "whole_graph_history"
    reads: ClassVar[tuple[str, ...]] = ("placement_costs",)
    key_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("makespan", "expert"),)

    task: Literal["placement"]
    devices: Positive = 4
    seeds_of_sets: dict[str, Seeds] = {}  # for sets with fewer seeds
    models: dict[str, Generalised] = {}  # networks that are trained on other graphs
    peers: list[str] = []  # methods that all others are compared with, beside the default, the experts and the best
    experts: list[str] = []  # methods that place as human experts do: the best of them on each graph is one baseline
    shown: ShownPlacement | None = None

    def check(self, key: str, name: str, params: Params) -> None:
        """See Experiment.check."""
        super().check(key, name, params)
        for model, settings in self.models.items():
            check_names(f"{key}.models.{model}.links", settings.links, params.links)

    def seeds_of_set(self, set: str, method: str, params: Params) -> list[int]:
        """Only seeds of the set: see OnGraphs.seeds_of_set."""
        seeds = self.drawn_seeds(method, params)
        return [seed for seed in seeds if seed in self.seeds_of_sets.get(set, self.seeds)]
