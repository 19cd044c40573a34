"""What the condition of an If, or of a Loop's next step, decides waits for it: nothing is computed in advance."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import onnx
import onnx.parser
import pytest

from learned_schedulers.graphs.plans.model_files import read_file
from learned_schedulers.graphs.plans.sources import on_devices
from learned_schedulers.graphs.read.onnx_files import read_with_names

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
X = "float[64,64] x"
CONDITION = "m = MatMul(x, x) r = ReduceMax <keepdims: int = 0> (m) c = Cast <to: int = 9> (r)"
BRANCH = "then_branch: graph = a () => (float[64,64] p) {{{}}}, else_branch: graph = b () => (float[64,64] q) {{{}}}"
LOOP = "(int64 i, bool go, float[64,64] s) => (bool again, float[64,64] t)"


def written(folder: Path, text: str, outputs: str = "float[64,64] y") -> Path:
    onnx.save(onnx.parser.parse_model(f"{HEAD} g ({X}) => ({outputs}) {{ {text} }}"), folder / "g.onnx")
    return folder / "g.onnx"


def before(path: Path) -> dict[str, set[str]]:
    """Kinds of all operations that each operation waits for, by its kind, which no other has."""
    result = read_with_names(path)
    graph = nx.DiGraph(zip(result.graph.children.sources.tolist(), result.graph.children.targets.tolist(), strict=True))
    graph.add_nodes_from(range(len(result.graph)))
    kinds = result.graph.kinds
    assert len(set(kinds)) == len(kinds)
    return {kind: {kinds[i] for i in nx.ancestors(graph, number)} for number, kind in enumerate(kinds)}


def branch(then: str, otherwise: str = "q = Identity(x)") -> str:
    return f"{CONDITION} y = If (c) <{BRANCH.format(then, otherwise)}>"


@pytest.mark.parametrize(
    "text",
    [
        branch("u = Tanh(x) p = Exp(u)"),
        branch("u = RandomNormal <shape: ints = [64,64]> () p = Exp(u)"),
        branch(f"z = Sigmoid(x) p = If (c) <{BRANCH.format('p = Exp(x)', 'q = Identity(x)')}>"),
        f"t = Tanh(x) {branch('p = Identity(t)', 'q = Identity(t)').replace('y =', 'w =')} y = Exp(w)",
        f"{branch('p = Identity(x)').replace('y =', 'w =')} v = Reshape(w, k) y = Exp(v)".replace(
            CONDITION, f"k = Constant <value = int64[2] {{32, 128}}> () {CONDITION}"
        ),
    ],
    ids=["branch", "without_inputs", "nested", "passed_on", "passed_on_as_a_view"],
)
def test_a_branch_waits_for_its_condition(text: str, tmp_path: Path) -> None:
    waits = before(written(tmp_path, text))
    assert {"MatMul", "ReduceMax", "Cast"} <= waits["Exp"] and waits["Cast"] == {"MatMul", "ReduceMax"}


def test_a_condition_that_is_given_is_not_waited_for(tmp_path: Path) -> None:
    text = branch("p = Exp(x)").replace("(c) <", "(go) <").replace(CONDITION, "")
    model = onnx.parser.parse_model(f"{HEAD} g ({X}, bool go) => (float[64,64] y) {{ {text} }}")
    onnx.save(model, tmp_path / "g.onnx")
    assert before(tmp_path / "g.onnx") == {"Exp": set()}


def test_two_devices_are_not_faster_than_the_chain_of_condition_and_branch(tmp_path: Path) -> None:
    products = " ".join(f"p{i + 1} = MatMul(p{i}, x)" for i in range(4))
    text = f"{CONDITION} y = If (c) <{BRANCH.format(f'p0 = Tanh(x) {products} p = Exp(p4)', 'q = Identity(x)')}>"
    problem = on_devices(read_file(written(tmp_path, text), {}), 2)
    assert problem.bound == pytest.approx(problem.seconds.sum())


def test_a_step_and_the_results_wait_for_the_condition_of_the_step_before(tmp_path: Path) -> None:
    body = "t = Tanh(s) m = MatMul(x, x) r = ReduceMax <keepdims: int = 0> (m) again = Cast <to: int = 9> (r)"
    endless = "n = Constant <value = int64 {4611686018427387904}> ()"
    path = written(tmp_path, f"{endless} l = Loop <body: graph = h {LOOP} {{ {body} }}> (n, , x) y = Exp(l)")
    result = read_with_names(path, dimensions={"l": 2})
    kinds, children = result.graph.kinds, result.graph.children
    graph = nx.DiGraph(zip(children.sources.tolist(), children.targets.tolist(), strict=True))
    assert list(kinds) == ["Tanh", "MatMul", "ReduceMax", "Cast"] * 2 + ["Exp"]
    assert not any(nx.ancestors(graph, number) & {4, 5, 6, 7} for number in range(4))
    assert all(3 in nx.ancestors(graph, number) for number in range(4, 8))
    assert 7 in nx.ancestors(graph, 8)


def test_a_loop_that_becomes_one_operation_is_read_as_one(tmp_path: Path) -> None:
    """Its results are those of the one operation, whatever operation of its step computes them."""
    body = "m = MatMul(s, s) t = Tanh(m) r = ReduceMax <keepdims: int = 0> (m) again = Cast <to: int = 9> (r)"
    path = written(
        tmp_path,
        f"n = Constant <value = int64 {{1000000}}> () y = Loop <body: graph = h {LOOP} {{ {body} }}> (n, , x)"
        " z = Tanh(y) w = Exp(z)",
        "float[64,64] w",
    )
    assert before(path) == {"Loop": set(), "Tanh": {"Loop"}, "Exp": {"Loop", "Tanh"}}
