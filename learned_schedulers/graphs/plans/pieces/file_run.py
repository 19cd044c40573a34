"""A schedule of an ONNX file, executed in pieces on two cores, in turns with ONNX Runtime by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from learned_schedulers.graphs.plans.pieces.cutting import Cut, cut
from learned_schedulers.graphs.plans.pieces.file_inputs import inputs_that_run
from learned_schedulers.graphs.plans.pieces.file_units import SHARED_TYPES, FileUnits, units_of
from learned_schedulers.graphs.plans.pieces.piece_models import PieceModels
from learned_schedulers.graphs.plans.pieces.piece_work import INPUTS, Form, PieceWork, forms_of, model_path
from learned_schedulers.graphs.plans.pieces.sessions import RUNTIME, Bound, fault_of, results_of, session_of
from learned_schedulers.graphs.plans.summary import milliseconds
from learned_schedulers.graphs.plans.turns import (
    PATIENCE,
    PLAN,
    RUNS,
    THREADS,
    Turns,
    difference,
    rounds_of,
    threads_name,
    timed,
)
from learned_schedulers.graphs.read.onnx_files import WalkedFile
from learned_schedulers.graphs.read.onnx_model import OnnxError
from learned_schedulers.graphs.run.device_process import Task
from learned_schedulers.graphs.run.pair import Pair, record_of

_QUANTISED = 0.02  # of the largest number; a cut may change in which operation a number is rounded to eight bits
_CALLS = 200  # of a session without work, whose median time counts


class FileRun:
    """An ONNX file that can be run in pieces, and by itself."""

    def __init__(self, path: Path, file: WalkedFile, numbers: Mapping[str, float] | None = None) -> None:
        """numbers: of all elements of inputs, by their names; other inputs are drawn.

        Raises OnnxError that says why the file cannot be divided, or why the runtime refuses it."""
        self._path, self._file = path, file
        self.units: FileUnits = units_of(path, file)
        self._models = PieceModels(path, self.units)
        with fault_of(path):
            whole = session_of(path, 1, file.dimensions)
            self.inputs, results = inputs_that_run(path, self._models.inputs(), numbers or {}, whole)
        self.expected = {name: results[name] for name in self.units.outputs}
        for name, result in self.expected.items():
            if result.dtype.name not in SHARED_TYPES.values():
                raise OnnxError(f"{path}: --run: output {name!r} is of type {result.dtype}, which devices cannot share")

    def timed_in_turns(
        self, order: np.ndarray, placement: np.ndarray, seconds: np.ndarray, tell: Callable[[str], None]
    ) -> Turns:
        """Run a schedule and the file by itself in turns on two cores.

        order, placement: (n,) of the file's operations; seconds: (n,) expected of each; tell: gets sentences.
        Raises DifferentResults that names an output, and ExecutionError if this machine cannot run it.
        """
        with TemporaryDirectory(prefix="pieces-") as name:
            folder = Path(name)
            pieces = self.cut(order, placement, seconds, _seconds_of_a_call(folder))
            counts = np.bincount(pieces.devices, minlength=2).tolist()
            note = (
                f"The plan ran as {len(pieces)} pieces of the file ({counts[0]} and {counts[1]}), each a call of "
                f"{RUNTIME}; with these calls {milliseconds(pieces.seconds)} were expected."
            )
            work = self.written(pieces, folder)
            return self._in_turns(pieces, work, tell)._replace(note=note)

    def cut(self, order: np.ndarray, placement: np.ndarray, seconds: np.ndarray, call: float) -> Cut:
        """The pieces of a schedule. call: seconds that a session takes without work."""
        units, n = self.units, len(order)
        position = np.empty(n, np.int64)
        position[order] = np.arange(n)
        priorities = np.full(len(units), n)
        np.minimum.at(priorities, units.of_operations, position)
        devices = np.zeros((2, len(units)))  # seconds of a unit's operations on each device
        np.add.at(devices, (placement, units.of_operations), np.maximum(seconds, 1e-12))
        total = np.bincount(units.of_operations, seconds, len(units))
        return cut(units.parents, priorities, devices.argmax(0), total, call)

    def written(self, pieces: Cut, folder: Path) -> PieceWork:
        """Write the models of all pieces; run them one after the other, which shows what they compute.

        Raises OnnxError for a piece that cannot run, and DifferentResults that names an output.
        """
        units = [np.flatnonzero(pieces.of_units == piece).tolist() for piece in range(len(pieces))]
        reads, shared = self._tensors(units)
        last = {name: number for number, names in enumerate(reads) for name in names}
        tensors = dict(self.inputs)
        forms: list[tuple[Form, ...]] = []
        for piece, members in enumerate(units):
            if not shared[piece]:
                forms.append(())
                continue
            path = model_path(folder, piece)
            self._models.write(path, members, shared[piece], tensors)
            with fault_of(self._path):
                computed = results_of(session_of(path, 1), tensors)
            forms.append(forms_of(computed))
            tensors |= computed
            for name in reads[piece]:
                if last[name] == piece and name not in self.expected and name not in self.inputs:
                    del tensors[name]
        self._compared(tensors)
        np.savez(folder / INPUTS, *self.inputs.values())
        return PieceWork(folder, tuple(self.inputs), tuple(forms))

    def _tensors(self, units: list[list[int]]) -> tuple[list[list[str]], list[list[str]]]:
        """What each piece reads, and which of its results others read; a piece whose results nobody reads has none."""
        reads: list[list[str]] = [[] for _ in units]
        shared: list[list[str]] = [[] for _ in units]
        read = set(self.expected)
        for piece in reversed(range(len(units))):
            shared[piece] = [name for name in self._models.results(units[piece]) if name in read]
            if shared[piece]:
                reads[piece] = self._models.reads(units[piece])
                read.update(reads[piece])
        return reads, shared

    def _compared(self, results: Mapping[str, np.ndarray]) -> float:
        """The largest difference from what the file by itself computes."""
        expected, computed = (
            {f"output {name!r}": torch.from_numpy(np.array(of[name])) for name in self.expected}
            for of in (self.expected, results)
        )
        rounding = _QUANTISED if self.units.quantised else 0.0
        return difference(expected, computed, f"plain {RUNTIME}", rounding)

    def _in_turns(self, pieces: Cut, work: PieceWork, tell: Callable[[str], None]) -> Turns:
        count = len(pieces)
        order, placement = np.arange(count)[None], pieces.devices[None]
        task = Task(pieces.parents, work, order, placement, np.zeros(RUNS + 1, np.int64), PATIENCE)
        worst = 0.0

        def planned() -> list[float]:
            nonlocal worst
            shared = pair.execute(task, f"running {self._path}")
            worst = max(worst, self._compared(work.results(shared)))
            return record_of(shared).makespans.tolist()

        outputs = {name: np.empty_like(result) for name, result in self.expected.items()}
        kinds: dict[str, Callable[[], list[float]]] = {PLAN: planned}
        with fault_of(self._path):
            for threads in THREADS:
                whole = Bound(session_of(self._path, threads, self._file.dimensions), self.inputs, outputs)
                kinds[threads_name(threads, RUNTIME)] = partial(timed, whole.run)
            with Pair(PATIENCE) as pair:
                tell("two processes load the pieces")
                planned()
                tell("timing in turns")
                seconds = rounds_of(kinds)
        return Turns(seconds, len(self.expected), worst, RUNTIME)


def _seconds_of_a_call(folder: Path) -> float:
    """Seconds of a call of a session that copies a number."""
    import onnx
    from onnx import helper

    value = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])
    result = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "call", [value], [result])
    path = folder / "call.onnx"
    onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    bound = Bound(session_of(path, 1), {"x": np.ones(1, np.float32)}, {"y": np.ones(1, np.float32)})
    seconds = []
    for _ in range(_CALLS):
        began = time.perf_counter()
        bound.run()
        seconds.append(time.perf_counter() - began)
    return float(np.median(seconds))
