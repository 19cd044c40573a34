"""Confinement: system calls and writes of a block are refused, and no code runs if the kernel does not confine it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from learned_schedulers.blocks.run import drawing, layout, native
from learned_schedulers.blocks.run.executors import open_executor
from learned_schedulers.blocks.run.machine_code import assemble
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.oracle import Execution, OracleError, Task
from learned_schedulers.blocks.run.roles import Roles

ADDRESS = 0x4000_0000  # of the code, below 4 GB, so that 32-bit calls can refer to its data
STATE = drawing.plain(Roles(set(range(16)), set(), set(), False, [], False, False), 0, np.random.default_rng(0))
X32 = 1 << 30
LIMITS = """
def refuse_limit(*_):
    raise OSError("not permitted")
resource.setrlimit = refuse_limit"""

# The path is in the code, at label `path`; 0x41: O_WRONLY | O_CREAT.
CALLS = {
    "open": "mov $2, %eax\n lea path(%rip), %rdi\n mov $0x41, %esi\n mov $0x1ff, %edx\n syscall",
    "openat": "mov $257, %eax\n mov $-100, %rdi\n lea path(%rip), %rsi\n mov $0x41, %edx\n mov $0x1ff, %r10d\n syscall",
    "mkdir": "mov $83, %eax\n lea path(%rip), %rdi\n mov $0x1ff, %esi\n syscall",
    "execve": "mov $59, %eax\n lea script(%rip), %rdi\n xor %esi, %esi\n xor %edx, %edx\n syscall",
    # 15 is chmod in the 32-bit table, and in the other table rt_sigreturn, which is allowed
    "int 0x80": "mov $15, %eax\n lea script(%rip), %rbx\n mov $0x1c0, %ecx\n int $0x80",
    "int 0x80 exit": "mov $1, %eax\n xor %ebx, %ebx\n int $0x80",
    "socket": "mov $41, %eax\n mov $2, %edi\n mov $1, %esi\n xor %edx, %edx\n syscall",
    "ptrace": "mov $101, %eax\n xor %edi, %edi\n syscall",
    "clone": "mov $56, %eax\n mov $17, %edi\n xor %esi, %esi\n xor %edx, %edx\n syscall",
    "prctl": "mov $157, %eax\n mov $15, %edi\n lea path(%rip), %rsi\n syscall",  # PR_SET_NAME
    "seccomp": "mov $317, %eax\n xor %edi, %edi\n xor %esi, %esi\n xor %edx, %edx\n syscall",
    "write to a closed descriptor": "mov $1, %eax\n mov $1000, %edi\n lea path(%rip), %rsi\n mov $1, %edx\n syscall",
    "mmap of executable memory": "mov $9, %eax\n xor %edi, %edi\n mov $4096, %esi\n mov $7, %edx\n syscall",
    "mprotect": "mov $10, %eax\n lea path(%rip), %rdi\n and $-4096, %rdi\n mov $4096, %esi\n mov $7, %edx\n syscall",
    "x32 mkdir": f"mov ${X32 | 83}, %eax\n lea path(%rip), %rdi\n mov $0x1ff, %esi\n syscall",
    "x32 exit": f"mov ${X32 | 60}, %eax\n xor %edi, %edi\n syscall",  # 60 is allowed without the bit
    "x32 munmap": f"mov ${X32 | 11}, %eax\n lea path(%rip), %rdi\n mov $1, %esi\n syscall",
}
WITH_EFFECT = ["open", "openat", "mkdir", "execve"]  # calls whose effect this test detects on every kernel
MARKER = "made"


def piece(text: str, folder: Path) -> bytes:
    """The code, followed by the paths of a file and of a script that creates it; a jump skips these."""
    paths = f'path: .asciz "{folder / MARKER}"\n script: .asciz "{folder / "script"}"'
    return assemble(f"start: {text}\n jmp end\n {paths}\n end:").code


def execute(executor: Native, text: str, folder: Path) -> Execution:
    return executor.execute(Task(ADDRESS, [piece(text, folder)], [STATE], registers=True, seconds=2.0))


def modes_of_files(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "script").write_text(f"#!/bin/sh\n: > {tmp_path / MARKER}\n")
    (tmp_path / "script").chmod(0o755)
    return tmp_path


def alter_workers(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Let new workers execute `program` before anything else."""
    imports = "import resource\nfrom types import SimpleNamespace\n"
    imports += "from learned_schedulers import seccomp\nfrom learned_schedulers.blocks.run import confinement, worker"
    monkeypatch.setattr(native, "_COMMAND", [sys.executable, "-S", "-c", f"{imports}\n{program}\nworker.main()"])


@pytest.fixture
def unconfined(native: Native, monkeypatch: pytest.MonkeyPatch) -> Iterator[Native]:
    """An executor for which `confine` does nothing."""
    alter_workers(monkeypatch, "worker.confine = lambda *_: None")
    with Native() as executor:
        yield executor


@pytest.mark.parametrize("call", CALLS)
def test_a_system_call_kills_the_child_and_has_no_effect(native: Native, folder: Path, call: str) -> None:
    before = modes_of_files(folder)
    execution = execute(native, CALLS[call], folder)
    refused = execution.lost or str(execution.runs[0].fault and execution.runs[0].fault.reason)
    # A kernel without 32-bit programs has no int 0x80 at all.
    assert "SIGSYS" in refused or (call.startswith("int") and "general protection" in refused)
    assert modes_of_files(folder) == before
    assert execute(native, "mov $7, %eax", folder).runs[0].registers[0][0] == 7


