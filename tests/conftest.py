"""Fixtures of more than one room, and how all tests are run: small tensors, and two cores that others use too."""

import gc
import os
from pathlib import Path

# Threads that wait must sleep: where cores are shared, those that spin keep the others from what they wait for.
os.environ["OMP_WAIT_POLICY"] = "passive"
os.environ["NUMBA_NUM_THREADS"] = "2"  # at most, on any machine; each test begins with one
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as in all stages; several spin while they wait, and round sums otherwise
os.environ.pop("MLFLOW_TRACKING_URI", None)  # no test writes into a team's store

import pipeline  # noqa: F401, I001 - first: it says which processor code is compiled for
import numba
import pytest
import torch
from filelock import FileLock
from hypothesis import HealthCheck, settings

from learned_schedulers.blocks.processors import llvm_mca
from tests.copies import run_with_two_kills

settings.register_profile(
    "suite",
    max_examples=25,
    deadline=None,  # a first call compiles
    derandomize=True,  # the same examples everywhere
    database=None,
    suppress_health_check=[HealthCheck.too_slow],  # a busy machine is no fault
)
settings.load_profile("suite")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take minutes begin first, the longest before the others, so that no process waits at the end."""
    longest = ("test_dvc.py", "test_end_to_end.py", "test_versions.py")
    items.sort(key=lambda item: longest.index(item.path.name) if item.path.name in longest else len(longest))


def pytest_collection_finish() -> None:
    """What was imported and collected stays until the end: no collection of garbage looks through it again."""
    gc.freeze()


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Compiled kernels set the number of OpenMP's threads, which is that of torch as well."""
    numba.set_num_threads(1)
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def binary() -> str:
    path = llvm_mca.find()
    if path is None:
        pytest.skip(f"llvm-mca {llvm_mca.VERSION} is not installed: {llvm_mca.INSTALL}")
    return path


@pytest.fixture(scope="session")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was killed twice, made once for all processes of pytest-xdist. Not to be changed."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    complete = folder / "killed.done"
    with FileLock(folder / "killed.lock"):
        if not complete.exists():
            run_with_two_kills(folder / "killed")
            complete.touch()
    return folder / "killed"
