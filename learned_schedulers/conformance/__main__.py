"""The process of confined.py: `python -m learned_schedulers.conformance NAME SETTINGS CHECK ...`."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from learned_schedulers.bench.confinement import confine
from learned_schedulers.conformance.confined import STARTING, Outcome
from learned_schedulers.conformance.failures import Failure, Raised, failures_of
from learned_schedulers.conformance.subjects import subject


def main(name: str, settings: str, checks: list[str]) -> None:
    """Write a line for each check; what the method itself prints goes to stderr."""
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if unconfined := confine():
        print(f"the method's process may start others and use the network: {unconfined}", file=sys.stderr)
    of_name = subject(name, json.loads(settings))
    print(STARTING, file=lines, flush=True)
    printed: set[str] = set()
    for check in checks:
        failures = list(failures_of(_traced(of_name.checks[check], printed), of_name.candidate))
        print(json.dumps(Outcome(check, failures)), file=lines, flush=True)


def _traced(check: Callable[[Any], Iterator[Failure]], printed: set[str]) -> Callable[[Any], Iterator[Failure]]:
    """The same check; the traceback of an error that the method raises is on stderr, if it is not among `printed`."""

    def traced(candidate: Any) -> Iterator[Failure]:
        try:
            yield from check(candidate)
        except Raised as raised:
            if raised.error not in printed:
                printed.add(raised.error)
                traceback.print_exception(raised.__cause__)
            raise

    return traced


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
