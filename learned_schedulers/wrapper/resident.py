"""The resident process of a build: it keeps what is slow to import, and orders the texts of all jobs.

    python -m learned_schedulers.wrapper.resident ADDRESS SETTINGS

It begins with the first job of a build and ends after a minute without work. Its socket lies in a folder that only the
user can open; both ends check that the other one is the same user. It runs nothing that a message asks for: a message
is a text, an answer is a line of JSON and a text.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

from learned_schedulers.files import replacing
from learned_schedulers.wrapper.client import check_peer, packed, reason_of, receive, send
from learned_schedulers.wrapper.settings import Settings, cache_folder

IDLE = 60.0  # seconds without work after which a worker ends
_PATIENCE = 60.0  # seconds in which a job has to send its text
_MOST_BYTES = 2 << 30  # of the cache
_MOST_RECORD = 64 << 20  # bytes of the record
# A text that calls all that a method needs.
WARM_UP = b"""\t.file\t"warm.c"
\t.text
\t.type\tf, @function
f:
\tmovq\t(%rdi), %rax
\tmovq\t8(%rsi), %rdx
\timulq\t%rax, %rax
\taddq\t%rdx, %rax
\tret
\t.size\tf, .-f
"""


def main(address: str, name: str) -> None:
    """Serve until nothing is left to do. Ends at once if another process serves this address."""
    lock = os.open(f"{address}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    with suppress(FileNotFoundError):
        os.unlink(address)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.umask(0o077)
    listener.bind(address)
    os.environ.pop("LD_PRELOAD", None)
    workers = _begin(listener, Settings.of_name(name))
    listener.close()  # jobs that come when the last worker ends are refused, and do not wait
    for worker in workers:
        os.waitpid(worker, 0)
    with suppress(FileNotFoundError):
        os.unlink(address)
    _trim(Path(cache_folder()) / "texts", _MOST_BYTES)
    _shorten(Path(cache_folder()) / "record.jsonl", _MOST_RECORD)


def _begin(listener: socket.socket, settings: Settings) -> list[int]:
    """Import what is slow, then fork a worker for each core; jobs are refused until then, and try again."""
    from learned_schedulers.wrapper.job import Job

    error = ""
    job = None
    try:
        job = Job(settings)
        job(WARM_UP)
    except Exception as reason:
        error = reason_of(reason)
    listener.listen(1024)
    workers = []
    for _ in os.sched_getaffinity(0):
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            try:
                _serve(listener, job, error)
            finally:
                os._exit(0)
        workers.append(child)
    return workers


def _serve(listener: socket.socket, job: object, error: str) -> None:
    """Answer jobs one after the other, until none has come for a minute."""
    listener.settimeout(IDLE)
    while True:
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            return
        with connection:
            try:
                connection.settimeout(_PATIENCE)
                check_peer(connection)
                send(connection, _answer(receive(connection), job, error))
            except OSError:
                continue  # that job has gone


def _answer(text: bytes, job: object, error: str) -> bytes:
    if not callable(job):
        return json.dumps({"error": error}).encode() + b"\n"
    try:
        return packed(*job(text))
    except Exception as reason:
        return json.dumps({"error": reason_of(reason)}).encode() + b"\n"


def _trim(folder: Path, most: int) -> None:
    """Delete the answers of the cache that were used longest ago, beyond its size in bytes."""
    files = []
    for path in folder.glob("*/*"):
        with suppress(FileNotFoundError):  # another process deletes, too
            state = path.stat()
            files.append((state.st_mtime, state.st_size, path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= most:
            break
        path.unlink(missing_ok=True)
        total -= size


def _shorten(path: Path, most: int) -> None:
    """Keep the newer half of a record that is too long."""
    if path.exists() and path.stat().st_size > most:
        lines = path.read_bytes().splitlines(keepends=True)
        with replacing(path) as temporary:
            temporary.write_bytes(b"".join(lines[len(lines) // 2 :]))


if __name__ == "__main__":
    main(*sys.argv[1:])
