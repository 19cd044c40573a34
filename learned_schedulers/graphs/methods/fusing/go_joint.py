"""GO on all three tasks: fusion, placement and priority together, or one after the other, at equal evaluations."""

from __future__ import annotations

import numpy as np
import torch

from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.levels import ALONE, FUSED, levels_of
from learned_schedulers.graphs.methods.fusing import Fusion
from learned_schedulers.graphs.models.fusing import fusing_search as rounds
from learned_schedulers.graphs.models.fusing import joint
from learned_schedulers.graphs.models.fusing.fusing_network import Fusing
from learned_schedulers.graphs.models.fusing.joint import Machine, Scheduled
from learned_schedulers.graphs.models.fusing.numbers import Fusible
from learned_schedulers.graphs.models.fusing.settings import GoJoint
from learned_schedulers.graphs.models.whole_graph.search import Learner
from learned_schedulers.methods import Unsupported


class Joint:
    def __init__(self, settings: GoJoint) -> None:
        self._settings = settings

    def fuse(self, problem: FusionProblem, rng: np.random.Generator, machine: Machine | None = None) -> Fusion:
        if machine is None:
            raise Unsupported("it places kernels on several devices: name a link as the target")
        best, costs = search(problem, machine, self._settings, rng)
        return Fusion(best.plan, costs, best)


def search(
    problem: FusionProblem, machine: Machine, settings: GoJoint, rng: np.random.Generator
) -> tuple[Scheduled, np.ndarray]:
    """The best schedule, and the makespan of each of that many evaluations; infinite where a plan alone is judged.

    It starts from the plan of a default; HEFT places its kernels.

    `separate`: half of the evaluations search for the plan whose kernels take least one after the other, the other half
    for where and when they run. `placement`: the plan stays that of the best default. `together`: the first evaluations
    are of the defaults' plans on the devices; then a share `fusing` of the decisions changes the plan.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**63)))
        network, alone = joint.Joint(settings.settings), Fusing(settings.settings)
    rate = settings.settings.learning_rate
    learn, learn_alone = (Learner(module, rate) if settings.learns else None for module in (network, alone))  # type: ignore[arg-type]
    fusible, default = Fusible.of(problem), rounds.best_default(problem)
    levels, plan_evaluations = default.levels, 0
    if settings.tasks == "separate":
        plan_evaluations = settings.evaluations // 2
        levels = rounds.search(
            alone, fusible, default, settings.settings, plan_evaluations, rng, learn_alone
        ).best.levels
    if settings.tasks == "together":
        starts = [joint.undecided(problem, machine, start) for start in _starts(problem)]
        share = settings.fusing
    else:
        starts, share = [joint.undecided(problem, machine, levels)], 0.0
    start_costs = [start.seconds for start in starts]
    start = min(starts, key=lambda scheduled: scheduled.seconds)
    remaining = settings.evaluations - plan_evaluations - len(starts) + 1
    best, costs = joint.search(network, fusible, machine, start, share, remaining, rng, learn)
    return best, np.r_[np.full(plan_evaluations, np.inf), start_costs, costs[1:]]


def _starts(problem: FusionProblem) -> list[np.ndarray]:
    """Levels of the defaults' plans, with and without kernels of several results, which may wait for more inputs."""
    candidates = [levels_of(problem, rule(problem)) for rule in rounds.DEFAULTS.values()]
    candidates += [np.where(levels < FUSED, ALONE, levels) for levels in candidates]
    return list({levels.tobytes(): levels for levels in candidates}.values())


make = Joint
