"""Control flow of ONNX files is one operation: cost of its body, what it reads, waits for and keeps, its results."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import onnx
import onnx.parser
import pytest

from learned_schedulers.graphs.plans.model_files import read_graph
from learned_schedulers.graphs.plans.sources import on_devices
from learned_schedulers.graphs.read.onnx_files import NamedGraph, OnnxError, read_with_names

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
SQUARE = 4 * 64 * 64  # bytes
PRODUCT, ELEMENTS = 2 * 64**3, 64 * 64  # FLOPs of a product, and of an elementwise operation
CONDITION = "m = MatMul(x, x) r = ReduceMax <keepdims: int = 0> (m) c = Cast <to: int = 9> (r)"
BRANCH = "then_branch: graph = a () => (float[{0}] p) {{{1}}}, else_branch: graph = b () => (float[{0}] q) {{{2}}}"
STEP = "(int64 i, bool go, float[64,64] s) => (bool again, float[64,64] t)"
ENDLESS = "n = Constant <value = int64 {9223372036854775807}> ()"


def written(folder: Path, text: str, result: str = "64,64", inputs: str = "float[64,64] x", opset: int = 17) -> Path:
    head = HEAD.replace("17", str(opset))
    model = onnx.parser.parse_model(f"{head} g ({inputs}) => (float[{result}] y) {{ {text} }}")
    weights = [onnx.numpy_helper.from_array(np.ones((64, 64), np.float32), name) for name in ("w", "v")]
    model.graph.initializer.extend(weights)
    onnx.save(model, folder / "g.onnx")
    return folder / "g.onnx"


def branch(then: str, otherwise: str = "q = Identity(x)", sizes: str = "64,64", first: str = CONDITION) -> str:
    return f"{first} y = If (c) <{BRANCH.format(sizes, then, otherwise)}>"


def loop(body: str, steps: str, form: str = STEP, call: str = "(n, , x)", outputs: str = "y") -> str:
    return f"{steps} {outputs} = Loop {call} <body: graph = h {form} {{ {body} }}>"


def times(steps: int) -> str:
    return f"n = Constant <value = int64 {{{steps}}}> ()"


def before(read: NamedGraph) -> dict[str, set[str]]:
    """Kinds of all operations that each operation waits for, by its kind, which no other has."""
    children, kinds = read.graph.children, read.graph.kinds
    graph = nx.DiGraph(zip(children.sources.tolist(), children.targets.tolist(), strict=True))
    graph.add_nodes_from(range(len(kinds)))
    assert len(set(kinds)) == len(kinds)
    return {kind: {kinds[i] for i in nx.ancestors(graph, number)} for number, kind in enumerate(kinds)}


def moved(read: NamedGraph) -> int:
    return int(read.graph.bytes_read.sum() + read.graph.bytes_written.sum())


def test_a_known_condition_chooses_the_branch_in_its_place(tmp_path: Path) -> None:
    first = "n = Size(x) zero = Constant <value = int64 {0}> () c = Greater(n, zero)"
    read = read_with_names(written(tmp_path, branch("p = Relu(x)", "q = MatMul(x, x)", first=first)))
    assert read.graph.kinds == ("Relu",) and read.notes == ()


@pytest.mark.parametrize("swapped", [False, True])
def test_an_unknown_condition_takes_the_dearer_branch_and_what_both_read(swapped: bool, tmp_path: Path) -> None:
    cheap = "t = Tanh(z) {} = Add(t, v)"
    dear = "u = MatMul(x, w) {} = MatMul(u, w)"
    then, otherwise = (dear, cheap) if swapped else (cheap, dear)
    text = f"z = Sigmoid(x) {branch(then.format('p'), otherwise.format('q')).replace('y =', 'e =')} y = Exp(e)"
    read = read_with_names(written(tmp_path, text))
    assert before(read) == {
        "MatMul": set(),
        "ReduceMax": {"MatMul"},
        "Cast": {"MatMul", "ReduceMax"},
        "Sigmoid": set(),
        "If": {"MatMul", "ReduceMax", "Cast", "Sigmoid"},
        "Exp": {"MatMul", "ReduceMax", "Cast", "Sigmoid", "If"},
    }
    number = read.graph.kinds.index("If")
    assert read.graph.flops[number] == 2 * PRODUCT and read.graph.bytes_kept[number] == 2 * SQUARE
    assert (read.graph.bytes_read[number], read.graph.bytes_written[number]) == (5 * SQUARE, SQUARE)
    assert f"takes its dearer branch, {'then' if swapped else 'else'}_branch" in read.notes[0]


@pytest.mark.parametrize("text", ["p = Identity(x)", "p = Identity(w)", "p = RandomNormal <shape: ints = [64,64]> ()"])
def test_a_result_that_a_branch_only_passes_on_is_new_memory_that_waits(text: str, tmp_path: Path) -> None:
    """Also behind an operation that only looks at it in another way."""
    shape = "k = Constant <value = int64[2] {32, 128}> ()"
    text = f"{shape} {branch(text, 'q = Identity(w)').replace('y =', 'e =')} o = Reshape(e, k) y = Exp(o)"
    read = read_with_names(written(tmp_path, text, "32,128"))
    assert "If" in before(read)["Exp"] and "Cast" in before(read)["If"]
    number = read.graph.kinds.index("If")
    assert read.graph.bytes_written[number] == SQUARE and read.graph.bytes_kept[number] == SQUARE


def test_a_condition_that_is_an_input_is_not_waited_for_and_branches_nest(tmp_path: Path) -> None:
    inner = f"p = If (c) <{BRANCH.format('64,64', 'p = MatMul(x, w)', 'q = Identity(x)')}>"
    path = written(tmp_path, branch(inner, first=""), inputs="float[64,64] x, bool c")
    read = read_with_names(path)
    assert before(read) == {"If": set()} and read.graph.flops.tolist() == [PRODUCT]
    assert read.graph.bytes_kept.tolist() == [SQUARE] and read.inputs.kept_bytes.tolist() == [SQUARE + 1]
    problem = on_devices(read_graph(path, {}), 2)
    assert problem.bound == pytest.approx(problem.seconds.sum())


UNFIT = {  # branches that fail for a matrix of 64 x 32
    "rank of a recurrent layer": "_, o = LSTM <hidden_size: int = 2> (x, w, v)",
    "a product": "o = MatMul(x, x)",
    "a concatenation": "t = Transpose(x) o = Concat <axis: int = 0> (x, t)",
}


@pytest.mark.parametrize("name", UNFIT)
@pytest.mark.parametrize("place", ["then", "else"])
def test_a_branch_that_sizes_do_not_fit_is_not_the_one(name: str, place: str, tmp_path: Path) -> None:
    first = "r = ReduceMax <keepdims: int = 0> (x) c = Cast <to: int = 9> (r)"
    inputs, texts = "float[64,32] x", {"then": "p = Relu(x)", "else": "q = Relu(x)"}
    unfit = {"then": UNFIT[name].replace("o =", "p ="), "else": UNFIT[name].replace("o =", "q =")}
    branches, other = texts | {place: unfit[place]}, {"then": "else", "else": "then"}[place]
    read = read_with_names(written(tmp_path, branch(branches["then"], branches["else"], "a,b", first), "a,b", inputs))
    assert read.graph.kinds[-1] == "If" and f"the branch that these sizes fit, {other}_branch" in read.notes[0]
    both = branch(unfit["then"], unfit["else"], "a,b", first)
    with pytest.raises(OnnxError, match=r"If.*correct the model"):
        read_with_names(written(tmp_path, both, "a,b", inputs))


@pytest.mark.parametrize("steps", [0, 1, 3, 1_000_000])
def test_a_loop_costs_as_all_of_its_steps_and_keeps_its_weights_once(steps: int, tmp_path: Path) -> None:
    body = "again = Identity(go) p = MatMul(s, w) q = Add(p, z) t = Relu(q)"
    read = read_with_names(written(tmp_path, f"z = Tanh(x) {loop(body, times(steps))}"))
    assert read.graph.kinds == ("Tanh", "Loop") and before(read)["Loop"] == {"Tanh"} and read.notes == ()
    assert read.graph.flops[1] == steps * (PRODUCT + 2 * ELEMENTS)
    assert read.graph.bytes_kept.tolist() == [0, SQUARE] and read.graph.bytes_written[1] == SQUARE
    unrolled = "z = Tanh(x) s0 = Identity(x) " + " ".join(
        f"p{i} = MatMul(s{i}, w) q{i} = Add(p{i}, z) s{i + 1} = Relu(q{i})" for i in range(min(steps, 3))
    )
    if steps in (1, 3):
        plain = read_with_names(written(tmp_path, f"{unrolled} y = Identity(s{steps})"))
        assert plain.graph.flops.sum() == read.graph.flops.sum() and moved(plain) == moved(read)


@pytest.mark.parametrize(
    ("again", "limit", "call", "steps", "note"),
    [
        ("c = Constant <value = bool {1}> () again = Identity(c)", times(5), "(n, , x)", 5, ""),
        ("c = Constant <value = bool {0}> () again = Identity(c)", times(5), "(n, , x)", 1, ""),
        ("c = Constant <value = bool {0}> () again = Identity(c)", ENDLESS, "(n, , x)", 1, ""),
        ("again = Identity(go)", f"{times(5)} f = Constant <value = bool {{0}}> ()", "(n, f, x)", 0, ""),
        (
            "again = Identity(go)",
            f"{times(5)} f = Cast <to: int = 9> (k)",
            "(n, f, x)",
            5,
            "may end by data and runs 5",
        ),
        ("again = Less(i, five)", times(9), "(n, , x)", 9, "may end by data and runs 9 steps; --size y=N"),
        ("again = Less(i, five)", ENDLESS, "(n, , x)", 1, "data decide how many steps it has, and one counts"),
        ("r = ReduceMax <keepdims: int = 0> (s) again = Cast <to: int = 9> (r)", "", "(, , x)", 1, "--size y=N sets"),
    ],
)
def test_how_many_steps_a_loop_has(again: str, limit: str, call: str, steps: int, note: str, tmp_path: Path) -> None:
    first = f"five = Constant <value = int64 {{5}}> () {limit}"
    path = written(tmp_path, loop(f"{again} t = MatMul(s, w)", first, call=call), inputs="float[64,64] x, int64 k")
    read = read_with_names(path)
    products = read.graph.flops[-1] // PRODUCT
    assert products == steps and [note in text for text in read.notes] == ([True] if note else [])
    assert before(read)["Loop"] == {kind for kind in read.graph.kinds if kind == "Cast"}  # that decides whether it runs
    by_user = read_with_names(path, dimensions={"y": 7})
    assert by_user.graph.flops[-1] // PRODUCT == 7 and by_user.notes == ()


def test_what_changes_from_step_to_step_is_no_constant(tmp_path: Path) -> None:
    """A state that begins as a constant, and the number of the step."""
    body = "again = Identity(go) j = Cast <to: int = 1> (i) p = Exp(s) t = Mul(p, j)"
    read = read_with_names(written(tmp_path, loop(body, times(4), call="(n, , w)")))
    assert read.graph.flops.tolist() == [4 * 2 * ELEMENTS] and read.graph.bytes_kept.tolist() == [SQUARE]


def test_results_of_all_steps_are_stacked_and_a_state_that_grows_has_no_known_size(tmp_path: Path) -> None:
    form = "(int64 i, bool go, float[a,64] s) => (bool again, float[b,64] t, float[64] o)"
    body = "again = Identity(go) t = Concat <axis: int = 0> (s, x) o = ReduceSum <keepdims: int = 0> (x, k)"
    axes = f"k = Constant <value = int64[1] {{0}}> () {times(10)}"
    read = read_with_names(written(tmp_path, loop(body, axes, form, outputs="l, y"), "10,64"))
    assert read.graph.bytes_written.tolist() == [4 * 10 * 64]
    grown = written(tmp_path, loop(body, axes, form, outputs="l, o") + " y = Relu(l)", "rows,64")
    with pytest.raises(OnnxError, match=r"the size of 'l' is unknown.*give the open one of \?,64 \(--size l=8\)"):
        read_with_names(grown)
    assert read_with_names(grown, dimensions={"l": 11 * 64}).graph.bytes_written[-1] == 11 * SQUARE


@pytest.mark.parametrize(("axes", "rows", "result"), [("", "7,64,64", "7,64,64"), ("1", "64,7,64", "64,64,7")])
def test_a_scan_has_a_step_for_each_row(axes: str, rows: str, result: str, tmp_path: Path) -> None:
    places = f", scan_input_axes: ints = [{axes}], scan_output_axes: ints = [-1]" if axes else ""
    form = "(float[64,64] s, float[64,64] r) => (float[64,64] n, float[64,64] o)"
    text = (
        f"l, y = Scan <body: graph = h {form} {{ n = Add(s, r) o = MatMul(n, w) }}, num_scan_inputs: int = 1{places}>"
    )
    read = read_with_names(written(tmp_path, f"z = Tanh(x) {text} (z, e)", result, f"float[64,64] x, float[{rows}] e"))
    assert before(read)["Scan"] == {"Tanh"} and read.graph.flops[1] == 7 * (PRODUCT + ELEMENTS)
    assert read.graph.bytes_written[1] == 7 * SQUARE and read.graph.bytes_kept[1] == SQUARE
    assert read.inputs.kept_bytes.tolist() == [SQUARE, 7 * SQUARE]


REFUSED = {
    "makes a sequence longer in each step": "l = SequenceConstruct(x) y = Loop (n, , l) <body: graph = h "
    "(int64 i, bool go, seq(float[64,64]) s) => (bool again, seq(float[64,64]) t) "
    "{ again = Identity(go) t = SequenceInsert(s, x) }>",
    "contains a subgraph, and SequenceMap is no": "l = SequenceConstruct(x) k = SequenceMap (l) "
    "<body: graph = h (float[64,64] s) => (float[64,64] t) { t = Relu(s) }> y = ConcatFromSequence <axis: int = 0> (k)",
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message: str, tmp_path: Path) -> None:
    with pytest.raises(OnnxError, match=message):
        read_with_names(written(tmp_path, f"{times(3)} {REFUSED[message]}", "a,b"))