@pytest.mark.parametrize("call", WITH_EFFECT)
def test_the_calls_would_have_an_effect(unconfined: Native, folder: Path, call: str) -> None:
    """Otherwise the test above would prove nothing."""
    execute(unconfined, CALLS[call], folder)
    assert MARKER in modes_of_files(folder)


def test_a_32_bit_call_would_have_an_effect(unconfined: Native, folder: Path) -> None:
    before = modes_of_files(folder)
    execution = execute(unconfined, CALLS["int 0x80"], folder)
    if not execution.lost and execution.runs[0].fault:
        pytest.skip("this kernel has no 32-bit system calls")
    assert modes_of_files(folder) != before


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("movb $1, start(%rip)", "may not write"),  # the block's code
        ("mov end + 6(%rip), %rax\n movb $1, (%rax)", "may not write"),  # the trampoline's, to which every piece jumps
        ("movb $1, 8", "no page"),
        ("movb $1, layout_lowest - 1", "no page"),
        ("movabs $0x7ffffffff000, %rax\n movb $1, (%rax)", "no page"),  # the host's memory
        ("movabs $0xffffffff81000000, %rax\n movb $1, (%rax)", "no page"),  # the kernel
        ("movabs $0x800000000000, %rax\n movb $1, (%rax)", "general protection"),  # no address at all
    ],
)
def test_a_write_outside_of_the_pages_is_refused(native: Native, folder: Path, text: str, expected: str) -> None:
    execution = execute(native, text.replace("layout_lowest", str(layout.LOWEST)), folder)
    assert not execution.lost
    (run,) = execution.runs
    assert run.fault is not None and expected in run.fault.reason and not run.registers


def test_a_write_into_the_hosts_data_is_lost_with_the_child(native: Native, folder: Path) -> None:
    """A block that finds the trampoline's data can only change a copy, which ends with the child."""
    unused = 0x1F00
    load = f"mov end + 6(%rip), %rax\n and $-4096, %rax\n mov {unused}(%rax), %rcx\n"
    (run,) = execute(native, f"{load} movq $77, {unused}(%rax)\n mov {unused}(%rax), %rdx", folder).runs
    assert (run.registers[0][1], run.registers[0][2]) == (0, 77)
    (run,) = execute(native, load, folder).runs
    assert run.registers[0][1] == 0


def kernel(option: int, answer: int) -> str:
    """A `prctl` that only returns `answer` for one option; -1 is an error (EINVAL)."""
    return f"""
import ctypes
prctl = seccomp.libc.prctl
def answer(option, *rest):
    if option != {option}:
        return prctl(option, *rest)
    ctypes.set_errno(22)
    return {answer}
seccomp.libc = SimpleNamespace(prctl=answer)"""


REFUSALS = [
    (kernel(22, -1), r"refuses a seccomp filter \(Invalid argument\)"),
    (kernel(22, 0), "does not apply it"),
    (kernel(38, -1), "no_new_privs"),
    (kernel(38, 0), "no_new_privs"),
    (LIMITS, r"limit cannot be set \(not permitted\)"),
    ("confinement._filter = lambda _: bytes(8)", "Invalid argument"),  # refused by the kernel itself
    # The kernel accepts a filter that allows everything, but it is not our filter.
    ("confinement._filter = lambda _: bytes.fromhex('060000000000ff7f')", "does not apply it"),
]


@pytest.mark.parametrize(("program", "expected"), REFUSALS)
def test_without_confinement_there_is_no_executor(
    native: Native, monkeypatch: pytest.MonkeyPatch, program: str, expected: str
) -> None:
    alter_workers(monkeypatch, program)
    with pytest.raises(OracleError, match=f"not run.*{expected}.*CONFIG_SECCOMP_FILTER"):
        Native()


@pytest.mark.parametrize(("program", "expected"), REFUSALS)
def test_no_code_runs_if_the_kernel_refuses_later(
    native: Native, monkeypatch: pytest.MonkeyPatch, folder: Path, program: str, expected: str
) -> None:
    """No code runs if only the first child can be confined: each child has to show its confinement."""
    flag = folder / "refuse"
    late = f"import os\nrun = worker._run\ndef late(*rest):\n  if os.path.exists({str(flag)!r}):\n    refuse()\n"
    lines = "\n  ".join(program.strip().splitlines())
    refuse = f"def refuse():\n  {lines}\n"
    alter_workers(monkeypatch, f"{refuse}{late}  return run(*rest)\nworker._run = late")
    with Native() as executor:
        assert execute(executor, "mov $7, %eax", folder).runs[0].registers[0][0] == 7
        flag.touch()
        before = modes_of_files(folder)
        with pytest.raises(OracleError, match=expected):
            execute(executor, CALLS["mkdir"], folder)
        assert modes_of_files(folder) == before


def test_verification_emulates_if_code_cannot_be_confined(
    native: Native, monkeypatch: pytest.MonkeyPatch, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alter_workers(monkeypatch, kernel(22, -1))
    with open_executor() as executor:
        assert not isinstance(executor, Native)
    assert "emulated, not run: code of blocks is not run, because it cannot be confined" in capsys.readouterr().err
