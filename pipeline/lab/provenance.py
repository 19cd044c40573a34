"""Where published numbers come from: commit, settings, data, packages, machine; and whether the code has changed since.

A number is *current* if its chapter makes the same tables of the tiny corpus today as when it was published
(`behaviour.py`), by the same settings: the text of the code does not count. What was measured has a date and a machine
and no such state. Every field may be `unknown`, and is shown so.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from learned_schedulers import LEVEL_3
from learned_schedulers.section import Section, explain
from pipeline.lab import digests

Unknown = Literal["unknown"]
# Packages whose version can change a number.
PACKAGES = [
    *("numpy", "scipy", "pandas", "pyarrow", "torch", "numba", "llvmlite", "iced-x86", "ortools", "safetensors"),
    *("networkx", "pymoo", "pymetis", "onnx"),
]
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
    behaviour: dict[str, str] = {}  # name of a table of the tiny corpus -> digest; empty: measured, which has no state
    inputs: dict[str, str] | Unknown  # path -> SHA-256
    weights: dict[str, str] | Unknown
    packages: dict[str, str] | Unknown
    processor: Machine | Unknown
    baseline: dict[str, str] | Unknown = "unknown"  # settings that hold libraries to a level, as the process had them
    seeds: list[str] | Unknown
    frozen: str = ""  # a commit that has the code of these numbers, which are not made again
    why_frozen: str = ""  # the reason
    frozen_methods: list[str] = []  # methods of these numbers whose code is gone; `commit` has it
    changed: list[str] = []  # why today's code gives other numbers, where that was found out by other means
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


def changes(
    provenance: Provenance, behaviour_now: Mapping[str, str], settings_now: Mapping[str, Any] | None = None
) -> list[str]:
    """Why today's code gives other numbers; empty where they are current, measured or frozen.

    `behaviour_now`: tables that the tiny corpus gives today (`behaviour.read`); one that is not made any more, or only
    now, tells nothing. `settings_now`: the experiment's settings, resolved; None: not compared. Settings that both have
    are compared; of lists, what is no frozen method.
    """
    if provenance.frozen:
        return []
    why = list(provenance.changed)
    if not provenance.behaviour:
        return why
    common = provenance.behaviour.keys() & behaviour_now.keys()
    if not common:
        why.append("the tiny corpus gives none of its tables today")
    why += [
        f"{name} of the tiny corpus differs"
        for name in sorted(common)
        if provenance.behaviour[name] != behaviour_now[name]
    ]
    if settings_now is None or isinstance(provenance.settings, str):
        return why
    then, today = flat(provenance.settings), flat(plain(settings_now))
    gone = provenance.frozen_methods
    then = {key: [part for part in v if part not in gone] if isinstance(v, list) else v for key, v in then.items()}
    differing = sorted(key for key in then.keys() & today.keys() if then[key] != today[key])
    return why + [f"setting {key}: {then[key]} then, {today[key]} now" for key in differing]


def state(
    provenance: Provenance, behaviour_now: Mapping[str, str], settings_now: Mapping[str, Any] | None = None
) -> str:
    """What a page says of published numbers: `current`, `measured`, `frozen` or `changed`, and why."""
    if provenance.frozen:
        return f"frozen at {provenance.frozen[:9]}: {provenance.why_frozen}"
    why = changes(provenance, behaviour_now, settings_now)
    if not why:
        return "current" if provenance.behaviour else "measured"
    first, more = why[0].partition(": ")[0][:_LONGEST], len(why) - 1
    return f"changed: {first}" + (f"; and {more} more" if more else "")


def kind(state: str) -> str:
    """A state without its reason: `frozen at a1b2c3: its code is deleted` -> `frozen`."""
    return re.split(r"[ :]", state, maxsplit=1)[0]


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
    behaviour: Mapping[str, str],
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
        behaviour=dict(sorted(behaviour.items())),
        inputs={_name(path): digests.of_file(path) for path in sorted(data)},
        weights={_name(path): digests.of_file(path) for path in sorted(weights)},
        packages=_versions(),
        processor=machine(),
        baseline=baseline(),
        seeds=sorted(set(seeds)),
    )


def _name(path: Path) -> str:
    """A file as provenance names it: by its place in the repository, where it lies there."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


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
