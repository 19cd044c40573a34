"""Where a result comes from: versions, sources, processor, and the package of a stranger's method."""

from __future__ import annotations

import hashlib
import inspect
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

import learned_schedulers
from learned_schedulers import outside_methods
from learned_schedulers.section import Section

PACKAGES = ("numpy", "numba", "pandas", "torch", "ortools", "scipy")  # whose version can change a result
LIBRARY = "learned-schedulers"


class Provenance(Section):
    """What made a result."""

    library: str  # version of this package
    sources: str  # SHA-256 of the library's sources
    python: str
    packages: dict[str, str]  # name -> version
    processor: str
    method_package: str  # distribution that the method belongs to, with its version; `unknown` for a loose file
    method_source: str  # SHA-256 of the file of its class; empty for schedules that were computed elsewhere


def provenance(package: str, source: str) -> Provenance:
    """Of a result that this process judges. package, source: of the method."""
    return Provenance(
        library=_version(LIBRARY),
        sources=sources(),
        python=platform.python_version(),
        packages={name: _version(name) for name in PACKAGES},
        processor=processor(),
        method_package=package,
        method_source=source,
    )


@cache
def sources() -> str:
    """SHA-256 of all Python files of the library: results of another state of it are not taken from the cache."""
    folder = Path(learned_schedulers.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()


@cache
def processor() -> str:
    """The name of the processor that seconds are measured on."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def package_of(name: str) -> tuple[str, str]:
    """Package with version, and SHA-256 of the source, of a method, which is imported."""
    if not outside_methods.is_outside(name):
        return f"{LIBRARY} {_version(LIBRARY)}", sources()
    method = outside_methods.load(name)
    package = packages_distributions().get(method.__module__.partition(".")[0], [])
    text = f"{package[0]} {_version(package[0])}" if package else "unknown"
    return text, hashlib.sha256(Path(inspect.getfile(method)).read_bytes()).hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
