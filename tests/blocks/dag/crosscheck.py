"""Compare our effects with those of capstone for every distinct instruction of a corpus:

    python -m tests.blocks.dag.crosscheck data/blocks.parquet

Writes tests/blocks/dag/decoder_disagreements.csv, one row per rule, mnemonic and field. It fails if no
rule explains a disagreement: consult the manual, then add a rule, or a correction to `dag/corrections.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import typer
from iced_x86 import Decoder, Formatter, FormatterSyntax
from tqdm import tqdm

from learned_schedulers.blocks.dag.opcodes import opcode
from learned_schedulers.blocks.read.forms import Forms
from tests.blocks.dag.disagreement_rules import rule_of
from tests.blocks.dag.disagreements import disagreements

TABLE = Path(__file__).with_name("decoder_disagreements.csv")
UNEXPLAINED = "unexplained"


def distinct_instructions(blocks: Iterable[list[bytes]]) -> list[bytes]:
    """One example of each instruction up to its constants, sorted. `blocks`: batches of their machine code."""
    forms = Forms()
    for batch in blocks:
        ends = np.cumsum([len(code) for code in batch], dtype=np.int64)
        forms.decode(np.frombuffer(b"".join(batch), np.uint8), np.r_[0, ends[:-1]], ends)
    return sorted(set(forms.examples))


def table(instructions: Iterable[bytes]) -> pd.DataFrame:
    """Rule, the side that is right, mnemonic, field, side, number of distinct instructions, example and its text."""
    text = Formatter(FormatterSyntax.INTEL)
    rows: dict[tuple[str, str, str, str, str], list[bytes]] = {}
    for code in instructions:
        instruction, disagreements_ = disagreements(code)
        for disagreement in disagreements_:
            rule = rule_of(instruction, disagreement)
            name, right = (rule.name, rule.right) if rule else (UNEXPLAINED, "unknown")
            key = (name, right, opcode(instruction.code).name, disagreement.field, disagreement.side)
            examples = rows.setdefault(key, [])
            if not examples or examples[-1] != code:
                examples.append(code)
    columns = ["rule", "right", "mnemonic", "field", "claimed_by", "distinct_instructions", "example", "text"]
    frame = pd.DataFrame(
        [
            (*key, len(examples), examples[0].hex(), text.format(Decoder(64, examples[0]).decode()))
            for key, examples in rows.items()
        ],
        columns=columns,
    )
    return frame.sort_values(columns[:5], ignore_index=True)


def _batches(path: Path) -> Iterator[list[bytes]]:
    file = pq.ParquetFile(path)
    with tqdm(total=file.metadata.num_rows, desc="blocks", unit="block", file=sys.stderr) as progress:
        for batch in file.iter_batches(columns=["code"], batch_size=50_000):
            yield batch.column(0).to_pylist()
            progress.update(len(batch))


def main(blocks: Annotated[Path, typer.Argument(help="Table `blocks` of a corpus.")]) -> None:
    """Cross-check effects with capstone, and write the table of disagreements."""
    instructions = distinct_instructions(_batches(blocks))
    frame = table(tqdm(instructions, "instructions", file=sys.stderr))
    unexplained = frame[frame.rule == UNEXPLAINED]
    if len(unexplained):
        raise SystemExit(f"no rule explains:\n{unexplained.to_string()}")
    frame.to_csv(TABLE, index=False, lineterminator="\n")
    typer.echo(f"{len(instructions)} distinct instructions, {len(frame)} rows in {TABLE.name}")


if __name__ == "__main__":
    typer.run(main)
