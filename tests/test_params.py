"""params.yaml and params.test.yaml are valid and speak of the same things."""

from pathlib import Path

import pytest
import yaml

from pipeline.config.params import load
from pipeline.config.section import ConfigError

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


def test_a_model_can_have_seeds_of_its_own(tmp_path: Path) -> None:
    params = yaml.safe_load((ROOT / "params.test.yaml").read_text())
    imitation = params["imitations"]["imitation"]
    first, second = imitation["models"]
    imitation |= {"seeds": [3, 4], "other_seeds": {second: [5]}}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    found = load(tmp_path / "params.yaml").imitations["imitation"]
    assert found.seeds_of(first) == [3, 4] and found.seeds_of(second) == [5]

    imitation["other_seeds"] = {"nobody": [5]}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    with pytest.raises(ConfigError, match=r"other_seeds.*nobody"):
        load(tmp_path / "params.yaml")
