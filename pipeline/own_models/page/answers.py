"""The claims on users' models, each as a question with its answer."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page.asked import Question, answered
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.numbers import count, number, percent
from pipeline.own_models.claims import OPERATIONS


def brief(value: float) -> str:
    """A number with two digits behind the point."""
    return number(value, 2)


def fine(value: float) -> str:
    """A small share as a percentage with two digits."""
    return percent(value, 2)


OF_COSTS = {  # by claim
    "own_models_refused_share": Question("Of the models that their runtime runs, which share is refused?", percent),
    "own_models_unpriced_silently": Question("How many kinds of operators cost nothing, and nobody is told?", count),
    "own_models_flops_error": Question("How far are FLOPs from hand calculation and torch's counter, at most?", fine),
    "own_models_forms_difference": Question("How far do FLOPs of a module and of its ONNX export differ?", fine),
    "own_models_forms_seconds_difference": Question("How far do their expected seconds differ?", fine),
    "own_models_memory_error": Question("How far is the memory of a training step from torch's own account?", fine),
    "own_model_time_rank_correlation": Question("Rank correlation of expected and measured seconds?", brief),
    "own_model_gpu_time_rank_correlation": Question("The same on a GPU, by its data sheet?", brief),
}
OF_ANSWERS = {
    "own_split_modules_different": Question("How many split small modules compute something else?", count),
    "own_split_networks_different": Question("How many split networks compute something else?", count),
    "own_split_seconds_to_answer": Question("Seconds until `split` answers for 248,832 ideals?", brief),
    **{
        f"own_model_decision_seconds_{size}": Question(f"Seconds until `graph` decides {size:,} operations?", brief)
        for size in OPERATIONS
    },
    "own_streams_ratio_googlenet": Question("GoogLeNet on two streams of a GPU, over one?", brief),
    "own_streams_ratio_nasnet": Question("NASNet on two streams of a GPU, over one?", brief),
    "own_model_go_seconds_12": Question("Seconds until GO decides a dozen operations?", brief),
}


def section(evidence: Evidence) -> dict[str, Any]:
    """Two tables of questions, empty if none was measured: of what is read and what it costs, of splits and waiting."""
    return {"costs": answered(evidence.claims, OF_COSTS), "answers": answered(evidence.claims, OF_ANSWERS)}
