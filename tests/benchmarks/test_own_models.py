"""The lists of models are large and pinned; costs by hand are met; an operator that nobody names is noticed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from benchmarks.own_models import answer, hand_costs
from benchmarks.own_models.__main__ import FILES, FORMS, Outcome, _rows, refusals
from benchmarks.own_models.modules import MODULES
from benchmarks.own_models.steady import is_steady
from benchmarks.split_modules.network_cases import CASES
from learned_schedulers.command import graph
from learned_schedulers.graphs.plans.module_words import constructor_of, input_of


def test_the_lists_are_large_and_pinned() -> None:
    assert sum(len(package["files"]) for package in FILES.values()) >= 30 and len(FILES) >= 10
    assert len(MODULES) >= 60 <= len(CASES) and {*FORMS} <= {*MODULES}
    for package in FILES.values():
        assert re.fullmatch(r"[0-9a-f]{64}", package["sha256"]) and str(package["version"])[0].isdigit()
        for options in package["files"].values():
            assert all(word in ("--size", "--input") for word in shlex.split(options)[::2])
    for entry in MODULES.values():
        constructor_of(entry["module"])
        assert all(input_of(text) for text in (*entry["inputs"], *entry.get("small", []), *entry.get("form", [])))


def test_costs_by_hand() -> None:
    errors = hand_costs.errors()
    assert len(errors) >= 20 and max(errors.values()) <= 0.05, errors


def file_of(folder: Path, kind: str, **attributes: object) -> str:
    node = helper.make_node(kind, ["x"], ["y"], **attributes)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4, 8, 8]) for name in "xy"]
    model = helper.make_model(helper.make_graph([node], "g", values[:1], values[1:]), ir_version=10)
    onnx.save(model, folder / "mine.onnx")
    return str(folder / "mine.onnx")


def test_an_operator_without_a_formula_is_named_or_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [file_of(tmp_path, "LRN", size=3), "--devices", "2", "--moves", "0"]
    named = answer.main(words)
    assert named["code"] == 0 and named["operations"] == 1 and named["silent"] == [] and "LRN (1)" in str(named["text"])
    monkeypatch.setattr(graph, "unpriced_text", lambda names: "")
    assert answer.main(words)["silent"] == ["LRN"]


def test_a_refusal_is_an_answer(tmp_path: Path) -> None:
    refused = answer.main([file_of(tmp_path, "NoSuchKind"), "--devices", "2"])
    assert refused["code"] == 1 and "NoSuchKind" in str(refused["text"]) and "silent" not in refused


@pytest.mark.parametrize(("kind", "of_file", "steady"), [
    ("Relu", True, True), ("MatMul", True, False), ("MaxPool", True, False), ("LRN", True, False),
    ("gelu", False, True), ("mean", False, True), ("mm", False, False), ("sort", False, False), ("nms", False, False),
])  # fmt: skip
def test_what_takes_few_steps_per_element(kind: str, of_file: bool, steady: bool) -> None:
    assert is_steady(kind, of_file) == steady


def test_refusals_name_the_model_who_refuses_it_and_the_message_on_a_line() -> None:
    right = Outcome("a", "files", True, "", True, "", 3, [], 0.0, 0.0)
    refused = Outcome("b", "modules", True, "", False, "error: b: no such\noperator; write it anew\n", 0, [], 0.0, 0.0)
    neither = Outcome("c", "files", False, "Fail: bad opset", False, "error: c: bad opset; convert it", 0, [], 0.0, 0.0)
    assert refusals([right, refused, neither]).to_numpy().tolist() == [
        ["b", "modules", "graph", "b: no such operator; write it anew"],
        ["c", "files", "graph", "c: bad opset; convert it"],
        ["c", "files", "runtime", "Fail: bad opset"],
    ]
    assert refusals([right]).empty


def test_rows_count_what_a_runtime_runs() -> None:
    right = Outcome("a", "files", True, "", True, "", 3, [], 0.0, 0.0)
    refused = right._replace(name="b", answered=False, message="error")
    outside = refused._replace(name="c", runs=False)
    module = Outcome("d", "modules", True, "", True, "", 3, ["sort"], 90.0, 100.0)
    rows = _rows(
        [right, refused, outside, module],
        {"LSTM": 0.02},
        [{"flops": 0.03, "seconds": 0.3}, {}, {"flops": -0.04, "seconds": 0.1}],
    )
    values = {(row["set"], row["method"], row["metric"]): row["value"] for row in rows}
    assert values["files", "graph", "refused_share"] == 0.5
    assert values["all", "graph", "refused_share"] == pytest.approx(1 / 3)
    assert values["all", "graph", "unpriced_silently"] == 1 and values["modules", "graph", "models"] == 1
    assert values["all", "all", "flops_error"] == pytest.approx(0.1)
    assert values["all", "graph", "forms_difference"] == pytest.approx(0.04)
    assert values["all", "graph", "forms_seconds_difference"] == pytest.approx(0.3)
    assert values["all", "graph", "forms_seconds_difference_median"] == pytest.approx(0.2)
    assert not np.isnan(list(values.values())).any()
