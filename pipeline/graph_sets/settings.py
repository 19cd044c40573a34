"""Named sets of computation graphs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from learned_schedulers.graphs.models.fusing.settings import FusionSet
from learned_schedulers.section import Positive, Section
from pipeline.lab.config.experiments import check_names

Sizes = tuple[Positive, Positive]  # operations, at least and at most


class Exported(Section):
    """Graphs of networks that are cached in pipeline/graph_sets/exported, and connected parts drawn from them."""

    kind: Literal["exported"]
    families: Annotated[list[str], Field(min_length=1)]  # of architectures
    variants: Annotated[list[Literal["forward", "training"]], Field(min_length=1)] = ["forward", "training"]
    operations: Sizes = (25, 1000)  # of whole graphs and of parts
    whole: bool = True  # whole graphs as well
    parts: Annotated[int, Field(ge=0)] = 0  # drawn from every graph of any size (pipeline/graph_sets/parts.py)
    seed: int = 0  # of the draw of parts


class Synthetic(Section):
    """Random graphs (graphs/read/synthetic.py), with random run times and sizes of no real device."""

    kind: Literal["synthetic"]
    families: Annotated[list[str], Field(min_length=1)]
    graphs: Positive  # of each family
    operations: Positive
    seed: int


class Workloads(Section):
    """Profiled graphs as JSON files; all their devices count as equal, and an operation may be on any of them."""

    kind: Literal["workloads"]
    include: Annotated[list[str], Field(min_length=1)]  # paths and patterns


GraphSource = Annotated[Exported | Synthetic | Workloads, Field(discriminator="kind")]


class GraphSet(Section):
    """Graphs on several equal devices."""

    sources: Annotated[list[GraphSource], Field(min_length=1)]
    device: str | None = None  # of section `devices`, for run times and memory; none for synthetic graphs
    devices: Positive = 4
    memory_bytes: Annotated[float, Field(gt=0)] | None = None  # of each device; by default the device's own memory

    @property
    def timed(self) -> bool:
        """Whether all run times are of real devices, so that links with real figures fit them."""
        return all(source.kind != "synthetic" for source in self.sources)

    @model_validator(mode="after")
    def _exported_graphs_have_a_device(self) -> GraphSet:
        if self.device is None and any(source.kind == "exported" for source in self.sources):
            raise ValueError("exported graphs have no run times of their own: name a device of section `devices`")
        return self


class PlacedSet(Section):
    """Whole graphs of networks that are cached in pipeline/graph_sets/exported, as their device runs them."""

    device: str  # of section `devices`
    networks: Annotated[list[str], Field(min_length=1)]
    variants: Annotated[list[Literal["forward", "training"]], Field(min_length=1)] = ["forward", "training"]
    operations: tuple[Positive, Positive] = (1, 100_000)  # graphs with fewer or more are left out


class Sections(Section):
    """Sections of the parameters."""

    graph_sets: dict[str, GraphSet]
    placement_sets: dict[str, PlacedSet] = {}
    fusion_sets: dict[str, FusionSet] = {}


def check(params: Any) -> None:
    """Raise ValueError if a set names a set or a device that does not exist. `params`: Params with these sections."""
    for name, graphs in params.graph_sets.items():
        if graphs.device is not None:
            check_names(f"graph_sets.{name}.device", [graphs.device], params.devices)
    for name, placed in params.placement_sets.items():
        check_names(f"placement_sets.{name}.device", [placed.device], params.devices)
