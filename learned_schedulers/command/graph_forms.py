"""Plans in the forms of other tools, which `graph --write FORM=FILE` writes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np

from learned_schedulers.command.graph_options import is_module
from learned_schedulers.graphs.devices.settings import DeviceName
from learned_schedulers.graphs.plans.best import By, Trial, chosen, trials
from learned_schedulers.graphs.plans.pipelines.modules import device_map, first_operations, split_spec, whole_modules
from learned_schedulers.graphs.plans.pipelines.search import Plan, Task, best_plans
from learned_schedulers.graphs.plans.sources import Source
from learned_schedulers.graphs.plans.summary import milliseconds
from learned_schedulers.graphs.problems.problem import Problem

FORMS = ("device_map", "split_spec", "affinities")


def forms_of(model: str, texts: Iterable[str], objective: str) -> dict[str, Path]:
    """The file of each form that `--write` names. Raises ValueError for a form that does not exist, or not of this."""
    files: dict[str, Path] = {}
    for text in texts:
        form, equals, path = text.partition("=")
        if form not in FORMS or not equals or not path or form in files:
            raise ValueError(f"--write {text}: write a form and a file, each form once: {'=FILE, '.join(FORMS)}=FILE")
        if form == "affinities" and not model.lower().endswith(".onnx"):
            raise ValueError(f"--write {text}: OpenVINO reads ONNX files; name one, or write device_map={path}")
        if form != "affinities" and not is_module(model):
            raise ValueError(f"--write {text}: a file has no modules; name module:Class, or write affinities={path}")
        if form == "split_spec" and objective == "latency":
            raise ValueError(f"--write {text}: only a pipeline has stages; add --for throughput")
        files[form] = Path(path)
    return files


def of_schedule(
    form: str,
    problem: Problem,
    source: Source,
    best: Trial,
    kinds: Sequence[DeviceName],
    by: By,
    seed: int,
    moves: int | None,
) -> tuple[bytes, str]:
    """The content of a form for the best schedule, or for the best one of whole modules, and what to say of it."""
    assert best.placement is not None
    if form == "affinities":
        return _affinities(source, best.placement, kinds), ""
    whole = chosen(trials(problem, seed, whole_modules(source), moves, by), by)
    if whole.placement is None:
        raise ValueError("--write device_map: no schedule of whole modules fits the memory; give more --memory")
    entries = device_map(source, whole.placement, _labels(kinds))
    return _json_of(entries), f"of whole modules, {_beside(whole.seconds, best.seconds)}"


def of_pipeline(form: str, task: Task, best: Plan, kinds: Sequence[DeviceName]) -> tuple[bytes, str]:
    """The content of a form for the best pipeline that it can say, and what to say of it."""
    begins: dict[int, str] = {}
    if form == "split_spec":
        begins = first_operations(task.source)
        task = replace(task, cuts=np.isin(np.arange(len(task.problem)), list(begins)))
    elif form == "device_map":
        task = replace(task, classes=whole_modules(task.source))

    def suits(plan: Plan) -> bool:
        return len(set(plan.copies)) == 1 and (form == "split_spec" or plan.copies[0] == 1)

    def order(plan: Plan) -> tuple[bool, bool, tuple[float, float, int]]:
        """What is split comes first, and what is interleaved only where it was chosen."""
        chosen_name = best.name if form == "split_spec" else ""
        return len(plan.stages) == 1, plan.name == "interleaved" != chosen_name, plan.rank

    plans = [plan for plan in best_plans(task, suits).values() if plan.times is not None]
    if not plans:
        raise ValueError(f"--write {form}: no pipeline that it can say fits the memory; give more --memory")
    plan = min(plans, key=order)
    sizes = f"stages: {len(plan.stages)}, devices: {plan.pipeline.devices}"
    remark = f"{plan.name}, {sizes}, {_beside(plan.seconds, best.seconds)}"
    if form == "split_spec":
        return _json_of(split_spec(plan.split.stage_of, begins)), remark
    if form == "affinities":
        return _affinities(task.source, plan.placement, kinds), remark
    return _json_of(device_map(task.source, plan.placement, _labels(kinds))), remark


def _beside(seconds: float, best: float) -> str:
    above = seconds / best - 1 if best else 0.0
    return f"{milliseconds(seconds)}, {abs(above):.1%} {'above' if above >= 0 else 'below'} the chosen plan"


def _labels(kinds: Sequence[DeviceName]) -> list[int | str]:
    """Names of devices in a device_map: "cpu", and numbers of the others."""
    others = accumulate((kind != "cpu" for kind in kinds), initial=0)
    return ["cpu" if kind == "cpu" else number for kind, number in zip(kinds, others, strict=False)]


def _json_of(entries: Mapping[str, int | str]) -> bytes:
    return (json.dumps(entries, indent=1) + "\n").encode()


def _affinities(source: Source, placement: np.ndarray, kinds: Sequence[DeviceName]) -> bytes:
    """OpenVINO's device of each node, by its name. Raises ValueError that names a node without one."""
    entries, labels = {}, _labels(kinds)
    for label, owner in zip(source.listed.names, source.listed.owners.tolist(), strict=True):
        name, device = label.rpartition(" (")[0], labels[int(placement[owner])]
        if name.isdecimal():
            raise ValueError(f"--write affinities: node {label} has no name, by which OpenVINO could know it; name all")
        entries[name] = "CPU" if device == "cpu" else f"GPU.{device}"
    return _json_of(entries)
