import math
import random
import stat
from pathlib import Path

import pytest

from learned_schedulers.blocks.processors import llvm_mca
from learned_schedulers.blocks.processors.llvm_mca import LlvmMcaError, Simulation, simulate
from learned_schedulers.blocks.processors.settings import Judge
from learned_schedulers.blocks.read.assembly import gas

HASWELL = Judge(cpu="haswell", iterations=100)
ATOM = Judge(cpu="atom", iterations=1)

# The appendix of POCSNet as machine code, with llvm-mca 8's cycles per iteration; 19.1.7 gives the same.
PAPER = [
    ("f20f106c2420 f2410f109da0000000 f20f5cdd f2410f5ed8 660f2ed3", 14.20),
    ("31f6 41b80b000000 b901000000 488dbc2420770100 ba01000000", 1.28),
    ("4883c418 4889de 4889ef 5b 5d", 13.03),
]
POOL = ["addl %eax, %ebx", "imulq %rbx, %rcx", "movq (%rcx), %rdx", "mulsd %xmm0, %xmm1", "addsd %xmm1, %xmm2"]


def random_regions(n: int) -> list[list[str]]:
    generator = random.Random(7)
    return [generator.choices(POOL, k=generator.randint(1, 8)) for _ in range(n)]


@pytest.mark.parametrize(("code", "cycles"), PAPER)
def test_worked_examples_of_the_paper(binary: str, code: str, cycles: float) -> None:
    [simulation] = simulate([gas(bytes.fromhex(code))], HASWELL, binary)
    assert simulation.status == "ok"
    assert simulation.cycles == pytest.approx(cycles, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("machine", [HASWELL, ATOM], ids=lambda machine: machine.cpu)
def test_batches_and_threads_change_nothing(binary: str, machine: Judge) -> None:
    regions = random_regions(40)
    alone = [simulate([region], machine, binary)[0] for region in regions]
    assert len({simulation.cycles for simulation in alone}) > 5
    assert simulate(regions, machine, binary, batch=40) == alone
    assert simulate(regions, machine, binary, threads=2, batch=7) == alone


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("vaddps %ymm0, %ymm1, %ymm2", "unsupported instruction"),  # no AVX in the model of atom: aborts there
        ("frobnicate %eax", "invalid instruction mnemonic"),  # the parser refuses the whole input
        ("mov $1, (%rax)", "ambiguous"),
        (".byte 0x90", "simulated 1 of 2 instructions"),  # the parser takes it, the simulator never sees it
    ],
)
def test_unknown_instruction_spoils_its_own_region_only(binary: str, line: str, message: str) -> None:
    regions: list[list[str]] = random_regions(12)
    expected = simulate(regions, ATOM, binary)
    for place in (0, 5, 6, 11):
        regions[place] = ["addl %eax, %ebx", line]
    simulations = simulate(regions, ATOM, binary)
    for i, (simulation, before) in enumerate(zip(simulations, expected, strict=True)):
        if i in (0, 5, 6, 11):
            assert simulation.status == "unsupported" and math.isnan(simulation.cycles)
            assert message in simulation.message
        else:
            assert simulation == before


def test_unknown_processor_is_an_error_with_its_name(binary: str) -> None:
    with pytest.raises(LlvmMcaError, match="hasswell"):
        simulate([["addl %eax, %ebx"]], Judge(cpu="hasswell", iterations=1), binary)


def program(path: Path, text: str) -> str:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_other_versions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert llvm_mca.find() is None
    program(tmp_path / "llvm-mca", 'echo "Debian LLVM version 14.0.6"')
    assert llvm_mca.find() is None
    accepted = program(tmp_path / "llvm-mca", 'echo "LLVM version 19.1.7"')
    assert llvm_mca.find() == accepted
    preferred = program(tmp_path / "llvm-mca-19", 'echo "LLVM version 19.1.7"')
    assert llvm_mca.find() == preferred


def test_crash_is_pinned_on_the_region_that_causes_it(tmp_path: Path) -> None:
    """A substitute for llvm-mca dies of a segmentation fault whenever its input has `crash`."""
    fake = program(
        tmp_path / "llvm-mca",
        'input=$(cat)\ncase "$input" in *crash*) kill -SEGV $$;; esac\n'
        'echo "$input" | grep BEGIN | while read -r line; do printf "Instructions: 1\\nTotal Cycles: 3\\n"; done\n',
    )
    simulations = simulate([["a"], ["b"], ["crash"], ["c"], ["d"]], ATOM, fake)
    assert [simulation.status for simulation in simulations] == ["ok", "ok", "unsupported", "ok", "ok"]
    assert simulations[0] == Simulation(3.0, "ok")


def test_failure_without_a_culprit_is_an_error(tmp_path: Path) -> None:
    fake = program(tmp_path / "llvm-mca", "cat > /dev/null; echo 'error: out of paper' >&2; exit 1\n")
    with pytest.raises(LlvmMcaError, match="out of paper"):
        simulate([["a"]], ATOM, fake)
