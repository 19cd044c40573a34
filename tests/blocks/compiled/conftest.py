"""The system's GCC replaces GCC 7, which would have to be downloaded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.corpus.compiled.compiler import Compiler, CompilerError


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed: on Debian, apt-get install gcc libc6-dev")
    system_gcc = Compiler("gcc", ("-O2", "-march=haswell"))
    try:
        system_gcc.check(tmp_path_factory.mktemp("probe"))
    except CompilerError as error:
        pytest.skip(str(error))
    return system_gcc


@pytest.fixture
def program() -> Path:
    return Path(__file__).parent / "program"
