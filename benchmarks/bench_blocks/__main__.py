"""Freeze the blocks: `python -m benchmarks.bench_blocks`, with GCC 12.2; equal text gives equal files.

Numbers that others have handed in are of these blocks: a set that has to change gets a new name.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from benchmarks.bench_blocks.families import DEVELOPMENT, UNSEEN, Family
from learned_schedulers.bench.blocks import PROCESSORS, BlockInstance, BlockSet
from learned_schedulers.bench.frozen_files import FOLDER, write_digests
from learned_schedulers.blocks.dag.counting import count_orders
from learned_schedulers.blocks.read.cut import blocks
from learned_schedulers.blocks.read.elf import read_image
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.files import replacing

FUNCTIONS, MEMBERS = 80, 40  # of each family: drawn functions, and blocks that are taken at most
LENGTHS = 8, 40  # instructions of a block
SEED = 20261127
COMPILER = ["gcc", "-O2", "-c"]


def main() -> None:
    """Write both sets and the digests of all frozen files."""
    for name, families in (("blocks_development", DEVELOPMENT), ("blocks_unseen", UNSEEN)):
        rows = [row for family, text in families.items() for row in _members(family, text)]
        with replacing(FOLDER / f"{name}.parquet") as temporary:
            pd.DataFrame(rows, columns=["code", "name", "family"]).to_parquet(temporary, index=False)
        print(f"{name}: {len(rows)} blocks")
    write_digests()


def _members(family: str, text: Family) -> list[tuple[bytes, str, str]]:
    """Blocks of a family that all processors' models know and that have several orders, each once."""
    rows = list({code: (code, name, family) for name, code in _compiled(family, text)}.values())
    keys = ("code", "name", "family")
    instances = BlockSet(family).instances([dict(zip(keys, row, strict=True)) for row in rows])
    chosen = [row for row, instance in zip(rows, instances, strict=True) if _counts(instance)]
    return Random(SEED).sample(chosen, min(MEMBERS, len(chosen)))


def _counts(instance: BlockInstance) -> bool:
    before, after = np.nonzero(instance.problems.precedes[0])
    orders, _ = count_orders(np.array([0, len(before)]), before, after, np.array([len(instance)]))
    rows = instance.problems.instructions
    return orders[0] > 1 and all(bool(np.all(instance.instructions.on(each).is_supported[rows])) for each in PROCESSORS)


def _compiled(family: str, text: Family) -> Iterator[tuple[str, bytes]]:
    """Name of the program, and the masked code of each of its blocks."""
    forms = Forms()
    for number in range(FUNCTIONS):
        name = f"{family}_{number}"
        with TemporaryDirectory() as folder:
            source, compiled = Path(folder, f"{name}.c"), Path(folder, "compiled.o")
            source.write_text(text(Random(f"{SEED} {name}"), name))
            subprocess.run([*COMPILER, "-o", str(compiled), str(source)], check=True, cwd=folder)
            image = read_image(compiled.read_bytes())
        for section in blocks(image, *LENGTHS, forms):
            for begin, end in zip(section.begin.tolist(), section.end.tolist(), strict=True):
                yield name, section.masked[begin:end].tobytes()


if __name__ == "__main__":
    main()
