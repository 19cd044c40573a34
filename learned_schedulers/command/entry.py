"""Where the console command begins. The verb `cc`, called for every file of a build, imports next to nothing."""

from __future__ import annotations

import atexit
import gc
import sys


def main() -> None:
    """Entry point of the console command."""
    atexit.register(gc.freeze)  # Python would look for cycles among all that torch made, for one or two seconds
    if sys.argv[1:2] == ["cc"]:
        from learned_schedulers.wrapper.compiler import parsed, run

        if call := parsed(sys.argv[2:]):
            sys.exit(run(call))
    from learned_schedulers.command.main import main as of_all_verbs

    of_all_verbs()
