"""Sizes in ONNX files: folded shapes, open dimensions, data-dependent sizes, control flow, functions, sequences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from learned_schedulers.graphs.read.onnx_files import OnnxError, read_with_names

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def numbers(name: str, values: Any) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(np.array(values, np.int64), name)


def written(
    folder: Path,
    nodes: Sequence[onnx.NodeProto],
    inputs: dict[str, Sequence[int | str | None]],
    outputs: Sequence[str] = ("y",),
    constants: Sequence[onnx.TensorProto] = (),
    **more: Any,
) -> Path:
    values = [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in inputs.items()]
    graph = helper.make_graph(
        nodes,
        "mine",
        values,
        [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs],
        constants,
        value_info=more.pop("value_info", []),
    )
    opsets = [helper.make_opsetid("", more.pop("opset", 20)), helper.make_opsetid("com.example", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10, **more), folder / "mine.onnx")
    return folder / "mine.onnx"


N = helper.make_node
CONSTANTS = [numbers("zero", 0), numbers("unit", 1), numbers("first", [0]), numbers("two", [2])]
SHAPES = {
    "range": [
        N("Shape", ["x"], ["s"]),
        N("Gather", ["s", "unit"], ["n"]),
        N("Range", ["zero", "n", "unit"], ["r"]),
        N("Cast", ["r"], ["f"], to=FLOAT),
        N("Add", ["x", "f"], ["y"]),
    ],
    "pads": [
        N("ConstantOfShape", ["two"], ["p"], value=numbers("v", [1])),
        N("Concat", ["p", "p"], ["pads"], axis=0),
        N("Pad", ["x", "pads"], ["y"]),
    ],
    "where": [
        N("Shape", ["x"], ["s"]),
        N("Equal", ["s", "s"], ["same"]),
        N("Where", ["same", "s", "two"], ["t"]),
        N("Expand", ["x", "t"], ["y"]),
    ],
    "slice": [
        N("Shape", ["x"], ["s"]),
        N("Slice", ["s", "first", "two"], ["part"]),
        N("Mul", ["part", "two"], ["double"]),
        N("Tile", ["x", "double"], ["y"]),
    ],
}


@pytest.mark.parametrize(("name", "result"), [("range", 64), ("pads", 6 * 18), ("where", 64), ("slice", 64 * 8 * 32)])
@pytest.mark.parametrize("opened", [False, True])
def test_arithmetic_on_shapes_is_folded(name: str, result: int, opened: bool, tmp_path: Path) -> None:
    path = written(tmp_path, SHAPES[name], {"x": ["batch", "sequence"] if opened else [4, 16]}, constants=CONSTANTS)
    graph = read_with_names(path, dimensions={"batch": 4, "sequence": 16} if opened else {}).graph
    assert graph.kinds == (SHAPES[name][-1].op_type,) and graph.bytes_written.tolist() == [4 * result]


def test_operators_of_old_opsets_are_folded_by_their_rules(tmp_path: Path) -> None:
    nodes = [
        N("Shape", ["x"], ["s"]),
        N("Gather", ["s", "zero"], ["n"]),
        N("Unsqueeze", ["n"], ["rows"], axes=[0]),  # an attribute before opset 13
        N("Concat", ["rows", "two"], ["t"], axis=0),
        N("Reshape", ["x", "t"], ["r"]),
        N("Relu", ["r"], ["y"]),
    ]
    graph = read_with_names(written(tmp_path, nodes, {"x": [4, 2]}, constants=CONSTANTS, opset=11)).graph
    assert graph.bytes_written.tolist() == [32]


def test_all_open_dimensions_are_named_at_once_and_can_be_given(tmp_path: Path) -> None:
    nodes = [N("Relu", ["x"], ["y"]), N("Relu", ["z"], ["v"]), N("Relu", ["u"], ["w"])]
    inputs: dict[str, Sequence[int | str | None]] = {"x": [-1, 3, None, 64], "z": ["same", "same"], "u": ["batch", 2]}
    path = written(tmp_path, nodes, inputs, ["y", "v", "w"])
    with pytest.raises(OnnxError) as error:
        read_with_names(path)
    message = str(error.value)
    for part in ("'x' leaves dimension 0", "'x' leaves dimension 2", "'z' leaves dimension 'same'", "'batch' open"):
        assert part in message
    assert message.endswith("give their sizes: --input x=8,3,8,64 --input z=8,8 --size batch=8")
    sized = read_with_names(path, dimensions={"batch": 8}, shapes={"x": (1, 3, 48, 64), "z": (2, 5)})
    assert sized.graph.bytes_written.tolist() == [4 * 3 * 48 * 64, 4 * 10, 4 * 16]
    with pytest.raises(OnnxError, match="no dimension or tensor whose size is open is named 'typo'"):
        read_with_names(path, dimensions={"batch": 8, "typo": 3}, shapes={"x": (1, 3, 48, 64), "z": (2, 5)})
    with pytest.raises(OnnxError, match="the file fixes dimension 1 of this input at 3"):
        read_with_names(path, dimensions={"batch": 8}, shapes={"x": (1, 4, 48, 64), "z": (2, 5)})


@pytest.mark.parametrize("target", [[8, 2], [4, -1, 3], [1], [3, 3, 3]])
def test_a_reshape_that_does_not_fit_is_refused(target: list[int], tmp_path: Path) -> None:
    nodes = [N("Relu", ["x"], ["a"]), N("Reshape", ["a", "target"], ["b"]), N("Relu", ["b"], ["y"])]
    for rows, fits in ((2, target == [8, 2]), (4, False)):
        path = written(tmp_path, nodes, {"x": ["rows", 8]}, constants=[numbers("target", target)])
        if fits:
            assert read_with_names(path, dimensions={"rows": rows}).graph.bytes_written.tolist() == [64, 64]
        else:
            with pytest.raises(OnnxError, match=r"Reshape.*give other sizes than --size rows="):
                read_with_names(path, dimensions={"rows": rows})


DEPENDING = {
    "NonZero": ([N("NonZero", ["x"], ["i"])], (2, 64)),
    "Unique": ([N("Unique", ["x"], ["i"])], (64,)),
    "Compress": ([N("Cast", ["x"], ["c"], to=BOOL), N("Flatten", ["c"], ["d"]), N("Reshape", ["d", "all"], ["b"]),
                  N("Compress", ["x", "b"], ["i"])], (64,)),
    "NonMaxSuppression": (
        [N("Reshape", ["x", "boxes"], ["o"]), N("Reshape", ["x", "scores"], ["p"]),
         N("NonMaxSuppression", ["o", "p", "most"], ["i"])],
        (20, 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", DEPENDING)
def test_sizes_that_data_decide_are_the_largest_and_the_answer_says_so(kind: str, tmp_path: Path) -> None:
    nodes, shape = DEPENDING[kind]
    constants = [numbers(n, v) for n, v in {"all": [64], "boxes": [1, 16, 4], "scores": [1, 4, 16], "most": 5}.items()]
    nodes = [*nodes, N("Cast", ["i"], ["f"], to=FLOAT), N("Relu", ["f"], ["y"])]
    path = written(tmp_path, nodes, {"x": [4, 16]}, constants=constants)
    result = read_with_names(path)
    assert result.graph.bytes_written[-1] == 4 * np.prod(shape)
    assert len(result.notes) == 1 and f"{kind} 'i'" in result.notes[0] and "--size i=N" in result.notes[0]
    smaller = read_with_names(path, dimensions={"i": 7})
    assert smaller.notes == () and smaller.graph.bytes_written[-1] < result.graph.bytes_written[-1]


def test_what_cannot_be_known_names_operator_and_remedies_that_work(tmp_path: Path) -> None:
    nodes = [
        N("ReduceMax", ["x"], ["m"], keepdims=0),
        N("Cast", ["m"], ["n"], to=INT64),
        N("Range", ["zero", "n", "unit"], ["r"]),
        N("Cast", ["r"], ["f"], to=FLOAT),
        N("Relu", ["f"], ["y"]),
    ]
    path = written(tmp_path, nodes, {"x": [4, 16]}, constants=CONSTANTS)
    with pytest.raises(
        OnnxError, match=r"2 \(Range\): the size of 'r' is unknown.*--size r=8.*python -c .*onnxruntime"
    ):
        read_with_names(path)
    assert read_with_names(path, dimensions={"r": 9}).graph.bytes_written[-1] == 36


@pytest.mark.parametrize(
    ("attributes", "window", "bins"),
    [({}, [64], 33), ({"onesided": 1}, [64], 33), ({"onesided": 0}, [64], 64), ({}, [50], 26)],
)
def test_a_short_fourier_transform_has_half_of_the_bins_by_default(
    attributes: dict, window: list[int], bins: int, tmp_path: Path
) -> None:
    nodes = [
        N("STFT", ["x", "step", "window"], ["s"], **attributes),
        N("ReduceSumSquare", ["s", "last"], ["p"], keepdims=0),
    ]
    nodes.append(N("MatMul", ["p", "mel"], ["y"]))
    constants = [numbers("step", 10), numbers("last", [-1])]
    constants.append(helper.make_tensor("window", FLOAT, window, np.zeros(window)))
    constants.append(helper.make_tensor("mel", FLOAT, [bins, 8], np.zeros(bins * 8)))
    frames = (1000 - window[0]) // 10 + 1
    result = read_with_names(written(tmp_path, nodes, {"x": [2, 1000]}, constants=constants))
    assert result.graph.kinds[-1] == "MatMul" and result.graph.flops[-1] == 2 * 2 * frames * bins * 8


def test_functions_are_inlined_unless_they_never_end(tmp_path: Path) -> None:
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.example", 1)]

    def twice(inner: str) -> onnx.FunctionProto:
        domain = "com.example" if inner == "Twice" else ""
        nodes = [N(inner, ["a"], ["b"], domain=domain), N("Relu", ["b"], ["c"])]
        return helper.make_function("com.example", "Twice", ["a"], ["c"], nodes, opsets)

    nodes = [N("Twice", ["x"], ["y"], domain="com.example")]
    graph = read_with_names(written(tmp_path, nodes, {"x": [4, 4]}, functions=[twice("Exp")])).graph
    assert graph.kinds == ("Exp", "Relu")
    with pytest.raises(OnnxError, match="recursive"):
        read_with_names(written(tmp_path, nodes, {"x": [4, 4]}, functions=[twice("Twice")]))


def test_sizes_in_the_file_are_believed_where_inference_stops(tmp_path: Path) -> None:
    nodes = [N("Strange", ["x"], ["a"], domain="com.example"), N("Relu", ["a"], ["y"])]
    info = [helper.make_tensor_value_info("a", FLOAT, [4, 32])]
    result = read_with_names(written(tmp_path, nodes, {"x": [4, 16]}, value_info=info))
    assert result.graph.bytes_written.tolist() == [512, 512] and result.unpriced == ("com.example::Strange",)
    path = written(tmp_path, nodes, {"x": [4, 16]})
    with pytest.raises(OnnxError, match=r"com.example::Strange is not an operator of ONNX itself.*--input a="):
        read_with_names(path)
    assert read_with_names(path, shapes={"a": (4, 32)}).graph.graph_id == result.graph.graph_id


def test_sequences(tmp_path: Path) -> None:
    nodes = [
        N("SplitToSequence", ["x", "unit"], ["parts"], axis=0),
        N("SequenceAt", ["parts", "unit"], ["row"]),
        N("SequenceConstruct", ["row", "x"], ["both"]),
        N("SequenceLength", ["both"], ["length"]),
        N("ConcatFromSequence", ["both"], ["joined"], axis=0),
        N("Relu", ["joined"], ["y"]),
    ]
    graph = read_with_names(written(tmp_path, nodes, {"x": [4, 16]}, constants=CONSTANTS)).graph
    assert graph.kinds == ("SplitToSequence", "ConcatFromSequence", "Relu")
    assert graph.bytes_written.tolist() == [256, 320, 320]


FUNCTIONS = [  # operator, sizes of its inputs, opset, its kinds of operations, FLOPs, and elements of its result
    ("GreaterOrEqual", [[2, 3, 4], [4]], 13, ("GreaterOrEqual",), 24, 24),
    ("LessOrEqual", [[4, 8], [4, 8]], 12, ("LessOrEqual",), 32, 32),
    ("MeanVarianceNormalization", [[2, 3, 4, 4]], 13, ("MeanVarianceNormalization",), 96, 96),
    ("MeanVarianceNormalization", [[2, 3, 4, 4]], 9, ("MeanVarianceNormalization",), 96, 96),
    ("GroupNormalization", [[2, 8, 3, 3], [8], [8]], 21, ("GroupNormalization",), 144, 144),
    ("SwiGLU", [[4, 8], [4, 8]], 28, ("Swish", "Mul"), 64, 32),  # without a price: as those that it is defined by
]


@pytest.mark.parametrize(("kind", "sizes", "opset", "kinds", "flops", "elements"), FUNCTIONS)
def test_operators_that_onnx_defines_by_others(
    kind: str, sizes: list[list[int]], opset: int, kinds: tuple[str, ...], flops: int, elements: int, tmp_path: Path
) -> None:
    inputs = dict(zip("abc", sizes, strict=False))
    attributes = {"num_groups": 2} if kind == "GroupNormalization" else {}
    nodes = [N(kind, list(inputs), ["r"], **attributes), N("Cast", ["r"], ["y"], to=TensorProto.DOUBLE)]
    read = read_with_names(written(tmp_path, nodes, inputs, opset=opset), dimensions={})
    assert read.graph.kinds == (*kinds, "Cast") and read.unpriced == ()
    assert sum(read.graph.flops) == flops and read.graph.bytes_written[-1] == 8 * elements


def test_all_missing_sizes_are_named_at_once(tmp_path: Path) -> None:
    nodes = [
        N("Strange", ["x"], ["a"], domain="com.example"),
        N("Relu", ["a"], ["b"]),
        N("ReduceSum", ["x"], ["s"], keepdims=0),
        N("Cast", ["s"], ["n"], to=INT64),
        N("Range", ["zero", "n", "unit"], ["r"]),
        N("Strange", ["b"], ["c"], domain="com.example"),
        N("Cast", ["r"], ["f"], to=FLOAT),
        N("Mul", ["c", "f"], ["y"]),
    ]
    path = written(tmp_path, nodes, {"x": [4]}, constants=[numbers("zero", 0), numbers("unit", 1)])
    with pytest.raises(OnnxError, match="unknown") as refusal:
        read_with_names(path, dimensions={})
    options = ["--input a=8,8", "--size r=8", "--input c=8,8"]
    assert [option for option in options if option in str(refusal.value)] == options
    graph = read_with_names(path, dimensions={"r": 8}, shapes={"a": (2, 8), "c": (2, 8)}).graph
    assert graph.bytes_written[-1] == 4 * 2 * 8
