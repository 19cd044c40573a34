"""Claims about users' own models: files and modules that are read, what they cost, and their splits."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, Row, row_of

_RATIO = {"comparison": "ratio", "baseline": "torch_as_graph"}
_OPERATIONS = {1_000: 2, 10_000: 10, 30_000: 30}  # of a graph -> seconds of the command's default decision, at most


def _of_all(experiment: str, method: str, metric: str) -> Row:
    return row_of(experiment, set="all", method=method, metric=metric)


def claims() -> Iterator[Claim]:
    """Few are refused that a runtime runs, costs are those of calculators, splits run right and come in time."""
    for name, target, method, write, question in (
        (
            "refused_share",
            "<= 0.05",
            "graph",
            "percent",
            "Of the models that their runtime runs, how many are refused?",
        ),
        (
            "unpriced_silently",
            "== 0",
            "graph",
            "count",
            "How many kinds of operators cost nothing, and nobody is told?",
        ),
        ("flops_error", "<= 0.05", "all", "hundredths", "How far are FLOPs from hand calculation and torch's counter?"),
        (
            "forms_difference",
            "<= 0.1",
            "graph",
            "hundredths",
            "How far do FLOPs of a module and its ONNX export differ?",
        ),
        ("forms_seconds_difference", "<= 0.1", "graph", "hundredths", "How far do their expected seconds differ?"),
    ):
        claim = Claim(f"own_models_{name}", target, _of_all("own_models", method, name))
        yield claim.asked(question, write)
    question = "How far is the memory of a training step from torch's own account?"
    error = Claim("own_models_memory_error", "<= 0.05", _of_all("own_model_memory", "all", "memory_error"))
    yield error.asked(question, "hundredths")
    for name, experiment, text in (
        ("modules", "own_split", "small modules"),
        ("networks", "own_split_networks", "networks"),
    ):
        claim = Claim(f"own_split_{name}_different", "== 0", _of_all(experiment, "random_splits", "modules_different"))
        yield claim.asked(f"How many split {text} compute something else?", "count")
    seconds = Claim(
        "own_split_seconds_to_answer", "<= 60", _of_all("own_split_answer", "programme", "seconds_to_answer")
    )
    yield seconds.asked("Seconds until `split` answers for 248,832 ideals?", "two")
    for name, experiment, question in (
        ("own_model_time", "own_model_times", "Rank correlation of expected and measured seconds?"),
        ("own_model_gpu_time", "gpu_times", "The same on a GPU, by its data sheet?"),
    ):
        ranked = _of_all(experiment, "graph", "rank_correlation")
        yield Claim(f"{name}_rank_correlation", ">= 0.8", ranked).asked(question, "two")
    for model, text in (("googlenet", "GoogLeNet"), ("nasnet", "NASNet")):  # with many branches, of one image
        ratio = row_of("gpu_times", set=f"{model}_1", method="streams", metric="seconds_ratio", **_RATIO)
        question = f"{text} on two streams of a GPU, over one?"
        yield Claim(f"own_streams_ratio_{model}", "< 1", ratio).asked(question, "two")
    decided = row_of("own_graph_answer", metric="decision_seconds")
    for operations, most in _OPERATIONS.items():
        row = decided | {"set": f"operations_{operations}", "method": "classical"}
        claim = Claim(f"own_model_decision_seconds_{operations}", f"<= {most}", row)
        yield claim.asked(f"Seconds until `graph` decides {operations:,} operations?", "two")
    improved = Claim("own_model_go_seconds_12", "<= 2", decided | {"set": "operations_12", "method": "go"})
    yield improved.asked("Seconds until GO decides a dozen operations?", "two")
