"""A user's costs of operators: a JSON file with formulas over the sizes of inputs and results.

    {"mine::product": {"flops": "2 * in0 * in1[1]"}, "Sorted": {"flops": "in0 * log2(in0)", "read": "4 * in0"}}

The names are those that the warning lists. `in0` is the number of elements of the first input, `in0[1]` its second
size, `out0` the first result. A formula has numbers, + - * / ** ( ), min, max, log2 and ceil. It is parsed and computed
here; nothing of the file runs as code. flops: FLOPs; read, written: bytes; what is left out follows from our rules.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from learned_schedulers.graphs.read.json_files import json_of

_LONGEST = 300  # parts of a formula
_KEYS = ("flops", "read", "written")
_OPERATORS: dict[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max, "log2": math.log2, "ceil": math.ceil}
_TENSOR = re.compile(r"(in|out)(\d{1,3})")

Shapes = Sequence[Sequence[int]]


@dataclass(frozen=True)
class OwnCost:
    """Formulas of an operator by key; `place` names file and operator in messages."""

    place: str
    formulas: Mapping[str, ast.expr]

    def of(self, key: str, inputs: Shapes, results: Shapes) -> float:
        """FLOPs or bytes for these sizes, of a key of the formulas. Raises ValueError that names the operator."""
        formula = self.formulas[key]
        try:
            value = float(_computed(formula, {"in": inputs, "out": results}))
        except (ArithmeticError, IndexError, RecursionError, TypeError, ValueError) as error:
            raise ValueError(
                f"{self.place}: {key}: {ast.unparse(formula)!r} has no value for inputs of sizes "
                f"{[tuple(shape) for shape in inputs]} and results of {[tuple(shape) for shape in results]}: {error}; "
                "correct the formula"
            ) from error
        if not 0 <= value < 2.0**63:
            raise ValueError(f"{self.place}: {key} is {value:g}; it must be at least 0 and less than 2**63")
        return value


def read_costs(path: Path) -> dict[str, OwnCost]:
    """The costs of a file by operator. Raises ValueError that names file, operator and remedy."""
    file = json_of(path)
    if not isinstance(file, dict):
        raise ValueError(f'{path}: write the operators by name: {{"mine::product": {{"flops": "2 * in0 * in1[1]"}}}}')
    costs = {}
    for name, formulas in file.items():
        place = f"{path}: {name}"
        if not isinstance(formulas, dict) or not formulas or set(formulas) - set(_KEYS):
            raise ValueError(f"{place}: write one or several of {', '.join(_KEYS)}, each with a formula")
        costs[name] = OwnCost(place, {key: _parsed(f"{place}: {key}", text) for key, text in formulas.items()})
    return costs


def _parsed(place: str, formula: object) -> ast.expr:
    try:
        if isinstance(formula, bool) or not isinstance(formula, str | int | float) or len(str(formula)) > 1000:
            raise ValueError("this is not a formula")
        expression = ast.parse(str(formula), mode="eval").body
        nodes = list(ast.walk(expression))
        if len(nodes) > _LONGEST:
            raise ValueError("the formula is too long")
        for node in nodes:
            _check(node)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(
            f"{place}: {error}; a formula has numbers, in0 (elements of the first input), in0[1] (its second size), "
            f"out0, + - * / ** ( ), {', '.join(_FUNCTIONS)}"
        ) from error
    return expression


def _check(node: ast.AST) -> None:
    """Raises ValueError for all that is not arithmetic."""
    allowed = (ast.BinOp, ast.UnaryOp, ast.USub, ast.Subscript, ast.Load, *_OPERATORS)
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise ValueError(f"{node.value!r} is not a number")
    elif isinstance(node, ast.Name):
        if node.id not in _FUNCTIONS and not _TENSOR.fullmatch(node.id):
            raise ValueError(f"the name {node.id} is unknown")
    elif isinstance(node, ast.Call):
        if not (isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS and node.args and not node.keywords):
            raise ValueError(f"{ast.unparse(node)} is not a function that can be called")
    elif not isinstance(node, allowed):
        raise ValueError(f"{type(node).__name__} is not arithmetic")


def _computed(node: ast.expr, shapes: Mapping[str, Shapes]) -> float:
    if isinstance(node, ast.Constant):
        return float(node.value)  # type: ignore[arg-type]  # checked before: a number
    if isinstance(node, ast.UnaryOp):
        return -_computed(node.operand, shapes)
    if isinstance(node, ast.BinOp):
        return float(_OPERATORS[type(node.op)](_computed(node.left, shapes), _computed(node.right, shapes)))
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)
        return float(_FUNCTIONS[node.func.id](*(_computed(part, shapes) for part in node.args)))
    if isinstance(node, ast.Subscript):
        place = ast.literal_eval(node.slice)
        if not isinstance(place, int):
            raise TypeError("a size is chosen by an integer, like in0[1]")
        return float(_shape(node.value, shapes)[place])
    return float(math.prod(_shape(node, shapes)))


def _shape(node: ast.expr, shapes: Mapping[str, Shapes]) -> Sequence[int]:
    match = _TENSOR.fullmatch(node.id) if isinstance(node, ast.Name) else None
    if match is None:
        raise TypeError(f"{ast.unparse(node)} is not a tensor")
    return shapes[match[1]][int(match[2])]
