"""One file of intermediate code, or of C and C++, of the verb `order`: read, searched, proven, written whole."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tqdm import tqdm

from learned_schedulers.blocks.before_allocation import users_code
from learned_schedulers.blocks.before_allocation.costs import Counts, Limits, SearchResult
from learned_schedulers.blocks.before_allocation.functions import NotProven, functions, prove
from learned_schedulers.blocks.before_allocation.llvm import Emitter, LlvmError
from learned_schedulers.blocks.before_allocation.ordering import Choice, Compiled, best_module, compiled, search
from learned_schedulers.blocks.read.document import Fault
from learned_schedulers.blocks.read.unreadable import Unreadable
from learned_schedulers.command.results import STANDARD, Result, result_of, write
from learned_schedulers.files import printable

Form = Literal["ll", "bc", "s", "o"]
_FORMS: tuple[Form, ...] = ("ll", "bc", "s", "o")
_SHOWN = 20  # functions that are shown to people


class CodeJob(NamedTuple):
    """What to do with each file."""

    processor: str
    evaluations: int
    seconds: float | None
    every: bool
    by_clang: str | None  # clang's options, as a shell splits them
    seed: int
    unfit: list[str]  # options of the command that are for other files


def ordered_code(file: Path, output: Path | None, job: CodeJob) -> Result:
    """Order one file. Raises OSError for what stops the whole command, as a full disk does."""
    return result_of(file, lambda: _ordered(file, output, job))


def _ordered(file: Path, output: Path | None, job: CodeJob) -> Result:
    if job.unfit:
        raise Unreadable(f"{', '.join(job.unfit)}: not for intermediate code", "order it without them")
    form = _form(file, output)
    content = _content_of(file, job)
    code = users_code.read(content, file.name)
    name = file.name
    ends = math.inf if job.seconds is None else time.monotonic() + job.seconds
    limits = Limits(job.evaluations, ends, job.every)
    try:
        with Emitter(processor=job.processor) as emitter:
            before = compiled(emitter, code, name)
            searched = _searched(code, before, job, limits, name)
            choice = best_module(code, before, searched, emitter, name)
            prove(code, choice.text, {key: dag for function in searched for key, dag in function.dags.items()})
            users_code.read(choice.text.encode(), name)  # LLVM's verifier
            if output is not None:
                same = not choice.ordered and form in ("ll", "bc") and users_code.is_bitcode(content) == (form == "bc")
                write(content if same else _written(choice, form, emitter, name), output, file)
    except LlvmError as error:
        raise Unreadable(str(error).removeprefix(f"{name}: "), "compile it by clang, which may say more") from error
    except NotProven as error:
        raise Unreadable(f"defect: {error}", "it stays as it was; please report it") from error
    return _result(file, output, form, job, before.counts, searched, choice)


def _form(file: Path, output: Path | None) -> Form:
    """What is written."""
    if output is None or output == STANDARD:
        return "o" if output is None else "ll"
    for form in _FORMS:
        if output.suffix == f".{form}":
            return form
    raise Unreadable(
        f"-o {output}: its suffix does not say what to write",
        "name it .o (object), .s (assembly), .ll or .bc (intermediate code)",
    )


def _content_of(file: Path, job: CodeJob) -> bytes:
    """Intermediate code; for C and C++ clang writes it."""
    content = file.read_bytes()
    if not users_code.is_source(file):
        return content
    if job.by_clang is None:
        raise Unreadable("C and C++ are compiled first", 'say how: --by-clang "-O3 -march=native"')
    return users_code.bitcode(file, users_code.options(job.by_clang))


def _searched(code: str, before: Compiled, job: CodeJob, limits: Limits, name: str) -> list[SearchResult]:
    """The searched functions in the sequence of the file, with a progress bar where stderr is a terminal."""
    searched = []
    total = sum(limits.every or counts.spills + counts.reloads > 0 for counts in before.counts.values())
    with tqdm(total=total, desc=name, unit="function", leave=False, disable=None) as progress:
        for function in search(code, before, job.processor, limits, job.seed):
            searched.append(function)
            progress.update()
    places = {function.symbol: number for number, function in enumerate(functions(code))}
    return sorted(searched, key=lambda function: places[function.name])


def _written(choice: Choice, form: Form, emitter: Emitter, name: str) -> bytes:
    if form == "ll":
        return choice.text.encode()
    if form == "bc":
        return emitter.bitcode(choice.text, name)
    return choice.compiled.assembly.encode() if form == "s" else emitter.object_file(choice.text, name)


def _result(
    file: Path,
    output: Path | None,
    form: Form,
    job: CodeJob,
    before: dict[str, Counts],
    searched: list[SearchResult],
    choice: Choice,
) -> Result:
    """What is said of a file, to people and as JSON."""
    after = choice.compiled.counts
    of_names = {function.name: function for function in searched if function.name in before}
    faults = [Fault(f.name, reason, "it is compiled as it is") for f in searched for reason in f.reasons]
    changed = [name for name in before if after[name] != before[name]]
    total, new_total = _sum(before), _sum(after)
    report: dict[str, Any] = {
        "file": str(file),
        "format": "llvm",
        "out": None if output is None else str(output),
        "for": job.processor,
        "evaluations": job.evaluations,
        "default": total._asdict(),
        "new": new_total._asdict(),
        "functions": [
            {
                "name": name,
                "searched": name in of_names,
                "ordered": name in choice.ordered,
                "default": counts._asdict(),
                "new": after[name]._asdict(),
            }
            for name, counts in before.items()
        ],
        "faults": [fault._asdict() for fault in faults],
    }
    lines = [
        f"{file}: {len(before):,} functions, {len(of_names):,} searched, {len(choice.ordered):,} in a new order; "
        f"{_change(total, new_total)} (for {job.processor}, {job.evaluations} evaluations each)"
    ]
    shown = [f"{printable(name)}: {_change(before[name], after[name])}" for name in changed]
    lines += [f"  {line}" for line in shown[:_SHOWN]]
    if len(shown) > _SHOWN:
        lines.append(f"  and {len(shown) - _SHOWN} more; --json lists them")
    if not choice.ordered:
        lines.append("  nothing is better than LLVM's default: the code is as it was")
    elif output is not None and form in ("ll", "bc"):
        lines += _clang_lines(output)
    return Result("\n".join(lines), faults, report, failed=False)


def _clang_lines(output: Path) -> list[str]:
    """How to compile intermediate code so that no pass of clang changes its order first."""
    import llvmlite.binding  # slow to import

    return [
        "  to compile it:",
        f"    clang -O3 -Xclang -disable-llvm-passes -c {output}",
        f"  clang has to be version {llvmlite.binding.llvm_version_info[0]} or later; without one, write -o "
        f"{output.with_suffix('.o')}",
    ]


def _change(before: Counts, after: Counts) -> str:
    return ", ".join(
        f"{field} {old:,} -> {new:,}" for field, old, new in zip(Counts._fields, before, after, strict=True)
    )


def _sum(counts: dict[str, Counts]) -> Counts:
    return Counts(*map(sum, zip(*counts.values(), strict=True))) if counts else Counts(0, 0, 0)
