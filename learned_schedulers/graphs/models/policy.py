"""A policy that builds schedules: either of two networks, with one interface (rollout.py), and its file of weights."""

from __future__ import annotations

from pathlib import Path

from learned_schedulers.graphs.models.policy_settings import Policy as Settings
from learned_schedulers.graphs.models.reads_every_step import ReadsEveryStep
from learned_schedulers.graphs.models.reads_once import ReadsOnce
from learned_schedulers.learning import weights

Policy = ReadsOnce | ReadsEveryStep
_KIND = "policy"  # of its file of weights


def make(settings: Settings) -> Policy:
    """An untrained policy; torch's generator draws its weights."""
    return ReadsOnce(settings) if settings.reads == "once" else ReadsEveryStep(settings)


def save(policy: Policy, path: Path) -> None:
    """Write the weights with the settings."""
    weights.save(policy, path, _KIND, policy.settings.model_dump_json())


def load(path: Path) -> Policy:
    """A trained policy from its file. Raises ValueError if the file holds no policy."""
    return weights.load(path, _KIND, lambda described: make(Settings.model_validate_json(described)))
