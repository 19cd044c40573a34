"""Make the costs that are shipped: `python -m pipeline.blocks.latency.shipped_costs --encodings TABLE` (half an hour).

They are measured by llvm-mca 19, for the classes of a corpus and for those that `every_instruction` lists. Instructions
of the corpus are measured first and alone, so that their rows are those of table `machine_instructions` of the same
corpus: which groups of units a row names depends on all instructions that are measured together. The others are
measured in parts, each part beside the corpus's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from iced_x86 import Code, Decoder

from pipeline import tables
from pipeline.blocks.latency import llvm_mca
from pipeline.blocks.latency.class_table import CLASSES, SHIPPED, table_of, write_classes, write_costs
from pipeline.blocks.latency.costs import processor
from pipeline.blocks.latency.every_instruction import every_instruction
from pipeline.blocks.latency.instruction_classes import class_of, shape
from pipeline.blocks.latency.machine import read
from pipeline.config.processors import Judge
from pipeline.tables import SCHEMAS

PROCESSORS = ("atom", "silvermont", "btver2", "haswell", "skylake", "znver4")  # named as by llvm-mca
_PART = 10_000  # classes that are measured together; their descriptions have to fit into memory
_FEW = 20  # instructions of a process of llvm-mca, where many are refused: each refusal starts it again
Row = dict[str, Any]


def classes_of(codes: Iterable[bytes]) -> list[bytes]:
    """The classes of these instructions, sorted; those of invalid code and without an encoding are left out."""
    examples: dict[tuple[int, ...], bytes] = {}
    for code in codes:
        examples.setdefault(shape(Decoder(64, code).decode())[0], code)
    classes = set()
    for code in examples.values():
        instruction = Decoder(64, code).decode()
        if instruction.code != Code.INVALID:
            try:
                classes.add(class_of(instruction).code)
            except ValueError:
                continue
    return sorted(classes)


def measured(name: str, binary: str, corpus: Sequence[bytes], others: Sequence[bytes], threads: int) -> list[Row]:
    """Rows of table `machine_instructions` for the classes of the corpus, then for the others."""
    machine = Judge(cpu=name, iterations=1)

    def rows_of(codes: Sequence[bytes], batch: int = llvm_mca.BATCH) -> list[Row]:
        return table_of(read(codes, name, machine, binary, threads, batch)).to_pylist()

    rows = rows_of(corpus)
    # Processors lack whole extensions, so one class of each of iced-x86's codes shows which are refused.
    examples: dict[int, bytes] = {}
    for code in others:
        examples.setdefault(Decoder(64, code).decode().code, code)
    answers = dict(zip(examples, rows_of(list(examples.values()), _FEW), strict=True))
    answer_of = [answers[Decoder(64, code).decode().code] for code in others]
    pending = [code for code, answer in zip(others, answer_of, strict=True) if answer["status"] == "ok"]
    described: dict[bytes, Row] = {}
    for start in range(0, len(pending), _PART):
        part = pending[start : start + _PART]
        described |= zip(part, rows_of([*part, *corpus])[: len(part)], strict=True)
    return rows + [described.get(code, answer) for code, answer in zip(others, answer_of, strict=True)]


def distinct(rows: Iterable[Row]) -> tuple[list[Row], list[int]]:
    """The distinct rows, by first occurrence, and for each row its place among them. Messages lose their details."""
    places: dict[str, int] = {}
    distinct_rows, numbers = [], []
    for row in rows:
        short = row | {"message": row["message"].split(":")[0]}
        key = json.dumps(short, sort_keys=True)
        if key not in places:
            places[key] = len(places)
            distinct_rows.append(short)
        numbers.append(places[key])
    return distinct_rows, numbers


def main(
    encodings: Annotated[Path, typer.Option(help="Table `encodings` of the corpus.")],
    out: Annotated[Path, typer.Option(help="Folder of the files.")] = SHIPPED,
    threads: Annotated[int, typer.Option(help="Processes of llvm-mca at once.")] = 1,
) -> None:
    """Measure the classes of instructions on all processors, and write one file of each and one of the classes."""
    binary = llvm_mca.find()
    if binary is None:
        raise SystemExit(f"llvm-mca {llvm_mca.VERSION} is not installed: {llvm_mca.INSTALL} (as root)")
    corpus = classes_of(tables.arrow("encodings", encodings, ["code"])["code"].to_pylist())
    in_corpus = set(corpus)
    others = [code for code in classes_of(every_instruction()) if code not in in_corpus]
    codes = [*corpus, *others]
    ascending = sorted(range(len(codes)), key=codes.__getitem__)
    rows_of: dict[str, np.ndarray] = {}
    schema = SCHEMAS["machine_instructions"].remove(0)
    for name in PROCESSORS:
        rows = measured(name, binary, corpus, others, threads)
        distinct_rows, numbers = distinct(rows[k] for k in ascending)
        costs = processor(pa.Table.from_pylist(distinct_rows, schema))
        write_costs(out / f"{name}.npz", costs, [row["message"] for row in distinct_rows])
        rows_of[name] = np.array(numbers, np.int32)
        n_supported = sum(row["status"] == "ok" for row in rows)
        print(f"{name}: {len(codes)} classes, {n_supported} supported; {len(distinct_rows)} distinct rows")
    write_classes(out / f"{CLASSES}.npz", [codes[k] for k in ascending], rows_of)


if __name__ == "__main__":
    typer.run(main)
