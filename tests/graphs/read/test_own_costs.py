"""A user's formulas are computed as arithmetic and never executed; faults name file, operator and remedy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from learned_schedulers.graphs.read.own_costs import read_costs

SHAPES = ([(2, 3), (3, 5)], [(2, 5)])


def written(folder: Path, content: object) -> Path:
    path = folder / "costs.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("2 * in0 * in1[1]", 60),
        (7, 7),
        (0.5, 0.5),
        ("max(in0, in1) - out0[-1]", 10),
        ("-in0 + 2 ** 3 * log2(8) / (1 + 2)", 2),
        ("ceil(in0[1] / 2)", 2),
    ],
)
def test_formulas(formula: object, value: float, tmp_path: Path) -> None:
    costs = read_costs(written(tmp_path, {"mine::op": {"flops": formula}}))
    assert costs["mine::op"].of("flops", *SHAPES) == value
    assert set(costs["mine::op"].formulas) == {"flops"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "costs.json: this is not complete JSON"),
        ([1], "costs.json: write the operators by name"),
        ({"op": {"speed": 1}}, "costs.json: op: write one or several of flops, read, written"),
        ({"op": {}}, "costs.json: op: write one or several"),
        ({"op": {"flops": "in0 +"}}, "costs.json: op: flops: .*a formula has numbers, in0"),
        ({"op": {"flops": "__import__('os').getpid()"}}, "op: flops: .*not a function that can be called"),
        ({"op": {"flops": "open('a')"}}, "not a function that can be called"),
        ({"op": {"flops": "in0.size"}}, "Attribute is not arithmetic"),
        ({"op": {"flops": "[in0]"}}, "List is not arithmetic"),
        ({"op": {"flops": "x"}}, "the name x is unknown"),
        ({"op": {"flops": "'1'"}}, "'1' is not a number"),
        ({"op": {"flops": True}}, "this is not a formula"),
        ({"op": {"flops": "1 + " * 900 + "1"}}, "this is not a formula"),
        ({"op": {"flops": "-" * 990 + "1"}}, "the formula is too long"),
    ],
)
def test_what_is_no_formula(content: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        read_costs(written(tmp_path, content))


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("in7", "'in7' has no value for inputs of sizes .*correct the formula"),
        ("in0[4]", "has no value"),
        ("in0[0.5]", "chosen by an integer"),
        ("1 / 0", "has no value"),
        ("9 ** 9 ** 9 ** 9", "has no value"),
        ("(-8) ** 0.5", "has no value"),
        ("log2(0)", "has no value"),
        ("-1", "flops is -1; it must be at least 0"),
        ("1e300", r"less than 2\*\*63"),
        ("min", "min is not a tensor"),
    ],
)
def test_formulas_without_a_value(formula: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        read_costs(written(tmp_path, {"op": {"flops": formula}}))["op"].of("flops", *SHAPES)
