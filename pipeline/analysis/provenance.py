"""Where published numbers come from: commit, settings, sources, data, packages, machine; and whether they are older.

Every field may be `unknown`, and is shown so: what was published before this was written down says what is known.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from pipeline import LEVEL_3, digests
from pipeline.config.section import Section, explain

Unknown = Literal["unknown"]
# Packages whose version can change a number.
PACKAGES = [
    *("numpy", "scipy", "pandas", "pyarrow", "torch", "numba", "llvmlite", "iced-x86", "ortools", "safetensors"),
    *("networkx", "pymoo", "pymetis", "onnx"),
]
# Sources that decide no number: which settings there are (their values are compared), where tables lie, how numbers are
# written, which sources are compared; where an interrupted training continues, and which answers of llvm-mca are kept
# (tests hold that a resumed training ends with the same bytes, and that kept answers are those of llvm-mca).
_NO_NUMBERS = {
    *(f"pipeline/config/{name}.py" for name in ("params", "experiments", "report", "slot_network")),
    *("pipeline/wiring.py", "pipeline/places.py", "pipeline/digests.py"),
    *("pipeline/learning/checkpoints.py", "pipeline/blocks/latency/answers.py"),
    *(f"pipeline/analysis/{name}.py" for name in ("tidy", "provenance", "published")),
}
_LONGEST = 120  # characters of a reason that a page shows
_FEATURES = ("avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16")  # of processors, that kernels are compiled for


class Machine(Section):
    """The processor that the numbers were computed, or timed, on."""

    name: str
    kind: str | Unknown  # as compilers call it: znver3
    features: list[str] | Unknown  # of _FEATURES
    cores: int | Unknown

    def text(self) -> str:
        """Name and kind."""
        return f"{self.name} ({self.kind})"


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
    baseline: dict[str, str] | Unknown = "unknown"  # settings that hold libraries to a level, as the process had them
    seeds: list[str] | Unknown
    older: list[str] = []  # why the numbers are older than the code, where that was found out by other means
    notes: list[str] = []  # what else is known
    frozen: str = ""  # commit at which the code that made it last stood

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


def older(provenance: Provenance, settings_now: Mapping[str, Any] | None = None, root: Path = Path(".")) -> list[str]:
    """Why the numbers are older than their sources or settings, or nobody can tell; empty where they are current.

    Compared by digest with the files below `root`, and by value, not by commit. `settings_now`: the experiment's
    settings, resolved; None: not compared.
    """
    why = list(provenance.older)
    if isinstance(provenance.sources, str):
        why.append("older or unknown: sources were not recorded")
    else:
        recorded = _deciding(provenance.sources)
        now = digests.of_sources(recorded, root)
        for path, digest in recorded.items():
            if now.get(path) != digest:
                why.append(f"{path} has changed" if path in now else f"{path} is no longer there")
    if settings_now is None:
        return why
    if isinstance(provenance.settings, str):
        return [*why, "older or unknown: settings were not recorded"]
    settings = flat(provenance.settings), flat(plain(settings_now))
    for key in sorted(set().union(*settings)):
        then, today = (of.get(key, "absent") for of in settings)
        if then != today:
            why.append(f"setting {key}: {then} then, {today} now")
    return why


def state(provenance: Provenance, settings_now: Mapping[str, Any] | None = None) -> str:
    """What a page says of published numbers: `current`, `unknown`, or the first reason why they are older."""
    why = older(provenance, None if isinstance(provenance.settings, str) else settings_now)
    if not why:
        return "current"
    if isinstance(provenance.sources, str) and not provenance.older:
        return "unknown"
    first, more = why[0].partition(": ")[0][:_LONGEST], len(why) - 1
    return f"older than its sources: {first}" + (f"; and {more} more" if more else "")


def differs(provenance: Provenance, settings_now: Mapping[str, Any] | None = None, root: Path = Path(".")) -> bool:
    """Whether a source or a setting is not as it was recorded; nobody can tell where nothing was."""
    then = {} if isinstance(provenance.sources, str) else _deciding(provenance.sources)
    settings = provenance.settings
    changed = settings_now is not None and not isinstance(settings, str) and flat(settings) != flat(plain(settings_now))
    return changed or digests.of_sources(then, root) != then


def _deciding(sources: Mapping[str, str]) -> dict[str, str]:
    """The sources that numbers depend on."""
    return {path: digest for path, digest in sources.items() if path not in _NO_NUMBERS}


def plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as a file of JSON has them."""
    return dict(json.loads(json.dumps(settings)))


def flat(settings: object, name: str = "") -> dict[str, object]:
    """Keys joined by dots -> values; lists are values."""
    if not isinstance(settings, Mapping):
        return {name: settings}
    parts = (flat(value, f"{name}.{key}" if name else str(key)) for key, value in settings.items())
    return {key: value for part in parts for key, value in part.items()}


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
        packages=_versions(),
        processor=machine(),
        baseline=baseline(),
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


def baseline() -> dict[str, str]:
    """The settings of LEVEL_3 as this process has them; one that it lacks is `unset`."""
    return {name: os.environ.get(name, "unset") for name in LEVEL_3}


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
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions
