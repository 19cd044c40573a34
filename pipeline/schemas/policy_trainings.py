"""Trainings of policies in published form: table policy_history of every model and seed of an experiment."""

from __future__ import annotations

import pyarrow as pa

from pipeline.schemas.policy_history import SCHEMA as HISTORY

SCHEMA = pa.schema([("experiment", pa.string()), ("model", pa.string()), ("seed", pa.string()), *HISTORY])
