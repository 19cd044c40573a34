"""Fixtures of more than one room."""

import pytest
import torch

from pipeline.blocks.latency import llvm_mca


@pytest.fixture(scope="session")
def binary() -> str:
    path = llvm_mca.find()
    if path is None:
        pytest.skip(f"llvm-mca {llvm_mca.VERSION} is not installed: {llvm_mca.INSTALL}")
    return path


torch.set_num_threads(1)  # small tensors, and two cores that others use too
