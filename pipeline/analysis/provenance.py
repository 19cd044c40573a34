"""Where published numbers come from: commit, settings, sources, data, packages, machine; and whether they are older.

Every field may be `unknown`, and is shown so: what was published before this was written down says what is known.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from pipeline import digests
from pipeline.config.section import Section, explain

Unknown = Literal["unknown"]
# Packages whose version can change a number.
PACKAGES = ["numpy", "scipy", "pandas", "pyarrow", "torch", "numba", "llvmlite", "iced-x86", "ortools", "safetensors"]
_FEATURES = ("avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16")  # of processors, that kernels are compiled for


class Machine(Section):
    """The processor that the numbers were computed, or timed, on."""

    name: str
    kind: str | Unknown  # as compilers call it: znver3
    features: list[str] | Unknown  # of _FEATURES
    cores: int | Unknown


class Provenance(Section):
    """Content of provenance.json."""

    experiment: str
    commit: str | Unknown
    dirty: bool | Unknown  # whether tracked files outside of reports/ differed from the commit
    published: str  # date and time of publication, ISO 8601
    began: str | Unknown = "unknown"  # date and time of the oldest of the inputs
    settings: dict[str, Any] | Unknown  # the experiment's, resolved
    sources: dict[str, str] | Unknown  # path -> digest of the syntax tree, of all stages behind the numbers
    inputs: dict[str, str] | Unknown  # path -> SHA-256
    weights: dict[str, str] | Unknown
    packages: dict[str, str] | Unknown
    processor: Machine | Unknown
    seeds: list[str] | Unknown
    older: list[str] = []  # why the numbers are older than the code, where that was found out by other means
    notes: list[str] = []  # what else is known

    @staticmethod
    def read(path: Path) -> Provenance:
        """Raises ConfigError naming the file and every faulty key, FileNotFoundError with a remedy."""
        if not path.is_file():
            raise FileNotFoundError(f"{path} is missing; restore it from git, or publish the experiment again")
        try:
            return Provenance.model_validate_json(path.read_text())
        except ValidationError as error:
            raise explain(error, str(path)) from error

    def text(self) -> str:
        """Content of the file."""
        return json.dumps(self.model_dump(mode="json"), indent=1) + "\n"


@dataclass(frozen=True)
class Current:
    """The numbers are of the sources and the settings of now."""


@dataclass(frozen=True)
class Older:
    """The numbers are older than their sources or settings, or nobody can tell."""

    why: list[str]


def state(
    provenance: Provenance, sources_now: Mapping[str, str], settings_now: Mapping[str, Any] | None = None
) -> Current | Older:
    """Whether the numbers are of the sources and settings of now; compared by digest and by value, not by commit.

    `sources_now`: as `sources_of` gives; `settings_now`: the experiment's settings, resolved; None: not compared.
    """
    why = list(provenance.older)
    if isinstance(provenance.sources, str):
        why.append("older or unknown: sources were not recorded")
    else:
        for path, digest in provenance.sources.items():
            if path not in sources_now:
                why.append(f"{path} is no longer there")
            elif sources_now[path] != digest:
                why.append(f"{path} has changed")
    if settings_now is not None:
        if isinstance(provenance.settings, str):
            why.append("older or unknown: settings were not recorded")
        else:
            why += _changed(flat(provenance.settings), flat(json.loads(json.dumps(settings_now))))
    return Older(why) if why else Current()


def flat(settings: object, name: str = "") -> dict[str, object]:
    """Keys joined by dots -> values; lists are values."""
    if not isinstance(settings, Mapping):
        return {name: settings}
    parts = (flat(value, f"{name}.{key}" if name else str(key)) for key, value in settings.items())
    return {key: value for part in parts for key, value in part.items()}


def _changed(then: dict[str, object], now: dict[str, object]) -> list[str]:
    return [
        f"setting {key}: {then.get(key, 'absent')} then, {now.get(key, 'absent')} now"
        for key in sorted({*then, *now})
        if key not in then or key not in now or then[key] != now[key]
    ]


def sources_of(provenance: Provenance, root: Path = Path(".")) -> dict[str, str]:
    """Digests of now of the sources that are recorded; files that are no longer there are left out."""
    return {} if isinstance(provenance.sources, str) else digests.of_sources(provenance.sources, root)


def collect(
    experiment: str,
    settings: Mapping[str, Any],
    sources: Iterable[str],
    inputs: Iterable[Path],
    weights: Iterable[Path],
    seeds: Iterable[str],
) -> Provenance:
    """Provenance of numbers that are published now, here, by this process; it runs in the repository's root."""
    data = [*inputs]
    began = [datetime.fromtimestamp(path.stat().st_mtime, UTC) for path in data]
    hash_of, dirty = commit()
    return Provenance(
        experiment=experiment,
        commit=hash_of,
        dirty=dirty,
        published=datetime.now(UTC).isoformat(timespec="seconds"),
        began=min(began).isoformat(timespec="seconds") if began else "unknown",
        settings=dict(settings),
        sources=digests.of_sources(sources),
        inputs={str(path): digests.of_file(path) for path in sorted(data)},
        weights={str(path): digests.of_file(path) for path in sorted(weights)},
        packages={"python": platform.python_version()} | _versions(),
        processor=machine(),
        seeds=sorted(set(seeds)),
    )


def commit() -> tuple[str, bool | Unknown]:
    """The commit that is checked out, and whether tracked files outside of reports/ differ from it."""
    changes = ["git", "status", "--porcelain", "--untracked-files=no", "--", ":(exclude)reports"]
    try:
        head, status = (
            subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
            for command in (["git", "rev-parse", "HEAD"], changes)
        )
    except (OSError, subprocess.CalledProcessError):  # no git, no repository or no commit yet
        return "unknown", "unknown"
    return head, bool(status)


def machine() -> Machine:
    """The processor at hand."""
    from llvmlite.binding import get_host_cpu_name

    try:
        pairs = [line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line]
    except OSError:
        pairs = []
    facts = {key.strip(): value.strip() for key, value in reversed(pairs)}
    flags = set(facts.get("flags", "").split())
    return Machine(
        name=facts.get("model name") or platform.processor() or "unknown",
        kind=get_host_cpu_name() or "unknown",
        features=[name for name in _FEATURES if name in flags],
        cores=len(os.sched_getaffinity(0)),
    )


def _versions() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions
