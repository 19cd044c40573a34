"""Stages that examine imitators' data and errors, on a synthetic corpus."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.blocks.problems.instructions import tabulate
from pipeline.corpus.tables import SETS
from pipeline.imitation.stages import audit, ceiling, errors
from pipeline.imitation.tables import AUDIT, CEILING, ERROR_SHARES, ERRORS, TWINS
from pipeline.lab import chapters, tables
from tests.analysis.coded import LOAD_RAX_8, LOAD_RBX_16, NEXT_RAX, NEXT_RBX, in_tables

BLOCKS = [
    [LOAD_RAX_8, LOAD_RBX_16, NEXT_RAX, NEXT_RBX],
    [LOAD_RBX_16, LOAD_RAX_8, NEXT_RAX, NEXT_RBX],
    [LOAD_RAX_8, NEXT_RAX, LOAD_RBX_16, NEXT_RBX],
    [LOAD_RAX_8, LOAD_RBX_16],
]


@pytest.fixture
def corpus(tmp_path: Path) -> dict[str, Path]:
    """Tables by name; set `development` has the first two blocks, `training` has the others."""
    instructions, dags, blocks, encodings = in_tables(*BLOCKS)
    code = blocks["code"].to_pylist()
    ids = blocks["block_id"].to_pylist()
    lengths = [len(block) for block in BLOCKS]
    nothing = dict.fromkeys(("program", "compiler", "section"), "")
    frame = blocks.to_pandas().assign(source="qt56", n_instructions=lengths, occurrences=1, masked_code=code, **nothing)
    orders = [np.arange(length, dtype=np.int16) for length in lengths]
    sets = {"development": slice(0, 2), "training": slice(2, 4)}
    swapped = [np.r_[1, 0, np.arange(2, length)].astype(np.int16) for length in lengths[:2]]
    outputs = {
        "blocks": frame,
        "encodings": tabulate(encodings),
        "instructions": instructions.to_pandas(),
        "dags": dags.to_pandas(),
        "schedules": pd.DataFrame(
            {"block_id": ids[:2], "decoder": "greedy", "order": swapped, "status": "ok", "message": ""}
        ),
        "confidence": pd.DataFrame({"block_id": ids[:2], "confidence": 0.5, "exact_match": 0.0}),
    }
    paths = {}
    for name, table in outputs.items():
        paths[name] = tmp_path / f"{name}.parquet"
        tables.write(table, chapters.tables()[name], paths[name])
    for name, part in sets.items():
        paths[name] = tmp_path / f"{name}.parquet"
        tables.write(pd.DataFrame({"block_id": ids[part], "input_order": orders[part]}), SETS, paths[name])
    return paths


def test_ceiling(corpus: dict[str, Path], tmp_path: Path) -> None:
    out, twins = tmp_path / "ceiling.parquet", tmp_path / "twins.parquet"
    common = [corpus[name] for name in ("blocks", "encodings", "instructions", "dags", "training")]
    ceiling.main("qt56", *common, [corpus["development"]], out, twins)  # type: ignore[call-arg]
    table = tables.read(CEILING, out).set_index(["notion", "lengths", "legal_orders", "members", "least"])
    outputs = table.loc[("exact", "4-40", "all", "blocks", 2)]
    assert (outputs.groups, outputs.in_groups, outputs.leave_one_out) == (1, 3, 0)
    row = tables.read(TWINS, twins).set_index(["notion", "legal_orders"]).loc[("exact", "all")]
    assert (row.n_blocks, row.with_twin, row.same_order, row.different_order) == (2, 1, 0, 1)


def test_audit(corpus: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "audit.parquet"
    common = [corpus[name] for name in ("blocks", "encodings", "instructions", "dags", "development")]
    audit.main(0, "random_ready", 0.95, *common, out)  # type: ignore[call-arg]
    table = tables.read(AUDIT, out).set_index("feature")
    assert table.loc["byte offset"].agreement == 1
    assert table.loc["disp"].same_opcode_agreement == 0.5  # the loads of the two blocks stand either way round


def test_errors(corpus: dict[str, Path], tmp_path: Path) -> None:
    out, shares = tmp_path / "errors.parquet", tmp_path / "shares.parquet"
    common = [corpus[name] for name in ("blocks", "encodings", "instructions", "dags", "schedules", "confidence")]
    errors.main("greedy", 200, 0, 0.95, *common, out, shares)  # type: ignore[call-arg]
    table = tables.read(ERRORS, out)
    assert table.category.tolist() == ["memory_order", "memory_order"]
    assert table.also_gcc.tolist() == ["exact", "exact"]  # each is the other one
    assert tables.read(ERROR_SHARES, shares).n_blocks.sum() == 4
    with pytest.raises(ValueError, match="no wrong block"):
        errors.main("beam", 200, 0, 0.95, *common, out, shares)  # type: ignore[call-arg]
