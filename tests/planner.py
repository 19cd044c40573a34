"""Snakemake, imported once for many plans: each line of standard input is run by a process of its own.

A line is the JSON of [folder, file for the output, arguments]; the answer is a line with the exit code. Only what is
installed is imported beforehand: a folder's own `pipeline` is read anew by every plan.
"""

import json
import os
import sys
import traceback

import pydantic  # noqa: F401 - the Snakefile needs it
import yaml  # noqa: F401
from snakemake.cli import get_argument_parser, main


def plan(folder: str, output: str, arguments: list[str]) -> None:
    """In the process that was forked for it; raises SystemExit as the command `snakemake` does."""
    os.chdir(folder)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(file, stream)
    sys.argv = ["snakemake", *arguments]
    main()


if __name__ == "__main__":
    get_argument_parser()  # imports the plugins
    assert not [name for name in sys.modules if name.split(".")[0] == "pipeline"]
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                plan(*json.loads(line))
            except SystemExit as end:
                code = int(end.code or 0)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
