"""What `graph` writes: a chart, a split, a trace; and what it says about them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from learned_schedulers.command.graph_forms import FORMS
from learned_schedulers.files import printable, replacing
from learned_schedulers.graphs.devices.timeline import Timeline, timeline
from learned_schedulers.graphs.methods.one_device import fastest
from learned_schedulers.graphs.plans import summary
from learned_schedulers.graphs.plans.best import Trial
from learned_schedulers.graphs.plans.sources import Source
from learned_schedulers.graphs.plans.trace import trace
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.workloads import split_of

_CHARTS = (".png", ".svg", ".pdf")


def check(model: str, files: dict[str, Path]) -> None:
    """Raises ValueError if two files to write are the same, or one of them is the model, or a chart's form unknown."""
    if "gantt" in files and files["gantt"].suffix.lower() not in _CHARTS:
        raise ValueError(f"--gantt {files['gantt']}: end the name of the chart in one of {', '.join(_CHARTS)}")
    for name, path in files.items():
        used = [model, *(str(output) for key, output in files.items() if key != name)]
        option = f"--write {name}=" if name in FORMS else f"--{name} "
        if any(path.resolve() == Path(file).resolve() for file in used):
            raise ValueError(f"{option}{path}: another file has this name; choose a different name")
        if path.is_dir():
            raise ValueError(f"{option}{path}: this is a folder; name a file in it")


def note_on_step(kinds: Sequence[str]) -> str:
    """What PlacedModule does not take of the split of a training step."""
    drawing = sorted({kind for kind in kinds if re.search("dropout|bernoulli|rand|normal_", kind)})
    random = f", and no module that draws random numbers ({', '.join(drawing)})" if drawing else ""
    return f"note: PlacedModule takes the split of a forward pass, which is written without --training{random}"


def write(files: Mapping[str, Path], content: Callable[[str, Path], tuple[bytes, str]]) -> None:
    """Write all files, after the content of each is there. content: of a file by its option; and what to say of it."""
    contents = {name: content(name, path) for name, path in files.items()}
    for name, path in files.items():
        written, remark = contents[name]
        with replacing(path, follow=True) as temporary:
            temporary.write_bytes(written)
        print(f"{name}: {path}{remark and f'; {remark}'}")


def split_file(problem: Problem, source: Source, placement: np.ndarray) -> bytes:
    """The placement, (n,), in the form of Tarnawski et al."""
    nodes = source.listed
    return split_of(nodes.ids, placement[nodes.owners], problem.devices, nodes.names, problem.device_names).encode()


def content(
    name: str, problem: Problem, source: Source, best: Trial, times: Timeline, heading: str, path: Path
) -> tuple[bytes, str]:
    """Content of an output file, and what to say of it."""
    assert best.order is not None and best.placement is not None
    if name == "split":
        return split_file(problem, source, best.placement), ""
    if name == "trace":
        return trace(times, source.names, source.graph.kinds).encode(), ""
    from learned_schedulers import figures
    from learned_schedulers.graphs.plans.gantt import gantt  # slow to import: pandas and matplotlib

    device, has_room = fastest(problem)
    alone = problem.only([device])
    order, placement = np.arange(len(problem), dtype=np.int32), np.zeros(len(problem), np.int32)
    single = timeline(alone, order, placement)
    lack = "" if has_room else ", which does not fit its memory"
    speedup = summary.ratio(single.makespan, best.seconds)
    panels = {f"best ({best.method}), speedup {speedup}": times, f"one device{lack}": single}
    least, most = problem.memories.min() / 1e9, problem.memories.max() / 1e9
    sizes = f"{least:.4g} GB each" if least == most else f"{least:.4g} to {most:.4g} GB"
    room = f", {sizes}" if problem.limited else ""
    figure = gantt(panels, problem.bound, f"{printable(heading)}{room}", source.names)
    return figures.content(figure, path.suffix), ""
