"""Settings of a method as options: `--setting width=2`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def settings_of(texts: Sequence[str]) -> dict[str, Any]:
    """`width=2` -> {"width": 2}; a value that is no JSON is a text. Raises ValueError for another form."""
    settings: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ValueError(f"--setting {text}: write name=value, like width=2")
        try:
            settings[key] = json.loads(value)
        except ValueError:
            settings[key] = value
    return settings
