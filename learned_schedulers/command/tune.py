"""The verb `tune`: the hot functions of a project, faster in its own benchmark."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from learned_schedulers.tuning.outcome import Outcome


def main(
    build: Annotated[str, typer.Option(help="The command that builds the project here, as you type it.")],
    bench: Annotated[
        str, typer.Option(help="The command that runs its benchmark, for some seconds; it ends with exit code 0.")
    ],
    test: Annotated[str | None, typer.Option(help="The command that runs its tests.")] = None,
    minutes: Annotated[
        float,
        typer.Option(min=0.05, help="Of all, about: a third or more to search, the rest to build and to confirm."),
    ] = 10,
    pairs: Annotated[int, typer.Option(min=10, help="Pairs of runs that confirm the result.")] = 12,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="Regular expression with one group ( ) around each rate that the benchmark prints: more is faster. "
            "Without it, rates with units as MB/s are found; without any, processor time is what is measured.",
        ),
    ] = None,
    function: Annotated[
        list[str] | None,
        typer.Option(help="A function to tune, by its symbol, instead of those that perf finds. Repeatable."),
    ] = None,
    clang: Annotated[
        str | None, typer.Option(help="The clang to use, as clang-19; the newest, if it is left out.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="HTML page to write: what was tried, and what came of it.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the search; a clock judges, so results differ all the same.")
    ] = 0,
) -> None:
    """Make a C or C++ project's own benchmark faster: orders of its hot functions, judged in its own program.

    The project is built by your command, with your compiler; `make clean` first, so that it compiles all files. Then
    its hot functions get other versions: GCC's and clang's with other options, LLVM's with other schedulers and in
    orders of a learned search. All are judged inside the benchmark's program while it runs. What is faster is linked
    into the final program and compared with your build in pairs of runs, at four places in memory; then your tests run.

    tuned.orders keeps what was found: commit it, and build by the compiler that `learned-schedulers cc --print` names.
    Nothing of the project changes but what its build makes. Ctrl-C leaves your own build in the tree, and a second call
    goes on from what the first one found.

    It needs clang, binutils, and perf (Debian: apt-get install clang-19 linux-perf). Both commands run as you would run
    them, with your rights. Left alone, and said: files that clang does not compile, link-time optimisation, assembly,
    and functions with any number of arguments or with memory of their own that GCC's version writes.

    Example, in an empty folder:

    \b
    echo 'long f(long *p, long n) { long a = p[0] * 3 + n, b = p[1] ^ a; return a * b + p[2] + b / 7; }' > f.c
    echo 'long f(long *, long); int main(void) { long p[3] = {1, 2, 3}, s = 0;' > program.c
    echo 'for (int i = 0; i < 90000000; i++) s += f(p, s); return s == 1; }' >> program.c
    echo 'program: program.o f.o' > Makefile
    learned-schedulers tune --build make --bench ./program --minutes 0.1

    Other calls:

    \b
    learned-schedulers tune --build "make -j2" --bench "./examples/nettle-benchmark sha3_256" --test "make check"
    learned-schedulers tune --build "ninja -C build" --bench "build/bench" --function f --report page.html

    Exit code 1: the build or the benchmark fails; then nothing is kept, and your own build is in the tree.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from tqdm import tqdm

    from learned_schedulers.files import check_writable, replacing
    from learned_schedulers.tuning import tuned_orders
    from learned_schedulers.tuning.benchmark import Benchmark
    from learned_schedulers.tuning.build import Build, compilers
    from learned_schedulers.tuning.campaign import Campaign
    from learned_schedulers.tuning.outcome import Settings
    from learned_schedulers.tuning.state import bounded, state_of

    work = Path.cwd()
    if report is not None:
        check_writable(report)
    state = state_of(work)
    bounded(state)
    benchmark = Benchmark(bench, work, rate)
    cores = len(os.sched_getaffinity(0))
    settings = Settings(build, benchmark, test, minutes, pairs, cores, seed, tuple(function or ()))
    campaign = Campaign(Build(build, work, state, compilers(clang)), work, state, settings)
    with tqdm(total=1, bar_format="{desc} {elapsed}", leave=False, disable=None) as bar:

        def say(text: str) -> None:
            tqdm.write(text, file=sys.stderr)

        def progress(step: str, count: int, ratio: float) -> None:
            bar.set_description_str(f"{step}: {count:,} {'pairs' if step == 'confirm' else 'versions'}, {ratio:.3f}")

        campaign.say, campaign.progress = say, progress
        try:
            outcome = campaign.run(work / tuned_orders.NAME)
        except KeyboardInterrupt:
            outcome = campaign.outcome
            say("ended by Ctrl-C; what the search has found is where the next call begins")
    _tell(outcome)
    if report is not None:
        from learned_schedulers.command.tuning_page import page

        with replacing(report, follow=True) as temporary:
            temporary.write_text(page(outcome, settings), encoding="utf-8")
        print(f"page: {report}")


def _tell(outcome: Outcome) -> None:
    for reason in outcome.reasons:
        print(f"  left alone: {reason}", file=sys.stderr)
    if outcome.tuned:
        print(f"functions in tuned.orders: {len(outcome.tuned)}")
