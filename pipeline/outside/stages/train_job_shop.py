"""Train the policy for job-shops with one seed."""

from __future__ import annotations

from functools import partial

from learned_schedulers.projects.models.candidate_network import save
from learned_schedulers.projects.models.self_labelling import train
from learned_schedulers.projects.models.settings import CandidatePolicy
from learned_schedulers.section import section
from pipeline.lab.stages import options
from pipeline.lab.stages.training import Outputs, trained
from pipeline.outside.tables import JOB_SHOP_HISTORY


def main(settings: options.Settings, seed: options.Seed, weights: options.Out, history: options.Out) -> None:
    """Train a network that chooses the next operation of a job-shop, on drawn job-shops and its own best schedules.

    An interrupted training continues from its last measurement (pipeline/lab/stages/training.py).
    """
    trained(
        partial(train, section(CandidatePolicy, settings), seed),
        save,
        Outputs(weights, history, JOB_SHOP_HISTORY),
        ["learned_schedulers.projects.models.self_labelling"],
        f"{settings}\n{seed}",
        [],
    )
