"""Settings of schedulers/ordering.py."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel

from pipeline.config import ordering
from pipeline.config.methods import MethodSettings, asks
from pipeline.config.section import Positive


class Settings(MethodSettings):
    needs: ClassVar = asks("weights encodings")
    uses: ClassVar = asks("machine")

    evaluations: Positive = 32  # orders of each block among which the decoder `timed` chooses the fastest

    def modules(self, model: BaseModel | None) -> list[str]:
        """The network's encoder, head and decoders."""
        if not isinstance(model, ordering.Ordering):
            raise ValueError("ordering needs the settings of its network: they name its encoder and its head")
        return ordering.modules(model)
