"""Further ways from a head's output to an order, which no training needs: <head>_decoders.py, found by the head's name.

DECODERS: name -> decode(head, output, problems, related, rng), orders (B, n); `output` is what `head.output` gives. The
head's own decoder, by which a training is measured, is in the head's file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.relations import Relations

Decoder = Callable[[Any, Any, Problems, Relations, np.random.Generator], np.ndarray]
