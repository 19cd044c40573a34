"""Settings of the policy for job-shops, which is trained on drawn ones and tried on instances of others."""

from __future__ import annotations

from learned_schedulers.projects.models.settings import CandidatePolicy
from learned_schedulers.section import Section
from pipeline.lab.config.experiments import Seeds


class JobShopTraining(Section):
    """Trainings of one network, one for each seed."""

    seeds: Seeds
    network: CandidatePolicy


class Sections(Section):
    """Sections of the parameters."""

    job_shop: JobShopTraining
