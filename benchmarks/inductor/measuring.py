"""Compilation and timing of candidates, each in a process of its own; measurements are stored and not repeated."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from learned_schedulers.files import replacing
from learned_schedulers.graphs.compilers.inductor.levelled_choices import Levels
from learned_schedulers.graphs.compilers.inductor.models import MODELS
from learned_schedulers.graphs.compilers.inductor.nodes import Node, grouped
from learned_schedulers.graphs.compilers.inductor.processes import Candidate, timed_in_turns
from learned_schedulers.graphs.compilers.kinds import Loop

DEFAULT = "default"
BATCH = 8  # candidates that are compiled at once, and timed in turns: each is a process


@dataclass(frozen=True)
class Measured:
    """A compiled candidate, and its time."""

    name: str
    status: str  # ok, or why it has no time
    ratio: float  # median over rounds of its time over the default's in the same round


class Workshop:
    """The folder in which a model's candidates are compiled; `core`: the processor core that they are timed on."""

    def __init__(self, folder: Path, model: str, core: int) -> None:
        self.model, self._folder, self._core = model, folder / model, core
        self._kernels = self._folder / "kernels"
        self._folder.mkdir(parents=True, exist_ok=True)

    def nodes(self) -> list[Node]:
        """The model's scheduler nodes before fusion."""
        path = self._folder / "nodes.json"
        if not path.exists():
            chosen = MODELS[self.model]
            module, inputs = chosen.build()
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(self._folder / "nodes")
            with torch.set_grad_enabled(chosen.training):
                nodes = grouped(module, inputs, chosen.training, None).nodes
            with replacing(path) as temporary:
                temporary.write_text(json.dumps([vars(node) for node in nodes]))
        return [Node(**{**row, "loop": Loop(row["loop"])}) for row in json.loads(path.read_text())]

    def measured(self, levels: Sequence[Levels], rounds: int) -> list[Measured]:
        """Compile candidates, and time those in turns with the default whose results are right; each only once."""
        names = [name_of(by_node) for by_node in levels]
        fresh = {name: by_node for name, by_node in zip(names, levels, strict=True) if not self._file(name).exists()}
        for begin in tqdm(range(0, len(fresh), BATCH), self.model, leave=False):
            self._measure(dict([*fresh.items()][begin : begin + BATCH]), rounds)
        stored_rows = [json.loads(self._file(name).read_text()) for name in names]
        return [Measured(name, row["status"], row["ratio"]) for name, row in zip(names, stored_rows, strict=True)]

    def _measure(self, batch: Mapping[str, Levels], rounds: int) -> None:
        self._compile_default()
        with ExitStack() as stack:
            default = stack.enter_context(self._open(DEFAULT, None))
            opened = {name: stack.enter_context(self._open(name, levels)) for name, levels in batch.items()}
            statuses = {name: _status(candidate) for name, candidate in opened.items()}
            self._share(batch)
            right = [name for name in batch if statuses[name] == "ok"]
            times = timed_in_turns([default, *(opened[name] for name in right)], rounds)
        ratios = dict(zip(right, np.median(times[1:] / times[0], axis=1).tolist(), strict=True))
        for name, levels in batch.items():
            row = {"levels": levels, "status": statuses[name], "ratio": ratios.get(name, np.nan)}
            with replacing(self._file(name)) as temporary:
                temporary.write_text(json.dumps(row))

    def timed(self, names: Sequence[str], rounds: int, series: str) -> dict[str, np.ndarray]:
        """Seconds in each round by candidate, in turns; a name that comes twice is timed in two processes.

        series: names the measurement, which is kept under it and not made again.
        """
        digest = hashlib.sha256(json.dumps([*names, rounds]).encode()).hexdigest()[:12]
        path = self._folder / f"times_{series}_{digest}.json"
        if not path.exists():
            with ExitStack() as stack:
                opened = [stack.enter_context(self._open(name, self._levels(name))) for name in names]
                times = timed_in_turns(opened, rounds)
            with replacing(path) as temporary:
                temporary.write_text(json.dumps(times.tolist()))
        stored_times = json.loads(path.read_text())
        return {
            f"{name}{'' if name not in names[:i] else ' again'}": np.array(stored_times[i])
            for i, name in enumerate(names)
        }

    def _file(self, name: str) -> Path:
        """The file with the measurement of a candidate."""
        return self._folder / f"{name}.json"

    def _compile_default(self) -> None:
        """Compile the default first, as other candidates begin with its kernels."""
        if not (self._folder / DEFAULT).exists():
            with self._open(DEFAULT, None) as candidate:
                status = _status(candidate)
            self._share([DEFAULT])
            if status != "ok":
                raise RuntimeError(f"{self.model}, as Inductor itself compiles it: {status}")

    def _levels(self, name: str) -> Levels | None:
        levels: Levels | None = None if name == DEFAULT else json.loads(self._file(name).read_text())["levels"]
        return levels

    def _open(self, name: str, levels: Levels | None) -> Candidate:
        """A process with the candidate, in a folder of its own for compiled code.

        A new folder begins with the kernels of earlier candidates, which are stored by their source text.
        """
        cache = self._folder / name
        if not cache.exists() and self._kernels.exists():
            shutil.copytree(self._kernels, cache, copy_function=os.link)
        return Candidate(MODELS[self.model], levels, cache, self._core)

    def _share(self, names: Iterable[str]) -> None:
        """Make the kernels of these candidates available to later ones."""
        for path in (path for name in names for path in (self._folder / name).glob("*/*")):
            shared = self._kernels / path.parent.name / path.name
            if path.is_file() and not shared.exists():
                shared.parent.mkdir(parents=True, exist_ok=True)
                os.link(path, shared)


def _status(candidate: Candidate) -> str:
    try:
        return str(candidate.answer["status"])
    except RuntimeError as error:
        return f"failed: {error}"


def name_of(levels: Levels) -> str:
    """A short name that is different for different levels."""
    return hashlib.sha256(json.dumps(sorted(levels.items())).encode()).hexdigest()[:12]
