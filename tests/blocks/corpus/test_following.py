"""What stands behind blocks: of hand-assembled programs, of real ones against iced-x86, and by the stage itself."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from iced_x86 import Code, Decoder, FlowControl, Instruction, Mnemonic, OpKind

from pipeline import tables
from pipeline.blocks.corpus import cut
from pipeline.blocks.corpus.elf import Image, read_image
from pipeline.blocks.corpus.following import MOST, of_blocks
from pipeline.blocks.corpus.forms import Forms
from pipeline.stages import following
from tests.blocks.corpus.test_ingest import run, settings

BuildElf = Callable[..., bytes]
TINY = Path(__file__).parents[2] / "tiny"
BLOCK = "01d889d1"  # add eax, ebx; mov ecx, edx
END = "c3"
FINAL = (
    FlowControl.UNCONDITIONAL_BRANCH, FlowControl.INDIRECT_BRANCH, FlowControl.RETURN, FlowControl.EXCEPTION,
)  # fmt: skip


def behind(image: Image) -> tuple[list[cut.Blocks], list[list[str]]]:
    """The blocks of two instructions and more, section by section, and what follows each, in hex digits."""
    sections = list(cut.blocks(image, 2, 1000, Forms()))
    names = np.repeat([part.section for part in sections], [len(part.begin) for part in sections]).astype(object)
    addresses = np.concatenate([part.address for part in sections])
    codes = [part.code[a:b].tobytes() for part in sections for a, b in zip(part.begin, part.end, strict=True)]
    lists = of_blocks(image, names, addresses, codes, Forms()).lists()
    return sections, [[code.hex() for code in one] for one in lists.to_pylist()]


def of(elf: bytes) -> list[list[str]]:
    return behind(read_image(elf, r"4\.9|Debian", r"4\.4"))[1]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param("e811223344 85c0 7e05 31c0 31d2", ["e800000000", "85c0", "0f8e00000000", "31c0"], id="goes on"),
        pytest.param("ffd0 85c0", ["ffd0", "85c0"], id="indirect call"),
        pytest.param("eb02 85c0 c3", ["e900000000"], id="jump"),
        pytest.param("e944332211 85c0", ["e900000000"], id="near jump"),
        pytest.param("ffe0 85c0", ["ffe0"], id="indirect jump"),
        pytest.param("c3 85c0", ["c3"], id="return"),
        pytest.param("7410 0f0b 85c0", ["0f8400000000", "0f0b"], id="trap"),
        pytest.param("7410 06 85c0", ["0f8400000000"], id="no instruction"),
        pytest.param("06 85c0", [], id="no instruction at once"),
        pytest.param("0f1f4000 6690 85c0 c3", ["85c0", "c3"], id="padding"),
        pytest.param("e2f8 488b0578563412 c3", ["e200", "488b0500000000", "c3"], id="loop and rip-relative"),
        pytest.param("2e7410 f2eb10 c3", ["2e0f8400000000", "f2e900000000"], id="prefixes"),
        pytest.param("c7f811223344 c3", ["c7f800000000", "c3"], id="transaction"),
        pytest.param("", [], id="end of the section"),
        pytest.param("e80000", [], id="cut off"),
    ],
)
def test_behind_a_block(build_elf: BuildElf, code: str, expected: list[str]) -> None:
    assert of(build_elf(bytes.fromhex(BLOCK + code)))[0] == expected


def test_a_block_that_ends_where_a_branch_leads(build_elf: BuildElf) -> None:
    found = of(build_elf(bytes.fromhex(BLOCK + "85d2 74fc c3")))  # je to test edx, edx
    assert found == [["85d2", "0f8400000000", "c3"]]


def test_it_ends_with_the_function(build_elf: BuildElf) -> None:
    code = bytes.fromhex(BLOCK + "e800000000" + BLOCK + END)
    assert of(build_elf(code, [(0, 9), (9, 14)])) == [["e800000000"], ["c3"]]
    assert of(build_elf(code)) == [["e800000000", "01d8", "89d1", "c3"], ["c3"]]


def test_addresses_of_a_program_that_cannot_move_are_masked(build_elf: BuildElf) -> None:
    code = bytes.fromhex(BLOCK + "ff24c500104000 c3")  # jmp [rax*8+0x401000]
    assert of(build_elf(code, kind="exec"))[0] == ["ff24c500000000"]
    assert of(build_elf(code))[0] == ["ff24c500104000"]


def test_the_linkers_fields_of_an_object_file_are_masked(build_elf: BuildElf) -> None:
    code, more = bytes.fromhex(BLOCK + "ffd1be77665544" + END), bytes.fromhex(BLOCK + "ffd0" + END)
    elf = build_elf(code, kind="rel", relocations=((7, 10),), more=more)
    assert of(elf) == [["ffd1", "be00000000", "c3"], ["ffd0", "c3"]]


def expected(data: bytes, end: int) -> list[str]:
    """Slow and obvious: iced-x86 on the bytes behind a block, up to the end of its function."""
    decoder, found = Decoder(64, data[end:]), []

    def valid(instruction: Instruction) -> bool:
        return instruction.code != Code.INVALID

    for instruction in takewhile(valid, decoder):
        if instruction.mnemonic in (Mnemonic.NOP, Mnemonic.ENDBR64) or len(found) == MOST:
            continue
        assert instruction.op_count == 0 or instruction.op0_kind != OpKind.FAR_BRANCH32
        if instruction.op_count and instruction.op0_kind == OpKind.NEAR_BRANCH64:
            instruction.as_near_branch()
        found.append(str(instruction).split(" ")[0])
        if instruction.flow_control in FINAL:
            break
    return found


@pytest.mark.parametrize("name", ["tiny1.so", "tiny2.so"])
def test_all_blocks_of_a_program(name: str) -> None:
    image = read_image((TINY / name).read_bytes(), r"\d", r"4\.4")
    sections, found = behind(image)
    ends = {(s.name, int(f[1]) - s.address) for s in image.sections for f in s.functions}
    data = {s.name: s.code for s in image.sections}
    places = [(part.section, int(end)) for part in sections for end in part.end]
    assert len(places) > 200
    for (section, end), codes in zip(places, found, strict=True):
        last = min(stop for name, stop in ends if name == section and stop >= end)
        there = [Decoder(64, bytes.fromhex(code)).decode() for code in codes]
        assert [i.len for i in there] == [len(code) // 2 for code in codes]
        assert [str(i).split(" ")[0] for i in there] == expected(data[section][:last], end)
        for instruction in there:
            if instruction.op_count and instruction.op0_kind == OpKind.NEAR_BRANCH64:
                assert instruction.near_branch64 == instruction.len
            assert not instruction.is_ip_rel_memory_operand or instruction.memory_displacement == instruction.len


def test_a_block_that_is_not_there_is_named(build_elf: BuildElf) -> None:
    image = read_image(build_elf(bytes.fromhex(BLOCK + END)), r"4\.9", r"4\.4")
    for section, address, code, message in (
        (".text", 0x401000, "01d889d2", r"block 01d889d2 is not at \.text 0x401000"),
        (".text", 0x401001, BLOCK, r"block 01d889d1 is not at \.text 0x401001"),
        (".text", 0x10, BLOCK, r"is not at \.text 0x10"),
        (".text.other", 0x401000, BLOCK, r"no code in section \.text\.other"),
    ):
        with pytest.raises(ValueError, match=message):
            of_blocks(image, np.array([section], object), np.array([address]), [bytes.fromhex(code)], Forms())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(TINY, tmp_path / "files")
    return tmp_path / "files"


def made(corpus: dict[str, object], out: Path) -> pd.DataFrame:
    following.main(json.dumps(corpus), out / "manifest.parquet", out / "blocks.parquet", out / "following.parquet")
    return tables.read("following", out / "following.parquet")


def test_the_stage(folder: Path, tmp_path: Path) -> None:
    corpus, out = settings(folder, shards=2), tmp_path / "out"
    run(corpus, 2, out)
    found, blocks = made(corpus, out), tables.read("blocks", out / "blocks.parquet")
    assert found.block_id.tolist() == blocks.block_id.tolist()
    counts = found.code.str.len()
    assert counts.max() == MOST and (counts > 0).mean() > 0.95
    image = read_image((folder / "tiny1.so").read_bytes(), r"\d", r"4\.4")
    sections, expected_codes = behind(image)
    at = [(part.section, int(address)) for part in sections for address in part.address]
    known = dict(zip(at, expected_codes, strict=True))
    own = blocks[blocks.program.str.endswith("tiny1.so")]
    assert len(own) > 100
    for row in own.itertuples():
        assert [code.hex() for code in found.code[row.Index]] == known[row.section, row.address]


def test_blocks_without_a_program_have_nothing_behind_them(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "skl.csv").write_text("01d889d1,100.0\n01d8488b0544332211,2\n")
    corpus = settings(tmp_path, sources={"tiny": {"kind": "bhive", "include": [f"{tmp_path}/files/*"]}}, shards=1)
    run(corpus, 1, tmp_path / "out")
    assert made(corpus, tmp_path / "out").code.str.len().tolist() == [0, 0]


def test_a_program_that_is_another_one_now_is_named(folder: Path, tmp_path: Path) -> None:
    corpus, out = settings(folder, shards=1), tmp_path / "out"
    run(corpus, 1, out)
    shutil.copy(folder / "tiny2.so", folder / "tiny1.so")
    with pytest.raises(ValueError, match=r"tiny: .*tiny1\.so: .*fetch and ingest anew"):
        made(corpus, out)
    files = tables.read("manifest", out / "manifest.parquet")
    tables.write(files[files.program.str.endswith("tiny2.so")], "manifest", out / "manifest.parquet")
    with pytest.raises(ValueError, match=r"tiny: .*tiny1\.so: blocks are of it, but it is in no source any more"):
        made(corpus, out)
    assert not (out / "following.parquet").exists()
