"""Trains the made-up imitator, alone or as one process of several (`torchrun`): losses to argv[1], seed argv[2]."""

import json
import os
import sys
from pathlib import Path

import torch
from torch import distributed

sys.path.insert(0, str(Path(__file__).parents[3]))

from pipeline.blocks.models.ordering_training import train
from tests.blocks.models import imitated

torch.set_num_threads(1)
if "WORLD_SIZE" in os.environ:
    distributed.init_process_group("gloo")
store, encodings, sample = imitated.corpus(60)
_, history = train(store, encodings, sample, sample, imitated.settings(steps=12), int(sys.argv[2]))
if int(os.environ.get("RANK", "0")) == 0:
    Path(sys.argv[1]).write_text(json.dumps([row["loss"] for row in history]))
