"""Further decoders of a head's output, which no training needs. The file of a head is <head>_decoders.py.

DECODERS: name -> decode(head, output, problems, related, rng), which returns orders (B, n); `output` is the result of
`head.output`. The decoder that measures a training is in the head's file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.relations import Relations

Decoder = Callable[[Any, Any, Problems, Relations, np.random.Generator], np.ndarray]
