"""The stage verify on invented blocks, some of which cannot run."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from learned_schedulers.blocks.run import strata
from learned_schedulers.blocks.run.machine_code import assemble
from learned_schedulers.blocks.run.native import Native
from pipeline.corpus import verification_batch as batch
from pipeline.corpus.tables import BLOCKS, DAGS, SENSITIVITY, VERIFICATION
from pipeline.lab import tables
from pipeline.lab.wiring import ROOT
from tests.blocks.run.conftest import SETTINGS

pytestmark = pytest.mark.e2e  # processes start processes: too slow for a unit test

TEXTS = [
    "mov %rax, (%rsi)\n mov 8(%rdi), %rcx\n add %rcx, %rdx\n nop",
    "add %rax, %rcx\n adc %rdx, %rbx\n mov %r8, %r9",
    "xor %ecx, %ecx\n xor %edx, %edx\n div %ecx\n mov %r8, %r9",  # division fault
    "mov $-1, %rcx\n rep stosb\n mov %r8, %r9",  # touches too many pages
    "mov %rax, %rcx\n syscall\n mov %r8, %r9",
    "mov $1, %ebx\n ror $1, %rbx\n mov (%rbx), %rax\n mov %rdx, %rsi",
    "movss (%rax), %xmm0\n mulss %xmm0, %xmm1\n mov %rdx, 0x100(%rip)\n fld1",
]


def write(folder: Path) -> None:
    rows = []
    for number, text in enumerate(TEXTS * 4):
        code = assemble(text).code + b"\x90" * (number // len(TEXTS))
        n = len(text.split("\n")) + number // len(TEXTS)
        rows.append((f"{number:032x}", "ab"[number % 2], "p", "c", ".text", 0x401000, False, n, 1, code, code))
    tables.write(pd.DataFrame(rows, columns=BLOCKS.schema.names), BLOCKS, folder / "blocks.parquet")
    dags = pd.DataFrame({name: [[]] * len(rows) for name in DAGS.schema.names}).assign(
        block_id=[row[0] for row in rows],
        n_instructions=[row[7] for row in rows],
        n_legal_orders=[1.0 if row[9] == rows[0][9] else 2.0 for row in rows],
        orders_exact=True,
    )
    tables.write(dags, DAGS, folder / "dags.parquet")


def stage(name: str, *arguments: str) -> None:
    command = [sys.executable, "-m", "pipeline", name, *arguments]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr


def verified(folder: Path, cores: int) -> tuple[bytes, bytes]:
    out = folder / f"{cores}"
    paths = {"verification": out / "v.parquet", "sensitivity": out / "s.parquet"}
    stage(
        "verify",
        *("--settings", SETTINGS.model_dump_json(), "--cores", f"{cores}"),
        *("--blocks", f"{folder / 'blocks.parquet'}", "--dags", f"{folder / 'dags.parquet'}"),
        *(word for name, path in paths.items() for word in (f"--{name}", f"{path}")),
    )
    return paths["verification"].read_bytes(), paths["sensitivity"].read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, native: Native) -> Path:
    new_folder = tmp_path_factory.mktemp("verify")
    write(new_folder)
    return new_folder


def test_tables_are_the_same_for_any_number_of_processes(folder: Path) -> None:
    assert verified(folder, 1) == verified(folder, 3)


def test_bad_blocks_are_named_and_stop_nothing(folder: Path) -> None:
    verified(folder, 1)
    verdicts = tables.read(VERIFICATION, folder / "1/v.parquet")
    full = verdicts[verdicts["dependencies"] == "full"].set_index("block_id")
    assert len(full) == 4 * len(TEXTS) - 1, "all but the block that has a single order"
    reasons = {int(block_id, 16) % len(TEXTS): row.reason for block_id, row in full.iterrows()}
    assert reasons[0] == reasons[1] == reasons[6] == ""
    assert reasons[2] == "division fault" and "too many pages" in reasons[3] and "system call" in reasons[4]
    assert set(full["outcome"]) == {"equal", "not runnable"}
    assert not full["different"].any()
    # The control ignores flags, and verification detects it.
    control = verdicts[(verdicts["dependencies"] == "paper") & (verdicts["outcome"] == "different")]
    assert set(control["block_id"].map(lambda block_id: int(block_id, 16) % len(TEXTS))) == {1}
    swaps = tables.read(SENSITIVITY, folder / "1/s.parquet")
    assert set(swaps["dependencies"]) == {"full", "conservative"}
    assert (swaps["outcome"] == "changed").mean() > 0.5


def test_an_interrupted_run_continues(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(batch, "_PART", 8)
    blocks = tables.read(BLOCKS, folder / "blocks.parquet")
    work = batch.plan(strata.choose(blocks, 20, 0), SETTINGS)
    whole = batch.execute(work, SETTINGS, 1, tmp_path)
    parts = sorted(tmp_path.glob("*.parquet"))
    assert len(parts) == 2 * 3
    (tmp_path / "16_sensitivity.parquet").unlink()  # as after a kill: the last part is incomplete
    before = (tmp_path / "0_verification.parquet").stat().st_mtime_ns
    resumed = batch.execute(work, SETTINGS, 1, tmp_path)
    assert sorted(tmp_path.glob("*.parquet")) == parts
    assert (tmp_path / "0_verification.parquet").stat().st_mtime_ns == before
    for frame, resumed_frame in zip(whole, resumed, strict=True):
        pd.testing.assert_frame_equal(frame, resumed_frame)
    assert batch.digest(work, SETTINGS) != batch.digest(work[:-1], SETTINGS)
