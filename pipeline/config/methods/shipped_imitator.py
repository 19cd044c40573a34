"""Settings of schedulers/shipped_imitator.py."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel

from pipeline.config.methods import MethodSettings, asks


class Settings(MethodSettings):
    needs: ClassVar = asks("weights encodings")
    shipped: ClassVar = "pipeline/blocks/models/shipped/imitator.safetensors"

    def modules(self, model: BaseModel | None) -> list[str]:
        """Modules of the shipped network: an encoder, a head and its decoders."""
        models = "pipeline.blocks.models"
        return [f"{models}.encoders.attention", f"{models}.heads.pointer", f"{models}.decoders.pointer_decoders"]
