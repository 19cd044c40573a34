"""The programs that compilers find in the place of others, and the version of all that answers depend on."""

from __future__ import annotations

import os
import sys

from learned_schedulers.wrapper.cache import blake2b
from learned_schedulers.wrapper.settings import PACKAGE, Settings, cache_folder, private


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
        path = found(name)
        state.update(f"{os.path.realpath(path)} {os.stat(path).st_mtime_ns}\n".encode() if path else b"-\n")
    return state.hexdigest()


def found(name: str) -> str:
    """The path of a program, or nothing."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep) if os.sep not in name else [""]
    paths = (os.path.join(folder, name) for folder in folders)
    return next((path for path in paths if os.access(path, os.X_OK) and os.path.isfile(path)), "")


def _processor() -> bytes:
    """Maker, family and model of the computer's processor, as Linux says them."""
    try:
        with open("/proc/cpuinfo", "rb") as file:
            return b"".join(file.read(400).splitlines()[1:5])
    except OSError:
        return b""


def assembler(settings: Settings, compiler: str) -> str:
    """The folder in which GCC finds the program `as`; made if it is not there.

    compiler: how GCC is called; it may have an assembler of its own. Raises OSError if there is no such program.
    """
    path, current = found(compiler), version()
    if not path:
        raise FileNotFoundError(f"{compiler}: no such program")
    state = f"{os.path.realpath(path)} {os.stat(path).st_mtime_ns} {os.environ.get('GCC_EXEC_PREFIX')}"
    part = blake2b(f"{current} {state}".encode(), digest_size=8).hexdigest()
    folder = os.path.join(private(cache_folder()), "programs", f"{settings.name}-{part}")
    if not os.path.exists(os.path.join(folder, "as")):
        import subprocess

        answer = subprocess.run([compiler, "-print-prog-name=as"], capture_output=True, text=True)
        real = answer.stdout.strip() or "as"
        _write(folder, "as", "assembler", [real, settings.name, current], f'exec {_quoted(real)} "$@"')
    return folder


def compiler(settings: Settings) -> str:
    """The program that ccache calls before Clang; made if it is not there."""
    folder = os.path.join(private(cache_folder()), "programs", f"{settings.name}-{version()}")
    path = os.path.join(folder, "compiler")
    if not os.path.exists(path):
        _write(folder, "compiler", "compiler", [settings.name], 'exec "$@"')
    return path


def _write(folder: str, name: str, module: str, words: list[str], plain: str) -> None:
    """A script that calls `main` of a module of this folder. plain: what is run if the library has been removed."""
    import tempfile

    python, wrapper, root = _quoted(sys.executable), os.path.join(PACKAGE, "wrapper"), os.path.dirname(PACKAGE)
    code = (
        f"import sys; sys.path.insert(0, {root!r}); from learned_schedulers.wrapper.{module} import main; "
        "sys.exit(main(sys.argv[1:]))"
    )
    run = f'exec {python} -I -S -c {_quoted(code)} {" ".join(map(_quoted, words))} "$@"'
    text = f"#!/bin/sh\n[ -x {python} ] && [ -d {_quoted(wrapper)} ] || {plain}\n{run}\n"
    os.makedirs(folder, mode=0o700, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder)
    with open(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(temporary, 0o700)
    os.replace(temporary, os.path.join(folder, name))


def _quoted(path: str) -> str:
    """A word of a shell's line."""
    return "'" + path.replace("'", "'\\''") + "'"
