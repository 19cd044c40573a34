"""Named choices of computation graphs, and which of them count."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from pipeline.config.execution import Coarsening
from pipeline.config.section import Positive, Section

Sizes = tuple[Positive, Positive]  # operations, at least and at most


class Exported(Section):
    """Graphs of networks that are cached in graphs/corpus/exported, and connected parts drawn from them."""

    kind: Literal["exported"]
    families: Annotated[list[str], Field(min_length=1)]  # of architectures
    variants: Annotated[list[Literal["forward", "training"]], Field(min_length=1)] = ["forward", "training"]
    operations: Sizes = (25, 1000)  # of whole graphs and of parts
    whole: bool = True  # whole graphs as well
    parts: Annotated[int, Field(ge=0)] = 0  # drawn of every graph, whatever its size (graphs/corpus/parts.py)
    seed: int = 0  # of the draw of parts


class Synthetic(Section):
    """Random graphs (graphs/corpus/synthetic.py): run times and sizes are drawn, and stand for no device."""

    kind: Literal["synthetic"]
    families: Annotated[list[str], Field(min_length=1)]
    graphs: Positive  # of each family
    operations: Positive
    seed: int


class Workloads(Section):
    """Profiled graphs as JSON files; of several devices all are alike here, and operations may be on any."""

    kind: Literal["workloads"]
    include: Annotated[list[str], Field(min_length=1)]  # paths and patterns


GraphSource = Annotated[Exported | Synthetic | Workloads, Field(discriminator="kind")]


class GraphSet(Section):
    """Graphs on so many devices that are alike."""

    sources: Annotated[list[GraphSource], Field(min_length=1)]
    device: str | None = None  # of section `devices`, that tells run times and memory; of synthetic graphs alone: none
    devices: Positive = 4
    memory_bytes: Annotated[float, Field(gt=0)] | None = None  # of each device, where it is not the device's own

    @property
    def timed(self) -> bool:
        """Whether all run times are those of real devices, so that links with real figures can be compared to them."""
        return all(source.kind != "synthetic" for source in self.sources)

    @model_validator(mode="after")
    def _exported_graphs_have_a_device(self) -> GraphSet:
        if self.device is None and any(source.kind == "exported" for source in self.sources):
            raise ValueError("exported graphs have no run times of their own: name a device of section `devices`")
        return self


class ExecutedSet(Section):
    """The graphs of another set in the form in which two cores of a machine execute them (graphs/execution)."""

    executes: str  # name of that set
    coarsening: Coarsening
    # What the graphs bring along or the machine has; read as the same fields of GraphSet are.
    device: ClassVar[None] = None
    devices: ClassVar[int] = 2
    memory_bytes: ClassVar[None] = None
    timed: ClassVar[bool] = True


def _kind(given: object) -> str:
    executes = "executes" in given if isinstance(given, dict) else isinstance(given, ExecutedSet)
    return "executed" if executes else "chosen"


AnyGraphSet = Annotated[
    Annotated[GraphSet, Tag("chosen")] | Annotated[ExecutedSet, Tag("executed")], Discriminator(_kind)
]
