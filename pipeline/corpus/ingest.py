"""The files of one shard -> table of blocks and table of what was skipped, and why."""

from __future__ import annotations

import logging
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from pipeline.config import Corpus
from pipeline.corpus.cut import Collection, blocks
from pipeline.corpus.elf import ElfError, read_image
from pipeline.corpus.sources import read_program

_log = logging.getLogger(__name__)


def ingest(corpus: Corpus, files: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables `blocks` and `skipped` of the files, rows of table `manifest`.

    A file that cannot be used becomes a row of `skipped`; the others go on.
    Raises SourceError where an artifact itself is gone or damaged.
    """
    collection = Collection()
    skipped: list[tuple[str, str, str, str]] = []
    files = files.sort_values(["source", "program"])
    with tqdm(desc="code", unit="B", unit_scale=True, mininterval=1.0) as progress:
        for name, program, artifact in zip(files["source"], files["program"], files["artifact"], strict=True):
            source = corpus.sources[name]
            try:
                data = read_program(source, Path(artifact), program)
                image = read_image(data, corpus.compiler, corpus.start_up_compiler, source.text_share)
            except ElfError as error:
                skipped.append((name, program, error.reason, error.remedy))
                _log.warning("skipped %s: %s: %s", name, program, error)
                continue
            del data
            found = blocks(image, corpus.min_instructions, corpus.max_instructions, progress)
            if not collection.add(name, program, image.compiler, found):
                reason = f"no block of {corpus.min_instructions} to {corpus.max_instructions} instructions"
                remedy = "widen corpus.min_instructions and max_instructions in params.yaml, or leave it"
                skipped.append((name, program, reason, remedy))
                _log.warning("skipped %s: %s: %s; %s", name, program, reason, remedy)
    return collection.frame(), pd.DataFrame(skipped, columns=["source", "program", "reason", "remedy"])
