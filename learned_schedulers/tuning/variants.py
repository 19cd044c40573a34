"""Several builds of a project, one of which lies in its tree at a time: files are exchanged, and nothing is built."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

_SKIPPED = {".git", ".hg", ".svn"}
_LAID = 'mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$3" "$1" && cd "$1"'
_APART = f'{_LAID} && exec taskset -c "$4" sh -c "$5"'


def apart(tree: Path, files: Path) -> list[str]:
    """A shell that sees the folder `files` laid upon the tree, and writes into that alone; all on one processor.

    Needs Linux's user namespaces, which some containers forbid: then it fails.
    """
    work = files.with_name(f"{files.name}.work")  # of the overlay
    for folder in (files, work):
        folder.mkdir(parents=True, exist_ok=True)
    cpu = max(os.sched_getaffinity(0))
    return ["unshare", "-Urm", "sh", "-c", _APART, "sh", str(tree.resolve()), str(files), str(work), str(cpu)]


def delete(folder: Path) -> None:
    """Delete a folder with all that `apart` had there: Linux leaves a folder that nobody may open."""
    for locked in folder.glob("*.work/work"):
        locked.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


class Variants:
    """The builds of a tree by their names; what a build has changed since the first one belongs to it."""

    def __init__(self, tree: Path, store: Path) -> None:
        """store: a folder for copies of built files; it is emptied."""
        self._tree, self._store = tree, store
        delete(store)
        self._before = dict(_stamps(tree))
        self._names: dict[str, set[str]] = {}
        self._built: set[str] = set()  # files that any build has changed

    def add(self, name: str) -> None:
        """Keep the tree, as the last build has left it, by a name."""
        now = dict(_stamps(self._tree))
        self._built |= {path for path, stamp in now.items() if self._before.get(path) != stamp}
        self._before = now
        files = {path for path in self._built if path in now}
        for path in files:
            copy = self._store / name / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self._tree / path, copy)
        self._names[name] = files

    def turn_to(self, name: str) -> None:
        """Put the files of a build in their places, each at once."""
        for path in self._names[name]:
            copy, target = self._store / name / path, self._tree / path
            if _stamp(copy)[:2] != self._before.get(path, (0, 0, 0))[:2]:
                temporary = target.with_name(f".{target.name}.learned_schedulers")
                shutil.copy2(copy, temporary)
                os.replace(temporary, target)
                self._before[path] = _stamp(target)

    def apart(self, name: str) -> list[str]:
        """A shell that sees a build in the tree's place; the build that lies there matters no more."""
        return apart(self._tree, self._store / name)

    def turn_back(self) -> None:
        """Put the files of the last build in their places: the next one begins with them."""
        self.turn_to(next(reversed(self._names)))

    def clear(self) -> None:
        """Delete the copies."""
        delete(self._store)


def _stamp(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


def _stamps(tree: Path) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Time, size and number of each regular file below a folder, by its relative path."""
    for folder, folders, files in os.walk(tree):
        folders[:] = [name for name in folders if name not in _SKIPPED]
        for name in files:
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                yield os.path.relpath(path, tree), _stamp(path)
