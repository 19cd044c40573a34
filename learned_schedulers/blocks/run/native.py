"""The native executor: this processor runs the code, in a worker process whose crash does no harm."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import learned_schedulers
from learned_schedulers.blocks.run import worker
from learned_schedulers.blocks.run.oracle import Execution, Fault, OracleError, Run, Task
from learned_schedulers.blocks.run.trampoline import trampoline

_ROOT = Path(learned_schedulers.__file__).parents[1]  # a child without site-packages imports the package from there
_FAULTS = {
    (signal.SIGSEGV, 0x80): "general protection fault (non-canonical address or misaligned operand)",
    (signal.SIGSEGV, 1): "address where no page can be made",
    (signal.SIGSEGV, 2): "address that the code may not write",
    (signal.SIGFPE, 1): "division fault",
    (signal.SIGILL, 2): "instruction that this processor does not know",
    (signal.SIGTRAP, 1): "trap",
}

_COMMAND = [sys.executable, "-S", "-m", worker.__name__]
_PROBE_SECONDS = 5.0  # seconds that a child may need to show its confinement


def _fault(fields: list[int]) -> Fault:
    number, code, address, offset = fields
    name = signal.Signals(number)
    reason = _FAULTS.get((name, code)) or f"{name.name} (code {code})"
    if (name, code) == (signal.SIGSEGV, 1) and 0x10000 <= address < 1 << 46:
        reason = "touches too many pages"
    return Fault(reason, offset)


def _unconfined(reason: str) -> OracleError:
    return OracleError(
        f"code of blocks is not run, because it cannot be confined: {reason}. Use a Linux kernel that has seccomp "
        "filters (CONFIG_SECCOMP_FILTER), outside of containers and sandboxes that forbid them"
    )


class Native:
    """One worker process. Raises OracleError if this machine cannot run one, or cannot confine the code that it runs.

    A Python that is not position-independent lies at addresses where fixed-address programs keep their data. Code with
    constants that point there is not run, because it could overwrite the worker.
    """

    def __init__(self) -> None:
        if platform.machine() not in ("x86_64", "AMD64") or not sys.platform.startswith("linux"):
            raise OracleError("this is not Linux on x86-64")
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            close_fds=True,
            cwd=_ROOT,
            env={name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
        )
        code = trampoline()
        answer = self._ask({"labels": code.labels}, code.code)
        if answer is None or "error" in answer:
            self.close()
            raise OracleError((answer or {}).get("error", "the worker does not start"))
        self._occupied: list[list[int]] = answer["occupied"]
        confinement = self._ask({"job": "nothing", "seconds": _PROBE_SECONDS}, b"") or {}
        if not confinement.get("confined"):
            self.close()
            raise _unconfined(confinement.get("refused") or confinement.get("lost") or "the worker died")

    def _ask(self, header: dict[str, Any], blob: bytes) -> dict[str, Any] | None:
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        text = json.dumps(header).encode()
        try:
            for part in (text, blob):
                process.stdin.write(len(part).to_bytes(4, "little") + part)
            process.stdin.flush()
            size = process.stdout.read(4)
            answer = process.stdout.read(int.from_bytes(size, "little"))
        except (BrokenPipeError, ConnectionError):
            return None
        return json.loads(answer) if len(size) == 4 and answer else None

    def _run(self, task: Task) -> dict[str, Any]:
        """The worker's answer; {"lost": reason} if there is none. The next task can follow."""
        if any(begin <= constant < end for begin, end in self._occupied for constant in task.constants):
            return {"lost": "refers to addresses that this Python occupies (it is not position-independent)"}
        states = [state.encode() for state in task.states]
        header = {
            "job": "compare",
            "address": task.address,
            "code": [len(piece) for piece in task.pieces],
            "states": [len(state) for state in states],
            "segments": int(task.segments),
            "undefined": task.undefined,
            "registers": task.registers,
            "seconds": task.seconds,
        }
        answer = self._ask(header, b"".join(task.pieces + states))
        if answer is None:
            self.close()
            self._start()
            return {"lost": "the worker died"}
        if "refused" in answer:
            raise _unconfined(answer["refused"])
        return answer

    def execute(self, task: Task) -> Execution:
        """Run every piece from every state. The result is `lost` if the code kills its process."""
        answer = self._run(task)
        if "lost" in answer:
            return Execution([], answer["lost"])
        runs = [
            Run(_fault(outcome["fault"]))
            if outcome["fault"]
            else Run(None, tuple(outcome["codes"]), tuple(map(tuple, outcome["registers"])))
            for outcome in answer["states"]
        ]
        return Execution(runs, "", *answer["difference"])

    def close(self) -> None:
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
