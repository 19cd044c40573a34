"""Claims about users' own models: files and modules that are read, what they cost, and their splits."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, Row, row_of

_RATIO = {"comparison": "ratio", "baseline": "torch_as_graph"}
_OPERATIONS = {10_000: 10, 30_000: 30}  # of a graph -> seconds of the command's default decision, at most


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
        yield claim.as_question(question, write)
    question = "How far is the memory of a training step from torch's own account?"
    error = Claim("own_models_memory_error", "<= 0.05", _of_all("own_model_memory", "all", "memory_error"))
    yield error.as_question(question, "hundredths")
    for name, experiment, text in (
        ("modules", "own_split", "small modules"),
        ("networks", "own_split_networks", "networks"),
    ):
        claim = Claim(f"own_split_{name}_different", "== 0", _of_all(experiment, "random_splits", "modules_different"))
        yield claim.as_question(f"How many split {text} compute something else?", "count")
    seconds = Claim(
        "own_split_seconds_to_answer", "<= 60", _of_all("own_split_answer", "programme", "seconds_to_answer")
    )
    yield seconds.as_question("Seconds until `split` answers for 248,832 ideals?", "two")
    for name, experiment, question in (
        ("own_model_time", "own_model_times", "Rank correlation of expected and measured seconds?"),
        ("own_model_gpu_time", "gpu_times", "The same on a GPU, by its data sheet?"),
    ):
        ranked = _of_all(experiment, "graph", "rank_correlation")
        yield Claim(f"{name}_rank_correlation", ">= 0.8", ranked).as_question(question, "two")
    for model, text in (("googlenet", "GoogLeNet"), ("nasnet", "NASNet")):  # with many branches, of one image
        ratio = row_of("gpu_times", set=f"{model}_1", method="streams", metric="seconds_ratio", **_RATIO)
        question = f"{text} on two streams of a GPU, over one?"
        yield Claim(f"own_streams_ratio_{model}", "< 1", ratio).as_question(question, "two")
    decided = row_of("own_graph_answer", metric="decision_seconds")
    for operations, most in _OPERATIONS.items():
        row = decided | {"set": f"operations_{operations}", "method": "classical"}
        claim = Claim(f"own_model_decision_seconds_{operations}", f"<= {most}", row)
        yield claim.as_question(f"Seconds until `graph` decides {operations:,} operations?", "two")
    first = row_of("own_graph_answer", set="operations_1000", method="classical", metric="first_answer_seconds")
    question = "Seconds until it has a first answer for 1,000 operations, behind its start?"
    yield Claim("graph_first_answer_seconds", "<= 1", first).as_question(question, "two")
    improved = Claim("own_model_go_seconds_12", "<= 2", decided | {"set": "operations_12", "method": "go"})
    yield improved.as_question("Seconds until GO decides a dozen operations?", "two")
    for metric, target, question, write in (
        (
            "rank_correlation",
            ">= 0.8",
            "Pipelines in two stages: rank correlation of expected and measured steps?",
            "two",
        ),
        ("slower_networks", "== 0", "In how many networks is another split faster than the planned one?", "count"),
    ):
        row = row_of("pipelines", set="all", method="planned", target="this_machine", metric=metric)
        yield Claim(f"pipeline_time_{metric}", target, row).as_question(question, write)
    for name, metric, within, target, question in (
        ("gap_10_seconds", "gap", "10", "<= 0.02", "Within ten seconds: how far above the best known schedules?"),
        ("gap_60_seconds", "gap", "60", "<= 0.02", "Within a minute?"),
        ("seed_spread", "spread", "10", "<= 0.01", "By how much do seeds differ, within ten seconds?"),
    ):
        row = row_of("graph_search", set="unseen", method="local_search", metric=metric, lengths=within)
        yield Claim(f"graph_{name}", target, row).as_question(question, "hundredths")
    for network, title in (("gflownet", "the GFlowNet's"), ("go", "GO's")):
        row = row_of("graph_search", set="unseen", method=f"local_search_{network}", metric="longer", lengths="10")
        question = f"How much longer are schedules if {title} schedule is a start, too, under the same clock?"
        yield Claim(f"graph_search_from_{network}", "< 0", row).as_question(question, "percent")
