"""Settings of the methods of projects, flat: those of projects/methods/<method>.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from pydantic import ValidationError

from learned_schedulers import method_files
from learned_schedulers.section import Section

FOLDER = Path(__file__).parent / "methods"

Rule = Literal["latest_start", "latest_finish", "shortest", "first_come"]  # methods/rules/priorities.py
Scheme = Literal["parallel", "serial"]  # methods/rules/generation.py
RULES: tuple[Rule, ...] = get_args(Rule)
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)


class ProjectMethodSettings(Section):
    """Settings of one method, all with defaults, and the resources that it requests.

    The class `Settings` in a method's file has those of the method; without one, the method has no settings.
    """

    method: str  # the file projects/methods/<method>.py
    uses: ClassVar[frozenset[str]] = frozenset()  # resources that it receives if they are available
    needs: ClassVar[frozenset[str]] = frozenset()  # resources without which it cannot work: `weights` of its network


def project_entry(method: str, **keys: Any) -> ProjectMethodSettings:
    """The settings of a method from its keys. Raises ValueError that names an unknown method or key."""
    kind = method_files.settings_in(FOLDER, method, ProjectMethodSettings)
    try:
        return kind.model_validate({"method": method, **keys})
    except ValidationError as error:
        raise ValueError(f"{method_files.faults(error)}; {method!r} has {sorted(kind.model_fields)}") from error
