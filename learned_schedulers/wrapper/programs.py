"""The programs that compilers find in the place of others, and the version of all that answers depend on."""

from __future__ import annotations

import os
import sys

from learned_schedulers.wrapper.cache import blake2b
from learned_schedulers.wrapper.settings import PACKAGE, Settings, cache_folder, private

# Words of which each call with -c may have any number, beside which `-B` changes nothing but the assembler.
_QUICK = """\
compiles= strange=
for word; do case $word in
  -c) compiles=yes ;;
  -flto* | -M | -MM | -MJ | -fsyntax-only | -print-* | -specs* | -save-temps*) strange=yes ;;
  *.o | *.lo | *.d | *.c | *.cc | *.cpp | *.cxx | *.C | -[DfgILlMOopsUW]* | -std=* | -march=* | -mtune=*) ;;
  *) strange=yes ;;
esac; done
[ "$compiles" ] && [ -z "$strange" ] && exec {compiler} "$@" -B {folder}
"""


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
    current = version()
    folder = _folder(settings, current, compiler)
    if not os.path.exists(os.path.join(folder, "as")):
        import subprocess

        answer = subprocess.run([compiler, "-print-prog-name=as"], capture_output=True, text=True)
        real = answer.stdout.strip() or "as"
        _write(os.path.join(folder, "as"), "assembler", [real, settings.name, current], f'exec {_quoted(real)} "$@"')
    return folder


def caller(settings: Settings) -> str:
    """The program that ccache calls before Clang; made if it is not there."""
    path = os.path.join(private(cache_folder()), "programs", f"{settings.name}-{version()}", "compiler")
    if not os.path.exists(path):
        _write(path, "compiler", [settings.name], 'exec "$@"')
    return path


def launcher(settings: Settings, compiler: str) -> str:
    """A program that stands for a compiler, with its name, and starts faster than the console command.

    Where GCC is called as builds call it most, a shell adds `-B`; else the words are read as by the command.
    """
    path = os.path.join(_folder(settings, version(), compiler), "launchers", os.path.basename(compiler))
    quick = ""
    if os.path.basename(compiler).startswith(("g", "c")) and "clang" not in compiler:
        quick = _QUICK.format(compiler=_quoted(compiler), folder=_quoted(assembler(settings, compiler)))
    _write(path, "compiler", [settings.name, compiler], f'exec {_quoted(compiler)} "$@"', quick)
    return path


def _folder(settings: Settings, current: str, compiler: str) -> str:
    """The folder of a compiler's programs; another one when the compiler, the library or the settings change."""
    path = found(compiler)
    if not path:
        raise FileNotFoundError(f"{compiler}: no such program")
    state = f"{os.path.realpath(path)} {os.stat(path).st_mtime_ns} {os.environ.get('GCC_EXEC_PREFIX')}"
    part = blake2b(f"{current} {state}".encode(), digest_size=8).hexdigest()
    return os.path.join(private(cache_folder()), "programs", f"{settings.name}-{part}")


def _write(path: str, module: str, words: list[str], plain: str, quick: str = "") -> None:
    """A script that calls `main` of a module of this folder.

    plain: what is run if the library has been removed; quick: lines before Python is called.
    """
    import tempfile

    python, wrapper, root = _quoted(sys.executable), os.path.join(PACKAGE, "wrapper"), os.path.dirname(PACKAGE)
    code = (
        f"import sys; sys.path.insert(0, {root!r}); from learned_schedulers.wrapper.{module} import main; "
        "sys.exit(main(sys.argv[1:]))"
    )
    run = f'exec {python} -I -S -c {_quoted(code)} {" ".join(map(_quoted, words))} "$@"'
    text = f"#!/bin/sh\n[ -x {python} ] && [ -d {_quoted(wrapper)} ] || {plain}\n{quick}{run}\n"
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
    with open(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(temporary, 0o700)
    os.replace(temporary, path)


def _quoted(path: str) -> str:
    """A word of a shell's line."""
    return "'" + path.replace("'", "'\\''") + "'"
