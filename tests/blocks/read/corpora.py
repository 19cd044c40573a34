"""Settings of small corpora."""

from __future__ import annotations

from collections.abc import Mapping

from learned_schedulers.blocks.read.source_settings import Corpus


def corpus(sources: Mapping[str, object], shards: int = 2, compiler: str = "GCC", start_up: str = "-") -> Corpus:
    """A corpus of blocks of 2 to 64 instructions; `start_up`: pattern of the start-up objects' compiler."""
    settings = {"sources": sources, "compiler": compiler, "start_up_compiler": start_up, "shards": shards}
    return Corpus.model_validate(settings | {"min_instructions": 2, "max_instructions": 64})
