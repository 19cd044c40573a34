"""Settings of the blocks that are compiled here, and of the check of the DAGs."""

from __future__ import annotations

from typing import Any

from learned_schedulers.blocks.read.source_settings import Compiled
from learned_schedulers.blocks.run.verification_settings import Verification
from learned_schedulers.section import Section


class Sections(Section):
    """Sections of the parameters."""

    compiled: Compiled
    dag_verification: Verification


def check(params: Any) -> None:
    """Raise ValueError if compiled blocks have the name of another source. `params`: Params with these sections."""
    name = params.compiled.source
    if name in params.corpus.sources:
        raise ValueError(f"compiled.source is {name!r}, a name of corpus.sources; give it another")
