"""A network that schedules blocks of any length: an encoder and a head. Its file of weights includes all settings."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
from torch import nn

from learned_schedulers.blocks.models.attention import Attention
from learned_schedulers.blocks.models.inputs import Bags, Vocabulary, inputs
from learned_schedulers.blocks.models.ordering_settings import Ordering as Settings
from learned_schedulers.blocks.models.pointer import Pointer
from learned_schedulers.blocks.problems.instructions import Encodings
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.relations import Relations, relations
from learned_schedulers.learning import weights

SHIPPED = Path(__file__).parent / "shipped" / "imitator.safetensors"  # from the rule `ship`
_KIND = "imitator"  # of its file of weights


class OrderingNetwork(nn.Module):
    """Attention between a block's instructions, then a pointer to the next one."""

    def __init__(self, vocabulary: Vocabulary, settings: Settings) -> None:
        super().__init__()
        self.vocabulary, self.settings = vocabulary, settings
        self.encoder = Attention(len(vocabulary), settings.encoder)
        self.head = Pointer(settings.encoder.width, settings.head)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def embed(self, problems: Problems, related: Relations, bags: Bags) -> torch.Tensor:
        """(B, n, width) of blocks of one length, float32; a training may compute in bfloat16 inside."""
        low = self.training and self.settings.precision == "bfloat16"
        batch = inputs(problems, related, bags, self.settings.encoder.following).to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16) if low else nullcontext():
            embedded: torch.Tensor = self.encoder(batch)
        return embedded.float()

    @torch.inference_mode()
    def schedule(self, problems: Problems, encodings: Encodings, bags: Bags) -> tuple[np.ndarray, np.ndarray]:
        """Orders of blocks of one length from the head's decoder, (B, n), and the probability of each, (B,)."""
        related = relations(problems, encodings.compared)
        output = self.head.output(self.embed(problems, related, bags))
        return self.head.decode_with_probability(output, problems, related)

    def save(self, path: Path) -> None:
        """Write weights in half precision, with vocabulary and settings."""
        description = json.dumps({"settings": self.settings.model_dump(), "vocabulary": self.vocabulary.tokens})
        half = {name: weight.half().cpu().numpy() for name, weight in self.state_dict().items()}
        weights.write(path, _KIND, description, half)

    @staticmethod
    def load(path: Path) -> OrderingNetwork:
        """A network from its file. Raises ValueError for a file that is not one."""
        return weights.load(path, _KIND, _described)


def _described(description: str) -> OrderingNetwork:
    parts = json.loads(description)
    return OrderingNetwork(Vocabulary(parts["vocabulary"]), Settings.model_validate(parts["settings"]))
