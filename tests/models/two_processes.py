"""Trains the made-up imitator: alone, or as one process of several (`torchrun`)."""

import os
import sys
from pathlib import Path

import torch
from torch import distributed

sys.path.insert(0, str(Path(__file__).parents[2]))

from pipeline.models.imitation import train
from tests.models import imitated

torch.set_num_threads(1)
if "WORLD_SIZE" in os.environ:
    distributed.init_process_group("gloo")
store, encodings, sample = imitated.corpus(60)
network, _ = train(store, encodings, sample, sample, imitated.settings(steps=12), 0)
if int(os.environ.get("RANK", "0")) == 0:
    network.save(Path(sys.argv[1]) / f"{sys.argv[2]}.safetensors")
