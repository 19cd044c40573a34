"""An encoder and a head: a network that schedules blocks of every length; a file of weights says all about it."""

from __future__ import annotations

import json
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from pipeline import tables
from pipeline.blocks.models.heads import Confident, Head
from pipeline.blocks.models.inputs import Bags, Vocabulary, inputs
from pipeline.blocks.problems.instructions import Encodings
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.relations import Relations, relations
from pipeline.config.ordering import Ordering as Settings

SHIPPED = Path(__file__).parent / "shipped" / "imitator.safetensors"  # made by the rule `ship`; its card beside it
_DESCRIPTION = "imitator"  # key in a file's metadata


class OrderingNetwork(nn.Module):
    """`encoder` and `head` are files of their folders, named by the settings."""

    head: Head

    def __init__(self, vocabulary: Vocabulary, settings: Settings) -> None:
        super().__init__()
        self.vocabulary, self.settings = vocabulary, settings
        encoder, head = settings.encoder, settings.head
        self.encoder = import_module(f"pipeline.blocks.models.encoders.{encoder.kind}").make(len(vocabulary), encoder)
        self.head = import_module(f"pipeline.blocks.models.heads.{head.kind}").make(encoder.width, head)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def embed(self, problems: Problems, related: Relations, bags: Bags) -> torch.Tensor:
        """(B, n, width) of blocks of one length, float32; bfloat16 inside where a training asks for it."""
        low = self.training and self.settings.precision == "bfloat16"
        batch = inputs(problems, related, bags, self.settings.encoder.following).to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16) if low else nullcontext():
            found: torch.Tensor = self.encoder(batch)
        return found.float()

    @torch.inference_mode()
    def schedule(self, problems: Problems, encodings: Encodings, bags: Bags) -> tuple[np.ndarray, np.ndarray]:
        """Orders of blocks of one length by the head's own decoder, (B, n).

        And the probability that the network gives to each, (B,); NaN where its head knows none.
        """
        related = relations(problems, encodings.compared)
        output = self.head.output(self.embed(problems, related, bags), problems)
        if isinstance(self.head, Confident):
            return self.head.decode_believed(output, problems, related)
        return self.head.decode(output, problems, related), np.full(len(problems), np.nan)

    def save(self, path: Path) -> None:
        """Weights in half precision with vocabulary and settings, safetensors."""
        # One entry: safetensors writes several in any sequence.
        described = json.dumps({"settings": self.settings.model_dump(), "vocabulary": self.vocabulary.tokens})
        half = {name: weight.half().contiguous() for name, weight in self.state_dict().items()}
        with tables.replacing(path) as temporary:
            save_file(half, temporary, {_DESCRIPTION: described})

    @staticmethod
    def load(path: Path) -> OrderingNetwork:
        """A network from its file. Raises ValueError where it is not one."""
        try:
            with safe_open(path, "pt") as file:
                described = (file.metadata() or {}).get(_DESCRIPTION)
                weights = {name: file.get_tensor(name).float() for name in list(file.keys())}
        except SafetensorError as error:
            raise ValueError(f"{path} is no file of weights ({error}); train it again") from error
        if described is None:
            raise ValueError(f"{path} is no imitator: it names no settings; train it by this pipeline")
        parts = json.loads(described)
        network = OrderingNetwork(Vocabulary(parts["vocabulary"]), Settings.model_validate(parts["settings"]))
        network.load_state_dict(weights)
        return network.eval()
