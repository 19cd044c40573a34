"""Entries of `methods`: flat, each with the settings of its method, and errors with a remedy."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from learned_schedulers import method_files
from learned_schedulers.blocks import method_settings as methods
from learned_schedulers.blocks.method_settings import Entry, entry, settings_of
from learned_schedulers.section import ConfigError, section
from pipeline.lab.wiring import ROOT


def test_an_entry_is_flat_and_resolves_to_all_its_keys() -> None:
    chosen = section(Entry, json.dumps({"method": "search", "walk": "mcmc", "processors": ["atom"]}))
    assert chosen.settings == settings_of("search")(walk="mcmc")  # type: ignore[call-arg]
    resolved = chosen.model_dump()
    assert resolved == chosen.flat()
    assert resolved["walk"] == "mcmc" and resolved["evaluations"] == 1000 and resolved["model"] is None
    assert Entry.model_validate(resolved) == chosen


def test_an_unknown_key_is_named_with_the_methods_own() -> None:
    with pytest.raises(
        ConfigError, match=r"walks: no setting of the method 'search'; it has \['evaluations', 'walk'\]"
    ):
        section(Entry, '{"method": "search", "walks": "mcmc"}')
    with pytest.raises(ConfigError, match=r"evaluations: no setting of the method 'milp'.*correct it, or delete it"):
        section(Entry, '{"method": "milp", "evaluations": 3}')


def test_a_wrong_value_is_named() -> None:
    with pytest.raises(ConfigError, match="evaluations: Input should be greater than 0"):
        section(Entry, '{"method": "search", "evaluations": 0}')
    with pytest.raises(ConfigError, match=r"priority: Input should be 'critical_path'"):
        section(Entry, '{"method": "list_scheduling", "priority": "highest"}')


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(ConfigError, match=r"no method 'sinkhron'; there are \['cp_sat', 'crit"):
        section(Entry, '{"method": "sinkhron"}')


def test_modules_of_an_entry() -> None:
    assert entry("haifa").modules() == ["learned_schedulers.blocks.methods.haifa"]


def test_reading_settings_loads_nothing_heavy() -> None:
    """Snakemake loads them with the Snakefile."""
    names = ", ".join(repr(name) for name in method_files.names(methods.FOLDER))
    script = (
        "import sys; from learned_schedulers.blocks.method_settings import entry; "
        f"[entry(name) for name in ({names})]; "
        "print({'numba', 'torch', 'ortools', 'numpy', 'scipy'} & set(sys.modules))"
    )
    message = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert message.strip() == "set()"
