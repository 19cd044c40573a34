"""Best orders of a set: llvm-mca judges them, they are never worse than GCC's, and unknown blocks are left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.blocks.processors import simulation
from learned_schedulers.blocks.processors.settings import Judge
from pipeline.corpus.tables import BLOCKS
from pipeline.lab import chapters, tables
from pipeline.processors.stages import optima
from pipeline.processors.tables import MACHINE_INSTRUCTIONS, OPTIMA
from tests.blocks.methods.machines import MULTIPLY, table
from tests.blocks.models.imitated import INSTRUCTIONS, block_tables

pytestmark = pytest.mark.slow

ATOM = Judge(cpu="atom", iterations=1)
ENTRY = '{"method": "cp_sat", "evaluations": 20, "seconds": 0.1}'


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    monkeypatch.chdir(tmp_path)  # no kept answers of llvm-mca
    rng = np.random.default_rng(0)
    chosen = [rng.integers(len(INSTRUCTIONS), size=size) for size in rng.integers(3, 9, 40)]
    instructions, dags, _ = block_tables(chosen)
    code = [b"".join(INSTRUCTIONS[k] for k in block) for block in chosen]
    ids = instructions["block_id"].to_pylist()
    blocks = pd.DataFrame(
        {
            "block_id": ids, "source": "s", "program": "p", "compiler": "c", "section": ".text", "relocatable": False,
            "address": 0, "n_instructions": [len(block) for block in chosen], "occurrences": 1, "code": code,
            "masked_code": code,
        }
    )  # fmt: skip
    files = {
        "instructions": instructions.to_pandas(),
        "dags": dags.to_pandas(),
        "sets": pd.DataFrame({"block_id": ids, "input_order": [np.arange(len(block)) for block in chosen]}),
        "blocks": blocks,
    }
    for name, frame in files.items():
        tables.write(frame, chapters.tables()[name], tmp_path / f"{name}.parquet")
    return {name: tmp_path / f"{name}.parquet" for name in files}


def optima_of(inputs: dict[str, Path], unknown: str, entry: str = ENTRY) -> pd.DataFrame:
    machine, out = inputs["sets"].with_name("machine.parquet"), inputs["sets"].with_name("optima.parquet")
    tables.write(table(unknown=unknown), MACHINE_INSTRUCTIONS, machine)
    optima.main(
        entry, 0, inputs["sets"], inputs["blocks"], inputs["instructions"], inputs["dags"],
        machine, "atom", ATOM.model_dump_json(), out,
    )  # fmt: skip
    return tables.read(OPTIMA, out)


def test_orders_are_llvm_mcas_best_or_gccs_own(inputs: dict[str, Path], binary: str) -> None:
    best = optima_of(inputs, "")
    assert len(best) == 40
    assert (best["cycles"] <= best["gcc_cycles"]).all() and (best["cycles"] < best["gcc_cycles"]).any()
    assert (best["bound"] <= best["model_cycles"]).all()
    blocks = tables.read(BLOCKS, inputs["blocks"]).set_index("block_id")["masked_code"]
    orders = best.assign(order=best["order"].map(tuple))[["block_id", "order"]]
    judged = simulation.simulate(orders, dict(blocks), "atom", ATOM, binary, 1)
    np.testing.assert_array_equal(judged["cycles"], best["cycles"])


def test_unknown_blocks_are_left_out_and_counted(
    inputs: dict[str, Path], binary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = tables.read(BLOCKS, inputs["blocks"]).set_index("block_id")["masked_code"]
    best = optima_of(inputs, MULTIPLY)
    with_it = {block for block, text in code.items() if bytes.fromhex(MULTIPLY) in text}
    assert with_it and set(best["block_id"]) == set(code.index) - with_it
    assert f"{len(with_it)} of 40 blocks are unsupported on atom" in capsys.readouterr().err


def test_a_method_that_proves_nothing_is_refused(inputs: dict[str, Path], binary: str) -> None:
    with pytest.raises(ValueError, match="the method gives no bounds"):
        optima_of(inputs, "", '{"method": "random_legal"}')
