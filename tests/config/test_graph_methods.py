"""Entries of methods for computation graphs: flat, complete, and errors with a remedy."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from learned_schedulers import method_files
from learned_schedulers.graphs import method_settings as graph_methods
from learned_schedulers.graphs.method_settings import GraphEntry, graph_entry
from learned_schedulers.section import ConfigError, section
from pipeline.lab.wiring import ROOT


def test_an_entry_is_flat_and_resolves_to_all_its_keys() -> None:
    entries = section(dict[str, GraphEntry], json.dumps({"long": {"method": "annealing", "evaluations": 20000}}))
    resolved = entries["long"].model_dump()
    assert resolved["method"] == "annealing" and resolved["evaluations"] == 20000 and resolved["sees"] == "proxy"
    assert graph_entry(**resolved) == entries["long"]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"method": "annealing", "evaluation": 3}, r"evaluation: Extra inputs .* 'annealing' has \['cold', 'evalu"),
        ({"method": "annealing", "evaluations": 0}, "evaluations: Input should be greater than 0"),
        ({"method": "heft", "sees": "proxy"}, "sees: Extra inputs are not permitted"),
        ({"method": "hefty"}, r"no method 'hefty'; there are \['annealing', 'brkga'"),
        ({"method": "randomised_list", "least_noise": 2.0}, "least_noise 2.0 is more than most_noise 1.0"),
        ({"evaluations": 3}, "no method None"),
    ],
)
def test_what_is_wrong_is_named(keys: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        section(GraphEntry, json.dumps(keys))


def test_what_a_method_needs() -> None:
    assert graph_entry("heft").needs == graph_entry("brkga", sees="target").needs == {"target"}
    assert not graph_entry("brkga").needs


def test_reading_settings_loads_nothing_heavy() -> None:
    """Snakemake loads them with the Snakefile."""
    names = ", ".join(repr(name) for name in method_files.names(graph_methods.FOLDER))
    script = (
        "import sys; from learned_schedulers.graphs.method_settings import graph_entry as of; "
        f"[of(name) for name in ({names})]; "
        "print({'numba', 'torch', 'ortools', 'numpy', 'scipy'} & set(sys.modules))"
    )
    message = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert message.strip() == "set()"
