"""The verb `order`: the basic blocks of users' files in better orders for a processor, in the same format."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:  # slow to import
    from learned_schedulers.blocks.order.targets import Target
    from learned_schedulers.command.results import Result

# The same names as in learned_schedulers/blocks/order, which is slow to import; a test compares them.
For = Literal["host", "atom", "silvermont", "btver2", "haswell", "skylake", "znver4"]
By = Literal["search", "learned", "list", "cp_sat", "imitator", "random_legal"]
Memory = Literal["tso", "precise", "single_thread"]
Verify = Literal["dag", "sample", "all"]
_SHOWN_FAULTS = 5
EVALUATIONS = 100  # of functions with 1,000 instructions, a dozen take half a minute
PROCESSOR = Annotated[For, typer.Option("--for", help="Processor; host: the model nearest to this computer's.")]
METHOD = Annotated[
    By,
    typer.Option(
        help="search: 300 orders of each block are timed in the model; "
        "learned: the first guess of a small network and nine orders near it; list: list scheduling; "
        "cp_sat: proven optima, for atom; "
        "imitator: GCC's order; random_legal: for tests, any legal order by --seed, faster or not."
    ),
]
MEMORY = Annotated[
    Memory,
    typer.Option(
        help="tso: other threads see no other order of loads and stores than the processor itself allows; "
        "precise: also, the handler of a fault sees exactly the loads and stores before it, as JITs, garbage "
        "collectors and -fnon-call-exceptions need it; single_thread: only for code that shares no memory."
    ),
]


def main(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Assembly, CSV with hexadecimal; - is hexadecimal on standard input. LLVM's .ll and .bc, C and C++: "
            "ordered before registers are allocated.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="File to write; a folder for several files, in which they lie as below their common folder if two "
            "have one name; - for standard output. Of intermediate code and C, its suffix says what is written: "
            ".o, .s, .ll, .bc.",
        ),
    ] = None,
    target: PROCESSOR = "host",
    by: METHOD = "search",
    memory: MEMORY = "tso",
    verify: Annotated[
        Verify,
        typer.Option(
            help="dag: each order is checked by its dependencies, and the file as a whole; sample, all: changed blocks "
            "are also RUN, confined, from random states; one that differs is left as it was."
        ),
    ] = "dag",
    confirm: Annotated[
        bool | None,
        typer.Option(
            "--confirm/--no-confirm",
            help="Take an order only if llvm-mca 19 sees its gain in a single pass, and no loss in a loop; in a block "
            "that is its own loop, a gain there. By default where it is installed, but not for large files (50,000 "
            "blocks, or lines of 1 MB).",
            show_default=False,
        ),
    ] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Replace the files themselves, by a rename.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing; say what would change.")] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show each changed block side by side, with its cycles.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON document on standard output.")] = False,
    only_block: Annotated[
        list[str] | None, typer.Option(help="Change the block at this place alone, as --diff names it. Repeatable.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=0, help="Change the first N of the blocks that change.")] = None,
    weights: Annotated[Path | None, typer.Option(help="Other weights for learned or imitator.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random choices of search and random_legal.")] = 0,
    by_clang: Annotated[
        str | None,
        typer.Option(
            metavar="OPTIONS",
            help='Compile C and C++ by clang with these options, as "-O3 -march=native", and order its code.',
        ),
    ] = None,
    evaluations: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"Of intermediate code: orders that are compiled for each function, {EVALUATIONS} by default. With 1 "
            "nothing is searched: the order in which the code stands, against LLVM's default.",
            show_default=False,
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="Of intermediate code: end the search of a file after these seconds.")
    ] = None,
    all_functions: Annotated[
        bool,
        typer.Option(
            "--all-functions",
            help="Of intermediate code: also search functions that LLVM's default compiles without spills and reloads.",
        ),
    ] = False,
) -> None:
    """Give every basic block an order that takes fewer cycles in the model of a processor.

    Nothing moves that must not move: orders respect all dependencies, and the order of memory that other threads and
    signal handlers see. Labels, directives, data, line tables and unwinding stay right. A block whose new order is not
    faster stays as it is; what cannot be proven is left alone and listed.

    LLVM's intermediate code is ordered before registers are allocated, where an order decides what is spilled. Each
    function that LLVM compiles with spills is searched for the order that LLVM compiles to the fewest instructions,
    spills and reloads; it is compiled in this order if that is better than LLVM's default. Write an object (-o f.o),
    and link it instead of the compiler's. Options of code generation that intermediate code does not hold, as
    -ffunction-sections, are lost. Plain loads and stores move as the language allows (--memory is for machine code),
    and --for counts for functions that name no processor.

    Example, in an empty folder:

    \b
    echo 'double f(double *a, int n) { double s = 0; while (n--) s += a[n] * a[n + 1]; return s; }' > f.c
    gcc -O2 -S f.c && learned-schedulers order f.s -o g.s --for atom --diff && gcc -c g.s

    Other calls:

    \b
    learned-schedulers order f.s --dry-run --diff
    learned-schedulers order blocks.csv -o ordered.csv --by learned --for haswell
    echo 4889d84889f1 | learned-schedulers order - -o - --for atom --by cp_sat
    learned-schedulers order f.c --by-clang "-O3 -march=native" -o f.o
    learned-schedulers order f.ll -o g.ll --evaluations 1000 --for skylake
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the start of threads that nothing here uses takes .1 s
    from learned_schedulers.blocks.before_allocation.users_code import is_code

    codes = [is_code(file) for file in files]
    outputs = _outputs(files, out, in_place, dry_run)
    if out is not None and outputs != [out]:
        outputs = _named_as_written(outputs)
    if not any(codes):
        of_code = {"by-clang": by_clang, "evaluations": evaluations, "seconds": seconds}
        of_code |= {"all-functions": all_functions}
        if unused := [f"--{name}" for name, value in of_code.items() if value not in (None, False)]:
            raise ValueError(f"{', '.join(unused)}: for C, C++, .ll and .bc, and none is given; leave it out")
    others: dict[str, object] = {
        "by": by != "search",
        "memory": memory != "tso",
        "verify": verify != "dag",
        "confirm": confirm is not None,
    }
    others |= {"diff": diff, "only-block": only_block, "limit": limit is not None, "weights": weights}
    unfit = [f"--{name}" for name, is_set in others.items() if is_set]
    if not all(codes):
        from learned_schedulers.command.kernels import announce
        from learned_schedulers.command.ordered_file import Job, ordered_file

        announce()
        job = Job(_model(target), by, memory, verify, only_block or [], limit, weights, seed, diff, as_json, confirm)
    if any(codes):
        from learned_schedulers.command.ordered_code import CodeJob, ordered_code  # slow to import

        evaluations = evaluations or EVALUATIONS
        code_job = CodeJob(target, evaluations, seconds, all_functions, by_clang, seed, unfit)
    reports: list[dict[str, Any]] = []
    failed = False
    for file, output, in_llvm in zip(files, outputs, codes, strict=True):
        result = ordered_code(file, output, code_job) if in_llvm else ordered_file(file, output, job)
        failed |= result.failed
        reports.append(result.report)
        _tell(result, show_all=as_json)
    if as_json:
        print(json.dumps(reports, indent=1), file=sys.stderr if out == Path("-") else sys.stdout)
    if failed:
        raise typer.Exit(1)


