"""GO's network, and its training on one graph or on many."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from learned_schedulers.section import Positive, Section


class Layers(Section):
    """Sizes of the paper (width 128, 2 + 3 layers, 8 heads, segments of 256), halved where results did not change."""

    width: Positive = 64
    graph_layers: Positive = 2
    attention_layers: Positive = 2
    heads: Positive = 4
    segment: Positive = 128  # operations
    attention: bool = True  # an ablation leaves one of these out
    modulation: bool = True


class WholeGraph(Layers):
    """The network that improves a schedule, and its rounds."""

    recurrent_layers: bool = True  # these two: as above
    rounds: bool = True  # of refinement: every round starts from the best decision so far, else from none
    samples: Positive = 20  # decisions drawn from one pass of the network
    most_moves: Positive = 8  # the mean number of moves is log-uniform between 1 and this
    placing: Annotated[float, Field(ge=0, le=1)] = 0.7  # share of moves that place; the others change priorities
    alone: Annotated[float, Field(ge=0, le=1)] = 0.25  # share of decisions whose groups are single operations
    uniform: Annotated[float, Field(ge=0, le=1)] = 0.1  # share of every probability, for exploration
    epochs: Positive = 1  # steps of the optimiser for one pass
    learning_rate: Annotated[float, Field(ge=0)] = 1.0e-3
    clip: Annotated[float, Field(gt=0)] = 0.2


class Published(Layers):
    """The paper's own policy and PPO. What the paper does not state was chosen on development graphs."""

    priorities: bool = True  # it orders, too; otherwise the one rule of ordering does, as for HDP
    samples: Positive = 16  # schedules drawn from one pass of the network: a batch of PPO
    epochs: Positive = 4  # steps of the optimiser for one batch
    learning_rate: Annotated[float, Field(ge=0)] = 2.0e-3
    clip: Annotated[float, Field(gt=0)] = 0.2
    entropy: Annotated[float, Field(ge=0)] = 0.01  # weight of the mean entropy of a choice
    invalid: Annotated[float, Field(gt=1)] = 10.0  # minus the reward of what exceeds the memory; one device's is 1


class Generalised(Section):
    """One network that learns from many graphs, each on several numbers of devices and links."""

    training: Annotated[list[str], Field(min_length=1)]  # placement sets
    development: str  # placement set of the measurements during training
    devices: Annotated[list[Positive], Field(min_length=1)] = [2, 4, 8]
    links: Annotated[list[str], Field(min_length=1)]  # of section `links`
    updates: Positive  # steps of the optimiser
    problems: Positive = 32  # of an update, each with `samples` schedules: single ones are mostly noise
    decay: Annotated[float, Field(ge=0)] = 0.01  # weight of the scores' mean square; without it they reach their bounds
    restart: Positive = 60  # draws of a problem until its search starts again
    measurements: Positive = 10  # on the development graphs, over the training, at equal distances
    settings: WholeGraph = WholeGraph()
    published: Published | None = None  # train the paper's own policy; then decay, restart and settings do not count
