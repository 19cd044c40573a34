"""A policy that builds schedules: either of two networks, with one interface (rollout.py), and its file of weights."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from pipeline import tables
from pipeline.config.policy import Policy as Settings
from pipeline.graphs.models.reads_every_step import ReadsEveryStep
from pipeline.graphs.models.reads_once import ReadsOnce

Policy = ReadsOnce | ReadsEveryStep
_DESCRIPTION = "policy"  # key in a file's metadata


def make(settings: Settings) -> Policy:
    """An untrained policy; torch's generator draws its weights."""
    return ReadsOnce(settings) if settings.reads == "once" else ReadsEveryStep(settings)


def save(policy: Policy, path: Path) -> None:
    """Write the weights with the settings, as safetensors."""
    with tables.replacing(path) as temporary:
        save_file(policy.state_dict(), temporary, {_DESCRIPTION: policy.settings.model_dump_json()})


def load(path: Path) -> Policy:
    """A trained policy from its file. Raises ValueError if the file holds no policy."""
    try:
        with safe_open(path, "pt") as file:
            described = (file.metadata() or {}).get(_DESCRIPTION)
            weights = {name: file.get_tensor(name) for name in list(file.keys())}
    except (SafetensorError, FileNotFoundError) as error:
        raise ValueError(f"{path} is not a file of weights ({error}); train it again") from error
    if described is None:
        raise ValueError(f"{path} is not a policy: it holds no settings; train it by train_policy")
    try:
        policy = make(Settings.model_validate_json(described))
    except ValidationError as error:
        raise ValueError(f"{path} was trained by another version of this program; train it again ({error})") from error
    try:
        policy.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(
            f"{path} does not hold the weights that its settings describe; train it again ({error})"
        ) from error
    return policy.eval()