def _model(target: For) -> Target:
    """The processor whose model times orders."""
    if target != "host":
        return target
    from learned_schedulers.blocks.order.targets import of_host

    return of_host()


def _outputs(files: Sequence[Path], out: Path | None, in_place: bool, dry_run: bool) -> list[Path | None]:
    """Where the result of each file goes; None for nowhere. Raises ValueError, with the remedy, for what is unclear."""
    if dry_run:
        return [None] * len(files)
    if in_place:
        if out is not None:
            raise ValueError("--in-place and --out exclude each other; give one of them")
        if Path("-") in files:
            raise ValueError("--in-place: standard input cannot be replaced; give -o FILE")
        return list(files)
    if out is None:
        raise ValueError("nowhere to write; give -o FILE, --in-place, or --dry-run")
    if out == Path("-"):
        if len(files) > 1:
            raise ValueError("-o -: several files cannot share standard output; give a folder")
        return [out]
    if len(files) == 1 and not out.is_dir():
        outputs = [out]
    else:
        if Path("-") in files:
            raise ValueError("standard input has no name for a folder; order it alone")
        if out.exists() and not out.is_dir():
            raise ValueError(f"--out {out}: it is a file, but there are {len(files)} files to write; name a folder")
        outputs = [out / place for place in _places(files)]
    for file, output in zip(files, outputs, strict=True):
        if file != Path("-") and _same(output, file):
            raise ValueError(f"--out {output}: it is the input itself; name another file, or say --in-place")
    inputs = {os.path.realpath(file): file for file in files if file != Path("-")}
    for output in outputs:
        if (other := inputs.get(os.path.realpath(output))) is not None:
            raise ValueError(f"--out {output}: it is {other}, another file to order; name a folder elsewhere")
    return list(outputs)


def _named_as_written(outputs: list[Path | None]) -> list[Path | None]:
    """Names of results in a folder: those of C and C++ are objects. Raises ValueError if two have one name."""
    from learned_schedulers.blocks.before_allocation.users_code import is_source

    places = [path and path.with_suffix(".o") if path and is_source(path) else path for path in outputs]
    if twice := next((path for path in places if path and places.count(path) > 1), None):
        raise ValueError(f"{twice} would be the result of two files; order them one by one, with -o FILE.o")
    return places


def _places(files: Sequence[Path]) -> list[str]:
    """Where each file lies in a folder: by its name, or if two have one name, as below the files' common folder.

    Raises ValueError for a file that is given twice.
    """
    paths = [os.path.abspath(file) for file in files]
    names = [file.name for file in files]
    if len(set(names)) == len(names):
        return names
    if twice := next((file for file, path in zip(files, paths, strict=True) if paths.count(path) > 1), None):
        raise ValueError(f"{twice} is given twice; name each file once")
    common = os.path.commonpath([os.path.dirname(path) for path in paths])
    return [os.path.relpath(path, common) for path in paths]


def _same(path: Path, other: Path) -> bool:
    """Whether two paths lead to one file that is there."""
    try:
        return path.samefile(other)
    except OSError:
        return False


def _tell(result: Result, show_all: bool) -> None:
    """One line of a file's result for people, and its first faults."""
    print(result.summary, file=sys.stderr)
    shown = [] if show_all else result.faults[:_SHOWN_FAULTS]
    for fault in shown:
        print(f"  left alone: {fault.place}: {fault.reason}; {fault.remedy}", file=sys.stderr)
    if len(result.faults) > len(shown) and not show_all:
        print(f"  and {len(result.faults) - len(shown)} more; --json lists them", file=sys.stderr)
