"""Stages in processes that are forked from this one, which has imported what takes most of the time of their start.

Only what is installed is imported beforehand: a folder's own `pipeline` is read anew by every stage. The argument is
the socket at which `sitecustomize.py` hands stages over; the server ends with its standard input.
"""

import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
from importlib import import_module

LOADED = (  # the first says which processors code is compiled for; optimisers need the last
    "learned_schedulers", "numba", "pandas", "pyarrow.compute", "pyarrow.parquet", "pydantic", "scipy.linalg", "typer",
    "torch._dynamo",
)  # fmt: skip


def run(connection: socket.socket) -> None:
    """A stage as by `python -m pipeline`, in the process that was forked for it, with the caller's surroundings."""
    size, streams, _, _ = socket.recv_fds(connection, 8, 3)
    with connection.makefile("rb") as file:
        folder, words, variables = json.loads(file.read(int.from_bytes(size, "big")))
    for stream, descriptor in enumerate(streams):
        os.dup2(descriptor, stream)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv, sys.path[0] = ["pipeline", *words], folder
    runpy.run_module("pipeline", run_name="__main__", alter_sys=True)


def serve(path: str) -> None:
    """Each stage has a process of its own, and a parent that waits for its end."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    while select.select([listener, sys.stdin], [], [])[0] == [listener]:
        connection, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            stage = os.fork()
            if stage == 0:
                run(connection)
                return
            code = os.waitstatus_to_exitcode(os.waitpid(stage, 0)[1])
            connection.send(bytes([code & 255]))
            os._exit(0)
        connection.close()


if __name__ == "__main__":
    for name in LOADED:
        import_module(name)
    import_module("numba.core.registry").cpu_target.target_context.refresh()  # what the first kernel loads
    for name in [name for name in sys.modules if name.split(".")[0] == LOADED[0]]:
        del sys.modules[name]
    gc.freeze()  # no stage looks through it again
    serve(sys.argv[1])
