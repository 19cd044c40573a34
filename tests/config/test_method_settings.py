"""Entries of methods of all kinds: flat, complete, light to read, and errors with a remedy."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from typing import get_args

import pytest

from learned_schedulers.blocks.method_settings import BlockEntry
from learned_schedulers.graphs.method_settings import GraphEntry
from learned_schedulers.method_settings import PACKAGES, class_of, entry, modules, names
from learned_schedulers.outside_methods import Kind
from learned_schedulers.section import ConfigError, section
from pipeline.lab.wiring import ROOT

KINDS: tuple[Kind, ...] = get_args(Kind)


def test_an_entry_is_flat_and_resolves_to_all_its_keys() -> None:
    chosen = section(BlockEntry, json.dumps({"method": "search", "walk": "mcmc", "processors": ["atom"]}))
    assert chosen.model_dump() == {"method": "search", "model": None, "processors": ["atom"], "exact": False} | {
        "walk": "mcmc",
        "evaluations": 1000,
    }
    entries = section(dict[str, GraphEntry], json.dumps({"long": {"method": "annealing", "evaluations": 20000}}))
    resolved = entries["long"].model_dump()
    assert list(resolved) == ["method", "sees", "evaluations", "hot", "cold"] and resolved["evaluations"] == 20000
    assert entry("graph", **resolved) == entries["long"]


@pytest.mark.parametrize(
    ("kind", "keys", "message"),
    [
        (
            BlockEntry,
            {"method": "search", "walks": "mcmc"},
            r"walks: Extra inputs .*; 'search' has \['evaluations', 'ex",
        ),
        (BlockEntry, {"method": "milp", "evaluations": 3}, "evaluations: Extra inputs are not permitted; 'milp' has"),
        (BlockEntry, {"method": "search", "evaluations": 0}, "evaluations: Input should be greater than 0"),
        (BlockEntry, {"method": "list_scheduling", "priority": "x"}, "priority: Input should be 'critical_path'"),
        (BlockEntry, {"method": "sinkhron"}, r"no method 'sinkhron'; there are \['cp_sat', 'crit"),
        (
            GraphEntry,
            {"method": "annealing", "evaluation": 3},
            r"evaluation: Extra .* 'annealing' has \['cold', 'evalu",
        ),
        (GraphEntry, {"method": "annealing", "evaluations": 0}, "evaluations: Input should be greater than 0"),
        (GraphEntry, {"method": "heft", "sees": "proxy"}, "sees: Extra inputs are not permitted"),
        (GraphEntry, {"method": "hefty"}, r"no method 'hefty'; there are \['annealing', 'brkga'"),
        (GraphEntry, {"method": "randomised_list", "least_noise": 2.0}, "least_noise 2.0 is more than most_noise 1.0"),
        (GraphEntry, {"evaluations": 3}, "no method None"),
    ],
)
def test_what_is_wrong_is_named(kind: object, keys: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        section(kind, json.dumps(keys))


def test_what_a_method_needs() -> None:
    assert entry("graph", "heft").needs == entry("graph", "brkga", sees="target").needs == {"target"}
    assert not entry("graph", "brkga").needs


@pytest.mark.parametrize("kind", KINDS)
def test_every_class_is_of_a_method_and_has_defaults(kind: Kind) -> None:
    classes = import_module(class_of(kind, "go" if kind == "fusion" else "cp_sat").__module__).CLASSES
    for method in {*classes, *(names(kind) if kind != "fusion" else ())}:
        (module,) = modules(kind, entry(kind, method))
        assert module.removeprefix(f"{PACKAGES[kind]}.") in names(kind)


@pytest.mark.parametrize(
    "script",
    [
        "from learned_schedulers.method_settings import entry, names; "
        "[entry(k, n) for k in ('block', 'graph', 'project') for n in names(k)]; entry('fusion', 'go')",
        "import sys; from learned_schedulers.command.main import main; sys.argv[1:] = ['order', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n",
    ],
)
def test_reading_settings_loads_nothing_heavy(script: str) -> None:
    """Snakemake loads them with the Snakefile."""
    script += "\nimport sys; print({'numba', 'torch', 'ortools', 'numpy', 'scipy'} & set(sys.modules))"
    lines = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert lines.splitlines()[-1] == "set()"
