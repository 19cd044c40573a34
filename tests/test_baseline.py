"""Numbers do not depend on the kind of x86-64 processor: every library is held to the same instructions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from numba import njit
from numba.core.registry import cpu_target
from numpy._core._multiarray_umath import __cpu_features__  # type: ignore[import-not-found]

from learned_schedulers import LEVEL_3
from learned_schedulers.operators.affine import OPTIONS, dot

ROOT = Path(__file__).parents[1]


def test_numba_compiles_for_the_level_and_adds_no_features_of_this_processor() -> None:
    _, name, features = cpu_target.target_context.codegen().magic_tuple()
    assert (name, features) == (LEVEL_3["NUMBA_CPU_NAME"], LEVEL_3["NUMBA_CPU_FEATURES"])


def test_sums_are_compiled_as_they_are_written() -> None:
    """No wider registers than the level has, and no product that is added without being rounded."""
    compiled = njit(**(OPTIONS | {"cache": False}))(dot.py_func)  # of what is cached there is no assembly
    compiled.compile("float64(float64[::1], float64[::1], int64, int64)")
    (code,) = compiled.inspect_asm().values()
    assert "vmuls" in code or "vmulp" in code
    assert "zmm" not in code and "vfmadd" not in code and "vfnmadd" not in code


def test_no_kernel_asks_for_fast_arithmetic() -> None:
    rooms = (ROOT / room for room in ("learned_schedulers", "pipeline"))
    asking = [path for room in rooms for path in room.rglob("*.py") if "fastmath=" in path.read_text()]
    assert not asking


def test_numpy_and_torch_keep_to_the_level() -> None:
    assert not any(__cpu_features__[name] for name in LEVEL_3["NPY_DISABLE_CPU_FEATURES"].split())
    assert torch.backends.cpu.get_cpu_capability() == "AVX2"


@pytest.mark.slow
def test_importing_pipeline_alone_puts_matrix_products_into_the_compatible_mode() -> None:
    """Those of torch come from MKL; where it is free to choose, processors with wider registers sum otherwise."""
    untold = {name: value for name, value in os.environ.items() if name not in LEVEL_3}
    program = (
        "import torch, numpy as np; torch.set_num_threads(1); "
        "x = torch.from_numpy(np.random.default_rng(0).standard_normal((128, 96), np.float32)); "
        "print((x @ x.T).numpy().tobytes().hex())"
    )
    product = python("import pipeline; " + program, untold)
    assert product == python(program, untold | {"MKL_CBWR": "COMPATIBLE"})


def python(program: str, environment: dict[str, str]) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, text=True, capture_output=True, check=True
    ).stdout
