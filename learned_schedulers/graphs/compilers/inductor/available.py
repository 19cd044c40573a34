"""Whether TorchInductor can compile on this machine."""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path


def missing() -> str:
    """What is missing and how to install it; empty if nothing is missing."""
    if shutil.which("g++") is None:
        return "TorchInductor needs g++: `make g++`, or apt-get install g++"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "TorchInductor needs Python's header files: `make g++`, or apt-get install python3-dev"
    return ""
