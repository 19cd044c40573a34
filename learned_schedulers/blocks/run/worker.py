"""The process that executes blocks, `python -m learned_schedulers.blocks.run.worker`, driven by `native` by two pipes.

It uses the standard library only, so that forking it is cheap. Every job runs in a forked child, which keeps a single
descriptor, for its answer: a block that crashes or hangs ends that child and nothing else. A message is a JSON header
and bytes, each after its length; an answer is JSON after its length.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO, Protocol

from learned_schedulers.blocks.run import layout
from learned_schedulers.blocks.run.confinement import address_space, confine
from learned_schedulers.blocks.run.runner import Job, Machine
from learned_schedulers.seccomp import ConfinementError

_MARGIN = 1 << 20  # bytes around the worker's memory that blocks must not touch
_GRACE = 2.0  # seconds beyond its limit after which a child is killed from outside


class _Answering(Protocol):
    def answer(self) -> dict[str, Any]: ...


class _Nothing:
    """A job without code, which shows whether a child can be confined."""

    def __init__(self, machine: Machine, header: dict[str, Any], blob: bytes) -> None: ...

    def answer(self) -> dict[str, Any]:
        return {"confined": True}


_JOBS: dict[str, Callable[[Machine, dict[str, Any], bytes], _Answering]] = {
    "nothing": _Nothing,
    "compare": Job,
}


def _receive(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    parts = []
    for _ in range(2):
        size = stream.read(4)
        if len(size) < 4:
            return None
        parts.append(stream.read(int.from_bytes(size, "little")))
    return json.loads(parts[0]), parts[1]


def _send(descriptor: int, answer: dict[str, Any]) -> None:
    message = json.dumps(answer).encode()
    message = len(message).to_bytes(4, "little") + message
    while message:
        message = message[os.write(descriptor, message) :]


def _occupied() -> list[list[int]]:
    """Ranges [begin, end] below layout.HIGHEST that this process occupies, if Python is loaded at low addresses."""
    with open("/proc/self/maps") as file:
        ranges = [[int(end, 16) for end in line.split()[0].split("-")] for line in file]
    return [[begin - _MARGIN, end + _MARGIN] for begin, end in ranges if begin < layout.HIGHEST]


def _child(machine: Machine, header: dict[str, Any], blob: bytes, out: int, room: int) -> None:
    """Do one job and end. No code of the blob runs before `confine` has returned."""
    try:
        job = _JOBS[header["job"]](machine, header, blob)
        machine.catch()
        confine(out, header["seconds"], room)
        _send(out, job.answer())
    except ConfinementError as error:
        _send(out, {"refused": str(error)})
    except BaseException:
        _send(out, {"lost": "worker: " + traceback.format_exc(limit=-2)})
    finally:
        os._exit(0)


def _lost(status: int) -> str:
    if not os.WIFSIGNALED(status):
        return f"its process ended with code {os.waitstatus_to_exitcode(status)}"
    number = os.WTERMSIG(status)
    if number in (signal.SIGALRM, signal.SIGXCPU, signal.SIGKILL):
        return "time limit"
    return f"its process died of {signal.Signals(number).name}"


def _run(machine: Machine, header: dict[str, Any], blob: bytes, room: int) -> bytes:
    """The answer of a child to a job, in the format of messages: length and JSON."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _child(machine, header, blob, writer, room)
    os.close(writer)
    parts: list[bytes] = []
    end = time.monotonic() + header["seconds"] + _GRACE
    while select.select([reader], [], [], max(end - time.monotonic(), 0.0))[0]:
        part = os.read(reader, 1 << 20)
        if not part:
            break
        parts.append(part)
    else:
        os.kill(child, signal.SIGKILL)
    os.close(reader)
    status = os.waitpid(child, 0)[1]
    answer = b"".join(parts)
    if len(answer) < 4 or len(answer) != 4 + int.from_bytes(answer[:4], "little"):
        lost = json.dumps({"lost": _lost(status)}).encode()
        return len(lost).to_bytes(4, "little") + lost
    return answer


def main() -> None:
    """Receive the trampoline, confirm it, then receive jobs until the input ends."""
    first_message = _receive(sys.stdin.buffer)
    if first_message is None:
        return
    try:
        machine = Machine(first_message[1], first_message[0]["labels"])
    except OSError as error:
        _send(1, {"error": str(error)})
        return
    _send(1, {"features": machine.features, "occupied": _occupied()})
    room = address_space()
    while (message := _receive(sys.stdin.buffer)) is not None:
        sys.stdout.buffer.write(_run(machine, *message, room))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
