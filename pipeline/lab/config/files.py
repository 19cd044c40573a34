"""Files of parameters: `include` joins other files to a file, and `base` says which file a file changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from learned_schedulers.section import ConfigError
from pipeline.lab.config.bases import BASE, merged

PARAMS = Path("params.yaml")
_INCLUDE = "include"


def read(path: Path = PARAMS) -> dict[str, Any]:
    """Sections of a file, of those that it includes and of the one that it changes; entries are not resolved yet.

    Raises ConfigError as `parsed` and `complete` do.
    """
    return complete(parsed(path), path)


def complete(contents: dict[str, Any], path: Path) -> dict[str, Any]:
    """The same from contents that were read from `path`; the two keys name files from its folder on.

    - `include: pipeline/*/experiments.yaml`: entries of the sections of these files are joined to those of this file.
    - `base: params.yaml`: the contents are changes of that file: mappings are merged key by key, a key whose value is
      null is deleted, everything else is replaced, lists among it; a mapping with `base: null` is replaced as a whole.

    Raises ConfigError if an entry is in two files, and names both; or if the file of `base` has a base itself.
    """
    sections = _joined(parts(contents, path))
    if BASE not in contents:
        return sections
    base = path.parent / contents[BASE]
    if BASE in parsed(base):
        raise ConfigError(f"{base} changes a file itself; name that file, and not its changes")
    return merged(read(base), sections)


def parts(contents: dict[str, Any], path: Path) -> dict[Path, dict[str, Any]]:
    """Sections that stand in the file itself, and in each file that it includes: path -> its contents."""
    sections = {name: section for name, section in contents.items() if name not in (BASE, _INCLUDE)}
    included = sorted(path.parent.glob(contents[_INCLUDE])) if _INCLUDE in contents else []
    return {path: sections} | {file: parsed(file) for file in included}


def _joined(files: dict[Path, dict[str, Any]]) -> dict[str, Any]:
    sections: dict[str, dict[str, Any]] = {}
    places: dict[tuple[str, str], Path] = {}
    for file, contents in files.items():
        for section, entries in contents.items():
            if not isinstance(entries, dict):
                raise ConfigError(f"{file}: {section} holds no mapping of entries")
            for name, entry in entries.items():
                place = places.setdefault((section, name), file)
                if place != file:
                    raise ConfigError(f"{section}.{name} is in {place} and in {file}: rename one, or delete it")
                sections.setdefault(section, {})[name] = entry
    return sections


def parsed(path: Path) -> dict[str, Any]:
    """Contents of one file as they are. Raises ConfigError naming the file if it is missing or no YAML."""
    try:
        contents = yaml.safe_load(path.read_text())
    except FileNotFoundError as error:
        raise ConfigError(f"{path} is missing; run from the repository's root") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not YAML: {error}") from error
    if not isinstance(contents, dict):
        raise ConfigError(f"{path} holds no mapping of sections")
    return contents
