"""What became of each program, one file each: written whole, so that a campaign that was stopped goes on."""

from __future__ import annotations

import json
import shutil
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np

from benchmarks.own_generated import controls
from benchmarks.own_generated.building import Program, Unbuilt
from benchmarks.own_generated.generating import program
from benchmarks.own_generated.trial import FORMATS, OfFormat, Trial, general, orderer
from learned_schedulers.blocks.dag.memory_order import MemoryOrder
from learned_schedulers.blocks.read.unreadable import Unreadable
from learned_schedulers.files import replacing

Record = dict[str, Any]
ARCHIVED = 3  # one in so many programs is also ordered as an archive
CONTROLLED = 7  # one in so many programs is also ordered wrongly


def path(folder: Path, number: int) -> Path:
    """The file of a program's record."""
    return folder / f"{number}.json"


def of_program(seed: int, number: int, seeds: int, work: Path, cases: Path) -> Record:
    """Write, build, order and run one program. work: a folder for its files; cases: where differences are kept."""
    record: Record = {"number": number}
    try:
        item = program(seed, number, work)
        trial = Trial(item, work)
    except Unbuilt as error:
        return record | {"discarded": general(str(error))}
    record |= {"family": item.family, "memory": item.memory, "described": item.described}
    record["constructs"] = sorted(item.constructs)
    chosen = [1 + (number + k) % 8 for k in range(seeds)]
    record["formats"] = {}
    for form in FORMATS if number % ARCHIVED == 0 else FORMATS[:-1]:
        try:
            answer = trial.ordered(form, chosen)
        except Exception:  # whatever it is, the command would have ended by it
            answer = OfFormat(crash=traceback.format_exc()[-1500:])
        if answer.differences or answer.crash:
            _keep(item, trial, form, answer, cases / f"{number}-{form}")
        record["formats"][form] = answer.as_json()
    if number % CONTROLLED == 0 and not record["formats"]["assembly"]["crash"]:
        record["controls"] = _controlled(item, trial, np.random.default_rng([seed, number, 1]))
    return record


def _controlled(item: Program, trial: Trial, rng: np.random.Generator) -> dict[str, bool]:
    """Of each control that is possible with the program, whether the wrong order was seen."""
    detected: dict[str, bool] = {}
    text = controls.across(item.text.decode("utf-8", "replace"), rng) if item.family == "assembly" else None
    if text is not None:
        detected["across_a_named_place"] = bool(trial.wrong("assembly", text.encode(), seconds=3))
    try:
        document = trial.document("assembly")
    except Unreadable:
        return detected
    orders = controls.reversed_dependencies(document, item.memory, rng)
    if orders:
        for kind, chosen in (("one_dependency", controls.alone(orders, rng)), ("every_block", orders)):
            detected[kind] = bool(trial.wrong("assembly", document.rewritten(chosen), seconds=3))
    return detected


def _keep(item: Program, trial: Trial, form: str, answer: OfFormat, folder: Path) -> None:
    """A folder with which a difference can be made again: all files of the program, and the commands."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(trial.folder, folder)
    file = trial.inputs[form].name
    lines = [f"{item.family}: {item.described}", answer.crash]
    for difference in answer.differences:
        options = f"--by random_legal --for skylake --memory {item.memory} --seed {difference.seed}"
        lines += [
            f"seed {difference.seed}: {difference.shown}",
            f"  block {difference.place}: order {difference.order}",
            f"  learned-schedulers order {file} -o ordered {options} --only-block '{difference.place}'",
        ]
    if form != "program":
        lines.append(f"  linked by: {' '.join(item.link)}; with {', '.join(item.others) or 'nothing else'}")
    (folder / "README").write_text("\n".join(lines) + "\n")


def write(record: Record, folder: Path) -> None:
    """Write a record, whole or not at all."""
    with replacing(path(folder, record["number"])) as temporary:
        temporary.write_text(json.dumps(record))


def missing(folder: Path, programs: int) -> list[int]:
    """Numbers of the programs without a record."""
    return [number for number in range(programs) if not path(folder, number).exists()]


def read(folder: Path, programs: int) -> Iterator[Record]:
    """Records of the first programs, in their order."""
    for number in range(programs):
        yield json.loads(path(folder, number).read_text())


def warm_up() -> None:
    """Load compiled code before processes begin."""
    for memory in get_args(MemoryOrder):
        orderer(memory, 1).order([bytes.fromhex("4889d84889f1")])
