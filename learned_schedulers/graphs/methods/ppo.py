"""A policy trained by proximal policy optimisation: the method that Zhang et al. 2023 compare the GFlowNet with.

It is asked as a GFlowNet is, at the lowest temperature of its training.
"""

from __future__ import annotations

from learned_schedulers.graphs.methods.gflownet import GFlowNet

make = GFlowNet
