"""The verb `bisect`: the changed block that makes a user's test fail."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from learned_schedulers.command.order import MEMORY, METHOD, PROCESSOR

if TYPE_CHECKING:
    from learned_schedulers.blocks.order.file_orders import Orders


def main(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Assembly, an object, an archive or a program.")],
    test: Annotated[
        str,
        typer.Option(help="Command that tests an ordered file; {} stands for its path. Exit code 0: the test passes."),
    ],
    target: PROCESSOR = "host",
    by: METHOD = "search",
    memory: MEMORY = "tso",
    seed: Annotated[int, typer.Option(help="Seed of the random choices of search and random_legal.")] = 0,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds that a test may take; longer counts as a failure.")
    ] = 60.0,
) -> None:
    """Find the one changed block that makes a test fail: half of the changes are kept, and again half of these.

    The blocks are ordered once. The test then runs on files in which the first changes alone are made, as by `order
    --limit N`; about 10 tests for 1,000 changed blocks. FILE itself is not touched.

    Example, in an empty folder; the test may be any command:

    \b
    echo 'int main(int n, char **a) { return n * 3 + a[0][0] * 5 - n * a[0][1] == 0; }' > f.c
    gcc -O2 -S f.c
    learned-schedulers bisect f.s --test 'gcc {} -o f' --for atom
    """
    from learned_schedulers.blocks.order.targets import of_host
    from learned_schedulers.blocks.read import reading
    from learned_schedulers.blocks.read.unreadable import naming
    from learned_schedulers.command.kernels import announce
    from learned_schedulers.command.order_diff import show
    from learned_schedulers.command.ordered_file import Job, orders_of

    announce()
    with naming(file):
        name = reading.format_of(file)
        if not reading.is_document(name):
            raise ValueError(f"{file}: lines of hexadecimal cannot be tested; give assembly, an object or a program")
        document = reading.document(name, file.read_bytes(), file)
    job = Job(of_host() if target == "host" else target, by, memory, "dag", [], None, None, seed, False, False)
    orders = orders_of(document, job, file.name)
    count = len(orders.changes)
    print(f"{count} changed blocks", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="bisect_") as folder:
        trial = Path(folder) / file.name

        def passes(limit: int) -> bool:
            trial.write_bytes(document.rewritten(_first(orders, limit)))
            trial.chmod(file.stat().st_mode | 0o200)
            passed = _passes(test, trial, timeout)
            print(f"  first {limit} changes: {'passes' if passed else 'fails'}", file=sys.stderr)
            return passed

        if not passes(0):
            raise ValueError("the test fails although no block is changed; correct the test, or the file, first")
        if passes(count):
            print(f"The test passes with all {count} changed blocks.")
            return
        guilty = boundary(passes, count)
    change = orders.changes[guilty]
    show(document, orders._replace(changes=[change]))
    print(f"The test fails as soon as the block at {change.place} is changed (number {guilty + 1} of {count}).")
    print(
        f"It alone: learned-schedulers order {file} --only-block '{change.place}' ...; all before it: --limit {guilty}"
    )


def _first(orders: Orders, limit: int) -> dict[int, tuple[int, ...]]:
    return orders._replace(changes=orders.changes[:limit]).as_mapping()


def _passes(test: str, trial: Path, timeout: float) -> bool:
    """Whether the user's command accepts a file. Raises ValueError if the command cannot be started."""
    words = [word.replace("{}", str(trial)) for word in shlex.split(test)]
    if not words:
        raise ValueError("--test is empty; give a command, such as --test 'bash test.sh {}'")
    try:
        return subprocess.run(words, timeout=timeout, stdin=subprocess.DEVNULL, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False
    except OSError as error:
        raise ValueError(f"--test: {words[0]} cannot be started ({error.strerror}); check the command") from error


def boundary(passes: Callable[[int], bool], count: int) -> int:
    """The number k so that the first k changes pass and the first k + 1 fail; 0 passes and `count` fails."""
    good, bad = 0, count
    while bad - good > 1:
        middle = (good + bad) // 2
        if passes(middle):
            good = middle
        else:
            bad = middle
    return good
