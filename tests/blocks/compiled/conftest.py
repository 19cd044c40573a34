"""The system's GCC stands in for GCC 7, which is a download."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.blocks.compiled.compiler import Compiler, CompilerError


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc here: on Debian, apt-get install gcc libc6-dev")
    found = Compiler("gcc", ("-O2", "-march=haswell"))
    try:
        found.check(tmp_path_factory.mktemp("probe"))
    except CompilerError as error:
        pytest.skip(str(error))
    return found


@pytest.fixture
def program() -> Path:
    return Path(__file__).parent / "program"
