"""What is asked of the wrapper, and the folders that it uses. It imports little: every call of a compiler reads it."""

from __future__ import annotations

import os

try:
    from _blake2 import blake2b  # what hashlib gives, in a third of the time: hashlib loads OpenSSL
except ImportError:  # an interpreter of another make
    from hashlib import blake2b

CACHE = "LEARNED_SCHEDULERS_CACHE"  # environment: another folder for the cache
RECORD = "LEARNED_SCHEDULERS_RECORD"  # environment: another file for what has become of each object
VERBOSE = "LEARNED_SCHEDULERS_VERBOSE"  # environment: say what is left alone
# The names that the verb `order` knows; a test compares them.
CHOICES = {
    "target": ("host", "atom", "silvermont", "btver2", "haswell", "skylake", "znver4"),
    "by": ("search", "learned", "list", "cp_sat", "imitator", "random_legal"),
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


def version() -> str:
    """A digest of what an answer depends on beside text and settings: other versions' answers are not taken.

    It is of the times and sizes of the library's files, of the processor (`--for host`), and of llvm-mca.
    """
    state = blake2b(_processor(), digest_size=8)
    folders = [os.path.join(PACKAGE, name) for name in ("blocks", "wrapper")]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.is_dir():
                    folders.append(entry.path)
                elif entry.name.endswith((".py", ".safetensors")):
                    facts = entry.stat()
                    state.update(f"{entry.path} {facts.st_mtime_ns} {facts.st_size}\n".encode())
    for name in ("llvm-mca-19", "llvm-mca"):
        for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
            path = os.path.join(folder, name)
            if os.path.exists(path):
                state.update(f"{os.path.realpath(path)} {os.stat(path).st_mtime_ns}\n".encode())
                break
    return state.hexdigest()


def _processor() -> bytes:
    """Maker, family and model of the computer's processor, as Linux says them."""
    try:
        with open("/proc/cpuinfo", "rb") as file:
            return b"".join(line for line in file.read(400).splitlines()[1:5])
    except OSError:
        return b""


def texts_folder(cache: str, settings: Settings, current: str) -> str:
    """The folder of the texts that these settings have ordered. current: the library's `version()`."""
    digest = blake2b(f"{settings.name} {current}".encode(), digest_size=8).hexdigest()
    return os.path.join(cache, "texts", digest)


def program(settings: Settings, name: str) -> str:
    """A program in a folder of these settings and this version, made if it is not there.

    name: "as", which GCC finds in the place of its assembler, or "compiler", which ccache calls before Clang.
    """
    from learned_schedulers.wrapper.script import script as text_of

    cache, current = private(cache_folder()), version()
    folder = os.path.join(cache, "programs", f"{settings.name}-{current}")
    script = os.path.join(folder, name)
    records = os.path.join(cache, "record.jsonl")
    variables = {"verbose": VERBOSE, "record": RECORD}
    text = text_of(name, PACKAGE, settings.name, texts_folder(cache, settings, current), records, variables)
    try:
        with open(script, encoding="utf-8") as file:
            if file.read() == text:
                return script
    except FileNotFoundError:
        pass
    import tempfile  # slow, and seldom needed

    os.makedirs(folder, mode=0o700, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder)
    with open(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(temporary, 0o700)
    os.replace(temporary, script)
    return script
