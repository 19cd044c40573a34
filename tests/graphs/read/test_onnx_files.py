"""ONNX files: costs by hand, folded and merged operations, and faults."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest

from learned_schedulers.graphs.read.onnx_files import OnnxError, read_onnx, read_with_names
from pipeline.graph_sets import exported
from tests.trial import damaged_models

FLOAT = 1
NAMES = ("conv", "relu", "gemm", "product", "split", "join", "softmax")
LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"


def written(
    folder: Path, nodes: Sequence, batch: int | str = 2, weights: dict[str, tuple[int, ...]] | None = None
) -> Path:
    helper = onnx.helper
    initial = [onnx.numpy_helper.from_array(np.ones(s, np.float32), name) for name, s in (weights or {}).items()]
    model = helper.make_graph(
        nodes,
        "mine",
        [helper.make_tensor_value_info("x", FLOAT, [batch, 4, 5, 5])],
        [helper.make_tensor_value_info("y", FLOAT, ["rows", "columns", "height", "width"][: 2 if weights else 4])],
        initial,
    )
    onnx.save(helper.make_model(model, opset_imports=[helper.make_opsetid("", 18)]), folder / "mine.onnx")
    return folder / "mine.onnx"


def node(kind: str, inputs: list[str], outputs: list[str], **attributes: object) -> object:
    return onnx.helper.make_node(kind, inputs, outputs, name=f"{kind}_{outputs[0]}", **attributes)


NODES = [
    ("Constant", [], ["shape"], {"value_ints": [2, -1]}),
    ("Identity", ["k"], ["kernel"], {}),
    ("Conv", ["x", "kernel"], ["a"], {"group": 2}),
    ("Relu", ["a"], ["b"], {}),
    ("Reshape", ["b", "shape"], ["c"], {}),
    ("Gemm", ["c", "w"], ["y"], {"transB": 1}),
]
WEIGHTS = {"k": (6, 2, 3, 3), "w": (7, 54)}


def nodes() -> list:
    return [node(kind, inputs, outputs, **attributes) for kind, inputs, outputs, attributes in NODES]


def test_by_hand(tmp_path: Path) -> None:
    graph = read_onnx(written(tmp_path, nodes(), weights=WEIGHTS), "mine")
    assert graph.kinds == ("Conv", "Relu", "Gemm")
    assert list(zip(graph.children.sources, graph.children.targets, strict=True)) == [(0, 1), (1, 2)]
    result = 2 * 6 * 3 * 3
    assert graph.flops.tolist() == [2 * result * 2 * 9, result, 2 * 2 * 54 * 7]
    assert graph.bytes_kept.tolist() == [4 * 6 * 2 * 9, 0, 4 * 7 * 54]
    assert graph.bytes_written.tolist() == [4 * result, 4 * result, 4 * 2 * 7]
    assert graph.bytes_read.tolist() == [4 * (200 + 108), 4 * result, 4 * (result + 7 * 54)]


def test_open_dimensions_are_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, nodes(), "batch", WEIGHTS)
    with pytest.raises(OnnxError, match=r"mine.onnx: input 'x' leaves dimension 'batch' open"):
        read_onnx(path)
    fixed = read_onnx(written(tmp_path, nodes(), 2, WEIGHTS)).graph_id
    assert read_onnx(written(tmp_path, nodes(), "batch", WEIGHTS), dimensions={"batch": 2}).graph_id == fixed


@pytest.mark.parametrize(
    ("faulty", "message"),
    [
        ([("Frobnicate", ["x"], ["y"], {})], "Frobnicate"),
        ([("Relu", ["z"], ["y"], {})], "'?z'?"),
        ([("Relu", ["y"], ["z"], {}), ("Relu", ["z"], ["y"], {})], "sorted"),
        (
            [
                ("Cast", ["x"], ["i"], {"to": 7}),
                ("Unique", ["i"], ["j"], {}),
                ("ConstantOfShape", ["j"], ["y"], {}),
            ],
            r"ConstantOfShape_y \(ConstantOfShape\): the size of 'y'",
        ),
    ],
)
def test_faults_name_file_and_node(faulty: list, message: str, tmp_path: Path) -> None:
    parts = [node(kind, inputs, outputs, **attributes) for kind, inputs, outputs, attributes in faulty]
    with pytest.raises(OnnxError, match=f"(?s)mine.onnx: .*{message}"):
        read_onnx(written(tmp_path, parts))


def with_weights(weight: Callable[[onnx.TensorProto], None]) -> bytes:
    """A small model with changed 64 x 64 weights."""
    model = onnx.load_model_from_string(damaged_models.with_weights())
    weight(next(constant for constant in model.graph.initializer if constant.name == "v"))
    return model.SerializeToString()


def elsewhere(constant: onnx.TensorProto) -> None:
    """Weights in a separate file, which must not be opened."""
    constant.ClearField("raw_data")
    constant.data_location = onnx.TensorProto.EXTERNAL
    constant.external_data.add(key="location", value="../../../../etc/passwd")


def test_weights_in_other_files_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "whole.onnx").write_bytes(damaged_models.with_weights())
    (tmp_path / "apart.onnx").write_bytes(with_weights(elsewhere))
    opened = []
    sys.addaudithook(lambda event, arguments: opened.append(str(arguments[0])) if event == "open" else None)
    assert read_onnx(tmp_path / "apart.onnx").graph_id == read_onnx(tmp_path / "whole.onnx").graph_id
    assert any("apart.onnx" in name for name in opened) and not any("passwd" in name for name in opened)


@pytest.mark.parametrize("sizes", [(2**62, 2**62), (2**40, 64), (-(2**40), 64)])
def test_declared_sizes_are_not_allocated(sizes: tuple[int, int], tmp_path: Path) -> None:
    def declare(constant: onnx.TensorProto) -> None:
        constant.ClearField("dims")
        constant.dims.extend(sizes)

    (tmp_path / "huge.onnx").write_bytes(with_weights(declare))
    tracemalloc.start()
    with pytest.raises(OnnxError, match=r"huge\.onnx"):
        read_onnx(tmp_path / "huge.onnx")
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


def test_operators_of_others_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, [node("Relu", ["x"], ["a"]), node("Strange", ["a"], ["y"], domain="com.example")])
    model = onnx.load(path)
    model.opset_import.add(domain="com.example", version=1)
    for dimension in model.graph.output[0].type.tensor_type.shape.dim:
        dimension.Clear()
    onnx.save(model, path)
    with pytest.raises(OnnxError, match=r"Strange_y \(Strange\): the size of 'y' is unknown; com.example::Strange is"):
        read_onnx(path)


def test_names_are_the_files(tmp_path: Path) -> None:
    (tmp_path / "small.onnx").write_bytes(damaged_models.with_weights())
    graph, names, *_ = read_with_names(tmp_path / "small.onnx")
    assert names == tuple(f"{name} ({kind})" for name, kind in zip(NAMES, graph.kinds, strict=True))


@pytest.mark.parametrize("path", sorted(LIGHT.glob("*.onnx")), ids=lambda path: path.stem)
def test_the_files_of_the_wheel_are_those_that_are_cached(path: Path) -> None:
    assert read_onnx(path).graph_id == exported.load(path.stem, "forward").graph_id


def test_truncated_and_mutated_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    whole = (LIGHT / "light_squeezenet.onnx").read_bytes()
    path = tmp_path / "mutated.onnx"
    for trial in range(150):
        mutated = bytearray(whole if trial % 2 else whole[: int(rng.integers(len(whole)))])
        for at in rng.integers(0, max(len(mutated), 1), trial % 2 * 2).tolist():
            mutated[at] = int(rng.integers(256))
        path.write_bytes(mutated)
        try:
            read_onnx(path)
        except OnnxError as error:
            assert str(path) in str(error)
        else:
            assert trial % 2, "a part of a file was taken for a whole one"
    with pytest.raises(OnnxError, match=r"none.onnx: cannot be read: No such file"):
        read_onnx(tmp_path / "none.onnx")
