"""`python -m learned_schedulers.tuning.apply FOLDER SOURCE OUTPUT COMPILER LANGUAGE COMMAND...`: one tuned file.

SOURCE is relative to the folder of `tuned.orders`. The object that the user's compiler has made of it is replaced by
one with the tuned functions. If that cannot be, it stays, and standard error says why.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from learned_schedulers.blocks.before_allocation.emitters import Emitters
from learned_schedulers.files import replacing
from learned_schedulers.tuning import tuned_orders, wrapper
from learned_schedulers.tuning.build import Compilers
from learned_schedulers.tuning.hot_file import Call, HotFile
from learned_schedulers.tuning.tuned_orders import Tuned


def tuned_object(file: HotFile, tuned: Sequence[Tuned]) -> tuple[bytes | None, list[str]]:
    """The object of a file by its lines of `tuned.orders`, and the functions that have changed since.

    None if all have. Raises NotProven for an order that is not legal, LlvmError, NotSeparable or NotDispatchable.
    """
    fit = [
        each
        for each in tuned
        if not each.function
        or (each.function in file.functions and file.fingerprint(each.function) == each.fingerprint)
    ]
    changed = [each.function for each in tuned if each not in fit]
    for each in fit:
        file.prove(each.function, each.choice)
    if not fit:
        return None, changed
    with Emitters(1) as emitters:
        return file.built({each.function: each.choice for each in fit}, emitters), changed


def main(folder: Path, source: str, output: Path, compiler: str, language: str, command: Sequence[str]) -> None:
    """Replace the object, and note what was done."""
    settings: dict[str, str] = json.loads((folder / wrapper.SETTINGS).read_text())
    note = folder / wrapper.APPLIED / f"{wrapper.key(str(output))}.json"
    note.unlink(missing_ok=True)
    orders = Path(settings.pop("orders"))
    kinds = Compilers(**settings).of(language) | {compiler: command[0]}
    try:
        tuned = [each for each in tuned_orders.read(orders) if each.source == source]
        with tempfile.NamedTemporaryFile(suffix=".bc") as code:
            if reason := wrapper.bitcode(kinds["clang"], command, code.name):
                raise ValueError(f"clang does not compile it: {reason}")
            file = HotFile(Path(code.name).read_bytes(), source, Call(compiler, os.getcwd(), tuple(command), kinds))
        content, changed = tuned_object(file, tuned)
        if content is not None:
            with replacing(output) as temporary:
                temporary.write_bytes(content)
        note.write_text(json.dumps({"tuned": len(tuned) - len(changed), "changed": changed}))
    except (ValueError, OSError) as error:
        print(f"learned-schedulers: {source} is compiled as usual: {error}", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4], sys.argv[5], sys.argv[6:])
