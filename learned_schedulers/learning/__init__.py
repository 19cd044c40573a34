"""Common parts of all trainings: the loop, checkpoints, sums over processes, files of weights."""

from typing import TYPE_CHECKING

from learned_schedulers.public import offer

if TYPE_CHECKING:
    from learned_schedulers.learning.checkpoints import Checkpoint
    from learned_schedulers.learning.loop import Diverged, Training, descend, run, warmed_cosine
    from learned_schedulers.learning.processes import group, is_first, sum_gradients
    from learned_schedulers.learning.weights import load, save

__all__ = [
    "Checkpoint",
    "Diverged",
    "Training",
    "descend",
    "group",
    "is_first",
    "load",
    "run",
    "save",
    "sum_gradients",
    "warmed_cosine",
]
offer(
    __name__,
    {
        "checkpoints": "Checkpoint",
        "loop": "Diverged Training descend run warmed_cosine",
        "processes": "group is_first sum_gradients",
        "weights": "load save",
    },
)
