"""The methods that a stranger's method is compared with, with the settings that the laboratory chose for them."""

from __future__ import annotations

from typing import Any

from learned_schedulers.bench.instances import SETS
from learned_schedulers.bench.running import Entrant
from learned_schedulers.graphs.method_settings import graph_entry
from learned_schedulers.graphs.models import SHIPPED
from learned_schedulers.graphs.models.whole_graph import SHIPPED as SHIPPED_GO

_ANNEALING: dict[str, Any] = {"method": "annealing", "sees": "target", "hot": 0.001, "cold": 0.0001}
_ENTRIES: dict[str, dict[str, Any]] = {  # as in params.yaml and in plans/best.py
    "random_valid": {"method": "random_valid"},
    "list_scheduling": {"method": "list_scheduling"},
    "randomised_list": {"method": "randomised_list", "least_noise": 0.3, "most_noise": 0.3},
    "heft": {"method": "heft"},
    "annealing_on_target": _ANNEALING,
    "gflownet": {"method": "gflownet", "told": "target", "sigma": 0.01, "sigma_unit": "mean_run_time"},
    "go": {"method": "go", "model": "shipped"},
    "placed_list": {"method": "repaired", "of": {"method": "list_scheduling"}},
    "placed_heft": {"method": "repaired", "of": {"method": "heft"}},
    "placed_metis": {"method": "repaired", "of": {"method": "metis"}},
    "placed_annealing": {"method": "repaired", "of": _ANNEALING},
    "decision_annealing": {"method": "decision_annealing"},
}
_WEIGHTS = {"gflownet": SHIPPED, "go": SHIPPED_GO}
_GRAPHS = ("list_scheduling", "heft", "randomised_list", "random_valid")
_PLACED = ("placed_list", "placed_heft", "placed_metis")


def entrant(name: str, **keys: Any) -> Entrant:
    """A peer by its name, or any other method of the registry, `package:Class`, with these settings.

    Raises ValueError for an unknown name or setting, and for a method that needs more than its target.
    """
    settings = graph_entry(**(_ENTRIES.get(name, {"method": name}) | keys))
    weights = _WEIGHTS.get(name)
    available = {"target"} | ({"weights"} if weights else set())
    if missing := sorted(settings.needs - available):
        raise ValueError(f"the method {name!r} needs {', '.join(missing)}, which `compare` does not have for it")
    return Entrant(name, settings, weights)


def peers(text: str, of_set: str) -> list[Entrant]:
    """`default`, `all`, or names with commas between them; the set's baseline is always the first."""
    usual = {
        False: {"default": _GRAPHS, "all": (*_GRAPHS, "annealing_on_target", "gflownet", "go")},
        True: {"default": _PLACED, "all": (*_PLACED, "placed_annealing", "decision_annealing", "go")},
    }[SETS[of_set].limited]
    names = usual.get(text, tuple(name.strip() for name in text.split(",") if name.strip()))
    return [entrant(name) for name in dict.fromkeys((SETS[of_set].baseline, *names))]
