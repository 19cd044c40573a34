"""What is asked of the wrapper, and its folders. It imports next to nothing: every call of a compiler reads it."""

from __future__ import annotations

import os

CACHE = "LEARNED_SCHEDULERS_CACHE"  # environment: another folder for the cache
VERBOSE = "LEARNED_SCHEDULERS_VERBOSE"  # environment: say what is left alone
# The names that the verb `order` knows; a test compares them.
CHOICES = {
    "target": ("host", "atom", "silvermont", "btver2", "haswell", "skylake", "znver4"),
    "by": ("search", "policy", "learned", "list", "cp_sat", "imitator", "random_legal"),
    "memory": ("tso", "precise", "single_thread"),
}
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Settings:
    """How texts are ordered."""

    def __init__(
        self, target: str = "host", by: str = "search", memory: str = "tso", seed: int = 0, confirm: str = "auto"
    ) -> None:
        """confirm: auto, yes or no."""
        self.target, self.by, self.memory, self.seed, self.confirm = target, by, memory, seed, confirm

    @property
    def name(self) -> str:
        """As the name of a folder, so that it is part of the compiler's command line, which ccache compares."""
        return f"{self.target}-{self.by}-{self.memory}-{self.seed}-{self.confirm}"

    @classmethod
    def of_name(cls, name: str) -> Settings:
        """Raises ValueError for a name that is none."""
        target, by, memory, seed, confirm = name.split("-")
        return cls(target, by, memory, int(seed), confirm)


def cache_folder() -> str:
    """Of this user."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.environ.get(CACHE) or os.path.join(base, "learned_schedulers")


def private(folder: str) -> str:
    """A folder that only this user can open, made if it is not there. Raises OSError if it is someone else's."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    state = os.lstat(folder)
    if state.st_uid != os.geteuid() or state.st_mode & 0o077 or os.path.islink(folder):
        raise PermissionError(f"{folder}: others may open it; remove it, or set {CACHE} to a folder of your own")
    return folder
