"""Methods that fuse the operations of graphs, and networks that learn to fuse."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny

from learned_schedulers.graphs.models.whole_graph.settings import WholeGraph
from learned_schedulers.method_settings import MethodSettings, parser
from learned_schedulers.section import Positive, Section

BASE = MethodSettings
FusionEntry = Annotated[SerializeAsAny[MethodSettings], BeforeValidator(parser("fusion"))]


class Rule(MethodSettings):
    """A published rule, no fusion at all, or the best of all plans of a small graph."""

    file: ClassVar[str] = "rule"
    draws: ClassVar = False


class Annealing(MethodSettings):
    """Random changes of levels, accepted as in simulated annealing; at temperature 0 no change to a worse plan."""

    file: ClassVar[str] = "fusion_annealing"
    title: ClassVar[str] = "Annealing of levels"
    evaluations: Positive = 1000  # plans whose cost is computed
    hot: Annotated[float, Field(ge=0)] = 3e-3  # temperatures at the begin and the end, of the start's cost
    cold: Annotated[float, Field(ge=0)] = 3e-5


class GoFusion(MethodSettings):
    """GO's head for fusion: a network gives the probabilities of changes of levels."""

    file: ClassVar[str] = "go_fusion"
    title: ClassVar[str] = "GO's fusion"
    evaluations: Positive = 1000
    model: str | None = None  # a network that was trained on other graphs; none: it starts untrained
    learns: bool = True  # from its own evaluations
    settings: WholeGraph = WholeGraph()


class GoJoint(MethodSettings):
    """GO on fusion, placement and priority of one graph on several devices."""

    title: ClassVar[str] = "GO, all three tasks together"
    evaluations: Positive = 1000
    tasks: Literal["together", "separate", "placement"] = "together"
    fusing: Annotated[float, Field(ge=0, le=1)] = 0.5  # share of decisions that change the plan, if tasks is `together`
    learns: bool = True
    settings: WholeGraph = WholeGraph()


CLASSES: dict[str, type[MethodSettings]] = {
    **dict.fromkeys(("separate", "loop_fusion", "xla_2023", "priority_fusion", "optimum"), Rule),
    "annealing": Annealing,
    "go": GoFusion,
    "go_joint": GoJoint,
}


class FusionSet(Section):
    """Graphs of networks that are cached in pipeline/graph_sets/exported, whole or as connected parts."""

    networks: Annotated[list[str], Field(min_length=1)]
    variants: Annotated[list[Literal["forward", "training"]], Field(min_length=1)] = ["forward", "training"]
    operations: tuple[Positive, Positive] = (1, 100_000)  # of whole graphs; those with fewer or more are left out
    parts: Annotated[int, Field(ge=0)] = 0  # distinct parts drawn from every graph; 0: whole graphs
    part_operations: tuple[Positive, Positive] = (6, 16)
    most_choices: Positive = 12  # operations of a part, at least two, that may be fused into their readers
    head_room: bool = False  # only frozen parts on which some plan is better than every default
    seed: int = 0  # of the draw of parts


class FusionNetwork(Section):
    """One network that learns to fuse from many graphs."""

    training: Annotated[list[str], Field(min_length=1)]  # sets
    development: str  # set of the measurements during training
    targets: Annotated[list[str], Field(min_length=1)] = ["alone"]  # whose costs it learns: this machine, or devices
    updates: Positive  # steps of the optimiser
    problems: Positive = 16  # graphs of an update
    decay: Annotated[float, Field(ge=0)] = 0.01  # weight of the scores' mean square
    restart: Positive = 15  # draws of a graph until its search starts again: each has some fifty in a training
    measurements: Positive = 10  # on the development graphs, over the training, at equal distances
    settings: WholeGraph = WholeGraph()
