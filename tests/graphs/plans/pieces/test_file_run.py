"""Files of many kinds, run in pieces, compute what ONNX Runtime computes of the whole file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from learned_schedulers.graphs.plans import turns
from learned_schedulers.graphs.plans.turns import PATIENCE, PLAN, DifferentResults
from learned_schedulers.graphs.read.onnx_files import walked
from learned_schedulers.graphs.read.onnx_model import OnnxError
from learned_schedulers.graphs.run.pair import Pair
from tests.graphs.plans.pieces.small_files import KINDS, N, graph, node, tensor, two_towers, weight, write

pytest.importorskip("onnxruntime", reason="pip install -e '.[runtime]' -c constraints.txt")

from learned_schedulers.graphs.plans.pieces import file_run as file_run_module
from learned_schedulers.graphs.plans.pieces.file_run import FileRun


def file_run(path: Path, **sizes: int) -> FileRun:
    return FileRun(path, walked(path, dimensions=sizes))


def in_pieces(run: FileRun, folder: Path, seed: int) -> int:
    """Number of pieces of a random schedule, after a comparison of what they compute."""
    n = len(run.units.of_operations)
    rng = np.random.default_rng(seed)
    pieces = run.cut(np.arange(n), rng.integers(0, 2, n), rng.random(n), 1e-6)
    folder.mkdir()
    run.written(pieces, folder)
    return len(pieces)


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_of_random_schedules_compute_what_the_file_does(kind: str, tmp_path: Path) -> None:
    sizes = {"rows": 4} if kind == "shapes" else {}
    run = file_run(write(tmp_path / "small.onnx", KINDS[kind]()), **sizes)
    counts = [in_pieces(run, tmp_path / str(seed), seed) for seed in range(6)]
    assert max(counts) > 1 and set(run.expected) == {value.name for value in KINDS[kind]().output}


def test_weights_beside_the_file_and_functions(tmp_path: Path) -> None:
    run = file_run(write(tmp_path / "beside.onnx", two_towers(), external=True))
    assert (tmp_path / "beside.weights").exists() and in_pieces(run, tmp_path / "a", 1) > 1
    body = [node("MatMul", "a b", "c"), node("Tanh", "c", "d")]
    function = helper.make_function("mine", "Layer", ["a", "b"], ["d"], body, [helper.make_opsetid("", 17)])
    layers = [helper.make_node("Layer", [f"x{i}", "w"], [f"x{i + 1}"], domain="mine") for i in range(3)]
    small = graph(layers, [tensor("x0", [4, N])], [tensor("x3", [4, N]), tensor("x1", [4, N])], [weight("w", N, N)])
    run = file_run(write(tmp_path / "functions.onnx", small, functions=[function]))
    assert len(run.units) == 6 and in_pieces(run, tmp_path / "b", 2) > 1
    (tmp_path / "beside.weights").unlink()
    with pytest.raises(OnnxError, match=r"beside\.onnx: --run: .*weight"):
        file_run(tmp_path / "beside.onnx")


def test_equal_names_of_dimensions_and_operators_of_the_runtime(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("FusedMatMul", ["x", "x"], ["square"], domain="com.microsoft", transB=1, alpha=0.5),
        node("Softmax", "square", "weights"),
        node("MatMul", "weights x", "mixed"),
        node("Gelu", "x", "active"),
        node("Add", "mixed active", "y"),
    ]
    nodes[3].domain = "com.microsoft"
    small = graph(nodes, [tensor("x", ["n", "n"])], [tensor("y", None), tensor("square", None)])
    model = helper.make_model(
        small, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=9
    )
    path = tmp_path / "contrib.onnx"
    onnx.save_model(model, path)
    file = walked(path, shapes={"x": (3, 5)})
    run = FileRun(path, file)
    assert not file.dimensions and run.expected["y"].shape == (3, 5)
    assert in_pieces(run, tmp_path / "a", 1) > 1


def test_sizes_that_a_user_states_are_not_built_in(tmp_path: Path) -> None:
    path = write(tmp_path / "small.onnx", KINDS["by_data"]())
    file = walked(path, dimensions={"where": 7})
    run = FileRun(path, file)
    assert file.assumed and not run.units.constants
    assert in_pieces(run, tmp_path / "a", 3) > 1


def test_what_lies_between_nodes_of_a_list_is_one_unit(tmp_path: Path) -> None:
    run = file_run(write(tmp_path / "small.onnx", KINDS["sequences"]()))
    names = [[run.units.model.graph.node[i].op_type for i in members] for members in run.units.members]
    assert sorted(map(sorted, names)) == [
        ["Add", "ConcatFromSequence", "SplitToSequence"],
        ["Exp"],
        ["Sigmoid"],
        ["Tanh"],
    ]


def test_a_loop_is_one_unit_and_its_operations_share_it(tmp_path: Path) -> None:
    run = file_run(write(tmp_path / "small.onnx", KINDS["branches"]()))
    kinds = [run.units.model.graph.node[members[0]].op_type for members in run.units.members]
    assert kinds == ["Sigmoid", "MatMul", "Loop", "Exp", "Add"]
    assert (np.bincount(run.units.of_operations) > 1).tolist() == [False, False, True, False, False]


def test_files_that_cannot_run_in_pieces(tmp_path: Path) -> None:
    noise = graph([node("RandomNormalLike", "x", "n"), node("Add", "x n", "y")], [tensor("x", [4])], [tensor("y", [4])])
    strings = graph([node("Identity", "s", "t")], [tensor("s", [4], TensorProto.STRING)], [tensor("t", [4], 8)])
    strings.node.extend([node("Exp", "x", "y")])
    strings.input.append(tensor("x", [4]))
    strings.output.append(tensor("y", [4]))
    still = graph([node("Reshape", "x s", "y")], [tensor("x", [4])], [tensor("y", [2, 2])])
    still.initializer.append(onnx.numpy_helper.from_array(np.array([2, 2]), "s"))
    for small, reason in (
        (noise, r"RandomNormalLike_n \(RandomNormalLike\) draws random numbers"),
        (strings, "input 's' has a type that NumPy lacks, strings, or no tensor"),
        (still, "no operation that takes time"),
    ):
        with pytest.raises(OnnxError, match=reason):
            file_run(write(tmp_path / "small.onnx", small))


def test_numbers_of_inputs(tmp_path: Path) -> None:
    path = write(tmp_path / "small.onnx", KINDS["integers"]())
    run = FileRun(path, walked(path), {"tokens": 5})
    assert (run.inputs["tokens"] == 5).all() and set(run.inputs["positions"].tolist()) <= {0, 1}
    with pytest.raises(OnnxError, match=r"cannot run it: .*give them: --value NAME=16000"):
        FileRun(path, walked(path), {"tokens": 100})
    with pytest.raises(OnnxError, match="--value token: it has no such input; its inputs are tokens, positions, mask"):
        FileRun(path, walked(path), {"token": 5})


def test_integers_that_fit_are_sought(tmp_path: Path) -> None:
    small = graph([node("Gather", "w i", "y")], [tensor("i", [3], TensorProto.INT32)], [tensor("y", [3, N])])
    small.initializer.append(weight("w", 1, N))
    assert not file_run(write(tmp_path / "small.onnx", small)).inputs["i"].any()


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """Two processes that run the pieces of all files, for they start for longer than pieces run.

    The command's tests (tests/command/test_graph_run.py) start those of their own.
    """
    with Pair(PATIENCE) as started:
        yield started


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="plans are executed on two cores")
@pytest.mark.parametrize("kind", ["two_towers", "branches", "types", "sequences"])
def test_two_processes_run_the_pieces(kind: str, pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_run_module, "Pair", lambda _: nullcontext(pair))
    monkeypatch.setattr(turns, "_LEAST_ROUNDS", 2)
    monkeypatch.setattr(turns, "_BUDGET", 0.0)
    run = file_run(write(tmp_path / "small.onnx", KINDS[kind]()))
    n = len(run.units.of_operations)
    rng = np.random.default_rng(n)
    measured = run.timed_in_turns(np.arange(n), rng.integers(0, 2, n), rng.random(n), lambda _: None)
    assert set(measured.seconds) == {PLAN, "onnxruntime with 1 thread", "onnxruntime with 2 threads"}
    assert all(len(seconds) == 2 and (seconds > 0).all() for seconds in measured.seconds.values())
    assert measured.tensors == len(run.expected) and measured.difference < 3e-3
    assert "pieces of the file" in measured.note


def test_wrong_results_are_no_silence(tmp_path: Path) -> None:
    run = file_run(write(tmp_path / "small.onnx", two_towers()))
    run.expected["sum"] = run.expected["sum"] + 1
    with pytest.raises(DifferentResults, match=r"output 'sum' differs from plain onnxruntime's by"):
        in_pieces(run, tmp_path / "a", 0)
