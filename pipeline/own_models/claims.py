"""Claims about users' own models: files and modules that are read, what they cost, and their splits."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, row_of

_RATIO = {"comparison": "ratio", "baseline": "torch_as_graph"}
OPERATIONS = {1_000: 2, 10_000: 10, 30_000: 30}  # of a graph -> seconds of the command's default decision, at most


def claims() -> Iterator[Claim]:
    """Few are refused that a runtime runs, costs are those of calculators, splits run right and come in time."""
    for metric, target in (("refused_share", "<= 0.05"), ("unpriced_silently", "== 0")):
        yield Claim(f"own_models_{metric}", target, row_of("own_models", set="all", method="graph", metric=metric))
    error = row_of("own_models", set="all", method="all", metric="flops_error")
    yield Claim("own_models_flops_error", "<= 0.05", error)
    forms = row_of("own_models", set="all", method="graph", metric="forms_difference")
    yield Claim("own_models_forms_difference", "<= 0.1", forms)
    seconds_apart = row_of("own_models", set="all", method="graph", metric="forms_seconds_difference")
    yield Claim("own_models_forms_seconds_difference", "<= 0.1", seconds_apart)
    memory = row_of("own_model_memory", set="all", method="all", metric="memory_error")
    yield Claim("own_models_memory_error", "<= 0.05", memory)
    modules = row_of("own_split", set="all", method="random_splits", metric="modules_different")
    yield Claim("own_split_modules_different", "== 0", modules)
    networks = row_of("own_split_networks", set="all", method="random_splits", metric="modules_different")
    yield Claim("own_split_networks_different", "== 0", networks)
    seconds = row_of("own_split_answer", set="all", method="programme", metric="seconds_to_answer")
    yield Claim("own_split_seconds_to_answer", "<= 60", seconds)
    times = row_of("own_model_times", set="all", method="graph", metric="rank_correlation")
    yield Claim("own_model_time_rank_correlation", ">= 0.8", times)
    kernels = row_of("gpu_times", set="all", method="graph", metric="rank_correlation")
    yield Claim("own_model_gpu_time_rank_correlation", ">= 0.8", kernels)
    for model in ("googlenet", "nasnet"):  # networks with many branches, of one image
        ratio = row_of("gpu_times", set=f"{model}_1", method="streams", metric="seconds_ratio", **_RATIO)
        yield Claim(f"own_streams_ratio_{model}", "< 1", ratio)
    for operations, most in OPERATIONS.items():
        decided = row_of(
            "own_graph_answer", set=f"operations_{operations}", method="classical", metric="decision_seconds"
        )
        yield Claim(f"own_model_decision_seconds_{operations}", f"<= {most}", decided)
    improved = row_of("own_graph_answer", set="operations_12", method="go", metric="decision_seconds")
    yield Claim("own_model_go_seconds_12", "<= 2", improved)
