"""Settings of plans of fusion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from learned_schedulers.graphs.devices.settings import DEVICES
from learned_schedulers.graphs.models.fusing.settings import FusionEntry, FusionNetwork
from learned_schedulers.section import Positive, Section
from pipeline.lab.config.experiments import OnGraphs, check_names

if TYPE_CHECKING:
    from pipeline.lab.config.params import Params

ALONE = "alone"  # the target of plans of fusion: all kernels one after the other on one device
THIS_MACHINE = "this_machine"  # the machine of the frozen rates (graphs/compilers/frozen)


class ShownFusion(Section):
    """Set, graph and methods of the plans that the page draws."""

    set: str
    graph: str  # name and variant: `gnmt_8 forward`
    target: str
    methods: Annotated[list[str], Field(min_length=1)]
    operations: tuple[int, int]  # numbers of the first and the last drawn one


class Fusion(OnGraphs):
    """Plans of fusion; sets and methods are of `fusion_sets` and `fusion_methods`, targets ALONE, devices or links."""

    section_of_sets: ClassVar[str] = "fusion_sets"
    section_of_methods: ClassVar[str] = "fusion_methods"
    simulated_targets: ClassVar[list[str]] = [ALONE, *DEVICES]  # a device: ALONE on it
    frozen_table: ClassVar[str | None] = None
    drawn: ClassVar[tuple[str, ...]] = ("fused_operations",)
    history: ClassVar[str | None] = "whole_graph_history"
    reads: ClassVar[tuple[str, ...]] = ("fusion_costs",)
    key_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("run_time", "default"),)

    task: Literal["fusion"]
    machine: str = THIS_MACHINE  # or a device of section `devices`
    devices: Positive = 4  # between which the links are
    models: dict[str, FusionNetwork] = {}  # networks that are trained on other graphs
    peers: list[str] = []  # methods that all others are compared with, beside the best default and the best known
    shown: ShownFusion | None = None

    def check(self, key: str, name: str, params: Params) -> None:
        """See Experiment.check."""
        super().check(key, name, params)
        check_names(f"{key}.machine", [self.machine], [THIS_MACHINE, *params.devices])
        for model, network in self.models.items():
            check_names(f"{key}.models.{model}.targets", network.targets, self.simulated_targets)

    def settings_of_machines(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """See OnGraphs.settings_of_machines."""
        return {} if self.machine == THIS_MACHINE else {"device": params["devices"][self.machine]}


class Sections(Section):
    """Sections of the parameters."""

    fusion_methods: dict[str, FusionEntry] = {}
