"""Candidates are compiled and timed, each in a process of its own; what was measured is not measured again."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.graphs.compilers.inductor.models import MODELS
from pipeline.graphs.compilers.inductor.nodes import Node, grouped
from pipeline.graphs.compilers.inductor.policy import Levels
from pipeline.graphs.compilers.inductor.processes import Candidate, timed_in_turns
from pipeline.graphs.compilers.kinds import Loop
from pipeline.tables import replacing

DEFAULT = "default"


class Workshop:
    """Where a model's candidates are compiled, under one folder; `core`: the processor core that runs them."""

    def __init__(self, folder: Path, model: str, core: int) -> None:
        self.model, self._folder, self._core = model, folder / model, core
        self._folder.mkdir(parents=True, exist_ok=True)

    def nodes(self) -> list[Node]:
        """The model's scheduler nodes before fusion."""
        path = self._folder / "nodes.json"
        if not path.exists():
            chosen = MODELS[self.model]
            module, inputs = chosen.build()
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(self._folder / "nodes")
            found = grouped(module, inputs, chosen.training, None).nodes
            with replacing(path) as temporary:
                temporary.write_text(json.dumps([vars(node) for node in found]))
        return [Node(**{**row, "loop": Loop(row["loop"])}) for row in json.loads(path.read_text())]

    def compiled(self, levels: Levels | None) -> tuple[str, dict[str, Any]]:
        """The name of a candidate, and how compiling it went. A failure is an answer with the status `failed: why`."""
        name = name_of(levels)
        answer = self._folder / f"{name}.json"
        if not answer.exists():
            try:
                with self._open(name, levels) as candidate:
                    said = candidate.answer
            except RuntimeError as error:
                said = {"status": f"failed: {error}"}
            with replacing(answer) as temporary:
                temporary.write_text(json.dumps(said | {"levels": levels}))
        return name, json.loads(answer.read_text())

    def timed(self, names: Sequence[str], rounds: int, series: str) -> dict[str, np.ndarray]:
        """Seconds in each round by candidate, in turns; a name that comes twice is timed in two processes.

        series: names the measurement, which is kept under it.
        """
        digest = hashlib.sha256(json.dumps([*names, rounds]).encode()).hexdigest()[:12]
        path = self._folder / f"times_{series}_{digest}.json"
        if not path.exists():
            with ExitStack() as stack:
                opened = [stack.enter_context(self._open(name, self._levels(name))) for name in names]
                times = timed_in_turns(opened, rounds)
            with replacing(path) as temporary:
                temporary.write_text(json.dumps(times.tolist()))
        kept = json.loads(path.read_text())
        return {f"{name}{'' if name not in names[:i] else ' again'}": np.array(kept[i]) for i, name in enumerate(names)}

    def _levels(self, name: str) -> Levels | None:
        said: Mapping[str, Any] = json.loads((self._folder / f"{name}.json").read_text())
        return said["levels"]  # type: ignore[no-any-return]

    def _open(self, name: str, levels: Levels | None) -> Candidate:
        """A process with the candidate, in a folder of its own for compiled code.

        A new folder begins with what compiling the default left: kernels, which are kept by their source text.
        """
        cache, base = self._folder / name, self._folder / DEFAULT
        if not cache.exists() and base.exists():
            shutil.copytree(base, cache, copy_function=os.link)
            (cache / "log.txt").unlink(missing_ok=True)
        return Candidate(self.model, levels, cache, self._core)


def name_of(levels: Levels | None) -> str:
    """A short name that tells levels apart."""
    if levels is None:
        return DEFAULT
    return hashlib.sha256(json.dumps(sorted(levels.items())).encode()).hexdigest()[:12]
