"""params.yaml and params.test.yaml are valid and speak of the same things."""

from pathlib import Path

import yaml

from pipeline.config import load

ROOT = Path(__file__).parents[1]


def test_both_files_are_valid() -> None:
    for name in ("params.yaml", "params.test.yaml"):
        load(ROOT / name)


def test_same_keys_but_for_sources_programs_and_trials() -> None:
    real, tiny = (yaml.safe_load((ROOT / name).read_text()) for name in ("params.yaml", "params.test.yaml"))

    def keys(value: object) -> object:
        return {name: keys(part) for name, part in value.items()} if isinstance(value, dict) else None

    for params in (real, tiny):
        params["corpus"].pop("sources")
        params["trials"].pop("models")
        params["imitations"] = params["imitations"]["imitation"]
        params["sets"] = None
        for key in ("compiler", "programs"):
            params["compiled"].pop(key)
    assert keys(real) == keys(tiny)
