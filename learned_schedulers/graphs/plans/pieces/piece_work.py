"""The pieces of an ONNX file as the work of two processes: each runs those of its device, by one thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from learned_schedulers.graphs.plans.pieces.sessions import Bound, session_of
from learned_schedulers.graphs.run.programs import Step
from learned_schedulers.graphs.run.shared_memory import SharedMemory

_LINE = 64  # bytes; a tensor begins at a multiple of it
INPUTS = "inputs.npz"


class Form(NamedTuple):
    """A tensor that a piece computes, and its place in the bytes of this piece's results."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int  # byte
    end: int

    def within(self, room: np.ndarray) -> np.ndarray:
        """The tensor whose content lies in these bytes, (size,) uint8 or more."""
        return room[self.begin : self.end].view(self.dtype).reshape(self.shape)


def forms_of(tensors: Mapping[str, np.ndarray]) -> tuple[Form, ...]:
    """Places of a piece's results, one behind the other."""
    forms: list[Form] = []
    end = 0
    for name, tensor in tensors.items():
        begin = -(-end // _LINE) * _LINE
        end = begin + tensor.nbytes
        forms.append(Form(name, tensor.dtype.str, tensor.shape, begin, end))
    return tuple(forms)


def model_path(folder: Path, piece: int) -> Path:
    """The file of a piece."""
    return folder / f"piece{piece}.onnx"


@dataclass(frozen=True)
class PieceWork:
    """P pieces, whose models and inputs lie in a folder."""

    folder: Path
    inputs: tuple[str, ...]  # names of the file's inputs, in the sequence of the folder's file with them
    forms: tuple[tuple[Form, ...], ...]  # P: results of each piece that another piece or the caller reads

    @property
    def written(self) -> np.ndarray:
        """(P,) bytes of the results of each piece."""
        return np.array([forms[-1].end if forms else 0 for forms in self.forms], np.int64)

    def results(self, shared: SharedMemory) -> dict[str, np.ndarray]:
        """All results in shared memory, by name."""
        return {
            form.name: form.within(room.view(np.uint8))
            for forms, room in zip(self.forms, shared.results, strict=True)
            for form in forms
        }

    def on_device(self, shared: SharedMemory, device: int) -> PiecesOnDevice:
        """The pieces as one device runs them."""
        return PiecesOnDevice(self, shared)


class PiecesOnDevice:
    """The pieces of a device, with its sessions."""

    def __init__(self, work: PieceWork, shared: SharedMemory) -> None:
        self._work, self._tensors = work, _inputs(work.folder, work.inputs) | work.results(shared)

    def program(self, steps: Sequence[Step], placement: np.ndarray) -> PieceProgram:
        """This device's part of a schedule."""
        parts: list[Bound | None] = []
        for step in steps:
            if not self._work.forms[step.operation]:
                parts.append(None)
                continue
            session = _session(model_path(self._work.folder, step.operation))
            outputs = {form.name: self._tensors[form.name] for form in self._work.forms[step.operation]}
            inputs = {value.name: self._tensors[value.name] for value in session.get_inputs()}
            parts.append(Bound(session, inputs, outputs))
        return PieceProgram(parts)


class PieceProgram:
    """A device's part of a schedule: sessions that read and write shared memory."""

    def __init__(self, parts: Sequence[Bound | None]) -> None:
        self._parts = parts

    def compute(self, position: int, run: int) -> None:
        """Run the piece of a step, if anybody reads its results."""
        if (part := self._parts[position]) is not None:
            part.run()

    def end(self) -> None:
        """Nothing follows: all results are where the caller reads them."""


@lru_cache(1)
def _inputs(folder: Path, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    with np.load(folder / INPUTS, allow_pickle=False) as file:
        return {name: file[f"arr_{number}"] for number, name in enumerate(names)}


@lru_cache(None)
def _session(path: Path) -> Any:
    return session_of(path, 1)
