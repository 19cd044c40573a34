"""The example of an order before allocation: its code is right, and the command says what it saves."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from learned_schedulers.blocks.before_allocation import users_code

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples/before_allocation.py"


def test_the_transform_is_that_of_its_size() -> None:
    text = users_code.read(runpy.run_path(str(EXAMPLE))["transform"](8).encode(), "transform.ll")
    assert [text.count(word) for word in (" fmul ", " fadd ", " fsub ", " load ", " store ")] == [12, 12, 12, 8, 8]


def test_it_says_what_is_saved() -> None:
    words = [sys.executable, str(EXAMPLE), "--size", "32", "--evaluations", "50"]
    process = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert process.returncode == 0 and "1 functions, 1 searched, 1 in a new order" in process.stderr
