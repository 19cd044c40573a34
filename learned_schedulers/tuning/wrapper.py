"""A compiler's wrapper in a project's build: `python -SE wrapper.py tune|apply FOLDER COMPILER ARGUMENTS...`.

The compiler does what it is asked, with the same output and exit code. While a project is tuned, clang makes
intermediate code beside each object of one file of C or C++, which stays in the folder, and where the folder has
another object for this output, that one takes its place; each call is a line of `calls` there. Later, files with tuned
functions are compiled anew as `tuned.orders` says (apply.py). Nothing is imported that takes long.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from learned_schedulers.tuning.command_line import Understood, apart, understood, without_outputs

CALLS, SETTINGS = "calls", "settings.json"  # files of the folder
CODE, OBJECTS, APPLIED, APART = "code", "objects", "applied", "apart"  # its folders
_BITCODE = ("-Qunused-arguments", "-w", "-Wno-unknown-warning-option", "-c", "-emit-llvm", "-o")
_PROBES = re.compile(r"conftest|cmTC_|a\.out|testfile|sanitycheck")  # programs that configure scripts link


def key(output: str) -> str:
    """The name of an output, an absolute path, in the folders."""
    return hashlib.sha256(output.encode()).hexdigest()[:24]


def main(job: str, folder: Path, command: Sequence[str], product: str = "") -> int:
    """Run a compiler, and do what the job asks; product: of the call of which this is a part. Returns its exit code."""
    call = understood(command)
    if _makes_a_program(call, command):
        program = os.path.abspath(call.output or "a.out")
        objects = {source: str(folder / APART / f"{key(f'{program} {source}')}.o") for source in call.sources}
        compiling, command = apart(command, objects)
        for source, target in objects.items():
            if code := main(job, folder, [*compiling, "-c", source, "-o", target], program):
                return code
        call = understood(command)
    elif _makes_objects(call, command):
        compiling, _ = apart(command, {})
        codes = [main(job, folder, [*compiling, source], product) for source in call.sources]
        return max(codes)
    code = subprocess.call(command)
    settings = json.loads((folder / SETTINGS).read_text())
    if code:
        return code
    if call.reason or len(call.sources) != 1 or "-c" not in call.flags:
        if job == "apply" and "-c" not in call.flags and not _PROBES.search(call.output or "a.out"):
            _tell(folder, settings["orders"])
        return code
    output = os.path.abspath(call.output or f"{Path(call.sources[0]).stem}.o")
    if not os.path.isfile(output):  # /dev/null: the call asks whether the compiler has an option
        return code
    if job == "tune":
        _keep(folder, settings, command, call, output, product)
    else:
        _apply(folder, settings, command, call, output)
    return code


def _makes_a_program(call: Understood, command: Sequence[str]) -> bool:
    """Whether a command compiles sources and links them, in a way that may be done in two steps."""
    if call.reason or call.cached or _PROBES.search(call.output or "a.out"):
        return False
    return not any(word in ("-c", "-S") or word.startswith(("-M", "-x", "-save-temps", "@")) for word in command)


def _makes_objects(call: Understood, command: Sequence[str]) -> bool:
    """Whether a command makes an object of each of several sources, which may be done one after the other."""
    several = len(call.sources) > 1 and "-c" in call.flags and not (call.reason or call.cached or call.output)
    return several and not any(word.startswith(("-x", "-save-temps", "@")) for word in command)


def bitcode(clang: str, command: Sequence[str], target: str, folder: str | None = None) -> str:
    """Let clang write its intermediate code of a compiler's command. Returns its first error, or nothing."""
    words = [clang, *without_outputs(command[1:]), *_BITCODE, target]
    ended = subprocess.run(
        words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )
    return "" if ended.returncode == 0 else (ended.stderr.strip().splitlines() or ["clang failed"])[0]


def _keep(
    folder: Path, settings: dict[str, str], command: Sequence[str], call: Understood, output: str, product: str
) -> None:
    name = key(output)
    replacement = folder / OBJECTS / f"{name}.o"
    if replacement.exists():
        _replace(replacement, Path(output))
        return
    target = folder / CODE / f"{name}.bc"
    words = command[1:] if call.cached else command
    reason = bitcode(settings["clang_cpp" if call.language == "c++" else "clang"], words, str(target))
    record = {"folder": os.getcwd(), "command": list(words), "output": output, "product": product or output}
    record |= {"source": os.path.abspath(call.sources[0]), "key": name, "reason": reason}
    record |= {"compiler": call.compiler, "language": call.language}
    with open(folder / CALLS, "a", encoding="utf-8") as calls:
        calls.write(f"{json.dumps(record)}\n")  # one write: other processes append, too


def _apply(folder: Path, settings: dict[str, str], command: Sequence[str], call: Understood, output: str) -> None:
    """Compile a file anew if it has tuned functions; whatever goes wrong, the compiler's object stays."""
    orders = Path(settings["orders"])
    source = os.path.relpath(os.path.abspath(call.sources[0]), orders.parent)
    try:
        lines = orders.read_text(encoding="utf-8").splitlines()
        if not any(json.loads(line)["source"] == source for line in lines if line.startswith("{")):
            return
    except (OSError, ValueError, KeyError) as error:
        print(f"learned-schedulers: {orders}: {error}; files are compiled as usual", file=sys.stderr)
        return
    words = command[1:] if call.cached else command
    module = [sys.executable, "-m", "learned_schedulers.tuning.apply", str(folder), source, output, call.compiler]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.call([*module, call.language, *words], env=environment)


def _tell(folder: Path, orders: str) -> None:
    """What of `tuned.orders` the build has used so far, in one line."""
    records = [json.loads(path.read_text()) for path in sorted((folder / APPLIED).glob("*.json"))]
    changed = [name for record in records for name in record["changed"]]
    text = f"functions that are compiled as {os.path.basename(orders)} says: {sum(each['tuned'] for each in records)}"
    if changed:
        text += f"; as usual, since they have changed (run tune again): {', '.join(changed)}"
    if records:
        print(f"learned-schedulers: {text}", file=sys.stderr)


def _replace(path: Path, output: Path) -> None:
    """Put a copy of a file in the place of another one, at once."""
    temporary = output.with_name(f".{output.name}.{os.getpid()}")
    shutil.copyfile(path, temporary)
    os.replace(temporary, output)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
