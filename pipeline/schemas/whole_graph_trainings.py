"""Trainings of networks for whole graphs in published form: every model and seed of an experiment."""

from __future__ import annotations

import pyarrow as pa

from pipeline.schemas.whole_graph_history import SCHEMA as HISTORY

SCHEMA = pa.schema([*((name, pa.string()) for name in ("experiment", "model", "seed")), *HISTORY])
